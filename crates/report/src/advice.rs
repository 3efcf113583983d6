//! The short answer's sentences: what to do, how sure that is, and what would change it. One form a situation, each with a test.
//!
//! The situations are `analysis::advice`. Whoever is named is called as the short answer's table calls it.

use crate::flushing::Marked as _;
use crate::number::{about, percent, percent_rounded_up, ratio, rounded, times_at_most};
use crate::words::{NAMES_MAX, and_list, best, better, good, is_speed, one_or_more, or_list, some_of, with_factor};
use crate::{answer, failed, safety, tails, tuning};
use analysis::advice::{Advice, MoreRounds};
use analysis::choice::Choice;
use analysis::judge::ROUNDS_FOR_CLAIMS;
use analysis::repetitions::PrecisionCost;
use analysis::row::Row;
use analysis::view::{Part, View};
use ledger::model::Mode;
use observe::durability::Class;
use stats::repetitions::Repetitions;
use std::collections::BTreeMap;

/// Speeds from so much of the first one's on are told by what they lack.
const SLOWER_FROM: f64 = 0.8;
/// What is called half.
const HALF: std::ops::RangeInclusive<f64> = 0.475..=0.525;
/// Rivals named; more are counted.
const RIVALS_MAX: usize = 3;

/// Short names by label.
pub type Names = BTreeMap<String, String>;

fn name(names: &Names, row: &Row) -> String {
    names.get(&row.label).cloned().unwrap_or_else(|| row.marked())
}

