//! What a failing disk does, by real filesystems and databases on a disk that fails as it is told.

use crate::cut_trials::{found, trial};
use crate::harness::World;
use serde_json::{Value, json};
use study::trial_spec::Faults;

const SQLITE: &str =
    "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.oltp]\nengine = \"sqlite\"\n";

/// Measures a study's scenarios; what was found, by label.
fn measured(world: &World, text: &str) -> Vec<(String, Value)> {
    world.write("s.toml", text);
    world.surefoot(&["faults", "s.toml"]).status(0);
    let json = world.report("s.surefoot");
    let all = json["ledger"]["faults"].as_array().expect("faults").clone();
    world.assert_nothing_left();
    all.into_iter().map(|one| (one["scenario"].as_str().expect("a label").to_string(), one["faults"].clone())).collect()
}

/// How many cases ended so.
fn count(found: &Value, end: &str) -> u64 {
    let rows = found["rows"].as_array().expect("rows");
    rows.iter().filter_map(|row| row["counts"][end].as_u64()).sum()
}

#[track_caller]
fn assert_honest(found: &Value) {
    assert_eq!(found["honest_bad"], 0, "{found:#}");
    assert!(found["honest"].as_u64() >= Some(4), "{found:#}");
}

#[test]
fn sqlite_on_a_failing_disk_says_errors_and_a_lying_one_goes_unseen() {
    let world = World::new();
    // Nothing was lost silently yet in what a busy machine tries in 12 s.
    let text = |budget: &str| {
        format!(
            "{SQLITE}journal_mode = \"delete\"\nsynchronous = \"full\"\n\
             [safety]\nsize = \"64MiB\"\nfault_budget = \"{budget}\"\nfaults = [\"write-error\", \"flush-error\", \"lost-write\"]\n"
        )
    };
    let mut all = measured(&world, &text("12s"));
    if count(&all[0].1, "lost") + count(&all[0].1, "wrong") == 0 {
        std::fs::remove_file(world.path().join("s.surefoot")).expect("it is there");
        all = measured(&world, &text("100s"));
    }
    let [(label, found)] = &all[..] else { panic!("one scenario: {all:#?}") };
    assert_honest(found);
    assert!(found["writes"].as_u64() > Some(20) && found["flushes"].as_u64() > Some(10), "{found:#}");
    assert!(count(found, "told") > 0, "{found:#}");
    let rows = found["rows"].as_array().expect("rows");
    let silent = |fault: &str| -> u64 {
        let its = rows.iter().filter(|row| row["fault"] == fault);
        its.filter_map(|row| row["counts"]["lost"].as_u64().or(row["counts"]["wrong"].as_u64())).sum()
    };
    assert!(silent("lost-write") > 0, "a database without checksums has no way to know: {found:#}");
    // Any case can be run again.
    let case = rows.iter().find_map(|row| row["examples"]["told"]["case"].as_str()).expect("an example");
    let said = world.surefoot(&["faults", "s.toml", "--scenario", label, "--replay", case]).status(0);
    said.says("the fault has struck").says("told: ");
    world.surefoot(&["report", "s.surefoot"]).status(0).says("on a failing disk");
    world
        .surefoot(&["plan", "s.toml"])
        .status(0)
        .says("faults:     write-error, flush-error, lost-write, of 1 scenarios");
}

/// PostgreSQL's manual, `data_sync_retry`: off, the default, "PostgreSQL will raise a PANIC-level error on failure to flush modified
/// data files to the file system. This causes the database server to crash". Of the WAL it does so in any case.
#[test]
fn postgres_ends_itself_when_a_flush_fails_and_comes_back() {
    let world = World::new();
    world.write("s.toml", SQLITE.replace("sqlite", "postgres") + "[safety]\nsize = \"256MiB\"\n");
    let case = ["faults", "s.toml", "--scenario", "oltp", "--replay", "flush-error@1/remount"];
    let said = world.surefoot(&case).status(0);
    let said =
        said.says("the fault has struck: a flush").says("PANIC:  could not fdatasync file").says("mounted again");
    let end = said.stdout.lines().last().expect("an end");
    // The client was refused, and the record may have reached the disk all the same.
    assert!(["stopped: ", "false failure: "].iter().any(|words| end.starts_with(words)), "{end}");
    world.assert_nothing_left();
}

/// Redis' source, `flushAppendOnlyFile`: where each write is flushed before it is acknowledged, a flush that fails ends the server,
/// because what was acknowledged could not be kept.
#[test]
fn redis_ends_itself_when_a_flush_of_always_fails() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.key-value]\n\
        [service.redis.settings]\nappendonly = \"yes\"\nappendfsync = \"always\"\nsave = \"\"\n[safety]\nsize = \"64MiB\"\n";
    world.write("s.toml", text);
    let case = ["faults", "s.toml", "--scenario", "key-value", "--replay", "flush-error@1/remount"];
    let said = world.surefoot(&case).status(0);
    let said =
        said.says("the fault has struck: a flush").says("Can't persist AOF for fsync error").says("mounted again");
    let end = said.stdout.lines().last().expect("an end");
    assert!(["stopped: ", "false failure: "].iter().any(|words| end.starts_with(words)), "{end}");
    world.assert_nothing_left();
}

