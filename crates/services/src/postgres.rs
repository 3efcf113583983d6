//! PostgreSQL as a service: check, configure, start, ready, stop.
//!
//! Every installed version of Debian's layout (`/usr/lib/postgresql/15/bin`) is known, and none beside these.

mod applied;
mod effects;
mod messages;
mod single;

use crate::idle::{self, Idle};
use crate::process::{AtWork, Start, quoted, run_as};
use crate::recovered::{self, Answers};
use crate::service::{
    self, Error, FreeSettings, Kind, Missing, Network, Place, Program, Running, Service, ServiceSettings, is_among,
    is_name,
};
use crate::versions;
use nix::sys::signal::Signal;
use observe::durability::{Class, Durability};
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::Connection as _;
use wire::postgres::Postgres as Client;

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "postgres",
    summary: "PostgreSQL, any version that is installed",
    example: "[service.postgres]\nsettings = { shared_buffers = \"256MB\", synchronous_commit = \"on\" }\n",
    settings: SETTINGS,
    listens: true,
    is_database: true,
    has_log_volume: true,
    read: service::read::<PostgresSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::absent("version", Is::Text).help("Major version, like \"15\"; default: the newest that is installed."),
    Setting::new("settings", Is::Table, "{}")
        .help("Settings of postgresql.conf, any of them: settings = { shared_buffers = \"256MB\" }. What is in effect is read back."),
    Setting::new("data", Is::Choice(&["template", "load"]), "template")
        .help("`template`: loaded once, then copied for each trial, so that every trial starts from the same files. `load`: loaded anew on the filesystem under test, and the load is measured."),
    Setting::new("checksums", Is::Boolean, "false")
        .help("Whether pages carry checksums (initdb --data-checksums, or --no-data-checksums from version 18 on, which has them by itself)."),
    Setting::new("wal_segment_size", Is::Bytes { min: 1 << 20, max: 1 << 30 }, "16MiB")
        .help("Size of a WAL file (initdb --wal-segsize); a power of two."),
];

/// Settings that surefoot itself needs, and other files with settings, which no class would know.
const OURS: &str = "listen_addresses unix_socket_directories port data_directory config_file hba_file logging_collector \
     include include_dir include_if_exists";

/// Where nobody needs another.
const PORT: u16 = 5432;

/// Its file has the port in its name.
fn socket(place: &Place) -> PathBuf {
    let port = place.network.as_ref().map_or(PORT, |network| network.address.port());
    place.run.join(format!(".s.PGSQL.{port}"))
}

/// Who is let in: by the socket whoever reaches it, over the network one machine by its password.
fn let_in(place: &Place, network: &Network) -> Result<String, Error> {
    let client = network.client;
    let bits = if client.is_ipv4() { 32 } else { 128 };
    place.write("pg_hba.conf", &format!("local all all trust\nhost all postgres {client}/{bits} scram-sha-256\n"))
}

/// What initdb takes unless it is told otherwise.
const WAL_SEGMENT_BYTES: u64 = 16 << 20;

/// Bounds of the log's size that the server has by itself, in MiB. With a bound below two of the log's files it does not start; initdb raises
/// both in the file that ours takes the place of (its source, `setup_config`).
const LOG_MEBIBYTES: [(&str, u64); 2] = [("min_wal_size", 80), ("max_wal_size", 1024)];

/// Settings that decide what a load leaves in the files, and without which some data do not load: libraries that extensions need, the form
/// of tables and of their large values, and how much of a table its statistics are made from.
const OF_LOADING: &str = "shared_preload_libraries session_preload_libraries default_table_access_method \
     default_toast_compression default_statistics_target";

/// The first version whose initdb makes checksums by itself (its release notes, "Migration").
const HAS_CHECKSUMS: u32 = 18;

/// What initdb is told of checksums, where it needs to be told.
fn checksums_word(version: Option<&str>, wanted: bool) -> Option<&'static str> {
    let has_them =
        version.and_then(|version| version.parse().ok()).is_some_and(|version: u32| version >= HAS_CHECKSUMS);
    if wanted { Some("--data-checksums") } else { has_them.then_some("--no-data-checksums") }
}

