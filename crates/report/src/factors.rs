//! What each factor does, in words: its share of the differences, how far it swings what is measured, and what it does to another's
//! effect. Part of the answer; `judge.rs` has the numbers.

use crate::number::{percent, ratio, ratio_ends, ratio_number};
use crate::words::{and_list, capital, percent_whole, quantity, with_factor};
use analysis::judge::short_factor;
use analysis::row::Row;
use analysis::view::{Part, View};
use stats::{Contrast, Interaction, NoShares, Swing};

/// Swings from here on read better as a factor than as percent.
const FOLD_FROM: f64 = 2.0;

const SWINGS: &str = "swings ";

/// A sentence a factor, the weightiest first; none where there is one factor only, whose claims say all.
pub fn what_mattered(part: &Part, view: &View) -> Option<String> {
    let judgement = &part.judgement;
    if judgement.factor_paths.len() < 2 {
        return None;
    }
    let mut factors: Vec<Factor> = judgement.factor_paths.iter().map(|path| Factor::of(path, part)).collect();
    factors.sort_by(|a, b| b.weight().partial_cmp(&a.weight()).expect("weights are numbers"));
    let mut sentences: Vec<String> = Vec::new();
    for factor in &factors {
        let is_named = sentences.iter().any(|sentence| sentence.contains(SWINGS));
        sentences.extend(factor.sentence(part, view, (sentences.is_empty(), is_named)));
    }
    match &judgement.shares {
        Ok(shares) => {
            let own: f64 = factors.iter().filter_map(|factor| factor.share).sum();
            let interplay = percent_whole((1.0 - own - shares.noise_share).max(0.0));
            sentences.push(format!(
                "Interplay of factors {interplay}, noise {}; apart from these 100 %, {} {}.",
                percent_whole(shares.noise_share),
                between_rounds(part),
                percent_whole(shares.drift_share)
            ));
            sentences.extend(ranges(&factors));
            if shares.approximate {
                sentences.push(APPROXIMATE.into());
            }
        }
        Err(why) => sentences.push(no_shares(why)?),
    }
    Some(sentences.join(" "))
}

/// Why rounds differ: where each does another part of the work, that is not the machine's drift.
pub fn between_rounds(part: &Part) -> &'static str {
    if part.goes_in_parts() { "the rounds' different parts of the work" } else { "drift between rounds" }
}

/// Between what a share lies when each round is left out once: one that hangs on one round is seen. None where all stay as they are.
fn ranges(factors: &[Factor]) -> Option<String> {
    let of_factor = |factor: &Factor| {
        // Of next to nothing the share itself says all.
        let (low, high) = factor.range.filter(|range| range.1 >= 0.015)?;
        let [low, high] = [low, high].map(percent_whole);
        (low != high).then(|| format!("{} {}–{high}", factor.name, low.trim_end_matches(" %")))
    };
    let said: Vec<String> = factors.iter().filter_map(of_factor).collect();
    (!said.is_empty()).then(|| format!("Without any one round: {}.", said.join(", ")))
}

/// Said where shares come from unbalanced data.
pub const APPROXIMATE: &str = "Shares are approximate: not every combination was measured in every round.";

/// Why there are no shares; none where nobody expects any.
pub fn no_shares(why: &NoShares) -> Option<String> {
    let why = match why {
        NoShares::OneFactor => return None,
        NoShares::Stalled => "a scenario stalled, and 0 has no logarithm".into(),
        NoShares::TooFewTrials => "too few trials are left to tell noise by".into(),
        NoShares::TooManyScenarios => "there are too many scenarios with holes".into(),
        NoShares::NotByLevels => "scenarios differ in more than their levels".into(),
        NoShares::OnlyTheBest => {
            "mode \"tune\" measures no further what is shown to be worse, and shares take every combination in every round; \
             --exhaustive measures them"
                .into()
        }
        NoShares::Aliased(factor) => format!("{} changes only together with other factors", short_factor(factor)),
    };
    Some(format!("How much each factor explains can't be told: {why}."))
}

struct Factor<'a> {
    name: String,
    share: Option<f64>,
    /// Without any one round.
    range: Option<(f64, f64)>,
    swing: Option<&'a Swing>,
    /// Its effect turns round with another factor's level.
    is_crossed: bool,
    /// It is no choice.
    is_condition: bool,
}

