//! Writing: by the conductor, between runs, one transaction a record.

use crate::checksum::{
    DECISION, FAULTS, LATENCY, MEMBER, METRIC, NOTE, PROBE, RUN, SAFETY, SCENARIO, SERIES, SESSION, STUDY, Sealed,
    TRIAL,
};
use crate::export::plain;
use crate::lock::Lock;
use crate::model::{Decision, MeasuredFaults, MeasuredSafety, Member, Place, Probe, Scenario, StudyRecord, TrialState};
use crate::{Error, schema};
use observe::durability::Durability;
use observe::metric::Metric;
use observe::record::{Failure, Provisioned, Run};
use rusqlite::{Connection, OptionalExtension as _, ToSql, Transaction, params};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The one writer of a ledger.
#[derive(Debug)]
pub struct Writer {
    connection: Connection,
    path: PathBuf,
    metrics: HashMap<String, u32>,
    session: Option<i64>,
    /// The number of the fleet's member that it is.
    member: Option<u32>,
    /// The file that was opened, to notice when it is another one, or none.
    identity: (u64, u64),
    _lock: Lock,
}

impl Drop for Writer {
    /// Puts all records into the file itself: SQLite does so at the last connection's end, and no connection is the last one
    /// where a reader leaves in the same moment. What fails here stays in the log beside the file, which readers know.
    fn drop(&mut self) {
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

impl Writer {
    /// Opens a ledger to go on, or makes a new one.
    ///
    /// # Errors
    /// When it is held by another run, is something else, or can't be written.
    pub fn create_or_open(path: &Path) -> Result<Writer, Error> {
        schema::require_file(path)?;
        let lock = Lock::take(path)?;
        // An empty file is what `touch` or a full disk leaves: as good as none.
        if path.metadata().map_or(true, |metadata| metadata.len() == 0) {
            schema::create(path)?;
        }
        // Looked at read-only first, so that a stranger's file is left as it is.
        crate::Reader::open(path)?;
        let mut connection = Connection::open(path).map_err(|error| schema::unreadable(path, error))?;
        let set = |name: &str, value: &str| {
            connection.pragma_update(None, name, value).map_err(|error| schema::unreadable(path, error))
        };
        set("journal_mode", "WAL")?;
        // What was said to be recorded survives a power cut: the writer only works between runs, where it is cheap.
        set("synchronous", "FULL")?;
        let found = schema::check(&connection, path)?;
        schema::climb(&mut connection, path, found)?;
        let identity = identity(path).ok_or_else(|| Error::Gone(path.into()))?;
        let (path, metrics, session) = (path.into(), HashMap::new(), None);
        let mut writer = Writer { connection, path, metrics, session, member: None, identity, _lock: lock };
        writer.member = writer.member()?.map(|member| member.number);
        writer.metrics = writer.read(|connection| {
            let mut statement = connection.prepare("SELECT name, id FROM metric")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        Ok(writer)
    }

    /// The study this ledger holds; none in a new one.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn study(&self) -> Result<Option<StudyRecord>, Error> {
        let json: Option<String> =
            self.read(|connection| connection.query_row("SELECT json FROM study", [], |row| row.get(0)).optional())?;
        json.map(|json| self.parsed(&json)).transpose()
    }

    /// Writes down the study before its first session, and the fleet's member that this is: all of it or nothing.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn set_study(
        &mut self,
        study: &StudyRecord,
        scenarios: &[Scenario],
        member: Option<&Member>,
    ) -> Result<(), Error> {
        self.write(|transaction| {
            insert(transaction, &STUDY, "json", &[&json_of(study)])?;
            for scenario in scenarios {
                insert(transaction, &SCENARIO, "label, json", &[&scenario.label, &json_of(scenario)])?;
            }
            if let Some(member) = member {
                insert(transaction, &MEMBER, "number, json", &[&member.number, &json_of(member)])?;
            }
            Ok(())
        })?;
        self.member = member.map(|member| member.number);
        Ok(())
    }

    /// The fleet's member that it is; none in a study of one machine.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn member(&self) -> Result<Option<Member>, Error> {
        Ok(self.reader()?.members()?.into_iter().next())
    }

    /// A study that goes on may want more rounds, be asked for in other words, and ask another thing of what was measured.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn go_on(&mut self, now: &StudyRecord) -> Result<(), Error> {
        let Some(begun) = self.study()? else { return Ok(()) };
        let known = begun.all_asked();
        let new = now.asked.iter().filter(|one| !known.contains(one)).cloned();
        let asked = known.iter().cloned().chain(new).collect();
        let study = StudyRecord { asked, ..begun.asked_as(now) };
        self.write(|transaction| {
            transaction.execute("UPDATE study SET json = ?1", [json_of(&study)])?;
            let row: i64 = transaction.query_row("SELECT rowid FROM study", [], |row| row.get(0))?;
            STUDY.seal(transaction, &[&row])
        })
    }

