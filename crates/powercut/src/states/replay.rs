//! Goes through a log once and keeps, at every record, what is durable and what may be there: the rules at work.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::contents::{Content, Contents};
use super::crash_points::CrashPoints;
use super::open::{Change, Open, Span, Store, Version};
use super::{Cache, Durable, History, Point, Rules, Unit};
use crate::write_log::{Error, Event, Operation, Reader, Request};

/// Goes through a log, and cuts power at these moments, too.
pub(super) fn replay<B: AsRef<[u8]>>(kept: B, rules: Rules, cuts: Option<CrashPoints>) -> Result<History<B>, Error> {
    assert!(rules.unit_bytes >= 512 && rules.unit_bytes.is_power_of_two(), "units of {} bytes", rules.unit_bytes);
    let log = kept.as_ref();
    let reader = Reader::new(log)?;
    let disk_bytes = reader.disk_bytes;
    if disk_bytes.div_ceil(u64::from(rules.unit_bytes)) > u64::from(Unit::MAX) {
        return Err(Error::Large { disk_bytes, unit_bytes: rules.unit_bytes });
    }
    let only = only(log)?;
    let mut replay = Replay {
        rules,
        store: Store { log, contents: Contents::new(rules.unit_bytes as usize) },
        durable: Durable::default(),
        durable_hash: 0,
        open: BTreeMap::new(),
        changes: Vec::new(),
        under_way: HashMap::new(),
        zeros_under_way: Vec::new(),
        completed: Vec::new(),
        durable_completed: 0,
        record: 0,
        is_measured: false,
        points: Points::new(rules.cache),
        abridged: BTreeSet::new(),
        crash_points: cuts,
        named: only.values().flatten().map(|write| (*write, Change::MAX)).collect(),
        only,
        writes: 0,
        flushes: 0,
    };
    let mut end = 0;
    for event in reader {
        let event = event?;
        let at_nanoseconds = event.at_nanoseconds();
        end = end.max(at_nanoseconds);
        replay.cut_at_moments_before(at_nanoseconds);
        replay.event(&event);
        replay.record += 1;
    }
    replay.cut_at_moments_before(u64::MAX);
    let mut last = replay.cut(end);
    replay.pass(Some(&mut last), true);
    replay.points.keep(last);
    let Replay { store: Store { contents, .. }, points, abridged, writes, flushes, .. } = replay;
    // On a disk that makes nothing durable every earlier image is one of the end's too.
    let points_left_out = if rules.cache == Cache::Lying { 0 } else { points.left_out };
    let (points, units_abridged) = (points.all, abridged.len() as u64);
    Ok(History { log: kept, rules, disk_bytes, contents, points, points_left_out, units_abridged, writes, flushes })
}

/// The flushes that were asked for by single writes alone, with these.
fn only(log: &[u8]) -> Result<HashMap<Request, Vec<Request>>, Error> {
    let mut only: HashMap<Request, Vec<Request>> = HashMap::new();
    for event in Reader::new(log)? {
        if let Event::Only { flush, write } = event? {
            only.entry(flush).or_default().push(write);
        }
    }
    Ok(only)
}

/// A request that is not completed.
enum UnderWay {
    Change(Change),
    /// Covers the first so many of the completed changes.
    Flush(usize),
    /// Covers these.
    FlushOnly(Vec<Change>),
}

struct Replay<'a> {
    rules: Rules,
    store: Store<'a>,
    durable: Durable,
    durable_hash: u128,
    open: BTreeMap<Unit, Open>,
    changes: Vec<Span>,
    under_way: HashMap<Request, UnderWay>,
    /// Zeros and discards among them.
    zeros_under_way: Vec<Change>,
    /// In order of completion; the first so many are durable.
    completed: Vec<Change>,
    durable_completed: usize,
    /// The record that is looked at.
    record: u64,
    is_measured: bool,
    points: Points,
    /// Units of which more may be there than a point has named.
    abridged: BTreeSet<Unit>,
    crash_points: Option<CrashPoints>,
    only: HashMap<Request, Vec<Request>>,
    /// The changes of the writes in there.
    named: HashMap<Request, Change>,
    writes: u64,
    flushes: u64,
}

impl<'a> Replay<'a> {
    fn event(&mut self, event: &Event<'a>) {
        match *event {
            Event::Begin { .. } => {
                self.make_durable(self.completed.len());
                self.is_measured = true;
                self.points = Points::new(self.rules.cache);
                self.crash_points.iter_mut().for_each(CrashPoints::begin);
                (self.writes, self.flushes) = (0, 0);
            }
            Event::Submitted { request, operation: Operation::Flush, .. } => {
                self.flushes += 1;
                let covers = match self.only.get(&request) {
                    Some(writes) => UnderWay::FlushOnly(writes.iter().map(|write| self.named[write]).collect()),
                    None => UnderWay::Flush(self.completed.len()),
                };
                self.under_way.insert(request, covers);
            }
            Event::Submitted { request, operation, .. } => {
                self.writes += 1;
                self.submit(request, &operation);
            }
            Event::Done { request, at_nanoseconds } => {
                if let Some(under_way) = self.under_way.remove(&request) {
                    self.done(&under_way, at_nanoseconds);
                }
            }
            Event::Only { .. } => {}
        }
    }

