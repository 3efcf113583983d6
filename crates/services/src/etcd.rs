//! etcd as a service, a cluster of one member: check, configure, start, ready, stop.
//!
//! Each change is flushed in its write-ahead log before it is acknowledged; its file of keys follows within a batch (etcd.io, "Tuning").

use crate::effect::Effects;
use crate::process::{AtWork, Start, run_as};
use crate::recovered::{self, Answers};
use crate::service::{self, Error, FreeSettings, Kind, Missing, Place, Program, Running, Service, ServiceSettings};
use nix::sys::signal::Signal;
use observe::durability::{Class, Durability};
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use wire::Address;
use wire::etcd::Etcd as Client;

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "etcd",
    summary: "etcd, a cluster of one member, version 3",
    example: "[service.etcd]\nsettings = { backend-batch-interval = \"100ms\", snapshot-count = 100000 }\n",
    settings: SETTINGS,
    listens: true,
    is_database: true,
    has_log_volume: true,
    read: service::read::<EtcdSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("settings", Is::Table, "{}")
        .help("Options of etcd's command line without their hyphens, any of them: settings = { snapshot-count = 10000, quota-backend-bytes = 8589934592 }. etcd can't be asked what is in effect; it does not start with an option or a value that it does not know."),
    Setting::new("data", Is::Choice(&["template", "load"]), "template")
        .help("`template`: loaded once, then copied for each trial, so that every trial starts from the same files. `load`: loaded anew through the server as it is set, and the load is measured."),
];

/// Options that surefoot itself needs, and those that would name other files or more members.
const OURS: &str = "name data-dir wal-dir config-file listen-client-urls listen-peer-urls listen-metrics-urls \
     advertise-client-urls initial-advertise-peer-urls initial-cluster initial-cluster-state initial-cluster-token \
     discovery discovery-srv proxy log-output log-outputs force-new-cluster";

/// A name as options have it, and a value that is one word of a command line.
fn is_plain(name: &str, value: &str) -> bool {
    let is_name = !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_name && !name.is_empty() && !value.contains(|sign: char| sign.is_whitespace() || "'\"\\$`;&|<>".contains(sign))
}

/// etcd takes a host with a port for the name of its socket's file, which it makes where it was started.
const SOCKET: &str = "localhost:2379";
const PEER_SOCKET: &str = "localhost:2380";

/// Its log's folder on a volume of its own. etcd makes the log beside it, as `wal.tmp`, and gives it the folder's name (`Create` in its
/// wal.go), which the volume's own folder has no room for.
const LOG_FOLDER: &str = "wal";

fn find() -> Result<PathBuf, Missing> {
    service::installed("etcd").ok_or_else(|| Missing::package("etcd", "etcd-server"))
}

/// "etcd 3.4.23", as the program says it: `etcd Version: 3.4.23`.
fn version(program: &Path) -> String {
    let said = service::said(program, "--version");
    let number = said.lines().find_map(|line| line.strip_prefix("etcd Version: ")).unwrap_or("of unknown version");
    format!("etcd {}", number.trim())
}

/// Options without which data may be refused: a template is loaded with these alone, so that it does not matter whose scenario came first.
const OF_LOADING: &[&str] = &["quota-backend-bytes", "max-request-bytes", "max-txn-ops"];

fn options(settings: &BTreeMap<String, String>) -> Vec<String> {
    let word = |value: &String| match value.as_str() {
        "on" => "true".into(),
        "off" => "false".into(),
        _ => value.clone(),
    };
    settings.iter().map(|(name, value)| format!("--{name}={}", word(value))).collect()
}

#[derive(Deserialize)]
struct EtcdSettings {
    settings: FreeSettings,
}

impl ServiceSettings for EtcdSettings {
    fn missing(&self) -> Option<Missing> {
        find().err()
    }

    /// etcd.io, "Tuning" and "Failure modes": an acknowledged change is flushed, unless that is switched off.
    fn durability(&self) -> Durability {
        let is_off = |value: &String| ["false", "off", "0", "no", "f"].contains(&value.to_lowercase().as_str());
        if self.settings.get("unsafe-no-fsync").is_some_and(|value| !is_off(value)) {
            return Durability::because(Class::MayCorrupt, "unsafe-no-fsync: etcd never flushes its log");
        }
        Durability::full()
    }

