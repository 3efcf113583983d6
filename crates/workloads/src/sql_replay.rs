//! `sql-replay`: a database server's own log, its sessions with their statements, on the data that they met.
//!
//! `sqllog` reads the log, `load::sql_replay` sends it. Each run of a trial is the next part of the log: what a statement changed is changed, and
//! nothing can be replayed twice on the same data.

mod outcome;

use crate::sql;
use load::asked;
use load::engines;
use load::sql::{Database, Engine, Place, Pragmas, failed};
use load::sql_load;
use load::sql_replay::{Means, Pace, Replay, note_of_programs};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Measured, Metric};
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use sqllog::{Form, Log, Options};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "sql-replay",
    summary: "the statements of a database server's own log, in their sessions, on a dump of the data that they met",
    example: "[workload.sql-replay]\nengine = \"postgres\"\nlog = \"/var/log/postgresql/postgresql-15-main.log\"\ndump = \"shop.dump\"\n",
    settings: SETTINGS,
    choices: &["engine"],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("engine", Is::Choice(engines::SQL_NAMES), engines::postgres::ENGINE.name)
        .help("The database server whose log it is, and that `[service.NAME]` configures. SQLite writes no log."),
    Setting::new("log", Is::Text, "")
        .help("The server's log: plain, gzip or Zstandard. PostgreSQL logs all statements with log_statement = 'all' or log_min_duration_statement = 0, MariaDB and MySQL with general_log = ON or, with long_query_time = 0, slow_query_log = ON."),
    Setting::new("form", Is::Choice(&["auto", "stderr", "csv", "json", "general", "slow"]), "auto")
        .help("The log's form: PostgreSQL's `stderr`, `csv` or `json`, MariaDB's and MySQL's `general` or `slow` log. `auto`: as its beginning says."),
    Setting::new("log_line_prefix", Is::Text, "")
        .help("Of PostgreSQL's form `stderr`: the server's setting of this name. Empty: of those that are common, the one that most of its first lines have."),
    Setting::new("database", Is::Text, "")
        .help("The database whose sessions are replayed, where the log has several."),
    Setting::new("dump", Is::Text, "")
        .help("The data as they were when the log began: `pg_dump`'s text or archive, `mysqldump`'s text. Empty: the log makes its own tables."),
    Setting::new("statements", Is::Integer { min: 0, max: i64::MAX }, "0")
        .help("The log's first statements that are replayed in a trial; its runs share them in equal parts. 0: all."),
    Setting::new("speed", Is::Number { min: 0.0, max: 1e6 }, "0")
        .help("So many times as fast as the log: statements are sent at its own times, those of a log that has whole seconds spread over each, and latencies count from when each was due. 0: each as soon as its session's last one is answered, and no more sessions at a time than in the log."),
    Setting::new("bad_lines_max", Is::Percent { min: 0.0, max: 1.0 }, "5%")
        .help("Share of lines that may be nothing of the log's form; above it the log is refused."),
    Setting::new("log_bytes_max", Is::Bytes { min: 1, max: 1 << 60 }, "4GiB")
        .help("The most bytes of text that the log may have, decompressed: it is held in memory."),
    asked::ERRORS_MAX.help("Of a replay as fast as can be: a run of which a larger share of statements is refused where the log has an answer (or does not say), or is lost with its connection, fails. As logged they are counted and the run stands. They never count as answers."),
    sql_load::DRIVER_THREADS,
];

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    engine: &'static Engine,
    #[serde(rename = "log")]
    path: PathBuf,
    form: String,
    log_line_prefix: String,
    database: String,
    dump: PathBuf,
    statements: u64,
    speed: f64,
    bad_lines_max: f64,
    log_bytes_max: u64,
    errors_max: f64,
    driver_threads: usize,
}

impl Parameters {
    fn given(text: &str) -> Option<String> {
        (!text.is_empty()).then(|| text.to_string())
    }

    fn options(&self) -> Options {
        Options {
            form: Form::named(&self.form),
            line_prefix: Parameters::given(&self.log_line_prefix),
            database: Parameters::given(&self.database),
            statements_max: self.statements,
            bad_lines_max: self.bad_lines_max,
        }
    }

    fn pace(&self) -> Pace {
        if self.speed > 0.0 { Pace::AsLogged(self.speed) } else { Pace::Closed }
    }

    /// The log, read once a process: plan and trial ask for it several times.
    fn read(&self) -> Result<Arc<Log>, String> {
        static LAST: Mutex<Option<(String, Arc<Log>)>> = Mutex::new(None);
        let refused = |why: &dyn std::fmt::Display| {
            format!("`log`: {}: {why}{}", self.path.display(), workload::sought(&self.path))
        };
        if self.path.as_os_str().is_empty() {
            return Err("`log` names the server's log to replay; there is no default".into());
        }
        let key = format!("{} {:?}", stamp(&self.path), self.options());
        let mut last = LAST.lock().expect("no thread panics with it");
        if let Some((_, log)) = last.as_ref().filter(|(known, _)| *known == key) {
            return Ok(Arc::clone(log));
        }
        let text = http::reader::whole_text(&self.path, self.log_bytes_max).map_err(|error| refused(&error))?;
        let log = Arc::new(sqllog::read(&text, &self.options()).map_err(|problem| refused(&problem))?);
        *last = Some((key, Arc::clone(&log)));
        Ok(log)
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        outcome::metrics(self.pace())
    }

