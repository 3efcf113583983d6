//! Did the machine drift: each trial's distance from its own scenario's mean against the wall clock, and each round's mean.
//!
//! A calm machine shows a flat band; a slope or a step hits every scenario of a round alike, which is why claims hold.

use super::{Anchor, Axis, Picture, Svg, WIDTH, tick_label};
use crate::number::{percent_signed, span};

const LEFT: f64 = 52.0;
const TOP: f64 = 10.0;
const HEIGHT: f64 = 190.0;
/// Dots drawn at most, spread evenly.
pub const DOTS_MAX: usize = 1_500;

/// One trial.
pub struct Dot<'a> {
    /// Place of its scenario in the plan.
    pub index: usize,
    /// Its scenario.
    pub label: &'a str,
    /// Round, from 0.
    pub round: u32,
    /// Seconds since the study began.
    pub seconds: f64,
    /// Value over its scenario's geometric mean, less 1.
    pub deviation: f64,
}

/// The chart; `None` with fewer than two trials.
pub fn draw(id: &str, dots: &[Dot]) -> Option<Picture> {
    if dots.len() < 2 {
        return None;
    }
    let end = dots.iter().map(|dot| dot.seconds).fold(1.0, f64::max);
    let reach = dots.iter().map(|dot| dot.deviation.abs()).fold(0.01, f64::max) * 100.0;
    let bottom = TOP + HEIGHT;
    let (unit, divisor) = if end < 600.0 {
        ("seconds", 1.0)
    } else if end < 36_000.0 {
        ("minutes", 60.0)
    } else {
        ("hours", 3600.0)
    };
    let x_axis = Axis::linear(0.0, end / divisor, LEFT, WIDTH - 10.0);
    let y_axis = Axis::linear(-reach, reach, bottom, TOP);
    let mut svg = Svg::new(id);
    let ticks = y_axis.ticks(5);
    for tick in &ticks {
        let y = y_axis.at(*tick);
        svg.grid_line((LEFT, y), (WIDTH - 10.0, y));
        svg.faint_text(LEFT - 6.0, y + 4.5, Anchor::End, &format!("{} %", tick_label(*tick, &ticks)));
    }
    svg.reference_line((LEFT, y_axis.at(0.0)), (WIDTH - 10.0, y_axis.at(0.0)));
    let ticks = x_axis.ticks(5);
    for tick in ticks.iter().filter(|tick| **tick >= 0.0) {
        svg.faint_text(x_axis.at(*tick), bottom + 17.0, Anchor::Middle, &tick_label(*tick, &ticks));
    }
    for dot in dots.iter().step_by(dots.len().div_ceil(DOTS_MAX)) {
        let (after, distance) = (span(dot.seconds), percent_signed(dot.deviation));
        let tip = format!("{}, round {}, after {after}: {distance}", dot.label, dot.round + 1);
        svg.mark(dot.index, x_axis.at(dot.seconds / divisor), y_axis.at(dot.deviation * 100.0), 3.4, 0.75, &tip);
    }
    let means = round_means(dots);
    let points: Vec<(f64, f64)> =
        means.iter().map(|(seconds, mean)| (x_axis.at(seconds / divisor), y_axis.at(mean * 100.0))).collect();
    svg.polyline(&points, "currentColor", 1.6, 0.8, "mean of each round");
    svg.faint_text(WIDTH / 2.0, bottom + 35.0, Anchor::Middle, &format!("{unit} since the first trial"));
    let title = "Each trial's distance from its scenario's mean, over time";
    Some(svg.finish(WIDTH, bottom + 42.0, title, "A dot is a trial; the line is each round's mean."))
}

/// Mean time and mean deviation of each round.
fn round_means(dots: &[Dot]) -> Vec<(f64, f64)> {
    let mut sums: std::collections::BTreeMap<u32, (f64, f64, f64)> = std::collections::BTreeMap::new();
    for dot in dots {
        let sum = sums.entry(dot.round).or_default();
        *sum = (sum.0 + dot.seconds, sum.1 + dot.deviation, sum.2 + 1.0);
    }
    sums.values().map(|(seconds, deviation, count)| (seconds / count, deviation / count)).collect()
}
