//! What a factor does at each level of another: marks with intervals side by side; lines only between levels that are numbers.

use super::{Anchor, Axis, COLOURS, Picture, Svg, TEXT, WIDTH, colour, fitted_names};
use crate::flushing::DAGGER;
use crate::number::Scale;
use analysis::levels::{Cell, Grid};
use std::ops::RangeInclusive;

const LEFT: f64 = 56.0;
const HEIGHT: f64 = 190.0;
/// Intervals are drawn as far as this beyond the smallest and the largest mean.
const BEYOND_MAX: f64 = 2.0;

/// The chart: columns of the grid along the axis, its rows as series. `None` with fewer than two values or too many series.
pub fn draw(id: &str, grid: &Grid, scale: &Scale) -> Option<Picture> {
    let means = || grid.placed().filter_map(|(_, _, cell)| cell.mean);
    if means().count() < 2 || grid.rows.levels.len() > COLOURS.len() {
        return None;
    }
    // Intervals of two or three rounds can span decades; then the means keep most of the room.
    let smallest = means().map(|(mean, _, _)| mean).fold(f64::INFINITY, f64::min);
    let largest = means().map(|(mean, _, _)| mean).fold(f64::NEG_INFINITY, f64::max);
    let low = means().map(|(_, low, _)| low).fold(f64::INFINITY, f64::min).max(smallest / BEYOND_MAX);
    let high = means().map(|(_, _, high)| high).fold(f64::NEG_INFINITY, f64::max).min(largest * BEYOND_MAX);
    let mut svg = Svg::new(id);
    let names: Vec<&str> = grid.rows.short.iter().map(String::as_str).collect();
    let top = svg.legend(&names, |svg, series, x, y| svg.mark(series, x + 6.0, y + 6.0, 4.5, 1.0, "")) + 4.0;
    let bottom = top + HEIGHT;
    let axis = Axis::fitting(scale.apply(low), scale.apply(high), bottom, top);
    svg.ticks_up(&axis, 5, (LEFT, WIDTH - 6.0));
    let band = (WIDTH - LEFT - 6.0) / grid.columns.levels.len() as f64;
    for (column, level) in fitted_names(&grid.columns.short, band).iter().enumerate() {
        let x = LEFT + (column as f64 + 0.5) * band;
        svg.faint_text(x, bottom + 18.0, Anchor::Middle, level);
    }
    let series = grid.rows.levels.len() as f64;
    let step = (band * 0.7 / series).min(14.0);
    let x_of =
        |row: usize, column: usize| LEFT + (column as f64 + 0.5) * band + (row as f64 - (series - 1.0) / 2.0) * step;
    for (row, cells) in grid.cells.iter().enumerate() {
        if grid.columns.is_ordered {
            let measured = cells.iter().enumerate().filter_map(|(column, cell)| Some((column, cell.as_ref()?.mean?.0)));
            let points: Vec<(f64, f64)> =
                measured.map(|(column, mean)| (x_of(row, column), axis.at(scale.apply(mean)))).collect();
            svg.polyline(&points, colour(row), 1.6, 0.9, "");
        }
    }
    for (row, column, cell) in grid.placed() {
        let place = format!("{} · {}", grid.rows.short[row], grid.columns.short[column]);
        draw_point(&mut svg, (row, x_of(row, column)), cell, (&axis, low..=high), (scale, &place));
    }
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" · {}", scale.unit) };
    let logarithmic = if axis.is_logarithmic() { ", log" } else { "" };
    svg.faint_text(WIDTH / 2.0, bottom + 38.0, Anchor::Middle, &format!("{}{unit}{logarithmic}", grid.columns.name));
    let title = format!("{} by {}", grid.columns.name, grid.rows.name);
    let description =
        "Marks are geometric means, lines their intervals; without an end mark they go on beyond the picture.";
    Some(svg.finish(WIDTH, bottom + 46.0, &title, description))
}

/// An interval that goes on beyond the picture has no mark at its end.
fn draw_point(
    svg: &mut Svg,
    (row, x): (usize, f64),
    cell: &Cell,
    (axis, shown): (&Axis, RangeInclusive<f64>),
    (scale, place): (&Scale, &str),
) {
    let Some((mean, low, high)) = cell.mean else { return };
    let at = |value: f64| axis.at(scale.apply(value));
    svg.line((x, at(low)), (x, at(high)), "currentColor", 1.4);
    for end in [low, high].into_iter().filter(|end| shown.contains(end)).map(at) {
        svg.line((x - 3.0, end), (x + 3.0, end), "currentColor", 1.4);
    }
    let tip = format!("{place}: {}", scale.with_interval(mean, low, high));
    svg.mark(row, x, at(mean), 4.8, 1.0, &tip);
    if cell.does_not_flush {
        svg.text(x + 6.0, at(mean) - TEXT * 0.3, Anchor::Start, DAGGER);
    }
}
