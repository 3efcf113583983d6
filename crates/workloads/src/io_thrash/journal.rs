//! The before-image journal: one file that all streams append to under a lock, and its check.
//!
//! | bytes of a record | what |
//! | --- | --- |
//! | 0..8 | sequence number, from 0 |
//! | 8..16 | number of the block |
//! | 16..20 | CRC-32 of the image |
//! | 20..24 | CRC-32 of the header so far |
//! | 24.. | the block as it was |

use load::stamp;
use load::workload::Error;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Bytes of a record before its image.
pub const HEADER_BYTES: usize = 24;

/// A journal that is being written.
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Records so far. The lock is held while a record is written, so that the file's order is the sequence's.
    records: Mutex<u64>,
}

impl Journal {
    /// A new one.
    pub fn create(path: &Path) -> Result<Journal, Error> {
        let file = File::create_new(path).map_err(Error::doing("create", path))?;
        Ok(Journal { file, path: path.into(), records: Mutex::new(0) })
    }

    /// Appends `record`, whose image stands after room for the header.
    pub fn append(&self, record: &mut [u8], block: u64) -> Result<(), Error> {
        let image_checksum = crc32fast::hash(&record[HEADER_BYTES..]);
        let mut records = self.records.lock().expect("no stream panics while it holds the lock");
        record[..8].copy_from_slice(&records.to_le_bytes());
        record[8..16].copy_from_slice(&block.to_le_bytes());
        record[16..20].copy_from_slice(&image_checksum.to_le_bytes());
        let header_checksum = crc32fast::hash(&record[..20]);
        record[20..HEADER_BYTES].copy_from_slice(&header_checksum.to_le_bytes());
        let offset = *records * record.len() as u64;
        self.file.write_all_at(record, offset).map_err(Error::doing("append to", &self.path))?;
        *records += 1;
        Ok(())
    }

    /// Makes all records durable.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(Error::doing("flush", &self.path))
    }
}

/// Reads a whole journal: every record intact and in order, each image the state that the record before it on the same
/// block left, and as many records a block as `serials` says it was updated.
pub fn check(path: &Path, block_size: usize, serials: &[u64], interrupted: &AtomicBool) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::doing("open", path))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut record = vec![0; HEADER_BYTES + block_size];
    let mut seen = vec![0u64; serials.len()];
    let records: u64 = serials.iter().sum();
    for number in 0..records {
        Error::if_interrupted(interrupted)?;
        let wrong = |expected: String, found: String| {
            Error::wrong_data(format!("record {number} of {}", path.display()), expected, found)
        };
        reader.read_exact(&mut record).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => wrong(format!("{records} records"), "the end of the file".into()),
            _ => Error::file("read", path, source),
        })?;
        let block = check_header(&record, number).map_err(|damage| wrong(damage.expected, damage.found))?;
        let Some(count) = seen.get_mut(block as usize) else {
            return Err(wrong(format!("a block below {}", serials.len()), format!("block {block}")));
        };
        let serial = stamp::serial_of(&record[HEADER_BYTES..], block).map_err(|d| wrong(d.expected, d.found))?;
        if serial != *count {
            return Err(wrong(format!("block {block} after {count} updates"), format!("after {serial}")));
        }
        *count += 1;
    }
    match (0..).zip(seen.iter().zip(serials)).find(|(_, (seen, serial))| seen != serial) {
        None => Ok(()),
        Some((block, (seen, serial))) => {
            let place = format!("{}, block {block}", path.display());
            Err(Error::wrong_data(place, format!("{serial} records"), seen.to_string()))
        }
    }
}

fn check_header(record: &[u8], number: u64) -> Result<u64, stamp::Damage> {
    let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    let checksum = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
    let damage = |expected: String, found: String| Err(stamp::Damage { expected, found });
    if checksum(20) != crc32fast::hash(&record[..20]) {
        return damage(format!("header checksum {:08x}", checksum(20)), "another".into());
    }
    if word(0) != number {
        return damage(format!("sequence number {number}"), word(0).to_string());
    }
    if checksum(16) != crc32fast::hash(&record[HEADER_BYTES..]) {
        return damage(format!("image checksum {:08x}", checksum(16)), "another".into());
    }
    Ok(word(8))
}
