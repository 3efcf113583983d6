//! Charts as SVG text: the writer, the axes and the colours that all charts share; one file a chart below.
//!
//! Presentation attributes only, no scripts, no classes: the same text stands in the page and in any SVG viewer.
//! Laid out 380 units wide with text of 13, so that on a phone of 390 pixels no text falls below 11 pixels.

pub mod comparison;
pub mod forest;
pub mod heat_map;
pub mod history;
pub mod hosts;
pub mod interplay;
pub mod latency;
pub mod levels;
pub mod pareto;
pub mod ranking;
pub mod ratios;
pub mod shares;
pub mod throughput;
pub mod trust;

use crate::labels;
use crate::number::Scale;
use analysis::marks::Kind;
use std::fmt::Write;

/// Width of every full-size chart, in its own units.
pub const WIDTH: f64 = 380.0;
/// Size of ordinary text.
pub const TEXT: f64 = 13.0;

/// Okabe and Ito's colours in this order; the last, black, is the text's colour so that it shows on dark pages.
const COLOURS: [&str; 7] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "currentColor"];

/// The colour of the `index`th scenario.
pub fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Text that may stand between tags and inside quoted attributes. A number stays on one line with its per cent sign.
pub fn escape(text: &str) -> String {
    verbatim(&text.replace(" %", "\u{a0}%"))
}

