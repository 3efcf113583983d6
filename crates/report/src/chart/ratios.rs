//! Ratios with their intervals on one axis, a row each, and the band in which a difference does not matter: what `forest.rs` and
//! `comparison.rs` have in common.

use super::{Anchor, Axis, Picture, Svg, WIDTH};
use std::ops::RangeInclusive;

const ROW: f64 = 46.0;
const TOP: f64 = 8.0;
/// Intervals end the axis here at the latest: one from few rounds may reach from nothing to a thousandfold.
const ENDS: (f64, f64) = (0.02, 50.0);
/// The axis goes on so far beyond the outermost mark, as a factor, where that lies near these ends or beyond them.
const BEYOND: f64 = 2.0;

/// One ratio.
pub struct Row {
    /// What it is of, cut to its room.
    pub name: String,
    /// It, and the ends of its interval.
    pub ratio: (f64, f64, f64),
    /// In a word or three.
    pub verdict: String,
    /// Whether a difference was shown.
    pub is_shown: bool,
    /// Shown when the pointer is over it.
    pub tip: String,
}

/// What stands around them.
pub struct Around<'a> {
    /// Below the axis.
    pub axis: &'a str,
    /// As [`Svg::finish`] has them.
    pub title: &'a str,
    /// What a row is.
    pub description: &'a str,
}

/// The chart.
pub fn draw(id: &str, rows: &[Row], margin: f64, around: &Around) -> Picture {
    let (axis, shown) = axis(rows, margin);
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(id);
    let band = (axis.at(1.0 / (1.0 + margin)), axis.at(1.0 + margin));
    let tip = "differences in here do not matter";
    svg.rectangle((band.0, TOP), (band.1 - band.0, bottom - TOP), "currentColor", 0.09, tip);
    svg.ticks_across(&axis, 5, (TOP, bottom), 16.0);
    svg.reference_line((axis.at(1.0), TOP), (axis.at(1.0), bottom));
    (0..=rows.len()).for_each(|i| svg.may_be_cut(TOP + ROW * i as f64));
    for (i, row) in rows.iter().enumerate() {
        draw_row(&mut svg, row, (&axis, &shown), TOP + ROW * i as f64);
    }
    svg.faint_text(WIDTH / 2.0, bottom + 34.0, Anchor::Middle, around.axis);
    let description = format!("{}; without an end mark it goes on beyond the picture.", around.description);
    svg.finish(WIDTH, bottom + 42.0, around.title, &description)
}

/// An axis that holds every mark and the band, and the values that it shows.
fn axis(rows: &[Row], margin: f64) -> (Axis, RangeInclusive<f64>) {
    let reach = 1.0 + 1.5 * margin;
    let marks = || rows.iter().map(|row| row.ratio.0);
    let (smallest, largest) = (marks().fold(f64::INFINITY, f64::min), marks().fold(0.0, f64::max));
    let low = rows.iter().map(|row| row.ratio.1.min(row.ratio.0)).fold(1.0 / reach, f64::min);
    let high = rows.iter().map(|row| row.ratio.2.max(row.ratio.0)).fold(reach, f64::max);
    let (low, high) = (low.max(ENDS.0.min(smallest / BEYOND)), high.min(ENDS.1.max(largest * BEYOND)));
    (Axis::logarithmic(low, high, 10.0, WIDTH - 10.0), low..=high)
}

/// An interval that goes on beyond the picture has no mark at its end.
fn draw_row(svg: &mut Svg, row: &Row, (axis, shown): (&Axis, &RangeInclusive<f64>), top: f64) {
    svg.text(4.0, top + 14.5, Anchor::Start, &row.name);
    if row.is_shown {
        svg.bold_text(WIDTH - 4.0, top + 14.5, Anchor::End, &row.verdict);
    } else {
        svg.faint_text(WIDTH - 4.0, top + 14.5, Anchor::End, &row.verdict);
    }
    let (ratio, low, high) = row.ratio;
    let y = top + 30.0;
    svg.line((axis.at(low), y), (axis.at(high), y), "currentColor", 1.6);
    for end in [low, high].into_iter().filter(|end| shown.contains(end)).map(|end| axis.at(end)) {
        svg.line((end, y - 4.0), (end, y + 4.0), "currentColor", 1.6);
    }
    // Filled when the difference is shown, pale when it is not.
    svg.mark(0, axis.at(ratio), y, 5.5, if row.is_shown { 1.0 } else { 0.35 }, &row.tip);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ratio: (f64, f64, f64)) -> Row {
        Row { name: String::new(), ratio, verdict: String::new(), is_shown: true, tip: String::new() }
    }

    #[test]
    fn every_mark_has_its_own_place() {
        let places = |ratios: &[f64]| {
            let rows: Vec<Row> = ratios.iter().map(|ratio| row((*ratio, ratio * 0.9, ratio * 1.1))).collect();
            let (axis, _) = axis(&rows, 0.03);
            ratios.iter().map(|ratio| axis.at(*ratio)).collect::<Vec<f64>>()
        };
        for ratios in [[1.0, 50.0, 120.0, 4000.0], [0.0005, 0.01, 0.02, 1.0]] {
            let places = places(&ratios);
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 10.0), "{ratios:?} at {places:?}");
            assert!(places[0] > 11.0 && places[3] < WIDTH - 11.0, "not at an edge: {places:?}");
        }
    }

    #[test]
    fn an_interval_that_is_cut_has_no_end_mark() {
        let rows = [row((120.0, 100.0, 140.0)), row((1.0, 0.001, 5000.0))];
        let svg = draw("ratios", &rows, 0.03, &Around { axis: "", title: "", description: "" }).svg;
        // Two lines, and both ends of the first.
        assert_eq!(svg.matches("stroke-width=\"1.6\"").count(), 4, "{svg}");
    }
}
