//! The threads of a replay, its clock and its figures.

use super::Pace;
use super::connect::{self, Connect, Made};
use super::line::{Line, Part, Progress};
use super::schedule::Schedule;
use super::tally::Tally;
use super::turnout::{Claim, Turnout};
use crate::descriptors::{self, Connections};
use crate::event_loop::cannot_wait;
use crate::one_cpu;
use crate::readiness::{Interest, Readiness, Ready};
use crate::threads::Control;
use crate::workload::Error;
use sqllog::{Log, Session};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// While it waits, a thread looks this often whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A session that has not had a lock for so long waits for another session: a free one takes microseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// So long before its first statement is due, a session connects of which the log does not say when it did.
const LEAD: Duration = Duration::from_secs(1);

/// Descriptors that are watched at a time.
const AT_ONCE: usize = 256;

/// The number by which a driver is woken, by the thread that connects or by another driver; sessions are never as many.
const WAKE: usize = usize::MAX;

/// Descriptors of a thread beside its connections: a queue of events, and the ends of what wakes it, one of them twice.
const OF_THREAD: usize = 4;

/// So many statements back are looked at for where a log was: there are no more connections that each end a long one, one behind the other.
const LOOKED_BACK: usize = 1000;

/// A log that is replayed in parts, a run each.
pub struct Replay {
    /// Where runs end: the number of the next one's first statement, in ascending order, and its moment in the log.
    ends: Vec<(u64, i64)>,
    runs_done: usize,
    schedule: Schedule,
    /// Sessions that have begun and are not over.
    lines: HashMap<usize, Line>,
}

/// What a run needs beside the log.
pub struct Means<'a> {
    /// How a session connects.
    pub connect: Connect<'a>,
    /// When statements are sent.
    pub pace: Pace,
    /// Threads that send them.
    pub threads: usize,
    /// Set when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

impl Replay {
    /// In so many runs, of about as many statements each.
    pub fn new(log: &Log, runs: usize) -> Replay {
        let steps = log.sessions.iter().flat_map(|session| &session.steps);
        let mut moments: Vec<(u64, i64)> = steps.map(|step| (step.number, step.at_microseconds)).collect();
        moments.sort_unstable();
        let inner = (1..runs).filter_map(|run| {
            let (before, rest) = moments.split_at(run * moments.len() / runs);
            let (number, at) = *rest.first()?;
            // Those that took long began long before what is logged before them.
            let logged_before = before.iter().rev().take(LOOKED_BACK).map(|(_, at)| *at);
            Some((number, logged_before.fold(at, i64::max)))
        });
        let ends = inner.chain([(u64::MAX, i64::MAX)]).collect();
        Replay { ends, runs_done: 0, schedule: Schedule::new(&log.sessions), lines: HashMap::new() }
    }

    /// The next run. Gives none when all are done.
    ///
    /// # Errors
    /// When the user interrupts, or the system gives no queue of events.
    pub fn run(
        &mut self,
        log: &Log,
        means: &Means<'_>,
        progress: &mut dyn FnMut(f64, f64),
    ) -> Result<Option<Tally>, Error> {
        let tally = self.run_until(log, means, progress)?;
        Error::if_interrupted(means.interrupted)?;
        Ok(tally)
    }

    /// The same; where the user interrupts, what came of the statements until then.
    ///
    /// # Errors
    /// When the system gives no queue of events.
    pub fn run_until(
        &mut self,
        log: &Log,
        means: &Means<'_>,
        progress: &mut dyn FnMut(f64, f64),
    ) -> Result<Option<Tally>, Error> {
        let Some((before, to)) = self.ends.get(self.runs_done).copied() else { return Ok(None) };
        let from = self.runs_done.checked_sub(1).map_or(log.span().start, |last| self.ends[last].1);
        self.runs_done += 1;
        let threads = means.threads.max(1);
        // As logged, sessions of a slow server are there when they are over in the log.
        let most = if means.pace == Pace::Closed { log.concurrency() } else { log.sessions.len() };
        let [least, most] = [log.concurrency(), most].map(|sessions| sessions + threads * OF_THREAD);
        descriptors::make_room(&Connections { setting: "log", words: "connections at a time", least, most })?;
        let mut shares: Vec<HashMap<usize, Line>> = (0..threads).map(|_| HashMap::new()).collect();
        for (number, line) in self.lines.drain() {
            shares[number % threads].insert(number, line);
        }
        let mut next = || match means.pace {
            Pace::Closed => self.schedule.take(before),
            Pace::AsLogged(_) => self.schedule.take_by_time(before),
        };
        while let Some(number) = next() {
            shares[number % threads].insert(number, Line::default());
        }
        let part = Part { log, pace: means.pace, started: Instant::now(), from, before, to };
        let control = Control::new(means.interrupted);
        let wakes = (0..threads).map(|_| UnixStream::pair()).collect::<Result<Vec<_>, _>>().map_err(cannot_wait)?;
        let (wakes, wakers): (Vec<_>, Vec<_>) = wakes.into_iter().unzip();
        let turnout = Turnout::new(&mut self.schedule, means.pace, before, threads);
        let shared = Shared { means, part, turnout, wakers, control, waits_for_lock: AtomicBool::new(false) };
        let keep = |thread, (lines, wake)| {
            one_cpu::keep(thread);
            Ok((thread, lines, wake))
        };
        let inputs = shares.into_iter().zip(wakes).collect();
        let drive = |(thread, lines, wake)| shared.drive(thread, lines, wake);
        let ended = shared.control.run_until(inputs, keep, drive, progress)?;
        let mut all = Tally { seconds: ended.seconds, rates: ended.rates, ..Tally::default() };
        for (tally, lines) in ended.parts {
            all.add(tally);
            self.lines.extend(lines);
        }
        Ok(Some(all))
    }

