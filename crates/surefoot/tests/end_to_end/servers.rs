//! Real database servers on real filesystems: they run, say what is in effect, fail with their own words, and leave nothing.

use crate::guest::{USER, as_ordinary_user, of_ordinary_user};
use crate::harness::{World, command_line, descendants, said, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Command;
use std::time::Duration;

fn study(service: &str, factors: &str, more: &str, oltp: &str, design: &str) -> String {
    format!(
        "name = \"s\"\nquestion = \"?\"\n[factors]\n{factors}\n[storage]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n{more}\n\
         [workload.oltp]\nengine = \"{service}\"\ntable_size = 1000\nthreads = 2\ntime = \"300ms\"\n{oltp}\n\
         [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n{design}\n"
    )
}

/// Its default, 96 MiB, is written for the template and again for each trial, which change little.
const SMALL_LOG: &str = "[service.mariadb.settings]\ninnodb_log_file_size = \"4M\"\n";

fn steps(trial: &serde_json::Value) -> Vec<String> {
    let steps = trial["steps"].as_array().expect("steps").iter();
    steps.map(|step| step[0].as_str().unwrap_or_default().to_string()).collect()
}

#[test]
fn postgres_runs_with_its_log_on_a_volume_of_its_own() {
    let world = World::new();
    let factors = "\"service.postgres.settings.shared_buffers\" = [\"16MB\", \"32MB\"]";
    let volume = "[storage.wal]\nfilesystem = \"xfs\"\nsize = \"320MiB\"";
    // A number of transactions, not a time: on a slow disk a third of a second holds a few.
    let hundred = "transactions = 100";
    let json = world.run(study("postgres", factors, volume, hundred, "runs = 2").replace("\"300ms\"", "\"0s\""), 0);
    let trials = json["ledger"]["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2);
    for (trial, buffers) in trials.iter().zip(["16MB", "32MB"]) {
        let shuffled = trial["scenario"] == format!("shared_buffers={buffers}");
        let buffers = if shuffled {
            buffers
        } else if buffers == "16MB" {
            "32MB"
        } else {
            "16MB"
        };
        assert_eq!(trial["facts"]["postgres.shared_buffers"], buffers);
        assert_eq!(trial["facts"]["wal.filesystem"], "xfs");
        let made = ["postgres.data_checksums", "postgres.wal_segment_size"].map(|name| &trial["facts"][name]);
        assert_eq!(made, ["off", "16MB"]);
        assert!(trial["commands"].to_string().contains("ln -s"), "the log's volume is in the commands");
    }
    // The second trial starts from the first one's template.
    assert!(steps(&trials[0]).contains(&"build template".to_string()));
    assert!(
        !steps(&trials[1]).contains(&"build template".to_string())
            && steps(&trials[1]).contains(&"copy template".to_string())
    );
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    for run in runs {
        // Commits are flushed to the log's volume, and nothing else is.
        assert!(run["metrics"]["device_log_flushes"].as_f64() > run["metrics"]["device_flushes"].as_f64(), "{run}");
        assert!(run["metrics"]["log_bytes_per_transaction"].as_f64() > Some(200.0), "{run}");
        assert!(run["metrics"]["others_cpu_seconds"].as_f64() > Some(0.0), "the server's own time: {run}");
    }
    world.assert_nothing_left();
}

#[test]
fn mariadb_runs_and_loads_anew_when_asked() {
    let world = World::on_disk();
    let factors = "\"service.mariadb.settings.innodb_flush_log_at_trx_commit\" = [1, 2]";
    world.write("s.toml", study("mariadb", factors, "[service.mariadb]\ndata = \"load\"\nbinary_log = true", "", ""));
    // Servers that are up at the same time would find each other's temporary tables in a shared /tmp.
    let mut with_tmp_read_only = Command::new("unshare");
    with_tmp_read_only.args([
        "--mount",
        "sh",
        "-c",
        "mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec \"$@\"",
        "sh",
    ]);
    with_tmp_read_only.args([env!("CARGO_BIN_EXE_surefoot"), "run", "s.toml"]).current_dir(world.path());
    let said = said(&with_tmp_read_only.output().expect("unshare starts")).status(0);
    assert!(said.stdout.contains("seconds"), "2 may lose the last seconds, and the report says so: {}", said.stdout);
    let json = world.report("s.surefoot");
    assert!(steps(&json["ledger"]["trials"][0]).contains(&"load".to_string()));
    assert!(json["ledger"]["runs"][0]["metrics"]["load_seconds"].as_f64() > Some(0.0));
    assert_eq!(json["ledger"]["trials"][0]["facts"]["mariadb.log_bin"], "ON");
    world.assert_nothing_left();
}

const MIXES: &str = "read-write read-only point-select write-only update-index update-non-index insert delete \
                     select-random-points select-random-ranges";

/// Those that are prepared on the one server go as text on the other, and next to each comes one that goes the other way: any two of
/// server, mix and way meet. On SQLite each mix goes both ways (`crates/workloads/src/oltp/tests.rs`).
#[test]
fn every_mix_runs_on_both_servers() {
    let world = World::new();
    for (service, own, text) in [("postgres", "", 1), ("mariadb", SMALL_LOG, 0)] {
        let level = |(index, mix): (usize, &str)| {
            let prepared = index % 2 != text;
            format!("{mix} = {{ workload.oltp.mix = \"{mix}\", workload.oltp.prepared = {prepared} }}\n")
        };
        let factors = String::from("[factors.mix]\n") + &MIXES.split(' ').enumerate().map(level).collect::<String>();
        world.write("s.toml", study(service, &factors, own, "transactions = 40", "").replace("\"300ms\"", "\"0s\""));
        let results = format!("{service}.surefoot");
        world.surefoot(&["run", "s.toml", "--results", &results]).status(0);
        let json = world.report(&results);
        let runs = json["ledger"]["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 10);
        assert!(runs.iter().all(|run| run["metrics"]["transactions"] == 40.0));
    }
    world.assert_nothing_left();
}

#[test]
fn tpcb_adds_up_on_both_servers() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[factors]\n\"workload.tpcb.engine\" = [\"postgres\", \"mariadb\"]\n\
                \"workload.tpcb.mix\" = [\"tpcb-like\", \"simple-update\", \"select-only\"]\n\
                [storage]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n[workload.tpcb]\nthreads = 4\ntime = \"60s\"\ntransactions = 40\n\
                [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\nruns = 2\ncontrol = false\n";
    let runs = world.run(text, 0)["ledger"]["runs"].as_array().expect("runs").clone();
    assert_eq!(runs.len(), 12);
    assert!(runs.iter().all(|run| run["metrics"]["transactions"] == 40.0));
    world.assert_nothing_left();
}

/// Redis by each promise of its append-only file, pipelined and rewritten meanwhile, and each mix in turn; the trial itself checks all
/// values, and reads all records at its end.
#[test]
fn redis_takes_every_mix_and_says_its_settings() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[factors]\n\"service.redis.settings.appendfsync\" = [\"always\", \"everysec\"]\n\
                \"workload.key-value.mix\" = [\"a\", \"d\", \"e\", \"f\"]\n[storage]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n\
                [service.redis.settings]\nappendonly = true\nmaxmemory = \"300mb\"\n\
                [workload.key-value]\nrecords = 2000\nthreads = 4\npipeline = 8\ntime = \"500ms\"\naof_rewrite = \"100ms\"\n\
                [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\nruns = 2\ncontrol = false\n";
    let json = world.run(text, 0);
    for trial in json["ledger"]["trials"].as_array().expect("trials") {
        let facts = &trial["facts"];
        assert_eq!((&facts["redis.appendonly"], &facts["redis.maxmemory"]), (&"yes".into(), &"314572800".into()));
        let asked = if trial["scenario"].to_string().contains("always") { "always" } else { "everysec" };
        assert_eq!(facts["redis.appendfsync"], asked);
    }
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert!(runs.len() >= 16, "{runs:?}");
    for run in runs {
        let figure = |name: &str| run["metrics"][name].as_f64().expect(name);
        let kinds = ["reads", "updates", "inserts", "scans", "read_modify_writes"].map(figure);
        assert_eq!(figure("operations"), kinds.iter().sum::<f64>());
        assert!(figure("operations") > 0.0 && figure("aof_rewrite_seconds") > 0.0, "{run}");
    }
    world.assert_nothing_left();
}

/// As hardening guides set it for root: no server could read its own configuration, and PostgreSQL came up after no
/// power cut.
#[test]
fn a_server_reads_its_configuration_whatever_root_hides_from_others() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[factors]\n\"workload.key-value.threads\" = [1, 2]\n\
                [storage]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n\
                [workload.key-value]\nengine = \"redis\"\nrecords = 200\ntime = \"200ms\"\n\
                [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n";
    world.write("s.toml", text);
    world.shell(&format!("umask 027; {} run s.toml --quiet", env!("CARGO_BIN_EXE_surefoot"))).status(0);
    assert_eq!(world.report("s.surefoot")["ledger"]["trials"][0]["state"], "finished");
    world.assert_nothing_left();
}

