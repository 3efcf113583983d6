//! Results files of released versions, and of each version of the schema before them: each later one reads them and gives the same
//! answer (docs/stability.md).

use crate::harness::World;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Fields that may be otherwise in an answer of a version before 0.1.0: `remarks` were split in two, warnings are given of more, of a
/// resource that one side does not use the other side's mean is a geometric one, a trial is held against its own round's residual, and of
/// three trials of a round an outlier stands apart from both others.
const LEFT_OUT: &[&str] =
    &["remarks", "warnings", "went_with", "disturbed_trials", "without_disturbed_trials", "outliers"];

/// Warnings that a released version gave and later ones do not: a drift is said where its slope is shown, not for any six rounds that stray.
const TAKEN_BACK: &[(&str, &str)] = &[("0.1.0", "all scenarios together moved")];

/// What follows from the level of a claim, which is half of what it was before schema version 6: so all answers of a study that is
/// prolonged stay below the whole. These figures may be larger now, and never smaller.
const BY_THE_LEVEL: &[&str] = &["smallest_visible", "ruled_out_beyond", "behind_best_at_most"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Names of the results files of a folder, and the answer that was recorded of each by the version that measured it.
fn recorded(folder: &Path) -> Vec<(String, Value)> {
    let files = folder.read_dir().expect("the folder").map(|entry| entry.expect("an entry").path());
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

fn assert_alike(version: &str, recorded: &Value, found: &Value) {
    let mut all = Vec::new();
    differences(version, recorded, found, &mut all);
    assert!(all.is_empty(), "{} differences:\n{}", all.len(), all.join("\n"));
}

/// Takes fields out of both; of [`BY_THE_LEVEL`], the newer figure must be at least the recorded one.
fn without_what_changed(recorded: &mut Value, found: &mut Value) {
    match (recorded, found) {
        (Value::Object(fields), Value::Object(others)) => {
            fields.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
            for name in BY_THE_LEVEL {
                let (Some(was), Some(is)) = (fields.remove(*name), others.remove(*name)) else { continue };
                assert!(is.as_f64() >= was.as_f64(), "{name}: {is} was {was}");
            }
            for (name, value) in fields {
                others.get_mut(name).into_iter().for_each(|other| without_what_changed(value, other));
            }
        }
        (Value::Array(entries), Value::Array(others)) => {
            entries.iter_mut().zip(others).for_each(|(entry, other)| without_what_changed(entry, other));
        }
        _ => {}
    }
}

/// Every form of report reads the file, which stays as it is; gives its answer.
fn read_in_every_form(world: &World, folder: &Path, name: &str) -> Value {
    let bytes = std::fs::read(folder.join(name)).expect("readable");
    world.write(name, &bytes);
    // As many forms in one report as go beside one another.
    let files = ["--html", "page.html", "--csv", "runs.csv"];
    let json = world.surefoot(&[&["report", name, "--json"][..], &files].concat()).status(0).json();
    world.surefoot(&["status", name, "--verify"]).status(0).says("finished");
    for output in [&["--full"][..], &["--markdown"], &["--format", "bencher"]] {
        world.surefoot(&[&["report", name], output].concat()).status(0);
    }
    assert!(world.path().join("page.html").is_file());
    let csv = std::fs::read_to_string(world.path().join("runs.csv")).expect("it was asked for");
    assert!(csv.starts_with("scenario,workload,round,position,trial,state,run,warm_up,"), "{csv}");
    let both = world.surefoot(&["compare", name, name, "--json"]).status(0).json();
    assert!(both.to_string().contains("transactions_per_second"), "{both}");
    assert_eq!(std::fs::read(world.path().join(name)).expect("readable"), bytes, "reading changes nothing");
    ["page.html", "runs.csv"].iter().for_each(|file| std::fs::remove_file(world.path().join(file)).expect("written"));
    json
}

#[test]
fn each_released_version_s_results_give_the_same_answer() {
    let (world, folder) = (World::new(), folder("released"));
    let released = recorded(&folder);
    let schema = crate::schema::read(&world.surefoot(&["schema", "report"]).status(0).stdout, None);
    for (version, mut recorded) in released.clone() {
        let json = read_in_every_form(&world, &folder, &format!("{version}.surefoot"));
        let taken_back = |warning: &Value| {
            TAKEN_BACK.iter().any(|(of, words)| *of == version && warning["seen"].to_string().contains(words))
        };
        recorded["analysis"]["warnings"].as_array_mut().expect("warnings").retain(|warning| !taken_back(warning));
        assert_alike(&version, &recorded, &json);
        assert_eq!(schema.judge(&json), Ok(()), "{version}");
    }
    world.surefoot(&["history", "."]).status(0).says("released");
    let this = env!("CARGO_PKG_VERSION");
    assert!(released.iter().any(|(version, _)| version == this), "no results of {this}: `make record-release`");
}

/// Versions 2 to 7 of the schema, each measured by the last commit before the next one; no commit with version 1 ran.
#[test]
fn results_of_every_earlier_schema_give_the_same_figures() {
    let (world, folder) = (World::new(), folder("schemas"));
    let schemas = recorded(&folder);
    assert_eq!(schemas.iter().map(|(version, _)| &**version).collect::<Vec<_>>(), ["2", "3", "4", "5", "6", "7"]);
    for (version, mut recorded) in schemas {
        let mut json = read_in_every_form(&world, &folder, &format!("{version}.surefoot"));
        without_what_changed(&mut recorded, &mut json);
        assert_alike(&version, &recorded, &json);
    }
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
