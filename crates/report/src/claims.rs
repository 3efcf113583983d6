//! What is said of a claim, in a sentence and in a cell, and of where a scenario's values lie.

use crate::flushing::{self, Marked as _};
use crate::number::{
    Scale, percent, percent_number_signed, percent_rounded_up, ratio, ratio_ends, ratio_number, words,
};
use crate::words::{and_list, is_speed, quantity, with_factor};
use crate::{errors, tails};
use analysis::claim::{Claim, Subject};
use analysis::row::{Centre, Row};
use analysis::view::Part;
use stats::Verdict;
use stats::slow::SlowMode;

/// Ratios from here on read better as "1.42×" than as "42 %".
const RATIO_FROM: f64 = 1.25;

/// What is lost by staying with the baseline, where the pick is shown to be better: the baseline against the pick.
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
        false => (ratio(cost), ratio_ends((low, high), ratio_number)),
    };
    let [low, high] = ends;
    let sure = percent(confidence);
    let (baseline, pick) = (baseline.marked(), pick.marked());
    let than = if size.ends_with('×') { "what" } else { "than" };
    // Of several the one that measured best is the pick, so that its ratio is too good on average; in new rounds it is not.
    let picked = if claim.exploratory { "; exploratory, of the rounds by which it was picked" } else { "" };
    Some(format!("The baseline, {baseline}, measured {size} {than} {pick} ({sure} interval {low}–{high}{picked})."))
}

/// A claim as a sentence: who, how much, how sure, and the verdict.
pub fn claim_sentence(claim: &Claim, part: &Part, margin: f64, confidence: f64) -> String {
    let ((a, b), marks) = (claim.names(), flushing::marks(part, claim));
    let first = claim.subject.factor().map_or_else(|| a.into(), |factor| with_factor(factor, a));
    let (a, b) = (&format!("{first}{}", marks[0]), &format!("{b}{}", marks[1]));
    let averaged = averaged_over(claim);
    let interval = interval_words(claim, confidence);
    match claim.verdict {
        None => {
            format!("{a} {} {b}{averaged}, from {} rounds: a direction only.", size_words(claim, part), claim.rounds)
        }
        Some(Verdict::Faster | Verdict::Slower) => {
            let also = claim.shapes.as_ref().map(|shapes| shape_words((a, b), shapes, part));
            let also = also.map_or_else(String::new, |words| format!("; {words}"));
            format!("{a} {} {b} ({interval}){averaged}{also}.", size_words(claim, part))
        }
        Some(Verdict::Negligible) => format!(
            "{a} {} {b} ({interval}){averaged}: real, but smaller than the {} that matters.",
            size_words(claim, part),
            percent(margin)
        ),
        Some(Verdict::Equivalent) => format!(
            "{a} and {b} can't be told apart within {}{averaged}: no difference found, and the data rule out more than ±{}.",
            percent(margin),
            percent_rounded_up(claim.ruled_out)
        ),
        Some(Verdict::Inconclusive) => {
            if let Some(shapes) = &claim.shapes {
                return format!(
                    "{a} against {b} is open ({interval}){averaged}: {}, so means alone do not decide.",
                    shape_words((a, b), shapes, part)
                );
            }
            if let Some(tail) = &claim.tail {
                let tail = tails::words(tail, (a, b), part);
                return format!(
                    "{a} against {b} is open ({interval}){averaged}: {tail}, so means alone do not decide."
                );
            }
            // An interval is one comparison's; the verdict answers for all of them together, and for all looks.
            let corrected = if claim.low > 1.0 || claim.high < 1.0 {
                let together = percent(1.0 - part.alpha);
                format!(", which is not enough: all claims of this answer are held together at {together}")
            } else {
                String::new()
            };
            let range = range_words(claim, part);
            format!(
                "{a} against {b} is open{averaged}: {range} ({}{corrected}). A true difference of {} would have been found in 8 of 10 \
                 such studies.",
                percent(confidence),
                percent(claim.visible)
            )
        }
    }
}

