//! Load on an HTTP server: requests of a source on many connections, in a closed or open loop, each answer looked at.
//!
//! `network.rs` is the seam to the system, with `uring.rs` and `polled.rs` behind it and TLS, `secured.rs`, before it; `drive.rs`
//! is one thread's loop, `line.rs` one of its connections; `tally.rs` is what came of it. One thread is enough for a server on
//! the same machine; more are a choice.

#[cfg(target_os = "linux")]
mod batch;
mod drive;
mod line;
mod network;
mod polled;
mod secured;
pub mod settings;
mod tally;
pub mod tls;
#[cfg_attr(not(target_os = "linux"), path = "http_client/uring_elsewhere.rs")]
mod uring;

#[cfg(test)]
mod tests;

pub use drive::{drive, drive_until};
pub use tally::{Fault, Schedule, Tally};
pub use tls::Tls;

use crate::duration;
use crate::workload::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How requests are sent.
#[derive(Debug, Clone)]
pub struct Client {
    /// Servers' addresses; a request names one by its number.
    pub addresses: Vec<SocketAddr>,
    /// Connections at a time, at most.
    pub connections: usize,
    /// Threads that drive them.
    pub threads: usize,
    /// Whether a connection is used again.
    pub keep_alive: bool,
    /// Requests that a connection makes, one after the other, before it is closed; 0: as many as it lasts for.
    pub calls: u64,
    /// From an answer to the next request on its connection.
    pub think_time: Duration,
    /// When requests start.
    pub pace: Pace,
    /// The most requests; 0: until the window or the source ends.
    pub requests_max: u64,
    /// No request starts after this; none: until the source ends.
    pub window: Option<Duration>,
    /// An answer, or a connection, that takes longer is an error.
    pub timeout: Duration,
    /// By which calls.
    pub engine: Engine,
    /// How connections are secured; none: they are not.
    pub tls: Option<Tls>,
}

/// When requests start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Closed loop: the next one when a connection is free.
    Closed,
    /// Open loop: so many a second, whatever the server does; where [`Client::calls`] are given, so many connections, whose
    /// later calls follow the answers, as httperf does it.
    PerSecond(f64),
    /// Open loop: at the source's own times, so many times as fast.
    AsLogged(f64),
}

/// By which calls connections are driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// `io_uring` where the kernel has it, else epoll or what the system has in its place.
    Auto,
    /// `io_uring`.
    Uring,
    /// epoll, or what the system has in its place.
    Epoll,
}

impl Client {
    /// What of it has no effect or can't be done; none: it fits together.
    pub fn problem(&self) -> Option<&'static str> {
        let thinks = !self.think_time.is_zero();
        match self.pace {
            _ if self.calls > 1 && !self.keep_alive => Some("several calls of a connection need `keep_alive`"),
            _ if thinks && !self.reuses() => {
                Some("a think time lies between requests of one connection, and here each makes a single one")
            }
            Pace::AsLogged(_) if thinks => {
                Some("the log's times and a think time can't both say when a request starts")
            }
            Pace::PerSecond(_) if thinks && self.calls == 0 => {
                Some("a rate of requests leaves no think time: with `calls` it is a rate of connections")
            }
            _ => None,
        }
    }

    /// Whether a connection makes more than one request.
    fn reuses(&self) -> bool {
        self.keep_alive && self.calls != 1
    }

    /// Calls of a connection that the schedule starts, where it starts connections and not requests.
    fn session_calls(&self) -> Option<u64> {
        (self.calls > 0 && matches!(self.pace, Pace::PerSecond(_))).then_some(self.calls)
    }

    /// What so many requests come to at the rate that is given; none: none is.
    fn schedule(&self, requests: u64) -> Option<Schedule> {
        let Pace::PerSecond(rate) = self.pace else { return None };
        let calls = self.session_calls().unwrap_or(1);
        let due = self.window.unwrap_or_else(|| duration::until(requests.div_ceil(calls), rate));
        let pauses_seconds = (calls - 1) as f64 * self.think_time.as_secs_f64();
        Some(Schedule { due_seconds: due.as_secs_f64(), calls, pauses_seconds })
    }
}

/// Where requests come from, one after the other.
pub trait Source: Send {
    /// Appends the next request to the empty `request`; none: there are no more.
    ///
    /// # Errors
    /// When it can't be read.
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error>;
}

/// What is known of a request beside its bytes.
#[derive(Debug, Clone, Default)]
pub struct Task {
    /// Which of the addresses it goes to.
    pub address: usize,
    /// Whether the answer has no body.
    pub is_head: bool,
    /// Whether it may be sent again when a kept connection ends before any answer (RFC 9110, 9.2.2: not a POST).
    pub is_repeatable: bool,
    /// Which status the answer must have.
    pub status: Status,
    /// The expected length of the body; none: any will do.
    pub body_bytes: Option<u64>,
    /// A text that the body has, such as its page's title; none: it is not looked at.
    pub body_text: Option<Arc<[u8]>>,
    /// When it is to start, from the window's beginning, for [`Pace::AsLogged`].
    pub at: Duration,
}

/// Which status an answer must have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    /// Any: it is not looked at.
    #[default]
    Any,
    /// Of this class, its first digit.
    Class(u16),
    /// Of a page, or of the way to one (2xx, 3xx).
    PageOrRedirect,
    /// Any but the server's own failures (5xx). That it has no such method (501, RFC 9110, 15.6.2) is none: a site of files needs none.
    NoFailure,
}

impl Status {
    /// Whether an answer may have it.
    pub fn allows(self, status: u16) -> bool {
        match self {
            Status::Any => true,
            Status::Class(class) => status / 100 == class,
            Status::PageOrRedirect => matches!(status / 100, 2 | 3),
            Status::NoFailure => status / 100 != 5 || status == 501,
        }
    }
}
