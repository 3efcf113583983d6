//! A client at work on a disk that may fail: what it does and what it is told.

use super::database::Database;
use crate::recovery::{found, nothing};
use load::sql::Place;
use powercut::fault::verdict::{End, Look, Transcript, Tried};
use powercut::verdict::{Found, RecoveryOutcome};
use std::time::{Duration, Instant};
use workloads::steps::{Attempted, Connected, Steps};

/// A client that waits longer hangs: less than a disk that hangs takes to be taken away.
const HANGS_AFTER: Duration = Duration::from_secs(9);

/// A server that threw its clients out takes them again within this time, or is started again.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(10);

const TRY_EVERY: Duration = Duration::from_millis(20);

/// One case's client.
pub struct Run<'a> {
    load: &'a dyn Steps,
    /// Where the database is now.
    place: Place,
    client: Option<Box<dyn Connected + 'a>>,
    /// A server that could not be brought back.
    is_away: bool,
    next: u64,
    /// What was seen.
    pub transcript: Transcript,
    /// What was done and what came of it, a line each.
    pub steps: Vec<String>,
    /// What the server said.
    pub server: Vec<String>,
    /// What the kernel said of the disk.
    pub kernel: Vec<String>,
    started: Instant,
}

impl<'a> Run<'a> {
    /// Not connected yet.
    pub fn new(load: &'a dyn Steps, place: Place) -> Run<'a> {
        let (transcript, started) = (Transcript::default(), Instant::now());
        let (steps, server, kernel) = (Vec::new(), Vec::new(), Vec::new());
        Run { load, place, client: None, is_away: false, next: 1, transcript, steps, server, kernel, started }
    }

    /// Writes down what was done.
    pub fn did(&mut self, what: &str) {
        self.steps.push(format!("{:8.3} s  {what}", self.started.elapsed().as_secs_f64()));
    }

    /// Writes down what came of something; an error is one that somebody was told of.
    pub fn heard(&mut self, what: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.did(&format!("{what}: done")),
            Err(why) => {
                self.did(&format!("{what}: {why}"));
                self.transcript.errors.push(format!("{what}: {why}"));
            }
        }
    }

    /// Connects; that it can't is an error that was told.
    pub fn connect(&mut self) {
        let started = Instant::now();
        let connected = self.load.connect(&self.place);
        self.waited("connect", started);
        match connected {
            Ok(client) => self.client = Some(client),
            Err(error) => self.heard("connect", Err(words(&error))),
        }
    }

    /// Ends the connection.
    pub fn disconnect(&mut self) {
        self.client = None;
    }

    /// Makes the next commit, on a new connection where there is none. A server that threw its client out is waited for, and started
    /// again if it has ended or stays away.
    pub fn commit(&mut self, database: &mut Database) {
        if self.client.is_none() {
            self.reconnect(database);
        }
        let number = self.next;
        self.next += 1;
        let Some(client) = &mut self.client else {
            return self.did(&format!("commit {number}: no connection"));
        };
        let started = Instant::now();
        let committed = client.commit(number);
        self.waited(&format!("commit {number}"), started);
        let end = match committed {
            Ok(()) => {
                self.did(&format!("commit {number}: acknowledged"));
                End::Acknowledged
            }
            Err(refused) => {
                self.heard(&format!("commit {number}"), Err(words(&refused.error)));
                if refused.is_unknown { End::Unknown } else { End::Refused }
            }
        };
        self.transcript.tried.push(Tried { number, end });
        let is_gone = end == End::Refused && self.client.as_mut().is_some_and(|client| client.give_up().is_err());
        if end == End::Unknown || is_gone {
            self.transcript.has_stopped |= end == End::Unknown || self.place.server.is_some();
            self.client = None;
        }
    }

    fn reconnect(&mut self, database: &mut Database) {
        if self.is_away {
            return;
        }
        let deadline = Instant::now() + if self.transcript.has_stopped { COMES_BACK_WITHIN } else { Duration::ZERO };
        loop {
            match self.load.connect(&self.place) {
                Ok(client) => {
                    self.client = Some(client);
                    return self.did("connected again");
                }
                Err(_) if Instant::now() < deadline && !database.has_ended() => std::thread::sleep(TRY_EVERY),
                Err(error) => {
                    self.heard("connect", Err(words(&error)));
                    break;
                }
            }
        }
        if self.place.server.is_none() {
            return;
        }
        match database.start_again(&self.place.data_folder) {
            Ok(place) => {
                self.did("the server was started again");
                self.place = place;
                self.connect();
            }
            Err(why) => self.heard("start the server", Err(why)),
        }
        // Once is enough: it comes back on a disk that was mended, or not at all.
        self.is_away = self.client.is_none();
    }

    /// The server is another one now, and may be reached again.
    pub fn is_at(&mut self, place: Place) {
        self.place = place;
        self.is_away = false;
    }

    /// Asks for what is dirty to be written.
    pub fn write_out(&mut self) {
        self.ask("write out", |load, place| load.write_out(place));
    }

    /// Asks for a whole checkpoint.
    pub fn checkpoint(&mut self) {
        self.ask("checkpoint", |load, place| load.checkpoint(place));
    }

    fn ask(&mut self, what: &str, ask: impl Fn(&dyn Steps, &Place) -> Result<(), load::workload::Error>) {
        if self.is_away {
            return;
        }
        let started = Instant::now();
        let done = ask(self.load, &self.place);
        self.waited(what, started);
        self.heard(what, done.map_err(|error| words(&error)));
    }

    /// Looks at all that is there.
    pub fn look(&mut self) {
        let started = Instant::now();
        let attempted = |one: &Tried| Attempted { number: one.number, is_refused: one.end == End::Refused };
        let tried: Vec<Attempted> = self.transcript.tried.iter().map(attempted).collect();
        let look = self.load.look(&self.place, &tried);
        self.waited("read all", started);
        let tried = self.transcript.tried.len();
        let found = look.map_or_else(|error| nothing(RecoveryOutcome::Down(words(&error))), found);
        self.did(&format!("read all: {}", describe(&found)));
        self.transcript.looks.push(Look { tried, found });
    }

    /// Writes down that nothing could be looked at.
    pub fn found(&mut self, outcome: RecoveryOutcome) {
        let (tried, found) = (self.transcript.tried.len(), nothing(outcome));
        self.did(&describe(&found));
        self.transcript.looks.push(Look { tried, found });
    }

    fn waited(&mut self, what: &str, started: Instant) {
        let seconds = started.elapsed().as_secs_f64();
        if started.elapsed() >= HANGS_AFTER {
            let words = format!("{what} took {seconds:.1} s");
            self.did(&words);
            self.transcript.hung.get_or_insert(words);
        }
    }
}

fn describe(found: &Found) -> String {
    match &found.outcome {
        RecoveryOutcome::Unmountable(why) => format!("does not mount: {why}"),
        RecoveryOutcome::Down(why) => format!("does not come up: {why}"),
        RecoveryOutcome::Damaged(why) => format!("found damaged: {why}"),
        RecoveryOutcome::Up => match found.wrong.first() {
            Some(wrong) => format!("wrong: {wrong}"),
            None => {
                let numbers = found.streams.values().next().cloned().unwrap_or_default();
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                format!("whole, commits {}", numbers.join(" "))
            }
        },
    }
}

/// The error with its causes, in a line.
fn words(error: &load::workload::Error) -> String {
    observe::record::causes(error).join(": ")
}
