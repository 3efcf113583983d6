//! The disk after a power cut, in memory: a file that a loop device is put on, with an image that the log's rules allow.
//!
//! Shows the same images as the disk's process does ([`super`]), but the kernel serves it by itself, which takes about a tenth of
//! the time of a question to another process. In return somebody has to tell what a recovery did to it: the block layer's trace.

use super::Breaker;
use super::images::pieces;
use crate::block_trace::{Line, QUEUED, SECTOR_BYTES, Sectors, parse};
use crate::states::{Choice, Content, History, Unit};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// The events of the block layer that [`MemoryDisk::follow`] needs.
pub const EVENTS: &[&str] = &[QUEUED];

/// A disk that shows images of a log's points.
#[derive(Debug)]
pub struct MemoryDisk<'a, B: AsRef<[u8]>> {
    history: &'a History<B>,
    file: File,
    point: usize,
    choice: Choice,
    /// What was done to the image since it was shown; none: nobody saw it.
    done: Option<Done>,
}

/// What was done to an image.
#[derive(Debug, Default)]
struct Done {
    /// Undecided units that were read before they were overwritten, in order, and the same for asking.
    read: Vec<Unit>,
    was_read: HashSet<Unit>,
    /// The sectors of units that were written, a bit each.
    written: HashMap<Unit, u64>,
}

impl<'a, B: AsRef<[u8]>> MemoryDisk<'a, B> {
    /// Begins with what the last point leaves when all had been written.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(history: &'a History<B>) -> io::Result<MemoryDisk<'a, B>> {
        let file = File::from(memfd_create("surefoot-disk", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?);
        let point = history.points().len() - 1;
        let mut disk = MemoryDisk { history, file, point, choice: Choice::default(), done: None };
        disk.show(point, &Choice::default())?;
        Ok(disk)
    }

    /// Leads to the file as long as this lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Shows another image; all that was written is gone.
    ///
    /// # Errors
    /// When there is no memory for it, or the disk was ended.
    pub fn show(&mut self, point: usize, choice: &Choice) -> io::Result<()> {
        let (old, new) = (&self.history.points()[self.point], &self.history.points()[point]);
        match &self.done {
            None => {
                self.file.set_len(0)?;
                self.file.set_len(self.history.disk_bytes)?;
                let undecided = new.undecided.keys().filter(|unit| new.held(**unit, choice) != Content::ZEROS);
                new.written().chain(undecided.copied()).try_for_each(|unit| self.put(unit, new.held(unit, choice)))?;
            }
            Some(done) => {
                let differ = |unit: &Unit| old.held(*unit, &self.choice) != new.held(*unit, choice);
                let undecided = old.undecided.keys().chain(new.undecided.keys()).copied();
                let mut units: Vec<Unit> = old.differing(new).into_iter().chain(undecided).filter(differ).collect();
                units.extend(done.written.keys());
                units.sort_unstable();
                units.dedup();
                units.into_iter().try_for_each(|unit| self.put(unit, new.held(unit, choice)))?;
            }
        }
        (self.point, self.choice, self.done) = (point, choice.clone(), Some(Done::default()));
        Ok(())
    }

    fn put(&self, unit: Unit, content: Content) -> io::Result<()> {
        let at = u64::from(unit) * u64::from(self.history.rules.unit_bytes);
        let bytes = self.history.content(content);
        let bytes = &bytes[..bytes.len().min((self.history.disk_bytes - at) as usize)];
        self.file.write_all_at(bytes, at)
    }

    /// Hears what was done since the image was shown: lines of the trace of its loop device. None: some are lost.
    pub fn follow(&mut self, trace: Option<&str>) {
        let Some(trace) = trace else {
            self.done = None;
            return;
        };
        for line in trace.lines().filter(|line| line.contains(QUEUED)) {
            match parse(line) {
                Some(Line { operation: b'R', sectors, .. }) => self.was_read(sectors),
                Some(line) => self.was_written(line.sectors),
                None => self.done = None,
            }
        }
    }

