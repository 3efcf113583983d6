//! The conductor: the only one that decides (order, repeats, stop) and the only one that writes the ledger.
//!
//! Driven by `surefoot run`; drives a bench. A study has four phases, a file each, which share a session; each ends, or is cut off. Looks at
//! widths at round ends, never at p, to know when it is enough.

mod confirmation;
mod event;
mod rounds;
mod safety;
mod screen;
mod session;
mod turns;

pub use event::{Ended, Error, Event, Stop, What};

use crate::bench::Bench;
use crate::resume::Opened;
use crash::plan::Plan;
use event::Cut;
use ledger::reasons::INTERRUPTED_BEHIND_ROUNDS;
use session::Session;
use std::sync::atomic::AtomicBool;

/// How the study stands when the conductor returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Why it stopped.
    pub stop: Stop,
    /// Trials that failed, over all sessions.
    pub failed: usize,
}

/// Runs what is left of a study.
///
/// # Errors
/// When a trial can't be started or recorded; a trial that fails is part of the answer.
pub fn conduct(
    plan: &Plan,
    opened: Opened,
    bench: &mut dyn Bench,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Summary, Error> {
    let mut session = Session::new(plan, opened, bench, interrupted, watch);
    let answered = answer(&mut session);
    end(session, answered)
}

/// Measures only what a power cut takes, or what a failing disk does, of each scenario of which that is not known yet.
///
/// # Errors
/// As [`conduct`].
pub fn conduct_safety(
    plan: &Plan,
    what: What,
    opened: Opened,
    bench: &mut dyn Bench,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Summary, Error> {
    let mut session = Session::new(plan, opened, bench, interrupted, watch);
    let stop = safety::conduct_alone(&mut session, what)?;
    ended(session, stop, stop.words())
}

/// The phases that answer the study's question.
fn answer(session: &mut Session) -> Result<Stop, Cut> {
    screen::conduct(session)?;
    let stop = rounds::conduct(session)?;
    confirmation::conduct(session, stop)?;
    Ok(stop)
}

/// The last phase, whatever cut off the others.
fn end(mut session: Session, answered: Result<Stop, Cut>) -> Result<Summary, Error> {
    match answered {
        Ok(stop) | Err(Cut::Stop(stop)) => match safety::conduct(&mut session, stop)? {
            // Whatever the rounds claim, nobody broke them off at it.
            Stop::Interrupted if stop != Stop::Interrupted => {
                ended(session, Stop::Interrupted, INTERRUPTED_BEHIND_ROUNDS)
            }
            stop => ended(session, stop, stop.words()),
        },
        Err(Cut::Error(error)) => Err(error),
    }
}

fn ended(mut session: Session, stop: Stop, reason: &str) -> Result<Summary, Error> {
    let now = session.bench.now();
    session.writer.end_session(reason, now)?;
    Ok(Summary { stop, failed: session.done.failed() })
}
