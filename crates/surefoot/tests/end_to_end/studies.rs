//! Whole studies on real filesystems, from the file to the report.

use crate::guest::{USER, as_ordinary_user, of_ordinary_user};
use crate::harness::{World, said, small_study};
use std::collections::BTreeSet;

fn trials(world: &World, results: &str) -> Vec<serde_json::Value> {
    let json = world.report(results);
    json["ledger"]["trials"].as_array().expect("trials").clone()
}

#[test]
fn a_study_of_three_filesystems_ends_in_an_answer() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4", "xfs", "btrfs"], 2));
    let said = world.surefoot(&["run", "small.toml"]).status(0);
    assert!(said.stdout.contains("ext4") && said.stdout.contains("xfs"), "{}", said.stdout);
    world.assert_nothing_left();
    // Three filesystems and the control, in two rounds.
    let trials = trials(&world, "small.surefoot");
    assert_eq!(trials.len(), 8);
    assert!(trials.iter().all(|trial| trial["state"] == "finished"), "{trials:#?}");
    let csv = world.surefoot(&["report", "small.surefoot", "--csv", "-"]).status(0).stdout;
    assert!(csv.lines().count() > 8, "{csv}");
    assert_paper_has_all(&world, &trials, &csv);
    let html = std::fs::read_to_string(world.path().join("small.html")).expect("the report");
    assert!(html.contains("<svg") && html.contains("Which is faster?"));
    let markdown = world.surefoot(&["report", "small.surefoot", "--markdown"]).status(0).stdout;
    assert!(markdown.starts_with("# ") && markdown.contains("| --: | --- |"), "{markdown}");
    let bencher = world.surefoot(&["report", "small.surefoot", "--format", "bencher"]).status(0).json();
    assert!(bencher["ext4"].as_object().is_some_and(|metrics| metrics.len() > 10), "{bencher}");
    for metric in ["transactions_per_second", "latency_microseconds_p99"] {
        assert!(bencher["xfs"][metric]["value"].as_f64().is_some_and(|value| value > 0.0), "{bencher}");
    }
    let named = |format: &str| world.surefoot(&["report", "small.surefoot", "--format", format]).status(0).json();
    let [bigger, smaller] = ["github-action-benchmark", "github-action-benchmark-smaller"].map(named);
    let has = |figures: &serde_json::Value, name: &str| {
        figures.as_array().is_some_and(|all| all.iter().any(|one| one["name"] == name))
    };
    assert!(
        has(&bigger, "oltp · ext4 · transactions_per_second")
            && !has(&smaller, "oltp · ext4 · transactions_per_second")
    );
    assert!(has(&smaller, "oltp · ext4 · latency_microseconds_p99"), "{smaller}");
    let openmetrics = world.surefoot(&["report", "small.surefoot", "--format", "openmetrics"]).status(0).stdout;
    assert!(openmetrics.contains("storage_filesystem=\"ext4\"") && openmetrics.ends_with("# EOF\n"), "{openmetrics}");
    world.surefoot(&["status"]).status(0).says("8 trials finished");
    let control = "ext4 (control)";
    let plan = world.surefoot(&["plan", "small.toml"]).status(0);
    assert!(plan.stdout.contains(control), "{}", plan.stdout);
    // The same command again has nothing left to do.
    let again = world.surefoot(&["run", "small.toml"]).status(0);
    assert!(!again.stderr.contains("trial 1/"), "{}", again.stderr);
    world.surefoot(&["clean"]).status(0).says("removed");
    assert!(!world.path().join("surefoot-work").exists());
    assert!(world.path().join("small.surefoot").exists(), "clean never removes results");
}

