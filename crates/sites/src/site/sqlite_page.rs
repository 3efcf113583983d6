//! The site `sqlite-page`: one PHP page that makes 41 statements on `SQLite` for each request, as a comparison of disk and
//! memory measured it in 2006. What its rows held is not known: a name of 32 letters and a body of 200.

use super::write;
use load::http_client::{Status, Task};
use load::workload::{Context, Error};
use observe::durability::{Class, Durability};
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::path::PathBuf;

/// `sqlite_journal`.
pub const SQLITE_JOURNAL: Setting = Setting {
    name: "sqlite_journal",
    kind: Is::Choice(&["delete", "wal"]),
    default: Some("delete"),
    help: "Of the site `sqlite-page`: SQLite's rollback journal, or its write-ahead log.",
};
/// `sqlite_synchronous`.
pub const SQLITE_SYNCHRONOUS: Setting = Setting {
    name: "sqlite_synchronous",
    kind: Is::Choice(&["full", "normal", "off"]),
    default: Some("full"),
    help: "Of the site `sqlite-page`: when SQLite flushes.",
};
/// `sqlite_transaction`.
pub const SQLITE_TRANSACTION: Setting = Setting {
    name: "sqlite_transaction",
    kind: Is::Boolean,
    default: Some("false"),
    help: "Of the site `sqlite-page`: whether a request is one transaction; else each of its 21 writes is.",
};
/// `sqlite_busy_timeout`.
pub const SQLITE_BUSY_TIMEOUT: Setting = Setting {
    name: "sqlite_busy_timeout",
    kind: Is::Seconds { min: 0.0, max: 1e6 },
    default: Some("60s"),
    help: "Of the site `sqlite-page`: how long a request waits for another's lock; then its answer is an error.",
};

const PAGE: &str = include_str!("sqlite_page/index.php");

/// What a page says that did all its work.
const DONE: &[u8] = b"41 statements";

/// Beside the document root: nobody fetches it.
const DATABASE: &str = "page.sqlite";

#[derive(Debug, Clone, Deserialize)]
pub struct SqlitePage {
    sqlite_journal: String,
    sqlite_synchronous: String,
    sqlite_transaction: bool,
    #[serde(rename = "sqlite_busy_timeout")]
    busy_timeout_seconds: f64,
}

impl SqlitePage {
    pub fn words(&self) -> String {
        format!("SQLite page 1, {self:?}")
    }

    pub fn durability(&self) -> Durability {
        match (self.sqlite_synchronous.as_str(), self.sqlite_journal.as_str()) {
            ("off", _) => Durability::because(Class::MayCorrupt, "sqlite_synchronous = off: SQLite never flushes"),
            ("normal", "wal") => Durability::because(
                Class::LosesRecent,
                "sqlite_synchronous = normal with a write-ahead log: commits are flushed at checkpoints only",
            ),
            _ => Durability::full(),
        }
    }

    pub fn make(&self, context: &Context) -> Result<(), Error> {
        // The journal's kind stays in the file.
        let database = Connection::open(database(context)).map_err(refused("make the database"))?;
        let pragma = database.pragma_update(None, "journal_mode", &self.sqlite_journal);
        pragma.map_err(refused("choose the journal"))?;
        let busy_timeout_milliseconds = (self.busy_timeout_seconds * 1e3) as u64;
        let page = PAGE
            .replace("$DATABASE", DATABASE)
            .replace("$SYNCHRONOUS", &self.sqlite_synchronous)
            .replace("'$TRANSACTION'", &self.sqlite_transaction.to_string())
            .replace("'$BUSY_TIMEOUT'", &busy_timeout_milliseconds.to_string());
        write(context, "index.php", page)
    }

    /// Whole, and empty: each request ends with a DELETE.
    pub fn verify(&self, context: &Context) -> Result<(), Error> {
        let path = database(context);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let database = Connection::open_with_flags(&path, flags).map_err(refused("open the database"))?;
        let said: String = database
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .map_err(refused("check the database"))?;
        let rows: i64 =
            database.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).map_err(refused("count rows"))?;
        if said == "ok" && rows == 0 {
            return Ok(());
        }
        let found = format!("{said}, {rows} rows");
        Err(Error::WrongData { place: path.display().to_string(), expected: "ok, 0 rows".into(), found })
    }
}

fn database(context: &Context) -> PathBuf {
    context.data_folder.join(DATABASE)
}

fn refused(action: &'static str) -> impl Fn(rusqlite::Error) -> Error {
    move |source| Error::Engine {
        engine: load::engines::sqlite::ENGINE.name.into(),
        action: action.into(),
        source: source.into(),
    }
}

/// A GET, but not to be sent twice: it writes.
pub fn page() -> (String, Task) {
    ("/index.php".into(), Task { status: Status::Class(2), body_text: Some(DONE.into()), ..Task::default() })
}
