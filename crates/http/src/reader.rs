//! An access log line by line: plain, gzip or Zstandard, of any length, in a fixed amount of memory.

use crate::access_log::{self, Entry, Reject};
use memchr::memchr;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

/// The longest line that is read: a request line and two headers of 8 KiB, and room to spare.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 4 * LINE_BYTES_MAX;

/// Line numbers that are kept of each kind of reject.
const KEPT: usize = 3;

/// A log being read.
pub struct Reader {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What of the buffer has been read and not yet looked at.
    from: usize,
    to: usize,
    lines: u64,
    rejects: Rejects,
}

/// Lines that are no requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejects(BTreeMap<Reject, Rejected>);

/// Lines of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many.
    pub count: u64,
    /// Numbers of the first ones, from 1.
    pub first: Vec<u64>,
}

impl Rejects {
    fn add(&mut self, reject: Reject, line: u64) {
        let rejected = self.0.entry(reject).or_default();
        rejected.count += 1;
        if rejected.first.len() < KEPT {
            rejected.first.push(line);
        }
    }

    /// How many there are of all kinds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().map(|rejected| rejected.count).sum()
    }

    /// A sentence part a kind: `2 lines without a status from 100 to 599 (lines 7, 9)`.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let of_kind = |(reject, rejected): (&Reject, &Rejected)| {
            let numbers: Vec<String> = rejected.first.iter().map(u64::to_string).collect();
            let more = if rejected.count > KEPT as u64 { ", …" } else { "" };
            let plural = if rejected.count == 1 { "" } else { "s" };
            let (count, words, numbers) = (rejected.count, reject.words(), numbers.join(", "));
            format!("{count} line{plural} {words} (line{plural} {numbers}{more})")
        };
        self.0.iter().map(of_kind).collect()
    }
}

impl Reader {
    /// Opens a log; gzip and Zstandard are known by their first bytes, whatever the name.
    ///
    /// # Errors
    /// When it can't be opened, or is compressed and damaged at its beginning.
    pub fn open(path: &Path) -> io::Result<Reader> {
        let mut file = File::open(path)?;
        let mut magic = Vec::new();
        (&file).take(4).read_to_end(&mut magic)?;
        file.rewind()?;
        let source: Box<dyn Read + Send> = match magic[..] {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::new(file))),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstandard(file)?),
            _ => Box::new(file),
        };
        Ok(Reader { source, buffer: vec![0; BUFFER_BYTES], from: 0, to: 0, lines: 0, rejects: Rejects::default() })
    }

    /// Gives the next line that is a request to `take`; none at the log's end. Others are counted.
    ///
    /// # Errors
    /// When the file can't be read on.
    pub fn next<T>(&mut self, take: impl FnOnce(Entry) -> T) -> io::Result<Option<T>> {
        while let Some((from, to)) = self.next_line()? {
            let parsed = match to - from <= LINE_BYTES_MAX {
                true => access_log::parse(&self.buffer[from..to]),
                false => Err(Reject::TooLong),
            };
            match parsed {
                Ok(entry) => return Ok(Some(take(entry))),
                Err(reject) => self.rejects.add(reject, self.lines),
            }
        }
        Ok(None)
    }

    /// Lines that were read so far.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines so far that are no requests.
    #[must_use]
    pub fn rejects(&self) -> &Rejects {
        &self.rejects
    }

    /// Where the next line lies in the buffer. Of one that is too long, only a piece that is too long.
    fn next_line(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut searched = self.from;
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[searched..self.to]) {
                let line = (self.from, searched + at);
                self.from = searched + at + 1;
                self.lines += 1;
                return Ok(Some(line));
            }
            searched = self.to;
            if self.to - self.from > LINE_BYTES_MAX {
                self.skip_line()?;
                self.lines += 1;
                return Ok(Some((0, LINE_BYTES_MAX + 1)));
            }
            if self.to == self.buffer.len() {
                self.buffer.copy_within(self.from..self.to, 0);
                searched -= self.from;
                (self.from, self.to) = (0, self.to - self.from);
            }
            if self.fill()? == 0 {
                let line = (self.from, self.to);
                self.from = self.to;
                self.lines += u64::from(line.0 < line.1);
                return Ok((line.0 < line.1).then_some(line));
            }
        }
    }

    /// Goes on to the line after the one under way.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.from..self.to]) {
                self.from += at + 1;
                return Ok(());
            }
            (self.from, self.to) = (0, 0);
            if self.fill()? == 0 {
                return Ok(());
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        loop {
            match self.source.read(&mut self.buffer[self.to..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.to += read;
                    return Ok(read);
                }
            }
        }
    }
}

