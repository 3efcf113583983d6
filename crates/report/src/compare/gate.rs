//! What worked in the first result and does not in the second: what has no ratio, or whose ratio says nothing of it.

use super::{Line, Workload};
use crate::number::percent;
use analysis::errors::{Errors, WRONG_SHARE_MIN};
use analysis::failures::Failing;
use analysis::judge::ROUNDS_FOR_CLAIMS;
use stats::Counted;
use stats::shares::is_larger;

impl Workload {
    /// A sentence each. More errors are shown by one-sided tests at `level`.
    pub(super) fn broken(&self, sessions: usize, level: f64) -> impl Iterator<Item = String> {
        // Of several sessions one that has a single round may have lost it by an accident.
        let is_worse = |label: &String| self.failing.get(label).is_some_and(|found| found.is_worse());
        let failed = self.failed.iter().filter(move |(label, count)| **count == sessions || is_worse(label));
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
