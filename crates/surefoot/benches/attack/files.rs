//! Files that others can write: studies and results changed at random, work folders with links in them. Whatever is read ends in words,
//! no file but surefoot's own is written to, and what is only read stays as it is.

use crate::harness::small_study;
use crate::stage::{Stage, hash};
use std::os::unix::fs::symlink;

/// The longest that the reading of a file of a few runs may take on a busy machine.
const READ_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(30);

/// What only reads a results file.
const READERS: &[&[&str]] = &[
    &["report", "FILE"],
    &["status", "FILE"],
    &["report", "FILE", "--csv", "-"],
    &["report", "FILE", "--html", "-"],
    &["report", "FILE", "--json"],
    &["history", "FILE"],
    &["compare", "FILE", "good.surefoot"],
];

/// Tries them.
pub fn attack(stage: &mut Stage) {
    stage.world.write("small.toml", small_study(&stage.filesystems(), 2).replace("300ms", "100ms"));
    let made = stage.surefoot(&["run", "small.toml", "--quiet", "--results", "good.surefoot"]);
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    studies(stage);
    results(stage);
    values(stage);
    planted_journal(stage);
    verified(stage);
    hard_linked_image(stage);
    links_in_the_work_folder(stage);
    a_work_folder_of_another(stage);
}

fn studies(stage: &mut Stage) {
    let corpus: Vec<Vec<u8>> =
        ["small.toml"].iter().map(|name| std::fs::read(stage.path(name)).expect("made")).collect();
    let words = &["[factors]\n", "[[exclude]]\n", "[safety]\n", "= [1, 2]\n", "\u{0}", "\"\"\"", "[workload.tree]\n"];
    for _ in 0..stage.count(3, 100) {
        stage.tried();
        let bytes = fuzz::changed(&mut stage.random, &corpus, words, 4096);
        stage.world.write("changed.toml", bytes);
        let plan = stage.surefoot(&["plan", "changed.toml"]);
        stage.holds(matches!(plan.status, Some(0 | 2 | 4 | 5)), || {
            format!("plan of a changed study: status {:?}", plan.status)
        });
    }
}

/// Bytes of the file.
fn results(stage: &mut Stage) {
    let corpus = [std::fs::read(stage.path("good.surefoot")).expect("made")];
    for _ in 0..stage.count(2, 40) {
        let bytes = fuzz::changed(&mut stage.random, &corpus, &[], 4 << 20);
        read_all(stage, &bytes, "changed bytes");
    }
}

/// Values in its tables: numbers and texts that are none of a run's.
fn values(stage: &mut Stage) {
    let statements = [
        "UPDATE trial SET round = 2147483647 WHERE id = 2",
        "UPDATE trial SET round = -1 WHERE id = 2",
        "UPDATE trial SET position = 9223372036854775807",
        "UPDATE trial SET started = -9223372036854775808, ended = 9223372036854775807",
        "UPDATE run SET seconds = 1e308",
        "UPDATE run SET seconds = -1e308, started = 9e307",
        "UPDATE run SET figures = zeroblob(12000000)",
        "UPDATE run SET figures = x'00'",
        "UPDATE run SET run = 9223372036854775807",
        "UPDATE scenario SET label = hex(randomblob(100000))",
        "UPDATE scenario SET json = '{}'",
        "UPDATE metric SET name = 'x' || id",
        "UPDATE metric SET unit = hex(randomblob(100000))",
        "UPDATE latency SET hdr = zeroblob(100)",
        "UPDATE series SET points = zeroblob(8000000) WHERE run = 1",
        "UPDATE session SET machine = '[]'",
        "UPDATE study SET json = json_set(json, '$.name', '<script>' || char(27) || '[2J')",
        "DELETE FROM study",
        "DELETE FROM scenario",
        "DELETE FROM metric",
        "ALTER TABLE run RENAME TO old; CREATE VIEW run AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT \
         id, 1 AS trial, 0 AS run, 0 AS warm_up, 0.0 AS started, 1.0 AS seconds, x'' AS figures, NULL AS checksum FROM n",
    ];
    let from = if stage.is_test { stage.random.below(statements.len()) } else { 0 };
    let chosen = stage.count(2, statements.len());
    for statement in statements.iter().cycle().skip(from).take(chosen) {
        std::fs::copy(stage.path("good.surefoot"), stage.path("values.surefoot")).expect("room");
        let connection = rusqlite::Connection::open(stage.path("values.surefoot")).expect("SQLite");
        // A schema without that column is not attacked by it.
        let changed = connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {statement}"));
        connection.close().expect("SQLite");
        if changed.is_ok() {
            let bytes = std::fs::read(stage.path("values.surefoot")).expect("made");
            read_all(stage, &bytes, statement);
        }
    }
}

