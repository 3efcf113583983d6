//! What the two sides say, a line of JSON each. Both must be of the same version, so that nothing here need be understood by another.

use crate::round_trip::RoundTrip;
use load::workload::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What this conversation is, so that a stranger who got that far is told apart from an older surefoot.
pub const PROTOCOL: &str = "surefoot load agent";

/// The longest first line.
pub const HELLO_BYTES_MAX: usize = 4 << 10;
/// The longest order: settings of a workload, with a log of requests.
pub const ORDER_BYTES_MAX: usize = 64 << 20;
/// The longest answer: a run with its histograms and its second-by-second figures.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A study's first line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// Surefoot's own.
    pub version: String,
    /// As the pairing file has it.
    pub token: String,
    /// Drawn by each study that runs: its trials share an agent with each other and with nobody else.
    pub lease: String,
}

/// What an agent says to it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Greeting {
    /// It may go on; what is known of the agent's machine.
    Welcome(BTreeMap<String, String>),
    /// It may not.
    Refused(String),
}

/// What the agent's process tells the one that works: whose orders they are.
#[derive(Debug, Serialize, Deserialize)]
pub struct Begin {
    /// The only machine that is to be connected to.
    pub server: IpAddr,
}

/// What a study wants.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Small messages there and back, with what listens on this port.
    MeasureRoundTrip(u16),
    /// A workload with its checked parameters.
    Open {
        /// Its name.
        workload: String,
        /// In plain form, with their defaults.
        parameters: Map<String, Value>,
        /// Texts of files that it needs, by the names that the parameters have for them.
        texts: BTreeMap<String, String>,
    },
    /// As the workload's function of this name.
    Ready(Setting),
    /// As the workload's function of this name.
    Cool,
    /// As the workload's function of this name.
    Run(Setting),
    /// As the workload's function of this name.
    Verify(Setting),
    /// What is under way is to end soon.
    Interrupt,
}

/// The server, on the machine that the study runs on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OnNetwork {
    /// Where it listens.
    pub port: u16,
    /// What it asks to be told.
    pub password: Option<String>,
    /// Whether it speaks TLS.
    pub is_secure: bool,
}

/// What of a context can be said to another machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Where the server is.
    pub server: OnNetwork,
    /// As in the context.
    pub seed: u64,
    /// As in the context.
    pub goes_on: bool,
    /// As in the context.
    pub runs: u32,
}

/// What an agent answers. Each order but `Interrupt` has one answer; progress may come before it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done,
    /// Seconds since the run began, and the value.
    Progress(f64, f64),
    /// What was measured.
    RoundTrip(RoundTrip),
    /// What a run came to, and the CPU time that it took there.
    Ran(Box<Outcome>, f64),
    /// As it was told.
    Interrupted,
    /// Why not, the outermost cause first.
    Failed(Vec<String>),
}
