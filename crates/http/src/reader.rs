//! An access log line by line: plain, gzip or Zstandard, of any length, in a fixed amount of memory.

mod zstandard;

use crate::access_log::{self, Entry, Reject};
use memchr::memchr;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use zstandard::Zstandard;

/// The longest line that is read: a request line and two headers of 8 KiB, and room to spare.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 4 * LINE_BYTES_MAX;

/// Line numbers that are kept of each kind of reject.
const KEPT: usize = 3;

/// A log has more text than it may have.
#[derive(Debug, thiserror::Error)]
#[error("it has more bytes of text than `log_bytes_max` allows")]
pub struct TooLong;

/// A log being read.
pub struct Reader {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What of the buffer has been read and not yet looked at.
    from: usize,
    to: usize,
    /// Bytes of text that may still come.
    left: u64,
    lines: u64,
    rejects: Rejects,
}

/// A log's text; gzip and Zstandard are known by their first bytes, whatever the name.
///
/// # Errors
/// When it can't be opened, or is no regular file.
fn open_text(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    // Looked at before it is opened: to open a FIFO is to wait for its writer.
    if !path.metadata()?.is_file() {
        let why = "it is no regular file; a log is read more than once, so write it to a file first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    (&file).take(10).read_to_end(&mut magic)?;
    file.rewind()?;
    let other = match magic[..] {
        [0x1f, 0x8b, ..] => return Ok(Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::new(file)))),
        // pzstd begins with a frame to be skipped.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            return Ok(Box::new(Zstandard::new(io::BufReader::new(file))));
        }
        // A level, and the beginning of its first block: π.
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y'] => "bzip2",
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "xz",
        _ => return Ok(Box::new(file)),
    };
    let why = format!("it is compressed by {other}, of which nothing is read here: unpack it, as by `{other} -dk`");
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// The whole of a log's text; bytes that are no UTF-8 are replaced.
///
/// # Errors
/// When it can't be opened or read, or has more bytes than these.
pub fn whole_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open_text(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(TooLong));
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// So many lines from a log's beginning, as they are.
///
/// # Errors
/// When it can't be opened or read, or they have more bytes than these.
pub fn first_lines(path: &Path, lines: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut text = io::BufReader::new(open_text(path)?.take(bytes_max.saturating_add(1)));
    let mut bytes = Vec::new();
    for _ in 0..lines {
        text.read_until(b'\n', &mut bytes)?;
        if bytes.len() as u64 > bytes_max {
            return Err(io::Error::other(TooLong));
        }
    }
    Ok(bytes)
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
    pub fn count(&self) -> u64 {
        self.0.values().map(|rejected| rejected.count).sum()
    }

    /// A sentence part a kind: `2 lines without a status from 100 to 599 (lines 7, 9)`.
    pub fn words(&self) -> Vec<String> {
        let of_kind = |(reject, rejected): (&Reject, &Rejected)| {
            let numbers: Vec<String> = rejected.first.iter().map(u64::to_string).collect();
            let more = if rejected.count > KEPT as u64 { ", …" } else { "" };
            let plural = if rejected.count == 1 { "" } else { "s" };
            let (count, numbers) = (rejected.count, numbers.join(", "));
            format!("{count} line{plural} {reject} (line{plural} {numbers}{more})")
        };
        self.0.iter().map(of_kind).collect()
    }
}

impl Reader {
    /// Over a plain text that was read before.
    pub fn of(text: Arc<[u8]>) -> Reader {
        Reader::over(Box::new(io::Cursor::new(text)), u64::MAX)
    }

    /// Opens a log of at most so many bytes of text; gzip and Zstandard are known by their first bytes, whatever the name.
    ///
    /// # Errors
    /// When it can't be opened, or is no regular file: those have an end, and can be read again.
    pub fn open(path: &Path, bytes_max: u64) -> io::Result<Reader> {
        Ok(Reader::over(open_text(path)?, bytes_max))
    }

    fn over(source: Box<dyn Read + Send>, bytes_max: u64) -> Reader {
        let (buffer, rejects) = (vec![0; BUFFER_BYTES], Rejects::default());
        Reader { source, buffer, from: 0, to: 0, left: bytes_max, lines: 0, rejects }
    }

