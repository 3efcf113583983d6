//! A trial's turns: before each it stands still, with all that it started, until it is told to go on; a flush ends each.

use super::{Done, INTERRUPTED, Out, STOP, Stopped};
use crate::volumes::Volumes;
use load::asked::{Asked, Limit};
use load::workload::Outcome;
use observe::disk::Counters;
use observe::metric::{BEFORE_FLUSH, Direction, Measured, Metric};
use observe::record::Record;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// How long the flush took that ended a turn.
const FLUSH: Metric = Metric::new("turn_flush_seconds", "s", Direction::Less);

/// What was read from and written to a trial's own devices while it stood still: others' turns had to bear it.
const STANDSTILL: Metric = Metric::new("standstill_bytes", "B", Direction::Less);

/// What is known from turn to turn.
pub(super) struct Turns<'a> {
    settings: study::trial_spec::Turns,
    told: &'a Receiver<()>,
    standstill_bytes: Option<u64>,
    asked: Option<Asked>,
    noted: BTreeSet<String>,
}

impl<'a> Turns<'a> {
    /// Before the first turn; each `told` is one.
    pub(super) fn new(settings: study::trial_spec::Turns, told: &'a Receiver<()>) -> Turns<'a> {
        Turns { settings, told, standstill_bytes: None, asked: None, noted: BTreeSet::new() }
    }

    /// Stands still until it is told to go on.
    pub(super) fn wait(&mut self, volumes: &Volumes, out: &mut Out) -> Done {
        sandbox::isolation::stand_still(true).map_err(Stopped::at("stand still"))?;
        let before = moved_bytes(volumes);
        out.say(&Record::Waiting);
        // The sender's thread ends the process before it hangs up.
        let _ = self.told.recv();
        self.standstill_bytes = moved_bytes(volumes).zip(before).map(|(after, before)| after.saturating_sub(before));
        sandbox::isolation::stand_still(false).map_err(Stopped::at("stand still"))?;
        if STOP.load(Ordering::Relaxed) { Err(Stopped::at("wait")(INTERRUPTED)) } else { Ok(()) }
    }

    /// Writes out what the turn left behind, and says how long that took.
    pub(super) fn flush(&self, volumes: &Volumes) -> Result<f64, Stopped> {
        let flushing = Instant::now();
        volumes.flush().map_err(Stopped::at("flush"))?;
        Ok(flushing.elapsed().as_secs_f64())
    }

    /// Adds what a turn's end and the wait before it took to its figures; gives the turn's seconds. Where the load flushed itself, little is
    /// left for the flush that ends the turn.
    pub(super) fn charge(
        &self,
        metrics: &mut Vec<Measured>,
        primary: &str,
        outcome: &Outcome,
        flush_seconds: f64,
    ) -> f64 {
        let (seconds, flush_seconds) = (outcome.seconds, outcome.flush_seconds + flush_seconds);
        metrics.push(FLUSH.at(flush_seconds));
        metrics.extend(self.standstill_bytes.map(|bytes| STANDSTILL.at(bytes as f64)));
        // The rate of an open loop is given: who holds it does so whatever a flush takes.
        if !self.settings.charge_flush || outcome.asked.limit == Limit::Open {
            return seconds;
        }
        let Some(figure) = metrics.iter_mut().find(|measured| measured.metric.name == primary) else { return seconds };
        let before = figure.value;
        figure.value = match (&*figure.metric.unit, self.settings.is_job) {
            (unit, false) if observe::metric::is_rate(unit) => before * seconds / (seconds + flush_seconds),
            ("s", true) => before + flush_seconds,
            // A latency is what it was.
            _ => before,
        };
        let unit = figure.metric.unit.to_string();
        metrics.push(Metric::named(BEFORE_FLUSH.into(), unit, Direction::Neither).at(before));
        seconds + flush_seconds
    }

    /// Notes what a turn asked for; the turns of a trial stand or fall together, and so do its warm-ups.
    pub(super) fn note(&mut self, asked: &Asked) {
        match &mut self.asked {
            Some(sum) => sum.add(asked),
            None => self.asked = Some(asked.clone()),
        }
    }

    /// Whether a note is said for the first time.
    pub(super) fn is_new(&mut self, note: &str) -> bool {
        self.noted.insert(note.into())
    }

    /// Judges the turns since the last judgement as one run: what was right in a warm-up makes no measured turn right.
    pub(super) fn judge(&mut self, warm_up: bool, out: &mut Out) -> Done {
        let Some(asked) = self.asked.take() else { return Ok(()) };
        asked.judge().map_err(Stopped::at("run"))?;
        for note in asked.notes() {
            let message = if warm_up { format!("in a warm-up: {note}") } else { note };
            out.say(&Record::Note { message });
        }
        Ok(())
    }
}

/// Bytes that went to and from the trial's own devices since they were attached; none: it has none.
fn moved_bytes(volumes: &Volumes) -> Option<u64> {
    let counters = volumes.own_devices().filter_map(Counters::read);
    counters.map(|counters| counters.read_bytes + counters.write_bytes).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::asked::{Limit, Wrong};

    fn check(unit: &str, value: f64, settings: study::trial_spec::Turns, expected: (f64, f64)) {
        check_with(Limit::Share(0.0), unit, value, settings, expected);
    }

    fn check_with(limit: Limit, unit: &str, value: f64, settings: study::trial_spec::Turns, expected: (f64, f64)) {
        let (_told, orders) = std::sync::mpsc::channel();
        let mut metrics = vec![Metric::named("figure".into(), unit.into(), Direction::More).at(value)];
        // In part by the load's own flush, which had been nobody's.
        let outcome =
            Outcome { seconds: 2.0, flush_seconds: 0.375, ..Outcome::of(Asked { limit, ..Asked::all_right() }) };
        let seconds = Turns::new(settings, &orders).charge(&mut metrics, "figure", &outcome, 0.125);
        assert_eq!((metrics[0].value, seconds), expected, "{unit}");
        // Of a folder, whose disk others use, nobody knows them.
        assert!(!metrics.iter().any(|measured| measured.metric.name == STANDSTILL.name));
        let before = metrics.iter().find(|measured| measured.metric.name == BEFORE_FLUSH);
        let is_charged = settings.charge_flush && limit != Limit::Open;
        assert_eq!(before.map(|measured| measured.value), is_charged.then_some(value));
    }

    /// Twice as much went wrong as may, and half of all that was asked for was a warm-up.
    #[test]
    fn a_warm_up_without_errors_excuses_none_of_the_turns() {
        let (_told, orders) = std::sync::mpsc::channel();
        let mut turns = Turns::new(study::trial_spec::Turns { charge_flush: true, is_job: false }, &orders);
        let asked = |count: u64| Asked {
            what: "requests".into(),
            total: 1000,
            wrong: vec![Wrong { name: "errors_other".into(), words: "other".into(), count, first: None }],
            limit: Limit::Share(0.001),
        };
        let mut said = Vec::new();
        let mut out = Out { records: &mut said, seconds: 0.0 };
        turns.note(&asked(0));
        assert!(turns.judge(true, &mut out).is_ok());
        turns.note(&asked(2));
        assert!(turns.judge(false, &mut out).is_err());
        turns.note(&asked(1));
        assert!(turns.judge(true, &mut out).is_ok());
        let said = String::from_utf8(said).expect("records are text");
        assert!(said.contains("in a warm-up: 1 of 1000 requests went wrong"), "{said}");
    }

    #[test]
    fn the_flush_belongs_to_the_turn() {
        let charged = study::trial_spec::Turns { charge_flush: true, is_job: false };
        // 200 in 2 s are 80 a second once the flush of 0.5 s is counted.
        check("1/s", 100.0, charged, (80.0, 2.5));
        check("s", 0.004, charged, (0.004, 2.5));
        check("s", 2.0, study::trial_spec::Turns { is_job: true, ..charged }, (2.5, 2.5));
        check("1/s", 100.0, study::trial_spec::Turns { charge_flush: false, ..charged }, (100.0, 2.0));
        check_with(Limit::Open, "1/s", 100.0, charged, (100.0, 2.0));
        for name in [&*FLUSH.name, BEFORE_FLUSH, &*STANDSTILL.name] {
            assert!(observe::metric::is_taken(name), "{name}: a program of the user's may have it");
        }
    }
}
