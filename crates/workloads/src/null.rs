//! `null`: does nothing, to measure surefoot itself and the time of provisioning.

use load::asked::Asked;
use load::workload::{Context, Error, Estimate, Kind, Outcome, Workload};
use observe::durability::Durability;
use observe::metric::{Direction, Measured, Metric};
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "null",
    summary: "does nothing but read the clock: measures surefoot itself",
    example: "[workload.null]\ntime = \"1s\"\n",
    settings: &[Setting {
        name: "time",
        kind: Is::Seconds { min: 0.001, max: 1e6 },
        default: Some("1s"),
        help: "Length of a run.",
    }],
    metrics: |_| vec![TURNS],
    durability: |_| Durability::full(),
    estimate: |map| Estimate { data_bytes: 0, load_seconds: 0.0, run_seconds: seconds(map) },
    check: |_| Vec::new(),
    services: |_| Vec::new(),
    data_key: |_| String::new(),
    run_seconds: load::workload::by_time,
    elsewhere: load::workload::Elsewhere::Nothing,
    open: |map| Ok(Box::new(Null { time: Duration::from_secs_f64(seconds(map)) })),
};

const TURNS: Metric = Metric::new("turns_per_second", "1/s", Direction::More);

fn seconds(map: &Map<String, Value>) -> f64 {
    map["time"].as_f64().expect("the settings' check makes it a number")
}

struct Null {
    time: Duration,
}

impl Workload for Null {
    fn prepare(&mut self, _: &mut Context) -> Result<Vec<Measured>, Error> {
        Ok(Vec::new())
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let started = Instant::now();
        let mut turns = 0_u64;
        while started.elapsed() < self.time {
            if context.interrupted.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            turns += 1;
        }
        let seconds = started.elapsed().as_secs_f64();
        Ok(Outcome { seconds, metrics: vec![TURNS.at(turns as f64 / seconds)], ..Outcome::of(Asked::all_right()) })
    }

    fn verify(&mut self, _: &mut Context) -> Result<(), Error> {
        Ok(())
    }
}
