//! A study's load agent: reached before anything is measured, and held until the study ends, so that nobody else has it meanwhile.

use super::Measured;
use crate::cli::RunArgs;
use crate::failure::{Failure, Status};
use crate::interrupt;
use crate::source::Loaded;
use agent::{Agent, Pairing, RoundTrip, Side};
use anyhow::{Context as _, anyhow};
use lab::bench::host;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

/// An agent that this study has.
pub(super) struct Client {
    name: String,
    pairing: std::path::PathBuf,
    lease: String,
    /// What is known of its machine, and of the network to it.
    pub(super) facts: BTreeMap<String, String>,
    round_trip: RoundTrip,
    /// As long as it lasts, the agent refuses other studies.
    _held: Agent,
}

/// Reaches the agent that the study names; none: it names none.
pub(super) fn reach(args: &RunArgs, loaded: &Loaded, measured: Measured) -> Result<Option<Client>, Failure> {
    let name = loaded.plan.scenarios.iter().find_map(|scenario| scenario.client.clone());
    let name = name.filter(|_| measured == Measured::Everything);
    let (name, file) = match (name, &args.pairing) {
        (Some(name), Some(file)) => (name, file),
        (None, None) => return Ok(None),
        (Some(name), None) => {
            let error = anyhow!("the study's load comes from {name}, and nothing says how that is known");
            return Err(Failure::new(Status::BadStudy, error).hint(
                "name the study's half of the pairing: --pairing FILE; `surefoot load-agent --pair NAME` makes one",
            ));
        }
        (None, Some(_)) => {
            let error = anyhow!("`--pairing` has no effect: no load of this comes from another machine");
            return Err(Failure::new(Status::BadStudy, error).hint("leave it out, or name a `client` in the study"));
        }
    };
    let missing = |error: agent::Error| Failure::new(Status::Missing, error);
    let pairing = Pairing::read(file, Side::Study).map_err(missing)?;
    // Long enough that no other study draws it.
    let lease = format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    let mut held = Agent::reach(&name, &pairing, &lease, env!("SUREFOOT_VERSION")).map_err(missing)?;
    let round_trip = held.round_trip(&interrupt::INTERRUPTED);
    let round_trip = round_trip.with_context(|| format!("cannot measure the way to the load agent {name}"))?;
    let mut facts: BTreeMap<String, String> =
        held.facts.iter().map(|(fact, value)| (format!("client_{fact}"), value.clone())).collect();
    facts.insert("client".into(), name.clone());
    for (quantile, seconds) in [("median", round_trip.seconds_median), ("p99", round_trip.seconds_p99)] {
        facts.insert(format!("client_round_trip_microseconds_{quantile}"), format!("{:.1}", seconds * 1e6));
    }
    let pairing = std::path::absolute(file)?;
    Ok(Some(Client { name, pairing, lease, facts, round_trip, _held: held }))
}

impl Client {
    /// What trials are told of it.
    pub(super) fn for_trials(&self) -> host::Client {
        host::Client { pairing: self.pairing.clone(), lease: self.lease.clone() }
    }

    /// What a user is told of it.
    pub(super) fn words(&self) -> String {
        let RoundTrip { seconds_median, seconds_p99, .. } = self.round_trip;
        let (median, p99) = (seconds_median * 1e3, seconds_p99 * 1e3);
        let name = &self.name;
        format!("load from {name}: {median:.3} ms there and back in the median, {p99:.3} ms in the 99th percentile")
    }
}
