//! Which trials and runs count.

use ledger::model::{Contents, Phase, RunRow, Scenario, Trial, TrialState};
use std::collections::BTreeMap;

/// The trials that count, by id, and their measured runs (no warm-ups).
pub struct Counting<'a> {
    /// The last attempt of each (scenario, round), when it finished.
    pub trials: BTreeMap<i64, &'a Trial>,
    /// Their measured runs.
    pub runs: BTreeMap<i64, Vec<&'a RunRow>>,
    /// Their last warm-ups, where they had any.
    pub warm_ups: BTreeMap<i64, &'a RunRow>,
    /// Last attempts that failed.
    pub failed: Vec<&'a Trial>,
}

impl<'a> Counting<'a> {
    /// How many of a scenario's trials failed, those of a screen left out.
    pub fn failed_of(&self, scenario: &str) -> usize {
        let of_scenario = |trial: &&&Trial| trial.scenario == scenario && trial.phase != Phase::Screen;
        self.failed.iter().filter(of_scenario).count()
    }

    /// Sorts a ledger's trials.
    pub fn of(contents: &'a Contents) -> Counting<'a> {
        let counted = contents.counted_trials();
        let (failed, finished): (Vec<&Trial>, Vec<&Trial>) =
            counted.into_iter().partition(|trial| trial.state == TrialState::Failed);
        // What a screen measured says which factors matter, and nothing else.
        let finished: Vec<&Trial> = finished.into_iter().filter(|trial| trial.phase != Phase::Screen).collect();
        let trials: BTreeMap<i64, &Trial> = finished.into_iter().map(|trial| (trial.id, trial)).collect();
        let mut runs: BTreeMap<i64, Vec<&RunRow>> = BTreeMap::new();
        let (warm_ups, measured): (Vec<&RunRow>, Vec<&RunRow>) =
            contents.runs.iter().filter(|run| trials.contains_key(&run.trial)).partition(|run| run.warm_up);
        for run in measured {
            runs.entry(run.trial).or_default().push(run);
        }
        let warm_ups = warm_ups.into_iter().map(|run| (run.trial, run)).collect();
        Counting { trials, runs, warm_ups, failed }
    }

    /// The measured run of a scenario whose `metric` is the median of its runs, the lower one of two.
    pub fn median_run(&self, scenario: &Scenario, metric: &str) -> Option<(&'a Trial, &'a RunRow)> {
        let of_scenario = self.trials.values().filter(|trial| trial.scenario == scenario.label);
        let value = |run: &RunRow| run.metrics.get(metric).copied().unwrap_or(f64::NAN);
        let mut runs: Vec<(&Trial, &RunRow)> = of_scenario
            .flat_map(|trial| self.runs.get(&trial.id).into_iter().flatten().map(|run| (*trial, *run)))
            .filter(|(_, run)| value(run).is_finite())
            .collect();
        runs.sort_by(|a, b| value(a.1).total_cmp(&value(b.1)));
        runs.get(runs.len().saturating_sub(1) / 2).copied()
    }
}
