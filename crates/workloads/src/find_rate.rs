//! `find-rate`: the highest rate of requests that a server keeps up with: no errors, or few, and the slowest hundredth within a limit.
//!
//! Each rate is tried in an open loop, so that a server that falls behind is seen to. The rate doubles until it fails, then the
//! gap is halved, on a scale of ratios, down to the precision; the rate that is left is tried once more, because one lucky try is
//! no proof. All tries are in the result: its latencies by rate are the curve, the last that held is the knee.

use load::asked::{self, Asked};
use load::duration;
use load::http_client::settings::{self as sending, Sending};
use load::http_client::{self, Client, Fault, Pace, Tally};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Direction, Measured, Metric};
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
    Setting {
        name: "latency_max",
        kind: Is::Seconds { min: 1e-6, max: 1e6 },
        default: Some("100ms"),
        help: "The 99th percentile of latencies, from the intended start to the last byte, must not be above it.",
    },
    Setting {
        name: "rate_min",
        kind: Is::Number { min: 0.1, max: 1e7 },
        default: Some("50"),
        help: "The first rate that is tried, in requests a second.",
    },
    Setting {
        name: "rate_max",
        kind: Is::Number { min: 0.1, max: 1e7 },
        default: Some("1000000"),
        help: "No rate above it is tried.",
    },
    Setting {
        name: "precision",
        kind: Is::Percent { min: 0.001, max: 1.0 },
        default: Some("5%"),
        help: "How near the rate that fails must be to the one that holds.",
    },
    Setting {
        name: "probe_time",
        kind: Is::Seconds { min: 0.1, max: 1e6 },
        default: Some("3s"),
        help: "How long each rate is tried.",
    },
    Setting { default: Some("500"), ..sending::CONNECTIONS },
    sending::KEEP_ALIVE,
    Setting { default: Some("5s"), ..sending::TIMEOUT },
    Setting {
        default: Some("0%"),
        help: "A rate holds when no larger share of its requests goes wrong: wrong answers, time-outs, lost connections.",
        ..asked::ERRORS_MAX
    },
    sending::DRIVER_THREADS,
    sending::ENGINE,
];

const HIGHEST_RATE: Metric = Metric::new("highest_rate_per_second", "1/s", Direction::More);

const METRICS: [Metric; 4] = [
    HIGHEST_RATE,
    Metric::new("latency_p99_at_highest_rate_microseconds", "µs", Direction::Less),
    Metric::new("lowest_failing_rate_per_second", "1/s", Direction::Neither),
    Metric::new("rates_tried", "1", Direction::Neither),
];

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
    /// Why a try failed; none: it held.
    fn objection(&self, tally: &Tally, asked: &Asked) -> Option<String> {
        let p99_seconds = tally.total.microseconds_at(0.99) / 1e6;
        if let Err(wrong) = asked.judge() {
            return Some(wrong.to_string());
        }
        (p99_seconds > self.latency_max).then(|| format!("99th percentile {:.1} ms", p99_seconds * 1e3))
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        METRICS.into_iter().chain(asked::METRICS).chain(Fault::ALL.map(|fault| asked::metric(fault.name()))).collect()
    }

    fn durability(&self) -> Durability {
        self.site.durability()
    }

    fn estimate(&self) -> Estimate {
        // Doublings from the lowest to the highest rate, about as many halvings, and the last try.
        let tries = (self.rate_max / self.rate_min).log2() + 8.0;
        self.site.estimate(tries * self.probe_time)
    }

    fn problems(&self) -> Vec<String> {
        let wrong = (self.rate_min > self.rate_max).then(|| "`rate_min` is above `rate_max`".to_string());
        wrong.into_iter().chain(self.site.problems(&self.sending)).collect()
    }

    fn services(&self) -> Vec<&'static str> {
        self.sending.services()
    }

    fn data_key(&self) -> String {
        self.site.words()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(FindRate { parameters: *self, runs: 0 }))
    }
}

