//! `maildir`: what it counts, and that a message which is lost, torn or left behind is found.

use crate::desk::{Desk, has_its_metrics, is_disk_full, on_small_tmpfs, with};
use load::workload::Error;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use workloads::maildir::KIND;

fn small(more: Value) -> Value {
    with(json!({"mailboxes": 6, "messages": 5, "message_size": "2KiB", "threads": 4, "time": "200ms"}), &more)
}

/// The files of all mailboxes.
fn messages(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    entries(folder).iter().flat_map(|mailbox| entries(mailbox)).flat_map(|part| entries(&part)).collect()
}

#[test]
fn what_is_delivered_is_read_and_as_much_is_removed() {
    for fsync in ["none", "message", "message-and-folder"] {
        let (desk, written) = (Desk::new(), small(json!({"fsync": fsync, "reads": 3})));
        let outcome = desk.trial(&KIND, &written).unwrap();
        has_its_metrics(&KIND, &written, &outcome);
        let [delivered, read, removed] = ["deliver", "read", "remove"].map(|name| outcome.latencies[name].count());
        assert_eq!((read, removed), (3 * delivered, delivered));
        assert_eq!(outcome.commits, if fsync == "none" { 0 } else { delivered });
        assert!(outcome.bytes_written >= 512 * delivered);
        let left = messages(desk.data.path());
        assert_eq!(left.len(), 6 * 5);
        assert!(left.iter().any(|path| path.to_str().unwrap().ends_with(":2,S")), "who was read has moved: {left:?}");
    }
}

#[test]
fn a_message_that_is_not_as_it_was_delivered_is_wrong_data() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 5] = [
        ("a byte", |path| {
            let mut content = std::fs::read(path).unwrap();
            *content.last_mut().unwrap() ^= 1;
            std::fs::write(path, content).unwrap();
        }),
        ("zeros", |path| std::fs::write(path, vec![0; std::fs::read(path).unwrap().len()]).unwrap()),
        ("empty", |path| std::fs::write(path, "").unwrap()),
        ("another's", |path| {
            let mailboxes = path.ancestors().nth(3).unwrap();
            let other = messages(mailboxes).into_iter().find(|other| other != path).unwrap();
            std::fs::copy(other, path).unwrap();
        }),
        ("left behind", |path| std::fs::write(path.with_file_name("1"), "not delivered").unwrap()),
    ];
    for (name, harm) in harms {
        let desk = Desk::new();
        let mut workload = desk.prepared(&KIND, &small(json!({})));
        desk.run(&mut *workload).unwrap();
        harm(&messages(desk.data.path())[7]);
        let error = desk.act(|context| workload.verify(context)).unwrap_err();
        assert!(matches!(error, Error::WrongData { .. }), "{name}: {error}");
    }
}

#[test]
fn a_message_that_is_gone_ends_the_run() {
    let desk = Desk::new();
    let mut workload = desk.prepared(&KIND, &small(json!({})));
    messages(desk.data.path()).iter().for_each(|message| std::fs::remove_file(message).unwrap());
    let error = desk.run(&mut *workload).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}

#[test]
fn a_full_disk_is_said() {
    on_small_tmpfs(1 << 20, |desk| {
        let error = desk.trial(&KIND, &small(json!({"messages": 1000}))).unwrap_err();
        assert!(is_disk_full(&error), "{error}");
    });
}