/// "from 4.1 % slower to 20.2 % faster".
fn range_words(claim: &Claim, part: &Part) -> String {
    let end = |ratio: f64| {
        let change = percent((ratio - 1.0).abs());
        let (more, less) = match (part.more_is_better, part.metric.unit.as_ref()) {
            (true, unit) if observe::metric::is_rate(unit) => ("faster", "slower"),
            (false, "s" | "µs") => ("longer", "shorter"),
            _ => ("higher", "lower"),
        };
        format!("{change} {}", if ratio < 1.0 { less } else { more })
    };
    format!("from {} to {}", end(claim.low), end(claim.high))
}

/// "5 of 48 runs of xfs were below half of their usual speed (3.5 to 23 %), of ext4 0 of 48".
pub fn shape_words((a, b): (&str, &str), shapes: &[SlowMode; 2], part: &Part) -> String {
    let pieces = if part.orders.balance.as_ref().is_some_and(|balance| balance.by_turns) { "turns" } else { "runs" };
    let is_in_order = often_first(shapes);
    let ((often, own), (seldom, others)) =
        if is_in_order { ((a, shapes[0]), (b, shapes[1])) } else { ((b, shapes[1]), (a, shapes[0])) };
    let (slow, of, low, high) = (own.slow, own.of, percent(own.low), percent(own.high));
    format!(
        "{slow} of {of} {pieces} of {often} were below half of their usual speed (true share {low} to {high}), and of {seldom} {} of {}",
        others.slow, others.of
    )
}

/// Whether the first of two is the one that is slow more often.
pub fn often_first(shapes: &[SlowMode; 2]) -> bool {
    shapes[0].low > shapes[1].low
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
    let is_rate = observe::metric::is_rate(&part.metric.unit);
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
pub fn interval_words(claim: &Claim, confidence: f64) -> String {
    let large = claim.ratio >= RATIO_FROM || claim.ratio <= 1.0 / RATIO_FROM;
    let sure = percent(confidence);
    if large {
        return format!("{sure} interval {}", ratio_ends((claim.low, claim.high), ratio_number).join("–"));
    }
    let ends = (percent_number_signed(claim.low - 1.0), percent_number_signed(claim.high - 1.0));
    format!("{sure} interval {} to {} %", ends.0, ends.1)
}

/// The verdict in a table's cell.
pub fn verdict_words(claim: &Claim, part: &Part) -> String {
    verdict_of(claim, if is_speed(&part.metric) { ["faster", "slower"] } else { ["better", "worse"] }).into()
}

/// The same with these words for what matters.
pub fn verdict_of(claim: &Claim, [better, worse]: [&'static str; 2]) -> &'static str {
    match claim.verdict {
        None => "direction only",
        Some(Verdict::Faster) => better,
        Some(Verdict::Slower) => worse,
        Some(Verdict::Negligible) => "real but negligible",
        Some(Verdict::Equivalent) => "equivalent",
        Some(Verdict::Inconclusive) => "can't tell",
    }
}

/// One of a scenario's centres: "3,886 transactions per second (95 % interval 3,790–3,984, 6 trials)". Of figures by which it was picked, the
/// interval is one of so many that hold together, and says so: tables have the scenario's own beside it.
pub fn centre_in_words(row: &Row, centre: Centre, part: &Part, (confidence, picked_from): (f64, usize)) -> String {
    let scale = &Scale::of_part(part);
    // A number that is shown in thousands of millions says so behind it.
    let is_plain =
        matches!(part.metric.unit.as_ref(), "1/s" | "1") && [part.metric.unit.as_ref(), ""].contains(&&*scale.unit);
    let what = if is_plain { words(&part.metric.name) } else { String::new() };
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
    let interval = scale.between(centre.low, centre.high);
    let of_pick = if picked_from > 1 { format!(" for the pick of {picked_from}") } else { String::new() };
    format!("{value} ({} interval {interval}{of_pick}, {} trials){wrong}", percent(confidence), centre.count)
}
