//! Two factors as a grid of coloured cells, the value in each; hatched where a cell can't be told from the best.

use super::{Anchor, Picture, Svg, WIDTH, fitted_names, width_of};
use crate::flushing::DAGGER;
use crate::number::Scale;
use analysis::levels::{Cell, Grid};

const ROW: f64 = 34.0;
const TOP: f64 = 26.0;
/// A column narrower than this has no room for a figure.
const COLUMN_MIN: f64 = 40.0;
/// Better than the mean of all cells is this, worse the other; white is the middle.
const BLUE: [f64; 3] = [0.0, 114.0, 178.0];
const VERMILION: [f64; 3] = [213.0, 94.0, 0.0];

/// The heat map; `None` with fewer than two values, or where columns have no room.
pub fn draw(id: &str, grid: &Grid, scale: &Scale, more_is_better: bool) -> Option<Picture> {
    let means = grid.placed().filter_map(|(_, _, cell)| cell.mean.filter(|mean| mean.0 > 0.0));
    let logarithms: Vec<f64> = means.map(|mean| mean.0.ln()).collect();
    let widest = grid.rows.short.iter().map(|level| width_of(level)).reduce(f64::max)?;
    let left = (widest + 12.0).clamp(40.0, 130.0);
    let width = (WIDTH - left - 4.0) / grid.columns.levels.len() as f64;
    if logarithms.len() < 2 || width < COLUMN_MIN {
        return None;
    }
    let centre = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    let reach = logarithms.iter().map(|value| (value - centre).abs()).fold(1e-9, f64::max);
    let mut svg = Svg::new(id);
    for (column, level) in fitted_names(&grid.columns.short, width).iter().enumerate() {
        let x = left + (column as f64 + 0.5) * width;
        svg.faint_text(x, TOP - 8.0, Anchor::Middle, level);
    }
    for (row, level) in fitted_names(&grid.rows.short, left - 8.0).iter().enumerate() {
        let y = TOP + (row as f64 + 0.5) * ROW;
        svg.faint_text(left - 6.0, y + 4.5, Anchor::End, level);
    }
    for (row, column, cell) in grid.placed() {
        let corner = (left + column as f64 * width, TOP + row as f64 * ROW);
        let size = (width - 2.0, ROW - 2.0);
        let Some((mean, low, high)) = cell.mean else {
            let why = if cell.failed > 0 { "failed" } else { "–" };
            svg.faint_text(corner.0 + size.0 / 2.0, corner.1 + ROW / 2.0 + 3.5, Anchor::Middle, why);
            continue;
        };
        let sign = if more_is_better { 1.0 } else { -1.0 };
        // Who stalled is worse than all.
        let better = if mean > 0.0 { (mean.ln() - centre) / reach * sign } else { -1.0 };
        let place = format!("{} · {}", grid.rows.short[row], grid.columns.short[column]);
        let tip = format!("{place}: {}", scale.with_interval(mean, low, high));
        let text = format!("{}{}", scale.number(mean), if cell.does_not_flush { DAGGER } else { "" });
        draw_cell(&mut svg, cell, (corner, size), better, (&text, &tip));
    }
    let height = TOP + ROW * grid.rows.levels.len() as f64 + 4.0;
    let title = format!("{} and {} as a heat map", grid.rows.name, grid.columns.name);
    Some(svg.finish(WIDTH, height, &title, "Each cell holds its geometric mean; hatched cells may be the best."))
}

fn draw_cell(
    svg: &mut Svg,
    cell: &Cell,
    (corner, size): ((f64, f64), (f64, f64)),
    better: f64,
    (text, tip): (&str, &str),
) {
    let (fill, ink) = diverging(better);
    svg.rectangle(corner, size, &fill, 1.0, tip);
    let middle = (corner.0 + size.0 / 2.0, corner.1 + size.1 / 2.0);
    if cell.may_be_best {
        svg.hatch(corner, size, ink);
        let room = (width_of(text) + 6.0).min(size.0);
        svg.rectangle((middle.0 - room / 2.0, middle.1 - 9.0), (room, 18.0), &fill, 1.0, tip);
    }
    svg.inked_text(middle.0, middle.1 + 4.5, ink, text);
}

/// Blue for 1, white for 0, vermilion for −1, and the ink that is readable on it.
pub fn diverging(position: f64) -> (String, &'static str) {
    let (end, share) = (if position < 0.0 { VERMILION } else { BLUE }, position.abs().min(1.0));
    let [red, green, blue] = end.map(|part| 255.0 + (part - 255.0) * share);
    // Perceived lightness by the weights of ITU-R BT.601.
    let light = 0.299 * red + 0.587 * green + 0.114 * blue;
    (format!("#{:02X}{:02X}{:02X}", red as u8, green as u8, blue as u8), if light < 118.0 { "#fff" } else { "#000" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_white_and_both_ends_are_those_of_the_palette() {
        assert_eq!(diverging(0.0), ("#FFFFFF".into(), "#000"));
        assert_eq!(diverging(1.0), ("#0072B2".into(), "#fff"));
        assert_eq!(diverging(-7.0), ("#D55E00".into(), "#000"));
    }
}
