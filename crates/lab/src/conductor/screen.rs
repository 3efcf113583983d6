//! The first phase: rounds of a part of the scenarios, by which it is found what to study.

use super::event::{Cut, Event, Stop};
use super::session::Session;
use crate::screening;
use crate::tune::Tune;
use ledger::model::{Decision, Phase, Screened};
use study::screen::Screen;

/// Screens what was not screened before, and leaves out what that says.
pub(super) fn conduct(session: &mut Session) -> Result<(), Cut> {
    let plan = session.plan;
    let mut decisions = session.done.decisions.clone();
    let is_decided = |workload: &str| {
        let mut screens = decisions.iter();
        screens.any(|decision| matches!(decision, Decision::Screen(screened) if screened.workload == workload))
    };
    let screens: Vec<&Screen> = plan.screens.iter().filter(|screen| !is_decided(&screen.workload)).collect();
    if !screens.is_empty() {
        let rounds = rounds(session, &screens)?;
        let found = screens.iter().map(|screen| screening::judge(plan, screen, &rounds));
        let found = found.collect::<Option<Vec<Screened>>>().ok_or(Cut::Stop(Stop::ScreenFailed))?;
        found.iter().for_each(|screened| (session.watch)(Event::Screened(screened)));
        let found: Vec<Decision> = found.into_iter().map(Decision::Screen).collect();
        session.writer.decide(&found)?;
        decisions.extend(found);
        // What failed in one phase may do well in the next, and a session that goes on does not walk through the screen again.
        session.failures_in_a_row.fill(0);
    }
    let left_out = screening::left_out(plan, &decisions);
    session.tune = Tune::new(plan, decisions, &left_out);
    session.left_out = Some(left_out);
    Ok(())
}

/// Values of the screens' scenarios, `[round][scenario]`.
fn rounds(session: &mut Session, screens: &[&Screen]) -> Result<Vec<Vec<Option<f64>>>, Cut> {
    let plan = session.plan;
    let wanted: Vec<bool> =
        (0..plan.scenarios.len()).map(|index| screens.iter().any(|screen| screen.scenarios.contains(&index))).collect();
    let count = wanted.iter().filter(|wanted| **wanted).count();
    let of_round = |round: u32| {
        if session.is_open((Phase::Screen, round), &wanted) && session.exceeds_budget(session.seconds_of(count)) {
            return Err(Cut::Stop(Stop::TimeBudget));
        }
        session.round((Phase::Screen, round), &wanted)
    };
    (0..plan.design.screen_rounds).map(of_round).collect()
}