    fn done(&mut self, under_way: &UnderWay, at_nanoseconds: u64) {
        let cache = self.rules.cache;
        let is_point = match under_way {
            UnderWay::Change(_) => cache == Cache::WriteThrough,
            UnderWay::Flush(_) | UnderWay::FlushOnly(_) => cache != Cache::WriteThrough,
        };
        if self.is_measured && is_point {
            let mut point = self.points.is_due().then(|| self.cut(at_nanoseconds));
            self.pass(point.as_mut(), false);
            point.into_iter().for_each(|point| self.points.keep(point));
        }
        match *under_way {
            UnderWay::Change(change) => {
                self.changes[change].done = Some(self.record);
                let units = self.units(&self.changes[change].bytes);
                self.open.range_mut(units).for_each(|(_, open)| open.completed());
                self.zeros_under_way.retain(|other| *other != change);
                self.completed.push(change);
                if !self.is_measured || cache == Cache::WriteThrough {
                    self.make_durable(self.completed.len());
                }
            }
            UnderWay::Flush(covers) if cache == Cache::Volatile => self.make_durable(covers),
            UnderWay::FlushOnly(ref changes) if cache == Cache::Volatile => {
                changes.iter().for_each(|change| self.make_change_durable(*change));
            }
            UnderWay::Flush(_) | UnderWay::FlushOnly(_) => {}
        }
    }

    fn submit(&mut self, request: Request, operation: &Operation<'a>) {
        let (offset, length) = operation.place();
        let data = if let Operation::Write { data, .. } = *operation { Some(data) } else { None };
        let change = self.changes.len();
        let bytes = offset..offset + length;
        self.changes.push(Span { bytes: bytes.clone(), submitted: self.record, done: None });
        let units = self.units(&bytes);
        match data {
            Some(data) => units.for_each(|unit| {
                let version = self.written(change, unit, offset, data);
                self.add(unit, version);
            }),
            None => {
                // A unit that holds zeros for certain is passed over: a discard of the whole disk is one record.
                let open = self.open.range(units.clone()).map(|(unit, _)| *unit);
                let touched: BTreeSet<Unit> = open.chain(self.durable.written(units)).collect();
                for unit in touched {
                    let version = self.zeroed(change, unit);
                    self.add(unit, version);
                }
                self.zeros_under_way.push(change);
            }
        }
        if let Some(named) = self.named.get_mut(&request) {
            *named = change;
        }
        self.under_way.insert(request, UnderWay::Change(change));
    }

    /// The units that these bytes of the disk touch.
    fn units(&self, bytes: &Range<u64>) -> Range<Unit> {
        let unit_bytes = u64::from(self.rules.unit_bytes);
        if bytes.is_empty() { 0..0 } else { (bytes.start / unit_bytes) as Unit..bytes.end.div_ceil(unit_bytes) as Unit }
    }

    /// Which bytes of a unit a change touches.
    fn part(&self, change: Change, unit: Unit) -> Range<usize> {
        let unit_bytes = u64::from(self.rules.unit_bytes);
        let (start, bytes) = (u64::from(unit) * unit_bytes, &self.changes[change].bytes);
        let within = |at: u64| at.saturating_sub(start).min(unit_bytes) as usize;
        within(bytes.start)..within(bytes.end)
    }

    /// What a write does to a unit.
    fn written(&mut self, change: Change, unit: Unit, offset: u64, data: &'a [u8]) -> Version {
        let bytes = self.part(change, unit);
        let from = (u64::from(unit) * u64::from(self.rules.unit_bytes) + bytes.start as u64 - offset) as usize;
        let part = &data[from..from + bytes.len()];
        let Store { log, contents } = &mut self.store;
        let content = if part.len() == contents.unit_bytes() {
            // Where it stands in the log: both slices are of the log's bytes.
            contents.find(log, part.as_ptr() as usize - log.as_ptr() as usize)
        } else {
            let mut whole = vec![0; contents.unit_bytes()];
            whole[bytes.clone()].copy_from_slice(part);
            contents.make(&whole)
        };
        Version { change, bytes, content, is_durable: false }
    }

    /// What zeros do to a unit.
    fn zeroed(&self, change: Change, unit: Unit) -> Version {
        Version { change, bytes: self.part(change, unit), content: Content::ZEROS, is_durable: false }
    }

