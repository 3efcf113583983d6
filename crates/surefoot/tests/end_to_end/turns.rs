//! Scenarios that are up at the same time and take turns: whose turn it is, who stands still, what becomes of a kill.

use crate::harness::{World, children, small_study, wait_until};
use ledger::model::TrialState;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

fn study(rounds: u32, turn: &str) -> String {
    small_study(&["ext4", "ext3"], rounds).replace("300ms", "2s") + &format!("turn = \"{turn}\"\n")
}

fn ledger(world: &World) -> Value {
    world.report("small.surefoot")["ledger"].clone()
}

fn array<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no {name}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// The report of a round in turns of 200 ms: measured once, for all who ask about turns that nobody disturbs.
fn undisturbed() -> &'static Value {
    static REPORT: OnceLock<Value> = OnceLock::new();
    REPORT.get_or_init(|| {
        let world = World::new();
        world.write("small.toml", study(1, "200ms"));
        world.surefoot(&["run", "small.toml"]).status(0);
        world.assert_nothing_left();
        world.report("small.surefoot")
    })
}

#[test]
fn one_works_while_the_others_stand_still() {
    let ledger = &undisturbed()["ledger"];
    let mut runs: Vec<&Value> = array(ledger, "runs").iter().collect();
    runs.sort_by(|a, b| number(&a["started"]).total_cmp(&number(&b["started"])));
    // Two filesystems and the control, 2 s in turns of 200 ms each.
    assert_eq!(runs.len(), 30);
    for pair in runs.windows(2) {
        let end = number(&pair[0]["started"]) + number(&pair[0]["seconds"]);
        // The flush is charged after the fact; the clock of the kernel's flush is finer than that of the wall.
        assert!(number(&pair[1]["started"]) > end - 0.005, "turns overlap: {pair:#?}");
    }
    // Nobody has two turns before all others had one more.
    let mut turns: BTreeMap<i64, u32> = BTreeMap::new();
    for run in &runs {
        *turns.entry(run["trial"].as_i64().expect("a trial")).or_default() += 1;
        assert!(turns.values().max() <= turns.values().min().map(|least| least + 2).as_ref(), "{turns:?}");
        let metrics = &run["metrics"];
        let (flush, seconds) = (number(&metrics["turn_flush_seconds"]), number(&run["seconds"]));
        let charged = number(&metrics["before_flush"]) * (seconds - flush) / seconds;
        assert!((number(&metrics["transactions_per_second"]) / charged - 1.0).abs() < 1e-9, "{run}");
        assert!(number(&metrics["standstill_bytes"]) >= 0.0);
    }
    assert_eq!(turns.values().copied().collect::<Vec<_>>(), [10, 10, 10]);
}

/// A trial's figure is its work over its time, so a turn that stalled counts as the time that it took.
#[test]
fn the_figure_is_the_work_of_all_turns_over_their_time() {
    let json = undisturbed();
    let ledger = &json["ledger"];
    let mut sums: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for run in array(ledger, "runs") {
        let sum = sums.entry(run["trial"].as_i64().expect("a trial")).or_default();
        let seconds = number(&run["seconds"]);
        *sum = (sum.0 + number(&run["metrics"]["transactions_per_second"]) * seconds, sum.1 + seconds);
    }
    let text = json.to_string();
    for trial in array(ledger, "trials") {
        let (work, seconds) = sums[&trial["id"].as_i64().expect("an id")];
        // As the answer has it, to the digits that JSON keeps of any number.
        let figure = work / seconds;
        let is_near = |found: &str| found.parse::<f64>().is_ok_and(|found| (found / figure - 1.0).abs() < 1e-12);
        let numbers = text.split(|sign: char| !(sign.is_ascii_digit() || ".e-".contains(sign)));
        assert!(numbers.into_iter().any(is_near), "{} has no figure {figure}", trial["scenario"]);
    }
}

