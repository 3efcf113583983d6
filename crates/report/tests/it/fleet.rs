//! The answer of a study on many machines: what is said of a sample, of a few, of kinds, and of what is missing.

use crate::fixture::{self, Row, Table};
use ledger::model::{Contents, Host, LimitRecord, MeasuredFaults, MeasuredSafety, Member, Session};
use observe::faults::FaultsFound;
use observe::safety::{Grade, Safety};
use report::FleetReport;
use serde_json::Value;

const ROUNDS: usize = 3;

/// A fleet whose hosts have these ratios of xfs and btrfs to ext4; hosts themselves differ threefold, and rounds stray by 1 %.
fn fleet(hosts: &[(f64, f64)]) -> Contents {
    let level = |host: usize, round: usize| 1000.0 * (1.0 + host as f64) * [1.0, 1.01, 0.99][round];
    let values = |ratio: &dyn Fn(usize) -> f64, shift: usize| -> Vec<f64> {
        let blocks = (0..hosts.len()).flat_map(|host| (0..ROUNDS).map(move |round| (host, round)));
        blocks
            .map(|(host, round)| level(host, round) * ratio(host) * [1.0, 1.004, 0.996][(round + shift + host) % 3])
            .collect()
    };
    let rows = vec![
        Row::new("ext4", &values(&|_| 1.0, 0)),
        Row::new("xfs", &values(&|host| hosts[host].0, 1)),
        Row::new("btrfs", &values(&|host| hosts[host].1, 2)),
    ];
    let table = Table { workload: "oltp", metric: fixture::transactions(), rows };
    let mut contents = fixture::contents(&table);
    contents.scenarios[0].baseline = true;
    let session = contents.sessions.remove(0);
    for number in 1..=hosts.len() as u32 {
        let host = Host { name: format!("n{number}"), id: String::new() };
        let of = hosts.len() as u32;
        let known_by = "the test".to_string();
        contents.members.push(Member {
            number,
            of,
            attempt: 1,
            rounds: ROUNDS as u32,
            host,
            known_by,
            others: Vec::new(),
        });
        contents.sessions.push(Session { member: Some(number), ..session.clone() });
    }
    contents.trials.iter_mut().for_each(|trial| trial.member = Some(trial.round / ROUNDS as u32 + 1));
    contents
}

/// The number of threads is a condition of the load.
fn is_choice(_workload: &str, setting: &str) -> bool {
    setting != "threads"
}

fn said(contents: &Contents) -> String {
    FleetReport::of(contents, is_choice).expect("a fleet").terminal(160, false)
}

fn json(contents: &Contents) -> Value {
    FleetReport::of(contents, is_choice).expect("a fleet").json()
}

/// Adds what a power cut took from each scenario on each of eight hosts; none: it could not be measured.
fn cut(contents: &mut Contents, found: impl Fn(u32, &str) -> Option<Safety>) {
    for (number, scenario) in (1..=8).flat_map(|number| ["ext4", "xfs", "btrfs"].map(|scenario| (number, scenario))) {
        contents.safety.push(MeasuredSafety {
            scenario: scenario.into(),
            ended: 1.0,
            asked: Value::Null,
            safety: found(number, scenario),
            failure: None,
            member: Some(number),
        });
    }
}

#[track_caller]
fn check(said: &str, words: &[&str]) {
    words.iter().for_each(|words| assert!(said.contains(words), "no {words:?} in\n{said}"));
}

const EIGHT: [(f64, f64); 8] =
    [(1.05, 0.45), (1.06, 0.5), (1.04, 0.48), (1.07, 0.44), (1.03, 0.46), (1.06, 0.49), (1.05, 0.47), (1.04, 0.45)];

