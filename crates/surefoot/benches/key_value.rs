//! Our key-value load beside redis-benchmark: the same server, connections, requests in flight, bytes and commands, in alternating turns.
//! `cargo bench -p surefoot --bench key_value`; with `-- --only TEXT` the cases with that text. `cargo test` runs it too, for what does not
//! depend on speed: that the server counts as many commands as each side says it sent.
//!
//! Both sides have one thread and records of one field. Ours checks every value that it reads and remembers what it wrote; theirs looks at
//! none. Theirs asks for keys of its own, of the same length, which it has filled before.
//!
//! Goals: at least their operations per second; at most 0.8 of their CPU time for each, user and kernel. Missed where the median's
//! interval lies wholly on the wrong side.

#[path = "database/server.rs"]
mod server;

use goals::{Goals, Spread};
use nix::sys::resource::UsageWho;
use observe::cpu::used_seconds;
use serde_json::json;
use server::{Load, Server};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Odd, so that the median is a pair's.
const PAIRS: usize = 15;

/// redis-benchmark's own default.
const CONNECTIONS: u32 = 50;

/// Of a field's value.
const BYTES: usize = 100;

struct Scale {
    pairs: usize,
    records: u64,
    seconds: f64,
}

struct Case {
    name: &'static str,
    /// Ours.
    mix: &'static str,
    /// Theirs.
    command: &'static str,
    pipeline: u32,
}

const CASES: [Case; 4] = [
    Case { name: "read", mix: "c", command: "hgetall", pipeline: 1 },
    Case { name: "update", mix: "update-only", command: "hset", pipeline: 1 },
    Case { name: "read, 16 at once", mix: "c", command: "hgetall", pipeline: 16 },
    Case { name: "update, 16 at once", mix: "update-only", command: "hset", pipeline: 16 },
];

/// What one side did in a turn.
struct Side {
    operations: f64,
    per_second: f64,
    cpu_seconds: f64,
}

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("key_value") else { return ExitCode::SUCCESS };
    let is_test = goals.is_test();
    let only = goals.after("--only").unwrap_or_default().to_string();
    let scale = match is_test {
        true => Scale { pairs: 1, records: 2000, seconds: 0.2 },
        false => Scale { pairs: PAIRS, records: 100_000, seconds: 2.0 },
    };
    // One that writes no files: the loads are compared, not the disk.
    let server = Server::start("redis", &json!({ "settings": { "save": "" } }));
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        compare(case, &scale, &server, &mut goals);
    }
    goals.end()
}

