//! What `--fail-on` asks: what is worse by so much, what worked in the first result and does not in the second, which has no ratio, or
//! whose ratio says nothing of it, and what the second one was to measure and did not, or not to the end.

use super::{Comparison, Line, Workload};
use crate::input::Input;
use crate::number::percent;
use analysis::errors::{Errors, WRONG_SHARE_MIN};
use analysis::failures::Failing;
use analysis::judge::ROUNDS_FOR_CLAIMS;
use analysis::unpaired::is_same_figure;
use analysis::view::Part;
use ledger::model::Scenario;
use serde_json::{Value, json};
use stats::Counted;
use stats::shares::is_larger;
use std::collections::BTreeSet;

/// What was asked of a comparison, and what it answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// By which fraction a scenario has to be worse.
    pub slower_by: f64,
    /// Why the sessions are not of two sides; none: they are.
    pub mixed: Option<String>,
    /// What is worse, or does not work any more, a sentence each; none: no primary figure has a verdict.
    pub worse: Option<Vec<String>>,
    /// What the second side was to measure as the first did, and has no figure of, or in too few rounds for a verdict, or what has none for what the first
    /// side has and seems worse, a sentence each.
    pub unmeasured: Vec<String>,
}

impl Gate {
    /// Whether all that was to be measured was, and nothing is worse.
    pub fn is_passed(&self) -> bool {
        self.mixed.is_none() && self.worse.as_ref().is_some_and(Vec::is_empty) && self.unmeasured.is_empty()
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "slower_by": self.slower_by, "is_passed": self.is_passed(), "mixed": self.mixed, "worse": self.worse,
            "unmeasured": self.unmeasured,
        })
    }
}

impl Comparison {
    /// Held to this: nothing may be worse by so large a fraction.
    pub fn gate(&self, slower_by: f64) -> Gate {
        // A scenario whose trials failed is worse, and named as that.
        let has_failed = |(workload, label): &&(String, String)| {
            let mut all = self.workloads.iter().filter(|one| one.name == *workload);
            all.any(|one| one.has_failed(label, self.sessions))
        };
        let unmeasured = self.unmeasured.iter().filter(|one| !has_failed(one));
        let unmeasured = unmeasured.map(|(workload, label)| {
            format!("{workload}: {label} has no figure in B, which was to measure it: whether it is worse is not known")
        });
        let unfinished = self.workloads.iter().flat_map(|workload| workload.unfinished(self.sessions));
        let untold = self.workloads.iter().flat_map(|workload| workload.untold(slower_by));
        let unmeasured = unmeasured.chain(unfinished).chain(untold).collect();
        Gate { slower_by, mixed: self.mixed.clone(), worse: self.worse_by(slower_by), unmeasured }
    }
}

/// What the first side measured, and the second was to measure and has no figure of in any session: workload and scenario.
pub(super) fn unmeasured(pairs: &[[&Input; 2]]) -> BTreeSet<(String, String)> {
    let is_measured = |input: &Input, part: &Part, label: &str| {
        let mut same = input.view().parts.iter().filter(|other| is_same_figure(part, other));
        same.any(|other| other.measured().any(|row| row.label == label))
    };
    let mut found = BTreeSet::new();
    for [a, b] in pairs {
        for part in &a.view().parts {
            let asked = part.measured().filter(|row| !row.control && is_asked(b, part, &row.label));
            let never = asked.filter(|row| !pairs.iter().any(|[_, b]| is_measured(b, part, &row.label)));
            found.extend(never.map(|row| (part.workload.clone(), row.label.clone())));
        }
    }
    found
}

/// Whether a study has this scenario, also where its machine lacked something for it. A study without it leaves it out on purpose.
fn is_asked(input: &Input, part: &Part, label: &str) -> bool {
    let is_it = |scenario: &Scenario| {
        let is_same = scenario.workload == part.workload && *scenario.primary_metric == *part.metric.name;
        is_same && scenario.label == label
    };
    let contents = &input.contents;
    let is_missing =
        || contents.study.asked.iter().flat_map(|asked| &asked.left_out).any(|(missing, _)| missing == label);
    contents.scenarios.iter().any(is_it) || is_missing()
}

impl Workload {
    /// Whether its trials failed in the second wherever the first measured it, or more often than by an accident.
    fn has_failed(&self, label: &str, sessions: usize) -> bool {
        // Of several sessions one that has a single round may have lost it by an accident.
        let is_worse = || self.failing.get(label).is_some_and(|found| found.is_worse());
        self.failed.get(label).is_some_and(|count| *count == sessions || is_worse())
    }

    /// What there is enough of for a verdict in the first, and too little in the second; of sessions what too few pairs have. A sentence each. What
    /// fails or stalls is worse and named as that, or an accident.
    fn unfinished(&self, sessions: usize) -> impl Iterator<Item = String> {
        let few = move |line: &Line| {
            let [in_a, in_b] = [&line.sides.earlier, &line.sides.later].map(Vec::len);
            let (wanted, what) =
                if line.sides.are_sessions { (sessions, "pairs of sessions") } else { (in_a, "rounds in B") };
            let is_few = line.is_primary && wanted >= ROUNDS_FOR_CLAIMS && in_b < ROUNDS_FOR_CLAIMS;
            (is_few && !self.is_named(line)).then_some((in_b, what))
        };
        self.lines.iter().filter_map(move |line| {
            let (count, what) = few(line)?;
            Some(format!(
                "{}: {} has {count} of the {ROUNDS_FOR_CLAIMS} {what} that a verdict takes: whether it is worse is not known",
                self.name, line.label
            ))
        })
    }

