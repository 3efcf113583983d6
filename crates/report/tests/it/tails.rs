//! Tails, shapes and orders: what means do not say.

use crate::export;
use crate::fixture::{self, Row, Table, transactions};
use ledger::model::{Contents, Order, RunDetail, RunRow};
use observe::latency::Latency;
use report::input::{Details, Input};
use serde_json::Value;
use std::time::Duration;

/// Two filesystems by their values.
fn two(ext4: &[f64], xfs: &[f64]) -> Table {
    Table { workload: "oltp", metric: transactions(), rows: vec![Row::new("ext4", ext4), Row::new("xfs", xfs)] }
}

const EXT4: [f64; 8] = [3000.0, 3010.0, 2985.0, 3005.0, 2990.0, 3002.0, 2996.0, 3008.0];

fn times(factor: f64) -> Vec<f64> {
    EXT4.iter().enumerate().map(|(round, value)| value * factor * (1.0 + 0.002 * (round % 3) as f64)).collect()
}

/// With xfs's slowest operations so many times as slow.
fn with_tail(table: &Table, factor: f64) -> Input {
    let mut input = fixture::input(table);
    let of_xfs = |trial: &&ledger::model::Trial| trial.scenario == "xfs";
    let ids: Vec<i64> = input.contents.trials.iter().filter(of_xfs).map(|trial| trial.id).collect();
    for (id, tail) in &mut input.details.tails {
        if ids.contains(id) {
            tail.p99.values_mut().flatten().for_each(|value| *value *= factor);
        }
    }
    input
}

fn short(input: &Input) -> String {
    fixture::is_short(input);
    fixture::short(input)
}

/// What the JSON has of a figure of tails; null: nothing.
fn tail(input: &Input, figure: &str) -> Value {
    let json = export::json(input);
    let tails = json["workloads"][0]["tails"].as_array().expect("a list");
    tails.iter().find(|tail| tail["figure"] == figure).cloned().unwrap_or_default()
}

#[test]
fn a_pick_with_a_worse_tail_has_it_in_the_short_answer() {
    let table = two(&EXT4, &times(1.1));
    let input = with_tail(&table, 2.0);
    let said = short(&input);
    assert!(said.contains("Use xfs"), "{said}");
    assert!(said.contains("But the 99th percentile of latency of xfs is 1.7"), "{said}");
    assert!(report::answer(&input).iter().any(|line| line.contains("But the 99th percentile of latency of xfs")));
    // Where the tail goes with the mean there is nothing to add; the table has it.
    let alike = with_tail(&table, 1.0);
    assert!(!short(&alike).contains("99th percentile"), "{}", short(&alike));
    let latency = tail(&alike, "latency_p99");
    assert_eq!((&latency["operation"], &latency["claims"][0]["verdict"]), (&"transaction".into(), &"faster".into()));
}

/// In the other workload it may be the other way round: nobody could tell of which it was said.
#[test]
fn of_several_workloads_the_one_that_has_the_tail_is_named() {
    let mut table = two(&EXT4, &times(1.1));
    table.rows.push(Row::new("tree", &EXT4));
    let mut input = with_tail(&table, 2.0);
    let tree = &mut input.contents.scenarios[2];
    (tree.workload, tree.baseline) = ("tree".into(), true);
    let said = short(&input);
    assert!(said.contains("oltp: But the 99th percentile of latency of xfs is 1."), "{said}");
}

/// Random writes were faster on XFS, and on the device later, in each of twelve rounds: nothing said so.
#[test]
fn a_pick_whose_writes_are_on_the_device_later_has_it_in_the_short_answer() {
    let synced = |of_xfs: f64| {
        let mut input = fixture::input(&two(&EXT4, &times(1.1)));
        let trials = input.contents.trials.clone();
        for run in &mut input.contents.runs {
            let is_xfs = trials.iter().any(|trial| trial.id == run.trial && trial.scenario == "xfs");
            run.metrics.insert("elapsed_seconds".into(), 2.0);
            run.metrics.insert("elapsed_synced_seconds".into(), if is_xfs { of_xfs } else { 4.0 });
        }
        input
    };
    // 1.1 times the rate, and half as much again until all is there: 1.1 × 4 / 6 = 0.73.
    let later = synced(6.0);
    let said = short(&later);
    assert!(said.contains("But the rate until all is on the device of xfs is 0.73"), "{said}");
    assert_eq!(tail(&later, "synced_rate")["claims"][0]["verdict"], "slower");
    let alike = short(&synced(4.0));
    assert!(!alike.contains("on the device"), "{alike}");
}