/// etcd through its own interface, its log on a volume of its own; the trial itself checks all values, and reads all records at its end.
#[test]
fn etcd_takes_every_mix_with_its_log_elsewhere() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[factors]\n\"workload.key-value.mix\" = [\"a\", \"d\", \"e\", \"f\"]\n\
                [storage]\nfilesystem = \"xfs\"\nsize = \"320MiB\"\n[storage.wal]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n\
                [service.etcd.settings]\nsnapshot-count = 500\n\
                [workload.key-value]\nengine = \"etcd\"\nrecords = 300\nthreads = 4\ntime = \"500ms\"\n\
                [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\nruns = 2\ncontrol = false\n";
    let runs = world.run(text, 0)["ledger"]["runs"].as_array().expect("runs").clone();
    assert_eq!(runs.len(), 8, "{runs:?}");
    for run in &runs {
        let figure = |name: &str| run["metrics"][name].as_f64().expect(name);
        let kinds = ["reads", "updates", "inserts", "scans", "read_modify_writes"].map(figure);
        assert_eq!(figure("operations"), kinds.iter().sum::<f64>());
        assert!(figure("operations") > 0.0, "{run}");
    }
    world.write("wrong.toml", text.replace("snapshot-count", "no-such-option"));
    let wrong = world
        .surefoot(&["run", "wrong.toml", "--results", "wrong.surefoot", "--set", "workload.key-value.mix=a"])
        .status(3);
    assert!((wrong.stdout + &wrong.stderr).contains("no-such-option"));
    world.assert_nothing_left();
}

