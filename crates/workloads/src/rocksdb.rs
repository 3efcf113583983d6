//! `rocksdb`: RocksDB driven by its own program, `db_bench` (Debian's rocksdb-tools), as comparisons of filesystems publish it.
//!
//! One run is one process of `db_bench` with one of its benchmarks. What it prints is read by `rocksdb/output.rs`; what the store holds
//! afterwards is asked of RocksDB's `ldb` by `rocksdb/store.rs`.
//!
//! The Phoronix Test Suite's profile runs each benchmark on a store without a key, so that its random reads find nothing. Here the benchmarks
//! that read or overwrite begin with all keys, unless `filled = false`.
//!
//! Driven by `lab::trial`. Does not check values: `db_bench` writes random ones and keeps no account of them. RocksDB checks their blocks.

mod output;
mod parameters;
mod store;

use crate::flush;
use load::process::{self, Finished};
use load::workload::{self, Context, Elsewhere, Error, Kind, Outcome, Workload};
use observe::metric::Measured;
use output::Output;
use parameters::{Benchmark, COMPACTING, LEVEL0, LOG_SYNCS, Parameters, RATE, RATE_SYNCED, STALL, latency};
use random::Random;
use std::path::{Path, PathBuf};
use std::time::Instant;
use store::Keys;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "rocksdb",
    summary: "RocksDB by its own `db_bench`: fills, overwrites, updates and reads, as filesystem comparisons publish them",
    example: "[workload.rocksdb]\nbenchmark = \"readwhilewriting\"\nkeys = 1000000\nthreads = 2\ntime = \"60s\"\n",
    settings: parameters::SETTINGS,
    choices: &["cache_size", "compression", "sync", "write_buffer_size"],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

/// The workload.
struct RocksDb {
    parameters: Parameters,
    /// Runs so far: each draws other keys.
    runs: u64,
    /// Operations of the last run.
    written: u64,
}

impl Workload for RocksDb {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        if !self.parameters.is_filled() {
            return Ok(Vec::new());
        }
        let keys = self.parameters.keys;
        let arguments = ["--benchmarks=fillseq,flush,stats", "--threads=1"].map(String::from);
        let finished = self.db_bench(&arguments, context)?;
        let output = read("fillseq", &finished)?;
        if output.operations == keys {
            return Ok(Vec::new());
        }
        let (expected, found) = (format!("{keys} writes"), format!("{} writes", output.operations));
        Err(Error::wrong_data("what db_bench says of `fillseq`", expected, found))
    }

    /// Without keys before the run, there are no files whose end would be part of it either.
    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        if !self.parameters.is_filled() {
            let folder = folder(context);
            Error::unless_gone(std::fs::remove_dir_all(&folder), &folder)?;
        }
        flush::filesystem_of(&context.data_folder)
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let p = &self.parameters;
        let report = context.data_folder.join("rocksdb-rates.csv");
        let mut arguments = vec![
            format!("--benchmarks={},stats", p.name()),
            format!("--threads={}", p.threads),
            format!("--sync={}", p.sync),
            format!("--use_existing_db={}", p.is_filled()),
            format!("--histogram={}", p.histogram),
            "--report_interval_seconds=1".into(),
            format!("--report_file={}", report.display()),
            // By default a thread looks at the clock after 1,000 operations: minutes of flushes on a disk.
            "--ops_between_duration_checks=10".into(),
        ];
        if p.benchmark != Benchmark::FillSeq {
            arguments.push(format!("--duration={}", p.time));
        }
        let finished = self.db_bench(&arguments, context)?;
        let output = read(&p.name(), &finished)?;
        self.judge(&output)?;
        let ended = Instant::now();
        flush::filesystem_of(&context.data_folder)?;
        let flush_seconds = ended.elapsed().as_secs_f64();
        let rates = std::fs::read_to_string(&report).map_err(Error::doing("read", &report))?;
        self.runs += 1;
        self.written = output.operations;
        self.outcome(&output, flush_seconds, output::rates(&rates), &finished)
    }

    /// The tables that there should be are there, and with them as many keys as were written.
    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        let store = folder(context);
        store::check(&store, context)?;
        self.keys_after().judge(&store, store::count(&store, context)?)
    }
}

