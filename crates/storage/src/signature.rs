//! A mark that tells what a device holds: its bytes, and where they lie. Pure but for reads.

use std::io;
use std::os::unix::fs::FileExt;

/// Where a mark lies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end.
    End(u64),
    /// By the size of the device; none: it has no room for it.
    Rule(fn(u64) -> Option<u64>),
}

/// A mark.
#[derive(Debug)]
pub(crate) struct Signature {
    /// What it belongs to: "an xfs filesystem".
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) bytes: &'static [u8],
}

/// A mark that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// What it belongs to: "an xfs filesystem".
    pub(crate) name: &'static str,
    /// Where it begins, bytes from the start.
    pub(crate) offset: u64,
    /// How long it is.
    pub(crate) length: usize,
}

/// A mark so many bytes from the start.
pub(crate) const fn at(name: &'static str, offset: u64, bytes: &'static [u8]) -> Signature {
    Signature { name, place: Place::Start(offset), bytes }
}

/// A mark so many bytes before the end.
pub(crate) const fn before_end(name: &'static str, offset: u64, bytes: &'static [u8]) -> Signature {
    Signature { name, place: Place::End(offset), bytes }
}

/// A mark whose place follows from the size of the device.
pub(crate) const fn by_rule(name: &'static str, rule: fn(u64) -> Option<u64>, bytes: &'static [u8]) -> Signature {
    Signature { name, place: Place::Rule(rule), bytes }
}

impl Place {
    /// Bytes from the start of a device of so many bytes.
    pub(crate) fn offset(self, bytes: u64) -> Option<u64> {
        match self {
            Place::Start(offset) => Some(offset),
            Place::End(before) => bytes.checked_sub(before),
            Place::Rule(rule) => rule(bytes),
        }
    }
}

impl Signature {
    /// The mark, if a device of so many bytes has it.
    pub(crate) fn find(&self, device: &impl FileExt, bytes: u64) -> io::Result<Option<Found>> {
        let length = self.bytes.len();
        let Some(offset) = self.place.offset(bytes).filter(|offset| offset + length as u64 <= bytes) else {
            return Ok(None);
        };
        let mut there = vec![0; length];
        device.read_exact_at(&mut there, offset)?;
        Ok((there == self.bytes).then_some(Found { name: self.name, offset, length }))
    }
}
