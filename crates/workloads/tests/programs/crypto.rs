//! `crypto`: the program itself.

use crate::desk::{Desk, has_its_metrics, open, parameters, value};
use load::workload::Error;
use serde_json::json;
use std::sync::atomic::Ordering;
use workloads::crypto::KIND;

#[test]
fn this_machines_openssl_yields_every_metric() {
    let desk = Desk::new();
    let written = json!({"algorithms": ["rsa1024", "dsa1024", "ecdsap256", "ed25519", "aes-128-cbc", "sha256"],
                         "block_bytes": [64], "time": "1s"});
    let mut workload = open(&KIND, &written).expect("openssl is installed (package openssl), and has DSA");
    let outcome = desk.act(|context| workload.run(context)).unwrap();
    has_its_metrics(&KIND, &written, &outcome);
    assert!(value(&outcome, "rsa_1024_verify_per_second") > value(&outcome, "rsa_1024_sign_per_second"));
    assert!(outcome.seconds >= 10.0, "a second for each of ten figures");
    assert_eq!(desk.data.path().read_dir().unwrap().count(), 0, "it stores nothing");
}

#[test]
fn of_two_processes_the_rates_are_added_up() {
    let written = json!({"algorithms": ["ed25519", "sha256"], "time": "1s", "processes": 2});
    let mut workload = open(&KIND, &written).unwrap();
    has_its_metrics(&KIND, &written, &Desk::new().act(|context| workload.run(context)).unwrap());
}

#[test]
fn a_refusal_of_the_program_is_shown() {
    let unchecked = parameters(&KIND, &json!({"algorithms": ["sha-nought"], "time": "1s"}));
    let mut workload = (KIND.read)(&unchecked).open().unwrap();
    let error = Desk::new().act(|context| workload.run(context)).unwrap_err();
    let Error::Program { program, log, .. } = error else { panic!("{error}") };
    assert_eq!(program, "openssl speed");
    assert!(log.contains("unknown cipher or digest"), "{log}");
}

#[test]
fn an_interruption_ends_it() {
    let desk = Desk::new();
    desk.interrupted.store(true, Ordering::Relaxed);
    assert!(matches!(desk.trial(&KIND, &json!({"time": "3600s"})), Err(Error::Interrupted)));
}
