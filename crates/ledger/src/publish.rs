//! A copy of a ledger where others read it: whole at any time, also on a network's filesystem and while the ledger is written.

use crate::Error;
use crate::schema::{beside, remove, unreadable};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::path::Path;

/// Copies what a ledger holds now; the copy appears under its name at once, with no side files. One process at a time may do so.
///
/// # Errors
/// When the ledger can't be read or the copy can't be written.
pub fn publish(ledger: &Path, copy: &Path) -> Result<(), Error> {
    let unfinished = beside(copy, ".new");
    let failed = |source| Error::Open { path: copy.into(), source };
    remove(&unfinished).map_err(failed)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(ledger, flags).map_err(|error| unreadable(ledger, error))?;
    // As it is: a name that is no UTF-8 is another one as text.
    let name = ToSqlOutput::Borrowed(ValueRef::Text(unfinished.as_os_str().as_encoded_bytes()));
    let uncopied = |source| Error::Sqlite { action: "copy", path: ledger.into(), source };
    connection.execute("VACUUM INTO ?1", [name]).map_err(uncopied)?;
    File::open(&unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
    std::fs::rename(&unfinished, copy).map_err(failed)
}