    fn add(&mut self, unit: Unit, version: Version) {
        if let Some(open) = self.open.get_mut(&unit) {
            return open.add(version);
        }
        let mut open = Open::new(self.durable.get(unit));
        // Zeros that are under way passed this unit over; from now on they are a version like others.
        for &zeros in &self.zeros_under_way {
            if self.units(&self.changes[zeros].bytes).contains(&unit) {
                open.add(self.zeroed(zeros, unit));
            }
        }
        open.add(version);
        self.open.insert(unit, open);
    }

    /// The first so many of the completed changes are durable.
    fn make_durable(&mut self, completed: usize) {
        while self.durable_completed < completed {
            let change = self.completed[self.durable_completed];
            self.durable_completed += 1;
            self.make_change_durable(change);
        }
    }

    fn make_change_durable(&mut self, change: Change) {
        // A log that was damaged may name a write that never came.
        let Some(span) = self.changes.get(change) else { return };
        let units: Vec<Unit> = self.open.range(self.units(&span.bytes)).map(|(unit, _)| *unit).collect();
        for unit in units {
            let Some(open) = self.open.get_mut(&unit) else { continue };
            let Some(now) = open.make_durable(change, &self.changes, &mut self.store) else { continue };
            let (before, contents) = (self.durable.get(unit), &self.store.contents);
            self.durable_hash ^= contents.share(unit, before) ^ contents.share(unit, now);
            self.durable.set(unit, now);
            // Nothing of it is volatile any more.
            if open.versions.is_empty() {
                self.open.remove(&unit);
            }
        }
    }

    /// What may be there if power fails now.
    fn cut(&mut self, at_nanoseconds: u64) -> Point {
        let mut newest_hash = self.durable_hash;
        let mut undecided = BTreeMap::new();
        for (&unit, open) in &mut self.open {
            let legal = open.legal(&self.changes, &mut self.store);
            if let [durable, .., newest] = *legal {
                let contents = &self.store.contents;
                newest_hash ^= contents.share(unit, durable) ^ contents.share(unit, newest);
                undecided.insert(unit, legal.to_vec());
            }
            if open.is_abridged() {
                self.abridged.insert(unit);
            }
        }
        let (durable, oldest_hash) = (self.durable.clone(), self.durable_hash);
        Point { at_nanoseconds, undecided, durable, oldest_hash, newest_hash, drawn: Vec::new() }
    }

    /// Cuts power at the random moments that come before this.
    fn cut_at_moments_before(&mut self, at_nanoseconds: u64) {
        let Some(moments) = &mut self.crash_points else { return };
        while let Some(moment) = moments.next_before(at_nanoseconds) {
            let open = self.open.iter().map(|(&unit, open)| (unit, open, self.durable.get(unit)));
            moments.cut(moment, open, &self.changes, &mut self.store);
        }
    }

    /// Tells the random cuts of the point that follows them, unless it was left out.
    fn pass(&mut self, point: Option<&mut Point>, is_end: bool) {
        if let Some(moments) = &mut self.crash_points {
            moments.pass(point, is_end);
        }
    }
}

/// The points that were kept. When there come too many, every second one goes, and from then on only every second is kept.
struct Points {
    all: Vec<Point>,
    most: usize,
    came: u64,
    every: u64,
    left_out: u64,
}

impl Points {
    fn new(cache: Cache) -> Points {
        let most = match cache {
            // More than a minute's flushes of a fast disk.
            Cache::Volatile => 1 << 16,
            // Each completed write is a point; a recovery on each of so many takes seconds to minutes.
            Cache::WriteThrough => 1 << 11,
            // The end has all their images; they hold every write since the beginning and take much memory.
            Cache::Lying => 1 << 6,
        };
        Points { all: Vec::new(), most, came: 0, every: 1, left_out: 0 }
    }

    /// Whether the point that comes now is to be kept.
    fn is_due(&mut self) -> bool {
        self.came += 1;
        let is_due = self.came.is_multiple_of(self.every);
        self.left_out += u64::from(!is_due);
        is_due
    }

    fn keep(&mut self, mut point: Point) {
        let is_equal =
            |last: &Point, point: &Point| last.oldest_hash == point.oldest_hash && last.undecided == point.undecided;
        if self.all.last().is_some_and(|last| is_equal(last, &point))
            && let Some(mut last) = self.all.pop()
        {
            // The same images, but more may have been acknowledged.
            point.drawn.append(&mut last.drawn);
        }
        self.all.push(point);
        if self.all.len() > self.most {
            let before = self.all.len();
            let mut place = 0;
            self.all.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.left_out += (before - self.all.len()) as u64;
            self.every *= 2;
        }
    }
}
