//! A yes or a no by limits: each form of the sentence, and what must not be said.

use crate::fixture::{self, Row, Table};
use expect_test::{Expect, expect};
use ledger::model::{LimitRecord, RunDetail, RunRow, Trial};
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use report::Place;
use report::input::{Details, Input};
use std::time::Duration;

/// Six rounds around a p99 of so many microseconds, one of them by this factor off.
fn around(microseconds: f64, odd: f64) -> Row {
    let factors = [1.01, 0.99, 1.02, 0.98, 1.0, odd];
    Row::new("ext4", &factors.map(|factor| microseconds * factor))
}

fn limit(value: f64, is_least: bool) -> LimitRecord {
    LimitRecord {
        title: "p99 of the flush".into(),
        workload: "block-io".into(),
        metric: "fdatasync_microseconds_p99".into(),
        value,
        is_least,
        source: "the maker".into(),
    }
}

/// On a metric of `oltp`, and without a title.
fn of_oltp(metric: &str, value: f64, is_least: bool) -> LimitRecord {
    LimitRecord { title: String::new(), workload: "oltp".into(), metric: metric.into(), ..limit(value, is_least) }
}

fn input(rows: Vec<Row>, limits: &[LimitRecord]) -> Input {
    let metric = Metric::new("fdatasync_microseconds_p99", "µs", Direction::Less);
    let table = Table { workload: "block-io", metric, rows };
    let mut contents = fixture::contents(&table);
    contents.study.limits = limits.to_vec();
    fixture::input_of(contents, &table)
}

fn check(rows: Vec<Row>, limits: &[LimitRecord], expected: Expect) {
    expected.assert_eq(&report::summary(&input(rows, limits), &Place::default(), 100, false));
}

/// A limit may be set once the figures are known, which the page denied.
#[test]
fn the_page_says_when_limits_were_set() {
    let says = |limits: &[LimitRecord]| {
        let page = report::html(&input(vec![around(5000.0, 1.0)], limits));
        page.contains(
            "fixed before the first trial. Limits and the classes that may be picked are those of the last session.",
        )
    };
    assert!(says(&[limit(10_000.0, false)]) && !says(&[]));
}

/// A first answer is held at 2.5 %, which all limits share. Said was a share of 5 %, at which no interval came out as it was printed.
#[test]
fn the_note_says_at_which_confidence_the_intervals_are() {
    let limits = [10_000.0, 9000.0, 8000.0, 7000.0].map(|value| limit(value, false));
    for (count, alone) in [(1, "(each at 97.5 % by itself)"), (4, "(each at 99.4 % by itself)")] {
        let text = report::markdown(&input(vec![around(2000.0, 1.0)], &limits[..count]));
        assert!(text.contains(alone), "{text}");
    }
    // Who works them out again needs the level.
    let json = crate::export::json(&input(vec![around(2000.0, 1.0)], &limits));
    let number = |at: &str| json.pointer(at).and_then(serde_json::Value::as_f64).unwrap_or_default();
    assert!((number("/workloads/0/alpha") - 0.025).abs() < 1e-12, "{json:#}");
    assert!((number("/limits/3/interval_confidence") - 0.993_75).abs() < 1e-12, "{json:#}");
}

