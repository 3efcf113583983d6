//! Results files of any bytes: a report or an error, and never a panic, a read without end, or more memory than any file of that size
//! needs. The corpus is a real file, shortened to a trial a scenario (`tests/corpus/README.md`), and what was once a finding.

use fuzz::Target;
use ledger::Reader;

/// Each form that is made from a results file; errors are as good as reports.
fn read(path: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let reader = Reader::open(path)?;
    let mut text = Vec::new();
    let exported = ledger::export::csv(&reader, &mut text).and_then(|()| ledger::export::json(&reader, &mut text));
    let input = report::read(&reader)?;
    assert!(!report::terminal(&input, 100, true).is_empty());
    let _ = report::summary(&input, &report::Place::default(), 100, true);
    let _ = (report::html(&input), report::markdown(&input), report::answer_json(&input));
    let _ = (report::bencher(&input), report::openmetrics(&input), report::has_holes(&input));
    exported?;
    Ok(())
}

#[test]
fn results() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = Target::new("hostile::results", env!("CARGO_MANIFEST_DIR"), "tests/corpus/results");
    let words = &["\"round\":", "null", "[]", "{}", "1e999", "<script>", "\u{1b}[2J", "finished", "failed", "running"];
    let limits = Target { words, bytes_max: 256 << 10, memory_bytes_max: 2 << 30, seconds_max: 30, ..target };
    fuzz::run(&limits, |bytes, _| {
        for side in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(folder.path().join(format!("x.surefoot{side}")));
        }
        let file = folder.path().join("x.surefoot");
        std::fs::write(&file, bytes).expect("room");
        let _ = read(&file);
    });
}

/// Else only errors would be looked at.
#[test]
fn the_corpus_can_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/results/with-power-cuts");
    let file = folder.path().join("x.surefoot");
    std::fs::copy(stored, &file).expect("room");
    read(&file).expect("a whole file");
    crate::fixture::is_short(&report::load(&file).expect("a whole file"));
}
