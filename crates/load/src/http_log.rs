//! An access log as a source of requests: in its order, each exactly once.
//!
//! What a log does not have (bodies, cookies) can't be replayed: methods other than GET and HEAD are left out or sent without
//! a body, and counted. The log is read while it is replayed, so that its length costs no memory.

mod parts;
pub mod site;
mod spread;

#[cfg(test)]
mod tests;

pub use parts::Parts;

use crate::duration;
use crate::http_client::{Pace, Source, Status, Task};
use crate::workload::Error;
use http::access_log::Entry;
use http::reader::{Reader, Rejects};
use http::request::Request;
use spread::Spread;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Which log, and what is made of its lines.
#[derive(Debug, Clone)]
pub struct Log {
    /// The file: plain, gzip or Zstandard.
    pub path: PathBuf,
    /// Its text, where that was read before; then no file is looked at.
    pub text: Option<Arc<[u8]>>,
    /// The most requests; 0: all.
    pub requests_max: u64,
    /// What becomes of methods other than GET and HEAD.
    pub others: Others,
    /// The `Host` that is asked for.
    pub hosts: Hosts,
    /// What an answer is held against.
    pub expected: Expected,
    /// A text in the body of each answer that the log has as a page (2xx); none: bodies are not looked at.
    pub body_text: Option<Arc<[u8]>>,
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// The most bytes of text that it may have, decompressed.
    pub bytes_max: u64,
}

/// Methods other than GET and HEAD: what they sent is not in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Others {
    /// They are left out.
    Skipped,
    /// They are sent with this body.
    WithBody(Vec<u8>),
}

/// Which `Host` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// For lines without a virtual host.
    pub default: String,
    /// Whether all lines take the default.
    pub is_one: bool,
    /// From a host of the log to another.
    pub map: BTreeMap<String, String>,
}

/// What an answer is held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Nothing,
    /// The class of the logged status; anything but a failure (5xx) where that says what the client did.
    Status,
    /// That, and for a GET answered 200 the logged size.
    Size,
    /// A whole page where the log's server had one, as the site was made from the log's answers, or the way to it where that is a
    /// folder's; elsewhere anything but a failure (5xx).
    Pages(Arc<Sizes>),
    /// What is known of the site.
    Known(Arc<Known>),
}

/// The files of a site that was made from a log: by path below the document root, their bytes.
pub type Sizes = HashMap<Vec<u8>, u64>;

/// What is known of a site's answers: by host, then by path and query.
pub type Known = HashMap<Vec<u8>, HashMap<Vec<u8>, Answer>>;

/// What an answer of a known site holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Length of its body, where it has one length.
    pub body_bytes: Option<u64>,
    /// A text of its body.
    pub body_text: Option<Arc<[u8]>>,
}

/// What a log holds, looked at without sending anything.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Its lines.
    pub lines: u64,
    /// Those that are no requests.
    pub rejects: Rejects,
    /// Requests that will be sent.
    pub requests: u64,
    /// Requests by method, those that are left out too.
    pub methods: BTreeMap<String, u64>,
    /// Virtual hosts and their requests.
    pub hosts: BTreeMap<String, u64>,
    /// From the first request to the last.
    pub span: Duration,
    /// Requests that will be sent and lie more than ten minutes behind one before them, many in a row.
    pub behind: u64,
    /// Bytes of the whole pages (200) that the log has as answers to GET, where a site was made from it.
    pub logged_bytes: u64,
    /// Those of the site's files for them: more where a path was answered with several sizes, as by its query.
    pub served_bytes: u64,
}

/// A line is written when its answer ends, and few answers take so long: what lies further behind is not in the order of its times.
const BEHIND: Duration = Duration::from_secs(600);

/// So many of them in a row: fewer, among others, are sent where they stand, as downloads and web sockets that are logged when they end.
const BEHIND_IN_A_ROW: u64 = 20;

/// The largest share of such requests: above it many are sent at one moment, and none at its own.
const BEHIND_SHARE_MAX: f64 = 0.05;