    /// Ends all connections.
    pub fn close(&mut self) {
        self.lines.clear();
    }
}

/// What all threads of a run share.
struct Shared<'a> {
    means: &'a Means<'a>,
    part: Part<'a>,
    turnout: Turnout<'a>,
    /// By thread: a byte wakes it.
    wakers: Vec<UnixStream>,
    control: Control<'a>,
    /// Whether a session waits for a lock that one may hold which is done with this run.
    waits_for_lock: AtomicBool,
}

/// What a thread leaves: its counts, and its sessions that are not over.
type Left = (Tally, HashMap<usize, Line>);

impl Shared<'_> {
    /// One thread's sessions, and its part of those that may begin when others are over. Connections are made by a second thread.
    fn drive(&self, thread: usize, lines: HashMap<usize, Line>, wake: UnixStream) -> Result<Left, Error> {
        let waker = self.wakers[thread].try_clone().map_err(cannot_wait)?;
        wake.set_nonblocking(true).map_err(cannot_wait)?;
        let readiness = Readiness::new(AT_ONCE).map_err(cannot_wait)?;
        readiness.add(&wake, WAKE, Interest::Read).map_err(cannot_wait)?;
        let ((ask, asked), (tell, made)) = (channel(), channel());
        std::thread::scope(|scope| {
            scope.spawn(move || connect::make(self.means.connect, &asked, &tell, waker));
            let (shared, due, holders, tally) = (self, BinaryHeap::new(), Vec::new(), Tally::default());
            let mut driver = Driver { shared, thread, lines, readiness, due, open: 0, holders, ask, made, wake, tally };
            driver.run()?;
            Ok((driver.tally, driver.lines))
        })
    }

    /// Wakes threads that have been given sessions, or that wait for nothing any more.
    fn wake(&self, threads: impl IntoIterator<Item = usize>) {
        for thread in threads {
            // Who has left needs no waking.
            let _ = (&self.wakers[thread]).write_all(&[0]);
        }
    }
}

/// One thread of the replay.
struct Driver<'a, 'b> {
    shared: &'a Shared<'b>,
    thread: usize,
    /// By the session's number.
    lines: HashMap<usize, Line>,
    readiness: Readiness,
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Sessions that wait for an answer or for their connection.
    open: usize,
    /// Sessions that are done with this run, or over, and hold locks.
    holders: Vec<usize>,
    ask: Sender<usize>,
    made: Receiver<Made>,
    wake: UnixStream,
    tally: Tally,
}

impl Driver<'_, '_> {
    fn session(&self, number: usize) -> &Session {
        &self.shared.part.log.sessions[number]
    }

    fn run(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let numbers: Vec<usize> = self.lines.keys().copied().collect();
        for number in numbers {
            if let Some(connection) = &self.lines[&number].connection
                && let Some(descriptor) = connection.descriptor()
            {
                self.readiness.add(descriptor, number, Interest::Read).map_err(cannot_wait)?;
            }
            self.due.push(Reverse((self.begins(number).unwrap_or(now), number)));
        }
        let mut ready = Vec::with_capacity(AT_ONCE);
        loop {
            while let Some(Reverse((_, number))) = self.due.peek().copied().filter(|due| due.0.0 <= Instant::now()) {
                self.due.pop();
                self.go_on(number);
            }
            if self.shared.control.is_over() {
                return Ok(());
            }
            if self.open == 0 && self.due.is_empty() {
                match self.shared.turnout.claim(self.thread, &self.holders) {
                    Claim::Begin(numbers) => {
                        self.begin(numbers);
                        continue;
                    }
                    // Sessions of other threads are open, and more may begin when they are over.
                    Claim::Wait => {}
                    Claim::Leave(waiting) => {
                        self.shared.wake(waiting);
                        return Ok(());
                    }
                }
            }
            let left = self.due.peek().map_or(LOOK, |due| due.0.0.saturating_duration_since(Instant::now()).min(LOOK));
            self.readiness.wait(left, &mut ready).map_err(cannot_wait)?;
            if ready.is_empty() && self.due.is_empty() {
                self.give_back_locks();
            }
            for Ready { number, .. } in ready.drain(..) {
                match number {
                    WAKE => self.woken()?,
                    number => self.heard(number),
                }
            }
        }
    }