/// An installed version, and the folder of its programs.
fn find(wanted: Option<&str>) -> Result<(PathBuf, String), Missing> {
    let folders = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let found = folders
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("initdb").is_file() && bin.join("postgres").is_file());
    let package = wanted.map_or("postgresql".to_string(), |version| format!("postgresql-{version}"));
    versions::find("PostgreSQL", wanted, found.collect(), &package)
}

/// What is wrong with a value that decides what a power cut takes: a class would be told of one that no server takes. Words are those of
/// PostgreSQL's `parse_bool`, and of its enumeration `synchronous_commit_options`, which takes no beginnings.
fn no_word_of_durability(name: &str, value: &str) -> Option<String> {
    let (words, allowed) = match &*name.to_ascii_lowercase() {
        "fsync" | "full_page_writes" => ("on of off t tr tru true f fa fal fals false y ye yes n no 1 0", "on and off"),
        "synchronous_commit" => (
            "on off true false yes no 1 0 local remote_write remote_apply",
            "on, off, local, remote_write and remote_apply",
        ),
        _ => return None,
    };
    let is_taken = is_among(&value.to_ascii_lowercase(), words);
    (!is_taken).then(|| format!("settings.{name}: {value:?} is no value of it; allowed are {allowed}"))
}

/// What a power cut takes, by which settings are off (PostgreSQL's manual, "Write Ahead Log" settings).
fn durability(is_off: impl Fn(&str) -> bool) -> Durability {
    let known = [
        ("fsync", Class::MayCorrupt, "PostgreSQL never flushes"),
        ("full_page_writes", Class::MayCorrupt, "a page torn by a power cut is not repaired"),
        ("synchronous_commit", Class::LosesRecent, "the last commits are flushed later"),
    ];
    let found = known.into_iter().find(|(name, ..)| is_off(name));
    let because = |(name, class, why): (&str, Class, &str)| Durability::because(class, format!("{name} = off: {why}"));
    found.map_or_else(Durability::full, because)
}

/// Lines of postgresql.conf.
fn lines(settings: &BTreeMap<String, String>) -> String {
    settings.iter().map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''"))).collect()
}

#[derive(Clone, Deserialize)]
struct PostgresSettings {
    version: Option<String>,
    settings: FreeSettings,
    checksums: bool,
    #[serde(rename = "wal_segment_size")]
    wal_segment_bytes: u64,
}

impl PostgresSettings {
    /// Names are the same in any case; of a word for false, PostgreSQL takes its beginning, too (its manual, "Parameter Names and Values").
    fn is_off(&self, name: &str) -> bool {
        let is_false = |value: &str| {
            let value = value.to_ascii_lowercase();
            !matches!(&*value, "" | "o") && ["off", "false", "no", "0"].iter().any(|word| word.starts_with(&value))
        };
        self.settings.iter().any(|(known, value)| known.eq_ignore_ascii_case(name) && is_false(value))
    }

    /// A standby that each commit would wait for without end, as a trial has none (its manual, "Synchronous Replication").
    fn waits_for_standbys(&self) -> Option<String> {
        let value = |wanted: &str| self.settings.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let (name, standbys) = value("synchronous_standby_names").filter(|(_, names)| !names.trim().is_empty())?;
        let is_local = value("synchronous_commit").is_some_and(|(_, commit)| commit.eq_ignore_ascii_case("local"));
        let waits = !is_local && !self.is_off("synchronous_commit");
        waits.then(|| {
            format!(
                "settings.{name}: a trial has no standby, and each commit would wait for {standbys:?}: leave it out"
            )
        })
    }

    /// What a data directory is made with that is not the default. `told` is the version that the server told, "18.1 (Debian …)".
    fn initdb_words(&self, told: &str) -> Vec<String> {
        let segment = (self.wal_segment_bytes != WAL_SEGMENT_BYTES).then_some(self.wal_segment_bytes >> 20);
        let segment = segment.map(|mebibytes| format!("--wal-segsize={mebibytes}"));
        let major = told.split(|c: char| !c.is_ascii_digit()).next();
        let checksums = checksums_word(self.version.as_deref().or(major), self.checksums);
        segment.into_iter().chain(checksums.map(String::from)).collect()
    }
}

