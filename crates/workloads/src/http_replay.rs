//! `http-replay`: the requests of an access log, in its order, each once, against a site made from the same log.
//!
//! `load::http_log` is the log as a source of requests, which `surefoot replay` sends to any server, too, and says which files a site
//! made from it has. Driven by `lab::trial`; the server is a service.

mod log_site;
mod visits;

#[cfg(test)]
mod tests;

use load::asked;
use load::http_client::settings::{self as sending, Sending};
use load::http_client::{self, Client, Pace, Source};
use load::http_log::{self, Expected, Hosts, Log, Others, Parts};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Texts, Workload, WorkloadSettings};
use log_site::LogSite;
use observe::durability::Durability;
use observe::metric::{self, Direction, Measured, Metric};
use random::Random;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use sites::cms;
use sites::site::{self, files};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use visits::Visits;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "http-replay",
    summary: "the requests of an access log, in its order, against a site made from it, or against blogs and wikis",
    example: "[workload.http-replay]\nlog = \"/var/log/nginx/access.log.1\"\nrequests = 10000\nconnections = 25\n",
    settings: SETTINGS,
    choices: &["server"],
    elsewhere: Elsewhere::Runs,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("site", Is::Choice(&["from-log", "cms"]), "from-log")
        .help("`from-log`: each path that the log answered with a page becomes a file of the logged size, the largest of several; all virtual hosts of the log are one site. `cms`: ten virtual hosts with WordPress on MariaDB, MediaWiki on PostgreSQL, DokuWiki and files, and a log of visits to them; the web server needs PHP and virtual_hosts = true."),
    Setting::new("cms_pages", Is::Integer { min: 10, max: 100_000 }, "100")
        .help("Of the site `cms`: pages of each blog and wiki; hosts with files only have twice as many files."),
    Setting::new("cms_dynamic", Is::Percent { min: 0.0, max: 1.0 }, "50%")
        .help("Of the site `cms`: share of pages that are visited which a program makes, without what browsers load with a page."),
    Setting::new("log", Is::Text, "")
        .help("The access log: Common or Combined Log Format, with or without a virtual host before it, or JSON lines; plain, gzip or Zstandard. Of the site `cms`: none, and a log is made."),
    sending::SERVER,
    Setting::new("requests", Is::Integer { min: 0, max: i64::MAX }, "10000")
        .help("So many requests of the log are used, its first; 0: all."),
    Setting::new("requests_per_run", Is::Integer { min: 0, max: i64::MAX }, "0")
        .help("A run sends so many of them, and the next goes on there; after the last comes the first. Where a trial begins is drawn by the seed, for all scenarios of a round alike. Such runs are turns (docs/turns.md). 0: a run sends all of them."),
    sending::CONNECTIONS,
    Setting { default: Some("false"), ..sending::KEEP_ALIVE },
    Setting::new("speed", Is::Number { min: 0.0, max: 1e6 }, "0")
        .help("Open loop by the log's own times, so many times as fast; latencies count from the intended start. A log whose times go back is refused. 0: a closed loop."),
    sending::CALLS,
    sending::THINK_TIME,
    sending::RATE,
    Setting::new("other_methods", Is::Choice(&["skip", "without-body", "with-body"]), "skip")
        .help("What becomes of methods other than GET and HEAD, whose bodies no log has: they are left out, or sent without one, or with `body`. Any answer to them is right but a failure of the server (5xx without 501: it has no such method)."),
    Setting::new("body", Is::Text, "").help("What other methods send, with `other_methods = \"with-body\"`."),
    Setting::new("bad_lines_max", Is::Percent { min: 0.0, max: 1.0 }, "5%")
        .help("Share of lines that may be no requests; above it the log is refused."),
    Setting::new("log_bytes_max", Is::Bytes { min: 1, max: 1 << 60 }, "64GiB")
        .help("The most bytes of text that the log may have, decompressed; a longer one is refused, as is what is no regular file."),
    sending::BODY_CONTAINS,
    sending::TIMEOUT,
    asked::ERRORS_MAX,
    sending::DRIVER_THREADS,
    sending::ENGINE,
];

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    site: SiteKind,
    cms_pages: usize,
    cms_dynamic: f64,
    #[serde(rename = "log")]
    path: PathBuf,
    requests: u64,
    requests_per_run: u64,
    speed: f64,
    other_methods: String,
    body: String,
    bad_lines_max: f64,
    log_bytes_max: u64,
    #[serde(flatten)]
    sending: Sending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SiteKind {
    FromLog,
    Cms,
}

