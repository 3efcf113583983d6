//! Connections that commit, each in a thread of its own, and the list of what they were told.
//!
//! The list can't miss a commit whose effect may be on the disk: a commit's line is written when its end is known, whatever
//! that is, before the stream goes on or gives up.

use super::rule::NUMBERS;
use super::target::{Client, CommitTarget};
use super::write_back;
use super::{METRICS, Parameters};
use crate::ack_log::{AckLog, nanoseconds};
use load::sql::Place;
use load::threads::{Control, Ended};
use load::workload::{self, Context, Error, Outcome};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What the streams of a run share.
struct Shared<'a> {
    parameters: &'a Parameters,
    target: &'a dyn CommitTarget,
    place: &'a Place,
    ack_log: &'a AckLog,
    control: Control<'a>,
    checkpoints: AtomicU64,
    /// Held for reading by each commit, and for writing by a checkpoint that needs to be alone.
    gate: RwLock<()>,
}

/// Runs the streams once, each from the number after its last.
pub fn drive(
    parameters: &Parameters,
    target: &dyn CommitTarget,
    context: &mut Context,
    ack_log: &AckLog,
    last: &mut [u64],
) -> Result<Outcome, Error> {
    let place = Place::of(context);
    let (control, checkpoints, gate) = (Control::new(context.interrupted), AtomicU64::new(0), RwLock::new(()));
    let shared = Shared { parameters, target, place: &place, ack_log, control, checkpoints, gate };
    let (folder, seed, progress) = (&*context.data_folder, context.seed, &mut *context.progress);
    let has_ended = AtomicBool::new(false);
    let connect = |number: usize, last: u64| Ok((Stream::connect(&shared, number as u32)?, last));
    let commit = |(mut stream, last): (Stream, u64)| stream.run(last);
    let (ended, write_back) = std::thread::scope(|scope| {
        let beside = || write_back::beside(folder, seed, parameters.time_seconds, &has_ended);
        let write_back = parameters.write_back.then(|| scope.spawn(beside));
        let ended = shared.control.run(last.to_vec(), connect, commit, progress);
        has_ended.store(true, Ordering::Relaxed);
        let write_back = write_back.map(|thread| thread.join().expect("the write-back does not panic"));
        (ended, write_back.transpose())
    });
    let Ended { parts, seconds, rates } = ended?;
    last.copy_from_slice(&parts);
    let (commits, checkpoints) = (shared.control.done(), shared.checkpoints.into_inner());
    let figures = [commits as f64 / seconds, commits as f64, checkpoints as f64];
    Ok(Outcome {
        seconds,
        metrics: workload::figures(METRICS, figures),
        series: [(METRICS[0].name.to_string(), rates)].into(),
        commits,
        notes: write_back?.iter().map(write_back::Done::words).collect(),
        ..Outcome::all_right()
    })
}

/// Whether checkpoints come at this time of a run: in its first half, so that pages are torn. What settings leave to be flushed by a
/// checkpoint alone is lost for as long as there is none, and the second half shows that.
fn is_checkpointed(passed: Duration, run: Duration) -> bool {
    passed < run / 2
}

/// One connection.
struct Stream<'a> {
    shared: &'a Shared<'a>,
    number: u32,
    client: Box<dyn Client + 'a>,
}

impl<'a> Stream<'a> {
    fn connect(shared: &'a Shared<'a>, number: u32) -> Result<Stream<'a>, Error> {
        let client = shared.target.connect(shared.place, shared.parameters.rule(), number)?;
        Ok(Stream { shared, number, client })
    }

    /// Commits until the run is over; gives the number of the last commit.
    fn run(&mut self, mut last: u64) -> Result<u64, Error> {
        let shared = self.shared;
        let (begun, run) = (Instant::now(), Duration::from_secs_f64(shared.parameters.time_seconds));
        let deadline = begun + run;
        let is_over = || shared.control.is_over() || Instant::now() >= deadline;
        while !is_over() && last + 1 < NUMBERS {
            {
                let _inside = shared.gate.read().expect("no stream panics");
                let tried = nanoseconds();
                let committed = self.client.commit(last + 1, &is_over);
                if !matches!(committed, Ok(None)) {
                    let committed = committed.as_ref().ok().and_then(Option::as_ref);
                    let acknowledged = committed.map(|committed| shared.parameters.acknowledge.of(committed));
                    shared.ack_log.write(self.number, last + 1, tried, acknowledged)?;
                }
                if committed?.is_none() {
                    break;
                }
            }
            last += 1;
            shared.control.count(1);
            if is_checkpointed(begun.elapsed(), run) {
                self.checkpoint(last)?;
            }
            std::thread::sleep(Duration::from_secs_f64(shared.parameters.pause_seconds));
        }
        Ok(last)
    }

    /// The first stream's, after so many commits.
    fn checkpoint(&self, number: u64) -> Result<(), Error> {
        let shared = self.shared;
        let every = shared.parameters.checkpoint_every * shared.target.checkpoint_spacing();
        if self.number != 0 || every == 0 || !number.is_multiple_of(every) || !shared.parameters.checkpoints() {
            return Ok(());
        }
        let _alone = shared.target.checkpoints_alone().then(|| shared.gate.write().expect("no stream panics"));
        shared.target.checkpoint(shared.place)?;
        shared.checkpoints.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_half_of_a_run_has_no_checkpoint() {
        let at = |seconds: f64| is_checkpointed(Duration::from_secs_f64(seconds), Duration::from_secs(3));
        assert_eq!([0.0, 1.49, 1.5, 2.9].map(at), [true, true, false, false]);
    }
}
