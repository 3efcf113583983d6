//! Going on with a results file whose last moment is ahead of this machine's clock.
//!
//! A machine may come up with its clock some seconds behind, before a time server puts it right, and sessions that follow each other at once
//! lose what their clocks were set back meanwhile. Both are waited for; more is an error, and another start may do better.

use super::explained;
use crate::failure::{Failure, Status};
use crate::source::Loaded;
use crate::{interrupt, live};
use anyhow::anyhow;
use lab::bench::{Bench as _, OfThisMachine};
use lab::resume::{self, Opened, Session};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A clock that is further behind is not waited for.
const WAIT_SECONDS_MAX: f64 = 60.0;

/// How soon an interrupt is seen.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Opens the results file, once this session's clock is past its last moment.
pub(super) fn open(loaded: &Loaded, session: &mut Session, bench: &OfThisMachine) -> Result<Opened, Failure> {
    loop {
        let error = match resume::open(&loaded.results, &loaded.plan, session) {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let Some(last) = worth_waiting_for(&error) else { return Err(explained(error)) };
        live::tell(&format!("{error}: waiting until it is not"));
        while bench.now() < last {
            if interrupt::INTERRUPTED.load(Ordering::Relaxed) {
                return Err(Failure::new(Status::Interrupted, anyhow!("interrupted before the study went on")));
            }
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
        session.now = bench.now();
    }
}

/// The moment to wait for, if it comes soon.
fn worth_waiting_for(error: &resume::Error) -> Option<f64> {
    match error {
        resume::Error::ClockBehind { now, last, .. } if last - now <= WAIT_SECONDS_MAX => Some(*last),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status 2 would end a fleet's member for good, whose clock is right at the next start.
    #[test]
    fn a_clock_that_is_behind_is_waited_for_and_no_bad_study() {
        let behind = |seconds: f64| resume::Error::ClockBehind { path: "s".into(), now: 1e9, last: 1e9 + seconds };
        assert_eq!(
            [5.0, 60.0, 61.0].map(|seconds| worth_waiting_for(&behind(seconds))),
            [Some(1e9 + 5.0), Some(1e9 + 60.0), None]
        );
        assert_eq!(worth_waiting_for(&resume::Error::OtherMachine(Vec::new())), None);
        assert_eq!(explained(behind(3600.0)).status(), Status::Fault);
    }
}
