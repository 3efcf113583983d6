//! The answer in words. Every sentence that claims something about the measured is written here and nowhere else.

use crate::claims::{centre_in_words, claim_sentence, cost_of_default, interval_words};
use crate::flushing::Marked;
use crate::input::Input;
use crate::number::{percent, percent_rounded_up, ratio, times_at_most};
use crate::words::{NAMES_MAX, Words as _, and_list, good, quantity_of, some_of, with_factor};
use crate::{
    advice, bench, ceilings, errors, factors, failed, faults, health, limits, safety, screening, tails, tuning, why,
};
use analysis::advice::{Advice, BOUND_MAX};
use analysis::choice::Choice;
use analysis::claim::Claim;
use analysis::judge::ROUNDS_FOR_CLAIMS;
use analysis::row::Row;
use analysis::view::{Part, View};
use ledger::model::Mode;
use observe::durability::Class;
use observe::metric::Metric;

/// Claims said in words; a table has all.
const CLAIMS_MAX: usize = 8;
/// Differences of which it is said what changed with them; a table says it of all.
const EXPLAINED_MAX: usize = 3;

/// The limits of every study, whatever it found.
pub const LIMITS: &str = "Limits: one machine, fresh filesystems, a synthetic load, these levels and versions. The intervals cover \
    the variation from trial to trial and round to round on this machine only.";

/// Said of results that an older surefoot wrote, all or in part.
const WITHOUT_CHECKSUMS: &str = "The results file was written by a surefoot that kept no checksums: a figure that was damaged since \
    would be read as it is.";

/// The whole answer, a sentence or two a line, the most important first.
pub fn answer(input: &Input) -> Vec<String> {
    let view = input.view();
    let mut lines: Vec<String> = limits::lead(view).into_iter().collect();
    for part in &view.parts {
        if view.parts.len() > 1 {
            lines.push(format!("{}:", heading(part)));
        }
        lines.extend(part_answer(part, view));
    }
    if view.parts.iter().all(|part| part.measured().next().is_none()) {
        lines.truncate(0);
        lines.push(screening::under_way(view).unwrap_or_else(|| nothing(view)));
        lines.extend(view.parts.iter().flat_map(safety::without_speed));
        lines.extend(view.parts.iter().flat_map(faults::sentences));
    }
    lines.extend(holes(view));
    lines.extend(screening::holes(view));
    lines.extend(durability(view));
    lines.extend(bench::note(input));
    lines.extend((input.contents.without_checksum > 0).then(|| WITHOUT_CHECKSUMS.into()));
    lines.push(LIMITS.into());
    lines
}

/// "oltp, transactions per second (more is better)".
pub fn heading(part: &Part) -> String {
    metric_heading(&part.workload, &part.metric, part.more_is_better)
}

/// As [`heading`], of any metric.
pub fn metric_heading(workload: &str, metric: &Metric, more_is_better: bool) -> String {
    let better = if more_is_better { "more is better" } else { "less is better" };
    format!("{workload}, {} ({better})", quantity_of(metric))
}

/// One part's sentences: the pick, what it gains, what could be as good, what mattered, the noise floor.
pub fn part_answer(part: &Part, view: &View) -> Vec<String> {
    let mut lines = vec![pick(part, view)];
    lines.extend(regret(part, view));
    lines.extend(unsafe_but_faster(part));
    lines.extend(errors::others(part));
    lines.extend(failed::others(part));
    lines.extend(failed::of_picks(part, Marked::marked));
    lines.extend(safety::sentences(part));
    lines.extend(faults::sentences(part));
    lines.extend(bound_by(part));
    lines.extend(part.screened.as_ref().map(screening::sentence));
    if part.measured().next().is_none() {
        return lines;
    }
    if !part.has_choice() {
        lines.extend(noise_floor(part, view));
        return lines;
    }
    if part.rounds_compared() < ROUNDS_FOR_CLAIMS {
        lines.push(direction_only(part));
        return lines;
    }
    lines.extend(tuning::confirmed(part, view));
    lines.extend(claims(part, view));
    lines.extend(runners_up(part));
    lines.extend(tuning::dropped(part));
    lines.extend(factors::what_mattered(part, view));
    lines.extend(factors::interplay(part, view));
    lines.extend(noise_floor(part, view));
    lines
}

