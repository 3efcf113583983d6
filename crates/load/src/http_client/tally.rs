//! What a load came to: counts, errors by kind, latencies.

use super::network::Step;
use crate::asked::{Asked, Limit, Wrong, faults};
use crate::deadline::Ends;
use observe::latency::Latency;
use std::io;
use std::time::Duration;

faults! {
    /// Why a request was not answered as it should be.
    pub enum Fault {
        /// Nobody listens there.
        ConnectRefused: "errors_connect_refused", "connection refused";
        /// No connection in time.
        ConnectTimedOut: "errors_connect_timed_out", "no connection in time";
        /// No TLS with the server: its certificate is not trusted, or it speaks none.
        Tls: "errors_tls", "no TLS with the server";
        /// The server's end, or the way there, cut the connection.
        Reset: "errors_connection_reset", "connection reset";
        /// The server ended the connection before the answer's end.
        ClosedEarly: "errors_closed_early", "connection closed before the answer's end";
        /// No whole answer in time.
        TimedOut: "errors_read_timed_out", "no answer in time";
        /// What came is not HTTP.
        Malformed: "errors_malformed", "not HTTP";
        /// A status of another class than expected.
        WrongStatus: "errors_wrong_status", "wrong status";
        /// A body of another length than expected.
        WrongSize: "errors_wrong_size", "wrong size";
        /// A body without the text that it should have.
        WrongBody: "errors_wrong_body", "wrong body";
        /// This process, or the system, has no descriptors left.
        NoDescriptors: "errors_no_descriptors", "out of descriptors";
        /// All local ports to this address are taken, most by connections that ended a short while ago.
        NoPorts: "errors_no_ports", "out of local ports";
        /// Anything else.
        Other: "errors_other", "other";
    }
}

impl Fault {
    /// Of a connection that failed at this step.
    pub fn of(step: Step, error: &io::Error) -> Fault {
        match (step, error.raw_os_error()) {
            (_, Some(libc::ECONNREFUSED)) => Fault::ConnectRefused,
            (_, Some(libc::EADDRNOTAVAIL)) => Fault::NoPorts,
            (_, Some(libc::EMFILE | libc::ENFILE)) => Fault::NoDescriptors,
            (_, Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED)) => Fault::Reset,
            (Step::Secure, _) => Fault::Tls,
            (Step::Connect, Some(libc::ETIMEDOUT)) => Fault::ConnectTimedOut,
            (_, Some(libc::ETIMEDOUT)) => Fault::TimedOut,
            _ => Fault::Other,
        }
    }
}

/// Counts and latencies.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Requests that were sent, or would have been had there been a connection.
    pub requests: u64,
    /// Whole answers, whatever their status.
    pub answers: u64,
    /// Those with the status, size and body that they must have. Only they are in the figures below, but for time-outs in [`Tally::total`].
    pub right: u64,
    /// Whole answers by status class, 1xx first.
    pub classes: [u64; 5],
    /// By kind, in the order of [`Fault::all`].
    pub faults: [u64; KINDS.len()],
    /// The system's words for the first fault of each kind.
    pub first: [Option<String>; KINDS.len()],
    /// Bytes of right answers' bodies.
    pub body_bytes: u64,
    /// Bytes that came, of whatever.
    pub received_bytes: u64,
    /// Connections that were made.
    pub connections: u64,
    /// Sessions whose first call was answered, where the schedule starts sessions.
    pub sessions: u64,
    /// Requests sent again, because a kept connection had been closed before any answer.
    pub resent: u64,
    /// Requests that began more than a millisecond after their time.
    pub late: u64,
    /// From the start of connecting to a connection.
    pub connect: Latency,
    /// From the start of connecting to the connection's end, of those that brought an answer.
    pub connection: Latency,
    /// From sending to the first byte.
    pub response: Latency,
    /// From the first byte to the last.
    pub transfer: Latency,
    /// From the intended start to the last byte; of a time-out, which took at least as long as was waited, to its end.
    pub total: Latency,
    /// The time until the last answer: the window, and what that took beyond it. In a closed loop that ends by its window each
    /// connection has its own end, and this is their mean.
    pub seconds: f64,
    /// CPU time of the load's threads.
    pub cpu_seconds: f64,
    /// Threads that drove their connections by `io_uring`.
    pub uring_threads: u64,
    /// The others: by epoll, or what the system has in its place.
    pub polled_threads: u64,
    /// Why those that were free to choose did not use `io_uring`.
    pub without_uring: Option<String>,
    /// When connections ended, of a closed loop that ends by its window.
    pub ends: Ends,
    /// What was to be sent when; none: no rate was given.
    pub schedule: Option<Schedule>,
}

