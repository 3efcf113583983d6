//! Reading: everything but histograms and series in one go, those by run.

use crate::checksum::{
    DECISION, FAULTS, LATENCY, MEMBER, METRIC, NOTE, PROBE, RUN, SAFETY, SCENARIO, SERIES, SESSION, STUDY, Sealed,
    TRIAL,
};
use crate::connect::{connected, immutable};
use crate::lock::is_held;
use crate::model::{
    Contents, MEMBERS_MAX, MeasuredFaults, MeasuredSafety, Member, Phase, Probe, RunDetail, RunRow, Scenario, Session,
    StudyRecord, Trial,
};
use crate::schema::{self, VERSION_OF_DECISIONS};
use crate::{Error, journal};
use observe::durability::Durability;
use observe::latency::Latency;
use observe::metric::Metric;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No round is left out, so none is farther than there are trials; whoever makes files by hand may leave out some.
const ROUNDS_SPARE: usize = 1000;

/// Workloads whose remarks in older files were a tool's lines, not notes.
const TRANSCRIBED: [&str; 2] = ["sql-bench", "three-n-plus-one"];

/// What storage was found to keep, by the trial's number.
type Durabilities = Vec<(i64, Durability)>;

/// A ledger opened for reading; works while a conductor writes it.
#[derive(Debug)]
pub struct Reader {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    version: i64,
    /// The only member of a fleet that is read.
    member: Option<u32>,
}

impl Reader {
    /// Opens a results file beside its writer. Who only reads, and leaves a file of somebody else's as it is, takes
    /// [`Reader::open_untouched`]: this one may move a killed writer's log into the file.
    ///
    /// # Errors
    /// When it is not there, is something else, is damaged, is newer than this surefoot, or has a journal that no writer holds.
    pub fn open(path: &Path) -> Result<Reader, Error> {
        // A ledger in WAL mode wants its side files even for reading; on a read-only folder it is read as it lies.
        // What lies in its log can't be read there, and is not passed over.
        Reader::open_as(path, || {
            let connected = connected(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
            if schema::has_log(path) { connected } else { connected.or_else(|_| immutable(path)) }
        })
    }

    /// As [`Reader::open`], and leaves no trace: neither the file's bytes nor its times change, and no side files appear.
    ///
    /// A ledger that nobody writes is read as it lies. Who does so again and again must see for himself that it did not change
    /// meanwhile: a writer that starts in that moment is not waited for.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_untouched(path: &Path) -> Result<Reader, Error> {
        if is_held(path) {
            // The side files are there, and when the writer leaves before us, what it left in them is ours to put into the file.
            return Reader::open(path);
        }
        // After a kill the last records lie in the log, and an ordinary reader would move them into the file.
        Reader::open_as(path, || {
            if schema::has_log(path) { connected(path, OpenFlags::SQLITE_OPEN_READ_ONLY) } else { immutable(path) }
        })
    }

    fn open_as(path: &Path, connect: impl FnOnce() -> rusqlite::Result<Connection>) -> Result<Reader, Error> {
        schema::require_file(path)?;
        let unopened = |source| Error::Open { path: path.into(), source };
        // Not opened for that: closing it would drop all locks that SQLite has on it in this process, a writer's among them, and the next
        // reader elsewhere would take the log away that the writer goes on with.
        let found = path.metadata().map_err(unopened)?;
        journal::check(path)?;
        // A member's name that was taken, and whose first round goes on.
        if found.is_file() && found.len() == 0 && !schema::has_log(path) {
            return Err(Error::NoStudy(path.into()));
        }
        let failed = |error| schema::unreadable(path, error);
        let connection = connect().map_err(|error: rusqlite::Error| {
            // SQLite's own message for a file that may not be read names neither file nor reason.
            let is_unopened = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
            match is_unopened.then(|| std::fs::File::open(path)) {
                Some(Err(source)) => unopened(source),
                _ => failed(error),
            }
        })?;
        let version = schema::check(&connection, path)?;
        schema::check_whole(&connection, path)?;
        schema::check_tables(&connection, path)?;
        connection.pragma_update(None, "query_only", true).map_err(failed)?;
        Ok(Reader { connection, path: path.into(), version, member: None })
    }

