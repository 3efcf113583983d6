//! What bound a scenario stands beside its speed, and a figure that the load generator bound is said to be a lower bound.

use crate::fixture::{self, Row, Table};
use expect_test::expect;
use ledger::model::Probe;
use observe::metric::{Direction, Metric};
use report::input::Input;
use serde_json::json;

/// ext4 flushes as fast as the device can; XFS's load generator has the one CPU that it can use.
fn study() -> Input {
    study_of(fixture::transactions())
}

fn study_of(metric: Metric) -> Input {
    let around = |level: f64| [0.97, 1.03, 0.99, 1.01, 1.02, 0.98].map(|noise| level * noise);
    let rows = vec![Row::new("ext4", &around(900.0)), Row::new("xfs", &around(1300.0))];
    let mut input = fixture::input(&Table { workload: "oltp", metric, rows });
    let contents = &mut input.contents;
    for scenario in &mut contents.scenarios {
        scenario.settings["workload"] = json!({ "threads": 8, "driver_threads": 1 });
    }
    let figures = [("flushes_per_second", 1000.0), ("sequential_write_bytes_per_second", 1e9)];
    contents.probes = vec![Probe {
        scenarios: vec!["ext4".into(), "xfs".into()],
        figures: figures.iter().map(|(name, value)| ((*name).to_string(), *value)).collect(),
        failure: None,
        member: None,
    }];
    for run in &mut contents.runs {
        let is_xfs = contents.trials.iter().any(|trial| trial.id == run.trial && trial.scenario == "xfs");
        let (driver, flushes) = if is_xfs { (0.97, 100.0) } else { (0.3, 880.0) };
        let figures = [
            ("driver_cpu_cores", driver),
            ("others_cpu_cores", 0.6),
            ("device_flushes", flushes * run.seconds),
            ("commits", 900.0 * run.seconds),
            ("device_busy_share", 0.4),
        ];
        run.metrics.extend(figures.map(|(name, value)| (name.into(), value)));
    }
    input
}

/// Two servers that held it were the same to a thousandth.
#[test]
fn the_highest_rate_that_is_tried_is_no_figure_to_compare() {
    let mut input = study();
    for run in &mut input.contents.runs {
        run.metrics.insert("lowest_failing_rate_per_second".into(), 0.0);
    }
    let short = fixture::short(&input);
    let warned = "Warning: 2 scenarios held the highest rate that is tried: how far scenarios are apart is not known.";
    assert!(short.contains(warned), "{short}");
    let whole = report::answer(&input).join(" ");
    assert!(whole.contains("The figure of ext4 is a lower bound: no higher rate was tried."), "{whole}");
    assert_eq!(fixture::row_of_json(&input, "ext4")["bound_by"], "rate_max");
}

#[test]
fn what_bound_the_pick_is_said_and_a_lower_bound_is_marked() {
    expect![[r#"
        Pick xfs: at least 1,300 transactions per second (95 % interval 1,261–1,340 for the pick of 2, 6 trials).
        It is shown to be the best of the scenarios measured (95 % confidence).
        xfs was bound by the load generator, so that its figure is a lower bound.
        xfs is 1.44× ext4 (95 % interval 1.44–1.44). With it went 0.079× the flushes per transaction; bytes written per transaction alike.
        Limits: one machine, fresh filesystems, a synthetic load, these levels and versions. The intervals cover the variation from trial
          to trial and round to round on this machine only.
        warning: the load generator, with its embedded engine, used up to 0.970 cores with xfs. Where this is near the number of its
          threads, the CPU is the limit and not the storage, which hides differences. Give the load generator more CPUs (`cpus.client`),
          or more threads.

        oltp, transactions per second (more is better)
           scenario  mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  bound by            rounds
        1  xfs         ≥ 1,300    1,268–1,332  1.444 [1.444, 1.445]  faster    keeps all          the load generator       6
        2  ext4            900        878–922                     1  baseline  keeps all          flushes, 88 %            6
        Orders: xfs went before ext4 in 3 of 6 rounds; of all pairs this one is the least balanced.

        oltp: tails and shapes that differ
        figure                      claim                     ratio  95 % interval  verdict  p, corrected  rounds
        99th percentile of latency  xfs vs ext4 (filesystem)  0.689    0.653–0.727  better        < 0.001       6
        rate of the worst second    xfs vs ext4 (filesystem)  1.444    1.444–1.445  better        < 0.001       6
        Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.
    "#]].assert_eq(&report::terminal(&study(), 130, false));
}

/// As of an open loop whose generator can't keep up: "at most 900 s", it had said, "so that its figure is a lower bound".
#[test]
fn of_a_time_it_is_an_upper_bound() {
    let study = || study_of(Metric::new("elapsed_seconds", "s", Direction::Less));
    let whole = report::answer(&study()).join(" ");
    assert!(whole.contains("The figure of xfs is an upper bound: the load generator was full."), "{whole}");
    assert!(report::html(&study()).contains("the load generator (at most)"));
    let mut full = study();
    full.contents.runs.iter_mut().for_each(|run| {
        run.metrics.insert("driver_cpu_cores".into(), 0.97);
    });
    let whole = report::answer(&full).join(" ");
    assert!(whole.contains("ext4 was bound by the load generator, so that its figure is an upper bound."), "{whole}");
}

#[test]
fn machines_get_each_share() {
    let ext4 = fixture::row_of_json(&study(), "ext4");
    assert_eq!((&ext4["bound_by"], &ext4["is_lower_bound"]), (&json!("flushes"), &json!(false)));
    let shares = ext4["ceilings"].as_array().expect("a list");
    let share = |of: &str| shares.iter().find(|share| share["of"] == of).map(|share| share["share"].as_f64().unwrap());
    assert!((share("flushes_per_second").expect("probed") - 0.88).abs() < 1e-9);
    assert!((share("commits_per_second").expect("probed") - 0.9).abs() < 1e-9);
    assert!((share("cpus").expect("known") - 0.53).abs() < 0.05);
    assert_eq!(share("read_bytes_per_second"), None, "the probe did not read");
    assert_eq!(fixture::row_of_json(&study(), "xfs")["is_lower_bound"], true);
}

#[test]
fn without_a_probe_the_processors_are_the_only_limit() {
    let mut input = study();
    input.contents.probes.clear();
    assert_eq!(fixture::row_of_json(&input, "ext4")["ceilings"].as_array().expect("a list").len(), 1);
    assert!(report::html(&input).contains("The device was not probed"));
}

#[test]
fn a_probe_that_failed_says_why() {
    let mut input = study();
    for probe in &mut input.contents.probes {
        probe.figures.clear();
        probe.failure = Some("mkfs: no <mkfs.ext4>".into());
    }
    assert!(report::html(&input).contains("not measured: mkfs: no &lt;mkfs.ext4&gt;."));
    assert!(report::terminal(&input, 200, false).contains("warning: what a device can give was not measured: mkfs"));
}

#[test]
fn the_page_has_a_table_of_shares() {
    let html = report::html(&study());
    // A number stays on one line with its per cent sign.
    assert!(html.contains("id=\"ceilings-0\"") && html.contains("88\u{a0}% (880 of 1,000)"), "no share");
    assert!(html.contains("the load generator (at least)"), "no lower bound");
}
