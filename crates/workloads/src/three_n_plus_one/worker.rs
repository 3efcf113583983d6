//! The workers: processes that take blocks until none is left.
//!
//! A process each, as in the original, because the engines' locks between processes are what it measures. A worker is this
//! same program started anew as `worker three-n-plus-one`, or GT.M's own; it reads its orders from standard input, says that
//! it is ready, begins when it is told, and says when its work is done, so that no start and no end of a process is measured: the last one
//! to leave a database may write all of it out (GT.M, `gds_rundown`; SQLite's checkpoint). With one stream on an embedded engine the work is
//! done right here.

use super::Parameters;
use super::store::{Shared, Workers};
use load::sql::Place;
use load::workload::{Context, Error};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What a worker process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    place: Place,
    parameters: Parameters,
}

/// Works until every block is done; gives the seconds from the workers' common begin until the last one's work was done.
pub fn run_all(place: &Place, parameters: &Parameters, context: &mut Context) -> Result<f64, Error> {
    if parameters.streams == 1 && parameters.engine.is_embedded {
        return run_here(place, parameters, context);
    }
    let mut workers = Vec::new();
    let started = start_all(place, parameters, &mut workers);
    let finished = started.and_then(|started| {
        wait_for_work(&mut workers, context)?;
        let seconds = started.elapsed().as_secs_f64();
        wait(&mut workers, context).map(|()| seconds)
    });
    if finished.is_err() {
        end(&mut workers);
    }
    finished
}

fn run_here(place: &Place, parameters: &Parameters, context: &mut Context) -> Result<f64, Error> {
    let mut store = shared(place, parameters)?;
    let started = Instant::now();
    let mut last = (started, 0);
    work(&mut *store, &mut |reads| {
        let now = Instant::now();
        if now - last.0 >= Duration::from_secs(1) {
            (context.progress)((now - started).as_secs_f64(), (reads - last.1) as f64 / (now - last.0).as_secs_f64());
            last = (now, reads);
        }
        !context.interrupted.load(Ordering::Relaxed)
    })?;
    Ok(started.elapsed().as_secs_f64())
}

/// Starts all workers, waits until each is ready, and lets them begin.
fn start_all(place: &Place, parameters: &Parameters, workers: &mut Vec<Child>) -> Result<Instant, Error> {
    let file = |action, source| Error::file(action, "a worker".as_ref(), source);
    for _ in 0..parameters.streams {
        let (command, orders) = command(place, parameters)?;
        workers.push(start(command, &orders).map_err(|source| file("start", source))?);
    }
    for worker in workers.iter_mut() {
        let stdout = worker.stdout.as_mut().expect("standard output was piped");
        let mut said = String::new();
        BufReader::with_capacity(LINE_BYTES, &mut *stdout).read_line(&mut said).map_err(|e| file("read from", e))?;
        if said.trim() != READY {
            let status = worker.wait().map_err(|source| file("wait for", source))?;
            return Err(failed(worker, &status.to_string(), &said));
        }
    }
    let started = Instant::now();
    for worker in workers.iter_mut() {
        let stdin = worker.stdin.as_mut().expect("standard input was piped");
        stdin.write_all(b"go\n").map_err(|source| file("write to", source))?;
    }
    Ok(started)
}

/// What a worker says before it begins.
const READY: &str = "ready";

/// What it says when all blocks are done.
const DONE: &str = "done";

/// A worker says one short line before the begin, and nothing after it but that it is done, and errors.
const LINE_BYTES: usize = 64;

/// The waits for workers look this often.
const LOOK: Duration = Duration::from_millis(2);

fn command(place: &Place, parameters: &Parameters) -> Result<(Command, Vec<u8>), Error> {
    if let Workers::Own(start) = parameters.kind().workers {
        return start(place, parameters);
    }
    let program = std::env::current_exe().map_err(Error::doing("find", "this program".as_ref()))?;
    let mut command = Command::new(program);
    command.args(["worker", super::KIND.name]);
    let orders = Orders { place: place.clone(), parameters: parameters.clone() };
    let mut orders = serde_json::to_vec(&orders).expect("orders are plain data");
    orders.push(b'\n');
    Ok((command, orders))
}

fn start(mut command: Command, orders: &[u8]) -> std::io::Result<Child> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.as_mut().expect("standard input was piped").write_all(orders)?;
    Ok(child)
}

/// A worker that ended badly, with what it said.
fn failed(worker: &mut Child, status: &str, said: &str) -> Error {
    let stdout = worker.stdout.take().map(what_is_there).unwrap_or_default();
    let stderr = worker.stderr.take().map(what_is_there).unwrap_or_default();
    let log = format!("{said}{stdout}{stderr}").trim().into();
    Error::Program { program: "a worker of three-n-plus-one".into(), status: status.into(), log }
}

