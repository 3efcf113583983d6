//! `find-rate`: the highest rate of requests that a server keeps up with: no errors, or few, and the slowest hundredth within a limit.
//!
//! Each rate is tried in an open loop, so that a server that falls behind is seen to: answers must come as fast as requests, however long
//! the latencies may be. The rate doubles until one fails twice, then the gap is halved, on a scale of ratios, down to the precision; the
//! rate that is left is tried once more. One lucky or unlucky try is no proof. All rates are in the result: its latencies by rate are the
//! curve, the last that held is the knee.
//!
//! All rates of a run are shifted by less than one step, by its seed. If all runs tried the same rates, two servers would look equal in every
//! round, or apart by a step in every round, however near they are; so what the steps hide is part of what strays.

use load::asked::{self, Asked};
use load::duration;
use load::http_client::settings::{self as sending, Sending};
use load::http_client::{self, Client, Fault, Pace, Tally};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::cpu;
use observe::latency::Latency;
use observe::metric::{Measured, Metric, WORK_DONE};
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use sites::site::{self, Site};
use std::collections::BTreeMap;
use std::time::Instant;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "find-rate",
    summary: "the highest rate of HTTP requests without errors and with the 99th percentile within a limit",
    example: "[workload.find-rate]\nfile_size = \"10KiB\"\nlatency_max = \"50ms\"\nprobe_time = \"5s\"\n",
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
    Setting::new("latency_max", Is::Seconds { min: 1e-6, max: 1e6 }, "100ms")
        .help("The 99th percentile of latencies, from the intended start to the last byte, must not be above it."),
    Setting::new("rate_min", Is::Number { min: 0.1, max: 1e7 }, "50")
        .help("The lowest rate that is tried, in requests a second. Each run begins up to a step of the precision above it, so that runs try different rates."),
    Setting::new("rate_max", Is::Number { min: 0.1, max: 1e7 }, "1000000").help("No rate above it is tried."),
    Setting::new("precision", Is::Percent { min: 0.001, max: 1.0 }, "5%")
        .help("How near the rate that fails must be to the one that holds; and by how much answers may come more slowly than requests."),
    Setting::new("probe_time", Is::Seconds { min: 0.1, max: 1e6 }, "3s")
        .help("How long each rate is tried. Where single latencies lie further apart than `precision` times this, it is too short: a slow answer at its end looks like a server that falls behind."),
    Setting { default: Some("500"), ..sending::CONNECTIONS },
    sending::KEEP_ALIVE,
    Setting { default: Some("5s"), ..sending::TIMEOUT },
    Setting { default: Some("0%"), ..asked::ERRORS_MAX }
.help("A rate holds when no larger share of its requests goes wrong: wrong answers, time-outs, lost connections."),
    sending::DRIVER_THREADS,
    sending::ENGINE,
];

const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "highest_rate_per_second";
    Less "µs": "latency_p99_at_highest_rate_microseconds";
    Neither "1/s": "lowest_failing_rate_per_second";
    // `analysis` calls the highest rate a lower bound where the last is high.
    Neither "1": "rates_tried", "generator_busy_share_at_lowest_failing_rate", WORK_DONE;
};

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    #[serde(flatten)]
    site: Site,
    #[serde(flatten)]
    sending: Sending,
    latency_max: f64,
    rate_min: f64,
    rate_max: f64,
    precision: f64,
    probe_time: f64,
}

impl Parameters {
    /// Why this rate failed; none: it held.
    fn objection(&self, rate: f64, tally: &Tally, asked: &Asked) -> Option<String> {
        let p99_seconds = tally.total.microseconds_at(0.99) / 1e6;
        if let Err(wrong) = asked.judge() {
            return Some(wrong.to_string());
        }
        if p99_seconds > self.latency_max {
            return Some(format!("99th percentile {:.1} ms", p99_seconds * 1e3));
        }
        // All answers of a try are waited for: where they come more slowly than requests, the last one is late by all that has piled up.
        let answered = tally.requests as f64 / tally.rate_seconds();
        (answered < rate * (1.0 - self.precision)).then(|| format!("answers came at {answered:.0} a second"))
    }

    /// By how much the rates of a run lie above those of a search from the lowest one: by less than a step, which is what halving leaves of
    /// an octave when it gets down to the precision.
    fn shift(&self, random: &mut Random) -> f64 {
        let halvings = (1.0 / (1.0 + self.precision).log2()).log2().ceil();
        ((-halvings).exp2() * random.fraction()).exp2()
    }
}

impl WorkloadSettings for Parameters {
    sites::settings_of_site!();

