//! What users may set, and what does not go together.

use super::mix::{self, Mix};
use super::store::{Shape, Store};
use super::{AOF_REWRITE_SECONDS, KeyValue, METRICS, etcd, lmdb, redis, tables, value};
use load::engines;
use load::sql::{Engine, Pragmas};
use load::sql_load::DRIVER_THREADS;
use load::workload::{Error, Estimate, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::Metric;
use serde::Deserialize;
use settings::{Kind as Is, Setting};

/// Engines that hold records.
const ENGINES: &[&str] = &[
    engines::redis::ENGINE.name,
    engines::etcd::ENGINE.name,
    engines::lmdb::ENGINE.name,
    engines::sqlite::ENGINE.name,
    engines::postgres::ENGINE.name,
    engines::mariadb::ENGINE.name,
];

/// Its settings.
pub const SETTINGS: &[Setting] = load::with_pragmas![
    Setting::new("engine", Is::Choice(ENGINES), engines::redis::ENGINE.name)
        .help("The store: a server that `[service.NAME]` configures, or embedded LMDB or SQLite."),
    Setting::new("mix", Is::Choice(mix::NAMES), "a")
        .help("YCSB's core workloads: `a` half reads and half updates, `b` 5 % updates, `c` reads only, `d` 5 % inserts and reads of the latest, `e` short scans and 5 % inserts, `f` half reads and half read-modify-writes; `update-only` is none of YCSB's."),
    Setting::new("distribution", Is::Choice(&["of-mix", "zipfian", "latest", "uniform"]), "of-mix")
        .help("Which records are asked for: YCSB's zipfian (exponent 0.99, popular records scattered), `latest`, or all equally often. `of-mix`: `latest` for `d`, else `zipfian`."),
    Setting::new("records", Is::Integer { min: 1, max: 1_000_000_000 }, "100000")
        .help("Records that are loaded (YCSB's own default is 1000). Where fields are updated, the load itself remembers 8 bytes for each field."),
    Setting::new("fields", Is::Integer { min: 1, max: 64 }, "10").help("Fields of a record."),
    Setting::new("field_length", Is::Bytes { min: value::LENGTH_MIN as u64, max: 32 << 10 }, "100B")
        .help("Bytes of a field."),
    Setting::new("threads", Is::Integer { min: 1, max: 1024 }, "16")
        .help("Connections, or threads of an embedded store."),
    DRIVER_THREADS,
    Setting::new("pipeline", Is::Integer { min: 1, max: 1024 }, "1")
        .help("Operations that each connection sends at once; the next ones when all are answered. Redis only."),
    Setting::new("time", Is::Seconds { min: 0.001, max: 1e6 }, "10s").help("Length of a run."),
    Setting::new("rate", Is::Number { min: 0.0, max: 1e8 }, "0")
        .help("Open loop: so many operations are begun each second, whether the ones before have ended or not, and latency counts from when each should have begun. 0: a closed loop."),
    Setting::new("aof_rewrite", Is::Seconds { min: 0.0, max: 1e6 }, "0s")
        .help("Redis is asked to rewrite its append-only file so long after a run began; 0s: never."),
    Setting::new("sync", Is::Choice(&["commit", "none"]), "commit").help("Whether LMDB flushes each write."),
    Setting::new("map_size", Is::Bytes { min: 1 << 20, max: 1 << 44 }, "16GiB")
        .help("LMDB's address space; the file is only as large as its data."),
];

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
pub struct Parameters {
    pub engine: &'static Engine,
    pub mix: String,
    pub distribution: String,
    pub records: u64,
    pub fields: usize,
    #[serde(rename = "field_length")]
    pub field_bytes: usize,
    pub threads: usize,
    pub driver_threads: usize,
    pub pipeline: usize,
    #[serde(rename = "time")]
    pub time_seconds: f64,
    pub rate: f64,
    #[serde(rename = "aof_rewrite")]
    pub aof_rewrite_seconds: f64,
    pub sync: String,
    #[serde(rename = "map_size")]
    pub map_bytes: u64,
    #[serde(flatten)]
    pub pragmas: Pragmas,
}

/// What a record takes in Redis' memory beside its values: key and hash, and each field's name. 20,000 records of 10 fields of 100 bytes took 36.7 MB
/// (7.0.15, 2026-11-24).
const RECORD_BYTES: u64 = 100;
const FIELD_BYTES: u64 = 75;

/// Records loaded in a second, for `plan` only: 20,000 in Redis took 0.7 s, server and template included (2026-11-24, two cores, not optimised).
const LOADED_PER_SECOND: f64 = 30_000.0;

impl Parameters {
    /// Which operations.
    pub fn mix(&self) -> Mix {
        Mix::named(&self.mix)
    }

    /// How records look.
    pub fn shape(&self) -> Shape {
        let is_scanned = self.mix().has(mix::Kind::Scan);
        Shape { fields: self.fields, length: self.field_bytes, is_scanned }
    }

    /// Whether the store is Redis, which takes several operations at once.
    pub fn is_redis(&self) -> bool {
        self.engine == &engines::redis::ENGINE
    }

    pub fn is_etcd(&self) -> bool {
        self.engine == &engines::etcd::ENGINE
    }

    fn is_lmdb(&self) -> bool {
        self.engine == &engines::lmdb::ENGINE
    }

    /// The store.
    pub fn store(&self) -> Box<dyn Store> {
        if self.is_redis() {
            return Box::new(redis::Redis(self.shape()));
        }
        if self.is_etcd() {
            return Box::new(etcd::Etcd(self.shape()));
        }
        if self.is_lmdb() {
            return Box::new(lmdb::Lmdb::new(self.shape(), self.map_bytes, self.sync == "commit"));
        }
        Box::new(tables::Tables { database: self.engine.database(&self.pragmas), shape: self.shape() })
    }

    /// In Redis' memory; in files it is less, and with what updates leave no more than twice as much.
    fn data_bytes(&self) -> u64 {
        self.records * (RECORD_BYTES + self.fields as u64 * (self.field_bytes as u64 + FIELD_BYTES))
    }

    /// What the load keeps in memory of its own: two versions of each field that may be written again, or each key that may be scanned.
    fn remembered_bytes(&self) -> u64 {
        let of_fields = if self.mix().rewrites() { 8 * self.fields as u64 } else { 0 };
        let of_keys = if self.shape().is_scanned { 8 } else { 0 };
        self.records * (of_fields + of_keys)
    }

    /// What redis lacks on a machine with so many bytes of memory; 0: nobody knows.
    pub fn lacking(&self, memory: u64) -> Option<String> {
        let lacks = self.is_redis() && memory > 0 && self.data_bytes() > memory;
        let (needed, memory) = (rounded(self.data_bytes()), rounded(memory));
        lacks.then(|| format!("`records`: redis keeps them in memory, about {needed}, and this machine has {memory}"))
    }

    /// What the load itself lacks there.
    pub fn lacking_for_load(&self, memory: u64) -> Option<String> {
        let lacks = memory > 0 && self.remembered_bytes() > memory / 2;
        let (needed, memory) = (rounded(self.remembered_bytes()), rounded(memory));
        let load = format!("`records`: to know what may be read, the load itself needs {needed}");
        lacks.then(|| format!("{load}, and that is more than half of this machine's {memory}"))
    }
}

impl WorkloadSettings for Parameters {
    load::problems_of_own_tables!();

    fn metrics(&self) -> Vec<Metric> {
        let of_store = self.is_etcd().then_some(etcd::METRICS);
        METRICS.iter().cloned().chain([AOF_REWRITE_SECONDS]).chain(of_store.into_iter().flatten()).collect()
    }

    /// Of a server, its own settings decide.
    fn durability(&self) -> Durability {
        let is_flushed = self.sync == "commit";
        if self.is_lmdb() { crate::lmdb::durability(is_flushed) } else { self.engine.durability(&self.pragmas) }
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            data_bytes: 2 * self.data_bytes(),
            load_seconds: self.records as f64 / LOADED_PER_SECOND,
            run_seconds: self.time_seconds,
        }
    }

    fn problems(&self) -> Vec<String> {
        let (name, begins, ends) = (self.engine.name, self.aof_rewrite_seconds, self.time_seconds);
        let (has, takes) = (self.shape().record_bytes(), etcd::RECORD_BYTES_MAX);
        load::sentences! {
            self.pipeline > 1 && !self.is_redis() =>
                "`pipeline` is of redis: {name} answers each connection's operations one by one";
            begins > 0.0 && !self.is_redis() => "`aof_rewrite` is of redis: {name} has no append-only file";
            begins >= ends => "`aof_rewrite` ({begins} s) is not within a run (`time`, {ends} s)";
            self.is_etcd() && has > takes =>
                "`field_length`: a record has {has} bytes; with etcd, records have at most {takes}";
            self.is_lmdb() && self.data_bytes() > self.map_bytes =>
                "`map_size`: the records take about {needed}; make it larger, or load fewer `records`",
                needed = rounded(self.data_bytes());
        }
    }

    fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let of_lmdb = ["sync", "map_size"].into_iter().filter(|_| !self.is_lmdb());
        // That a server has none is known of all workloads.
        let of_sqlite = load::with_pragmas![].iter().filter(|_| self.is_lmdb());
        let of_sqlite = of_sqlite.map(|setting| (setting.name, "SQLite as `engine`"));
        of_lmdb.map(|name| (name, "LMDB as `engine`")).chain(of_sqlite).collect()
    }

    fn missing(&self) -> Vec<String> {
        self.lacking(observe::machine::memory_bytes()).into_iter().collect()
    }

    fn missing_for_load(&self) -> Vec<String> {
        self.lacking_for_load(observe::machine::memory_bytes()).into_iter().collect()
    }

    fn services(&self) -> Vec<&'static str> {
        self.engine.services()
    }

    fn data_key(&self) -> String {
        let index = if self.is_redis() && self.shape().is_scanned { ", with an index" } else { "" };
        format!("key-value 1, {} records, {} fields of {} bytes{index}", self.records, self.fields, self.field_bytes)
    }

    /// A rewrite that is asked for amid a run would come after a turn's end, to a store at rest.
    fn run_seconds(&self) -> Option<f64> {
        (self.aof_rewrite_seconds == 0.0).then_some(self.time_seconds)
    }

    fn is_by_the_clock(&self) -> bool {
        true
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(KeyValue::new(*self)))
    }
}

fn rounded(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes < 1e9 { format!("{:.1} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}