impl Parameters {
    /// The pace without a rate.
    fn otherwise(&self) -> Pace {
        if self.speed > 0.0 { Pace::AsLogged(self.speed) } else { Pace::Closed }
    }

    /// When requests start.
    fn pace(&self) -> Pace {
        if self.sending.rate > 0.0 { Pace::PerSecond(self.sending.rate) } else { self.otherwise() }
    }

    /// How long a run of a log takes that holds so much; 0: that is the server's matter.
    fn seconds_of_run(&self, survey: &http_log::Survey) -> f64 {
        let requests = if self.goes_in_parts() { self.requests_per_run } else { survey.requests };
        let sent = http_log::Survey { requests, span: survey.span, ..http_log::Survey::default() };
        http_log::takes(&sent, self.pace(), self.sending.calls).map_or(0.0, |takes| takes.as_secs_f64())
    }

    /// Requests that a run sends; 0: all of the log.
    fn requests_of_run(&self) -> u64 {
        if self.requests_per_run > 0 { self.requests_per_run } else { self.requests }
    }

    /// What the log's site takes; none: the log can't be read.
    fn log_site(&self) -> Option<LogSite> {
        LogSite::of(&self.log(String::new()), self.data_key())
    }

    /// The visits to the site `cms`.
    fn visits(&self) -> Visits {
        let pages = self.cms_pages;
        let sizes = cms::Sizes { posts: pages, articles: pages, notes: pages, files: 2 * pages };
        Visits { sizes, requests: self.requests, dynamic_share: self.cms_dynamic }
    }

    /// The log, asked for at this host.
    fn log(&self, host: String) -> Log {
        Log {
            path: self.path.clone(),
            text: None,
            requests_max: self.requests,
            others: match self.other_methods.as_str() {
                "without-body" => Others::WithBody(Vec::new()),
                "with-body" => Others::WithBody(self.body.clone().into()),
                _ => Others::Skipped,
            },
            hosts: Hosts { default: host, is_one: false, map: BTreeMap::new() },
            // Whoever sends it says what is expected.
            expected: Expected::Nothing,
            body_text: self.sending.body_text(),
            keep_alive: self.sending.keep_alive,
            bytes_max: self.log_bytes_max,
        }
    }
}

/// Bytes of the three programs' code, of two empty servers, and of a page with what the databases keep of it: 10,000 pages made 596 MiB in all.
const CMS_BYTES: u64 = 400 << 20;
const CMS_PAGE_BYTES: u64 = 24 << 10;

/// Memory of the servers of databases, and of a process that makes pages for a connection: 135 and 22 MiB were theirs alone, of some hundred
/// requests each, and with 25 connections 1 GiB did not do for all (WordPress, MediaWiki and DokuWiki in Apache 2.4 with PHP 8.2, 2026-11-28).
const CMS_SERVERS_BYTES: u64 = 200 << 20;
const CMS_CONNECTION_BYTES: u64 = 26 << 20;

/// Debian's Apache has so many such processes at most.
const CMS_PROCESSES_MAX: u64 = 150;

/// Seconds that the installation takes, and each page.
const CMS_SECONDS: f64 = 20.0;
const CMS_PAGE_SECONDS: f64 = 0.01;

/// What two CPUs answer, roughly: 50 without an opcode cache, 120 with one.
const CMS_REQUESTS_PER_SECOND: f64 = 60.0;

