//! `commits`: small transactions with a pause after each, and every acknowledgement written down outside the disk: the load
//! that a power cut is measured with.
//!
//! surefoot's own and no workload of a study, so it stands in no list. A commit adds a row, puts its number in its stream's
//! counter and in a few of the rows that were loaded before, so that pages which lie on the disk are written again. All that
//! a row holds follows from its place (`rule.rs`): half a transaction, a torn row or a stale page can't pass for a right one,
//! whatever ran before the cut. `stream.rs` is a connection at work, `write_back.rs` what the kernel may do
//! meanwhile, `look.rs` what a database holds afterwards.
//! What differs between databases is behind `target.rs`.

mod etcd;
mod gtm;
mod lmdb;
mod look;
mod redis;
mod rule;
mod steps;
mod stream;
mod tables;
mod target;
mod write_back;

pub use look::{Look, look, look_at_embedded, questions};

use crate::ack_log::{self, AckLog};
use crate::steps::Steps;
use load::engines;
use load::sql::{Engine, Place, Pragmas, same};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Measured, Metric};
use rule::Rule;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::path::PathBuf;
use target::{CommitTarget, Committed};

/// The row that is in no list.
pub static KIND: Kind = Kind {
    name: "commits",
    summary: "small commits, each acknowledgement written down; surefoot's own, for what a power cut takes",
    example: "",
    settings: SETTINGS,
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = load::with_pragmas![
    Setting::new("engine", Is::Choice(engines::NAMES), engines::sqlite::ENGINE.name).help("The database."),
    Setting::new("connections", Is::Integer { min: 1, max: 64 }, "2")
        .help("Streams of commits, each on a connection and on rows of its own."),
    Setting::new("time", Is::Seconds { min: 0.0, max: 3600.0 }, "3s").help("Length of a run."),
    Setting::new("pause", Is::Seconds { min: 0.0, max: 1.0 }, "60ms")
        .help("Between an acknowledgement and the stream's next commit."),
    // MariaDB's CHAR has no more.
    Setting::new("payload", Is::Bytes { min: 16, max: 255 }, "200B").help("Text in a row."),
    Setting::new("checkpoint_every", Is::Integer { min: 0, max: 1_000_000 }, "4")
        .help("Commits of the first stream between two checkpoints, in the first half of a run; 0: none. SQLite has them in WAL mode."),
    Setting::new("write_back", Is::Boolean, "true")
        .help("Whether parts of the database's files are written back at random moments, without a flush: as a kernel may do it at any time."),
    Setting::new("seed", Is::Integer { min: 0, max: i64::MAX }, "1")
        .help("What the rows hold. Not the round's seed: the rows are judged when the run is long over."),
    Setting::absent("witness", Is::Text)
        .help("The file, outside the disk, that each commit's line `stream number tried acknowledged` goes to, in nanoseconds of CLOCK_MONOTONIC."),
    Setting::new("acknowledge", Is::Choice(&["after-commit", "before-commit", "always"]), "after-commit")
        .help("Which moment is written down as the acknowledgement's. `before-commit` and `always`, whatever the database answers, are planted bugs, with which the measurements themselves are tested: they must be found."),
    Setting::new("sync", Is::Choice(&["commit", "none"]), "commit").help("Whether LMDB flushes each commit."),
];

const METRICS: &[Metric] =
    observe::metrics! { More "1/s": "commits_per_second"; Neither "1": "commits", "checkpoints"; };

/// More than the rows that are loaded and those of a minute take, with their index.
const DATA_BYTES: u64 = 1 << 20;

/// The tables.
const ROWS: &str = "commits";
const COUNTERS: &str = "counters";

/// How the statement of a commit's new row begins, for the load and in a log of statements.
fn adding() -> String {
    format!("INSERT INTO {ROWS} ")
}

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    engine: &'static Engine,
    connections: u32,
    #[serde(rename = "time")]
    time_seconds: f64,
    #[serde(rename = "pause")]
    pause_seconds: f64,
    #[serde(rename = "payload")]
    payload_bytes: u32,
    checkpoint_every: u64,
    write_back: bool,
    seed: u64,
    witness: Option<PathBuf>,
    acknowledge: Acknowledge,
    sync: String,
    #[serde(flatten)]
    pragmas: Pragmas,
}

/// The moment that counts as a commit's acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Acknowledge {
    AfterCommit,
    BeforeCommit,
    /// As `AfterCommit`, but errors are acknowledged, too, where commits are made one by one.
    Always,
}

