//! `compile`: the generated program, archives, and builds that are wrong.

use crate::desk::{Desk, has_its_metrics, value};
use load::workload::Error;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use workloads::compile::KIND;

/// A project of one file, which notes each of its configurations and builds, packed.
fn archive(folder: &Path, name: &str) -> Value {
    let project = folder.join("hello-1.0");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("hello.c"), "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n")
        .unwrap();
    let makefile = "hello: hello.c\n\t$(CC) -o hello hello.c\n\techo built >> notes\nclean:\n\trm -f hello\n";
    std::fs::write(project.join("Makefile"), makefile).unwrap();
    let packed = Command::new("tar").args(["-caf", name, "hello-1.0"]).current_dir(folder).status().unwrap();
    assert!(packed.success());
    json!(folder.join(name))
}

fn notes(desk: &Desk) -> String {
    std::fs::read_to_string(desk.data.path().join("build/hello-1.0/notes")).unwrap()
}

#[test]
fn a_generated_program_is_built_anew_in_each_run() {
    let desk = Desk::new();
    let written = json!({"files": 27, "jobs": 2});
    let outcome = desk.trial(&KIND, &written).unwrap();
    has_its_metrics(&KIND, &written, &outcome);
    assert!(value(&outcome, "compile_user_cpu_seconds") > 0.1, "a second build that finds all made costs nothing");
    assert!(value(&outcome, "compile_seconds") <= value(&outcome, "compile_synced_seconds"));
    assert!(value(&outcome, "tree_bytes") > 27.0 * 10_000.0);
    let left = desk.data.path().join("temporary").read_dir().unwrap().count();
    assert_eq!(left, 0, "the compiler took away what it made");
}

#[test]
fn an_archive_is_configured_and_built_from_a_clean_copy() {
    for name in ["hello.tar", "hello.tar.gz", "hello.tar.xz", "hello.tar.zst"] {
        let desk = Desk::new();
        let written = json!({
            "archive": archive(desk.cache.path(), name),
            "configure": ["sh", "-c", "echo configured >> notes"],
            "check": ["./hello"],
        });
        let outcome = desk.trial(&KIND, &written).unwrap();
        has_its_metrics(&KIND, &written, &outcome);
        assert_eq!(notes(&desk), "configured\nbuilt\n", "{name}: nothing of the first run is left");
        assert!(!desk.data.path().join("source/hello-1.0/notes").exists());
    }
}

#[test]
fn a_command_that_cleans_takes_the_place_of_copies() {
    let desk = Desk::new();
    let archive = archive(desk.cache.path(), "hello.tar");
    let written = json!({"archive": archive, "clean": ["make", "clean"], "check": ["./hello"]});
    desk.trial(&KIND, &written).unwrap();
    assert_eq!(notes(&desk), "built\nbuilt\n");
}

#[test]
fn a_failed_build_shows_the_compilers_words() {
    let desk = Desk::new();
    let archive = archive(desk.cache.path(), "hello.tar");
    let breaks = ["sh", "-c", "echo 'int main(void) { return nowhere; }' > hello.c"];
    let error = desk.trial(&KIND, &json!({"archive": archive, "configure": breaks, "check": ["./hello"]})).unwrap_err();
    let Error::Program { program, log, .. } = error else { panic!("{error}") };
    assert_eq!(program, "make");
    assert!(log.contains("nowhere") && log.contains("undeclared"), "{log}");
}

#[test]
fn a_build_that_is_wrong_is_no_figure() {
    let desk = Desk::new();
    // Another seed's main: everything compiles, and the sum is another one.
    let forged = ["sh", "-c", "sed -i 's/sum \\* 31u/sum * 33u/' main.c"];
    let error = desk.trial(&KIND, &json!({"files": 2, "configure": forged})).unwrap_err();
    assert!(matches!(error, Error::WrongData { .. }), "{error}");
    let desk = Desk::new();
    let archive = archive(desk.cache.path(), "hello.tar");
    let error = desk.trial(&KIND, &json!({"archive": archive, "check": ["false"]})).unwrap_err();
    assert!(matches!(&error, Error::Program { program, .. } if program == "false"), "{error}");
}

#[test]
fn an_interruption_ends_the_build() {
    let desk = Desk::new();
    let mut workload = desk.prepared(&KIND, &json!({"files": 2, "command": ["sleep", "987"]}));
    desk.act(|context| workload.ready(context)).unwrap();
    desk.interrupted.store(true, Ordering::Relaxed);
    assert!(matches!(desk.act(|context| workload.run(context)), Err(Error::Interrupted)));
}

#[test]
fn an_archive_with_a_device_or_a_pipe_is_refused_before_it_is_unpacked() {
    let desk = Desk::new();
    let folder = desk.cache.path();
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
    assert!(made.success());
    let packed = Command::new("tar").args(["-cf", "pipe.tar", "pipe"]).current_dir(folder).status().unwrap();
    assert!(packed.success());
    let error =
        desk.trial(&KIND, &json!({"archive": folder.join("pipe.tar"), "check": ["true"]})).unwrap_err().to_string();
    assert!(error.contains("a device, pipe or socket"), "{error}");
}
