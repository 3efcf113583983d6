//! In place of `io_uring` on systems without it.

use super::network::{Network, See, Wait};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

/// There is none.
pub struct Uring(Infallible);

impl Uring {
    /// Refuses.
    pub fn new(_addresses: &[SocketAddr], _lines: usize, _kept: bool) -> io::Result<Uring> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Network for Uring {
    fn request(&mut self, _line: usize) -> &mut Vec<u8> {
        match self.0 {}
    }

    fn open(&mut self, _line: usize, _address: usize) {
        match self.0 {}
    }

    fn send(&mut self, _line: usize) {
        match self.0 {}
    }

    fn more(&mut self, _line: usize) {
        match self.0 {}
    }

    fn close(&mut self, _line: usize) {
        match self.0 {}
    }

    fn wait(&mut self, _wait: Wait, _see: &mut See) -> io::Result<()> {
        match self.0 {}
    }
}