fn read_all(stage: &mut Stage, bytes: &[u8], what: &str) {
    let from = stage.random.below(READERS.len());
    let readers = stage.count(2, if what == "changed bytes" { 3 } else { READERS.len() });
    for reader in READERS.iter().cycle().skip(from).take(readers) {
        stage.tried();
        let file = stage.world.write("changed.surefoot", bytes);
        let before = hash(&file);
        let words: Vec<&str> =
            reader.iter().map(|word| if *word == "FILE" { "changed.surefoot" } else { word }).collect();
        let said = limited(stage, &words);
        stage.holds(matches!(said.status, Some(0 | 2 | 3)), || {
            format!("{what}: {}: status {:?}: {}", words.join(" "), said.status, said.stderr.trim())
        });
        stage.holds(hash(&file) == before, || format!("{what}: `surefoot {}` wrote to the file", words.join(" ")));
        for side in ["changed.surefoot-wal", "changed.surefoot-shm"] {
            let _ = std::fs::remove_file(stage.path(side));
        }
    }
}

/// A journal that names another file: SQLite would remove that one before it reads.
fn planted_journal(stage: &mut Stage) {
    let victim = stage.world.write("victim-of-a-journal", "dear");
    let file = stage.path("changed.surefoot");
    std::fs::copy(stage.path("good.surefoot"), &file).expect("room");
    let name = victim.as_os_str().as_encoded_bytes();
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let journal = [&magic[..], name, &(name.len() as u32).to_be_bytes(), &sum.to_be_bytes(), &magic].concat();
    let journal = stage.world.write("changed.surefoot-journal", journal);
    let before = hash(&file);
    for reader in READERS {
        stage.tried();
        let words: Vec<&str> =
            reader.iter().map(|word| if *word == "FILE" { "changed.surefoot" } else { word }).collect();
        let said = limited(stage, &words);
        let is_whole = said.status == Some(2) && victim.exists() && journal.exists() && hash(&file) == before;
        stage
            .holds(is_whole, || format!("a planted journal: `surefoot {}`: status {:?}", words.join(" "), said.status));
    }
    std::fs::remove_file(journal).expect("it stays");
}

/// With 4 GiB of address space: what asks for more is ended, and seen.
fn limited(stage: &mut Stage, words: &[&str]) -> crate::harness::Said {
    let mut command = stage.world.command(words);
    // SAFETY: between fork and exec one system call is made.
    unsafe {
        use std::os::unix::process::CommandExt as _;
        command
            .pre_exec(|| Ok(nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_AS, 4 << 30, 4 << 30)?));
    }
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    stage.end_within(child.expect("surefoot starts"), words, READ_TIME_MAX)
}

