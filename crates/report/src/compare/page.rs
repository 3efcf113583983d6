//! A comparison as a page: what differs, then a chart and a table a workload.

use super::{Comparison, Line, Workload};
use crate::answer::LIMITS;
use crate::chart::comparison;
use crate::document::{
    Block, Cell, Chart, Document, Layout, Table, head, no_cell, number_cell, page, word_cell, word_head,
};
use crate::number::{ratio_precise, words};
use crate::unpaired;

impl Comparison {
    /// The page.
    pub fn html(&self) -> String {
        let title =
            Block::Title { above: String::new(), title: "Two results side by side".into(), below: String::new() };
        let mut blocks = vec![title, Block::Answer(vec![Block::List(self.preamble.clone())])];
        for (at, workload) in self.workloads.iter().enumerate() {
            let mut of_workload = vec![Block::Heading(2, workload.name.clone())];
            of_workload.extend(self.chart(&format!("compared-{at}"), workload));
            of_workload.push(Block::Table(self.table(format!("compared-table-{at}"), workload)));
            of_workload.extend(workload.left_out.iter().map(|line| Block::Note(line.clone())));
            blocks.push(Block::Section(of_workload));
        }
        blocks.extend(self.cautions().into_iter().map(Block::Note));
        blocks.push(Block::Note(LIMITS.into()));
        page(&Document { name: "Two results – surefoot".into(), blocks, ..Document::default() })
    }

    /// Every figure of a workload with its interval on one axis; where they are too many, primary metrics and what differs.
    fn chart(&self, id: &str, workload: &Workload) -> Option<Block> {
        let mut drawn: Vec<&Line> = workload.lines.iter().filter(|line| line.change.is_some()).collect();
        let all = drawn.len();
        if all > comparison::ROWS_MAX {
            drawn.retain(|line| line.is_primary || line.is_shown());
            drawn.truncate(comparison::ROWS_MAX);
        }
        let row = |line: &&Line| {
            let change = line.change?;
            let (ratio, low, high) = (change.ratio, change.low, change.high);
            let better =
                if line.sides.more_is_better { (ratio, low, high) } else { (1.0 / ratio, 1.0 / high, 1.0 / low) };
            let (verdict, is_shown) = (line.verdict(&self.level), line.is_shown());
            Some(comparison::Row { label: line.name(workload), better, verdict, is_shown })
        };
        let rows: Vec<comparison::Row> = drawn.iter().filter_map(row).collect();
        let more = all - rows.len();
        let note = match more {
            0 => String::new(),
            more => format!("{more} more, most of which show no difference, are in the table."),
        };
        let picture = comparison::draw(id, &rows, self.level.margin)?;
        Some(Block::Charts(Layout::Below, vec![Chart::new(picture, note)]))
    }

    fn table(&self, id: String, workload: &Workload) -> Table {
        let mut heads = vec![word_head("metric"), word_head("scenario")];
        heads.extend(["A", "B", "B by A", "interval", "p, corrected"].map(head));
        heads.push(word_head("B against A"));
        let mut table = Table::new(id, heads);
        for line in &workload.lines {
            let better = if line.sides.more_is_better { "more is better" } else { "less is better" };
            let [a, b] = line.means();
            let figures = line.change.map_or_else(
                || [no_cell(), no_cell(), no_cell()],
                |change| {
                    let ratio = number_cell(&ratio_precise(change.ratio), change.ratio);
                    let p: Cell = change.p.map_or_else(no_cell, |p| number_cell(&format!("{p:.3}"), p));
                    [ratio, number_cell(&unpaired::interval(&change), change.low), p]
                },
            );
            let kind = if line.is_primary { "" } else { " (exploratory)" };
            let first = [
                word_cell(&format!("{}, {better}", words(&line.metric.name))),
                word_cell(&line.label),
                number_cell(&a, line.mean(&line.sides.earlier)),
                number_cell(&b, line.mean(&line.sides.later)),
            ];
            let verdict = word_cell(&format!("{}{kind}", line.verdict(&self.level)));
            table.row(first.into_iter().chain(figures).chain([verdict]));
        }
        table
    }
}
