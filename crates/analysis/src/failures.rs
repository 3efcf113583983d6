//! In how many main rounds a scenario failed: what runs out of memory where the load is heaviest has figures of the other rounds only.
//!
//! The conductor asks it, too.

use ledger::model::{Contents, Phase, TrialState};
use std::collections::BTreeMap;

/// By scenario, of those that failed in any. Who was given up, having failed twice in a row, counts as failed from then on.
pub fn failed_rounds(contents: &Contents) -> BTreeMap<String, usize> {
    // Whether each round of a scenario has a figure: of several groups' trials of it one is enough.
    let mut all: BTreeMap<&str, BTreeMap<u32, bool>> = BTreeMap::new();
    let trials = contents.counted_trials().into_iter().filter(|trial| trial.phase == Phase::Main);
    for trial in trials {
        let is_whole = all.entry(&trial.scenario).or_default().entry(trial.round).or_default();
        *is_whole |= trial.state == TrialState::Finished;
    }
    let last = all.values().filter_map(|rounds| rounds.keys().next_back().copied()).max().unwrap_or(0);
    let count = |rounds: &BTreeMap<u32, bool>| {
        let failed = rounds.values().filter(|is_whole| !**is_whole).count();
        let is_given_up = rounds.len() > 1 && rounds.values().rev().take(2).all(|is_whole| !is_whole);
        let own = rounds.keys().next_back().copied().unwrap_or(last);
        failed + if is_given_up { (last - own) as usize } else { 0 }
    };
    all.iter().map(|(label, rounds)| ((*label).to_string(), count(rounds))).filter(|(_, failed)| *failed > 0).collect()
}
