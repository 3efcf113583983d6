//! Which scenario is best: every trial as a dot, the geometric mean with its interval, the best on top.
//!
//! Dots and not bars: the axis need not start at 0, and the spread is seen.

use super::{Anchor, Axis, Picture, Svg, TEXT, WIDTH, fitted, fitted_names, width_of};
use crate::errors;
use crate::flushing::Marked as _;
use crate::number::{Scale, words};
use crate::words::beside;
use analysis::row::Row;
use analysis::view::Part;

const ROW: f64 = 46.0;
const TOP: f64 = 8.0;
/// More rows than this make no picture; the table below has them all.
pub const ROWS_MAX: usize = 60;
/// Dots drawn per row, spread evenly over the rounds.
pub const DOTS_MAX: usize = 120;

/// The chart of one workload's primary metric; `None` when nothing was measured.
pub fn draw(id: &str, part: &Part, margin: f64) -> Option<Picture> {
    let rows: Vec<&Row> = part.rows.iter().filter(|row| row.centre.is_some()).take(ROWS_MAX).collect();
    let centres = || rows.iter().filter_map(|row| row.centre);
    let low = centres().map(|centre| centre.low.min(centre.min)).fold(f64::INFINITY, f64::min);
    let high = centres().map(|centre| centre.high.max(centre.max)).fold(f64::NEG_INFINITY, f64::max);
    let best = rows.first()?.centre?.mean;
    let scale = &Scale::of_part(part);
    let axis = Axis::fitting(scale.apply(low), scale.apply(high), 10.0, WIDTH - 10.0);
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(id);
    let band = (axis.at(scale.apply(best / (1.0 + margin))), axis.at(scale.apply(best * (1.0 + margin))));
    let tip = format!("within {} of the best", crate::number::percent(margin));
    svg.rectangle((band.0, TOP), (band.1 - band.0, bottom - TOP), "currentColor", 0.07, &tip);
    svg.ticks_across(&axis, 4, (TOP, bottom), 18.0);
    let names = fitted_names(rows.iter().map(|row| row.marked()), room_of_names(&rows, part));
    (0..=rows.len()).for_each(|i| svg.may_be_cut(TOP + ROW * i as f64));
    for (i, row) in rows.iter().enumerate() {
        draw_row(&mut svg, part, (row, &names[i]), &axis, TOP + ROW * i as f64);
    }
    svg.faint_text(WIDTH / 2.0, bottom + 34.0, Anchor::Middle, &axis_title(part, &axis));
    let title = format!("{}: {} by scenario", part.workload, words(&part.metric.name));
    let description = "Dots are trials, the large mark is the geometric mean, the line its interval.";
    Some(svg.finish(WIDTH, bottom + 42.0, &title, description))
}

/// What stands below an axis of the primary metric.
pub fn axis_title(part: &Part, axis: &Axis) -> String {
    let better = if part.more_is_better { "more is better →" } else { "← less is better" };
    let scale = Scale::of_part(part);
    let after = axis.after_name(&scale);
    let room = WIDTH - (after.len() + better.len() + 4) as f64 * TEXT * 0.6;
    format!("{}{after} · {better}", fitted(&beside(&part.metric, &scale), room))
}

/// What is said after a name.
fn tags(row: &Row) -> String {
    let warns = if row.is_unsafe() { " ⚠" } else { "" };
    format!("{}{warns}{}", if row.baseline { " (baseline)" } else { "" }, errors::tag(row))
}

/// Beside the value and the tags of any row.
fn room_of_names(rows: &[&Row], part: &Part) -> f64 {
    let scale = Scale::of_part(part);
    let value = |row: &Row| row.centre.map_or_else(String::new, |centre| scale.number(centre.mean));
    let taken = |row: &&Row| width_of(&value(row)) + width_of(&tags(row));
    WIDTH - 32.0 - rows.iter().map(taken).fold(0.0, f64::max)
}

fn draw_row(svg: &mut Svg, part: &Part, (row, name): (&Row, &str), axis: &Axis, top: f64) {
    let Some(centre) = row.centre else { return };
    let scale = &Scale::of_part(part);
    let value = scale.number(centre.mean);
    svg.mark(row.index, 8.0, top + 10.0, 4.5, 1.0, "");
    svg.text(18.0, top + 14.5, Anchor::Start, &format!("{name}{}", tags(row)));
    svg.bold_text(WIDTH - 4.0, top + 14.5, Anchor::End, &value);
    let y = top + 31.0;
    let dots: Vec<(usize, f64)> =
        row.values.iter().enumerate().filter_map(|(round, value)| Some((round, (*value)?))).collect();
    for (round, value) in dots.iter().step_by(dots.len().div_ceil(DOTS_MAX).max(1)) {
        let tip = format!("round {}: {}", round + 1, scale.with_unit(*value));
        // Neighbouring rounds at different heights, so that equal values don't hide each other.
        let lift = [-4.0, 2.0, -1.0, 5.0, 0.0][round % 5];
        svg.mark(row.index, axis.at(scale.apply(*value)), y + lift, 2.6, 0.4, &tip);
    }
    let (mean, median) = (scale.with_interval(centre.mean, centre.low, centre.high), scale.number(centre.median));
    let tip = format!("{}: {mean}, median {median}, {} trials", row.marked(), centre.count);
    let (low, high) = (axis.at(scale.apply(centre.low)), axis.at(scale.apply(centre.high)));
    svg.line((low, y), (high, y), "currentColor", 1.6);
    for end in [low, high] {
        svg.line((end, y - 4.0), (end, y + 4.0), "currentColor", 1.6);
    }
    svg.mark(row.index, axis.at(scale.apply(centre.mean)), y, 5.5, 1.0, &tip);
}
