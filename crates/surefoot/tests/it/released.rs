//! Results files of released versions: each later one reads them and gives the same answer (docs/stability.md).

use crate::harness::World;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released")
}

/// Names of versions, and what was recorded of each.
fn released() -> Vec<(String, Value)> {
    let files = folder().read_dir().expect("the folder").map(|entry| entry.expect("an entry").path());
    let results = files.filter(|path| path.extension().is_some_and(|extension| extension == "surefoot"));
    let mut all: Vec<(String, Value)> = results
        .map(|path| {
            let json = std::fs::read_to_string(path.with_extension("json")).expect("its JSON is beside it");
            let version = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (version, serde_json::from_str(&json).expect("JSON"))
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Where `found` lacks what was `recorded`, or has something else there. New fields are no difference, and a sentence may be said otherwise.
fn differences(place: &str, recorded: &Value, found: &Value, all: &mut Vec<String>) {
    match (recorded, found) {
        (Value::Object(fields), Value::Object(_)) => {
            fields.iter().for_each(|(name, value)| differences(&format!("{place}.{name}"), value, &found[name], all));
        }
        (Value::Array(entries), Value::Array(others)) => {
            let are_words =
                entries.iter().chain(others).all(|entry| entry.as_str().is_some_and(|text| text.contains(' ')));
            if !are_words && entries.len() != others.len() {
                all.push(format!("{place}: {} entries were {}", others.len(), entries.len()));
            }
            for (i, (entry, other)) in entries.iter().zip(others).enumerate() {
                differences(&format!("{place}[{i}]"), entry, other, all);
            }
        }
        (Value::String(text), Value::String(_)) if text.contains(' ') => {}
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            if (a - b).abs() > a.abs() * 1e-9 {
                all.push(format!("{place}: {b} was {a}"));
            }
        }
        _ if recorded == found => {}
        _ => all.push(format!("{place}: {found} was {recorded}")),
    }
}

#[test]
fn each_released_version_s_results_give_the_same_answer() {
    let world = World::new();
    let released = released();
    let schema = crate::schema::read(&world.surefoot(&["schema", "report"]).status(0).stdout, None);
    for (version, recorded) in &released {
        let name = format!("{version}.surefoot");
        let bytes = std::fs::read(folder().join(&name)).expect("readable");
        world.write(&name, &bytes);
        let json = world.surefoot(&["report", &name, "--json"]).status(0).json();
        let mut found = Vec::new();
        differences(version, recorded, &json, &mut found);
        assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
        assert_eq!(schema.judge(&json), Ok(()), "{version}");
        world.surefoot(&["status", &name, "--verify"]).status(0).says("finished");
        for output in [&["--full"][..], &["--markdown"], &["--html", "page.html"], &["--format", "bencher"]] {
            world.surefoot(&[&["report", &name], output].concat()).status(0);
        }
        let csv = world.surefoot(&["report", &name, "--csv", "-"]).status(0).stdout;
        assert!(csv.starts_with("scenario,workload,round,position,trial,state,run,warm_up,"), "{csv}");
        let both = world.surefoot(&["compare", &name, &name, "--json"]).status(0).json();
        assert!(both.to_string().contains("transactions_per_second"), "{both}");
        assert_eq!(std::fs::read(world.path().join(&name)).expect("readable"), bytes, "reading changes nothing");
    }
    world.surefoot(&["history", "."]).status(0).says("released");
    let this = env!("CARGO_PKG_VERSION");
    assert!(released.iter().any(|(version, _)| version == this), "no results of {this}: `make record-release`");
}

#[test]
fn a_difference_is_found() {
    let of = |recorded: &str, found: &str| {
        let [recorded, found] = [recorded, found].map(|text| serde_json::from_str(text).expect("JSON"));
        let mut all = Vec::new();
        differences("", &recorded, &found, &mut all);
        all.len()
    };
    let was = r#"{"a": [1.5, {"b": "xfs"}], "said": "two words"}"#;
    assert_eq!(of(was, r#"{"a": [1.5, {"b": "xfs", "new": 1}], "said": "other words", "more": null}"#), 0);
    assert_eq!(of(was, r#"{"a": [1.6, {"b": "ext4"}]}"#), 3);
    assert_eq!(of(was, r#"{"a": [1.5], "said": "two words"}"#), 1);
}
