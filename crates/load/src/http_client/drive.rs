//! The loop: starts what is due, waits, looks at what came, and starts what that has made possible.
//!
//! In an open loop a latency counts from the moment when the request should have started, so that a server's stall is in the
//! latencies of all that it held up.

use super::line::{Happened, Line, State};
use super::network::{Network, Wait};
use super::polled::Polled;
use super::secured::Secured;
use super::tally::Tally;
use super::uring::Uring;
use super::{Client, Engine, Pace, Source, Task};
use crate::deadline::Ends;
use crate::descriptors::{self, Connections};
use crate::duration;
use crate::threads::Control;
use crate::workload::Error;
use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// While it waits, a thread looks this often for time-outs, and whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// In an open loop, a request that starts later than this after its time counts as late: well above a wake-up's delay.
const LATE: Duration = Duration::from_millis(1);

/// A request of the schedule.
struct Drawn {
    task: Task,
    /// None: as soon as a connection is free.
    intended: Option<Instant>,
    /// Calls of the connection that it starts; none: any connection will do.
    calls: Option<u64>,
}

/// What threads share.
struct Shared<'a> {
    client: &'a Client,
    /// The source, and how many requests of the schedule were drawn from it.
    source: Mutex<(&'a mut dyn Source, u64)>,
    started: Instant,
    control: Control<'a>,
}

/// Sends all requests of `source`; gives what came of them, and the right answers of each whole second.
///
/// # Errors
/// When the system refuses connections as such or so many of them, the source fails, or the user interrupts.
pub fn drive(
    client: &Client,
    source: &mut dyn Source,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(f64, f64),
) -> Result<(Tally, Vec<f64>), Error> {
    let driven = drive_until(client, source, interrupted, progress)?;
    Error::if_interrupted(interrupted)?;
    Ok(driven)
}

/// The same; where the user interrupts, what came of the requests until then. Those that were under way are in [`Tally::requests`] alone.
///
/// # Errors
/// As [`drive`], but for the user.
pub fn drive_until(
    client: &Client,
    source: &mut dyn Source,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(f64, f64),
) -> Result<(Tally, Vec<f64>), Error> {
    let (least, most) = (client.connections, client.connections);
    descriptors::make_room(&Connections { setting: "connections", words: "of them", least, most })?;
    let threads = client.threads.clamp(1, client.connections);
    let control = Control::new(interrupted);
    let shared = Shared { client, source: Mutex::new((source, 0)), started: Instant::now(), control };
    let lines = |thread| client.connections / threads + usize::from(thread < client.connections % threads);
    let lines: Vec<usize> = (0..threads).map(lines).collect();
    let ended = shared.control.run_until(lines, |_, lines| Ok(lines), |lines| run(&shared, lines), progress)?;
    let mut all = Tally::default();
    ended.parts.into_iter().for_each(|tally| all.merge(tally));
    all.seconds = all.ends.mean_seconds().unwrap_or(all.seconds);
    all.schedule = client.schedule(all.requests);
    let mut rates = ended.rates;
    rates.truncate(all.seconds as usize);
    Ok((all, rates))
}

impl Shared<'_> {
    /// The next request of the schedule.
    fn draw(&self, request: &mut Vec<u8>) -> Result<Option<Drawn>, Error> {
        let mut source = self.source.lock().expect("no thread panics with it");
        let calls = self.client.session_calls();
        let before = source.1.saturating_mul(calls.unwrap_or(1));
        let requests_max = if self.client.requests_max == 0 { u64::MAX } else { self.client.requests_max };
        let left = requests_max.saturating_sub(before);
        if left == 0 {
            return Ok(None);
        }
        request.clear();
        let Some(task) = source.0.next(request)? else { return Ok(None) };
        let number = source.1;
        source.1 += 1;
        let calls = calls.map(|calls| calls.min(left));
        let at = match self.client.pace {
            Pace::Closed => return Ok(Some(Drawn { task, intended: None, calls })),
            Pace::PerSecond(rate) => duration::until(number, rate),
            Pace::AsLogged(speed) => duration::of_seconds(task.at.as_secs_f64() / speed),
        };
        let intended = self.started + at;
        // What is due after the window's end is no part of it.
        Ok(self.is_open(intended).then_some(Drawn { task, intended: Some(intended), calls }))
    }

    /// The next request of a connection that the schedule has started.
    fn draw_call(&self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        request.clear();
        self.source.lock().expect("no thread panics with it").0.next(request)
    }

    /// Whether the window has not ended by then.
    fn is_open(&self, at: Instant) -> bool {
        self.client.window.is_none_or(|window| at.saturating_duration_since(self.started) < window)
    }
}

