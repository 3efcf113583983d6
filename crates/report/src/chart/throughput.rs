//! One scenario's value a second by second, all rounds as thin lines: the saw-tooth and the stall are visible.

use super::{Anchor, Axis, Svg, colour, fitted, tick_label};
use crate::input::Line;
use crate::number::Scale;

/// Scenarios drawn, the best first.
pub const PANELS_MAX: usize = 24;
/// Runs drawn in each, spread evenly: more lines on top of each other show nothing more.
pub const LINES_MAX: usize = 4;
/// Narrower than other charts: several stand side by side.
const WIDTH: f64 = 300.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 126.0;

/// What all panels share, so that they can be compared.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Largest value of any panel.
    pub high: f64,
    /// Longest time of any panel, seconds.
    pub seconds: f64,
    /// Unit.
    pub scale: &'a Scale,
}

/// The panel of one scenario.
#[must_use]
pub fn draw(id: &str, index: usize, label: &str, series: &str, lines: &[Line], frame: Frame) -> String {
    let x_axis = Axis::exact(0.0, frame.seconds, LEFT, WIDTH - 8.0);
    let y_axis = Axis::exact(0.0, frame.scale.apply(frame.high) * 1.03, BOTTOM, TOP);
    let mut svg = Svg::new(id);
    svg.mark(index, 8.0, 10.0, 4.5, 1.0, "");
    svg.text(18.0, 14.5, Anchor::Start, &fitted(label, WIDTH - 22.0));
    let ticks = y_axis.ticks(3);
    for tick in &ticks {
        let y = y_axis.at(*tick);
        svg.grid_line((LEFT, y), (WIDTH - 8.0, y));
        svg.faint_text(LEFT - 6.0, y + 4.5, Anchor::End, &tick_label(*tick, &ticks));
    }
    let ticks = x_axis.ticks(4);
    for tick in &ticks {
        let anchor = if *tick == 0.0 { Anchor::Start } else { Anchor::Middle };
        let text = format!("{}{}", tick_label(*tick, &ticks), if *tick == 0.0 { " s" } else { "" });
        svg.faint_text(x_axis.at(*tick).min(WIDTH - 18.0), BOTTOM + 17.0, anchor, &text);
    }
    let drawn = lines.iter().step_by(lines.len().div_ceil(LINES_MAX).max(1));
    let opacity = (2.0 / drawn.len().max(1) as f64).clamp(0.3, 0.8);
    for line in drawn {
        let points: Vec<(f64, f64)> =
            line.points.iter().map(|(x, y)| (x_axis.at(*x), y_axis.at(frame.scale.apply(*y)))).collect();
        svg.polyline(&points, colour(index), 1.3, opacity, &format!("{label}, round {}", line.round + 1));
    }
    let title = format!("{label}: {series} over time");
    svg.finish(WIDTH, BOTTOM + 24.0, &title, "One line a run; all panels have the same axes.")
}