    /// Each option is a variable, too; of a name that etcd does not know it only says so (etcd.io, "Configuration options").
    fn files(&self, setup: &Setup) -> Vec<Configuration> {
        let variable = |option: String| {
            let (name, value) = option.split_once('=').unwrap_or((&option, ""));
            format!("ETCD_{}={value}\n", name.trim_start_matches('-').replace('-', "_").to_uppercase())
        };
        let mut text: String = options(&self.settings).into_iter().map(variable).collect();
        let mut before =
            vec!["# etcd reads no variable where it is given a file with its configuration (--config-file).".into()];
        if self.settings.contains_key("quota-backend-bytes") {
            before.push(
                "etcdctl endpoint status  # with more data than quota-backend-bytes etcd takes no changes".into(),
            );
        }
        if let Some(log) = &setup.log {
            let _ = writeln!(text, "ETCD_WAL_DIR={log}/wal");
            before.push("# While etcd is stopped, as a member that does not find its log begins anew:".into());
            before.push(format!("chown etcd: {log} && mv {}/member/wal {log}/wal", setup.data));
        }
        if text.is_empty() {
            return Vec::new();
        }
        let checks = [
            "tr '\\0' '\\n' < /proc/$(pidof -s etcd)/environ | grep ^ETCD_",
            "journalctl -u etcd -b | grep -E 'unrecognized environment|shadowed'  # must say nothing",
            "etcdctl endpoint status",
        ];
        let path = "added to /etc/default/etcd, below the lines that are there".into();
        vec![Configuration { path, before, text, after: Vec::new(), checks: checks.map(String::from).into() }]
    }

    fn problems(&self) -> Vec<String> {
        self.settings.problems("settings", OURS, is_plain)
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let path = find()?;
        let version = version(&path);
        let program = Program::new((path, version), &["etcd", "nobody"]);
        Ok(Box::new(Etcd { program, settings: self.settings.clone() }))
    }
}

/// An installed etcd with its settings.
struct Etcd {
    program: Program,
    settings: FreeSettings,
}

impl Etcd {
    fn to_run<'a>(&'a self, place: &'a Place, log: PathBuf) -> Start<'a> {
        let network = place.network.as_ref().map(|network| format!("http://{}", network.address));
        let ours = [
            "--name=surefoot".to_string(),
            format!("--data-dir={}", place.data.display()),
            format!("--listen-client-urls=unix://{SOCKET}{}", network.map_or(String::new(), |url| format!(",{url}"))),
            format!("--advertise-client-urls=http://{SOCKET}"),
            format!("--listen-peer-urls=unix://{PEER_SOCKET}"),
            format!("--initial-advertise-peer-urls=http://{PEER_SOCKET}"),
            format!("--initial-cluster=surefoot=http://{PEER_SOCKET}"),
        ];
        let options = options(&if place.skip_fsync { self.of_loading() } else { (*self.settings).clone() });
        let log_volume = place.log.iter().map(|folder| format!("--wal-dir={}", folder.join(LOG_FOLDER).display()));
        let arguments = ours.into_iter().chain(log_volume).chain(options).collect();
        Start::new(&self.program, arguments, place, log)
    }

    fn of_loading(&self) -> BTreeMap<String, String> {
        self.settings.only(|name| OF_LOADING.contains(&name))
    }

    fn clear(place: &Place) -> Result<PathBuf, Error> {
        recovered::remove(&place.run.join(PEER_SOCKET))?;
        let socket = place.run.join(SOCKET);
        recovered::remove(&socket)?;
        Ok(socket)
    }
}

/// Its complaint about an option stands above a page of help, which would push it out of its last messages.
fn with_reason(mut error: Error, file: &Path) -> Error {
    let said = std::fs::read_to_string(file).unwrap_or_default();
    let is_reason =
        |line: &&str| line.starts_with("flag provided but not defined") || line.starts_with("invalid value");
    if let (Error::Program { log, .. }, Some(reason)) = (&mut error, said.lines().rfind(is_reason)) {
        *log = reason.into();
    }
    error
}

/// It is ready once it reads what all members agree on, which takes a leader.
fn connect(socket: &Path) -> Result<Client, wire::Error> {
    let mut client = Client::connect(&Address::Socket(socket.into()))?;
    client.count(b"\0", b"\x01")?;
    Ok(client)
}

impl Service for Etcd {
    fn program(&self) -> &Program {
        &self.program
    }

    fn format(&self) -> String {
        format!("loaded with {:?}", options(&self.of_loading()))
    }

