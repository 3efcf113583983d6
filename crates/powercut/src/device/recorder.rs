//! The disk while it is written to: its content in memory, and all that is done to it in the log, if it has one.
//!
//! A log that can't go on, by its limit or because its filesystem is full, is closed and the disk goes on without.

use super::spool::Spool;
use crate::timing_fidelity::Tally;
use crate::write_log::{Event, Operation, Request, Writer};
use memmap2::{MmapMut, MmapOptions, UncheckedAdvice};
use std::fs::File;
use std::io;

const PAGE_BYTES: u64 = 4096;

/// A disk that writes down what is done to it.
pub(super) struct Recorder {
    content: MmapMut,
    log: Log,
    /// Number of the next request.
    next: Request,
    /// How much later than due requests were answered.
    pub(super) timing_fidelity: Tally,
}

enum Log {
    Open(Writer<Spool>),
    /// Closed before it was told to, and why.
    Early(String),
    /// There is none, or no more is written down.
    Closed,
}

/// Why a log had to be closed early.
pub(super) struct Full(pub(super) String);

impl Recorder {
    /// A disk of zeros, with a log of so many bytes at most. The memory is taken when it is written to.
    pub(super) fn new(disk_bytes: u64, log: Option<(File, u64)>) -> io::Result<Recorder> {
        let length = usize::try_from(disk_bytes).map_err(io::Error::other)?;
        let content = MmapOptions::new().len(length).no_reserve_swap().map_anon()?;
        let log = match log {
            Some((file, bytes_max)) => Log::Open(Writer::new(Spool::new(file, bytes_max)?, disk_bytes)?),
            None => Log::Closed,
        };
        Ok(Recorder { content, log, next: 0, timing_fidelity: Tally::default() })
    }

    /// The bytes there now.
    pub(super) fn read(&self, offset: u64, bytes: usize) -> &[u8] {
        &self.content[offset as usize..][..bytes]
    }

    /// Does what is asked, and writes it down.
    pub(super) fn submit(&mut self, at_nanoseconds: u64, operation: Operation) -> Request {
        let request = self.next;
        self.next += 1;
        self.add(&Event::Submitted { request, at_nanoseconds, operation });
        match operation {
            Operation::Write { offset, data } => self.content[offset as usize..][..data.len()].copy_from_slice(data),
            Operation::Flush => {}
            Operation::Zero { offset, length } | Operation::Discard { offset, length } => self.clear(offset, length),
        }
        request
    }

    /// Writes down that the host is about to be told.
    pub(super) fn done(&mut self, at_nanoseconds: u64, request: Request) {
        self.add(&Event::Done { request, at_nanoseconds });
    }

    /// Writes down that the measured part begins.
    pub(super) fn begin(&mut self, at_nanoseconds: u64) -> Result<(), Full> {
        self.add(&Event::Begin { at_nanoseconds });
        self.whole()
    }

    /// Closes the log, when that has not happened.
    pub(super) fn stop(&mut self) -> Result<(), Full> {
        if let Log::Open(writer) = &mut self.log {
            self.log = writer.flush().map_or_else(|error| Log::Early(error.to_string()), |()| Log::Closed);
        }
        self.whole()
    }

    fn whole(&self) -> Result<(), Full> {
        if let Log::Early(reason) = &self.log { Err(Full(reason.clone())) } else { Ok(()) }
    }

    fn add(&mut self, event: &Event) {
        if let Log::Open(writer) = &mut self.log
            && let Err(error) = writer.add(event)
        {
            // What stands before is of use, if it still can be written.
            let _ = writer.flush();
            self.log = Log::Early(error.to_string());
        }
    }

    /// Zeros; whole pages of them are given back.
    fn clear(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        let (first, last) = (offset.next_multiple_of(PAGE_BYTES), end / PAGE_BYTES * PAGE_BYTES);
        if first >= last {
            return self.content[offset as usize..end as usize].fill(0);
        }
        self.content[offset as usize..first as usize].fill(0);
        self.content[last as usize..end as usize].fill(0);
        // SAFETY: whole pages of a private anonymous mapping, to which nothing refers; they read as zeros afterwards.
        let given_back = unsafe {
            self.content.unchecked_advise_range(UncheckedAdvice::DontNeed, first as usize, (last - first) as usize)
        };
        if given_back.is_err() {
            self.content[first as usize..last as usize].fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorder(disk_bytes: u64, log_bytes_max: u64) -> Recorder {
        Recorder::new(disk_bytes, Some((tempfile::tempfile().expect("a file"), log_bytes_max))).expect("memory")
    }

    #[test]
    fn a_full_log_ends_and_the_disk_goes_on() {
        let mut recorder = recorder(8192, 190);
        let write = |recorder: &mut Recorder, data: &[u8]| recorder.submit(1, Operation::Write { offset: 0, data });
        write(&mut recorder, &[1; 100]);
        assert!(recorder.begin(2).is_err(), "16 bytes of the log's head, 140 of the write, 40 more are too much");
        assert_eq!(write(&mut recorder, &[2; 4096]), 1);
        assert_eq!(recorder.read(0, 4096), [2; 4096]);
        assert!(recorder.stop().is_err_and(|Full(reason)| reason.contains("190 bytes")));
    }

    proptest! {
        #[test]
        fn cleared_is_zero_and_nothing_else_is(offset in 0u64..20_000, length in 0u64..20_000) {
            let mut recorder = recorder(40_960, u64::MAX);
            recorder.submit(1, Operation::Write { offset: 0, data: &[7; 40_960] });
            recorder.submit(2, Operation::Discard { offset, length });
            let expected: Vec<u8> =
                (0..40_960).map(|at| if (offset..offset + length).contains(&at) { 0 } else { 7 }).collect();
            prop_assert!(recorder.read(0, 40_960) == expected);
        }
    }
}