impl Acknowledge {
    fn of(self, committed: &Committed) -> u64 {
        match self {
            Acknowledge::AfterCommit | Acknowledge::Always => committed.acknowledged,
            Acknowledge::BeforeCommit => committed.asked,
        }
    }
}

impl Parameters {
    fn rule(&self) -> Rule {
        Rule { seed: self.seed, streams: self.connections, payload_bytes: self.payload_bytes as usize }
    }

    fn target(&self) -> Box<dyn CommitTarget> {
        match &self.engine.sql {
            Some(sql) => Box::new(tables::Tables((sql.open)(&self.pragmas))),
            None if self.engine == &engines::lmdb::ENGINE => Box::new(lmdb::Lmdb::new(self.is_flushed())),
            None if self.engine == &engines::redis::ENGINE => Box::new(redis::Redis),
            None if self.engine == &engines::etcd::ENGINE => Box::new(etcd::Etcd),
            None if self.engine == &engines::gtm::ENGINE => Box::new(gtm::Gtm::default()),
            None => {
                unreachable!("nobody commits on {}: `CommitTarget` in crates/workloads/src/commits", self.engine.name)
            }
        }
    }

    /// Of LMDB alone: others have settings of their own for it.
    fn is_flushed(&self) -> bool {
        self.sync == "commit"
    }

    /// Whether the database has checkpoints at all.
    fn checkpoints(&self) -> bool {
        let is_sqlite = self.engine.is_embedded && self.engine.sql.is_some();
        !self.engine.is_embedded || is_sqlite && self.pragmas.journal_mode == "wal"
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        METRICS.to_vec()
    }

    fn durability(&self) -> Durability {
        if self.engine.is_embedded && self.engine.sql.is_none() {
            return crate::lmdb::durability(self.is_flushed());
        }
        self.engine.durability(&self.pragmas)
    }

    fn estimate(&self) -> Estimate {
        Estimate { data_bytes: DATA_BYTES, load_seconds: 0.1, run_seconds: self.time_seconds }
    }

    fn services(&self) -> Vec<&'static str> {
        self.engine.services()
    }

    fn data_key(&self) -> String {
        let (streams, bytes, seed) = (self.connections, self.payload_bytes, self.seed);
        format!("commits, {streams} streams, rows of {bytes} bytes by seed {seed}")
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let (last, target) = (vec![0; self.connections as usize], self.target());
        Ok(Box::new(Commits { last, target, parameters: *self, ack_log: None }))
    }
}

/// Whether the engine maps a file, so that a page that can't be read ends the process. SQLite maps the index of its write-ahead log
/// (its manual, "WAL-Index Formats").
pub fn is_mapped(parameters: &Map<String, Value>) -> bool {
    let parameters: Parameters = settings::typed(parameters);
    let Pragmas { mmap_bytes, journal_mode, .. } = &parameters.pragmas;
    let is_sqlite = parameters.engine.is_embedded && parameters.engine.sql.is_some();
    parameters.engine.opens_once || is_sqlite && (*mmap_bytes > 0 || journal_mode == "wal")
}

/// The same transactions, one by one.
pub fn steps(parameters: &Map<String, Value>) -> Box<dyn Steps> {
    Box::new(steps::Transactions::new(&settings::typed(parameters)))
}

/// The workload at work.
struct Commits {
    parameters: Parameters,
    target: Box<dyn CommitTarget>,
    /// By stream, the number of its last commit.
    last: Vec<u64>,
    /// Of all runs together.
    ack_log: Option<AckLog>,
}

impl Workload for Commits {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = std::time::Instant::now();
        self.target.fill(&Place::of(context), self.parameters.rule())?;
        Ok(workload::load_seconds(started))
    }

    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        self.target.checkpoint(&Place::of(context))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let ack_log = ack_log::of_all_runs(&mut self.ack_log, self.parameters.witness.as_deref())?;
        stream::drive(&self.parameters, &*self.target, context, ack_log, &mut self.last)
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        let look = look::of(self.parameters.rule(), &*self.target, &self.target.ask(&Place::of(context))?);
        if let Some(complaint) = look.damage.as_ref().or(look.wrong.first()) {
            return Err(Error::wrong_data("the tables", "what was committed", complaint.clone()));
        }
        for (stream, numbers) in &look.streams {
            let (committed, found) = (self.last[*stream as usize], numbers.len());
            same(&format!("commits of stream {stream}"), &committed.to_string(), &found.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