/// What to do, in one or two sentences.
pub fn what_to_do(part: &Part, view: &View, names: &Names) -> String {
    let first = decision(part, view, names);
    let second = match part.advice() {
        Advice::Best | Advice::Among { .. } => unsafe_but_faster(part, names).or_else(|| losers(part, names)),
        Advice::Open { .. }
        | Advice::Direction { .. }
        | Advice::HardlyMet { .. }
        | Advice::SpokenAgainst { .. }
        | Advice::Alone => unsafe_but_faster(part, names),
        Advice::Unmeasured | Advice::NoneAllowed | Advice::Given => None,
    };
    let has_failed = match part.advice() {
        Advice::Best | Advice::Among { .. } | Advice::Open { .. } => failed::of_picks(part, |row| name(names, row)),
        _ => None,
    };
    [Some(first), second, has_failed].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn decision(part: &Part, view: &View, names: &Names) -> String {
    let advice = part.advice();
    let Some(pick) = part.pick().filter(|_| advice != Advice::Unmeasured) else {
        return match advice {
            Advice::Unmeasured => format!("{}: nothing was measured.", part.workload),
            _ => safety::nothing_to_pick(part),
        };
    };
    let who = name(names, pick);
    let called = |label: String| names.get(&label).cloned().unwrap_or(label);
    match (advice, &part.choice) {
        (Advice::Direction { rounds }, _) => {
            let shows = if rounds == 1 { "round shows" } else { "rounds show" };
            format!("Too early to choose: {rounds} {shows} a direction only. {who} was ahead.")
        }
        (Advice::HardlyMet { rival, pick, rounds }, _) => {
            let [rival, pick] = [rival, pick].map(called);
            format!("Too early to choose: {}. {pick} was ahead.", hardly_met(&rival, &pick, rounds))
        }
        (Advice::SpokenAgainst { pick, better }, _) => {
            let [pick, better] = [pick, better].map(called);
            format!("Too early to choose: {pick} was picked, and new rounds show {better} to be better.")
        }
        (Advice::Open { bound }, choice) => {
            let best = format!("the best may be {} times as {} as", times_at_most(1.0 + bound), good(&part.metric));
            match choice {
                None => format!("Too early to choose: {best} {who}, which was ahead."),
                Some(choice) => format!("Too early to choose by {}: {best} what was ahead.", and_list(&choice.names())),
            }
        }
        (Advice::Given, Some(choice)) => {
            let names = choice.names();
            let are = if names.len() > 1 { "are conditions" } else { "is a condition" };
            format!("Nothing to choose: {} {are} of the load.", and_list(&names))
        }
        (Advice::Alone, _) => alone(part, view, &who),
        (Advice::Among { bound, .. }, Some(choice)) => {
            let bound = percent_rounded_up(bound);
            format!("{}: no better choice was found; it costs at most {bound}.", by_condition(choice, part))
        }
        (Advice::Best, Some(choice)) => format!("Use {}.", by_condition(choice, part)),
        (Advice::Among { rivals, bound }, None) => {
            let rows = rivals.iter().filter_map(|label| part.row(label)).map(|row| name(names, row));
            let mut all: Vec<String> = std::iter::once(who.clone()).chain(rows.take(RIVALS_MAX)).collect();
            let more = rivals.len().saturating_sub(RIVALS_MAX);
            all.extend((more > 0).then(|| format!("{more} others")));
            let bound = percent_rounded_up(bound);
            let none = if all.len() == 2 { "neither" } else { "none of them" };
            let (names, best) = (or_list(&all), best(&part.metric));
            format!("{names}: {none} is ruled out as the {best}. Choosing {who} costs at most {bound}.")
        }
        (Advice::Best, None) if is_sole(part) => format!("Use {who}: no other scenario may be chosen."),
        (Advice::Best, None) => {
            let by_little = by_little(part, pick, view.margin);
            format!("Use {who}: {} of {}{by_little}.", it_is_best(part), competitors(part, pick))
        }
        (Advice::Unmeasured | Advice::NoneAllowed | Advice::Given, _) => safety::nothing_to_pick(part),
    }
}

/// Who was hardly measured beside whom.
pub fn hardly_met(rival: &str, pick: &str, rounds: usize) -> String {
    let rounds = if rounds == 0 { "no round" } else { "one round only" };
    format!("{rival} and {pick} have {rounds} in common")
}

/// Those that it was the best of: "the 3 scenarios", "the equally safe scenarios". Of who stalled nothing is claimed, and so not that it is slower.
fn competitors(part: &Part, pick: &Row) -> String {
    let has_stalled = part.beside(pick).any(|row| row.stalls.is_some() && !row.is_out_beside(pick));
    let steady = if has_stalled { " that did not stall" } else { "" };
    let out: Vec<&Row> = part.beside(pick).filter(|row| row.is_out_beside(pick)).collect();
    let has_failed = out.iter().any(|row| row.fails_more_than.is_some());
    let has_erred = out.iter().any(|row| row.has_more_errors_than.is_some());
    let few = match (has_erred, has_failed) {
        (true, true) => " with as few errors and failures",
        (true, false) => " with as few errors",
        (false, true) => " that failed no more often",
        (false, false) => "",
    };
    match out.iter().all(|row| row.is_behind()) {
        true if out.is_empty() && !has_stalled => format!("the {} scenarios", part.beside(pick).count()),
        true => format!("the scenarios{few}{steady}"),
        false if has_failed => format!("the {}{few}{steady}", safety::competitors(part)),
        false => format!("the {}{steady}", safety::competitors(part)),
    }
}

/// Whether nothing that was measured beside a pick may be chosen in its place.
pub fn is_sole(part: &Part) -> bool {
    let picks = part.picks();
    let is_out = |pick: &Row, row: &Row| row.label == pick.label || row.is_out_beside(pick) || row.stalls.is_some();
    !picks.is_empty() && picks.iter().all(|pick| part.beside(pick).all(|row| is_out(pick, row)))
}

/// "xfs with each rate", or "xfs with rate 100, ext4 with rate 200, nothing with rate 300".
fn by_condition(choice: &Choice, part: &Part) -> String {
    let condition = |levels: &[String]| {
        let of_one = choice.conditions.iter().zip(levels).map(|(factor, level)| with_factor(factor, level));
        and_list(&of_one.collect::<Vec<_>>())
    };
    if let (true, Some(first)) = (choice.is_same, choice.picks.first()) {
        return format!("{} with each {}", first.name, and_list(&choice.names()));
    }
    let is_known = |label: &str| part.row(label).is_some();
    let picks = choice.picks.iter().filter(|pick| is_known(&pick.label));
    let mut said: Vec<String> =
        picks.take(NAMES_MAX).map(|pick| format!("{} with {}", pick.name, condition(&pick.levels))).collect();
    let more = choice.picks.len().saturating_sub(NAMES_MAX);
    said.extend((more > 0).then(|| format!("{more} more in the table")));
    let without: Vec<String> = choice.without.iter().map(|levels| condition(levels)).collect();
    said.extend((!without.is_empty()).then(|| format!("nothing with {}", some_of(&without))));
    said.join(", ")
}

/// In a cell: "xfs", "xfs or ext4", "too early".
pub fn in_a_cell(part: &Part, names: &Names) -> String {
    let Some(pick) = part.pick() else { return "nothing".into() };
    match (part.advice(), &part.choice) {
        (Advice::Best | Advice::Among { .. }, Some(choice)) => by_condition(choice, part),
        (Advice::Best, None) => name(names, pick),
        (Advice::Among { rivals, .. }, None) => match rivals.as_slice() {
            [one] => or_list(&[name(names, pick), names.get(one).unwrap_or(one).clone()]),
            several => format!("{} or {} others", name(names, pick), several.len()),
        },
        (Advice::Open { .. } | Advice::Direction { .. } | Advice::HardlyMet { .. }, _) => {
            format!("too early; {} was ahead", name(names, pick))
        }
        (Advice::SpokenAgainst { better, .. }, _) => {
            format!("too early; new rounds favour {}", names.get(&better).unwrap_or(&better))
        }
        (Advice::Alone | Advice::Given | Advice::Unmeasured | Advice::NoneAllowed, _) => "nothing to choose".into(),
    }
}

/// Who is shown to be worse.
fn losers(part: &Part, names: &Names) -> Option<String> {
    let pick = part.pick().filter(|_| part.choice.is_none())?;
    let mut speeds: Vec<(f64, &Row)> = losing(part, pick).collect();
    speeds.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told = |(speed, row): &(f64, &Row)| format!("{} ({})", name(names, row), slower(*speed, part));
    Some(match speeds.as_slice() {
        [] => return None,
        [(speed, one)] => format!("Not {}: {}.", name(names, one), slower(*speed, part)),
        [one, other] => format!("Not {} or {}.", told(one), told(other)),
        [(near, _), .., (far, _)] => {
            let noun = if is_speed(&part.metric) { "speed" } else { "merit" };
            let far = rounded(far * 100.0, 2);
            format!("Not the {} others: they have {far} to {} of its {noun}.", speeds.len(), percent(*near))
        }
    })
}

fn losing<'a>(part: &'a Part, pick: &'a Row) -> impl Iterator<Item = (f64, &'a Row)> {
    // Who stalled in new rounds is no choice for that, and not shown to be slower.
    let is_no_loser =
        |row: &&Row| part.judgement.best_set.contains(&row.label) || row.is_out_beside(pick) || row.stalls.is_some();
    let rows = part.beside(pick).filter(move |row| row.label != pick.label && !is_no_loser(row));
    rows.filter_map(|row| Some((speed(part, row, pick)?, row)))
}

