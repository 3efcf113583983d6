//! `surefoot compare --sessions` and `--fail-on` on results files of real runs, of a program that is twice as fast on one side.

use crate::harness::World;

/// The program says its speed itself, so that no busy machine decides what is compared.
const STUDY: &str = r#"name = "small"
question = "Which is faster?"
[storage]
filesystem = "ext4"
size = "64MiB"
[workload.command]
command = ["sh", "-c", "echo speed $(({threads} * (1000 + $(printf {seed} | tail -c 1))))"]
time = "1s"
[workload.command.metrics]
speed = "regex:speed ([0-9]+); unit 1/s; more"
[design]
probe = "0s"
warm_up_runs = 0
runs = 1
control = false
rounds_min = ROUNDS
rounds_max = ROUNDS
"#;

/// Runs sessions of two sides by turns; gives the files, in their order.
fn sessions(world: &World, pairs: usize, rounds: u32) -> Vec<String> {
    world.write("small.toml", STUDY.replace("ROUNDS", &rounds.to_string()));
    let mut files = Vec::new();
    for pair in 0..pairs {
        for (side, threads) in [("fast", 2), ("slow", 1)] {
            let file = format!("{side}{pair}.surefoot");
            let setting = format!("workload.command.threads={threads}");
            let run = ["run", "small.toml", "--quiet", "--set", &setting, "--results", &file];
            world.surefoot(&run).status(0);
            files.push(file);
        }
    }
    files
}

#[test]
fn a_gate_ends_with_a_status_of_its_own() {
    let world = World::new();
    let files = sessions(&world, 1, 4);
    let [fast, slow] = [0, 1].map(|index| files[index].as_str());
    let gate = ["--fail-on", "slower by 5 %"];
    let worse = world.surefoot(&[&["compare", fast, slow][..], &gate].concat()).status(6);
    assert!(worse.stderr.contains("% worse"), "{}", worse.stderr);
    let passed = world.surefoot(&[&["compare", slow, fast, "--json"][..], &gate].concat()).status(0).json();
    assert_eq!((passed["gate"]["slower_by"].as_f64(), passed["gate"]["is_passed"].as_bool()), (Some(0.05), Some(true)));
    world.surefoot(&["compare", fast, slow, "--fail-on", "faster"]).status(2).says("slower by 5 %");
}

#[test]
fn sessions_by_turns_are_one_value_each() {
    let world = World::new();
    let files = sessions(&world, 4, 1);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let gate = ["--fail-on", "slower by 5 %"];
    let all = [&["compare", "--sessions"][..], &files].concat();
    let json = world.surefoot(&[&all[..], &["--json"]].concat()).status(0).json();
    assert_eq!(json["sessions_a_side"], 4);
    let figures = json["workloads"][0]["figures"].as_array().expect("a list");
    let primary = figures.iter().find(|figure| figure["exploratory"] == false).expect("the speed");
    assert_eq!(primary["a"]["values"].as_array().map(Vec::len), Some(4), "one value a session: {primary:#}");
    assert_eq!(primary["change"]["verdict"], "slower", "{primary:#}");
    world.surefoot(&[&all[..], &gate].concat()).status(6);
    // A shell's pattern sorts by side: each side would be half fast and half slow, and any change cancelled.
    let of_side = |side: &str| files.iter().copied().filter(|file| file.starts_with(side)).collect::<Vec<_>>();
    let sorted = [&["compare", "--sessions"][..], &of_side("fast"), &of_side("slow")].concat();
    world.surefoot(&sorted).status(0).says("did not take turns");
    world.surefoot(&[&sorted[..], &gate].concat()).status(2).says("--fail-on has no two sides").says("A1 B1 A2 B2");
    // Three pairs have no verdict, and so nothing to judge by.
    let few = [&["compare", "--sessions"][..], &files[..6], &gate].concat();
    world.surefoot(&few).status(2).says("4 sessions");
    world.surefoot(&["compare", "--sessions", files[0], files[1], files[2]]).status(2).says("A1 B1 A2 B2");
}
