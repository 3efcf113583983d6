//! What a trial tells the conductor: one JSON line a record, on a pipe.

use crate::durability::Durability;
use crate::faults::{FaultReplayed, FaultsFound};
use crate::latency::Latency;
use crate::metric::Measured;
use crate::safety::Safety;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// One line from a trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A step of the trial ended: `mkfs`, `mount`, `load`, `teardown` …
    Step {
        /// Which.
        name: String,
        /// How long it took.
        seconds: f64,
    },
    /// The storage is ready and was read back.
    Provisioned(Provisioned),
    /// The trial waits until it is told to go on; all that it started stands still.
    Waiting,
    /// A run begins; what follows until [`Record::Run`] belongs to it.
    RunStarted {
        /// Counted from 0, warm-ups included.
        run: u32,
        /// Whether it is a warm-up.
        warm_up: bool,
    },
    /// The current speed, once a second, for the live line only.
    Progress {
        /// Seconds since the run began.
        second: f64,
        /// Of the workload's primary metric.
        value: f64,
    },
    /// A run ended well.
    Run(Run),
    /// What a power cut takes was measured, in place of runs; where the kernel may die of it, also what is known so far.
    Safety(Box<Safety>),
    /// What a failing disk does was measured, in place of runs; where the kernel may die of it, also what is known so far.
    Faults(Box<FaultsFound>),
    /// One case of a failing disk was run again.
    FaultReplayed(Box<FaultReplayed>),
    /// A recovery, or a case of a failing disk, begins of which the kernel under it may die.
    Recovering {
        /// The image's name, or the case's.
        image: String,
    },
    /// What a power cut left was brought up, and copied to where a person can look at it.
    CopiedOut(CopiedOut),
    /// Something that a reader of the result should know.
    Warning {
        /// In words.
        message: String,
    },
    /// What the workload has to say of a run, shown with its scenario.
    Note {
        /// In words.
        message: String,
    },
    /// A run in the shape of an older tool's output, kept with the trial.
    Transcript {
        /// Its lines.
        text: String,
    },
    /// The trial failed; nothing but `Step`s of the teardown follows.
    Failed(Failure),
    /// The last line of a trial that went well.
    Finished,
}

/// What was really made and mounted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Provisioned {
    /// Facts read back: `filesystem`, `mount_options`, `block_size`, …
    pub facts: BTreeMap<String, String>,
    /// The plain shell commands that would do the same by hand.
    pub commands: Vec<String>,
    /// The durability that the settings give.
    pub durability: Option<Durability>,
}

/// One measured execution of the workload.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Run {
    /// Counted from 0, warm-ups included.
    pub run: u32,
    /// Whether it is a warm-up, which no claim uses.
    pub warm_up: bool,
    /// Unix time of the start, seconds.
    pub started: f64,
    /// Length of the measured window.
    pub seconds: f64,
    /// Figures, the workload's own and the machine's.
    pub metrics: Vec<Measured>,
    /// Latency by operation: `transaction`, `fsync` …
    pub latencies: BTreeMap<String, Latency>,
    /// Values once a second from the start of the window, by name: `transactions_per_second`, `dirty_bytes` … Not a number: a hole.
    #[serde(deserialize_with = "with_holes")]
    pub series: BTreeMap<String, Vec<f64>>,
}

/// JSON has no word for what is not a number: it is written as null.
fn with_holes<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
    let read = BTreeMap::<String, Vec<Option<f64>>>::deserialize(reader)?;
    let filled = |values: Vec<Option<f64>>| values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    Ok(read.into_iter().map(|(name, values)| (name, filled(values))).collect())
}

/// What was said while an image of a power cut was brought up and copied out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedOut {
    /// By the filesystem's checker, which a boot runs first; none where a mount is enough.
    pub checker: Option<String>,
    /// By the kernel at the mount.
    pub kernel: String,
    /// By the program that copied, of what the copy lacks; empty when it is whole.
    pub lacking: String,
}

/// Why a trial failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The step it failed in: `mkfs`, `mount`, `load`, `run` …
    pub step: String,
    /// What went wrong, the outermost first, then its causes.
    pub causes: Vec<String>,
    /// The last lines of the program's own output, when there is one.
    pub log: String,
}

impl Failure {
    /// Of an error with all its causes.
    pub fn of(step: &str, error: &(dyn std::error::Error + 'static), log: String) -> Failure {
        Failure { step: step.into(), causes: causes(error), log }
    }
}

/// What an error says and what its causes say, the outermost first.
pub fn causes(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect()
}

/// The end of a program's log, no more than so many bytes: it may be as long as the program likes. Of one that can't be read nothing.
pub fn log_end(path: &Path, bytes_max: u64) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(bytes_max)))?;
        let mut end = Vec::new();
        file.take(bytes_max).read_to_end(&mut end)?;
        Ok::<_, std::io::Error>(end)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_keeps_its_holes() {
        let series = BTreeMap::from([("cpu_1_busy_share".to_string(), vec![f64::NAN, 0.5])]);
        let written = serde_json::to_string(&Run { seconds: 2.0, series, ..Run::default() }).expect("plain");
        let read: Run = serde_json::from_str(&written).expect("a run that has a hole is still a run");
        let values = &read.series["cpu_1_busy_share"];
        assert!(values[0].is_nan() && values[1] == 0.5 && read.seconds == 2.0, "{values:?}");
    }
}
