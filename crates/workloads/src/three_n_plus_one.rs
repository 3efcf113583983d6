//! `three-n-plus-one`: steps of the 3n+1 sequence for every number of a range, kept in a key-value store.
//!
//! The benchmark of the 2013 talk on filesystems for databases, on its own engine GT.M and as a port on others: its rules of
//! counting and its result line, written anew. P worker processes take blocks of integers; a read is one look-up of a path's
//! next number, an update one number stored; a path ends at a number already known. Figures of other engines are other
//! benchmarks.

mod gtm;
mod lmdb;
mod served;
mod sqlite;
mod store;
mod words;
mod worker;

pub use worker::worker_main;

use crate::flush;
use load::engines;
use load::sql::{COUNTERS, Engine, Place, Pragmas};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Measured, Metric};
use serde::{Deserialize, Serialize};
use settings::{Kind as Is, Setting};
use std::path::PathBuf;
use store::{Store, StoreKind, Totals};

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "three-n-plus-one",
    summary: "3n+1 step counts of a range of integers in a key-value store (GT.M, LMDB, SQLite, PostgreSQL or MariaDB), by several processes",
    example: "[workload.three-n-plus-one]\nengine = \"lmdb\"\nto = 100000\nstreams = 4\n",
    settings: SETTINGS,
    choices: &["engine", "journal_mode", "map_size", "sync"],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

/// Engines that have a store here, and those in SQL.
const ENGINES: &[&str] = &[
    engines::lmdb::ENGINE.name,
    engines::sqlite::ENGINE.name,
    engines::gtm::ENGINE.name,
    engines::postgres::ENGINE.name,
    engines::mariadb::ENGINE.name,
];

const SETTINGS: &[Setting] = &[
    Setting::new("engine", Is::Choice(ENGINES), engines::lmdb::ENGINE.name)
        .help("The key-value store: embedded, or a server that `[service.NAME]` configures. On `gtm` the workers are GT.M's own processes, as in the original; figures of the others are ports."),
    Setting::new("from", Is::Integer { min: 1, max: 10_000_000_000 }, "1").help("First integer."),
    Setting::new("to", Is::Integer { min: 1, max: 10_000_000_000 }, "100000").help("Last integer."),
    Setting::new("streams", Is::Integer { min: 1, max: 1024 }, "1").help("Worker processes."),
    Setting::new("block", Is::Integer { min: 0, max: 10_000_000_000 }, "0")
        .help("Integers that a worker takes at a time; 0: the range divided by the workers."),
    Setting::new("words", Is::Boolean, "false")
        .help("Keep numbers as words, a language and script for each digit, as the original does."),
    Setting::new("sync", Is::Choice(&["none", "commit"]), "none")
        .help("Whether LMDB or SQLite flush each path when it is stored; of a server its own settings decide. The original writes single numbers outside transactions, which its engine does not flush either."),
    Setting::new("journal_mode", Is::Choice(&["wal", "delete", "truncate", "persist"]), "wal")
        .help("SQLite's journal."),
    Setting::new("map_size", Is::Bytes { min: 1 << 20, max: 1 << 44 }, "16GiB")
        .help("LMDB's address space; the file is only as large as its data."),
];

const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "reads_per_second", "updates_per_second";
    Less "s": "elapsed_seconds";
    Neither "1": "reads", "updates", "longest", "highest";
};

/// Checked parameters; they travel to the worker processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Parameters {
    engine: &'static Engine,
    from: u64,
    to: u64,
    streams: u64,
    block: u64,
    words: bool,
    sync: String,
    journal_mode: String,
    #[serde(rename = "map_size")]
    map_bytes: u64,
}

/// Engines that are stores in a way of their own; on all others the store is a database server's.
static STORES: [&StoreKind; 3] = [&lmdb::STORE, &sqlite::STORE, &gtm::STORE];

impl Parameters {
    /// Integers of the range.
    fn range(&self) -> u64 {
        self.to - self.from + 1
    }

    /// Integers in a block: never more than each worker's share.
    fn block_size(&self) -> u64 {
        let most = (self.to - self.from + self.streams) / self.streams;
        if self.block == 0 { most } else { self.block.min(most) }
    }

