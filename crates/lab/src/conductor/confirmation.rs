//! The third phase: new rounds of pick, runner-up and baseline, once the main rounds have their answer.

use super::event::{Cut, Stop};
use super::rounds::rules;
use super::session::Session;
use ledger::model::{Decision, Phase};

/// Confirms, where the study asks for it and there is something to confirm; the main rounds ended for this reason.
pub(super) fn conduct(session: &mut Session, stop: Stop) -> Result<(), Cut> {
    let rounds = session.plan.design.confirmation_rounds();
    let last = session.values.rounds.len().checked_sub(1).and_then(|last| u32::try_from(last).ok());
    let (Some(last), false) = (last, rounds == 0 || stop == Stop::NothingLeft) else { return Ok(()) };
    if session.tune.closed_after().is_none() {
        if session.exceeds_budget(session.seconds_of(session.tune.confirmed_max())) {
            return Ok(());
        }
        let standings = session.standings()?;
        let finalists = session.tune.finalists(last, &session.values, &standings, &rules(session.plan));
        session.writer.decide(&finalists.into_iter().map(Decision::Confirm).collect::<Vec<_>>())?;
    }
    let confirmed = session.tune.confirmed();
    let wanted: Vec<bool> = (0..session.plan.scenarios.len()).map(|index| confirmed.contains(&index)).collect();
    for round in 0..rounds {
        if session.is_open((Phase::Confirmation, round), &wanted)
            && session.exceeds_budget(session.seconds_of(confirmed.len()))
        {
            return Err(Cut::Stop(Stop::TimeBudget));
        }
        session.round((Phase::Confirmation, round), &wanted)?;
    }
    Ok(())
}
