//! What is said of limits: a yes or a no with what is to spare, and a table of each limit with each scenario.

use crate::document::{
    Block, Cell, Column, Columns, Fit, Table, head, interval_head, known_cell, no_cell, number_cell,
};
use crate::number::{Scale, percent, rounded, words};
use crate::words::{counted, quantity_of};
use analysis::limits::{Held, Verdict};
use analysis::row::Centre;
use analysis::view::View;
use ledger::model::{Contents, LimitRecord};
use observe::metric::Metric;
use serde_json::{Value, json};

/// What a limit is about: "the 99th percentile of fdatasync", or its metric, whose unit stands beside each value: "latency p99".
pub fn title(limit: &LimitRecord, metric: &Metric) -> String {
    if limit.title.is_empty() { quantity_of(metric) } else { limit.title.clone() }
}

fn shown(held: &Held, value: f64) -> String {
    Scale::of(&held.metric, value).with_unit(value)
}

/// "at most 10 ms".
fn allowed(held: &Held) -> String {
    format!("at {} {}", if held.limit.is_least { "least" } else { "most" }, shown(held, held.limit.value))
}

/// The worst of all, and of those alike the one with the least room.
fn worst(limits: &[Held]) -> Option<&Held> {
    let without_ratio = |held: &Held| if held.verdict == Verdict::Kept { f64::INFINITY } else { 0.0 };
    let room = |held: &Held| held.room_at_least().unwrap_or(without_ratio(held));
    limits.iter().min_by(|a, b| a.verdict.cmp(&b.verdict).then(room(a).total_cmp(&room(b))))
}

/// By how much it is kept at least, never rounded up: "4.9 times over", "by 2.4 %"; none of a count of 0, or where it is hardly any.
fn kept_by(held: &Held, times: &str) -> Option<String> {
    let room = held.room_at_least()?;
    if room < 1.1 {
        // To two digits it would be "1 times over", as if there were much to spare.
        let spare = ((room - 1.0) * 1000.0 + 1e-9).floor() / 1000.0;
        return (spare > 0.0).then(|| format!("by {}", percent(spare)));
    }
    let step = 10f64.powf(room.log10().floor() - 1.0);
    Some(format!("{}{times} over", rounded((room / step + 1e-9).floor() * step, 2)))
}

/// How many times its limit it is: to two digits, or as many as tell it from the limit; none where that is 0, or the figure 0 or less.
fn beyond(held: &Held) -> Option<f64> {
    let room = held.room().filter(|room| *room > 0.0)?;
    let times = if held.limit.is_least { room } else { 1.0 / room };
    (2..=6).map(|digits| rounded(times, digits)).find(|shown| *shown != 1.0).or(Some(1.0))
}

/// Yes or no, and by how much; none: the study has no limits.
pub fn lead(view: &View) -> Option<String> {
    let held = worst(&view.limits)?;
    let several = view.limits.iter().any(|other| other.limit == held.limit && other.label != held.label);
    let of = if several { format!(" of {}", held.label) } else { String::new() };
    let (title, allowed) = (title(&held.limit, &held.metric), allowed(held));
    if held.is_astride && matches!(held.verdict, Verdict::Unmeasured | Verdict::Open) {
        let known =
            format!("Not known: {title}{of} lies on both sides of its limit from turn to turn (limit: {allowed})");
        return Some(format!("{known}; no percentile of all turns together is stored."));
    }
    let Some(centre) = held.centre else {
        return Some(format!("Not known: {title}{of} was not measured."));
    };
    let kept = view.limits.iter().filter(|other| other.verdict == Verdict::Kept).count();
    let others = match (kept, view.limits.len()) {
        (0, _) => String::new(),
        (kept, all) => format!(" {kept} of {all} limits are kept."),
    };
    let mean = shown(held, centre.mean);
    Some(match held.verdict {
        Verdict::Kept => {
            let near = shown(held, if held.limit.is_least { centre.low } else { centre.high });
            let bound = if held.limit.is_least { "at least" } else { "at most" };
            let all = if view.limits.len() == 1 { "the limit is" } else { "all limits are" };
            let over = kept_by(held, " times").map_or_else(String::new, |over| format!(", {over}"));
            format!("Yes: {all} kept{over}. {title}{of} is {bound} {near} (limit: {allowed}).")
        }
        Verdict::Broken => match beyond(held) {
            Some(beyond) => {
                let limit = shown(held, held.limit.value);
                format!("No: {title}{of} is {mean}, {beyond} times its limit of {limit}.{others}")
            }
            None => format!("No: {title}{of} is {mean} (limit: {allowed}).{others}"),
        },
        Verdict::NotAlways => format!(
            "Not always: {title}{of} is {mean} (limit: {allowed}), but was beyond it in {} of {} rounds.{others}",
            held.broken, centre.count
        ),
        Verdict::Open if held.without > 0 => format!(
            "Not known: {title}{of} has no figure in {} of {} rounds; in the others it is {mean} (limit: {allowed}).{others}",
            held.without,
            held.without + centre.count
        ),
        Verdict::Open | Verdict::Unmeasured => {
            format!("Too early to say: {title}{of} is {mean} so far (limit: {allowed}).{others}")
        }
    })
}

