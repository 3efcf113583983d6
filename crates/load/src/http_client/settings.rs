//! Settings and figures that every HTTP load of a study has.

use super::tally::{Fault, Tally};
use super::tls::{Tls, Trust};
use super::{Client, Engine, Pace, Source};
use crate::asked::{self, Limit};
use crate::duration;
use crate::workload::{self, At, Context, Error, Outcome};
use observe::metric::Metric;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Services that serve files.
const SERVERS: &[&str] = &["nginx", "apache", "lighttpd", "caddy", "django"];

/// How requests are sent.
#[derive(Debug, Clone, Deserialize)]
pub struct Sending {
    /// The service that serves the site.
    pub server: String,
    /// Connections at a time.
    pub connections: usize,
    /// Whether a connection is used again.
    pub keep_alive: bool,
    /// Requests that a connection makes; 0: as many as it lasts for.
    #[serde(default)]
    pub calls: u64,
    #[serde(default, rename = "think_time")]
    think_seconds: f64,
    /// Open loop, requests a second, or connections where there are `calls`; 0, or a load that sets its own: another pace.
    #[serde(default)]
    pub rate: f64,
    #[serde(rename = "timeout")]
    timeout_seconds: f64,
    errors_max: f64,
    /// A text of each page; empty: none.
    #[serde(default)]
    pub body_contains: String,
    driver_threads: usize,
    engine: String,
}

/// `server`.
pub const SERVER: Setting = Setting::new("server", Is::Choice(SERVERS), "nginx")
    .help("The service that serves the site; `[service.NAME]` configures it.");
/// `connections`.
pub const CONNECTIONS: Setting = Setting::new("connections", Is::Integer { min: 1, max: 20_000 }, "25").help(
    "Connections at a time, at most; how many are made in all is a matter of `requests`, `calls` and `keep_alive`.",
);
/// `keep_alive`.
pub const KEEP_ALIVE: Setting = Setting::new("keep_alive", Is::Boolean, "true")
    .help("Whether a connection is used again, or each request has its own.");
/// `rate`.
pub const RATE: Setting = Setting::new("rate", Is::Number { min: 0.0, max: 1e7 }, "0")
    .help("Open loop: so many requests a second, or connections where `calls` are given, whatever the server does; latencies count from the intended start, and errors are counted, not limited. 0: a closed loop, as fast as the server answers.");
/// `calls`.
pub const CALLS: Setting = Setting::new("calls", Is::Integer { min: 0, max: 1_000_000_000 }, "0")
    .help("Requests that one connection makes, one after the other, before it is closed. With a `rate` they are a session: where the server closes the connection sooner, it goes on with a new one, and a call without an answer ends it. 0: with `keep_alive` as many as the server lets it, else one.");
/// `think_time`.
pub const THINK_TIME: Setting = Setting::new("think_time", Is::Seconds { min: 0.0, max: 1e6 }, "0s")
    .help("From an answer to the next request on the same connection.");
/// `timeout`.
pub const TIMEOUT: Setting = Setting::new("timeout", Is::Seconds { min: 0.01, max: 1e6 }, "30s").help(
    "An answer, or a connection, that takes longer is an error. In latencies it counts as the time that was waited.",
);
/// `body_contains`.
pub const BODY_CONTAINS: Setting = Setting::new("body_contains", Is::Text, "")
    .help("A text that the site's pages begin with, and that each answer's body is searched for. Empty: bodies are not looked at.");
/// `driver_threads`.
pub const DRIVER_THREADS: Setting = Setting::new("driver_threads", Is::Integer { min: 1, max: 64 }, "1")
    .help("Threads of the load generator; one is enough for a server on the same machine.");
/// `engine`.
pub const ENGINE: Setting = Setting::new("engine", Is::Choice(&["auto", "io_uring", "epoll"]), "auto")
    .help("How the load generator talks to the kernel; `auto`: io_uring where there is one, else epoll (`client_io_uring_threads` is 0 then, and a note says why). In a closed loop io_uring takes answers that come fast in batches, and their times are those of the batch's end: usually within 0.2 ms, at most 4 ms late.");

