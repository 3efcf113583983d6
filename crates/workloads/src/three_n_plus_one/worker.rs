//! The workers: processes that take blocks until none is left.
//!
//! A process each, as in the original, because the engines' locks between processes are what it measures. A worker is this
//! same program started anew as `worker three-n-plus-one`, its orders on standard input; with one stream the work is done
//! right here.

use super::Parameters;
use super::store::Store;
use crate::workload::{Context, Error};
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a worker process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    folder: PathBuf,
    parameters: Parameters,
}

/// Works until every block is done.
pub fn run_all(folder: &Path, parameters: &Parameters, context: &mut Context) -> Result<(), Error> {
    if parameters.streams == 1 {
        let mut store = parameters.store(folder)?;
        let started = Instant::now();
        let mut last = (started, 0);
        return work(&mut *store, &mut |reads| {
            let now = Instant::now();
            if now - last.0 >= Duration::from_secs(1) {
                (context.progress)(
                    (now - started).as_secs_f64(),
                    (reads - last.1) as f64 / (now - last.0).as_secs_f64(),
                );
                last = (now, reads);
            }
            !super::is_interrupted(context)
        });
    }
    let program = std::env::current_exe().map_err(|source| Error::File {
        action: "find",
        path: "this program".into(),
        source,
    })?;
    let orders = serde_json::to_vec(&Orders { folder: folder.into(), parameters: parameters.clone() })
        .expect("orders are plain data");
    let mut workers = Vec::new();
    for _ in 0..parameters.streams {
        match start(&program, &orders) {
            Ok(child) => workers.push(child),
            Err(source) => {
                end(&mut workers);
                return Err(Error::File { action: "start a worker of", path: program, source });
            }
        }
    }
    wait(workers, context)
}

fn start(program: &Path, orders: &[u8]) -> std::io::Result<Child> {
    let mut child = Command::new(program)
        .args(["worker", super::KIND.name])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().expect("standard input was piped").write_all(orders)?;
    Ok(child)
}

fn wait(mut workers: Vec<Child>, context: &Context) -> Result<(), Error> {
    while !workers.is_empty() {
        if super::is_interrupted(context) {
            end(&mut workers);
            return Err(Error::Interrupted);
        }
        let mut index = 0;
        while index < workers.len() {
            let status = workers[index].try_wait().map_err(|source| Error::File {
                action: "wait for",
                path: "a worker".into(),
                source,
            })?;
            let Some(status) = status else {
                index += 1;
                continue;
            };
            // `try_wait` has reaped it.
            let stderr = workers.swap_remove(index).stderr.take();
            if !status.success() {
                end(&mut workers);
                let mut log = String::new();
                // What it said is worth showing and nothing more hangs on it.
                let _ = stderr.expect("standard error was piped").read_to_string(&mut log);
                return Err(Error::Program {
                    program: "a worker of three-n-plus-one".into(),
                    status: status.to_string(),
                    log,
                });
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn end(workers: &mut [Child]) {
    for worker in workers {
        // One that has ended already is as good.
        let _ = worker.kill();
        let _ = worker.wait();
    }
}

/// The whole of a worker process.
///
/// # Errors
/// When its orders are none, or the store fails.
pub fn worker_main() -> Result<(), Error> {
    let orders: Orders = serde_json::from_reader(std::io::stdin().lock()).map_err(|source| Error::Engine {
        engine: "a worker".into(),
        action: "read its orders".into(),
        source: Box::new(source),
    })?;
    let mut store = orders.parameters.store(&orders.folder)?;
    work(&mut *store, &mut |_| true)
}

/// Takes blocks until none is left. `go_on` is told the reads so far after each integer.
fn work(store: &mut dyn Store, go_on: &mut dyn FnMut(u64) -> bool) -> Result<(), Error> {
    let mut before = 0;
    while let Some(block) = store.claim()? {
        let mut counts = Counts::default();
        for n in block.0..=block.1 {
            follow(store, n, &mut counts)?;
            if !go_on(before + counts.reads) {
                return Err(Error::Interrupted);
            }
        }
        before += counts.reads;
        store.finish(block, counts.reads, counts.updates)?;
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Counts {
    reads: u64,
    updates: u64,
    path: Vec<u64>,
}

/// Follows one integer to 1 or to a number already known, and stores the steps of every number on the way.
fn follow(store: &mut dyn Store, start: u64, counts: &mut Counts) -> Result<(), Error> {
    counts.path.clear();
    let (mut n, mut highest) = (start, 0);
    let known = loop {
        counts.reads += 1;
        // The look-up of 1 counts, as the original's does.
        let known = store.steps(n)?;
        if n == 1 {
            break 0;
        }
        if let Some(steps) = known {
            break steps;
        }
        counts.path.push(n);
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        highest = highest.max(n);
    };
    if counts.path.is_empty() {
        return Ok(());
    }
    let total = counts.path.len() as u64 + known;
    store.put_path(&counts.path, total, highest)?;
    counts.updates += counts.path.len() as u64;
    Ok(())
}

/// Steps by plain computation.
pub fn steps_of(start: u64) -> u64 {
    let (mut n, mut steps) = (start, 0);
    while n != 1 {
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        steps += 1;
    }
    steps
}
