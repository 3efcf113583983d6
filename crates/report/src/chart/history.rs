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
/// Intervals are drawn as far as this beyond the smallest and the largest mean.
const BEYOND_MAX: f64 = 2.0;

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
    // Intervals of two or three rounds can span decades; then the means keep most of the room.
    let smallest = centres().map(|centre| centre.mean).fold(f64::INFINITY, f64::min);
    let largest = centres().map(|centre| centre.mean).fold(f64::NEG_INFINITY, f64::max);
    let low = centres().map(|centre| centre.low).fold(f64::INFINITY, f64::min).max(smallest / BEYOND_MAX);
    let high = centres().map(|centre| centre.high).fold(f64::NEG_INFINITY, f64::max).min(largest * BEYOND_MAX);
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
    svg.faint_text(WIDTH / 2.0, bottom + 35.0, Anchor::Middle, &format!("{metric}{}", y_axis.after_name(scale)));
    let description = "A line a scenario; marks are geometric means, upright lines their intervals, of which long ones go on beyond \
        the picture; results at equal distances.";
    Some(svg.finish(WIDTH, bottom + 42.0, &format!("{metric} over time"), description))
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::metric::{Direction, Metric};

    /// They had ended where the smallest and the largest trial lay, within which an interval of few rounds does not fit.
    #[test]
    fn intervals_are_drawn_to_their_ends() {
        let heights = heights([(80.0, 120.0), (60.0, 140.0)]);
        assert!((heights[1] / heights[0] - 2.0).abs() < 0.02, "{heights:?}");
    }

    /// One result of two rounds had flattened all others: an interval of the others took a seventeenth of the height.
    #[test]
    fn an_interval_of_two_rounds_leaves_the_others_their_room() {
        let heights = heights([(80.0, 125.0), (2.0, 5000.0)]);
        assert!(heights[0] > HEIGHT / 4.0 && heights[1] <= HEIGHT, "{heights:?}");
    }

    /// Of the lines that two intervals around 100 are drawn as.
    fn heights(intervals: [(f64, f64); 2]) -> Vec<f64> {
        let centre =
            |(low, high)| Some(Centre { mean: 100.0, low, high, median: 100.0, min: 98.0, max: 103.0, count: 4 });
        let lines = [Line { label: "xfs", centres: intervals.map(centre).to_vec() }];
        let dates = ["2026-11-21", "2026-11-22"].map(String::from);
        let scale = Scale::of(&Metric::new("transactions_per_second", "1/s", Direction::More), 100.0);
        let svg = draw("history", &lines, &dates, &scale, "transactions per second").expect("two results").svg;
        let height = |path: &str| {
            let heights: Vec<f64> =
                path.split(['L', '"']).take(2).filter_map(|point| point.split_once(' ')?.1.parse().ok()).collect();
            heights[0] - heights[1]
        };
        let paths = svg.split("<path d=\"M").filter(|path| path.contains("stroke-width=\"1.2\""));
        paths.map(height).collect()
    }
}