    /// What one member of a fleet measured, as if it were alone.
    ///
    /// # Errors
    /// When it is not there, or the file is damaged.
    pub fn of_member(self, number: u32) -> Result<Reader, Error> {
        let members: Vec<u32> = self.members()?.iter().map(|member| member.number).collect();
        if !members.contains(&number) {
            let known = members.iter().map(u32::to_string).collect();
            return Err(Error::NoMember { path: self.path, member: number, known });
        }
        Ok(Reader { member: Some(number), ..self })
    }

    /// Everything but histograms and series.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn contents(&self) -> Result<Contents, Error> {
        self.contents_of(&|_| true)
    }

    /// As [`Reader::contents`], with the figures of these metrics only: of a large ledger a fraction of the memory.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn contents_with(&self, metrics: &[&str]) -> Result<Contents, Error> {
        self.contents_of(&|name| metrics.contains(&name))
    }

    fn contents_of(&self, wanted: &dyn Fn(&str) -> bool) -> Result<Contents, Error> {
        // All of one moment: a writer may add a metric, and a run that has it, between two of our questions.
        let _moment = self.connection.unchecked_transaction().map_err(|error| self.failed(error))?;
        let study = self.study()?;
        let scenarios = self.scenarios()?;
        let (ids, metrics) = self.metrics()?;
        let (mut trials, durabilities) = self.trials(&scenarios)?;
        let members = self.members()?;
        if members.len() > 1 {
            count_rounds_over_members(&mut trials);
        }
        let sessions = self.sessions()?;
        let whose: HashMap<i64, Option<u32>> = sessions.iter().map(|(id, session)| (*id, session.member)).collect();
        let mut contents = Contents {
            study,
            members,
            probes: self.of_sessions(&PROBE, &whose, |probe: &mut Probe| &mut probe.member)?,
            scenarios,
            safety: self.of_sessions(&SAFETY, &whose, |of: &mut MeasuredSafety| &mut of.member)?,
            faults: self.of_sessions(&FAULTS, &whose, |of: &mut MeasuredFaults| &mut of.member)?,
            sessions: sessions.into_iter().map(|(_, session)| session).collect(),
            decisions: self.all_parsed(&DECISION, 1)?,
            trials,
            runs: self.runs(&ids, wanted)?,
            metrics,
            without_checksum: self.without_checksum()?,
        };
        if let Some(member) = self.member {
            let gone =
                || Error::Damaged { path: self.path.clone(), what: format!("member {member} is no longer in it") };
            contents = contents.of_member(member).ok_or_else(gone)?;
        }
        contents.hold_to(&durabilities);
        Ok(contents)
    }

    /// What a table holds of sessions; each is told which member its session is of.
    fn of_sessions<T: DeserializeOwned>(
        &self,
        table: &Sealed,
        whose: &HashMap<i64, Option<u32>>,
        member: fn(&mut T) -> &mut Option<u32>,
    ) -> Result<Vec<T>, Error> {
        let last = table.width() - 1;
        let rows = self.sealed(table, "ORDER BY id", |row| Ok((row.get::<_, Option<i64>>(1)?, row.get(last)?)))?;
        let told = |(session, json): (Option<i64>, String)| {
            let mut value = self.parsed(&json)?;
            *member(&mut value) = session.and_then(|session| whose.get(&session).copied().flatten());
            Ok(value)
        };
        rows.into_iter().map(told).collect()
    }

    /// Latencies and series of one run.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn detail(&self, run: i64) -> Result<RunDetail, Error> {
        let mut detail = RunDetail::default();
        let damaged = |what: &str| Error::Damaged { path: self.path.clone(), what: format!("{what} of run {run}") };
        let named = |row: &rusqlite::Row| Ok((row.get::<_, String>(1)?, row.get::<_, Vec<u8>>(2)?));
        let of_run = format!("WHERE run = {run}");
        for (name, bytes) in self.sealed(&LATENCY, &of_run, named)? {
            let latency = Latency::from_bytes(&bytes).ok_or_else(|| damaged("latency"))?;
            detail.latencies.insert(name, latency);
        }
        for (name, bytes) in self.sealed(&SERIES, &of_run, named)? {
            let (points, rest) = bytes.as_chunks::<8>();
            if !rest.is_empty() {
                return Err(damaged("series"));
            }
            detail.series.insert(name, points.iter().map(|point| f64::from_le_bytes(*point)).collect());
        }
        Ok(detail)
    }

    /// The study.
    ///
    /// # Errors
    /// When the file is damaged, or holds none yet.
    pub fn study(&self) -> Result<StudyRecord, Error> {
        match self.sealed(&STUDY, "", |row| row.get::<_, String>(0))?.pop() {
            Some(json) => self.parsed(&json),
            None => Err(Error::NoStudy(self.path.clone())),
        }
    }

    /// Scenarios in plan order.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn scenarios(&self) -> Result<Vec<Scenario>, Error> {
        self.all_parsed(&SCENARIO, 2)
    }

    /// The members of a fleet whose trials these are, by number; none in a study of one machine.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn members(&self) -> Result<Vec<Member>, Error> {
        let members: Vec<Member> = self.all_parsed(&MEMBER, 1)?;
        // Whoever goes through a fleet goes through all its numbers.
        if let Some(far) = members.iter().find(|member| member.number.max(member.of) > MEMBERS_MAX) {
            let what = format!("it says it is of member {} of {}, of {MEMBERS_MAX} at most", far.number, far.of);
            return Err(Error::Damaged { path: self.path.clone(), what });
        }
        Ok(members)
    }

    /// When each member's first session began, by which a start is told apart from one in another folder.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn members_began(&self) -> Result<BTreeMap<u32, f64>, Error> {
        let mut began: BTreeMap<u32, f64> = BTreeMap::new();
        for (_, Session { member, started, .. }) in self.sessions()? {
            let Some(member) = member else { continue };
            let first = began.entry(member).or_insert(started);
            *first = first.min(started);
        }
        Ok(began)
    }

    /// Sessions with their numbers.
    fn sessions(&self) -> Result<Vec<(i64, Session)>, Error> {
        let rows = self.sealed(&SESSION, "ORDER BY id", |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?, row.get(4)?, row.get(5)?))
        })?;
        rows.into_iter()
            .map(|(id, started, ended, machine, reason, member)| {
                Ok((id, Session { started, ended, machine: self.parsed(&machine)?, reason, member }))
            })
            .collect()
    }

    /// The trials, and what was found of their storage.
    fn trials(&self, scenarios: &[Scenario]) -> Result<(Vec<Trial>, Durabilities), Error> {
        let labelled = self.sealed(&SCENARIO, "ORDER BY id", |row| Ok((row.get(0)?, row.get(1)?)))?;
        let labels: HashMap<i64, String> = labelled.into_iter().collect();
        let is_old = self.version < VERSION_OF_DECISIONS;
        // Where the column is not there yet.
        let phase = if is_old { "'main' AS phase" } else { "phase" };
        let columns = TRIAL.selected(self.version).replace("phase", phase);
        let mut statement = self.prepare(&format!("SELECT {columns} FROM trial ORDER BY id"))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(error))?;
        let mut trials = Vec::new();
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            TRIAL.check(row, &self.path)?;
            let (mut trial, scenario, [state, phase], failure) = trial_of(row).map_err(|error| self.failed(error))?;
            let Some(label) = labels.get(&scenario) else {
                let what = format!("trial {} is of scenario {scenario}, which is not in it", trial.id);
                return Err(Error::Damaged { path: self.path.clone(), what });
            };
            trial.scenario.clone_from(label);
            trial.state = self.parsed(&format!("\"{state}\""))?;
            trial.phase = self.parsed(&format!("\"{phase}\""))?;
            trial.failure = failure.map(|json| self.parsed(&json)).transpose()?;
            trials.push(trial);
        }
        // Whoever goes through the rounds makes room for each.
        let rounds_max = trials.len() + ROUNDS_SPARE;
        if let Some(far) = trials.iter().find(|trial| trial.round as usize > rounds_max) {
            let what =
                format!("trial {} says it is of round {}, and there are {} trials", far.id, far.round, trials.len());
            return Err(Error::Damaged { path: self.path.clone(), what });
        }
        let durabilities = self.add_notes(&mut trials, scenarios)?;
        Ok((trials, durabilities))
    }

    /// Gives trials what was noted of them.
    fn add_notes(&self, trials: &mut [Trial], scenarios: &[Scenario]) -> Result<Durabilities, Error> {
        let of_older_tool = |scenario: &&Scenario| TRANSCRIBED.contains(&&*scenario.workload);
        let transcribed: BTreeSet<&str> =
            scenarios.iter().filter(of_older_tool).map(|scenario| scenario.label.as_str()).collect();
        let columns: HashMap<i64, usize> = trials.iter().enumerate().map(|(index, trial)| (trial.id, index)).collect();
        let mut durabilities = Vec::new();
        self.sealed(&NOTE, "ORDER BY id", |row| {
            let Some(trial) = columns.get(&row.get(1)?).map(|index| &mut trials[*index]) else { return Ok(()) };
            match row.get_ref(2)?.as_str()? {
                "step" => trial.steps.push((row.get(3)?, row.get(4)?)),
                "fact" => drop(trial.facts.insert(row.get(3)?, row.get(4)?)),
                "command" => trial.commands.push(row.get(4)?),
                "warning" => trial.warnings.push(row.get(4)?),
                "transcript" => trial.transcripts.push(row.get(4)?),
                "durability" => durabilities.push((trial.id, row.get::<_, String>(4)?)),
                // What came as remarks were lines for older tools with these workloads, and notes with the others.
                "remark" if transcribed.contains(&*trial.scenario) => trial.transcripts.push(row.get(4)?),
                _ => trial.notes.push(row.get(4)?),
            }
            Ok(())
        })?;
        durabilities.into_iter().map(|(id, json)| Ok((id, self.parsed(&json)?))).collect()
    }

    fn metrics(&self) -> Result<MetricsByIdAndName, Error> {
        let rows = self.sealed(&METRIC, "", |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?))
        })?;
        let (mut ids, mut metrics) = (HashMap::new(), BTreeMap::new());
        for (id, name, unit, direction) in rows {
            let direction = self.parsed(&format!("\"{direction}\""))?;
            metrics.insert(name.clone(), Metric::named(name.clone(), unit, direction));
            ids.insert(id, name);
        }
        Ok((ids, metrics))
    }

    fn runs(&self, names: &HashMap<u32, String>, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<RunRow>, Error> {
        // Asked once a metric, not once a figure.
        let names: HashMap<u32, Option<Arc<str>>> =
            names.iter().map(|(id, name)| (*id, wanted(name).then(|| Arc::from(&**name)))).collect();
        let rows = self.sealed(&RUN, "ORDER BY id", |row| {
            let figures = row.get_ref(6)?.as_blob()?;
            let (figures, rest) = figures.as_chunks::<12>();
            let mut known = true;
            let named = figures.iter().filter_map(|figure| {
                let id = u32::from_le_bytes(figure[..4].try_into().expect("four of twelve bytes"));
                let value = f64::from_le_bytes(figure[4..].try_into().expect("eight of twelve bytes"));
                known &= names.contains_key(&id);
                Some((names.get(&id)?.clone()?, value))
            });
            // Collected, not inserted one by one: that fills the tree's nodes, which saves an eighth of a large ledger's memory (benches/large.rs).
            let metrics: BTreeMap<Arc<str>, f64> = named.collect();
            let whole = rest.is_empty() && known;
            let (id, trial, run) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (warm_up, started, seconds) = (row.get(3)?, row.get(4)?, row.get(5)?);
            Ok(whole.then_some(RunRow { id, trial, run, warm_up, started, seconds, metrics }))
        })?;
        let damaged = || Error::Damaged { path: self.path.clone(), what: "a run's figures".into() };
        rows.into_iter().map(|row| row.ok_or_else(damaged)).collect()
    }

    /// Reads all of it once, and lets SQLite look at its pages and indexes.
    ///
    /// # Errors
    /// With the first that is damaged.
    pub fn verify(&self) -> Result<Verified, Error> {
        let damaged = |what: String| Err(Error::Damaged { path: self.path.clone(), what });
        let mut said = self.prepare("PRAGMA integrity_check(1)")?;
        let said: String = said.query_row([], |row| row.get(0)).map_err(|error| self.failed(error))?;
        if said != "ok" {
            return damaged(format!("SQLite's integrity check says: {said}"));
        }
        // A row whose owner's number changed is read with no run, and its checksum with it.
        let orphans = "SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1";
        let orphans: Vec<String> = self.queried(orphans, |row| row.get(0))?;
        if let Some(table) = orphans.first() {
            return damaged(format!("a row of `{table}` belongs to one that is not in it"));
        }
        let contents = self.contents()?;
        let trials: BTreeSet<i64> = contents.trials.iter().map(|trial| trial.id).collect();
        for run in &contents.runs {
            if !trials.contains(&run.trial) {
                return damaged(format!("run {} is of trial {}, which is not in it", run.run, run.trial));
            }
            self.detail(run.id)?;
        }
        Ok(Verified { trials: trials.len(), runs: contents.runs.len(), without_checksum: contents.without_checksum })
    }

    /// The schema version the file was written with.
    pub fn version(&self) -> i64 {
        self.version
    }

    fn all_parsed<T: DeserializeOwned>(&self, table: &Sealed, column: usize) -> Result<Vec<T>, Error> {
        let rows = self.sealed(table, "ORDER BY rowid", |row| row.get::<_, String>(column))?;
        rows.iter().map(|json| self.parsed(json)).collect()
    }

    /// Rows of a table, each held against its checksum before it is read, and none where the file is older than the table; columns are those that the checksum is of.
    pub(crate) fn sealed<T>(
        &self,
        table: &Sealed,
        end: &str,
        mut read: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        if self.version < table.since {
            return Ok(Vec::new());
        }
        let mut statement =
            self.prepare(&format!("SELECT {} FROM {} {end}", table.selected(self.version), table.table))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(error))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            table.check(row, &self.path)?;
            all.push(read(row).map_err(|error| self.failed(error))?);
        }
        Ok(all)
    }

    /// What a query finds, held against no checksum.
    pub(crate) fn queried<T, All: FromIterator<T>>(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>,
    ) -> Result<All, Error> {
        let mut statement = self.prepare(sql)?;
        let found = statement.query_map([], read).and_then(Iterator::collect);
        found.map_err(|error| self.failed(error))
    }

    /// Runs that an older surefoot wrote.
    fn without_checksum(&self) -> Result<usize, Error> {
        let is_old = if self.version >= schema::VERSION_OF_CHECKSUMS { "WHERE crc IS NULL" } else { "" };
        let count = |row: &rusqlite::Row| Ok(row.get::<_, i64>(0)?.unsigned_abs() as usize);
        let found = self.connection.query_row(&format!("SELECT count(*) FROM run {is_old}"), [], count);
        found.map_err(|error| self.failed(error))
    }

    fn prepare(&self, sql: &str) -> Result<rusqlite::Statement<'_>, Error> {
        self.connection.prepare(sql).map_err(|error| self.failed(error))
    }

    pub(crate) fn failed(&self, error: rusqlite::Error) -> Error {
        schema::unreadable(&self.path, error)
    }

    fn parsed<T: DeserializeOwned>(&self, json: &str) -> Result<T, Error> {
        serde_json::from_str(json).map_err(|error| Error::Damaged { path: self.path.clone(), what: error.to_string() })
    }
}

