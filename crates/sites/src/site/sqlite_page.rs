//! The site `sqlite-page`: one PHP page that makes 41 statements on `SQLite` for each request, as a comparison of disk and
//! memory measured it in 2006. What its rows held is not known: a name of 32 letters and a body of 200.

use super::write;
use load::http_client::{Status, Task};
use load::sql::pragmas;
use load::workload::{Context, Error};
use observe::durability::Durability;
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// `sqlite_journal`.
pub const SQLITE_JOURNAL: Setting = Setting::new("sqlite_journal", Is::Choice(&["delete", "wal"]), "delete")
    .help("Of the site `sqlite-page`: SQLite's rollback journal, or its write-ahead log.");
/// `sqlite_synchronous`.
pub const SQLITE_SYNCHRONOUS: Setting =
    Setting::new("sqlite_synchronous", Is::Choice(&["full", "normal", "off"]), "full")
        .help("Of the site `sqlite-page`: when SQLite flushes.");
/// `sqlite_transaction`.
pub const SQLITE_TRANSACTION: Setting = Setting::new("sqlite_transaction", Is::Boolean, "false")
    .help("Of the site `sqlite-page`: whether a request is one transaction; else each of its 21 writes is.");
/// `sqlite_busy_timeout`.
pub const SQLITE_BUSY_TIMEOUT: Setting = Setting::new("sqlite_busy_timeout", Is::Seconds { min: 0.0, max: 1e6 }, "60s")
    .help("Of the site `sqlite-page`: how long a request waits for another's lock; then its answer is an error.");

const PAGE: &str = include_str!("sqlite_page/index.php");

/// What a page says that did all its work.
const DONE: &[u8] = b"41 statements";

/// Beside the document root: nobody fetches it.
const DATABASE: &str = "page.sqlite";

/// Has a byte for each row that a page inserted which was refused later, as by another's lock.
const LEFT: &str = "page.left";

/// Rows that a page inserts.
const ROWS: u64 = 10;

#[derive(Debug, Clone, Deserialize)]
pub struct SqlitePage {
    sqlite_journal: String,
    sqlite_synchronous: String,
    sqlite_transaction: bool,
    #[serde(rename = "sqlite_busy_timeout")]
    busy_timeout_seconds: f64,
}

/// Where Debian's PHP has its extensions, in a folder for each version of their interface.
const EXTENSIONS: &str = "/usr/lib/php";

/// What the page needs of PHP, if it is not here.
pub fn missing() -> Option<String> {
    missing_in(Path::new(EXTENSIONS))
}

fn missing_in(extensions: &Path) -> Option<String> {
    let folders = extensions.read_dir().into_iter().flatten().flatten();
    let has_sqlite = folders.map(|folder| folder.path().join("sqlite3.so")).any(|extension| extension.is_file());
    (!has_sqlite).then(|| "PHP's extension SQLite3 is not installed; install the package php-sqlite3".to_string())
}

impl SqlitePage {
    pub fn words(&self) -> String {
        format!("SQLite page 1, {self:?}")
    }

    pub fn durability(&self) -> Durability {
        pragmas::durability(&self.sqlite_journal, &self.sqlite_synchronous)
    }

    pub fn make(&self, context: &Context) -> Result<(), Error> {
        // The journal's kind stays in the file.
        let database = Connection::open(database(context)).map_err(refused("make the database"))?;
        let pragma = database.pragma_update(None, "journal_mode", &self.sqlite_journal);
        pragma.map_err(refused("choose the journal"))?;
        write(context, "index.php", self.page_text())
    }

    fn page_text(&self) -> String {
        let busy_timeout_milliseconds = (self.busy_timeout_seconds * 1e3) as u64;
        PAGE.replace("$DATABASE", DATABASE)
            .replace("$LEFT", LEFT)
            .replace("$SYNCHRONOUS", &self.sqlite_synchronous)
            .replace("'$TRANSACTION'", &self.sqlite_transaction.to_string())
            .replace("'$BUSY_TIMEOUT'", &busy_timeout_milliseconds.to_string())
    }

