//! Bytes from a socket, read in large pieces and looked at in place.

use crate::Error;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;

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

    /// Waits until `count` bytes are there; they stay until they are consumed.
    pub fn need(&mut self, stream: &mut UnixStream, count: usize) -> Result<(), Error> {
        while self.end - self.start < count {
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
            }
            if self.bytes.len() - self.start < count {
                self.bytes.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
                if self.bytes.len() < count {
                    self.bytes.resize(count.next_power_of_two(), 0);
                }
            }
            match stream.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Err(Error::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Lost(error)),
            }
        }
        Ok(())
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes `count` bytes; they were needed before.
    pub fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start += count;
        &self.bytes[from..self.start]
    }
}