impl Server {
    fn ask(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli").arg("-s").arg(self.socket()).args(words).output();
        let output = output.expect("the package redis-tools is installed");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// How often the server itself says it was asked this.
    fn calls(&self, command: &str) -> f64 {
        let said = self.ask(&["INFO", "commandstats"]);
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.and_then(|line| line.split(',').next()).and_then(|calls| calls.parse().ok()).unwrap_or(0.0)
    }
}

fn compare(case: &Case, scale: &Scale, server: &Server, goals: &mut Goals) {
    server.ask(&["FLUSHALL"]);
    let mut ours = loaded(case, scale, server);
    fill_theirs(scale, server);
    // Once each unmeasured; theirs by a count, so its speed is to be known.
    let count = |side: &Side, seconds: f64| (side.per_second * seconds).ceil() as u64;
    let requests = count(&theirs(case, scale, server, 4000), scale.seconds);
    run(&mut ours);
    let (mut all_ours, mut all_theirs) = (Vec::new(), Vec::new());
    for pair in 0..scale.pairs {
        let mut both = [true, false];
        // Who goes first changes, so that a drift of the machine hits both.
        both.rotate_left(pair % 2);
        for is_ours in both {
            let before = server.calls(case.command);
            let side = if is_ours { run(&mut ours) } else { theirs(case, scale, server, requests) };
            let counted = server.calls(case.command) - before;
            let whose = if is_ours { "ours" } else { "theirs" };
            goals.must(&format!("{}, {whose}: the server counts as many", case.name), counted == side.operations);
            if is_ours { all_ours.push(side) } else { all_theirs.push(side) }
        }
    }
    if goals.is_test() {
        return;
    }
    let ratios = |of: fn(&Side) -> f64| -> Spread {
        Spread::of(&all_ours.iter().zip(&all_theirs).map(|(ours, theirs)| of(ours) / of(theirs)).collect::<Vec<_>>())
    };
    let (rate, cpu) = (ratios(|side| side.per_second), ratios(|side| side.cpu_seconds / side.operations));
    let median = |sides: &[Side]| Spread::of(&sides.iter().map(|side| side.per_second).collect::<Vec<_>>()).median;
    println!(
        "{:20} ours {:9.0}/s, theirs {:9.0}/s, rate {:.3} ({:.3}–{:.3}), CPU an operation {:.3} ({:.3}–{:.3})",
        case.name,
        median(&all_ours),
        median(&all_theirs),
        rate.median,
        rate.low,
        rate.high,
        cpu.median,
        cpu.low,
        cpu.high
    );
    goals.at_least(&format!("{}: operations as a share of redis-benchmark's", case.name), rate, 1.0);
    goals.at_most(&format!("{}: CPU time as a share of redis-benchmark's", case.name), cpu, 0.8);
}

/// Our workload on the server, loaded once.
fn loaded(case: &Case, scale: &Scale, server: &Server) -> Load {
    let changes = json!({
        "engine": server.name, "mix": case.mix, "distribution": "uniform", "records": scale.records, "fields": 1,
        "field_length": format!("{BYTES}B"), "threads": CONNECTIONS, "driver_threads": 1, "pipeline": case.pipeline,
        "time": format!("{}ms", scale.seconds * 1000.0),
    });
    let mut ours = Load::open("key-value", &changes, server);
    ours.prepare();
    // Before theirs are there, too.
    ours.verify();
    ours
}

fn run(ours: &mut Load) -> Side {
    let (figure, cpu_seconds) = ours.run();
    ours.goes_on = true;
    Side { operations: figure("operations"), per_second: figure("operations_per_second"), cpu_seconds }
}

/// A key of theirs: as long as ours, the last twelve digits drawn.
const THEIR_KEY: &str = "user0000000__rand_int__";

fn redis_benchmark(socket: &Path, words: &[String]) -> String {
    let output = Command::new("redis-benchmark").arg("-s").arg(socket).args(words).output();
    let output = output.expect("the package redis-tools is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "redis-benchmark: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Each key is drawn twelve times on average, so that hardly any is missing.
fn fill_theirs(scale: &Scale, server: &Server) {
    let words =
        format!("-q -c {CONNECTIONS} -P 16 -n {} -r {} HSET {THEIR_KEY} field0", 12 * scale.records, scale.records);
    let words: Vec<String> = words.split(' ').map(String::from).chain(["x".repeat(BYTES)]).collect();
    redis_benchmark(&server.socket(), &words);
}

fn theirs(case: &Case, scale: &Scale, server: &Server, requests: u64) -> Side {
    // Whole pipelines, so that it sends as many as it says.
    let round = u64::from(CONNECTIONS * case.pipeline);
    let requests = requests.div_ceil(round) * round;
    let words = format!(
        "--csv -c {CONNECTIONS} -P {} -n {requests} -r {} {} {THEIR_KEY}",
        case.pipeline, scale.records, case.command
    );
    let value = (case.command == "hset").then(|| ["field0".to_string(), "x".repeat(BYTES)]);
    let words: Vec<String> = words.split(' ').map(String::from).chain(value.into_iter().flatten()).collect();
    let before = used_seconds(UsageWho::RUSAGE_CHILDREN);
    let said = redis_benchmark(&server.socket(), &words);
    let cpu_seconds = used_seconds(UsageWho::RUSAGE_CHILDREN) - before;
    // "test","rps",… and the same of the command.
    let line = said.lines().next_back().expect("it says how fast it was");
    let per_second = line.split("\",\"").nth(1).and_then(|number| number.trim_matches('"').parse().ok());
    Side { operations: requests as f64, per_second: per_second.expect("a rate"), cpu_seconds }
}