    fn metrics(&self) -> Vec<Metric> {
        METRICS.iter().cloned().chain(asked::METRICS).chain(Fault::metrics()).collect()
    }

    fn estimate(&self) -> Estimate {
        // Doublings from the lowest to the highest rate, the second try of one that fails, about as many halvings, and the last try.
        let tries = (self.rate_max / self.rate_min).log2() + 9.0;
        self.site.estimate(tries * self.probe_time)
    }

    fn problems(&self) -> Vec<String> {
        let wrong = (self.rate_min > self.rate_max).then(|| "`rate_min` is above `rate_max`".to_string());
        wrong.into_iter().chain(self.site.problems(&self.sending)).collect()
    }

    fn data_key(&self) -> String {
        self.site.words()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(FindRate { parameters: *self, runs: 0, unanswered: 0 }))
    }
}

/// The workload at work.
struct FindRate {
    parameters: Parameters,
    runs: u64,
    /// Requests of all runs without a whole answer.
    unanswered: u64,
}

impl FindRate {
    /// Tries a rate.
    fn probe(&self, client: &Client, rate: f64, number: u64, context: &mut Context) -> Result<Tally, Error> {
        let host = client.addresses[0].to_string();
        let random = Random::of_stream(context.seed, self.runs << 32 | number);
        let mut source = self.parameters.site.requests(host, &self.parameters.sending, random);
        let client = Client { pace: Pace::PerSecond(rate), ..client.clone() };
        Ok(http_client::drive(&client, &mut source, context.interrupted, &mut |_, _| {})?.0)
    }
}

impl Workload for FindRate {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        self.parameters.site.make(b"", context)
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        self.runs += 1;
        let parameters = self.parameters.clone();
        let window = duration::of_seconds(parameters.probe_time);
        let client = parameters.sending.client(&sending::server(context)?, Pace::Closed, Some(window));
        if self.runs == 1 {
            let random = Random::of_stream(context.seed, 0);
            let mut source = parameters.site.requests(client.addresses[0].to_string(), &parameters.sending, random);
            sending::probe(&client, 1, &mut source, context)?;
        }
        let started = Instant::now();
        // Stream 0 of a run; its tries have the others.
        let shift = parameters.shift(&mut Random::of_stream(context.seed, self.runs << 32));
        let mut tries = Tries::of(&client, cpu::usable().unwrap_or(usize::MAX), shift);
        let mut unanswered = 0;
        let found = search(&parameters, shift, |rate| {
            tries.number += 1;
            let tally = self.probe(&client, rate, tries.number, context)?;
            unanswered += tally.unanswered();
            (context.progress)(started.elapsed().as_secs_f64(), rate);
            Ok(tries.add(&parameters, rate, tally))
        })?;
        self.unanswered += unanswered;
        if found.rate == 0.0 {
            let why = tries.failed.last().map(|failed| failed.why.clone()).unwrap_or_default();
            let problem = format!("no rate holds, from this one on: {why}");
            return Err(Error::Parameter { setting: "rate_min", problem });
        }
        let mut notes = tries.notes();
        if found.failing == 0.0 {
            notes.push(format!("All rates held, up to {:.0} requests a second: set `rate_max` higher.", found.rate));
        }
        let [number, answers] = [tries.number, tries.answers].map(|count| count as f64);
        let values = [found.rate, found.p99_microseconds, found.failing, number, tries.generator_busy_share(), answers];
        Ok(Outcome {
            seconds: started.elapsed().as_secs_f64(),
            metrics: workload::figures(METRICS, values),
            notes,
            latencies: tries.latencies,
            ..Outcome::of(tries.asked)
        })
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.parameters.site.verify(self.unanswered, context)
    }
}

/// Reasons that are told of one run.
const NOTES_MAX: usize = 3;

/// A rate that failed.
struct Failed {
    rate: f64,
    why: String,
    /// The part of the time for which the load generator's threads were busy.
    generator_busy_share: f64,
}

/// What all tries of a run came to.
struct Tries {
    number: u64,
    /// Right ones, to all of them: what the server did in a run.
    answers: u64,
    /// As [`Parameters::shift`].
    shift: f64,
    latencies: BTreeMap<String, Latency>,
    /// The lowest last.
    failed: Vec<Failed>,
    /// Of the last rate that held.
    asked: Asked,
    /// Threads of the load generator that can work at a time.
    threads: usize,
}

impl Tries {
    fn of(client: &Client, cpus: usize, shift: f64) -> Tries {
        let threads = client.threads.clamp(1, client.connections).min(cpus);
        let (latencies, failed) = (BTreeMap::new(), Vec::new());
        Tries { number: 0, answers: 0, shift, latencies, failed, asked: Asked::all_right(), threads }
    }