/// The trial itself checks all values.
#[test]
fn key_values_are_right_on_servers_in_sql_and_in_an_open_loop() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[factors]\n\"workload.key-value.engine\" = [\"redis\", \"postgres\", \"mariadb\"]\n\
                \"workload.key-value.mix\" = [\"a\", \"e\"]\n[storage]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n\
                [workload.key-value]\nrecords = 1000\nthreads = 4\nrate = 200\ntime = \"1s\"\n\
                [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n";
    let text = text.replace("[workload.key-value]", &format!("{SMALL_LOG}[workload.key-value]"));
    let runs = world.run(text, 0)["ledger"]["runs"].as_array().expect("runs").clone();
    assert_eq!(runs.len(), 6, "{runs:?}");
    for run in &runs {
        let figure = |name: &str| run["metrics"][name].as_f64().expect(name);
        assert_eq!(figure("operations") + figure("missed_operations"), 200.0, "{run}");
        assert!(figure("operations") > 0.0, "{run}");
    }
    world.assert_nothing_left();
}

/// The trial itself asks the standard's conditions and counts the orders; connections meet at one warehouse.
#[test]
fn orders_keep_their_conditions_on_both_servers() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[factors]\n\"workload.orders.engine\" = [\"postgres\", \"mariadb\"]\n\
                [storage]\nfilesystem = \"xfs\"\nsize = \"512MiB\"\n[service.postgres.settings]\nsynchronous_commit = \"off\"\n\
                [service.mariadb.settings]\ninnodb_flush_log_at_trx_commit = 2\n\
                [workload.orders]\nthreads = 6\ntime = \"1500ms\"\n\
                [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\nruns = 2\ncontrol = false\n";
    let runs = world.run(text, 0)["ledger"]["runs"].as_array().expect("runs").clone();
    assert!(runs.len() >= 4, "{runs:?}");
    for run in &runs {
        let figure = |name: &str| run["metrics"][name].as_f64().expect(name);
        assert!(figure("new_orders_per_minute") > 0.0 && figure("transactions") > 0.0, "{run}");
    }
    world.assert_nothing_left();
}

