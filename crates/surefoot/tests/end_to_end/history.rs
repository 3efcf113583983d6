//! `surefoot history` on results files of real runs, one of them changed into one from before an upgrade.

use crate::harness::{World, small_study};
use rusqlite::Connection;
use std::sync::OnceLock;

/// Two results files of one study, measured once for all who compare such.
pub fn measured() -> &'static [Vec<u8>; 2] {
    static FILES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    FILES.get_or_init(|| {
        let world = World::new();
        world.write("small.toml", small_study(&["ext4"], 4) + "control = false\n");
        ["a.surefoot", "b.surefoot"].map(|results| {
            world.surefoot(&["run", "small.toml", "--quiet", "--results", results]).status(0);
            std::fs::read(world.path().join(results)).expect("results")
        })
    })
}

#[test]
fn two_runs_with_an_upgrade_between_are_one_history() {
    let world = World::new();
    for (results, bytes) in ["old.surefoot", "new.surefoot"].iter().zip(measured()) {
        world.write(results, bytes);
    }
    // The first becomes one of a month ago, on an older kernel.
    let old = Connection::open(world.path().join("old.surefoot")).expect("a ledger");
    old.execute_batch(
        "UPDATE study SET json = json_set(json, '$.created', json_extract(json, '$.created') - 2592000), crc = NULL;
         UPDATE session SET machine = json_set(machine, '$.kernel', '5.10.0-1'), crc = NULL;",
    )
    .expect("changed");
    drop(old);
    let before = std::fs::read(world.path().join("old.surefoot")).expect("readable");
    let said = world.surefoot(&["history"]).status(0).says("; meanwhile: kernel 5.10.0-1 → ").says("4 rounds");
    assert!(said.stdout.find("old.surefoot") < said.stdout.find("new.surefoot"), "{}", said.stdout);
    assert!(!said.stderr.contains("hint"), "{}", said.stderr);
    let json = world.surefoot(&["history", "new.surefoot", "old.surefoot", "--json"]).status(0).json();
    assert_eq!(json[0]["results"][0]["results"], "old.surefoot");
    assert!(json[0]["workloads"][0]["scenarios"][0]["figures"][1]["to_previous"]["ratio"].is_f64(), "{json:#}");
    world.surefoot(&["history", ".", "--html", "h.html"]).status(0).says("h.html");
    assert!(std::fs::read_to_string(world.path().join("h.html")).expect("a page").contains("id=\"history-0-0\""));
    world
        .surefoot(&["history", "old.surefoot"])
        .status(0)
        .says("hint: there are no two results of one study and machine");
    world.write("broken.surefoot", "no ledger");
    world.surefoot(&["history"]).status(0).says("left out: ./broken.surefoot is not a results file");
    world.surefoot(&["history", "broken.surefoot"]).status(2).says("not a results file");
    assert_eq!(std::fs::read(world.path().join("old.surefoot")).expect("readable"), before);
}