/// What is wrong whatever there is on the machine.
fn check_settings(parameters: &Parameters) -> Vec<String> {
    let sending = parameters.sending.problems(parameters.otherwise());
    let of_speed = load::sentences! {
        parameters.speed > 0.0 && parameters.sending.rate > 0.0 =>
            "`speed` follows the log's times and `rate` does not: one of them must be 0";
        parameters.speed > 0.0 && parameters.goes_in_parts() =>
            "`speed` follows the log's times, which `requests_per_run` cuts: one of them must be 0";
    };
    let of_site = if parameters.site == SiteKind::Cms { check_cms(parameters) } else { Vec::new() };
    [of_site, of_speed, sending].concat()
}

fn check_cms(parameters: &Parameters) -> Vec<String> {
    load::sentences! {
        !parameters.path.as_os_str().is_empty() =>
            "the site `cms` has a log of its own: leave out `log`, or `site`";
        parameters.requests == 0 => "the log of the site `cms` is as long as `requests` says: 0 is no length";
        !parameters.sending.body_contains.is_empty() =>
            "the site `cms` knows what its pages hold: leave out `body_contains`";
    }
}

/// What the site `cms` lacks of its web server: each trial would install it in vain.
fn check_cms_beside(server: &str, settings: &Map<String, Value>) -> Vec<String> {
    let hosts = match settings.get("virtual_hosts").and_then(Value::as_bool) {
        Some(true) => None,
        Some(false) => Some(format!("set `service.{server}.virtual_hosts` to true")),
        None => Some(format!("`{server}` has none, so take another `server`")),
    };
    let has_php = settings.get("php").and_then(Value::as_str) != Some("none");
    let php = (!has_php).then(|| {
        format!("the site `cms` is of programs in PHP, and `service.{server}.php` is \"none\": `surefoot list {server}` has the others")
    });
    hosts.map(|way_out| format!("the site `cms` needs virtual hosts: {way_out}")).into_iter().chain(php).collect()
}

fn check_log(parameters: &Parameters, text: Option<Arc<[u8]>>) -> Vec<String> {
    if parameters.path.as_os_str().is_empty() {
        return vec!["`log` names the access log to replay; there is no default".into()];
    }
    let survey = match (Log { text, ..parameters.log(String::new()) }).survey() {
        Ok(survey) => survey,
        Err(error) => {
            let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
            return vec![format!("`log`: {error}{cause}{}", workload::sought(&parameters.path))];
        }
    };
    let refused = http_log::refuse(&parameters.path, &survey, parameters.bad_lines_max);
    let endless = http_log::endless(&survey, parameters.pace(), parameters.sending.calls);
    refused.into_iter().chain(endless).chain(http_log::disordered(&survey, parameters.pace())).collect()
}

/// Where in the log a run began that sends a part of it.
const BEGIN: Metric = Metric::new(metric::PART_BEGIN, "requests", Direction::Neither);

