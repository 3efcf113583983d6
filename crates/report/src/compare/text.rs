//! A comparison for a terminal: primary metrics, and of the others those that differ.

use super::{Comparison, Line, Workload};
use crate::answer::metric_heading;
use crate::document::printable;
use crate::unpaired;
use std::fmt::Write;

/// Other metrics' lines of a workload.
const OTHERS_MAX: usize = 12;

impl Comparison {
    /// In words and a table a workload.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.preamble {
            let _ = writeln!(out, "{}", printable(line));
        }
        for workload in &self.workloads {
            self.workload(&mut out, workload);
        }
        out.push('\n');
        for line in self.cautions() {
            let _ = writeln!(out, "{line}");
        }
        out
    }

    fn workload(&self, out: &mut String, workload: &Workload) {
        let (primary, others): (Vec<&Line>, Vec<&Line>) = workload.lines.iter().partition(|line| line.is_primary);
        if let Some(line) = primary.first() {
            let heading = metric_heading(&workload.name, &line.metric, line.sides.more_is_better);
            let _ = writeln!(out, "\n{}", printable(&heading));
        }
        self.lines(out, workload, &primary);
        for (_, said) in &workload.left_out {
            let _ = writeln!(out, "{}", printable(said));
        }
        if others.is_empty() {
            return;
        }
        let mut told: Vec<&Line> = others.iter().copied().filter(|line| line.is_notable()).collect();
        told.sort_by(|a, b| b.size().total_cmp(&a.size()));
        told.truncate(OTHERS_MAX);
        if !told.is_empty() {
            let _ = writeln!(out, "Other metrics that differ (exploratory), the largest difference first:");
            self.lines(out, workload, &told);
        }
        let differing = others.iter().filter(|line| line.is_notable()).count() - told.len();
        let rest = others.len() - told.len();
        if rest > 0 {
            let of_them = if differing > 0 { format!(", {differing} of which differ") } else { String::new() };
            let _ = writeln!(out, "{rest} more figures of other metrics{of_them}: `--html FILE` or `--json` has all.");
        }
    }

    fn lines(&self, out: &mut String, workload: &Workload, lines: &[&Line]) {
        let names: Vec<String> = lines.iter().map(|line| line.name(workload)).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (line, name) in lines.iter().zip(&names) {
            let gap = " ".repeat(widest - name.chars().count());
            let [a, b] = line.means().map(|mean| printable(&mean));
            let figures = line.change.map_or_else(String::new, |change| format!("{}  ", unpaired::figures(&change)));
            let _ = writeln!(out, "{}{gap}  {a} → {b}  {figures}{}", printable(name), line.verdict(&self.level));
        }
    }
}

impl Line {
    /// Whether a difference was shown; or counts differ of which one is 0, so that none can be.
    fn is_notable(&self) -> bool {
        let sides = &self.sides;
        self.is_shown() || !sides.have_logarithms() && self.mean(&sides.earlier) != self.mean(&sides.later)
    }

    /// How far the two are apart, by the ratio; what has none comes first.
    fn size(&self) -> f64 {
        self.change.map_or(f64::INFINITY, |change| change.ratio.ln().abs())
    }
}
