//! The schema, and the ladder from older versions.
//!
//! | table | a row is |
//! | --- | --- |
//! | study | the study as it was before its first trial (one row): JSON of `StudyRecord` |
//! | session | one sitting of the conductor |
//! | scenario | one bar in the chart, in plan order: JSON of `Scenario` |
//! | trial | one attempt at one scenario in one round |
//! | decision | what was decided at a round's end: JSON of `Decision` |
//! | note | something a trial said: `kind` is step, fact, command, warning, durability (what its storage was found to keep, where settings promise more: JSON), note (of its workload), transcript (a run in the shape of an older tool's output); in older files remark, which was either of the last two |
//! | metric | a metric's name, unit and direction |
//! | safety | what a power cut was measured to take from a scenario: JSON of `MeasuredSafety` |
//! | faults | what a failing disk was measured to do to a scenario: JSON of `MeasuredFaults` |
//! | probe | what a device and the CPUs could give, measured in a session before the first round: JSON of `Probe` |
//! | run | one run; `figures` is its metrics packed: (metric id: u32, value: f64), little endian |
//! | latency | a run's histogram of one operation, HdrHistogram V2 |
//! | series | a run's values once a second: f64, little endian |
//! | member | a machine of a fleet, by its number: JSON of `Member` |
//!
//! Each row has a checksum of its values in `crc`, from version 5 on (`checksum.rs`).
//!
//! Figures are packed because a run has some sixty of them: a row each would make a report over 100,000 runs read
//! millions of rows.

use crate::Error;
use rusqlite::Connection;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// `application_id` of our files: "sfot".
pub const APPLICATION_ID: i64 = 0x7366_6f74;

/// The newest schema version, in `user_version`.
pub const VERSION: i64 = 8;

const VERSION_1: &str = "
CREATE TABLE study (json TEXT NOT NULL);
CREATE TABLE session (id INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL, machine TEXT NOT NULL, reason TEXT);
CREATE TABLE scenario (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, json TEXT NOT NULL);
CREATE TABLE trial (id INTEGER PRIMARY KEY, scenario INTEGER NOT NULL REFERENCES scenario, round INTEGER NOT NULL,
  position INTEGER NOT NULL, seed TEXT NOT NULL, state TEXT NOT NULL, started REAL NOT NULL, ended REAL, failure TEXT);
CREATE TABLE note (id INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial, kind TEXT NOT NULL, name TEXT NOT NULL, value);
CREATE TABLE metric (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL, direction TEXT NOT NULL);
CREATE TABLE run (id INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial, run INTEGER NOT NULL,
  warm_up INTEGER NOT NULL, started REAL NOT NULL, seconds REAL NOT NULL, figures BLOB NOT NULL);