/// The first sentence.
pub fn pick(part: &Part, view: &View) -> String {
    let Some(best) = part.pick() else {
        return match part.measured().next() {
            Some(_) => safety::nothing_to_pick(part),
            None => format!("{}: nothing was measured, so there is nothing to say.", part.workload),
        };
    };
    let value = format!("{}{}", centre_words(best, part, view.confidence), tuning::standing(part));
    if !part.has_choice() {
        return format!("{}: {value}. With one scenario there is nothing to compare.", best.marked());
    }
    if let Some(choice) = &part.choice {
        return pick_by_condition(choice, part, view);
    }
    let name = best.marked();
    match part.advice() {
        Advice::Direction { .. } | Advice::HardlyMet { .. } => format!("{name} was ahead: {value}."),
        Advice::Among { rivals, .. } => no_winner(&name, &rivals, &value, part),
        // Here most of them are open.
        Advice::Open { .. } => no_winner(&name, &[], &value, part),
        Advice::SpokenAgainst { better, .. } => {
            format!("No winner yet: in new rounds {better} was shown to be better. {name} was picked: {value}.")
        }
        _ => format!("Pick {name}: {value}."),
    }
}

/// The first sentence where others may be as good: the one that measured most is no pick.
fn no_winner(name: &str, rivals: &[String], value: &str, part: &Part) -> String {
    let rivals: Vec<String> = rivals.iter().filter_map(|label| Some(part.row(label)?.marked())).collect();
    let named = || format!(": {} can't be ruled out as the best", some_of(&rivals));
    let open = if rivals.is_empty() { String::new() } else { named() };
    format!("No winner yet{open}. {name} was ahead: {value}. To compare, use the ratios below, not these means.")
}

/// The pick where a rate or the like is given: one for all, or each under its condition.
fn pick_by_condition(choice: &Choice, part: &Part, view: &View) -> String {
    let condition = |levels: &[String]| {
        let levels = choice.conditions.iter().zip(levels).map(|(factor, level)| with_factor(factor, level));
        format!("with {}", and_list(&levels.collect::<Vec<_>>()))
    };
    let names = choice.names();
    let standing = tuning::standing(part);
    let is_named = !choice.is_same && !choice.is_empty;
    let said = choice.picks.iter().take(NAMES_MAX).filter_map(|pick| {
        let row = part.row(&pick.label)?;
        let value = centre_words(row, part, view.confidence);
        Some(match is_named {
            true => format!("{} {}: {value}", marked(&pick.name, row), condition(&pick.levels)),
            false => format!("{value} {}", condition(&pick.levels)),
        })
    });
    let mut list = said.collect::<Vec<_>>().join("; ");
    let more = choice.picks.len().saturating_sub(NAMES_MAX);
    if more > 0 {
        list.push_str(&format!("; and {more} more"));
    }
    let without: Vec<String> = choice.without.iter().map(|levels| condition(levels)).collect();
    if !without.is_empty() && !choice.is_empty {
        list.push_str(&format!("; nothing {}", some_of(&without)));
    }
    list.push_str(&standing);
    let is_spoken_against = matches!(part.advice(), Advice::SpokenAgainst { .. });
    let ahead = is_spoken_against || part.rounds_compared() < ROUNDS_FOR_CLAIMS;
    let given = match names.as_slice() {
        [one] => one.clone(),
        several => format!("combination of {}", and_list(several)),
    };
    if choice.is_empty {
        let are = if names.len() > 1 { "are conditions" } else { "is a condition" };
        return format!("Nothing to pick, as {} {are} of the load: {list}.", and_list(&names));
    }
    let first = choice.picks.first().and_then(|pick| Some(marked(&pick.name, part.row(&pick.label)?)));
    let is_best = part.advice() == Advice::Best;
    match (first.filter(|_| choice.is_same), ahead, is_best) {
        (Some(name), true, _) => format!("{name} was ahead under every {given}: {list}."),
        (Some(name), false, true) => format!("Pick {name} under every {given}: {list}."),
        (Some(name), false, false) => format!("No winner yet. Under every {given} {name} can't be ruled out: {list}."),
        (None, true, _) => format!("By {given}, these were ahead: {list}."),
        (None, false, true) => format!("Pick by {given}: {list}."),
        (None, false, false) => format!("No winner yet. By {given}, these were ahead: {list}."),
    }
}

/// A scenario's shorter name with its mark.
fn marked(name: &str, row: &Row) -> String {
    row.marked().replacen(&row.label, name, 1)
}

