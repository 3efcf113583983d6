//! Rows of one ledger into another: each is held against its checksum, gets new numbers, and a new checksum.

use crate::checksum::{
    FAULTS, LATENCY, MEMBER, METRIC, NOTE, PROBE, RUN, SAFETY, SCENARIO, SERIES, SESSION, STUDY, Sealed, TRIAL,
};
use crate::model::{Member, StudyRecord};
use crate::schema::{VERSION, unreadable};
use crate::{Error, Reader};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Row, Statement, params_from_iter};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a column of numbers counts: its numbers are others in the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Session,
    Trial,
    Run,
    Note,
    Probe,
    Safety,
    Faults,
    Scenario,
    Metric,
}

/// A table that is copied: which of its columns hold numbers of what, its own first where it has one, and which is made and not written.
struct Copied {
    sealed: &'static Sealed,
    numbers: &'static [(usize, Of)],
    /// The runs of a trial are counted.
    made: Option<usize>,
}

const fn copied(sealed: &'static Sealed, numbers: &'static [(usize, Of)]) -> Copied {
    Copied { sealed, numbers, made: None }
}

/// Where a trial has the number of its runs, which is counted.
const RUNS_OF_TRIAL: usize = 10;
/// Where a run has its figures packed, with the numbers of their metrics.
const FIGURES: usize = 6;

/// Writes one new file.
pub(super) struct Copier {
    target: Connection,
    path: PathBuf,
    /// The file that was read last: members of a merged file follow each other.
    source: Option<(PathBuf, Source)>,
    /// Scenarios and metrics by name, in the new file.
    scenarios: HashMap<String, i64>,
    metrics: HashMap<String, i64>,
    /// The last number that was given.
    last: HashMap<Of, i64>,
}

/// An open file, its scenarios and metrics by their numbers in the new file, and where each member's trials and sessions are.
struct Source {
    reader: Reader,
    scenarios: HashMap<i64, i64>,
    metrics: HashMap<i64, i64>,
    sessions: HashMap<u32, Range>,
    trials: HashMap<u32, Range>,
}

/// The first and the last number; a member's follow each other, as it was alone in its file, or merged.
type Range = (i64, i64);
const NONE: Range = (1, 0);