/// So many names are kept of a log whose requests have thousands of virtual hosts or methods.
pub const NAMES_MAX: usize = 1000;

impl Log {
    /// Reads the whole log and counts.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn survey(&self) -> Result<Survey, Error> {
        let mut survey = Survey::default();
        let (mut first, mut latest, mut in_a_row) = (None, i64::MIN, 0_u64);
        let behind = BEHIND.as_micros() as i64;
        let reader = self.each(|entry| {
            let first = *first.get_or_insert(entry.unix_microseconds);
            let since = u64::try_from(entry.unix_microseconds.saturating_sub(first)).unwrap_or(0);
            survey.span = survey.span.max(Duration::from_micros(since));
            count(&mut survey.methods, &entry.method);
            entry.host.as_ref().inspect(|host| count(&mut survey.hosts, host));
            if let Expected::Pages(sizes) = &self.expected
                && &*entry.method == b"GET"
                && entry.status == 200
                && let Some(bytes) = entry.bytes
                && let Some(size) = site::size_of(&entry.target, sizes).flatten()
            {
                survey.logged_bytes = survey.logged_bytes.saturating_add(bytes);
                survey.served_bytes = survey.served_bytes.saturating_add(size);
            }
            if self.takes(entry) {
                survey.requests += 1;
                latest = latest.max(entry.unix_microseconds);
                let is_behind = latest.saturating_sub(entry.unix_microseconds) > behind;
                in_a_row = if is_behind { in_a_row + 1 } else { 0 };
                survey.behind += match in_a_row.cmp(&BEHIND_IN_A_ROW) {
                    Ordering::Less => 0,
                    Ordering::Equal => BEHIND_IN_A_ROW,
                    Ordering::Greater => 1,
                };
            }
        })?;
        survey.lines = reader.lines();
        survey.rejects = reader.rejects().clone();
        Ok(survey)
    }

    /// Looks at each line that is a request, up to the last one that will be sent.
    pub(super) fn each(&self, mut see: impl FnMut(&Entry)) -> Result<Reader, Error> {
        let mut reader = self.reader()?;
        let limit = if self.requests_max == 0 { u64::MAX } else { self.requests_max };
        let mut taken = 0;
        while taken < limit {
            let seen = reader.next(|entry| {
                see(&entry);
                taken += u64::from(self.takes(&entry));
            });
            if seen.map_err(Error::doing("read", &self.path))?.is_none() {
                break;
            }
        }
        Ok(reader)
    }

    /// The text of the lines that are sent, and of those between them, of at most so many bytes.
    ///
    /// # Errors
    /// When it can't be read, or is longer.
    pub fn first_lines(&self, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let lines = self.each(|_| {})?.lines();
        let read = http::reader::first_lines(&self.path, lines, bytes_max);
        read.map_err(Error::doing("read", &self.path))
    }

    /// Its requests, from the beginning; where the pace follows their times, those of one second are spread over it.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn source(&self, pace: Pace) -> Result<impl Source + use<>, Error> {
        let spread = matches!(pace, Pace::AsLogged(_)).then(|| Spread::new(self)).transpose()?;
        Ok(Requests { log: self.clone(), reader: self.reader()?, spread, sent: 0, first: None, latest: i64::MIN })
    }

    pub(super) fn reader(&self) -> Result<Reader, Error> {
        match &self.text {
            Some(text) => Ok(Reader::of(text.clone())),
            None => Reader::open(&self.path, self.bytes_max).map_err(Error::doing("read", &self.path)),
        }
    }

    pub(super) fn takes(&self, entry: &Entry) -> bool {
        has_all(entry) || self.others != Others::Skipped
    }

    fn host<'a>(&'a self, entry: &'a Entry) -> &'a [u8] {
        let Some(named) = entry.host.as_deref().filter(|_| !self.hosts.is_one) else {
            return self.hosts.default.as_bytes();
        };
        let mapped = std::str::from_utf8(named).ok().and_then(|name| self.hosts.map.get(name));
        mapped.map_or(named, |mapped| mapped.as_bytes())
    }

    /// Writes the request of a line; none when it is left out.
    fn write(&self, entry: &Entry, request: &mut Vec<u8>) -> Option<Task> {
        if !self.takes(entry) {
            return None;
        }
        let is_plain = has_all(entry);
        let body = match &self.others {
            Others::WithBody(body) if !is_plain => Some(&body[..]),
            _ => None,
        };
        let (host, keep_alive) = (self.host(entry), self.keep_alive);
        let (method, target, referer, agent) = (&*entry.method, &*entry.target, &*entry.referer, &*entry.agent);
        Request { method, target, host, referer, agent, keep_alive, body }.write(request);
        let is_head = &*entry.method == b"HEAD";
        if let Expected::Known(known) = &self.expected {
            let answer = known.get(host).and_then(|targets| targets.get(target));
            return Some(Task {
                is_head,
                is_repeatable: is_plain,
                status: if answer.is_some() { Status::Class(2) } else { Status::NoFailure },
                body_bytes: answer.and_then(|answer| answer.body_bytes).filter(|_| !is_head),
                body_text: answer.and_then(|answer| answer.body_text.clone()).filter(|_| !is_head),
                ..Task::default()
            });
        }
        let class = expected_class(entry.status);
        // The file that the site has for it, where a filesystem has such a name, and its size: a folder's is its index's.
        let file = match &self.expected {
            Expected::Pages(sizes) if class == 2 && is_plain => site::size_of(&entry.target, sizes),
            _ => None,
        };
        let is_page = class == 2 && (!matches!(self.expected, Expected::Pages(_)) || file.is_some());
        // A page that others lie below is a folder of the site: nginx and Caddy send its index, Apache and lighttpd lead on to it.
        let is_folder = file == Some(None);
        let has_body = is_page && !is_folder && !is_head && !matches!(entry.status, 204 | 205);
        Some(Task {
            is_head,
            is_repeatable: is_plain,
            status: match self.expected {
                Expected::Nothing | Expected::Known(_) => Status::Any,
                Expected::Status | Expected::Size if is_of_client(entry.status) => Status::NoFailure,
                Expected::Status | Expected::Size => Status::Class(class),
                Expected::Pages(_) if is_folder => Status::PageOrRedirect,
                Expected::Pages(_) if is_page => Status::Class(2),
                // The site lacks what the log's server had none of, or takes no such method; it need not fail.
                Expected::Pages(_) => Status::NoFailure,
            },
            body_bytes: match self.expected {
                // What others sent is not in the log, and an answer to something else has another size.
                Expected::Size => entry.bytes.filter(|_| entry.status == 200 && is_plain),
                _ => file.flatten(),
            }
            .filter(|_| !is_head),
            body_text: self.body_text.clone().filter(|_| has_body),
            ..Task::default()
        })
    }
}

