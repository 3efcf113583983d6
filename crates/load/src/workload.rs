//! The contract of a workload: what it is ([`Kind`]), what its settings say ([`WorkloadSettings`]) and what it does ([`Workload`]).

use crate::asked::Asked;
use observe::durability::Durability;
use observe::latency::Latency;
use observe::metric::{Direction, Measured, Metric};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use settings::Setting;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A workload as a row of the list.
pub struct Kind {
    /// The name users write: `oltp`.
    pub name: &'static str,
    /// One sentence for lists and help.
    pub summary: &'static str,
    /// A few lines of study file that use it.
    pub example: &'static str,
    /// Its settings.
    pub settings: &'static [Setting],
    /// Those of them that say what is under test: a choice, among which scenarios compete. The others are conditions of the load.
    pub choices: &'static [&'static str],
    /// What of it another machine may do.
    pub elsewhere: Elsewhere,
    /// Its checked settings (plain form, defaults filled in) as values: [`read`].
    pub read: fn(&Map<String, Value>) -> Box<dyn WorkloadSettings>,
}

/// A workload's checked settings: everything that is known of a trial without running it.
pub trait WorkloadSettings {
    /// The metrics that its runs yield, the primary one first.
    fn metrics(&self) -> Vec<Metric>;

    /// What the engine's own settings do to durability.
    fn durability(&self) -> Durability;

    /// What a trial will need, for `plan`.
    fn estimate(&self) -> Estimate;

    /// Bytes of memory that its servers' processes take beside the data, where that is much, for scenarios that are up at the same time.
    fn process_bytes(&self) -> u64 {
        0
    }

    /// Problems that only show when the settings are seen together.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Problems that only show beside the settings of the study's services, by their names.
    fn problems_beside(&self, _services: &BTreeMap<String, Map<String, Value>>) -> Vec<String> {
        Vec::new()
    }

    /// What it needs and this machine lacks, such as programs, with Debian's package. A study is right without it.
    fn missing(&self) -> Vec<String> {
        Vec::new()
    }

    /// What its load needs and the machine that drives it lacks, which may be a load agent's. Beside [`WorkloadSettings::missing`].
    fn missing_for_load(&self) -> Vec<String> {
        Vec::new()
    }

    /// The services that it uses, in the order of their start; the last is the one that it drives. None: it is embedded.
    fn services(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// What decides the data that it loads, in words: part of a template's identity.
    fn data_key(&self) -> String {
        String::new()
    }

    /// How long a run lasts, where that is a matter of time alone and the setting `time` says it. None: a run is a job with an end of its
    /// own.
    fn run_seconds(&self) -> Option<f64> {
        None
    }

    /// Whether a run lasts as long on a slower machine.
    fn is_by_the_clock(&self) -> bool {
        self.run_seconds().is_some()
    }

    /// Settings of its own that do nothing beside the others: each with what it needs.
    fn idle(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Whether a run may be over well before the time that [`WorkloadSettings::estimate`] has.
    fn may_end_sooner(&self) -> bool {
        false
    }

    /// Whether a run that ends by itself is a part of the work, with which the next goes on: such runs are turns as they are.
    fn goes_in_parts(&self) -> bool {
        false
    }

    /// Whether the runs of a trial, warm-ups included, share the work whose length [`WorkloadSettings::estimate`] has as that of a run.
    fn runs_share_work(&self) -> bool {
        false
    }

    /// The user's own files that it reads.
    fn user_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether it reads files that the user brings. A machine without them is sent their texts.
    fn brings_files(&self) -> bool {
        false
    }

    /// The texts of those files, by names of the workload's choice; of files, no more than so many bytes. Beside the server.
    ///
    /// # Errors
    /// When a file can't be read.
    fn texts(&self, _bytes_max: u64) -> Result<Texts, Error> {
        Ok(Texts::new())
    }

    /// How it puts files in place, for what a power cut takes of them.
    fn files(&self) -> Files {
        Files::Unknown
    }

    /// Opens it.
    ///
    /// # Errors
    /// When what it needs is not there.
    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error>;

    /// Opens it with these texts, and reads no file of the user's. Of one that brings files, nobody has asked for `problems`.
    ///
    /// # Errors
    /// As [`WorkloadSettings::open`]; and what is wrong with the texts.
    fn open_with_texts(self: Box<Self>, _texts: &Texts) -> Result<Box<dyn Workload>, Error> {
        self.open()
    }
}

/// Problems or notes: the sentences whose condition holds, each `CONDITION => "text of {name}", name = VALUE;`.
#[macro_export]
macro_rules! sentences {
    ($($holds:expr => $words:literal $(, $name:ident = $value:expr)*;)+) => {
        [$($holds.then(|| format!($words $(, $name = $value)*))),+].into_iter().flatten().collect::<Vec<String>>()
    };
}

/// How a workload puts files in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Nobody knows: as the study says.
    Unknown,
    /// In one of the ways of `safety.files`.
    By(&'static str),
    /// In none of them, for this reason.
    Otherwise(&'static str),
}

/// Checked settings as a workload's own struct, for [`Kind::read`].
pub fn read<T: WorkloadSettings + DeserializeOwned + 'static>(
    checked: &Map<String, Value>,
) -> Box<dyn WorkloadSettings> {
    Box::new(settings::typed::<T>(checked))
}

/// What is said behind the path of a file of the user's that is not there: whoever starts a study from elsewhere expects its files beside it.
pub fn sought(path: &Path) -> String {
    let is_sought = path.is_relative() && !path.exists();
    let folder = std::env::current_dir().ok().filter(|_| is_sought);
    folder.map_or_else(String::new, |folder| {
        format!("; it is looked for in {}, where surefoot was started", folder.display())
    })
}

/// What of a workload a load agent on another machine may do, when its server runs: what needs no file there, and starts no program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// Nothing.
    Nothing,
    /// Its runs; its last look is at files beside the server.
    Runs,
    /// All but loading the data.
    All,
}

/// Texts of files by their names.
pub type Texts = BTreeMap<String, String>;

/// What a trial of a workload will need, roughly.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Bytes on the filesystem under test when it is largest.
    pub data_bytes: u64,
    /// Seconds to load the data.
    pub load_seconds: f64,
    /// Seconds of one run; 0: nobody knows.
    pub run_seconds: f64,
}