impl Copier {
    /// Opens a new ledger to write to, with the study and scenarios of the first member's file; the study as it was asked last.
    pub(super) fn new(path: &Path, first: &Path, asked_last: &StudyRecord) -> Result<Copier, Error> {
        let target = Connection::open(path).map_err(|error| unreadable(path, error))?;
        // Until it has its name nobody reads it, and a half-made one is made again.
        let fast = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; BEGIN";
        target.execute_batch(fast).map_err(|error| unreadable(path, error))?;
        let (scenarios, metrics, last) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut copier = Copier { target, path: path.into(), source: None, scenarios, metrics, last };
        let reader = Reader::open_untouched(first)?;
        let study = serde_json::to_string(&reader.study()?.asked_as(asked_last)).expect("a study is plain data");
        copier.insert(&copied(&STUDY, &[]), &[Value::Text(study)])?;
        copier.all(&reader, &copied(&SCENARIO, &[]))?;
        copier.scenarios = reader.queried("SELECT label, id FROM scenario", |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(copier)
    }

    /// A member's rows out of this file.
    pub(super) fn member(&mut self, file: &Path, member: &Member) -> Result<(), Error> {
        let (path, source) = match self.source.take().filter(|(path, _)| path == file) {
            Some(open) => open,
            None => (file.into(), self.open(file)?),
        };
        let json = serde_json::to_string(member).expect("a member is plain data");
        let values = [Value::Integer(i64::from(member.number)), Value::Text(json)];
        self.insert(&copied(&MEMBER, &[]), &values)?;
        let of_member = |ranges: &HashMap<u32, Range>| ranges.get(&member.number).copied().unwrap_or(NONE);
        let (sessions, trials) = (of_member(&source.sessions), of_member(&source.trials));
        let runs = "SELECT min(id), max(id) FROM run WHERE trial BETWEEN ?1 AND ?2";
        let runs = source.reader.connection.query_row(runs, [trials.0, trials.1], |row| Ok((row.get(0)?, row.get(1)?)));
        let runs: (Option<i64>, Option<i64>) = runs.map_err(|error| source.reader.failed(error))?;
        let runs = runs.0.zip(runs.1).unwrap_or(NONE);
        let shift = |of: Of, low: i64| (of, self.last.get(&of).copied().unwrap_or(0) + 1 - low);
        let shifts =
            HashMap::from([shift(Of::Session, sessions.0), shift(Of::Trial, trials.0), shift(Of::Run, runs.0)]);
        let between =
            |column: &str, (low, high): Range| format!("WHERE {column} BETWEEN {low} AND {high} ORDER BY {column}");
        let of_sessions = || between("session", sessions) + ", id";
        let of_trials = copied(&TRIAL, &[(0, Of::Trial), (1, Of::Scenario)]);
        let of_trials = Copied { made: Some(RUNS_OF_TRIAL), ..of_trials };
        let copies = [
            (copied(&SESSION, &[(0, Of::Session)]), between("id", sessions)),
            (of_trials, between("id", trials)),
            (copied(&RUN, &[(0, Of::Run), (1, Of::Trial)]), between("id", runs)),
            (copied(&NOTE, &[(0, Of::Note), (1, Of::Trial)]), between("trial", trials) + ", id"),
            (copied(&LATENCY, &[(0, Of::Run)]), between("run", runs)),
            (copied(&SERIES, &[(0, Of::Run)]), between("run", runs)),
            (copied(&PROBE, &[(0, Of::Probe), (1, Of::Session)]), of_sessions()),
            (copied(&SAFETY, &[(0, Of::Safety), (1, Of::Session), (2, Of::Scenario)]), of_sessions()),
            (copied(&FAULTS, &[(0, Of::Faults), (1, Of::Session), (2, Of::Scenario)]), of_sessions()),
        ];
        for (copied, end) in copies {
            self.rows(&source, &copied, &end, &shifts)?;
        }
        for (of, (low, high)) in [(Of::Session, sessions), (Of::Trial, trials), (Of::Run, runs)] {
            *self.last.entry(of).or_default() += (high - low + 1).max(0);
        }
        self.source = Some((path, source));
        Ok(())
    }

    /// Ends the transaction.
    pub(super) fn finish(self) -> Result<(), Error> {
        let failed = |source| Error::Sqlite { action: "write", path: self.path.clone(), source };
        self.target.execute_batch("COMMIT; PRAGMA journal_mode = DELETE").map_err(failed)
    }

    fn open(&mut self, file: &Path) -> Result<Source, Error> {
        let reader = Reader::open_untouched(file)?;
        let scenarios: Vec<(i64, String)> =
            reader.queried("SELECT id, label FROM scenario", |row| Ok((row.get(0)?, row.get(1)?)))?;
        let scenarios =
            scenarios.into_iter().filter_map(|(id, label)| Some((id, *self.scenarios.get(&label)?))).collect();
        let mut metrics = HashMap::new();
        let rows = reader.sealed(&METRIC, "ORDER BY id", |row| values(row, &METRIC))?;
        for mut row in rows {
            let (Value::Integer(id), Value::Text(name)) = (row[0].clone(), row[1].clone()) else { continue };
            let new = match self.metrics.get(&name) {
                Some(known) => *known,
                None => {
                    let new = self.next(Of::Metric);
                    row[0] = Value::Integer(new);
                    self.insert(&copied(&METRIC, &[]), &row)?;
                    self.metrics.insert(name, new);
                    new
                }
            };
            metrics.insert(id, new);
        }
        let (sessions, trials) = (ranges(&reader, "session")?, ranges(&reader, "trial")?);
        Ok(Source { reader, scenarios, metrics, sessions, trials })
    }

    fn next(&mut self, of: Of) -> i64 {
        let last = self.last.entry(of).or_default();
        *last += 1;
        *last
    }

    /// All rows of a table, as they are.
    fn all(&mut self, reader: &Reader, copied: &Copied) -> Result<(), Error> {
        let rows = reader.sealed(copied.sealed, "ORDER BY rowid", |row| values(row, copied.sealed))?;
        rows.iter().try_for_each(|row| self.insert(copied, row))
    }

    /// Rows of one member with their new numbers.
    fn rows(&mut self, source: &Source, copied: &Copied, end: &str, shifts: &HashMap<Of, i64>) -> Result<(), Error> {
        let reader = &source.reader;
        let Copied { sealed, numbers, made } = copied;
        let sql = format!("SELECT {} FROM {} {end}", sealed.selected(VERSION), sealed.table);
        let failed = |error| reader.failed(error);
        let unwritten = |source| Error::Sqlite { action: "write", path: self.path.clone(), source };
        let mut statement = reader.connection.prepare(&sql).map_err(failed)?;
        let mut insert = self.target.prepare_cached(&sealed.insertion(*made)).map_err(unwritten)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut figures = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            sealed.check(row, &reader.path)?;
            // Borrowed: a large fleet has millions of rows.
            let mut values = seen(row, sealed).map_err(failed)?;
            for (column, of) in *numbers {
                let ValueRef::Integer(old) = values[*column] else { continue };
                values[*column] = ValueRef::Integer(match of {
                    Of::Session | Of::Trial | Of::Run => old + shifts[of],
                    Of::Scenario => source.scenarios.get(&old).copied().unwrap_or(old),
                    own => {
                        let last = self.last.entry(*own).or_default();
                        *last += 1;
                        *last
                    }
                });
            }
            if sealed.table == RUN.table
                && let ValueRef::Blob(packed) = values[FIGURES]
            {
                figures.clear();
                figures.extend_from_slice(packed);
                rename(&mut figures, &source.metrics);
                values[FIGURES] = ValueRef::Blob(&figures);
            }
            write_row(&mut insert, copied, &values).map_err(unwritten)?;
        }
        Ok(())
    }