impl Factor<'_> {
    fn of<'a>(path: &str, part: &'a Part) -> Factor<'a> {
        let shares = part.judgement.shares.as_ref().ok();
        let of_factor = shares.and_then(|shares| shares.terms.iter().find(|term| term.factors == [path]));
        Factor {
            name: short_factor(path),
            share: of_factor.map(|term| term.share),
            range: of_factor.and_then(|term| term.share_range),
            swing: part.judgement.swings.iter().find(|swing| swing.factor == path),
            is_condition: is_condition(path, part),
            is_crossed: part.judgement.interactions.iter().any(|found| turns_round(found, path)),
        }
    }

    fn weight(&self) -> (f64, f64) {
        (self.share.unwrap_or(-1.0), self.swing.map_or(-1.0, |swing| swing.contrast.mean))
    }

    /// "Shared buffers explain 81 % of the differences and swing …". The first sentence says of what it is a share, the
    /// first with a swing of what.
    fn sentence(&self, part: &Part, view: &View, (is_first, is_named): (bool, bool)) -> Option<String> {
        let share = self.share.map(|share| {
            let whole = if is_first { " of the differences" } else { "" };
            format!("explains {}{whole}", percent_whole(share))
        });
        let swing = self.swing.map(|swing| {
            if !part.shows(swing) {
                let limit = match swing.bound {
                    Some(bound) => format!(", at most {}", size(bound.exp())),
                    None => " between the levels that could be compared".into(),
                };
                return if share.is_some() {
                    format!("and no swing is shown{limit}")
                } else {
                    format!("shows no swing{limit}")
                };
            }
            let what = if is_named { "it".into() } else { quantity(part) };
            let (best, worst) = if part.more_is_better { (&swing.high, &swing.low) } else { (&swing.low, &swing.high) };
            // A level that only unsafe scenarios have is no choice either.
            let safest = part.safest();
            let is_best = |row: &Row| row.levels.get(&swing.factor) == Some(best);
            let is_safe = |row: &Row| is_best(row) && safest.is_some_and(|safest| row.is_choice_in(safest));
            let is_given = self.is_condition || !part.measured().any(is_safe);
            let levels = match (is_given, self.is_crossed) {
                (true, _) => format!("; from {best} to {worst}"),
                // Where effects turn round, no level is best by itself.
                (false, true) => String::new(),
                (false, false) => format!("; best {best}, worst {worst}"),
            };
            let levels = match swing.bound {
                Some(_) => levels,
                None => format!("{levels}; of the levels that could be compared"),
            };
            let interval = interval(&swing.contrast);
            let sure = if is_named { String::new() } else { format!("{} interval ", percent(view.confidence)) };
            let and = if share.is_some() { "and " } else { "" };
            let by = size(swing.contrast.ratio());
            format!("{and}{SWINGS}{what} by {by} ({sure}{interval}{levels})")
        });
        let words: Vec<String> = share.into_iter().chain(swing).collect();
        (!words.is_empty()).then(|| format!("{} {}.", capital(&self.name), words.join(" ")))
    }
}

fn is_condition(path: &str, part: &Part) -> bool {
    part.choice.as_ref().is_some_and(|choice| choice.conditions.iter().any(|condition| condition == path))
}

/// Whether the effect of this factor has both signs, each for certain.
fn turns_round(found: &Interaction, path: &str) -> bool {
    found.factors.iter().zip(found.crossing).any(|(factor, crossing)| crossing && factor == path)
}

/// "46.0 %", or "a factor of 10.6".
fn size(swing: f64) -> String {
    if swing < FOLD_FROM { percent(swing - 1.0) } else { format!("a factor of {}", ratio_number(swing)) }
}

/// "41.0–52.0 %", in the unit of [`size`].
fn interval(contrast: &Contrast) -> String {
    let (low, high) = (contrast.ratio_low(), contrast.ratio_high());
    if contrast.ratio() < FOLD_FROM {
        return format!("{}–{}", percent(low - 1.0).trim_end_matches(" %"), percent(high - 1.0));
    }
    ratio_ends((low, high), ratio_number).join("–")
}

/// Pairs of factors of which one changes what the other does, by more than noise.
pub fn interplay(part: &Part, view: &View) -> Vec<String> {
    part.judgement.interactions.iter().map(|found| interplay_sentence(found, part, view)).collect()
}

fn interplay_sentence(found: &Interaction, part: &Part, view: &View) -> String {
    // The effect that is told is that of a choice, and one that turns round.
    let given = found.factors.each_ref().map(|factor| is_condition(factor, part));
    let told = usize::from((!given[1], found.crossing[1]) > (!given[0], found.crossing[0]));
    let (own, other) = (&found.levels[told], &found.levels[1 - told]);
    let name = |factor: usize, level: &str| with_factor(&found.factors[factor], level);
    let [first, second] = found.simple[told].map(|contrast| ratio(contrast.ratio()));
    let names = found.factors.each_ref().map(|factor| short_factor(factor));
    let is_crossing = found.crossing[told];
    let (verb, end) = match (is_crossing, given[told], given[1 - told]) {
        (false, ..) => ("interact", String::new()),
        (true, true, _) => ("cross", String::new()),
        (true, false, true) => ("cross", format!(": pick by {}", names[1 - told])),
        (true, false, false) => ("cross", ": pick a combination, not each level by itself".into()),
    };
    let over = if part.judgement.factor_paths.len() > 2 { ", averaged over the rest" } else { "" };
    let subject = capital(&and_list(&names));
    let interval = ratio_ends((found.contrast.ratio_low(), found.contrast.ratio_high()), ratio_number).join("–");
    format!(
        "{subject} {verb}: {} is {first} {} with {}, but {second} with {}{over}; the one ratio is {} the other \
         ({} interval {interval}){end}.",
        name(told, &own[0]),
        own[1],
        name(1 - told, &other[0]),
        name(1 - told, &other[1]),
        ratio(found.contrast.ratio()),
        percent(view.confidence),
    )
}
