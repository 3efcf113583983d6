//! The attack's own eyes: promises that it breaks itself, each of which must be found.

use crate::harness::tool;
use crate::stage::Stage;
use crate::{guard, kills, left};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Breaks them, one by one.
pub fn attack(stage: &mut Stage) {
    must_be_found(stage, "a device that is written to", |stage| {
        // Nothing forbids it: it is empty.
        let image = guard::blank(stage, "planted");
        let device = guard::attach(&image, &[]);
        guard::refused(stage, "planted", &device, &image, "");
        guard::detach(&device);
    });
    must_be_found(stage, "a process, a mount and a loop device that stay", |stage| {
        let before = left::machine();
        let mut sleeper = Command::new("sleep").arg("60").current_dir(stage.world.path()).spawn().expect("sleep");
        let image = guard::blank(stage, "planted");
        let device = guard::attach(&image, &[]);
        let mount = stage.path("planted-mount");
        std::fs::create_dir_all(&mount).expect("room");
        tool("mount", &["-t", "tmpfs", "none", &mount.to_string_lossy()]);
        // They stay, however long they are waited for.
        let none = std::collections::BTreeSet::new();
        let left = left::left_after(Duration::from_millis(500), stage.world.path(), &before, &none);
        for kind in ["process", "mount", "loop device"] {
            stage.holds(!left.iter().any(|left| left.starts_with(kind)), || format!("{kind} is left"));
        }
        assert_eq!(stage.take_findings().len(), 3, "{left:#?}");
        stage.found("all three");
        tool("umount", &[&mount.to_string_lossy()]);
        guard::detach(&device);
        sleeper.kill().and_then(|()| sleeper.wait()).expect("our own child");
    });
    must_be_found(stage, "a trial that is lost", |stage| {
        let results = kills::measured(stage);
        let before = kills::finished(&results);
        let connection = rusqlite::Connection::open(&results).expect("SQLite");
        connection.execute_batch("UPDATE run SET figures = zeroblob(12) WHERE id = 1").expect("SQLite");
        connection.close().expect("SQLite");
        kills::nothing_lost(stage, "planted", &before, &results);
    });
    must_be_found(stage, "a panic", |stage| {
        let mut command = Command::new("sh");
        command.args(["-c", "echo \"thread 'main' panicked at x.rs:1:1\" >&2; exit 101"]);
        let output = command.stdin(Stdio::null()).output().expect("sh");
        stage.no_panic(&crate::harness::said(&output), "planted");
    });
}

/// What was found on purpose is no finding; that nothing was is one.
fn must_be_found(stage: &mut Stage, what: &str, act: impl FnOnce(&mut Stage)) {
    println!("planted: {what}");
    act(stage);
    let is_found = !stage.take_findings().is_empty();
    stage.tried();
    stage.holds(is_found, || format!("the attack does not see {what}"));
}