CREATE TABLE latency (run INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, hdr BLOB NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE series (run INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, points BLOB NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
";

/// Version 2 finds the runs and notes of a trial without reading them all.
const VERSION_2: &str = "
CREATE INDEX run_by_trial ON run (trial);
CREATE INDEX note_by_trial ON note (trial);
";

/// The first version with ceilings, decisions and phases.
pub const VERSION_OF_DECISIONS: i64 = 3;

/// Version 3 has the ceilings, and studies that measure some scenarios no further, and others once more.
const VERSION_3: &str = "
CREATE TABLE probe (id INTEGER PRIMARY KEY, session INTEGER REFERENCES session, json TEXT NOT NULL);
CREATE TABLE decision (id INTEGER PRIMARY KEY, json TEXT NOT NULL);
ALTER TABLE trial ADD COLUMN phase TEXT NOT NULL DEFAULT 'main';
";

/// The first version with what power cuts were measured to take.
pub const VERSION_OF_SAFETY: i64 = 4;

/// Version 4 has what power cuts were measured to take.
const VERSION_4: &str = "
CREATE TABLE safety (id INTEGER PRIMARY KEY, session INTEGER REFERENCES session, scenario INTEGER NOT NULL REFERENCES scenario,
  json TEXT NOT NULL);
";

/// The first version with a checksum a row.
pub const VERSION_OF_CHECKSUMS: i64 = 5;

/// Version 5 has a checksum a row; rows of older files stay without.
const VERSION_5: &str = "
ALTER TABLE study ADD COLUMN crc INTEGER;
ALTER TABLE session ADD COLUMN crc INTEGER;
ALTER TABLE scenario ADD COLUMN crc INTEGER;
ALTER TABLE trial ADD COLUMN crc INTEGER;
ALTER TABLE note ADD COLUMN crc INTEGER;
ALTER TABLE metric ADD COLUMN crc INTEGER;
ALTER TABLE run ADD COLUMN crc INTEGER;
ALTER TABLE probe ADD COLUMN crc INTEGER;
ALTER TABLE decision ADD COLUMN crc INTEGER;
ALTER TABLE safety ADD COLUMN crc INTEGER;
ALTER TABLE latency ADD COLUMN crc INTEGER;
ALTER TABLE series ADD COLUMN crc INTEGER;
";

/// The first version in which a round may be split into groups.
pub const VERSION_OF_GROUPS: i64 = 6;

/// Version 6 has the group of a trial whose round was split; none in older rows.
const VERSION_6: &str = "
ALTER TABLE trial ADD COLUMN group_number INTEGER;
";

/// The first version with what failing disks were measured to do.
pub const VERSION_OF_FAULTS: i64 = 7;

/// Version 7 has what failing disks were measured to do.
const VERSION_7: &str = "
CREATE TABLE faults (id INTEGER PRIMARY KEY, session INTEGER REFERENCES session, scenario INTEGER NOT NULL REFERENCES scenario,
  json TEXT NOT NULL, crc INTEGER);
";

/// The first version that may hold members of a fleet.
pub const VERSION_OF_MEMBERS: i64 = 8;

/// Version 8 has the members of a fleet, and whose a session and a trial are; none in a study of one machine.
const VERSION_8: &str = "
CREATE TABLE member (number INTEGER PRIMARY KEY, json TEXT NOT NULL, crc INTEGER);
ALTER TABLE session ADD COLUMN member INTEGER;
ALTER TABLE trial ADD COLUMN member INTEGER;
";

const LADDER: &[&str] = &[VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8];

/// Makes a new ledger, which has its name only once it is whole: whatever a kill leaves, it is no file that nobody can read.
pub fn create(path: &Path) -> Result<(), Error> {
    refuse_stray_logs(path)?;
    let unfinished = beside(path, ".new");
    let failed = |source| Error::Open { path: path.into(), source };
    for left in [unfinished.clone(), beside(&unfinished, "-journal")] {
        remove(&left).map_err(failed)?;
    }
    let mut connection = Connection::open(&unfinished).map_err(|error| unreadable(path, error))?;
    climb(&mut connection, path, 0)?;
    connection.close().map_err(|(_, error)| unreadable(path, error))?;
    std::fs::rename(unfinished, path).map_err(failed)
}

/// SQLite would take the log or journal of a file that was removed for that of the one that gets its name.
pub fn refuse_stray_logs(path: &Path) -> Result<(), Error> {
    let stray = [log_of(path), journal_of(path)].into_iter().find(|log| has_bytes(log));
    stray.map_or(Ok(()), |log| Err(Error::StrayLog(log)))
}

/// Climbs from an older version.
pub fn climb(connection: &mut Connection, path: &Path, found: i64) -> Result<(), Error> {
    let failed = |source| Error::Sqlite { action: "write", path: path.into(), source };
    let transaction = connection.transaction().map_err(failed)?;
    for step in &LADDER[usize::try_from(found).expect("a checked version is not negative")..] {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Refuses a folder, of which SQLite only says that the disk failed, and a pipe or device, for which it waits.
pub fn require_file(path: &Path) -> Result<(), Error> {
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(Error::Folder(path.into())),
        Ok(found) if !found.is_file() => Err(Error::NotALedger(path.into())),
        _ => Ok(()),
    }
}

/// Whether a file begins as ours do, whatever its name (sqlite.org/fileformat2.html, 1.3: the header).
pub fn has_our_mark(path: &Path) -> bool {
    // Of a pipe what is read is gone.
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let mut header = [0; 72];
    let is_read = is_file && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok();
    is_read && header.starts_with(b"SQLite format 3\0") && header[68..] == (APPLICATION_ID as u32).to_be_bytes()
}

/// Whether a file is ours, and of which version.
pub fn check(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = pragma("application_id").map_err(|error| unreadable(path, error))?;
    if application != APPLICATION_ID {
        return Err(Error::NotALedger(path.into()));
    }
    let found = pragma("user_version").map_err(|error| unreadable(path, error))?;
    if found > VERSION {
        return Err(Error::Newer { path: path.into(), found, known: VERSION });
    }
    Ok(found.max(0))
}

/// Whether what is read are tables with what was written in them. A view or a trigger would be a program, which may never end.
pub fn check_tables(connection: &Connection, path: &Path) -> Result<(), Error> {
    let strange = "SELECT type || ' ' || name FROM sqlite_schema WHERE type IN ('view', 'trigger') \
                   OR sql LIKE '%VIRTUAL%TABLE%' OR sql LIKE '% AS %' OR sql LIKE '%GENERATED%' LIMIT 1";
    let found = connection.query_row(strange, [], |row| row.get::<_, String>(0));
    match found {
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(()),
        Err(error) => Err(unreadable(path, error)),
        Ok(what) => {
            Err(Error::Damaged { path: path.into(), what: format!("surefoot makes no {what}, and does not read one") })
        }
    }
}

/// Whether a file still has its end: SQLite reads what is cut off its last page as zeros, which would be figures.
pub fn check_whole(connection: &Connection, path: &Path) -> Result<(), Error> {
    // Pages that lie in the log need not be in the file yet.
    if has_log(path) {
        return Ok(());
    }
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0).map(u64::from));
    let wanted = pragma("page_count").and_then(|pages| Ok(pages * pragma("page_size")?));
    let wanted = wanted.map_err(|error| unreadable(path, error))?;
    let found = path.metadata().map_err(|source| Error::Open { path: path.into(), source })?.len();
    if found >= wanted {
        return Ok(());
    }
    Err(Error::Damaged { path: path.into(), what: format!("it ends after {found} of {wanted} bytes") })
}

/// The write-ahead log beside a ledger: what was written last lies in it until it is put into the file.
pub fn log_of(path: &Path) -> PathBuf {
    beside(&resolved(path), "-wal")
}

/// Whether records lie in it.
pub fn has_log(path: &Path) -> bool {
    has_bytes(&log_of(path))
}

/// The rollback journal beside a ledger (`journal.rs`).
pub fn journal_of(path: &Path) -> PathBuf {
    beside(&resolved(path), "-journal")
}

/// Takes away what an earlier start left by this name, if it did.
pub fn remove(left: &Path) -> std::io::Result<()> {
    std::fs::remove_file(left).or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn has_bytes(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.len() > 0)
}

/// SQLite follows links first, and names its own files after what they lead to. So is the lock: who comes by a link is held off, too.
pub fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// The file beside a ledger whose name has this end.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// What SQLite says of a file, told apart for people: something else, damaged, or refused.
pub fn unreadable(path: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::Error as Said;
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    let damaged = |what: String| Error::Damaged { path: path.into(), what };
    match (error.sqlite_error_code(), &error) {
        (Some(NotADatabase), _) => Error::NotALedger(path.into()),
        // Unknown: no such table, no such column.
        (Some(DatabaseCorrupt | Unknown), _) => damaged(error.to_string()),
        (_, Said::Utf8Error(..)) => damaged("a text in it is not UTF-8".into()),
        (_, Said::FromSqlConversionFailure(_, rusqlite::types::Type::Text, _)) => {
            damaged("a text in it is not UTF-8, or not what belongs there".into())
        }
        (_, Said::FromSqlConversionFailure(..) | Said::InvalidColumnType(..) | Said::IntegralValueOutOfRange(..)) => {
            damaged(format!("a value in it is of the wrong kind ({error})"))
        }
        _ => Error::Sqlite { action: "read", path: path.into(), source: error },
    }
}
