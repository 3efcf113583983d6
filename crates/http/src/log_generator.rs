//! An access log of visitors that never were: sessions of pages and what the pages load, as lines of `vhost_combined`.
//!
//! For a site whose own log is missing or may not leave its house. Every random number comes from the caller's stream: the same
//! stream gives the same bytes (as far as the platform's logarithm is the same to the last bit). Lines come in the order of
//! time; memory goes with pages and sessions that are under way, not with the log's length.
//!
//! | what | how it is drawn | source |
//! |--|--|--|
//! | which page | Zipf over the order of the list | Breslau et al., Web caching and Zipf-like distributions, 1999 |
//! | pages a session | geometric: after each page a visitor leaves with the same chance | simpler than the inverse Gaussian of Huberman et al., Strong regularities in World Wide Web surfing, 1998 |
//! | time between pages | exponential, at most ten times its mean | TPC-W's think time |
//! | arrival of sessions | Poisson | Paxson and Floyd, Wide-area traffic: the failure of Poisson modeling, 1995 |
//! | bursts | the arrivals' rate changes between two, each for an exponential time | the two-state Markov-modulated Poisson process |

#[cfg(test)]
mod tests;

use crate::access_log::time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io::{self, Write};

/// What a page loads comes within this time after it.
const ASSETS_MICROSECONDS: f64 = 500_000.0;

/// How long it is quiet between two bursts in the mean.
const QUIET_SECONDS_MEAN: f64 = 600.0;

/// How long a burst takes in the mean.
const BURST_SECONDS_MEAN: f64 = 60.0;

/// User agents of robots.
const BOT_AGENTS: &[&str] = &["Mozilla/5.0 (compatible; bot/1.0; +http://bot.example/)"];

/// Nobody thinks longer than so many times the mean.
const THINK_MEANS_MAX: f64 = 10.0;

/// A page of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Virtual host.
    pub host: String,
    /// Path and query.
    pub target: String,
    /// Whether a program makes it, else it is a file.
    pub is_dynamic: bool,
    /// Its size, where it is known.
    pub bytes: Option<u64>,
    /// What a browser loads with it, from the same host.
    pub assets: Vec<Asset>,
}

/// What a browser loads with a page: style, script, picture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asset {
    /// Path and query; pages that name the same one share it.
    pub target: String,
    /// Its size, where it is known.
    pub bytes: Option<u64>,
}

/// What the visitors are like. The defaults are plausible and measured nowhere, unless they say where. Whoever asks for another
/// number has checked it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Lines of the log.
    pub requests: u64,
    /// Zipf's exponent: page number n of those of its kind is asked for in proportion to 1/n^exponent. 0: all alike. The default
    /// lies in the range of 0.64 to 0.83 that Breslau et al. found.
    pub popularity_exponent: f64,
    /// Share of page views that are of dynamic pages.
    pub dynamic_share: f64,
    /// Pages that a session sees in the mean, from 1.
    pub session_pages_mean: f64,
    /// Time between two pages of a session, in the mean before it is cut off.
    pub think_seconds_mean: f64,
    /// Sessions that begin in a second, in the mean over bursts and what is between them.
    pub sessions_per_second: f64,
    /// How many times as many sessions begin in a burst; 1: there are none.
    pub burst_factor: f64,
    /// Share of what a session has loaded already and meets again that is asked for again, and answered with 304.
    pub revalidated_share: f64,
    /// Share of sessions that are a robot's: it takes pages only, and sends no referer.
    pub bot_share: f64,
    /// User agents of visitors, each equally often.
    pub agents: &'static [&'static str],
    /// Where visitors come from; empty text: nowhere.
    pub referers: &'static [&'static str],
    /// When the log begins, in seconds since 1970 UTC.
    pub start_unix_seconds: i64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            requests: 10_000,
            popularity_exponent: 0.8,
            dynamic_share: 0.5,
            session_pages_mean: 3.0,
            think_seconds_mean: 7.0,
            sessions_per_second: 1.0,
            burst_factor: 5.0,
            revalidated_share: 0.1,
            bot_share: 0.1,
            agents: &[
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36",
            ],
            referers: &["", "https://search.example/"],
            start_unix_seconds: 1_767_225_600,
        }
    }
}

