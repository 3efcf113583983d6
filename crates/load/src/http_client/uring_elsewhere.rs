//! In place of `io_uring` on systems without it.

use super::polled::Polled;
use std::io;
use std::net::SocketAddr;

/// There is none, so that nothing is sent over what this would give.
pub enum Uring {}

impl Uring {
    /// Refuses.
    pub fn set_up(_addresses: &[SocketAddr], _lines: usize, _kept: bool) -> io::Result<Polled> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
