//! How far a study's screen is, by which factors are chosen that are studied on.

use ledger::model::{Contents, Phase, TrialState};

/// How far a study's screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rounds that were begun.
    pub rounds: u32,
    /// Rounds that it has.
    pub of: u32,
    /// Its trials that failed.
    pub failed: usize,
    /// Whether it was decided what is studied on.
    pub is_complete: bool,
}

impl Progress {
    /// None of a study without a screen.
    pub fn of(contents: &Contents) -> Option<Progress> {
        let trials: Vec<_> =
            contents.counted_trials().into_iter().filter(|trial| trial.phase == Phase::Screen).collect();
        let of = contents.study.analysis.screen_rounds;
        (of > 0).then(|| Progress {
            rounds: trials.iter().map(|trial| trial.round + 1).max().unwrap_or(0),
            of,
            failed: trials.iter().filter(|trial| trial.state == TrialState::Failed).count(),
            is_complete: contents.scenarios.iter().any(|scenario| contents.screened(&scenario.workload).is_some()),
        })
    }
}
