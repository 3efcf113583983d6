//! `http-replay`: the requests of an access log, in its order, each once, against a site made from the same log.
//!
//! `log.rs` is the log as a source of requests, which `surefoot replay` sends to any server; `site.rs` makes the site,
//! `spread.rs` undoes the whole seconds of a log's times. Driven by `lab::trial`; the server is a service.

pub mod log;
mod site;
mod spread;

use crate::http_client::settings::{self as sending, Sending};
use crate::http_client::{self, Pace};
use crate::site::files;
use crate::workload::{Context, Error, Estimate, Kind, Outcome, Workload};
use log::{Expected, Hosts, Log, Others};
use observe::durability::Durability;
use observe::metric::{Direction, Measured, Metric};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Instant;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "http-replay",
    summary: "the requests of an access log, in its order, against a site made from it",
    example: "[workload.http-replay]\nlog = \"/var/log/nginx/access.log.1\"\nrequests = 10000\nconnections = 25\n",
    settings: SETTINGS,
    metrics: sending::metrics,
    durability: |_| Durability::full(),
    estimate: |_| Estimate::default(),
    check: |map| check(&Parameters::of(map)),
    services: sending::services,
    data_key: |map| data_key(&Parameters::of(map)),
    open: |map| Ok(Box::new(HttpReplay { parameters: Parameters::of(map) })),
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "log",
        kind: Is::Text,
        default: Some(""),
        help: "The access log: Common or Combined Log Format, with or without a virtual host before it, or JSON lines; plain, gzip or Zstandard. Each path that it answered with a page becomes a file of the logged size.",
    },
    sending::SERVER,
    Setting {
        name: "requests",
        kind: Is::Integer { min: 0, max: i64::MAX },
        default: Some("10000"),
        help: "A run ends after so many requests, always the log's first; 0: after all.",
    },
    sending::CONNECTIONS,
    Setting { default: Some("false"), ..sending::KEEP_ALIVE },
    Setting {
        name: "speed",
        kind: Is::Number { min: 0.0, max: 1e6 },
        default: Some("0"),
        help: "Open loop by the log's own times, so many times as fast; latencies count from the intended start. 0: a closed loop.",
    },
    sending::CALLS,
    sending::THINK_TIME,
    sending::RATE,
    Setting {
        name: "bad_lines_max",
        kind: Is::Percent { min: 0.0, max: 1.0 },
        default: Some("5%"),
        help: "Share of lines that may be no requests; above it the log is refused.",
    },
    sending::BODY_CONTAINS,
    sending::TIMEOUT,
    sending::DRIVER_THREADS,
    sending::ENGINE,
];

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    #[serde(rename = "log")]
    path: PathBuf,
    requests: u64,
    speed: f64,
    bad_lines_max: f64,
    #[serde(flatten)]
    sending: Sending,
}

impl Parameters {
    fn of(map: &Map<String, Value>) -> Parameters {
        serde_json::from_value(Value::Object(map.clone())).expect("the settings' check makes these types")
    }

    /// The pace without a rate.
    fn otherwise(&self) -> Pace {
        if self.speed > 0.0 { Pace::AsLogged(self.speed) } else { Pace::Closed }
    }

    /// The log, asked for at this host.
    fn log(&self, host: String) -> Log {
        Log {
            path: self.path.clone(),
            requests_max: self.requests,
            others: Others::Skipped,
            hosts: Hosts { default: host, is_one: false, map: BTreeMap::new() },
            expected: Expected::Pages,
            body_text: self.sending.body_text(),
            keep_alive: self.sending.keep_alive,
        }
    }
}

fn check(parameters: &Parameters) -> Vec<String> {
    if parameters.path.as_os_str().is_empty() {
        return vec!["`log` names the access log to replay; there is no default".into()];
    }
    let survey = match parameters.log(String::new()).survey() {
        Ok(survey) => survey,
        Err(error) => {
            let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
            return vec![format!("`log`: {error}{cause}")];
        }
    };
    let mut problems: Vec<String> =
        log::refuse(&parameters.path, &survey, parameters.bad_lines_max).into_iter().collect();
    if parameters.speed > 0.0 && parameters.sending.rate > 0.0 {
        problems.push("`speed` follows the log's times and `rate` does not: one of them must be 0".into());
    }
    problems.extend(parameters.sending.problems(parameters.otherwise()));
    problems
}

/// The site is the log's: another log, or the same file grown, is another site.
fn data_key(parameters: &Parameters) -> String {
    let of_file = std::fs::metadata(&parameters.path).map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
    let (bytes, seconds, nanoseconds) = of_file.unwrap_or_default();
    let (path, requests) = (parameters.path.display(), parameters.requests);
    let text = parameters.sending.text_words();
    format!("site of {path}, {bytes} bytes of {seconds}.{nanoseconds:09}, {requests} requests{text}")
}

/// The workload at work.
struct HttpReplay {
    parameters: Parameters,
}

impl Workload for HttpReplay {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = Instant::now();
        let text = self.parameters.sending.body_contains.as_bytes();
        files::make(site::files(&self.parameters.log(String::new()))?.into_iter(), text, context)?;
        Ok(vec![Metric::new("load_seconds", "s", Direction::Less).at(started.elapsed().as_secs_f64())])
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let address = sending::address(context)?;
        let parameters = &self.parameters;
        let client = parameters.sending.client(address, parameters.otherwise(), None);
        let mut source = parameters.log(address.to_string()).source(client.pace)?;
        let (tally, rates) = http_client::drive(&client, &mut source, context.interrupted, context.progress)?;
        Ok(sending::outcome(tally, rates))
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        files::verify(site::files(&self.parameters.log(String::new()))?.into_iter(), context)
    }
}
