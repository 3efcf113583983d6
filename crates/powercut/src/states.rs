//! The images that a power cut may leave, by the rules of block devices, from a recording disk's log.
//!
//! The rules, as Linux states them (Documentation/block/writeback_cache_control.rst):
//!
//! - A flush makes durable every write that had been *completed before the flush was submitted*, and does so at its own
//!   completion. A write that was still under way when the flush was submitted is not covered.
//! - Every other write that was submitted before the cut is volatile, completed or not: it may be there or not.
//! - A disk writes a *unit* (512 or 4096 bytes) whole or not at all. A unit holds its newest durable version or any volatile one
//!   that is not older; nothing couples two units. "Older" is a version that had been completed before the durable one was
//!   submitted; of two that were under way at once either may come last.
//! - Of writes to parts of one unit that were under way at once each may be there without the others (`open`).
//! - Zeros and discards are writes of zeros.
//! - What was completed before the measured part began is durable.
//!
//! Power is cut just before each flush completes, and at the log's end. That is enough: between two completed flushes what may
//! be there and what was acknowledged only grow, so that the moment before the next completion has every image of the moments
//! since the last, and the most promises to hold it against.
//!
//! These are what may be. What is likely are cuts at random moments (`crash_points`), which are some of the same images.
//!
//! Pure: reads no file and starts nothing.

mod contents;
mod crash_points;
mod open;
mod replay;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use contents::Content;
use contents::Contents;
pub use crash_points::{Draw, RandomCut};

use crate::write_log::Error;

/// A unit of a disk by its number, counted from 0: what is written whole or not at all.
pub type Unit = u32;

/// What a disk's cache promises, by the names that studies have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// A completed write is durable after the next flush.
    Volatile,
    /// A completed write is durable (no cache, or one that outlives the cut).
    WriteThrough,
    /// Nothing becomes durable; flushes are completed all the same.
    Lying,
}

/// By which a disk keeps or loses what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rules {
    /// Bytes that are written whole or not at all: 512 or 4096.
    pub unit_bytes: u32,
    /// What its cache promises.
    pub cache: Cache,
}

/// All that a recorded disk may hold at any cut. Owns the log's bytes (a `Vec`, or a file that is mapped).
#[derive(Debug)]
pub struct History<B: AsRef<[u8]>> {
    log: B,
    /// As given.
    pub rules: Rules,
    /// Size of the disk.
    pub disk_bytes: u64,
    contents: Contents,
    points: Vec<Point>,
    /// Points that count but were left out because there are too many: of a disk without a volatile cache each completed write
    /// is one. 0: no moment has an image that no point has.
    pub points_left_out: u64,
    /// Units of which many parts were under way at once, so that the points do not have every content that is legal for them. A random cut
    /// that left another has what is durable there.
    pub units_abridged: u64,
    /// Writes, zeros and discards that were submitted in the measured part.
    pub writes: u64,
    /// Flushes that were submitted in the measured part.
    pub flushes: u64,
}

impl<B: AsRef<[u8]>> History<B> {
    /// From a log's bytes. A log that ends within a record ends before it.
    ///
    /// # Errors
    /// When they are no log, or a damaged one.
    ///
    /// # Panics
    /// When the rules' unit is not a power of two from 512 on.
    pub fn new(log: B, rules: Rules) -> Result<History<B>, Error> {
        replay::replay(log, rules, None)
    }

    /// The same, with cuts at random moments.
    ///
    /// # Errors
    /// As [`History::new`].
    ///
    /// # Panics
    /// As [`History::new`].
    pub fn with_random_cuts(log: B, rules: Rules, draw: &Draw) -> Result<History<B>, Error> {
        let crash_points = crash_points::CrashPoints::new(log.as_ref(), rules, draw)?;
        replay::replay(log, rules, Some(crash_points))
    }

    /// The moments at which power is cut, in order of time; never empty, the last is the log's end.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The random cuts that were asked for, in the order in which they were drawn. Those before points that were left out are
    /// not among them, whatever they left.
    pub fn random_cuts(&self) -> Vec<RandomCut> {
        crash_points::all(&self.points)
    }

    /// A unit's bytes.
    pub fn content(&self, content: Content) -> &[u8] {
        self.contents.bytes(self.log.as_ref(), content)
    }

