//! Study files of any bytes, and every number that a study or the command line takes, with values that nobody should give: a plan or
//! words, never a panic.

use super::BuiltIn;
use crate::cli::{PlanArgs, Surefoot};
use crate::failure::Failure;
use clap::{Arg, CommandFactory as _, Parser as _};
use fuzz::Target;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use study::Override;

/// Numbers as they are written.
const NUMBERS: &str = "0 -0.0 -1 1 1e-300 5e-324 1e30 1e308 1e999 nan inf -inf 4294967295 4294967296 \
     9223372036854775807 9223372036854775808 18446744073709551615 99999999999999999999999999 \
     0.0000000000000000000000000001";

/// Of a setting with a unit.
const UNITS: &[&str] = &["", "B", "TiB", "us", "s", "h", "%"];

/// What a study comes to: problems with places that can be shown, or a plan with its trials.
fn planned(text: &str, changes: &[Override]) -> bool {
    let (study, problems) = study::read(text, changes, &BuiltIn);
    let failed = |problems| {
        let failure = Failure::Study { origin: "study.toml".into(), text: text.into(), problems };
        assert!(!failure.render(true).is_empty());
        false
    };
    let Some(study) = study else { return failed(problems) };
    assert!(problems.is_empty(), "a study or problems: {problems:?}");
    let plan = match crash::plan::plan(&study) {
        Ok(plan) => plan,
        Err(problem) => return failed(vec![problem]),
    };
    let _ = plan.screen_problem();
    for scenario in plan.scenarios.iter().take(10) {
        let _ = lab::durability::of(scenario);
        if let Some(safety) = &plan.safety {
            let _ = crash::safety::why_not(scenario, safety);
        }
    }
    for (scenario, round) in [(0, 0), (plan.scenarios.len() - 1, plan.design.rounds_max)] {
        assert!(serde_json::to_string(&plan.trial_spec(scenario, round, 0)).is_ok());
        let _ = plan.order(round, &vec![true; plan.scenarios.len()]);
    }
    true
}

#[test]
fn studies() {
    let words = &[
        "[factors]\n",
        "\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n",
        "[[exclude]]\n",
        "[[include]]\n",
        "[safety]\n",
        "[design]\nscreen = \"auto\"\n",
        "[storage.wal]\n",
        "[service.postgres]\n",
        "[workload.oltp]\n",
        "= [1, 2, 3, 4, 5, 6, 7, 8, 9]\n",
        "\"\"\"",
        "{ a = 1 }",
        "\u{feff}",
        "é",
    ];
    let target = Target::new("catalogue::hostile::studies", env!("CARGO_MANIFEST_DIR"), "../../studies");
    fuzz::run(&Target { words, ..target }, |bytes, _| {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        // For each scenario with PHP, the program itself is asked whether it takes the settings.
        if !text.contains("php") {
            planned(text, &[]);
        }
    });
}

/// A study with every table that a setting may stand in, for one workload.
fn study_for(path: &str) -> String {
    let workload = path.strip_prefix("workload.").and_then(|rest| rest.split('.').next()).unwrap_or("oltp");
    let service = match path.strip_prefix("service.").and_then(|rest| rest.split('.').next()) {
        Some(service) => format!("[service.{service}]\n"),
        None => String::new(),
    };
    format!("name = \"n\"\nquestion = \"?\"\n{service}[workload.{workload}]\n")
}

/// Paths of all that has a number, with its limits: from the schema, which is made from the Catalogue's tables.
fn numeric_paths() -> Vec<(String, Vec<String>)> {
    fn walk(path: &str, node: &Value, found: &mut Vec<(String, Vec<String>)>) {
        let is_numeric = matches!(node["type"].as_str(), Some("integer" | "number")) || node["pattern"].is_string();
        if is_numeric {
            let limits = ["minimum", "maximum"].iter().filter_map(|limit| node.get(*limit));
            found.push((path.to_string(), limits.map(Value::to_string).collect()));
        }
        for (name, inner) in node["properties"].as_object().into_iter().flatten() {
            let inner_path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if name != "factors" && name != "table" {
                walk(&inner_path, inner, found);
            }
        }
    }
    let mut found = Vec::new();
    walk("", &study::schema(&BuiltIn), &mut found);
    found
}

#[test]
fn no_number_of_any_setting_is_a_panic() {
    let paths = numeric_paths();
    let (mut tried, mut taken, mut panics) = (0, 0, Vec::new());
    for (path, limits) in &paths {
        let text = study_for(path);
        let with_units = NUMBERS.split(' ').flat_map(|number| UNITS.iter().map(move |unit| format!("{number}{unit}")));
        for value in with_units.chain(limits.iter().cloned()) {
            tried += 1;
            let change = [Override { path: path.clone(), value: value.clone() }];
            match catch_unwind(AssertUnwindSafe(|| planned(&text, &change))) {
                Ok(is_taken) => taken += usize::from(is_taken),
                Err(_) => panics.push(format!("{path}={value}")),
            }
        }
    }
    println!("{} settings, {tried} values, {taken} taken", paths.len());
    assert!(panics.is_empty(), "{panics:#?}");
    assert!(paths.len() > 100 && taken > 500, "{} settings, {taken} values taken", paths.len());
}

/// `plan` does sums with them: seconds, bytes, trials.
#[test]
fn plan_shows_what_the_largest_numbers_come_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("study.toml");
    let (mut shown, mut panics) = (0, Vec::new());
    for (path, limits) in numeric_paths() {
        // Every volume has the settings of the first.
        if path.starts_with("storage.") && path.matches('.').count() > 1 {
            continue;
        }
        std::fs::write(&file, study_for(&path)).expect("room");
        let largest = ["1e8s", "9000000TiB", "16000000TiB", "100%", "4294967295", "9223372036854775807", "1e308"];
        for value in largest.iter().map(ToString::to_string).chain(limits) {
            let set = format!("{path}={value}");
            let change = [Override { path: path.clone(), value: value.clone() }];
            if study::read(&study_for(&path), &change, &BuiltIn).0.is_none() {
                continue;
            }
            let arguments = ["surefoot", "plan", file.to_str().expect("a path"), "--set", &set];
            let Ok(Surefoot { command: crate::cli::Command::Plan(args) }) = Surefoot::try_parse_from(arguments) else {
                panic!("{arguments:?}")
            };
            let plan = |args: &PlanArgs| drop(crate::verbs::plan::run(args));
            shown += 1;
            if catch_unwind(AssertUnwindSafe(|| plan(&args))).is_err() {
                panics.push(set);
            }
        }
    }
    assert!(panics.is_empty(), "{panics:#?}");
    assert!(shown > 100, "{shown}");
}

/// Options of the command line that take a value, for the test that gives them numbers (`tests/end_to_end/numbers.rs`): it can't see this list.
#[test]
fn the_test_of_options_knows_all_that_take_a_value() {
    let takes_value = |arg: &&Arg| arg.get_long().is_some() && arg.get_action().takes_values();
    let known = include_str!("../../tests/end_to_end/numbers.rs");
    for verb in Surefoot::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let has_values = verb.get_arguments().any(|arg| takes_value(&&arg.clone()));
        let line = format!("(\"{}\", ", verb.get_name());
        assert!(
            !has_values || known.contains(&line),
            "tests/end_to_end/numbers.rs has no line for `{}`",
            verb.get_name()
        );
    }
}
