//! How long a drive takes: from a profile, a seed and the moments at which requests come follow the moments at which they are done.
//!
//! Pure: time is the caller's. Requests are done out of order, as a drive does them; a disk under test answers each when it is
//! due. A drive with a volatile cache acknowledges writes from there, and a flush takes as long as writing out all that is dirty.
//!
//! A virtual disk is the first part of a drive, from its outermost track on, and not a whole drive made small: its seeks are
//! as short as those of a partition of that size. Run once more over a recording's log, the model says what was on the medium
//! when (`medium`). What a drive writes out while it has nothing else to do, and where a
//! consumer SSD slows down after tens of gigabytes, is left out.

mod flash;
pub(crate) mod medium;
mod spindle;

use crate::states::Cache;
use crate::write_log::Operation;
use flash::Flash;
use medium::Written;
use serde::{Deserialize, Serialize};
use spindle::Spindle;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Of the drives of recordings, which can then be run once more.
pub const SEED: u64 = 1;

/// Whose times a disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Its own: as fast as it can be.
    #[default]
    None,
    /// A 10,000 rpm SCSI disk: Maxtor Atlas 10K V.
    #[serde(rename = "scsi-10k")]
    Scsi10k,
    /// A 7,200 rpm SATA disk of about 4 TB.
    #[serde(rename = "sata-7200")]
    Sata7200,
    /// An NVMe SSD without power-loss protection.
    ConsumerSsd,
    /// A data-centre NVMe SSD with power-loss protection.
    NvmePlp,
}

