//! What was on a drive's medium when: the drive of a recording, run once more over the log.
//!
//! A spindle writes out its cache while it flushes, in the order of its tracks; flash in the order in which it was filled; a
//! drive without a volatile cache has a write on the medium before it says so. Reads are not in the log, so an arm that had to go
//! elsewhere for one comes too early here, by milliseconds: whoever asks takes what the disk had promised for granted. Zeros and
//! discards move no data, and are nowhere in here.

use super::{Model, Profile, SEED, Work};
use crate::states::{Rules, Unit};
use crate::write_log::{Error, Event, Reader};
use std::ops::Range;

/// Bytes that came onto the medium, evenly between two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) bytes: Range<u64>,
    /// In nanoseconds, as `end`.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// What all requests with tickets below this had made of them.
    pub(super) before: usize,
}

impl Written {
    /// The units that it touches, each with the moment at which the last of its bytes is there.
    fn units(&self, unit_bytes: u64) -> impl Iterator<Item = Reached> + '_ {
        let Range { start, end } = self.bytes;
        let units = if start < end { start / unit_bytes..end.div_ceil(unit_bytes) } else { 0..0 };
        units.map(move |unit| {
            let share = ((unit + 1) * unit_bytes).min(end).abs_diff(start) as f64 / (end - start) as f64;
            let at_nanoseconds = self.begin + ((self.end - self.begin) as f64 * share) as u64;
            Reached { at_nanoseconds, unit: unit as Unit, before: self.before as u64 }
        })
    }
}

/// From a moment on a unit holds on the medium what the log's records before one had made of it, or something newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) at_nanoseconds: u64,
    pub(crate) unit: Unit,
    pub(crate) before: u64,
}

/// When each unit of a log came onto the medium, in order of time; none for a disk without a drive's times.
///
/// # Errors
/// When the log is none.
pub(crate) fn reached(log: &[u8], rules: Rules, profile: Profile) -> Result<Option<Vec<Reached>>, Error> {
    let Some(mut model) = Model::new(profile, rules.cache, SEED) else { return Ok(None) };
    model.done.written = Some(Vec::new());
    let mut now = 0;
    for (record, event) in Reader::new(log)?.enumerate() {
        if let Event::Submitted { at_nanoseconds, operation, .. } = event? {
            now = at_nanoseconds.max(now);
            while model.take_done(now).is_some() {}
            model.submit(now, record, Work::of(&operation));
        }
    }
    while let Some(due) = model.next_due(now) {
        now = due.max(now);
        model.take_done(now);
    }
    let written = model.done.written.unwrap_or_default();
    let mut all: Vec<Reached> = written.iter().flat_map(|written| written.units(u64::from(rules.unit_bytes))).collect();
    all.sort_by_key(|reached| reached.at_nanoseconds);
    Ok(Some(all))
}
