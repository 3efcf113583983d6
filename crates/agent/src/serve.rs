//! The agent: listens on one address, lets the paired study in, and passes its orders to a process that works.
//!
//! Each connection has a thread; who is let in has a working process (`worker.rs`) that ends with the connection. This process reads
//! nothing of a conversation but its first line.

use crate::line::{LOOK, Line, Socket};
use crate::message::{Begin, Greeting, HELLO_BYTES_MAX, Hello, PROTOCOL};
use crate::pairing::Pairing;
use crate::secured::{self, HANDSHAKE_MAX};
use crate::worker::WORKER;
use crate::{Error, Side};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Connections at a time that were not let in, or not yet; more are closed at once. A study has one for each scenario that is up.
const STRANGERS_MAX: usize = 64;
/// Of these from one address, so that one stranger keeps nobody else out.
const STRANGERS_OF_ADDRESS_MAX: usize = 8;

/// Facts of this machine that a study is told.
const TOLD: &[&str] = &["cpu_model", "cpus", "hypervisor", "kernel", "memory", "operating_system"];

/// How an agent is set up.
pub struct Door {
    /// Where it listens.
    pub address: SocketAddr,
    /// Whom it lets in.
    pub pairing: PathBuf,
    /// This surefoot's version.
    pub version: &'static str,
    /// The program that works: this one.
    pub program: PathBuf,
}

/// What all connections share.
struct Agent {
    pairing: Pairing,
    version: &'static str,
    program: PathBuf,
    facts: BTreeMap<String, String>,
    taken: Mutex<Taken>,
}

/// Who has the agent.
#[derive(Default)]
struct Taken {
    /// The study's lease, while it has a connection.
    lease: Option<String>,
    /// Its connections.
    sessions: usize,
    /// Of each address those that were not let in, or not yet.
    strangers: BTreeMap<IpAddr, usize>,
}

impl Door {
    /// Listens, says where by `listening`, and serves until it is ended.
    ///
    /// # Errors
    /// When it can't listen there, or the pairing can't be used.
    pub fn serve(self, listening: impl FnOnce(SocketAddr)) -> Result<(), Error> {
        let address = self.address;
        if address.ip().is_unspecified() || address.ip().is_multicast() {
            return Err(Error::Everywhere(address));
        }
        let pairing = Pairing::read(&self.pairing, Side::Agent)?;
        let failed = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listening(listener.local_addr().map_err(failed)?);
        let mut facts = observe::machine::facts(&[]);
        facts.retain(|name, _| TOLD.contains(&name.as_str()));
        let agent = Agent { pairing, version: self.version, program: self.program, facts, taken: Mutex::default() };
        let agent = Arc::new(agent);
        loop {
            // One that is gone before it is accepted, or no descriptor left for it, is no reason to end.
            let Ok((stream, from)) = listener.accept() else {
                std::thread::sleep(LOOK);
                continue;
            };
            let Some(connection) = Connection::of(&agent, from.ip()) else { continue };
            std::thread::spawn(move || {
                // A stranger hears nothing, and is not worth a line in a log that it could fill.
                let _ = connection.converse(stream);
            });
        }
    }
}

