//! Load on an HTTP server: requests of a source on many connections, in a closed or open loop, each answer looked at.
//!
//! `network.rs` is the seam to the system, with `uring.rs` and `epoll.rs` behind it; `drive.rs` is one thread's loop, `line.rs`
//! one of its connections; `tally.rs` is what came of it. One thread is enough for a server on the same machine; more are a
//! choice.

mod address;
mod descriptors;
mod drive;
mod epoll;
mod line;
mod network;
pub mod settings;
mod tally;
mod uring;

#[cfg(test)]
mod tests;

pub use drive::drive;
pub use tally::{Fault, Tally};

use crate::workload::Error;
use std::net::SocketAddr;
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
    /// When requests start.
    pub pace: Pace,
    /// No request starts after this; none: until the source ends.
    pub window: Option<Duration>,
    /// An answer, or a connection, that takes longer is an error.
    pub timeout: Duration,
    /// By which calls.
    pub engine: Engine,
}

/// When requests start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Closed loop: the next one when a connection is free.
    Closed,
    /// Open loop: so many a second, whatever the server does.
    PerSecond(f64),
    /// Open loop: at the source's own times, so many times as fast.
    AsLogged(f64),
}

/// By which calls connections are driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// `io_uring` where the kernel has it, else epoll.
    Auto,
    /// `io_uring`.
    Uring,
    /// epoll.
    Epoll,
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
#[derive(Debug, Clone, Copy, Default)]
pub struct Task {
    /// Which of the addresses it goes to.
    pub address: usize,
    /// Whether the answer has no body.
    pub is_head: bool,
    /// Whether it may be sent again when a kept connection ends before any answer (RFC 9110, 9.2.2: not a POST).
    pub is_repeatable: bool,
    /// The first digit of the expected status; none: any will do.
    pub class: Option<u16>,
    /// The expected length of the body; none: any will do.
    pub body_bytes: Option<u64>,
    /// When it is to start, from the window's beginning, for [`Pace::AsLogged`].
    pub at: Duration,
}
