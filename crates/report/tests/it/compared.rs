//! Two results held against each other: every metric with a direction, and no more is said than `history` says of the same two.

use crate::answers::study;
use crate::fixture::{self, Row};
use analysis::view::View;
use ledger::model::{Contents, Decision, Finalists, Order, Session};
use observe::metric::{Direction, Metric};
use report::{Comparison, History, Input};
use serde_json::Value;

#[path = "../../../stats/tests/it/noise.rs"]
mod noise;

use noise::Noise;

const LATENCY: &str = "latency_microseconds_p99";

fn compared(a: &Input, b: &Input) -> Comparison {
    Comparison::of(a, b).expect("both ran on the host")
}

fn of_sessions(pairs: &[[Input; 2]]) -> Comparison {
    Comparison::of_sessions(pairs).expect("both ran on the host")
}

/// Four rounds.
fn row(name: &str, factor: f64) -> Row {
    Row::new(name, &[1000.0, 1010.0, 995.0, 1005.0].map(|value| value * factor))
}

/// Begun so many hours later.
fn at(mut input: Input, hours: f64) -> Input {
    input.contents.study.created += hours * 3600.0;
    input
}

/// Each figure of the only workload.
fn figures(comparison: &Comparison) -> Vec<Value> {
    comparison.json()["workloads"][0]["figures"].as_array().expect("a list").clone()
}

