//! The answer in words. Every sentence that claims something about the measured is written here and nowhere else.

use crate::bench;
use crate::choice::{Choice, Pick};
use crate::errors;
use crate::factors;
use crate::flushing::Words as _;
use crate::health;
use crate::input::Input;
use crate::judge::{Claim, ROUNDS_FOR_CLAIMS, Subject, short_factor};
use crate::number::{percent, percent_number_signed, ratio, ratio_number, words};
use crate::safety;
use crate::screening;
use crate::tuning;
use crate::view::{Centre, Part, Row, View};
use crate::why;
use ledger::model::Mode;
use observe::durability::Class;
use observe::metric::Metric;
use stats::Verdict;

/// Ratios from here on read better as "1.42×" than as "42 %".
const RATIO_FROM: f64 = 1.25;
/// Scenarios named in one sentence; the rest are counted.
const NAMES_MAX: usize = 4;
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
#[must_use]
pub fn answer(input: &Input) -> Vec<String> {
    let view = input.view();
    let mut lines = Vec::new();
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
#[must_use]
pub fn heading(part: &Part) -> String {
    metric_heading(&part.workload, &part.metric, part.more_is_better)
}

/// As [`heading`], of any metric.
#[must_use]
pub fn metric_heading(workload: &str, metric: &Metric, more_is_better: bool) -> String {
    let better = if more_is_better { "more is better" } else { "less is better" };
    format!("{workload}, {} ({better})", words(&metric.name))
}

/// One part's sentences: the pick, what it gains, what could be as good, what mattered, the noise floor.
#[must_use]
pub fn part_answer(part: &Part, view: &View) -> Vec<String> {
    let mut lines = vec![pick(part, view)];
    lines.extend(regret(part, view));
    lines.extend(unsafe_but_faster(part));
    lines.extend(errors::others(part));
    lines.extend(safety::sentences(part));
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
#[must_use]
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
    if part.rounds_compared() < ROUNDS_FOR_CLAIMS {
        return format!("{} was ahead: {value}.", best.marked());
    }
    format!("Pick {}: {value}.", best.marked())
}

/// The pick where a rate or the like is given: one for all, or each under its condition.
fn pick_by_condition(choice: &Choice, part: &Part, view: &View) -> String {
    let condition = |pick: &Pick| {
        let levels = choice.conditions.iter().zip(&pick.levels).map(|(factor, level)| with_factor(factor, level));
        format!("with {}", and_list(&levels.collect::<Vec<_>>()))
    };
    let names = choice.names();
    let standing = tuning::standing(part);
    let is_named = !choice.is_same && !choice.is_empty;
    let said = choice.picks.iter().take(NAMES_MAX).filter_map(|pick| {
        let row = part.row(&pick.label)?;
        let value = centre_words(row, part, view.confidence);
        Some(match is_named {
            true => format!("{} {}: {value}", marked(&pick.name, row), condition(pick)),
            false => format!("{value} {}", condition(pick)),
        })
    });
    let mut list = said.collect::<Vec<_>>().join("; ");
    let more = choice.picks.len().saturating_sub(NAMES_MAX);
    if more > 0 {
        list.push_str(&format!("; and {more} more"));
    }
    list.push_str(&standing);
    let ahead = part.rounds_compared() < ROUNDS_FOR_CLAIMS;
    let given = match names.as_slice() {
        [one] => one.clone(),
        several => format!("combination of {}", and_list(several)),
    };
    if choice.is_empty {
        let are = if names.len() > 1 { "are conditions" } else { "is a condition" };
        return format!("Nothing to pick, as {} {are} of the load: {list}.", and_list(&names));
    }
    let first = choice.picks.first().and_then(|pick| Some(marked(&pick.name, part.row(&pick.label)?)));
    match (choice.is_same, ahead, first) {
        (true, false, Some(name)) => format!("Pick {name} under every {given}: {list}."),
        (true, true, Some(name)) => format!("{name} was ahead under every {given}: {list}."),
        (_, true, _) => format!("By {given}, these were ahead: {list}."),
        (_, false, _) => format!("Pick by {given}: {list}."),
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
    let measured = format!("the {} measured{steady}", safety::competitors(part));
    let has_dropped = part.rows.iter().any(|row| row.dropped_after().is_some());
    if let Some(choice) = &part.choice {
        let (who, under) = if choice.is_same {
            ("It is", "under each of these conditions")
        } else {
            ("Each is", "under its condition")
        };
        let alone = has_dropped.then_some(0.0);
        let regrets = choice.picks.iter().map(|pick| pick.regret.or(alone)).collect::<Option<Vec<f64>>>()?;
        let bound = regrets.into_iter().fold(0.0, f64::max);
        return Some(if bound == 0.0 {
            format!("{who} shown to be the best of {measured} {under} ({sure} confidence).")
        } else {
            format!("{who} at most {} behind the best of {measured} {under} ({sure} confidence).", percent(bound))
        });
    }
    let bound = match part.judgement.regrets.get(&best.label) {
        Some(bound) => *bound,
        // Alone among those left: all others were shown to be worse.
        None if has_dropped => 0.0,
        None => return None,
    };
    if let Some(confirmation) = part.confirmations.first() {
        return Some(tuning::selection(confirmation, best, part, (bound, view.confidence)));
    }
    Some(if bound == 0.0 {
        format!("It is shown to be the best of {measured} ({sure} confidence).")
    } else {
        format!("It is at most {} behind the best of {measured} ({sure} confidence).", percent(bound))
    })
}

/// What would have been picked if neither power cuts nor errors mattered.
fn unsafe_but_faster(part: &Part) -> Option<String> {
    let pick = part.pick()?;
    let first = part.beside(pick).next().filter(|row| row.is_out_beside(pick))?;
    let ratio = ratio(first.centre?.mean / pick.centre?.mean);
    let what = if part.choice.is_none() { "that".into() } else { format!("what {} did", pick.marked()) };
    Some(format!("{} measured {ratio} {what}, but is no choice: {}.", first.marked(), risk(first, part)))
}

/// What bound the pick; and which others' figures are lower bounds, because the load generator was full.
fn bound_by(part: &Part) -> Option<String> {
    let pick = part.pick()?;
    let of_pick = pick.ceiling.as_ref().and_then(|ceiling| ceiling.sentence(&pick.marked()));
    let others: Vec<String> = part
        .measured()
        .filter(|row| row.is_lower_bound() && row.label != pick.label)
        .map(|row| row.label.clone())
        .collect();
    let of_others = match others.as_slice() {
        [] => None,
        [one] => Some(format!("The figure of {one} is a lower bound: the load generator was full.")),
        all if all.len() > NAMES_MAX => {
            Some(format!("The figures of {} other scenarios are lower bounds: the load generator was full.", all.len()))
        }
        all => Some(format!("The figures of {} are lower bounds: the load generator was full.", and_list(all))),
    };
    let said: Vec<String> = [of_pick, of_others].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// What speaks against a scenario: its errors, what a power cut was measured to take, its settings, or what its device got.
fn risk(row: &Row, part: &Part) -> String {
    if let Some(errors) = errors::risk(row, part) {
        return errors;
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

const UNFLUSHED: &str = "a power cut may take acknowledged commits";

fn centre_words(row: &Row, part: &Part, confidence: f64) -> String {
    let Some(centre) = row.confirmed.or(row.centre) else { return "no value".into() };
    centre_in_words(row, centre, part, confidence)
}

/// One of a scenario's centres: "3,886 transactions per second (95 % interval 3,790–3,984, 6 trials)".
#[must_use]
pub fn centre_in_words(row: &Row, centre: Centre, part: &Part, confidence: f64) -> String {
    let scale = &part.scale;
    let what =
        if part.metric.unit == "1/s" || part.metric.unit == "1" { words(&part.metric.name) } else { String::new() };
    let at_least = match (row.is_lower_bound(), part.more_is_better) {
        (true, true) => "at least ",
        (true, false) => "at most ",
        (false, _) => "",
    };
    let value = if what.is_empty() {
        format!("{} {at_least}{}", quantity(part), scale.with_unit(centre.mean))
    } else {
        format!("{at_least}{} {what}", scale.number(centre.mean))
    };
    let wrong = errors::beside_speed(row);
    if centre.count < 2 {
        return format!("{value} (one trial, so no interval){wrong}");
    }
    let interval = format!("{}–{}", scale.number(centre.low), scale.number(centre.high));
    format!("{value} ({} interval {interval}, {} trials){wrong}", percent(confidence), centre.count)
}

/// The metric's name without the unit in it, which stands beside the value: "elapsed", "latency p99".
#[must_use]
pub fn quantity(part: &Part) -> String {
    let name = words(&part.metric.name);
    if name.contains(" per ") {
        return name;
    }
    let is_unit = |word: &&str| matches!(*word, "seconds" | "microseconds" | "bytes");
    let kept: Vec<&str> = name.split(' ').filter(|word| !is_unit(word)).collect();
    if kept.is_empty() { name.clone() } else { kept.join(" ") }
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
    let is_said = !part.confirmations.is_empty();
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
        [Some(said), why].into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    let left_out = (more > 0).then(|| format!("{more} more comparisons are in the report's table of claims."));
    said.chain(left_out).collect()
}

/// What is lost by staying with the baseline, where the pick is shown to be better: the baseline against the pick.
#[must_use]
pub fn cost_of_default(claim: &Claim, part: &Part, confidence: f64) -> Option<String> {
    let Subject::Scenario { label, against } = &claim.subject else { return None };
    let (pick, baseline) = (part.row(label)?, part.row(against)?);
    if claim.verdict != Some(Verdict::Faster) {
        return None;
    }
    let (cost, low, high) = (1.0 / claim.ratio, 1.0 / claim.high, 1.0 / claim.low);
    let without_sign = |fraction: f64| percent(fraction).trim_end_matches(" %").to_string();
    let (size, ends) = match part.more_is_better {
        true => (format!("{} less", percent(1.0 - cost)), [without_sign(1.0 - high), percent(1.0 - low)]),
        false if cost < 2.0 => {
            (format!("{} more", percent(cost - 1.0)), [without_sign(low - 1.0), percent(high - 1.0)])
        }
        false => (ratio(cost), [ratio_number(low), ratio_number(high)]),
    };
    let [low, high] = ends;
    let sure = percent(confidence);
    let noise = noise_words(claim, part);
    let (baseline, pick) = (baseline.marked(), pick.marked());
    let than = if size.ends_with('×') { "what" } else { "than" };
    Some(format!("The baseline, {baseline}, measured {size} {than} {pick} ({sure} interval {low}–{high}){noise}."))
}

/// Whether a claim is about a scenario, or about a level that it has.
fn concerns(claim: &Claim, row: &Row, part: &Part) -> bool {
    match &claim.subject {
        Subject::Level { factor, .. } => {
            part.judgement.factor_paths.len() > 1 || row.levels.get(factor).is_some_and(|level| claim.names_one(level))
        }
        Subject::Scenario { .. } | Subject::Control { .. } => claim.names_one(&row.label),
    }
}

/// A claim as a sentence: who, how much, how sure, and the verdict.
#[must_use]
pub fn claim_sentence(claim: &Claim, part: &Part, margin: f64, confidence: f64) -> String {
    let ((a, b), marks) = (claim.names(), part.marks(claim));
    let first = match &claim.subject {
        Subject::Level { factor, .. } => with_factor(factor, a),
        Subject::Scenario { .. } | Subject::Control { .. } => a.into(),
    };
    let (a, b) = (&format!("{first}{}", marks[0]), &format!("{b}{}", marks[1]));
    let averaged = averaged_over(claim);
    let interval = interval_words(claim, confidence);
    match claim.verdict {
        None => {
            format!("{a} {} {b}{averaged}, from {} rounds: a direction only.", size_words(claim, part), claim.rounds)
        }
        Some(Verdict::Faster | Verdict::Slower) => {
            format!("{a} {} {b} ({interval}){averaged}{}.", size_words(claim, part), noise_words(claim, part))
        }
        Some(Verdict::Negligible) => format!(
            "{a} {} {b} ({interval}){averaged}: real, but smaller than the {} that matters.",
            size_words(claim, part),
            percent(margin)
        ),
        Some(Verdict::Equivalent) => format!(
            "{a} and {b} can't be told apart within {}{averaged}: no difference found, and the data rule out more than ±{}.",
            percent(margin),
            percent(claim.ruled_out)
        ),
        Some(Verdict::Inconclusive) => {
            // An interval is one comparison's; the verdict answers for all of them together.
            let corrected = if claim.low > 1.0 || claim.high < 1.0 {
                ", which is not enough among so many comparisons"
            } else {
                ""
            };
            format!(
                "{a} against {b} is inconclusive ({interval}{corrected}){averaged}: differences below {} could not be seen.",
                percent(claim.visible)
            )
        }
    }
}

/// A level that says nothing by itself, with its factor: "opcode cache on", "shared buffers 80MB".
#[must_use]
pub fn with_factor(factor: &str, level: &str) -> String {
    let is_bare = ["on", "off", "yes", "no", "true", "false", "none"].contains(&level)
        || level.starts_with(|first: char| first.is_ascii_digit());
    if is_bare { format!("{} {level}", short_factor(factor)) } else { level.into() }
}

/// Said of a claim that is no larger than what two equal scenarios showed.
fn noise_words(claim: &Claim, part: &Part) -> String {
    let Some(control) = &part.judgement.control else { return String::new() };
    if claim.ratio.ln().abs() > control.ratio.ln().abs() {
        return String::new();
    }
    format!("; but that is no more than the noise floor of {}", percent((control.ratio - 1.0).abs()))
}

/// ", averaged over cache size, where the filesystem is xfs" where a level's claim spans other factors or only a part of them.
fn averaged_over(claim: &Claim) -> String {
    let Subject::Level { over, within, .. } = &claim.subject else { return String::new() };
    let over: Vec<&str> = over.iter().map(String::as_str).collect();
    let mut words = if over.is_empty() { String::new() } else { format!(", averaged over {}", and_list(&over)) };
    let within: Vec<String> = within.iter().map(|(factor, level)| format!("{factor} is {level}")).collect();
    let within: Vec<&str> = within.iter().map(String::as_str).collect();
    if !within.is_empty() {
        words.push_str(&format!(", where {}", and_list(&within)));
    }
    words
}

/// "is 1.42×", "is 3.1 % faster than", "takes 12 % less time than".
fn size_words(claim: &Claim, part: &Part) -> String {
    let r = claim.ratio;
    let large = r >= RATIO_FROM || r <= 1.0 / RATIO_FROM;
    let is_time = matches!(part.metric.unit.as_ref(), "s" | "µs");
    let is_rate = part.metric.unit.ends_with("/s");
    let change = percent((r - 1.0).abs());
    match (part.more_is_better, large) {
        (false, true) if is_time => format!("takes {} the time of", ratio(r)),
        (false, false) if is_time => format!("takes {change} {} time than", if r < 1.0 { "less" } else { "more" }),
        (_, true) => format!("is {}", ratio(r)),
        (true, false) if is_rate => format!("is {change} {} than", if r > 1.0 { "faster" } else { "slower" }),
        (_, false) => format!("is {change} {} than", if r > 1.0 { "higher" } else { "lower" }),
    }
}

/// "95 % interval 1.35–1.49" or "95 % interval +1.8 to +4.6 %".
#[must_use]
pub fn interval_words(claim: &Claim, confidence: f64) -> String {
    let large = claim.ratio >= RATIO_FROM || claim.ratio <= 1.0 / RATIO_FROM;
    let sure = percent(confidence);
    if large {
        return format!("{sure} interval {}–{}", ratio_number(claim.low), ratio_number(claim.high));
    }
    let ends = (percent_number_signed(claim.low - 1.0), percent_number_signed(claim.high - 1.0));
    format!("{sure} interval {} to {} %", ends.0, ends.1)
}

/// The verdict in a table's cell.
#[must_use]
pub fn verdict_words(claim: &Claim, part: &Part) -> String {
    let is_speed = part.metric.unit.ends_with("/s") || matches!(part.metric.unit.as_ref(), "s" | "µs");
    match claim.verdict {
        None => "direction only".into(),
        Some(Verdict::Faster) => if is_speed { "faster" } else { "better" }.into(),
        Some(Verdict::Slower) => if is_speed { "slower" } else { "worse" }.into(),
        Some(Verdict::Negligible) => "real but negligible".into(),
        Some(Verdict::Equivalent) => "equivalent".into(),
        Some(Verdict::Inconclusive) => "can't tell".into(),
    }
}

/// Those that could be as good as the pick.
fn runners_up(part: &Part) -> Option<String> {
    let by_condition = part.choice.as_ref();
    let is_candidate = |label: &String| match by_condition {
        Some(choice) => choice.picks.iter().any(|pick| pick.label != *label && pick.best_set.contains(label)),
        None => part.pick().is_some_and(|best| best.label != *label) && part.judgement.best_set.contains(label),
    };
    let mut candidates = part.measured().filter(|row| !row.control && is_candidate(&row.label));
    let names: Vec<String> = candidates.by_ref().take(NAMES_MAX).map(Row::marked).collect();
    let more = candidates.count();
    let list = match (names.len(), more) {
        (0, _) => return None,
        (_, 0) => and_list(&names),
        (_, more) => format!("{} and {more} more", names.join(", ")),
    };
    let best = if by_condition.is_some() { "as the best under its condition" } else { "as the best" };
    Some(format!("Not ruled out {best}: {list}."))
}

/// "ext4, xfs and btrfs".
#[must_use]
pub fn and_list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_string(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// Shares of variation are known to a percent at best.
#[must_use]
pub fn percent_whole(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "under 1 %".into() } else { format!("{:.0} %", share * 100.0) }
}

/// What the A/A control saw.
#[must_use]
pub fn noise_floor(part: &Part, view: &View) -> Option<String> {
    let control = part.judgement.control.as_ref()?;
    let size = percent((control.ratio - 1.0).abs());
    let interval = interval_words(control, view.confidence);
    Some(format!("Noise floor: the same scenario measured twice under two names differed by {size} ({interval})."))
}

fn nothing(view: &View) -> String {
    let is_cut = view.parts.iter().flat_map(|part| &part.rows).any(|row| row.power_cut.is_some());
    match view.failed_total {
        0 if is_cut => "Only what a power cut takes was measured, no speed: `surefoot run` measures both.".into(),
        0 => "No trial has finished yet: there is no answer.".into(),
        failed => format!("No trial finished and {failed} failed: there is no answer."),
    }
}

/// What is missing, scenario by scenario.
#[must_use]
pub fn holes(view: &View) -> Vec<String> {
    let holed = |row: &&Row| row.failed > 0;
    let rows: Vec<&Row> = view.parts.iter().flat_map(|part| part.rows.iter().filter(holed)).collect();
    let mut lines: Vec<String> = rows
        .iter()
        .take(NAMES_MAX)
        .map(|row| {
            let trials = row.failed + row.centre.map_or(0, |centre| centre.count);
            let why = view.failure_of(&row.label).map(|why| format!(" ({why})")).unwrap_or_default();
            let kept = if row.centre.is_some() {
                "; it is compared by the rounds it finished"
            } else {
                "; it is not part of the answer"
            };
            format!("Hole: {} of {trials} trials of {} failed{why}{kept}.", row.failed, row.label)
        })
        .collect();
    if rows.len() > NAMES_MAX {
        lines.push(format!("{} more scenarios have failed trials.", rows.len() - NAMES_MAX));
    }
    lines
}

/// Marks scenarios whose speed is bought with safety.
#[must_use]
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

/// Names in one sentence: all, or the first and how many more.
#[must_use]
pub fn some_of(names: &[String]) -> String {
    match names.len().saturating_sub(NAMES_MAX) {
        0 => and_list(names),
        more => format!("{} and {more} more", names[..NAMES_MAX].join(", ")),
    }
}

fn consequence(class: Class) -> &'static str {
    match class {
        Class::KeepsAcknowledged => "every acknowledged commit is kept",
        Class::LosesRecent => "the last seconds of acknowledged commits may be lost",
        Class::MayCorrupt => "the data may be corrupt",
        Class::LosesAll => "everything is lost",
    }
}
