//! Turns by the machine's noise: what `plan` says, what a new study has, and what a study keeps that was begun.

use crate::harness::{World, small_study, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// A study by turns that says nothing of their length.
fn study() -> String {
    let settings = ["time = \"300ms\"\n", "rounds_min = 6\n", "rounds_max = 6\n", "runs = 1\n"];
    settings.iter().fold(small_study(&["ext4", "ext3"], 6), |text, line| text.replace(line, ""))
}

/// What `doctor --noise` would have kept, of a machine whose rates stray evenly by up to this share, without any memory.
fn keep_noise(world: &World, share: f64) {
    let mut state = 1_u64;
    let mut rate = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1000.0 * (1.0 + share * (2.0 * (state >> 40) as f64 / f64::from(1 << 24) - 1.0))
    };
    let rates: Vec<f64> = (0..300).map(|_| rate()).collect();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the kernel's own");
    let kept = json!({ "boot": boot.trim(), "taken": 1.0, "slice_seconds": 0.1, "processor": rates, "writes": rates });
    std::fs::create_dir_all(world.path().join("surefoot-work/noise")).expect("a folder");
    world.write("surefoot-work/noise/noise.json", kept.to_string());
}

fn line(world: &World, arguments: &[&str], head: &str) -> String {
    let said = world.surefoot(arguments).status(0).stdout;
    let found = said.lines().find_map(|line| line.strip_prefix(head));
    found.unwrap_or_else(|| panic!("no {head} in {said}")).trim().to_string()
}

#[test]
fn plan_says_when_differences_are_known() {
    let world = World::new();
    world.write("small.toml", study());
    let plan = ["plan", "small.toml"];
    assert_eq!(
        line(&world, &plan, "forecast:"),
        "none yet: `surefoot doctor --noise` measures in 30s how much this machine strays"
    );
    keep_noise(&world, 0.5);
    let order = line(&world, &plan, "order:");
    assert!(order.starts_with("turns of 500ms (chosen by the machine's noise), up to 3 scenarios at once"), "{order}");
    assert_eq!(
        line(&world, &plan, "forecast:"),
        "differences are known within 5 % in about 3min (7 rounds), within 3 % in about 6min (14 rounds), by the machine's noise"
    );
    let few = ["plan", "small.toml", "--rounds", "6", "--set", "workload.oltp.time=2s"];
    assert_eq!(
        line(&world, &few, "forecast:"),
        "differences are known within 5 % in about 3min (11 rounds, of 6 at most), within 3 % in about 6min (25 rounds, of 6 at most), \
         by the machine's noise"
    );
    let said = ["plan", "small.toml", "--set", "design.turn=2s", "--set", "workload.oltp.time=20s"];
    let order = line(&world, &said, "order:");
    assert!(order.starts_with("turns of 2.0s, up to 3 scenarios at once"), "{order}");
    // Who says how many rounds has only the length of a turn chosen.
    let rounds = world.surefoot(&["plan", "small.toml", "--rounds", "6", "--json"]).status(0).json();
    assert_eq!(rounds["turns"]["chosen"]["turns"], Value::Null, "{rounds:#}");
    assert!(rounds["turns"]["chosen"]["turn_seconds"].as_f64() > Some(0.4), "{rounds:#}");
    let json = world.surefoot(&["plan", "small.toml", "--json"]).status(0).json();
    let number = |pointer: &str| json["turns"].pointer(pointer).and_then(Value::as_f64);
    assert!(number("/noise/white") > Some(0.0), "{json:#}");
    assert!(number("/chosen/turns") > Some(1.0) && number("/chosen/rounds") >= Some(6.0), "{json:#}");
    assert_eq!(number("/forecast/1/within"), Some(0.03), "{json:#}");
    let blocks = world.surefoot(&["plan", "small.toml", "--set", "design.order=blocks"]).status(0);
    assert!(!blocks.stdout.contains("forecast:"), "{}", blocks.stdout);
}

#[test]
fn a_new_study_has_the_turns_that_were_chosen_and_keeps_them() {
    let world = World::new();
    world.write("small.toml", study());
    keep_noise(&world, 0.02);
    // Who says rounds and times has only the length of a turn chosen.
    let run = |rounds: &str| {
        let arguments = ["run", "small.toml", "--rounds", rounds, "--set", "workload.oltp.time=2s", "--quiet"];
        world.surefoot(&arguments).status(0);
        world.surefoot(&["report", "small.surefoot", "--json"]).status(0).json()["ledger"].clone()
    };
    let first = run("1");
    let chosen = first["study"]["turns"].clone();
    assert_eq!((&chosen["turn_milliseconds"], &chosen["turns"]), (&json!(750), &Value::Null), "{chosen:#}");
    assert!(chosen["white_noise"].as_f64() > Some(0.0), "{chosen:#}");
    let turns = |ledger: &Value| ledger["runs"].as_array().expect("runs").len();
    assert_eq!(turns(&first), 3 * 3);
    // Another noise would have other turns; the study has what it began with.
    std::fs::remove_file(world.path().join("surefoot-work/noise/noise.json")).expect("it was there");
    let second = run("2");
    assert_eq!(second["study"]["turns"], chosen);
    assert_eq!(turns(&second), 2 * turns(&first));
}

#[test]
fn a_long_study_measures_the_noise_first() {
    let world = World::new();
    // 3 scenarios of 60 s in 6 rounds: 18 minutes and more.
    world.write(
        "small.toml",
        study().replace("probe = \"0s\"", "probe = \"1s\"").replace("threads = 1", "threads = 1\ntime = \"60s\""),
    );
    // Behind the tests beside it: two threads would each have a processor for half a minute.
    let mut command = Command::new("nice");
    command.args(["-n", "5", env!("CARGO_BIN_EXE_surefoot"), "run", "small.toml"]).current_dir(world.path());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn().expect("nice is part of coreutils");
    let kept = world.path().join("surefoot-work/small/noise.json");
    wait_until("the noise is kept", || kept.is_file());
    let results = world.path().join("small.surefoot");
    wait_until("the study is begun", || results.is_file());
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let study = world.report("small.surefoot")["ledger"]["study"].clone();
    assert!(study["turns"]["turn_milliseconds"].as_u64() >= Some(500), "{study:#}");
    world.assert_nothing_left();
}