#[test]
fn a_sample_speaks_of_a_further_machine() {
    let contents = fleet(&EIGHT);
    let said = said(&contents);
    check(
        &said,
        &[
            "Use xfs: over 8 hosts it is the fastest of the 3 scenarios.",
            "Over 8 hosts xfs is 3.9 to 6.1 % faster than ext4 (95 %).",
            "On a further machine of this kind xfs is ",
            "% faster than ext4 (95 %).",
            "xfs is ahead on 8 of 8 hosts.",
            "Hosts differ in this by 1.",
        ],
    );
    assert!(!said.contains("Missing") && !said.contains("hosts only"), "{said}");
    let report = FleetReport::of(&contents, is_choice).expect("a fleet");
    let json = report.json();
    let of = |scenario: usize| &json["parts"][0]["scenarios"][scenario]["against_baseline"];
    assert_eq!((of(1)["verdict"].as_str(), of(2)["verdict"].as_str()), (Some("faster"), Some("slower")));
    // Machines differ eightfold, and their ratios are what counts.
    let further = of(1)["over_hosts"]["further_low"].as_f64().expect("a figure");
    assert!(further > 1.0 && further < of(1)["low"].as_f64().expect("a figure"), "{json:#}");
    assert!((of(2)["ratio"].as_f64().expect("a figure") - 0.467).abs() < 0.005, "{json:#}");
    assert!(!report.has_holes());
    let page = report.html();
    check(&page, &["who is ahead on which host", "n8: xfs is ", "<svg", "On a further machine of this kind"]);
    let mut pictures = page.split("<svg").skip(1).filter_map(|svg| svg.split("</svg>").next());
    assert!(pictures.all(|picture| !picture.contains("NaN")), "the page's script knows the word, no picture has it");
}

/// The table had "faster" beside a sentence with "better".
#[test]
fn what_is_no_speed_is_better_and_not_faster() {
    let mut contents = fleet(&EIGHT);
    contents.metrics.get_mut("transactions_per_second").expect("the figure").unit = "points".into();
    let said = said(&contents);
    check(&said, &["it is the best of the 3 scenarios", "% better than ext4"]);
    assert!(!said.contains("faster") && !said.contains("slower"), "{said}");
}

#[test]
fn three_hosts_are_these_hosts_only() {
    let contents = fleet(&EIGHT[..3]);
    let said = said(&contents);
    check(
        &said,
        &["on these 3 hosts only", "Fewer than 4 hosts: these hosts only, and nothing is said of another machine."],
    );
    assert!(!said.contains("On a further machine"), "{said}");
    let json = json(&contents);
    assert_eq!(
        (json["these_hosts_only"].as_bool(), json["parts"][0]["may_be_best"][0].as_str()),
        (Some(true), Some("xfs"))
    );
}

/// While a fleet runs, a member that has measured nothing does not make three hosts a sample.
#[test]
fn a_member_that_has_just_begun_is_no_host() {
    let mut contents = fleet(&EIGHT[..4]);
    contents.trials.retain(|trial| trial.member != Some(4));
    let said = said(&contents);
    check(&said, &["on these 3 hosts only", "xfs is ahead on 3 of 3 hosts.", "member 4 on n4 measured 0 of 3 rounds"]);
    contents.trials.clear();
    check(&self::said(&contents), &["Too little was measured so far to choose."]);
}

#[test]
fn a_host_that_stands_apart_and_one_where_another_wins_are_named() {
    let mut hosts = EIGHT;
    hosts[5] = (0.8, 0.47);
    let said = said(&fleet(&hosts));
    check(&said, &["n6 stands apart from all others in this.", "xfs is ahead on 7 of 8 hosts, ext4 on n6."]);
}

#[test]
fn where_none_is_shown_to_be_best_none_is_named_alone() {
    let hosts = [(1.1, 0.5), (0.9, 0.5), (1.08, 0.5), (0.92, 0.5), (1.05, 0.5), (0.95, 0.5)];
    let said = said(&fleet(&hosts));
    check(&said, &["none of them is shown to be faster", "xfs is anything from "]);
}

#[test]
fn kinds_are_told_apart_and_nothing_is_said_of_a_further_machine_of_a_small_one() {
    let mut contents = fleet(&EIGHT);
    for session in &mut contents.sessions[..3] {
        session.machine.insert("kernel".into(), "6.18".into());
    }
    let said = said(&contents);
    check(
        &said,
        &[
            "The hosts are of 2 kinds: kernel 6.12.9 (n4, n5, n6, n7 and 1 more); kernel 6.18 (n1, n2 and n3).",
            "On a further machine of the kind with kernel 6.12.9 xfs is ",
            "Of 1 of the 2 kinds there are fewer than 4 hosts with both",
        ],
    );
    assert!(!said.contains("of this kind"), "{said}");
    // Of five hosts of the other kind two have no figure of either: the one kind alone was named.
    contents.trials.retain(|trial| trial.scenario == "btrfs" || !matches!(trial.member, Some(4 | 5)));
    check(&self::said(&contents), &["Of any kind there are fewer than 4 hosts with both"]);
}

