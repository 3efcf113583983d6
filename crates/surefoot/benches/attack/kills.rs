//! `kill -9` at moments by chance, of the conductor, of a trial or of a server, with limits of memory and power cuts; then the same command
//! goes on. In the end each trial is there, once; what was measured before a kill is as it was; the file is whole; and nothing of what was
//! killed is left, after each kill.

use crate::stage::Stage;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::{Connection, OpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Kills in full, at least.
const KILLS: usize = 60;

/// Times that a study is gone on with, after its kills, before it counts as one that does not end.
const GOING_ON_MAX: usize = 6;

/// A study that is killed again and again.
struct Victim {
    name: &'static str,
    text: String,
    /// Its part of the kills, in per cent.
    share: usize,
    /// The latest moment of a kill, from the start.
    latest: Duration,
    /// Rounds times scenarios, the control among them.
    trials: usize,
}

fn victims(guest: bool) -> Vec<Victim> {
    let head = "name = \"NAME\"\nquestion = \"?\"\n";
    let design = "[design]\nrounds_min = 3\nrounds_max = 3\nwarm_up_runs = 0\nruns = 1\nprobe = \"0s\"\n";
    let load = |engine: &str| {
        format!("[workload.oltp]\nengine = \"{engine}\"\ntable_size = 2000\nthreads = 1\ntime = \"300ms\"\n")
    };
    let cuts = "[safety]\nbudget = \"1s\"\ntime = \"400ms\"\nsize = \"64MiB\"\n";
    let two =
        "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[storage]\ndevice = \"loop\"\nsize = \"320MiB\"\n";
    let one = "[storage]\ndevice = \"loop\"\nsize = \"320MiB\"\nfilesystem = \"ext4\"\n[factors]\n";
    let threads = "\"workload.oltp.threads\" = [1, 2]\n";
    let memory = "memory = \"256MiB\"\n";
    let victim = |name, text: String, share, latest| Victim {
        name,
        text: text.replace("NAME", name),
        share,
        latest: Duration::from_millis(latest),
        trials: 9,
    };
    let mut victims = vec![
        victim("sqlite", format!("{head}{two}{}{design}", load("sqlite")), 25, 2500),
        victim("sqlite-memory", format!("{head}{memory}{two}{}{design}", load("sqlite")), 20, 2500),
        victim("sqlite-cuts", format!("{head}{memory}{two}{}{cuts}{design}", load("sqlite")), 20, 6000),
        victim("postgres", format!("{head}{memory}{one}{threads}{}{design}", load("postgres")), 15, 5000),
        victim("postgres-cuts", format!("{head}{one}{threads}{}{cuts}{design}", load("postgres")), 15, 9000),
    ];
    if guest {
        victims.push(victim(
            "guest",
            format!("{head}bench = \"guest\"\n{one}{threads}{}{design}", load("sqlite")),
            5,
            5000,
        ));
    }
    victims
}

/// Tries them.
pub fn attack(stage: &mut Stage) {
    let kills = stage.kills.unwrap_or_else(|| stage.count(2, KILLS));
    let has_guest = !stage.is_test && Path::new("/usr/bin/linux.uml").exists();
    let victims = victims(has_guest);
    let chosen = if stage.is_test { 1 } else { victims.len() };
    let mut done = 0;
    for victim in &victims[..chosen] {
        let share = if stage.is_test { kills } else { (kills * victim.share).div_ceil(100) };
        done += killed(stage, victim, share);
    }
    stage.holds(done >= kills, || format!("{done} kills, not {kills}: the studies ended too soon"));
}

/// Kills a study so many times, then lets it end. Where it ends before a kill it begins anew, under another name.
fn killed(stage: &mut Stage, victim: &Victim, kills: usize) -> usize {
    let (mut done, mut times) = (0, 0);
    while done < kills && times < 10 {
        times += 1;
        let (study, results) = (format!("{}.toml", victim.name), format!("{}-{times}.surefoot", victim.name));
        stage.world.write(&study, &victim.text);
        let work = format!("work-{}", victim.name);
        let again = ["run", &study, "--quiet", "--work", &work, "--results", &results, "--retry-failed"];
        let mut before = Finished::new();
        while done < kills {
            let Some(whom) = kill_once(stage, victim, &again) else { break };
            done += 1;
            stage.tried();
            let what = format!("{}, kill {done} ({whom})", victim.name);
            stage.nothing_left_but_groups();
            nothing_lost(stage, &what, &before, &stage.path(&results));
            before = finished(&stage.path(&results));
        }
        ends(stage, victim, &again, &results, &before);
        stage.surefoot(&["clean", "--work", &work]);
    }
    done
}

/// None: it ended before.
fn kill_once(stage: &mut Stage, victim: &Victim, run: &[&str]) -> Option<&'static str> {
    let mut child = stage.start(run);
    let conductor = child.id().cast_signed();
    // Mostly anywhere, some in the first moments.
    let milliseconds = victim.latest.as_millis() as usize;
    let latest = if stage.random.below(4) == 0 { 300 } else { milliseconds };
    std::thread::sleep(Duration::from_millis(stage.random.below(latest) as u64));
    if child.try_wait().expect("our own child").is_some() {
        let said = stage.end_of(child, run);
        stage.holds(matches!(said.status, Some(0 | 3)), || {
            format!("{}: it ended {:?}: {}", victim.name, said.status, said.stderr.trim())
        });
        return None;
    }
    // The trial first.
    let family = crate::harness::descendants(conductor);
    let (whom, process) = match stage.random.below(4) {
        0 if !family.is_empty() => ("a trial", family[0]),
        1 if family.len() > 2 => ("a process of a trial", *stage.random.one_of(&family[1..])),
        _ => ("the conductor", conductor),
    };
    // Its number may be another's by now only if it has ended: these are our own child's, whom nobody else can wait for.
    let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    if process != conductor {
        // It goes on, and is killed as well, a little later.
        std::thread::sleep(Duration::from_millis(stage.random.below(800) as u64));
        let _ = kill(Pid::from_raw(conductor), Signal::SIGKILL);
    }
    let started = Instant::now();
    while child.try_wait().expect("our own child").is_none() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = crate::harness::said(&child.wait_with_output().expect("our own child"));
    stage.holds(!said.stderr.contains("panicked at"), || format!("{}: a panic: {}", victim.name, said.stderr));
    Some(whom)
}

