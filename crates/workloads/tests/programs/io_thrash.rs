//! `io-thrash`: its counts, its order, its faults.

use crate::desk::{Desk, has_its_metrics, is_disk_full, on_small_tmpfs, open, value, with};
use load::workload::Error;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use workloads::io_thrash::KIND;

fn small(more: Value) -> Value {
    with(json!({"ios": 3000, "block_size": "512B"}), &more)
}

#[test]
fn every_update_is_counted_with_one_stream_and_with_many() {
    for streams in [1, 3, 8] {
        let written = small(json!({"streams": streams}));
        let outcome = Desk::new().trial(&KIND, &written).unwrap();
        has_its_metrics(&KIND, &written, &outcome);
        assert_eq!(outcome.latencies["read"].count(), 3000);
        assert_eq!(outcome.latencies["write"].count(), 3000);
        assert_eq!(outcome.bytes_written, 3000 * 512);
        assert_eq!(outcome.commits, 0);
        assert!(value(&outcome, "elapsed_synced_seconds") >= value(&outcome, "elapsed_seconds"));
    }
}

#[test]
fn streams_that_meet_at_a_block_lose_no_update() {
    // Sixteen streams on sixteen blocks meet all the time: the trial's own verification sums the counters.
    for _ in 0..20 {
        Desk::new().trial(&KIND, &json!({"ios": 16, "streams": 16, "journal": "before"})).unwrap();
    }
}

#[test]
fn a_commit_flushes_once_for_its_ios_and_an_epoch_in_its_time() {
    let written = small(json!({"journal": "before", "sync": "commit", "commit_ios": 100, "streams": 2}));
    let outcome = Desk::new().trial(&KIND, &written).unwrap();
    assert_eq!(outcome.commits, 30);
    assert_eq!(outcome.latencies["fsync"].count(), 30);
    assert_eq!(outcome.latencies["journal"].count(), 3000);
    assert_eq!(outcome.bytes_written, 3000 * (512 + 512 + 24));

    let written = small(json!({"journal": "before", "sync": "epoch", "sync_interval": "1ms"}));
    let outcome = Desk::new().trial(&KIND, &written).unwrap();
    assert!(outcome.commits.is_multiple_of(2), "journal, then file: {}", outcome.commits);
}

#[test]
fn what_is_left_of_a_share_is_committed_too() {
    for (streams, commits) in [(1, 8), (7, 14)] {
        // One stream: 7 times 400 and 200 more. Seven: 428 or 429 each.
        let written = small(json!({"sync": "commit", "commit_ios": 400, "streams": streams}));
        assert_eq!(Desk::new().trial(&KIND, &written).unwrap().commits, commits);
    }
}

#[test]
fn a_flipped_byte_in_the_file_or_the_journal_is_wrong_data() {
    for (name, at) in [("io-thrash.data", 300), ("io-thrash.journal", 5), ("io-thrash.journal", 700 * 536 + 100)] {
        let desk = Desk::new();
        let mut workload = desk.prepared(&KIND, &small(json!({"journal": "before"})));
        desk.run(&mut *workload).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(desk.data.path().join(name)).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[!byte[0]], at).unwrap();
        let error = desk.act(|context| workload.verify(context)).unwrap_err();
        assert!(matches!(error, Error::WrongData { .. }), "{name}: {error}");
    }
}

#[test]
fn a_lost_write_is_wrong_data() {
    let desk = Desk::new();
    let mut workload = open(&KIND, &small(json!({}))).unwrap();
    desk.run(&mut *workload).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(desk.data.path().join("io-thrash.data")).unwrap();
    let touched = (0..3000).find(|block| {
        let mut bytes = [0; 512];
        file.read_exact_at(&mut bytes, block * 512).unwrap();
        bytes != [0; 512]
    });
    // Zeros are what a block holds whose only write never came.
    file.write_all_at(&[0; 512], touched.unwrap() * 512).unwrap();
    let error = desk.act(|context| workload.verify(context)).unwrap_err();
    assert!(error.to_string().contains("expected 3000 updates"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_of_the_file() {
    on_small_tmpfs(1 << 20, |desk| {
        // The error that stops a stream is told, not that the others were stopped.
        for more in [json!({}), json!({"streams": 4}), json!({"journal": "before", "streams": 4})] {
            let mut workload = open(&KIND, &with(json!({"ios": 2000}), &more)).unwrap();
            assert!(is_disk_full(&desk.run(&mut *workload).unwrap_err()));
        }
    });
}

#[test]
fn an_interruption_ends_it() {
    let desk = Desk::new();
    desk.interrupted.store(true, Ordering::Relaxed);
    let mut workload = open(&KIND, &small(json!({"streams": 2}))).unwrap();
    assert!(matches!(desk.run(&mut *workload), Err(Error::Interrupted)));
}
