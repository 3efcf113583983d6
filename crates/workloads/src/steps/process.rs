//! The same in a process of its own, for an engine that maps its file: a page that can't be read ends the process that touches it, by
//! SIGBUS. What the process is told is on its standard input, an order a line; its answers are on its standard output. It ends with its
//! connection, as a program does that is started again.

use super::{Attempted, Connected, NotAcknowledged, Steps};
use crate::commits::{self, Look};
use load::sql::Place;
use load::workload::Error;
use observe::record::causes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The name of the worker (`surefoot worker`).
pub const WORKER: &str = "steps";

#[derive(Debug, Serialize, Deserialize)]
struct Begin {
    workload: String,
    parameters: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Order {
    Connect(Place),
    Commit(u64),
    GiveUp,
    WriteOut(Place),
    Checkpoint(Place),
    Look(Place, Vec<Attempted>),
    LookAtEmbedded(PathBuf),
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Done,
    Looked(Look),
    Failed { words: String, is_unknown: bool },
}

/// Steps that another process takes.
pub struct Remote {
    begin: Begin,
    process: Mutex<Option<Process>>,
}

struct Process {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Remote {
    /// None runs yet.
    pub fn new(workload: &str, parameters: &Map<String, Value>) -> Remote {
        let begin = Begin { workload: workload.into(), parameters: parameters.clone() };
        Remote { begin, process: Mutex::new(None) }
    }

