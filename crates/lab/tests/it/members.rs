//! A fleet's members by simulation: together they measure the rounds of one study.

use super::{contents, machine, plan, session, text};
use lab::conductor::{self, Stop};
use lab::member::{self, Part};
use lab::resume;
use ledger::model::{Contents, Host, Member};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

fn part(number: u32) -> Part {
    Part { number, of: 4, known_by: "the test".into() }
}

/// Runs a member whose machine would stop a study of its own after its fewest rounds, or never.
fn run(number: u32, design: &str) -> (Contents, Stop) {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("m.surefoot");
    let text = text(&["ext4", "xfs"], design);
    let mut plan = plan(&text);
    member::design(&mut plan, &part(number)).expect("a full study");
    plan.drawn = resume::drawn(&results, &plan, plan.drawn.seed).expect("readable");
    let host = Host { name: format!("n{number}"), id: String::new() };
    let rounds = plan.design.rounds_min;
    let member = Member { number, of: 4, attempt: 1, rounds, host, known_by: String::new(), others: Vec::new() };
    let asked = resume::Session { member: Some(member), ..session(&text) };
    let opened = resume::open(&results, &plan, &asked).expect("it opens");
    let mut bench = machine();
    let never = AtomicBool::new(false);
    let summary = conductor::conduct(&plan, opened, &mut bench, &never, &mut |_| {}).expect("conducted");
    assert_eq!(resume::drawn(&results, &plan, 1).expect("readable"), plan.drawn, "the same when it goes on");
    (contents(&results), summary.stop)
}

#[test]
fn members_measure_one_study_s_rounds_and_stop_by_no_look() {
    let all: Vec<Contents> = (1..=4)
        .map(|number| {
            // A precision that is reached at once would end a study after three rounds, and one that never is after nine.
            let design =
                format!("rounds_min = 3\nrounds_max = 9\nprecision = \"{}%\"", if number % 2 == 0 { 50 } else { 1 });
            let (found, stop) = run(number, &design);
            assert_eq!(stop, if number % 2 == 0 { Stop::PrecisionReached } else { Stop::RoundsMax });
            found
        })
        .collect();
    let seeds: HashSet<u64> = all.iter().map(|found| found.study.seed).collect();
    assert_eq!(seeds.len(), 1, "one seed, which nobody said");
    let mut data = HashSet::new();
    for (found, number) in all.iter().zip(1..) {
        assert_eq!(found.trials.iter().map(|trial| trial.round).max(), Some(2));
        assert!(found.trials.iter().all(|trial| trial.member == Some(number)));
        assert!(found.sessions.iter().all(|session| session.member == Some(number)));
        data.extend(found.trials.iter().map(|trial| trial.seed));
    }
    assert_eq!(data.len(), 12, "data of each round of each member");
    // Three scenarios with the control: six orders are a balance, so twelve rounds have each place of each four times.
    for label in all[0].scenarios.iter().map(|scenario| &scenario.label) {
        for position in 0..3 {
            let trials = all.iter().flat_map(|found| &found.trials);
            let count = trials.filter(|trial| trial.scenario == *label && trial.position == position).count();
            assert_eq!(count, 4, "{label} at {position}");
        }
    }
}

fn named(number: u32, host: &str) -> Member {
    let host = Host { name: host.into(), id: String::new() };
    Member { number, of: 4, attempt: 1, rounds: 3, host, known_by: String::new(), others: Vec::new() }
}

#[test]
fn what_somebody_else_measured_is_not_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = text(&["ext4", "xfs"], "rounds_min = 3");
    let mut plan = plan(&text);
    member::design(&mut plan, &part(2)).expect("a full study");
    let open = |name: &str, member: Option<Member>| {
        resume::open(&folder.path().join(name), &plan, &resume::Session { member, ..session(&text) }).map(drop)
    };
    open("member.surefoot", Some(named(2, "n2"))).expect("a new file");
    open("member.surefoot", Some(named(2, "n2"))).expect("its own");
    open("one.surefoot", None).expect("a new file");
    let bytes =
        || ["member.surefoot", "one.surefoot"].map(|name| std::fs::read(folder.path().join(name)).expect("there"));
    let before = bytes();
    for (name, member) in [
        ("member.surefoot", None),
        ("member.surefoot", Some(named(2, "n3"))),
        ("member.surefoot", Some(named(3, "n2"))),
        ("one.surefoot", Some(named(2, "n2"))),
    ] {
        let refused = open(name, member.clone());
        assert!(matches!(refused, Err(resume::Error::OtherMember { .. })), "{name} {member:?}: {refused:?}");
    }
    assert!(bytes() == before, "a file that is refused is left as it is");
}

#[test]
fn a_study_that_decides_by_looking_or_has_a_load_agent_is_no_fleet_s() {
    let refused = |design: &str| member::design(&mut plan(&text(&["ext4", "xfs"], design)), &part(1)).err();
    assert!(matches!(refused("mode = \"tune\""), Some(member::Error::Design(_))));
    assert!(matches!(refused("confirm = 4"), Some(member::Error::Design(_))), "each would choose for itself");
    assert_eq!(refused("rounds_min = 3\nconfirm = 0"), None);
    // Too few scenarios to screen, and so no pick to confirm.
    let mut unscreened = plan(&text(&["ext4", "xfs"], "screen = \"auto\""));
    member::design(&mut unscreened, &part(1)).expect("a full study");
    assert_eq!(unscreened.design.confirmation_rounds(), 0);
    // Twenty nodes would be taken, and each end at once.
    let mut from_elsewhere = plan(&text(&["ext4", "xfs"], "rounds_min = 3"));
    from_elsewhere.scenarios[0].client = Some("192.0.2.7:7077".into());
    let error = member::design(&mut from_elsewhere, &part(1)).expect_err("one agent for all");
    assert!(error.to_string().contains("the load agent 192.0.2.7:7077"), "{error}");
}

#[test]
fn a_seed_that_is_said_is_everybody_s() {
    let mut plan = plan(&text(&["ext4", "xfs"], "seed = 5"));
    member::design(&mut plan, &part(2)).expect("a full study");
    assert_eq!((plan.drawn.seed, plan.drawn.rounds_before), (5, plan.design.rounds_min));
}
