//! The acceptance table of power cuts (`benches/powercut.rs`): what it takes for a match, and whose word each row stands on.

#[path = "../../benches/powercut/expected.rs"]
mod expected;
#[path = "../../benches/powercut/rows.rs"]
mod rows;

use expected::Expected;
use rows::{ROWS, Row};
use serde_json::{Value, json};

fn measured(changes: &Value) -> Value {
    let mut safety = json!({
        "grade": "C", "images": 40, "acknowledged": 90, "unmountable": 0, "damaged": 0, "silent": 0,
        "worst_lost_commits": 5, "worst_lost_seconds": 0.4, "findings": [],
    });
    let changes = changes.as_object().expect("a table");
    safety.as_object_mut().expect("a table").extend(changes.clone());
    safety
}

/// GT.M without a journal was once "loss, as expected" with 238 of 254 images damaged.
#[test]
fn what_is_lost_and_damaged_is_more_than_a_loss() {
    assert!(Expected::Loses.holds(&measured(&json!({}))));
    for kind in ["unmountable", "damaged", "silent"] {
        let damaged = measured(&json!({ kind: 3, "grade": "E" }));
        assert!(!Expected::Loses.holds(&damaged) && Expected::Damage.holds(&damaged), "{kind}");
        assert!(!Expected::Recent(3.0).holds(&damaged) && !Expected::NoDamage.holds(&damaged), "{kind}");
    }
    assert!(!Expected::Loses.holds(&measured(&json!({ "worst_lost_commits": 0 }))));
    assert!(!Expected::Loses.holds(&measured(&json!({ "images": 0 }))), "nothing was looked at");
    assert!(!Expected::Nothing.holds(&Value::Null));
}

/// What surefoot itself saw before is no expectation.
#[test]
fn every_row_says_whose_word_it_is_or_stands_in_the_second_table() {
    let whose =
        ["PostgreSQL", "SQLite", "MariaDB", "GT.M", "Linux", "btrfs(5)", "fsync(2)", "mount(8)", "Pillai", "Redis"];
    for row in ROWS.iter().filter(|row| !row.who.is_empty()) {
        assert!(whose.iter().any(|name| row.who.starts_with(name)), "{}: {}", row.name, row.who);
        assert!(row.who.contains(", ") || row.who.contains(": "), "which part of it: {}", row.who);
        assert!(!row.who.contains("surefoot") && !row.who.contains("docs/"), "{}", row.who);
    }
    let is_damage = |row: &&Row| matches!(row.expected, Expected::Damage) && !row.who.is_empty();
    for name in ["PostgreSQL, fsync = off", "SQLite wal/off", "SQLite delete/off", "GT.M, no journal"] {
        assert!(ROWS.iter().filter(is_damage).any(|row| row.name == name && row.filesystem == "ext4"), "{name}");
    }
    let first_of_nobody = ROWS.iter().position(|row| row.who.is_empty()).expect("there are such");
    assert!(ROWS[first_of_nobody..].iter().all(|row| row.who.is_empty()), "one table after the other");
}

/// As the bench writes them.
#[test]
fn rows_make_studies_that_differ() {
    let studies: std::collections::BTreeSet<String> = ROWS.iter().map(|row| row.study("8s", "")).collect();
    assert_eq!(studies.len(), ROWS.len());
    let without = ROWS[0].study("8s", "write_back = false\n");
    assert!(without.ends_with("write_back = false\n"), "{without}");
    assert!(ROWS.iter().filter(|row| row.engine == "files").all(|row| !row.study("8s", "x").ends_with('x')));
    assert!(ROWS.iter().any(|row| row.is_known_otherwise) && ROWS.iter().all(|row| !row.expected.words().is_empty()));
}
