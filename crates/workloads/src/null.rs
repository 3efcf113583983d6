//! `null`: does nothing, to measure surefoot itself and the time of provisioning.

use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Direction, Metric};
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::time::{Duration, Instant};

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "null",
    summary: "does nothing but read the clock: measures surefoot itself",
    example: "[workload.null]\ntime = \"1s\"\n",
    settings: &[Setting::new("time", Is::Seconds { min: 0.001, max: 1e6 }, "1s").help("Length of a run.")],
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const TURNS: Metric = Metric::new("turns_per_second", "1/s", Direction::More);

#[derive(Deserialize)]
struct Parameters {
    #[serde(rename = "time")]
    time_seconds: f64,
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        vec![TURNS]
    }

    fn durability(&self) -> Durability {
        Durability::full()
    }

    fn estimate(&self) -> Estimate {
        Estimate { data_bytes: 0, load_seconds: 0.0, run_seconds: self.time_seconds }
    }

    fn run_seconds(&self) -> Option<f64> {
        Some(self.time_seconds)
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(self)
    }
}

impl Workload for Parameters {
    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let (started, time) = (Instant::now(), Duration::from_secs_f64(self.time_seconds));
        let mut turns = 0_u64;
        while started.elapsed() < time {
            Error::if_interrupted(context.interrupted)?;
            turns += 1;
        }
        let seconds = started.elapsed().as_secs_f64();
        Ok(Outcome { seconds, metrics: vec![TURNS.at(turns as f64 / seconds)], ..Outcome::all_right() })
    }

    fn verify(&mut self, _context: &mut Context) -> Result<(), Error> {
        Ok(())
    }
}