fn integers(factors: &str, more: &str, to: u64) -> String {
    format!(
        "name = \"s\"\nquestion = \"?\"\n[factors]\n{factors}\n[storage]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n{more}\n\
         [workload.three-n-plus-one]\nto = {to}\nstreams = 3\nengine = \"gtm\"\n\
         [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\nruns = 2\ncontrol = false\n"
    )
}

#[test]
fn three_n_plus_one_counts_right_on_every_server() {
    let world = World::new();
    let factors = "\"workload.three-n-plus-one.engine\" = [\"gtm\", \"postgres\", \"mariadb\"]\n\
                   \"workload.three-n-plus-one.words\" = [true, false]";
    let json = world.run(integers(factors, SMALL_LOG, 300).replace("engine = \"gtm\"\n", ""), 0);
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 12);
    for run in runs {
        let figure = |name: &str| run["metrics"][name].as_f64().expect("a figure");
        assert_eq!((figure("longest"), figure("highest")), (127.0, 13_120.0), "{run}");
        // One worker stores 609; two that race store some twice.
        assert!(figure("updates") >= 609.0 && figure("reads") == figure("updates") + 300.0, "{run}");
        assert!(figure("log_bytes") > 0.0, "{run}");
    }
    world.assert_nothing_left();
}

#[test]
fn gtm_reads_its_settings_back_and_journals_on_a_volume_of_its_own() {
    let world = World::new();
    let factors = "[factors.journal]\nmapped = { service.gtm.journal = \"nobefore\", service.gtm.settings.access_method = \"MM\" }\n\
                   images = { service.gtm.journal = \"before\", service.gtm.settings.journal_epoch_interval = 60 }";
    let more =
        "[service.gtm]\nsettings = { block_size = 8192 }\n[storage.wal]\nfilesystem = \"xfs\"\nsize = \"320MiB\"";
    let json = world.run(integers(factors, more, 5000), 0);
    for trial in json["ledger"]["trials"].as_array().expect("trials") {
        let facts = &trial["facts"];
        let mapped = trial["scenario"] == "mapped";
        let expected = if mapped { ["nobefore", "MM", "300"] } else { ["before", "BG", "60"] };
        let found = ["gtm.journal", "gtm.access_method", "gtm.journal_epoch_interval"].map(|name| &facts[name]);
        assert_eq!(found.map(|value| value.as_str().expect("a fact")), expected);
        assert_eq!(facts["gtm.block_size"], "8192");
        assert!(trial["commands"].to_string().contains("file=$WAL/surefoot.mjl"), "{}", trial["commands"]);
    }
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert!(runs.iter().all(|run| run["metrics"]["device_log_write_bytes"].as_f64() > Some(100_000.0)), "{runs:?}");
    world.assert_nothing_left();
}

