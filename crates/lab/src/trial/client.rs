//! The load agent that drives a trial's load, where the study names one: reached before the trial's server starts, which listens for it.

use super::{STOP, Trial};
use agent::{Agent, Pairing, RoundTrip};
use load::workload::{At, Server, Workload};
use observe::metric::{Direction, Measured, Metric};
use ring::rand::{SecureRandom as _, SystemRandom};
use services::service::Network;
use std::error::Error;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr, TcpListener};

/// What lets a trial use its study's load agent.
pub struct Paired {
    /// The study's half of a pairing.
    pub pairing: Pairing,
    /// What the trials of one study share an agent by.
    pub lease: String,
    /// This surefoot's version.
    pub version: &'static str,
}

/// The network's own round trip, measured by each trial before its server starts: median, and 99th percentile.
const ROUND_TRIP: [Metric; 2] = [
    Metric::new("client_round_trip_microseconds_median", "µs", Direction::Less),
    Metric::new("client_round_trip_microseconds_p99", "µs", Direction::Less),
];

/// An agent that was reached, and where the server is to listen for it.
pub(super) struct Client {
    agent: Agent,
    pub(super) network: Network,
    round_trip: RoundTrip,
}

impl Client {
    /// None: the study names none.
    pub(super) fn reach(trial: &Trial) -> Result<Option<Client>, Box<dyn Error>> {
        let Some(name) = &trial.spec.client else { return Ok(None) };
        let Some(paired) = trial.paired else { return Err("the trial was given no pairing for its client".into()) };
        let mut agent = Agent::reach(name, &paired.pairing, &paired.lease, paired.version)?;
        let round_trip = agent.round_trip(&STOP)?;
        let network = Network { address: free(agent.local())?, client: agent.client(), password: password()? };
        Ok(Some(Client { agent, network, round_trip }))
    }

    pub(super) fn metrics(&self) -> Vec<Measured> {
        let RoundTrip { seconds_median, seconds_p99, .. } = self.round_trip;
        let values = [seconds_median, seconds_p99].map(|seconds| seconds * 1e6);
        ROUND_TRIP.iter().zip(values).map(|(metric, value)| metric.at(value)).collect()
    }

    /// The workload, whose runs are the agent's.
    pub(super) fn open(self, trial: &Trial, here: Box<dyn Workload>) -> Result<Box<dyn Workload>, Box<dyn Error>> {
        let Trial { spec, kind, .. } = trial;
        let services = services::wanted(&trial.load().services(), &spec.services);
        let is_secure = services.last().is_some_and(|driven| driven.settings.is_secure());
        let at = At::Network { address: self.network.address, is_secure };
        let server = Server { at, password: Some(self.network.password) };
        Ok(Box::new(self.agent.open(kind, &spec.parameters, &server, here, &STOP)?))
    }
}

/// A port of this address that nobody has. Somebody may take it before the server does, which then says so.
fn free(address: IpAddr) -> std::io::Result<SocketAddr> {
    TcpListener::bind((address, 0))?.local_addr()
}

/// For one trial.
fn password() -> Result<String, Box<dyn Error>> {
    let mut bytes = [0; 24];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the system has no random numbers")?;
    let mut text = String::new();
    bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"))?;
    Ok(text)
}