    /// Nothing happens here: where a session waits for a lock, all go on that are done with this run and hold some. The run would not end.
    fn give_back_locks(&mut self) {
        let waits_for_lock = &self.shared.waits_for_lock;
        let Part { log, .. } = &self.shared.part;
        let is_stuck =
            |(number, line): (&usize, &Line)| line.waits_for_lock(&log.sessions[*number], log, LOCK_PATIENCE);
        if self.lines.iter().any(is_stuck) {
            waits_for_lock.store(true, Ordering::Relaxed);
        }
        if !self.holders.is_empty() && waits_for_lock.load(Ordering::Relaxed) {
            // It has something to do, and no thread leaves meanwhile that may have to give back, too.
            self.begin(self.shared.turnout.given(self.thread));
            for number in std::mem::take(&mut self.holders) {
                self.lines.get_mut(&number).into_iter().for_each(|line| line.is_waited_for = true);
                self.go_on(number);
            }
        }
    }

    /// When a session connects; none: now.
    fn begins(&self, number: usize) -> Option<Instant> {
        if self.lines[&number].is_begun {
            return None;
        }
        let session = self.session(number);
        let due = self.shared.part.due(session.from())?;
        Some(if session.began.is_some() { due } else { due.checked_sub(LEAD).unwrap_or(due) })
    }

    /// Something came on a session's connection.
    fn heard(&mut self, number: usize) {
        let Some(line) = self.lines.get_mut(&number) else { return };
        if line.waits_since.take().is_some() {
            self.open -= 1;
            self.go_on(number);
        } else if line.unasked(&self.shared.part.log.sessions[number], &mut self.tally) == Progress::Over {
            self.over(number);
        }
    }

    /// Connections were made, or another thread has sessions for this one.
    fn woken(&mut self) -> Result<(), Error> {
        let mut bytes = [0; AT_ONCE];
        while self.wake.read(&mut bytes).is_ok_and(|read| read == bytes.len()) {}
        self.begin(self.shared.turnout.given(self.thread));
        while let Ok((number, made)) = self.made.try_recv() {
            self.open -= 1;
            let Some(line) = self.lines.get_mut(&number) else { continue };
            match made {
                Ok(connection) => {
                    if let Some(descriptor) = connection.descriptor() {
                        self.readiness.add(descriptor, number, Interest::Read).map_err(cannot_wait)?;
                    }
                    line.connection = Some(connection);
                    self.tally.sessions += 1;
                    self.go_on(number);
                }
                Err(error) => {
                    line.lose(&self.shared.part.log.sessions[number], &mut self.tally, &error);
                    self.over(number);
                }
            }
        }
        Ok(())
    }

    /// Goes on with a session.
    fn go_on(&mut self, number: usize) {
        let Some(line) = self.lines.get_mut(&number) else { return };
        if !line.is_begun {
            line.is_begun = true;
            self.open += 1;
            // The other thread lives as long as this one.
            let _ = self.ask.send(number);
            return;
        }
        let before = self.tally.right;
        let progress = line.advance(&self.shared.part.log.sessions[number], &self.shared.part, &mut self.tally);
        self.shared.control.count(self.tally.right - before);
        match progress {
            Progress::Waiting => {
                line.waits_since = Some(Instant::now());
                self.open += 1;
            }
            Progress::Due(at) => self.due.push(Reverse((at, number))),
            Progress::Paused if line.holds_locks() => self.holders.push(number),
            Progress::Paused => {}
            Progress::Over => self.over(number),
        }
    }

    /// A session is over: others may begin.
    fn over(&mut self, number: usize) {
        let line = self.lines.get(&number);
        if line.is_some_and(Line::holds_locks) {
            self.holders.push(number);
        } else if line.is_some_and(|line| line.connection.is_none()) {
            self.lines.remove(&number);
        }
        let (own, others) = self.shared.turnout.over(number, self.thread);
        self.shared.wake(others);
        self.begin(own);
    }

    /// Begins sessions, now.
    fn begin(&mut self, numbers: Vec<usize>) {
        let now = Instant::now();
        for number in numbers {
            self.lines.insert(number, Line::default());
            self.due.push(Reverse((now, number)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqllog::Options;

    /// As logged, the next run would begin with what the log has between the statement's beginning and its end: with nothing, for so long.
    #[test]
    fn a_run_that_begins_with_long_statements_does_not_begin_with_them_in_the_log() {
        let line = |session: u32, at: &str, milliseconds: u32| {
            format!("2026-11-24 10:{at} UTC [{session}] LOG:  duration: {milliseconds} ms  statement: SELECT 1\n")
        };
        let text = line(7, "09:58.000", 0)
            + &line(7, "09:59.000", 0)
            + &line(8, "10:00.000", 590_000)
            + &line(9, "10:00.050", 590_000)
            + &line(7, "10:00.100", 0)
            + &line(7, "10:00.200", 0);
        let log = sqllog::read(&text, &Options::default()).expect("it is a log");
        let session =
            log.sessions.iter().find(|session| session.steps.len() == 4).expect("the one of short statements");
        assert_eq!(Replay::new(&log, 2).ends, [(4, session.steps[1].at_microseconds), (u64::MAX, i64::MAX)]);
    }
}