    /// Whether it fails or stands still in the second: it is worse and named as that, or that is an accident.
    fn is_named(&self, line: &Line) -> bool {
        let is_failing = || self.failing.get(&line.label).is_some_and(|found| found.is_worse());
        self.failed.contains_key(&line.label) || line.has_stalled() || is_failing()
    }

    /// What has rounds enough in the second and no verdict all the same, for a figure of 0 or for want of rounds in the first, and is worse by this
    /// fraction in what else there is: how often it stands still is looked at by itself. A sentence each.
    fn untold(&self, fraction: f64) -> impl Iterator<Item = String> {
        let is_untold = move |line: &&Line| {
            let has_verdict = line.change.is_some_and(|change| change.verdict.is_some());
            let is_enough = line.sides.later.len() >= ROUNDS_FOR_CLAIMS;
            let is_worse = || line.worse_without_zeros() >= fraction;
            line.is_primary && is_enough && !has_verdict && is_worse() && !self.is_named(line)
        };
        self.lines.iter().filter(is_untold).map(|line| {
            format!(
                "{}: {} has a figure of 0, or too few in A, and no verdict, and by its others it is worse in B: whether it is worse is not known",
                self.name, line.label
            )
        })
    }

    /// A sentence each. More errors are shown by one-sided tests at `level`.
    pub(super) fn broken(&self, sessions: usize, level: f64) -> impl Iterator<Item = String> {
        let failed = self.failed.iter().filter(move |(label, _)| self.has_failed(label, sessions));
        let failed = failed.map(move |(label, count)| {
            let of = if sessions > 1 { format!("{count} of {sessions} sessions of B") } else { "B".into() };
            format!("{}: {label} has no figure in {of}: its trials failed", self.name)
        });
        // Those that are left may be the fast ones.
        let failing =
            self.failing.iter().filter(|(label, found)| found.is_worse() && !self.failed.contains_key(*label));
        let failing = failing.map(|(label, Failing { failed: [of_a, of_b], rounds: [in_a, in_b] })| {
            format!("{}: {label} failed in {of_b} of {in_b} rounds of B, and in {of_a} of {in_a} of A", self.name)
        });
        let stalled = self.lines.iter().filter(|line| line.has_stalled());
        let stalled = stalled.map(|line| format!("{}: {} stalled in B: a trial's figure is 0", self.name, line.label));
        // What refuses at once may be fast.
        let wrong = self.errors.iter().filter(move |(_, blocks)| has_more_errors(blocks, level));
        let wrong = wrong.map(|(label, blocks)| {
            let [a, b] = sum(blocks).map(|side| percent(side.share()));
            format!("{}: {b} of what was asked of {label} went wrong in B, and {a} in A", self.name)
        });
        failed.chain(failing).chain(stalled).chain(wrong)
    }
}

impl Line {
    /// Whether it stands still in the second, where it did not in the first, or more often than there, and by more than an accident.
    fn has_stalled(&self) -> bool {
        let values = [&self.sides.earlier, &self.sides.later];
        let stalls = values.map(|values| values.iter().filter(|value| **value <= 0.0).count());
        let is_new = stalls[0] == 0 && stalls[1] > 0;
        let is_more = || Failing { failed: stalls, rounds: values.map(Vec::len) }.is_worse();
        self.is_primary && self.sides.more_is_better && (is_new || is_more())
    }

    /// By which part of the first the second is worse, by the figures above 0.
    fn worse_without_zeros(&self) -> f64 {
        let mean = |values: &[f64]| {
            let left: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
            (!left.is_empty()).then(|| self.mean(&left))
        };
        match (mean(&self.sides.earlier), mean(&self.sides.later)) {
            (Some(a), Some(b)) if self.sides.more_is_better => 1.0 - b / a,
            (Some(a), Some(b)) => b / a - 1.0,
            (Some(_), None) if self.sides.more_is_better => 1.0,
            // Of a count there is more than none.
            (None, Some(_)) if !self.sides.more_is_better => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        }
    }
}

/// Rounds of both, by turns.
pub(super) fn blocks(a: &Errors, b: &Errors) -> Vec<[Counted; 2]> {
    a.rounds.values().zip(b.rounds.values()).map(|(a, b)| [*a, *b]).collect()
}

/// All together.
pub(super) fn sum(blocks: &[[Counted; 2]]) -> [Counted; 2] {
    let side = |side: usize| Counted {
        asked: blocks.iter().map(|block| block[side].asked).sum(),
        wrong: blocks.iter().map(|block| block[side].wrong).sum(),
    };
    [0, 1].map(side)
}

/// Whether more is shown to go wrong in the second, and so much more that it matters.
fn has_more_errors(blocks: &[[Counted; 2]], level: f64) -> bool {
    let [a, b] = sum(blocks);
    let is_enough = blocks.len() >= ROUNDS_FOR_CLAIMS && b.share() - a.share() >= WRONG_SHARE_MIN;
    let later_first: Vec<[Counted; 2]> = blocks.iter().map(|[a, b]| [*b, *a]).collect();
    is_enough && is_larger(&later_first, level)
}
