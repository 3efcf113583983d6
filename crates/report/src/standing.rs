//! How far a study has come.

use crate::words::counted;
use analysis::elapsed::{of_a_round, seconds_up};
use ledger::model::{Contents, Phase, Session, Trial, TrialState};
use ledger::reasons::NO_IMAGES;
use settings::quantity::format_seconds;

/// How a study stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Trials that finished and count.
    pub finished: usize,
    /// Trials that failed and count.
    pub failed: usize,
    /// Main rounds begun.
    pub rounds: u32,
    /// Rounds of the screen begun.
    pub screen_rounds: u32,
    /// In a few words.
    pub state: &'static str,
    /// Whether a conductor writes it now.
    pub is_running: bool,
    /// Time in which trials that have ended were under way, failed and repeated ones too. Those that take turns are so at the same time.
    pub seconds: f64,
    /// What a main round of all scenarios takes; none where no trial of one has ended.
    pub round_seconds: Option<f64>,
}

impl Standing {
    /// Of a ledger; `is_running`: a conductor writes it now.
    pub fn of(contents: &Contents, is_running: bool) -> Standing {
        let count = |state| contents.counted_trials().iter().filter(|trial| trial.state == state).count();
        let rounds = |phase| {
            let of_phase = contents.trials.iter().filter(|trial| trial.phase == phase);
            of_phase.map(|trial| trial.round + 1).max().unwrap_or(0)
        };
        // What was measured after rounds that were broken off does not end these.
        let broken_off = contents.last_of_rounds().filter(|session| !session.ended_its_rounds());
        let last = broken_off.or(contents.sessions.last());
        // Without its image files it could begin nothing.
        let has_begun = |session: &&Session| session.reason.as_deref().is_some_and(|reason| reason != NO_IMAGES);
        let state = match last.filter(has_begun) {
            _ if is_running => "running",
            None => "cut off; the command that began it goes on",
            Some(session) if session.is_interrupted() => "interrupted; the command that began it goes on",
            Some(_) => "done",
        };
        let spans = contents.trials.iter().filter_map(|trial| Some((trial.started, trial.ended?)));
        Standing {
            finished: count(TrialState::Finished),
            failed: count(TrialState::Failed),
            rounds: rounds(Phase::Main),
            screen_rounds: rounds(Phase::Screen),
            state,
            is_running,
            seconds: seconds_up(spans.collect()),
            round_seconds: of_a_round(contents).map(|round| round.all),
        }
    }

    /// What is done, in a line.
    pub fn words(&self, contents: &Contents) -> String {
        let analysis = &contents.study.analysis;
        let place = if self.rounds == 0 && self.screen_rounds > 0 {
            format!("screen {} of {}", self.screen_rounds, analysis.screen_rounds)
        } else if self.rounds > analysis.rounds_max {
            // Broken off, and then asked for fewer.
            format!("{} begun ({} wanted)", counted(self.rounds.into(), "round"), analysis.rounds_max)
        } else if analysis.rounds_min == analysis.rounds_max {
            format!("round {} of {}", self.rounds, analysis.rounds_max)
        } else {
            format!("round {} of {} to {}", self.rounds, analysis.rounds_min, analysis.rounds_max)
        };
        let finished = counted(self.finished as u64, "trial");
        let scenarios = counted(contents.scenarios.len() as u64, "scenario");
        let (failed, time) = (self.failed, format_seconds(self.seconds));
        format!("{scenarios}, {place}, {finished} finished, {failed} failed, {time} of trials")
    }

    /// The trial under way.
    pub fn under_way<'a>(&self, contents: &'a Contents) -> Option<&'a Trial> {
        contents.trials.last().filter(|trial| self.is_running && trial.state == TrialState::Running)
    }
}