impl ServiceSettings for PostgresSettings {
    fn missing(&self) -> Option<Missing> {
        find(self.version.as_deref()).err()
    }

    fn durability(&self) -> Durability {
        durability(|name| self.is_off(name))
    }

    fn files(&self, setup: &Setup) -> Vec<Configuration> {
        applied::files(&self.settings, &self.initdb_words(&setup.version), self.version.as_deref(), setup)
    }

    fn problems(&self) -> Vec<String> {
        // A blank behind a name is none of it to the server.
        let is_plain = |name: &str, value: &str| is_name(name) && !value.contains('\n');
        let mut problems = self.settings.problems("settings", OURS, is_plain);
        problems.extend(self.settings.iter().filter_map(|(name, value)| no_word_of_durability(name, value)));
        problems.extend(self.settings.iter().filter_map(|(name, value)| messages::problem(name, value)));
        problems.extend(self.waits_for_standbys());
        if !self.wal_segment_bytes.is_power_of_two() {
            problems.push(format!("wal_segment_size: {} is not a power of two", self.wal_segment_bytes));
        }
        problems
    }

    /// PostgreSQL's manual, "Write Ahead Log" settings.
    fn idle(&self) -> Vec<Idle> {
        let has_delay = self.settings.keys().any(|name| name.eq_ignore_ascii_case("commit_delay"));
        let has_delay = has_delay && !self.is_off("commit_delay");
        let rules = [
            (!self.is_off("fsync"), "wal_sync_method commit_delay", "fsync = \"on\""),
            (has_delay, "commit_siblings", "commit_delay above 0"),
        ];
        idle::of("settings", &self.settings, &rules)
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let program = Program::new(find(self.version.as_deref())?, &["postgres", "nobody"]);
        Ok(Box::new(Postgres { program, asked: self.clone() }))
    }
}

/// An installed PostgreSQL with its settings.
struct Postgres {
    program: Program,
    asked: PostgresSettings,
}

impl Postgres {
    fn initdb_words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            ["--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres"].map(String::from).into();
        words.push(format!("--wal-segsize={}", self.asked.wal_segment_bytes >> 20));
        words.extend(checksums_word(Some(&self.program.version), self.asked.checksums).map(String::from));
        words
    }

    /// Settings that a load is made with, whatever else is asked.
    fn of_loading(&self) -> BTreeMap<String, String> {
        self.asked.settings.only(|name| OF_LOADING.split(' ').any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// Bounds of the log's size, where its files are too large for those that the server has by itself.
    fn log_bounds(&self) -> String {
        let least = 2 * (self.asked.wal_segment_bytes >> 20);
        let raised = LOG_MEBIBYTES.iter().filter(|(_, own)| *own < least);
        raised.map(|(name, _)| format!("{name} = '{least}MB'\n")).collect()
    }

    /// What is asked back from the server: its settings, and what its data directory was made with.
    fn asked_back(&self) -> BTreeMap<String, String> {
        let mut asked = (*self.asked.settings).clone();
        asked.insert("data_checksums".into(), if self.asked.checksums { "on" } else { "off" }.into());
        asked.insert("wal_segment_size".into(), format!("{}MB", self.asked.wal_segment_bytes >> 20));
        asked
    }

    fn configuration(&self, place: &Place) -> String {
        let mut text = format!(
            "# written by surefoot\nlisten_addresses = ''\nunix_socket_directories = '{}'\nlogging_collector = off\n",
            place.run.display()
        );
        text.push_str(&self.log_bounds());
        if place.skip_fsync {
            text.push_str(&lines(&self.of_loading()));
            // WAL files that a load would leave to be used again are no part of a template.
            text.push_str("fsync = off\nfull_page_writes = off\nsynchronous_commit = off\nautovacuum = off\nmax_wal_size = '4GB'\nwal_recycle = off\n");
        } else {
            text.push_str(&lines(&self.asked.settings));
        }
        text
    }

    /// One of its programs, run as its user on the server's CPUs.
    fn to_run<'a>(&'a self, place: &'a Place, program: &'a Path, arguments: Vec<String>, log: PathBuf) -> Start<'a> {
        Start { program, ..Start::new(&self.program, arguments, place, log) }
    }
}