#[test]
fn killed_amid_turns_it_does_the_round_again() {
    let world = World::new();
    world.write("small.toml", study(2, "200ms").replace("\"2s\"", "\"1s\""));
    // While the first are provisioned, while they are loaded or at their first turns, amid these, and about the end of the round.
    for milliseconds in [300, 900, 2500, 5500] {
        let mut child = world.start(&["run", "small.toml"]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
        child.wait().expect("it was killed");
        world.assert_nothing_left();
    }
    world.surefoot(&["run", "small.toml"]).status(0);
    let ledger = ledger(&world);
    let finished: Vec<&Value> = array(&ledger, "trials").iter().filter(|trial| trial["state"] == "finished").collect();
    assert_eq!(finished.len(), 6, "two filesystems and the control in two rounds, each exactly once");
    for trial in finished {
        let runs = array(&ledger, "runs").iter().filter(|run| run["trial"] == trial["id"]).count();
        assert_eq!(runs, 5, "all its turns: {trial}");
    }
    world.assert_nothing_left();
}

/// States of processes by this name whose mount points lie in the world, as /proc/PID/stat has them.
fn states(world: &Path, name: &str) -> Vec<char> {
    let here = world.to_string_lossy().into_owned();
    let of = |folder: &Path| {
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (command, rest) = stat.rsplit_once(')')?;
        // Asked of few: a list of mounts is long.
        let is_ours = || std::fs::read_to_string(folder.join("mountinfo")).is_ok_and(|mounts| mounts.contains(&here));
        (command.ends_with(&format!("({name}")) && is_ours()).then(|| rest.trim().chars().next())?
    };
    let processes = Path::new("/proc").read_dir().expect("/proc").flatten();
    processes.filter_map(|entry| of(&entry.path())).collect()
}

#[test]
fn servers_that_wait_are_stopped_and_a_dead_one_is_a_hole() {
    let world = World::new();
    let text = study(1, "200ms").replace("\"sqlite\"", "\"postgres\"").replace("64MiB", "320MiB");
    world.write("small.toml", text);
    let mut child = world.start(&["run", "small.toml"]);
    let (mut stopped_max, mut awake_with_stopped) = (0, false);
    while child.try_wait().expect("it runs").is_none() {
        let states = states(world.path(), "postgres");
        let stopped = states.iter().filter(|state| **state == 'T').count();
        stopped_max = stopped_max.max(stopped);
        awake_with_stopped |= stopped > 0 && stopped < states.len();
        // Four times a turn: a look reads all of /proc.
        std::thread::sleep(Duration::from_millis(50));
    }
    // A server is several processes; of three, two stand still while one works.
    assert!(stopped_max >= 6 && awake_with_stopped, "{stopped_max} processes stood still");
    world.assert_nothing_left();
    assert!(array(&ledger(&world), "trials").iter().all(|trial| trial["state"] == "finished"));

    // One of the servers dies while it waits: its trial fails, the others have all their turns.
    std::fs::remove_file(world.path().join("small.surefoot")).expect("it was written");
    let mut child = world.start(&["run", "small.toml"]);
    let mut victim = None;
    wait_until("a trial's server stands still", || {
        // The first trial's outermost process.
        victim = children(child.id()).first().copied();
        victim.is_some() && states(world.path(), "postgres").contains(&'T')
    });
    kill(Pid::from_raw(victim.expect("found")), Signal::SIGKILL).expect("it is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let ledger = ledger(&world);
    let states: Vec<&str> = array(&ledger, "trials").iter().filter_map(|trial| trial["state"].as_str()).collect();
    assert_eq!(states.iter().filter(|state| **state == "finished").count(), 2, "{states:?}");
    world.assert_nothing_left();
}

#[test]
fn who_cannot_take_turns_is_told_why() {
    let world = World::new();
    let asked = study(1, "200ms") + "order = \"turns\"\n";
    world.write("virtual.toml", asked.replace("\"loop\"", "\"virtual\""));
    world.surefoot(&["plan", "virtual.toml"]).status(2).says("virtual disk").says("design.order=blocks");
    // More than fits into any memory.
    world.write("large.toml", asked.replace("2000", "1000000000"));
    world.surefoot(&["plan", "large.toml"]).status(2).says("of memory");
}

/// Five filesystems, each of which a small image holds, and the control, of which four are up at once: two groups a round.
fn grouped(rounds: u32) -> String {
    let mut filesystems = String::from("[factors.filesystem]\n");
    for name in ["ext4", "ext3", "ext2"] {
        filesystems += &format!("{name} = {{ storage.filesystem = \"{name}\" }}\n");
    }
    for name in ["ext3", "ext2"] {
        let level = format!("storage.filesystem = \"{name}\", storage.mount = [\"noatime\"]");
        filesystems += &format!("{name}-noatime = {{ {level} }}\n");
    }
    let one = small_study(&["ext4"], rounds).replace("300ms", "1s");
    one.replace("[factors]\n\"storage.filesystem\" = [\"ext4\"]\n", &filesystems) + "turn = \"200ms\"\nup_max = 4\n"
}

/// The trials of a results file that count: (round, group), and whose.
fn groups(ledger: &Value) -> BTreeMap<(u64, u64), Vec<String>> {
    let mut groups: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
    for trial in array(ledger, "trials").iter().filter(|trial| trial["state"] == "finished") {
        let number = |name: &str| trial[name].as_u64().unwrap_or_else(|| panic!("no {name}: {trial}"));
        let scenario = trial["scenario"].as_str().expect("a name").to_string();
        groups.entry((number("round"), number("group"))).or_default().push(scenario);
    }
    groups
}

#[test]
fn who_does_not_fit_takes_turns_in_groups() {
    let world = World::new();
    world.write("small.toml", grouped(2));
    let plan = world.surefoot(&["plan", "small.toml"]).status(0).says("in 2 groups a round, up to 4 scenarios at once");
    plan.says("256MiB for image files").says("the study says up_max = 4").says("trials:     16 to 16");
    let json = world.surefoot(&["plan", "small.toml", "--json"]).json()["order"].clone();
    assert_eq!((&json["kind"], &json["groups"], &json["up_max"]), (&"turns".into(), &2.into(), &4.into()), "{json}");
    world.surefoot(&["run", "small.toml"]).status(0);
    world.assert_nothing_left();
    let slots = world.path().join("surefoot-work/small/slots");
    assert_eq!(slots.read_dir().expect("slots").count(), 4, "the second group has the images of the first");
    let ledger = ledger(&world);
    let groups = groups(&ledger);
    assert_eq!(groups.len(), 4, "{groups:?}");
    for scenarios in groups.values() {
        assert_eq!(
            scenarios.iter().filter(|label| label.contains("ext4")).count(),
            2,
            "baseline and control: {groups:?}"
        );
        assert_eq!(scenarios.len(), 4, "{groups:?}");
    }
    // A group is over before the next one is made.
    let trials = array(&ledger, "trials");
    let of =
        |round: u64, group: u64| trials.iter().filter(move |trial| trial["round"] == round && trial["group"] == group);
    for round in 0..2 {
        let end = of(round, 0).map(|trial| number(&trial["ended"])).fold(0.0, f64::max);
        assert!(of(round, 1).all(|trial| number(&trial["started"]) >= end));
    }
    // Two of different groups are held against each other over both rounds.
    let report = world.report("small.surefoot");
    let rows = array(&report["analysis"]["workloads"][0], "scenarios");
    assert_eq!(rows.len(), 6, "{rows:#?}");
    for row in rows {
        let values = array(row, "values").iter().filter(|value| value.is_number()).count();
        assert_eq!(values, 2, "a figure a round: {row:#}");
    }
}

#[test]
fn killed_amid_the_second_group_it_goes_on_there() {
    let world = World::new();
    world.write("small.toml", grouped(1));
    let mut child = world.start(&["run", "small.toml"]);
    let path = world.path().join("small.surefoot");
    let states = |group: u32| -> Vec<TrialState> {
        let contents = ledger::Reader::open(&path).and_then(|reader| reader.contents());
        let trials = contents.map_or(Vec::new(), |contents| contents.trials);
        trials.iter().filter(|trial| trial.group == Some(group)).map(|trial| trial.state).collect()
    };
    wait_until("the second group is up", || states(1).len() == 4);
    assert_eq!(states(0), [TrialState::Finished; 4]);
    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    child.wait().expect("it was killed");
    world.assert_nothing_left();
    world.surefoot(&["run", "small.toml"]).status(0);
    let ledger = ledger(&world);
    let groups = groups(&ledger);
    assert_eq!(groups.values().map(Vec::len).collect::<Vec<_>>(), [4, 4], "each exactly once: {groups:?}");
    let voided = array(&ledger, "trials").iter().filter(|trial| trial["state"] == "interrupted");
    assert_eq!(voided.map(|trial| trial["group"].clone()).collect::<Vec<_>>(), [1; 4], "the first group stands");
    world.assert_nothing_left();
}

#[test]
fn a_dead_trial_of_a_group_is_a_hole_and_its_round_is_done_again() {
    let world = World::new();
    world.write("small.toml", grouped(1));
    let mut child = world.start(&["run", "small.toml"]);
    wait_until("a group is up", || children(child.id()).len() == 4);
    kill(Pid::from_raw(children(child.id())[0]), Signal::SIGKILL).expect("it is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    world.assert_nothing_left();
    let count = |ledger: &Value| groups(ledger).values().map(Vec::len).sum::<usize>();
    assert_eq!(count(&ledger(&world)), 7, "the other seven have all their turns");
    world.surefoot(&["resume", "small.toml", "--retry-failed"]).status(0);
    assert_eq!(count(&ledger(&world)), 15, "the whole round was measured again");
    world.assert_nothing_left();
}

#[test]
fn a_group_that_would_be_too_small_is_no_turns() {
    let world = World::new();
    let small = grouped(1).replace("up_max = 4", "up_max = 2");
    world.write("small.toml", &small);
    let plan = world.surefoot(&["plan", "small.toml"]).status(0);
    plan.says(
        "one trial after another: the study says up_max = 2; a group needs 3 at least, baseline, control and one more",
    );
    let json = world.surefoot(&["plan", "small.toml", "--json"]).json()["order"].clone();
    assert_eq!((&json["kind"], &json["up_max"]), (&"blocks".into(), &1.into()), "{json}");
    assert!(json["reason"].as_str().is_some_and(|reason| reason.contains("up_max")), "{json}");
    world.write("asked.toml", small + "order = \"turns\"\n");
    world.surefoot(&["plan", "asked.toml"]).status(2).says("a group needs 3 at least");
}
