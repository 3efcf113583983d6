//! How far a study's screen is, by which factors are chosen that are studied on.

use ledger::model::{Contents, Phase, Session, TrialState};

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
    /// Whether all of it was measured and nothing could be decided, though no trial failed: a scenario stalled.
    pub has_stalled: bool,
}

impl Progress {
    /// None of a study without a screen.
    pub fn of(contents: &Contents) -> Option<Progress> {
        let trials: Vec<_> =
            contents.counted_trials().into_iter().filter(|trial| trial.phase == Phase::Screen).collect();
        let of = contents.study.analysis.screen_rounds;
        let rounds = trials.iter().map(|trial| trial.round + 1).max().unwrap_or(0);
        let failed = trials.iter().filter(|trial| trial.state == TrialState::Failed).count();
        let is_complete = contents.scenarios.iter().any(|scenario| contents.screened(&scenario.workload).is_some());
        let has_ended = contents.last_of_rounds().is_some_and(Session::ended_its_rounds);
        let has_stalled = has_ended && !is_complete && rounds == of && failed == 0;
        (of > 0).then_some(Progress { rounds, of, failed, is_complete, has_stalled })
    }
}