    /// First and last integer of each block, in order.
    fn blocks(&self) -> Vec<(u64, u64)> {
        let size = self.block_size();
        (0..self.range().div_ceil(size))
            .map(|n| (self.from + n * size, (self.from + (n + 1) * size - 1).min(self.to)))
            .collect()
    }

    fn kind(&self) -> &'static StoreKind {
        let own = STORES.into_iter().find(|store| store.engine == Some(self.engine));
        own.unwrap_or(&served::STORE)
    }

    fn store(&self, place: &Place) -> Result<Box<dyn Store>, Error> {
        (self.kind().open)(place, self)
    }

    /// As the original corrects them: `k->k'` where a value was changed.
    fn block_said(&self) -> String {
        let (asked, used) = (self.block, self.block_size());
        if asked == used { grouped(used) } else { format!("({}->{})", grouped(asked), grouped(used)) }
    }
}

/// Numbers stored for each integer of a range from 1: 2.17 at 10^5 to 10^8.
const UPDATES_PER_INTEGER: f64 = 2.17;

/// How much more room numbers in words take than in digits (2026-11-21).
const WIDENING: f64 = 3.9;

/// How much longer they take in words: GT.M on two CPUs, 1.7 to 2.3 times (docs/results/gtm-filesystems.md).
const WORDS_SLOWER: f64 = 2.0;

impl WorkloadSettings for Parameters {
    load::problems_of_own_tables!();

    fn metrics(&self) -> Vec<Metric> {
        METRICS.iter().chain(COUNTERS).cloned().collect()
    }

    fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let [is_lmdb, is_sqlite] =
            [&engines::lmdb::ENGINE, &engines::sqlite::ENGINE].map(|engine| self.engine == engine);
        let all = [
            ("sync", is_lmdb || is_sqlite, "LMDB or SQLite as `engine`"),
            ("journal_mode", is_sqlite, "SQLite as `engine`"),
            ("map_size", is_lmdb, "LMDB as `engine`"),
        ];
        all.into_iter().filter(|(_, is_heard, _)| !is_heard).map(|(name, _, needs)| (name, needs)).collect()
    }

    fn durability(&self) -> Durability {
        (self.kind().durability)(self)
    }

    fn estimate(&self) -> Estimate {
        let updates = self.range() as f64 * UPDATES_PER_INTEGER;
        let (bytes, per_second) = (self.engine.small_row_bytes, self.kind().numbers_per_second);
        let (widening, slower) = if self.words { (WIDENING, WORDS_SLOWER) } else { (1.0, 1.0) };
        // A path a millisecond when each is flushed.
        let seconds = if self.sync == "commit" { self.range() as f64 / 1000.0 } else { updates * slower / per_second };
        Estimate { data_bytes: (updates * bytes * widening) as u64, load_seconds: 0.0, run_seconds: seconds }
    }

    fn problems(&self) -> Vec<String> {
        let (engine, from, to, to_max) = (self.engine.name, self.from, self.to, self.kind().to_max);
        load::sentences! {
            to < from => "`to` ({to}) is below `from` ({from})";
            to > to_max => "`to` ({to}) is above {to_max}: {engine} cannot hold all numbers of its sequences";
            self.sync == "commit" && !self.engine.is_embedded =>
                "`sync` is of lmdb and sqlite; what {engine} flushes is set in [service.{engine}]";
        }
    }

    fn services(&self) -> Vec<&'static str> {
        self.engine.services()
    }

    fn data_key(&self) -> String {
        // Nothing but an empty database is loaded.
        "three-n-plus-one".into()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(ThreeNPlusOne { parameters: *self, is_resumed: false }))
    }
}

/// Where the embedded engines keep their files.
fn folder(place: &Place) -> PathBuf {
    place.data_folder.join("three-n-plus-one")
}

/// The workload at work.
struct ThreeNPlusOne {
    parameters: Parameters,
    /// Whether the next run goes on with the store of one that was killed.
    is_resumed: bool,
}

