//! `http-load`: requests for files of a site, in a closed loop as http_load and wrk make them, or at a rate as httperf does.
//!
//! Driven by `lab::trial`; the server is a service.

use load::asked;
use load::duration;
use load::http_client::settings::{self as sending, Sending};
use load::http_client::{self, Client, Pace};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::metric::{Measured, Metric};
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use sites::site::{self, Site};

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "http-load",
    summary: "HTTP requests for files, or for a Django or PHP page, in a closed loop or at a rate, as http_load, wrk and httperf make them",
    example: "[workload.http-load]\nfiles = 1000\nfile_size = \"10KiB\"\nconnections = 25\ntime = \"30s\"\n",
    settings: SETTINGS,
    choices: &["server", "sqlite_journal", "sqlite_synchronous"],
    elsewhere: Elsewhere::Runs,
    read: workload::read::<Parameters>,
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
    sending::CALLS,
    sending::THINK_TIME,
    sending::RATE,
    Setting::new("time", Is::Seconds { min: 0.1, max: 1e6 }, "10s").help("Length of a run."),
    Setting::new("requests", Is::Integer { min: 0, max: i64::MAX }, "0")
        .help("A run ends after so many requests, and `time` counts for nothing: 500 at 20 a second with 5 calls are 100 connections. 0: it ends by `time`."),
    sending::BODY_CONTAINS,
    sending::TIMEOUT,
    asked::ERRORS_MAX,
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
    requests: u64,
}

impl Parameters {
    /// How long a run takes; 0: nobody knows, as of a number of requests in a closed loop.
    fn seconds(&self) -> f64 {
        let each_second = self.sending.rate * self.sending.calls.max(1) as f64;
        match self.requests {
            0 => self.time,
            requests if each_second > 0.0 => requests as f64 / each_second,
            _ => 0.0,
        }
    }
}

impl WorkloadSettings for Parameters {
    sites::settings_of_site!();

    fn metrics(&self) -> Vec<Metric> {
        self.sending.metrics(Pace::Closed)
    }

    fn estimate(&self) -> Estimate {
        self.site.estimate(self.seconds())
    }

    fn problems(&self) -> Vec<String> {
        self.site.problems(&self.sending).into_iter().chain(self.sending.problems(Pace::Closed)).collect()
    }

    fn data_key(&self) -> String {
        self.site.words() + &self.sending.text_words()
    }

    fn run_seconds(&self) -> Option<f64> {
        (self.requests == 0).then_some(self.time)
    }

    fn is_by_the_clock(&self) -> bool {
        self.seconds() > 0.0
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(HttpLoad { parameters: *self, runs: 0, unanswered: 0 }))
    }
}

/// The workload at work.
struct HttpLoad {
    parameters: Parameters,
    runs: u64,
    /// Requests of all runs without a whole answer.
    unanswered: u64,
}

impl Workload for HttpLoad {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let Parameters { site, sending, .. } = &self.parameters;
        site.make(sending.body_contains.as_bytes(), context)
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        self.runs += 1;
        let server = sending::server(context)?;
        let Parameters { site, sending, time, requests } = &self.parameters;
        let random = Random::of_stream(context.seed, self.runs);
        let host = server.address.to_string();
        let mut source = site.requests(host.clone(), sending, random.clone());
        let window = (*requests == 0).then(|| duration::of_seconds(*time));
        let client = Client { requests_max: *requests, ..sending.client(&server, Pace::Closed, window) };
        if self.runs == 1 {
            sending::probe(&client, 1, &mut site.requests(host, sending, random), context)?;
        }
        let (tally, rates) = http_client::drive(&client, &mut source, context.interrupted, context.progress)?;
        self.unanswered += tally.unanswered();
        Ok(sending::outcome(tally, rates, sending.limit(Pace::Closed)))
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.parameters.site.verify(self.unanswered, context)
    }
}
