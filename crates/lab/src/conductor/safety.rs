//! The last phase: what a power cut takes from each scenario and what a failing disk does to it, once, on its own bench, when the study asks
//! for it.

use super::event::{Ended, Error, Event, Stop, What};
use super::session::Session;
use crate::bench::{End, guest};
use crate::screening;
use crash::plan::PlannedScenario;
use crash::safety::{Measurement, spec, spec_of_faults, why_not};
use ledger::model::{MeasuredFaults, MeasuredSafety};
use observe::record::Failure;
use serde_json::Value;
use std::sync::atomic::Ordering;
use study::Safety;

/// Measures both, as far as the study asks for them, of every scenario that is studied and of which that is not known. The study would stop for
/// this reason: gives why it does.
pub(super) fn conduct(session: &mut Session, stop: Stop) -> Result<Stop, Error> {
    // Before a screen is complete nobody knows what is studied.
    let is_wanted = stop != Stop::Interrupted && session.left_out.is_some();
    let Some(settings) = session.plan.safety.as_ref().filter(|_| is_wanted) else { return Ok(stop) };
    let all = [Some(What::PowerCuts), settings.faults.is_some().then_some(What::Faults)];
    for what in all.into_iter().flatten() {
        if measure_all(session, settings, what)? {
            return Ok(Stop::Interrupted);
        }
    }
    Ok(stop)
}

/// Measures one of them, and says whether it is known of every scenario.
pub(super) fn conduct_alone(session: &mut Session, what: What) -> Result<Stop, Error> {
    // Of what a screen left out no report tells.
    session.left_out = Some(screening::left_out(session.plan, &session.done.decisions));
    let settings = session.plan.safety.as_ref().expect("who asks for it alone says how");
    if measure_all(session, settings, what)? {
        return Ok(Stop::Interrupted);
    }
    let known = known(session, what, &asked(settings, what))?;
    let has_all = asked_for(session).iter().all(|one| has_result(&known, &one.label) == Some(true));
    Ok(match (what, has_all) {
        (What::PowerCuts, true) => Stop::SafetyKnown,
        (What::PowerCuts, false) => Stop::SafetyHoles,
        (What::Faults, true) => Stop::FaultsKnown,
        (What::Faults, false) => Stop::FaultsHoles,
    })
}

/// Of every scenario of which it is not known, and that no screen left out. Whether the user interrupted.
fn measure_all(session: &mut Session, settings: &Safety, what: What) -> Result<bool, Error> {
    let asked = asked(settings, what);
    let known = known(session, what, &asked)?;
    let again = session.done.retry_failed;
    let mut open = asked_for(session);
    open.retain(|one| !has_result(&known, &one.label).is_some_and(|has_result| has_result || !again));
    for (index, scenario) in open.iter().enumerate() {
        if session.interrupted.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let (number, total) = (index + 1, open.len());
        (session.watch)(Event::SafetyStarted { what, number, total, scenario: &scenario.label });
        let begun = session.bench.now();
        let ended = measure(session, what, scenario, settings)?;
        let now = session.bench.now();
        if !matches!(ended, Ended::Interrupted) {
            let seconds = now - begun;
            (session.watch)(Event::SafetyEnded { what, scenario: &scenario.label, ended: &ended, seconds });
        }
        if keep(session, what, &scenario.label, &asked, now, ended)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The scenarios that a report tells of: no control, and none that a screen left out.
fn asked_for<'a>(session: &Session<'a>) -> Vec<&'a PlannedScenario> {
    let all = session.plan.scenarios.iter().enumerate();
    all.filter(|(index, one)| !one.control && !session.is_left_out(*index)).map(|(_, one)| one).collect()
}

/// Whether a measurement came to a result, of those of a scenario the last one; none: there is none.
fn has_result(known: &[(String, bool)], label: &str) -> Option<bool> {
    known.iter().rfind(|(scenario, _)| scenario == label).map(|(_, has_result)| *has_result)
}