    /// Whole, and empty but for what refused pages left, and so many that gave no answer: a request ends with a DELETE.
    pub fn verify(&self, unanswered: u64, context: &Context) -> Result<(), Error> {
        check(&database(context), &context.data_folder.join(LEFT), unanswered)
    }
}

/// Of those that gave no answer in time some are still at work, or their server ended them amid it.
fn check(path: &Path, left: &Path, unanswered: u64) -> Result<(), Error> {
    let database =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(refused("open the database"))?;
    let said: String =
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(refused("check the database"))?;
    let rows: i64 =
        database.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).map_err(refused("count rows"))?;
    let of_refused = match std::fs::metadata(left) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(source) => return Err(Error::file("look at", left, source)),
    };
    let rows_max = of_refused + unanswered * ROWS;
    if said == "ok" && u64::try_from(rows).is_ok_and(|rows| rows <= rows_max) {
        return Ok(());
    }
    let expected = if rows_max > 0 { format!("ok, at most {rows_max} rows") } else { "ok, 0 rows".into() };
    Err(Error::wrong_data(path.display().to_string(), expected, format!("{said}, {rows} rows")))
}

fn database(context: &Context) -> PathBuf {
    context.data_folder.join(DATABASE)
}

fn refused(action: &'static str) -> impl Fn(rusqlite::Error) -> Error {
    move |source| Error::engine(load::engines::sqlite::ENGINE.name, action, source)
}

/// A GET, but not to be sent twice: it writes.
pub fn page() -> (String, Task) {
    ("/index.php".into(), Task { status: Status::Class(2), body_text: Some(DONE.into()), ..Task::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_extension_is_missing_until_a_version_of_php_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = || missing_in(folder.path());
        assert!(missing().is_some_and(|missing| missing.ends_with("install the package php-sqlite3")));
        let version = folder.path().join("20220829");
        std::fs::create_dir(&version).expect("a folder");
        assert!(missing().is_some());
        std::fs::write(version.join("sqlite3.so"), "").expect("written");
        assert_eq!(missing(), None);
        assert!(missing_in(&folder.path().join("none")).is_some());
    }

    /// As a lock that another page takes between an INSERT and an UPDATE.
    const REFUSES: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, body TEXT);
        CREATE TRIGGER refuses BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'database is locked'); END;";

    #[test]
    fn rows_are_allowed_as_far_as_refused_pages_left_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, left) = (folder.path().join(DATABASE), folder.path().join(LEFT));
        let database = Connection::open(&path).expect("a database");
        database.execute_batch(REFUSES).expect("a table that refuses");
        check(&path, &left, 0).expect("empty");
        let site = SqlitePage {
            sqlite_journal: "delete".into(),
            sqlite_synchronous: "off".into(),
            sqlite_transaction: false,
            busy_timeout_seconds: 0.0,
        };
        let page = folder.path().join("site/index.php");
        std::fs::create_dir(folder.path().join("site")).expect("a folder");
        std::fs::write(&page, site.page_text()).expect("written");
        for _ in 0..2 {
            let said = Command::new("php").arg(&page).output().expect("package php-cli");
            assert_eq!(String::from_utf8_lossy(&said.stdout), "database is locked\n");
        }
        check(&path, &left, 0).expect("ten rows of each page");
        database.execute_batch("INSERT INTO t(name) VALUES('of nobody')").expect("a row");
        let error = check(&path, &left, 0).expect_err("one too many").to_string();
        assert!(error.contains("expected ok, at most 20 rows, found ok, 21 rows"), "{error}");
        check(&path, &left, 1).expect("of a page that nobody waited for any more");
        std::fs::remove_file(&left).expect("removed");
        let error = check(&path, &left, 0).expect_err("rows of nobody").to_string();
        assert!(error.contains("expected ok, 0 rows, found ok, 21 rows"), "{error}");
        let error = check(&path, &left, 2).expect_err("one more than two pages insert").to_string();
        assert!(error.contains("expected ok, at most 20 rows, found ok, 21 rows"), "{error}");
        check(&path, &left, 3).expect("rows of three pages that gave no answer");
    }
}
