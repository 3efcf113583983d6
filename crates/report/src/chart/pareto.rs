//! Speed against safety: the classes of what a power cut took from the top down, in each its scenarios by speed.
//!
//! Filled is what no other scenario beats in both; hollow is what another does.

use super::{Anchor, Axis, Picture, Svg, WIDTH, fitted_names, ranking, width_of};
use crate::flushing::Marked as _;
use crate::number::Scale;
use crate::safety;
use analysis::row::{Centre, Row};
use analysis::view::Part;
use observe::safety::{Grade, Safety};

const HEAD: f64 = 22.0;
const ROW: f64 = 40.0;
const TOP: f64 = 4.0;
/// Radius of a mark.
const RADIUS: f64 = 5.5;

/// A scenario of which both were measured.
struct Point<'a> {
    row: &'a Row,
    centre: Centre,
    found: &'a Safety,
}

impl<'a> Point<'a> {
    /// How fast and how safe it is.
    fn measured(&self) -> (Centre, &'a Safety) {
        (self.centre, self.found)
    }
}

/// The chart of one workload; `None` when fewer than two of its scenarios have both figures.
pub fn draw(id: &str, part: &Part) -> Option<Picture> {
    let points: Vec<Point> = points(part).take(ranking::ROWS_MAX).collect();
    if points.len() < 2 {
        return None;
    }
    let scale = &Scale::of_part(part);
    let low = points.iter().map(|point| point.centre.low).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.centre.high).fold(f64::NEG_INFINITY, f64::max);
    let axis = Axis::fitting(scale.apply(low), scale.apply(high), 12.0, WIDTH - 12.0);
    let bottom = TOP + HEAD * Grade::ALL.len() as f64 + ROW * points.len() as f64;
    let mut svg = Svg::new(id);
    svg.ticks_across(&axis, 4, (TOP, bottom), 18.0);
    let value = |point: &Point| width_of(&scale.number(point.centre.mean));
    let room = WIDTH - 28.0 - points.iter().map(value).fold(0.0, f64::max);
    let names = fitted_names(points.iter().map(|point| point.row.marked()), room);
    let mut y = TOP;
    for grade in Grade::ALL {
        let words = format!("{} · {}", grade.letter(), grade.words());
        svg.grid_line((0.0, y), (WIDTH, y));
        let of_grade: Vec<_> = points.iter().zip(&names).filter(|(point, _)| point.found.grade == grade).collect();
        if of_grade.is_empty() {
            svg.faint_text(4.0, y + 15.0, Anchor::Start, &words);
        } else {
            svg.bold_text(4.0, y + 15.0, Anchor::Start, &words);
        }
        svg.may_be_cut(y);
        y += HEAD;
        for (point, name) in of_grade {
            let beaten = points.iter().find(|other| beats(other.measured(), point.measured(), part.more_is_better));
            draw_point(&mut svg, part, (point, name, beaten), &axis, y);
            y += ROW;
        }
    }
    svg.may_be_cut(bottom);
    svg.faint_text(WIDTH / 2.0, bottom + 34.0, Anchor::Middle, &ranking::axis_title(part, &axis));
    let title = format!("{}: speed against what a power cut took", part.workload);
    let description = "Classes from A, nothing lost, at the top; filled marks are beaten by none in both.";
    Some(svg.finish(WIDTH, bottom + 42.0, &title, description))
}

/// How many scenarios have both figures.
pub fn count(part: &Part) -> usize {
    points(part).count()
}

fn points(part: &Part) -> impl Iterator<Item = Point<'_>> {
    let rows = part.rows.iter().filter(|row| !row.control);
    rows.filter_map(|row| Some(Point { row, centre: row.centre?, found: row.power_cut.as_ref()? }))
}

/// Whether one is at least as fast and as safe as another, and not alike. A loss that only the recording ended may be an older one.
fn beats(one: (Centre, &Safety), other: (Centre, &Safety), more_is_better: bool) -> bool {
    let speed = one.0.merit(more_is_better).total_cmp(&other.0.merit(more_is_better));
    let safety = other.1.held_to().cmp(&one.1.held_to());
    speed.is_ge() && safety.is_ge() && (speed.is_gt() || safety.is_gt())
}

fn draw_point(
    svg: &mut Svg,
    part: &Part,
    (point, name, beaten): (&Point, &str, Option<&Point>),
    axis: &Axis,
    top: f64,
) {
    let Point { row, centre, found } = *point;
    let scale = &Scale::of_part(part);
    let value = scale.number(centre.mean);
    svg.text(12.0, top + 13.0, Anchor::Start, name);
    svg.bold_text(WIDTH - 4.0, top + 13.0, Anchor::End, &value);
    let at = |value: f64| axis.at(scale.apply(value));
    let (x, y) = (at(centre.mean), top + 27.0);
    let beaten_by =
        beaten.map_or_else(String::new, |other| format!("; {} is at least as fast and as safe", other.row.label));
    let measured = scale.with_interval(centre.mean, centre.low, centre.high);
    let tip = format!("{}: {measured}; {}{beaten_by}", row.marked(), safety::cell(found));
    for (end, edge) in [(at(centre.low), x - RADIUS), (at(centre.high), x + RADIUS)] {
        // The line stops at the mark, so that a hollow one stays hollow.
        if (end - x).abs() > RADIUS {
            svg.line((edge, y), (end, y), "currentColor", 1.6);
            svg.line((end, y - 4.0), (end, y + 4.0), "currentColor", 1.6);
        }
    }
    match beaten {
        None => svg.mark(row.index, x, y, RADIUS, 1.0, &tip),
        Some(_) => svg.hollow_mark(row.index, x, y, RADIUS, &tip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::row::centre;

    fn speed(mean: f64) -> Centre {
        centre(vec![mean], 0.95).expect("it has a value")
    }

    /// Of scenarios as (speed, class), which are beaten by none.
    fn front(scenarios: &[(f64, Grade)], more_is_better: bool) -> Vec<bool> {
        let found = |grade: &Grade| safety::tests::found(*grade);
        let made: Vec<(Centre, Safety)> = scenarios.iter().map(|(mean, grade)| (speed(*mean), found(grade))).collect();
        let all = || made.iter().map(|(centre, found)| (*centre, found));
        all().map(|one| !all().any(|other| beats(other, one, more_is_better))).collect()
    }

    #[test]
    fn filled_is_what_none_beats_in_both() {
        let scenarios = [
            (1000.0, Grade::A),
            (1100.0, Grade::B),
            (900.0, Grade::A),
            (1100.0, Grade::B),
            (1050.0, Grade::C),
            (3000.0, Grade::F),
        ];
        assert_eq!(front(&scenarios, true), [true, true, false, true, false, true]);
        assert_eq!(front(&scenarios, false), [false, false, true, false, false, false]);
    }

    /// It had made a slower one hollow, whose loss is known to be no older.
    #[test]
    fn who_may_have_lost_more_than_was_recorded_is_not_as_safe() {
        let ends = safety::tests::found(Grade::C);
        let censored = Safety { is_censored: Some(true), ..ends.clone() };
        let [slow, fast] = [1000.0, 1100.0].map(speed);
        assert!(beats((fast, &ends), (slow, &ends), true));
        assert!(!beats((fast, &censored), (slow, &ends), true));
        assert!(beats((fast, &ends), (slow, &censored), true));
    }
}