    fn problems(&self) -> Vec<String> {
        let (mut problems, own) = (Vec::new(), self.engine.facts().logs);
        if own.is_empty() {
            return vec![format!("engine: {} writes no log of statements", self.engine.name)];
        }
        match self.read() {
            Err(problem) => problems.push(problem),
            Ok(log) if !own.contains(&log.form.name()) => problems.push(format!(
                "`log`: {} has the form `{}`, and {} writes {}: set `engine` or `form`",
                self.path.display(),
                log.form.name(),
                self.engine.name,
                own.join(", ")
            )),
            Ok(_) => {}
        }
        if !self.dump.as_os_str().is_empty() {
            problems.extend(sql::dump(&self.dump, self.engine).0);
        }
        problems
    }

    /// What the engine's settings do to durability, unless the log's statements say otherwise where nobody looks.
    fn durability(&self) -> Durability {
        let by_settings = self.engine.durability(&Pragmas::default());
        let Ok(log) = self.read() else { return by_settings };
        let weakened = log.texts().iter().filter_map(|text| sql::weakened(text, self.engine));
        weakened.fold(by_settings, Durability::and)
    }

    fn estimate(&self) -> Estimate {
        let dump_bytes = if self.dump.as_os_str().is_empty() { 0 } else { sql::dump(&self.dump, self.engine).1 };
        let (statements, span) = self.read().map_or((0, 0..0), |log| (log.statements(), log.span()));
        let run_seconds = match self.pace() {
            Pace::AsLogged(speed) => span.end.saturating_sub(span.start) as f64 / 1e6 / speed,
            Pace::Closed => statements as f64 / STATEMENTS_PER_SECOND,
        };
        Estimate { data_bytes: 2 * dump_bytes, load_seconds: dump_bytes as f64 / LOADED_BYTES_PER_SECOND, run_seconds }
    }

    fn is_by_the_clock(&self) -> bool {
        matches!(self.pace(), Pace::AsLogged(_))
    }

    /// A trial replays the log once: each run is a part of it.
    fn runs_share_work(&self) -> bool {
        true
    }

    fn data_key(&self) -> String {
        let dump = if self.dump.as_os_str().is_empty() { "none".into() } else { stamp(&self.dump) };
        format!("sql-replay 3 on {}, dump {dump}", self.engine.name)
    }

    fn services(&self) -> Vec<&'static str> {
        self.engine.services()
    }

    fn user_files(&self) -> Vec<PathBuf> {
        [&self.path, &self.dump].into_iter().filter(|file| !file.as_os_str().is_empty()).cloned().collect()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let log = self.read().map_err(|problem| Error::Parameter { setting: "log", problem })?;
        let database = self.engine.database(&Pragmas::default());
        Ok(Box::new(SqlReplay { parameters: *self, database, log, replay: None, notes: Vec::new() }))
    }
}

/// For `plan` only: what two cores answer of short statements, and load of a dump.
const STATEMENTS_PER_SECOND: f64 = 10_000.0;
const LOADED_BYTES_PER_SECOND: f64 = 15e6;

/// What tells versions of a file apart.
fn stamp(path: &Path) -> String {
    let of_file = std::fs::metadata(path).map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
    let (bytes, seconds, nanoseconds) = of_file.unwrap_or_default();
    format!("{} of {bytes} bytes, {seconds}.{nanoseconds:09}", path.display())
}

/// The workload at work.
struct SqlReplay {
    parameters: Parameters,
    database: Box<dyn Database>,
    log: Arc<Log>,
    replay: Option<Replay>,
    /// Of the tables and programs that the dump made. Tables that the log makes are told by its statements.
    notes: Vec<String>,
}

impl Workload for SqlReplay {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let (started, place) = (Instant::now(), Place::of(context));
        self.database.create(&place)?;
        let dump = &self.parameters.dump;
        if !dump.as_os_str().is_empty() {
            let dump = std::path::absolute(dump).map_err(Error::doing("find", dump))?;
            self.database.load_dump(&place, &dump, context.interrupted)?;
        }
        let tables = self.database.tables(&place)?;
        if !tables.is_empty() {
            self.database.loaded(&place, &tables)?;
        }
        Ok(workload::load_seconds(started))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let place = Place::of(context);
        let replay = match &mut self.replay {
            Some(replay) => replay,
            None => {
                self.database.checkpoint(&place)?;
                // Before a session holds locks.
                self.notes.extend(sql::note_of_unsafe(&self.database.unsafe_tables(&place)?));
                let of_programs = note_of_programs(&self.log, &mut *self.database.connect(&place)?);
                self.notes.extend(of_programs.map_err(failed(self.parameters.engine.name, "list its triggers"))?);
                self.replay.insert(Replay::new(&self.log, context.runs as usize))
            }
        };
        let database = &*self.database;
        let means = Means {
            connect: &|| database.connect(&place),
            pace: self.parameters.pace(),
            threads: self.parameters.driver_threads,
            interrupted: context.interrupted,
        };
        let over = "all of it has been replayed, and nothing can be twice";
        let over = || Error::Parameter { setting: "log", problem: over.into() };
        let tally = replay.run(&self.log, &means, context.progress)?.ok_or_else(over)?;
        if tally.asked() == 0 {
            let problem =
                format!("no statement is left for one of its {} runs: a longer log, or fewer runs", context.runs);
            return Err(Error::Parameter { setting: "log", problem });
        }
        let mut outcome = outcome::of(&self.log, tally, self.parameters.pace(), self.parameters.errors_max);
        outcome.notes.extend(self.notes.clone());
        Ok(outcome)
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.replay = None;
        let place = Place::of(context);
        let tables = self.database.tables(&place)?;
        if tables.is_empty() { Ok(()) } else { self.database.check(&place, &tables) }
    }
}