/// One bit of a figure: `--verify` sees it, and says nothing of a whole file.
fn verified(stage: &mut Stage) {
    stage.tried();
    let good = stage.surefoot(&["status", "good.surefoot", "--verify"]);
    stage.holds(good.status == Some(0), || {
        format!("--verify of a whole file: {:?}: {}", good.status, good.stderr.trim())
    });
    for _ in 0..stage.count(2, 40) {
        stage.tried();
        std::fs::copy(stage.path("good.surefoot"), stage.path("bit.surefoot")).expect("room");
        let connection = rusqlite::Connection::open(stage.path("bit.surefoot")).expect("SQLite");
        let (id, mut figures): (i64, Vec<u8>) = connection
            .query_row("SELECT id, figures FROM run ORDER BY id LIMIT 1", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("a run");
        let bit = stage.random.below(figures.len() * 8);
        figures[bit / 8] ^= 1 << (bit % 8);
        connection.execute("UPDATE run SET figures = ?1 WHERE id = ?2", (figures, id)).expect("SQLite");
        connection.close().expect("SQLite");
        let said = stage.surefoot(&["status", "bit.surefoot", "--verify"]);
        stage.holds(said.status == Some(2) || said.status == Some(1), || {
            format!("--verify did not see bit {bit} of a run's figures")
        });
    }
}

/// The image that a run would format is another's file.
fn hard_linked_image(stage: &mut Stage) {
    let run = ["run", "small.toml", "--quiet", "--work", "linked", "--results", "linked.surefoot"];
    stage.surefoot(&run);
    let folder = stage.path("linked/images");
    let images: Vec<_> = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    for image in images.into_iter().filter(|path| path.is_file()) {
        stage.tried();
        let victim = stage.path("victim-image");
        let _ = std::fs::remove_file(&victim);
        std::fs::rename(&image, &victim).expect("one disk");
        std::fs::hard_link(&victim, &image).expect("one disk");
        let before = hash(&victim);
        let _ = std::fs::remove_file(stage.path("linked.surefoot"));
        let said = stage.surefoot(&run);
        stage.holds(hash(&victim) == before, || {
            format!("a hard-linked image was written to (status {:?})", said.status)
        });
        stage.holds(said.status != Some(0), || "a hard-linked image was taken".into());
    }
    let _ = std::fs::remove_dir_all(stage.path("linked"));
}

/// `trial.log` and folders that lead elsewhere.
fn links_in_the_work_folder(stage: &mut Stage) {
    for name in ["trial.log", "images", "cache", "mount"] {
        stage.tried();
        let (work, letter) = (stage.path("symlinked"), stage.path("letters/letter"));
        let _ = std::fs::remove_dir_all(&work);
        std::fs::create_dir_all(&work).and_then(|()| std::fs::create_dir_all(stage.path("letters"))).expect("room");
        std::fs::write(&letter, "dear").and_then(|()| std::fs::write(work.join(".surefoot-work"), "")).expect("room");
        let target = if name == "trial.log" { letter.clone() } else { stage.path("letters") };
        symlink(target, work.join(name)).expect("room");
        let _ = std::fs::remove_file(stage.path("linked.surefoot"));
        stage.surefoot(&["run", "small.toml", "--quiet", "--work", "symlinked", "--results", "linked.surefoot"]);
        let folder: Vec<_> =
            stage.path("letters").read_dir().expect("it stays").flatten().map(|e| e.file_name()).collect();
        let is_whole = std::fs::read(&letter).is_ok_and(|text| text == b"dear") && folder.len() == 1;
        stage.holds(is_whole, || format!("`{name}` as a symbolic link: what it leads to was changed: {folder:?}"));
        stage.surefoot(&["clean", "--work", "symlinked"]);
        stage.holds(letter.exists(), || format!("`clean` with `{name}` as a symbolic link took what it leads to"));
    }
}

/// Marked as surefoot's by somebody else.
fn a_work_folder_of_another(stage: &mut Stage) {
    stage.tried();
    let work = stage.path("forged");
    std::fs::create_dir_all(&work).and_then(|()| std::fs::write(work.join(".surefoot-work"), "")).expect("room");
    std::os::unix::fs::chown(&work, Some(65_534), Some(65_534)).expect("we are root");
    std::os::unix::fs::chown(work.join(".surefoot-work"), Some(65_534), Some(65_534)).expect("we are root");
    let said = stage.surefoot(&["run", "small.toml", "--quiet", "--work", "forged", "--results", "forged.surefoot"]);
    stage.holds(said.status != Some(0), || "a work folder that belongs to another user was trusted".into());
    let _ = std::fs::remove_dir_all(&work);
}
