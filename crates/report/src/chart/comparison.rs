//! Two results side by side: for every figure of a scenario how many times better the second is, with its interval.
//!
//! Times better and not the metric's own ratio, so that rates and times stand on one axis and better is always to the right.

use super::{Anchor, Axis, Picture, Svg, WIDTH, fitted_names, tick_label, width_of};

const ROW: f64 = 46.0;
const TOP: f64 = 8.0;
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
#[must_use]
pub fn draw(id: &str, rows: &[Row], margin: f64) -> Option<Picture> {
    if rows.is_empty() {
        return None;
    }
    let rows = &rows[..rows.len().min(ROWS_MAX)];
    let reach = 1.0 + 1.5 * margin;
    let low = rows.iter().map(|row| row.better.1).fold(1.0 / reach, f64::min);
    let high = rows.iter().map(|row| row.better.2).fold(reach, f64::max);
    // An interval from few rounds may reach from nothing to a thousandfold.
    let axis = Axis::logarithmic(low.max(0.02), high.min(50.0), 10.0, WIDTH - 10.0);
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(id);
    let band = (axis.at(1.0 / (1.0 + margin)), axis.at(1.0 + margin));
    let tip = "differences in here do not matter";
    svg.rectangle((band.0, TOP), (band.1 - band.0, bottom - TOP), "currentColor", 0.09, tip);
    let ticks = axis.ticks(5);
    for tick in &ticks {
        let x = axis.at(*tick);
        svg.grid_line((x, TOP), (x, bottom));
        svg.faint_text(x.clamp(16.0, WIDTH - 16.0), bottom + 16.0, Anchor::Middle, &tick_label(*tick, &ticks));
    }
    svg.reference_line((axis.at(1.0), TOP), (axis.at(1.0), bottom));
    let widest = rows.iter().map(|row| width_of(&row.verdict)).fold(0.0, f64::max);
    let names = fitted_names(rows.iter().map(|row| row.label.as_str()), WIDTH - 14.0 - widest);
    (0..=rows.len()).for_each(|i| svg.may_be_cut(TOP + ROW * i as f64));
    for (i, row) in rows.iter().enumerate() {
        draw_row(&mut svg, (row, &names[i]), &axis, TOP + ROW * i as f64);
    }
    svg.faint_text(WIDTH / 2.0, bottom + 34.0, Anchor::Middle, "times better in B, log · B better →");
    let description = "Each line is a figure of a scenario that both measured: the mark is the ratio of the means, the line its interval.";
    Some(svg.finish(WIDTH, bottom + 42.0, "How many times better B is than A", description))
}

fn draw_row(svg: &mut Svg, (row, name): (&Row, &str), axis: &Axis, top: f64) {
    svg.text(4.0, top + 14.5, Anchor::Start, name);
    if row.is_shown {
        svg.bold_text(WIDTH - 4.0, top + 14.5, Anchor::End, &row.verdict);
    } else {
        svg.faint_text(WIDTH - 4.0, top + 14.5, Anchor::End, &row.verdict);
    }
    let (ratio, low, high) = row.better;
    let y = top + 30.0;
    svg.line((axis.at(low), y), (axis.at(high), y), "currentColor", 1.6);
    for end in [low, high] {
        svg.line((axis.at(end), y - 4.0), (axis.at(end), y + 4.0), "currentColor", 1.6);
    }
    let tip = format!("{}: {ratio:.3} [{low:.3}, {high:.3}], {}", row.label, row.verdict);
    svg.mark(0, axis.at(ratio), y, 5.5, if row.is_shown { 1.0 } else { 0.35 }, &tip);
}
