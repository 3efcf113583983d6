//! Figures of one result held against those of another, which have no round in common: Welch's test on logarithms (F12), corrected
//! over all that are asked at once, and the verdicts of a study's own claims (F6). Intervals are each one's own.

use crate::judge::{ROUNDS_FOR_CLAIMS, rules};
use crate::looks::Answer;
use crate::row::Row;
use crate::view::{Part, View};
use ledger::model::{Contents, Phase};
use stats::{Held, Verdict};

/// A figure's values on both sides.
pub struct Sides {
    /// Of the earlier result, which is compared with.
    pub earlier: Vec<f64>,
    /// Of the later.
    pub later: Vec<f64>,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Whether they are sessions of two sides that took turns, one value a session; else they are the rounds of one session a side.
    pub are_sessions: bool,
}

impl Sides {
    /// Whether all of it can be held against each other as a ratio.
    pub fn have_logarithms(&self) -> bool {
        self.earlier.iter().chain(&self.later).all(|value| *value > 0.0)
    }
}

/// The mean in the later result by that in the earlier one.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// Later over earlier.
    pub ratio: f64,
    /// Lower end of its interval, which is not corrected.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p, corrected; none where a side has too few rounds for a verdict.
    pub p: Option<f64>,
    /// The verdict on the later; none from too few rounds.
    pub verdict: Option<Verdict>,
    /// Whether the later is better by any amount.
    pub is_better: bool,
}

/// What differences between two results are held to.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Two-sided confidence of intervals.
    pub confidence: f64,
    /// Differences below this fraction are negligible.
    pub margin: f64,
    /// Level of a family of claims.
    pub alpha: f64,
}

impl Level {
    /// The last study's, at the strictest level of all.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Contents>) -> Option<Level> {
        let levels = all.into_iter().map(|contents| {
            // Of several sessions one that was broken off is a value like the others: what a study's own answer has of its level is not asked.
            let answer = Answer { share: 1.0, ..Answer::of(contents, Phase::Main) };
            let rules = rules(&contents.study.analysis, answer);
            Level { confidence: rules.confidence, margin: rules.margin, alpha: rules.alpha() }
        });
        levels.reduce(|earlier, later| Level { alpha: earlier.alpha.min(later.alpha), ..later })
    }

    /// One change for each of `sides`, as one family; none where nothing tells chance: too few values, or one is 0.
    pub fn changes(&self, sides: &[&Sides], correct: fn(&[f64]) -> Vec<f64>) -> Vec<Option<Change>> {
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let test = |sides: &Sides| {
            let [later, earlier] = [&sides.later, &sides.earlier].map(|values| logarithms(values));
            let test = if sides.are_sessions { stats::paired } else { stats::welch };
            sides.have_logarithms().then(|| test(&later, &earlier, self.confidence)).flatten()
        };
        let is_enough = |sides: &Sides| sides.earlier.len().min(sides.later.len()) >= ROUNDS_FOR_CLAIMS;
        let tests: Vec<_> = sides.iter().map(|sides| (*sides, test(sides))).collect();
        let judged = tests.iter().filter(|(sides, _)| is_enough(sides));
        let p: Vec<f64> = judged.filter_map(|(_, test)| Some(test.as_ref()?.p)).collect();
        let family = p.len();
        let mut corrected = correct(&p).into_iter();
        let change = |(sides, test): (&Sides, Option<stats::compare::Difference>)| {
            let test = test?;
            let p = if is_enough(sides) { corrected.next() } else { None };
            let held = Held { alpha: self.alpha, family, margin: self.margin, more_is_better: sides.more_is_better };
            let verdict = |p| test.verdict(p, &held);
            Some(Change {
                ratio: test.difference.exp(),
                low: test.low.exp(),
                high: test.high.exp(),
                p,
                verdict: p.map(verdict),
                is_better: (test.difference > 0.0) == sides.more_is_better,
            })
        };
        tests.into_iter().map(change).collect()
    }
}

impl Change {
    /// Whether a difference was shown that matters.
    pub fn is_shown(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Faster | Verdict::Slower))
    }
}

/// Workloads that both measured in the same metric, the first one's first.
pub fn parts<'a>(a: &'a View, b: &'a View) -> Vec<(&'a Part, &'a Part)> {
    let of_a = a.parts.iter();
    of_a.filter_map(|part| b.parts.iter().find(|other| is_same_figure(part, other)).map(|other| (part, other)))
        .collect()
}

/// Whether two parts have the same workload and primary metric.
pub fn is_same_figure(a: &Part, b: &Part) -> bool {
    a.workload == b.workload && a.metric.name == b.metric.name
}

/// Scenarios that both measured; a control says nothing of its own.
pub fn scenarios<'a>(a: &'a Part, b: &'a Part) -> Vec<(&'a Row, &'a Row)> {
    let other = |row: &Row| b.measured().find(|other| other.label == row.label);
    a.measured().filter(|row| !row.control).filter_map(|row| Some((row, other(row)?))).collect()
}

/// The primary figures of a scenario in both.
pub fn primary((part, earlier, later): (&Part, &Row, &Row)) -> Sides {
    let values = |row: &Row| row.values.iter().flatten().copied().collect();
    Sides { earlier: values(earlier), later: values(later), more_is_better: part.more_is_better, are_sessions: false }
}
