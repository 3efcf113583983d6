//! The disk after a power cut: an image that the log's rules allow, with what a recovery has written on it since.
//!
//! Nothing is copied to show another image: durable content and choices lie in the [`History`], and what a recovery writes
//! lies in a layer above that is thrown away. Takes down which undecided units a recovery really reads. Pure.

use crate::states::{Choice, Content, History, Unit};
use std::collections::{HashMap, HashSet};

/// A disk that shows images of a log's points.
pub(super) struct Images<B: AsRef<[u8]>> {
    history: History<B>,
    point: usize,
    choice: Choice,
    over: Layer,
    /// Undecided units that were read, in order, and the same for asking.
    read: Vec<Unit>,
    was_read: HashSet<Unit>,
}

/// What was written since the image was shown, by units.
#[derive(Default)]
struct Layer {
    /// Where in `bytes`; none: zeros.
    at: HashMap<Unit, Option<usize>>,
    bytes: Vec<u8>,
}

/// Why an image can't be shown.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum Error {
    #[error("there is no point {point}: the log has {points}, counted from 0")]
    Point { point: usize, points: usize },
    #[error("unit {unit} has no version {version} at point {point}: it has {versions}, counted from 0")]
    Version { point: usize, unit: Unit, version: u32, versions: usize },
}

impl<B: AsRef<[u8]>> Images<B> {
    /// Begins with what the last point leaves when all had been written.
    pub(super) fn new(history: History<B>) -> Images<B> {
        let (point, choice) = (history.points().len() - 1, Choice::default());
        Images { history, point, choice, over: Layer::default(), read: Vec::new(), was_read: HashSet::new() }
    }

    /// Shows another image; all that was written is gone.
    pub(super) fn show(&mut self, point: usize, choice: Choice) -> Result<(), Error> {
        let points = self.history.points();
        let undecided = &points.get(point).ok_or(Error::Point { point, points: points.len() })?.undecided;
        for (&unit, &version) in &choice.units {
            let versions = undecided.get(&unit).map_or(0, Vec::len);
            if version as usize >= versions {
                return Err(Error::Version { point, unit, version, versions });
            }
        }
        (self.point, self.choice) = (point, choice);
        self.over.at.clear();
        self.over.bytes.clear();
        self.read.clear();
        self.was_read.clear();
        Ok(())
    }

    /// Undecided units that were read before they were overwritten, in order.
    pub(super) fn units_read(&self) -> &[Unit] {
        &self.read
    }

    /// Fills `out` with the bytes there now.
    pub(super) fn read(&mut self, offset: u64, out: &mut [u8]) {
        let mut rest = out;
        for (unit, start, length) in pieces(offset, rest.len() as u64, self.unit_bytes()) {
            let (piece, after) = rest.split_at_mut(length);
            piece.copy_from_slice(&self.held(unit)[start..][..length]);
            rest = after;
        }
    }

    /// Writes over the image.
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        let mut rest = data;
        for (unit, start, length) in pieces(offset, data.len() as u64, self.unit_bytes()) {
            let (piece, after) = rest.split_at(length);
            self.whole(unit, length)[start..][..length].copy_from_slice(piece);
            rest = after;
        }
    }

    /// Writes zeros over the image.
    pub(super) fn clear(&mut self, offset: u64, length: u64) {
        for (unit, start, length) in pieces(offset, length, self.unit_bytes()) {
            if length == self.unit_bytes() {
                self.over.at.insert(unit, None);
            } else {
                self.whole(unit, length)[start..][..length].fill(0);
            }
        }
    }

    fn unit_bytes(&self) -> usize {
        self.history.rules.unit_bytes as usize
    }

    /// A unit's bytes. Asking for one that is undecided is a read.
    fn held(&mut self, unit: Unit) -> &[u8] {
        let unit_bytes = self.unit_bytes();
        let content = match self.over.at.get(&unit) {
            Some(Some(at)) => return &self.over.bytes[*at..][..unit_bytes],
            Some(None) => Content::ZEROS,
            None => {
                let point = &self.history.points()[self.point];
                if point.undecided.contains_key(&unit) && self.was_read.insert(unit) {
                    self.read.push(unit);
                }
                point.held(unit, &self.choice)
            }
        };
        self.history.content(content)
    }

    /// A unit's place in the layer above, of which so many bytes are about to be written: what it keeps of its old content is
    /// there already.
    fn whole(&mut self, unit: Unit, length: usize) -> &mut [u8] {
        let unit_bytes = self.unit_bytes();
        let at = match self.over.at.get(&unit) {
            Some(Some(at)) => *at,
            _ => {
                let at = self.over.bytes.len();
                if length < unit_bytes {
                    let old = self.held(unit).to_vec();
                    self.over.bytes.extend(old);
                } else {
                    self.over.bytes.resize(at + unit_bytes, 0);
                }
                self.over.at.insert(unit, Some(at));
                at
            }
        };
        &mut self.over.bytes[at..][..unit_bytes]
    }
}

