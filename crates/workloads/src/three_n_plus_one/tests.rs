//! Exact values (one worker gives these exactly), interruption, kill, and what damaged stores say.

use super::*;
use crate::workload_tests::{figure, with_context};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

fn parameters(changes: Value) -> Parameters {
    settings::typed(&settings::check_all(SETTINGS, changes.as_object().expect("a table")).expect("right"))
}

fn stored(context: &Context, parameters: &Parameters) -> Totals {
    parameters.store(&Place::of(context)).expect("it opens").totals().expect("totals")
}

fn workload(parameters: &Parameters) -> ThreeNPlusOne {
    ThreeNPlusOne { parameters: parameters.clone(), is_resumed: false }
}

/// A run, made ready.
fn run(workload: &mut ThreeNPlusOne, context: &mut Context) -> Result<Outcome, Error> {
    workload.ready(context)?;
    workload.run(context)
}

#[track_caller]
fn check_values(runs: u32, changes: Value, longest: u64, highest: u64, updates: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    with_context(folder.path(), |context| {
        let parameters = parameters(changes);
        let mut workload = workload(&parameters);
        // Each starts from an empty store again.
        (1..runs).for_each(|_| drop(run(&mut workload, context).expect("it runs")));
        let outcome = run(&mut workload, context).expect("it runs");
        let found = stored(context, &parameters);
        assert_eq!(found, Totals { longest, highest, updates, reads: updates + parameters.range() });
        assert_eq!(outcome.metrics[0].metric.name, "reads_per_second");
        workload.verify(context).expect("it is whole");
    });
}

#[test]
fn ten_and_a_thousand_on_both_engines_in_both_spellings() {
    for engine in ["lmdb", "sqlite"] {
        for words in [false, true] {
            check_values(2, json!({ "engine": engine, "to": 10, "words": words }), 19, 52, 21);
            check_values(2, json!({ "engine": engine, "to": 1000, "words": words }), 178, 250_504, 2_227);
        }
    }
}

#[test]
fn a_hundred_thousand() {
    check_values(1, json!({ "engine": "lmdb", "to": 100_000 }), 350, 1_570_824_736, 217_211);
}

#[test]
fn blocks_cover_the_range_once() {
    for (to, streams, block) in [(10, 3, 0), (1000, 7, 13), (5, 8, 0), (100, 4, 1000)] {
        let blocks = parameters(json!({ "to": to, "streams": streams, "block": block })).blocks();
        let numbers: Vec<u64> = blocks.iter().flat_map(|(first, last)| *first..=*last).collect();
        assert_eq!(numbers, (1..=to).collect::<Vec<u64>>());
    }
}

#[test]
fn a_killed_run_goes_on_from_what_is_in_the_store() {
    for engine in ["lmdb", "sqlite"] {
        let folder = tempfile::tempdir().expect("a folder");
        let parameters = parameters(json!({ "engine": engine, "to": 20_000, "block": 1000 }));
        with_context(folder.path(), |context| {
            workload(&parameters).ready(context).expect("a store");
            // SAFETY: the child only works on its own handles and is killed.
            match unsafe { nix::unistd::fork() }.expect("a process") {
                nix::unistd::ForkResult::Child => {
                    let _ = workload(&parameters).run(context);
                    // SAFETY: ends the child without running the test harness's own exit.
                    unsafe { libc::_exit(0) }
                }
                nix::unistd::ForkResult::Parent { child } => {
                    std::thread::sleep(std::time::Duration::from_millis(60));
                    let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
                    nix::sys::wait::waitpid(child, None).expect("it ended");
                    let mut workload = workload(&parameters);
                    run(&mut workload, context).expect("it goes on");
                    let found = stored(context, &parameters);
                    // 20,000: longest 278 (at 17,647), highest 27,114,424, by plain computation.
                    let longest = (1..=20_000).map(worker::steps_of).max();
                    assert_eq!(Some(found.longest), longest, "{engine}");
                    assert_eq!(found.highest, 27_114_424, "{engine}");
                    workload.verify(context).expect("it is whole");
                }
            }
        });
    }
}

/// Its removal, and what a server does for it, were the next run's: in what its device and its processors did.
#[test]
fn the_store_of_the_run_before_is_gone_before_the_next_one_is_watched() {
    let folder = tempfile::tempdir().expect("a folder");
    with_context(folder.path(), |context| {
        for engine in ["lmdb", "sqlite"] {
            let parameters = parameters(json!({ "engine": engine, "to": 100 }));
            let mut workload = workload(&parameters);
            run(&mut workload, context).expect("it runs");
            workload.ready(context).expect("it is made ready");
            assert_eq!(stored(context, &parameters), Totals::default(), "{engine}");
        }
    });
}

#[test]
fn an_interrupted_run_is_resumed_with_exact_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = parameters(json!({ "to": 1000, "block": 100 }));
    let mut workload = workload(&parameters);
    let stopped = with_context(folder.path(), |context| {
        static INTERRUPTED: AtomicBool = AtomicBool::new(true);
        context.interrupted = &INTERRUPTED;
        run(&mut workload, context)
    });
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let outcome = with_context(folder.path(), |context| run(&mut workload, context)).expect("it goes on");
    assert_eq!(["updates", "reads"].map(|name| figure(&outcome, name)), [2227.0, 3227.0]);
}

#[test]
fn a_wrong_number_in_the_store_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    with_context(folder.path(), |context| {
        let mut workload = workload(&parameters(json!({ "engine": "sqlite", "to": 100 })));
        run(&mut workload, context).expect("it runs");
        let file =
            rusqlite::Connection::open(super::folder(&Place::of(context)).join("steps.sqlite")).expect("the file");
        file.execute_batch("UPDATE step SET steps = '7' WHERE n = '27'").expect("it is writable");
        let error = workload.verify(context).expect_err("27 takes 111 steps");
        assert!(error.to_string().contains("steps of 27"), "{error}");
    });
}

#[test]
fn the_result_line_has_the_fields_of_the_original() {
    let totals = Totals { longest: 350, highest: 1_570_824_736, reads: 317_211, updates: 217_211 };
    let line = result_line(&parameters(json!({ "to": 100_000, "streams": 8 })), &totals, 2.0);
    assert_eq!(line, "1 100,000 8 (0->12,500) 350 1,570,824,736 2.00 217,211 317,211 108,605 158,605");
}
