//! Results of one study over time: a line a scenario, a mark with its interval a result.
//!
//! Results stand at equal distances, whatever time lay between them: what matters is which came after which.

use super::{Anchor, Axis, Picture, Svg, WIDTH, colour, fitted_names};
use crate::number::Scale;
use analysis::row::Centre;

const LEFT: f64 = 58.0;
const HEIGHT: f64 = 220.0;
/// More lines than there are colours and shapes can't be told apart; the tables have them all.
pub const LINES_MAX: usize = 7;
/// Room for a date.
const DATE: f64 = 84.0;

/// One scenario: its label, and where it lay in each result.
pub struct Line<'a> {
    /// Label.
    pub label: &'a str,
    /// One a result; none: not measured.
    pub centres: Vec<Option<Centre>>,
}

/// The chart; `None` where fewer than two results have figures.
pub fn draw(id: &str, lines: &[Line], dates: &[String], scale: &Scale, metric: &str) -> Option<Picture> {
    let lines = &lines[..lines.len().min(LINES_MAX)];
    let centres = || lines.iter().flat_map(|line| line.centres.iter().flatten());
    let measured = |at: usize| lines.iter().any(|line| line.centres[at].is_some());
    if (0..dates.len()).filter(|at| measured(*at)).count() < 2 {
        return None;
    }
    let low = centres().map(|centre| centre.min.min(centre.mean)).fold(f64::INFINITY, f64::min);
    let high = centres().map(|centre| centre.max.max(centre.mean)).fold(f64::NEG_INFINITY, f64::max);
    let mut svg = Svg::new(id);
    let names = fitted_names(lines.iter().map(|line| line.label), WIDTH - 26.0);
    let mut top = 6.0;
    for (index, name) in names.iter().enumerate() {
        svg.mark(index, 10.0, top + 6.0, 5.0, 1.0, "");
        svg.faint_text(22.0, top + 11.0, Anchor::Start, name);
        top += 19.0;
    }
    let (top, bottom) = (top + 8.0, top + 8.0 + HEIGHT);
    let y_axis = Axis::fitting(scale.apply(low), scale.apply(high), bottom, top);
    let x_axis = Axis::exact(0.0, dates.len() as f64 - 1.0, LEFT + DATE / 2.0, WIDTH - DATE / 2.0);
    svg.ticks_up(&y_axis, 5, (LEFT, WIDTH - 8.0));
    let fitting = ((WIDTH - LEFT) / DATE) as usize;
    for (at, date) in dates.iter().enumerate().step_by(dates.len().div_ceil(fitting)) {
        svg.faint_text(x_axis.at(at as f64), bottom + 17.0, Anchor::Middle, date);
    }
    for (index, line) in lines.iter().enumerate() {
        let known = || line.centres.iter().enumerate().filter_map(|(at, centre)| Some((at, (*centre)?)));
        let point = |at: usize, value: f64| (x_axis.at(at as f64), y_axis.at(scale.apply(value)));
        let points: Vec<(f64, f64)> = known().map(|(at, centre)| point(at, centre.mean)).collect();
        svg.polyline(&points, colour(index), 1.6, 0.8, line.label);
        for (at, centre) in known() {
            svg.line(point(at, centre.low), point(at, centre.high), "currentColor", 1.2);
            let value = scale.with_interval(centre.mean, centre.low, centre.high);
            let tip = format!("{}, {}: {value}", line.label, dates[at]);
            let (x, y) = point(at, centre.mean);
            svg.mark(index, x, y, 5.0, 1.0, &tip);
        }
    }
    let logarithmic = if y_axis.is_logarithmic() { ", log" } else { "" };
    let unit = if scale.unit.is_empty() || scale.unit == "1/s" { String::new() } else { format!(", {}", scale.unit) };
    svg.faint_text(WIDTH / 2.0, bottom + 35.0, Anchor::Middle, &format!("{metric}{unit}{logarithmic}"));
    let description =
        "A line a scenario; marks are geometric means, upright lines their intervals; results at equal distances.";
    Some(svg.finish(WIDTH, bottom + 42.0, &format!("{metric} over time"), description))
}