impl Service for Postgres {
    fn program(&self) -> &Program {
        &self.program
    }

    fn format(&self) -> String {
        [self.initdb_words().join(" "), lines(&self.of_loading())].join("\n").trim_end().into()
    }

    fn create(&self, place: &Place) -> Result<(), Error> {
        let mut arguments = self.initdb_words();
        arguments.extend(["--no-sync".into(), "--pgdata".into(), place.data.to_string_lossy().into()]);
        self.to_run(place, &self.program.path.join("initdb"), arguments, place.run.join("initdb.log")).run()
    }

    fn move_log(&self, place: &Place) -> Result<(), Error> {
        let Some(log) = &place.log else { return Ok(()) };
        let (from, to) = (place.data.join("pg_wal"), log.join("pg_wal"));
        crate::template::move_folder(&from, &to)?;
        std::os::unix::fs::symlink(&to, &from).map_err(Error::file("link", &from))
    }

    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let file = place.data.join("postgresql.conf");
        let configuration = self.configuration(place);
        // A server that is started again on a disk that fails writes nothing that is there.
        if std::fs::read(&file).ok().as_deref() != Some(configuration.as_bytes()) {
            std::fs::write(&file, configuration).map_err(Error::file("write", &file))?;
        }
        let mut arguments = vec!["-D".into(), place.data.to_string_lossy().into()];
        // On the command line it stands above the file: a network is no setting under test.
        if let Some(network) = &place.network {
            let (address, file) = (network.address, let_in(place, network)?);
            let (host, port) = (format!("listen_addresses={}", address.ip()), format!("port={}", address.port()));
            let settings = [host, port, format!("hba_file={file}")];
            arguments.extend(settings.into_iter().flat_map(|setting| ["-c".into(), setting]));
        }
        let program = self.program.path.join("postgres");
        let socket = socket(place);
        let mut server = self.to_run(place, &program, arguments, place.run.join("postgres.log")).server()?;
        let mut client = server.wait_ready(|| Client::connect(&socket, "postgres", "postgres"))?;
        if let Some(network) = &place.network {
            let failed = |source| Error::Asked { server: "postgres", action: "take a password".into(), source };
            client.query(&format!("ALTER ROLE postgres PASSWORD '{}'", network.password)).map_err(failed)?;
        }
        let asked = if place.skip_fsync { BTreeMap::new() } else { self.asked_back() };
        let effects = effects::ask(&mut client, &asked)?;
        // "Fast": connections are ended, what is dirty is written out.
        Ok(Box::new(AtWork::new(server, socket, effects, Signal::SIGINT)))
    }

    fn ask_recovered(&self, place: &Place, questions: &[String]) -> Result<Answers, Error> {
        let deadline = recovered::deadline();
        let log = place.run.join("recovered.log");
        // Not in the data folder: what was written there before the cut may be gone, and is no fault of the server's.
        let file = place.write("recovered.conf", &self.configuration(place))?;
        recovered::remove(&log)?;
        // It names the process that went down; in another PID namespace that may be anyone.
        recovered::remove(&place.data.join("postmaster.pid"))?;
        let mut arguments = vec!["--single".into(), "-D".into(), place.data.to_string_lossy().into()];
        let file = format!("config_file={file}");
        let settings = single::SETTINGS.split(' ').chain([file.as_str()]);
        arguments.extend(settings.flat_map(|setting| ["-c".to_string(), setting.to_string()]));
        arguments.push("postgres".into());
        let program = self.program.path.join("postgres");
        single::ask(&self.to_run(place, &program, arguments, log), questions, deadline)
    }

    fn commands(&self, has_log_volume: bool) -> Vec<String> {
        let bin = self.program.path.display();
        let run_as = run_as(self.program.user.as_ref());
        let mut all = vec![format!("{run_as}{bin}/initdb {} --pgdata \"$MOUNT/data\"", self.initdb_words().join(" "))];
        if has_log_volume {
            all.push("mv \"$MOUNT/data/pg_wal\" \"$WAL/\" && ln -s \"$WAL/pg_wal\" \"$MOUNT/data/pg_wal\"".into());
        }
        let set = |line: &str| format!("echo {} >> \"$MOUNT/data/postgresql.conf\"", quoted(line));
        all.extend(lines(&self.asked.settings).lines().map(set));
        all.push(format!(
            "{run_as}{bin}/postgres -D \"$MOUNT/data\" -c listen_addresses= -c unix_socket_directories=$RUN"
        ));
        all
    }

    fn is_passing(&self, name: &str) -> bool {
        name == "postmaster.pid"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(settings: serde_json::Value) -> PostgresSettings {
        let mut map = settings::defaults(SETTINGS);
        map.insert("settings".into(), settings);
        settings::typed(&map)
    }

    #[test]
    fn settings_decide_durability() {
        let class = |settings| parameters(settings).durability().class;
        assert_eq!(class(serde_json::json!({})), Class::KeepsAcknowledged);
        assert_eq!(class(serde_json::json!({ "synchronous_commit": false })), Class::LosesRecent);
        assert_eq!(class(serde_json::json!({ "synchronous_commit": "off", "fsync": "no" })), Class::MayCorrupt);
        assert_eq!(class(serde_json::json!({ "full_page_writes": 0 })), Class::MayCorrupt);
    }

    /// By what a session of it says, whoever has set it so.
    #[test]
    fn what_is_off_in_the_server_decides_its_durability() {
        let of = |off: &[&str]| durability(|name| off.contains(&name));
        assert_eq!(of(&[]), Durability::full());
        assert_eq!(of(&["synchronous_commit"]).class, Class::LosesRecent);
        assert_eq!(of(&["synchronous_commit", "full_page_writes"]).class, Class::MayCorrupt);
        assert_eq!(of(&["fsync"]).reasons, ["fsync = off: PostgreSQL never flushes"]);
    }

    /// `plan` told a class of what no server takes.
    #[test]
    fn a_value_that_decides_durability_is_one_that_the_server_takes() {
        let problems = |name: &str, value: serde_json::Value| parameters(serde_json::json!({ name: value })).problems();
        let of_commit = "settings.synchronous_commit: \"ture\" is no value of it; allowed are on, off, local, remote_write and remote_apply";
        assert_eq!(problems("synchronous_commit", "ture".into()), [of_commit]);
        assert_eq!(problems("FSYNC", "o".into()), ["settings.FSYNC: \"o\" is no value of it; allowed are on and off"]);
        assert_eq!(problems("synchronous_commit", "of".into()).len() + problems("full_page_writes", 2.into()).len(), 2);
        for (name, value) in [("fsync", "OF"), ("full_page_writes", "t"), ("synchronous_commit", "Remote_Write")] {
            assert_eq!(problems(name, value.into()), [""; 0], "{name} {value}");
        }
        assert_eq!(problems("fsync", false.into()), [""; 0]);
    }

    /// The manual, "Synchronous Replication": each trial of it waited until its time was out.
    #[test]
    fn a_standby_that_is_not_there_is_not_waited_for() {
        let problems = |commit: &str, standbys: &str| {
            let asked = serde_json::json!({ "synchronous_commit": commit, "Synchronous_Standby_Names": standbys });
            parameters(asked).problems()
        };
        for commit in ["on", "remote_write", "remote_apply"] {
            let found = problems(commit, "ANY 1 (s1, s2)");
            assert!(found.len() == 1 && found[0].contains("no standby"), "{commit}: {found:?}");
        }
        assert_eq!([problems("on", ""), problems("local", "*"), problems("off", "*")].concat(), [""; 0]);
        assert_eq!(parameters(serde_json::json!({ "synchronous_standby_names": "*" })).problems().len(), 1);
    }

    fn installed(version: &str, settings: serde_json::Value) -> Postgres {
        let program = Program { path: PathBuf::new(), version: version.into(), user: None };
        Postgres { program, asked: parameters(settings) }
    }

    /// PostgreSQL 18's release notes: initdb makes checksums unless it is told not to.
    #[test]
    fn without_checksums_is_without_them_on_every_version() {
        let words = |version| installed(version, serde_json::json!({})).initdb_words().concat();
        assert!(!words("15").contains("checksums"));
        assert!(words("18").contains("--no-data-checksums"));
        let made_with = |told| parameters(serde_json::json!({})).initdb_words(told);
        assert_eq!((made_with("18.1 (Debian)"), made_with("")), (vec!["--no-data-checksums".to_string()], vec![]));
        let asked = installed("18", serde_json::json!({ "work_mem": "8MB" })).asked_back();
        let pairs: Vec<String> = asked.iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(pairs, ["data_checksums off", "wal_segment_size 16MB", "work_mem 8MB"]);
    }

    #[test]
    fn a_template_is_loaded_with_what_decides_its_files() {
        let asked = serde_json::json!({ "Shared_Preload_Libraries": "timescaledb", "default_toast_compression": "lz4", "work_mem": "8MB" });
        let (loading, plain) = (installed("15", asked), installed("15", serde_json::json!({ "work_mem": "8MB" })));
        let place = Place { skip_fsync: true, ..Place::new("/d".into(), "/r".into()) };
        let text = loading.configuration(&place);
        assert!(text.contains("Shared_Preload_Libraries = 'timescaledb'") && text.contains("= 'lz4'"), "{text}");
        assert!(!text.contains("work_mem"), "{text}");
        assert!(loading.format().contains("lz4") && !plain.format().contains("work_mem"));
    }

    /// `ReadControlFile`: both bounds are at least two files. What the study asks for stands behind them, and so holds.
    #[test]
    fn files_of_the_log_of_any_size_let_the_server_start() {
        let place = Place::new("/d".into(), "/r".into());
        let bounds = |mebibytes: u64, settings: serde_json::Value| {
            let mut server = installed("15", settings);
            server.asked.wal_segment_bytes = mebibytes << 20;
            let text = server.configuration(&place);
            text.lines().filter(|line| line.contains("_wal_size")).collect::<Vec<_>>().join(", ")
        };
        assert_eq!([1, 16, 32].map(|size| bounds(size, serde_json::json!({}))), [""; 3]);
        assert_eq!(bounds(64, serde_json::json!({})), "min_wal_size = '128MB'");
        assert_eq!(bounds(1024, serde_json::json!({})), "min_wal_size = '2048MB', max_wal_size = '2048MB'");
        let asked = bounds(1024, serde_json::json!({ "max_wal_size": "8GB" }));
        assert!(asked.ends_with("max_wal_size = '2048MB', max_wal_size = '8GB'"), "{asked}");
    }

    #[test]
    fn an_absent_version_names_its_package() {
        let missing = find(Some("7")).expect_err("there is no PostgreSQL 7");
        assert_eq!(missing.remedy, "install the package postgresql-7");
    }

    #[test]
    fn settings_of_ours_are_refused() {
        for name in ["port", "include", "Include_Dir"] {
            let problems = parameters(serde_json::json!({ name: "/etc/more.conf" })).problems();
            assert_eq!(problems, [format!("settings.{name}: surefoot sets it itself")]);
        }
    }

    /// The manual, "Parameter Names and Values": whitespace is insignificant, and so is the equal sign. `plan` told such a `fsync` to flush.
    #[test]
    fn a_name_that_the_server_reads_otherwise_is_refused() {
        for name in ["fsync ", " full_page_writes", "fsync=off #", "a = 1\nfsync"] {
            let asked = parameters(serde_json::json!({ name: "off" }));
            assert_eq!((asked.problems().len(), asked.durability().class), (1, Class::KeepsAcknowledged), "{name:?}");
        }
        assert_eq!(parameters(serde_json::json!({ "pg_stat_statements.max": 100 })).problems(), [""; 0]);
    }
}