/// Who started the agent may have gone.
fn log(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// One connection, counted while it lasts.
struct Connection {
    agent: Arc<Agent>,
    from: IpAddr,
    is_session: bool,
}

impl Connection {
    fn of(agent: &Arc<Agent>, from: IpAddr) -> Option<Connection> {
        let mut taken = agent.taken();
        let strangers = taken.strangers.get(&from).copied().unwrap_or_default();
        let all: usize = taken.strangers.values().sum();
        if all >= STRANGERS_MAX || strangers >= STRANGERS_OF_ADDRESS_MAX {
            return None;
        }
        taken.strangers.insert(from, strangers + 1);
        Some(Connection { agent: agent.clone(), from, is_session: false })
    }

    fn converse(mut self, stream: TcpStream) -> io::Result<()> {
        let (agent, from) = (self.agent.clone(), self.from);
        let until = Instant::now() + HANDSHAKE_MAX;
        let mut line = secured::answer(&agent.pairing, Socket::new(stream)?)?;
        let first = line.hear(until, HELLO_BYTES_MAX)?.ok_or(ErrorKind::TimedOut)?;
        if let Err(words) = self.let_in(&first).and_then(|()| agent.is_what_it_was()) {
            log(&format!("{from}: refused: {words}"));
            return line.say(&Greeting::Refused(words));
        }
        log(&format!("{from}: a session begins"));
        line.say(&Greeting::Welcome(agent.facts.clone()))?;
        let mut worker = Worker::start(&agent.program, from)?;
        let ended = worker.pass_on(&mut line);
        drop(worker);
        let why = ended.as_ref().err().map_or(String::new(), |error| format!(": {error}"));
        log(&format!("{from}: the session has ended{why}"));
        ended
    }

    /// Whether its first line is a friend's, and nobody else has the agent.
    fn let_in(&mut self, first: &[u8]) -> Result<(), String> {
        let agent = &self.agent;
        let hello: Hello = serde_json::from_slice(first).map_err(|_| "that is no study's first line".to_string())?;
        if hello.protocol != PROTOCOL {
            return Err("that is no study's first line".into());
        }
        let digest = |token: &str| ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
        if digest(&hello.token).as_ref() != digest(&agent.pairing.token).as_ref() {
            return Err("the token is not that of this agent's pairing".into());
        }
        if hello.version != agent.version {
            return Err(format!(
                "the agent is surefoot {}, and the study runs with {}: both must be of one version",
                agent.version, hello.version
            ));
        }
        let mut taken = agent.taken();
        if taken.lease.as_ref().is_some_and(|lease| *lease != hello.lease) {
            return Err("busy: another study has this agent; one at a time".into());
        }
        taken.lease = Some(hello.lease);
        taken.sessions += 1;
        taken.known(self.from);
        self.is_session = true;
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut taken = self.agent.taken();
        if self.is_session {
            taken.sessions -= 1;
        } else {
            taken.known(self.from);
        }
        if taken.sessions == 0 {
            taken.lease = None;
        }
    }
}

impl Taken {
    /// One of this address' strangers is none any more.
    fn known(&mut self, address: IpAddr) {
        let left = self.strangers.get(&address).map_or(0, |count| count - 1);
        if left == 0 {
            self.strangers.remove(&address);
        } else {
            self.strangers.insert(address, left);
        }
    }
}

impl Agent {
    /// Who works is started by the program's path, and must be of the version that was asked for.
    fn is_what_it_was(&self) -> Result<(), String> {
        if observe::program::is_replaced(&self.program) {
            return Err(
                "its program was replaced since it was started, as by an upgrade: end the agent, and start it again"
                    .into(),
            );
        }
        Ok(())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process that works for a session; it ends with this.
struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: ChildStdout,
}

impl Worker {
    fn start(program: &Path, server: IpAddr) -> io::Result<Worker> {
        let mut command = Command::new(program);
        command.args(["worker", WORKER]).env_clear().current_dir("/");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let orders = child.stdin.take().expect("standard input was piped");
        let answers = child.stdout.take().expect("standard output was piped");
        let mut worker = Worker { child, orders, answers };
        let mut begin = serde_json::to_vec(&Begin { server }).expect("plain data");
        begin.push(b'\n');
        worker.orders.write_all(&begin)?;
        Ok(worker)
    }

    /// Passes bytes both ways until either side ends.
    fn pass_on(&mut self, line: &mut Line) -> io::Result<()> {
        self.orders.write_all(&line.take_rest())?;
        let mut piece = vec![0; 64 << 10];
        loop {
            let (from_study, from_worker) = line.with_descriptor(|descriptor| {
                let mut both =
                    [PollFd::new(descriptor, PollFlags::POLLIN), PollFd::new(self.answers.as_fd(), PollFlags::POLLIN)];
                match poll(&mut both, PollTimeout::from(1000u16)) {
                    Ok(_) => Ok((both[0].any().unwrap_or(true), both[1].any().unwrap_or(true))),
                    Err(nix::errno::Errno::EINTR) => Ok((false, false)),
                    Err(error) => Err(io::Error::from(error)),
                }
            })?;
            if from_worker {
                match self.answers.read(&mut piece)? {
                    0 => return Err(io::Error::other("the working process has ended")),
                    count => line.pass(&piece[..count])?,
                }
            }
            while from_study || line.has_more() {
                match line.receive(Instant::now() + LOOK, &mut piece)? {
                    Some(0) => return Ok(()),
                    Some(count) => self.orders.write_all(&piece[..count])?,
                    None => {}
                }
                if !line.has_more() {
                    break;
                }
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 64th scenario that was up at the same time could not reach its agent.
    #[test]
    fn a_study_has_as_many_sessions_as_it_asks_for_and_strangers_have_few() {
        let pairing = Pairing { key: Vec::new(), other: Vec::new(), token: "word".into() };
        let (program, facts, taken) = (PathBuf::new(), BTreeMap::new(), Mutex::default());
        let agent = Arc::new(Agent { pairing, version: "1", program, facts, taken });
        let (protocol, version) = (PROTOCOL.into(), "1".into());
        let hello = Hello { protocol, version, token: "word".into(), lease: "one".into() };
        let hello = serde_json::to_vec(&hello).expect("plain data");
        let [study, stranger] = [1, 2].map(|last| IpAddr::from([192_u8, 0, 2, last]));
        let session = |_| {
            let mut connection = Connection::of(&agent, study).expect("there is room");
            connection.let_in(&hello).expect("it is the paired one");
            connection
        };
        let sessions: Vec<Connection> = (0..2 * STRANGERS_MAX).map(session).collect();
        let strangers: Vec<Connection> = (0..STRANGERS_MAX).filter_map(|_| Connection::of(&agent, stranger)).collect();
        assert_eq!((sessions.len(), strangers.len()), (2 * STRANGERS_MAX, STRANGERS_OF_ADDRESS_MAX));
        drop((sessions, strangers));
        let taken = agent.taken();
        assert!(taken.lease.is_none() && taken.strangers.is_empty(), "all are gone");
    }
}
