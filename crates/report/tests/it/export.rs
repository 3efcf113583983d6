//! The answer for machines, held against its schema whenever a test asks for it: each field must be known there.

use crate::schema::{self, Schema};
use report::input::Input;
use serde_json::{Value, json};
use std::sync::LazyLock;

static ANALYSIS: LazyLock<Schema> = LazyLock::new(|| schema::read(report::JSON_SCHEMA, Some("analysis")));

/// The analysis as `report --json` has it.
#[track_caller]
pub fn json(input: &Input) -> Value {
    let answer = report::answer_json(input);
    if let Err(error) = ANALYSIS.judge(&answer) {
        panic!("{error}\n{answer:#}");
    }
    answer
}

#[test]
fn a_field_that_the_schema_does_not_know_is_an_error() {
    let mut answer = json(&crate::fixture::input(&crate::fixture::filesystems_and_buffers()));
    answer["workloads"][0]["claims"][0]["verdict"] = json!("maybe");
    assert!(ANALYSIS.judge(&answer).is_err(), "a verdict that there is not");
    answer["workloads"][0]["claims"][0]["verdict"] = json!("faster");
    assert_eq!(ANALYSIS.judge(&answer), Ok(()));
    answer["workloads"][0]["claims"][0]["new"] = json!(1);
    assert!(ANALYSIS.judge(&answer).is_err(), "a new field");
}
