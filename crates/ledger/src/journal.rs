//! The rollback journal beside a ledger, which SQLite carries out before it reads: it puts pages back into the file, and removes the file
//! that the journal's end names.
//!
//! Ours are written ahead (`-wal`). A journal is there for the moment in which a writer opens a file that was merged or copied, and stays
//! after a kill in that moment. It names no file, as nothing is attached.

use crate::lock::is_held;
use crate::{Error, schema};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The end of a journal that names a file (sqlite.org/fileformat2.html, 3: the magic of a journal's header; pager.c, `readSuperJournal`).
const NAMES_A_FILE: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Refuses a journal that is not a writer's own: reading writes nothing. A writer, who holds the lock, refuses one that names a file.
pub fn check(ledger: &Path) -> Result<(), Error> {
    let journal = schema::journal_of(ledger);
    let Ok(found) = journal.symlink_metadata() else { return Ok(()) };
    if found.is_file() && found.len() == 0 {
        return Ok(());
    }
    // A writer may have taken it away meanwhile.
    let names_a_file = || names_a_file(&journal).unwrap_or_else(|error| error.kind() != ErrorKind::NotFound);
    let is_ours = found.is_file() && !names_a_file();
    if is_ours && is_held(ledger) { Ok(()) } else { Err(Error::Journal { path: ledger.into(), journal }) }
}

fn names_a_file(journal: &Path) -> io::Result<bool> {
    let mut file = File::open(journal)?;
    let length = file.metadata()?.len();
    let mut end = [0; NAMES_A_FILE.len()];
    if length < end.len() as u64 {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(length - end.len() as u64))?;
    file.read_exact(&mut end)?;
    Ok(end == NAMES_A_FILE)
}