/// The study can be done again from the PDF alone: file, seeds, order, commands, and what was measured.
fn assert_paper_has_all(world: &World, trials: &[serde_json::Value], csv: &str) {
    world.surefoot(&["report", "small.surefoot", "--pdf", "small.pdf"]).status(0).says("small.pdf");
    let poppler = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).current_dir(world.path()).output();
        String::from_utf8_lossy(&output.expect("it is part of poppler-utils").stdout).into_owned()
    };
    let text = poppler("pdftotext", &["-layout", "small.pdf", "-"]);
    for trial in trials {
        let seed = trial["seed"].to_string();
        assert!(text.contains(seed.trim_matches('"')), "seed {seed} is not in\n{text}");
    }
    let study = std::fs::read_to_string(world.path().join("small.toml")).expect("the study");
    let commands = world.surefoot(&["report", "small.surefoot", "--reproduce", "xfs"]).status(0).stdout;
    let mkfs = commands.lines().find(|line| line.starts_with("mkfs")).expect("a mkfs");
    for line in study.lines().map(str::trim).filter(|line| !line.is_empty()).chain(mkfs.split_whitespace()) {
        assert!(text.contains(line), "`{line}` is not in\n{text}");
    }
    std::fs::create_dir(world.path().join("attached")).expect("a folder");
    poppler("pdfdetach", &["-saveall", "small.pdf", "-o", "attached"]);
    let attached = |name: &str| std::fs::read_to_string(world.path().join("attached").join(name)).expect("attached");
    assert_eq!((attached("runs.csv"), attached("study.toml")), (csv.to_string(), study));
}

#[test]
fn reproduce_prints_commands_a_shell_runs() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    world.surefoot(&["run", "small.toml", "--set", "design.control=false"]).status(0);
    let commands = world.surefoot(&["report", "small.surefoot", "--reproduce", "ext4"]).status(0).stdout;
    // They are run as they are, in a mount namespace of their own.
    let script = format!("{commands}\ngrep ' /mnt ' /proc/self/mounts\numount /mnt\nlosetup -d \"$DEVICE\"\n");
    let said = world.shell(&script).status(0);
    assert!(said.stdout.contains(" /mnt ext4 "), "{said:?}");
    world.assert_nothing_left();
}