/// Containers of one machine have each their own host name: four of them had been a sample of machines.
#[test]
fn one_machine_under_several_names_is_told() {
    let mut contents = fleet(&EIGHT);
    let run_in = |contents: &mut Contents, kernels: [u32; 8]| {
        for (session, kernel) in contents.sessions.iter_mut().zip(kernels) {
            session.machine.insert("kernel_run".into(), kernel.to_string());
        }
    };
    run_in(&mut contents, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(!said(&contents).contains("One machine"), "{}", said(&contents));
    run_in(&mut contents, [1, 2, 3, 1, 5, 2, 7, 1]);
    let json = FleetReport::of(&contents, is_choice).expect("a fleet").json();
    let answer = json["answer"].as_array().expect("sentences").iter().filter_map(|sentence| sentence.as_str());
    let told = "n4 is n1, n6 is n2 and n8 is n1. Give them one `SUREFOOT_HOST`, and read this as of 5 hosts.";
    assert_eq!(answer.filter(|sentence| sentence.contains(told)).count(), 1, "{json:#}");
}

/// A server's version, a tool's and a governor that were others on some hosts had been told nowhere.
#[test]
fn what_is_not_alike_on_all_hosts_is_said() {
    let mut contents = fleet(&EIGHT);
    assert!(!said(&contents).contains("Not alike"), "{}", said(&contents));
    for session in &mut contents.sessions {
        let version = if session.member <= Some(6) { "1.47.0" } else { "1.46.2" };
        session.machine.insert("mkfs.ext4".into(), version.into());
        // Who has none is not held against others.
        session.machine.extend((session.member == Some(1)).then(|| ("fio".to_string(), "fio-3.33".to_string())));
        let mitigations = format!("{}{}", "long ".repeat(9), session.member.unwrap_or_default());
        session.machine.insert("mitigations".into(), mitigations);
    }
    for trial in &mut contents.trials {
        let version = if trial.member == Some(2) { "16.1" } else { "15.8" };
        trial.facts.insert("service.postgres.version".into(), version.into());
    }
    let not_alike = "Not alike on all hosts: mitigations (8 values); mkfs.ext4 1.46.2 (n7 and n8) and 1.47.0 (n1, n2, n3, n4 and 2 more); \
                     service.postgres.version 15.8 (n1, n3, n4, n5 and 3 more) and 16.1 (n2).";
    let json = json(&contents);
    let answer = json["answer"].as_array().expect("sentences");
    assert!(answer.iter().any(|sentence| sentence == not_alike), "{json:#}");
    // A factor of versions is what is compared.
    for trial in &mut contents.trials {
        let version = if trial.scenario == "xfs" { "16.1" } else { "15.8" };
        trial.facts.insert("service.postgres.version".into(), version.into());
    }
    assert!(!said(&contents).contains("service.postgres.version"), "{}", said(&contents));
}

/// A member that went on by `--accept-changes` had been told as one of its first kernel.
#[test]
fn what_changed_within_a_member_is_said() {
    let mut contents = fleet(&EIGHT);
    assert!(!said(&contents).contains("Changed"), "{}", said(&contents));
    let mut later = contents.sessions[2].clone();
    later.machine.insert("kernel".into(), "6.18".into());
    contents.sessions.insert(3, later);
    check(
        &said(&contents),
        &["Changed while a member measured, whose rounds are of both: member 3 on n3 (kernel: 6.12.9, then 6.18)."],
    );
}

#[test]
fn trials_that_failed_are_named() {
    let mut contents = fleet(&EIGHT);
    let failed = |trial: &&mut ledger::model::Trial| trial.member == Some(3) && trial.scenario == "xfs";
    contents.trials.iter_mut().filter(failed).take(2).for_each(|trial| trial.state = ledger::model::TrialState::Failed);
    check(&said(&contents), &["2 trials of member 3 on n3 failed (xfs)"]);
    assert!(report::FleetReport::of(&contents, is_choice).is_some_and(|report| report.has_holes()));
}

#[test]
fn a_power_cut_that_could_not_be_measured_is_a_hole() {
    let mut contents = fleet(&EIGHT);
    cut(&mut contents, |number, scenario| ((number, scenario) != (3, "xfs")).then(|| fixture::found(Grade::A)));
    let hole = "Missing, of 8 members: what a power cut takes was not measured by member 3 on n3 (xfs).";
    check(&said(&contents), &[hole]);
    // Its time was over before it came to that: nobody wrote down that it could not.
    contents.safety.retain(|measured| measured.safety.is_some());
    check(&said(&contents), &[hole]);
    assert!(FleetReport::of(&contents, is_choice).is_some_and(|report| report.has_holes()));
    assert!(contents.safety_of(&contents.scenarios[1]).is_none(), "of one machine nothing is known");
    // The study was changed meanwhile, and there it is as it was asked before.
    contents.safety.iter_mut().filter(|one| one.member == Some(3)).for_each(|one| one.asked = true.into());
    check(&said(&contents), &["was not measured by member 3 on n3 (ext4, xfs, btrfs)"]);
    contents.faults.push(MeasuredFaults {
        scenario: "xfs".into(),
        ended: 1.0,
        asked: Value::Null,
        faults: None,
        failure: None,
        member: Some(3),
    });
    let hole = "what a failing disk does was not measured, or not to the end, by member 3 on n3 (ext4, xfs, btrfs)";
    check(&json(&contents).to_string(), &[hole]);
    // A guest's kernel died amid the search.
    contents.faults[0].faults = Some(FaultsFound { ended_early: true, ..FaultsFound::default() });
    check(&json(&contents).to_string(), &[hole]);
}

/// What seven machines lost is no promise kept, because an eighth was not asked.
#[test]
fn a_missing_power_cut_hides_no_loss_on_others() {
    let mut contents = fleet(&EIGHT);
    cut(&mut contents, |_, scenario| Some(fixture::found(if scenario == "xfs" { Grade::C } else { Grade::A })));
    contents.safety.retain(|measured| (measured.member, &*measured.scenario) != (Some(3), "xfs"));
    check(&said(&contents), &["Use ext4: over 8 hosts it is the fastest of the 2 that may be picked.", "less safe"]);
    // What made it less safe, and where, had been said nowhere.
    check(&said(&contents), &["After a power cut, on the host that lost most: ext4 A · lost nothing; xfs C · lost "]);
    check(&json(&contents).to_string(), &[" (n8); btrfs A · lost nothing."]);
    // A study that allows one class takes no promise for it.
    contents.study.analysis.safety_classes = Some(vec![Grade::A]);
    contents.safety.retain(|measured| measured.member != Some(3));
    check(&said(&contents), &["Too little was measured over 8 hosts to choose."]);
}

#[test]
fn what_is_missing_is_named() {
    let mut contents = fleet(&EIGHT);
    contents.members[0].of = 10;
    contents.trials.retain(|trial| trial.round < 22);
    contents.study.limits.push(LimitRecord {
        title: "enough".into(),
        workload: "oltp".into(),
        metric: "transactions_per_second".into(),
        value: 500.0,
        is_least: true,
        source: String::new(),
    });
    contents.members[3].others = vec![ledger::model::Attempt { attempt: 2, host: "n9".into(), trials: 2 }];
    let said = said(&contents);
    check(
        &said,
        &[
            "Missing, of 10 members: member 8 on n8 measured 1 of 3 rounds; member 9 has no results; member 10 has no results.",
            "Member 4 was started 2 times; the start on n4 counts, as none came further.",
            "over 8 hosts",
            "Not shown to be kept: enough of ext4 was at least ",
        ],
    );
    assert!(FleetReport::of(&contents, is_choice).expect("a fleet").has_holes());
}

/// A host on which all of the baseline's trials had failed had its mark, at 1.
#[test]
fn a_baseline_has_no_mark_on_a_host_where_it_has_no_figure() {
    let mut contents = fleet(&EIGHT);
    contents.trials.retain(|trial| trial.scenario != "ext4" || trial.member != Some(3));
    let page = FleetReport::of(&contents, is_choice).expect("a fleet").html();
    check(&page, &["n2: ext4 is ", "n2: xfs is "]);
    assert!(!page.contains("n3: ext4 is "), "it was not measured there");
}

/// Two members on one machine are no two machines.
#[test]
fn the_unit_is_the_machine_and_not_the_member() {
    let mut contents = fleet(&EIGHT);
    for member in &mut contents.members {
        member.host.name = format!("n{}", member.number % 2);
    }
    check(&said(&contents), &["on these 2 hosts only"]);
}

#[test]
fn a_stall_or_less_safety_is_no_pick() {
    let mut contents = fleet(&EIGHT);
    let stalled = fixture::runs_of(&mut contents, |trial| trial.scenario == "xfs").next();
    stalled.expect("a run").metrics.insert("transactions_per_second".into(), 0.0);
    check(&said(&contents), &["Use ext4: ", "stalled"]);
    let mut contents = fleet(&EIGHT);
    contents.scenarios[1].durability.class = observe::durability::Class::LosesRecent;
    // xfs is faster: of those that may be picked it is the fastest, and not of all.
    check(&said(&contents), &["it is the fastest of the 2 that may be picked.", "faster; less safe"]);
}

/// Hosts of 1,000, 2,000, 3,000 … transactions a second, and a limit on that.
#[test]
fn limits_are_held_against_every_host_and_a_further_one() {
    let with_limit = |hosts: usize, value: f64, is_least: bool| {
        let mut contents = fleet(&EIGHT[..hosts]);
        contents.scenarios.truncate(2);
        contents.trials.retain(|trial| trial.scenario != "btrfs");
        let (title, source) = ("Its speed".to_string(), String::new());
        let metric = fixture::transactions().name.to_string();
        contents.study.limits = vec![LimitRecord { title, workload: "oltp".into(), metric, value, is_least, source }];
        contents
    };
    check(
        &said(&with_limit(8, 10.0, true)),
        &[
            "Kept: Its speed of ext4 was at least 986 1/s in every round over 8 hosts, and in every round on a further machine of this kind it is at least ",
        ],
    );
    check(
        &said(&with_limit(8, 900.0, true)),
        &["Not shown to be kept: Its speed of ext4 was at least ", "but may be "],
    );
    check(
        &said(&with_limit(8, 2500.0, true)),
        &[
            "Not kept: Its speed of xfs was beyond its limit (at least 2,500 1/s) in 3 of 3 rounds on n1 and 3 of 3 rounds on n2; the worst was ",
        ],
    );
    check(
        &said(&with_limit(3, 5000.0, false)),
        &["Kept on these 3 hosts only: Its speed of ext4 was at most ", "nothing is said of another machine"],
    );
    let mut hole = with_limit(4, 10.0, true);
    hole.trials.retain(|trial| trial.member != Some(2) || trial.scenario != "xfs");
    check(&said(&hole), &["Kept: Its speed of ext4", "Not known: Its speed of xfs was not measured on n2"]);
    // What is missing on one host excuses no other.
    let mut hole = with_limit(4, 1500.0, true);
    hole.trials.retain(|trial| trial.member != Some(2) || trial.scenario != "xfs");
    check(
        &said(&hole),
        &["Not kept: Its speed of xfs was beyond its limit (at least 1,500 1/s) in 3 of 3 rounds on n1;"],
    );
    // Nor is one kept of a workload that was left out.
    let mut left_out = with_limit(4, 10.0, true);
    left_out.study.limits.push(LimitRecord { workload: "tree".into(), ..left_out.study.limits[0].clone() });
    check(&said(&left_out), &["Not known: Its speed of tree was not measured on "]);
    let of_xfs = &json(&with_limit(8, 2500.0, true))["limits"][1];
    assert_eq!(
        (&of_xfs["hosts"][1], &of_xfs["kept"]),
        (&serde_json::json!({ "rounds": 3, "beyond": 3 }), &false.into())
    );
    // While members are missing this answer has a share of the level only, and what is said of a further machine is as much wider.
    let least_of = |members: u32| {
        let mut contents = with_limit(8, 10.0, true);
        contents.members.iter_mut().for_each(|member| member.of = members);
        json(&contents)["limits"][0]["further"][0].as_f64().expect("a figure")
    };
    assert!(least_of(12) < 0.9 * least_of(8), "{} and {}", least_of(12), least_of(8));
}

/// Turns of 1 and 200 ms: a mean of both is no percentile of all, which lies between them.
#[test]
fn a_fleet_s_percentile_by_turns_is_between_those_of_its_turns() {
    let said = |at_most: f64| {
        let mut contents = fleet(&EIGHT[..4]);
        contents.study.analysis.order = ledger::model::Order::Turns;
        let (title, metric, source) = ("Its p99".to_string(), "latency_microseconds_p99".to_string(), String::new());
        for run in std::mem::take(&mut contents.runs) {
            for (turn, microseconds) in [1000.0, 200_000.0].into_iter().enumerate() {
                let mut of_turn = run.clone();
                (of_turn.id, of_turn.run) = (run.id * 2 + turn as i64, turn as u32);
                of_turn.metrics.insert(metric.as_str().into(), microseconds);
                contents.runs.push(of_turn);
            }
        }
        let workload = "oltp".to_string();
        contents.study.limits = vec![LimitRecord { title, workload, metric, value: at_most, is_least: false, source }];
        said(&contents)
    };
    check(&said(150_000.0), &["Not known: Its p99 of xfs lies on both sides of its limit from turn to turn"]);
    check(&said(300_000.0), &["Its p99 of xfs was at most 200 ms in every round"]);
    check(&said(500.0), &["Not kept: Its p99 of xfs was beyond its limit"]);
}

#[test]
fn who_never_ran_is_no_pick() {
    let mut contents = fleet(&EIGHT);
    for trial in contents.trials.iter_mut().filter(|trial| trial.scenario == "btrfs") {
        trial.state = ledger::model::TrialState::Failed;
    }
    fixture::keep_finished(&mut contents);
    let text = said(&contents);
    check(&text, &["Use xfs: ", "not measured"]);
    // Alone in the safest class, and without a figure: it says nothing of the class of the others.
    contents.scenarios[..2].iter_mut().for_each(|scenario| {
        scenario.durability.class = observe::durability::Class::LosesRecent;
    });
    check(&said(&contents), &["Use xfs: "]);
}

#[test]
fn no_ratio_to_a_baseline_that_stalled_is_claimed() {
    let mut contents = fleet(&EIGHT);
    let stalled = fixture::runs_of(&mut contents, |trial| trial.scenario == "ext4").next();
    stalled.expect("a run").metrics.insert("transactions_per_second".into(), 0.0);
    let text = said(&contents);
    check(&text, &["stalled"]);
    assert!(!text.contains("faster than ext4") && !text.contains("slower than ext4"), "{text}");
    assert!(!text.contains("of ext4's"), "{text}");
}

/// xfs and btrfs under 1 and 16 threads; `ratio` of 16 threads to 1.
fn with_threads(filesystems: &[(&str, f64)], ratio: f64) -> Contents {
    let scenarios: Vec<(&str, u32, f64)> =
        filesystems.iter().flat_map(|(name, speed)| [(*name, 1, *speed), (*name, 16, *speed * ratio)]).collect();
    let row = |(place, (name, threads, speed)): (usize, &(&str, u32, f64))| {
        let values = (0..5 * ROUNDS).map(|round| 1000.0 * speed * [1.0, 1.004, 0.996][(round + place) % 3]);
        let levels = vec![("storage.filesystem", (*name).to_string()), ("workload.oltp.threads", threads.to_string())];
        Row { label: format!("{name} · {threads} threads"), levels, ..Row::new(name, &values.collect::<Vec<_>>()) }
    };
    let rows = scenarios.iter().enumerate().map(row).collect();
    let mut contents = fixture::contents(&Table { workload: "oltp", metric: fixture::transactions(), rows });
    contents.scenarios[0].baseline = true;
    let members = fleet(&EIGHT[..5]);
    (contents.members, contents.sessions) = (members.members, members.sessions);
    contents.trials.iter_mut().for_each(|trial| trial.member = Some(trial.round / ROUNDS as u32 + 1));
    contents
}

/// A number of threads is given: with more of them everything is faster, and nobody may choose it.
#[test]
fn a_condition_of_the_load_is_no_choice() {
    let contents = with_threads(&[("ext4", 1.0), ("xfs", 1.1)], 3.0);
    let text = said(&contents);
    check(
        &text,
        &[
            "With threads 1: Use xfs · 1 threads: over 5 hosts it is the fastest of the 2 scenarios.",
            "With threads 16: Use xfs · 16 threads: over 5 hosts it is the fastest of the 2 scenarios.",
            "xfs · 16 threads is ",
            "faster than ext4 · 16 threads",
        ],
    );
    let json = json(&contents);
    let of = |part: usize, key: &str| json["parts"][part][key].clone();
    assert_eq!(of(1, "conditions"), serde_json::json!({ "workload.oltp.threads": "16" }));
    // Both share the level of a first answer.
    assert!([0, 1].iter().all(|part| (of(*part, "alpha").as_f64().expect("a level") - 0.0125).abs() < 1e-12));
    assert_eq!(of(1, "baseline"), "ext4 · 16 threads");
    let page = FleetReport::of(&contents, is_choice).expect("a fleet").html();
    check(&page, &["oltp with threads 16: who is ahead on which host", "fleet-oltp-16"]);
    // Where conditions are all there is, nothing is picked.
    let given = with_threads(&[("ext4", 1.0)], 3.0);
    let text = said(&given);
    check(&text, &["Nothing to choose: threads is a condition of the load."]);
    assert!(!text.contains("Use "), "{text}");
}

/// Errors of a higher rate throw out nothing that is measured at a lower one.
#[test]
fn errors_are_held_against_others_under_the_same_condition() {
    let mut contents = with_threads(&[("ext4", 1.0), ("xfs", 1.1)], 3.0);
    let crowded: Vec<i64> =
        contents.trials.iter().filter(|trial| trial.scenario.contains("16")).map(|trial| trial.id).collect();
    for run in &mut contents.runs {
        let wrong = if crowded.contains(&run.trial) { 50.0 } else { 0.0 };
        run.metrics.extend([("asked".into(), 1000.0), ("errors".into(), wrong)]);
    }
    let text = said(&contents);
    check(&text, &["With threads 16: Use xfs · 16 threads: over 5 hosts it is the fastest of the 2 scenarios."]);
    assert!(!text.contains("more errors"), "{text}");
}

/// btrfs runs on three of eight hosts, and is fast there: rounds do not tell how hosts differ.
#[test]
fn what_ran_on_few_hosts_is_not_picked_over_all() {
    let mut hosts = EIGHT;
    hosts.iter_mut().for_each(|host| host.1 = 1.5);
    let mut contents = fleet(&hosts);
    contents.trials.retain(|trial| trial.scenario != "btrfs" || trial.member <= Some(3));
    let text = said(&contents);
    check(
        &text,
        &[
            "Use xfs: over 8 hosts it is the fastest of the 2 that may be picked.",
            "too few hosts; measured on 3 hosts only",
        ],
    );
    let against = &json(&contents)["parts"][0]["scenarios"][2]["against_baseline"];
    assert_eq!((&against["verdict"], &against["hosts"]), (&Value::Null, &3.into()), "{against}");
    // On five it competes, and the answer says over how many it is.
    let mut contents = fleet(&hosts);
    contents.trials.retain(|trial| trial.scenario != "btrfs" || trial.member <= Some(5));
    check(
        &said(&contents),
        &["Use btrfs: over 5 of 8 hosts it is the fastest of the 3 scenarios.", "Over 5 of 8 hosts btrfs is "],
    );
}

/// A merge of a part is a look at it, and so is the answer of a fleet that was to be smaller.
#[test]
fn a_part_of_a_fleet_has_a_share_of_the_level() {
    let alpha = |change: &dyn Fn(&mut Contents)| {
        let mut contents = fleet(&EIGHT);
        change(&mut contents);
        json(&contents)["parts"][0]["alpha"].as_f64().expect("a level")
    };
    let members = |contents: &mut Contents, of: [u32; 2]| {
        contents.members.iter_mut().for_each(|member| member.of = of[usize::from(member.number > 4)]);
    };
    assert_eq!(alpha(&|_| ()), (1.0 - 0.95) * 0.5);
    let said = |of: u32| {
        let mut contents = fleet(&EIGHT);
        members(&mut contents, [of, of]);
        FleetReport::of(&contents, is_choice).expect("a fleet").terminal(300, false).contains("of their level")
    };
    assert_eq!([8, 20].map(said), [false, true]);
    let missing = alpha(&|contents| members(contents, [20, 20]));
    let (early, late) = (alpha(&|contents| members(contents, [9, 9])), alpha(&|contents| members(contents, [40, 40])));
    assert!(missing < early && late < missing && early < 0.01, "{early} {missing} {late}");
    let unfinished = alpha(&|contents| contents.trials.retain(|trial| trial.round < 22));
    assert!(unfinished < 0.01, "{unfinished}");
    assert_eq!(alpha(&|contents| members(contents, [4, 8])), (1.0 - 0.95) * 0.25, "four were answered, then eight");
}
