//! A comparison as a page: what differs, then a chart and a table a workload.

use super::{Comparison, Line, Workload};
use crate::answer::LIMITS;
use crate::chart::{comparison, ratios};
use crate::document::{Block, Chart, Columns, Document, Layout, Table, head, no_cell, number_cell, page};
use crate::number::{p_words, ratio_ends, ratio_precise};
use crate::unpaired;
use crate::words::quantity_of;
use analysis::unpaired::Change;

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
            of_workload.extend(workload.left_out.iter().map(|(_, said)| Block::Note(said.clone())));
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
            let ratio =
                if line.sides.more_is_better { (ratio, low, high) } else { (1.0 / ratio, 1.0 / high, 1.0 / low) };
            let (name, verdict, is_shown) = (line.name(workload), line.verdict(&self.level), line.is_shown());
            let ends = ratio_ends((ratio.1, ratio.2), ratio_precise).join(", ");
            let tip = format!("{name}: {} [{ends}], {verdict}", ratio_precise(ratio.0));
            Some(ratios::Row { name, ratio, verdict, is_shown, tip })
        };
        let rows: Vec<ratios::Row> = drawn.iter().filter_map(row).collect();
        let more = all - rows.len();
        let note = match more {
            0 => String::new(),
            more => format!("{more} more, most of which show no difference, are in the table."),
        };
        let picture = comparison::draw(id, rows, self.level.margin)?;
        Some(Block::Charts(Layout::Below, vec![Chart::new(picture, note)]))
    }

    fn table(&self, id: String, workload: &Workload) -> Table {
        let name = |line: &Line| {
            let better = if line.sides.more_is_better { "more is better" } else { "less is better" };
            format!("{}, {better}", quantity_of(&line.metric))
        };
        let mean = |line: &Line, at: usize, values: &[f64]| number_cell(&line.means()[at], line.mean(values));
        let interval = |change: Change| number_cell(&unpaired::interval(&change), change.low);
        let table = Columns::of(id, &workload.lines)
            .words("metric", name)
            .words("scenario", |line| &line.label)
            .column(head("A"), |line| mean(line, 0, &line.sides.earlier))
            .column(head("B"), |line| mean(line, 1, &line.sides.later))
            .figures("B by A", |line| line.change.map(|change| change.ratio), ratio_precise)
            .column(head("interval"), |line| line.change.map_or_else(no_cell, interval))
            .figures("p, corrected", |line| line.change.and_then(|change| change.p), p_words)
            .words("B against A", |line| {
                let kind = if line.is_primary { "" } else { " (exploratory)" };
                format!("{}{kind}", line.verdict(&self.level))
            });
        table.table()
    }
}
