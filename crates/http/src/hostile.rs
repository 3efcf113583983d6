//! Answers and logs of any bytes: none makes a reader panic, hang or take memory without end, and in which pieces an answer comes
//! makes no difference. The corpora are real ones (`tests/corpus/README.md`), and what was once a finding.

use crate::access_log;
use crate::answer::{Answer, Malformed, Reader};
use crate::reader;
use fuzz::{Random, Target};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// What came of all bytes of a connection, then closed: the answer and its body. Why it is none may depend on the pieces (whether
/// it was too long before it was wrong), that it is none may not.
fn read(pieces: &[&[u8]], is_head_request: bool) -> Option<(Answer, Vec<u8>)> {
    let (mut reader, mut body) = (Reader::default(), Vec::new());
    reader.begin(is_head_request);
    let mut whole = None;
    for piece in pieces {
        if whole.is_some() {
            return None;
        }
        whole = reader.feed(piece, &mut |piece| body.extend_from_slice(piece)).ok()?;
    }
    let answer: Result<Answer, Malformed> = whole.map_or_else(|| reader.end(), Ok);
    Some((answer.ok()?, body))
}

#[test]
fn answers() {
    let words = &[
        "\r\n\r\n",
        "\r\n",
        "Content-Length: ",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
        "0\r\n\r\n",
        "ffffffffffffffff\r\n",
        ";x=y",
        "Connection: close\r\n",
    ];
    // Longer than the longest head.
    let target =
        Target { words, bytes_max: 96 << 10, ..Target::new("hostile::answers", FOLDER, "tests/corpus/answers") };
    fuzz::run(&target, |bytes, random| {
        for is_head_request in [false, true] {
            let at_once = read(&[bytes], is_head_request);
            assert_eq!(at_once, read(&random.pieces(bytes), is_head_request), "it depends on the pieces");
        }
    });
}

#[test]
fn logs() {
    let words =
        &["\n", "\r\n", " [22/Nov/2026:17:42:08 +0000] \"", "\\\"", "\\x4", "{\"", "\\u00", "\x1f\u{8b}\x08", "- "];
    let target = Target { words, ..Target::new("hostile::logs", FOLDER, "tests/corpus/logs") };
    let file = tempfile::tempfile().expect("a file");
    // A name without a place in any folder.
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    fuzz::run(&target, |bytes, _: &mut Random| {
        write(&file, bytes);
        let mut reader = reader::Reader::open(&path, u64::MAX).expect("it is there");
        let mut requests = 0;
        while let Ok(Some(())) = reader.next(|_| ()) {
            requests += 1;
        }
        assert_eq!(requests + reader.rejects().count(), reader.lines(), "each line is read or counted");
        for line in bytes.split(|byte| *byte == b'\n') {
            let _ = access_log::parse(line);
        }
    });
}

fn write(mut file: &File, bytes: &[u8]) {
    file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(bytes)).expect("room");
}
