//! The contract of a service: what it is ([`Kind`]), what its settings say ([`ServiceSettings`]), how it is made ([`Service`]), and it at work ([`Running`]).

use crate::complaints;
use crate::effect::Effects;
use crate::idle::Idle;
use observe::durability::Durability;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use settings::Setting;
use settings::configuration::{Configuration, Setup};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A service as a row of the list: everything that is known without starting it.
pub struct Kind {
    /// The name users write: `postgres`.
    pub name: &'static str,
    /// One sentence for lists and help.
    pub summary: &'static str,
    /// A few lines of study file that use it.
    pub example: &'static str,
    /// Its settings; the server's own are in the free table `settings`.
    pub settings: &'static [Setting],
    /// Whether it can listen on a network, for a load on another machine.
    pub listens: bool,
    /// Whether data are loaded through it, so that it runs while they are; a web server starts when its site is there.
    pub is_database: bool,
    /// Whether its log of changes goes to a volume of its own (`storage.wal`), where there is one.
    pub has_log_volume: bool,
    /// Its checked settings (plain form, defaults filled in) as values: [`read`].
    pub read: fn(&Map<String, Value>) -> Box<dyn ServiceSettings>,
}

/// A service's checked settings: everything that is known of it without starting it.
pub trait ServiceSettings {
    /// What this machine lacks for it, with the remedy; none: nothing.
    fn missing(&self) -> Option<Missing>;

    /// Services that it asks for its answers, started before it.
    fn needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it speaks TLS only.
    fn is_secure(&self) -> bool {
        false
    }

    /// What they do to durability.
    fn durability(&self) -> Durability {
        Durability::full()
    }

    /// As an administrator puts them in place on a server that has data, replicas and settings of its own: nothing of it may take these
    /// away. None where the study leaves its defaults.
    fn files(&self, setup: &Setup) -> Vec<Configuration>;

    /// Problems of the settings as a whole.
    fn problems(&self) -> Vec<String>;

    /// Problems beside the settings of the study's services.
    fn problems_beside(&self, _services: &BTreeMap<String, Map<String, Value>>) -> Vec<String> {
        Vec::new()
    }

    /// Those that do nothing beside the others.
    fn idle(&self) -> Vec<Idle> {
        Vec::new()
    }

    /// Opens it.
    ///
    /// # Errors
    /// When it is not installed.
    fn open(&self) -> Result<Box<dyn Service>, Error>;
}

/// Checked settings as a service's own struct, for [`Kind::read`].
pub fn read<T: ServiceSettings + DeserializeOwned + 'static>(checked: &Map<String, Value>) -> Box<dyn ServiceSettings> {
    Box::new(settings::typed::<T>(checked))
}

/// A program that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct Missing {
    /// What.
    pub what: String,
    /// How to get it.
    pub remedy: String,
}

impl Missing {
    /// A program that one of Debian's packages has.
    pub fn package(what: &str, package: &str) -> Missing {
        Missing { what: format!("{what} is not installed"), remedy: format!("install the package {package}") }
    }
}

/// A program, where it is in one of the folders that servers are installed to.
pub fn installed(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/local/nginx/sbin"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// What a program says when it is asked by this argument, on both of its outputs.
pub fn said(program: &Path, argument: &str) -> String {
    let said = |output: std::process::Output| [output.stdout, output.stderr].concat();
    let bytes = std::process::Command::new(program).arg(argument).output().map(said).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where a server lives. The folders can be reached by its user.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its data, on the filesystem under test.
    pub data: PathBuf,
    /// Its log of changes (WAL, redo), when that has a volume of its own.
    pub log: Option<PathBuf>,
    /// Configuration, socket and messages: in memory, outside the filesystem under test.
    pub run: PathBuf,
    /// Its CPUs; empty: any.
    pub cpus: Vec<usize>,
    /// The sockets of the servers that were started before it, by service.
    pub sockets: BTreeMap<String, PathBuf>,
    /// Set while data are loaded that will be copied: speed counts, a crash means to begin again.
    pub skip_fsync: bool,
    /// Where it listens beside its socket; none: nowhere.
    pub network: Option<Network>,
}

impl Place {
    /// With these folders, and nothing else that an installation may have.
    pub fn new(data: PathBuf, run: PathBuf) -> Place {
        let (cpus, sockets) = (Vec::new(), BTreeMap::new());
        Place { data, log: None, run, cpus, sockets, skip_fsync: false, network: None }
    }
}

/// Where a server listens for a load on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its only address.
    pub address: SocketAddr,
    /// The only machine that is let in, where the server can tell.
    pub client: IpAddr,
    /// What that has to say, where the server asks.
    pub password: String,
}