/// Rounds of several members, member after member: each is a round by itself, and lies on one machine.
pub(crate) fn count_rounds_over_members(trials: &mut [Trial]) {
    let mut rounds: BTreeMap<(Phase, Option<u32>, u32), u32> =
        trials.iter().map(|trial| ((trial.phase, trial.member, trial.round), 0)).collect();
    let mut counts: BTreeMap<Phase, u32> = BTreeMap::new();
    for ((phase, ..), number) in &mut rounds {
        let count = counts.entry(*phase).or_default();
        *number = *count;
        *count += 1;
    }
    trials.iter_mut().for_each(|trial| trial.round = rounds[&(trial.phase, trial.member, trial.round)]);
}

/// A trial's row, with the id of its scenario; then its state and phase, and its failure, which are looked at once it is read.
fn trial_of(row: &rusqlite::Row) -> rusqlite::Result<(Trial, i64, [String; 2], Option<String>)> {
    let trial = Trial {
        id: row.get(0)?,
        round: row.get(2)?,
        position: row.get(3)?,
        group: row.get(11)?,
        member: row.get(12)?,
        seed: row.get::<_, String>(4)?.parse().unwrap_or_default(),
        started: row.get(6)?,
        ended: row.get(7)?,
        ..Trial::default()
    };
    Ok((trial, row.get(1)?, [row.get(5)?, row.get(9)?], row.get(8)?))
}

/// What was found whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Trials.
    pub trials: usize,
    /// Runs, each with its figures, latencies and series.
    pub runs: usize,
    /// Runs that an older surefoot wrote, without a checksum.
    pub without_checksum: usize,
}

/// A metric's name by its id in the ledger, and all of it by its name.
type MetricsByIdAndName = (HashMap<u32, String>, BTreeMap<String, Metric>);