/// The schedule of a load at a given rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// The time over which its requests, or sessions, were due.
    pub due_seconds: f64,
    /// Requests of a session, one after the other; 1: each is due by itself.
    pub calls: u64,
    /// What a session pauses between them.
    pub pauses_seconds: f64,
}

impl Tally {
    /// Counts a fault; `why` is kept of the first.
    pub fn fault(&mut self, fault: Fault, why: impl FnOnce() -> String) {
        self.faults[fault as usize] += 1;
        self.first[fault as usize].get_or_insert_with(why);
    }

    /// Requests without a whole answer: the server may be at work on them still.
    pub fn unanswered(&self) -> u64 {
        self.requests.saturating_sub(self.answers)
    }

    /// Faults of all kinds.
    pub fn faults(&self) -> u64 {
        self.faults.iter().sum()
    }

    /// The time that rates are held over: [`Tally::seconds`], but at a given rate without what the last request, or session, takes by itself,
    /// as the fastest hundredth does. A slow answer has not piled up, and in a run of a second would look like a server that falls behind.
    pub fn rate_seconds(&self) -> f64 {
        let Some(schedule) = self.schedule.filter(|_| self.right > 0) else { return self.seconds };
        let answer_seconds = self.total.microseconds_at(0.01) / 1e6;
        let by_itself = schedule.calls as f64 * answer_seconds + schedule.pauses_seconds;
        // A single request is over before its interval is.
        (self.seconds - by_itself).max(schedule.due_seconds.min(self.seconds))
    }

    /// Counts an answer's time.
    pub fn times(&mut self, response: Duration, transfer: Duration, total: Duration) {
        self.response.record(response);
        self.transfer.record(transfer);
        self.total.record(total);
    }

    /// Counts a request that failed after so long; a time-out is a wait that someone had.
    pub fn failed(&mut self, fault: Fault, waited: Duration, why: String) {
        if matches!(fault, Fault::TimedOut | Fault::ConnectTimedOut) {
            self.total.record(waited);
        }
        self.fault(fault, || why);
    }

    /// What was asked for, and what went wrong, of a load with this limit.
    pub fn asked(&self, limit: Limit) -> Asked {
        let wrong = Wrong::of_kinds(KINDS, self.faults, &self.first);
        Asked { what: "requests".into(), total: self.requests, wrong, limit }
    }

    /// What a reader must know of how the load talked to the kernel; none: as the study says, or by `io_uring`.
    pub fn engine_note(&self) -> Option<String> {
        let why = self.without_uring.as_ref()?;
        let (polled, all) = (self.polled_threads, self.polled_threads + self.uring_threads);
        let who = if polled == all { "The load".into() } else { format!("{polled} of {all} threads of the load") };
        Some(format!(
            "{who} used epoll, as io_uring could not be used ({why}): it takes more CPU time for a request, and takes each \
             answer's time by itself. Such runs can't be held against those by io_uring; `engine` sets either."
        ))
    }

    /// Adds another thread's; the time is the longest.
    pub fn merge(&mut self, other: Tally) {
        crate::add_up! {
            self, other; requests, answers, right, body_bytes, received_bytes, connections, sessions, resent, late,
            uring_threads, polled_threads, cpu_seconds
        }
        self.classes.iter_mut().zip(other.classes).for_each(|(mine, theirs)| *mine += theirs);
        self.faults.iter_mut().zip(other.faults).for_each(|(mine, theirs)| *mine += theirs);
        for (mine, theirs) in self.first.iter_mut().zip(other.first) {
            *mine = mine.take().or(theirs);
        }
        self.connect.merge(&other.connect);
        self.connection.merge(&other.connection);
        self.response.merge(&other.response);
        self.transfer.merge(&other.transfer);
        self.total.merge(&other.total);
        self.seconds = self.seconds.max(other.seconds);
        self.without_uring = self.without_uring.take().or(other.without_uring);
        self.ends.merge(other.ends);
    }
}
