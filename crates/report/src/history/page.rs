//! A history as a page: sentences, a line chart a workload, tables.

use super::{History, LIMITS, Series, Workload, changes, words as change_words};
use crate::chart::{escape, history};
use crate::flushing::NAME_MARK;
use crate::html::page;
use crate::html::tables::{Table, head, number_cell, word_cell, word_head};
use crate::number::words;
use stats::Verdict;
use std::fmt::Write;

impl History {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut body = String::from("<header><h1>Results over time</h1></header>");
        for (i, series) in self.series.iter().enumerate() {
            let _ = write!(body, "<section><h2>{}</h2>", escape(&series.heading()));
            body.push_str("<div class=\"card decision\"><ul>");
            for line in series.sentences() {
                let _ = write!(body, "<li>{}</li>", escape(&line));
            }
            body.push_str("</ul></div>");
            for (j, workload) in series.workloads().iter().enumerate() {
                body.push_str(&figures(&format!("{i}-{j}"), series, workload));
            }
            body.push_str("</section>");
        }
        let _ = write!(body, "<p class=\"note\">{LIMITS}</p>");
        page("Results over time – surefoot", &body)
    }
}

fn figures(id: &str, series: &Series, workload: &Workload) -> String {
    let lines: Vec<history::Line> = workload
        .labels
        .iter()
        .map(|label| history::Line {
            label,
            centres: series.rows(workload, label).into_iter().map(|row| row.and_then(|row| row.centre)).collect(),
        })
        .collect();
    // The day is enough for a picture.
    let dates: Vec<String> = (0..series.results.len()).map(|at| series.when(at).chars().take(10).collect()).collect();
    let (scale, metric) = (&workload.part.scale, words(&workload.part.metric.name));
    let left_out = lines.len().saturating_sub(history::LINES_MAX);
    let note = if left_out > 0 {
        format!("<figcaption>{left_out} more scenarios in the table.</figcaption>")
    } else {
        String::new()
    };
    let picture = history::draw(&format!("history-{id}"), &lines, &dates, scale, &metric)
        .map_or_else(String::new, |svg| format!("<figure class=\"card\">{svg}{note}</figure>"));
    format!("<h3>{}</h3>{picture}{}", escape(&workload.heading()), table(id, series, workload))
}

fn table(id: &str, series: &Series, workload: &Workload) -> String {
    let mut heads = vec![word_head("scenario"), word_head("measured")];
    heads.extend(["mean", "interval", "rounds"].map(head));
    heads.extend(["to the one before", "to the first", "file"].map(word_head));
    let mut table = Table::new(&format!("history-table-{id}"), &heads);
    for label in &workload.labels {
        for (at, row) in series.rows(workload, label).into_iter().enumerate() {
            let Some((row, centre)) = row.and_then(|row| Some((row, row.centre?))) else { continue };
            let mark = if row.does_not_flush() { NAME_MARK } else { "" };
            let (name, input) = &series.results[at];
            let scale = &workload.part.scale;
            let to = |earlier: Option<usize>| {
                let change = earlier.and_then(|at| changes(&series.results[at].1, input).remove(&workload.key(label)));
                let class = match change.as_ref().and_then(|change| change.verdict) {
                    Some(Verdict::Faster) => " faster",
                    Some(Verdict::Slower) => " slower",
                    _ => "",
                };
                let words = change.map_or_else(String::new, |change| change_words(&change));
                format!("<td class=\"words{class}\">{}</td>", escape(&words))
            };
            table.row(
                "",
                &[
                    word_cell(label),
                    word_cell(&series.when(at)),
                    number_cell(&format!("{}{mark}", scale.with_unit(centre.mean)), centre.mean),
                    number_cell(&format!("{}–{}", scale.number(centre.low), scale.number(centre.high)), centre.low),
                    number_cell(&centre.count.to_string(), centre.count as f64),
                    to(at.checked_sub(1)),
                    to((at > 0).then_some(0)),
                    word_cell(name),
                ],
            );
        }
    }
    table.finish()
}
