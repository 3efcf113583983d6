//! Quantities and settings: known values and properties.

use proptest::prelude::*;
use serde_json::{Value, json};
use settings::quantity::{
    byte_units, format_bytes, format_percent, format_seconds, parse_bytes, parse_percent, parse_seconds, second_units,
};
use settings::{Kind, Setting, check_all, nearest_name};

const SETTINGS: &[Setting] = &[
    Setting { name: "size", kind: Kind::Bytes { min: 4096, max: u64::MAX }, default: Some("1GiB"), help: "" },
    Setting { name: "threads", kind: Kind::Integer { min: 1, max: 64 }, default: Some("1"), help: "" },
    Setting { name: "mode", kind: Kind::Choice(&["wal", "delete"]), default: Some("wal"), help: "" },
    Setting { name: "path", kind: Kind::Text, default: None, help: "" },
];

/// One setting of each kind: (setting, values it takes, values it refuses).
fn every_kind() -> Vec<(Kind, Value, Value)> {
    vec![
        (
            Kind::Bytes { min: 1024, max: 4096 },
            json!(["1KiB", "4 KiB", "0.004MB"]),
            json!(["1023B", "5KiB", "1024", 1024, "0.3B", ""]),
        ),
        (
            Kind::Seconds { min: 0.5, max: 60.0 },
            json!(["500ms", "1min", "0.5s"]),
            json!(["1us", "2min", "1", 1, "1 month"]),
        ),
        (Kind::Percent { min: 0.0, max: 0.95 }, json!(["0%", "95%", "2.5 %"]), json!(["96%", "0.5", 0.5, "-1%"])),
        (Kind::Integer { min: -1, max: 3 }, json!([-1, 0, 3]), json!([-2, 4, 1.0, "1", true])),
        (Kind::Number { min: 0.0, max: 1.0 }, json!([0, 0.5, 1]), json!([-0.1, 1.1, "0.5"])),
        (Kind::Choice(&["a", "b"]), json!(["a", "b"]), json!(["A", "c", 1, ["a"]])),
        (Kind::Boolean, json!([true, false]), json!(["true", 1, null])),
        (Kind::Text, json!(["", "x"]), json!([1, null, []])),
        (Kind::IntegerList, json!([[], [0, 7]]), json!([[-1], ["0"], 0, [0.5]])),
        (Kind::TextList, json!([[], ["a"]]), json!([[1], "a", [["a"]]])),
        (Kind::Table, json!([{}, { "a": "x", "b": 1, "c": true }]), json!([{ "a": [] }, [], "a", { "a": {} }])),
    ]
}

#[test]
fn quantities_have_units() {
    assert_eq!(parse_bytes("4GiB"), Some(4 << 30));
    assert_eq!(parse_bytes("1.5 KiB"), Some(1536));
    assert_eq!(parse_bytes("1_000 kB"), Some(1_000_000));
    // 1.07e9 is no whole number in floating point.
    assert_eq!([parse_bytes("1.07GB"), parse_bytes("0.27TB")], [Some(1_070_000_000), Some(270_000_000_000)]);
    assert_eq!(parse_bytes("1.1GiB"), None);
    assert_eq!([parse_bytes("4"), parse_bytes("4 gib"), parse_bytes("-4GiB"), parse_bytes("0.3B")], [None; 4]);
    assert_eq!(
        [parse_seconds("2min"), parse_seconds("250ms"), parse_seconds("1h")],
        [Some(120.0), Some(0.25), Some(3600.0)]
    );
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

#[test]
fn every_kind_takes_and_refuses() {
    for (kind, taken, refused) in every_kind() {
        let setting = Setting { name: "x", kind, default: None, help: "" };
        for value in taken.as_array().expect("a list") {
            assert!(setting.check(value).is_ok(), "{kind:?} takes {value}");
        }
        for value in refused.as_array().expect("a list") {
            let wrong = setting.check(value).expect_err(&format!("{kind:?} refuses {value}"));
            assert_eq!(wrong.expected, kind.allowed());
            assert!(!wrong.found.is_empty());
        }
    }
}

#[test]
fn what_is_allowed_is_said_in_words() {
    let said: Vec<String> = every_kind().iter().map(|(kind, ..)| kind.allowed()).collect();
    let expected = [
        "a size from 1KiB to 4KiB, like \"4GiB\"",
        "a time from 500ms to 1min, in us, ms, s, min or h, like \"30s\" or \"1h 30min\"",
        "a share from 0% to 95%, like \"95%\"",
        "a whole number from -1 to 3",
        "a number from 0 to 1",
        "one of a, b",
        "true or false",
        "a text in quotes",
        "a list of whole numbers, like [0, 1]",
        "a list of texts, like [\"-O\", \"^has_journal\"]",
        "a table of names and values",
    ];
    assert_eq!(said, expected);
}

#[test]
fn defaults_are_written_as_their_kind_is() {
    let default = |kind, text| Setting { name: "x", kind, default: Some(text), help: "" }.default_written();
    assert_eq!(default(Kind::Choice(&["1.0"]), "1.0"), Some(json!("1.0")));
    assert_eq!(default(Kind::Integer { min: 0, max: 9 }, "6"), Some(json!(6)));
    assert_eq!(default(Kind::TextList, "[]"), Some(json!([])));
    assert_eq!(Setting { name: "x", kind: Kind::Text, default: None, help: "" }.default_written(), None);
}

proptest! {
    #[test]
    fn every_unit_counts(number in 0_u32..1_000_000) {
        for unit in byte_units() {
            let one = parse_bytes(&format!("1{unit}")).expect("a unit");
            prop_assert_eq!(parse_bytes(&format!("{number} {unit}")), Some(u64::from(number) * one));
        }
        for unit in second_units() {
            let one = parse_seconds(&format!("1{unit}")).expect("a unit");
            prop_assert_eq!(parse_seconds(&format!("{number}{unit}")), Some(f64::from(number) * one));
        }
        let percent = f64::from(number) / 10_000.0;
        let again = parse_percent(&format_percent(percent)).expect("a percentage");
        prop_assert!((again - percent).abs() <= 1e-12 * percent, "{} became {}", percent, again);
    }

    #[test]
    fn seconds_survive_being_said(seconds in prop_oneof![0.0_f64..60.0, 0.0_f64..1e6]) {
        let again = parse_seconds(&format_seconds(seconds)).expect("what is printed is read");
        // From an hour on whole minutes are said.
        let precision = if again < 3600.0 { 0.5 } else { 60.0 };
        prop_assert!((again - seconds).abs() <= precision, "{} became {}", seconds, again);
    }

    #[test]
    fn one_slip_is_found(place in 0_usize..10, letter in proptest::char::range('a', 'z')) {
        let names = ["device", "filesystem", "threads", "journal"];
        let slips = |name: &str| {
            let mut slip: Vec<char> = name.chars().collect();
            let place = place.min(slip.len() - 1);
            slip[place] = letter;
            slip.into_iter().collect::<String>()
        };
        for name in names {
            prop_assert_eq!(nearest_name(&slips(name), names.into_iter()), Some(name));
        }
    }

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
        let kinds = every_kind().into_iter().map(|(kind, ..)| Setting { name: "x", kind, default: None, help: "" });
        for setting in kinds {
            for value in [json!(text), json!(number), json!([text]), json!({}), json!(null)] {
                let _ = setting.check(&value);
            }
        }
    }
}