/// It goes on until it has ended well, and then holds each trial once.
fn ends(stage: &mut Stage, victim: &Victim, again: &[&str], results: &str, before: &Finished) {
    let mut status = None;
    for _ in 0..GOING_ON_MAX {
        let said = stage.surefoot(again);
        status = said.status;
        if status == Some(0) {
            break;
        }
    }
    stage
        .holds(status == Some(0), || format!("{}: gone on with {GOING_ON_MAX} times, it ends {status:?}", victim.name));
    let path = stage.path(results);
    nothing_lost(stage, victim.name, before, &path);
    let trials = counted(&path);
    stage.holds(trials == victim.trials, || {
        format!("{}: {trials} trials are finished, not {}", victim.name, victim.trials)
    });
    let verified = stage.surefoot(&["status", results, "--verify"]);
    stage.holds(verified.status == Some(0), || {
        format!("{}: --verify: {:?}: {}", victim.name, verified.status, verified.stderr.trim())
    });
    if victim.text.contains("[safety]") {
        let report = stage.surefoot(&["report", results, "--json"]);
        let all: serde_json::Value = serde_json::from_str(&report.stdout).unwrap_or_default();
        let rows = all["ledger"]["safety"].as_array().into_iter().flatten();
        let measured: BTreeSet<String> =
            rows.filter(|one| one["safety"].is_object()).map(|one| one["scenario"].to_string()).collect();
        stage.holds(measured.len() == 2, || {
            format!("{}: power cuts of {measured:?}, not of both scenarios", victim.name)
        });
    }
    stage.nothing_left();
}

/// Of each run of a finished trial, its figures.
pub type Finished = BTreeMap<(i64, i64), Vec<u8>>;

/// As the file has them; nothing where there is none yet.
pub fn finished(results: &Path) -> Finished {
    let read = || -> rusqlite::Result<Finished> {
        let connection = opened(results)?;
        let mut statement = connection.prepare(
            "SELECT trial.id, run.id, figures FROM run JOIN trial ON trial.id = run.trial WHERE state = 'finished'",
        )?;
        let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
        rows.collect()
    };
    read().unwrap_or_default()
}

/// Scenarios and rounds that have a finished trial.
fn counted(results: &Path) -> usize {
    let read = || -> rusqlite::Result<i64> {
        let sql = "SELECT count(*) FROM (SELECT DISTINCT scenario, round FROM trial WHERE state = 'finished')";
        opened(results)?.query_row(sql, [], |row| row.get(0))
    };
    read().unwrap_or_default() as usize
}

fn opened(results: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(results, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// What was finished before is there, as it was.
pub fn nothing_lost(stage: &mut Stage, what: &str, before: &Finished, results: &Path) {
    let now = finished(results);
    let lost = before.iter().find(|(key, figures)| now.get(*key) != Some(*figures));
    stage.holds(lost.is_none(), || format!("{what}: run {:?} is lost or changed", lost.map(|(key, _)| key)));
}

/// A small study's results, for `planted`.
pub fn measured(stage: &mut Stage) -> PathBuf {
    stage.world.write("measured.toml", crate::harness::small_study(&["ext4"], 1).replace("300ms", "100ms"));
    let said = stage.surefoot(&["run", "measured.toml", "--quiet", "--results", "measured.surefoot"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    stage.path("measured.surefoot")
}