/// How sure that is.
pub fn how_sure(view: &View) -> Option<String> {
    let rounds = view.limits.iter().filter_map(|held| held.centre).map(|centre| centre.count).min()?;
    if rounds == 1 {
        return Some("How sure: not known. What was measured in one round has no interval.".into());
    }
    let together =
        if view.limits.len() > 1 { format!(", for all {} limits together", view.limits.len()) } else { String::new() };
    Some(format!("How sure: {}, over {}{together}.", percent(view.confidence), counted(rounds as u64, "round")))
}

/// What would change it: of what is open, rounds that may decide it.
pub fn what_would_change_it(view: &View, more: impl FnOnce(usize) -> String) -> String {
    let is_left_out = |held: &&Held| !view.parts.iter().any(|part| part.workload == held.limit.workload);
    if let Some(held) = worst(&view.limits).filter(is_left_out) {
        return format!("What would change it: measuring the workload {}, which was left out.", held.limit.workload);
    }
    // What has no figure in a round will not have one for more of them.
    let is_open = |held: &&Held| held.verdict == Verdict::Open && held.without == 0;
    let rounds = view.limits.iter().filter(is_open).filter_map(|held| held.centre);
    match rounds.map(|centre| centre.count).max() {
        Some(rounds) => format!("What would change it: more rounds: {}.", more(rounds * 2)),
        None if view.limits.iter().any(|held| held.is_astride) => {
            "What would change it: trials in one piece: the study anew with `--set design.order=blocks`.".into()
        }
        None => "What would change it: another machine, load or version.".into(),
    }
}

/// Each limit with each scenario; none: the study has no limits.
pub fn table(view: &View, id: &str, rows_max: usize) -> Option<Table> {
    let first = view.limits.first()?;
    let several = view.limits.iter().any(|held| held.limit == first.limit && held.label != first.label);
    let interval = |held: &Held, centre: Centre| {
        let scale = Scale::of(&held.metric, centre.mean);
        let text = match centre.count {
            1 => "one trial".into(),
            // A figure of 0 has none.
            _ if centre.low < centre.high => {
                format!("{}–{}", scale.number(centre.low), scale.with_unit(centre.high))
            }
            _ => String::new(),
        };
        Cell { text, ..Cell::default() }
    };
    let figure = |held: &Held, value: Option<f64>| known_cell(value, |value| shown(held, value));
    let table = Columns::of(id, &view.limits[..rows_max.min(view.limits.len())])
        .words("limit", |held| title(&held.limit, &held.metric))
        .words(if several { "scenario" } else { "" }, |held| if several { &*held.label } else { "" })
        .column(head("mean"), |held| figure(held, held.centre.map(|centre| centre.mean)))
        .column(interval_head(view.confidence), |held| held.centre.map_or_else(no_cell, |found| interval(held, found)))
        .column(Column { fit: Fit::Optional(0), ..head("worst round") }, |held| figure(held, held.worst()))
        .column(head("allowed"), |held| number_cell(&allowed(held), held.limit.value))
        .words("kept", kept);
    Some(table.table().without_empty_columns())
}

/// In few words, with what is to spare where something is.
fn kept(held: &Held) -> String {
    match held.verdict {
        Verdict::Kept => kept_by(held, "×").map_or_else(|| "yes".into(), |over| format!("yes, {over}")),
        Verdict::NotAlways => {
            format!("not in {} of {} rounds", held.broken, held.centre.map_or(0, |centre| centre.count))
        }
        Verdict::Open | Verdict::Unmeasured if held.is_astride => "not known".into(),
        Verdict::Open if held.without > 0 => format!("no figure in {}", counted(held.without as u64, "round")),
        Verdict::Open => "open".into(),
        Verdict::Broken => "no".into(),
        Verdict::Unmeasured => "not measured".into(),
    }
}

/// For a page, Markdown or a whole report: all of it, with who says so.
pub fn section(view: &View, contents: &Contents) -> Vec<Block> {
    let (Some(table), Some(first)) = (table(view, "limits", usize::MAX), view.limits.first()) else {
        return Vec::new();
    };
    let mut sources: Vec<String> =
        contents.study.limits.iter().map(|limit| limit.source.clone()).filter(|source| !source.is_empty()).collect();
    sources.dedup();
    let note = format!(
        "One figure a round; the intervals hold for all limits and all answers together (each at {} by itself). A limit is kept where the \
         whole interval and every round keep it.",
        percent(first.confidence)
    );
    let heading = Block::Heading(2, "Limits".into());
    let sources = sources.into_iter().map(|source| Block::Note(format!("Limits by: {source}")));
    [heading, Block::Table(table), Block::Note(note)].into_iter().chain(sources).collect()
}

/// For machines.
pub fn json(view: &View) -> Vec<Value> {
    let one = |held: &Held| {
        json!({
            "title": if held.limit.title.is_empty() { words(&held.metric.name) } else { held.limit.title.clone() },
            "workload": held.limit.workload, "scenario": held.label, "metric": held.metric,
            "at_most": (!held.limit.is_least).then_some(held.limit.value),
            "at_least": held.limit.is_least.then_some(held.limit.value),
            "source": held.limit.source,
            "geometric_mean": held.centre.map(|centre| centre.mean), "low": held.centre.map(|centre| centre.low),
            "high": held.centre.map(|centre| centre.high), "interval_confidence": held.confidence,
            "worst_round": held.worst(),
            "rounds": held.centre.map_or(0, |centre| centre.count), "rounds_beyond": held.broken, "rounds_without": held.without,
            "verdict": held.verdict, "room_at_least": held.room_at_least(),
        })
    };
    view.limits.iter().map(one).collect()
}
