//! Two results side by side: for every figure of a scenario how many times better the second is, with its interval.
//!
//! Times better and not the metric's own ratio, so that rates and times stand on one axis and better is always to the right.

use super::{Picture, WIDTH, fitted_names, ratios, width_of};

/// More rows than this make no picture.
pub const ROWS_MAX: usize = 60;

/// One scenario in both results.
pub struct Row {
    /// What was measured of what.
    pub label: String,
    /// Times better, and the ends of its interval.
    pub better: (f64, f64, f64),
    /// In a word or three.
    pub verdict: String,
    /// Whether a difference was shown.
    pub is_shown: bool,
}

/// The chart; `None` without rows.
pub fn draw(id: &str, rows: &[Row], margin: f64) -> Option<Picture> {
    if rows.is_empty() {
        return None;
    }
    let rows = &rows[..rows.len().min(ROWS_MAX)];
    let widest = rows.iter().map(|row| width_of(&row.verdict)).fold(0.0, f64::max);
    let names = fitted_names(rows.iter().map(|row| row.label.as_str()), WIDTH - 14.0 - widest);
    let row = |(row, name): (&Row, String)| {
        let (ratio, low, high) = row.better;
        let tip = format!("{}: {ratio:.3} [{low:.3}, {high:.3}], {}", row.label, row.verdict);
        ratios::Row { name, ratio: row.better, verdict: row.verdict.clone(), is_shown: row.is_shown, tip }
    };
    let rows: Vec<ratios::Row> = rows.iter().zip(names).map(row).collect();
    let around = ratios::Around {
        axis: "times better in B, log · B better →",
        title: "How many times better B is than A",
        description: "Each line is a figure of a scenario that both measured: the mark is the ratio of the means, the line its interval",
    };
    Some(ratios::draw(id, &rows, margin, &around))
}
