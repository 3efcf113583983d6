//! The driver: few threads that wait for many connections at once, in a closed or open loop, with several operations under way on each.
//!
//! A connection sends as many operations as `pipeline` says at once, and the next ones when all of them are answered. A store that works in
//! the caller's thread has a thread for each of its ways in.

use super::check::{Check, Records, Rules};
use super::distribution::Choice;
use super::mix::{KINDS, Kind, Mix, scan_length};
use super::store::{Key, Request, Session};
use super::value;
use super::versions::Write;
use load::deadline::{Ends, backlog_max};
use load::duration;
use load::event_loop::{self, Connections, Next, cannot_wait};
use load::readiness::{Interest, Readiness};
use load::threads::Control;
use load::workload::{Context, Error};
use observe::latency::Latency;
use random::Random;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// In an open loop, an operation that is sent later than this after its time counts as late.
const LATE: Duration = Duration::from_millis(1);

/// How the load runs.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Threads.
    pub threads: usize,
    /// Operations that a connection sends at once.
    pub pipeline: usize,
    /// Length of a run.
    pub seconds: f64,
    /// Open loop, operations a second; 0: a closed loop.
    pub rate: f64,
}

/// What is done on what.
pub struct Work<'a> {
    /// Which operations.
    pub mix: Mix,
    /// On which records; each thread has its own.
    pub choice: Choice,
    /// What must be found.
    pub rules: Rules<'a>,
    /// What is there.
    pub records: &'a Records,
    /// Where everything random comes from, by connection.
    pub random: &'a (dyn Fn(usize) -> Random + Sync),
}

/// What was counted.
#[derive(Default)]
pub struct Counted {
    /// Latency by kind; from the intended start in an open loop.
    pub latencies: [Latency; KINDS.len()],
    /// Records that scans gave.
    pub scanned: u64,
    /// Operations that began late.
    pub late: u64,
    /// Bytes of values that were written.
    pub bytes: u64,
    /// When connections ended.
    ends: Ends,
}

/// What a run came to.
pub struct Driven {
    /// Of all threads.
    pub counted: Counted,
    /// Until the last answer.
    pub seconds: f64,
    /// The time that rates are over: until each connection's last answer, and the whole run at least, in the mean.
    pub rate_seconds: f64,
    /// Operations in each whole second.
    pub rates: Vec<f64>,
    /// The connections.
    pub sessions: Vec<Box<dyn Session>>,
}

/// What all threads share.
struct Shared<'a> {
    pace: Pace,
    work: &'a Work<'a>,
    control: Control<'a>,
    /// Operations that the open loop has given a time.
    scheduled: AtomicU64,
}

/// Runs the load once on these connections.
pub fn drive(pace: Pace, work: &Work, sessions: Vec<Box<dyn Session>>, context: &mut Context) -> Result<Driven, Error> {
    let shared = Shared { pace, work, control: Control::new(context.interrupted), scheduled: AtomicU64::new(0) };
    let mut shares: Vec<Vec<Line>> = (0..pace.threads).map(|_| Vec::new()).collect();
    for (number, session) in sessions.into_iter().enumerate() {
        shares[number % pace.threads].push(Line::new(session, (work.random)(number), pace.pipeline));
    }
    let ready = |_, lines| Driver::new(&shared, lines);
    let ended = shared.control.run(shares, ready, Driver::run, context.progress)?;
    let (seconds, rates) = (ended.seconds, ended.rates);
    let mut driven =
        Driven { counted: Counted::default(), seconds, rate_seconds: seconds, rates, sessions: Vec::new() };
    for (counted, sessions) in ended.parts {
        driven.counted.add(&counted);
        driven.sessions.extend(sessions);
    }
    driven.rate_seconds = driven.counted.ends.mean_seconds().unwrap_or(seconds);
    Ok(driven)
}

impl Counted {
    fn add(&mut self, other: &Counted) {
        self.latencies.iter_mut().zip(&other.latencies).for_each(|(all, one)| all.merge(one));
        load::add_up! { self, other; scanned, late, bytes }
        self.ends.merge(other.ends);
    }
}

impl Shared<'_> {
    /// When the next operation of the open loop is due, whichever connection has it.
    fn due(&self, started: Instant) -> Instant {
        started + duration::until(self.scheduled.fetch_add(1, Ordering::Relaxed), self.pace.rate)
    }
}

/// An operation under way.
struct Operation {
    kind: Kind,
    record: u64,
    /// What an update replaces.
    field: usize,
    /// Of its key, and the key.
    number: u64,
    key: Key,
    /// From when its latency counts.
    began: Instant,
    check: Check,
    /// Of a write of a field, once it is sent.
    write: Option<Write>,
}

/// A connection.
struct Line {
    session: Box<dyn Session>,
    random: Random,
    /// By tag.
    operations: Vec<Operation>,
    /// How many are under way.
    open: usize,
    /// When the open loop wants the next one.
    due: Option<Instant>,
}

