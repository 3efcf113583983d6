//! `http-load`: requests for files of a site, in a closed loop as http_load and wrk make them, or at a rate as httperf does.
//!
//! Driven by `lab::trial`; the server is a service.

use crate::http_client::settings::{self as sending, Sending};
use crate::http_client::{self, Pace};
use crate::random::Random;
use crate::site::{self, Site};
use crate::workload::{Context, Error, Kind, Outcome, Workload};
use observe::metric::Measured;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::time::Duration;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "http-load",
    summary: "HTTP requests for files of a site, in a closed loop or at a rate, as http_load, wrk and httperf make them",
    example: "[workload.http-load]\nfiles = 1000\nfile_size = \"10KiB\"\nconnections = 25\ntime = \"30s\"\n",
    settings: SETTINGS,
    metrics: |_| sending::metrics(),
    durability: |map| Parameters::of(map).site.durability(),
    estimate: |map| {
        let Parameters { site, time, .. } = Parameters::of(map);
        site.estimate(time)
    },
    check: site::check,
    services: sending::services,
    data_key: |map| Parameters::of(map).site.words(),
    open: |map| Ok(Box::new(HttpLoad { parameters: Parameters::of(map), runs: 0 })),
};

const SETTINGS: &[Setting] = &[
    sending::SERVER,
    site::SITE,
    site::FILES,
    site::FILE_SIZE,
    site::SQLITE_JOURNAL,
    site::SQLITE_SYNCHRONOUS,
    site::SQLITE_TRANSACTION,
    site::SQLITE_BUSY_TIMEOUT,
    sending::CONNECTIONS,
    sending::KEEP_ALIVE,
    sending::RATE,
    Setting { name: "time", kind: Is::Seconds { min: 0.1, max: 1e6 }, default: Some("10s"), help: "Length of a run." },
    sending::TIMEOUT,
    sending::DRIVER_THREADS,
    sending::ENGINE,
];

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    #[serde(flatten)]
    site: Site,
    #[serde(flatten)]
    sending: Sending,
    time: f64,
}

impl Parameters {
    fn of(map: &Map<String, Value>) -> Parameters {
        serde_json::from_value(Value::Object(map.clone())).expect("the settings' check makes these types")
    }
}

/// The workload at work.
struct HttpLoad {
    parameters: Parameters,
    runs: u64,
}

impl Workload for HttpLoad {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        self.parameters.site.make(context)
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        self.runs += 1;
        let address = sending::address(context)?;
        let Parameters { site, sending, time } = &self.parameters;
        let random = Random::of_stream(context.seed, self.runs);
        let mut source = site.requests(address.to_string(), sending.keep_alive, random);
        let client = sending.client(address, Pace::Closed, Some(Duration::from_secs_f64(*time)));
        let (tally, rates) = http_client::drive(&client, &mut source, context.interrupted, context.progress)?;
        Ok(sending::outcome(tally, rates))
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.parameters.site.verify(context)
    }
}
