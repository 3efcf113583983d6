//! A drive of flash memory: a latency a request, and a rate that many requests at once can't exceed.

use super::medium::Written;
use super::{Done, Work};
use random::SplitMix64;
use std::collections::VecDeque;

/// What tells one drive from another.
#[derive(Debug)]
pub(super) struct Parameters {
    /// Least and most, for 4 KiB.
    read_microseconds: (f64, f64),
    /// Of a write that goes on where the last one ended.
    write_on_microseconds: f64,
    write_microseconds: f64,
    reads_per_second: f64,
    /// That do not go on where the last one ended.
    writes_per_second: f64,
    read_bytes_per_second: f64,
    write_bytes_per_second: f64,
    /// Least and most, before anything dirty is written; none: the cache outlives a power cut. Without a cache each write takes it.
    flush_microseconds: Option<(f64, f64)>,
    /// What may be dirty.
    cache_bytes: u64,
}

/// Reads: tR of 75 µs at most and 32 dies of it (MQSim, ssdconfig.xml). Writes: Samsung 960 Pro at queue depth 1, and 32 dies
/// that program 16 KiB in 750 µs (MQSim). Flushes: fdatasync on several drives, 0.6 to 1.6 ms.
pub(super) const CONSUMER: Parameters = Parameters {
    read_microseconds: (50.0, 75.0),
    write_on_microseconds: 20.0,
    write_microseconds: 20.0,
    reads_per_second: 427_000.0,
    writes_per_second: 171_000.0,
    read_bytes_per_second: 3.0e9,
    write_bytes_per_second: 3.0e9,
    flush_microseconds: Some((600.0, 1600.0)),
    cache_bytes: 512 << 20,
};

/// Intel P4500, by its data sheet.
pub(super) const DATA_CENTRE: Parameters = Parameters {
    read_microseconds: (85.0, 115.0),
    write_on_microseconds: 13.0,
    write_microseconds: 20.0,
    reads_per_second: 645_000.0,
    writes_per_second: 62_000.0,
    read_bytes_per_second: 3.2e9,
    write_bytes_per_second: 1.8e9,
    flush_microseconds: None,
    cache_bytes: 0,
};

/// The size for which latencies are said.
const PAGE_BYTES: u64 = 4096;

/// A drive at work.
#[derive(Debug)]
pub(super) struct Flash {
    parameters: &'static Parameters,
    is_volatile: bool,
    chance: SplitMix64,
    /// When the next read and the next write can begin, in nanoseconds.
    reads_free_at: u64,
    writes_free_at: u64,
    last_write_end: u64,
    /// In the order in which they came; as many as the cache holds.
    dirty: VecDeque<Dirty>,
    dirty_bytes: u64,
}

/// A write that is only in the cache.
#[derive(Debug)]
struct Dirty {
    ticket: usize,
    offset: u64,
    bytes: u64,
}

impl Dirty {
    fn written(&self, begin: u64, end: u64) -> Written {
        Written { bytes: self.offset..self.offset + self.bytes, begin, end, before: self.ticket + 1 }
    }
}

impl Flash {
    pub(super) fn new(parameters: &'static Parameters, is_volatile: bool, seed: u64) -> Flash {
        let is_volatile = is_volatile && parameters.flush_microseconds.is_some();
        Flash {
            parameters,
            is_volatile,
            chance: SplitMix64::new(seed),
            reads_free_at: 0,
            writes_free_at: 0,
            last_write_end: 0,
            dirty: VecDeque::new(),
            dirty_bytes: 0,
        }
    }

    /// Takes a request.
    pub(super) fn submit(&mut self, now: u64, ticket: usize, work: Work, done: &mut Done) {
        let parameters = self.parameters;
        let end = match work {
            Work::Read { bytes, .. } => {
                let transfer = bytes as f64 / parameters.read_bytes_per_second;
                let start = now.max(self.reads_free_at);
                self.reads_free_at = start + nanoseconds(transfer.max(1.0 / parameters.reads_per_second));
                let latency = self.chance.between(parameters.read_microseconds) / 1e6;
                start + nanoseconds(latency + beyond_a_page(bytes, parameters.read_bytes_per_second))
            }
            Work::Write { offset, bytes } => {
                let goes_on = offset == self.last_write_end;
                self.last_write_end = offset + bytes;
                let transfer = bytes as f64 / parameters.write_bytes_per_second;
                let (microseconds, turn) = match goes_on {
                    true => (parameters.write_on_microseconds, transfer),
                    false => (parameters.write_microseconds, transfer.max(1.0 / parameters.writes_per_second)),
                };
                let start = now.max(self.writes_free_at);
                self.writes_free_at = start + nanoseconds(turn);
                // What can't be kept without power is programmed before it is acknowledged.
                let durable = parameters.flush_microseconds.filter(|_| !self.is_volatile);
                let microseconds = microseconds + durable.map_or(0.0, |range| self.chance.between(range));
                let took = microseconds / 1e6 + beyond_a_page(bytes, parameters.write_bytes_per_second);
                let end = start + nanoseconds(took);
                self.keep(Dirty { ticket, offset, bytes }, start, end, done);
                end
            }
            Work::Flush => self.flush(now, done),
            Work::Command => now + nanoseconds(parameters.write_on_microseconds / 1e6),
        };
        done.push(end, ticket);
    }

    /// In the cache, from which the oldest go when it is full; without one at once on the medium.
    fn keep(&mut self, write: Dirty, start: u64, end: u64, done: &mut Done) {
        if !self.is_volatile {
            return done.wrote(write.written(start, end));
        }
        self.dirty_bytes += write.bytes;
        self.dirty.push_back(write);
        while self.dirty_bytes > self.parameters.cache_bytes
            && let Some(oldest) = self.dirty.pop_front()
        {
            self.dirty_bytes -= oldest.bytes;
            done.wrote(oldest.written(start, end));
        }
    }

    /// Writes out the cache in the order in which it was filled; when that is done.
    fn flush(&mut self, now: u64, done: &mut Done) -> u64 {
        let Some(least_and_most) = self.parameters.flush_microseconds.filter(|_| self.is_volatile) else { return now };
        let bytes_per_second = self.parameters.write_bytes_per_second;
        let begin = now.max(self.writes_free_at) + nanoseconds(self.chance.between(least_and_most) / 1e6);
        let mut before = 0;
        for dirty in self.dirty.drain(..) {
            let at = |bytes: u64| begin + nanoseconds(bytes as f64 / bytes_per_second);
            done.wrote(dirty.written(at(before), at(before + dirty.bytes)));
            before += dirty.bytes;
        }
        self.dirty_bytes = 0;
        self.writes_free_at = begin + nanoseconds(before as f64 / bytes_per_second);
        self.writes_free_at
    }
}

/// Seconds that the bytes after the first page take.
fn beyond_a_page(bytes: u64, bytes_per_second: f64) -> f64 {
    bytes.saturating_sub(PAGE_BYTES) as f64 / bytes_per_second
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
