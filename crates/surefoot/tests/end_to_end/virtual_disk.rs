//! Speed on a disk that is surefoot's own and as slow as the drive that the study names.

use crate::harness::{World, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// SQLite's commits by one connection, each of which waits for a flush.
fn study(time: &str) -> String {
    format!(
        "name = \"v\"\nquestion = \"What would this load do on that drive?\"\n[factors]\n\"storage.disk\" = [\"none\", \"sata-7200\"]\n\
         [storage]\ndevice = \"virtual\"\nsize = \"64MiB\"\n[workload.oltp]\nengine = \"sqlite\"\nmix = \"insert\"\ntable_size = 1000\n\
         threads = 1\ntime = \"{time}\"\njournal_mode = \"wal\"\nsynchronous = \"full\"\n\
         [design]\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\nruns = 1\ncontrol = false\nprobe = \"0s\"\n"
    )
}

#[test]
fn a_disk_without_a_volatile_cache_gets_no_flushes() {
    let world = World::new();
    let disks = "\"storage.disk\" = [\"none\", \"sata-7200\"]";
    let study = study("1s").replace(disks, "\"storage.cache\" = [\"volatile\", \"write-through\"]");
    world.write("v.toml", study);
    world.surefoot(&["run", "v.toml"]).status(0);
    world.assert_nothing_left();
    let ledger = world.report("v.surefoot")["ledger"].take();
    let flushes_per_commit = |cache: &str| {
        let is_it = |trial: &&Value| trial["scenario"].as_str().is_some_and(|label| label.contains(cache));
        let trial = ledger["trials"].as_array().expect("trials").iter().find(is_it).expect("a trial");
        assert_eq!(trial["warnings"], Value::Array(Vec::new()), "{trial:#}");
        let runs = ledger["runs"].as_array().expect("runs");
        let run = runs.iter().find(|run| run["trial"] == trial["id"]).expect("a run");
        run["metrics"]["flushes_per_commit"].as_f64()
    };
    assert!(flushes_per_commit("volatile").is_some_and(|flushes| flushes >= 0.9));
    assert_eq!(flushes_per_commit("write-through"), None, "the kernel sends and counts none");
}

#[test]
fn a_load_meets_the_drive_that_is_named_or_there_is_no_figure() {
    let world = World::new();
    world.write("v.toml", format!("{}[safety]\nbudget = \"500ms\"\ntime = \"300ms\"\nsize = \"64MiB\"\n", study("1s")));
    world.surefoot(&["plan", "v.toml"]).status(0).says("64MiB for virtual disks").says("of 2 scenarios");
    let run = world.surefoot(&["run", "v.toml"]);
    world.assert_nothing_left();
    let ledger = world.report("v.surefoot")["ledger"].take();
    let trials = ledger["trials"].as_array().expect("trials");
    let trial = |disk: &str| {
        let is_it = |trial: &&Value| trial["scenario"].as_str().is_some_and(|label| label.contains(disk));
        trials.iter().find(is_it).unwrap_or_else(|| panic!("no {disk} in {trials:#?}"))
    };
    let metrics = |trial: &Value| {
        let runs = ledger["runs"].as_array().expect("runs");
        runs.iter().find(|run| run["trial"] == trial["id"]).expect("a run")["metrics"].clone()
    };
    let (none, slow) = (trial("none"), trial("sata-7200"));
    assert_eq!(none["state"], "finished", "{none:#}");
    assert!(metrics(none)["virtual_disk_late_seconds_p99"].is_null(), "nothing is delayed");
    assert!(metrics(none)["virtual_disk_cpu_cores"].is_number(), "its time is told apart");
    assert!(slow["facts"]["device"].as_str().expect("a fact").ends_with("timed as sata-7200"), "{slow:#}");
    if slow["state"] == "finished" {
        run.status(0);
        let metrics = metrics(slow);
        // A commit writes a block behind the last one, or anywhere: the platter has turned by half at least, on the mean.
        let commits_per_second = metrics["transactions_per_second"].as_f64().expect("a rate");
        assert!(commits_per_second > 0.0 && commits_per_second <= 2.0 * 7200.0 / 60.0, "{metrics:#}");
        let seconds = |name: &str| metrics[name].as_f64().expect("a figure");
        assert!(seconds("virtual_disk_late_seconds_p99") <= 0.02 * seconds("virtual_disk_request_seconds_mean"));
        assert!(metrics["flushes_per_commit"].as_f64().is_some_and(|flushes| flushes >= 0.9), "{metrics:#}");
    } else {
        // This machine was too busy to be a drive.
        run.status(3).says("the virtual disk of storage was no sata-7200 in this run");
    }
    let cuts = ledger["safety"].as_array().expect("safety");
    assert!(cuts.len() == 2 && cuts.iter().all(|one| one["safety"]["grade"] == "A"), "{cuts:#?}");
}

#[test]
fn a_virtual_disk_goes_with_its_killed_conductor() {
    let world = World::new();
    world.write("v.toml", study("20s"));
    for milliseconds in [0, 300] {
        let mut conductor = world.start(&["run", "v.toml", "--results", &format!("{milliseconds}.surefoot")]);
        wait_until("there is a disk", || crate::powercut::disk_of(world.path()).is_some());
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        kill(Pid::from_raw(conductor.id().cast_signed()), Signal::SIGKILL).expect("it lives");
        conductor.wait().expect("it was killed");
        world.assert_nothing_left();
    }
}