fn run(shared: &Shared, lines: usize) -> Result<Tally, Error> {
    let client = shared.client;
    let refused = |engine: &str, source: io::Error| Error::engine(engine, "be used here", source);
    let mut without_uring = None;
    if client.engine != Engine::Epoll {
        match Uring::set_up(&client.addresses, lines, client.reuses()) {
            Ok(ring) => return Ok(Tally { uring_threads: 1, ..run_over(shared, ring, lines)? }),
            Err(source) if client.engine == Engine::Uring => return Err(refused("io_uring", source)),
            // Other systems have none at all.
            Err(source) => without_uring = cfg!(target_os = "linux").then(|| source.to_string()),
        }
    }
    let polled = Polled::new(&client.addresses, lines).map_err(|source| refused("epoll", source))?;
    Ok(Tally { polled_threads: 1, without_uring, ..run_over(shared, polled, lines)? })
}

fn run_over(shared: &Shared, network: impl Network, lines: usize) -> Result<Tally, Error> {
    match shared.client.tls.clone() {
        None => Driver::new(shared, network, lines).run(),
        Some(tls) => Driver::new(shared, Secured::new(network, tls, lines), lines).run(),
    }
}

/// One thread of the load.
struct Driver<'a, 's, N> {
    shared: &'a Shared<'s>,
    network: N,
    lines: Vec<Line>,
    /// Lines without a connection.
    closed: Vec<usize>,
    /// Lines whose connection waits for a request.
    open: Vec<usize>,
    /// Lines that think, and until when: in that order, because all think equally long.
    thinking: VecDeque<(Instant, usize)>,
    /// Drawn, and not yet started.
    upcoming: Option<Drawn>,
    upcoming_request: Vec<u8>,
    is_exhausted: bool,
    happened: Vec<(usize, Happened)>,
    /// When the last whole answer was there; none: there was none.
    last_answer: Option<Instant>,
    /// When the last request began.
    last_begin: Instant,
    tally: Tally,
}

impl<'a, 's, N: Network> Driver<'a, 's, N> {
    fn new(shared: &'a Shared<'s>, network: N, lines: usize) -> Driver<'a, 's, N> {
        Driver {
            shared,
            network,
            lines: (0..lines).map(|_| Line::new(shared.client.calls, shared.client.timeout, shared.started)).collect(),
            closed: (0..lines).rev().collect(),
            open: Vec::new(),
            thinking: VecDeque::new(),
            upcoming: None,
            upcoming_request: Vec::new(),
            is_exhausted: false,
            happened: Vec::new(),
            last_answer: None,
            last_begin: shared.started,
            tally: Tally::default(),
        }
    }

    fn run(mut self) -> Result<Tally, Error> {
        let cpu_before = observe::cpu::thread_seconds();
        let mut looked = Instant::now();
        loop {
            let thought = self.end_thinking()?;
            let due = self.start_due()?.into_iter().chain(thought).min();
            let is_idle = self.open.len() + self.closed.len() == self.lines.len();
            if is_idle && due.is_none() || self.shared.control.is_over() {
                break;
            }
            self.wait(due.unwrap_or(looked + LOOK).min(looked + LOOK))?;
            self.look_at_all();
            let now = Instant::now();
            if now >= looked + LOOK {
                looked = now;
                self.time_out(now);
            }
        }
        self.tally.seconds = self.elapsed().as_secs_f64();
        self.tally.ends = self.ends();
        self.tally.cpu_seconds = observe::cpu::thread_seconds() - cpu_before;
        (0..self.lines.len()).for_each(|index| self.close(index));
        Ok(self.tally)
    }

    /// When the connections of a closed loop ended that ends by its window. A time-out is the time of its connection alone.
    fn ends(&self) -> Ends {
        let (started, mut ends) = (self.shared.started, Ends::default());
        if let (Pace::Closed, Some(window)) = (self.shared.client.pace, self.shared.client.window) {
            // The source may have ended before.
            let window = window.min(started.elapsed());
            self.lines.iter().for_each(|line| ends.add(window, line.ended.saturating_duration_since(started)));
        }
        ends
    }