    /// Adds one; gives its 99th percentile in microseconds where the rate held.
    fn add(&mut self, parameters: &Parameters, rate: f64, tally: Tally) -> Option<f64> {
        // Each rate has the limit of a closed loop, though it is driven in an open one: errors are how it fails.
        let asked = tally.asked(parameters.sending.limit(Pace::Closed));
        let objection = parameters.objection(rate, &tally, &asked);
        self.answers += tally.right;
        // A rate that is tried twice counts by its last try. One that fails is lower than all others that failed.
        self.failed.retain(|failed| failed.rate > rate);
        match &objection {
            None => self.asked = asked,
            Some(why) => self.failed.push(Failed {
                rate,
                why: format!("at {rate:.0} requests a second: {why}"),
                generator_busy_share: tally.cpu_seconds / (tally.seconds * self.threads as f64),
            }),
        }
        let p99_microseconds = tally.total.microseconds_at(0.99);
        // Without the shift, runs and scenarios have the same names.
        let unshifted = if rate > parameters.rate_min && rate < parameters.rate_max { rate / self.shift } else { rate };
        self.latencies.insert(format!("request at about {unshifted:.0}/s"), tally.total);
        objection.is_none().then_some(p99_microseconds)
    }

    /// At the lowest rate that failed; 0: none did.
    fn generator_busy_share(&self) -> f64 {
        self.failed.last().map_or(0.0, |failed| failed.generator_busy_share)
    }

    /// The curve is in the latencies; of the rates that failed, the lowest say where the knee is, and what made it.
    fn notes(&self) -> Vec<String> {
        let lowest = &self.failed[self.failed.len().saturating_sub(NOTES_MAX)..];
        let mut notes: Vec<String> = lowest.iter().map(|failed| failed.why.clone()).collect();
        if self.generator_busy_share() >= cpu::FULL {
            let percent = self.generator_busy_share() * 100.0;
            notes.push(format!(
                "At the lowest rate that failed the load generator's threads were {percent:.0} % busy: the server may keep up with more. Give the load more \
                 `driver_threads`, with a CPU for each (`cpus.client`), or a machine of its own."
            ));
        }
        notes
    }
}

/// Where the search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    /// The highest rate that held, twice where the next one failed; 0: none did.
    rate: f64,
    p99_microseconds: f64,
    /// The lowest rate that failed; 0: none did.
    failing: f64,
}

impl Found {
    /// Takes in what a rate came to: its latency where it held.
    fn add(&mut self, rate: f64, held: Option<f64>) {
        match held {
            Some(p99_microseconds) => (self.rate, self.p99_microseconds) = (rate, p99_microseconds),
            None => self.failing = rate,
        }
    }
}

/// Searches between the lowest and the highest rate, from the lowest times `shift` on; `probe` gives the latency of a rate that held.
fn search(
    parameters: &Parameters,
    shift: f64,
    mut probe: impl FnMut(f64) -> Result<Option<f64>, Error>,
) -> Result<Found, Error> {
    let mut found = Found { rate: 0.0, p99_microseconds: 0.0, failing: 0.0 };
    // All runs halve the same octaves, so that their rates have the same names; the last one may reach beyond the highest rate.
    let mut upper = parameters.rate_min * shift;
    loop {
        let rate = upper.min(parameters.rate_max);
        let mut held = probe(rate)?;
        // One unlucky try would end the doubling, however far below the knee.
        if held.is_none() {
            held = probe(rate)?;
        }
        found.add(rate, held);
        if held.is_none() || upper >= parameters.rate_max {
            break;
        }
        upper *= 2.0;
    }
    if found.failing > parameters.rate_min && found.rate == 0.0 {
        found.add(parameters.rate_min, probe(parameters.rate_min)?);
    }
    while found.rate > 0.0 && found.failing > found.rate * (1.0 + parameters.precision) {
        let middle = (found.rate * upper).sqrt();
        if middle < found.failing {
            found.add(middle, probe(middle)?);
        }
        if found.rate < middle {
            upper = middle;
        }
    }
    while found.failing > 0.0 && found.rate > 0.0 {
        match probe(found.rate)? {
            Some(p99_microseconds) => return Ok(Found { p99_microseconds, ..found }),
            None => {
                found.failing = found.rate;
                let lower = (found.rate / (1.0 + parameters.precision)).max(parameters.rate_min);
                found.rate = if lower < found.failing { lower } else { 0.0 };
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
