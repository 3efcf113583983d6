//! In how many rounds a scenario failed: what runs out of memory where the load is heaviest has figures of the other rounds only.
//!
//! The conductor asks it, too.

use crate::parity::ACCIDENTS;
use ledger::model::{Contents, Phase, Trial, TrialState};
use std::collections::BTreeMap;

/// By scenario, of those that failed in any of a phase's rounds. Who was given up, having failed twice in a row, counts as failed from then on:
/// two rounds may be the last main one and the first new one.
pub fn failed_rounds(contents: &Contents, phase: Phase) -> BTreeMap<String, usize> {
    // Whether each round of a scenario has a figure: of several groups' trials of it one is enough.
    let mut all: BTreeMap<&str, BTreeMap<(Phase, u32), bool>> = BTreeMap::new();
    let is_looked_at = |trial: &&Trial| trial.phase != Phase::Screen && trial.phase <= phase;
    for trial in contents.counted_trials().into_iter().filter(is_looked_at) {
        let is_whole = all.entry(&trial.scenario).or_default().entry((trial.phase, trial.round)).or_default();
        *is_whole |= trial.state == TrialState::Finished;
    }
    let begun = |rounds: &BTreeMap<(Phase, u32), bool>| {
        rounds.keys().filter(|(of, _)| *of == phase).map(|(_, round)| *round as usize + 1).max().unwrap_or(0)
    };
    let of_all = all.values().map(begun).max().unwrap_or(0);
    let count = |rounds: &BTreeMap<(Phase, u32), bool>| {
        let failed = rounds.iter().filter(|((of, _), is_whole)| *of == phase && !**is_whole).count();
        let is_given_up = rounds.len() > 1 && rounds.values().rev().take(2).all(|is_whole| !is_whole);
        failed + if is_given_up { of_all - begun(rounds) } else { 0 }
    };
    all.iter().map(|(label, rounds)| ((*label).to_string(), count(rounds))).filter(|(_, failed)| *failed > 0).collect()
}

/// How often a scenario failed in two results, the earlier one first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failing {
    /// Rounds in which it failed, of each.
    pub failed: [usize; 2],
    /// Main rounds of each.
    pub rounds: [usize; 2],
}

impl Failing {
    /// By scenario, of those that are in either result.
    pub fn of(sides: [&Contents; 2]) -> BTreeMap<String, Failing> {
        let mut all: BTreeMap<String, Failing> = BTreeMap::new();
        for (side, contents) in sides.into_iter().enumerate() {
            let failed = failed_rounds(contents, Phase::Main);
            let main = contents.trials.iter().filter(|trial| trial.phase == Phase::Main);
            let rounds = main.map(|trial| trial.round as usize + 1).max().unwrap_or(0);
            for scenario in &contents.scenarios {
                let one = all.entry(scenario.label.clone()).or_default();
                (one.failed[side], one.rounds[side]) = (failed.get(&scenario.label).copied().unwrap_or(0), rounds);
            }
        }
        all
    }

    /// Both of these together.
    pub fn and(self, other: Failing) -> Failing {
        let sum = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
        Failing { failed: sum(self.failed, other.failed), rounds: sum(self.rounds, other.rounds) }
    }

    /// Whether it fails more often in the later result, and by more rounds than an accident takes.
    pub fn is_worse(self) -> bool {
        let ([before, after], [of_before, of_after]) = (self.failed, self.rounds);
        after > before + ACCIDENTS && after * of_before > before * of_after
    }
}
