//! Real servers that go wrong after the probe: in a closed loop the trial fails in words, in an open one the run stands, and the pick
//! goes to the one with fewer errors.

use crate::harness::{World, command_line, descendants, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read as _;
use std::process::Child;

fn study(factors: &str, service: &str, load: &str) -> String {
    format!(
        "name = \"s\"\nquestion = \"?\"\n{factors}\n[storage]\nfilesystem = \"ext4\"\nsize = \"64MiB\"\n{service}\n\
         [workload.http-load]\n{load}\n[design]\norder = \"blocks\"\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    )
}

/// Each answer takes a quarter of a second, and with one connection at a time the others are refused in no time at all.
#[test]
fn an_nginx_that_refuses_connections_has_no_better_figure() {
    let world = World::new();
    let factors = "[factors]\n\"service.nginx.settings.limit_conn\" = [\"all 100\", \"all 1\"]";
    let nginx = "[service.nginx]\nsettings = { worker_processes = 1, limit_conn_zone = \"$binary_remote_addr zone=all:1m\", limit_rate = \"48k\" }";
    let load =
        |more: &str| format!("file_size = \"64KiB\"\nconnections = 20\nkeep_alive = false\ntime = \"1500ms\"\n{more}");
    let found = world.run(study(factors, nginx, &load("")), 3);
    let trials = found["ledger"]["trials"].as_array().expect("trials");
    let refused = trials.iter().find(|trial| trial["scenario"] == "limit_conn=all 1").expect("it ran");
    let words = refused["failure"]["causes"].to_string();
    assert!(words.contains("requests went wrong (") && words.contains("where `errors_max` allows 0.1 %"), "{words}");
    assert!(words.contains("× wrong status (first: 503)"), "{words}");
    let runs = found["ledger"]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1, "no figure comes of it: {runs:#?}");
    assert_eq!(found["analysis"]["workloads"][0]["pick"], "limit_conn=all 100");
    // By turns it has turns, and no figure is made of them.
    world.surefoot(&["run", "s.toml", "--set", "design.order=turns", "--results", "turns.surefoot"]).status(3);
    let by_turns = world.report("turns.surefoot");
    let rows = by_turns["analysis"]["workloads"][0]["scenarios"].as_array().expect("rows");
    let refused = rows.iter().find(|row| row["scenario"] == "limit_conn=all 1").expect("a row");
    assert!(refused["geometric_mean"].is_null() && refused["failed"] == 1, "{refused}");
    assert_eq!(by_turns["analysis"]["workloads"][0]["pick"], "limit_conn=all 100");
    std::fs::remove_file(world.path().join("s.surefoot")).expect("removed");

    let found = world.run(study(factors, nginx, &load("rate = 20")), 0);
    let rows = found["analysis"]["workloads"][0]["scenarios"].as_array().expect("rows");
    let row = |label: &str| rows.iter().find(|row| row["scenario"] == label).expect("a row").clone();
    assert_eq!(row("limit_conn=all 100")["errors"]["wrong"], 0.0, "{rows:#?}");
    assert!(row("limit_conn=all 1")["errors"]["kinds"]["wrong_status"].as_f64() > Some(0.0), "{rows:#?}");
    assert_eq!(
        (&found["analysis"]["workloads"][0]["pick"], &row("limit_conn=all 1")["has_more_errors_than"]),
        (&"limit_conn=all 100".into(), &"limit_conn=all 100".into())
    );
    world.surefoot(&["report", "s.surefoot"]).status(0).says(" wrong status");
    world.assert_nothing_left();
}

const PHP: &str = "[service.nginx]\nphp = \"fpm\"\nsettings = { worker_processes = 1 }";

/// Starts the study and waits until a process of PHP-FPM has worked for a third of a second: the run is under way.
fn under_way(world: &World) -> (Child, i32) {
    let child = world.start(&["run", "s.toml"]);
    let conductor = child.id() as i32;
    let ticks = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
    };
    let of_php = |what: &str| {
        descendants(conductor).into_iter().filter(|pid| command_line(*pid).contains(what)).collect::<Vec<i32>>()
    };
    wait_until("PHP has answered some", || of_php("php-fpm: pool").iter().any(|pid| ticks(pid) > 30));
    let master = of_php("php-fpm: master").first().copied().expect("it has a master");
    (child, master)
}

fn failure(world: &World, mut child: Child) -> String {
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let found = world.report("s.surefoot");
    assert_eq!(found["ledger"]["runs"].as_array().map(Vec::len), Some(0), "no figure comes of it");
    let failure = &found["ledger"]["trials"][0]["failure"];
    assert_eq!(failure["step"], "run", "{failure}");
    failure["causes"].to_string()
}

#[test]
fn a_php_that_is_killed_in_a_run_fails_it() {
    let world = World::new();
    let load =
        "site = \"sqlite-page\"\nsqlite_synchronous = \"off\"\nconnections = 4\nkeep_alive = false\ntime = \"6s\"";
    world.write("s.toml", study("", PHP, load));
    let (child, master) = under_way(&world);
    let workers = descendants(master);
    for pid in std::iter::once(master).chain(workers) {
        kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it is there");
    }
    let words = failure(&world, child);
    assert!(words.contains("× wrong status (first: 502"), "{words}");
    world.assert_nothing_left();
}

/// Nobody waits for a lock, so that many pages are refused.
#[test]
fn a_run_with_many_refused_pages_stands_and_the_answer_warns() {
    let world = World::new();
    let load = "site = \"sqlite-page\"\nsqlite_synchronous = \"off\"\nsqlite_busy_timeout = \"0s\"\n\
                connections = 50\nkeep_alive = false\nrate = 200\ntime = \"1s\"";
    let found = world.run(study("", PHP, load), 0);
    let row = &found["analysis"]["workloads"][0]["scenarios"][0];
    assert!(row["errors"]["kinds"]["wrong_status"].as_f64() > Some(2.0), "{row}");
    world.surefoot(&["report", "s.surefoot"]).status(0).says("the figures are of the right answers alone");
    world.assert_nothing_left();
}

#[test]
fn a_disk_that_fills_in_a_run_fails_it() {
    let world = World::new();
    let load =
        "site = \"sqlite-page\"\nsqlite_synchronous = \"off\"\nconnections = 4\nkeep_alive = false\ntime = \"8s\"";
    world.write("s.toml", study("", PHP, load));
    let (child, master) = under_way(&world);
    // The filesystem under test is mounted in the trial's namespace alone.
    let mount = world.path().join("surefoot-work/s/mount");
    let inside = format!("/proc/{master}/root{}/filler", mount.display());
    let mut filler = std::fs::File::create(inside).expect("the filesystem under test");
    let full =
        std::io::copy(&mut std::io::repeat(0).take(64 << 20), &mut filler).expect_err("an image of 64 MiB is full");
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    // An open file would keep the mount.
    drop(filler);
    let words = failure(&world, child);
    assert!(words.contains("× wrong status (first: 500: \\\"database or disk is full"), "{words}");
    world.assert_nothing_left();
}
