//! The streams: each does its share of the I/Os and keeps its own tally.

use super::journal::{HEADER_BYTES, Journal};
use super::{METRICS, Parameters, SyncMode};
use load::duration::timed;
use load::noise::Noise;
use load::stamp;
use load::threads::{Control, Ended};
use load::workload::{Context, Error, Outcome};
use observe::latency::Latency;
use random::Random;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Locks that blocks are spread over, so that two streams that meet at a block do not lose an update: many enough that
/// 1024 streams seldom meet at a lock without meeting at a block.
const STRIPES: usize = 4096;

/// Runs the streams; returns when all have ended. Commits are the flushes by the `sync` setting, not the one at the end.
pub fn drive(
    parameters: &Parameters,
    path: &Path,
    journal: Option<&Journal>,
    context: &mut Context,
) -> Result<Outcome, Error> {
    let (seed, noise, control) = (context.seed, Noise::new(context.seed), Control::new(context.interrupted));
    let stripes = (0..STRIPES).map(|_| Mutex::new(())).collect();
    let epoch = Epoch::start(parameters.sync_interval);
    let shared = Shared { parameters, path, journal, seed, noise, stripes, epoch, control };
    // Closed when the time is over: some filesystems, such as NFS, flush a file that is closed.
    let open = |_| File::options().read(true).write(true).open(path).map_err(Error::doing("open", path));
    let files = (0..parameters.streams).map(open).collect::<Result<Vec<File>, Error>>()?;
    let share = |(stream, file): (u64, &File)| shared.share(stream, file);
    let streams: Vec<(u64, &File)> = (0..).zip(&files).collect();
    Ok(gather(shared.control.run(streams, |_, stream| Ok(stream), share, context.progress)?))
}

fn gather(Ended { parts, seconds, rates }: Ended<Tally>) -> Outcome {
    let mut latencies: BTreeMap<String, Latency> = BTreeMap::new();
    for tally in &parts {
        let all =
            [("read", &tally.read), ("write", &tally.write), ("journal", &tally.journal), ("fsync", &tally.fsync)];
        for (name, latency) in all.into_iter().filter(|(_, latency)| latency.count() > 0) {
            latencies.entry(name.into()).or_default().merge(latency);
        }
    }
    let commits = parts.iter().map(|tally| tally.fsync.count()).sum();
    let series = [(METRICS[0].name.to_string(), rates)].into();
    Outcome { seconds, latencies, series, commits, ..Outcome::all_right() }
}

/// How often a stream tells how many I/Os it has done: seldom, as they are counted in one place, for which streams would wait.
const TOLD_EVERY: Duration = Duration::from_millis(1);

/// What one stream did.
#[derive(Default)]
struct Tally {
    read: Latency,
    write: Latency,
    journal: Latency,
    fsync: Latency,
}

/// What all streams see.
struct Shared<'a> {
    parameters: &'a Parameters,
    path: &'a Path,
    journal: Option<&'a Journal>,
    seed: u64,
    noise: Noise,
    stripes: Vec<Mutex<()>>,
    epoch: Epoch,
    control: Control<'a>,
}

impl Shared<'_> {
    /// One stream's share of the I/Os.
    fn share(&self, stream: u64, file: &File) -> Result<Tally, Error> {
        let Parameters { ios, streams, block_size, commit_ios, sync, .. } = *self.parameters;
        let share = ios / streams + u64::from(stream < ios % streams);
        let mut random = Random::of_stream(self.seed, stream);
        let mut record = vec![0; HEADER_BYTES + block_size];
        let (mut tally, mut told_at, mut told) = (Tally::default(), Instant::now(), 0);
        for done in 1..=share {
            if self.control.is_over() {
                return Err(Error::Interrupted);
            }
            let ended = self.io(file, random.below(ios), &mut record, &mut tally)?;
            if done == share || ended - told_at >= TOLD_EVERY {
                self.control.count(done - told);
                (told_at, told) = (ended, done);
            }
            match sync {
                // What is left at the end of a share is a commit, too: none of it would be flushed while it is measured.
                SyncMode::Commit if done % commit_ios == 0 || done == share => self.commit(file, &mut tally)?,
                SyncMode::Epoch if self.epoch.claim(ended) => {
                    if self.journal.is_some() {
                        self.commit(file, &mut tally)?;
                    }
                    self.flush_file(file, &mut tally)?;
                    self.epoch.end();
                }
                _ => {}
            }
        }
        Ok(tally)
    }

    /// Reads a block, checks it, counts one update in it and writes it back; the journal first. Returns when it ended.
    fn io(&self, file: &File, block: u64, record: &mut [u8], tally: &mut Tally) -> Result<Instant, Error> {
        let offset = block * self.parameters.block_size as u64;
        let lock = self.stripes[block as usize % STRIPES].lock();
        let _alone = lock.expect("no stream panics while it holds the lock");
        timed(&mut tally.read, || file.read_exact_at(&mut record[HEADER_BYTES..], offset))
            .map_err(Error::doing("read", self.path))?;
        let serial = stamp::serial_of(&record[HEADER_BYTES..], block).map_err(|damage| damage.of(self.path, block))?;
        if let Some(journal) = self.journal {
            timed(&mut tally.journal, || journal.append(record, block))?;
        }
        let block_bytes = &mut record[HEADER_BYTES..];
        if serial == 0 {
            self.noise.fill(block_bytes, block);
        }
        stamp::stamp(block_bytes, block, serial + 1);
        let writing = Instant::now();
        file.write_all_at(block_bytes, offset).map_err(Error::doing("write", self.path))?;
        let ended = Instant::now();
        tally.write.record(ended - writing);
        Ok(ended)
    }

    /// Makes the updates so far durable: the journal, or the file where there is none.
    fn commit(&self, file: &File, tally: &mut Tally) -> Result<(), Error> {
        let Some(journal) = self.journal else { return self.flush_file(file, tally) };
        timed(&mut tally.fsync, || journal.sync())
    }

    fn flush_file(&self, file: &File, tally: &mut Tally) -> Result<(), Error> {
        timed(&mut tally.fsync, || file.sync_data()).map_err(Error::doing("flush", self.path))
    }
}

/// When the next epoch's flush is due; the stream that comes first does it.
struct Epoch {
    started: Instant,
    interval: Duration,
    /// Nanoseconds since `started`; the largest number while a stream is flushing.
    due: AtomicU64,
}

impl Epoch {
    fn start(interval_seconds: f64) -> Epoch {
        let interval = Duration::from_secs_f64(interval_seconds);
        Epoch { started: Instant::now(), interval, due: AtomicU64::new(interval.as_nanos() as u64) }
    }

    /// Whether the caller is the one to flush now.
    fn claim(&self, now: Instant) -> bool {
        let due = self.due.load(Ordering::Relaxed);
        (now - self.started).as_nanos() as u64 >= due
            && self.due.compare_exchange(due, u64::MAX, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The flush is over; the interval counts from its end, so that a slow disk does not flush all the time.
    fn end(&self) {
        self.due.store((self.started.elapsed() + self.interval).as_nanos() as u64, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_flushed_by_one_stream() {
        let epoch = Epoch::start(1.0);
        let due = epoch.started + Duration::from_secs(1);
        assert!(!epoch.claim(epoch.started));
        assert!(epoch.claim(due));
        assert!(!epoch.claim(due), "while one flushes, no other does");
        epoch.end();
        assert!(epoch.claim(due + Duration::from_secs(60)));
    }
}