/// Why there is no log.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Views of a kind of page are asked for and there is no such page.
    #[error("there is no {} page, and their share of views is above 0", if *is_dynamic { "dynamic" } else { "static" })]
    NoPage {
        /// Which kind.
        is_dynamic: bool,
    },
    /// A line with it could not be read again.
    #[error("{host}{target} can't stand in a log: a host is visible ASCII, a target begins with /")]
    NoUrl {
        /// Which host.
        host: String,
        /// What of it.
        target: String,
    },
}

/// A log being made.
pub struct Generator<'a, D> {
    pages: &'a [Page],
    shape: &'a Shape,
    draw: D,
    /// Static and dynamic pages.
    popularity: [Popularity; 2],
    /// Which of all assets each page has.
    assets: Vec<Vec<u32>>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    pushed: u64,
    arrivals: Arrivals,
    lines: u64,
    /// The text of a second, which many lines share.
    second: (i64, String),
}

/// What happens at a time; what was put in first comes first of two at once.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    microseconds: u64,
    number: u64,
    event: Event,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    /// A session asks for its next page.
    Page(Session),
    /// A browser asks for what a page loads.
    Asset {
        visitor: Visitor,
        page: usize,
        asset: usize,
        is_cached: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Visitor {
    address: u32,
    agent: &'static str,
    is_bot: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Session {
    visitor: Visitor,
    /// The page before; none: it came from outside.
    from: Option<usize>,
    /// What the browser has of the site.
    cached: BTreeSet<u32>,
}

/// A request, as its line says it.
struct Request<'a> {
    microseconds: u64,
    visitor: Visitor,
    host: &'a str,
    target: &'a str,
    status: u16,
    bytes: Option<u64>,
    /// Host and target, or the whole of another site's.
    referer: (&'a str, &'a str),
}

impl<'a, D: FnMut() -> u64> Generator<'a, D> {
    /// Begins the log of this site. `draw` gives 64 random bits at a time.
    ///
    /// # Errors
    /// When the shape can't be had.
    pub fn new(pages: &'a [Page], shape: &'a Shape, draw: D) -> Result<Generator<'a, D>, Error> {
        check(pages, shape)?;
        let popularity = [false, true].map(|is_dynamic| Popularity::of(pages, is_dynamic, shape.popularity_exponent));
        let mut numbers = BTreeMap::new();
        let mut number = |host: &'a str, asset: &'a Asset| {
            let next = numbers.len() as u32;
            *numbers.entry((host, asset.target.as_str())).or_insert(next)
        };
        let assets = pages.iter().map(|page| page.assets.iter().map(|asset| number(&page.host, asset)).collect());
        let mut generator = Generator {
            pages,
            shape,
            draw,
            popularity,
            assets: assets.collect(),
            waiting: BinaryHeap::new(),
            pushed: 0,
            arrivals: Arrivals::of(shape),
            lines: 0,
            second: (i64::MIN, String::new()),
        };
        generator.push(0, Event::Arrival);
        Ok(generator)
    }

    /// Appends the next line to `out`; false: there is none.
    pub fn next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.lines == self.shape.requests {
            return false;
        }
        loop {
            let Reverse(Waiting { microseconds, event, .. }) =
                self.waiting.pop().expect("an arrival is always waiting");
            let request = match event {
                Event::Arrival => {
                    self.arrive(microseconds);
                    continue;
                }
                Event::Page(session) => self.see(session, microseconds),
                Event::Asset { visitor, page, asset, is_cached } => {
                    let (page, asset) = (&self.pages[page], &self.pages[page].assets[asset]);
                    Request {
                        microseconds,
                        visitor,
                        host: &page.host,
                        target: &asset.target,
                        status: if is_cached { 304 } else { 200 },
                        bytes: asset.bytes.filter(|_| !is_cached),
                        referer: (&page.host, &page.target),
                    }
                }
            };
            self.write(&request, out);
            self.lines += 1;
            return true;
        }
    }

    /// Writes all lines that are left.
    ///
    /// # Errors
    /// When they can't be written.
    pub fn write_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        while self.next(&mut line) {
            out.write_all(&line)?;
            line.clear();
        }
        Ok(())
    }

    fn push(&mut self, microseconds: u64, event: Event) {
        self.pushed += 1;
        self.waiting.push(Reverse(Waiting { microseconds, number: self.pushed, event }));
    }

    /// A session begins now, and it is known when the next one will.
    fn arrive(&mut self, now: u64) {
        let next = self.arrivals.next(now, &mut self.draw);
        self.push(next, Event::Arrival);
        let is_bot = fraction(&mut self.draw) < self.shape.bot_share;
        let agents = if is_bot { BOT_AGENTS } else { self.shape.agents };
        let agent = agents[below(agents.len(), &mut self.draw)];
        let address = (self.draw)() as u32 & 0x00ff_ffff;
        let visitor = Visitor { address, agent, is_bot };
        self.push(now, Event::Page(Session { visitor, from: None, cached: BTreeSet::new() }));
    }

    /// A session's next page, what that loads, and perhaps the page after it.
    fn see(&mut self, mut session: Session, now: u64) -> Request<'a> {
        let (shape, visitor) = (self.shape, session.visitor);
        let is_dynamic = fraction(&mut self.draw) < shape.dynamic_share;
        let number = self.popularity[usize::from(is_dynamic)].draw(fraction(&mut self.draw));
        let page = &self.pages[number];
        let referer = match session.from.map(|from| &self.pages[from]) {
            _ if visitor.is_bot => ("", ""),
            Some(from) => (from.host.as_str(), from.target.as_str()),
            None => ("", shape.referers[below(shape.referers.len(), &mut self.draw)]),
        };
        for asset in 0..if visitor.is_bot { 0 } else { page.assets.len() } {
            let is_cached = !session.cached.insert(self.assets[number][asset]);
            if !is_cached || fraction(&mut self.draw) < shape.revalidated_share {
                let after = (fraction(&mut self.draw) * ASSETS_MICROSECONDS) as u64;
                self.push(now + after, Event::Asset { visitor, page: number, asset, is_cached });
            }
        }
        if fraction(&mut self.draw) * shape.session_pages_mean >= 1.0 {
            let mean = shape.think_seconds_mean;
            let seconds = exponential(mean, &mut self.draw).min(THINK_MEANS_MAX * mean);
            session.from = Some(number);
            self.push(now + microseconds(seconds), Event::Page(session));
        }
        let (host, target, bytes) = (page.host.as_str(), page.target.as_str(), page.bytes);
        Request { microseconds: now, visitor, host, target, status: 200, bytes, referer }
    }

    fn write(&mut self, request: &Request, out: &mut Vec<u8>) {
        let second = self.shape.start_unix_seconds + (request.microseconds / 1_000_000) as i64;
        if self.second.0 != second {
            self.second = (second, time::text(second));
        }
        let Visitor { address, agent, .. } = request.visitor;
        let [_, a, b, c] = address.to_be_bytes();
        let written: io::Result<()> = (|| {
            // Addresses of private networks, which are nobody's.
            write!(out, "{}:80 10.{a}.{b}.{c} - - [{}] \"GET ", request.host, self.second.1)?;
            escape(request.target, out);
            write!(out, " HTTP/1.1\" {} ", request.status)?;
            match request.bytes {
                Some(bytes) => write!(out, "{bytes} \"")?,
                None => write!(out, "- \"")?,
            }
            match request.referer {
                ("", "") => write!(out, "-")?,
                ("", elsewhere) => escape(elsewhere, out),
                (host, target) => {
                    write!(out, "http://{host}")?;
                    escape(target, out);
                }
            }
            write!(out, "\" \"")?;
            escape(agent, out);
            writeln!(out, "\"")
        })();
        written.expect("writing to memory can't fail");
    }
}

