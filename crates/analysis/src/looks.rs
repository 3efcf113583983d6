//! How often a study was answered: who adds rounds after an answer looks again, and may be lucky each time. So may who looks after each round, and
//! breaks off where a difference is shown.

use crate::judge::ROUNDS_FOR_CLAIMS;
use ledger::model::{Contents, Phase, Session, Trial};
use stats::eliminate::{FIRST_LOOK, Looks};
use std::collections::BTreeSet;

/// An answer, by what it says of how its claims are held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Which it is: 1, and one more for each answer that was told before.
    pub number: u32,
    /// The part of its level that it has: all of it once its rounds have ended.
    pub share: f64,
}

impl Answer {
    /// Of a phase's rounds. While no rule has ended them it has a share of the level, so that all looks at them together have the whole.
    pub fn of(contents: &Contents, phase: Phase) -> Answer {
        let settings = &contents.study.analysis;
        let rounds_max = if phase == Phase::Confirmation { settings.confirmation_rounds } else { settings.rounds_max };
        let is_over = have_ended(contents, phase);
        let share = if is_over { 1.0 } else { share(rounds_by(&trials(contents, phase), f64::INFINITY), rounds_max) };
        Answer { number: looks(contents, phase), share }
    }
}

/// The part of a level that the look after so many rounds, of at most so many, has.
pub fn share(rounds: u32, rounds_max: u32) -> f64 {
    Looks { alpha: 1.0, rounds_max, candidates: 2 }.share(rounds.max(FIRST_LOOK))
}

/// Which answer this is of a phase's rounds: 1, and one more for each answer that was told before the last trial of them began. Two answers over
/// the same trials are one.
pub fn looks(contents: &Contents, phase: Phase) -> u32 {
    let trials = trials(contents, phase);
    let begun_by = |moment: f64| trials.iter().filter(|trial| trial.started <= moment).count();
    let answered = contents.sessions.iter().filter_map(|session| {
        let ended = session.ended.filter(|_| session.reason.is_some())?;
        // One that no rule ended claims something where there were rounds enough.
        let is_answer = session.ended_its_rounds() || rounds_by(&trials, ended) >= ROUNDS_FOR_CLAIMS as u32;
        let begun = begun_by(ended);
        (is_answer && (1..trials.len()).contains(&begun)).then_some(begun)
    });
    1 + answered.collect::<BTreeSet<_>>().len() as u32
}

fn trials(contents: &Contents, phase: Phase) -> Vec<&Trial> {
    contents.trials.iter().filter(|trial| trial.phase == phase).collect()
}

/// In how many rounds a trial had ended by then.
fn rounds_by(trials: &[&Trial], moment: f64) -> u32 {
    let ended = trials.iter().filter(|trial| trial.ended.is_some_and(|ended| ended <= moment));
    ended.map(|trial| trial.round).collect::<BTreeSet<_>>().len() as u32
}

/// Whether a rule ended a phase's rounds. Else they go on, or somebody who may have looked at them broke them off.
fn have_ended(contents: &Contents, phase: Phase) -> bool {
    if contents.last_of_rounds().is_none_or(Session::ended_its_rounds) {
        return true;
    }
    // What comes after the rounds may be under way: new rounds, then power cuts and failing disks.
    let is_closed = phase == Phase::Main && contents.is_closed();
    let by_rule =
        contents.sessions.iter().filter(|session| session.ended_its_rounds()).filter_map(|session| session.ended);
    let safety = contents.safety.iter().map(|measured| measured.ended);
    let faults = contents.faults.iter().map(|measured| measured.ended);
    // What was asked for by itself says nothing of the rounds before it.
    let alone: Vec<&Session> = contents.sessions.iter().filter(|session| !contents.is_of_rounds(session)).collect();
    let behind = safety.chain(faults).filter(|moment| !alone.iter().any(|session| session.is_within(*moment)));
    let trials = trials(contents, phase);
    let is_after_all = |moment: f64| trials.iter().all(|trial| trial.started <= moment);
    is_closed || by_rule.chain(behind).any(is_after_all)
}
