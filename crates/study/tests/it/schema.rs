//! The JSON Schema says what the check says.

use crate::Small;
use serde_json::json;

#[test]
fn tables_are_closed_and_carry_defaults() {
    let schema = study::schema(&Small);
    let properties = &schema["properties"];
    assert_eq!(properties["storage"]["properties"]["filesystem"]["enum"][2], "xfs");
    assert_eq!(properties["storage"]["properties"]["mount"]["default"], json!([]));
    assert_eq!(properties["design"]["properties"]["rounds_min"]["default"], 6);
    assert_eq!(properties["workload"]["properties"]["oltp"]["properties"]["like"]["default"], "1.0");
    assert_eq!(properties["workload"]["properties"]["tree"]["additionalProperties"], false);
    // Names with dots are tables where they have no quotes.
    let settings = &properties["service"]["properties"]["postgres"]["properties"]["settings"];
    assert_eq!(settings["additionalProperties"]["type"], json!(["string", "number", "boolean", "object"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], json!(["name", "workload"]));
}

#[test]
fn factors_are_lists_of_what_their_setting_takes() {
    let factors = &study::schema(&Small)["properties"]["factors"]["properties"];
    assert_eq!(factors["storage.filesystem"]["items"]["enum"], json!(["ext3", "ext4", "xfs"]));
    assert_eq!(factors["workload.tree.files"]["items"]["type"], "integer");
    assert_eq!(factors["cpus.client"]["items"]["items"]["type"], "integer");
    for path in ["memory", "bench", "storage.size", "workload.oltp.threads"] {
        assert!(factors[path].is_object(), "{path}");
    }
    assert!(factors["question"].is_null());
}

#[test]
fn every_key_of_a_study_is_in_it() {
    let schema = study::schema(&Small);
    for key in [
        "name", "question", "memory", "bench", "parity", "factors", "include", "exclude", "baseline", "storage",
        "workload", "design", "cpus",
    ] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
}

#[test]
fn every_default_and_sentence_is_there() {
    fn walk(value: &serde_json::Value, settings: &mut usize) {
        if let Some(kind) = value.get("type").and_then(|kind| kind.as_str())
            && ["string", "integer", "number", "boolean"].contains(&kind)
            && let Some(text) = value.get("description")
        {
            *settings += 1;
            assert!(text.as_str().is_some_and(|text| text.contains("Allowed: ")), "{value}");
        }
        match value {
            serde_json::Value::Object(map) => map.values().for_each(|inner| walk(inner, settings)),
            serde_json::Value::Array(list) => list.iter().for_each(|inner| walk(inner, settings)),
            _ => {}
        }
    }
    let mut settings = 0;
    walk(&study::schema(&Small), &mut settings);
    assert!(settings > 20, "{settings}");
}
