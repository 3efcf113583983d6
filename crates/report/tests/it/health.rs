//! What is said of runs that were not steady, too short or disturbed, and that ordinary runs are left in peace.

use crate::answers::{rounds, study};
use crate::export;
use crate::fixture::{self, Row, Table};
use expect_test::{Expect, expect};
use ledger::model::{Contents, Order, RunDetail, RunRow, Trial};
use report::input::{Details, Input};

/// Two filesystems of which xfs is 4 % faster, in eight rounds with a little noise.
fn table() -> Table {
    study(vec![Row::new("ext4", &rounds(1000.0, 0.008, 0)), Row::new("xfs", &rounds(1040.0, 0.008, 3))])
}

/// Contents whose runs had these rates: of each trial a level for each second, around which the rate dithers.
fn input(contents: Contents, seconds: usize, level: impl Fn(&Trial, usize) -> f64) -> Input {
    let mut details = Details::default();
    for run in &contents.runs {
        let trial = contents.trials.iter().find(|trial| trial.id == run.trial).expect("each run has its trial");
        let mut state = trial.id as u64 + 7;
        let mut noise = || {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            ((state >> 16) % 101) as f64 / 50.0 - 1.0
        };
        let rates = (0..seconds).map(|second| 1000.0 * level(trial, second) * (1.0 + 0.05 * noise())).collect();
        let series = [("transactions_per_second".to_string(), rates)].into();
        details.add(trial, &RunDetail { series, ..RunDetail::default() });
    }
    details.runs_all = contents.runs.len();
    Input::new(contents, details)
}

/// What was seen, of each warning.
fn seen(input: &Input) -> Vec<String> {
    let json = export::json(input);
    let warnings = json["warnings"].as_array().expect("a list").iter();
    warnings.map(|warning| warning["seen"].as_str().expect("text").to_string()).collect()
}

/// The claims' sentences and what was seen, without what every such study has.
fn check(input: &Input, expected: Expect) {
    let ordinary = ["Limits:", "It is ", "Pick ", "Not ruled out"];
    let lines = report::answer(input).into_iter().filter(|line| !ordinary.iter().any(|start| line.starts_with(start)));
    let seen = seen(input).into_iter().map(|seen| format!("! {seen}"));
    expected.assert_eq(&(lines.chain(seen).collect::<Vec<_>>().join("\n") + "\n"));
}

fn set(contents: &mut Contents, wanted: impl Fn(&Trial) -> bool, figures: &[(&str, f64)]) {
    for run in fixture::runs_of(contents, wanted) {
        run.metrics.extend(figures.iter().map(|(name, value)| ((*name).into(), *value)));
    }
}

/// A machine of two CPUs of which the trial uses one and a half.
fn quiet(contents: &mut Contents) {
    let figures = [
        ("cpu_0_idle_share", 0.2),
        ("cpu_1_idle_share", 0.3),
        ("cpu_user_share", 0.5),
        ("cpu_system_share", 0.25),
        ("cpu_steal_share", 0.001),
        ("driver_cpu_cores", 0.6),
        ("others_cpu_cores", 0.85),
        ("device_read_bytes", 0.0),
        ("device_write_bytes", 3.2e9),
        ("device_backing_read_bytes", 0.0),
        ("device_backing_write_bytes", 3.2e9),
    ];
    set(contents, |_| true, &figures);
}

