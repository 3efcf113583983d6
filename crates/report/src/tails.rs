//! What is said of tails and of orders: the sentence beside a claim, the table below its own heading, the line on how rounds went.

use crate::claims::{often_first, shape_words, verdict_of};
use crate::document::{Block, Columns, Table};
use crate::number::{p_words, percent, ratio, ratio_ends, ratio_number, ratio_precise};
use analysis::claim::{Claim, Subject, Tailed, What};
use analysis::judge::short_factor;
use analysis::orders::{Balance, CarryOver};
use analysis::row::Row;
use analysis::tails::WHOLE;
use analysis::view::{Part, View};
use stats::Verdict;

/// Above the table.
const NOTE: &str = "Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.";

/// "the 99th percentile of latency"; of which operation, where it is no transaction or request as a whole.
fn figure(what: What, part: &Part) -> String {
    let said = match what {
        What::LatencyP99 => "the 99th percentile of latency",
        What::WorstSecond => "the rate of the worst second",
        What::SyncedRate => "the rate until all is on the device",
        What::Hundredth => "the 1st percentile of speed",
        What::Tenth => "the 10th percentile of speed",
        What::Median => "the median speed",
    };
    let operation = part.tails.iter().find(|tail| tail.what == what).and_then(|tail| tail.operation.as_deref());
    match operation.filter(|operation| !WHOLE.contains(operation)) {
        Some(operation) => format!("{said} ({operation})"),
        None => said.into(),
    }
}

/// "the 99th percentile of latency of xfs is 1.42× that of ext4 (95 % interval 1.30–1.55)".
pub fn words(tail: &Tailed, (a, b): (&str, &str), part: &Part) -> String {
    let (ends, sure) = (ratio_ends((tail.low, tail.high), ratio_number).join("–"), percent(part.confidence));
    format!("{} of {a} is {} that of {b} ({sure} interval {ends})", figure(tail.what, part), ratio(tail.ratio))
}

/// For the short answer: what speaks against the pick although its mean does not. `name` is what a side is called.
pub fn against_the_pick(part: &Part, name: impl Fn(&str) -> String) -> Option<String> {
    let pick = part.pick()?;
    let worse = choices(part).filter_map(|claim| {
        let (tail, (a, b)) = (claim.tail?, claim.names());
        match tail.is_worse {
            true if pick.name_in(claim) == Some(a) => Some((tail, (a, b))),
            // The other way round.
            false if pick.name_in(claim) == Some(b) => {
                let (low, high) = (1.0 / tail.high, 1.0 / tail.low);
                Some((Tailed { ratio: 1.0 / tail.ratio, low, high, is_worse: true, ..tail }, (b, a)))
            }
            _ => None,
        }
    });
    let worst = worse.max_by(|a, b| a.0.ratio.ln().abs().total_cmp(&b.0.ratio.ln().abs()));
    let of_tail = worst.map(|(tail, (a, b))| words(&tail, (&name(a), &name(b)), part));
    let of_shape = || {
        let claim = slow_pick(part)?;
        let (a, b) = claim.names();
        Some(shape_words((&name(a), &name(b)), claim.shapes.as_ref()?, part))
    };
    Some(format!("But {}.", of_tail.or_else(of_shape)?))
}

/// The comparison that means alone did not decide, as the pick is far slower than usual more often than the other side.
pub fn slow_pick(part: &Part) -> Option<&Claim> {
    let pick = part.pick().filter(|pick| pick.slow.is_some_and(|slow| slow.slow > 0))?;
    let is_it = |claim: &&Claim| {
        let (a, b) = claim.names();
        let often = claim.shapes.map(|shapes| if often_first(&shapes) { a } else { b });
        claim.verdict == Some(Verdict::Inconclusive) && often.is_some_and(|side| pick.name_in(claim) == Some(side))
    };
    choices(part).find(is_it)
}

/// The comparisons between whose sides one may choose.
fn choices(part: &Part) -> impl Iterator<Item = &Claim> {
    let new = part.confirmations.iter().flat_map(|confirmation| &confirmation.claims);
    part.judgement.claims.iter().chain(&part.judgement.versus).chain(new).filter(move |claim| is_a_choice(claim, part))
}

/// Whether one may choose between its sides: a rate or the like is given.
fn is_a_choice(claim: &Claim, part: &Part) -> bool {
    let Some(choice) = &part.choice else { return true };
    let is_alike = |a: &str, b: &str| {
        let level = |side: &str, factor: &String| part.row(side).and_then(|row| row.levels.get(factor).cloned());
        choice.conditions.iter().all(|factor| level(a, factor) == level(b, factor))
    };
    match &claim.subject {
        Subject::Level { factor, .. } => !choice.conditions.contains(factor),
        Subject::Scenario { label, against } | Subject::Control { label, against } => is_alike(label, against),
    }
}