/// Whether the log has all of the request: these two have no body.
fn has_all(entry: &Entry) -> bool {
    matches!(&*entry.method, b"GET" | b"HEAD")
}

/// Whether a status says what the client did, which is not done again: it changed to another protocol (101), sent no whole
/// request in time (408), or left (499 of nginx).
fn is_of_client(status: u16) -> bool {
    matches!(status, 101 | 408 | 499)
}

/// A class of the logged status; where the client had the page already or asked for a part of it, the whole is expected,
/// because the log does not have the headers that asked so.
pub fn expected_class(status: u16) -> u16 {
    if matches!(status, 304 | 206 | 416) { 2 } else { status / 100 }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &[u8]) {
    let name = String::from_utf8_lossy(name);
    if let Some(count) = counts.get_mut(&*name) {
        *count += 1;
    } else if counts.len() < NAMES_MAX {
        counts.insert(name.into_owned(), 1);
    }
}

/// The requests of a log.
struct Requests {
    log: Log,
    reader: Reader,
    spread: Option<Spread>,
    sent: u64,
    /// Time of the first request, in microseconds since 1970.
    first: Option<i64>,
    /// The latest so far: a line is written when its answer ends, so that times may go back a little; requests don't.
    latest: i64,
}

impl Source for Requests {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        let Requests { log, reader, spread, sent, first, latest } = self;
        if log.requests_max > 0 && *sent == log.requests_max {
            return Ok(None);
        }
        loop {
            let drawn = reader.next(|entry| {
                let task = log.write(&entry, request)?;
                *latest = entry.unix_microseconds.max(*latest);
                Some(task)
            });
            match drawn.map_err(Error::doing("read", &log.path))? {
                None => return Ok(None),
                Some(None) => {}
                Some(Some(task)) => {
                    *sent += 1;
                    let time = spread.as_mut().map_or(Ok(*latest), |spread| spread.at(*latest))?;
                    let since = time.saturating_sub(*first.get_or_insert(time));
                    let at = Duration::from_micros(u64::try_from(since).unwrap_or(0));
                    return Ok(Some(Task { at, ..task }));
                }
            }
        }
    }
}

