//! Who is ahead on which host: a line a host, a mark a scenario at its ratio to the baseline, the one that is ahead filled.

use super::{Anchor, Axis, Picture, Svg, TEXT, WIDTH, fitted, width_of};
use crate::number::ratio_precise;
use analysis::fleet::{FleetHost, FleetPart};

/// Up to so many hosts have names beside them; of more the lines are thin.
const NAMED_MAX: usize = 40;
const ROW: f64 = 20.0;
const THIN_ROW: f64 = 5.0;
const NAME_MAX: f64 = 110.0;

/// The chart of one workload; `None` where no host has a ratio.
pub fn draw(id: &str, part: &FleetPart, hosts: &[FleetHost]) -> Option<Picture> {
    part.baseline?;
    let shown: Vec<usize> = (0..part.scenarios.len()).filter(|place| !part.scenarios[*place].control).collect();
    let ratio = |place: usize, host: usize| part.scenarios[place].ratios[host].map(f64::exp);
    let all = || shown.iter().flat_map(|place| (0..hosts.len()).filter_map(|host| ratio(*place, host)));
    let (low, high) = (all().fold(1.0, f64::min), all().fold(1.0, f64::max));
    if shown.len() < 2 || low >= high {
        return None;
    }
    let is_named = hosts.len() <= NAMED_MAX;
    let widest = hosts.iter().map(|host| width_of(&host.host.name)).fold(0.0, f64::max).min(NAME_MAX);
    let left = if is_named { widest + 14.0 } else { 10.0 };
    let axis = Axis::logarithmic(low, high, left, WIDTH - 10.0);
    let mut svg = Svg::new(id);
    let names: Vec<&str> = shown.iter().map(|place| &*part.scenarios[*place].label).collect();
    let top = svg.legend(&names, |svg, index, x, y| svg.mark(shown[index], x + 6.0, y + 6.0, 5.0, 1.0, ""));
    let row = if is_named { ROW } else { THIN_ROW };
    let bottom = top + row * hosts.len() as f64;
    svg.ticks_across(&axis, 5, (top, bottom), 16.0);
    svg.reference_line((axis.at(1.0), top), (axis.at(1.0), bottom));
    for (index, host) in hosts.iter().enumerate() {
        let y = top + row * (index as f64 + 0.5);
        if is_named {
            svg.text(4.0, y + TEXT * 0.35, Anchor::Start, &fitted(&host.host.name, NAME_MAX));
            svg.may_be_cut(y - row / 2.0);
        }
        for place in &shown {
            let Some(value) = ratio(*place, index) else { continue };
            let (host, label) = (&host.host.name, &part.scenarios[*place].label);
            let tip = format!("{host}: {label} is {} times the baseline", ratio_precise(value));
            let radius = if is_named { 5.0 } else { 2.0 };
            if part.ahead[index] == Some(*place) {
                svg.mark(*place, axis.at(value), y, radius, 1.0, &tip);
            } else {
                svg.hollow_mark(*place, axis.at(value), y, radius * 0.8, &tip);
            }
        }
    }
    let better = if part.more_is_better { "better →" } else { "← better" };
    svg.faint_text(WIDTH / 2.0, bottom + 34.0, Anchor::Middle, &format!("ratio to the baseline, log · {better}"));
    let title = format!("{}: who is ahead on which host", part.workload);
    let description = "Each line is a host, each mark a scenario's ratio to the baseline there.";
    Some(svg.finish(WIDTH, bottom + 42.0, &title, description))
}