#[test]
fn gtm_says_what_it_refuses_and_a_killed_worker_fails_its_trial() {
    let world = World::new();
    let refused = "\"service.gtm.settings.block_size\" = [1000000]";
    let log = world.run(integers(refused, "", 1000), 3)["ledger"]["trials"][0]["failure"]["log"].to_string();
    assert!(log.contains("%GDE-"), "{log}");

    let _ = std::fs::remove_file(world.path().join("s.surefoot"));
    world.write("s.toml", integers("\"service.gtm.journal\" = [\"before\"]", "", 3_000_000));
    let mut child = world.start(&["run", "s.toml"]);
    let conductor = child.id() as i32;
    let worker = || descendants(conductor).into_iter().find(|pid| command_line(*pid).contains("work^surefoot"));
    wait_until("a worker is at work", || worker().is_some());
    std::thread::sleep(Duration::from_millis(300));
    kill(Pid::from_raw(worker().expect("a worker")), Signal::SIGKILL).expect("it is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let failure = world.report("s.surefoot")["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("signal: 9"), "{failure}");
    world.assert_nothing_left();
}

#[test]
fn connections_that_meet_are_tried_again_and_counted() {
    let world = World::new();
    // By number, and not by time: a busy machine does few in a second.
    let oltp = "distribution = \"special-0.4\"\ntransactions = 300";
    // Who looks for a deadlock after a second, PostgreSQL's default, waits that long for each.
    let soon = "[service.postgres.settings]\ndeadlock_timeout = \"50ms\"";
    for (service, own) in [("postgres", soon), ("mariadb", "")] {
        let text = study(service, "\"workload.oltp.threads\" = [16]", own, oltp, "")
            .replace("table_size = 1000", "table_size = 200");
        world.write("s.toml", text.replace("threads = 2\n", "").replace("\"300ms\"", "\"60s\""));
        let results = format!("{service}.surefoot");
        world.surefoot(&["run", "s.toml", "--results", &results]).status(0);
        let run = world.report(&results)["ledger"]["runs"][0]["metrics"].clone();
        let figure = |name: &str| run[name].as_f64().expect("a figure");
        let met =
            figure("deadlocks") + figure("serialization_failures") + figure("lock_timeouts") + figure("duplicate_keys");
        assert!(met > 0.0, "{service}: {run}");
        assert_eq!(met, figure("retries"), "{service}");
    }
}

#[test]
fn a_refused_setting_is_said_in_the_servers_own_words() {
    let world = World::new();
    for (service, setting, words) in [
        ("postgres", "\"service.postgres.settings.shared_buffers\" = [\"a lot\"]", "shared_buffers"),
        ("postgres", "\"service.postgres.settings.no_such_setting\" = [1]", "no_such_setting"),
        ("mariadb", "\"service.mariadb.settings.innodb_flush_method\" = [\"sometimes\"]", "sometimes"),
    ] {
        world.write("s.toml", study(service, setting, "", "", ""));
        let _ = std::fs::remove_file(world.path().join("s.surefoot"));
        let said = world.surefoot(&["run", "s.toml"]).status(3);
        let shown = said.stderr.lines().filter(|line| line.starts_with("  | ")).any(|line| line.contains(words));
        assert!(shown, "{service}: {}", said.stderr);
        let log = world.report("s.surefoot")["ledger"]["trials"][0]["failure"]["log"].to_string();
        assert!(log.contains(words), "{service}: {log}");
        world.assert_nothing_left();
    }
}

