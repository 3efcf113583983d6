//! The workflow for users' pull requests (docs/github-workflow.yml): its steps run as they stand, but for git, sudo and the package.

use crate::harness::{World, small_study};
use std::process::{Command, Output};

/// The scripts of the steps, by name.
fn steps() -> Vec<(String, String)> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/github-workflow.yml");
    let text = std::fs::read_to_string(path).expect("the workflow");
    let mut found = Vec::new();
    for step in text.split("\n      - ").skip(1) {
        let name = step.lines().find_map(|line| line.trim().strip_prefix("name: ")).unwrap_or_default();
        if let Some((_, script)) = step.split_once("run: |\n") {
            let lines = script.lines().take_while(|line| line.starts_with("          ")).map(str::trim_start);
            found.push((name.to_string(), lines.collect::<Vec<_>>().join("\n")));
        }
    }
    found
}

/// Runs a step's script as the runner does.
fn run(world: &World, script: &str) -> Output {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_surefoot"));
    let path = format!("{}:{}", binary.parent().expect("a folder").display(), std::env::var("PATH").expect("a path"));
    let whole = format!("git() {{ echo \"$*\" >> git.log; }}\nsudo() {{ \"$@\"; }}\n{script}");
    Command::new("bash")
        .args(["-e", "-c", &whole])
        .current_dir(world.path())
        .env("PATH", &path)
        .envs([("GITHUB_BASE_REF", "main"), ("GITHUB_SHA", "0123456"), ("GITHUB_STEP_SUMMARY", "summary.md")])
        .output()
        .expect("bash")
}

/// All steps end well.
fn run_all(world: &World, steps: &[(String, String)]) {
    for (name, script) in steps {
        let said = run(world, script);
        let words = String::from_utf8_lossy(&said.stderr);
        // Equals may be called different; whatever is said, it is an answer.
        let may = if name == "compare" { &[0, 6][..] } else { &[0] };
        assert!(said.status.code().is_some_and(|code| may.contains(&code)), "{name}: {:?}\n{words}", said.status);
    }
}

#[test]
fn its_steps_measure_compare_and_export() {
    let world = World::new();
    world.write("study.toml", small_study(&["ext4"], 1));
    let steps = steps();
    assert_eq!(steps.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["measure", "compare", "export"]);
    run_all(&world, &steps);
    let read = |name: &str| std::fs::read_to_string(world.path().join(name)).unwrap_or_else(|_| panic!("no {name}"));
    let checked_out = read("git.log");
    let sides: Vec<&str> = checked_out.lines().filter_map(|line| line.split(' ').next_back()).collect();
    let [before, after] = ["origin/main", "0123456"];
    assert_eq!(sides, [before, after, after, before, before, after, after, before], "the sides change places");
    let figures: serde_json::Value = serde_json::from_str(&read("benchmark.json")).expect("JSON");
    let is_figure =
        |one: &serde_json::Value| one["name"].is_string() && one["unit"].is_string() && one["value"].is_f64();
    assert!(figures.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_figure)), "{figures}");
    assert!(read("summary.md").starts_with("# "), "the answer stands in the summary");
}

/// One of its scenarios fails in every session.
const WITH_A_HOLE: &str = r#"name = "hole"
question = "Which is faster?"
[factors]
"workload.command.threads" = [1, 2]
[storage]
filesystem = "ext4"
size = "64MiB"
[workload.command]
command = ["sh", "-c", "test {threads} = 1 && echo speed $((1000 + $(printf {seed} | tail -c 1)))"]
time = "1s"
[workload.command.metrics]
speed = "regex:speed ([0-9]+); unit 1/s; more"
[design]
probe = "0s"
warm_up_runs = 0
runs = 1
control = false
rounds_min = 1
rounds_max = 1
"#;

/// A trial may fail on the base as well: that is `compare`'s to judge, and it must come to that.
#[test]
fn a_failed_trial_does_not_end_it_and_a_wrong_study_does() {
    let world = World::new();
    let steps = steps();
    assert!(!run(&world, &steps[0].1).status.success(), "there is no study");
    world.write("study.toml", WITH_A_HOLE);
    run_all(&world, &steps);
    world.surefoot(&["report", "before-1.surefoot"]).status(3);
}