/// The log's name among the texts that an agent is sent.
const LOG: &str = "log";

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        let of_part = self.goes_in_parts().then_some(BEGIN);
        self.sending.metrics(self.otherwise()).into_iter().chain(of_part).collect()
    }

    fn durability(&self) -> Durability {
        Durability::full()
    }

    fn estimate(&self) -> Estimate {
        match self.site {
            SiteKind::FromLog => {
                self.log_site().map_or_else(Estimate::default, |site| site.estimate(self.seconds_of_run(&site.survey)))
            }
            SiteKind::Cms => {
                let pages = 10 * self.cms_pages;
                // How long its log's own times go on is known when it is made.
                let survey = http_log::Survey { requests: self.requests, ..http_log::Survey::default() };
                let run_seconds = match self.pace() {
                    Pace::Closed => self.requests_of_run() as f64 / CMS_REQUESTS_PER_SECOND,
                    _ => self.seconds_of_run(&survey),
                };
                Estimate {
                    data_bytes: CMS_BYTES + pages as u64 * CMS_PAGE_BYTES,
                    load_seconds: CMS_SECONDS + pages as f64 * CMS_PAGE_SECONDS,
                    run_seconds,
                }
            }
        }
    }

    fn is_by_the_clock(&self) -> bool {
        self.pace() != Pace::Closed
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = check_settings(self);
        if self.site == SiteKind::FromLog {
            problems.extend(check_log(self, None));
            problems.extend(self.log_site().and_then(|site| site.problem()));
        }
        problems
    }

    fn problems_beside(&self, services: &BTreeMap<String, Map<String, Value>>) -> Vec<String> {
        let server = &self.sending.server;
        let Some(settings) = services.get(server) else { return Vec::new() };
        if self.site == SiteKind::Cms {
            return check_cms_beside(server, settings);
        }
        let php = settings.get("php").and_then(Value::as_str).filter(|php| *php != "none");
        let program = php.and_then(|php| Some((php, self.log_site()?.program?)));
        let of_program = program.map(|(php, path)| {
            format!(
                "the site `from-log` is of files, and `service.{server}.php` = \"{php}\" would run its /{} as a program: set it to \"none\"",
                path.display()
            )
        });
        site::problems_beside(server, services).into_iter().chain(of_program).collect()
    }

    fn missing(&self) -> Vec<String> {
        let packages = if self.site == SiteKind::Cms { cms::missing() } else { Vec::new() };
        if packages.is_empty() {
            return Vec::new();
        }
        vec![format!("the site `cms` needs more packages: install {}", packages.join(" "))]
    }

    fn services(&self) -> Vec<&'static str> {
        let databases: &[&str] = if self.site == SiteKind::Cms { &cms::SERVICES } else { &[] };
        databases.iter().copied().chain(self.sending.services()).collect()
    }

    /// The site is the log's: another log, or the same file grown, is another site.
    fn data_key(&self) -> String {
        if self.site == SiteKind::Cms {
            return format!("cms 1, {} pages a host; {}", self.cms_pages, cms::installed());
        }
        let of_file = std::fs::metadata(&self.path).map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
        let (bytes, seconds, nanoseconds) = of_file.unwrap_or_default();
        let (path, requests) = (self.path.display(), self.requests);
        let text = self.sending.text_words();
        // What is left out does not count among the requests: they reach further into the log.
        let sent = if self.other_methods == "skip" { "" } else { " of all methods" };
        format!("site of {path}, {bytes} bytes of {seconds}.{nanoseconds:09}, {requests} requests{sent}{text}")
    }

    fn process_bytes(&self) -> u64 {
        let processes = CMS_PROCESSES_MAX.min(self.sending.connections as u64);
        if self.site == SiteKind::Cms { CMS_SERVERS_BYTES + processes * CMS_CONNECTION_BYTES } else { 0 }
    }

    fn goes_in_parts(&self) -> bool {
        self.requests_per_run > 0
    }

    fn user_files(&self) -> Vec<PathBuf> {
        if self.site == SiteKind::FromLog { vec![self.path.clone()] } else { Vec::new() }
    }

    fn brings_files(&self) -> bool {
        true
    }

    /// The log that another machine replays. That of the site `cms` is made there.
    fn texts(&self, bytes_max: u64) -> Result<Texts, Error> {
        if self.site == SiteKind::Cms {
            return Ok(Texts::new());
        }
        let lines = self.log(String::new()).first_lines(bytes_max.min(self.log_bytes_max))?;
        let no_text = |error: std::string::FromUtf8Error| {
            let problem = format!("a load agent takes a log in UTF-8, and this one is none: {error}");
            Error::Parameter { setting: "log", problem }
        };
        Ok(Texts::from([(LOG.to_string(), String::from_utf8(lines).map_err(no_text)?)]))
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(HttpReplay { parameters: *self, text: None, replay: None }))
    }

    /// To replay such a log, on a machine without the file.
    fn open_with_texts(self: Box<Self>, texts: &Texts) -> Result<Box<dyn Workload>, Error> {
        let wrong = |problem: String| Error::Parameter { setting: "http-replay", problem };
        let refuse = |problems: Vec<String>| if problems.is_empty() { Ok(()) } else { Err(wrong(problems.join("; "))) };
        refuse(check_settings(&self))?;
        let text: Arc<[u8]> = if self.site == SiteKind::Cms {
            self.visits().text()?.into()
        } else {
            let text = texts.get(LOG).ok_or_else(|| wrong("the log did not come with it".into()))?;
            let text: Arc<[u8]> = text.as_bytes().into();
            refuse(check_log(&self, Some(text.clone())))?;
            text
        };
        Ok(Box::new(HttpReplay { parameters: *self, text: Some(text), replay: None }))
    }
}

