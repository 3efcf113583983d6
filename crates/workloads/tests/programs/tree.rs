//! `tree`: generated and given archives, and what must not be extracted.

use crate::desk::{Desk, has_its_metrics, is_disk_full, on_small_tmpfs, open, value};
use load::workload::Error;
use serde_json::json;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use tar::{Builder, EntryType, Header};
use workloads::tree::KIND;

/// An archive of entries: name, kind, content or target.
fn archive(path: &Path, entries: &[(&str, EntryType, &str)]) -> PathBuf {
    let mut builder = Builder::new(File::create(path).unwrap());
    for (name, kind, content) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        let is_file = *kind == EntryType::Regular;
        header.set_size(if is_file { content.len() as u64 } else { 0 });
        if !is_file && !content.is_empty() {
            header.set_link_name(content).unwrap();
        }
        header.set_cksum();
        builder.append(&header, if is_file { content.as_bytes() } else { &[] }).unwrap();
    }
    builder.finish().unwrap();
    path.into()
}

#[test]
fn a_generated_tree_is_extracted_and_removed_and_cached() {
    let desk = Desk::new();
    let written = json!({"files": 400});
    let outcome = desk.trial(&KIND, &written).unwrap();
    has_its_metrics(&KIND, &written, &outcome);
    assert_eq!(outcome.latencies["create"].count(), 400);
    assert_eq!(outcome.latencies["unlink"].count(), 400);
    assert_eq!(value(&outcome, "work_done"), 400.0);
    let rate = 400.0 / value(&outcome, "extract_synced_seconds");
    assert!((value(&outcome, "files_per_second") / rate - 1.0).abs() < 1e-9);
    assert_eq!(desk.data.path().read_dir().unwrap().count(), 0);
    let cached: Vec<_> = desk.cache.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(cached.len(), 1);
    let made = cached[0].metadata().unwrap().modified().unwrap();
    desk.trial(&KIND, &written).unwrap();
    assert_eq!(cached[0].metadata().unwrap().modified().unwrap(), made, "the second trial takes it from the cache");
}

#[test]
fn links_and_folders_that_are_not_named_are_extracted() {
    let desk = Desk::new();
    let path = archive(
        &desk.cache.path().join("a.tar"),
        &[
            ("top/deep/file", EntryType::Regular, "content"),
            ("top/hard", EntryType::Link, "top/deep/file"),
            ("top/soft/link", EntryType::Symlink, "/nowhere"),
            ("empty/", EntryType::Directory, ""),
        ],
    );
    let outcome = desk.trial(&KIND, &json!({"archive": path})).unwrap();
    assert_eq!(outcome.bytes_written, 14);
    assert_eq!(outcome.latencies["unlink"].count(), 3);
}

#[test]
fn a_compressed_archive_is_unpacked_once() {
    let desk = Desk::new();
    let plain = archive(&desk.cache.path().join("a.tar"), &[("file", EntryType::Regular, "content")]);
    for (program, ending) in [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")] {
        let path = desk.data.path().join("a.tar").with_extension(format!("tar.{ending}"));
        let packed = Command::new(program).arg("-c").arg(&plain).output().unwrap();
        std::fs::write(&path, packed.stdout).unwrap();
        desk.trial(&KIND, &json!({"archive": path})).unwrap();
        std::fs::write(&path, "not packed, and newer").unwrap();
        let Err(Error::Program { log, .. }) = desk.trial(&KIND, &json!({"archive": path})) else { panic!("{program}") };
        assert!(log.contains(program), "{log}");
        let unfinished = desk
            .cache
            .path()
            .read_dir()
            .unwrap()
            .any(|entry| entry.unwrap().path().extension().is_some_and(|extension| extension == "unfinished"));
        assert!(!unfinished, "{program}");
    }
}

