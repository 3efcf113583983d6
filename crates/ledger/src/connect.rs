//! Connections to a ledger that is only read: by SQLite's rules for a file that is written meanwhile, or as it lies.

use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// A connection that has seen the file's first page.
pub fn connected(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Reads the ledger without side files, by a file URI.
pub fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let escaped: String = path.to_string_lossy().chars().flat_map(escape).collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
}

fn escape(character: char) -> Vec<char> {
    match character {
        '%' | '?' | '#' => format!("%{:02X}", character as u32).chars().collect(),
        other => vec![other],
    }
}