/// As many messages are removed as are delivered: the removals are not called latency as such, and not taken for the deliveries.
#[test]
fn of_several_operations_the_one_that_is_compared_is_named() {
    fn split<T: Clone>(of: &mut std::collections::BTreeMap<String, T>) {
        let whole = of.remove("transaction").expect("one operation");
        of.extend(["remove", "deliver"].map(|name| (name.to_string(), whole.clone())));
    }
    let mut input = with_tail(&two(&EXT4, &times(1.1)), 2.0);
    input.details.latencies.values_mut().for_each(split);
    input.details.tails.values_mut().for_each(|tail| split(&mut tail.p99));
    let said = short(&input);
    assert!(said.contains("But the 99th percentile of latency (deliver) of xfs is 1.7"), "{said}");
}

#[test]
fn the_same_is_not_said_where_a_tail_differs() {
    let table = two(&EXT4, &times(0.999));
    let verdict = |input: &Input| export::json(input)["workloads"][0]["claims"][0]["verdict"].clone();
    assert_eq!(verdict(&with_tail(&table, 1.0)), "equivalent");
    let input = with_tail(&table, 2.0);
    assert_eq!(verdict(&input), "inconclusive");
    let said = report::answer(&input).join("\n");
    assert!(said.contains("so means alone do not decide") && said.contains("99th percentile"), "{said}");
    let page = report::html(&input);
    assert!(page.contains("Tails and shapes"));
    assert!(report::terminal(&input, 200, false).contains("tails and shapes that differ"));
}

/// Latencies in the second of two groups are four times as long, whoever's they are.
#[test]
fn tails_of_split_rounds_are_compared_by_what_the_groups_share() {
    let labels = ["ext4", "xfs", "btrfs"];
    let rows = labels.map(|label| Row::new(label, &EXT4)).into();
    let table = Table { workload: "oltp", metric: transactions(), rows };
    let mut contents = fixture::contents(&table);
    contents.scenarios[0].baseline = true;
    let mut next = contents.trials.iter().map(|trial| trial.id).max().expect("trials") + 1;
    for trial in contents.trials.clone() {
        let place = contents.trials.iter().position(|other| other.id == trial.id).expect("itself");
        contents.trials[place].group = Some(u32::from(trial.scenario == "btrfs"));
        if trial.scenario == "ext4" {
            let runs: Vec<RunRow> = contents.runs.iter().filter(|run| run.trial == trial.id).cloned().collect();
            contents.runs.extend(runs.into_iter().map(|run| RunRow { id: run.id + 10_000, trial: next, ..run }));
            contents.trials.push(ledger::model::Trial { id: next, group: Some(1), ..trial });
            next += 1;
        }
    }
    let slow: Vec<i64> = contents.trials.iter().filter(|trial| trial.group == Some(1)).map(|trial| trial.id).collect();
    let mut input = fixture::input_of(contents, &table);
    for id in slow {
        let tail = input.details.tails.get_mut(&id).expect("its tail");
        tail.p99.values_mut().flatten().for_each(|value| *value *= 4.0);
    }
    for claim in tail(&input, "latency_p99")["claims"].as_array().expect("claims") {
        let ratio = claim["ratio"].as_f64().expect("a ratio");
        assert!((0.8..1.25).contains(&ratio), "nobody's own latency differs: {claim}");
    }
}

/// Figures are known to a thousandth: what never varies and differs by a millionth is no difference.
#[test]
fn a_millionth_is_no_difference() {
    let input = fixture::input(&two(&[1000.0; 8], &[1000.001; 8]));
    let json = export::json(&input);
    assert_eq!(json["workloads"][0]["claims"][0]["verdict"], "equivalent");
    assert_eq!(json["workloads"][0]["versus_baseline"][0]["verdict"], "equivalent");
    assert_eq!(json["workloads"][0]["best_set"].as_array().map(Vec::len), Some(2));
}

