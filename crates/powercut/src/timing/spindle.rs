//! A drive with platters: seek, rotation, transfer, and a cache that is written out in the order of the tracks.
//!
//! T = overhead + max(seek, head switch) + settling if it writes + what is left of the revolution + transfer, as in DiskSim's
//! `dm_mech_g1`. Tracks are skewed by the head switch, so that reading on loses no revolution. Of the requests that the drive
//! knows at once it does next the one that it reaches first.

use super::medium::Written;
use super::{Done, Work};
use random::SplitMix64;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// What tells one drive from another.
#[derive(Debug)]
pub(super) struct Mechanics {
    revolutions_per_minute: f64,
    seek: Seek,
    cylinders: u64,
    heads: u64,
    /// Of the outermost tracks.
    track_bytes: u64,
    head_switch_milliseconds: f64,
    write_settle_milliseconds: f64,
    overhead_milliseconds: f64,
    bus_bytes_per_second: f64,
    /// Requests that the drive knows at once.
    queue_depth: usize,
    cache_bytes: u64,
}

/// Time of a seek by its distance in cylinders, fitted to curves that were extracted from real drives.
#[derive(Debug)]
struct Seek {
    /// Of the drive that was fitted.
    cylinders: f64,
    /// To the next one.
    next_milliseconds: f64,
    /// Up to here it grows with the root.
    near_cylinders: f64,
    /// a + b·√d.
    near_milliseconds: (f64, f64),
    /// a + b·d.
    far_milliseconds: (f64, f64),
    /// 1, or what makes another drive's mean of it.
    factor: f64,
}

/// Maxtor Atlas 10K V, 300 GB: fit to DiskSim's extracted curve. Settling is that of its forerunner, the Atlas 10K. 1,075 sectors
/// a track make 90 MB/s of it.
pub(super) const ATLAS_10K_V: Mechanics = Mechanics {
    revolutions_per_minute: 10_001.0,
    seek: Seek {
        cylinders: 80_512.0,
        next_milliseconds: 0.526,
        near_cylinders: 52_000.0,
        near_milliseconds: (1.003, 0.0251),
        far_milliseconds: (1.81, 0.000_094),
        factor: 1.0,
    },
    cylinders: 80_512,
    heads: 8,
    track_bytes: 1075 * 512,
    head_switch_milliseconds: 0.116,
    write_settle_milliseconds: 0.487,
    overhead_milliseconds: 0.2,
    bus_bytes_per_second: 320e6,
    queue_depth: 8,
    cache_bytes: 8 << 20,
};

/// A disk as the Ultrastar 7K4000, whose mean seek is 8.2 ms; the curve's form is that of a Seagate Barracuda ST32171W, whose mean
/// is 9.19 ms. Head switch and settling are assumed. 2,760 sectors a track make 160 MB/s of it.
pub(super) const SATA_7200: Mechanics = Mechanics {
    revolutions_per_minute: 7200.0,
    seek: Seek {
        cylinders: 4986.0,
        next_milliseconds: 1.943,
        near_cylinders: 1200.0,
        near_milliseconds: (2.014, 0.1944),
        far_milliseconds: (5.98, 0.002_146),
        factor: 8.2 / 9.19,
    },
    cylinders: 283_000,
    heads: 10,
    track_bytes: 2760 * 512,
    head_switch_milliseconds: 0.5,
    write_settle_milliseconds: 0.5,
    overhead_milliseconds: 0.1,
    bus_bytes_per_second: 600e6,
    queue_depth: 32,
    cache_bytes: 64 << 20,
};

impl Seek {
    /// For a distance on a drive of so many cylinders.
    fn milliseconds(&self, distance: u64, cylinders: u64) -> f64 {
        let fitted = distance as f64 * self.cylinders / cylinders as f64;
        let of_drive = match distance {
            0 => return 0.0,
            1 => self.next_milliseconds,
            _ if fitted <= self.near_cylinders => self.near_milliseconds.0 + self.near_milliseconds.1 * fitted.sqrt(),
            _ => self.far_milliseconds.0 + self.far_milliseconds.1 * fitted,
        };
        of_drive * self.factor
    }
}

impl Mechanics {
    /// Size of the drive, as if all tracks were as long as the outermost.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.cylinders * self.heads * self.track_bytes
    }

    fn revolution_nanoseconds(&self) -> f64 {
        60e9 / self.revolutions_per_minute
    }

    /// Where on the turning platter these bytes begin, as a share of a revolution.
    fn angle(&self, offset: u64) -> f64 {
        let skew = self.head_switch_milliseconds * 1e6 / self.revolution_nanoseconds();
        let (track, within) = (offset / self.track_bytes, offset % self.track_bytes);
        (track as f64 * skew + within as f64 / self.track_bytes as f64).fract()
    }

    /// From the first byte under the head to the last.
    fn transfer_nanoseconds(&self, offset: u64, bytes: u64) -> f64 {
        let tracks = (offset + bytes) / self.track_bytes - offset / self.track_bytes;
        let turning = bytes as f64 / self.track_bytes as f64 * self.revolution_nanoseconds();
        turning + tracks as f64 * self.head_switch_milliseconds * 1e6
    }

    fn overhead_nanoseconds(&self) -> u64 {
        (self.overhead_milliseconds * 1e6) as u64
    }
}

