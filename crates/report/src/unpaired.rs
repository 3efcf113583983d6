//! Figures of one result held against those of another, which have no round in common: Welch's test on logarithms (F12), corrected
//! over all that are asked at once, and the verdicts of a study's own claims (F6). Intervals are each one's own.

use crate::input::Input;
use crate::judge::{ROUNDS_FOR_CLAIMS, rules};
use crate::number::{percent, ratio_precise};
use crate::view::{Part, Row};
use serde_json::{Value, json};
use stats::Verdict;

/// A figure's values on both sides.
pub struct Sides {
    /// Of the earlier result, which is compared with.
    pub earlier: Vec<f64>,
    /// Of the later.
    pub later: Vec<f64>,
    /// Whether more of it is better.
    pub more_is_better: bool,
}

impl Sides {
    /// Whether all of it can be held against each other as a ratio.
    #[must_use]
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
    alpha: f64,
}

impl Level {
    /// The later study's, at the stricter level of both.
    #[must_use]
    pub fn of(earlier: &Input, later: &Input) -> Level {
        let [a, b] = [earlier, later].map(|input| rules(&input.contents.study.analysis));
        Level { confidence: b.confidence, margin: b.margin, alpha: a.alpha().min(b.alpha()) }
    }

    /// One change for each of `sides`, as one family; none where nothing tells chance: too few values, none varies, or one is 0.
    #[must_use]
    pub fn changes(&self, sides: &[&Sides], correct: fn(&[f64]) -> Vec<f64>) -> Vec<Option<Change>> {
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let test = |sides: &Sides| {
            let [later, earlier] = [&sides.later, &sides.earlier].map(|values| logarithms(values));
            sides.have_logarithms().then(|| stats::welch(&later, &earlier, self.confidence)).flatten()
        };
        let is_enough = |sides: &Sides| sides.earlier.len().min(sides.later.len()) >= ROUNDS_FOR_CLAIMS;
        let tests: Vec<_> = sides.iter().map(|sides| (*sides, test(sides))).collect();
        let judged = tests.iter().filter(|(sides, _)| is_enough(sides));
        let p: Vec<f64> = judged.filter_map(|(_, test)| Some(test.as_ref()?.p)).collect();
        let mut corrected = correct(&p).into_iter();
        let change = |(sides, test): (&Sides, Option<stats::compare::Unpaired>)| {
            let test = test?;
            let p = if is_enough(sides) { corrected.next() } else { None };
            let verdict = |p| test.verdict(p, self.alpha, self.margin, sides.more_is_better);
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
    #[must_use]
    pub fn is_shown(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Faster | Verdict::Slower))
    }

    /// The ratio and its interval.
    #[must_use]
    pub fn figures(&self) -> String {
        format!("{} {}", ratio_precise(self.ratio), self.interval())
    }

    /// The ratio's interval.
    #[must_use]
    pub fn interval(&self) -> String {
        format!("[{}, {}]", ratio_precise(self.low), ratio_precise(self.high))
    }

    /// With all digits.
    #[must_use]
    pub fn json(&self) -> Value {
        let Change { ratio, low, high, p, verdict, is_better } = self;
        json!({
            "ratio": ratio, "low": low, "high": high, "p_corrected": p, "verdict": verdict, "flagged": self.is_shown(),
            "better": is_better,
        })
    }

    /// In a word or three.
    #[must_use]
    pub fn words(&self, margin: f64) -> String {
        match self.verdict {
            None => format!("fewer than {ROUNDS_FOR_CLAIMS} rounds"),
            Some(Verdict::Faster) => "better".into(),
            Some(Verdict::Slower) => "worse".into(),
            Some(Verdict::Equivalent) => format!("the same within {}", percent(margin)),
            Some(verdict) => verdict.words().into(),
        }
    }
}

/// Workloads that both measured in the same metric, the first one's first.
#[must_use]
pub fn parts<'a>(a: &'a Input, b: &'a Input) -> Vec<(&'a Part, &'a Part)> {
    let of_a = a.view().parts.iter();
    of_a.filter_map(|part| b.view().parts.iter().find(|other| is_same_figure(part, other)).map(|other| (part, other)))
        .collect()
}

/// Whether two parts have the same workload and primary metric.
#[must_use]
pub fn is_same_figure(a: &Part, b: &Part) -> bool {
    a.workload == b.workload && a.metric.name == b.metric.name
}

/// Scenarios that both measured; a control says nothing of its own.
#[must_use]
pub fn scenarios<'a>(a: &'a Part, b: &'a Part) -> Vec<(&'a Row, &'a Row)> {
    let other = |row: &Row| b.measured().find(|other| other.label == row.label);
    a.measured().filter(|row| !row.control).filter_map(|row| Some((row, other(row)?))).collect()
}

/// The primary figures of a scenario in both.
#[must_use]
pub fn primary((part, earlier, later): (&Part, &Row, &Row)) -> Sides {
    let values = |row: &Row| row.values.iter().flatten().copied().collect();
    Sides { earlier: values(earlier), later: values(later), more_is_better: part.more_is_better }
}