impl Workload for ThreeNPlusOne {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        if let Some(sql) = &self.parameters.engine.sql {
            (sql.open)(&Pragmas::default()).create(&Place::of(context))?;
        }
        Ok(Vec::new())
    }

    /// An empty store, in the place of that of the run before, whose removal is settled: neither is the run's.
    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        self.is_resumed = prepare_store(&Place::of(context), &self.parameters)?;
        flush::filesystem_of(&context.data_folder)
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let place = Place::of(context);
        let before = self.parameters.store(&place)?.counters()?;
        let seconds = worker::run_all(&place, &self.parameters, context)?;
        let mut store = self.parameters.store(&place)?;
        let counters = store.counters()?;
        let totals = totals(&mut *store, &self.parameters, self.is_resumed)?;
        let mut outcome = outcome(&self.parameters, &totals, seconds)?;
        outcome.metrics.extend(counters.since(before, 0.0));
        Ok(outcome)
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        let mut store = self.parameters.store(&Place::of(context))?;
        store.check()?;
        verify(&mut *store, &self.parameters)
    }
}

/// Makes an empty store, or takes one whose run was killed; says which. A finished one is of the run before.
fn prepare_store(place: &Place, parameters: &Parameters) -> Result<bool, Error> {
    let folder = folder(place);
    let is_embedded = parameters.engine.is_embedded;
    if !is_embedded || folder.exists() {
        let mut store = parameters.store(place)?;
        if store.unfinished_blocks()? > 0 {
            store.release_claims()?;
            return Ok(true);
        }
    }
    if is_embedded {
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(Error::doing("remove", &folder))?;
        }
        std::fs::create_dir(&folder).map_err(Error::doing("create", &folder))?;
    }
    parameters.store(place)?.create(&parameters.blocks())?;
    Ok(false)
}

/// The counts; those of a resumed run are the store's own, because a killed worker took its with it.
fn totals(store: &mut dyn Store, parameters: &Parameters, resumed: bool) -> Result<Totals, Error> {
    let mut totals = store.totals()?;
    if resumed {
        totals.updates = store.numbers()?;
        totals.reads = totals.updates + parameters.range();
    }
    Ok(totals)
}

fn outcome(parameters: &Parameters, totals: &Totals, seconds: f64) -> Result<Outcome, Error> {
    // Every integer of the range costs one look-up that finds its end; every other look-up is followed by an update.
    let Totals { longest, highest, reads, updates } = *totals;
    if reads.checked_sub(updates) != Some(parameters.range()) {
        let expected = format!("the range's {} integers", parameters.range());
        return Err(Error::wrong_data("reads − updates", expected, format!("{reads} − {updates}")));
    }
    let [reads, updates, longest, highest] = [reads, updates, longest, highest].map(|number| number as f64);
    let values = [reads / seconds, updates / seconds, seconds, reads, updates, longest, highest];
    Ok(Outcome {
        seconds,
        metrics: workload::figures(METRICS, values),
        transcript: Some(result_line(parameters, totals, seconds)),
        ..Outcome::all_right()
    })
}

/// The original's fields: range, streams, block, longest, highest, seconds, updates, reads, updates/s, reads/s.
fn result_line(parameters: &Parameters, totals: &Totals, seconds: f64) -> String {
    let words = |numbers: &[u64]| numbers.iter().map(|number| grouped(*number)).collect::<Vec<_>>().join(" ");
    let rate = |count: u64| (count as f64 / seconds) as u64;
    let Totals { longest, highest, reads, updates } = *totals;
    let asked = words(&[parameters.from, parameters.to, parameters.streams]);
    let (block, found) = (parameters.block_said(), words(&[longest, highest]));
    let done = words(&[updates, reads, rate(updates), rate(reads)]);
    format!("{asked} {block} {found} {seconds:.2} {done}")
}

/// Recomputes a thousand integers spread over the range, and holds the maximum against them.
fn verify(store: &mut dyn Store, parameters: &Parameters) -> Result<(), Error> {
    let longest = store.totals()?.longest;
    let step = usize::try_from((parameters.range() / 1000).max(1)).expect("a thousandth of the range fits");
    let numbers: Vec<u64> = (parameters.from..=parameters.to).step_by(step).collect();
    for (n, found) in numbers.iter().zip(store.look_up(&numbers)?) {
        let expected = worker::steps_of(*n);
        // 1 takes no steps and is never stored.
        if *n > 1 && found != Some(expected) || expected > longest {
            let found = found.map_or("nothing".into(), |steps| format!("{steps} steps, longest {longest}"));
            return Err(Error::wrong_data(format!("steps of {n}"), expected.to_string(), found));
        }
    }
    Ok(())
}

/// 1000000 → 1,000,000.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits are ASCII")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests;