#[test]
fn two_results_are_compared_scenario_by_scenario() {
    let table = |factor: f64, names: [&str; 2]| study(names.map(|name| row(name, factor)).into());
    let a = fixture::input(&table(1.0, ["ext4", "xfs"]));
    let mut b = fixture::input(&table(1.2, ["ext4", "btrfs"]));
    b.contents.sessions[0].machine.insert("kernel".into(), "6.13.0".into());
    b.contents.study.hash = "0".into();
    let comparison = compared(&a, &b);
    let text = comparison.text();
    for expected in
        ["kernel: 6.12.9 → 6.13.0", "The studies differ", "1.200 [1.", "better", "Only in A: xfs", "Only in B: btrfs"]
    {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let page = comparison.html();
    assert!(page.contains("Only in B: btrfs"));
    // One row of the chart, and its words for the pointer.
    assert!(page.contains("<title>ext4: 1.200 [1.1"), "{page}");
}

/// As where one side's machine lacked a server.
#[test]
fn a_workload_of_one_side_is_named() {
    let table = fixture::filesystems_and_buffers();
    let mut b = fixture::contents(&table);
    b.scenarios.iter_mut().for_each(|scenario| scenario.workload = "http-load".into());
    let text = compared(&fixture::input(&table), &fixture::input_of(b, &table)).text();
    assert!(text.contains("Only in A: oltp, transactions per second\nOnly in B: http-load, transactions"), "{text}");
}

#[test]
fn every_metric_with_a_direction_is_compared_and_the_terminal_names_what_differs() {
    let table = |factor: f64| study(["ext4", "xfs"].map(|name| row(name, factor)).into());
    let (mut a, mut b) = (fixture::contents(&table(1.0)), fixture::contents(&table(1.2)));
    let errors = Metric::new("errors", "1", Direction::Less);
    for (contents, count) in [(&mut a, 0.0), (&mut b, 3.0)] {
        contents.metrics.insert("errors".into(), errors.clone());
        for run in &mut contents.runs {
            run.metrics.insert("errors".into(), count);
        }
    }
    let comparison = compared(&fixture::input_of(a, &table(1.0)), &fixture::input_of(b, &table(1.2)));
    let text = comparison.text();
    for expected in [
        "Other metrics that differ (exploratory), the largest difference first:\next4: errors ",
        "0 → 3.00  not judged: a value is 0",
        "ext4: latency p99  23.9 ms → 20.0 ms  0.833 [",
        "]  better\n2 more figures of other metrics: `--html FILE` or `--json` has all.",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("cpu user") && !text.contains("write amplification"), "{text}");
    let all = figures(&comparison);
    let of = |name: &str| all.iter().filter(|figure| figure["metric"] == name).count();
    assert_eq!((all.len(), of(LATENCY), of("write_amplification"), of("errors")), (8, 2, 2, 2));
    assert!(all.iter().all(|figure| figure["exploratory"] == (figure["metric"] != "transactions_per_second")));
    let page = comparison.html().replace('\u{a0}', " ");
    assert_eq!(page.matches("id=\"compared-0\"").count(), 1, "one chart");
    assert!(page.contains("<title>ext4: latency p99: 1.200 [1.1"), "times better, whatever the direction");
    assert!(page.contains("write amplification, less is better") && page.contains("the same within 3 %"));
    assert!(page.contains(">&lt; 0.001</td>") && !page.contains(">0.000</td>"), "no p is 0");
}

#[test]
fn too_few_rounds_give_no_verdict() {
    let input = |factor: f64| {
        let mut of_three = row("ext4", factor);
        of_three.values.truncate(3);
        fixture::input(&study(vec![of_three]))
    };
    let text = compared(&input(1.0), &input(2.0)).text();
    assert!(text.contains("2.000 [") && text.contains("fewer than 4 rounds") && !text.contains("  better"), "{text}");
}

/// Six scenarios that are all alike, in six rounds, with a latency of its own noise.
fn alike(noise: &mut Noise, has_looked: bool) -> Input {
    let mut table = fixture::filesystems_and_buffers();
    table.rows.truncate(6);
    for row in &mut table.rows {
        row.values.iter_mut().for_each(|value| *value = Some(1000.0 * (0.05 * noise.normal()).exp()));
    }
    let mut contents = fixture::contents(&table);
    if has_looked {
        // An answer after the first half of the trials.
        let begun: Vec<f64> = contents.trials.iter().map(|trial| trial.started).collect();
        let mut first = contents.sessions[0].clone();
        (first.started, first.ended) = (begun[0], Some(begun[begun.len() / 2] - 0.001));
        first.reason = Some("all rounds are done".into());
        contents.sessions.insert(0, first);
    }
    for run in &mut contents.runs {
        run.metrics.insert(LATENCY.into(), 2000.0 * (0.05 * noise.normal()).exp());
    }
    Input::new(contents, report::input::Details::default())
}

#[test]
fn equals_are_seldom_called_different_and_history_says_the_same() {
    const PAIRS: u64 = 400;
    let (mut primary, mut exploratory, mut uncorrected) = (0, 0, 0);
    for seed in 0..PAIRS {
        let mut noise = Noise(seed);
        let (a, b) = (alike(&mut noise, false), alike(&mut noise, false));
        let found = figures(&compared(&a, &b));
        let any = |is_it: &dyn Fn(&Value) -> bool| u32::from(found.iter().any(is_it));
        let is_flagged = |figure: &Value| figure["change"]["flagged"] == true;
        primary += any(&|figure| figure["exploratory"] == false && is_flagged(figure));
        exploratory += any(&|figure| figure["exploratory"] == true && is_flagged(figure));
        uncorrected += any(&|figure| {
            let end = |name: &str| figure["change"][name].as_f64().unwrap_or(1.0);
            figure["exploratory"] == false && (end("low") > 1.0 || end("high") < 1.0)
        });
        let fifty = seed.is_multiple_of(8).then(|| History::of(vec![("a".into(), a), ("b".into(), b)]).json());
        for scenario in fifty.iter().flat_map(|all| all[0]["workloads"][0]["scenarios"].as_array().expect("a list")) {
            let is_it = |figure: &&Value| figure["exploratory"] == false && figure["scenario"] == scenario["scenario"];
            let ours = found.iter().find(is_it).expect("both have it");
            assert_eq!(ours["change"], scenario["figures"][1]["to_previous"], "seed {seed}");
        }
    }
    println!("of {PAIRS} equal pairs: primary {primary}, exploratory {exploratory}, by intervals alone {uncorrected}");
    assert!(uncorrected > PAIRS as u32 / 10, "without a correction many would be: {uncorrected}");
    for (what, found) in [("primary", primary), ("exploratory", exploratory)] {
        assert!(found <= PAIRS as u32 / 20, "{what}: {found} of {PAIRS} equal pairs are called different");
    }
}

#[test]
fn a_studys_own_level_holds_between_two_of_them() {
    // A study's second answer has half the level of its first.
    let mut noise = Noise(1);
    let pair = |noise: &mut Noise, factor: f64, has_looked| {
        let mut input = alike(noise, has_looked);
        input.contents.runs.iter_mut().flat_map(|run| run.metrics.values_mut()).for_each(|value| *value *= factor);
        Input::new(input.contents, report::input::Details::default())
    };
    for _ in 0..60 {
        let start = noise.0;
        let [first, second] = [false, true].map(|has_looked| {
            let mut noise = Noise(start);
            let (a, b) = (pair(&mut noise, 1.0, has_looked), pair(&mut noise, 1.09, has_looked));
            figures(&compared(&a, &b))
        });
        noise.uniform();
        for (first, second) in first.iter().zip(&second) {
            let p = first["change"]["p_corrected"].as_f64();
            assert_eq!(second["change"]["p_corrected"].as_f64(), p);
            let Some(p) = p else { continue };
            let is_flagged = |figure: &Value| figure["change"]["flagged"] == true;
            if is_flagged(first) != is_flagged(second) {
                assert!((0.0125..0.025).contains(&p) && is_flagged(first), "{p}");
                return;
            }
        }
    }
    panic!("no difference lies between the two levels");
}

/// Sessions of equal sides whose days differ by 5 %: of one a side a change is shown, of six in turns none; and what is twice as slow is.
#[test]
fn sessions_in_turns_hold_how_days_differ() {
    let day = |factor: f64| fixture::input(&study(vec![row("ext4", factor)]));
    let flagged = |comparison: &Comparison| figures(comparison)[0]["change"]["flagged"] == true;
    let one = compared(&day(1.0), &day(0.95));
    assert!(flagged(&one) && one.text().contains("one between these two sessions"), "{}", one.text());
    assert_eq!(one.worse_by(0.04).map(|worse| worse.len()), Some(1));
    assert_eq!(one.worse_by(0.06).map(|worse| worse.len()), Some(0));
    let pairs = |effect: f64, days: &[[f64; 2]]| -> Vec<[Input; 2]> {
        let pair = |(number, [a, b]): (usize, &[f64; 2])| {
            let hour = 2.0 * number as f64;
            [at(day(*a), hour), at(day(b * effect), hour + 1.0)]
        };
        days.iter().enumerate().map(pair).collect()
    };
    let days = [[1.0, 0.95], [0.96, 1.0], [1.05, 1.01], [0.97, 1.03], [1.02, 0.98], [1.0, 1.04]];
    let of = |effect, days: &[[f64; 2]]| of_sessions(&pairs(effect, days));
    let six = of(1.0, &days);
    assert!(!flagged(&six) && six.text().contains("Each of the 6 sessions a side is one value"), "{}", six.text());
    assert_eq!(six.worse_by(0.0), Some(Vec::new()));
    assert!(flagged(&of(0.5, &days)));
    let mut sorted = pairs(1.0, &days);
    assert!(!six.text().contains("did not take turns"), "{}", six.text());
    let [a, b] = [sorted[0][1].contents.study.created, sorted[1][0].contents.study.created];
    (sorted[0][1].contents.study.created, sorted[1][0].contents.study.created) = (b, a);
    let by_side = of_sessions(&sorted);
    assert!(by_side.text().contains("did not take turns"), "{}", by_side.text());
    assert!(by_side.mixed().is_some_and(|why| why.contains("did not take turns")) && six.mixed().is_none());
    // Machines of their own measure pairs at the same time.
    let mut beside = pairs(1.0, &days);
    for (machine, pair) in beside.iter_mut().enumerate() {
        for (input, minutes) in pair.iter_mut().zip([0.0, 30.0]) {
            let began = 1_795_219_440.0 + minutes * 60.0 + machine as f64;
            input.contents.study.created = began;
            input.contents.sessions.last_mut().expect("a session").ended = Some(began + 1500.0);
        }
    }
    assert_eq!(of_sessions(&beside).mixed(), None);
    let mut changed = pairs(1.0, &days);
    changed[2][1].contents.study.hash = "another".into();
    let changed = of_sessions(&changed);
    assert_eq!(changed.mixed(), Some("The sessions of B are not of one study."));
    assert_eq!(changed.text().matches("are not of one study").count(), 1, "{}", changed.text());
    let by_turns = |sessions: &[(usize, usize)]| {
        let mut pairs = pairs(1.0, &days);
        sessions.iter().for_each(|(pair, side)| pairs[*pair][*side].contents.study.analysis.order = Order::Turns);
        of_sessions(&pairs).mixed().map(str::to_string)
    };
    assert!(
        by_turns(&[(2, 1)]).is_some_and(|why| why.starts_with("Of the sessions of B some have figures of a typical"))
    );
    let all_of_b: Vec<(usize, usize)> = (0..days.len()).map(|pair| (pair, 1)).collect();
    assert!(by_turns(&all_of_b).is_some_and(|why| why.starts_with("A figure of A is of a typical run")));
    sorted[1][0].contents.study.created = sorted[0][0].contents.study.created;
    let twice = Comparison::of_sessions(&sorted).err().expect("refused");
    assert!(twice.to_string().contains("named twice"), "{twice}");
    let few = of(0.5, &days[..2]);
    assert!(few.text().contains("fewer than 4 sessions a side") && few.worse_by(0.05).is_none(), "{}", few.text());
}

/// What drifts from session to session has one sign in all pairs where one side always goes first.
#[test]
fn sides_change_places() {
    const SAID: &str = "One side went first in every pair";
    let session = |hour: u32| {
        let hour = f64::from(hour);
        at(fixture::input(&study(vec![row("ext4", 0.97_f64.powf(hour))])), hour)
    };
    let of = |hours: &[[u32; 2]]| {
        let pairs: Vec<[Input; 2]> = hours.iter().map(|pair| pair.map(session)).collect();
        of_sessions(&pairs)
    };
    let always = of(&[[0, 1], [2, 3], [4, 5], [6, 7]]);
    assert!(always.text().contains(SAID) && figures(&always)[0]["change"]["flagged"] == true, "{}", always.text());
    assert!(always.text().contains("named side after side"), "{}", always.text());
    // All of A ran before all of B, and the pairs are right.
    let sides_in_blocks = of(&[[0, 4], [1, 5], [2, 6], [3, 7]]);
    assert!(sides_in_blocks.mixed().is_some_and(|why| why.contains("did not take turns")));
    let never = of(&[[1, 0], [3, 2]]);
    assert!(never.text().contains(SAID), "{}", never.text());
    let by_turns = of(&[[0, 1], [3, 2], [4, 5], [7, 6]]);
    assert!(!by_turns.text().contains(SAID) && !by_turns.text().contains("take turns"), "{}", by_turns.text());
    assert!(figures(&by_turns)[0]["change"]["flagged"] == false, "{}", by_turns.text());
}

/// What fails altogether has no ratio, and is worse all the same.
#[test]
fn what_does_not_work_any_more_is_worse() {
    let input = |of_xfs: &[f64]| fixture::input(&study(vec![row("ext4", 1.0), Row::new("xfs", of_xfs)]));
    let speeds = [900.0, 905.0, 899.0, 901.0];
    let before = input(&speeds);
    let mut failed = input(&speeds).contents;
    let of_xfs = failed.trials.iter_mut().filter(|trial| trial.scenario == "xfs");
    of_xfs.for_each(|trial| trial.state = ledger::model::TrialState::Failed);
    let failed = Input::new(failed, report::input::Details::default());
    let stalled = input(&[900.0, 905.0, 0.0, 901.0]);
    // "Only in A" is said of what B did not try.
    for (text, said) in [
        (compared(&before, &failed).text(), "No figure in B, where its trials failed: xfs"),
        (compared(&failed, &before).text(), "No figure in A, where its trials failed: xfs"),
    ] {
        assert!(text.contains(said) && !text.contains("Only in"), "{text}");
    }
    for (after, said) in [(&failed, "xfs has no figure in B"), (&stalled, "xfs stalled in B")] {
        let worse = compared(&before, after).worse_by(0.05).expect("judged");
        assert!(worse.len() == 1 && worse[0].contains(said), "{worse:?}");
    }
    assert_eq!(compared(&before, &before).worse_by(0.05), Some(Vec::new()));
    // One stall before excuses no three.
    let worse = compared(&stalled, &input(&[0.0, 0.0, 0.0, 901.0])).worse_by(0.05).expect("judged");
    assert!(worse.len() == 1 && worse[0].contains("xfs stalled in B"), "{worse:?}");
    assert_eq!(compared(&stalled, &stalled).worse_by(0.05), Some(Vec::new()));
}

/// What refuses at once is fast: errors have no part in a speed.
#[test]
fn what_goes_wrong_more_often_is_worse() {
    let input = |wrong: f64, hour: f64| {
        let rows = vec![Row::new("ext4", &[1000.0, 1010.0, 995.0, 1005.0, 1002.0, 998.0])];
        let mut contents = fixture::contents(&study(rows));
        for run in &mut contents.runs {
            run.metrics.extend([("asked".into(), 1000.0), ("errors".into(), wrong)]);
        }
        at(Input::new(contents, report::input::Details::default()), hour)
    };
    let worse = |a: f64, b: f64| compared(&input(a, 0.0), &input(b, 1.0)).worse_by(0.05).expect("judged");
    let found = worse(0.0, 300.0);
    assert!(found.len() == 1 && found[0].contains("of what was asked of ext4 went wrong in B, and 0"), "{found:?}");
    assert_eq!(worse(0.0, 5.0), [""; 0], "so few are beside the speed");
    assert_eq!(worse(300.0, 0.0), [""; 0]);
    assert_eq!(worse(300.0, 300.0), [""; 0]);
    let pairs = |count: usize| {
        let pair = |number: usize| {
            let hour = 2.0 * number as f64;
            [input(0.0, hour), input(300.0, hour + 1.0)]
        };
        let pairs: Vec<[Input; 2]> = (0..count).map(pair).collect();
        of_sessions(&pairs).worse_by(0.05)
    };
    assert_eq!(pairs(4).map(|worse| worse.len()), Some(1));
    assert_eq!(pairs(3), None, "three pairs have no verdict");
}

/// Figures of the rounds that are left are of its good days: two failures more are worse, and one is an accident.
#[test]
fn what_fails_more_often_is_worse() {
    let input = |failed: usize| {
        let values = [900.0, 905.0, 899.0, 901.0, 903.0, 898.0];
        let mut of_xfs = Row::new("xfs", &values);
        of_xfs.values.iter_mut().take(failed).for_each(|value| *value = None);
        fixture::input(&study(vec![Row::new("ext4", &[1000.0, 1010.0, 995.0, 1005.0, 1002.0, 998.0]), of_xfs]))
    };
    let before = input(0);
    let worse = |a: &Input, b: &Input| compared(a, b).worse_by(0.05).expect("ext4 is judged");
    assert_eq!(worse(&before, &input(3)), ["oltp: xfs failed in 3 of 6 rounds of B, and in 0 of 6 of A"]);
    assert_eq!(worse(&before, &input(1)), [""; 0]);
    assert_eq!(worse(&input(2), &input(3)), [""; 0]);
    assert_eq!(worse(&input(3), &before), [""; 0]);
    // A failure in each of two sessions is more than an accident.
    let pairs = [[at(input(0), 0.0), at(input(1), 1.0)], [at(input(0), 3.0), at(input(1), 2.0)]];
    let found = of_sessions(&pairs).worse_by(0.05).expect("judged");
    assert_eq!(found, ["oltp: xfs failed in 2 of 12 rounds of B, and in 0 of 12 of A"]);
}

/// Where a session has a single round, a trial that fails is all of them, and may be an accident all the same. It hides no loss in the others.
#[test]
fn one_failed_trial_in_four_sessions_is_an_accident() {
    let input = |of_xfs: Option<f64>, hour: f64| {
        let of_xfs = Row { values: vec![of_xfs], ..Row::new("xfs", &[]) };
        at(fixture::input(&study(vec![Row::new("ext4", &[1000.0]), of_xfs])), hour)
    };
    let compared = |sessions: usize, failing: usize, later: f64| {
        let pair = |number: usize| {
            let hour = 2.0 * number as f64;
            [input(Some(900.0), hour), input((number >= failing).then_some(later), hour + 1.0)]
        };
        let pairs: Vec<[Input; 2]> = (0..sessions).map(pair).collect();
        of_sessions(&pairs)
    };
    let worse = |compared: Comparison| compared.worse_by(0.05).expect("ext4 is judged");
    assert_eq!(worse(compared(4, 1, 900.0)), [""; 0]);
    assert_eq!(worse(compared(4, 2, 900.0)), ["oltp: xfs has no figure in 2 of 4 sessions of B: its trials failed"]);
    let slower = compared(5, 1, 600.0);
    let said = slower.text();
    assert!(said.contains("In 4 of 5 sessions only: xfs") && !said.contains("Only in A"), "{said}");
    // The first session lacks it, and its primary figure is no afterthought.
    let all = figures(&slower);
    assert!(all.iter().map(|figure| figure["exploratory"] == true).is_sorted(), "{all:#?}");
    let found = worse(slower);
    assert!(found.len() == 1 && found[0].contains("xfs is 33"), "{found:?}");
}

/// Figures are known to a thousandth at best: what never varies is judged by that, and a loss is one.
#[test]
fn what_never_varies_is_judged() {
    let input = |level: f64| fixture::input(&study(vec![Row::new("ext4", &[level; 6])]));
    let lost = compared(&input(1000.0), &input(750.0));
    assert!(lost.text().contains("  worse"), "{}", lost.text());
    let worse = lost.worse_by(0.05).expect("judged");
    assert!(worse.len() == 1 && worse[0].contains("ext4 is 25"), "{worse:?}");
    let equal = compared(&input(1000.0), &input(1000.0));
    assert!(equal.text().contains("the same within 3 %"), "{}", equal.text());
    assert_eq!(equal.worse_by(0.05), Some(Vec::new()));
}

/// An answer that was told counts, an interrupted session's among them; the same trials told twice are one.
#[test]
fn each_answer_is_a_look() {
    let contents = fixture::contents(&fixture::filesystems_and_buffers());
    let rounds = contents.trials.iter().map(|trial| trial.round).max().expect("trials") + 1;
    assert!(rounds > 5);
    let end_of = |round: u32| {
        let of_round = contents.trials.iter().filter(|trial| trial.round == round);
        of_round.filter_map(|trial| trial.ended).fold(0.0, f64::max) + 0.5
    };
    let looks = |sessions: &[(u32, Option<&str>)]| {
        let mut contents = contents.clone();
        let last = contents.sessions.pop().expect("a session");
        for (round, reason) in sessions {
            let ended = reason.map(|_| end_of(*round));
            let reason = reason.map(String::from);
            contents.sessions.push(Session { ended, reason, ..last.clone() });
        }
        contents.sessions.push(last);
        analysis::looks::looks(&contents, ledger::model::Phase::Main)
    };
    assert_eq!(looks(&[]), 1);
    assert_eq!(
        looks(&[(2, Some("interrupted")), (3, None)]),
        1,
        "three rounds claim nothing, and a killed run told nothing"
    );
    assert_eq!(looks(&[(3, Some("interrupted"))]), 2);
    assert_eq!(looks(&[(3, Some("interrupted")), (3, Some("all rounds are done"))]), 2, "the same trials");
    assert_eq!(looks(&[(1, Some("all rounds are done")), (4, Some("time budget"))]), 3);
    assert_eq!(looks(&[(rounds - 1, Some("all rounds are done"))]), 1, "nothing came after it");
}

/// Whoever looks while rounds go on may break them off at a difference: such an answer has a share of its level, and one whose rounds a rule
/// ended all of it.
#[test]
fn an_answer_amid_the_rounds_has_a_share_of_its_level() {
    const FIRST: f64 = (1.0 - 0.95) * 0.5;
    let whole = fixture::contents(&fixture::filesystems_and_buffers());
    let alpha = |reason: Option<&str>, change: &dyn Fn(&mut Contents)| {
        let mut contents = whole.clone();
        let session = &mut contents.sessions[0];
        session.reason = reason.map(String::from);
        session.ended = session.ended.filter(|_| reason.is_some());
        change(&mut contents);
        let alpha = View::of(&contents, &report::input::Details::default(), |_, _| true).parts[0].alpha;
        let text = report::markdown(&Input::new(contents, report::input::Details::default()));
        assert_eq!(text.contains("a part of their level"), alpha < FIRST, "{text}");
        alpha
    };
    let share: f64 = analysis::looks::share(6, 20);
    let all: f64 = (4..=20).map(|round| analysis::looks::share(round, 20)).sum();
    assert!(share < 0.1 && (all - 1.0).abs() < 1e-12, "{share} {all}");
    for reason in ["the wanted precision is reached", "the next round would not fit into the time budget"] {
        assert_eq!(alpha(Some(reason), &|_| ()), FIRST, "{reason}");
    }
    for reason in [None, Some("interrupted")] {
        assert_eq!(alpha(reason, &|_| ()), FIRST * share, "{reason:?}");
        // What comes after the rounds is under way.
        let confirmed = |contents: &mut Contents| {
            contents.decisions.push(Decision::Confirm(Finalists {
                round: 5,
                workload: "oltp".into(),
                pick: "xfs · 2G".into(),
                runner_up: None,
                baseline: None,
            }));
        };
        let cut = |contents: &mut Contents| {
            fixture::cut(contents, "ext4 · 2G", fixture::found(observe::safety::Grade::A));
            contents.safety[0].ended = contents.trials.last().map_or(0.0, |trial| trial.started + 100.0);
        };
        let answered = |contents: &mut Contents| contents.sessions.insert(0, whole.sessions[0].clone());
        for change in [&confirmed as &dyn Fn(&mut Contents), &cut, &answered] {
            assert_eq!(alpha(reason, change), FIRST, "{reason:?}");
        }
        // By `surefoot powercut`, to its end or broken off: no rule has ended the rounds.
        for end in [Some(ledger::reasons::SAFETY_KNOWN), Some("interrupted"), None] {
            let alone = |contents: &mut Contents| {
                cut(contents);
                let ended = contents.safety[0].ended;
                let (started, ended) = (ended - 50.0, end.map(|_| ended + 1.0));
                let session = contents.sessions[0].clone();
                contents.sessions.push(Session { started, ended, reason: end.map(String::from), ..session });
            };
            assert_eq!(alpha(reason, &alone), FIRST * share, "{reason:?}, {end:?}");
        }
    }
}