/// Eight rounds of 24 turns a scenario, in orders that alternate by a fixed pattern; a turn after xfs is `planted` slower.
fn by_turns(planted: f64) -> Contents {
    let mut contents = fixture::contents(&two(&EXT4, &EXT4));
    contents.study.analysis.order = Order::Turns;
    contents.runs.clear();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut fraction = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    for round in 0..8 {
        let ids: Vec<i64> = ["ext4", "xfs"]
            .map(|label| {
                let is_it = |trial: &&mut ledger::model::Trial| trial.round == round && trial.scenario == label;
                let trial = contents.trials.iter_mut().find(is_it).expect("a trial");
                (trial.started, trial.ended) = (f64::from(round) * 1000.0, Some(f64::from(round) * 1000.0 + 900.0));
                trial.id
            })
            .into();
        let mut before = None;
        for turn in 0..48_u32 {
            // Pairs in either order, drawn.
            let first = if turn % 2 == 0 { usize::from(fraction() < 0.5) } else { 1 - before.unwrap_or(0) };
            let value =
                3000.0 * (0.02 * (fraction() - 0.5)).exp() * if before == Some(1) { 1.0 - planted } else { 1.0 };
            contents.runs.push(RunRow {
                id: i64::from(round * 48 + turn) + 1,
                trial: ids[first],
                run: turn,
                warm_up: false,
                started: f64::from(round) * 1000.0 + 10.0 + f64::from(turn),
                seconds: 1.0,
                metrics: [("transactions_per_second".into(), value)].into(),
            });
            before = Some(first);
        }
    }
    contents
}

#[test]
fn what_a_turn_does_to_the_next_one_is_estimated_and_warned_of() {
    let said_after = |planted: f64, asleep_seconds: f64| {
        let mut contents = by_turns(planted);
        contents.runs.iter_mut().for_each(|run| run.started += asleep_seconds);
        let input = Input::new(contents, Details::default());
        let json = export::json(&input);
        (json["workloads"][0]["orders"].clone(), report::terminal(&input, 400, false), short(&input))
    };
    let said = |planted: f64| said_after(planted, 0.0);
    let (orders, text, brief) = said(0.1);
    assert_eq!(said_after(0.1, 3600.0).0, orders, "runs have the machine's clock, and trials the session's");
    assert_eq!(orders["carry_over"]["shown"], true, "{orders}");
    assert_eq!((&orders["least_balanced"]["by_turns"], &orders["least_balanced"]["of"]), (&true.into(), &192.into()));
    assert!(text.contains("Carry-over was shown: turns after") && text.contains("Orders: "), "{text}");
    assert!(brief.contains("differences may be off by as much"), "{brief}");
    let (orders, text, brief) = said(0.0);
    assert!(text.contains("Carry-over was not shown"), "{orders} {text}");
    assert!(!brief.contains("off by as much"), "{brief}");
    // A filesystem that can't be mounted here took the estimate with it.
    let mut contents = by_turns(0.1);
    contents.scenarios.push(ledger::model::Scenario { label: "btrfs".into(), ..contents.scenarios[1].clone() });
    let json = export::json(&Input::new(contents, Details::default()));
    assert_eq!(json["workloads"][0]["orders"], said(0.1).0);
}

/// What a turn leaves behind is flushed at its end, so it need not be long enough for a journal's commit.
#[test]
fn turns_are_not_called_short_runs() {
    let text = |order: Order| {
        let mut contents = by_turns(0.0);
        contents.study.analysis.order = order;
        report::terminal(&Input::new(contents, Details::default()), 400, false)
    };
    assert!(text(Order::Blocks).contains("runs lasted only 1.00 s"));
    assert!(!text(Order::Turns).contains("runs lasted only"), "{}", text(Order::Turns));
}

/// A machine that was slow for a round makes no slow mode of it: turns are held against those of their own trial.
#[test]
fn a_slow_round_is_no_slow_mode() {
    let mut contents = by_turns(0.0);
    let round = contents.trials.iter().find(|trial| trial.round == 3 && trial.scenario == "ext4").expect("a trial").id;
    for run in contents.runs.iter_mut().filter(|run| run.trial == round) {
        run.metrics.values_mut().for_each(|value| *value *= 0.3);
    }
    let slow = |contents: Contents| {
        let input = Input::new(contents, Details::default());
        fixture::row_of_json(&input, "ext4")["slow_runs"]["slow"].clone()
    };
    assert_eq!(slow(contents.clone()), 0);
    let mut of_trial = contents.runs.iter_mut().filter(|run| run.trial == round);
    let stalled = of_trial.next().expect("a turn");
    stalled.metrics.values_mut().for_each(|value| *value = 0.0);
    assert_eq!(slow(contents), 1);
}