    /// Gives the next line that is a request to `take`; none at the log's end. Others are counted.
    ///
    /// # Errors
    /// When the file can't be read on, is compressed and damaged, or is longer than it may be.
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
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines so far that are no requests.
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
                    let Some(left) = self.left.checked_sub(read as u64) else {
                        return Err(io::Error::new(io::ErrorKind::FileTooLarge, TooLong));
                    };
                    self.left = left;
                    self.to += read;
                    return Ok(read);
                }
            }
        }
    }
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
        let mut reader = Reader::open(file.path(), u64::MAX).expect("opened");
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
    fn a_log_that_never_ends_is_an_error() {
        let refused = |path: &Path| Reader::open(path, u64::MAX).err().expect("refused").to_string();
        assert!(refused(Path::new("/dev/zero")).contains("no regular file"));
        assert!(refused(Path::new("/")).contains("no regular file"));
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
        assert!(refused(&fifo).contains("no regular file"));
        // 3 MB of text in a few KB.
        let file = folder.path().join("log.gz");
        std::fs::write(&file, gzip(&format!("{}\n", line(1)).repeat(50_000))).expect("written");
        let read = |bytes_max| {
            let mut reader = Reader::open(&file, bytes_max).expect("opened");
            while reader.next(|_| ())?.is_some() {}
            io::Result::Ok(reader.lines())
        };
        assert_eq!(read(50_000 * (line(1).len() as u64 + 1)).expect("read"), 50_000);
        assert!(read(1 << 20).expect_err("too long").to_string().contains("more bytes of text than `log_bytes_max`"));
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("written");
        encoder.finish().expect("ended")
    }

    /// As logrotate's `compresscmd` may make them: each line was told to have no time. Magic numbers: the file formats of bzip2 and of xz 1.1.0.
    #[test]
    fn another_compression_is_refused_by_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("access.log.2");
        let said = |begin: &[u8]| {
            std::fs::write(&file, begin).expect("written");
            Reader::open(&file, u64::MAX).err().map(|error| error.to_string())
        };
        let bzip2 = said(b"BZh91AY&SY\x2c\xde").expect("refused");
        assert!(bzip2.contains("compressed by bzip2") && bzip2.contains("`bzip2 -dk`"), "{bzip2}");
        assert!(said(b"\xfd7zXZ\0\0\x04\xe6\xd6").is_some_and(|said| said.contains("`xz -dk`")));
        assert_eq!((said(b"BZh.example 10.0.0.1 - -"), said(b"BZh"), said(b"")), (None, None, None));
    }

    #[test]
    fn gzip_in_two_members_is_one_log() {
        let member = |number: u32| gzip(&format!("{}\n", line(number)));
        assert_eq!(targets(&[member(1), member(2)].concat()).0, ["/1", "/2"]);
    }

    fn zstandard(text: &str) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Uncompressed)
    }

    #[test]
    fn zstandard_is_read() {
        assert_eq!(targets(&zstandard(&format!("{}\n{}\n", line(1), line(2)))).0, ["/1", "/2"]);
    }

    #[test]
    fn zstandard_in_two_frames_is_one_log() {
        // RFC 8878, section 3.1.2: a frame to be skipped, here of three bytes.
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let frame = |number: u32| zstandard(&format!("{}\n", line(number)));
        assert_eq!(targets(&[skipped.into(), frame(1), skipped.into(), frame(2)].concat()).0, ["/1", "/2"]);
    }

    /// What was read before the error, if there is one.
    fn read(bytes: &[u8]) -> (usize, io::Result<()>) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        let mut reader = Reader::open(file.path(), u64::MAX).expect("opened");
        let mut count = 0;
        loop {
            match reader.next(|_| ()) {
                Ok(Some(())) => count += 1,
                Ok(None) => return (count, Ok(())),
                Err(error) => return (count, Err(error)),
            }
        }
    }

    #[test]
    fn a_damaged_log_is_an_error() {
        let mut packed = zstandard(&format!("{}\n", line(1)));
        let middle = packed.len() / 2;
        packed[middle] ^= 1;
        assert!(read(&packed).1.is_err(), "the checksum of its frame is wrong");
        assert!(read(&[0x1f, 0x8b, 8, 0, 1, 2, 3]).1.is_err());
        assert!(read(&[0x28, 0xb5, 0x2f, 0xfd, 0xff]).1.is_err());
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
        fn whatever_a_log_holds_each_line_is_read_or_counted_with_its_number(
            pieces in proptest::collection::vec((0usize..7, 0usize..LINE_BYTES_MAX, proptest::collection::vec(any::<u8>(), 0..200)), 0..60),
            ends in any::<bool>(),
        ) {
            let piece = |(number, (kind, length, bytes)): (usize, &(usize, usize, Vec<u8>))| match kind {
                0..=2 => line(number as u32).into_bytes(),
                3 => line(number as u32).into_bytes()[..length % (LINE.len() - 6)].to_vec(),
                4 => bytes.clone(),
                // Around the limit, and far above it.
                5 => vec![b'y'; LINE_BYTES_MAX - 100 + length % 200],
                _ => vec![b'z'; if number % 8 == 0 { (1 << 20) + length } else { 0 }],
            };
            // Text comes first, lest random bytes look like gzip.
            let mut text = b"first\n".to_vec();
            text.extend(pieces.iter().enumerate().map(piece).collect::<Vec<_>>().join(&b'\n'));
            if ends {
                text.push(b'\n');
            }
            let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            // An empty last line without an end is no line.
            lines.pop_if(|last| last.is_empty());
            let (mut found, mut rejects) = (Vec::new(), Rejects::default());
            for (line, number) in lines.iter().zip(1..) {
                let parsed = if line.len() > LINE_BYTES_MAX { Err(Reject::TooLong) } else { access_log::parse(line) };
                match parsed {
                    Ok(entry) => found.push(String::from_utf8_lossy(&entry.target).into_owned()),
                    Err(reject) => rejects.add(reject, number),
                }
            }
            prop_assert_eq!(targets(&text), (found, lines.len() as u64, rejects));
        }

        #[test]
        fn a_compressed_log_that_was_cut_off_is_an_error(lines in 1u32..200, is_gzip in any::<bool>(), cut in any::<prop::sample::Index>()) {
            let text: String = (0..lines).map(|number| line(number) + "\n").collect();
            let packed = if is_gzip { gzip(&text) } else { zstandard(&text) };
            // Shorter, and it is not known what it was.
            let cut = 4 + cut.index(packed.len() - 4);
            let (count, ended) = read(&packed[..cut]);
            prop_assert!(count <= lines as usize && ended.is_err());
        }

        #[test]
        fn a_damaged_compressed_log_is_no_panic(is_gzip in any::<bool>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let text: String = (0..50).map(|number| line(number) + "\n").collect();
            let mut packed = if is_gzip { gzip(&text) } else { zstandard(&text) };
            let at = at.index(packed.len());
            packed[at] = byte;
            let _ = read(&packed);
        }
    }
}