    fn insert(&self, copied: &Copied, values: &[Value]) -> Result<(), Error> {
        let seen: Vec<ValueRef> = values.iter().map(Into::into).collect();
        let write = || {
            let mut insert = self.target.prepare_cached(&copied.sealed.insertion(copied.made))?;
            write_row(&mut insert, copied, &seen)
        };
        write().map_err(|source| Error::Sqlite { action: "write", path: self.path.clone(), source })
    }
}

/// Writes a row with its checksum.
fn write_row(insert: &mut Statement, copied: &Copied, values: &[ValueRef]) -> rusqlite::Result<()> {
    let crc = ValueRef::Integer(i64::from(copied.sealed.sum_of(values)));
    let is_written = |column: &usize| Some(*column) != copied.made;
    let kept = (0..values.len()).filter(is_written).map(|column| values[column]).chain([crc]);
    insert.execute(params_from_iter(kept.map(ToSqlOutput::Borrowed))).map(drop)
}

fn seen<'a>(row: &'a Row, sealed: &Sealed) -> rusqlite::Result<Vec<ValueRef<'a>>> {
    (0..sealed.width()).map(|column| row.get_ref(column)).collect()
}

fn values(row: &Row, sealed: &Sealed) -> rusqlite::Result<Vec<Value>> {
    (0..sealed.width()).map(|column| row.get(column)).collect()
}

/// The first and last number of each member's rows.
fn ranges(reader: &Reader, table: &str) -> Result<HashMap<u32, Range>, Error> {
    let sql = format!("SELECT member, min(id), max(id) FROM {table} WHERE member IS NOT NULL GROUP BY member");
    reader.queried(&sql, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))
}

/// Gives packed figures the numbers that their metrics have in the new file; one that is unknown stays, and is found when it is read.
fn rename(figures: &mut [u8], metrics: &HashMap<i64, i64>) {
    for figure in figures.chunks_exact_mut(12) {
        let id = u32::from_le_bytes(figure[..4].try_into().expect("four of twelve bytes"));
        let new = metrics.get(&i64::from(id)).and_then(|new| u32::try_from(*new).ok()).unwrap_or(id);
        figure[..4].copy_from_slice(&new.to_le_bytes());
    }
}
