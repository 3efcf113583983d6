//! How long and how much memory it takes to merge a large fleet: `cargo bench -p ledger --bench merge [-- MEMBERS]`.
//!
//! Goals: 1,000 members of 500 trials in 60 s and 500 MB. `cargo test` takes three members. Merges in a process of its own, so that the
//! writing does not count, and reads from the disk: files of a fleet come from elsewhere, and are in no cache.

#[path = "large/typical.rs"]
mod typical;

use goals::Goals;
use ledger::model::{Host, Member, Place, Scenario, TrialState};
use ledger::{Reader, Writer};
use observe::record::Provisioned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use typical::{scenario, study, typical_run};

const MEMBERS: u32 = 1000;
const TRIALS: u32 = 500;
const SCENARIOS: u32 = 10;
const SECONDS_MAX: f64 = 60.0;
const MEGABYTES_MAX: f64 = 500.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, folder] = &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
        && *what == "merge-these"
    {
        merge(Path::new(folder));
        return ExitCode::SUCCESS;
    }
    let Some(mut goals) = Goals::of("merge") else { return ExitCode::SUCCESS };
    let members = goals.words().next().and_then(|word| word.parse().ok()).unwrap_or(MEMBERS);
    let (members, trials) = if goals.is_test() { (3, 20) } else { (members, TRIALS) };
    // On the disk: a fleet's files are more than memory has room for.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let template = folder.path().join("template");
    {
        let memory = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        write(&memory.path().join("one"), trials);
        // As a member shows it.
        ledger::publish(&memory.path().join("one"), &template).expect("copied");
    }
    for number in 1..=members {
        let path = folder.path().join(format!("{number}.surefoot"));
        std::fs::copy(&template, &path).expect("copied");
        renumber(&path, number);
        forget(&path);
    }
    std::fs::remove_file(&template).expect("it was there");
    let program = std::env::current_exe().expect("this program");
    let folder_word = folder.path().to_string_lossy();
    let said = goals::said(&program, folder.path(), &["merge-these", &folder_word]);
    let figures: Vec<f64> = said.split_whitespace().map(|word| word.parse().expect("a figure")).collect();
    let [seconds, processor_seconds, queued_seconds, megabytes] = figures[..] else {
        panic!("four figures, not {said}")
    };
    let target = folder.path().join("fleet");
    let size = target.metadata().expect("written").len() as f64 / 1e6;
    let contents = Reader::open(&target).and_then(|reader| reader.contents_with(&[])).expect("readable");
    goals.must("all members", contents.members.len() == members as usize);
    goals.must("all trials", contents.trials.len() == (members * trials) as usize);
    let seconds_goal = goals.at_most("seconds", seconds, SECONDS_MAX);
    let megabytes_goal = goals.at_most("megabytes of memory", megabytes, MEGABYTES_MAX);
    println!("{members} members of {trials} trials, {size:.0} MB in one file");
    let waited = (seconds - processor_seconds - queued_seconds).max(0.0);
    println!(
        "{seconds:.1} s ({seconds_goal}): {processor_seconds:.1} s of a processor, {queued_seconds:.1} s until others let it have one, {waited:.1} s for the disk"
    );
    println!("{megabytes:.0} MB of memory ({megabytes_goal})");
    goals.end()
}

fn merge(folder: &Path) {
    let entries = folder.read_dir().expect("a folder").flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> = entries.collect();
    let started = Instant::now();
    ledger::merge(&files, &folder.join("fleet")).expect("one fleet");
    let seconds = started.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").expect("this process has one");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel keeps the peak");
    let kibibytes: f64 = peak.trim().trim_end_matches(" kB").trim().parse().expect("a number");
    // On a busy machine the processor's time says more than the clock's (sched-stats of the kernel's documentation).
    let schedule = std::fs::read_to_string("/proc/self/schedstat").expect("this process has one");
    let nanoseconds = |field: &str| -> f64 { field.parse().expect("a number") };
    let mut fields = schedule.split_whitespace().map(nanoseconds);
    let (processor, queued) = (fields.next().expect("a figure"), fields.next().expect("a figure"));
    println!("{seconds} {} {} {}", processor / 1e9, queued / 1e9, kibibytes * 1024.0 / 1e6);
}

/// A member's file as a trial writes it: steps, facts and commands, one measured run with all its figures.
fn write(path: &Path, trials: u32) {
    let mut writer = Writer::create_or_open(path).expect("a new ledger");
    let labels: Vec<String> = (0..SCENARIOS).map(|index| format!("scenario {index}")).collect();
    let scenarios: Vec<Scenario> = labels.iter().map(|label| scenario(label)).collect();
    writer.set_study(&study(&labels[0]), &scenarios, Some(&member(1))).expect("written");
    writer.begin_session(&BTreeMap::new(), 0.0).expect("written");
    let run = typical_run();
    let provisioned = Provisioned {
        facts: (0..12).map(|fact| (format!("fact_{fact}"), "a value of some length".into())).collect(),
        commands: (0..4).map(|command| format!("a command line {command} of some length")).collect(),
        ..Provisioned::default()
    };
    for trial in 0..trials {
        let place = Place::main(trial / SCENARIOS, trial % SCENARIOS);
        let id = writer.begin_trial(&labels[(trial % SCENARIOS) as usize], place, 1, 0.0).expect("written");
        ["mkfs", "mount", "load", "teardown"].iter().for_each(|step| writer.step(id, step, 0.5).expect("written"));
        writer.provisioned(id, &provisioned).expect("written");
        writer.run(id, &run).expect("written");
        writer.finish_trials(&[(id, TrialState::Finished, None)], 1.0).expect("written");
    }
    writer.end_session("all rounds are done", 9.0).expect("written");
}

fn member(number: u32) -> Member {
    let host = Host { name: format!("n{number}"), id: String::new() };
    let rounds = TRIALS / SCENARIOS;
    Member { number, of: MEMBERS, attempt: 1, rounds, host, known_by: String::new(), others: Vec::new() }
}

/// The same file as another member's; rows whose words change are read without a checksum.
fn renumber(path: &Path, number: u32) {
    let file = rusqlite::Connection::open(path).expect("it opens");
    let json = serde_json::to_string(&member(number)).expect("plain data");
    let written = file
        .execute("UPDATE member SET number = ?1, json = ?2, crc = NULL", rusqlite::params![number, json])
        .and_then(|_| file.execute("UPDATE session SET member = ?1, crc = NULL", [number]))
        .and_then(|_| file.execute("UPDATE trial SET member = ?1, crc = NULL", [number]))
        .and_then(|_| file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    written.expect("written");
}

/// Has it on the disk, and not in the kernel's cache.
fn forget(path: &Path) {
    std::fs::File::open(path).and_then(|file| file.sync_all()).expect("written");
    let file = format!("if={}", path.display());
    let forgotten = Command::new("dd").args([&file, "iflag=nocache", "count=0", "status=none"]).status();
    assert!(forgotten.is_ok_and(|status| status.success()), "dd of coreutils drops a file from the cache");
}
