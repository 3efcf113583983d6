//! The tail of latency: each scenario's merged histogram as a line, x = 1/(1−q) on a log scale, as HDR plots do.
//!
//! Merged counts, never averages of percentiles.

use super::{Anchor, Axis, COLOURS, Picture, Svg, WIDTH, fitted_names, width_of};
use crate::number::Scale;
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use std::collections::BTreeSet;

/// As many lines as there are colours that can be told apart.
pub const LINES_MAX: usize = 7;
const LEFT: f64 = 52.0;
const TOP: f64 = 10.0;
const HEIGHT: f64 = 230.0;
/// A quantile needs this many operations beyond it before it is drawn: fewer is one unlucky second.
const BEYOND_MIN: f64 = 10.0;

/// One scenario's line.
pub struct Curve<'a> {
    /// Place in the plan: colour and shape, where these tell all curves apart.
    pub index: usize,
    /// Label.
    pub label: &'a str,
    /// Latencies of all its runs.
    pub latency: &'a Latency,
}

/// The chart of one operation; `None` when nothing was counted.
pub fn draw(id: &str, operation: &str, curves: &[Curve]) -> Option<Picture> {
    let curves: Vec<&Curve> = curves.iter().filter(|curve| curve.latency.count() > 0).take(LINES_MAX).collect();
    let looks = looks(&curves);
    let points: Vec<Vec<(f64, f64)>> = curves.iter().map(|curve| quantiles(curve.latency)).collect();
    let all = || points.iter().flatten();
    let high = all().map(|point| point.1).fold(0.0, f64::max);
    let low = all().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let far = all().map(|point| point.0).fold(10.0, f64::max);
    if !low.is_finite() || high <= 0.0 {
        return None;
    }
    let scale = Scale::of(&Metric::new("latency", "µs", Direction::Less), high);
    let bottom = TOP + HEIGHT;
    let x_axis = Axis::logarithmic(1.0, far, LEFT, WIDTH - 14.0);
    let y_axis = Axis::fitting(scale.apply(low), scale.apply(high), bottom, TOP);
    let mut svg = Svg::new(id);
    draw_axes(&mut svg, &x_axis, &y_axis, bottom, far);
    for ((curve, line), look) in curves.iter().zip(&points).zip(&looks) {
        let coordinates: Vec<(f64, f64)> =
            line.iter().map(|(x, y)| (x_axis.at(*x), y_axis.at(scale.apply(*y)))).collect();
        svg.polyline(&coordinates, super::colour(*look), 2.0, 1.0, curve.label);
        for ((tail, value), (x, y)) in line.iter().zip(&coordinates).filter(|((tail, _), _)| is_labelled(*tail)) {
            let tip = format!("{}: {} of operations within {}", curve.label, share(*tail), scale.with_unit(*value));
            svg.mark(*look, *x, *y, 4.0, 1.0, &tip);
        }
    }
    let axis = format!("share of operations that took at most so long ({})", scale.unit);
    svg.faint_text(WIDTH / 2.0, bottom + 36.0, Anchor::Middle, &axis);
    let mut y = bottom + 58.0;
    let p99 = |curve: &Curve| format!("p99 {}", scale.with_unit(curve.latency.microseconds_at(0.99)));
    let widest = curves.iter().map(|curve| width_of(&p99(curve))).fold(0.0, f64::max);
    let names = fitted_names(curves.iter().map(|curve| curve.label), WIDTH - 36.0 - widest);
    for ((curve, name), look) in curves.iter().zip(&names).zip(&looks) {
        svg.mark(*look, 12.0, y - 4.5, 4.5, 1.0, "");
        svg.text(24.0, y, Anchor::Start, name);
        svg.faint_text(WIDTH - 4.0, y, Anchor::End, &p99(curve));
        y += 20.0;
    }
    let title = format!("Latency of {operation} by quantile");
    Some(svg.finish(WIDTH, y - 6.0, &title, "Lower is better; the right end is the slowest operations."))
}

/// Colours and shapes: the scenarios' own; by their places here where two of many scenarios would look alike.
fn looks(curves: &[&Curve]) -> Vec<usize> {
    let own: Vec<usize> = curves.iter().map(|curve| curve.index % COLOURS.len()).collect();
    let are_apart = own.iter().collect::<BTreeSet<_>>().len() == own.len();
    if are_apart { own } else { (0..curves.len()).collect() }
}

fn draw_axes(svg: &mut Svg, x_axis: &Axis, y_axis: &Axis, bottom: f64, far: f64) {
    svg.ticks_up(y_axis, 5, (LEFT, WIDTH - 14.0));
    let tails = [2.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    for tail in tails.into_iter().filter(|tail| *tail <= far * 1.01) {
        let x = x_axis.at(tail);
        svg.grid_line((x, TOP), (x, bottom));
        svg.faint_text(x.min(WIDTH - 24.0), bottom + 17.0, Anchor::Middle, &share(tail));
    }
}

/// 1/(1−q) and microseconds, up to where enough operations lie beyond.
pub fn quantiles(latency: &Latency) -> Vec<(f64, f64)> {
    let far = latency.count() as f64 / BEYOND_MIN;
    // With fewer operations the median is all there is to say.
    tails(far.max(2.0)).into_iter().map(|tail| (tail, latency.microseconds_at(1.0 - 1.0 / tail))).collect()
}

/// 1/(1−q) that curves are drawn at: twelve a decade and the median, up to `far` and at most to one in ten million.
pub fn tails(far: f64) -> Vec<f64> {
    let mut tails: Vec<f64> = (0..=84).map(|i| 10f64.powf(f64::from(i) / 12.0)).collect();
    tails.push(2.0);
    tails.sort_by(f64::total_cmp);
    tails.retain(|tail| *tail <= far);
    tails
}

fn is_labelled(tail: f64) -> bool {
    let decade = tail.log10();
    tail > 1.5 && ((decade - decade.round()).abs() < 1e-9 || tail == 2.0)
}

fn share(tail: f64) -> String {
    let percent = 100.0 * (1.0 - 1.0 / tail);
    let decimals = (tail.log10().round() as i32 - 2).max(0) as usize;
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn no_two_curves_look_alike() {
        let mut latency = Latency::default();
        latency.record(Duration::from_millis(1));
        let looks = |places: [usize; 3]| {
            let curves = places.map(|index| Curve { index, label: "", latency: &latency });
            super::looks(&curves.each_ref())
        };
        assert_eq!(looks([9, 3, 0]), [2, 3, 0], "as everywhere on the page");
        assert_eq!(looks([10, 3, 0]), [0, 1, 2], "the eleventh of many looks like the fourth");
    }
}
