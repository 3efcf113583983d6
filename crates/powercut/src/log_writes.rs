//! A log as dm-log-writes would have written it, for the tools that read those (`replay-log` of fstests).
//!
//! The format is the kernel's, drivers/md/dm-log-writes.c: a super block, then entries of a sector each, those of writes followed
//! by what was written. As there, writes stand where a flush made them durable, so they go without the order in which they came:
//! what one flush covers stands before the flush, in the order of completion. What was never flushed stands at the end. Zeros
//! are writes. The measured part begins at the mark [`BEGIN`].

use crate::write_log::{Error, Event, Operation, Reader, Request};
use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::LazyLock;

/// The mark where the measured part begins.
pub const BEGIN: &str = "begin";

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const SECTOR_BYTES: u64 = 512;

/// Flags of entries.
const FLUSH: u64 = 1;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// A write of zeros has so many at most, as whoever reads the log holds an entry in memory.
static ZEROS: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; 1 << 20]);

/// Why a log can't be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It is none, or damaged.
    #[error(transparent)]
    Log(#[from] Error),
    /// The file can't be written.
    #[error("can't write it")]
    Write(#[from] io::Error),
}

/// Exports a log; gives the number of entries.
///
/// # Errors
/// When the log is damaged or the file can't be written.
pub fn export(log: &[u8], out: impl Write + Seek) -> Result<u64, ExportError> {
    let mut export = Export { out, entries: 0 };
    export.sector(&[])?;
    // Requests that are not done, and with flushes the writes that they cover.
    let mut under_way: HashMap<Request, (Operation, Vec<Operation>)> = HashMap::new();
    let mut completed = Vec::new();
    for event in Reader::new(log)? {
        match event? {
            Event::Submitted { request, operation, .. } => {
                let covered = if operation == Operation::Flush { std::mem::take(&mut completed) } else { Vec::new() };
                under_way.insert(request, (operation, covered));
            }
            Event::Done { request, .. } => match under_way.remove(&request) {
                Some((Operation::Flush, covered)) => {
                    covered.iter().try_for_each(|operation| export.operation(operation))?;
                    export.entry(0, 0, FLUSH, &[])?;
                }
                Some((operation, _)) => completed.push(operation),
                None => {}
            },
            Event::Begin { .. } => {
                std::mem::take(&mut completed).iter().try_for_each(|operation| export.operation(operation))?;
                export.entry(0, 0, MARK, BEGIN.as_bytes())?;
            }
            // A reader of the format takes a flush for one of everything before it, as the loop device did.
            Event::Only { .. } => {}
        }
    }
    let mut left: Vec<_> = under_way.into_iter().collect();
    left.sort_unstable_by_key(|(request, _)| *request);
    let covered = left.iter().flat_map(|(_, (_, covered))| covered);
    covered.chain(&completed).try_for_each(|operation| export.operation(operation))?;
    export.finish()
}

struct Export<W> {
    out: W,
    entries: u64,
}

impl<W: Write + Seek> Export<W> {
    /// These bytes, and zeros to the sector's end.
    fn sector(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.write_all(&ZEROS[..SECTOR_BYTES as usize - bytes.len()])
    }

    fn entry(&mut self, sector: u64, sectors: u64, flags: u64, mark: &[u8]) -> io::Result<()> {
        self.entries += 1;
        let head = [sector, sectors, flags, mark.len() as u64].map(u64::to_le_bytes).concat();
        self.sector(&[&head, mark].concat())
    }

    fn operation(&mut self, operation: &Operation) -> io::Result<()> {
        match *operation {
            Operation::Write { offset, data } => self.write(offset, data),
            Operation::Zero { offset, length } => {
                let starts = (offset..offset + length).step_by(ZEROS.len());
                let zeros = |start: u64| &ZEROS[..(offset + length - start).min(ZEROS.len() as u64) as usize];
                starts.map(|start| (start, zeros(start))).try_for_each(|(start, zeros)| self.write(start, zeros))
            }
            Operation::Discard { offset, length } => {
                self.entry(offset / SECTOR_BYTES, length / SECTOR_BYTES, DISCARD, &[])
            }
            Operation::Flush => Ok(()),
        }
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.entry(offset / SECTOR_BYTES, data.len() as u64 / SECTOR_BYTES, 0, &[])?;
        self.out.write_all(data)
    }

    /// The super block, now that the entries are counted.
    fn finish(mut self) -> Result<u64, ExportError> {
        self.out.seek(SeekFrom::Start(0))?;
        let numbers = [MAGIC, VERSION, self.entries].map(u64::to_le_bytes).concat();
        self.out.write_all(&numbers)?;
        self.out.write_all(&(SECTOR_BYTES as u32).to_le_bytes())?;
        self.out.flush()?;
        Ok(self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_log::Writer;
    use proptest::prelude::*;
    use std::io::Cursor;

    const DISK_BYTES: u64 = 64 << 10;

    /// An entry as somebody reads it who knows fstests' src/log-writes/log-writes.h alone.
    #[derive(Debug, PartialEq)]
    struct Entry {
        at: u64,
        bytes: u64,
        flags: u64,
        data: Vec<u8>,
    }

    fn read(file: &[u8]) -> Vec<Entry> {
        let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
        assert_eq!((number(0), number(8)), (0x6a_7366_7773_6872, 1));
        let sector = u32::from_le_bytes(file[24..28].try_into().expect("four bytes")) as usize;
        let mut at = sector;
        let entry = |_| {
            let (flags, bytes) = (number(at + 16), number(at + 8) * sector as u64);
            let data = match flags {
                8 => at + 32..at + 32 + number(at + 24) as usize,
                4 => at..at,
                _ => at + sector..at + sector + bytes as usize,
            };
            assert!(flags == 8 || file[at + 32] == 0, "what replay-log takes for malformed");
            assert!(flags != 0 || bytes != 0, "what replay-log takes for malformed");
            let entry = Entry { at: number(at) * sector as u64, bytes, flags, data: file[data].to_vec() };
            at += sector + if flags == 4 { 0 } else { bytes as usize };
            entry
        };
        let entries = (0..number(16)).map(entry).collect();
        assert_eq!(at, file.len());
        entries
    }

    fn exported(events: &[Event]) -> Vec<Entry> {
        let mut log = Vec::new();
        let mut writer = Writer::new(&mut log, DISK_BYTES).expect("memory");
        events.iter().for_each(|event| writer.add(event).expect("memory"));
        let mut file = Cursor::new(Vec::new());
        let entries = export(&log, &mut file).expect("a log");
        let read = read(file.get_ref());
        assert_eq!(read.len() as u64, entries);
        read
    }

    fn submitted(request: u64, operation: Operation) -> Event {
        Event::Submitted { request, at_nanoseconds: 0, operation }
    }

    fn done(request: u64) -> Event<'static> {
        Event::Done { request, at_nanoseconds: 0 }
    }

    #[test]
    fn a_flush_stands_behind_what_it_covers_and_nothing_else() {
        let write = |request, byte: &'static [u8; 512]| {
            submitted(request, Operation::Write { offset: request * 512, data: byte })
        };
        let events = [
            write(0, &[1; 512]),
            done(0),
            Event::Begin { at_nanoseconds: 0 },
            write(1, &[2; 512]),
            write(2, &[3; 512]),
            done(2),
            submitted(3, Operation::Flush),
            done(1),
            done(3),
            submitted(4, Operation::Discard { offset: 4096, length: 8192 }),
            done(4),
        ];
        let of = |at, data: &[u8]| Entry { at, bytes: 512, flags: 0, data: data.to_vec() };
        let bare = |at, bytes, flags, data: &[u8]| Entry { at, bytes, flags, data: data.to_vec() };
        let expected = [
            of(0, &[1; 512]),
            bare(0, 0, 8, b"begin"),
            of(1024, &[3; 512]),
            bare(0, 0, 1, &[]),
            of(512, &[2; 512]),
            bare(4096, 8192, 4, &[]),
        ];
        assert_eq!(exported(&events), expected);
    }

    proptest! {
        #[test]
        fn what_the_disk_held_is_held_by_whoever_replays_it(
            steps in proptest::collection::vec((0u8..5, 0u64..120, 1u64..8, 1u8..), 0..60),
        ) {
            let mut disk = vec![0; DISK_BYTES as usize];
            let data: Vec<Vec<u8>> = steps.iter().map(|step| vec![step.3; step.2 as usize * 512]).collect();
            let mut events = Vec::new();
            for (request, ((kind, sector, sectors, byte), data)) in steps.iter().zip(&data).enumerate() {
                let (offset, length) = (sector * 512, sectors * 512);
                let operation = match kind {
                    0 => Operation::Flush,
                    1 => Operation::Zero { offset, length },
                    2 => Operation::Discard { offset, length },
                    _ => Operation::Write { offset, data },
                };
                if *kind > 0 {
                    disk[offset as usize..(offset + length) as usize].fill(if *kind > 2 { *byte } else { 0 });
                }
                events.extend([submitted(request as u64, operation), done(request as u64)]);
            }
            let mut replayed = vec![0; DISK_BYTES as usize];
            for entry in exported(&events) {
                let range = entry.at as usize..(entry.at + entry.bytes) as usize;
                match entry.flags {
                    4 => replayed[range].fill(0),
                    _ => replayed[range].copy_from_slice(&entry.data),
                }
            }
            prop_assert!(replayed == disk);
        }
    }
}