/// The workload at work.
struct FindRate {
    parameters: Parameters,
    runs: u64,
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
        let (mut number, mut latencies, mut notes) = (0, BTreeMap::new(), Vec::new());
        // Of the last rate that held.
        let mut asked = Asked::all_right();
        let found = search(&parameters, |rate| {
            number += 1;
            let tally = self.probe(&client, rate, number, context)?;
            // Each rate has the limit of a closed loop, though it is driven in an open one: errors are how it fails.
            let of_try = tally.asked(parameters.sending.limit(Pace::Closed));
            let objection = parameters.objection(&tally, &of_try);
            if objection.is_none() {
                asked = of_try;
            }
            (context.progress)(started.elapsed().as_secs_f64(), rate);
            notes.extend(objection.as_ref().map(|why| format!("at {rate:.0} requests a second: {why}")));
            let p99 = tally.total.microseconds_at(0.99);
            // A rate that is tried twice counts by its last try.
            latencies.insert(format!("request at {rate:.0}/s"), tally.total);
            Ok(objection.is_none().then_some(p99))
        })?;
        if found.rate == 0.0 {
            let why = notes.last().cloned().unwrap_or_default();
            return Err(Error::Parameter {
                setting: "rate_min",
                problem: format!("no rate holds, from this one on: {why}"),
            });
        }
        let values = [found.rate, found.p99_microseconds, found.failing, number as f64];
        // The curve is in the latencies; of the tries that failed, the lowest says where the knee is.
        notes.truncate(NOTES_MAX);
        Ok(Outcome {
            seconds: started.elapsed().as_secs_f64(),
            metrics: METRICS.iter().zip(values).map(|(metric, value)| metric.at(value)).collect(),
            latencies,
            notes,
            ..Outcome::of(asked)
        })
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.parameters.site.verify(context)
    }
}

/// Reasons that are told of one run.
const NOTES_MAX: usize = 3;

/// Where the search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    /// The highest rate that held, twice where the next one failed; 0: none did.
    rate: f64,
    p99_microseconds: f64,
    /// The lowest rate that failed; 0: none did.
    failing: f64,
}

/// Searches between the lowest and the highest rate; `probe` gives the latency of a rate that held.
fn search(parameters: &Parameters, mut probe: impl FnMut(f64) -> Result<Option<f64>, Error>) -> Result<Found, Error> {
    let mut found = Found { rate: 0.0, p99_microseconds: 0.0, failing: 0.0 };
    let mut rate = parameters.rate_min;
    while found.failing == 0.0 {
        match probe(rate)? {
            Some(p99_microseconds) => (found.rate, found.p99_microseconds) = (rate, p99_microseconds),
            None => found.failing = rate,
        }
        if rate >= parameters.rate_max {
            break;
        }
        rate = (rate * 2.0).min(parameters.rate_max);
    }
    while found.rate > 0.0 && found.failing > found.rate * (1.0 + parameters.precision) {
        let middle = (found.rate * found.failing).sqrt();
        match probe(middle)? {
            Some(p99_microseconds) => (found.rate, found.p99_microseconds) = (middle, p99_microseconds),
            None => found.failing = middle,
        }
    }
    while found.failing > 0.0 && found.rate > 0.0 {
        match probe(found.rate)? {
            Some(p99_microseconds) => return Ok(Found { p99_microseconds, ..found }),
            None => {
                found.failing = found.rate;
                let lower = found.rate / (1.0 + parameters.precision);
                found.rate = if lower < parameters.rate_min { 0.0 } else { lower };
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters(rate_max: f64) -> Parameters {
        let mut map = settings::defaults(SETTINGS);
        map.insert("rate_max".into(), rate_max.into());
        settings::typed(&map)
    }

    fn found(rate_max: f64, capacity: f64) -> (Found, usize) {
        let mut tries = 0;
        let probe = |rate: f64| {
            tries += 1;
            Ok((rate <= capacity).then_some(rate))
        };
        (search(&parameters(rate_max), probe).expect("searched"), tries)
    }

    proptest! {
        #[test]
        fn the_knee_is_found_to_the_precision(capacity in 50.0..1e6f64) {
            let (found, tries) = found(1e7, capacity);
            prop_assert!(found.rate <= capacity && capacity < found.failing);
            prop_assert!(found.failing <= found.rate * 1.05 + 1e-9);
            prop_assert!(tries <= 25);
        }
    }

    #[test]
    fn a_server_that_never_fails_or_always_does_ends_the_search() {
        assert_eq!(found(400.0, 1e9).0, Found { rate: 400.0, p99_microseconds: 400.0, failing: 0.0 });
        assert_eq!(found(400.0, 1.0).0, Found { rate: 0.0, p99_microseconds: 0.0, failing: 50.0 });
    }

    #[test]
    fn a_lucky_try_is_not_the_answer() {
        let mut lucky = true;
        let probe = |rate: f64| {
            let holds = rate <= 100.0 || rate <= 200.0 && std::mem::take(&mut lucky);
            Ok(holds.then_some(rate))
        };
        let found = search(&parameters(1e6), probe).expect("searched");
        assert!(found.rate <= 100.0 && found.rate > 90.0, "{found:?}");
    }
}