    /// A conductor sits down.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn begin_session(&mut self, machine: &BTreeMap<String, String>, now: f64) -> Result<(), Error> {
        let member = self.member;
        let values: [&dyn ToSql; 3] = [&now, &json_of(machine), &member];
        let id = self.write(|transaction| insert(transaction, &SESSION, "started, machine, member", &values))?;
        self.session = Some(id);
        Ok(())
    }

    /// A conductor gets up, and says why.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn end_session(&mut self, reason: &str, now: f64) -> Result<(), Error> {
        let Some(id) = self.session.take() else { return Ok(()) };
        self.write(|transaction| {
            transaction
                .execute("UPDATE session SET ended = ?1, reason = ?2 WHERE id = ?3", params![now, reason, id])?;
            SESSION.seal(transaction, &[&id])
        })
    }

    /// What a device and the CPUs could give.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn probe(&mut self, probe: &Probe) -> Result<(), Error> {
        let session = self.session;
        self.write(|transaction| insert(transaction, &PROBE, "session, json", &[&session, &json_of(probe)]).map(drop))
    }

    /// What a power cut was measured to take from a scenario, or why that can't be said.
    ///
    /// # Errors
    /// When it can't be written, or the study has no such scenario.
    ///
    /// # Panics
    /// When a figure is no number: it would not be read again.
    pub fn safety(&mut self, measured: &MeasuredSafety) -> Result<(), Error> {
        let found = measured.safety.iter();
        let figures = found.flat_map(|found| {
            let expected = [found.expected_lost_commits, found.expected_lost_seconds];
            [found.worst_lost_seconds, found.seconds].into_iter().chain(expected.into_iter().flatten())
        });
        assert!(figures.chain([measured.ended]).all(f64::is_finite), "figures of safety are numbers: {measured:?}");
        self.of_scenario(&SAFETY, &measured.scenario, &json_of(measured))
    }

    /// What a failing disk was measured to do to a scenario, or why that can't be said.
    ///
    /// # Errors
    /// When it can't be written, or the study has no such scenario.
    ///
    /// # Panics
    /// When a figure is no number: it would not be read again.
    pub fn faults(&mut self, measured: &MeasuredFaults) -> Result<(), Error> {
        let seconds = measured.faults.as_ref().map_or(0.0, |found| found.seconds);
        assert!((measured.ended + seconds).is_finite(), "figures of faults are numbers: {measured:?}");
        self.of_scenario(&FAULTS, &measured.scenario, &json_of(measured))
    }

    /// A row with the JSON of something that was measured of a scenario.
    fn of_scenario(&mut self, table: &'static Sealed, scenario: &str, json: &str) -> Result<(), Error> {
        let session = self.session;
        let name = table.table;
        self.write(|transaction| {
            transaction.execute(
                &format!("INSERT INTO {name} (session, scenario, json) VALUES (?1, (SELECT id FROM scenario WHERE label = ?2), ?3)"),
                params![session, scenario, json],
            )?;
            table.seal(transaction, &[&transaction.last_insert_rowid()])
        })
    }

    /// What was decided at a round's end, all of it or nothing.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn decide(&mut self, decisions: &[Decision]) -> Result<(), Error> {
        self.write(|transaction| {
            decisions.iter().try_for_each(|one| insert(transaction, &DECISION, "json", &[&json_of(one)]).map(drop))
        })
    }

    /// What it holds so far.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn reader(&self) -> Result<crate::Reader, Error> {
        crate::Reader::open(&self.path)
    }

    /// A trial starts.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn begin_trial(&mut self, scenario: &str, place: Place, seed: u64, now: f64) -> Result<i64, Error> {
        let Place { phase, round, position, group } = place;
        let member = self.member;
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO trial (scenario, phase, round, position, seed, state, started, group_number, member)
                 VALUES ((SELECT id FROM scenario WHERE label = ?1), ?2, ?3, ?4, ?5, 'running', ?6, ?7, ?8)",
                // SQLite has no unsigned 64-bit integer.
                params![scenario, plain(&phase), round, position, seed.to_string(), now, group, member],
            )?;
            let id = transaction.last_insert_rowid();
            TRIAL.seal(transaction, &[&id])?;
            Ok(id)
        })
    }

    /// A step of a trial took this long.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn step(&mut self, trial: i64, name: &str, seconds: f64) -> Result<(), Error> {
        self.said(trial, "step", name, &seconds)
    }

    /// What was really made and mounted.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn provisioned(&mut self, trial: i64, provisioned: &Provisioned) -> Result<(), Error> {
        self.write(|transaction| {
            for (name, value) in &provisioned.facts {
                insert(transaction, &NOTE, SAID, &[&trial, &"fact", name, value])?;
            }
            for command in &provisioned.commands {
                insert(transaction, &NOTE, SAID, &[&trial, &"command", &"", command])?;
            }
            Ok(())
        })
    }

    /// Something a reader should know.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn warning(&mut self, trial: i64, message: &str) -> Result<(), Error> {
        self.said(trial, "warning", "", &message)
    }

    /// Its storage was found to keep less than the scenario's settings promise: from now on the scenario is held to this.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn keeps_less(&mut self, trial: i64, found: &Durability) -> Result<(), Error> {
        self.said(trial, "durability", "", &json_of(found))
    }

    /// What the workload has to say of a run.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn note(&mut self, trial: i64, message: &str) -> Result<(), Error> {
        self.said(trial, "note", "", &message)
    }

    /// A run in the shape of an older tool's output.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn transcript(&mut self, trial: i64, text: &str) -> Result<(), Error> {
        self.said(trial, "transcript", "", &text)
    }

    /// A run ended well.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn run(&mut self, trial: i64, run: &Run) -> Result<(), Error> {
        let mut figures = Vec::with_capacity(run.metrics.len() * 12);
        for measured in &run.metrics {
            figures.extend_from_slice(&self.metric_id(&measured.metric)?.to_le_bytes());
            figures.extend_from_slice(&measured.value.to_le_bytes());
        }
        self.write(|transaction| {
            let values: [&dyn ToSql; 6] = [&trial, &run.run, &run.warm_up, &run.started, &run.seconds, &figures];
            let id = insert(transaction, &RUN, "trial, run, warm_up, started, seconds, figures", &values)?;
            // It says how many runs it has.
            TRIAL.seal(transaction, &[&trial])?;
            for (name, latency) in &run.latencies {
                insert(transaction, &LATENCY, LATENCY.columns, &[&id, name, &latency.to_bytes()])?;
            }
            for (name, points) in &run.series {
                let bytes: Vec<u8> = points.iter().flat_map(|point| point.to_le_bytes()).collect();
                insert(transaction, &SERIES, SERIES.columns, &[&id, name, &bytes])?;
            }
            Ok(())
        })
    }

    /// Trials ended that were up at the same time, all of them or none: each with its number, how, and why it failed.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish_trials(&mut self, ended: &[(i64, TrialState, Option<&Failure>)], now: f64) -> Result<(), Error> {
        self.write(|transaction| {
            for (trial, state, failure) in ended {
                let failure = failure.map(json_of);
                transaction.execute(
                    "UPDATE trial SET state = ?1, failure = ?2, ended = ?3 WHERE id = ?4",
                    params![plain(state), failure, now, trial],
                )?;
                TRIAL.seal(transaction, &[trial])?;
            }
            Ok(())
        })
    }

    /// Trials that a killed conductor left running are void; returns how many.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn void_unfinished(&mut self) -> Result<usize, Error> {
        self.write(|transaction| {
            let mut read = transaction.prepare("SELECT id FROM trial WHERE state = 'running'")?;
            let left: Vec<i64> = read.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            for id in &left {
                transaction.execute("UPDATE trial SET state = 'interrupted' WHERE id = ?1", [id])?;
                TRIAL.seal(transaction, &[id])?;
            }
            Ok(left.len())
        })
    }

    fn said(&mut self, trial: i64, kind: &str, name: &str, value: &dyn ToSql) -> Result<(), Error> {
        self.write(|transaction| insert(transaction, &NOTE, SAID, &[&trial, &kind, &name, value]).map(drop))
    }

    fn metric_id(&mut self, metric: &Metric) -> Result<u32, Error> {
        if let Some(id) = self.metrics.get(&*metric.name) {
            return Ok(*id);
        }
        let values: [&dyn ToSql; 3] = [&metric.name, &metric.unit, &plain(&metric.direction)];
        let id = self.write(|transaction| insert(transaction, &METRIC, "name, unit, direction", &values))?;
        let id = u32::try_from(id).expect("fewer than four billion metrics");
        self.metrics.insert(metric.name.to_string(), id);
        Ok(id)
    }

    fn write<T>(&mut self, act: impl FnOnce(&Transaction) -> rusqlite::Result<T>) -> Result<T, Error> {
        // SQLite goes on writing to a file that has no name any more, and all is gone in the end.
        if identity(&self.path) != Some(self.identity) {
            return Err(Error::Gone(self.path.clone()));
        }
        let all = || {
            let transaction = self.connection.transaction()?;
            let value = act(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        all().map_err(|source| Error::Sqlite { action: "write", path: self.path.clone(), source })
    }

    fn read<T>(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        act(&self.connection).map_err(|error| schema::unreadable(&self.path, error))
    }

    fn parsed<T: serde::de::DeserializeOwned>(&self, json: &str) -> Result<T, Error> {
        serde_json::from_str(json).map_err(|error| Error::Damaged { path: self.path.clone(), what: error.to_string() })
    }
}

/// Columns of what a trial said.
const SAID: &str = "trial, kind, name, value";

/// As it stands in a row.
fn json_of(record: &impl serde::Serialize) -> String {
    serde_json::to_string(record).expect("what is recorded is plain data")
}

/// Adds a row with its checksum, and tells its id where it has one.
fn insert(transaction: &Transaction, table: &Sealed, columns: &str, values: &[&dyn ToSql]) -> rusqlite::Result<i64> {
    let places = vec!["?"; values.len()].join(", ");
    let sql = format!("INSERT INTO {} ({columns}) VALUES ({places})", table.table);
    transaction.prepare_cached(&sql)?.execute(values)?;
    let id = transaction.last_insert_rowid();
    let by_id: [&dyn ToSql; 1] = [&id];
    table.seal(transaction, if table.is_of_run() { &values[..2] } else { &by_id })?;
    Ok(id)
}

/// Device and number of the file at a path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