fn zstandard(file: File) -> io::Result<impl Read + Send> {
    let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, format!("not Zstandard: {error}"));
    ruzstd::decoding::StreamingDecoder::new(io::BufReader::new(file)).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const LINE: &str = r#"h - - [28/Feb/2024:00:00:00 +0000] "GET /NUMBER HTTP/1.1" 200 1"#;

    fn targets(bytes: &[u8]) -> (Vec<String>, u64, Rejects) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        let mut reader = Reader::open(file.path()).expect("opened");
        let mut found = Vec::new();
        while let Some(target) = reader.next(|entry| String::from_utf8_lossy(&entry.target).into_owned()).expect("read")
        {
            found.push(target);
        }
        (found, reader.lines(), reader.rejects().clone())
    }

    #[test]
    fn lines_come_in_order_whatever_is_between() {
        let long = "x".repeat(3 << 20);
        let text = format!("{}\n\n{long}\n{}\r\n\0\u{1}\n{}", line(1), line(2), line(3));
        let (found, lines, rejects) = targets(text.as_bytes());
        assert_eq!(found, ["/1", "/2", "/3"]);
        assert_eq!((lines, rejects.count()), (6, 3));
        assert_eq!(rejects.words()[1], "1 line longer than 64 KiB (line 3)");
    }

    #[test]
    fn gzip_in_two_members_is_one_log() {
        let member = |number: u32| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(format!("{}\n", line(number)).as_bytes()).expect("written");
            encoder.finish().expect("ended")
        };
        assert_eq!(targets(&[member(1), member(2)].concat()).0, ["/1", "/2"]);
    }

    #[test]
    fn zstandard_is_read() {
        let text = format!("{}\n{}\n", line(1), line(2));
        let packed =
            ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Uncompressed);
        assert_eq!(targets(&packed).0, ["/1", "/2"]);
    }

    #[test]
    fn a_damaged_gzip_is_an_error() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&[0x1f, 0x8b, 8, 0, 1, 2, 3]).expect("written");
        assert!(Reader::open(file.path()).expect("opened").next(|_| ()).is_err());
    }

    #[test]
    fn an_empty_log_has_no_lines() {
        assert_eq!(targets(b""), (vec![], 0, Rejects::default()));
    }

    fn line(number: u32) -> String {
        LINE.replace("NUMBER", &number.to_string())
    }

    proptest! {
        #[test]
        fn every_line_is_counted_once(kinds in proptest::collection::vec(0usize..4, 0..400), ends in any::<bool>()) {
            let one = |(number, kind): (usize, &usize)| match kind {
                0 => line(number as u32),
                1 => "y".repeat(LINE_BYTES_MAX + number),
                2 => String::new(),
                _ => format!("no request {}", "z".repeat(number * 7)),
            };
            let kinds: Vec<usize> = kinds.iter().enumerate().map(|(at, kind)| if *kind == 1 && at % 9 > 0 { 0 } else { *kind }).collect();
            let lines: Vec<String> = kinds.iter().enumerate().map(one).collect();
            let mut text = lines.join("\n");
            if ends && !lines.is_empty() {
                text.push('\n');
            }
            let (found, counted, rejects) = targets(text.as_bytes());
            // An empty last line without an end is no line.
            let expected = lines.len() - usize::from(!ends && lines.last().is_some_and(String::is_empty));
            prop_assert_eq!(counted, expected as u64);
            prop_assert_eq!(found.len() as u64 + rejects.count(), counted);
            let wanted: Vec<String> = kinds.iter().enumerate().filter(|(_, kind)| **kind == 0).map(|(at, _)| format!("/{at}")).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