/// The same of what is typed again: files and commands, whose spaces stay what they are.
pub fn verbatim(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Control characters are not allowed in XML, not even escaped.
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Where text is anchored.
#[derive(Debug, Clone, Copy)]
pub enum Anchor {
    /// Left end at the point.
    Start,
    /// Centre at the point.
    Middle,
    /// Right end at the point.
    End,
}

/// A finished drawing.
#[derive(Debug, Clone)]
pub struct Picture {
    /// The whole SVG element.
    pub svg: String,
    /// What a screen reader says.
    pub title: String,
    /// Width in its own units.
    pub width: f64,
    /// Height in its own units.
    pub height: f64,
    /// Where it may be cut over sheets, from the top down; empty: nowhere.
    pub cuts: Vec<f64>,
}

/// One drawing in the making. Coordinates have one decimal: a tenth of a unit can't be seen.
pub struct Svg {
    id: String,
    body: String,
    cuts: Vec<f64>,
}

impl Svg {
    /// An empty drawing; `id` is unique on the page and made of letters, digits and dashes.
    pub fn new(id: &str) -> Svg {
        let id = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        Svg { id, body: String::new(), cuts: Vec::new() }
    }

    /// The whole element, with what a screen reader says. Where there is no system's font, as on paper, all text is in DejaVu Sans.
    pub fn finish(self, width: f64, height: f64, title: &str, description: &str) -> Picture {
        let Svg { id, body, cuts } = self;
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{id}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"system-ui,DejaVu Sans,sans-serif\" font-size=\"{TEXT}\" \
             fill=\"currentColor\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{body}</svg>",
            escape(title),
            escape(description),
        );
        Picture { svg, title: title.into(), width: width.round(), height: height.round(), cuts }
    }

    /// Says that a page may end at `y`. What is above the first of these is repeated above each piece, what is below the last below.
    pub fn may_be_cut(&mut self, y: f64) {
        self.cuts.push(y.round());
    }

    /// Text with its baseline at `y`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.styled_text(x, y, anchor, "", text);
    }

    /// Text in the paler tone of axes and notes.
    pub fn faint_text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.styled_text(x, y, anchor, " fill-opacity=\"0.72\"", text);
    }

    /// Text in bold.
    pub fn bold_text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.styled_text(x, y, anchor, " font-weight=\"600\"", text);
    }

    /// Text in the middle of a filled shape, in the ink that is readable there.
    pub fn inked_text(&mut self, x: f64, y: f64, ink: &str, text: &str) {
        self.styled_text(x, y, Anchor::Middle, &format!(" fill=\"{ink}\""), text);
    }

    fn styled_text(&mut self, x: f64, y: f64, anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = write!(self.body, "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor}{style}>{}</text>", escape(text));
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, width: f64) {
        self.stroke(from, to, &format!("stroke=\"{stroke}\" stroke-width=\"{width}\""));
    }

    /// A hair line of the grid.
    pub fn grid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.stroke(from, to, "stroke=\"currentColor\" stroke-opacity=\"0.15\"");
    }

    /// A dashed line that marks a reference.
    pub fn reference_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.stroke(from, to, "stroke=\"currentColor\" stroke-opacity=\"0.6\" stroke-dasharray=\"4 3\"");
    }

    fn stroke(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
        let _ = write!(self.body, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" {style}/>");
    }

    /// Lines across and numbers left of them, for an axis that goes up.
    pub fn ticks_up(&mut self, axis: &Axis, count: usize, (left, right): (f64, f64)) {
        let ticks = axis.ticks(count);
        for tick in &ticks {
            let y = axis.at(*tick);
            self.grid_line((left, y), (right, y));
            self.faint_text(left - 6.0, y + 4.5, Anchor::End, &tick_label(*tick, &ticks));
        }
    }

    /// Lines at the ticks of an axis from left to right, and their labels below, which keep `edge` away from the picture's sides.
    pub fn ticks_across(&mut self, axis: &Axis, count: usize, (top, bottom): (f64, f64), edge: f64) {
        let ticks = axis.ticks(count);
        for tick in &ticks {
            let x = axis.at(*tick);
            self.grid_line((x, top), (x, bottom));
            self.faint_text(x.clamp(edge, WIDTH - edge), bottom + 16.0, Anchor::Middle, &tick_label(*tick, &ticks));
        }
    }

    /// A line through points; `tip` is shown when the pointer is over it.
    pub fn polyline(&mut self, points: &[(f64, f64)], stroke: &str, width: f64, opacity: f64, tip: &str) {
        if points.is_empty() {
            return;
        }
        // Steps from point to point in tenths: a page has thousands of them, and they are shorter than places.
        let tenths = |value: f64| (value * 10.0).round() as i64;
        let mut path = String::from("M");
        let mut last = None;
        for (x, y) in points.iter().map(|(x, y)| (tenths(*x), tenths(*y))) {
            let (command, from) = last.map_or(("", (0, 0)), |from| ("l", from));
            let _ = write!(path, "{command}{} {}", (x - from.0) as f64 / 10.0, (y - from.1) as f64 / 10.0);
            last = Some((x, y));
        }
        let style = format!("stroke=\"{stroke}\" stroke-width=\"{width}\" stroke-opacity=\"{opacity}\"");
        self.told("path", &format!("fill=\"none\" stroke-linejoin=\"round\" {style} d=\"{path}\""), tip);
    }

    /// A filled rectangle; `tip` is shown when the pointer is over it.
    pub fn rectangle(&mut self, corner: (f64, f64), size: (f64, f64), fill: &str, opacity: f64, tip: &str) {
        let ((x, y), (width, height)) = (corner, size);
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        self.told("rect", &format!("{place} fill=\"{fill}\" fill-opacity=\"{opacity}\""), tip);
    }

    /// Slanted lines over a rectangle.
    pub fn hatch(&mut self, corner: (f64, f64), size: (f64, f64), stroke: &str) {
        const GAP: f64 = 8.0;
        let ((left, top), (width, height)) = (corner, size);
        self.body.push_str("<path d=\"");
        for step in 1..((width + height) / GAP).ceil() as usize {
            // From the upper or right edge down to the left or lower one, along x + y = reach.
            let reach = step as f64 * GAP;
            let (x1, y1) = if reach <= width { (reach, 0.0) } else { (width, reach - width) };
            let (x2, y2) = if reach <= height { (0.0, reach) } else { (reach - height, height) };
            let _ = write!(self.body, "M{:.1} {:.1}L{:.1} {:.1}", left + x1, top + y1, left + x2, top + y2);
        }
        let _ = write!(self.body, "\" stroke=\"{stroke}\" stroke-opacity=\"0.55\"/>");
    }

    /// The mark of scenario `index`: colour and shape both, so that neither alone must be seen.
    pub fn mark(&mut self, index: usize, x: f64, y: f64, radius: f64, opacity: f64, tip: &str) {
        let path = mark_path(index, x, y, radius);
        let fill = colour(index);
        let pale = if opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
        let style = format!("fill=\"{fill}\" stroke=\"currentColor\" stroke-width=\"0.6\"{pale}");
        self.told("path", &format!("d=\"{path}\" {style}"), tip);
    }

    /// As [`Svg::mark`], its outline only; what lies behind it shows.
    pub fn hollow_mark(&mut self, index: usize, x: f64, y: f64, radius: f64, tip: &str) {
        let (path, stroke) = (mark_path(index, x, y, radius), colour(index));
        // The fill is there for the pointer alone.
        let style = format!("fill=\"{stroke}\" fill-opacity=\"0\" stroke=\"{stroke}\" stroke-width=\"1.6\"");
        self.told("path", &format!("d=\"{path}\" {style}"), tip);
    }

    /// The sign of a moment: dark like text and told apart by its shape, as colours are the scenarios'.
    pub fn sign(&mut self, kind: Kind, (x, y): (f64, f64), tip: &str) {
        let shape = match kind {
            Kind::LevelChange => 2,
            Kind::LongFlush => 3,
        };
        self.told("path", &format!("d=\"{}\"", mark_path(shape, x, y, 3.4)), tip);
    }

    /// Names from the top on, each after what `symbol` draws at its place; gives where the legend ends.
    pub fn legend(&mut self, names: &[&str], symbol: impl Fn(&mut Svg, usize, f64, f64)) -> f64 {
        let (mut x, mut y) = (4.0, 6.0);
        for (part, name) in names.iter().enumerate() {
            let width = 20.0 + width_of(name) + 10.0;
            if x + width > WIDTH {
                (x, y) = (4.0, y + 20.0);
            }
            symbol(self, part, x, y);
            self.faint_text(x + 17.0, y + 11.0, Anchor::Start, name);
            x += width;
        }
        y + 26.0
    }

    /// A shape with what is said of it when one points there.
    fn told(&mut self, shape: &str, attributes: &str, tip: &str) {
        let tip = if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) };
        let _ = write!(self.body, "<{shape} {attributes}>{tip}</{shape}>");
    }
}