#[test]
fn ordinary_runs_are_left_in_peace() {
    let mut contents = fixture::contents(&table());
    quiet(&mut contents);
    let dips = |_: &Trial, second: usize| if second % 12 == 11 { 0.4 } else { 1.0 };
    check(
        &input(contents, 60, dips),
        expect![[r#"
            xfs was bound by CPU: 54 % of the CPUs.
            xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %). With it went 3.8 % fewer bytes written per transaction.
        "#]],
    );
}

#[test]
fn a_warm_up_that_goes_on_is_said_with_its_remedy() {
    let input = input(
        fixture::contents(&table()),
        60,
        |trial, second| {
            if trial.scenario == "xfs" && second < 15 { 0.6 } else { 1.0 }
        },
    );
    check(
        &input,
        expect![[r#"
            xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %); 8 of the 16 runs of both were not steady. But the rate of the worst second of xfs is 0.60× that of ext4 (95 % interval 0.60–0.60).
            ! oltp: without a warm-up run, 8 of 16 runs were still warming up, for up to 15.0 s (xfs); one would cover that, with half as much to spare
        "#]],
    );
    let json = export::json(&input);
    let scenario = json["workloads"][0]["scenarios"][0].clone();
    assert_eq!((&scenario["scenario"], &scenario["health"]["unsteady_runs"]), (&"xfs".into(), &8.into()));
    let even = |index: usize| json["workloads"][0]["scenarios"][index]["health"]["runs_even_by_snia"].clone();
    assert_eq!((even(0), even(1)), (0.into(), 8.into()));
    let page = report::html(&input);
    let table = page.split_once("Health of the runs").expect("the page has the table").1;
    let xfs = table.split("<tr>").find(|row| row.contains(">xfs<")).expect("a row each");
    assert!(xfs.contains(">0 of 8<") && xfs.contains(">15.0 s<"), "{xfs}");
}

#[test]
fn slowdowns_and_runs_without_a_steady_state_are_named() {
    let input = input(fixture::contents(&table()), 120, |trial, second| match (&*trial.scenario, trial.round) {
        ("xfs", 0..4) if second >= 70 => 0.7,
        ("ext4", 0..2) => [1.0, 0.6, 1.2, 0.8][second / 30],
        _ => 1.0,
    });
    check(
        &input,
        expect![[r#"
            xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %); 6 of the 16 runs of both were not steady.
            ! oltp: 6 of 16 runs were not steady (4 slower at their end, 2 without a steady state): 4 of xfs, 2 of ext4
        "#]],
    );
}

#[test]
fn a_saw_tooth_of_whole_cycles_is_steady() {
    let input = input(fixture::contents(&table()), 300, |_, second| 0.5 + (second % 60) as f64 / 120.0);
    check(
        &input,
        expect![[r#"
        xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %).
    "#]],
    );
    assert_eq!(export::json(&input)["workloads"][0]["scenarios"][0]["health"]["cycle_seconds"], 60.0);
}

#[test]
fn less_than_two_checkpoints_a_run_are_too_few() {
    let mut contents = fixture::contents(&table());
    set(&mut contents, |trial| trial.round % 2 == 0, &[("checkpoints", 1.0)]);
    set(&mut contents, |trial| trial.round % 2 == 1, &[("checkpoints", 0.0)]);
    check(
        &input(contents, 30, |_, _| 1.0),
        expect![[r#"
        xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %).
        ! oltp: a run of 30.0 s is too short for ext4: it holds 0.500 checkpoints of the server on average; about 2.00 min would do
    "#]],
    );
}

/// One checkpoint in a minute of two turns was "0.500 in a run of 60 s", and four minutes were said to be needed.
#[test]
fn checkpoints_of_a_trial_in_turns_are_those_of_all_its_turns() {
    let mut contents = fixture::contents(&table());
    contents.study.analysis.order = Order::Turns;
    set(&mut contents, |trial| trial.scenario == "ext4", &[("checkpoints", 1.0)]);
    let second_turn = |run: &RunRow| {
        let mut turn = RunRow { id: run.id + 10_000, run: 1, started: run.started + run.seconds, ..run.clone() };
        if let Some(count) = turn.metrics.get_mut("checkpoints") {
            *count = 0.0;
        }
        turn
    };
    let runs = std::mem::take(&mut contents.runs);
    contents.runs = runs.into_iter().flat_map(|run| [run.clone(), second_turn(&run)]).collect();
    let json = export::json(&input(contents, 30, |_, _| 1.0));
    let warnings = json["warnings"].to_string();
    let wanted = "it holds 1.00 checkpoints of the server on average; about 2.00 min would do";
    assert!(warnings.contains("a run of 60.0 s is too short for ext4: ") && warnings.contains(wanted), "{warnings}");
}

/// As files of ext4 without a journal are made 17 times slower right after as many were removed.
#[test]
fn a_run_that_slows_the_next_one_down_is_said() {
    let mut contents = fixture::contents(&table());
    let warm_ups: Vec<_> = contents
        .runs
        .iter()
        .map(|run| {
            let is_slowed = contents.trials.iter().any(|trial| trial.id == run.trial && trial.scenario == "xfs");
            let mut warm_up = run.clone();
            (warm_up.id, warm_up.warm_up) = (run.id + 10_000, true);
            for value in warm_up.metrics.values_mut() {
                *value *= if is_slowed { 17.0 } else { 1.4 };
            }
            warm_up
        })
        .collect();
    contents.runs.extend(warm_ups);
    check(
        &input(contents, 30, |_, _| 1.0),
        expect![[r#"
        xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %).
        ! oltp: measured runs were slower than the warm-up before them: xfs 17.0 times as slow
    "#]],
    );
}

/// A round that sends another part of a log takes another time, on a machine that is as it was.
#[test]
fn a_drift_is_the_work_s_where_rounds_do_other_parts_of_it() {
    let mut table = table();
    for row in &mut table.rows {
        row.values
            .iter_mut()
            .enumerate()
            .for_each(|(i, value)| *value = value.map(|value| value * 1.05_f64.powi(i as i32)));
    }
    let mut contents = fixture::contents(&table);
    let moved = |contents: &Contents| {
        let seen = seen(&input(contents.clone(), 30, |_, _| 1.0));
        seen.iter().any(|seen| seen.contains("all scenarios together"))
    };
    assert!(moved(&contents));
    set(&mut contents, |_| true, &[("part_begin", 250.0)]);
    assert!(!moved(&contents));

    let factorial = fixture::filesystems_and_buffers();
    let named = |input: &Input| {
        let page = report::html(input).replace('\u{a0}', " ");
        let names = ["drift between rounds", "A slope is drift", "different parts of the work", "moves the line"];
        names.map(|name| page.contains(name))
    };
    assert_eq!(named(&fixture::input(&factorial)), [true, true, false, false]);
    let mut factorial = fixture::contents(&factorial);
    set(&mut factorial, |_| true, &[("part_begin", 250.0)]);
    assert_eq!(named(&input(factorial, 30, |_, _| 1.0)), [false, false, true, true]);
}

/// Its requests wait longer the longer it lasts.
#[test]
fn an_open_loop_that_falls_behind_is_said() {
    let mut contents = fixture::contents(&table());
    quiet(&mut contents);
    for (scenario, rate) in contents.scenarios.iter_mut().zip([1000.0, 4000.0]) {
        scenario.settings["workload"]["rate"] = rate.into();
    }
    check(
        &input(contents, 30, |_, _| 1.0),
        expect![[r#"
        xfs was bound by CPU: 54 % of the CPUs.
        xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %). With it went 3.8 % fewer bytes written per transaction.
        ! oltp: the rate asked for was not reached: xfs (26 % of it)
    "#]],
    );
}

#[test]
fn runs_of_a_second_are_too_short_for_anything() {
    let mut contents = fixture::contents(&table());
    contents.runs.iter_mut().for_each(|run| run.seconds = 1.0);
    set(&mut contents, |trial| trial.round == 1, &[("checkpoints", 1.0)]);
    check(
        &input(contents, 1, |_, _| 1.0),
        expect![[r#"
        xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %).
        ! runs lasted only 1.00 s, too short to see whether they were steady
    "#]],
    );
}

#[test]
fn a_disturbed_trial_stays_and_is_said_with_what_it_changes() {
    let mut table = table();
    table.rows[1].values[2] = Some(700.0);
    let mut contents = fixture::contents(&table);
    quiet(&mut contents);
    set(&mut contents, |trial| trial.scenario == "xfs" && trial.round == 2, &[("cpu_steal_share", 0.3)]);
    check(
        &input(contents, 30, |_, _| 1.0),
        expect![[r#"
            No winner yet: xfs can't be ruled out as the best. ext4 was ahead: 1,000 transactions per second (95 % interval 993–1,007 for the pick of 2, 8 trials). To compare, use the ratios below, not these means.
            Choosing ext4 costs at most 11.8 % against whichever of the scenarios measured is truly best (95 % confidence).
            ext4 was bound by CPU: 54 % of the CPUs.
            xfs against ext4 is open: from 12.1 % slower to 11.7 % faster (95 %). A true difference of 21.2 % would have been found in 8 of 10 such studies; one trial was disturbed.
            ! oltp: the widest interval is ±12.8 %, where ±3 % was wanted, at this spread about 94 rounds are needed; the study ended: the wanted precision is reached
            ! oltp: outlier: ext4 in round 3, xfs in round 3
            ! oltp: slow while something else used the machine: xfs in round 3 (30 % of the CPUs' time stolen); without them, xfs against ext4 would be “faster” and not “can't tell”
        "#]],
    );
}

/// The first round was the fastest, so that a trial of it may be slow for its round and above the median of all.
#[test]
fn a_disturbed_trial_is_slow_for_its_round_on_a_machine_that_drifts() {
    let mut table = table();
    for row in &mut table.rows {
        let of_round =
            |(round, value): (usize, &mut Option<f64>)| *value = value.map(|v| v * 0.93_f64.powi(round as i32));
        row.values.iter_mut().enumerate().for_each(of_round);
    }
    table.rows[1].values[0] = table.rows[1].values[0].map(|value| value * 0.9);
    let mut contents = fixture::contents(&table);
    quiet(&mut contents);
    set(&mut contents, |trial| trial.scenario == "xfs" && trial.round == 0, &[("cpu_steal_share", 0.3)]);
    let seen = seen(&input(contents, 30, |_, _| 1.0));
    let wanted = "slow while something else used the machine: xfs in round 1 (30 % of the CPUs' time stolen)";
    assert!(seen.iter().any(|seen| seen.contains(wanted)), "{seen:#?}");
}

#[test]
fn a_slow_trial_on_a_quiet_machine_is_no_disturbance() {
    let mut table = table();
    table.rows[1].values[2] = Some(700.0);
    let mut contents = fixture::contents(&table);
    quiet(&mut contents);
    check(
        &input(contents, 30, |_, _| 1.0),
        expect![[r#"
            No winner yet: xfs can't be ruled out as the best. ext4 was ahead: 1,000 transactions per second (95 % interval 993–1,007 for the pick of 2, 8 trials). To compare, use the ratios below, not these means.
            Choosing ext4 costs at most 11.8 % against whichever of the scenarios measured is truly best (95 % confidence).
            ext4 was bound by CPU: 54 % of the CPUs.
            xfs against ext4 is open: from 12.1 % slower to 11.7 % faster (95 %). A true difference of 21.2 % would have been found in 8 of 10 such studies.
            ! oltp: the widest interval is ±12.8 %, where ±3 % was wanted, at this spread about 94 rounds are needed; the study ended: the wanted precision is reached
            ! oltp: outlier: ext4 in round 3, xfs in round 3
        "#]],
    );
}

#[test]
fn steal_and_busy_neighbours_are_said_once() {
    let mut contents = fixture::contents(&table());
    quiet(&mut contents);
    let figures = [
        ("cpu_steal_share", 0.04),
        ("cpu_user_share", 0.8),
        ("driver_cpu_cores", 0.2),
        ("others_cpu_cores", 0.4),
        ("device_backing_write_bytes", 6.1e9),
    ];
    set(&mut contents, |_| true, &figures);
    check(
        &input(contents, 30, |_, _| 1.0),
        expect![[r#"
            xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %). With it went 3.8 % fewer bytes written per transaction.
            ! other guests of the host took 4 % of the CPUs' time, at most 4 % (ext4 in round 8)
            ! beside load and server, something else used 1.50 of 2 CPUs and moved 96.7 MB/s on the disk below on average
        "#]],
    );
}

#[test]
fn a_step_between_rounds_is_named_by_its_round() {
    let mut table = table();
    for row in &mut table.rows {
        row.values[5..].iter_mut().flatten().for_each(|value| *value *= 0.92);
    }
    check(
        &input(fixture::contents(&table), 30, |_, _| 1.0),
        expect![[r#"
        xfs is 4.0 % faster than ext4 (95 % interval +3.2 to +4.8 %).
        ! oltp: all scenarios together measured 8.3 % less from round 6 on
    "#]],
    );
}

/// A program ran beside one scenario only, from round 5 on: "comparisons hold, as each round hits all scenarios alike".
#[test]
fn a_step_of_one_scenario_is_none_of_all() {
    let mut table = table();
    table.rows[1].values[4..].iter_mut().flatten().for_each(|value| *value *= 0.7);
    let json = export::json(&input(fixture::contents(&table), 30, |_, _| 1.0));
    let warnings = json["warnings"].as_array().expect("a list").iter();
    let seen = |warning: &serde_json::Value| warning["seen"].as_str().is_some_and(|seen| seen.contains("together"));
    let found: Vec<&serde_json::Value> = warnings.filter(|warning| seen(warning)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let seen = found[0]["seen"].as_str().expect("text");
    assert!(seen.contains("from round 5 on; against ext4, xfs moved by −29.7 %"), "{seen}");
    assert!(!found[0].to_string().contains("Comparisons hold"), "{}", found[0]);
}

/// One of sixteen: the mean of all moved by a percent, and nobody was told.
#[test]
fn a_step_of_one_scenario_among_many_is_said() {
    let pattern = [0.6, -1.1, 0.2, 1.3, -0.4, -0.9, 1.0, -0.7];
    let values =
        |shift: usize| -> Vec<f64> { (0..8).map(|i| 1000.0 * (1.0 + 0.008 * pattern[(i * 3 + shift) % 8])).collect() };
    let rows = (0..16).map(|number| Row::new(&format!("f{number}"), &values(number))).collect();
    let mut table = Table { rows, ..table() };
    table.rows[5].values[4..].iter_mut().flatten().for_each(|value| *value *= 0.85);
    let warnings = export::json(&input(fixture::contents(&table), 30, |_, _| 1.0))["warnings"].to_string();
    assert!(warnings.contains("oltp: while the study ran, against f0, f5 moved by −"), "{warnings}");
    assert!(!warnings.contains("all scenarios together"), "{warnings}");
}

#[test]
fn the_health_of_runs_is_on_paper_as_it_is_on_the_page() {
    let mut contents = fixture::contents(&table());
    quiet(&mut contents);
    let input = input(contents, 60, |_, _| 1.0);
    let title = "Health of the runs";
    assert!(report::html(&input).contains(title));
    assert!(report::print(&input, String::new()).contains(title));
}

#[test]
fn what_was_not_counted_is_no_zero() {
    let mut contents = fixture::contents(&table());
    quiet(&mut contents);
    let driver_unread = contents.trials.iter().find(|trial| trial.scenario == "xfs").expect("a trial").id;
    for run in &mut contents.runs {
        // A kernel without steal time, a directory instead of a device; and one trial of a driver whose CPU time was not read.
        run.metrics.retain(|name, _| &**name != "cpu_steal_share" && !name.starts_with("device"));
        if run.trial == driver_unread {
            run.metrics.remove("driver_cpu_cores");
        }
    }
    let input = input(contents, 60, |_, _| 1.0);
    let html = report::html(&input);
    let table =
        html.split("Health of the runs").nth(1).and_then(|rest| rest.split("</table>").next()).expect("the table");
    assert_eq!(table.matches("<td>–</td>").count(), 4, "steal and disk of two scenarios: {table}");
    let json = export::json(&input);
    let scenarios = json["workloads"][0]["scenarios"].as_array().expect("rows");
    let loads: Vec<_> = scenarios.iter().flat_map(|row| row["health"]["loads"].as_array().expect("loads")).collect();
    assert!(loads.iter().all(|load| load["steal_share"].is_null() && load["other_disk_bytes_per_second"].is_null()));
    assert_eq!(loads.iter().filter(|load| load["other_cpu_cores"].is_null()).count(), 1, "{loads:?}");
}

/// A trial was said to have all of a limit that is larger than the machine, and a filesystem that was filled to hold so much data.
#[test]
fn data_are_held_against_the_memory_that_there_was() {
    let said = |settings: serde_json::Value, used: f64| {
        let mut contents = fixture::contents(&table());
        contents.scenarios.iter_mut().for_each(|scenario| scenario.settings = settings.clone());
        set(&mut contents, |_| true, &[("space_used_bytes", used)]);
        seen(&input(contents, 60, |_, _| 1.0)).iter().filter(|seen| seen.contains("of the memory")).count()
    };
    let storage = |fill: f64| serde_json::json!({ "device": "loop", "size": 64e9, "fill": fill });
    // The machine has 25 GB.
    let limited = |bytes: f64| serde_json::json!({ "memory_bytes": bytes, "storage": storage(0.0) });
    assert_eq!((said(limited(64e9), 30e9), said(limited(64e9), 20e9), said(limited(10e9), 20e9)), (0, 1, 0));
    let filled = |fill: f64| serde_json::json!({ "storage": storage(fill) });
    assert_eq!((said(filled(0.5), 33e9), said(filled(0.0), 33e9)), (1, 0));
    // Of 64 GB a filesystem may have 59 for files, of which 47 are filled: 12 GB of data do not fit into 10.
    let limited = serde_json::json!({ "memory_bytes": 10e9, "storage": storage(0.8) });
    assert_eq!(said(limited, 59e9), 0);
    // Of a load past the page cache it was said that its reads come from there.
    let through = |direct: bool| serde_json::json!({ "storage": storage(0.0), "workload": { "direct": direct } });
    assert_eq!((said(through(false), 1e9), said(through(true), 1e9)), (1, 0));
}
