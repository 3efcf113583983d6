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

/// The trials that count and finished, by id. What a screen measured says which factors matter, and nothing else.
pub fn finished(contents: &Contents) -> BTreeMap<i64, &Trial> {
    let counts = |trial: &&Trial| trial.state == TrialState::Finished && trial.phase != Phase::Screen;
    contents.counted_trials().into_iter().filter(counts).map(|trial| (trial.id, trial)).collect()
}

/// The places of a workload's scenarios in the plan.
pub fn places(contents: &Contents, workload: &str, is_wanted: impl Fn(&Scenario) -> bool) -> Vec<usize> {
    let all = contents.scenarios.iter().enumerate();
    let of_workload = all.filter(|(_, scenario)| scenario.workload == workload && is_wanted(scenario));
    of_workload.map(|(place, _)| place).collect()
}

impl<'a> Counting<'a> {
    /// How many of a scenario's trials failed, those of a screen left out.
    pub fn failed_of(&self, scenario: &str) -> usize {
        let of_scenario = |trial: &&&Trial| trial.scenario == scenario && trial.phase != Phase::Screen;
        self.failed.iter().filter(of_scenario).count()
    }

    /// Sorts a ledger's trials.
    pub fn of(contents: &'a Contents) -> Counting<'a> {
        let has_failed = |trial: &&Trial| trial.state == TrialState::Failed;
        let failed = contents.counted_trials().into_iter().filter(has_failed).collect();
        let trials = finished(contents);
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
        let all =
            of_scenario.flat_map(|trial| self.runs.get(&trial.id).into_iter().flatten().map(|run| (*trial, *run)));
        let mut runs: Vec<(&Trial, &RunRow)> = all.filter(|(_, run)| value(run).is_finite()).collect();
        runs.sort_by(|a, b| value(a.1).total_cmp(&value(b.1)));
        runs.get(runs.len().saturating_sub(1) / 2).copied()
    }
}