    /// Undecided units that were read before they were overwritten, in order; where nobody saw that, all.
    pub fn units_read(&self) -> Vec<Unit> {
        let undecided = || self.history.points()[self.point].undecided.keys().copied().collect();
        self.done.as_ref().map_or_else(undecided, |done| done.read.clone())
    }

    fn was_read(&mut self, sectors: Sectors) {
        let unit_bytes = self.history.rules.unit_bytes;
        let Some(done) = &mut self.done else { return };
        let undecided = &self.history.points()[self.point].undecided;
        for (unit, bits) in units(sectors, unit_bytes) {
            let is_old = bits & !done.written.get(&unit).copied().unwrap_or(0) != 0;
            if is_old && undecided.contains_key(&unit) && done.was_read.insert(unit) {
                done.read.push(unit);
            }
        }
    }

    fn was_written(&mut self, sectors: Sectors) {
        let unit_bytes = self.history.rules.unit_bytes;
        let Some(done) = &mut self.done else { return };
        for (unit, bits) in units(sectors, unit_bytes) {
            *done.written.entry(unit).or_default() |= bits;
        }
    }

    /// What takes it from under a recovery that hangs.
    ///
    /// # Errors
    /// When there is no further handle.
    pub fn breaker(&self) -> io::Result<Breaker> {
        self.file.try_clone().map(Breaker::Memory)
    }
}

/// The disk has nothing any more, and all that is written fails.
pub(super) fn end(file: &File) -> io::Result<()> {
    file.set_len(0)?;
    fcntl(file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_GROW))?;
    Ok(())
}

/// The units of a range of sectors, each with a bit for each sector of it in the range.
fn units((first, count): Sectors, unit_bytes: u32) -> impl Iterator<Item = (Unit, u64)> {
    let sectors = |bytes: usize| bytes as u64 / SECTOR_BYTES;
    pieces(first * SECTOR_BYTES, count * SECTOR_BYTES, unit_bytes as usize).map(move |(unit, start, length)| {
        let (start, end) = (sectors(start), sectors(start + length));
        (unit, (start..end).fold(0, |bits, sector| bits | 1 << sector))
    })
}

#[cfg(test)]
mod tests {
    use super::super::images::Images;
    use super::*;
    use crate::states::tests::{Step, log, write};
    use crate::states::{Cache, Rest, Rules};
    use proptest::prelude::*;

    const SECTORS: u64 = 64;

    /// What is done to a disk, by sectors.
    #[derive(Debug, Clone)]
    enum Act {
        Show(prop::sample::Index, Choice),
        Read(Sectors),
        Write(Sectors, u8),
        Discard(Sectors),
        Unseen,
    }

    fn sectors() -> impl Strategy<Value = Sectors> {
        (0..SECTORS - 20, 0..20_u64)
    }

    fn act() -> impl Strategy<Value = Act> {
        let units = prop::collection::btree_map(0..SECTORS as Unit, 0..2_u32, 0..5);
        let rest = prop_oneof![Just(Rest::Newest), Just(Rest::Oldest)];
        prop_oneof![
            3 => (any::<prop::sample::Index>(), rest, units).prop_map(|(point, rest, units)| Act::Show(point, Choice { rest, units })),
            6 => sectors().prop_map(Act::Read),
            6 => (sectors(), 1..=u8::MAX).prop_map(|(sectors, fill)| Act::Write(sectors, fill)),
            1 => sectors().prop_map(Act::Discard),
            1 => Just(Act::Unseen),
        ]
    }

