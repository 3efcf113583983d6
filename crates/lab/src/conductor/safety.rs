//! The last phase: what a power cut takes from each scenario, once, on its own bench, when the study asks for it.

use super::event::{Ended, Error, Event, Stop};
use super::session::Session;
use crate::bench::{self, Bench, End, guest};
use crash::plan::{Plan, PlannedScenario};
use crash::safety::{Measurement, spec, why_not};
use ledger::model::MeasuredSafety;
use observe::record::{Failure, Record};
use std::sync::atomic::{AtomicBool, Ordering};

/// Measures every scenario of which that is not known yet. The study would stop for this reason: gives why it does.
pub(super) fn conduct(session: &mut Session, stop: Stop) -> Result<Stop, Error> {
    let plan = session.plan;
    let Some(settings) = plan.safety.as_ref().filter(|_| stop != Stop::Interrupted) else { return Ok(stop) };
    let asked = serde_json::to_value(settings).expect("settings are plain data");
    let known = session.writer.reader()?.contents_with(&[])?.safety;
    let again = session.done.retry_failed();
    let is_known = |label: &str| {
        // The last word counts.
        let last = known.iter().rfind(|one| one.scenario == label && one.asked == asked);
        last.is_some_and(|one| one.safety.is_some() || !again)
    };
    let is_open = |scenario: &&PlannedScenario| !scenario.control && !is_known(&scenario.label);
    let open: Vec<&PlannedScenario> = plan.scenarios.iter().filter(is_open).collect();
    for (index, scenario) in open.iter().enumerate() {
        if session.interrupted.load(Ordering::Relaxed) {
            return Ok(Stop::Interrupted);
        }
        (session.watch)(Event::SafetyStarted { number: index + 1, total: open.len(), scenario: &scenario.label });
        let watch = &mut *session.watch;
        let begun = session.bench.now();
        let mut watch = |record: &Record| watch(Event::Record(record));
        let ended = measure(plan, scenario, settings, session.bench, session.interrupted, &mut watch)?;
        let now = session.bench.now();
        if !matches!(ended, Ended::Interrupted) {
            (session.watch)(Event::SafetyEnded { scenario: &scenario.label, ended: &ended, seconds: now - begun });
        }
        let (safety, failure) = match ended {
            Ended::Measured(safety) => (Some(*safety), None),
            Ended::Not(reason) => (None, Some(reason)),
            Ended::Interrupted => return Ok(Stop::Interrupted),
        };
        let (scenario, asked) = (scenario.label.clone(), asked.clone());
        let measured = MeasuredSafety { scenario, ended: now, asked, safety, failure };
        session.writer.safety(&measured)?;
    }
    let has_all = stop != Stop::SafetyKnown || all_have_safety(session)?;
    Ok(if has_all { stop } else { Stop::SafetyHoles })
}

/// Whether it is measured of every scenario what a power cut takes.
fn all_have_safety(session: &Session) -> Result<bool, Error> {
    let contents = session.writer.reader()?.contents_with(&[])?;
    let has = |one: &ledger::model::Scenario| contents.safety_of(one).is_some_and(|found| found.safety.is_some());
    Ok(contents.scenarios.iter().filter(|one| !one.control).all(has))
}

/// Measures one scenario.
fn measure(
    plan: &Plan,
    scenario: &PlannedScenario,
    settings: &study::Safety,
    bench: &mut dyn Bench,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(&Record),
) -> Result<Ended, bench::Error> {
    let not = |cause: String| Ended::Not(Failure { step: "power cut".into(), causes: vec![cause], log: String::new() });
    if let Some(reason) = why_not(scenario, settings) {
        return Ok(not(reason));
    }
    let mut measurement = Measurement::default();
    let end = bench.run(&spec(plan, scenario, settings), interrupted, &mut |record| {
        watch(&record);
        measurement.take(record);
    })?;
    // What a search that was cut short has seen is not what it was asked for.
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Ended::Interrupted);
    }
    Ok(match end {
        End::Finished => {
            measurement.finished().map_or_else(|| not("the trial ended without a result".into()), Ended::Measured)
        }
        End::Failed(failure) => {
            let killed = guest::panic_of(&failure).and_then(|why| measurement.killed(why));
            killed.map_or(Ended::Not(failure), Ended::Measured)
        }
        End::Interrupted => Ended::Interrupted,
    })
}