/// An installed server.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its program, or the folder of its programs.
    pub path: PathBuf,
    /// Program and version, in words.
    pub version: String,
    /// The user it runs as; none: the user that runs surefoot.
    pub user: Option<User>,
}

impl Program {
    pub(crate) fn new((path, version): (PathBuf, String), users: &[&str]) -> Program {
        Program { path, version, user: User::first_of(users) }
    }
}

/// A recovery that takes longer hangs: what the loads here leave is recovered in less than a second. Who asks ends the server then.
pub const RECOVERY_SECONDS_MAX: u64 = 60;

/// An installed server with its settings.
pub trait Service {
    /// What it is started from.
    fn program(&self) -> &Program;

    /// Program and version, in words: of a database a part of a template's identity.
    fn version(&self) -> &str {
        &self.program().version
    }

    /// What of the settings decides how files are laid out, or what is installed: part of a template's identity. A web server: nothing.
    fn format(&self) -> String {
        String::new()
    }

    /// Makes an empty data directory.
    ///
    /// # Errors
    /// When the server's own program refuses.
    fn create(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    /// Moves what belongs on the log's volume there. Called before the first start on `place`.
    ///
    /// # Errors
    /// When files can't be moved.
    fn move_log(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    /// Configures and starts it, and waits until it answers.
    ///
    /// # Errors
    /// When it refuses a setting, dies, or does not answer in time: with its own last messages.
    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error>;

    /// What an administrator does before a start after a failure, where the start does not do it by itself.
    ///
    /// # Errors
    /// What the server's own programs say.
    fn repair(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    /// Starts it on data as a power cut left them, asks in SQL or in what it has instead, and ends it; nothing that it writes need be
    /// kept. What is flushed and how much memory it has may be less than asked; what decides a recovery's result is as asked. The folder
    /// for its run is no other server's. Gives each answer's rows, each column as text; none: NULL.
    ///
    /// # Errors
    /// [`Error::Program`] and [`Error::Slow`] when it does not come up or goes down while it is asked, or does not answer within
    /// [`RECOVERY_SECONDS_MAX`]; [`Error::Asked`] when it is up and refuses a question, as with pages that it finds damaged.
    fn ask_recovered(&self, _place: &Place, _questions: &[String]) -> Result<Vec<Vec<Vec<Option<String>>>>, Error> {
        Err(Error::NoTables)
    }

    /// Each transaction that the log for its replicas holds whole, in bytes that are taken for text: what its statements said
    /// stands in it. None: it keeps no such log, or one in which they do not stand.
    ///
    /// # Errors
    /// When the log can't be read.
    fn logged(&self, _place: &Place) -> Result<Option<Vec<String>>, Error> {
        Ok(None)
    }

    /// The shell commands that make and start it by hand, the data folder as `$MOUNT/data`, the log's volume as `$WAL`,
    /// a folder for sockets and configuration as `$RUN`.
    fn commands(&self, has_log_volume: bool) -> Vec<String>;

    /// Files of the data directory that a copy need not have (sockets, locks, messages).
    fn is_passing(&self, _name: &str) -> bool {
        false
    }

    /// The user it runs as; none: the user that runs surefoot.
    fn user(&self) -> Option<User> {
        self.program().user.clone()
    }
}

/// A server at work; ended by force when dropped.
pub trait Running {
    /// The Unix socket it listens on; of a database without a server process, the program that enters it.
    fn socket(&self) -> PathBuf;

    /// Its version, the settings in effect that are not its defaults, and what did not take effect.
    fn effects(&self) -> &Effects;

    /// Its last messages.
    fn messages(&self) -> String;

    /// Whether its first process has ended by itself.
    fn has_ended(&self) -> bool {
        false
    }

    /// Stops it cleanly.
    ///
    /// # Errors
    /// When it had died before, or does not end in time (it is ended by force then).
    fn stop(self: Box<Self>) -> Result<(), Error>;

    /// The same, and it has time for as long as it writes: memory may hold more that is dirty than a slow disk takes otherwise. Not of one on a
    /// disk that fails, where it may write for ever.
    ///
    /// # Errors
    /// As of [`Running::stop`].
    fn stop_at_ease(self: Box<Self>) -> Result<(), Error> {
        self.stop()
    }
}

/// An unprivileged user of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl User {
    /// The first of these users that there is, when this process may become another at all.
    pub fn first_of(names: &[&str]) -> Option<User> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        let found = names.iter().find_map(|name| nix::unistd::User::from_name(name).ok().flatten());
        found.map(|user| User { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() })
    }
}

/// Why a service could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not installed.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// One of its programs ended badly.
    #[error("{program} ended with {status}")]
    Program {
        /// Which.
        program: String,
        /// Exit status or signal.
        status: String,
        /// Its last lines.
        log: String,
    },
    /// It did not do something in time.
    #[error("{server} did not {action} within {seconds} s")]
    Slow {
        /// Which.
        server: String,
        /// "answer", "stop".
        action: &'static str,
        /// How long was waited.
        seconds: u64,
        /// Its last lines.
        log: String,
    },
    /// It answered a question badly.
    #[error("{server} cannot {action}")]
    Asked {
        /// Which.
        server: &'static str,
        /// What was asked.
        action: String,
        /// Why.
        #[source]
        source: wire::Error,
    },
    /// It holds no data that could be asked for.
    #[error("this service holds no tables: power cuts are measured with postgres, mariadb, gtm, redis and etcd")]
    NoTables,
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
    /// A template is not what was written.
    #[error("the template {path} is damaged: {what}")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What was found.
        what: String,
    },
}