#[test]
fn what_must_not_be_above() {
    let ten = [limit(10_000.0, false)];
    // Kept.
    check(
        vec![around(2000.0, 1.0)],
        &ten,
        expect![[r#"
            Yes: the limit is kept, 4.9 times over. p99 of the flush is at most 2.04 ms (limit: at most 10.0
              ms).
            limit                mean  95 % interval  worst round          allowed  kept
            p99 of the flush  2.00 ms   1.96–2.04 ms      2.04 ms  at most 10.0 ms  yes, 4.9× over
            How sure: 95 %, over 6 rounds.
            What would change it: another machine, load or version.
        "#]],
    );
    // Broken.
    check(
        vec![around(15_000.0, 1.0)],
        &ten,
        expect![[r#"
            No: p99 of the flush is 15.0 ms, 1.5 times its limit of 10.0 ms.
            limit                mean  95 % interval  worst round          allowed  kept
            p99 of the flush  15.0 ms   14.7–15.3 ms      15.3 ms  at most 10.0 ms  no
            How sure: 95 %, over 6 rounds.
            What would change it: another machine, load or version.
        "#]],
    );
    // The interval keeps it, and a round did not.
    check(
        vec![around(7600.0, 1.33)],
        &ten,
        expect![[r#"
            Not always: p99 of the flush is 7.97 ms (limit: at most 10.0 ms), but was beyond it in 1 of 6
              rounds.
            limit                mean  95 % interval  worst round          allowed  kept
            p99 of the flush  7.97 ms   6.85–9.27 ms      10.1 ms  at most 10.0 ms  not in 1 of 6 rounds
            How sure: 95 %, over 6 rounds.
            What would change it: another machine, load or version.
        "#]],
    );
    // The interval holds it.
    check(
        vec![around(9900.0, 1.1)],
        &ten,
        expect![[r#"
            Too early to say: p99 of the flush is 10.1 ms so far (limit: at most 10.0 ms).
            limit                mean  95 % interval  worst round          allowed  kept
            p99 of the flush  10.1 ms   9.53–10.6 ms      10.9 ms  at most 10.0 ms  open
            How sure: 95 %, over 6 rounds.
            What would change it: more rounds: the same command with `--rounds 12`.
        "#]],
    );
    // Three rounds are too few for a yes.
    let mut few = around(2000.0, 1.0);
    few.values.truncate(3);
    check(
        vec![few],
        &ten,
        expect![[r#"
            Too early to say: p99 of the flush is 2.01 ms so far (limit: at most 10.0 ms).
            limit                mean  95 % interval  worst round          allowed  kept
            p99 of the flush  2.01 ms   1.91–2.13 ms      2.04 ms  at most 10.0 ms  open
            How sure: 95 %, over 3 rounds.
            What would change it: more rounds: the same command with `--rounds 6`.
        "#]],
    );
}

#[test]
fn what_must_not_be_below() {
    check(
        vec![around(2000.0, 1.0)],
        &[limit(1000.0, true)],
        expect![[r#"
            Yes: the limit is kept, 1.9 times over. p99 of the flush is at least 1.96 ms (limit: at least 1.00
              ms).
            limit                mean  95 % interval  worst round           allowed  kept
            p99 of the flush  2.00 ms   1.96–2.04 ms      1.96 ms  at least 1.00 ms  yes, 1.9× over
            How sure: 95 %, over 6 rounds.
            What would change it: another machine, load or version.
        "#]],
    );
    check(
        vec![around(500.0, 1.0)],
        &[limit(1000.0, true)],
        expect![[r#"
            No: p99 of the flush is 500 µs, 0.5 times its limit of 1.00 ms.
            limit               mean  95 % interval  worst round           allowed  kept
            p99 of the flush  500 µs     491–509 µs       490 µs  at least 1.00 ms  no
            How sure: 95 %, over 6 rounds.
            What would change it: another machine, load or version.
        "#]],
    );
}

/// What nobody measured is not kept, and a figure of zero is none.
#[test]
fn what_is_unknown_is_no_yes() {
    let unknown = LimitRecord { metric: "another".into(), ..limit(1.0, false) };
    check(
        vec![around(2000.0, 1.0)],
        &[limit(10_000.0, false), unknown],
        expect![[r#"
            Not known: p99 of the flush was not measured.
            limit                mean  95 % interval  worst round          allowed  kept
            p99 of the flush  2.00 ms   1.96–2.04 ms      2.04 ms  at most 10.0 ms  yes, 4.8× over
            p99 of the flush        –              –            –     at most 1.00  not measured
            How sure: 95 %, over 6 rounds, for all 2 limits together.
            What would change it: another machine, load or version.
        "#]],
    );
    check(
        vec![around(2000.0, 0.0)],
        &[limit(10_000.0, false)],
        expect![[r#"
            Too early to say: p99 of the flush is 0 µs so far (limit: at most 10.0 ms).
            limit             mean  worst round          allowed  kept
            p99 of the flush  0 µs      2.04 ms  at most 10.0 ms  open
            How sure: 95 %, over 6 rounds.
            What would change it: more rounds: the same command with `--rounds 12`.
            Warning: one scenario had runs with a figure of 0: nothing is claimed of it.
        "#]],
    );
}

/// `--only` and `--skip-missing` leave workloads out: of etcd-disk without etcd all limits were said to be kept.
#[test]
fn a_limit_of_a_workload_that_was_left_out_is_not_kept() {
    let elsewhere =
        LimitRecord { title: "p99 of the log".into(), workload: "key-value".into(), ..limit(10_000.0, false) };
    let said = |limits: &[LimitRecord]| fixture::short(&input(vec![around(2000.0, 1.0)], limits));
    let both = said(&[limit(10_000.0, false), elsewhere.clone()]);
    assert!(both.starts_with("Not known: p99 of the log was not measured."), "{both}");
    assert!(both.contains("for all 2 limits together"), "{both}");
    // "Another machine, load or version", it had said.
    assert!(both.contains("What would change it: measuring the workload key-value, which was left out."), "{both}");
    // Who measures nothing that has a limit asks for the fastest.
    let alone = said(&[elsewhere]);
    assert!(!alone.contains("p99 of the log"), "{alone}");
}

/// That all trials failed, and why, stood nowhere: it "was not measured", and "another machine, load or version" would change that.
#[test]
fn where_nothing_has_a_figure_it_is_said_why() {
    let mut failed = Row::new("ext4", &[]);
    failed.values = vec![None; 4];
    let said = fixture::short(&input(vec![failed], &[limit(10_000.0, false)]));
    let why =
        "No trial finished and 4 failed: there is no answer. One failed with this: load: No space left on device.";
    assert!(said.starts_with(why) && !said.contains("What would change it"), "{said}");
    let begun = fixture::short(&input(vec![Row::new("ext4", &[])], &[limit(10_000.0, false)]));
    assert!(begun.starts_with("No trial has finished yet: there is no answer."), "{begun}");
}

/// "latency microseconds p99 is at most 2.04 ms" is of two units.
#[test]
fn a_limit_without_a_title_is_called_by_its_metric_without_the_unit() {
    let unnamed = LimitRecord { title: String::new(), ..limit(10_000.0, false) };
    let said = fixture::short(&input(vec![around(2000.0, 1.0)], &[unnamed]));
    assert!(said.contains("fdatasync p99 is at most 2.04 ms") && !said.contains("microseconds"), "{said}");
}

#[test]
fn of_several_scenarios_the_worst_is_said() {
    let slow = Row { label: "btrfs".into(), ..around(30_000.0, 1.0) };
    check(
        vec![around(2000.0, 1.0), slow],
        &[limit(10_000.0, false)],
        expect![[r#"
            No: p99 of the flush of btrfs is 30.0 ms, 3 times its limit of 10.0 ms. 1 of 2 limits are kept.
            limit             scenario     mean  95 % interval  worst round          allowed  kept
            p99 of the flush  ext4      2.00 ms   1.96–2.04 ms      2.04 ms  at most 10.0 ms  yes, 4.8× over
            p99 of the flush  btrfs     30.0 ms   29.3–30.7 ms      30.6 ms  at most 10.0 ms  no
            How sure: 95 %, over 6 rounds, for all 2 limits together.
            What would change it: another machine, load or version.
        "#]],
    );
}

/// By turns: in one of them nothing was committed. The others' latency keeps the limit, and the trial's does not for it.
#[test]
fn a_limit_is_not_kept_by_standing_still() {
    let metric = Metric::new("transactions_per_second", "1/s", Direction::More);
    let rows = vec![Row::new("ext4", &[100.0, 101.0, 99.0, 100.5, 99.5, 100.0])];
    let table = Table { workload: "oltp", metric, rows };
    let said = |stands: Option<Option<f64>>| {
        let mut contents = fixture::contents(&table);
        contents.study.limits = vec![of_oltp("latency_microseconds_p99", 10_000.0, false)];
        fixture::split_into_turns(&mut contents, 10, |_, turn| {
            let latency = 9_000.0 + 10.0 * f64::from((turn.run + turn.trial as u32) % 5);
            turn.metrics.insert("latency_microseconds_p99".into(), latency);
            if let (Some(latency), 3, 4) = (stands, turn.run, turn.trial) {
                turn.metrics.insert("transactions_per_second".into(), 0.0);
                turn.metrics.remove("latency_microseconds_p99");
                turn.metrics.extend(latency.map(|latency| ("latency_microseconds_p99".into(), latency)));
            }
        });
        fixture::short(&Input::new(contents, Details::default()))
    };
    assert!(said(None).starts_with("Yes: the limit is kept"), "{}", said(None));
    // As it is now, and as older files have it.
    for latency in [None, Some(0.0)] {
        let said = said(Some(latency));
        assert!(said.starts_with("Not known: ") && said.contains("has no figure in 1 of 6 rounds"), "{said}");
        assert!(!said.contains("more rounds"), "{said}");
    }
}

/// Groups of a round are compared by the baseline, which is in each: of 800 a second in a slow group 1,131 are compared. The limit is on 800.
#[test]
fn a_limit_is_on_what_was_measured_and_not_on_what_is_compared() {
    let speeds = [800.0, 808.0, 792.0, 804.0, 796.0, 800.0];
    let rows = ["ext4", "btrfs"].map(|label| Row::new(label, &speeds)).into();
    let table = Table { workload: "oltp", metric: fixture::transactions(), rows };
    let mut contents = fixture::contents(&table);
    contents.scenarios[0].baseline = true;
    let metric = "transactions_per_second";
    contents.study.limits = vec![of_oltp(metric, 1000.0, true)];
    for (trial, run) in contents.trials.clone().into_iter().zip(contents.runs.clone()) {
        contents.trials[trial.id as usize - 1].group = Some(1);
        if trial.scenario == "ext4" {
            let (id, mut fast) = (trial.id + 1000, run.clone());
            fast.metrics.insert(metric.into(), 2.0 * run.metrics[metric]);
            contents.runs.push(RunRow { id, trial: id, ..fast });
            contents.trials.push(Trial { id, group: Some(0), ..trial });
        }
    }
    let input = Input::new(contents, Details::default());
    let compared = fixture::row_of_json(&input, "btrfs")["geometric_mean"].as_f64().expect("a mean");
    assert!((1100.0..1160.0).contains(&compared), "{compared}");
    let said = report::summary(&input, &Place::default(), 100, false);
    let is_broken = |line: &str| line.contains("btrfs") && line.contains("800 1/s") && line.ends_with("no");
    assert!(said.starts_with("No: ") && said.lines().any(is_broken), "{said}");
}

/// One turn of 50 is slow, of as many operations as the others: these 2 % are the 99th percentile of all, and the turns' mean is 5 ms.
#[test]
fn a_percentile_by_turns_is_that_of_all_operations() {
    let rows = vec![Row::new("ext4", &[100.0, 101.0, 99.0, 100.5, 99.5, 100.0])];
    let table = Table { workload: "oltp", metric: fixture::transactions(), rows };
    let mut contents = fixture::contents(&table);
    let mut details = Details::default();
    fixture::split_into_turns(&mut contents, 50, |trial, turn| {
        let microseconds: u32 = if turn.run == 7 { 200_000 } else { 1000 };
        turn.metrics.insert("latency_microseconds_p99".into(), f64::from(microseconds));
        let mut latency = Latency::default();
        (0..100).for_each(|_| latency.record(Duration::from_micros(microseconds.into())));
        let latencies = [("transaction".to_string(), latency)].into();
        details.add(trial, &RunDetail { latencies, ..RunDetail::default() });
    });
    let said = |at_most: f64, details: &Details| {
        let mut contents = contents.clone();
        contents.study.limits = vec![of_oltp("latency_microseconds_p99", at_most, false)];
        fixture::short(&Input::new(contents, details.clone()))
    };
    let of_all = said(50_000.0, &details);
    assert!(of_all.starts_with("No: ") && of_all.contains("200 ms"), "{of_all}");
    // Without histograms the turns' ends are known.
    let of_turns = said(50_000.0, &Details::default());
    assert!(of_turns.starts_with("Not known: ") && of_turns.contains("design.order=blocks"), "{of_turns}");
    // Nor is what every second turn says all of it.
    let mut some = details.clone();
    some.runs_all = some.runs_read + 1;
    let of_some = said(50_000.0, &some);
    assert!(of_some.starts_with("Not known: "), "{of_some}");
    for details in [&details, &Details::default()] {
        assert!(said(300_000.0, details).starts_with("Yes: "), "{}", said(300_000.0, details));
        assert!(said(500.0, details).starts_with("No: "), "{}", said(500.0, details));
    }
}

/// What is said of these rates, which are to be at least 500 a second.
fn said_of_rates(rates: [f64; 6]) -> String {
    let rows = vec![Row::new("ext4", &rates)];
    let table = Table { workload: "oltp", metric: fixture::transactions(), rows };
    let mut contents = fixture::contents(&table);
    let metric = "transactions_per_second".into();
    contents.study.limits = vec![LimitRecord { workload: "oltp".into(), metric, ..limit(500.0, true) }];
    fixture::short(&fixture::input_of(contents, &table))
}

/// "0–0" had looked as if it were sure, and "too early to say" as if more rounds could undo a standstill.
#[test]
fn a_figure_of_0_has_no_interval() {
    let said = said_of_rates([1000.0, 0.0, 1001.0, 999.0, 1000.0, 1002.0]);
    assert!(said.starts_with("Not always: p99 of the flush is 0 1/s (limit: at least 500 1/s)"), "{said}");
    assert!(
        said.contains("beyond it in 1 of 6 rounds") && !said.contains("0–0") && !said.contains("--rounds"),
        "{said}"
    );
}

/// "Not always: … was beyond it in 6 of 6 rounds", and it came behind what nobody had measured.
#[test]
fn what_no_round_kept_is_a_no_beside_a_figure_of_0_too() {
    for rates in [[0.0; 6], [100.0, 0.0, 101.0, 99.0, 100.0, 102.0]] {
        let said = said_of_rates(rates);
        assert!(said.starts_with("No: p99 of the flush is 0 1/s (limit: at least 500 1/s)."), "{said}");
    }
}

/// "1 times its limit" is no reason for a no.
#[test]
fn what_is_just_beyond_is_said_to_be() {
    let table = Table {
        workload: "block-io",
        metric: Metric::new("fdatasync_microseconds_p99", "µs", Direction::Less),
        rows: vec![Row::new("ext4", &[10_030.0, 10_031.0, 10_029.0, 10_030.0, 10_030.0, 10_030.0])],
    };
    let mut contents = fixture::contents(&table);
    contents.study.limits = vec![limit(10_000.0, false)];
    let said = report::answer(&fixture::input_of(contents, &table)).join(" ");
    assert!(said.starts_with("No: p99 of the flush is 10.0 ms, 1.003 times its limit of 10.0 ms."), "{said}");
}

/// At most 2.04 ms under a limit of 2.15 was kept "1 times over".
#[test]
fn a_limit_that_is_hardly_kept_says_by_how_much() {
    let said = |at_most: f64| fixture::short(&input(vec![around(2000.0, 1.0)], &[limit(at_most, false)]));
    // 2150 over 2036.7, the upper end at 97.5 %: t is 3.163 with 5 degrees of freedom.
    let near = said(2150.0);
    assert!(near.starts_with("Yes: the limit is kept, by 5.5 %.") && near.contains("yes, by 5.5 %"), "{near}");
    assert!(said(10_000.0).contains("yes, 4.9× over"));
}

/// "Too early to say: deadlocks is 0 so far" had stood there for good, also beside rounds with hundreds of them.
#[test]
fn a_count_of_0_is_a_figure_like_any_other() {
    let rows = vec![Row::new("ext4", &[1000.0, 1001.0, 999.0, 1000.0, 1002.0, 998.0])];
    let table = Table { workload: "oltp", metric: fixture::transactions(), rows };
    let said = |counts: [f64; 6], at_most: f64| {
        let mut contents = fixture::contents(&table);
        contents.metrics.insert("deadlocks".into(), Metric::new("deadlocks", "1", Direction::Less));
        for (run, count) in contents.runs.iter_mut().zip(counts) {
            run.metrics.insert("deadlocks".into(), count);
        }
        contents.study.limits = vec![of_oltp("deadlocks", at_most, false)];
        fixture::short(&Input::new(contents, Details::default()))
    };
    for at_most in [0.0, 10.0] {
        let none = said([0.0; 6], at_most);
        assert!(none.starts_with("Yes: the limit is kept. deadlocks is at most 0 (limit: at most "), "{none}");
    }
    let few = said([0.0, 2.0, 1.0, 0.0, 3.0, 1.0], 10.0);
    assert!(few.starts_with("Yes: the limit is kept, ") && few.contains(" 1.17 "), "{few}");
    let once = said([0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 0.0);
    assert!(once.starts_with("Too early to say: deadlocks is 0.167 so far"), "{once}");
    let many = said([500.0, 600.0, 0.0, 550.0, 480.0, 520.0], 10.0);
    assert!(many.starts_with("No: deadlocks is 442, 44 times its limit of 10.0."), "{many}");
    // A program's own figure may be a change: of all below 0 it was "too early to say" for good, with the smallest in place of the mean.
    let change = said([-3.0, -1.0, -2.0, -3.0, -1.0, -2.0], 1.0);
    assert!(change.starts_with("Yes: the limit is kept. deadlocks is at most −0.845 (limit: at most 1.00"), "{change}");
    let any = said([5.0; 6], 0.0);
    assert!(any.starts_with("No: deadlocks is 5.00 (limit: at most 0)."), "{any}");
}

/// Six of eight rounds kept the limit, and the answer was a yes.
#[test]
fn who_failed_in_a_round_kept_no_limit_in_it() {
    let mut failing = around(2000.0, 1.0);
    failing.values.insert(2, None);
    failing.values.insert(5, None);
    let said = fixture::short(&input(vec![failing], &[limit(10_000.0, false)]));
    assert!(
        said.starts_with("Not known: p99 of the flush has no figure in 2 of 8 rounds; in the others it is"),
        "{said}"
    );
    let mut once = around(2000.0, 1.0);
    once.values.insert(2, None);
    let said = report::summary(&input(vec![once], &[limit(10_000.0, false)]), &Place::default(), 100, false);
    assert!(said.contains("no figure in 1 round\n"), "{said}");
    // What two limits have in common is the rounds of the one that has fewer.
    let few = vec![around(2000.0, 1.0), Row::new("xfs", &[2000.0])];
    let said = fixture::short(&input(few, &[limit(10_000.0, false)]));
    assert!(said.contains("How sure: not known. What was measured in one round has no interval."), "{said}");
    let few = vec![around(2000.0, 1.0), Row::new("xfs", &[2000.0, 2010.0])];
    let said = fixture::short(&input(few, &[limit(10_000.0, false)]));
    assert!(said.contains("How sure: 95 %, over 2 rounds, for all 2 limits together."), "{said}");
}

/// Of three runs in a trial one took half a second at most, and their mean was 23 ms.
#[test]
fn the_slowest_of_a_trial_is_that_of_all_its_runs() {
    let rows = vec![Row::new("ext4", &[1000.0, 1001.0, 999.0, 1000.0, 1002.0, 998.0])];
    let table = Table { workload: "oltp", metric: fixture::transactions(), rows };
    let mut contents = fixture::contents(&table);
    let name = "latency_microseconds_max";
    contents.metrics.insert(name.into(), Metric::new(name, "µs", Direction::Less));
    for run in std::mem::take(&mut contents.runs) {
        for (number, slowest) in (0_u32..).zip([5_000.0, 5_000.0, 500_000.0]) {
            let mut one = RunRow { id: run.id * 3 + i64::from(number), run: number, ..run.clone() };
            one.metrics.insert(name.into(), slowest);
            contents.runs.push(one);
        }
    }
    contents.study.limits = vec![of_oltp(name, 50_000.0, false)];
    let said = fixture::short(&Input::new(contents, Details::default()));
    assert!(said.starts_with("No: latency max is 500 ms, 10 times its limit of 50.0 ms."), "{said}");
}