#[test]
fn archives_that_leave_the_tree_or_hold_devices_are_refused() {
    for (name, entries, problem) in [
        ("up", vec![("../evil", EntryType::Regular, "x")], "leads out of the tree"),
        ("root", vec![("/etc/evil", EntryType::Regular, "x")], "leads out of the tree"),
        ("device", vec![("null", EntryType::Char, "")], "neither file, folder nor link"),
        ("twice", vec![("a", EntryType::Regular, "x"), ("a", EntryType::Regular, "y")], "is in it twice"),
        ("hard", vec![("a", EntryType::Link, "../../etc/passwd")], "leads out of the tree"),
        ("early", vec![("a", EntryType::Link, "b"), ("b", EntryType::Regular, "x")], "links to nothing"),
        ("fifo", vec![("pipe", EntryType::Fifo, "")], "neither file, folder nor link"),
        ("block", vec![("sda", EntryType::Block, "")], "neither file, folder nor link"),
        (
            "through",
            vec![("x", EntryType::Symlink, "/tmp"), ("x/evil", EntryType::Symlink, "y")],
            "x in it is no folder",
        ),
        (
            "below",
            vec![("x", EntryType::Symlink, "/tmp"), ("x/a/b/evil", EntryType::Regular, "y")],
            "x in it is no folder",
        ),
        ("file", vec![("x", EntryType::Regular, "z"), ("x/evil", EntryType::Regular, "y")], "x in it is no folder"),
        ("late", vec![("x/a", EntryType::Regular, "z"), ("x", EntryType::Symlink, "/tmp")], "is in it twice"),
        ("again", vec![("x", EntryType::Symlink, "/tmp"), ("x/", EntryType::Directory, "")], "is in it twice"),
        (
            "hard_through",
            vec![("x", EntryType::Symlink, "/etc"), ("a", EntryType::Link, "x/passwd")],
            "links to nothing",
        ),
        (
            "hard_to_link",
            vec![("x", EntryType::Symlink, "/etc/passwd"), ("a", EntryType::Link, "x")],
            "links to nothing",
        ),
        ("root_hard", vec![("a", EntryType::Link, "/etc/passwd")], "leads out of the tree"),
        ("empty", vec![("a/", EntryType::Directory, "")], "holds no file"),
    ] {
        let desk = Desk::new();
        let path = archive(&desk.cache.path().join(format!("{name}.tar")), &entries);
        let mut workload = open(&KIND, &json!({"archive": path})).unwrap();
        let error = desk.act(|context| workload.prepare(context)).unwrap_err().to_string();
        assert!(error.contains(problem), "{name}: {error}");
        assert_eq!(desk.data.path().read_dir().unwrap().count(), 0);
    }
}

#[test]
fn nothing_is_written_through_a_symbolic_link() {
    let desk = Desk::new();
    let outside = tempfile::tempdir().unwrap();
    let path = archive(
        &desk.cache.path().join("a.tar"),
        &[("a", EntryType::Symlink, outside.path().to_str().unwrap()), ("a/evil", EntryType::Regular, "x")],
    );
    assert!(desk.trial(&KIND, &json!({"archive": path})).is_err());
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
}

/// The scan saw a good one.
#[test]
fn an_archive_that_is_changed_after_the_scan_stays_in_its_tree() {
    let (desk, outside) = (Desk::new(), tempfile::tempdir().unwrap());
    let victim = outside.path().to_str().unwrap();
    let path = desk.cache.path().join("a.tar");
    archive(&path, &[("a", EntryType::Regular, "content")]);
    let mut workload = desk.prepared(&KIND, &json!({"archive": path}));
    let (link, evil) = (("x", EntryType::Symlink, victim), ("x/evil", EntryType::Symlink, "/etc/passwd"));
    archive(&path, &[("a", EntryType::Regular, "content"), link, evil, ("x/new/evil", EntryType::Symlink, "y")]);
    assert!(desk.act(|context| workload.run(context)).is_err());
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_missing_archive_is_a_problem_of_the_check() {
    let parameters = crate::desk::parameters(&KIND, &json!({"archive": "/nowhere/x.tar"}));
    assert!((KIND.read)(&parameters).problems()[0].contains("/nowhere/x.tar"));
}

#[test]
fn a_full_disk_is_an_error_of_the_file() {
    on_small_tmpfs(200 << 10, |desk| {
        let mut workload = desk.prepared(&KIND, &json!({"files": 200}));
        assert!(is_disk_full(&desk.act(|context| workload.run(context)).unwrap_err()));
    });
}

#[test]
fn an_interruption_ends_it() {
    let desk = Desk::new();
    let mut workload = desk.prepared(&KIND, &json!({"files": 50}));
    desk.interrupted.store(true, Ordering::Relaxed);
    assert!(matches!(desk.act(|context| workload.run(context)), Err(Error::Interrupted)));
    // The next run begins with what that one left.
    desk.interrupted.store(false, Ordering::Relaxed);
    desk.act(|context| workload.run(context)).unwrap();
}
