//! The seam between the load and the system: connections by number, what is sent on them and what comes back.
//!
//! Behind it are `uring.rs` and, where the kernel or its policy has none, `polled.rs`; both give the same events.

use std::io;
use std::time::Instant;

/// Connections by number, from 0. Nothing blocks but [`Network::wait`].
pub trait Network {
    /// The request of a connection: written before [`Network::open`] or [`Network::send`], left alone until the answer came.
    fn request(&mut self, line: usize) -> &mut Vec<u8>;

    /// Connects to the address of this number and sends the request.
    fn open(&mut self, line: usize, address: usize);

    /// Sends the request on an open connection.
    fn send(&mut self, line: usize);

    /// Wants more of an answer that came in part.
    fn more(&mut self, line: usize);

    /// Whether all of the request has gone to the system: a server may answer before it has read a body.
    fn is_sent(&self, line: usize) -> bool;

    /// Ends a connection; no event of it comes any more. Its number may be opened again at once.
    fn close(&mut self, line: usize);

    /// Does what was asked for, waits for events and gives each to `see`, with a time at which it had come.
    ///
    /// # Errors
    /// When the system's queue itself fails.
    fn wait(&mut self, wait: Wait, see: &mut See) -> io::Result<()>;
}

/// Is told of the events of connections.
pub type See<'a> = dyn FnMut(usize, Event, Instant) + 'a;

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// For so many events at most, if they come soon enough and the system can wait for several.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only io_uring can"))]
    pub events: usize,
    /// No longer than this.
    pub until: Instant,
}

/// What happened on a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is connected.
    Connected,
    /// Bytes of an answer.
    Received(&'a [u8]),
    /// The server ended it.
    Ended,
    /// It failed.
    Failed(Step, io::Error),
}

/// Where a connection can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Making a socket.
    Socket,
    /// Connecting it.
    Connect,
    /// Agreeing with the server on TLS, and keeping to it.
    Secure,
    /// Sending.
    Send,
    /// Receiving.
    Receive,
}
