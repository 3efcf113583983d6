//! One scenario's value second by second, all rounds as thin lines: the saw-tooth and the stall are visible. The warm-up before is
//! shaded, and what is known of a run's moments is marked.

use super::{Anchor, Axis, Picture, Svg, colour, tick_label};
use crate::input::Line;
use crate::number::Scale;
use crate::words::Words as _;
use analysis::marks::Kind;

/// Scenarios drawn, the best first.
pub const PANELS_MAX: usize = 24;
/// Runs drawn in each, spread evenly: more lines on top of each other show nothing more.
pub const LINES_MAX: usize = 4;
/// Warm-ups drawn before them: two tell whether it is always the same.
pub const WARM_UPS_MAX: usize = 2;
/// Narrower than other charts: several stand side by side.
const WIDTH: f64 = 300.0;
/// Room for a panel's name.
pub const NAME_ROOM: f64 = WIDTH - 22.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 126.0;

/// What all panels share, so that they can be compared.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Words for what is drawn.
    pub series: &'a str,
    /// Largest value of any panel.
    pub high: f64,
    /// Longest time of any panel, seconds.
    pub seconds: f64,
    /// Longest warm-up of any panel, seconds.
    pub warm_up_seconds: f64,
    /// Unit.
    pub scale: &'a Scale,
}

/// One scenario's lines.
pub struct Panel<'a> {
    /// Place in the plan: colour and shape.
    pub index: usize,
    /// Its label, and what of it fits above the panel.
    pub label: &'a str,
    /// As said.
    pub name: &'a str,
    /// Its runs.
    pub lines: Vec<&'a Line>,
    /// The warm-ups before them.
    pub warm_ups: Vec<&'a Line>,
}

/// The panel of one scenario.
pub fn draw(id: &str, panel: &Panel, frame: Frame) -> Picture {
    let x_axis = Axis::exact(-frame.warm_up_seconds, frame.seconds, LEFT, WIDTH - 8.0);
    let y_axis = Axis::exact(0.0, frame.scale.apply(frame.high) * 1.03, BOTTOM, TOP);
    let mut svg = Svg::new(id);
    svg.mark(panel.index, 8.0, 10.0, 4.5, 1.0, "");
    svg.text(18.0, 14.5, Anchor::Start, panel.name);
    if frame.warm_up_seconds > 0.0 {
        let size = (x_axis.at(0.0) - LEFT, BOTTOM - TOP);
        svg.rectangle((LEFT, TOP), size, "currentColor", 0.1, "warm-up");
    }
    svg.ticks_up(&y_axis, 3, (LEFT, WIDTH - 8.0));
    let ticks = x_axis.ticks(4);
    for tick in &ticks {
        let is_at_edge = *tick == 0.0 && frame.warm_up_seconds == 0.0;
        let anchor = if is_at_edge { Anchor::Start } else { Anchor::Middle };
        let text = format!("{}{}", tick_label(*tick, &ticks), if *tick == 0.0 { " s" } else { "" });
        svg.faint_text(x_axis.at(*tick).min(WIDTH - 18.0), BOTTOM + 17.0, anchor, &text);
    }
    let opacity = (2.0 / panel.lines.len().max(1) as f64).clamp(0.3, 0.8);
    let mut polyline = |line: &Line, begin: f64, tip: &str| {
        let point = |(x, y): &(f64, f64)| (x_axis.at(begin + x), y_axis.at(frame.scale.apply(*y)));
        let points: Vec<(f64, f64)> = line.points.iter().map(point).collect();
        svg.polyline(
            &points,
            colour(panel.index),
            1.3,
            opacity,
            &format!("{}, round {}{tip}", panel.label, line.round + 1),
        );
    };
    panel.warm_ups.iter().for_each(|line| polyline(line, -(line.seconds() as f64), ", warm-up"));
    panel.lines.iter().for_each(|line| polyline(line, 0.0, ""));
    panel.lines.iter().for_each(|line| draw_marks(&mut svg, line, &x_axis));
    let title = format!("{}: {} over time", panel.label, frame.series);
    svg.finish(WIDTH, BOTTOM + 24.0, &title, &description(panel))
}

fn draw_marks(svg: &mut Svg, line: &Line, x_axis: &Axis) {
    for second in line.marks.at(Kind::LevelChange) {
        let x = x_axis.at(*second as f64);
        svg.reference_line((x, TOP), (x, BOTTOM));
        svg.sign(Kind::LevelChange, (x, TOP), &format!("round {}: another level from {second} s", line.round + 1));
    }
    for second in line.marks.at(Kind::LongFlush) {
        let x = x_axis.at(*second as f64);
        svg.sign(Kind::LongFlush, (x, BOTTOM - 3.0), &format!("round {}: long flushes at {second} s", line.round + 1));
    }
}

/// What a screen reader says: the marks, too.
fn description(panel: &Panel) -> String {
    let marked =
        panel.lines.iter().map(|line| (line.round + 1, line.marks.words())).filter(|(_, words)| !words.is_empty());
    let marks: String = marked.map(|(round, words)| format!(" Round {round}: {words}.")).collect();
    format!("One line a run; all panels have the same axes.{marks}")
}
