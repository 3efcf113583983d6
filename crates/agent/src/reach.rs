//! The study's side: a session with an agent, and a workload whose runs that agent does.

use crate::Error;
use crate::line::{LOOK, Line, Socket};
use crate::message::{ANSWER_BYTES_MAX, Answer, Greeting, Hello, ORDER_BYTES_MAX, OnNetwork, Order, PROTOCOL, Setting};
use crate::pairing::Pairing;
use crate::round_trip::{self, RoundTrip};
use crate::secured::{self, HANDSHAKE_MAX};
use load::workload::{At, Context, Elsewhere, Error as Failed, Kind, Outcome, Server, Workload};
use observe::metric::{Direction, Measured, Metric};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long an agent may take to be reached.
const REACHING_MAX: Duration = Duration::from_secs(10);
/// How long an agent has to come to an end when the user interrupts.
const ENDING_MAX: Duration = Duration::from_secs(10);

/// CPUs' worth of time that a run's load took on the agent's machine.
const CLIENT_CPU_CORES: Metric = Metric::new("client_cpu_cores", "1", Direction::Less);

/// A session with an agent.
pub struct Agent {
    name: String,
    line: Line,
    /// This machine's address, as the agent reaches it.
    local: IpAddr,
    /// The agent's machine.
    client: IpAddr,
    /// What is known of it.
    pub facts: BTreeMap<String, String>,
}

impl Agent {
    /// Reaches an agent at `HOST:PORT`. Sessions with the same lease share it.
    ///
    /// # Errors
    /// When nobody answers there, whoever answers is not the paired one, or it refuses.
    pub fn reach(name: &str, pairing: &Pairing, lease: &str, version: &str) -> Result<Agent, Error> {
        let failed = |source| Error::Reach { agent: name.into(), source };
        let stream = connect(name).map_err(failed)?;
        let address = |address: io::Result<SocketAddr>| address.map(|address| address.ip()).map_err(failed);
        let (local, client) = (address(stream.local_addr())?, address(stream.peer_addr())?);
        let mut line = secured::reach(pairing, Socket::new(stream).map_err(failed)?).map_err(failed)?;
        let (token, lease) = (pairing.token.clone(), lease.to_string());
        let hello = Hello { protocol: PROTOCOL.into(), version: version.into(), token, lease };
        line.say(&hello).map_err(failed)?;
        let heard = line.hear(Instant::now() + HANDSHAKE_MAX, ANSWER_BYTES_MAX).map_err(failed)?;
        let heard = heard.ok_or_else(|| failed(ErrorKind::TimedOut.into()))?;
        match serde_json::from_slice(&heard).map_err(|error| failed(error.into()))? {
            Greeting::Welcome(facts) => Ok(Agent { name: name.into(), line, local, client, facts }),
            Greeting::Refused(words) => Err(Error::Refused { agent: name.into(), words }),
        }
    }

    /// This machine's address, as the agent reaches it.
    pub fn local(&self) -> IpAddr {
        self.local
    }

    /// The agent's machine.
    pub fn client(&self) -> IpAddr {
        self.client
    }

    /// Measures the network's round trip.
    ///
    /// # Errors
    /// When the agent can't get through to this machine, or is gone.
    pub fn round_trip(&mut self, interrupted: &AtomicBool) -> Result<RoundTrip, Failed> {
        let listener = TcpListener::bind((self.local, 0)).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            listener.map_err(|source| Failed::file("listen for", "the load agent".as_ref(), source))?;
        let client = self.client;
        // It ends with the agent's connection, or when none comes; what went wrong, the agent says.
        std::thread::spawn(move || round_trip::echo(&listener, client));
        let answer = self.ask(&Order::MeasureRoundTrip(address.port()), interrupted, &mut |_, _| {})?;
        if let Answer::RoundTrip(found) = answer { Ok(found) } else { Err(self.unasked()) }
    }

    /// Opens a workload there. `here` is the same workload, which does what has to be done beside the server.
    ///
    /// # Errors
    /// When the agent refuses the workload.
    pub fn open(
        mut self,
        kind: &'static Kind,
        parameters: &Map<String, Value>,
        server: &Server,
        here: Box<dyn Workload>,
        interrupted: &AtomicBool,
    ) -> Result<Remote, Failed> {
        let At::Network { address, is_secure } = server.at else {
            return Err(Failed::Said("the server listens on no network".into()));
        };
        let texts = texts(kind, parameters)?;
        let order = Order::Open { workload: kind.name.into(), parameters: parameters.clone(), texts };
        self.done(&order, interrupted)?;
        let server = OnNetwork { port: address.port(), is_secure, password: server.password.clone() };
        Ok(Remote { agent: self, elsewhere: kind.elsewhere, server, here })
    }

