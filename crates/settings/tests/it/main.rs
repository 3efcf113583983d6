//! Quantities and settings: known values and properties.

use proptest::prelude::*;
use serde_json::{Value, json};
use settings::quantity::{format_bytes, format_seconds, parse_bytes, parse_percent, parse_seconds};
use settings::{Kind, Setting, check_all, nearest_name};

const SETTINGS: &[Setting] = &[
    Setting { name: "size", kind: Kind::Bytes { min: 4096, max: u64::MAX }, default: Some("1GiB"), help: "" },
    Setting { name: "threads", kind: Kind::Integer { min: 1, max: 64 }, default: Some("1"), help: "" },
    Setting { name: "mode", kind: Kind::Choice(&["wal", "delete"]), default: Some("wal"), help: "" },
    Setting { name: "path", kind: Kind::Text, default: None, help: "" },
];

#[test]
fn quantities_have_units() {
    assert_eq!(parse_bytes("4GiB"), Some(4 << 30));
    assert_eq!(parse_bytes("1.5 KiB"), Some(1536));
    assert_eq!(parse_bytes("1_000 kB"), Some(1_000_000));
    assert_eq!([parse_bytes("4"), parse_bytes("4 gib"), parse_bytes("-4GiB"), parse_bytes("0.3B")], [None; 4]);
    assert_eq!([parse_seconds("2min"), parse_seconds("250ms"), parse_seconds("1h")], [Some(120.0), Some(0.25), Some(3600.0)]);
    assert_eq!([parse_seconds("5"), parse_seconds("5 years"), parse_seconds("s")], [None; 3]);
    assert_eq!([parse_percent("2.5%"), parse_percent("2")], [Some(0.025), None]);
}

#[test]
fn times_are_said_as_people_say_them() {
    let said = [0.25, 3.0, 42.4, 60.0, 250.0, 7500.0].map(format_seconds);
    assert_eq!(said, ["250ms", "3.0s", "42s", "1min", "4min 10s", "2h 5min"]);
}

#[test]
fn a_table_is_checked_at_once_and_filled_up() {
    let written = json!({ "size": "8KiB", "threads": 0, "mode": "wall", "pat": 1 });
    let problems = check_all(SETTINGS, written.as_object().expect("a table")).expect_err("three are wrong");
    let told: Vec<(String, Option<String>)> = problems.into_iter().map(|(name, wrong)| (name, wrong.nearest)).collect();
    let expected = [("threads", None), ("mode", Some("wal")), ("pat", Some("path"))];
    assert_eq!(told, expected.map(|(name, nearest)| (name.to_string(), nearest.map(str::to_string))));
    let checked = check_all(SETTINGS, json!({ "size": "8KiB" }).as_object().expect("a table")).expect("right");
    assert_eq!(Value::Object(checked), json!({ "size": 8192, "threads": 1, "mode": "wal", "path": null }));
}

#[test]
fn the_nearest_name_is_near() {
    assert_eq!(nearest_name("filesytem", ["device", "filesystem"].into_iter()), Some("filesystem"));
    assert_eq!(nearest_name("zzz", ["device", "filesystem"].into_iter()), None);
}

proptest! {
    #[test]
    fn no_text_makes_them_panic(text in ".{0,40}") {
        let _ = (parse_bytes(&text), parse_seconds(&text), parse_percent(&text));
    }

    #[test]
    fn what_is_formatted_parses_again(bytes in 0_u64..1 << 50) {
        let again = parse_bytes(&format_bytes(bytes));
        // One decimal is kept: within a twentieth of the unit.
        prop_assert!(again.is_none_or(|again| again.abs_diff(bytes) as f64 <= 0.051 * bytes as f64 + 1.0));
    }

    #[test]
    fn values_of_any_kind_are_refused_or_taken(text in ".{0,20}", number in any::<i64>()) {
        for setting in SETTINGS {
            for value in [json!(text), json!(number), json!([text]), json!({}), json!(null)] {
                let _ = setting.check(&value);
            }
        }
    }
}
