//! A metric by the levels of two factors: a block for each level of one, in it a mark with its interval for each of the other.

use super::{Anchor, Axis, Picture, Svg, WIDTH, fitted_names};
use crate::pivot::{Cell, Pivot};

const LINE: f64 = 18.0;
const HEAD: f64 = 22.0;
/// Blocks drawn at most; the table has them all.
const BLOCKS_MAX: usize = 30;
/// Room for a value, right of the axis.
const VALUE: f64 = 64.0;

/// The chart of a table's own figures; `None` when fewer than two were measured.
pub fn draw(id: &str, pivot: &Pivot) -> Option<Picture> {
    let centres = || pivot.rows.iter().flat_map(|(_, cells)| cells).filter_map(|cell| cell.ours);
    if centres().count() < 2 {
        return None;
    }
    let scale = &pivot.scale;
    let low = centres().map(|centre| centre.low.min(centre.mean)).fold(f64::INFINITY, f64::min);
    let high = centres().map(|centre| centre.high.max(centre.mean)).fold(f64::NEG_INFINITY, f64::max);
    let axis = Axis::fitting(scale.apply(low), scale.apply(high), 14.0, WIDTH - VALUE);
    let mut svg = Svg::new(id);
    let top = svg.legend(&pivot.columns, |svg, column, x, y| svg.mark(column, x + 6.0, y + 6.0, 5.0, 1.0, ""));
    let blocks: Vec<_> = blocks(pivot).take(BLOCKS_MAX).collect();
    let lines = |cells: &[Cell]| cells.iter().filter(|cell| cell.ours.is_some()).count();
    let height: f64 = blocks.iter().map(|(_, cells)| HEAD + LINE * lines(cells) as f64).sum();
    let bottom = top + height;
    svg.ticks_across(&axis, 4, (top, bottom), 0.0);
    let names = fitted_names(blocks.iter().map(|(row, _)| *row), WIDTH - 8.0);
    let mut y = top;
    for ((row, cells), name) in blocks.into_iter().zip(&names) {
        svg.text(4.0, y + 15.0, Anchor::Start, name);
        svg.may_be_cut(y);
        y += HEAD;
        let measured = cells.iter().enumerate().filter_map(|(column, cell)| Some((column, cell, cell.ours?)));
        for (column, cell, centre) in measured {
            let at = |value: f64| axis.at(scale.apply(value));
            let value = scale.with_interval(centre.mean, centre.low, centre.high);
            let tip = format!("{row}, {}: {value}, {} rounds", pivot.columns[column], centre.count);
            let middle = y + LINE / 2.0;
            svg.line((at(centre.low), middle), (at(centre.high), middle), "currentColor", 1.4);
            for end in [at(centre.low), at(centre.high)] {
                svg.line((end, middle - 3.5), (end, middle + 3.5), "currentColor", 1.4);
            }
            svg.mark(column, at(centre.mean), middle, 4.8, 1.0, &tip);
            let value = format!("{}{}", scale.number(centre.mean), cell.dagger());
            svg.faint_text(WIDTH - 4.0, middle + 4.5, Anchor::End, &value);
            y += LINE;
        }
    }
    svg.may_be_cut(bottom);
    svg.faint_text(WIDTH / 2.0, bottom + 34.0, Anchor::Middle, &format!("{}{}", pivot.metric, axis.after_name(scale)));
    Some(svg.finish(WIDTH, bottom + 42.0, &pivot.title, "Marks are geometric means, lines their intervals."))
}

/// Said below the chart where it leaves blocks out.
pub fn left_out(pivot: &Pivot) -> String {
    match blocks(pivot).count() {
        all if all > BLOCKS_MAX => format!(" The first {BLOCKS_MAX} of {all} are drawn; the table has all."),
        _ => String::new(),
    }
}

/// Those with a figure.
fn blocks<'a>(pivot: &'a Pivot<'a>) -> impl Iterator<Item = &'a (&'a str, Vec<Cell>)> {
    pivot.rows.iter().filter(|(_, cells)| cells.iter().any(|cell| cell.ours.is_some()))
}
