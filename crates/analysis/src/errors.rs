//! What went wrong in a scenario's measured runs: how much of what was asked for, and of which kind.
//!
//! The conductor asks it, too.

use crate::counting::finished;
use ledger::model::{Contents, Phase, RunRow, Trial};
use stats::Counted;
use std::collections::BTreeMap;

/// The metrics by which scenarios are told apart; the kinds are [`KIND`] and a name.
pub const METRICS: &[&str] = &[ASKED, ERRORS, REQUESTS];

/// What goes wrong less often than this stands beside the speed, and is no reason to warn of it.
pub const WRONG_SHARE_MIN: f64 = 0.01;

/// How much was asked for. Files without it are of versions that counted wrong answers as answers.
const ASKED: &str = "asked";
/// How much of it went wrong.
const ERRORS: &str = "errors";
/// What was asked for in such files.
const REQUESTS: &str = "requests";
/// How a kind's metric begins.
const KIND: &str = "errors_";

/// A scenario's errors, over all its counted trials but a screen's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Errors {
    /// What was asked for: requests, transactions.
    pub asked: f64,
    /// What of it went wrong.
    pub wrong: f64,
    /// By kind, those of which there was any: `wrong_status`, the most first.
    pub kinds: Vec<(String, f64)>,
    /// Whether speed and latencies count wrong answers, too, as versions before this rule had it.
    pub is_in_figures: bool,
    /// The same by phase and round.
    pub rounds: BTreeMap<(Phase, u32), Counted>,
}

impl Errors {
    /// The share of what was asked for.
    pub fn share(&self) -> f64 {
        if self.asked > 0.0 { self.wrong / self.asked } else { 0.0 }
    }

    /// In the rounds that both were measured in, in their order.
    pub fn beside(&self, other: &Errors) -> Vec<[Counted; 2]> {
        let both = self.rounds.iter().filter_map(|(round, own)| Some([*own, *other.rounds.get(round)?]));
        both.collect()
    }

    fn add(&mut self, trial: &Trial, run: &RunRow) {
        let value = |name: &str| run.metrics.get(name).copied();
        let Some(wrong) = value(ERRORS) else { return };
        let asked = value(ASKED).or_else(|| value(REQUESTS)).unwrap_or(0.0);
        let round = self.rounds.entry((trial.phase, trial.round)).or_default();
        for (sum, count) in
            [(&mut self.asked, asked), (&mut self.wrong, wrong), (&mut round.asked, asked), (&mut round.wrong, wrong)]
        {
            *sum += count;
        }
        self.is_in_figures |= wrong > 0.0 && value(ASKED).is_none();
        for (name, count) in &run.metrics {
            let Some(kind) = name.strip_prefix(KIND).filter(|_| *count > 0.0) else { continue };
            match self.kinds.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => *sum += count,
                None => self.kinds.push((kind.into(), *count)),
            }
        }
    }
}

/// By scenario, of those whose load counts errors. Kinds are known where the metrics of the kinds were read.
pub fn errors(contents: &Contents) -> BTreeMap<String, Errors> {
    let trials = finished(contents);
    let mut errors: BTreeMap<String, Errors> = BTreeMap::new();
    for run in contents.runs.iter().filter(|run| !run.warm_up && run.metrics.contains_key(ERRORS)) {
        if let Some(trial) = trials.get(&run.trial) {
            errors.entry(trial.scenario.clone()).or_default().add(trial, run);
        }
    }
    errors.values_mut().for_each(|errors| errors.kinds.sort_by(|a, b| b.1.total_cmp(&a.1)));
    errors
}
