//! A study with limits ends in a yes or a no; here such as are kept, or broken, on any machine.

use crate::harness::World;
use serde_json::Value;

/// The study that is built in, shorter, its first limit out of reach and the others beyond doubt.
fn study(first_at_most: &str) -> String {
    let text = include_str!("../../../../studies/etcd-disk.toml");
    let changed = text
        .replace("size = \"4GiB\"", "size = \"512MiB\"")
        .replace("size = \"1GiB\"\nfile", "size = \"64MiB\"\nfile")
        .replace("records = 20000", "records = 200")
        .replace("threads = 16", "threads = 4")
        .replace("\"10s\"", "\"500ms\"")
        .replace("at_most = 25000", "at_most = 1e12")
        .replace("warm_up_runs = 1", "warm_up_runs = 0\nprobe = \"0s\"")
        // The fewest that anything is claimed of.
        .replace("= 6\n", "= 4\n")
        .replacen("at_most = 10000", "at_most = FIRST", 1)
        .replace("at_most = 10000", "at_most = 1e12");
    changed.replace("FIRST", first_at_most)
}

#[test]
fn etcds_disk_is_held_against_its_makers_rule() {
    let world = World::new();
    world.write("s.toml", study("1"));
    world.surefoot(&["run", "s.toml"]).status(0).says("No: p99 of the disk's own flush is").says("2 of 3 limits");
    let report = world.report("etcd-disk.surefoot");
    let limits = report["analysis"]["limits"].as_array().expect("limits");
    let verdicts: Vec<&str> = limits.iter().filter_map(|limit| limit["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["broken", "kept", "kept"], "{limits:#?}");
    for limit in limits {
        assert_eq!(limit["rounds"], 4, "{limit}");
        // No disk flushes in less than a microsecond, and none of ours takes a minute.
        let figures = ["low", "geometric_mean", "high"].map(|name| limit[name].as_f64().expect(name));
        assert!(figures.is_sorted() && figures[0] > 1.0 && figures[1] < 6e7, "{limit}");
    }
    let flushes = |run: &Value| run["metrics"]["fdatasync_microseconds_p99"].is_number();
    let of_etcd = |run: &Value| run["metrics"]["wal_fsync_microseconds_p99"].is_number();
    let runs = report["ledger"]["runs"].as_array().expect("runs");
    assert!(runs.len() == 8 && runs.iter().all(|run| flushes(run) != of_etcd(run)), "{runs:#?}");
    world.surefoot(&["report", "etcd-disk.surefoot", "--full"]).status(0).says("Limits by: etcd.io");
    // It had been "No" by the limit that the study began with.
    world.write("s.toml", study("1e12"));
    world.surefoot(&["run", "s.toml"]).status(0).says("Yes: all limits are kept").says("nothing was measured");
    world.assert_nothing_left();
}

#[test]
fn room_that_is_written_out_before_the_end_has_no_figure() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"xfs\"\nsize = \"320MiB\"\n[workload.block-io]\nsize = \"64KiB\"\nfile = \"allocated\"\n\
                pattern = \"write\"\ntime = \"1s\"\n[design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n";
    world.write("s.toml", text);
    let failed = world.surefoot(&["run", "s.toml"]).status(3);
    assert!((failed.stdout + &failed.stderr).contains("all 16 blocks were written before the run was over"));
    world.assert_nothing_left();
}