/// Seven shapes: circle, square, diamond, triangle up, triangle down, plus, bar.
fn mark_path(index: usize, x: f64, y: f64, r: f64) -> String {
    match index % COLOURS.len() {
        0 => {
            format!("M{:.1} {y:.1}a{r:.1} {r:.1} 0 1 0 {:.1} 0a{r:.1} {r:.1} 0 1 0 {:.1} 0z", x - r, 2.0 * r, -2.0 * r)
        }
        1 => format!("M{:.1} {:.1}h{:.1}v{:.1}h{:.1}z", x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8, -r * 1.8),
        2 => format!("M{x:.1} {:.1}l{q:.1} {q:.1}l-{q:.1} {q:.1}l-{q:.1} -{q:.1}z", y - r * 1.25, q = r * 1.25),
        3 => format!("M{x:.1} {:.1}l{:.1} {:.1}h{:.1}z", y - r * 1.2, r * 1.15, r * 2.1, -r * 2.3),
        4 => format!("M{x:.1} {:.1}l{:.1} {:.1}h{:.1}z", y + r * 1.2, r * 1.15, -r * 2.1, -r * 2.3),
        5 => {
            let (arm, wide) = (r * 1.2, r * 0.42);
            let step = arm - wide;
            format!(
                "M{:.1} {:.1}h{w:.1}v{step:.1}h{step:.1}v{w:.1}h-{step:.1}v{step:.1}h-{w:.1}v-{step:.1}h-{step:.1}v-{w:.1}h{step:.1}z",
                x - wide,
                y - arm,
                w = wide * 2.0
            )
        }
        _ => format!("M{:.1} {:.1}h{:.1}v{:.1}h{:.1}z", x - r * 1.2, y - r * 0.5, r * 2.4, r, -r * 2.4),
    }
}

/// From values to coordinates, straight or logarithmic.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    /// A straight axis that holds `low..high` between the coordinates `from` and `to`, with a little air.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Axis {
        let air = if high > low { (high - low) * 0.04 } else { low.abs().max(1.0) * 0.04 };
        Axis { low: low - air, high: high + air, from, to, logarithmic: false }
    }

    /// A straight axis from exactly `low` to exactly `high`.
    pub fn exact(low: f64, high: f64, from: f64, to: f64) -> Axis {
        Axis { low, high: if high > low { high } else { low + 1.0 }, from, to, logarithmic: false }
    }

    /// A logarithmic axis; both ends are above 0.
    pub fn logarithmic(low: f64, high: f64, from: f64, to: f64) -> Axis {
        let air = (high / low).powf(0.04).max(1.01);
        // A damaged file may have any number: air beyond the largest or smallest has infinitely many decades.
        let low = (low / air).max(f64::MIN_POSITIVE);
        Axis { low, high: (high * air).min(f64::MAX), from, to, logarithmic: true }
    }

    /// Logarithmic where the values span more than a factor of four, as a straight one would press most dots together.
    pub fn fitting(low: f64, high: f64, from: f64, to: f64) -> Axis {
        if low > 0.0 && high / low > 4.0 {
            Axis::logarithmic(low, high, from, to)
        } else {
            Axis::linear(low, high, from, to)
        }
    }

    /// Whether equal distances are equal ratios.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// What stands behind the name of what it shows: ", ms, log". "Transactions per second, 1/s" would say it twice.
    pub fn after_name(&self, scale: &Scale) -> String {
        let unit = if scale.unit == "1/s" { String::new() } else { scale.after_name() };
        format!("{unit}{}", if self.logarithmic { ", log" } else { "" })
    }

    /// The coordinate of a value, kept on the axis.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    /// About `count` round values on the axis.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        if self.logarithmic && self.high / self.low > 4.0 {
            return self.logarithmic_ticks(count);
        }
        let step = round_step((self.high - self.low) / count as f64);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|i| i as f64 * step).take_while(|value| *value <= self.high + step * 1e-9).take(50).collect()
    }

    fn logarithmic_ticks(&self, count: usize) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let inside = |steps: &[f64]| -> Vec<f64> {
            let all = decades.clone().flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            all.filter(|value| (self.low..=self.high).contains(value)).collect()
        };
        let finest = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(inside);
        let fitting = finest.iter().find(|ticks| ticks.len() <= count + 1).unwrap_or(&finest[2]);
        // Many decades: every second, third … of them.
        let keep = fitting.len().div_ceil(count + 1).max(1);
        fitting.iter().copied().step_by(keep).collect()
    }
}