    /// What the rates of other loops are over: the window, and what its last answer took beyond it. A request that is waited for until its
    /// time-out is an error, and no time in which the others were slow; but the time until the last one began is the load's, also where a
    /// server that has gone answers none of the last.
    fn elapsed(&self) -> Duration {
        let (started, all) = (self.shared.started, self.shared.started.elapsed());
        let answered = self.last_answer.map(|at| at.max(self.last_begin).saturating_duration_since(started));
        match (answered, self.shared.client.window) {
            (None, _) => all,
            // Who breaks off may do so as nothing came any more.
            _ if self.shared.control.is_over() => all,
            (Some(answered), Some(window)) => answered.max(window.min(all)),
            (Some(answered), None) => answered,
        }
    }

    /// Starts what is due and has a connection; gives when the next one is due that could have one.
    fn start_due(&mut self) -> Result<Option<Instant>, Error> {
        loop {
            let has_line = !self.open.is_empty() || !self.closed.is_empty();
            // Another thread may have a connection for it now. One alone has it ready for its next answer, and whose connections think
            // want to know whether there is one to come.
            let client = self.shared.client;
            let is_for_later = client.threads == 1 || !client.think_time.is_zero();
            let may_draw = has_line || is_for_later && client.pace == Pace::Closed;
            if self.upcoming.is_none() && !self.is_exhausted && may_draw {
                self.upcoming = self.shared.draw(&mut self.upcoming_request)?;
                self.is_exhausted = self.upcoming.is_none();
            }
            let Some(drawn) = self.upcoming.as_ref().filter(|_| has_line) else { return Ok(None) };
            let now = Instant::now();
            match drawn.intended {
                Some(intended) if intended > now => return Ok(Some(intended)),
                // In an open loop the schedule decides, however late it is.
                None if !self.shared.is_open(now) => {
                    (self.upcoming, self.is_exhausted) = (None, true);
                    return Ok(None);
                }
                _ => {}
            }
            // The connection that was used last is the one whose memory is still at hand.
            let index = self.open.pop().or_else(|| self.closed.pop()).expect("one of them is not empty");
            let Drawn { task, intended, calls } = self.upcoming.take().expect("it is there");
            let line = &mut self.lines[index];
            (line.is_first_call, line.calls_left) = (calls.is_some(), calls.unwrap_or(0).saturating_sub(1));
            std::mem::swap(self.network.request(index), &mut self.upcoming_request);
            self.start(index, task, intended, now);
        }
    }

    /// Lets connections go on whose think time is over; gives when the next one's is.
    fn end_thinking(&mut self) -> Result<Option<Instant>, Error> {
        let (shared, is_session) = (self.shared, self.shared.client.session_calls().is_some());
        while let Some((until, index)) = self.thinking.front().copied() {
            // Nobody waits for what will not be asked.
            let now = Instant::now();
            let is_over = !shared.is_open(until.min(now)) || !is_session && self.is_exhausted;
            if until > now && !is_over {
                return Ok(Some(until));
            }
            self.thinking.pop_front();
            let is_closed = self.lines[index].state == State::Closed;
            if is_session && is_over || !is_session && is_closed {
                self.end(index);
            } else if !is_session {
                self.lines[index].state = State::Open;
                self.open.push(index);
            } else if let Some(task) = shared.draw_call(self.network.request(index))? {
                self.lines[index].calls_left -= 1;
                self.start(index, task, Some(until), now);
            } else {
                self.end(index);
            }
        }
        Ok(None)
    }

    /// Starts the request that was written for the line.
    fn start(&mut self, index: usize, task: Task, intended: Option<Instant>, now: Instant) {
        self.last_begin = now;
        self.tally.requests += 1;
        self.tally.late += u64::from(intended.is_some_and(|intended| now > intended + LATE));
        let line = &mut self.lines[index];
        let is_elsewhere = line.address != task.address;
        line.task = task;
        line.intended = intended.unwrap_or(now);
        line.is_resent = false;
        if is_elsewhere {
            self.close(index);
        }
        self.ask(index, now);
    }