/// What is in a pipe now: a helper that a database left behind may hold its other end for ever.
fn what_is_there(mut pipe: impl Read + AsFd) -> String {
    let mut bytes = Vec::new();
    // What it said is worth showing and nothing more hangs on it.
    if fcntl(pipe.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).is_ok() {
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until each has said that its work is done.
fn wait_for_work(workers: &mut [Child], context: &Context) -> Result<(), Error> {
    let is_done = |said: &str| said.lines().any(|line| line.trim() == DONE);
    let mut all_said = vec![String::new(); workers.len()];
    while !all_said.iter().all(|said| is_done(said)) {
        std::thread::sleep(LOOK);
        Error::if_interrupted(context.interrupted)?;
        for (worker, said) in workers.iter_mut().zip(&mut all_said) {
            if is_done(said) {
                continue;
            }
            // Asked first: what it said before it ended is there then.
            let status = worker.try_wait().map_err(Error::doing("wait for", "a worker".as_ref()))?;
            said.push_str(&worker.stdout.as_mut().map(what_is_there).unwrap_or_default());
            if let Some(status) = status.filter(|_| !is_done(said)) {
                return Err(failed(worker, &status.to_string(), said));
            }
        }
    }
    Ok(())
}

/// Waits until each has ended.
fn wait(workers: &mut Vec<Child>, context: &Context) -> Result<(), Error> {
    while !workers.is_empty() {
        Error::if_interrupted(context.interrupted)?;
        let mut index = 0;
        while index < workers.len() {
            let status = workers[index].try_wait().map_err(Error::doing("wait for", "a worker".as_ref()))?;
            match status {
                None => index += 1,
                // `try_wait` has reaped it.
                Some(status) if status.success() => drop(workers.swap_remove(index)),
                Some(status) => return Err(failed(&mut workers[index], &status.to_string(), "")),
            }
        }
        std::thread::sleep(LOOK);
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
    let file = |action, source| Error::file(action, "standard input or output".as_ref(), source);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|source| file("read", source))?;
    let orders: Orders =
        serde_json::from_str(&line).map_err(|source| Error::engine("a worker", "read its orders", source))?;
    let mut store = shared(&orders.place, &orders.parameters)?;
    println!("{READY}");
    std::io::stdin().read_line(&mut line).map_err(|source| file("read", source))?;
    work(&mut *store, &mut |_| true)?;
    println!("{DONE}");
    Ok(())
}

/// The store of one of our own workers.
fn shared(place: &Place, parameters: &Parameters) -> Result<Box<dyn Shared>, Error> {
    match parameters.kind().workers {
        Workers::Ours(open) => open(place, parameters),
        Workers::Own(_) => unreachable!("its workers are none of ours"),
    }
}

/// Takes blocks until none is left. `go_on` is told the reads so far after each integer.
fn work(store: &mut dyn Shared, go_on: &mut dyn FnMut(u64) -> bool) -> Result<(), Error> {
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
fn follow(store: &mut dyn Shared, start: u64, counts: &mut Counts) -> Result<(), Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_left_behind_is_not_waited_for() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo no space left >&2; exit 3"]);
        let mut worker = start(command, b"").expect("it starts");
        let status = worker.wait().expect("it ends").to_string();
        let began = Instant::now();
        let said = failed(&mut worker, &status, "").to_string();
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        assert!(said.contains("exit status: 3"), "{said}");
    }

    fn started(script: &str) -> Vec<Child> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        vec![start(command, b"").expect("it starts")]
    }

    /// The last process to leave a database writes it out, which had counted as work.
    #[test]
    fn work_is_done_before_its_worker_has_ended() {
        crate::workload_tests::with_context("/".as_ref(), |context| {
            // It ends when its standard input does.
            let mut workers = started("echo done; read line");
            wait_for_work(&mut workers, context).expect("its work is done");
            assert!(workers[0].try_wait().expect("asked").is_none(), "it had ended before");
            drop(workers[0].stdin.take());
            // `read` at the end of its input fails.
            let error = wait(&mut workers, context).expect_err("it ended badly");
            assert!(error.to_string().contains("exit status: 1"), "{error}");
            end(&mut workers);
            for script in ["exit 3", "echo nothing; exit 0"] {
                let error = wait_for_work(&mut started(script), context).expect_err("no work was done");
                assert!(error.to_string().contains("exit status"), "{script}: {error}");
            }
        });
    }
}
