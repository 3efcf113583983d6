//! Cuts at random moments: which of the legal images a disk would really have left.
//!
//! Power fails at any instant of the measured part, all alike. Each unit then holds what the drive had on its medium: the model of
//! the recording's drive says so (`timing/medium.rs`), and where the disk had promised more, the promise counts. A
//! disk without a drive's times, and one whose cache lies, has no model: there each unit holds its newest completed version or
//! its durable one, as a coin falls.
//!
//! An image that is legal at a moment is legal at the next point, too, and is named as one of that point's.

use super::open::{Change, Open, Span, Store};
use super::{Cache, Choice, Content, Image, Point, Rest, Rules, Unit};
use crate::timing::Profile;
use crate::timing::medium::{Reached, reached};
use crate::write_log::{Error, Event, Reader};
use random::SplitMix64;
use std::collections::{HashMap, VecDeque};
use std::iter::Peekable;

/// Which random cuts are to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Equal seeds draw equal cuts.
    pub seed: u64,
    /// The drive whose times the recording had.
    pub profile: Profile,
    /// When the load ended, by `CLOCK_MONOTONIC`; the log's end if that is later.
    pub until_nanoseconds: u64,
}

/// A cut at a random moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RandomCut {
    /// When, by `CLOCK_MONOTONIC`.
    pub at_nanoseconds: u64,
    /// What it left, as an image of the next point.
    pub image: Image,
}

/// More than a search comes to, on most disks.
const CUTS: usize = 1 << 10;
/// On a disk without a volatile cache most go with points that are left out; those that stay are small.
const CUTS_WITHOUT_CACHE: usize = 1 << 14;

/// A cut at a point that has its images.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    /// In the order of drawing.
    pub(super) number: usize,
    pub(super) at_nanoseconds: u64,
    pub(super) choice: Choice,
}

/// A cut whose point is still to come.
struct Pending {
    number: usize,
    at_nanoseconds: u64,
    /// What is there beyond what is durable.
    held: Vec<(Unit, Content)>,
}

/// What decides what a unit holds.
enum Held {
    Coin(SplitMix64),
    Medium { to_come: Peekable<std::vec::IntoIter<Reached>>, before: HashMap<Unit, u64> },
}

/// Draws cuts while a log is gone through.
pub(super) struct CrashPoints {
    /// In order of time: when, and the number in the order of drawing.
    to_come: VecDeque<(u64, usize)>,
    held: Held,
    pending: Vec<Pending>,
    is_lying: bool,
}

impl CrashPoints {
    /// For a log.
    pub(super) fn new(log: &[u8], rules: Rules, draw: &Draw) -> Result<CrashPoints, Error> {
        let mut chance = SplitMix64::new(draw.seed ^ 0x006d_6f6d_656e_7473);
        let is_lying = rules.cache == Cache::Lying;
        let count = if rules.cache == Cache::WriteThrough { CUTS_WITHOUT_CACHE } else { CUTS };
        let mut to_come: Vec<(u64, usize)> = match measured(log)? {
            Some((begin, end)) => {
                let span = (end.max(draw.until_nanoseconds) - begin) as f64;
                (0..count).map(|number| (begin + chance.between((0.0, span)) as u64, number)).collect()
            }
            None => Vec::new(),
        };
        to_come.sort_unstable();
        let held = match reached(log, rules, draw.profile)?.filter(|_| !is_lying) {
            Some(all) => Held::Medium { to_come: all.into_iter().peekable(), before: HashMap::new() },
            None => Held::Coin(chance),
        };
        Ok(CrashPoints { to_come: to_come.into(), held, pending: Vec::new(), is_lying })
    }

    /// The next moment, if it comes before this.
    pub(super) fn next_before(&mut self, at_nanoseconds: u64) -> Option<(u64, usize)> {
        self.to_come.front().filter(|(moment, _)| *moment < at_nanoseconds)?;
        self.to_come.pop_front()
    }

    /// Cuts power at a moment; given the units of which something is volatile, each with what is durable of it.
    pub(super) fn cut<'a>(
        &mut self,
        (at_nanoseconds, number): (u64, usize),
        open: impl Iterator<Item = (Unit, &'a Open, Content)>,
        changes: &[Span],
        store: &mut Store<'_>,
    ) {
        if let Held::Medium { to_come, before } = &mut self.held {
            while let Some(reached) = to_come.next_if(|reached| reached.at_nanoseconds <= at_nanoseconds) {
                let known = before.entry(reached.unit).or_default();
                *known = reached.before.max(*known);
            }
        }
        let mut held = Vec::new();
        for (unit, open, durable) in open {
            let is_there = |change: Change| match &self.held {
                Held::Coin(_) => changes[change].done.is_some(),
                Held::Medium { before, .. } => changes[change].submitted < before.get(&unit).copied().unwrap_or(0),
            };
            let content = open.content(store, is_there);
            let is_kept = if let Held::Coin(chance) = &mut self.held { chance.index(2) == 0 } else { true };
            if content != durable && is_kept {
                held.push((unit, content));
            }
        }
        self.pending.push(Pending { number, at_nanoseconds, held });
    }

    /// A point is here, and is kept or left out, with the cuts since the last one.
    pub(super) fn pass(&mut self, point: Option<&mut Point>, is_end: bool) {
        if self.is_lying && !is_end {
            // The end has their images, too, and is never left out.
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let Some(point) = point else { return };
        for Pending { number, at_nanoseconds, held } in pending {
            let named = |(unit, content): (Unit, Content)| {
                let version = point.undecided.get(&unit)?.iter().position(|version| *version == content)?;
                Some((unit, version as u32))
            };
            let units = held.into_iter().filter_map(named).collect();
            point.drawn.push(Drawn { number, at_nanoseconds, choice: Choice { rest: Rest::Oldest, units } });
        }
    }

    /// The measured part begins only now.
    pub(super) fn begin(&mut self) {
        self.pending.clear();
    }
}

/// The cuts that points have, in the order of drawing.
pub(super) fn all(points: &[Point]) -> Vec<RandomCut> {
    let mut all: Vec<(usize, RandomCut)> = Vec::new();
    for (point, at) in points.iter().enumerate() {
        all.extend(at.drawn.iter().map(|drawn| {
            let image = Image { point, choice: drawn.choice.clone() };
            (drawn.number, RandomCut { at_nanoseconds: drawn.at_nanoseconds, image })
        }));
    }
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, cut)| cut).collect()
}

/// From when to when a log was measured.
fn measured(log: &[u8]) -> Result<Option<(u64, u64)>, Error> {
    let (mut begin, mut end) = (None, 0);
    for event in Reader::new(log)? {
        let event = event?;
        end = event.at_nanoseconds().max(end);
        if let Event::Begin { at_nanoseconds } = event {
            begin = Some(at_nanoseconds);
        }
    }
    Ok(begin.map(|begin| (begin, end)))
}

#[cfg(test)]
mod tests;