/// Of right answers alone, but for counts that say otherwise. What was asked for and errors by kind follow.
const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "requests_per_second";
    Less "µs": "request_microseconds_mean", "connect_microseconds_mean", "connection_microseconds_mean",
        "first_byte_microseconds_mean", "transfer_microseconds_mean";
    Neither "1": "requests", "answers";
    Neither "1/s": "connections_per_second";
    Neither "1": "connections_made";
    Neither "1/s": "sessions_per_second";
    More "B/s": "received_bytes_per_second", "body_bytes_per_second";
    Neither "B": "body_bytes_mean";
    Neither "1": "status_1xx", "status_2xx", "status_3xx", "status_4xx", "status_5xx";
    Less "1": "late_requests";
    Neither "1": "resent_requests";
    Less "µs": "client_cpu_microseconds_per_request";
    Neither "1": "client_io_uring_threads";
};

impl Sending {
    /// The service that is asked for.
    pub fn services(&self) -> Vec<&'static str> {
        SERVERS.iter().copied().filter(|server| self.server == **server).collect()
    }

    /// The figures of a run, the primary one first; `otherwise` is the pace when no rate is asked for. In an open loop the rate is given,
    /// and the time of a request is the answer.
    pub fn metrics(&self, otherwise: Pace) -> Vec<Metric> {
        let mut metrics = METRICS.to_vec();
        metrics[..2].rotate_left(usize::from(self.is_open(otherwise)));
        metrics.into_iter().chain(asked::METRICS).chain(Fault::metrics()).collect()
    }

    fn is_open(&self, otherwise: Pace) -> bool {
        self.rate > 0.0 || otherwise != Pace::Closed
    }

    /// Settings that are each allowed and do not fit together.
    pub fn problems(&self, otherwise: Pace) -> Vec<String> {
        let anywhere = Server { address: SocketAddr::from(([0, 0, 0, 0], 0)), tls: None };
        self.client(&anywhere, otherwise, None).problem().map(str::to_string).into_iter().collect()
    }

    /// How much may go wrong; `otherwise` is the pace when no rate is asked for.
    pub fn limit(&self, otherwise: Pace) -> Limit {
        Limit::of(self.is_open(otherwise), self.errors_max)
    }

    /// What each page must have.
    pub fn body_text(&self) -> Option<Arc<[u8]>> {
        (!self.body_contains.is_empty()).then(|| self.body_contains.as_bytes().into())
    }

    /// What the text makes of a site, in words.
    pub fn text_words(&self) -> String {
        if self.body_contains.is_empty() { String::new() } else { format!(", beginning with {:?}", self.body_contains) }
    }

    /// The load on this server. `otherwise` is the pace when no rate is asked for.
    pub fn client(&self, server: &Server, otherwise: Pace, window: Option<Duration>) -> Client {
        Client {
            addresses: vec![server.address],
            connections: self.connections,
            threads: self.driver_threads,
            keep_alive: self.keep_alive,
            calls: self.calls,
            think_time: duration::of_seconds(self.think_seconds),
            requests_max: 0,
            pace: if self.rate > 0.0 { Pace::PerSecond(self.rate) } else { otherwise },
            window,
            timeout: duration::of_seconds(self.timeout_seconds),
            engine: match self.engine.as_str() {
                "io_uring" => Engine::Uring,
                "epoll" => Engine::Epoll,
                _ => Engine::Auto,
            },
            tls: server.tls.clone(),
        }
    }
}

/// A trial's server.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    tls: Option<Tls>,
}

impl Server {
    fn new(address: SocketAddr, is_secure: bool) -> Result<Server, Error> {
        let tls = if is_secure { Some(Tls::new("localhost", Trust::Anyone)?) } else { None };
        Ok(Server { address, tls })
    }
}