/// What a workload is given. It may use nothing else.
pub struct Context<'a> {
    /// A folder on the filesystem under test, of several services the driven one's. Empty when the workload is prepared.
    pub data_folder: PathBuf,
    /// The server that the trial started for it.
    pub server: Option<Server>,
    /// The sockets of all servers that run, by service.
    pub sockets: BTreeMap<String, PathBuf>,
    /// A folder of the study, not on the filesystem under test, that lasts from trial to trial (archives, templates).
    pub cache_folder: PathBuf,
    /// Everything random comes from this; it differs by round, not by scenario, so that all scenarios of a round do the same.
    pub seed: u64,
    /// Whether a run goes on where the one before it ended: with its connections, and amid the server's own cycles.
    pub goes_on: bool,
    /// How many runs the trial has, warm-ups included.
    pub runs: u32,
    /// CPUs for the load generator's threads; empty: any.
    pub client_cpus: Vec<usize>,
    /// Set when the user interrupts: return soon, with [`Error::Interrupted`].
    pub interrupted: &'a AtomicBool,
    /// Called about once a second with (seconds since the window began, current value of the primary metric).
    pub progress: &'a mut dyn FnMut(f64, f64),
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Where.
    pub at: At,
    /// What it asks who comes to say; none: nothing.
    pub password: Option<String>,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    /// By a file of this machine: its socket, the file in which it tells its address, or the program that enters its database.
    File(PathBuf),
    /// By its address on a network.
    Network {
        /// Host and port.
        address: SocketAddr,
        /// Whether it speaks TLS only.
        is_secure: bool,
    },
}

impl Server {
    /// One that is reached by a file, and asks nothing.
    pub fn by_file(file: PathBuf) -> Server {
        Server { at: At::File(file), password: None }
    }

    /// That file; none: it is on a network.
    pub fn file(&self) -> Option<&Path> {
        match &self.at {
            At::File(file) => Some(file),
            At::Network { .. } => None,
        }
    }

    /// As connections take it.
    pub fn address(&self) -> wire::Address {
        match &self.at {
            At::File(file) => wire::Address::Socket(file.clone()),
            At::Network { address, .. } => wire::Address::Host(address.ip().to_string(), address.port()),
        }
    }
}

/// A workload at work: prepared once a trial, run several times, verified at the end.
pub trait Workload {
    /// Loads the data. Required where the workload has data before its runs; not called where a server runs on a copy of data that were loaded once. Returns metrics of the load itself (may be empty). Not part of any run.
    fn prepare(&mut self, _context: &mut Context) -> Result<Vec<Measured>, Error> {
        Ok(Vec::new())
    }

    /// Brings about the state that the next run starts from, before caches are dropped; neither measured nor watched. Not required.
    fn ready(&mut self, _context: &mut Context) -> Result<(), Error> {
        Ok(())
    }