#[test]
fn two_results_compare() {
    let world = World::new();
    for (results, bytes) in ["a.surefoot", "b.surefoot"].iter().zip(crate::history::measured()) {
        world.write(results, bytes);
    }
    world
        .surefoot(&["compare", "a.surefoot", "b.surefoot"])
        .status(0)
        .says("ext4")
        .says("more figures of other metrics");
    let json = world.surefoot(&["compare", "a.surefoot", "b.surefoot", "--json"]).status(0).json();
    assert!(json["workloads"][0]["figures"].as_array().expect("a list").len() > 3, "{json}");
    // As if the second had been measured in a guest kernel.
    let ledger = rusqlite::Connection::open(world.path().join("b.surefoot")).expect("a results file");
    let settings = r#"json_set(json, '$.settings.bench', 'guest', '$.settings.guest', json('{"memory":1073741824}'))"#;
    ledger.execute(&format!("UPDATE scenario SET json = {settings}, crc = NULL"), []).expect("its schema");
    let fact =
        "INSERT INTO note (trial, kind, name, value) SELECT id, 'fact', 'guest_kernel', 'Linux 6.1.176' FROM trial";
    ledger.execute(fact, []).expect("its schema");
    drop(ledger);
    let refused = world.surefoot(&["compare", "a.surefoot", "b.surefoot"]).status(2);
    expect_test::expect![[r#"
        error: figures of different benches are not compared: of `ext4`, A ran on the host's kernel; B ran in a guest kernel: Linux 6.1.176, 1 GiB of memory
        hint: run both on the same bench, with the same guest kernel and memory; or make what differs, such as `bench` or `guest.memory`, a factor of one study
    "#]].assert_eq(&refused.stderr);
    assert_eq!(refused.stdout, "");
    world.surefoot(&["compare", "b.surefoot", "b.surefoot"]).status(0).says("in a guest kernel: Linux 6.1.176, 1 GiB");
}

#[test]
fn a_trial_whose_processes_the_kernel_ended_has_failed() {
    let world = World::new();
    // `tail` keeps what has no line's end, and the shell goes on without it.
    let load = "[workload.command]\ncommand = [\"sh\", \"-c\", \"tail /dev/zero; echo speed 1\"]\n\
                metrics = { speed = \"regex:speed ([0-9]+); unit 1/s; more\" }\n";
    world.write(
        "small.toml",
        format!(
            "name = \"small\"\nquestion = \"?\"\nmemory = \"128MiB\"\n[storage]\nsize = \"64MiB\"\n{load}\
             [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
        ),
    );
    world.surefoot(&["run", "small.toml"]).status(3);
    let failure = world.report("small.surefoot")["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("out of memory: 1 of the trial's processes was ended by the kernel"), "{failure}");
    assert!(failure.contains("as `memory` limits it to 128MiB"), "{failure}");
    world.assert_nothing_left();
}

#[test]
fn a_memory_limit_holds_and_is_taken_away() {
    let world = World::new();
    let study = small_study(&["ext4"], 1).replace("[factors]", "memory = \"256MiB\"\n[factors]");
    world.write("small.toml", study);
    world.surefoot(&["run", "small.toml", "--set", "design.control=false"]).status(0);
    world.assert_nothing_left();
    let work = sandbox::work::Work::open(&world.path().join("surefoot-work/small")).expect("its work folder");
    assert_eq!(sandbox::memory_limit::remove_leftovers(&work), 0, "the trial's cgroup went with it");
    // What a killed run left goes when the next command of the study starts, and nobody else's.
    let left = sandbox::memory_limit::MemoryLimit::new(1 << 28, &work).expect("a memory controller");
    let folder = left.folder().to_path_buf();
    std::mem::forget(left);
    let other = sandbox::work::Work::open(&world.path().join("other")).expect("another work folder");
    let others = sandbox::memory_limit::MemoryLimit::new(1 << 28, &other).expect("a memory controller");
    assert!(folder.exists());
    world.surefoot(&["run", "small.toml", "--set", "design.control=false"]).status(0);
    assert!(!folder.exists() && others.folder().exists());
    world.surefoot(&["clean"]).status(0);
    assert!(others.folder().exists());
}

#[test]
fn a_directory_needs_no_root() {
    let (world, binary) = of_ordinary_user();
    let folder = world.path().join("home");
    std::fs::create_dir(&folder).expect("a folder");
    std::os::unix::fs::chown(&folder, Some(USER), Some(USER)).expect("chown");
    let study = format!(
        "name = \"home\"\nquestion = \"?\"\n[factors]\n\"workload.oltp.threads\" = [1, 2]\n[storage]\ndevice = \"dir\"\n\
         path = {folder:?}\n[workload.oltp]\ntable_size = 1000\ntime = \"200ms\"\n[design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\n\
         warm_up_runs = 0\ncontrol = false\n"
    );
    world.write("home.toml", study);
    let cold = ["run", "home.toml", "--set", "design.cache=cold"];
    as_ordinary_user(&world, &binary, &cold).status(5).says("only root may drop the page cache");
    as_ordinary_user(&world, &binary, &["run", "home.toml"]).status(0).says("home.surefoot");
    assert_eq!(folder.read_dir().expect("home").count(), 0, "the trial's folder is gone");
}

#[test]
fn any_program_joins_a_study() {
    let world = World::new();
    let study = r#"name = "any"
question = "How fast does dd write?"
[factors]
"storage.filesystem" = ["ext4", "ext2"]
[storage]
size = "64MiB"
[workload.command]
command = ["sh", "-c", "dd if=/dev/zero of={data}/file bs=64k count=100 conv=fsync 2>&1 && echo speed 123.5"]
metrics = { speed = "regex:speed ([0-9.]+); unit MB/s; more" }
[design]
probe = "0s"
rounds_min = 1
rounds_max = 1
control = false
warm_up_runs = 0
"#;
    world.write("any.toml", study);
    world.surefoot(&["run", "any.toml"]).status(0);
    let csv = world.surefoot(&["report", "any.surefoot", "--csv", "-"]).stdout;
    assert!(csv.contains("123.5"), "{csv}");
}

/// As of a log that its server still writes: here a trial of the study itself changes what its neighbour reads.
#[test]
fn no_trial_reads_another_file_than_the_one_before_it() {
    let world = World::new();
    world.write("schema.sql", "CREATE TABLE t (a int);");
    let script = world.write("look.sql", "INSERT INTO t VALUES (1);\n");
    let study = format!(
        "name = \"changed\"\nquestion = \"?\"\n[factors]\n\"storage.filesystem\" = [\"ext4\"]\n[storage]\nsize = \"64MiB\"\n\
         [workload.sql]\nengine = \"sqlite\"\nschema = \"schema.sql\"\nscripts = [\"look.sql\"]\ntime = \"100ms\"\n\
         [workload.command]\ncommand = [\"sh\", \"-c\", \"echo '-- more' >> {} && echo speed 7\"]\n\
         metrics = {{ speed = \"regex:speed ([0-9]+); unit 1/s; more\" }}\n\
         [design]\nprobe = \"0s\"\nrounds_min = 2\nrounds_max = 2\nwarm_up_runs = 0\ncontrol = false\n",
        script.display()
    );
    world.write("changed.toml", study);
    let said = world.surefoot(&["run", "changed.toml"]).status(2);
    said.says("look.sql is not what it was when the session began").says("name the copy in the study");
    world.surefoot(&["run", "changed.toml"]).status(2).says("input look.sql was ");
    // Of a fleet, who goes on with another file measures for nothing.
    let member = world.surefoot(&["run", "changed.toml", "--member", "1/2", "--results", "fleet"]).status(2);
    let member = member.says("look.sql is not what it was").says("a merge refuses members that read other files");
    assert!(!member.stderr.contains("--accept-changes"), "{}", member.stderr);
    world.assert_nothing_left();
}

/// An upgrade while a study runs, which a trial plays here: trials of two programs had been compared as those of one.
#[test]
fn no_trial_is_of_another_program_than_the_one_before_it() {
    let world = World::new();
    let program = world.copy_of_surefoot();
    let (path, folder) = (program.display(), world.path().display());
    let study = format!(
        "name = \"upgraded\"\n[storage]\ndevice = \"dir\"\npath = \"{folder}\"\n\
         [workload.command]\ncommand = [\"sh\", \"-c\", \"cp {path} {path}.new && mv {path}.new {path} && echo speed 7\"]\n\
         metrics = {{ speed = \"regex:speed ([0-9]+); unit 1/s; more\" }}\n\
         [design]\nprobe = \"0s\"\nrounds_min = 2\nrounds_max = 2\nwarm_up_runs = 0\ncontrol = false\n"
    );
    world.write("upgraded.toml", study);
    let run = || {
        let mut command = std::process::Command::new(&program);
        said(&command.args(["run", "upgraded.toml"]).current_dir(world.path()).output().expect("it starts"))
    };
    run().status(1).says("was replaced or removed while the study ran").says("the same command goes on");
    run().status(0);
    let trials = trials(&world, "upgraded.surefoot");
    let states: Vec<&str> = trials.iter().filter_map(|trial| trial["state"].as_str()).collect();
    assert_eq!(states, ["finished", "interrupted", "finished"]);
    world.assert_nothing_left();
}

/// The table of each workload, at its smallest.
const SMALLEST: &[(&str, &str)] = &[
    ("oltp", "table_size = 1000\nthreads = 2\ntime = \"200ms\""),
    ("tpcb", "engine = \"postgres\"\nscale = 1\nthreads = 2\ntime = \"200ms\""),
    ("sql", "engine = \"sqlite\"\nschema = \"schema.sql\"\nscripts = [\"look.sql\"]\ntime = \"200ms\""),
    ("sql-replay", "log = \"server.log\""),
    ("orders", "engine = \"sqlite\"\ntime = \"200ms\""),
    ("key-value", "engine = \"sqlite\"\nrecords = 1000\nthreads = 2\ntime = \"200ms\""),
    ("rocksdb", "benchmark = \"readrandomwriterandom\"\nkeys = 1000\ntime = \"1s\""),
    ("three-n-plus-one", "engine = \"sqlite\"\nto = 2000\nstreams = 4\nblock = 100\nwords = true"),
    ("io-thrash", "ios = 2000\njournal = \"before\"\nsync = \"commit\""),
    ("tree", "files = 300"),
    ("maildir", "mailboxes = 8\nmessages = 4\ntime = \"200ms\""),
    ("block-io", "size = \"16MiB\"\ntime = \"200ms\""),
    ("http-load", "files = 10\nconnections = 2\ntime = \"200ms\""),
    ("http-replay", "log = \"site.log\"\nconnections = 2"),
    (
        "find-rate",
        "files = 10\nconnections = 2\nrate_min = 50\nrate_max = 100\nprobe_time = \"200ms\"\nlatency_max = \"10s\"\nprecision = \"100%\"",
    ),
    ("sql-bench", "engine = \"sqlite\"\nscale = 0.0001"),
    ("compile", "files = 3"),
    ("crypto", "algorithms = [\"ed25519\"]\ntime = \"1s\""),
    ("command", "command = [\"echo\", \"speed 7\"]\nmetrics = { speed = \"regex:speed ([0-9]+); unit 1/s; more\" }"),
    ("null", "time = \"50ms\""),
];

#[test]
fn every_workload_runs_on_a_real_filesystem() {
    let kinds: BTreeSet<&str> = workloads::kinds().iter().map(|kind| kind.name).collect();
    assert_eq!(kinds, SMALLEST.iter().map(|(name, _)| *name).collect(), "each kind has its table here");
    let world = World::new();
    world.write(
        "site.log",
        "::1 - - [21/Nov/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 3000 \"-\" \"m\"\n".repeat(20),
    );
    world.write("schema.sql", "CREATE TABLE t (a int);");
    world.write("server.log", "2026-11-24 10:00:00.001 UTC [11] LOG:  statement: CREATE TABLE t (a int)\n");
    world.write("look.sql", "INSERT INTO t VALUES (1);");
    let tables: String = SMALLEST.iter().map(|(name, table)| format!("[workload.{name}]\n{table}\n")).collect();
    let study = format!(
        "name = \"all\"\nquestion = \"Do they all run?\"\n[factors]\n\"storage.filesystem\" = [\"xfs\"]\n\
         [storage]\nsize = \"512MiB\"\n[service.nginx]\n[service.postgres]\n{tables}\
         [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    );
    world.write("all.toml", study);
    world.surefoot(&["run", "all.toml"]).status(0);
    world.assert_nothing_left();
    let json = world.report("all.surefoot");
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), SMALLEST.len(), "a run of each");
    let scenarios = json["ledger"]["scenarios"].as_array().expect("scenarios");
    assert!(scenarios.iter().all(|scenario| scenario["baseline"] == true), "each workload has a baseline of its own");
    // The 3n+1 values of 1 to 2,000 by four processes: longest and highest by plain computation, and the law of its counts.
    let steps =
        runs.iter().map(|run| &run["metrics"]).find(|metrics| metrics["longest"].is_number()).expect("3n+1 ran");
    assert_eq!((steps["longest"].as_f64(), steps["highest"].as_f64()), (Some(181.0), Some(1_276_936.0)));
    assert_eq!(
        steps["reads"].as_f64().zip(steps["updates"].as_f64()).map(|(reads, updates)| reads - updates),
        Some(2000.0)
    );
}

#[test]
fn rocksdb_says_what_it_flushed_and_is_refused_before_anything_is_made() {
    let world = World::on_disk();
    let study = |keys: u32| {
        format!(
            "name = \"r\"\nquestion = \"?\"\n[factors]\n\"storage.filesystem\" = [\"ext4\", \"btrfs\"]\n\
             \"workload.rocksdb.benchmark\" = [\"fillsync\", \"overwrite\"]\n[storage]\nsize = \"320MiB\"\n\
             [workload.rocksdb]\nkeys = {keys}\nthreads = 2\ntime = \"1s\"\nwrite_buffer_size = \"1MiB\"\n\
             [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n\
             [[table]]\ntitle = \"RocksDB\"\nworkload = \"rocksdb\"\nmetric = \"operations_per_second\"\n\
             rows = \"workload.rocksdb.benchmark\"\ncolumns = \"storage.filesystem\"\n"
        )
    };
    world.write("r.toml", study(999));
    world.surefoot(&["run", "r.toml"]).status(2).says("`fillsync` takes a thousandth of them");
    assert!(!world.path().join("surefoot-work").exists());
    world.write("r.toml", study(50_000));
    world.surefoot(&["run", "r.toml"]).status(0);
    world.assert_nothing_left();
    let json = world.report("r.surefoot");
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4);
    for metrics in runs.iter().map(|run| &run["metrics"]) {
        let value = |name: &str| metrics[name].as_f64().unwrap_or_else(|| panic!("no {name} in {metrics}"));
        let (operations, syncs) = (value("operations_per_second"), value("log_syncs"));
        assert!(operations > 0.0 && value("write_latency_microseconds_p99") >= value("write_latency_microseconds_p50"));
        if syncs > 0.0 {
            // RocksDB's own count is held against the device's: each flush of the log is at least one there.
            assert!(value("device_flushes") >= 0.9 * syncs, "{metrics}");
        } else {
            assert!(value("device_flushes") < operations / 100.0, "{metrics}");
        }
    }
    let text = world.surefoot(&["report", "r.surefoot", "--full"]).status(0).stdout;
    let says = |words: &str| assert!(text.contains(words), "no {words:?} in\n{text}");
    ["loses seconds", "keeps all", "RocksDB, 1/s"].into_iter().for_each(says);
}

#[test]
fn sqlite_holds_all_insertions_of_the_published_row() {
    let world = World::new();
    let run = ["run", "phoronix-filesystems", "--only", "8 copies", "--rounds", "1", "--set", "filesystem=ext4"];
    // The study's image is of 3 GiB, for the other rows.
    let less = ["design.control=false", "design.probe=0s", "storage.size=128MiB"].map(|change| ["--set", change]);
    world.surefoot(&[&run[..], &less.concat()].concat()).status(0);
    let json = world.report("phoronix-filesystems.surefoot");
    let metrics = &json["ledger"]["runs"][0]["metrics"];
    // 1,500 transactions of each of eight copies, each with a flush that may be another's, too.
    assert!(metrics["device_flushes"].as_f64() > Some(1500.0), "{metrics}");
}

/// `sqlite3` takes a text in double quotes for the name of a column since its version 3.41, and had refused all insertions.
#[test]
fn the_insertions_of_the_published_row_are_sql_of_newer_versions_too() {
    let study = include_str!("../../../../studies/phoronix-filesystems.toml");
    let line = study.lines().find_map(|line| line.strip_prefix("prepare = ")).expect("it makes its insertions");
    let words: Vec<String> = serde_json::from_str(line).expect("a list of texts");
    let folder = tempfile::tempdir().expect("a folder");
    let script = words[2].replace("{data}", folder.path().to_str().expect("a plain name"));
    let made = std::process::Command::new(&words[0]).args([&words[1], &script]).status().expect("it starts");
    assert!(made.success());
    let insertions = std::fs::File::open(folder.path().join("insertions")).expect("they are made");
    let table = "CREATE TABLE pts1 (i, dt, f1, f2)";
    let words = ["-bail", "-cmd", ".dbconfig dqs_dml off", "-cmd", table, ":memory:"];
    let taken = std::process::Command::new("sqlite3").args(words).stdin(insertions).output().expect("it is installed");
    assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
}