/// The server tells where it is in a file, unless that is known; its certificate was made for the trial, so nobody has to vouch for it.
pub fn server(context: &Context) -> Result<Server, Error> {
    let server = context.server.as_ref().expect("the workload has a service");
    let told = match &server.at {
        At::Network { address, is_secure } => return Server::new(*address, *is_secure),
        At::File(told) => told,
    };
    let text = std::fs::read_to_string(told).map_err(Error::doing("read", told))?;
    let (scheme, address) = text.trim().split_once("://").unwrap_or_default();
    let wrong = || Error::wrong_data(told.display().to_string(), "an address like http://127.0.0.1:80", text.as_str());
    let address = address.parse().map_err(|_| wrong())?;
    Server::new(address, scheme == "https")
}

/// Asks for a few things of a site before the first run, one after the other: a server that is set up wrongly would answer fast.
///
/// # Errors
/// When an answer is not what it must be.
pub fn probe(client: &Client, requests: u64, source: &mut dyn Source, context: &Context) -> Result<(), Error> {
    let gently = gently(client, requests);
    let (tally, _) = super::drive(&gently, source, context.interrupted, &mut |_, _| {})?;
    let fault = Fault::all().into_iter().find(|fault| tally.faults[*fault as usize] > 0);
    let Some(fault) = fault else { return Ok(()) };
    let why = tally.first[fault as usize].clone().unwrap_or_default();
    let place = format!("{} of the site's first {requests} answers", tally.faults());
    Err(Error::wrong_data(place, "what its pages hold", format!("{}: {why}", fault.words())))
}

/// The same connections one after the other, as fast as they are answered: nobody measures them.
pub(super) fn gently(client: &Client, requests: u64) -> Client {
    Client {
        connections: 1,
        threads: 1,
        think_time: Duration::ZERO,
        pace: Pace::Closed,
        window: None,
        requests_max: requests,
        ..client.clone()
    }
}

/// What a run came to, with its right answers in each whole second.
pub fn outcome(tally: Tally, rates: Vec<f64>, limit: Limit) -> Outcome {
    let seconds = tally.rate_seconds();
    let asked = tally.asked(limit);
    // No answer is not a fast one: what there was none of is left out.
    let means = [&tally.total, &tally.connect, &tally.connection, &tally.response, &tally.transfer]
        .map(|latency| if latency.count() > 0 { latency.microseconds_mean() } else { f64::NAN });
    let sent = [
        tally.requests as f64,
        tally.answers as f64,
        tally.connections as f64 / seconds,
        tally.connections as f64,
        // There are none where requests have a schedule.
        if tally.sessions > 0 { tally.sessions as f64 / seconds } else { f64::NAN },
        tally.received_bytes as f64 / seconds,
        tally.body_bytes as f64 / seconds,
        tally.body_bytes as f64 / tally.right.max(1) as f64,
    ];
    let classes = tally.classes.map(|answers| answers as f64);
    let own = [
        tally.late as f64,
        tally.resent as f64,
        tally.cpu_seconds / tally.requests.max(1) as f64 * 1e6,
        tally.uring_threads as f64,
    ];
    let values = [tally.right as f64 / seconds].into_iter().chain(means).chain(sent).chain(classes).chain(own);
    let mut metrics = workload::figures(METRICS, values);
    metrics.retain(|measured| measured.value.is_finite());
    Outcome {
        seconds,
        metrics,
        notes: tally.engine_note().into_iter().collect(),
        latencies: BTreeMap::from([
            ("connect".into(), tally.connect),
            ("connection".into(), tally.connection),
            ("first byte".into(), tally.response),
            ("first to last byte".into(), tally.transfer),
            ("request".into(), tally.total),
        ]),
        series: BTreeMap::from([(METRICS[0].name.to_string(), rates)]),
        ..Outcome::of(asked)
    }
}
