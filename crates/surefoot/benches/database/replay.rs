//! `surefoot replay` beside pgreplay: the same log of the same server, as fast as each can.

use super::{
    Goals, Scale, Server, Side, Spread, THEIR_DATABASE, UsageWho, WHOLE_TEXT, pgbench_run, range, used_seconds,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const CPU_RATIO_MAX: f64 = 0.8;

/// The prefix that pgreplay wants; ours reads any.
const PREFIX: &str = "%m|%u|%d|%c|";

/// A transaction whose rows are a client's own: pgreplay keeps to the log's order over all sessions, and waits for ever
/// when a row's lock is taken in another one.
const TRANSACTION: &str = "\\set account 1000 * :client_id + random(1, 1000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :account;
SELECT abalance FROM pgbench_accounts WHERE aid = :account;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :account, 1, CURRENT_TIMESTAMP);
END;
";

/// Both of pgbench's ways to send its statements.
pub fn compare(scale: &Scale, server: &Server, goals: &mut Goals) {
    for protocol in ["prepared", "simple"] {
        let (log, transactions) = log(protocol, scale, server);
        let ours = || replayed(ours(&log, server), transactions);
        let theirs = || replayed(theirs(&log, server), transactions);
        server.count(true);
        let (our_counts, their_counts) = (server.counted(WHOLE_TEXT, ours), server.counted(WHOLE_TEXT, theirs));
        server.count(false);
        let name = format!("postgres replay, {protocol}");
        if our_counts != their_counts {
            println!("{name}: ours {our_counts:?}, theirs {their_counts:?}");
        }
        goals.must(
            &format!("{name}: both ask the same of the server"),
            our_counts == their_counts && our_counts.len() >= 3,
        );
        let (mut rates, mut cpus) = (Vec::new(), Vec::new());
        for pair in 0..scale.pairs {
            let [a, b] = if pair % 2 == 0 { [ours(), theirs()] } else { [theirs(), ours()] };
            let [a, b] = if pair % 2 == 0 { [a, b] } else { [b, a] };
            rates.push(a.transactions_per_second / b.transactions_per_second);
            cpus.push(a.cpu_seconds_per_transaction / b.cpu_seconds_per_transaction);
        }
        if scale.pairs > 0 {
            let (rate, cpu) = (Spread::of(&rates), Spread::of(&cpus));
            println!(
                "{name} (pgreplay): rate {:.3} ({}), CPU {:.3} ({})",
                rate.median,
                range(rate),
                cpu.median,
                range(cpu)
            );
            goals.at_least(&format!("{name}: rate as a share of pgreplay's"), rate, 1.0);
            goals.at_most(&format!("{name}: CPU time as a share of pgreplay's"), cpu, CPU_RATIO_MAX);
        }
    }
}

/// A log of transactions that pgbench sent, and their number.
fn log(protocol: &str, scale: &Scale, server: &Server) -> (PathBuf, f64) {
    let set = |value: [&str; 4]| {
        let names = ["log_statement", "log_connections", "log_disconnections", "log_line_prefix"];
        for (name, value) in names.iter().zip(value) {
            server.ask(&format!("ALTER SYSTEM SET {name} = '{value}'"));
        }
        server.ask("SELECT pg_reload_conf(), pg_sleep(0.5)");
    };
    set(["all", "on", "on", PREFIX]);
    let file = server.socket().parent().expect("a folder").join("postgres.log");
    let before = std::fs::metadata(&file).expect("the server's log").len() as usize;
    let clients = 8;
    let each = if scale.pairs == 0 { 20 } else { 2000 };
    let (protocol_word, each_word) = (format!("--protocol={protocol}"), format!("--transactions={each}"));
    let script = server.folder.path().join("own-rows.sql");
    std::fs::write(&script, TRANSACTION).expect("our own folder");
    let file_word = format!("--file={}", script.display());
    let words = ["--no-vacuum", &protocol_word, &file_word, "--client=8", "--jobs=2", &each_word];
    let output = pgbench_run(server, &words);
    assert!(output.status.success(), "pgbench: {}", String::from_utf8_lossy(&output.stderr));
    // Each disconnection is written when the server's process ends.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let bytes = std::fs::read(&file).expect("the server's log");
    set(["none", "off", "off", "%m [%p] "]);
    let path = server.folder.path().join(format!("{protocol}.log"));
    std::fs::write(&path, &bytes[before..]).expect("our own folder");
    (path, f64::from(clients * each))
}

/// CPU and wall-clock seconds as one side of a comparison.
fn replayed((cpu, seconds): (f64, f64), transactions: f64) -> Side {
    Side {
        transactions,
        transactions_per_second: transactions / seconds,
        cpu_seconds_per_transaction: cpu / transactions,
    }
}

fn ours(log: &Path, server: &Server) -> (f64, f64) {
    let url =
        format!("postgres://postgres@/{THEIR_DATABASE}?host={}", server.socket().parent().expect("a folder").display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_surefoot"));
    let (used, seconds, output) = measured(command.arg("replay").arg(log).args([&url, "--json"]));
    let said: Value = serde_json::from_slice(&output).expect("JSON");
    let errors = said["errors"].as_object().expect("errors");
    assert!(errors.values().all(|count| count.as_u64() == Some(0)), "{said}");
    (used, seconds)
}

fn theirs(log: &Path, server: &Server) -> (f64, f64) {
    let mut command = Command::new("pgreplay");
    let folder = server.socket().parent().expect("a folder").to_path_buf();
    let (used, seconds, _) = measured(command.arg("-h").arg(folder).args(["-q", "-j", "-s", "1000000"]).arg(log));
    (used, seconds)
}

fn measured(command: &mut Command) -> (f64, f64, Vec<u8>) {
    let (before, started) = (used_seconds(UsageWho::RUSAGE_CHILDREN), Instant::now());
    let output = command.output().expect("the package pgreplay is installed");
    let (used, seconds) = (used_seconds(UsageWho::RUSAGE_CHILDREN) - before, started.elapsed().as_secs_f64());
    let said = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said));
    (used, seconds, output.stdout)
}