    fn start(&self) -> Result<Process, Error> {
        let program = std::env::current_exe().map_err(Error::doing("find", "this program".as_ref()))?;
        let mut command = Command::new(&program);
        command.args(["worker", WORKER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(Error::doing("start", &program))?;
        let orders = child.stdin.take().expect("standard input was piped");
        let answers = BufReader::new(child.stdout.take().expect("standard output was piped"));
        let mut process = Process { child, orders, answers };
        process.say(&self.begin);
        Ok(process)
    }

    fn ask(&self, order: &Order) -> Result<Look, NotAcknowledged> {
        let told = |error: Error| NotAcknowledged { error, is_unknown: false };
        let mut running = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let process = match &mut *running {
            Some(process) => process,
            none => none.insert(self.start().map_err(told)?),
        };
        process.say(order);
        match process.hear() {
            Some(Answer::Done) => Ok(Look::default()),
            Some(Answer::Looked(look)) => Ok(look),
            Some(Answer::Failed { words, is_unknown }) => {
                Err(NotAcknowledged { error: Error::Said(words), is_unknown })
            }
            None => {
                let status = process.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                *running = None;
                let (program, log) = ("the program with the database".into(), String::new());
                Err(NotAcknowledged { error: Error::Program { program, status, log }, is_unknown: true })
            }
        }
    }

    /// What an embedded database in a folder holds, as [`commits::look_at_embedded`]: it may end the process.
    ///
    /// # Errors
    /// When the process can't be started, or was killed (SIGKILL), as by a kernel that is short of memory: no page does that. Within: what
    /// the database says when it does not come up, or that reading it ended the process.
    pub fn look_at_embedded(&self, data_folder: &Path) -> Result<Result<Look, String>, Error> {
        match self.ask(&Order::LookAtEmbedded(data_folder.into())) {
            Ok(look) => Ok(Ok(look)),
            Err(NotAcknowledged { error: Error::Said(words), .. }) => Ok(Err(words)),
            Err(NotAcknowledged { error: Error::Program { status, .. }, .. }) if !status.starts_with("signal: 9 ") => {
                Ok(Err(format!("reading it ended the program: {status}")))
            }
            Err(NotAcknowledged { error, .. }) => Err(error),
        }
    }

    fn end(&self) {
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Process {
    /// One that has ended shows when its answer is read.
    fn say(&mut self, what: &impl Serialize) {
        let mut line = serde_json::to_vec(what).expect("plain data");
        line.push(b'\n');
        let _ = self.orders.write_all(&line);
    }

    fn hear(&mut self) -> Option<Answer> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Steps for Remote {
    fn connect(&self, place: &Place) -> Result<Box<dyn Connected + '_>, Error> {
        self.ask(&Order::Connect(place.clone())).map_err(|refused| refused.error)?;
        Ok(Box::new(Session(self)))
    }

    fn write_out(&self, place: &Place) -> Result<(), Error> {
        self.ask(&Order::WriteOut(place.clone())).map(drop).map_err(|refused| refused.error)
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        self.ask(&Order::Checkpoint(place.clone())).map(drop).map_err(|refused| refused.error)
    }

    fn look(&self, place: &Place, tried: &[Attempted]) -> Result<Look, Error> {
        self.ask(&Order::Look(place.clone(), tried.to_vec())).map_err(|refused| refused.error)
    }
}

struct Session<'a>(&'a Remote);

impl Connected for Session<'_> {
    fn commit(&mut self, number: u64) -> Result<(), NotAcknowledged> {
        self.0.ask(&Order::Commit(number)).map(drop)
    }

    fn give_up(&mut self) -> Result<(), Error> {
        self.0.ask(&Order::GiveUp).map(drop).map_err(|refused| refused.error)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What the process does.
///
/// # Errors
/// When its pipes break, or an order is none.
pub fn serve() -> Result<(), Error> {
    let broken = |source| Error::file("read or write", "the orders of a worker".as_ref(), source);
    let mut lines = std::io::stdin().lock().lines();
    let Some(begin) = lines.next().transpose().map_err(broken)? else { return Ok(()) };
    let Begin { workload, parameters } = order(&begin)?;
    let steps = crate::steps_here(&workload, &parameters);
    let mut client: Option<Box<dyn Connected>> = None;
    for line in lines {
        let answer = match order(&line.map_err(broken)?)? {
            Order::LookAtEmbedded(folder) => match commits::look_at_embedded(&parameters, &folder) {
                Ok(look) => Answer::Looked(look),
                Err(words) => Answer::Failed { words, is_unknown: false },
            },
            order => obey(&*steps, &mut client, order),
        };
        let answer = serde_json::to_string(&answer).expect("plain data");
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).map_err(broken)?;
    }
    Ok(())
}

fn order<T: for<'a> Deserialize<'a>>(line: &str) -> Result<T, Error> {
    serde_json::from_str(line).map_err(|error| Error::Said(format!("this is no order: {error}")))
}

fn without_connection() -> Error {
    Error::Said("there is no connection".into())
}

fn obey<'a>(steps: &'a dyn Steps, client: &mut Option<Box<dyn Connected + 'a>>, order: Order) -> Answer {
    let told = |error: Error| NotAcknowledged { error, is_unknown: false };
    let done = |result: Result<(), Error>| result.map(|()| Answer::Done).map_err(told);
    let result = match order {
        Order::Connect(place) => {
            steps.connect(&place).map(|one| *client = Some(one)).map(|()| Answer::Done).map_err(told)
        }
        Order::Commit(number) => match client {
            Some(client) => client.commit(number).map(|()| Answer::Done),
            None => Err(told(without_connection())),
        },
        // A look may have ended the process that had it: to go on takes another one.
        Order::GiveUp => done(client.as_mut().map_or_else(|| Err(without_connection()), |client| client.give_up())),
        Order::WriteOut(place) => done(steps.write_out(&place)),
        Order::Checkpoint(place) => done(steps.checkpoint(&place)),
        Order::Look(place, tried) => steps.look(&place, &tried).map(Answer::Looked).map_err(told),
        Order::LookAtEmbedded(_) => unreachable!("it is no step of the load"),
    };
    result.unwrap_or_else(|NotAcknowledged { error, is_unknown }| Answer::Failed {
        words: causes(&error).join(": "),
        is_unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Steps for Nowhere {
        fn connect(&self, _place: &Place) -> Result<Box<dyn Connected + '_>, Error> {
            Ok(Box::new(Nowhere))
        }

        fn write_out(&self, _place: &Place) -> Result<(), Error> {
            Ok(())
        }

        fn checkpoint(&self, _place: &Place) -> Result<(), Error> {
            Ok(())
        }

        fn look(&self, _place: &Place, _tried: &[Attempted]) -> Result<Look, Error> {
            Ok(Look::default())
        }
    }

    impl Connected for Nowhere {
        fn commit(&mut self, _number: u64) -> Result<(), NotAcknowledged> {
            Ok(())
        }

        fn give_up(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    /// Of a program that a page ended while all was read no further commit was made: each was refused, and its connection taken for a good one.
    #[test]
    fn a_connection_that_ended_with_its_process_is_of_no_more_use() {
        let (steps, mut client): (&dyn Steps, _) = (&Nowhere, None);
        let mut is_done = |order: Order| matches!(obey(steps, &mut client, order), Answer::Done);
        assert!(!is_done(Order::Commit(1)) && !is_done(Order::GiveUp), "the process that had it is gone");
        let place = Place { data_folder: PathBuf::new(), server: None };
        assert!(is_done(Order::Connect(place)) && is_done(Order::Commit(2)) && is_done(Order::GiveUp));
    }
}