/// How it is asked, in plain form.
fn asked(settings: &Safety, what: What) -> Value {
    match what {
        What::PowerCuts => serde_json::to_value(settings.of_power_cuts()),
        What::Faults => serde_json::to_value(settings),
    }
    .expect("settings are plain data")
}

/// The scenarios that were measured so, in this order, and whether that came to a result.
fn known(session: &Session, what: What, asked: &Value) -> Result<Vec<(String, bool)>, Error> {
    let contents = session.writer.reader()?.contents_with(&[])?;
    let is_it = |label: &str, then: &Value| contents.asks_the_same(label, then, asked);
    Ok(match what {
        What::PowerCuts => {
            let its = contents.safety.iter().filter(|one| is_it(&one.scenario, &one.asked));
            its.map(|one| (one.scenario.clone(), one.safety.is_some())).collect()
        }
        What::Faults => {
            let its = contents.faults.iter().filter(|one| is_it(&one.scenario, &one.asked));
            its.map(|one| (one.scenario.clone(), one.is_whole())).collect()
        }
    })
}

/// Writes down what came of it. Whether the user interrupted.
fn keep(session: &mut Session, what: What, scenario: &str, asked: &Value, now: f64, end: Ended) -> Result<bool, Error> {
    let (scenario, asked, ended) = (scenario.to_string(), asked.clone(), now);
    let (safety, faults, failure) = match end {
        Ended::Measured(safety) => (Some(*safety), None, None),
        Ended::Faults(faults) => (None, Some(*faults), None),
        Ended::Not(reason) => (None, None, Some(reason)),
        Ended::Interrupted => return Ok(true),
    };
    let (writer, member) = (&mut session.writer, None);
    match what {
        What::PowerCuts => writer.safety(&MeasuredSafety { scenario, ended, asked, safety, failure, member })?,
        What::Faults => writer.faults(&MeasuredFaults { scenario, ended, asked, faults, failure, member })?,
    }
    Ok(false)
}

/// Measures a scenario, as far as that can be done.
fn measure(session: &mut Session, what: What, scenario: &PlannedScenario, settings: &Safety) -> Result<Ended, Error> {
    let step = if what == What::PowerCuts { "power cut" } else { "failing disk" };
    let spec_of = if what == What::PowerCuts { spec } else { spec_of_faults };
    let not = |cause| Ended::Not(Failure { step: step.into(), causes: vec![cause], log: String::new() });
    if let Some(reason) = why_not(scenario, settings) {
        return Ok(not(reason));
    }
    let mut measurement = Measurement::default();
    let watch = &mut *session.watch;
    let end = session.bench.run(&spec_of(session.plan, scenario, settings), session.interrupted, &mut |record| {
        watch(Event::Record(&record));
        measurement.take(record);
    })?;
    // What a search that was cut short has seen is not what it was asked for.
    if session.interrupted.load(Ordering::Relaxed) {
        return Ok(Ended::Interrupted);
    }
    let nothing = || not("the trial ended without a result".into());
    Ok(match (end, what) {
        (End::Finished, What::PowerCuts) => measurement.finished().map_or_else(nothing, Ended::Measured),
        (End::Finished, What::Faults) => measurement.finished_faults().map_or_else(nothing, Ended::Faults),
        (End::Failed(failure), What::PowerCuts) => {
            let found = match guest::panic_of(&failure) {
                Some(why) => measurement.killed(why),
                None => measurement.found_until(&failure.causes.join(": ")),
            };
            found.map_or(Ended::Not(failure), Ended::Measured)
        }
        (End::Failed(failure), What::Faults) => {
            let found = measurement.faults_until(&failure.causes.join(": "), guest::panic_of(&failure).is_some());
            found.map_or(Ended::Not(failure), Ended::Faults)
        }
        (End::Interrupted, _) => Ended::Interrupted,
    })
}