    /// By point, the undecided units whose newest content is mostly what is durable of them: pages of which a part was changed. Neither
    /// what is written for the first time, nor a log that overwrites what has nothing to do with it.
    pub fn changed_in_place(&self) -> Vec<BTreeSet<Unit>> {
        let mut known = HashMap::new();
        let mut is_changed = |versions: &[Content]| {
            let (durable, newest) = (versions[0], versions[versions.len() - 1]);
            *known.entry((durable, newest)).or_insert_with(|| {
                let (durable, newest) = (self.content(durable), self.content(newest));
                let pieces = || durable.chunks(ALIKE_BYTES).zip(newest.chunks(ALIKE_BYTES));
                let is_none = durable == newest || durable.iter().all(|byte| *byte == 0);
                !is_none && pieces().filter(|(durable, newest)| durable == newest).count() * 2 >= pieces().count()
            })
        };
        let of_point = |point: &Point| {
            point.undecided.iter().filter(|(_, versions)| is_changed(versions)).map(|(unit, _)| *unit).collect()
        };
        self.points.iter().map(of_point).collect()
    }

    /// The same number for the same bytes on the whole disk, whatever the point. An XOR over the units (Zobrist), so that it takes
    /// only the units which the choice names.
    ///
    /// # Panics
    /// When there is no such point.
    pub fn image_hash(&self, point: usize, choice: &Choice) -> u128 {
        let point = &self.points[point];
        let unnamed = Choice { rest: choice.rest, ..Choice::default() };
        let mut hash = if choice.rest == Rest::Newest { point.newest_hash } else { point.oldest_hash };
        for &unit in choice.units.keys() {
            let Some(versions) = point.undecided.get(&unit) else { continue };
            let (rest, held) = (versions[index(unit, versions, &unnamed)], versions[index(unit, versions, choice)]);
            if rest != held {
                hash ^= self.contents.share(unit, rest) ^ self.contents.share(unit, held);
            }
        }
        hash
    }
}

/// A unit's contents are held against each other in pieces of so many bytes.
const ALIKE_BYTES: usize = 64;

/// A moment at which power is cut.
#[derive(Debug, Clone)]
pub struct Point {
    /// When, by `CLOCK_MONOTONIC`.
    pub at_nanoseconds: u64,
    /// The units that may hold one of several contents: the durable one first, the newest last, none twice – but that the newest
    /// may be the durable one's content again, after others.
    pub undecided: BTreeMap<Unit, Vec<Content>>,
    durable: Durable,
    oldest_hash: u128,
    newest_hash: u128,
    /// Since the point before.
    drawn: Vec<crash_points::Drawn>,
}

impl Point {
    /// What the unit holds if nothing volatile of it is there.
    pub fn durable(&self, unit: Unit) -> Content {
        self.durable.get(unit)
    }

    /// The units that do not hold zeros if nothing volatile is there, in order.
    pub fn written(&self) -> impl Iterator<Item = Unit> + '_ {
        self.durable.written(0..Unit::MAX)
    }

    /// The units that hold something else at another point if nothing volatile is there.
    pub fn differing(&self, other: &Point) -> Vec<Unit> {
        self.durable.differing(&other.durable)
    }

    /// What the unit holds in an image.
    pub fn held(&self, unit: Unit, choice: &Choice) -> Content {
        let Some(versions) = self.undecided.get(&unit) else { return self.durable(unit) };
        versions[index(unit, versions, choice)]
    }

    /// The units that do not hold their newest content in an image, with the version that they hold instead.
    pub fn missing(&self, choice: &Choice) -> BTreeMap<Unit, u32> {
        let missing = |unit: Unit| {
            let versions = self.undecided.get(&unit)?;
            let index = index(unit, versions, choice);
            (Some(&versions[index]) != versions.last()).then_some((unit, index as u32))
        };
        match choice.rest {
            Rest::Newest => choice.units.keys().copied().filter_map(missing).collect(),
            Rest::Oldest => self.undecided.keys().copied().filter_map(missing).collect(),
        }
    }

    /// The same image without naming what needs no name.
    pub fn shortened(&self, choice: &Choice) -> Choice {
        let rest = Choice { rest: choice.rest, ..Choice::default() };
        let says_something = |unit: Unit| self.held(unit, &rest) != self.held(unit, choice);
        let units = choice.units.iter().filter(|(unit, _)| says_something(**unit));
        Choice { rest: choice.rest, units: units.map(|(unit, index)| (*unit, *index)).collect() }
    }
}

/// Which of its versions a unit holds; one beyond the newest is the newest.
fn index(unit: Unit, versions: &[Content], choice: &Choice) -> usize {
    let newest = versions.len() - 1;
    match (choice.units.get(&unit), choice.rest) {
        (Some(index), _) => newest.min(*index as usize),
        (None, Rest::Newest) => newest,
        (None, Rest::Oldest) => 0,
    }
}

