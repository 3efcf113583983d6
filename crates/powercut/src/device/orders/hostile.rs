//! Orders of any bytes: whatever is said on the line, the disk answers or hears the line's end, and goes on.

use super::super::images::Images;
use super::super::server::{Content, Shared};
use super::{Answer, Order, follow, line};
use crate::fault::injector::Injector;
use crate::states::{Cache, History, Rules};
use crate::write_log::{Event, Operation, Writer};
use fuzz::Target;
use std::borrow::Cow;
use std::io::{BufReader, Read};
use std::path::Path;

const UNIT: usize = 4096;
const UNITS: usize = 8;

/// Units that were written twice, the last time without a flush.
fn log() -> Vec<u8> {
    let mut log = Vec::new();
    let mut writer = Writer::new(&mut log, (UNIT * UNITS) as u64).expect("memory");
    let (ones, twos) = ([1; UNIT * UNITS], [2; 2 * UNIT]);
    let write = |request, unit: usize, data| {
        let operation = Operation::Write { offset: (unit * UNIT) as u64, data };
        Event::Submitted { request, at_nanoseconds: 0, operation }
    };
    let done = |request| Event::Done { request, at_nanoseconds: 0 };
    let begin = Event::Begin { at_nanoseconds: 0 };
    for event in [write(0, 0, &ones[..]), done(0), begin, write(1, 1, &twos[..]), write(2, 5, &twos[..UNIT]), done(1)] {
        writer.add(&event).expect("memory");
    }
    log
}

/// A line that comes in these pieces.
struct Pieces<'a>(std::vec::IntoIter<&'a [u8]>);

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let piece = self.0.next().unwrap_or_default();
        out[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}

fn heard(pieces: Vec<&[u8]>) -> Vec<Vec<u8>> {
    let mut from = BufReader::new(Pieces(pieces.into_iter()));
    let mut lines = Vec::new();
    while let Ok(Some(line)) = line::receive(&mut from, &mut Vec::new()) {
        lines.push(line);
    }
    lines
}

#[test]
fn orders() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log");
    std::fs::write(&file, log()).expect("room");
    let words = &["\n", "+\n", "\"units\":{\"2\":0}", "4294967295", "\"oldest\"", "\"lying\"", "{", "[", "}"];
    let target = Target::new("device::orders::hostile::orders", env!("CARGO_MANIFEST_DIR"), "tests/corpus/line");
    fuzz::run(&Target { words, ..target }, |bytes, random| {
        let lines = heard(bytes.chunks(1000).collect());
        assert_eq!(lines, heard(random.pieces(bytes)), "it depends on the pieces");
        let images = Images::new(
            History::new(
                crate::device::map(&file).expect("a file"),
                Rules { unit_bytes: 4096, cache: Cache::Volatile },
            )
            .expect("a log"),
        );
        let content = Shared::new(Content::Exploring(Box::new(images), Injector::default()));
        for order in lines.iter().filter_map(|line| serde_json::from_slice::<Order>(line).ok()) {
            let order = match order {
                // Other files are not this test's to read.
                Order::Explore { rules, .. } => Order::Explore { log: Cow::Borrowed(&file), rules },
                Order::Break => continue,
                other => other,
            };
            let _ = follow(order, &content);
        }
    });
}

/// Else the corpus would be nothing but noise.
#[test]
fn the_corpus_is_what_a_disk_is_told() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/line");
    let bytes = std::fs::read(folder.join("a-session")).expect("it is there");
    let content = Shared::new(Content::Failing);
    let lines = heard(vec![&bytes]);
    assert!(lines.len() > 6);
    for line in lines {
        let order: Order =
            serde_json::from_slice(&line).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)));
        if !matches!(order, Order::Explore { .. } | Order::Break) {
            let answer = follow(order, &content);
            assert!(matches!(answer, Ok(Answer::Refused { .. } | Answer::Now { .. })), "{answer:?}");
        }
    }
}