/// mmap(2): a page that can't be read ends the process that touches it by SIGBUS. The load has a process of its own, and goes on.
#[test]
fn an_engine_that_maps_its_file_ends_by_sigbus_and_the_trial_does_not() {
    let world = World::new();
    let lmdb = "[workload.three-n-plus-one]\nengine = \"lmdb\"\nsync = \"commit\"\n[safety]\nsize = \"64MiB\"\n";
    world.write("s.toml", SQLITE.split("[workload").next().expect("a head").to_string() + lmdb);
    let replay = ["faults", "s.toml", "--scenario", "three-n-plus-one", "--replay", "read-error:always@1/go-on"];
    let said = world.surefoot(&replay).status(0);
    said.says("the program with the database ended with signal: 7 (SIGBUS)").says("connected again").says("stopped: ");
    let replay = ["faults", "s.toml", "--scenario", "three-n-plus-one", "--replay", "none@30/restart"];
    world.surefoot(&replay).status(0).says("whole, commits 1 2 3").says("nothing");
    world.assert_nothing_left();
}

/// The disk of a guest kernel is a thread of ours above the disk that fails. It had asked again for what failed, and the second flush after a
/// failed one is well: nothing was ever told.
#[test]
fn a_guest_kernel_is_told_of_what_fails_once() {
    let world = World::new();
    world.write("s.toml", SQLITE.replace("[storage]", "bench = \"guest\"\n[storage]") + "[safety]\nsize = \"64MiB\"\n");
    for case in ["write-error@3/go-on", "flush-error@3/go-on"] {
        let replay = ["faults", "s.toml", "--scenario", "oltp", "--replay", case];
        world.surefoot(&replay).status(0).says("the fault has struck").says("disk I/O error").says("told: commit 1");
    }
}

/// fsync(2): errors of write-back are reported to who flushes; "calling fsync() does not necessarily ensure that the entry in the directory
/// containing the file has also reached disk. For that an explicit fsync() on a file descriptor for the directory is also needed." So who
/// flushes both is told of whatever fails, and who flushes nothing can't be.
#[test]
fn who_flushes_file_and_folder_is_told_and_who_flushes_nothing_is_not() {
    let world = World::new();
    let found = |files: &str| {
        let text = format!(
            "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.tree]\n[safety]\nload = \"files\"\n\
             files = \"{files}\"\nsize = \"64MiB\"\nfault_budget = \"8s\"\nfaults = [\"write-error\", \"flush-error\"]\n"
        );
        let all = measured(&world, &text);
        let found = all[0].1.clone();
        assert_honest(&found);
        std::fs::remove_file(world.path().join("s.surefoot")).expect("it was written");
        found
    };
    let silent = |found: &Value| count(found, "lost") + count(found, "wrong");
    let flushed = found("rename-fsync-directory");
    assert!(count(&flushed, "told") > 0 && silent(&flushed) == 0, "{flushed:#}");
    let unflushed = found("rename");
    assert!(silent(&unflushed) > 0, "{unflushed:#}");
}

/// A client that takes every answer for a yes, as an engine does that ignores a failed flush. A bug that is there must be found within
/// a minute.
#[test]
fn a_planted_bug_is_found() {
    let world = World::new();
    let measured = |acknowledge: &str| {
        let mut spec = trial(json!({
            "engine": "sqlite", "journal_mode": "delete", "synchronous": "extra", "connections": 1, "acknowledge": acknowledge,
        }));
        let failures = ["write-error", "flush-error"].map(String::from).to_vec();
        spec.faults = Some(Faults {
            failures,
            budget_seconds: 8.0,
            blocks: None,
            delay_seconds: 0.02,
            stall_seconds: 1.0,
            replay: None,
        });
        found(&world, &spec, "faults", &|_| {})
    };
    let honest = measured("after-commit");
    assert_honest(&honest);
    assert_eq!(count(&honest, "lost"), 0, "{honest:#}");
    let planted = measured("always");
    assert_honest(&planted);
    assert!(count(&planted, "lost") > 0, "{planted:#}");
    world.assert_nothing_left();
}

#[test]
fn what_can_not_be_measured_is_said() {
    let world = World::new();
    let refused = |text: &str, reason: &str| {
        world.write("s.toml", text);
        world.surefoot(&["faults", "s.toml"]).status(3).says(reason);
        std::fs::remove_file(world.path().join("s.surefoot")).expect("it was written");
    };
    let tree = SQLITE.replace("[workload.oltp]\nengine = \"sqlite\"", "[workload.tree]");
    refused(&tree, "nobody knows which commits must be there; load = \"files\" measures");
    let case = ["faults", "s.toml", "--scenario", "tree", "--replay", "flush-error@1/restart"];
    world.surefoot(&case).status(2).says("`tree` has no cases: of tree on none nobody knows");
    let suite = SQLITE.replace("[workload.oltp]", "[workload.sql-bench]");
    refused(&suite, "a study of `oltp` on sqlite with the same settings measures what these lose");
    refused(
        &format!("{SQLITE}[safety]\nfault_blocks = [\"jurnal\"]\n"),
        "no request of this load is of a block `jurnal`",
    );
    world.write("s.toml", format!("{SQLITE}[safety]\nfaults = [\"rust\"]\n"));
    world.surefoot(&["faults", "s.toml"]).status(2).says("can't have \"rust\"");
    world.write("s.toml", SQLITE);
    let replay = ["faults", "s.toml", "--scenario", "x", "--replay"];
    let beside = [&replay[..], &["flush-error@1/remount", "--results", "x.surefoot"]].concat();
    world.surefoot(&beside).status(2).says("`--results` has no effect with `--replay`");
    let said = world.surefoot(&[&replay[..], &["flush-error@1"]].concat()).status(2);
    said.says("names no case").says("the HTML report names cases");
    world.surefoot(&[&replay[..], &["flush-error@1/restart"]].concat()).status(2).says("no scenario `x`");
}