/// Jobs that are timed, a turn each: of xfs one in twelve takes much longer, and its mean is the other's.
fn jobs() -> Contents {
    let metric = observe::metric::Metric::new("compile_seconds", "s", observe::metric::Direction::Less);
    let seconds = |mean: f64| (0..12).map(|round| mean * (1.0 + 0.001 * f64::from(round % 5))).collect::<Vec<f64>>();
    let rows = vec![Row::new("ext4", &seconds(1.0)), Row::new("xfs", &seconds(1.001))];
    let mut contents = fixture::contents(&Table { workload: "compile", metric, rows });
    fixture::split_into_turns(&mut contents, 12, |trial, turn| {
        let wobble = 1.0 + 0.002 * f64::from((turn.run * 7 + trial.round) % 5);
        let slow = if trial.scenario == "xfs" { if turn.run == 4 { 1.42 } else { 0.962 } } else { 1.0 };
        turn.metrics.insert("compile_seconds".into(), wobble * slow);
    });
    contents
}

/// By its mean xfs is the faster; a sixth of its turns are far slower than its others. Five rounds show no percentile of speed.
#[test]
fn a_pick_that_is_slow_now_and_then_has_it_in_the_short_answer() {
    let said = |slow: f64| {
        let mut contents = jobs();
        contents.trials.retain(|trial| trial.round < 5);
        fixture::keep_finished(&mut contents);
        for run in fixture::runs_of(&mut contents, |trial| trial.scenario == "xfs") {
            let seconds = if [4, 9].contains(&run.run) { slow } else { 0.6 };
            run.metrics.insert("compile_seconds".into(), seconds * (1.0 + 0.001 * f64::from(run.run % 3)));
        }
        short(&Input::new(contents, Details::default()))
    };
    let now_and_then = said(1.5);
    for expected in [
        "Use xfs: by the mean it is the fastest of the 2 scenarios.",
        "But 10 of 60 ",
        " of xfs were below half of their usual speed (true share ",
        ", and of ext4 0 of 60.",
        "that none of the 2 scenarios is faster by the mean.",
    ] {
        assert!(now_and_then.contains(expected), "{expected} in {now_and_then}");
    }
    let steady = said(0.7);
    assert!(steady.contains("Use xfs: it is the fastest of the 2 scenarios.") && !steady.contains("But"), "{steady}");
}

/// What takes longer is slower: of speeds it has the smaller part.
#[test]
fn a_percentile_of_speed_is_smaller_where_turns_take_longer() {
    let input = Input::new(jobs(), Details::default());
    let claim = &tail(&input, "hundredth")["claims"][0];
    let ratio = claim["ratio"].as_f64().expect("a ratio");
    assert_eq!((&claim["verdict"], ratio < 1.0), (&"slower".into(), true), "{claim}");
    assert!((0.68..0.8).contains(&ratio), "between the slowest turn and the next: {claim}");
    let claim = &tail(&input, "median")["claims"][0];
    assert!((claim["ratio"].as_f64().expect("a ratio") - 1.0 / 0.962).abs() < 0.01, "{claim}");
    let said = report::answer(&input).join("\n");
    assert!(said.contains("the 1st percentile of speed of xfs is 0."), "{said}");
}

/// Of one distribution, of which 0.7 % are slow, turns of 50 operations and turns of 5,000: a short turn's 99th percentile is its slowest.
#[test]
fn a_percentile_does_not_depend_on_how_long_turns_are() {
    let latency = |operations: u32, slow: u32| {
        let mut latency = Latency::default();
        (0..operations).for_each(|number| latency.record(Duration::from_millis(if number < slow { 20 } else { 1 })));
        RunDetail { latencies: [("transaction".into(), latency)].into(), ..RunDetail::default() }
    };
    let long = latency(5_000, 35);
    let short = [0, 1].map(|slow| latency(50, slow));
    let mut contents = fixture::contents(&two(&EXT4, &EXT4));
    let mut details = Details::default();
    fixture::split_into_turns(&mut contents, 20, |trial, turn| {
        details.add(trial, if trial.scenario == "xfs" { &short[usize::from(turn.run < 7)] } else { &long });
    });
    let latency = tail(&Input::new(contents, details), "latency_p99");
    assert_eq!((&latency["claims"][0]["verdict"], &latency["claims"][0]["ratio"]), (&"equivalent".into(), &1.0.into()));
}

/// In a run that did nothing nothing took long: no tail is the shorter for it.
#[test]
fn a_standstill_makes_no_tail_shorter() {
    let table = two(&EXT4, &times(1.1));
    let mut input = with_tail(&table, 0.5);
    assert!(tail(&input, "latency_p99").is_object());
    let stalled = fixture::runs_of(&mut input.contents, |trial| trial.scenario == "xfs").next();
    stalled.expect("a run").metrics.insert("transactions_per_second".into(), 0.0);
    let input = Input::new(input.contents, input.details);
    assert_eq!(tail(&input, "latency_p99"), Value::Null, "nothing is decided of it");
}