    /// Its log is a folder within its data until it has a volume of its own.
    fn move_log(&self, place: &Place) -> Result<(), Error> {
        let (Some(log), inside) = (&place.log, place.data.join("member/wal")) else { return Ok(()) };
        if inside.is_dir() { crate::template::move_folder(&inside, &log.join(LOG_FOLDER)) } else { Ok(()) }
    }

    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let socket = Etcd::clear(place)?;
        let log = place.run.join("etcd.log");
        let mut server = self.to_run(place, log.clone()).server()?;
        let mut client = server.wait_ready(|| connect(&socket)).map_err(|error| with_reason(error, &log))?;
        let failed = |source| Error::Asked { server: KIND.name, action: "say how it is".into(), source };
        let mut effects = Effects::default();
        effects.facts.insert("etcd.version".into(), format!("etcd {}", client.status().map_err(failed)?.version));
        Ok(Box::new(AtWork::new(server, socket, effects, Signal::SIGTERM)))
    }

    fn ask_recovered(&self, place: &Place, questions: &[String]) -> Result<Answers, Error> {
        let deadline = recovered::deadline();
        let socket = Etcd::clear(place)?;
        let log = place.run.join("recovered.log");
        recovered::remove(&log)?;
        let mut server = self.to_run(place, log).server()?;
        let mut client = recovered::ready(&mut server, || connect(&socket), deadline)?;
        recovered::ask(&mut server, KIND.name, &mut |question| client.table(question), questions, deadline)
    }

    fn commands(&self, has_log_volume: bool) -> Vec<String> {
        let run_as = run_as(self.program.user.as_ref());
        let log = if has_log_volume { " --wal-dir \"$WAL/wal\"" } else { "" };
        let more: String = options(&self.settings).iter().map(|option| format!(" {option}")).collect();
        vec![format!("{run_as}{} --data-dir \"$MOUNT/data\"{log}{more}", self.program.path.display())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parameters(settings: Value) -> EtcdSettings {
        let mut map = settings::defaults(SETTINGS);
        map.insert("settings".into(), settings);
        settings::typed(&map)
    }

    #[test]
    fn only_an_etcd_that_never_flushes_loses_what_it_acknowledged() {
        let class = |settings: Value| parameters(settings).durability().class;
        assert_eq!(class(json!({ "snapshot-count": 10000 })), Class::KeepsAcknowledged);
        assert_eq!(class(json!({ "unsafe-no-fsync": false })), Class::KeepsAcknowledged);
        assert_eq!(class(json!({ "unsafe-no-fsync": true })), Class::MayCorrupt);
    }

    #[test]
    fn a_template_is_the_same_whoever_loads_it() {
        let arguments = |settings: Value, skip_fsync: bool| {
            let settings = parameters(settings).settings;
            let program = Program { path: "etcd".into(), version: String::new(), user: None };
            let etcd = Etcd { program, settings };
            let place = Place { skip_fsync, ..Place::new("/d".into(), "/r".into()) };
            (etcd.to_run(&place, "/l".into()).arguments, etcd.format())
        };
        let tuned = json!({ "snapshot-count": 9, "quota-backend-bytes": 8 });
        let large = json!({ "quota-backend-bytes": 8 });
        assert_eq!(arguments(tuned.clone(), true), arguments(large.clone(), true));
        assert_ne!(arguments(tuned, false), arguments(large, false));
        assert_ne!(arguments(json!({ "quota-backend-bytes": 8 }), true), arguments(json!({}), true));
    }

    /// etcd can't make its log in the volume's own folder: a start without a template's log failed.
    #[test]
    fn its_log_is_a_folder_of_its_volume() {
        let [data, log] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let program = Program { path: "etcd".into(), version: String::new(), user: None };
        let etcd = Etcd { program, settings: FreeSettings::default() };
        let place = Place { log: Some(log.path().into()), ..Place::new(data.path().into(), "/r".into()) };
        let folder = log.path().join("wal");
        assert!(etcd.to_run(&place, "/l".into()).arguments.contains(&format!("--wal-dir={}", folder.display())));
        etcd.move_log(&place).expect("there is none yet");
        let inside = data.path().join("member/wal");
        std::fs::create_dir_all(&inside).expect("a folder");
        std::fs::write(inside.join("0.wal"), "changes").expect("a file");
        etcd.move_log(&place).expect("moved");
        assert!(folder.join("0.wal").is_file() && !inside.exists());
    }

    /// Debian's file has the member's name and folder; with another file in its place the member would begin anew.
    #[test]
    fn its_file_is_added_to_and_its_log_is_moved() {
        let setup = Setup { data: "/MOUNTPOINT/data".into(), log: Some("/MOUNTPOINT-wal".into()), ..Setup::default() };
        let file = parameters(json!({})).files(&setup).remove(0);
        assert!(file.path.starts_with("added to /etc/default/etcd"), "{}", file.path);
        assert_eq!(file.text, "ETCD_WAL_DIR=/MOUNTPOINT-wal/wal\n");
        assert_eq!(file.before[2], "chown etcd: /MOUNTPOINT-wal && mv /MOUNTPOINT/data/member/wal /MOUNTPOINT-wal/wal");
        assert!(file.checks.iter().any(|check| check.contains("environ")), "{:?}", file.checks);
        assert!(parameters(json!({})).files(&Setup::default()).is_empty());
    }

    #[test]
    fn settings_are_options_and_nothing_slips_out_of_them() {
        let set = parameters(json!({ "backend-batch-interval": "10ms", "pre-vote": true }));
        assert_eq!(options(&set.settings), ["--backend-batch-interval=10ms", "--pre-vote=true"]);
        let file = set.files(&Setup::default()).remove(0);
        assert_eq!(file.text, "ETCD_BACKEND_BATCH_INTERVAL=10ms\nETCD_PRE_VOTE=true\n");
        let problems = |settings: Value| parameters(settings).problems();
        assert_eq!(problems(json!({ "data-dir": "/tmp" })), ["settings.data-dir: surefoot sets it itself"]);
        assert_eq!(problems(json!({ "--name": "a", "snapshot_count": 1, "logger": "zap --force" })).len(), 3);
    }
}
