//! A history for a terminal.

use super::{History, LIMITS, Series, words};
use crate::document::printable;
use crate::flushing::NAME_MARK;
use crate::number::Scale;
use crate::words::counted;
use std::fmt::Write;

impl History {
    /// Sentences, then each scenario over time.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for series in &self.series {
            let _ = writeln!(out, "{}", printable(&series.heading()));
            for line in series.sentences() {
                let _ = writeln!(out, "{}", printable(&line));
            }
            table(&mut out, series);
            out.push('\n');
        }
        let _ = writeln!(out, "{LIMITS}");
        out
    }
}

fn table(out: &mut String, series: &Series) {
    let changes = series.changes();
    for workload in series.workloads() {
        let _ = writeln!(out, "\n{}; changes to the one before and to the first", printable(&workload.heading()));
        for label in &workload.labels {
            let _ = writeln!(out, "  {}", printable(label));
            for (at, row) in series.rows(&workload, label).into_iter().enumerate() {
                let Some((row, centre)) = row.and_then(|row| Some((row, row.centre?))) else { continue };
                let (name, _) = &series.results[at];
                let to = |from: usize| {
                    let change = changes[at][from].get(&workload.key(label));
                    change.map_or_else(String::new, |change| format!("  {}", words(change)))
                };
                let scale = &Scale::of_part(workload.part);
                let interval = scale.interval(&centre).map_or_else(String::new, |ends| format!("{ends}, "));
                let rounds = counted(centre.count as u64, "round");
                let (change, first) = (to(0), if at < 2 { String::new() } else { format!(" |{}", to(1)) });
                let _ = writeln!(
                    out,
                    "    {}  {}{} ({interval}{rounds}){change}{first}  {}",
                    series.when(at),
                    printable(&scale.with_unit(centre.mean)),
                    if row.does_not_flush() { NAME_MARK } else { "" },
                    printable(name)
                );
            }
        }
    }
}