/// A request that waits for the arm.
#[derive(Debug, Clone, Copy)]
struct Job {
    came_at: u64,
    ticket: usize,
    work: Work,
}

/// A drive at work. Times are nanoseconds.
#[derive(Debug)]
pub(super) struct Spindle {
    mechanics: &'static Mechanics,
    has_write_cache: bool,
    /// Where the platter was at time 0.
    phase: u64,
    /// Under the head.
    track: u64,
    /// When the arm has done what it was told.
    free_at: u64,
    waiting: VecDeque<Job>,
    /// Ranges in the cache, by their start: their ends.
    dirty: BTreeMap<u64, u64>,
    dirty_bytes: u64,
    /// Where the last read ended: the drive has read on.
    read_end: Option<u64>,
    /// Requests that came have tickets below this.
    before: usize,
}

impl Spindle {
    pub(super) fn new(mechanics: &'static Mechanics, has_write_cache: bool, seed: u64) -> Spindle {
        let phase = SplitMix64::new(seed).between((0.0, mechanics.revolution_nanoseconds())) as u64;
        Spindle {
            mechanics,
            has_write_cache,
            phase,
            track: 0,
            free_at: 0,
            waiting: VecDeque::new(),
            dirty: BTreeMap::new(),
            dirty_bytes: 0,
            read_end: None,
            before: 0,
        }
    }

    /// Takes a request.
    pub(super) fn submit(&mut self, now: u64, ticket: usize, work: Work, done: &mut Done) {
        self.advance(now, done);
        self.before = ticket + 1;
        let overhead = self.mechanics.overhead_nanoseconds();
        let over_the_bus =
            |bytes: u64| now + overhead + (bytes as f64 / self.mechanics.bus_bytes_per_second * 1e9) as u64;
        match work {
            Work::Write { offset, bytes } if self.has_room(bytes) => {
                self.mark_dirty(offset, offset + bytes);
                done.push(over_the_bus(bytes), ticket);
            }
            Work::Read { offset, bytes } if self.holds(offset, bytes) => done.push(over_the_bus(bytes), ticket),
            Work::Command => done.push(now + overhead, ticket),
            Work::Flush if self.dirty.is_empty() => done.push(now + overhead, ticket),
            _ => self.waiting.push_back(Job { came_at: now, ticket, work }),
        }
        self.advance(now, done);
    }

    /// Lets the arm do all that it can begin by now.
    pub(super) fn advance(&mut self, now: u64, done: &mut Done) {
        while self.free_at <= now
            && let Some(first) = self.waiting.front()
        {
            let start = self.free_at.max(first.came_at) + self.mechanics.overhead_nanoseconds();
            let chosen = self.choose(start);
            let job = self.waiting.remove(chosen).expect("it was chosen from there");
            self.free_at = match job.work {
                Work::Read { offset, bytes } => {
                    let (_, end) = self.move_and_transfer(start, offset, bytes, false);
                    self.read_end = Some(offset + bytes);
                    end
                }
                Work::Write { offset, bytes } => self.write(start, offset..offset + bytes, job.ticket + 1, done),
                Work::Flush => self.write_out(start, done),
                Work::Command => start,
            };
            done.push(self.free_at, job.ticket);
        }
    }

    /// Which one the arm reaches first; a flush waits for those before it, and those after it for the flush.
    fn choose(&self, start: u64) -> usize {
        let places = self.waiting.iter().take(self.mechanics.queue_depth).map_while(|job| match job.work {
            Work::Read { offset, .. } => Some(self.positioning(start, offset, false)),
            Work::Write { offset, .. } => Some(self.positioning(start, offset, true)),
            Work::Flush | Work::Command => None,
        });
        places.enumerate().min_by_key(|(_, nanoseconds)| *nanoseconds).map_or(0, |(index, _)| index)
    }

    /// Nanoseconds until the bytes there begin to pass under the head.
    fn positioning(&self, start: u64, offset: u64, is_write: bool) -> u64 {
        if !is_write && self.read_end == Some(offset) {
            return 0;
        }
        let mechanics = self.mechanics;
        let track = offset / mechanics.track_bytes;
        let distance = (track / mechanics.heads).abs_diff(self.track / mechanics.heads);
        let seek = mechanics.seek.milliseconds(distance, mechanics.cylinders);
        let moved = match track == self.track {
            true => 0.0,
            false if is_write => seek.max(mechanics.head_switch_milliseconds) + mechanics.write_settle_milliseconds,
            false => seek.max(mechanics.head_switch_milliseconds),
        };
        let moved = (moved * 1e6) as u64;
        let revolution = mechanics.revolution_nanoseconds();
        let angle = ((start + moved + self.phase) as f64 / revolution).fract();
        moved + ((mechanics.angle(offset) - angle).rem_euclid(1.0) * revolution) as u64
    }