impl Error {
    /// A refused file operation: `map_err(Error::file("read", path))`.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { action, path, source }
    }

    /// Whether one of its programs was killed (SIGKILL): by the kernel for want of memory, mostly. A server that gives up ends itself by another
    /// signal or a status, and one that is ended here because it takes too long is [`Error::Slow`].
    pub fn was_killed(&self) -> bool {
        // As a server's process has it, and as `ExitStatus` has it.
        matches!(self, Error::Program { status, .. } if status == "signal 9" || status.starts_with("signal: 9 "))
    }

    /// What the server or its program said last.
    pub fn log(&self) -> &str {
        let (Error::Program { log, .. } | Error::Slow { log, .. }) = self else { return "" };
        log
    }

    /// What the server complains of, in one line without its time: the first that it calls an error, else its last; where it
    /// said nothing, what happened to it.
    pub fn complaint(&self) -> String {
        if let Error::Asked { source: wire::Error::Refused { message, .. }, .. } = self {
            return message.clone();
        }
        let last = || self.log().lines().next_back().map(|line| line.trim().to_string());
        complaints::first(self.log()).or_else(last).unwrap_or_else(|| self.to_string())
    }
}

/// A free table of a service's settings, each value as a configuration file has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Map<String, Value>")]
pub(crate) struct FreeSettings(BTreeMap<String, String>);

impl From<Map<String, Value>> for FreeSettings {
    fn from(table: Map<String, Value>) -> FreeSettings {
        FreeSettings(table.into_iter().map(|(name, value)| (name, written(&value))).collect())
    }
}

impl Deref for FreeSettings {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl FreeSettings {
    /// Those whose names are of a kind.
    pub fn only(&self, is_of_kind: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
        self.0.clone().into_iter().filter(|(name, _)| is_of_kind(name)).collect()
    }

    /// Over values that hold when the study says nothing, `name=value` with a space between each, whose names are the same in any case.
    pub fn over(&self, defaults: &str) -> BTreeMap<String, String> {
        let is_asked = |name: &str| self.0.keys().any(|asked| asked.eq_ignore_ascii_case(name));
        let defaults = defaults.split(' ').filter_map(|default| default.split_once('='));
        let defaults = defaults.filter(|(name, _)| !is_asked(name));
        let defaults = defaults.map(|(name, value)| (name.to_string(), value.to_string()));
        defaults.chain(self.0.clone()).collect()
    }

    /// Problems of the table: names that surefoot sets itself, and what would break out of its line of a configuration.
    pub fn problems(&self, table: &str, ours: &str, is_plain: impl Fn(&str, &str) -> bool) -> Vec<String> {
        let of_one = |(name, value): (&String, &String)| {
            if ours.split(' ').any(|ours| ours.eq_ignore_ascii_case(name)) {
                return Some(format!("{table}.{name}: surefoot sets it itself"));
            }
            (!is_plain(name, value)).then(|| format!("{table}.{name}: {value:?} is not one setting's value"))
        };
        self.0.iter().filter_map(of_one).collect()
    }
}

/// Whether a name is one of these words.
pub(crate) fn is_among(name: &str, words: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// Whether it can be a setting's name: letters, digits, `.`, `_` and `-`.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "on".into(),
        Value::Bool(false) => "off".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
