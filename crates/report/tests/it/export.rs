//! The answer for machines, held against its schema whenever a test asks for it: each field must be known there.

use crate::schema::{self, Schema};
use ledger::model::{MeasuredFaults, MeasuredSafety, Probe, StudyRecord};
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

#[test]
fn what_a_fleets_members_measured_says_whose_it_is() {
    let judge = |definition: &str, value: Value| schema::read(report::JSON_SCHEMA, Some(definition)).judge(&value);
    let (scenario, asked, member) = (String::from("ext4"), Value::Null, Some(2));
    let probe = Probe { scenarios: vec![scenario.clone()], figures: [].into(), failure: None, member };
    assert_eq!(judge("probe", json!(probe)), Ok(()));
    let (label, question) = (scenario.clone(), asked.clone());
    let safety = MeasuredSafety { scenario: label, ended: 1.0, asked: question, safety: None, failure: None, member };
    assert_eq!(judge("ledger/properties/safety", json!([safety])), Ok(()));
    let faults = MeasuredFaults { scenario, ended: 1.0, asked, faults: None, failure: None, member };
    assert_eq!(judge("ledger/properties/faults", json!([faults])), Ok(()));
    let contents = crate::fixture::contents(&crate::fixture::filesystems_and_buffers());
    let merged = StudyRecord { asked_at: Some(1.0), ..contents.study };
    assert_eq!(judge("study", json!(merged)), Ok(()));
}
