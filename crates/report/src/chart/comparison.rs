//! Two results side by side: for every figure of a scenario how many times better the second is, with its interval.
//!
//! Times better and not the metric's own ratio, so that rates and times stand on one axis and better is always to the right.

use super::ratios::{self, Row};
use super::{Picture, WIDTH, fitted_names, width_of};

/// More rows than this make no picture.
pub const ROWS_MAX: usize = 60;

/// The chart of scenarios by their whole names, each with how many times better the second is; `None` without rows.
pub fn draw(id: &str, mut rows: Vec<Row>, margin: f64) -> Option<Picture> {
    if rows.is_empty() {
        return None;
    }
    rows.truncate(ROWS_MAX);
    let widest = rows.iter().map(|row| width_of(&row.verdict)).fold(0.0, f64::max);
    let names = fitted_names(rows.iter().map(|row| row.name.as_str()), WIDTH - 14.0 - widest);
    rows.iter_mut().zip(names).for_each(|(row, name)| row.name = name);
    let around = ratios::Around {
        axis: "times better in B, log · B better →",
        title: "How many times better B is than A",
        description: "Each line is a figure of a scenario that both measured: the mark is the ratio of the means, the line its interval",
    };
    Some(ratios::draw(id, &rows, margin, &around))
}
