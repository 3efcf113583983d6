//! What came of a replay's statements, held against what the log says.

use crate::asked::{Wrong, faults};
use observe::latency::Latency;
use sqllog::Expects;
use std::error::Error;
use std::io;

faults! {
    /// What went wrong.
    pub enum Fault {
        /// An error where the log had an answer.
        New: "errors_not_in_the_log", "refused, where the log has an answer";
        /// An error, and the log does not say what there was.
        Unlogged: "errors_of_which_the_log_says_nothing", "refused (this form of log does not say what there was)";
        /// Its connection was lost, or could not be made.
        Lost: "errors_lost_connection", "lost with their connection";
        /// Its connection could not be made, as this process, or the system, has no descriptors left.
        NoDescriptors: "errors_no_descriptors", "without a connection, as the load was out of descriptors";
        /// Its connection could not be made, as all local ports to the server are taken.
        NoPorts: "errors_no_ports", "without a connection, as the load was out of local ports";
    }
}

impl Fault {
    /// Of a connection that is gone, or was not made: what the load's own machine lacks is no fault of the server's.
    pub(super) fn of_connection(why: &(dyn Error + 'static)) -> Fault {
        let mut cause = Some(why);
        while let Some(error) = cause {
            match error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
                Some(libc::EMFILE | libc::ENFILE) => return Fault::NoDescriptors,
                Some(libc::EADDRNOTAVAIL) => return Fault::NoPorts,
                _ => cause = error.source(),
            }
        }
        Fault::Lost
    }
}

/// Counts of a run.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Answered, or refused as in the log.
    pub right: u64,
    /// Of these, refused as in the log.
    pub refused_as_logged: u64,
    /// Of these, refused in the log, and answered now.
    pub answered_now: u64,
    /// Of these, refused in both for different reasons.
    pub refused_otherwise: u64,
    /// Answers whose number of rows the log has.
    pub rows_known: u64,
    /// Of these, the ones with another number.
    pub rows_differ: u64,
    /// What went wrong.
    pub faults: [u64; KINDS.len()],
    /// The first of each, in words.
    pub first: [Option<String>; KINDS.len()],
    /// Sessions that began in this run.
    pub sessions: u64,
    /// Statements that began more than a millisecond after their time.
    pub late: u64,
    /// Of right answers, from when each was due (as logged) or sent.
    pub latency: Latency,
    /// Length of the run.
    pub seconds: f64,
    /// Right answers in each whole second.
    pub rates: Vec<f64>,
}

impl Tally {
    /// Statements that were asked.
    pub fn asked(&self) -> u64 {
        self.right + self.faults.iter().sum::<u64>()
    }

    /// What went wrong, by kind.
    pub fn wrong(&self) -> Vec<Wrong> {
        Wrong::of_kinds(KINDS, self.faults, &self.first)
    }

    /// Adds another thread's.
    pub(super) fn add(&mut self, other: Tally) {
        crate::add_up! {
            self, other; right, refused_as_logged, answered_now, refused_otherwise, rows_known, rows_differ, sessions,
            late
        }
        self.latency.merge(&other.latency);
        for (index, first) in other.first.into_iter().enumerate() {
            self.faults[index] += other.faults[index];
            if self.first[index].is_none() {
                self.first[index] = first;
            }
        }
    }

    /// A statement was answered with so many rows; whether that is right.
    pub(super) fn answered(&mut self, expects: &Expects, logged_rows: Option<u64>, rows: u64) {
        self.right += 1;
        self.answered_now += u64::from(matches!(expects, Expects::Failure(_)));
        if let Some(logged) = logged_rows {
            self.rows_known += 1;
            self.rows_differ += u64::from(logged != rows);
        }
    }

    /// A statement was refused with this code; gives whether that is what the log has.
    pub(super) fn refused(&mut self, expects: &Expects, code: &str, why: impl FnOnce() -> String) -> bool {
        let Expects::Failure(logged) = expects else {
            let fault = if matches!(expects, Expects::Answer) { Fault::New } else { Fault::Unlogged };
            self.fault(fault, 1, why);
            return false;
        };
        self.right += 1;
        if logged.as_deref().is_none_or(|logged| logged == code) {
            self.refused_as_logged += 1;
        } else {
            self.refused_otherwise += 1;
        }
        true
    }

    /// So many statements went wrong.
    pub(super) fn fault(&mut self, fault: Fault, count: u64, why: impl FnOnce() -> String) {
        self.faults[fault as usize] += count;
        self.first[fault as usize].get_or_insert_with(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::failed;

    #[test]
    fn what_the_loads_own_machine_lacks_is_no_loss_of_the_servers() {
        let of = |error: io::Error| {
            let connecting = wire::Error::Connect("/run/server".into(), error);
            Fault::of_connection(&failed("postgres", "be reached")(connecting))
        };
        let of_number = |number| of(io::Error::from_raw_os_error(number));
        assert_eq!([libc::EMFILE, libc::ENFILE].map(of_number), [Fault::NoDescriptors; 2]);
        assert_eq!(of_number(libc::EADDRNOTAVAIL), Fault::NoPorts);
        assert_eq!([libc::ECONNREFUSED, libc::ECONNRESET].map(of_number), [Fault::Lost; 2]);
        assert_eq!(of(io::ErrorKind::UnexpectedEof.into()), Fault::Lost);
    }

    #[test]
    fn errors_are_told_apart_by_what_the_log_has() {
        let mut tally = Tally::default();
        let failure = |code: Option<&str>| Expects::Failure(code.map(Into::into));
        assert!(tally.refused(&failure(Some("23505")), "23505", String::new));
        assert!(tally.refused(&failure(None), "23505", String::new));
        assert!(tally.refused(&failure(Some("23505")), "40001", String::new));
        assert!(!tally.refused(&Expects::Answer, "42P01", || "no such table".into()));
        assert!(!tally.refused(&Expects::Unknown, "1146", || "no such table".into()));
        tally.answered(&failure(None), None, 0);
        tally.answered(&Expects::Unknown, Some(3), 2);
        tally.answered(&Expects::Answer, Some(2), 2);
        let counts = (tally.right, tally.refused_as_logged, tally.refused_otherwise, tally.answered_now);
        assert_eq!(counts, (6, 2, 1, 1));
        assert_eq!((tally.rows_known, tally.rows_differ, tally.faults, tally.asked()), (2, 1, [1, 1, 0, 0, 0], 8));
        assert_eq!(tally.first[0].as_deref(), Some("no such table"));
    }
}