impl RocksDb {
    /// One process of it, on the store under test.
    fn db_bench(&self, arguments: &[String], context: &Context) -> Result<Finished, Error> {
        let p = &self.parameters;
        let mut words = vec![
            "db_bench".to_string(),
            format!("--db={}", folder(context).display()),
            format!("--num={}", p.keys),
            format!("--key_size={}", p.key_size),
            format!("--value_size={}", p.value_size),
            format!("--compression_type={}", p.compression),
            format!("--write_buffer_size={}", p.write_buffer_size),
            format!("--cache_size={}", p.cache_size),
            // A positive number: 0 stands for the time.
            format!("--seed={}", Random::of_stream(context.seed, self.runs).next_u64() >> 1 | 1),
        ];
        words.extend_from_slice(arguments);
        let finished = process::run(&words, &context.data_folder, process::LOAD_MAX, context.interrupted)?;
        let complaint = output::complaint(&finished.stderr);
        if finished.status.success() && complaint.is_none() {
            return Ok(finished);
        }
        let status = format!("{}: {}", finished.status, complaint.unwrap_or("it says nothing"));
        Err(finished.failed("db_bench", status))
    }

    /// What the run did is what was asked for.
    fn judge(&self, output: &Output) -> Result<(), Error> {
        let p = &self.parameters;
        let wrong = |what: &str, expected: String, found: String| {
            Err(Error::wrong_data(format!("{what} of `{}`", p.name()), expected, found))
        };
        if let Some(thread) = output.looked_up.filter(|thread| p.is_filled() && thread.found != thread.keys) {
            return wrong("the reads", format!("all {} keys", thread.keys), format!("{} of them", thread.found));
        }
        let fill = p.keys.saturating_mul(p.threads);
        if p.benchmark == Benchmark::FillSeq && output.operations != fill {
            return wrong("the writes", fill.to_string(), output.operations.to_string());
        }
        if p.is_synced() && output.store.log_syncs == 0 {
            return wrong("the writes", "flushes of the log".into(), "none".into());
        }
        Ok(())
    }

    fn outcome(
        &self,
        output: &Output,
        flush_seconds: f64,
        rates: Vec<f64>,
        finished: &Finished,
    ) -> Result<Outcome, Error> {
        let p = &self.parameters;
        let (operations, store) = (output.operations as f64, &output.store);
        let mut metrics = vec![RATE.at(output.rate)];
        if p.benchmark != Benchmark::ReadRandom {
            metrics.extend([
                RATE_SYNCED.at(operations / (output.seconds + flush_seconds)),
                STALL.at(store.stall_seconds),
                LOG_SYNCS.at(store.log_syncs as f64),
                LEVEL0.at(store.level0_files as f64),
                COMPACTING.at(store.compacting_files as f64),
            ]);
        }
        for operation in if p.histogram { p.benchmark.operations() } else { &[] } {
            let missing = || unreadable(format!("it printed no histogram of each {operation}"), finished);
            let one = output.latencies.get(*operation).ok_or_else(missing)?;
            metrics.extend(latency(operation).map(|(metric, of)| metric.at(of(one))));
        }
        let version = output::version(&finished.stderr).unwrap_or("of an unknown version");
        let warned = output.warnings.iter().map(|warning| format!("db_bench {version} warns: {warning}"));
        let mut notes: Vec<String> = warned.collect();
        if store.compacting_files > 0 {
            notes.push("RocksDB was still compacting when the run ended: that work is in no figure".into());
        }
        // The reports count what the extra thread writes, too.
        let is_alone = p.benchmark != Benchmark::ReadWhileWriting;
        Ok(Outcome {
            seconds: output.seconds,
            metrics,
            series: is_alone.then(|| (RATE.name.into(), rates)).into_iter().collect(),
            bytes_written: if p.benchmark.counts_writes() {
                output.operations * (p.key_size + p.value_size)
            } else {
                0
            },
            // Of writes that were acknowledged together, one waited for the flush.
            commits: if p.is_synced() { store.log_syncs } else { 0 },
            notes,
            transcript: Some(finished.stdout.clone()),
            ..Outcome::all_right()
        })
    }

    fn keys_after(&self) -> Keys {
        let p = &self.parameters;
        if p.is_filled() || p.benchmark == Benchmark::FillSeq {
            Keys::All(p.keys())
        } else if p.benchmark.counts_writes() {
            Keys::Drawn { from: p.keys(), times: self.written }
        } else {
            Keys::AtMost(p.keys())
        }
    }
}

/// Reads what a benchmark printed.
fn read(name: &str, finished: &Finished) -> Result<Output, Error> {
    output::parse(name, &finished.stdout).map_err(|problem| unreadable(problem, finished))
}

fn unreadable(problem: String, finished: &Finished) -> Error {
    finished.failed("db_bench", format!("{}, but without a figure: {problem}", finished.status))
}

fn folder(context: &Context) -> PathBuf {
    Path::new(&context.data_folder).join("rocksdb")
}