/// What a drive is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// To read.
    Read {
        /// In bytes.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// To write.
    Write {
        /// In bytes.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// To make durable what its cache holds.
    Flush,
    /// Something that moves no data: a discard.
    Command,
}

impl Work {
    /// What a request for a write or a flush means to a drive. Zeros and discards are commands without data.
    pub fn of(operation: &Operation) -> Work {
        match *operation {
            Operation::Write { offset, data } => Work::Write { offset, bytes: data.len() as u64 },
            Operation::Flush => Work::Flush,
            Operation::Zero { .. } | Operation::Discard { .. } => Work::Command,
        }
    }
}

/// A drive at work.
#[derive(Debug)]
pub struct Model {
    drive: Drive,
    done: Done,
}

#[derive(Debug)]
enum Drive {
    Spindle(Spindle),
    Flash(Flash),
}

/// Requests whose end is known, and what they brought onto the medium.
#[derive(Debug, Default)]
struct Done {
    /// When, and which.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// None: nobody wants to know.
    written: Option<Vec<Written>>,
}

impl Done {
    fn push(&mut self, at_nanoseconds: u64, ticket: usize) {
        self.due.push(Reverse((at_nanoseconds, ticket)));
    }

    fn wrote(&mut self, written: Written) {
        if let Some(all) = &mut self.written {
            all.push(written);
        }
    }
}

impl Model {
    /// A drive of this profile, whose times are the same for the same seed; none where nothing is delayed. A cache that lies takes the time of one that does not.
    pub fn new(profile: Profile, cache: Cache, seed: u64) -> Option<Model> {
        let is_volatile = cache != Cache::WriteThrough;
        let drive = match profile {
            Profile::None => return None,
            Profile::Scsi10k => Drive::Spindle(Spindle::new(&spindle::ATLAS_10K_V, is_volatile, seed)),
            Profile::Sata7200 => Drive::Spindle(Spindle::new(&spindle::SATA_7200, is_volatile, seed)),
            Profile::ConsumerSsd => Drive::Flash(Flash::new(&flash::CONSUMER, is_volatile, seed)),
            Profile::NvmePlp => Drive::Flash(Flash::new(&flash::DATA_CENTRE, is_volatile, seed)),
        };
        Some(Model { drive, done: Done::default() })
    }

    /// A request comes. Time never goes back; the ticket is the caller's name for it.
    pub fn submit(&mut self, now_nanoseconds: u64, ticket: usize, work: Work) {
        match &mut self.drive {
            Drive::Spindle(spindle) => spindle.submit(now_nanoseconds, ticket, work, &mut self.done),
            Drive::Flash(flash) => flash.submit(now_nanoseconds, ticket, work, &mut self.done),
        }
    }

    /// When the next request is done; none: nothing is under way.
    pub fn next_due(&mut self, now_nanoseconds: u64) -> Option<u64> {
        if let Drive::Spindle(spindle) = &mut self.drive {
            spindle.advance(now_nanoseconds, &mut self.done);
        }
        self.done.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The first request that is done by now, which is then forgotten.
    pub fn take_done(&mut self, now_nanoseconds: u64) -> Option<usize> {
        self.next_due(now_nanoseconds).filter(|due| *due <= now_nanoseconds)?;
        self.done.due.pop().map(|Reverse((_, ticket))| ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use random::SplitMix64;

    const MILLISECOND: f64 = 1e6;

    /// Does one after the other, each so long after the one before, and gives how long each took.
    fn one_by_one(model: &mut Model, pause_nanoseconds: u64, all: impl IntoIterator<Item = Work>) -> Vec<f64> {
        let mut now = 0;
        let mut took = Vec::new();
        for work in all {
            model.submit(now, 0, work);
            let due = model.next_due(now).expect("one is under way");
            assert_eq!(model.take_done(due), Some(0));
            took.push((due - now) as f64);
            now = due + pause_nanoseconds;
        }
        took
    }

    fn mean(all: &[f64]) -> f64 {
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// Reads of 4 KiB all over the drive.
    fn random_reads(drive_bytes: u64, count: usize) -> Vec<Work> {
        let mut chance = SplitMix64::new(7);
        (0..count)
            .map(|_| Work::Read { offset: chance.next_u64() % (drive_bytes / 4096) * 4096, bytes: 4096 })
            .collect()
    }

    fn assert_near(found: f64, expected: f64, share: f64) {
        assert!((found / expected - 1.0).abs() < share, "{found} is not within {share} of {expected}");
    }

    #[test]
    fn a_random_read_takes_seek_and_half_a_revolution() {
        // Mean seek, half a revolution, overhead.
        for (profile, drive, milliseconds) in [
            (Profile::Scsi10k, &spindle::ATLAS_10K_V, 4.83 + 3.0 + 0.2),
            (Profile::Sata7200, &spindle::SATA_7200, 8.2 + 4.17 + 0.1),
        ] {
            let mut model = Model::new(profile, Cache::Volatile, 1).expect("a drive");
            let took = one_by_one(&mut model, 0, random_reads(drive.bytes(), 20_000));
            assert_near(mean(&took) / MILLISECOND, milliseconds, 0.02);
        }
    }

    #[test]
    fn a_log_on_a_7200_rpm_disk_appends_once_a_revolution() {
        let mut model = Model::new(Profile::Sata7200, Cache::Volatile, 1).expect("a drive");
        let appends = (0..50).flat_map(|block| [Work::Write { offset: block * 4096, bytes: 4096 }, Work::Flush]);
        let pause = 50_000;
        let took = one_by_one(&mut model, pause, appends);
        let periods: Vec<f64> = took.chunks(2).skip(1).map(|both| both[0] + both[1] + 2.0 * pause as f64).collect();
        let revolution = 60e9 / 7200.0;
        assert!(periods.iter().all(|period| *period > 0.999 * revolution), "{periods:?}");
        assert_near(mean(&periods), revolution, 0.05);
    }

    #[test]
    fn a_cached_write_is_fast_and_a_flush_pays_for_it() {
        let mut model = Model::new(Profile::Sata7200, Cache::Volatile, 1).expect("a drive");
        let far = (0..10).map(|index| Work::Write { offset: index * 100_000_000, bytes: 4096 });
        let took = one_by_one(&mut model, 0, far.chain([Work::Flush, Work::Flush]));
        assert!(took[..10].iter().all(|write| *write < 0.3 * MILLISECOND), "{took:?}");
        assert!(took[10] > 10.0 * MILLISECOND, "{took:?}");
        assert!(took[11] < 0.3 * MILLISECOND, "nothing is dirty any more: {took:?}");
    }

    #[test]
    fn a_disk_without_a_write_cache_writes_at_once_and_flushes_nothing() {
        let mut model = Model::new(Profile::Scsi10k, Cache::WriteThrough, 1).expect("a drive");
        let appends = (0..20).flat_map(|block| [Work::Write { offset: block * 4096, bytes: 4096 }, Work::Flush]);
        let took = one_by_one(&mut model, 0, appends);
        assert!(took.iter().skip(2).step_by(2).all(|write| *write > 5.0 * MILLISECOND), "{took:?}");
        assert!(took.iter().skip(1).step_by(2).all(|flush| *flush < 0.3 * MILLISECOND), "{took:?}");
    }

    #[test]
    fn a_full_cache_writes_as_slowly_as_the_platter() {
        let mut model = Model::new(Profile::Sata7200, Cache::Volatile, 1).expect("a drive");
        let all = (0..80).map(|index| Work::Write { offset: index * 50_000_000, bytes: 1 << 20 });
        let took = one_by_one(&mut model, 0, all);
        assert!(took[60] < 4.0 * MILLISECOND && took[70] > 6.0 * MILLISECOND, "{took:?}");
    }

    #[test]
    fn reading_on_is_as_fast_as_the_platter_turns() {
        for (profile, megabytes_per_second) in [(Profile::Scsi10k, 90.0), (Profile::Sata7200, 160.0)] {
            let mut model = Model::new(profile, Cache::Volatile, 1).expect("a drive");
            let all = (0..1000).map(|index| Work::Read { offset: index << 20, bytes: 1 << 20 });
            let took = one_by_one(&mut model, 0, all);
            assert_near((1_u64 << 20) as f64 / mean(&took) * 1000.0, megabytes_per_second, 0.05);
        }
    }

    #[test]
    fn many_at_once_are_done_in_a_better_order() {
        let one = Model::new(Profile::Sata7200, Cache::Volatile, 1);
        let reads = random_reads(spindle::SATA_7200.bytes(), 32);
        let alone: f64 = one_by_one(&mut one.expect("a drive"), 0, reads.clone()).iter().sum();
        let mut model = Model::new(Profile::Sata7200, Cache::Volatile, 1).expect("a drive");
        reads.iter().enumerate().for_each(|(ticket, work)| model.submit(0, ticket, *work));
        let (mut now, mut order) = (0, Vec::new());
        while let Some(due) = model.next_due(now) {
            now = due;
            order.extend(model.take_done(now));
        }
        assert!(!order.is_sorted() && order.len() == 32);
        assert!(alone / now as f64 > 1.7, "{}", alone / now as f64);
    }

    #[test]
    fn protected_flash_flushes_in_no_time() {
        let mut model = Model::new(Profile::NvmePlp, Cache::WriteThrough, 1).expect("a drive");
        let write = |block: u64| Work::Write { offset: block * 4096, bytes: 4096 };
        let took = one_by_one(&mut model, 10_000, [write(9), write(10), write(500), Work::Flush]);
        assert_eq!(took, [20_000.0, 13_000.0, 20_000.0, 0.0]);
    }

    #[test]
    fn other_flash_flushes_in_about_a_millisecond() {
        let mut model = Model::new(Profile::ConsumerSsd, Cache::Volatile, 1).expect("a drive");
        let all = (0..200).flat_map(|block| [Work::Write { offset: block * 4096, bytes: 4096 }, Work::Flush]);
        let took = one_by_one(&mut model, 0, all);
        let flushes: Vec<f64> = took.iter().skip(1).step_by(2).copied().collect();
        assert!(flushes.iter().all(|flush| (0.6..1.7).contains(&(flush / MILLISECOND))), "{flushes:?}");
        assert_near(mean(&flushes) / MILLISECOND, 1.1, 0.1);
    }

    /// A write had been as fast as into the cache, and durable: fifty times as fast as with a flush.
    #[test]
    fn other_flash_without_a_cache_pays_with_each_write() {
        let mut model = Model::new(Profile::ConsumerSsd, Cache::WriteThrough, 1).expect("a drive");
        let all = (0..200).flat_map(|block| [Work::Write { offset: block * 4096, bytes: 4096 }, Work::Flush]);
        let took = one_by_one(&mut model, 0, all);
        let (writes, flushes): (Vec<f64>, Vec<f64>) = took.chunks(2).map(|both| (both[0], both[1])).unzip();
        assert!(writes.iter().all(|write| (0.6..1.7).contains(&(write / MILLISECOND))), "{writes:?}");
        assert_near(mean(&writes) / MILLISECOND, 1.1, 0.1);
        assert!(flushes.iter().all(|flush| *flush == 0.0), "nothing is dirty: {flushes:?}");
    }

    #[test]
    fn flash_does_many_at_once_up_to_its_rate() {
        for (profile, reads_per_second) in [(Profile::ConsumerSsd, 427_000.0), (Profile::NvmePlp, 645_000.0)] {
            let mut model = Model::new(profile, Cache::Volatile, 1).expect("a drive");
            let reads = random_reads(1 << 30, 10_000);
            reads.iter().enumerate().for_each(|(ticket, work)| model.submit(0, ticket, *work));
            let mut now = 0;
            while let Some(due) = model.next_due(now) {
                now = due;
                model.take_done(now);
            }
            assert_near(10_000.0 / now as f64 * 1e9, reads_per_second, 0.02);
        }
    }

    #[test]
    fn profiles_have_the_names_of_a_study() {
        let all = [Profile::None, Profile::Scsi10k, Profile::Sata7200, Profile::ConsumerSsd, Profile::NvmePlp];
        let names = serde_json::to_string(&all).expect("text");
        assert_eq!(names, r#"["none","scsi-10k","sata-7200","consumer-ssd","nvme-plp"]"#);
    }

    fn works() -> impl Strategy<Value = Work> {
        let place = || (0u64..1 << 20, 1u64..300);
        prop_oneof![
            place().prop_map(|(block, blocks)| Work::Read { offset: block * 4096, bytes: blocks * 4096 }),
            place().prop_map(|(block, blocks)| Work::Write { offset: block * 4096, bytes: blocks * 4096 }),
            Just(Work::Flush),
            Just(Work::Command),
        ]
    }

    proptest! {
        #[test]
        fn every_request_is_done_once_and_again_so(
            all in proptest::collection::vec((works(), 0u64..5_000_000), 0..100),
            profile in prop_oneof![
                Just(Profile::Scsi10k), Just(Profile::Sata7200), Just(Profile::ConsumerSsd), Just(Profile::NvmePlp)
            ],
            cache in prop_oneof![Just(Cache::Volatile), Just(Cache::WriteThrough), Just(Cache::Lying)],
        ) {
            let run = || {
                let mut model = Model::new(profile, cache, 3).expect("a drive");
                let (mut now, mut done) = (0, Vec::new());
                let mut submitted = Vec::new();
                for (ticket, (work, pause)) in all.iter().enumerate() {
                    let until = now + pause;
                    while let Some(due) = model.next_due(now).filter(|due| *due <= until) {
                        now = due.max(now);
                        done.extend(model.take_done(now).map(|ticket| (ticket, now)));
                    }
                    now = until;
                    submitted.push(now);
                    model.submit(now, ticket, *work);
                }
                while let Some(due) = model.next_due(now) {
                    now = due.max(now);
                    done.extend(model.take_done(now).map(|ticket| (ticket, now)));
                }
                (submitted, done)
            };
            let (submitted, done) = run();
            let mut tickets: Vec<usize> = done.iter().map(|(ticket, _)| *ticket).collect();
            tickets.sort_unstable();
            prop_assert_eq!(tickets, (0..all.len()).collect::<Vec<_>>());
            prop_assert!(done.iter().all(|(ticket, at)| submitted[*ticket] <= *at));
            prop_assert_eq!(run(), (submitted, done));
        }
    }
}