    /// Writes of one to twenty sectors, a flush after every third.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        prop::collection::vec((0..SECTORS - 20, 1..20_usize, any::<u8>()), 1..20).prop_map(|writes| {
            let each = |(number, (sector, count, fill)): (usize, (u64, usize, u8))| {
                let request = number as u64 * 2;
                let flush = (number % 3 == 2).then_some([Step::Flush(request + 1), Step::Done(request + 1)]);
                let begin = (number == 1).then_some(Step::Begin);
                [write(request, sector, &vec![fill; count]), Step::Done(request)]
                    .into_iter()
                    .chain(flush.into_iter().flatten())
                    .chain(begin)
                    .collect::<Vec<_>>()
            };
            writes.into_iter().enumerate().flat_map(each).collect()
        })
    }

    /// As the kernel has a request in its trace.
    fn line(flags: &str, (first, count): Sectors) -> String {
        format!("  mount-9  [001] ..... 64804.010004: {QUEUED}: 7,0 {flags} {first} + {count} [mount]\n")
    }

    proptest! {
        /// Against the disk that another process serves.
        #[test]
        fn it_does_as_the_disks_process(steps in steps(), unit_sectors in prop_oneof![Just(1_u64), Just(8)], acts in prop::collection::vec(act(), 1..40)) {
            let rules = Rules { unit_bytes: (unit_sectors * SECTOR_BYTES) as u32, cache: Cache::Volatile };
            let bytes = log(SECTORS * SECTOR_BYTES, &steps);
            let history = History::new(bytes.clone(), rules).expect("a log");
            let mut images = Images::new(History::new(bytes, rules).expect("a log"));
            let mut disk = MemoryDisk::new(&history).expect("memory");
            let mut is_seen = true;
            let at = |(first, count): Sectors| (first * SECTOR_BYTES, (count * SECTOR_BYTES) as usize);
            for act in acts {
                match act {
                    Act::Show(point, choice) => {
                        let point = point.index(history.points().len());
                        let undecided = &history.points()[point].undecided;
                        let units = choice.units.into_iter().filter(|(unit, version)| undecided.get(unit).is_some_and(|all| (*version as usize) < all.len()));
                        let choice = Choice { rest: choice.rest, units: units.collect() };
                        images.show(point, choice.clone()).expect("it is there");
                        disk.show(point, &choice).expect("memory");
                        is_seen = true;
                    }
                    Act::Read(sectors) => {
                        let (offset, bytes) = at(sectors);
                        let (mut ours, mut theirs) = (vec![0; bytes], vec![0; bytes]);
                        disk.file.read_exact_at(&mut ours, offset).expect("it is as large");
                        images.read(offset, &mut theirs);
                        prop_assert!(ours == theirs);
                        disk.follow(Some(&line("RA", sectors)));
                    }
                    Act::Write(sectors, fill) => {
                        let (offset, bytes) = at(sectors);
                        disk.file.write_all_at(&vec![fill; bytes], offset).expect("memory");
                        images.write(offset, &vec![fill; bytes]);
                        disk.follow(Some(&line("FWFS", sectors)));
                    }
                    Act::Discard(sectors) => {
                        let (offset, bytes) = at(sectors);
                        disk.file.write_all_at(&vec![0; bytes], offset).expect("memory");
                        images.clear(offset, bytes as u64);
                        disk.follow(Some(&line("DS", sectors)));
                    }
                    Act::Unseen => {
                        disk.follow(None);
                        is_seen = false;
                    }
                }
                let (ours, theirs) = (disk.units_read(), images.units_read());
                if !is_seen {
                    prop_assert!(theirs.iter().all(|unit| ours.contains(unit)), "all that may have been");
                } else if unit_sectors == 1 {
                    prop_assert_eq!(&ours[..], theirs);
                } else {
                    // To write a part of a unit is a read there.
                    prop_assert!(ours.iter().all(|unit| theirs.contains(unit)));
                }
            }
        }
    }

    #[test]
    fn one_that_was_ended_is_empty_and_takes_nothing() {
        let steps = [write(0, 0, &[1; 8]), Step::Done(0), Step::Begin];
        let rules = Rules { unit_bytes: 4096, cache: Cache::Volatile };
        let history = History::new(log(SECTORS * SECTOR_BYTES, &steps), rules).expect("a log");
        let mut disk = MemoryDisk::new(&history).expect("memory");
        let there = std::fs::read(disk.path()).expect("a file");
        assert_eq!((there.len() as u64, there[4095], there[4096]), (SECTORS * SECTOR_BYTES, 1, 0));
        disk.breaker().expect("a handle").end();
        assert!(std::fs::read(disk.path()).expect("a file").is_empty());
        assert!(disk.file.write_all_at(&[1], 0).is_err());
        disk.follow(None);
        assert!(disk.show(0, &Choice::default()).is_err());
    }
}