/// A replay that takes longer is refused: nobody waits for it, and a log whose times lie so far apart has a wrong one.
const REPLAY_MAX: Duration = Duration::from_secs(366 * 86_400);

/// How long the requests of a log take, where the pace decides it: the log's own times or a rate, of connections with so many calls.
pub fn takes(survey: &Survey, pace: Pace, calls: u64) -> Option<Duration> {
    match pace {
        Pace::Closed => None,
        Pace::PerSecond(rate) => Some(duration::until(survey.requests / calls.max(1), rate)),
        Pace::AsLogged(speed) => Some(duration::of_seconds(survey.span.as_secs_f64() / speed)),
    }
}

/// Why a replay would not end; none: it takes less than a year.
pub fn endless(survey: &Survey, pace: Pace, calls: u64) -> Option<String> {
    let takes = takes(survey, pace, calls).filter(|takes| *takes > REPLAY_MAX)?;
    let days = takes.as_secs() / 86_400;
    Some(match pace {
        Pace::AsLogged(speed) => {
            let of_log = survey.span.as_secs() / 86_400;
            let enough = survey.span.as_secs_f64() / REPLAY_MAX.as_secs_f64();
            format!(
                "the log goes over {of_log} days, so that its replay with `speed` {speed} takes {days} days or more, and 366 are the \
                 most: look for a line with a wrong time, send fewer of its `requests`, or take a `speed` above {enough:.0}"
            )
        }
        _ => format!("{} requests at this `rate` take {days} days or more, and 366 are the most", survey.requests),
    })
}

/// Why the times of a log can't be followed; none: they can, or the pace looks at none.
pub fn disordered(survey: &Survey, pace: Pace) -> Option<String> {
    let share = survey.behind as f64 / survey.requests.max(1) as f64;
    let is_disordered = matches!(pace, Pace::AsLogged(_)) && share > BEHIND_SHARE_MAX;
    is_disordered.then(|| {
        let (behind, minutes, most) = (survey.behind, BEHIND.as_secs() / 60, BEHIND_SHARE_MAX * 100.0);
        format!(
            "{behind} of {} requests lie more than {minutes} minutes behind one that stands before them, many in a row, and \
             with `speed` at most {most:.0} % may: they would all be sent at once; join logs in the order of their times, or \
             look for a line with a wrong time",
            survey.requests
        )
    })
}

/// What is wrong with a log as a whole; none: it can be replayed.
pub fn refuse(path: &Path, survey: &Survey, bad_lines_max: f64) -> Option<String> {
    let bad = survey.rejects.count();
    let list = survey.rejects.words().join("; ");
    if survey.requests == 0 {
        let why = if bad > 0 { format!(": {list}") } else { String::new() };
        return Some(format!("{} has no request that can be replayed{why}", path.display()));
    }
    let share = bad as f64 / survey.lines as f64;
    (share > bad_lines_max).then(|| {
        let (found, allowed) = (share * 100.0, bad_lines_max * 100.0);
        format!("{found:.1} % of the lines of {} are no requests, {allowed:.1} % are allowed: {list}", path.display())
    })
}