    /// When the bytes begin to pass under the head, and when it is done.
    fn move_and_transfer(&mut self, start: u64, offset: u64, bytes: u64, is_write: bool) -> (u64, u64) {
        let begin = start + self.positioning(start, offset, is_write);
        let end = begin + self.mechanics.transfer_nanoseconds(offset, bytes) as u64;
        self.track = (offset + bytes) / self.mechanics.track_bytes;
        self.read_end = None;
        (begin, end)
    }

    /// Onto the platter: what requests with tickets below `before` made of these bytes. When it is done.
    fn write(&mut self, start: u64, bytes: Range<u64>, before: usize, done: &mut Done) -> u64 {
        let (begin, end) = self.move_and_transfer(start, bytes.start, bytes.end - bytes.start, true);
        done.wrote(Written { bytes, begin, end, before });
        end
    }

    /// Writes out the cache, from where the head is to the innermost track and then from the outermost on.
    fn write_out(&mut self, start: u64, done: &mut Done) -> u64 {
        let mut before = std::mem::take(&mut self.dirty);
        self.dirty_bytes = 0;
        let onwards = before.split_off(&(self.track * self.mechanics.track_bytes));
        let ranges = onwards.into_iter().chain(before);
        let newest = self.before;
        ranges.fold(start, |at, (from, to)| self.write(at, from..to, newest, done))
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.has_write_cache && self.dirty_bytes + bytes <= self.mechanics.cache_bytes
    }

    /// Whether the cache has all of it.
    fn holds(&self, offset: u64, bytes: u64) -> bool {
        self.dirty.range(..=offset).next_back().is_some_and(|(_, end)| offset + bytes <= *end)
    }

    /// Joined with what it touches.
    fn mark_dirty(&mut self, from: u64, to: u64) {
        let (mut from, mut to) = (from, to);
        while let Some((&start, &end)) = self.dirty.range(..=to).next_back().filter(|(_, end)| **end >= from) {
            self.dirty.remove(&start);
            self.dirty_bytes -= end - start;
            (from, to) = (from.min(start), to.max(end));
        }
        self.dirty.insert(from, to);
        self.dirty_bytes += to - from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_seek(mechanics: &Mechanics) -> f64 {
        // Of two even places on a line of length 1, the distance d has the density 2·(1 − d).
        let steps = 100_000_u64;
        let one = |step: u64| {
            let share = (step as f64 + 0.5) / steps as f64;
            let distance = (share * mechanics.cylinders as f64) as u64;
            2.0 * (1.0 - share) * mechanics.seek.milliseconds(distance, mechanics.cylinders)
        };
        (0..steps).map(one).sum::<f64>() / steps as f64
    }

    #[test]
    fn seeks_are_those_of_the_drive() {
        let seek = |distance| ATLAS_10K_V.seek.milliseconds(distance, ATLAS_10K_V.cylinders);
        assert_eq!(seek(0), 0.0);
        assert_eq!(seek(1), 0.526);
        // The fit's error there; its root mean square is 0.12 ms.
        assert!((seek(80_511) - 9.57).abs() < 0.2, "{}", seek(80_511));
        assert!((mean_seek(&ATLAS_10K_V) - 4.83).abs() < 0.03, "{}", mean_seek(&ATLAS_10K_V));
        assert!((mean_seek(&SATA_7200) - 8.2).abs() < 0.02, "{}", mean_seek(&SATA_7200));
        // As the drive whose form it has: 1.943 ms and 16.68 ms, by the factor.
        let seek = |distance| SATA_7200.seek.milliseconds(distance, SATA_7200.cylinders) / SATA_7200.seek.factor;
        assert!((seek(1) - 1.943).abs() < 1e-9 && (seek(SATA_7200.cylinders) - 16.68).abs() < 0.01);
    }

    #[test]
    fn the_platter_passes_where_the_last_transfer_ended() {
        for mechanics in [&ATLAS_10K_V, &SATA_7200] {
            let mut spindle = Spindle::new(mechanics, false, 1);
            let (offset, bytes) = (3 * 4096, 5 << 20);
            let (_, end) = spindle.move_and_transfer(1_000_000, offset, bytes, true);
            assert!(spindle.positioning(end - 1000, offset + bytes, true) < 10_000, "skew and transfer agree");
        }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut spindle = Spindle::new(&SATA_7200, true, 1);
        for (from, to) in [(10, 20), (30, 40), (50, 60), (20, 30), (5, 12)] {
            spindle.mark_dirty(from, to);
        }
        assert_eq!(spindle.dirty, [(5, 40), (50, 60)].into());
        assert_eq!(spindle.dirty_bytes, 45);
        assert!(spindle.holds(6, 34) && !spindle.holds(6, 35) && !spindle.holds(4, 2));
    }
}
