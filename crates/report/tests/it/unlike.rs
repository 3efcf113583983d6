//! What else differs between results that are held against each other is said: how their rounds went, and what was measured.

use crate::fixture;
use ledger::model::{ChosenTurns, Order};
use report::{Comparison, History};

/// Each session of a study by turns may choose their length by its own machine's noise, or have no room for them.
#[test]
fn sessions_whose_rounds_did_not_go_alike_are_said() {
    const SAID: &str = "Rounds did not go alike";
    let session = |order: Order, turn_milliseconds: u32| {
        let mut input = fixture::published();
        input.contents.study.analysis.order = order;
        input.contents.study.turns = Some(ChosenTurns {
            turn_milliseconds,
            turns: None,
            rounds: 6,
            white_noise: 0.02,
            lasting_noise: 0.01,
            correlation_seconds: 5.0,
        });
        input
    };
    let said = |all: [(Order, u32); 4]| {
        let mut sessions = all.map(|(order, turn)| session(order, turn));
        for (hour, input) in sessions.iter_mut().enumerate() {
            input.contents.study.created += hour as f64 * 3600.0;
        }
        let [a1, b1, a2, b2] = sessions;
        let of_two = Comparison::of(&a1, &b1).expect("both ran on the host").text();
        let of_four = Comparison::of_sessions(&[[a1, b1], [a2, b2]]).expect("all ran on the host").text();
        [of_two, of_four]
    };
    let turns = |lengths: [u32; 4]| lengths.map(|length| (Order::Turns, length));
    assert!(said(turns([1000; 4])).iter().all(|text| !text.contains(SAID)));
    let unlike = said(turns([1000, 2000, 1000, 1000]));
    assert!(unlike.iter().all(|text| text.contains("(turns of 1.00 s; turns of 2.00 s)")), "{unlike:?}");
    // Over time, too.
    let results = [(0.0, 1000), (1.0, 2000)].map(|(hour, turn)| {
        let mut input = session(Order::Turns, turn);
        input.contents.study.created += hour * 3600.0;
        (format!("{turn}.surefoot"), input)
    });
    let history = History::of(results.into()).text();
    assert!(history.contains("rounds: turns of 1.00 s → turns of 2.00 s"), "{history}");
    // Without turns a figure is another measure: said once, and without a way that takes room for turns. Only the first pair has it.
    let one = (Order::Turns, 1000);
    let [of_two, of_four] = said([one, (Order::Blocks, 1000), one, one]);
    assert!(of_two.contains("A figure of A is of all turns") && !of_two.contains(SAID), "{of_two}");
    assert!(of_four.contains("Of the sessions of B some have figures of") && !of_four.contains(SAID), "{of_four}");
}

/// Upgraded, or patched and loaded anew in the same kernel.
#[test]
fn another_server_or_module_is_said() {
    const EQUAL: &str = "machine facts are equal";
    let measured = |hour: f64, [postgres, ext4]: [&str; 2]| {
        let mut input = fixture::published();
        input.contents.study.created += hour * 3600.0;
        let facts = [("postgres.version", postgres), ("ext4.module", ext4)];
        let facts = facts.map(|(name, value)| (name.to_string(), value.to_string()));
        input.contents.trials.iter_mut().for_each(|trial| trial.facts.extend(facts.clone()));
        input
    };
    let text = |a: [&str; 2], b: [&str; 2]| {
        Comparison::of(&measured(0.0, a), &measured(1.0, b)).expect("both ran on the host").text()
    };
    let same = ["15.14", "build 3fa9"];
    assert!(text(same, same).contains(EQUAL), "{}", text(same, same));
    let upgraded = text(same, ["16.3", "build 3fa9"]);
    assert!(upgraded.contains("postgres.version: 15.14 → 16.3") && !upgraded.contains("ext4.module"), "{upgraded}");
    let [first, mut elsewhere] = [measured(0.0, same), measured(1.0, ["16.3", "build 3fa9"])];
    let facts = (0..30).map(|number| (format!("cpu.fact{number}"), "other".to_string()));
    elsewhere.contents.sessions.last_mut().expect("a session").machine.extend(facts);
    let elsewhere = Comparison::of(&first, &elsewhere).expect("both ran on the host").text();
    assert!(elsewhere.contains("postgres.version: 15.14 → 16.3") && elsewhere.contains("more machine facts differ"));
    let patched = text(same, ["15.14", "build 01b2"]);
    assert!(patched.contains("ext4.module: build 3fa9 → build 01b2") && !patched.contains(EQUAL), "{patched}");
}
