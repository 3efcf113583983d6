//! `replacements` in a temporary folder.

use super::*;
use crate::ack_log::tests::witnessed;
use crate::workload_tests::{with_context, with_loaded};
use serde_json::json;
use std::sync::atomic::AtomicBool;

const METHODS: [&str; 5] = ["rename", "rename-fsync", "rename-fsync-directory", "truncate", "overwrite-fsync"];

fn parameters(folder: &Path, changes: &Value) -> Map<String, Value> {
    let mut table = changes.as_object().expect("a table").clone();
    table.insert("witness".into(), folder.join("witness").to_string_lossy().into());
    table.entry("time").or_insert("150ms".into());
    table.entry("pause").or_insert("2ms".into());
    settings::check_all(SETTINGS, &table).expect("right")
}

#[test]
fn all_that_was_acknowledged_is_found_by_every_method() {
    for (method, connections) in METHODS.into_iter().zip([1, 2, 3, 8, 64]) {
        let folder = tempfile::tempdir().expect("a folder");
        let parameters = parameters(folder.path(), &json!({ "method": method, "connections": connections }));
        with_loaded((KIND.read)(&parameters), folder.path(), |workload, context| {
            let first = workload.run(context).expect("it runs").metrics[1].value;
            let second = workload.run(context).expect("it runs again").metrics[1].value;
            assert_eq!((first + second) as usize, witnessed(folder.path()).len(), "it goes on where it ended");
            workload.verify(context).expect("it is whole");
        });
        let mut expected: BTreeMap<u32, Vec<u64>> = (0..FILES).map(|file| (file, Vec::new())).collect();
        let mut acknowledged_before = [0; FILES as usize];
        for (file, version, tried, acknowledged) in witnessed(folder.path()) {
            let before = std::mem::replace(&mut acknowledged_before[file as usize], acknowledged.expect("replaced"));
            assert!(before < tried && tried < acknowledged_before[file as usize], "one after the other");
            expected.get_mut(&file).expect("one of them").push(version);
        }
        assert!(expected[&0].len() > 1, "{method}");
        assert_eq!(look(&parameters, folder.path()), Look { streams: expected, ..Look::default() }, "{method}");
    }
}

#[test]
fn what_is_altered_by_hand_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = parameters(folder.path(), &json!({}));
    let file = |number: u32| path(folder.path(), number);
    let rule = Rule { seed: 1 };
    let mut workload = (KIND.read)(&parameters).open().expect("it opens");
    with_context(folder.path(), |context| {
        workload.prepare(context).expect("it loads");
        std::fs::write(file(1), rule.content(1, 3)).expect("written");
        let error = workload.verify(context).expect_err("no run has written that");
        assert!(error.to_string().ends_with("file-1: expected version 0, found version 3"), "{error}");
    });
    std::fs::remove_file(file(2)).expect("it was there");
    std::fs::write(file(3), "").expect("written");
    std::fs::write(file(5), "").expect("written");
    std::fs::write(file(6), [&rule.content(6, 1)[..4096], &rule.content(6, 2)[4096..]].concat()).expect("written");
    let found = look(&parameters, folder.path());
    assert_eq!((&*found.streams[&1], found.streams.values().map(Vec::len).sum()), (&[1, 2, 3][..], 3));
    let words = [
        "files that are gone: 1, the first file-2",
        "files of length zero: 2, the first file-3",
        "files that mix versions: 1, the first file-6",
    ];
    assert_eq!((found.wrong, found.damage), (words.map(String::from).to_vec(), None));
    std::fs::create_dir(file(2)).expect("its name is free");
    let damage = look(&parameters, folder.path()).damage.expect("a folder can't be read");
    assert!(damage.starts_with("file-2 can't be read"), "{damage}");
}

#[test]
fn a_replacement_that_failed_is_listed_without_an_acknowledgement() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = parameters(folder.path(), &json!({ "method": "overwrite-fsync", "time": "1h" }));
    with_loaded((KIND.read)(&parameters), folder.path(), |workload, context| {
        std::fs::remove_file(path(folder.path(), 3)).expect("it was there");
        // The other writer ends, too.
        let error = workload.run(context).expect_err("it is gone");
        assert!(matches!(error, Error::File { .. }), "{error}");
    });
    let failed: Vec<_> = witnessed(folder.path()).into_iter().filter(|line| line.3.is_none()).collect();
    assert_eq!(failed.iter().map(|line| (line.0, line.1)).collect::<Vec<_>>(), [(3, 1)]);
}

#[test]
fn an_interrupt_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = parameters(folder.path(), &json!({ "time": "1h" }));
    with_loaded((KIND.read)(&parameters), folder.path(), |workload, context| {
        context.interrupted = Box::leak(Box::new(AtomicBool::new(true)));
        assert!(matches!(workload.run(context), Err(Error::Interrupted)));
    });
    assert!(crate::kind_of_trial("replacements").is_some() && crate::kind("replacements").is_none());
}

#[test]
fn only_a_flushed_folder_promises_every_version() {
    let class =
        |method: &str| (KIND.read)(&parameters(Path::new("/"), &json!({ "method": method }))).durability().class;
    let expected =
        [Class::MayCorrupt, Class::LosesRecent, Class::KeepsAcknowledged, Class::MayCorrupt, Class::MayCorrupt];
    assert_eq!(METHODS.map(class), expected);
}
