//! How rounds go: by turns or blocks, in which groups, and why.

use crash::plan::Plan;
use lab::groups::{self, Room};
use lab::{estimate, turns};
use serde_json::{Value, json};
use settings::quantity::{format_bytes, format_seconds};
use study::Order;

/// In a line, and one more where there are groups.
pub fn words(plan: &Plan, room: Room) -> String {
    let reason = reason(plan, room);
    if plan.drawn.order == Order::Blocks {
        return match reason {
            Some(reason) => format!("one trial after another: {reason}"),
            None => "one trial after another, as the study says".into(),
        };
    }
    let (up, count) = (groups::up_max_of(plan), groups::count_max(plan));
    let (memory, images) = (groups::memory_bytes_max(plan), estimate::images_bytes(plan));
    let turns = turns_in_words(plan);
    let needs = [(memory, "of memory"), (images, "for image files")].into_iter().filter(|(bytes, _)| *bytes > 0);
    let needs: Vec<String> = needs.map(|(bytes, what)| format!("{} {what}", format_bytes(bytes))).collect();
    let needs = if needs.is_empty() { String::new() } else { format!(" (about {})", needs.join(", ")) };
    match reason {
        None => format!("{turns}, up to {up} scenarios at once{needs}"),
        Some(reason) => format!(
            "{turns}, in {count} groups a round, up to {up} scenarios at once{needs}\n            not all at once: {reason}"
        ),
    }
}

/// How long turns are. A load that is not cut takes turns of whole runs.
fn turns_in_words(plan: &Plan) -> String {
    let lengths: Vec<Option<f64>> = plan.scenarios.iter().map(|one| turns::turn_seconds_of(plan, one)).collect();
    let timed = || lengths.iter().flatten().copied();
    let (Some(least), Some(most)) = (timed().reduce(f64::min), timed().reduce(f64::max)) else {
        return "turns of a run each".into();
    };
    let (least, most) = (format_seconds(least), format_seconds(most));
    let span = if least == most { most } else { format!("{least} to {most}") };
    let why = if plan.drawn.turns.is_some() { " (chosen by the machine's noise)" } else { "" };
    let whole = if lengths.contains(&None) { " or of a whole run, where a load is not cut by time" } else { "" };
    format!("turns of {span}{why}{whole}")
}

/// The same as values.
pub fn json(plan: &Plan, room: Room) -> Value {
    let is_turns = plan.drawn.order == Order::Turns;
    let longest = plan.scenarios.iter().filter_map(|one| turns::turn_seconds_of(plan, one)).reduce(f64::max);
    json!({
        "kind": if is_turns { "turns" } else { "blocks" },
        "turn_seconds": longest.filter(|_| is_turns),
        "groups": groups::count_max(plan),
        "up_max": groups::up_max_of(plan),
        "memory_bytes": is_turns.then(|| groups::memory_bytes_max(plan)),
        "image_bytes": estimate::images_bytes(plan),
        "reason": reason(plan, room),
    })
}

/// Why a trial comes after the other, or why there are groups; none: the study says so, or all are up at once.
fn reason(plan: &Plan, room: Room) -> Option<String> {
    match (plan.drawn.order, plan.design.order) {
        (Order::Turns, _) => groups::why_split(plan, room),
        (Order::Blocks, Some(_)) => None,
        (Order::Blocks, None) => Some(turns::why_blocks(plan, room).unwrap_or_else(|| turns::why_whole(plan).into())),
    }
}
