//! `command`: scripts, fio, and programs that fail, hang or say nothing.

use crate::desk::{Desk, has_its_metrics, open, parameters, value};
use load::workload::Error;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use workloads::command::KIND;

fn script(text: &str) -> Value {
    json!({
        "command": ["sh", "-c", text],
        "time": "2s",
        "metrics": {"speed": "regex:speed ([0-9.]+); unit 1/s; more"},
    })
}

#[test]
fn it_runs_in_the_folder_under_test_with_its_placeholders() {
    let desk = Desk::new();
    let mut written = script("test \"$PWD\" = {data} && cat made && echo speed {seconds}{threads}.5");
    written["prepare"] = json!(["sh", "-c", "echo {seed} > made"]);
    written["threads"] = json!(3);
    let outcome = desk.trial(&KIND, &written).unwrap();
    has_its_metrics(&KIND, &written, &outcome);
    assert_eq!(value(&outcome, "speed"), 23.5);
    assert_eq!(std::fs::read_to_string(desk.data.path().join("made")).unwrap(), "7\n");
}

/// It was found by the check, and then sought in the folder under test.
#[test]
fn a_program_by_a_relative_path_is_from_where_surefoot_was_started_or_prepare_makes_it() {
    let here = tempfile::tempdir_in(".").unwrap();
    std::os::unix::fs::symlink("/bin/sh", here.path().join("bench")).unwrap();
    let mut written = script("echo speed 1");
    written["command"][0] = json!(format!("./{}/bench", here.path().file_name().unwrap().to_str().unwrap()));
    assert_eq!(value(&Desk::new().trial(&KIND, &written).unwrap(), "speed"), 1.0);
    written["command"][0] = json!("./made");
    written["prepare"] = json!(["ln", "-s", "/bin/sh", "made"]);
    assert_eq!(value(&Desk::new().trial(&KIND, &written).unwrap(), "speed"), 1.0);
}

#[test]
fn fio_joins_a_study() {
    let written = json!({
        "command": ["fio", "--name=x", "--filename={data}/file", "--size=1MiB", "--rw=randwrite", "--bs=4k",
                    "--ioengine=psync", "--direct=0", "--time_based", "--runtime={seconds}", "--output-format=json"],
        "time": "1s",
        "metrics": {
            "ios_per_second": "json:/jobs/0/write/iops; unit 1/s; more",
            "latency_nanoseconds_p99": "json:/jobs/0/write/clat_ns/percentile/99.000000; unit ns; less",
        },
    });
    let desk = Desk::new();
    let mut workload = open(&KIND, &written).expect("fio is installed (package fio)");
    let outcome = desk.act(|context| workload.run(context)).unwrap();
    has_its_metrics(&KIND, &written, &outcome);
    assert!(value(&outcome, "ios_per_second") > 0.0 && value(&outcome, "latency_nanoseconds_p99") > 0.0);
    assert!(outcome.seconds >= 1.0);
}

#[test]
fn a_bad_end_shows_the_last_lines() {
    let error = Desk::new().trial(&KIND, &script("seq 100; echo broken >&2; exit 3")).unwrap_err();
    let Error::Program { program, status, log } = error else { panic!("{error}") };
    assert_eq!((program.as_str(), status.as_str()), ("sh", "exit status: 3"));
    assert!(log.ends_with("100\nbroken") && !log.contains("\n50\n"), "{log}");
}

#[test]
fn a_metric_that_is_not_there_or_no_number_fails_the_run() {
    for (text, problem) in [("echo fast", "nothing matches"), ("echo speed ..", "is no finite number")] {
        let error = Desk::new().trial(&KIND, &script(text)).unwrap_err();
        let Error::Program { status, log, .. } = error else { panic!("{error}") };
        assert!(status.contains("without the metric `speed`") && status.contains(problem), "{status}");
        assert!(log.contains(text.strip_prefix("echo ").unwrap()), "{log}");
    }
}

/// Of a program that says -1 where it has no result, the scenario was told to have stalled, with a mean of -1.
#[test]
fn a_first_metric_below_zero_fails_the_run() {
    let metrics = json!({"speed": "regex:speed ([-0-9.]+); more", "change": "regex:change ([-0-9.]+); less"});
    let of = |text: &str| {
        let mut written = script(text);
        written["metrics"] = metrics.clone();
        Desk::new().trial(&KIND, &written)
    };
    let Err(Error::Program { status, .. }) = of("echo speed -1 change 2") else { panic!("it ended well") };
    assert!(status.contains("without the metric `speed`: -1 is below 0"), "{status}");
    // Of what no claim is on, any number is a figure.
    let outcome = of("echo speed 0 change -2").unwrap();
    assert_eq!([value(&outcome, "speed"), value(&outcome, "change")], [0.0, -2.0]);
}

#[test]
fn a_hanging_program_is_ended_with_all_its_children() {
    let desk = Desk::new();
    let mut written = script("trap '' TERM; sleep 987 & echo $! > child; echo waiting; wait; sleep 987");
    written["time"] = json!("1s");
    written["timeout"] = json!("1s");
    let began = Instant::now();
    let Err(Error::Program { status, log, .. }) = desk.trial(&KIND, &written) else { panic!("it ended well") };
    assert!(status.starts_with("a time-out"), "{status}");
    assert_eq!(log, "waiting");
    assert!(began.elapsed() < Duration::from_secs(60));
    let child = std::fs::read_to_string(desk.data.path().join("child")).unwrap();
    // A kill is carried out when the child next runs, and a zombie that nobody has reaped is dead as well.
    let dead = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        state.map_or(true, |state| state.contains(") Z ") || state.contains(") X "))
    };
    let asked = Instant::now();
    while !dead() {
        assert!(asked.elapsed() < Duration::from_secs(20), "the child lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interruption_ends_the_program() {
    let desk = Desk::new();
    desk.interrupted.store(true, Ordering::Relaxed);
    let mut workload = open(&KIND, &script("sleep 987")).unwrap();
    assert!(matches!(desk.act(|context| workload.run(context)), Err(Error::Interrupted)));
}

#[test]
fn a_process_that_left_the_group_does_not_hold_the_run() {
    let desk = Desk::new();
    let mut workload = open(&KIND, &script("setsid sleep 20 & echo $! ; echo speed 1")).unwrap();
    let began = Instant::now();
    let outcome = desk.act(|context| workload.run(context)).unwrap();
    assert_eq!(value(&outcome, "speed"), 1.0);
    assert!(began.elapsed() < Duration::from_secs(19));
}

#[test]
fn a_program_that_is_gone_when_it_is_to_run_is_named() {
    let map = parameters(&KIND, &json!({"command": ["/no/such"], "metrics": {"a": "json:/a; more"}}));
    let mut workload = (KIND.read)(&map).open().unwrap();
    let error = Desk::new().act(|context| workload.run(context)).unwrap_err();
    assert_eq!(error.to_string(), "/no/such cannot be started");
}

#[test]
fn the_example_of_the_help_is_complete() {
    assert!(KIND.example.contains("--output-format=json") && KIND.example.contains("json:/jobs/0/write/iops"));
}
