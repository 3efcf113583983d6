//! Load from another machine: the study's side of a conversation ([`reach`]), and the agent's ([`serve`], [`worker`]).
//!
//! Driven by `lab` and by `surefoot load-agent`. The two sides know each other by keys that were made as a pair (`pairing.rs`) and
//! speak lines of JSON (`message.rs`) over TLS 1.3 (`secured.rs`, `line.rs`). Who reaches an agent is a stranger until its key, its
//! token and its version are known; and then it may only have loads driven that need no file and no program of the agent's machine,
//! against the machine that it comes from.

mod line;
mod message;
mod pairing;
mod reach;
mod round_trip;
mod secured;
mod serve;
mod worker;

pub use pairing::{Pairing, Side, make};
pub use reach::{Agent, Remote};
pub use round_trip::RoundTrip;
pub use serve::Door;
pub use worker::{WORKER, work};

use std::path::PathBuf;

/// Why there is no conversation, or no more of one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a file operation.
    #[error("cannot {action} {path}")]
    File {
        /// "write", "read".
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A pairing file that can't be used.
    #[error("the pairing file {path} {problem}")]
    Pairing {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An agent does not listen on such an address.
    #[error("a load agent listens on one address of this machine, and {0} is none")]
    Everywhere(std::net::SocketAddr),
    /// The agent can't listen.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: std::net::SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The study's side does not reach it.
    #[error("the load agent {agent} can't be reached")]
    Reach {
        /// As the study names it.
        agent: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The agent said no.
    #[error("the load agent {agent} refuses: {words}")]
    Refused {
        /// As the study names it.
        agent: String,
        /// Its words.
        words: String,
    },
}