    fn done(&mut self, order: &Order, interrupted: &AtomicBool) -> Result<(), Failed> {
        let answer = self.ask(order, interrupted, &mut |_, _| {})?;
        if matches!(answer, Answer::Done) { Ok(()) } else { Err(self.unasked()) }
    }

    /// The answer to an order. A user's interrupt is passed on, and the agent has a moment to come to its end.
    fn ask(
        &mut self,
        order: &Order,
        interrupted: &AtomicBool,
        progress: &mut dyn FnMut(f64, f64),
    ) -> Result<Answer, Failed> {
        self.line.say(order).map_err(|source| self.lost(source))?;
        let mut ending: Option<Instant> = None;
        loop {
            match self.line.hear(Instant::now() + LOOK, ANSWER_BYTES_MAX).map_err(|source| self.lost(source))? {
                Some(line) => match serde_json::from_slice(&line).map_err(|error| self.lost(error.into()))? {
                    Answer::Progress(second, value) => progress(second, value),
                    Answer::Interrupted => return Err(Failed::Interrupted),
                    Answer::Failed(causes) => {
                        return Err(Failed::Said(format!("the load agent {} says: {}", self.name, causes.join(": "))));
                    }
                    answer => return Ok(answer),
                },
                None if ending.is_some_and(|ending| Instant::now() > ending) => return Err(Failed::Interrupted),
                None => {}
            }
            if ending.is_none() && interrupted.load(Ordering::Relaxed) {
                self.line.say(&Order::Interrupt).map_err(|source| self.lost(source))?;
                ending = Some(Instant::now() + ENDING_MAX);
            }
        }
    }

    fn lost(&self, source: io::Error) -> Failed {
        let (engine, action) =
            (format!("the load agent {}", self.name), "be heard any more: its connection was lost".into());
        Failed::Engine { engine, action, source: source.into() }
    }

    fn unasked(&self) -> Failed {
        self.lost(io::Error::new(ErrorKind::InvalidData, "it answered what nobody asked"))
    }
}

/// The texts of files that the workload needs there.
fn texts(kind: &Kind, parameters: &Map<String, Value>) -> Result<BTreeMap<String, String>, Failed> {
    let texts = (kind.read)(parameters).texts(TEXT_BYTES_MAX as u64)?;
    let bytes: usize = texts.values().map(String::len).sum();
    if bytes > TEXT_BYTES_MAX {
        return Err(Failed::Said(format!(
            "the files that a load agent needs have {bytes} bytes, and it takes {TEXT_BYTES_MAX}"
        )));
    }
    Ok(texts)
}

/// So that an order has room for them, however many of their characters are escaped.
const TEXT_BYTES_MAX: usize = ORDER_BYTES_MAX / 8;

fn connect(name: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in name.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, REACHING_MAX) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A workload whose runs an agent does.
pub struct Remote {
    agent: Agent,
    elsewhere: Elsewhere,
    server: OnNetwork,
    here: Box<dyn Workload>,
}

impl Remote {
    fn setting(&self, context: &Context) -> Setting {
        Setting { server: self.server.clone(), seed: context.seed, goes_on: context.goes_on, runs: context.runs }
    }
}

impl Workload for Remote {
    /// Data are loaded beside the server.
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Failed> {
        self.here.prepare(context)
    }

    fn ready(&mut self, context: &mut Context) -> Result<(), Failed> {
        let order = Order::Ready(self.setting(context));
        self.agent.done(&order, context.interrupted)
    }

    fn cool(&mut self) -> Result<(), Failed> {
        // It takes no time in which a user could interrupt.
        self.agent.done(&Order::Cool, &AtomicBool::new(false))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Failed> {
        let order = Order::Run(self.setting(context));
        match self.agent.ask(&order, context.interrupted, context.progress)? {
            Answer::Ran(outcome, cpu_seconds) => {
                let mut outcome = *outcome;
                let cores = cpu_seconds / outcome.seconds;
                outcome.metrics.extend(cores.is_finite().then(|| CLIENT_CPU_CORES.at(cores)));
                Ok(outcome)
            }
            _ => Err(self.agent.unasked()),
        }
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Failed> {
        if self.elsewhere == Elsewhere::Runs {
            return self.here.verify(context);
        }
        let order = Order::Verify(self.setting(context));
        self.agent.done(&order, context.interrupted)
    }
}
