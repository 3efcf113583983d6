//! `block-io`: both engines, what they write, and what they see.

use crate::desk::{Desk, has_its_metrics, is_disk_full, on_small_tmpfs, open, with};
use load::workload::Error;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use workloads::block_io::KIND;

fn small(more: Value) -> Value {
    with(json!({"size": "1MiB", "time": "50ms"}), &more)
}

#[test]
fn both_engines_write_and_read_back_every_pattern() {
    for pattern in ["randwrite", "write", "randread", "read"] {
        for engine in [json!({}), json!({"engine": "io_uring", "depth": 1}), json!({"engine": "io_uring", "depth": 32})]
        {
            for direct in [false, true] {
                let written = with(small(json!({"pattern": pattern, "direct": direct})), &engine);
                let outcome = Desk::new().trial(&KIND, &written).unwrap_or_else(|error| panic!("{written}: {error}"));
                has_its_metrics(&KIND, &written, &outcome);
                let name = if pattern.ends_with("write") { "write" } else { "read" };
                assert!(outcome.latencies[name].count() > 0, "{written}");
                // What a turn is charged with.
                assert_eq!(outcome.flush_seconds > 0.0, name == "write", "{written}");
            }
        }
    }
}

/// The serial of each block's last write.
fn serials(desk: &Desk) -> Vec<u64> {
    let bytes = std::fs::read(desk.data.path().join("block-io.data")).unwrap();
    bytes.chunks(4096).map(|block| u64::from_le_bytes(block[8..16].try_into().unwrap())).collect()
}

#[test]
fn a_sequence_goes_on_in_the_next_run_where_the_last_one_ended() {
    const BLOCKS: usize = (16 << 20) / 4096;
    for engine in [json!({}), json!({"engine": "io_uring", "depth": 8})] {
        let desk = Desk::new();
        let written = with(json!({"size": "16MiB", "pattern": "write", "time": "10ms"}), &engine);
        let mut workload = desk.prepared(&KIND, &written);
        let mut expected = vec![1; BLOCKS];
        // Write after write, block after block; the file has serial 1 at first.
        let mut writes = 0;
        for _ in 0..3 {
            let ios = desk.act(|context| workload.run(context)).unwrap().latencies["write"].count();
            for write in writes..writes + ios {
                expected[write as usize % BLOCKS] = write + 2;
            }
            writes += ios;
            assert!(serials(&desk) == expected, "{written}, after {writes}");
        }
    }
}

#[test]
fn a_file_that_is_allocated_anew_is_written_from_its_start() {
    let desk = Desk::new();
    let written = json!({"size": "64MiB", "pattern": "write", "time": "10ms", "file": "allocated", "fdatasync_ios": 1});
    let mut workload = desk.prepared(&KIND, &written);
    for _ in 0..2 {
        desk.act(|context| workload.ready(context)).unwrap();
        assert!(serials(&desk).iter().all(|serial| *serial == 0), "it is made before the run is watched");
        let ios = desk.act(|context| workload.run(context)).unwrap().latencies["write"].count() as usize;
        let found = serials(&desk);
        assert!(found[..ios].iter().all(|serial| *serial > 0) && found[ios..].iter().all(|serial| *serial == 0));
    }
    desk.act(|context| workload.verify(context)).unwrap();
}

#[test]
fn flushes_come_after_so_many_writes() {
    for engine in [json!({"fdatasync_ios": 4}), json!({"engine": "io_uring", "depth": 8, "fdatasync_ios": 4})] {
        let outcome = Desk::new().trial(&KIND, &small(engine)).unwrap();
        let writes = outcome.latencies["write"].count();
        assert!(
            outcome.commits == writes / 4 || outcome.commits + 1 == writes.div_ceil(4),
            "{} {writes}",
            outcome.commits
        );
        assert_eq!(outcome.latencies["fdatasync"].count(), outcome.commits);
    }
}

#[test]
fn a_flipped_byte_is_wrong_data_for_readers_and_at_the_end() {
    for pattern in ["randread", "read", "randwrite"] {
        for engine in [json!({"pattern": pattern}), json!({"pattern": pattern, "engine": "io_uring", "depth": 4})] {
            let desk = Desk::new();
            let mut written = small(engine);
            written["size"] = json!("32KiB");
            let mut workload = desk.prepared(&KIND, &written);
            let file = OpenOptions::new().write(true).open(desk.data.path().join("block-io.data")).unwrap();
            if pattern == "randwrite" {
                desk.act(|context| workload.run(context)).unwrap();
            }
            file.write_all_at(b"?", 4096 * 3 + 77).unwrap();
            let error = if pattern == "randwrite" {
                desk.act(|context| workload.verify(context)).unwrap_err()
            } else {
                // On a busy machine the time of a run may be enough for a block or two.
                let run = |_| desk.act(|context| workload.run(context)).err();
                (0..200).find_map(run).expect("it is read")
            };
            assert!(error.to_string().contains("block 3 of "), "{written}: {error}");
        }
    }
}

#[test]
fn a_write_that_went_back_in_time_is_wrong_data() {
    let desk = Desk::new();
    let mut workload = desk.prepared(&KIND, &small(json!({"size": "16KiB"})));
    let path = desk.data.path().join("block-io.data");
    let before = std::fs::read(&path).unwrap();
    desk.act(|context| workload.run(context)).unwrap();
    // Each block is intact and at its place, but from before the run.
    std::fs::write(&path, before).unwrap();
    let error = desk.act(|context| workload.verify(context)).unwrap_err();
    assert!(error.to_string().ends_with("found write 1"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_of_the_file() {
    on_small_tmpfs(1 << 20, |desk| {
        let mut workload = open(&KIND, &json!({"size": "2MiB"})).unwrap();
        assert!(is_disk_full(&desk.act(|context| workload.prepare(context)).unwrap_err()));
    });
}

#[test]
fn an_interruption_ends_it() {
    for engine in [json!({"time": "1h"}), json!({"time": "1h", "engine": "io_uring", "depth": 4})] {
        let desk = Desk::new();
        let mut workload = desk.prepared(&KIND, &small(engine));
        desk.interrupted.store(true, Ordering::Relaxed);
        assert!(matches!(desk.act(|context| workload.run(context)), Err(Error::Interrupted)));
    }
}