#[test]
fn a_value_that_the_server_changes_fails_the_trial() {
    let world = World::new();
    // MariaDB takes no fewer than ten.
    let text = study("mariadb", "\"service.mariadb.settings.max_connections\" = [5]", "", "", "");
    let failure = world.run(text, 3)["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("max_connections = 10, where 5 was asked"), "{failure}");
}

/// MariaDB 10.6 removed the one and still starts with it; of the other a beginning is enough for it.
#[test]
fn an_option_that_does_nothing_or_is_not_named_in_full_fails_the_trial() {
    let world = World::new();
    for (setting, words) in [
        ("innodb_buffer_pool_instances = 8", "takes innodb_buffer_pool_instances for nothing"),
        ("innodb_flush_log_at_trx = 2", "has no variable innodb_flush_log_at_trx"),
    ] {
        let _ = std::fs::remove_file(world.path().join("s.surefoot"));
        let more = format!("[service.mariadb.settings]\n{setting}");
        let text = study("mariadb", "\"workload.oltp.mix\" = [\"read-only\"]", &more, "", "");
        let failure = world.run(text, 3)["ledger"]["trials"][0]["failure"].to_string();
        assert!(failure.contains(words), "{failure}");
    }
    let turned = "service.mariadb.settings.skip_innodb_doublewrite=1";
    world.surefoot(&["run", "s.toml", "--set", turned]).status(2).says("no part of a setting's name");
    world.assert_nothing_left();
}

#[test]
fn a_missing_version_and_settings_of_ours_are_told_before() {
    let world = World::new();
    let factors = "\"service.postgres.settings.fsync\" = [true]";
    world.write("s.toml", study("postgres", factors, "[service.postgres]\nversion = \"7\"", "", ""));
    world.surefoot(&["run", "s.toml"]).status(5).says("postgresql-7");
    world
        .surefoot(&["run", "s.toml", "--set", "service.postgres.settings.port=1"])
        .status(2)
        .says("surefoot sets it itself");
    world.surefoot(&["run", "s.toml", "--set", "service.postgre.settings.fsync=1"]).status(2).says("did you mean");
    let waits = "\"service.postgres.settings.commit_siblings\" = [1, 9]";
    world.write("s.toml", study("postgres", waits, "", "", ""));
    world.surefoot(&["plan", "s.toml"]).status(2).says("it needs commit_delay above 0");
    world.write("s.toml", study("sqlite", "\"storage.filesystem\" = [\"ext4\"]", "[service.postgres]", "", ""));
    world.surefoot(&["run", "s.toml"]).status(2).says("no workload of this study uses the service");
}

#[test]
fn a_server_that_dies_or_hangs_fails_its_trial() {
    let world = World::new();
    // By time alone such runs are refused.
    let endless = "transactions = 1000000000";
    // The second has the first one's template, so that it is soon at work.
    for (signal, timeout, words) in
        [(Signal::SIGKILL, "60s", "postgres ended with signal 9"), (Signal::SIGSTOP, "15s", "15s")]
    {
        let design = format!("trial_timeout = \"{timeout}\"");
        let text = study("postgres", "\"storage.filesystem\" = [\"ext4\"]", "", endless, &design);
        world.write("s.toml", text.replace("\"300ms\"", "\"300s\""));
        let _ = std::fs::remove_file(world.path().join("s.surefoot"));
        let mut child = world.start(&["run", "s.toml"]);
        let conductor = child.id() as i32;
        let backends =
            || descendants(conductor).into_iter().filter(|pid| command_line(*pid).contains("postgres: postgres"));
        wait_until("connections are served", || server_of_trial(conductor).is_some() && backends().count() >= 2);
        std::thread::sleep(Duration::from_millis(300));
        let server = server_of_trial(conductor);
        let victims: Vec<i32> =
            if signal == Signal::SIGSTOP { backends().collect() } else { server.into_iter().collect() };
        assert!(!victims.is_empty());
        for pid in victims {
            let _ = kill(Pid::from_raw(pid), signal);
        }
        if signal == Signal::SIGKILL {
            // Without their first process the others go on until they notice.
            for pid in backends() {
                let _ = kill(Pid::from_raw(pid), signal);
            }
        }
        assert_eq!(child.wait().expect("it ends").code(), Some(3));
        let failure = world.report("s.surefoot")["ledger"]["trials"][0]["failure"].to_string();
        assert!(failure.contains(words), "{signal}: {failure}");
        world.assert_nothing_left();
    }
}

#[test]
fn a_lost_connection_fails_the_trial_or_is_made_anew_as_the_study_says() {
    let world = World::new();
    for (service, workload) in [("postgres", "oltp"), ("postgres", "tpcb"), ("mariadb", "tpcb")] {
        for reconnect in [false, true] {
            let _ = std::fs::remove_file(world.path().join("s.surefoot"));
            let text = format!(
                "name = \"s\"\n[storage]\nsize = \"320MiB\"\n[workload.{workload}]\nengine = \"{service}\"\nthreads = 4\n\
                 reconnect = {reconnect}\nerrors_max = \"10%\"\ntime = \"4s\"\n\
                 [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
            );
            world.write("s.toml", text);
            let mut child = world.start(&["run", "s.toml"]);
            lose_connections(child.id() as i32, service);
            let status = child.wait().expect("it ends").code();
            let json = world.report("s.surefoot");
            if reconnect {
                let metrics = &json["ledger"]["runs"][0]["metrics"];
                assert_eq!(status, Some(0), "{service} {workload}: {json}");
                assert!(metrics["lost_connections"].as_f64() > Some(0.0), "{service} {workload}: {metrics}");
            } else {
                let failure = json["ledger"]["trials"][0]["failure"].to_string();
                assert_eq!(status, Some(3), "{failure}");
                assert!(failure.contains("run a transaction"), "{failure}");
            }
        }
    }
    world.assert_nothing_left();
}

/// Servers end connections that are idle for too long, in words that nobody asked for.
#[test]
fn a_connection_that_ends_while_it_pauses_is_made_anew() {
    let world = World::new();
    let servers = [("postgres", "idle_session_timeout = \"200ms\"", "500ms"), ("mariadb", "wait_timeout = 1", "1.5s")];
    for (service, settings, pause) in servers {
        let own = format!("[service.{service}]\nsettings = {{ {settings} }}");
        let load = format!("think_time = \"{pause}\"\nreconnect = true\ntransactions = 6");
        let text = study(service, "\"storage.filesystem\" = [\"ext4\"]", &own, &load, "");
        world.write("s.toml", text.replace("\"300ms\"", "\"60s\""));
        let results = format!("{service}.surefoot");
        world.surefoot(&["run", "s.toml", "--results", &results]).status(0);
        let json = world.report(&results);
        let metrics = &json["ledger"]["runs"][0]["metrics"];
        // Each of two connections loses each of its transactions after the first one at least once.
        assert!(metrics["lost_connections"].as_f64() >= Some(2.0), "{service}: {metrics}");
        assert_eq!(metrics["transactions"], 6.0, "{service}: {metrics}");
        assert_eq!(metrics["unknown_transactions"], 0.0, "what was never sent has not taken place: {metrics}");
    }
    world.assert_nothing_left();
}

/// PostgreSQL's first process on the trial's own data; the one that built the template before it is another.
fn server_of_trial(conductor: i32) -> Option<i32> {
    let is_it = |pid: &i32| command_line(*pid).contains("postgres -D /run/surefoot/postgres-data");
    descendants(conductor).into_iter().find(is_it)
}

/// Ends the load's connections from outside, once they are at work.
fn lose_connections(conductor: i32, service: &str) {
    if service == "postgres" {
        let backends = || {
            let all = descendants(conductor).into_iter();
            all.filter(|pid| command_line(*pid).contains("postgres: postgres")).collect::<Vec<i32>>()
        };
        wait_until("connections are served", || server_of_trial(conductor).is_some() && backends().len() >= 4);
        std::thread::sleep(Duration::from_millis(500));
        for pid in backends().into_iter().take(3) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        return;
    }
    // A thread of MariaDB is ended by its own statement, inside the trial's namespaces.
    let enter = |sql: &str| {
        // The one that built the template is another.
        let server = descendants(conductor).into_iter().find(|pid| command_line(*pid).contains("mariadbd"));
        let Some(pid) = server else { return String::new() };
        let mut command = std::process::Command::new("nsenter");
        command.args([
            "-t",
            &pid.to_string(),
            "-m",
            "mariadb",
            "-uroot",
            "-N",
            "-S",
            "/run/surefoot/mariadb/mariadb.sock",
        ]);
        String::from_utf8_lossy(&command.args(["-e", sql]).output().expect("nsenter").stdout).into_owned()
    };
    let busy = "SELECT id FROM information_schema.processlist WHERE db = 'sbtest'";
    wait_until("connections are served", || enter(busy).lines().count() >= 4);
    std::thread::sleep(Duration::from_millis(500));
    for id in enter(busy).lines().take(3) {
        enter(&format!("KILL CONNECTION {id}"));
    }
}

#[test]
fn a_full_disk_and_too_many_connections_end_in_the_servers_words() {
    let world = World::new();
    // Nobody waits for a flush, so that it is full sooner.
    let lazy = "[service.postgres]\nsettings = { synchronous_commit = \"off\" }";
    let full = study("postgres", "\"workload.oltp.mix\" = [\"insert\"]", lazy, "", "")
        .replace("320MiB", "128MiB")
        .replace("\"300ms\"", "\"300s\"");
    let failure = world.run(full, 3)["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("No space left on device"), "{failure}");
    world.assert_nothing_left();
    std::fs::remove_file(world.path().join("s.surefoot")).expect("it is there");
    world.write(
        "s.toml",
        study("postgres", "\"service.postgres.settings.max_connections\" = [5]", "", "", "")
            .replace("threads = 2", "threads = 8"),
    );
    world.surefoot(&["run", "s.toml"]).status(3);
    let failure = world.report("s.surefoot")["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("53300"), "{failure}");
}

#[test]
fn a_damaged_template_is_made_anew() {
    let world = World::new();
    world.write("s.toml", study("postgres", "\"storage.filesystem\" = [\"ext4\"]", "", "", ""));
    world.surefoot(&["run", "s.toml", "--work", "work"]).status(0);
    std::fs::remove_file(world.path().join("s.surefoot")).expect("it is there");
    let templates = world.path().join("work/cache/templates");
    let template = templates.read_dir().expect("templates").next().expect("one").expect("readable").path();
    let file = template.join("files/global/pg_control");
    let mut bytes = std::fs::read(&file).expect("PostgreSQL has this file");
    bytes[100] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    // What a killed build leaves is in nobody's way.
    std::fs::create_dir_all(template.with_extension("unfinished").join("files/rubbish")).expect("a folder");
    world.surefoot(&["run", "s.toml", "--work", "work"]).status(0);
    let trial = world.report("s.surefoot")["ledger"]["trials"][0].clone();
    assert!(trial["warnings"].to_string().contains("pg_control"), "{trial}");
    assert!(steps(&trial).contains(&"build template".to_string()));
}

#[test]
fn without_root_a_server_runs_in_a_directory_as_its_user() {
    let (world, binary) = of_ordinary_user();
    let home = world.path().join("home");
    std::fs::create_dir(&home).expect("a folder");
    std::os::unix::fs::chown(&home, Some(USER), Some(USER)).expect("we are root");
    let storage = format!("device = \"dir\"\npath = {home:?}");
    let text = study("postgres", "\"workload.oltp.threads\" = [1, 2]", "", "", "").replace("threads = 2\n", "");
    world.write("s.toml", text.replace("filesystem = \"ext4\"\nsize = \"320MiB\"", &storage));
    as_ordinary_user(&world, &binary, &["run", "s.toml"]).status(0);
    assert_eq!(home.read_dir().expect("home").count(), 0, "the trial's folder is gone");
}