/// The workload at work.
struct HttpReplay {
    parameters: Parameters,
    /// The log, where it is no file.
    text: Option<Arc<[u8]>>,
    /// What was found out in the first run.
    replay: Option<Replay>,
}

/// The log, and what its site must answer.
struct Replay {
    log: Log,
    /// Where the next run begins, of runs that send a part.
    parts: Option<Parts>,
    /// What a reader should know of the site.
    notes: Vec<String>,
}

/// Requests of the log that are sent before its first replay: pages of several hosts are among them.
const PROBES: u64 = 30;

impl HttpReplay {
    /// Asks a site of programs for its first pages, too.
    fn begin(&self, client: &Client, host: String, context: &Context) -> Result<Replay, Error> {
        let parameters = &self.parameters;
        let mut log = Log { text: self.text.clone(), ..parameters.log(host) };
        if parameters.site == SiteKind::Cms {
            let visits = parameters.visits();
            if log.text.is_none() {
                log.path = visits.log(&context.cache_folder)?;
            }
            log.expected = Expected::Known(Arc::new(visits.known()));
            sending::probe(client, PROBES, &mut log.source(Pace::Closed)?, context)?;
        } else {
            log.expected = Expected::Pages(Arc::new(http_log::site::sizes(http_log::site::files(&log)?)));
        }
        let survey = log.survey()?;
        let notes = if parameters.site == SiteKind::FromLog { log_site::notes(&survey) } else { Vec::new() };
        let parts = parameters
            .goes_in_parts()
            .then(|| Parts::after(log.clone(), Random::new(context.seed).below(survey.requests.max(1))));
        Ok(Replay { parts: parts.transpose()?, log, notes })
    }
}

impl Workload for HttpReplay {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = Instant::now();
        match self.parameters.site {
            SiteKind::Cms => self.parameters.visits().install(context)?,
            SiteKind::FromLog => {
                let text = self.parameters.sending.body_contains.as_bytes();
                files::make(http_log::site::files(&self.parameters.log(String::new()))?.into_iter(), text, context)?;
            }
        }
        Ok(workload::load_seconds(started))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let server = sending::server(context)?;
        let client = self.parameters.sending.client(&server, self.parameters.otherwise(), None);
        if self.replay.is_none() {
            self.replay = Some(self.begin(&client, server.address.to_string(), context)?);
        }
        let parameters = &self.parameters;
        let Replay { log, parts, notes } = self.replay.as_mut().expect("it was begun above");
        let begin = parts.as_ref().map(Parts::begin);
        let mut source: Box<dyn Source> = match parts {
            Some(parts) => Box::new(parts.next(parameters.requests_per_run)),
            None => Box::new(log.source(client.pace)?),
        };
        let (tally, rates) = http_client::drive(&client, &mut *source, context.interrupted, context.progress)?;
        let redirects = tally.classes[2];
        let mut outcome = sending::outcome(tally, rates, parameters.sending.limit(parameters.otherwise()));
        outcome.metrics.extend(begin.map(|begin| BEGIN.at(begin as f64)));
        outcome.notes.extend(notes.iter().cloned());
        outcome.notes.extend(log_site::note_of_redirects(redirects).filter(|_| parameters.site == SiteKind::FromLog));
        Ok(outcome)
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        if self.parameters.site == SiteKind::Cms {
            return self.parameters.visits().verify(context);
        }
        files::verify(http_log::site::files(&self.parameters.log(String::new()))?.into_iter(), context)
    }
}