/// That one that loses is shown to be behind by less than the margin: a figure that was measured may be so by chance.
fn by_little(part: &Part, pick: &Row, margin: f64) -> String {
    let rows: Vec<&Row> = losing(part, pick).map(|(_, row)| row).collect();
    let is_little = rows.iter().any(|row| part.is_near(row, pick, (margin, rows.len())));
    if is_little { format!(", but by less than the {} that matters", percent(margin)) } else { String::new() }
}

/// How fast against the first one, where more is better whatever the metric.
fn speed(part: &Part, row: &Row, first: &Row) -> Option<f64> {
    let ratio = part.against(row, first)?.ratio;
    Some(if part.more_is_better { ratio } else { 1.0 / ratio })
}

/// "it is the fastest", "by the mean it is the fastest": where it is slow more often than others, its mean is not all.
fn it_is_best(part: &Part) -> String {
    let by_mean = if tails::slow_pick(part).is_some() { "by the mean " } else { "" };
    format!("{by_mean}it is the {}", best(&part.metric))
}

/// "12 % slower", "half the speed", "0.31× the speed".
fn slower(speed: f64, part: &Part) -> String {
    let (noun, worse) = if is_speed(&part.metric) { ("the speed", "slower") } else { ("as good", "worse") };
    match speed {
        speed if speed >= SLOWER_FROM => {
            // The speed of a time is one over it; bytes have none, and are more by the figure itself.
            let is_figure = !part.more_is_better && !is_speed(&part.metric);
            let lacks = if is_figure { 1.0 / speed - 1.0 } else { 1.0 - speed };
            format!("{} {worse}", percent(lacks.max(0.0)))
        }
        speed if HALF.contains(&speed) => format!("half {noun}"),
        speed => format!("{} {noun}", ratio(speed)),
    }
}