/// How far the pick may be behind the true best: the bound that covers having picked it from these very data.
fn regret(part: &Part, view: &View) -> Option<String> {
    let best = part.pick().filter(|_| part.has_choice() && part.rounds_compared() >= ROUNDS_FOR_CLAIMS)?;
    let sure = percent(view.confidence);
    let steady = if part.rows.iter().any(|row| row.stalls.is_some()) { " that did not stall" } else { "" };
    let measured = format!("the {} measured{steady}{}", safety::competitors(part), failed::seldom(part));
    let has_dropped = part.rows.iter().any(Row::fell_out);
    if let Advice::HardlyMet { rival, pick, rounds } = part.advice() {
        return Some(format!("Too few rounds to pick: {}.", advice::hardly_met(&rival, &pick, rounds)));
    }
    if let Some(choice) = &part.choice {
        let (who, what, under) = if choice.is_same {
            ("It is", "Choosing it costs", "under each of these conditions")
        } else {
            ("Each is", "Choosing these costs", "under its condition")
        };
        let alone = has_dropped.then_some(0.0);
        let regrets = choice.picks.iter().map(|pick| pick.regret.or(alone)).collect::<Option<Vec<f64>>>()?;
        let bound = regrets.into_iter().fold(0.0, f64::max);
        return Some(if bound == 0.0 {
            format!("{who} shown to be the best of {measured} {under} ({sure} confidence).")
        } else if bound > BOUND_MAX {
            too_few(bound, part)
        } else {
            let bound = percent_rounded_up(bound);
            format!("{what} at most {bound} against whichever of {measured} is truly best {under} ({sure} confidence).")
        });
    }
    let bound = match part.judgement.regrets.get(&best.label) {
        Some(bound) => *bound,
        // Alone among those left: all others were shown to be worse.
        None if has_dropped => 0.0,
        None => return None,
    };
    if let Some(confirmation) = part.confirmations.iter().find(|one| one.pick == best.label) {
        return Some(tuning::selection(confirmation, best, part, (measured.as_str(), bound, view.confidence)));
    }
    Some(if bound == 0.0 {
        let by_mean = if tails::slow_pick(part).is_some() { " by its mean" } else { "" };
        format!("It is shown to be the best of {measured}{by_mean} ({sure} confidence).")
    } else if bound > BOUND_MAX {
        too_few(bound, part)
    } else {
        let (who, bound) = (best.marked(), percent_rounded_up(bound));
        format!(
            "Choosing {who} costs at most {bound} against whichever of {measured} is truly best ({sure} confidence)."
        )
    })
}

/// A bound so wide that it says nothing as a percentage.
fn too_few(bound: f64, part: &Part) -> String {
    let times = times_at_most(1.0 + bound);
    format!("Too few rounds to pick: the true best could be up to {times} times as {}.", good(&part.metric))
}

/// What would have been picked if neither power cuts nor errors mattered.
fn unsafe_but_faster(part: &Part) -> Option<String> {
    let pick = part.pick()?;
    let (first, better) = part.better_but_out(pick).next()?;
    let ratio = ratio(better);
    let what = if part.choice.is_none() { "that".into() } else { format!("what {} did", pick.marked()) };
    Some(format!("{} measured {ratio} {what}, but is no choice: {}.", first.marked(), risk(first, part)))
}