fn check(pages: &[Page], shape: &Shape) -> Result<(), Error> {
    for (is_dynamic, share) in [(false, 1.0 - shape.dynamic_share), (true, shape.dynamic_share)] {
        if share > 0.0 && !pages.iter().any(|page| page.is_dynamic == is_dynamic) {
            return Err(Error::NoPage { is_dynamic });
        }
    }
    let urls = pages.iter().flat_map(|page| {
        let assets = page.assets.iter().map(|asset| &asset.target);
        assets.chain([&page.target]).map(|target| (&page.host, target))
    });
    for (host, target) in urls {
        let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_host || !target.starts_with('/') {
            return Err(Error::NoUrl { host: host.clone(), target: target.clone() });
        }
    }
    Ok(())
}

/// Pages of a kind, and how often each is asked for.
struct Popularity {
    pages: Vec<usize>,
    /// Weights of a page and all before it, added up.
    cumulated: Vec<f64>,
}

impl Popularity {
    fn of(pages: &[Page], is_dynamic: bool, exponent: f64) -> Popularity {
        let pages: Vec<usize> = (0..pages.len()).filter(|at| pages[*at].is_dynamic == is_dynamic).collect();
        let weights = (1..=pages.len()).map(|rank| (rank as f64).powf(-exponent));
        let cumulated = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Popularity { cumulated: cumulated.collect(), pages }
    }

