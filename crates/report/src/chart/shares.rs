//! Where time went: one bar a scenario, split into shares that make up the whole.

use super::{Anchor, Picture, Svg, WIDTH, colour, fitted_names};
use crate::number::percent;

const ROW: f64 = 40.0;

/// One bar.
pub struct Bar {
    /// Its scenario.
    pub label: String,
    /// Shares of 1, in the order of the legend.
    pub shares: Vec<f64>,
}

/// The chart under its title and description; `None` without bars.
pub fn draw(id: &str, (title, description): (&str, &str), legend: &[&str], bars: &[Bar]) -> Option<Picture> {
    if bars.is_empty() {
        return None;
    }
    let mut svg = Svg::new(id);
    let legend_bottom = draw_legend(&mut svg, legend);
    let names = fitted_names(bars.iter().map(|bar| bar.label.as_str()), WIDTH - 8.0);
    (0..=bars.len()).for_each(|i| svg.may_be_cut(legend_bottom + ROW * i as f64));
    for (i, bar) in bars.iter().enumerate() {
        let top = legend_bottom + ROW * i as f64;
        svg.text(4.0, top + 14.0, Anchor::Start, &names[i]);
        let mut x = 4.0;
        for (part, share) in bar.shares.iter().enumerate() {
            let width = share.clamp(0.0, 1.0) * (WIDTH - 8.0);
            if width > 0.05 {
                let tip = format!("{}: {} {}", bar.label, legend[part], percent(*share));
                let (fill, opacity) = tone(legend, part);
                svg.rectangle((x, top + 20.0), (width, 14.0), fill, opacity, &tip);
            }
            x += width;
        }
    }
    let height = legend_bottom + ROW * bars.len() as f64 + 4.0;
    Some(svg.finish(WIDTH, height, title, description))
}

/// Idle time is not a colour among others: it is what is left.
fn tone(legend: &[&str], part: usize) -> (&'static str, f64) {
    if legend[part] == "idle" { ("currentColor", 0.12) } else { (colour(part), 1.0) }
}

fn draw_legend(svg: &mut Svg, legend: &[&str]) -> f64 {
    svg.legend(legend, |svg, part, x, y| {
        let (fill, opacity) = tone(legend, part);
        svg.rectangle((x, y), (12.0, 12.0), fill, opacity, "");
    })
}