/// Beside a difference of means: that a tail goes the other way.
pub fn but(claim: &Claim, part: &Part) -> Option<String> {
    let tail = claim.tail.filter(|_| claim.is_shown())?;
    Some(format!("But {}.", words(&tail, claim.names(), part)))
}

/// Of a part, as a table; `is_whole`: with those that show nothing. None where it would be empty.
pub fn table(id: String, part: &Part, view: &View, is_whole: bool) -> Option<Table> {
    let all = part.tails.iter().flat_map(|tail| tail.claims.iter().map(|claim| (tail.what, claim)));
    let is_of_tail = |what: What| matches!(what, What::LatencyP99 | What::WorstSecond | What::SyncedRate);
    let is_news =
        |(what, claim): &(What, &Claim)| claim.is_shown() && (is_of_tail(*what) || contradicts(*what, claim, part));
    let shown: Vec<(What, &Claim)> = all.filter(|found| is_whole || is_news(found)).collect();
    if shown.is_empty() {
        return None;
    }
    let name = |claim: &Claim| {
        let (a, b) = claim.names();
        let about = claim.subject.factor().map_or_else(String::new, |factor| format!(" ({})", short_factor(factor)));
        format!("{a} vs {b}{about}")
    };
    let interval = |claim: &Claim| ratio_ends((claim.low, claim.high), ratio_precise).join("–");
    let table = Columns::of(id, &shown)
        .words("figure", |(what, _)| figure(*what, part).trim_start_matches("the ").to_string())
        .words("claim", |(_, claim)| name(claim))
        .figures("ratio", |(_, claim)| claim.ratio, ratio_precise)
        .shown(&format!("{} interval", percent(view.confidence)), |(_, claim)| interval(claim))
        .words("verdict", |(_, claim)| verdict_of(claim, ["better", "worse"]))
        .figures("p, corrected", |(_, claim)| claim.p, p_words)
        .numbers("rounds", |(_, claim)| claim.rounds);
    Some(table.table())
}

/// Whether a comparison by means has this one beside it, as what does not go with it.
fn contradicts(what: What, claim: &Claim, part: &Part) -> bool {
    let (a, b) = claim.names();
    let is_of_same = |other: &Claim| other.subject.factor() == claim.subject.factor();
    let is_it = |other: &&Claim| is_of_same(other) && other.names_one(a) && other.names_one(b);
    let found = part.judgement.claims.iter().find(is_it).and_then(|other| other.tail);
    found.is_some_and(|tail| tail.what == what)
}

/// For a page: all comparisons, and how rounds went.
pub fn on_page(i: usize, part: &Part, view: &View) -> Option<Block> {
    let table = table(format!("tails-{i}"), part, view, true)?;
    let blocks = vec![Block::Note(NOTE.into()), Block::Table(table)];
    Some(Block::Details { summary: "Tails and shapes".into(), is_open: false, blocks })
}

/// For a terminal: those that show a difference.
pub fn in_brief(part: &Part, view: &View) -> Vec<Block> {
    let Some(table) = table("tails".into(), part, view, false) else { return Vec::new() };
    let heading = Block::Heading(2, format!("{}: tails and shapes that differ", part.workload));
    vec![heading, Block::Table(table), Block::Note(NOTE.into())]
}

/// How rounds went: a line each on balance and carry-over.
pub fn orders(part: &Part) -> Vec<String> {
    let balance = part.orders.balance.as_ref().map(balance_words);
    balance.into_iter().chain(part.orders.carry_over.as_ref().map(carry_over_words)).collect()
}

fn balance_words(balance: &Balance) -> String {
    let Balance { first, second, before, of, by_turns } = balance;
    let what = if *by_turns { "cycles of turns" } else { "rounds" };
    format!(
        "Orders: {first} went before {second} in {before} of {of} {what}; of all pairs this one is the least balanced."
    )
}

fn carry_over_words(found: &CarryOver) -> String {
    let CarryOver { after, effect, p } = found;
    let is_shown = if found.is_shown() { "shown" } else { "not shown" };
    let (p, rounds) = (p_words(*p), effect.rounds);
    let [ratio, low, high] = [effect.ratio(), effect.ratio_low(), effect.ratio_high()].map(ratio_precise);
    format!(
        "Carry-over was {is_shown}: turns after {after} had {ratio} times the speed of turns after others ({low}–{high}, {rounds} rounds, p {p}); \
         of all predecessors this one stands out most."
    )
}

/// What a row's label is called in the short answer; a level is called as it is.
pub fn called<'a>(part: &'a Part, name: impl Fn(&Row) -> String + 'a) -> impl Fn(&str) -> String + 'a {
    move |side: &str| part.row(side).map_or_else(|| side.to_string(), &name)
}