    /// The page at a fraction, from 0 to less than 1, of all views.
    fn draw(&self, fraction: f64) -> usize {
        let sum = self.cumulated.last().expect("there is a page of each kind that is drawn");
        let at = self.cumulated.partition_point(|weight| *weight <= fraction * sum);
        self.pages[at.min(self.pages.len() - 1)]
    }
}

/// When sessions begin: a Poisson process whose rate is now the quiet one, now the burst's.
struct Arrivals {
    /// Sessions in a second, and how long it stays so in the mean: quiet, burst.
    states: [(f64, f64); 2],
    is_burst: bool,
    /// When the state ends.
    until: u64,
}

impl Arrivals {
    fn of(shape: &Shape) -> Arrivals {
        let (quiet, burst) = (QUIET_SECONDS_MEAN, BURST_SECONDS_MEAN);
        let rate = shape.sessions_per_second * (quiet + burst) / (quiet + burst * shape.burst_factor);
        Arrivals { states: [(rate, quiet), (rate * shape.burst_factor, burst)], is_burst: true, until: 0 }
    }

    fn next(&mut self, mut now: u64, draw: &mut impl FnMut() -> u64) -> u64 {
        loop {
            let (rate, _) = self.states[usize::from(self.is_burst)];
            let next = now + microseconds(exponential(1.0 / rate, draw));
            if next <= self.until {
                return next;
            }
            // An exponential time has no memory: what is left of it is drawn anew at the other rate.
            now = self.until;
            self.is_burst = !self.is_burst;
            self.until = now + microseconds(exponential(self.states[usize::from(self.is_burst)].1, draw)).max(1);
        }
    }
}

/// From 0 up to, not including, 1.
fn fraction(draw: &mut impl FnMut() -> u64) -> f64 {
    (draw() >> 11) as f64 / (1u64 << 53) as f64
}

fn below(end: usize, draw: &mut impl FnMut() -> u64) -> usize {
    ((u128::from(draw()) * end as u128) >> 64) as usize
}

fn exponential(mean: f64, draw: &mut impl FnMut() -> u64) -> f64 {
    -mean * (1.0 - fraction(draw)).ln()
}

fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

/// As Apache writes what a client sent.
fn escape(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0x20..0x7f => out.push(byte),
            _ => write!(out, "\\x{byte:02x}").expect("writing to memory can't fail"),
        }
    }
}
