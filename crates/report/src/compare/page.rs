//! A comparison as a page: what differs, then a chart and a table a workload.

use super::{Comparison, Line, Workload};
use crate::answer::LIMITS;
use crate::chart::{comparison, escape};
use crate::html::page;
use crate::html::tables::{Table, head, number_cell, word_cell, word_head};
use crate::number::{ratio_precise, words};
use std::fmt::Write;

impl Comparison {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut body =
            String::from("<header><h1>Two results side by side</h1></header><section class=\"card decision\"><ul>");
        for line in &self.preamble {
            let _ = write!(body, "<li>{}</li>", escape(line));
        }
        body.push_str("</ul></section>");
        for (at, workload) in self.workloads.iter().enumerate() {
            let _ = write!(body, "<section><h2>{}</h2>", escape(&workload.name));
            body.push_str(&self.chart(&format!("compared-{at}"), workload));
            body.push_str(&self.table(&format!("compared-table-{at}"), workload));
            for line in &workload.left_out {
                let _ = write!(body, "<p class=\"note\">{}</p>", escape(line));
            }
            body.push_str("</section>");
        }
        for line in self.cautions().iter().map(String::as_str).chain([LIMITS]) {
            let _ = write!(body, "<p class=\"note\">{}</p>", escape(line));
        }
        page("Two results – surefoot", &body)
    }

    /// Every figure of a workload with its interval on one axis; where they are too many, primary metrics and what differs.
    fn chart(&self, id: &str, workload: &Workload) -> String {
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
        let note = if more > 0 {
            format!("<figcaption>{more} more, most of which show no difference, are in the table.</figcaption>")
        } else {
            String::new()
        };
        comparison::draw(id, &rows, self.level.margin)
            .map_or_else(String::new, |svg| format!("<figure class=\"card\">{svg}{note}</figure>"))
    }

    fn table(&self, id: &str, workload: &Workload) -> String {
        let mut heads = vec![word_head("metric"), word_head("scenario")];
        heads.extend(["A", "B", "B by A", "interval", "p, corrected"].map(head));
        heads.push(word_head("B against A"));
        let mut table = Table::new(id, &heads);
        for line in &workload.lines {
            let better = if line.sides.more_is_better { "more is better" } else { "less is better" };
            let [a, b] = line.means();
            let figures = match line.change {
                Some(change) => {
                    let p = change.p.map_or("<td>–</td>".into(), |p| number_cell(&format!("{p:.3}"), p));
                    let ratio = number_cell(&ratio_precise(change.ratio), change.ratio);
                    [ratio, number_cell(&change.interval(), change.low), p].concat()
                }
                None => "<td>–</td>".repeat(3),
            };
            let kind = if line.is_primary { "" } else { " (exploratory)" };
            table.row(
                "",
                &[
                    word_cell(&format!("{}, {better}", words(&line.metric.name))),
                    word_cell(&line.label),
                    number_cell(&a, line.mean(&line.sides.earlier)),
                    number_cell(&b, line.mean(&line.sides.later)),
                    figures,
                    word_cell(&format!("{}{kind}", line.verdict(&self.level))),
                ],
            );
        }
        table.finish()
    }
}