/// 1, 2 or 5 times a power of ten, at least `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.abs().max(1e-300).log10().floor());
    let mut steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power);
    steps.find(|step| *step >= rough * 0.999).unwrap_or(power * 10.0)
}

/// A label for a tick: no more decimals than the step between ticks needs.
pub fn tick_label(value: f64, ticks: &[f64]) -> String {
    let step = ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    let decimals =
        if step.is_finite() && step > 0.0 { (-(step * 1.0001).log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    // A lone tick has no step to go by.
    if value.abs() >= 1e4 || step.is_infinite() {
        return crate::number::figure(value);
    }
    format!("{:.decimals$}", if value.abs() < step * 1e-6 { 0.0 } else { value }).replace('-', "−")
}

/// Text cut so that it fits: about `room` units at the chart's text size.
pub fn fitted(text: &str, room: f64) -> String {
    labels::cut(text, letters(room))
}

/// Names that fit, of all that a chart tells apart by them: those that differ still do. The mark after a name may become a dagger.
pub fn fitted_names(names: impl IntoIterator<Item = impl Into<String>>, room: f64) -> Vec<String> {
    let names: Vec<String> = names.into_iter().map(Into::into).collect();
    labels::shortened_with_marks(&names, letters(room))
}

/// 0.56 of the size is a system font's mean width; measured in Chromium with DejaVu Sans, the widest default, it is 0.6.
fn letters(room: f64) -> usize {
    ((room / (TEXT * 0.6)) as usize).max(4)
}

/// Room that text takes.
pub fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * TEXT * 0.6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_text_stays_text() {
        let mut svg = Svg::new("a\"><script>");
        svg.text(0.0, 0.0, Anchor::Start, "<script>alert('x')</script>");
        let text = svg.finish(10.0, 10.0, "\"<b>", "\u{1}").svg;
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("id=\"a---script-\""), "{text}");
        assert!(!text.contains('\u{1}'));
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(Axis::exact(0.0, 10.0, 0.0, 1.0).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let ticks = Axis::logarithmic(10.0, 10_000.0, 0.0, 1.0).ticks(4);
        assert_eq!(ticks, [10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(tick_label(0.5, &[0.0, 0.5]), "0.5");
        assert_eq!(tick_label(2500.0, &[2500.0, 2600.0]), "2500");
        assert_eq!(tick_label(15.0, &[15.0]), "15.0");
    }

    #[test]
    fn the_ends_of_all_numbers_have_few_ticks() {
        for (low, high) in
            [(5e-324, f64::MAX), (1.0, f64::MAX), (1.0, f64::INFINITY), (5e-324, 1.0), (f64::INFINITY, f64::INFINITY)]
        {
            let axis = Axis::fitting(low, high, 10.0, 90.0);
            assert!(axis.ticks(4).len() <= 50, "{low} to {high}");
        }
    }

    proptest! {
        #[test]
        fn an_axis_keeps_order_and_bounds(low in -1e6..1e6f64, span in 1e-3..1e6f64, share in 0.0..1.0f64) {
            let axis = Axis::fitting(low, low + span, 10.0, 90.0);
            let (a, b) = (axis.at(low), axis.at(low + span * share));
            prop_assert!((10.0..=90.0).contains(&a) && (10.0..=90.0).contains(&b) && b >= a - 1e-9);
            prop_assert!(axis.ticks(5).len() <= 12);
        }
    }
}
