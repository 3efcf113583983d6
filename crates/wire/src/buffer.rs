//! Bytes from a socket, read in large pieces without waiting, and looked at in place.

use crate::Error;
use crate::stream::Stream;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A first read of this size holds the whole answer of any statement of the loads here.
const START_BYTES: usize = 64 << 10;

/// What was received and not yet consumed.
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub fn new() -> Buffer {
        Buffer { bytes: vec![0; START_BYTES], start: 0, end: 0 }
    }

    /// Whether `count` bytes are there, after what has come was read; they stay until they are taken.
    pub fn have(&mut self, stream: &Stream, count: usize) -> Result<bool, Error> {
        while self.end - self.start < count {
            self.make_room(count);
            match recv(stream.as_raw_fd(), &mut self.bytes[self.end..], MsgFlags::MSG_DONTWAIT) {
                Ok(0) => return Err(Error::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.end += read,
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(Error::Lost(error.into())),
            }
        }
        Ok(true)
    }

    /// For at least another byte of `count`. It grows with what has come, not with what a server says will come.
    fn make_room(&mut self, count: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.bytes.len() - self.start < count {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(2 * self.bytes.len(), 0);
        }
    }

    /// Removes `count` bytes at each of these places, in ascending order.
    pub fn cut(&mut self, places: &[usize], count: usize) {
        let Some(first) = places.first() else { return };
        let ends = places[1..].iter().copied().chain([self.end - self.start]);
        let mut to = self.start + first;
        for (place, end) in places.iter().zip(ends) {
            let (from, end) = (self.start + place + count, self.start + end);
            self.bytes.copy_within(from..end, to);
            to += end - from;
        }
        self.end = to;
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes `count` bytes that are there.
    pub fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start += count;
        &self.bytes[from..self.start]
    }
}

/// Waits until more has come.
pub fn wait(descriptor: BorrowedFd) -> Result<(), Error> {
    match poll(&mut [PollFd::new(descriptor, PollFlags::POLLIN)], PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(Error::Lost(error.into())),
    }
}