/// What bound the pick; and which others' figures are lower bounds, or of what less is better upper ones, and why.
fn bound_by(part: &Part) -> Option<String> {
    let pick = part.pick()?;
    let of_pick =
        pick.ceiling.as_ref().and_then(|ceiling| ceilings::sentence(ceiling, &pick.marked(), part.more_is_better));
    let rows: Vec<&Row> = part.measured().filter(|row| row.is_lower_bound() && row.label != pick.label).collect();
    let others: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    let why = ceilings::why_lower_bound(rows.iter().filter_map(|row| row.ceiling.as_ref()));
    let [bound, bounds] = ceilings::bounds(part.more_is_better);
    let of_others = match others.as_slice() {
        [] => None,
        [one] => Some(format!("The figure of {one} is {bound}: {why}.")),
        all if all.len() > NAMES_MAX => {
            Some(format!("The figures of {} other scenarios are {bounds}: {why}.", all.len()))
        }
        all => Some(format!("The figures of {} are {bounds}: {why}.", and_list(all))),
    };
    let said: Vec<String> = [of_pick, of_others].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// What speaks against a scenario: its errors, its failures, what a power cut was measured to take, its settings, or what its device got.
fn risk(row: &Row, part: &Part) -> String {
    if let Some(errors) = errors::risk(row, part) {
        return errors;
    }
    if let Some(failures) = failed::risk(row, part) {
        return failures;
    }
    if let Some(measured) = safety::risk(row, part) {
        return measured;
    }
    let by_settings = format!("after a power cut, {}{}", consequence(row.durability), safety::though(row));
    match row.flushing.as_ref().filter(|flushing| flushing.is_missing) {
        Some(flushing) if row.breaks_promise() => format!("{}, so {}", flushing.words(), UNFLUSHED),
        Some(flushing) => format!("{by_settings}, with {}", flushing.words()),
        None => by_settings,
    }
}

/// What commits without flushes mean.
pub const UNFLUSHED: &str = "a power cut may take acknowledged commits";

fn centre_words(row: &Row, part: &Part, confidence: f64) -> String {
    let selected = || part.centre_of_pick(row).map(|centre| (centre, part.beside(row).count()));
    let Some((centre, picked_from)) = row.confirmed.map(|centre| (centre, 1)).or_else(selected) else {
        return "no value".into();
    };
    centre_in_words(row, centre, part, (confidence, picked_from))
}

fn direction_only(part: &Part) -> String {
    let rounds = part.rounds_compared();
    let times = if rounds == 1 { "round shows" } else { "rounds show" };
    format!(
        "{rounds} {times} a direction only: no difference is claimed. Run at least {ROUNDS_FOR_CLAIMS} rounds, better 6."
    )
}

/// What is claimed, what concerns the pick first: the pick against the baseline, then the declared family. Differences come
/// before all else where there is no room for all.
fn claims(part: &Part, view: &View) -> Vec<String> {
    let Some(best) = part.pick() else { return Vec::new() };
    // The new rounds said what the pick gains, and who was dropped is said below; a table has the rest.
    let is_said = part.confirmations.iter().any(|one| one.pick == best.label && one.rounds > 0);
    if is_said && part.mode == Mode::Tune {
        return Vec::new();
    }
    let of_pick = part.claim_of(&best.label).filter(|_| !is_said);
    let mut sentences: Vec<&Claim> = of_pick.into_iter().filter(|claim| claim.exploratory).collect();
    let (near, far): (Vec<&Claim>, Vec<&Claim>) =
        part.judgement.claims.iter().partition(|claim| concerns(claim, best, part));
    sentences.extend(near.into_iter().chain(far));
    if sentences.len() > CLAIMS_MAX {
        // What differs is said before what can't be told.
        sentences.sort_by_key(|claim| !claim.verdict.is_some_and(|verdict| verdict.is_claim()));
    }
    let more = sentences.len().saturating_sub(CLAIMS_MAX);
    let mut explained = 0;
    let said = sentences.iter().take(CLAIMS_MAX).map(|claim| {
        let default = claim.exploratory.then(|| cost_of_default(claim, part, view.confidence)).flatten();
        let sentence = default.unwrap_or_else(|| claim_sentence(claim, part, view.margin, view.confidence));
        let said = format!("{}{}.", sentence.trim_end_matches('.'), health::claim_words(claim, part));
        let why = why::sentence(claim).filter(|_| explained < EXPLAINED_MAX);
        explained += usize::from(why.is_some());
        [Some(said), tails::but(claim, part), why].into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    let left_out = (more > 0).then(|| format!("{more} more comparisons are in the report's table of claims."));
    said.chain(left_out).collect()
}

/// Whether a claim is about a scenario, or about a level that it has.
fn concerns(claim: &Claim, row: &Row, part: &Part) -> bool {
    let is_one_of_several = claim.subject.factor().is_some() && part.judgement.factor_paths.len() > 1;
    is_one_of_several || row.name_in(claim).is_some_and(|name| claim.names_one(name))
}

/// Those that could be as good as the pick.
fn runners_up(part: &Part) -> Option<String> {
    let by_condition = part.choice.as_ref();
    let is_candidate = |label: &String| match by_condition {
        Some(choice) => choice.picks.iter().any(|pick| pick.label != *label && pick.best_set.contains(label)),
        None => part.pick().is_some_and(|best| best.label != *label) && part.judgement.best_set.contains(label),
    };
    let mut candidates = part.measured().filter(|row| !row.control && is_candidate(&row.label));
    let names: Vec<String> = candidates.by_ref().take(NAMES_MAX).map(Marked::marked).collect();
    let more = candidates.count();
    let list = match (names.len(), more) {
        (0, _) => return None,
        (_, 0) => and_list(&names),
        (_, more) => format!("{} and {more} more", names.join(", ")),
    };
    let best = if by_condition.is_some() { "as the best under its condition" } else { "as the best" };
    Some(format!("Not ruled out {best}: {list}."))
}

/// What the A/A control saw.
pub fn noise_floor(part: &Part, view: &View) -> Option<String> {
    let control = part.judgement.control.as_ref()?;
    let size = percent((control.ratio - 1.0).abs());
    let interval = interval_words(control, view.confidence);
    let baseline = &control.names().1;
    let resolution = percent(control.ruled_out);
    Some(format!(
        "Check: two copies of {baseline} differed by {size} ({interval}), so this study can't resolve less than about {resolution}."
    ))
}

/// Said where there is no value at all.
pub fn nothing(view: &View) -> String {
    let rows = || view.parts.iter().flat_map(|part| &part.rows);
    let is_cut = rows().any(|row| row.power_cut.is_some());
    let faults = faults::silent_of_all(rows());
    match view.failed_total {
        0 if is_cut && faults.is_some() => format!(
            "Only what power cuts and failing disks do was measured, no speed: `surefoot run` measures that, too. {}",
            faults.unwrap_or_default()
        ),
        0 if is_cut => "Only what a power cut takes was measured, no speed: `surefoot run` measures both.".into(),
        0 if faults.is_some() => format!(
            "Only what a failing disk does was measured, no speed: `surefoot run` measures both. {}",
            faults.unwrap_or_default()
        ),
        0 => "No trial has finished yet: there is no answer.".into(),
        failed => format!("No trial finished and {failed} failed: there is no answer."),
    }
}

/// What is missing, scenario by scenario.
pub fn holes(view: &View) -> Vec<String> {
    let holed = |row: &&Row| row.failed > 0;
    let rows: Vec<&Row> = view.parts.iter().flat_map(|part| part.rows.iter().filter(holed)).collect();
    let holes = rows.iter().take(NAMES_MAX).map(|row| {
        let finished: usize = [row.centre, row.confirmed].into_iter().flatten().map(|centre| centre.count).sum();
        let trials = row.failed + finished;
        let why = view.failure_of(&row.label).map(|why| format!(" ({why})")).unwrap_or_default();
        let kept = match row.centre {
            Some(_) => "it is compared by the rounds it finished",
            None => "it is not part of the answer",
        };
        format!("Hole: {} of {trials} trials of {} failed{why}; {kept}.", row.failed, row.label)
    });
    let mut lines: Vec<String> = holes.collect();
    if rows.len() > NAMES_MAX {
        lines.push(format!("{} more scenarios have failed trials.", rows.len() - NAMES_MAX));
    }
    lines
}

/// Marks scenarios whose speed is bought with safety.
pub fn durability(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    for part in view.parts.iter().filter(|part| part.durability_differs) {
        let safest = part.rows.iter().map(Row::safety).min().unwrap_or(Class::KeepsAcknowledged);
        let named = |wanted: &dyn Fn(&Row) -> bool| {
            let rows: Vec<&Row> = part.rows.iter().filter(|row| row.safety() > safest && wanted(row)).collect();
            let whose = if rows.len() == 1 { "its" } else { "their" };
            (!rows.is_empty()).then(|| (some_of(&rows.iter().map(|row| row.marked()).collect::<Vec<_>>()), whose))
        };
        for class in [Class::LosesRecent, Class::MayCorrupt, Class::LosesAll] {
            if let Some((shown, whose)) = named(&|row| row.durability == class) {
                lines.push(format!(
                    "{shown}: after a power cut, {}; {whose} speed is not comparable with scenarios that are safe.",
                    consequence(class)
                ));
            }
        }
        if let Some((shown, whose)) = named(&Row::breaks_promise) {
            lines.push(format!(
                "{shown}: practically no flush reached the device, so {UNFLUSHED}; {whose} speed is not comparable with \
                 scenarios that flush."
            ));
        }
    }
    lines
}

/// What a power cut takes by the settings.
pub fn consequence(class: Class) -> &'static str {
    match class {
        Class::KeepsAcknowledged => "every acknowledged commit is kept",
        Class::LosesRecent => "the last seconds of acknowledged commits may be lost",
        Class::MayCorrupt => "the data may be corrupt",
        Class::LosesAll => "everything is lost",
    }
}