/// Of the only scenario with figures; others may have failed, or still be to come, as after Ctrl-C in the first round. Where there never were
/// others, its two copies are what is asked of.
fn alone(part: &Part, view: &View, who: &str) -> String {
    let is_to_come = |row: &Row| !row.control && row.centre.is_none() && view.failure_of(&row.label).is_none();
    if part.rows.iter().any(is_to_come) {
        return format!("Too early to choose: only {who} has been measured so far.");
    }
    let is_only_one = part.rows.iter().filter(|row| !row.control).count() == 1;
    let of_copies = answer::noise_floor(part, view).filter(|_| is_only_one);
    of_copies.unwrap_or_else(|| format!("Nothing to choose: {who} is the only scenario that could be."))
}

/// What would be faster, and why it is no choice.
fn unsafe_but_faster(part: &Part, names: &Names) -> Option<String> {
    let pick = part.pick()?;
    let (first, _) = part.better_but_out(pick).next()?;
    let speed = speed(part, first, pick)?;
    let why = match (&first.has_more_errors_than, &first.power_cut) {
        (Some(_), _) => "more of what was asked for went wrong".into(),
        _ if first.fails_more_than.is_some() => format!("it failed in {}", failed::rounds(first)),
        (None, Some(found)) => format!("after a power cut {}", safety::cell(found)),
        (None, None) if first.breaks_promise() => "no flush reached the device".into(),
        (None, None) => format!("after a power cut {}", consequence(first.durability)),
    };
    Some(format!("Not {}, {} as {}: {why}.", name(names, first), ratio(speed), good(&part.metric)))
}

fn consequence(class: Class) -> &'static str {
    match class {
        Class::KeepsAcknowledged => "all is kept",
        Class::LosesRecent => "the last seconds may be lost",
        Class::MayCorrupt => "the data may be corrupt",
        Class::LosesAll => "all is lost",
    }
}

/// How sure that is, in one sentence.
pub fn how_sure(part: &Part, view: &View) -> Option<String> {
    let sure = percent(view.confidence);
    let rounds = part.rounds_of_choice();
    let confirmed = tuning::standing(part);
    Some(match part.advice() {
        Advice::Unmeasured | Advice::NoneAllowed => return None,
        Advice::Direction { .. } | Advice::HardlyMet { .. } => {
            format!("How sure: not yet. A difference takes at least {ROUNDS_FOR_CLAIMS} rounds to claim, better 6.")
        }
        Advice::SpokenAgainst { .. } => {
            "How sure: not yet. The new rounds speak against what the rounds before them picked.".into()
        }
        Advice::Alone | Advice::Given if trials(part) == 1 => {
            "How sure: not known. A scenario of one trial has no interval.".into()
        }
        Advice::Alone | Advice::Given => {
            let trials = one_or_more(trials(part), "trial");
            format!("How sure: the intervals hold with {sure} confidence for this machine, over {trials} a scenario.")
        }
        Advice::Open { .. } => format!("How sure: not yet, after {rounds} rounds{}.", found(part)),
        Advice::Among { .. } => format!("How sure: {sure}, over {rounds} rounds{}{confirmed}.", found(part)),
        // That none of one is faster says nothing.
        Advice::Best if is_sole(part) => "How sure: no other scenario may be chosen, whatever its speed.".into(),
        Advice::Best => {
            let of = part.pick().map_or_else(String::new, |pick| competitors(part, pick));
            let by_mean = if tails::slow_pick(part).is_some() { " by the mean" } else { "" };
            format!(
                "How sure: {sure}, over {rounds} rounds, that none of {of} is {}{by_mean}{confirmed}.",
                better(&part.metric)
            )
        }
    })
}

