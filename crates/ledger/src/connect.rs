//! Connections to a ledger that is only read: by SQLite's rules for a file that is written meanwhile, or as it lies.

use rusqlite::{Connection, OpenFlags};
use std::fmt::Write as _;
use std::path::Path;

/// A connection that has seen the file's first page.
pub fn connected(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Reads the ledger without side files, by a file URI. Each byte is escaped: a name may hold bytes that are no text, and a path that begins with
/// two slashes would name a machine.
pub fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        write!(uri, "%{byte:02X}").expect("a string takes all");
    }
    uri += "?immutable=1";
    Connection::open_with_flags(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}