/// What every unit holds if nothing volatile is there. Cloned for each point, so parts that did not change are shared.
#[derive(Debug, Clone, Default)]
struct Durable {
    /// By number; one that is absent holds zeros.
    parts: BTreeMap<u32, Arc<[Content; PART_UNITS as usize]>>,
}

/// Units that are copied together when one of them changes. 2,000 points, with 50 units changed anywhere on 800 MiB before each,
/// took 390 MB with 1,024 and take 160 MB with 256 (resident, less the log).
const PART_UNITS: u32 = 256;

impl Durable {
    fn get(&self, unit: Unit) -> Content {
        self.parts.get(&(unit / PART_UNITS)).map_or(Content::ZEROS, |part| part[(unit % PART_UNITS) as usize])
    }

    fn set(&mut self, unit: Unit, content: Content) {
        if self.get(unit) != content {
            let zeros = || Arc::new([Content::ZEROS; PART_UNITS as usize]);
            let part = self.parts.entry(unit / PART_UNITS).or_insert_with(zeros);
            Arc::make_mut(part)[(unit % PART_UNITS) as usize] = content;
        }
    }

    /// The units that hold something else in the other.
    fn differing(&self, other: &Durable) -> Vec<Unit> {
        let numbers: BTreeSet<u32> = self.parts.keys().chain(other.parts.keys()).copied().collect();
        let both = |number: &u32| self.parts.get(number).zip(other.parts.get(number));
        let is_same = |number: &u32| both(number).is_some_and(|(ours, theirs)| Arc::ptr_eq(ours, theirs));
        let units = |number| (0..PART_UNITS).map(move |place| number * PART_UNITS + place);
        let parts = numbers.into_iter().filter(|number| !is_same(number));
        parts.flat_map(units).filter(|unit| self.get(*unit) != other.get(*unit)).collect()
    }

    /// The units of a range that do not hold zeros, in order.
    fn written(&self, units: std::ops::Range<Unit>) -> impl Iterator<Item = Unit> + '_ {
        let parts = self.parts.range(units.start / PART_UNITS..=units.end / PART_UNITS);
        let of_part = |(number, part): (&u32, &Arc<[Content; PART_UNITS as usize]>)| {
            let (first, part) = (number * PART_UNITS, Arc::clone(part));
            (0..PART_UNITS).filter(move |&place| part[place as usize] != Content::ZEROS).map(move |place| first + place)
        };
        parts.flat_map(of_part).filter(move |unit| units.contains(unit))
    }
}

/// What the units hold that a choice does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// Everything that was written is there.
    #[default]
    Newest,
    /// Nothing volatile is there.
    Oldest,
}

/// One of the legal images at a point; the default is that everything is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Choice {
    /// What the other units hold.
    pub rest: Rest,
    /// The version that a unit holds, as an index into its versions of [`Point::undecided`].
    pub units: BTreeMap<Unit, u32>,
}

/// An image by its point and its choice. Written as `point:rest:unit=version,unit=version`, as `17:newest:120=0,133=1` or
/// `17:oldest`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// Index into [`History::points`].
    pub point: usize,
    /// What is there.
    pub choice: Choice,
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let rest = if self.choice.rest == Rest::Newest { "newest" } else { "oldest" };
        write!(f, "{}:{rest}", self.point)?;
        for (place, (unit, version)) in self.choice.units.iter().enumerate() {
            write!(f, "{}{unit}={version}", if place == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

/// A name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is not the name of an image: one looks like `17:newest:120=0,133=1` (point, what the rest holds, unit=version)"
)]
pub struct NameError(pub String);

impl FromStr for Image {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Image, NameError> {
        parse(name).ok_or_else(|| NameError(name.into()))
    }
}

fn parse(name: &str) -> Option<Image> {
    let mut parts = name.splitn(3, ':');
    let point = parts.next()?.parse().ok()?;
    let rest = match parts.next()? {
        "newest" => Rest::Newest,
        "oldest" => Rest::Oldest,
        _ => return None,
    };
    let mut units = BTreeMap::new();
    for unit in parts.next().into_iter().flat_map(|list| list.split(',')) {
        let (unit, version) = unit.split_once('=')?;
        if units.insert(unit.parse().ok()?, version.parse().ok()?).is_some() {
            return None;
        }
    }
    Some(Image { point, choice: Choice { rest, units } })
}

#[cfg(test)]
pub(crate) mod tests;
