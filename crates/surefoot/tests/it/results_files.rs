//! Results files from outside: every output that is asked for is written, and what is damaged is said to be.

use crate::harness::World;
use rusqlite::Connection;

/// Two trials of nothing, which take as long as they must.
const STUDY: &str = r#"name = "s"
[storage]
device = "dir"
path = "HERE"
[workload.null]
time = "10ms"
[design]
rounds_min = 2
rounds_max = 2
control = false
probe = "0s"
"#;

fn measured() -> World {
    let world = World::new();
    world.write("s.toml", STUDY.replace("HERE", &world.path().to_string_lossy()));
    world.surefoot(&["run", "s.toml", "--quiet"]).status(0);
    world
}

#[test]
fn every_output_that_is_asked_for_is_written() {
    let world = measured();
    let files = ["--html", "a.html", "--pdf", "b.pdf", "--csv", "c.csv", "--parquet", "d.parquet"];
    let said = world.surefoot(&[&["report", "s.surefoot", "--json"], &files[..]].concat()).status(0);
    for file in ["a.html", "b.pdf", "c.csv", "d.parquet"] {
        let bytes = std::fs::metadata(world.path().join(file)).unwrap_or_else(|_| panic!("no {file}")).len();
        assert!(bytes > 500, "{file}: {bytes} bytes");
    }
    assert!(said.stdout.contains("\"analysis\""), "{}", said.stdout);
    let check = |arguments: &[&str], says: &str| {
        world.surefoot(&[&["report", "s.surefoot"], arguments].concat()).status(2).says(says).says("hint: ");
    };
    check(&["--json", "--markdown"], "`--json` and `--markdown` both write to standard output");
    check(&["--csv", "-", "--format", "bencher"], "`--csv` and `--format` both write to standard output");
    check(&["--html", "x", "--pdf", "x"], "`--pdf` and `--html` both write to x");
    world.surefoot(&["plan", "s.toml", "--results", "x"]).status(2).says("`--results` has no effect");
    let look = ["powercut", "s.toml", "--scenario", "x", "--replay", "y", "--rounds", "3"];
    world.surefoot(&look).status(2).says("`--rounds` has no effect");
}

#[test]
fn damage_ends_every_verb_in_a_sentence_with_a_remedy() {
    let world = measured();
    world.surefoot(&["status", "s.surefoot", "--verify"]).status(0).says("whole: 2 trials and");
    let whole = std::fs::read(world.path().join("s.surefoot")).expect("readable");
    for (change, says) in [
        ("UPDATE run SET seconds = seconds + 1 WHERE id = 1", "is not what was written"),
        ("UPDATE trial SET round = 2147483647, crc = NULL", "says it is of round 2147483647"),
        ("ALTER TABLE run RENAME TO old; CREATE VIEW run AS SELECT * FROM old", "surefoot makes no view run"),
        ("UPDATE study SET json = CAST(x'7bff' AS TEXT), crc = NULL", "is not UTF-8"),
    ] {
        std::fs::write(world.path().join("s.surefoot"), &whole).expect("written");
        Connection::open(world.path().join("s.surefoot")).and_then(|file| file.execute_batch(change)).expect("changed");
        for verb in [
            &["report", "s.surefoot"][..],
            &["report", "s.surefoot", "--csv", "-"],
            &["report", "s.surefoot", "--json"],
            &["report", "s.surefoot", "--format", "openmetrics"],
            &["status", "s.surefoot"],
            &["status", "s.surefoot", "--verify"],
            &["history", "s.surefoot"],
            &["compare", "s.surefoot", "s.surefoot"],
            &["run", "s.toml", "--quiet"],
        ] {
            let said = world.surefoot(verb).status(2).says(says);
            assert!(said.stderr.contains("hint: "), "{verb:?}: {}", said.stderr);
        }
    }
}