/// Of the scenario that has most.
fn trials(part: &Part) -> usize {
    part.measured().filter_map(|row| row.centre).map(|centre| centre.count).max().unwrap_or(0)
}

/// The size of a difference that would most likely have been seen.
fn found(part: &Part) -> String {
    let Some(size) = part.visible() else { return String::new() };
    let size = if size >= 1.0 { format!("{} times", rounded(1.0 + size, 2)) } else { percent(size) };
    format!("; a true difference of {size} would be found in 8 of 10 such studies")
}

/// A new study whose trials have a better length.
pub fn new_study(cheaper: &Repetitions) -> String {
    let Repetitions { runs, rounds, seconds } = *cheaper;
    format!("a new study with `--set design.runs={runs} --rounds {rounds}` takes {}", about(seconds))
}

/// What would change it: more rounds by a command, or none. `command` makes one of a number of rounds and the seconds they take.
pub fn what_would_change_it(
    parts: &[&Part],
    (more, cost): (Option<MoreRounds>, Option<&PrecisionCost>),
    command: impl Fn(usize) -> String,
) -> Option<String> {
    if parts.iter().all(|part| matches!(part.advice(), Advice::Unmeasured | Advice::NoneAllowed)) {
        return None;
    }
    let is_settled = |part: &&Part| matches!(part.advice(), Advice::Best | Advice::Alone | Advice::Given);
    let Some(MoreRounds { rounds, half_width, seconds }) = more.filter(|_| !parts.iter().all(is_settled)) else {
        let is_open = |part: &&Part| match part.advice() {
            Advice::Open { .. } | Advice::Direction { .. } | Advice::HardlyMet { .. } => true,
            // Rounds go on until one is left.
            Advice::Among { .. } => part.mode == Mode::Tune || part.is_closed,
            _ => false,
        };
        let more_rounds = if parts.iter().any(|part| matches!(part.advice(), Advice::SpokenAgainst { .. })) {
            "A new study of the two may decide it."
        } else if parts.iter().any(|part| is_open(part) && part.is_closed) {
            "New rounds have closed the choice: a new study may decide it."
        } else if parts.iter().any(|part| is_open(part) && part.rows.iter().any(|row| row.is_back)) {
            "Who fell out is measured no further: a new study without what is no choice may decide it."
        } else if parts.iter().any(is_open) {
            "More rounds may decide it."
        } else if parts.iter().any(|part| trials(part) == 1) {
            "More rounds give the figures an interval."
        } else {
            "More rounds only narrow the figures."
        };
        return Some(format!("What would change it: another machine, load or version. {more_rounds}"));
    };
    let what = half_width.map_or_else(
        || "gives a first verdict".into(),
        |half_width| format!("narrows intervals to ±{}", percent(half_width)),
    );
    let time = seconds.map_or_else(String::new, |seconds| format!(" in {} more", about(seconds)));
    let cheaper = || cost?.cheaper(half_width?, seconds?);
    let cheaper = cheaper().map_or_else(String::new, |cheaper| format!("; {}", new_study(&cheaper)));
    Some(format!("What would change it: {} {what}{time}{cheaper}.", command(rounds)))
}