impl Line {
    fn new(session: Box<dyn Session>, random: Random, pipeline: usize) -> Line {
        let idle = || Operation {
            kind: Kind::Read,
            record: 0,
            field: 0,
            number: 0,
            key: value::key(0),
            began: Instant::now(),
            check: Check::default(),
            write: None,
        };
        let operations = std::iter::repeat_with(idle).take(pipeline).collect();
        Line { session, random, operations, open: 0, due: None }
    }
}

/// One thread of the load.
struct Driver<'a> {
    shared: &'a Shared<'a>,
    lines: Vec<Line>,
    readiness: Readiness,
    choice: Choice,
    started: Instant,
    deadline: Instant,
    counted: Counted,
    /// Operations that ended and are not counted yet.
    ended: Vec<(Kind, Instant)>,
    /// What is written.
    value: Vec<u8>,
}

impl<'a> Driver<'a> {
    fn new(shared: &'a Shared<'a>, lines: Vec<Line>) -> Result<Driver<'a>, Error> {
        let readiness = Readiness::new(lines.len().max(1)).map_err(cannot_wait)?;
        for (index, line) in lines.iter().enumerate() {
            if let Some(descriptor) = line.session.descriptor() {
                readiness.add(descriptor, index, Interest::Read).map_err(cannot_wait)?;
            }
        }
        let (started, choice) = (Instant::now(), shared.work.choice.clone());
        let (counted, ended, value) = (Counted::default(), Vec::new(), Vec::new());
        Ok(Driver { shared, lines, readiness, choice, started, deadline: started, counted, ended, value })
    }

    /// Runs the lines to their ends.
    fn run(mut self) -> Result<(Counted, Vec<Box<dyn Session>>), Error> {
        self.started = Instant::now();
        self.deadline = self.started + duration::of_seconds(self.shared.pace.seconds);
        let first = vec![Some(self.started); self.lines.len()];
        let shared = self.shared;
        event_loop::run(&mut self, first, &shared.control)?;
        Ok((self.counted, self.lines.into_iter().map(|line| line.session).collect()))
    }

    /// Takes what has come on a line, and begins its next operations when all are answered.
    fn go_on(&mut self, index: usize) -> Result<Next, Error> {
        if self.lines[index].open > 0 {
            self.fetch(index, self.shared.pace.pipeline);
        }
        loop {
            while let Some(tag) = self.answer(index)? {
                self.answered(index, tag)?;
            }
            self.record();
            let line = &mut self.lines[index];
            // The second halves of what takes two requests.
            line.session.send()?;
            let is_embedded = line.session.descriptor().is_none();
            if line.open > 0 {
                if is_embedded {
                    continue;
                }
                return Ok(Next::Waits);
            }
            if let Some(next) = self.begin_all(index)? {
                return Ok(next);
            }
            if !is_embedded {
                return Ok(Next::Waits);
            }
        }
    }

    fn answer(&mut self, index: usize) -> Result<Option<usize>, Error> {
        let Line { session, operations, .. } = &mut self.lines[index];
        let rules = &self.shared.work.rules;
        session.answer(&mut |seen| operations[seen.tag].check.see(rules, seen))
    }

    /// Sends a line's next operations. What it does instead, when there are none now.
    fn begin_all(&mut self, index: usize) -> Result<Option<Next>, Error> {
        let Pace { pipeline, rate, .. } = self.shared.pace;
        let (shared, now) = (self.shared, Instant::now());
        let backlog = if rate > 0.0 { backlog_max(self.deadline - self.started) } else { Duration::ZERO };
        let is_at_end = now >= self.deadline + backlog;
        if is_at_end || shared.control.is_over() {
            return Ok(Some(self.line_ended(now)));
        }
        let mut drawn = 0;
        while drawn < pipeline {
            let mut began = now;
            if rate > 0.0 {
                let at = self.lines[index].due.take().unwrap_or_else(|| shared.due(self.started));
                if at > now || at >= self.deadline {
                    // Not yet, or not in this run: what is due after the end is no part of it. What was due before is, however late.
                    self.lines[index].due = Some(at);
                    break;
                }
                began = at;
                self.counted.late += u64::from(now > at + LATE);
            }
            self.draw(index, drawn, began);
            drawn += 1;
        }
        self.fetch(index, drawn);
        for tag in 0..drawn {
            self.begin(index, tag)?;
        }
        let line = &mut self.lines[index];
        if line.open > 0 {
            line.session.send()?;
            return Ok(None);
        }
        let at = line.due.expect("only the open loop has nothing to do");
        Ok(Some(if at >= self.deadline { self.line_ended(now) } else { Next::At(at) }))
    }

    /// A line begins nothing more, and has all its answers.
    fn line_ended(&mut self, now: Instant) -> Next {
        self.counted.ends.add(self.deadline - self.started, now - self.started);
        Next::Ended
    }

    /// Draws an operation.
    fn draw(&mut self, index: usize, tag: usize, began: Instant) {
        let Work { mix, rules, records, .. } = self.shared.work;
        let Line { random, operations, .. } = &mut self.lines[index];
        let kind = mix.draw(random);
        let record = if kind == Kind::Insert { records.begin() } else { self.choice.draw(random, records.there()) };
        let field = match kind {
            Kind::Update | Kind::ReadModifyWrite => random.below(rules.shape.fields as u64) as usize,
            Kind::Read | Kind::Scan | Kind::Insert => 0,
        };
        let (number, operation) = (value::key_number(record), &mut operations[tag]);
        (operation.kind, operation.record, operation.field, operation.began) = (kind, record, field, began);
        (operation.number, operation.key, operation.write) = (number, value::key(number), None);
    }

    /// Before a line's first operations need what is known of their records.
    fn fetch(&self, index: usize, operations: usize) {
        let Work { rules, .. } = self.shared.work;
        if let Some(versions) = &rules.versions {
            let operations = &self.lines[index].operations[..operations];
            versions.fetch(operations.iter().map(|one| one.record as usize * rules.shape.fields + one.field));
        }
    }

    /// Adds an operation's request.
    fn begin(&mut self, index: usize, tag: usize) -> Result<(), Error> {
        let Work { rules, .. } = self.shared.work;
        let line = &mut self.lines[index];
        let operation = &mut line.operations[tag];
        let Operation { kind, record, number, key, .. } = *operation;
        line.open += 1;
        match kind {
            Kind::Read | Kind::ReadModifyWrite => {
                operation.check.read(rules, record, (number, key));
                line.session.ask(tag, &Request::Read(key))
            }
            Kind::Scan => {
                let count = scan_length(&mut line.random);
                operation.check.scan(rules, (number, key), count);
                line.session.ask(tag, &Request::Scan(key, count))
            }
            Kind::Insert => {
                operation.check.write((number, key));
                self.value.clear();
                for field in 0..rules.shape.fields {
                    value::write(number, field, 0, rules.shape.length, &mut self.value);
                }
                self.counted.bytes += self.value.len() as u64;
                line.session.ask(tag, &Request::Insert(key, &self.value))
            }
            Kind::Update => self.update(index, tag),
        }
    }

    /// Adds the request that replaces a field of an operation's record.
    fn update(&mut self, index: usize, tag: usize) -> Result<(), Error> {
        let rules = &self.shared.work.rules;
        let line = &mut self.lines[index];
        let operation = &mut line.operations[tag];
        let (field, versions) = (operation.field, rules.versions.expect("mixes that write again have versions"));
        let write = versions.begin(operation.record as usize * rules.shape.fields + field);
        self.value.clear();
        value::write(operation.number, field, write.version, rules.shape.length, &mut self.value);
        operation.check.write((operation.number, operation.key));
        operation.write = Some(write);
        self.counted.bytes += self.value.len() as u64;
        line.session.ask(tag, &Request::Update(operation.key, field, &self.value))
    }

    /// An operation's request is answered; most operations have one.
    fn answered(&mut self, index: usize, tag: usize) -> Result<(), Error> {
        let Work { rules, records, .. } = self.shared.work;
        let line = &mut self.lines[index];
        let operation = &mut line.operations[tag];
        let seen = operation.check.end(rules)?;
        match (operation.kind, operation.write) {
            (Kind::ReadModifyWrite, None) => return self.update(index, tag),
            (_, Some(write)) => rules.versions.expect("it has a version").end(write),
            (Kind::Insert, None) => records.end(operation.record),
            (Kind::Scan, None) => self.counted.scanned += seen as u64,
            (Kind::Read | Kind::Update, None) => {}
        }
        line.open -= 1;
        self.ended.push((operation.kind, operation.began));
        Ok(())
    }

    /// The operations that were answered just now have one moment of their end, that of the last of them.
    fn record(&mut self) {
        if self.ended.is_empty() {
            return;
        }
        let now = Instant::now();
        self.shared.control.count(self.ended.len() as u64);
        for (kind, began) in self.ended.drain(..) {
            self.counted.latencies[kind.number()].record(now.saturating_duration_since(began));
        }
    }
}

impl Connections for Driver<'_> {
    fn readiness(&mut self) -> &mut Readiness {
        &mut self.readiness
    }

    fn due(&mut self, index: usize) -> Result<Next, Error> {
        self.go_on(index)
    }

    fn answered(&mut self, index: usize) -> Result<Next, Error> {
        self.go_on(index)
    }

    /// The connection's end is the run's.
    fn unasked(&mut self, index: usize) -> Result<(), Error> {
        self.answer(index).map(|_| ())
    }
}