    /// Lets go of files, connections and caches of its own, so that the next run is cold. Not required.
    fn cool(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// One run: drive the load, verify what is read, return figures. Required. A wrong answer is an error, never a figure: it ends the
    /// run, or is counted in [`Outcome::asked`] and in nothing else.
    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error>;

    /// Checks the data once more after the last run. Required where the workload has data.
    fn verify(&mut self, context: &mut Context) -> Result<(), Error>;
}

/// The mean of these times in microseconds, then these quantiles; NaN where nothing was timed: no operation is not a fast one.
/// [`figures`] leaves them out.
pub fn mean_and(quantiles: &[f64], times: &Latency) -> Vec<f64> {
    let known = |microseconds| if times.count() > 0 { microseconds } else { f64::NAN };
    let quantiles = quantiles.iter().map(|at| times.microseconds_at(*at));
    std::iter::once(times.microseconds_mean()).chain(quantiles).map(known).collect()
}

/// The values of `metrics`, in their order; without those that are not known, which are NaN.
pub fn figures(metrics: &[Metric], values: impl IntoIterator<Item = f64>) -> Vec<Measured> {
    let values: Vec<f64> = values.into_iter().collect();
    // One that is left out would give its metric the next one's value, and the last would be missing.
    assert_eq!(metrics.len(), values.len(), "each metric has a value");
    let all = metrics.iter().zip(values).filter(|(_, value)| !value.is_nan());
    all.map(|(metric, value)| metric.at(value)).collect()
}

/// How long the load of a workload's data took, for [`Workload::prepare`].
pub fn load_seconds(started: Instant) -> Vec<Measured> {
    vec![Metric::new("load_seconds", "s", Direction::Less).at(started.elapsed().as_secs_f64())]
}

/// The result of one run. It has no default: each workload says what it asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// What was asked for, and what of it went wrong.
    pub asked: Asked,
    /// The time that its rates are over: the measured window, with what the last answers took beyond it (`deadline.rs`).
    pub seconds: f64,
    /// What a flush of its own took beyond them, once the window was over. A turn is charged with it.
    #[serde(default)]
    pub flush_seconds: f64,
    /// Figures; the primary metric of [`WorkloadSettings::metrics`] must be among them.
    pub metrics: Vec<Measured>,
    /// Latency by operation.
    pub latencies: BTreeMap<String, Latency>,
    /// The primary metric (as a rate) for each whole second of the window.
    pub series: BTreeMap<String, Vec<f64>>,
    /// Bytes the workload itself asked to write, for write amplification; 0: unknown.
    pub bytes_written: u64,
    /// Durable commits the workload made, for flushes per commit; 0: it makes none.
    pub commits: u64,
    /// What a reader of the run should know, a sentence each: every report shows them at the run's scenario. What went wrong is said by
    /// [`Outcome::asked`].
    pub notes: Vec<String>,
    /// The run as an older tool would have printed it, for those who hold it against old results: kept in the results file.
    pub transcript: Option<String>,
}

impl Outcome {
    /// Without figures yet.
    pub fn of(asked: Asked) -> Outcome {
        Outcome {
            asked,
            seconds: 0.0,
            flush_seconds: 0.0,
            metrics: Vec::new(),
            latencies: BTreeMap::new(),
            series: BTreeMap::new(),
            bytes_written: 0,
            commits: 0,
            notes: Vec::new(),
            transcript: None,
        }
    }

    /// Without figures yet, of a load whose first error ends the run.
    pub fn all_right() -> Outcome {
        Outcome::of(Asked::all_right())
    }
}

/// Why a workload could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// What was read back is not what was written: the run is void.
    #[error("wrong data in {place}: expected {expected}, found {found}")]
    WrongData {
        /// File, table, key …
        place: String,
        /// What should stand there.
        expected: String,
        /// What stood there.
        found: String,
    },
    /// What another process of surefoot's said.
    #[error("{0}")]
    Said(String),
    /// More of a run went wrong than may.
    #[error("{0}")]
    NotAnswered(Box<Asked>),
    /// The system refused a file operation.
    #[error("cannot {action} {path}")]
    File {
        /// "write", "create" …
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The engine or program refused.
    #[error("{engine} cannot {action}")]
    Engine {
        /// `sqlite`, `lmdb`, a program's name.
        engine: String,
        /// What was tried.
        action: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A program ended badly.
    #[error("{program} ended with {status}")]
    Program {
        /// Its name.
        program: String,
        /// Exit status or signal.
        status: String,
        /// Its last lines.
        log: String,
    },
    /// Parameters that passed the check one by one but cannot work together or here.
    #[error("{setting}: {problem}")]
    Parameter {
        /// Its name.
        setting: &'static str,
        /// What is wrong and what would be right.
        problem: String,
    },
}

impl Error {
    /// For work that goes on for long, to be asked now and then with [`Context::interrupted`].
    ///
    /// # Errors
    /// When the user interrupts.
    #[inline]
    pub fn if_interrupted(interrupted: &AtomicBool) -> Result<(), Error> {
        if interrupted.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// A refused file operation.
    pub fn file(action: &'static str, path: &Path, source: std::io::Error) -> Error {
        Error::File { action, path: path.into(), source }
    }

    /// A removal of what need not be there.
    ///
    /// # Errors
    /// When it is there, and was not removed.
    pub fn unless_gone(removed: std::io::Result<()>, path: &Path) -> Result<(), Error> {
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", path, error)),
            _ => Ok(()),
        }
    }

    /// What a refused file operation is told as: `map_err(Error::doing("read", path))`.
    pub fn doing(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::file(action, path, source)
    }

    /// What was read back is not what was written.
    pub fn wrong_data(place: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::WrongData { place: place.into(), expected: expected.into(), found: found.into() }
    }

    /// A refusal of an engine or a program.
    pub fn engine(
        engine: impl Into<String>,
        action: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error::Engine { engine: engine.into(), action: action.into(), source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_said_to_be_sought_here() {
        assert!(sought("none.log".as_ref()).ends_with(", where surefoot was started"));
        // It was somewhere, or says itself where.
        for path in ["Cargo.toml", "/nowhere/none.log"] {
            assert_eq!(sought(path.as_ref()), "", "{path}");
        }
    }
}