    /// Sends the line's request, on a new connection where it has none.
    fn ask(&mut self, index: usize, now: Instant) {
        let line = &mut self.lines[index];
        line.reader.begin(line.task.is_head);
        line.search.begin();
        line.head.clear();
        line.since = now;
        (line.first_byte, line.received) = (None, 0);
        let is_closed = std::mem::replace(&mut line.state, State::Asked) == State::Closed;
        if is_closed {
            line.address = line.task.address;
            line.is_connected = false;
            line.answered = 0;
            line.opened = now;
            self.network.open(index, line.task.address);
        } else {
            self.network.send(index);
        }
    }

    fn wait(&mut self, until: Instant) -> Result<(), Error> {
        let (lines, happened, tally) = (&mut self.lines, &mut self.happened, &mut self.tally);
        // An open loop's time stamps are never held back for others.
        let events = match self.shared.client.pace {
            Pace::Closed => (lines.len() - self.open.len() - self.closed.len() - self.thinking.len()).div_ceil(2),
            Pace::PerSecond(_) | Pace::AsLogged(_) => 1,
        };
        let waited = self.network.wait(Wait { events, until }, &mut |index, event, now| {
            if let Some(what) = lines[index].see(event, now, tally) {
                happened.push((index, what));
            }
        });
        waited.map_err(|source| Error::engine("the load's event queue", "wait", source))
    }

    fn look_at_all(&mut self) {
        let (mut right, mut has_answer) = (0, false);
        for at in 0..self.happened.len() {
            let (index, what) = std::mem::replace(&mut self.happened[at], (0, Happened::More));
            has_answer |= matches!(what, Happened::Answered { .. });
            right += u64::from(matches!(what, Happened::Answered { is_right: true, .. }));
            self.look_at(index, what);
        }
        self.happened.clear();
        if has_answer {
            self.last_answer = Some(Instant::now());
        }
        if right > 0 {
            self.shared.control.count(right);
        }
    }

    fn look_at(&mut self, index: usize, what: Happened) {
        match what {
            Happened::Answered { answer, .. } => {
                let (client, line) = (self.shared.client, &mut self.lines[index]);
                let is_session = client.session_calls().is_some();
                // Behind the rest of a body, the server would take the next request for a part of that.
                let is_kept =
                    client.reuses() && answer.keep_alive && line.answered < line.calls && self.network.is_sent(index);
                if is_session && line.calls_left == 0 || !is_session && !is_kept {
                    self.end(index);
                } else if client.think_time.is_zero() && !is_session {
                    line.state = State::Open;
                    self.open.push(index);
                } else {
                    let until = Instant::now() + client.think_time;
                    // A closed loop's pause belongs to the request before it, the last one's too.
                    (line.state, line.ended) = (State::Thinking, until);
                    self.thinking.push_back((until, index));
                    if !is_kept {
                        // As a browser does, the session goes on with a new connection.
                        self.close(index);
                    }
                }
            }
            // Only of a line that still waits: its end may have come in the same batch.
            Happened::More if self.lines[index].state == State::Asked => self.network.more(index),
            Happened::More => {}
            Happened::Stale => {
                self.tally.resent += 1;
                let request = self.network.request(index).clone();
                self.close(index);
                *self.network.request(index) = request;
                self.lines[index].is_resent = true;
                self.ask(index, Instant::now());
            }
            Happened::Failed(fault, why) => {
                let waited = self.lines[index].intended.elapsed();
                self.tally.failed(fault, waited, why);
                self.end(index);
            }
            Happened::Gone if self.lines[index].state == State::Open => {
                self.open.retain(|open| *open != index);
                self.end(index);
            }
            // It would have thought on: no other takes its time, and a session goes on with a new connection.
            Happened::Gone if self.lines[index].state == State::Thinking => self.close(index),
            Happened::Gone => {}
        }
    }

    fn end(&mut self, index: usize) {
        self.close(index);
        self.closed.push(index);
    }

    fn close(&mut self, index: usize) {
        let line = &mut self.lines[index];
        if std::mem::replace(&mut line.state, State::Closed) != State::Closed {
            if line.answered > 0 {
                self.tally.connection.record(line.opened.elapsed());
            }
            self.network.close(index);
        }
    }

    fn time_out(&mut self, now: Instant) {
        for index in 0..self.lines.len() {
            let line = &mut self.lines[index];
            if line.state == State::Asked
                && let Some(late) = line.times_out(now)
            {
                self.look_at(index, late);
            }
        }
    }
}