/// A range cut at the borders of units: which unit, where in it, how many bytes.
pub(super) fn pieces(offset: u64, length: u64, unit_bytes: usize) -> impl Iterator<Item = (Unit, usize, usize)> {
    let (end, unit_bytes) = (offset + length, unit_bytes as u64);
    let mut at = offset;
    std::iter::from_fn(move || {
        let start = at % unit_bytes;
        let piece = ((at / unit_bytes) as Unit, start as usize, (unit_bytes - start).min(end - at) as usize);
        let more = at < end;
        at += piece.2 as u64;
        more.then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::{Cache, Rest, Rules};
    use crate::write_log::{Event, Operation, Writer};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const UNIT: usize = 4096;
    const UNITS: usize = 8;

    /// All units hold 1 when the measured part begins; 1, 2 and 5 are then written with 2, and nothing is flushed.
    fn images() -> Images<Vec<u8>> {
        let mut log = Vec::new();
        let mut writer = Writer::new(&mut log, (UNIT * UNITS) as u64).expect("memory");
        let write = |request, unit: usize, data| {
            let operation = Operation::Write { offset: (unit * UNIT) as u64, data };
            Event::Submitted { request, at_nanoseconds: 0, operation }
        };
        let done = |request| Event::Done { request, at_nanoseconds: 0 };
        let (ones, twos) = ([1; UNIT * UNITS], [2; 2 * UNIT]);
        let begin = Event::Begin { at_nanoseconds: 0 };
        let after = [write(1, 1, &twos[..]), write(2, 5, &twos[..UNIT]), done(1), done(2)];
        [write(0, 0, &ones[..]), done(0), begin]
            .iter()
            .chain(&after)
            .for_each(|event| writer.add(event).expect("memory"));
        let history = History::new(log, Rules { unit_bytes: UNIT as u32, cache: Cache::Volatile }).expect("a log");
        Images::new(history)
    }

    fn last_point(images: &Images<Vec<u8>>) -> usize {
        images.history.points().len() - 1
    }

    /// The first byte of each unit.
    fn firsts(images: &mut Images<Vec<u8>>) -> Vec<u8> {
        let mut all = vec![0; UNIT * UNITS];
        images.read(0, &mut all);
        all.iter().copied().step_by(UNIT).collect()
    }

    #[test]
    fn an_image_is_what_was_chosen() {
        let mut images = images();
        let point = last_point(&images);
        assert_eq!(firsts(&mut images), [1, 2, 2, 1, 1, 2, 1, 1]);
        images.show(point, Choice { rest: Rest::Oldest, units: BTreeMap::new() }).expect("it is there");
        assert_eq!(firsts(&mut images), [1; UNITS]);
        images.show(point, Choice { rest: Rest::Newest, units: [(2, 0)].into() }).expect("it is there");
        assert_eq!(firsts(&mut images), [1, 2, 1, 1, 1, 2, 1, 1]);
    }

    #[test]
    fn undecided_units_are_noted_when_first_read() {
        let mut images = images();
        let mut byte = [0];
        for at in [5 * UNIT + 9, 0, UNIT, 5 * UNIT] {
            images.read(at as u64, &mut byte);
        }
        assert_eq!(images.units_read(), [5, 1]);
        images.show(last_point(&images), Choice::default()).expect("it is there");
        assert!(images.units_read().is_empty());
        images.write(5 * UNIT as u64, &[9; UNIT]);
        images.write(UNIT as u64, &[9; 512]);
        assert_eq!(firsts(&mut images), [1, 9, 2, 1, 1, 9, 1, 1]);
        assert_eq!(images.units_read(), [1, 2], "5 was overwritten before; the rest of 1 was kept");
        images.read((UNIT + 512) as u64, &mut byte);
        assert_eq!(byte, [2]);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let mut images = images();
        let point = last_point(&images);
        let wrong = images.show(point, Choice { rest: Rest::Newest, units: [(2, 2)].into() });
        assert_eq!(wrong, Err(Error::Version { point, unit: 2, version: 2, versions: 2 }));
        let wrong = images.show(point, Choice { rest: Rest::Newest, units: [(3, 0)].into() });
        assert_eq!(wrong, Err(Error::Version { point, unit: 3, version: 0, versions: 0 }));
        assert_eq!(images.show(9, Choice::default()), Err(Error::Point { point: 9, points: point + 1 }));
    }

    proptest! {
        #[test]
        fn a_recovery_reads_what_it_wrote(
            all in proptest::collection::vec((0usize..UNIT * UNITS, 0usize..3 * UNIT, proptest::option::of(3u8..)), 0..20),
        ) {
            let mut images = images();
            let mut expected = vec![0; UNIT * UNITS];
            images.read(0, &mut expected);
            for (at, length, what) in all {
                let length = length.min(expected.len() - at);
                expected[at..][..length].fill(what.unwrap_or(0));
                match what {
                    Some(byte) => images.write(at as u64, &vec![byte; length]),
                    None => images.clear(at as u64, length as u64),
                }
                let mut found = vec![0; UNIT * UNITS];
                images.read(0, &mut found);
                prop_assert!(found == expected);
            }
        }

        #[test]
        fn pieces_cover_a_range_and_stay_in_their_units(offset in 0u64..10_000, length in 0u64..10_000) {
            let mut at = offset;
            for (unit, start, length) in pieces(offset, length, 512) {
                prop_assert_eq!(u64::from(unit) * 512 + start as u64, at);
                prop_assert!(length > 0 && start + length <= 512);
                at += length as u64;
            }
            prop_assert_eq!(at, offset + length);
        }
    }
}
