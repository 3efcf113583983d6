//! MariaDB, and MySQL where that is installed instead, as a service: check, configure, start, ready, stop.

mod applied;
mod binary_log;
mod effects;
mod options;

use crate::idle::{self, Idle};
use crate::process::{AtWork, Start, quoted};
use crate::recovered::{self, Answers};
use crate::service::{
    self, Error, FreeSettings, Kind, Missing, Network, Place, Program, Running, Service, ServiceSettings,
};
use nix::sys::signal::Signal;
use observe::durability::Durability;
use options::plain;
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use wire::Connection as _;
use wire::mysql::Mysql as Client;

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "mariadb",
    summary: "MariaDB (or MySQL) with InnoDB",
    example: "[service.mariadb]\nsettings = { innodb_buffer_pool_size = \"256M\", innodb_flush_method = \"O_DIRECT\" }\n",
    settings: SETTINGS,
    listens: true,
    is_database: true,
    has_log_volume: true,
    read: service::read::<MariaDbSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("settings", Is::Table, "{}")
        .help("Settings of the server's option file, any of them: settings = { innodb_buffer_pool_size = \"256M\" }. What is in effect is read back."),
    Setting::new("data", Is::Choice(&["template", "load"]), "template")
        .help("`template`: loaded once, then copied for each trial, so that every trial starts from the same files. `load`: loaded anew on the filesystem under test, and the load is measured."),
    Setting::new("binary_log", Is::Boolean, "false")
        .help("Whether the server writes its binary log (on the log's volume where there is one)."),
];

/// The folder of MySQL's redo log since 8.0.30; MariaDB's is a file beside the data, as it was before.
const MYSQL_LOG: &str = "#innodb_redo";

/// Where MySQL listens on one address, its X plugin listens on port 33060 of all of them, and always on a socket in the host's /tmp, which a
/// killed server leaves there (its manual, "X Plugin Options and System Variables").
const WITHOUT_X: &str = "loose_mysqlx = OFF\n";

/// Lines of one that is only asked what it recovered: little memory to set up.
/// What decides a recovery's result (log, doublewrite, flush method, binary log) stays as asked.
const ASKED: &str = "innodb_buffer_pool_size = 32M\ninnodb_buffer_pool_load_at_startup = 0\ninnodb_log_buffer_size = 2M\n\
                     key_buffer_size = 1M\nloose_aria_pagecache_buffer_size = 1M\nloose_performance_schema = 0\n";

/// A temporary file that is soon written full. MySQL does not start with one below 12 MB (`srv_open_tmp_tablespace` in its srv0start.cc).
const ASKED_OF_MARIADB: &str = "innodb_temp_data_file_path = ibtmp1:3M:autoextend\n";

/// The server, and what makes a data directory (none: the server itself, as MySQL's does).
fn find() -> Result<(Program, Option<PathBuf>), Missing> {
    let server = service::installed("mariadbd").or_else(|| service::installed("mysqld"));
    let server = server.ok_or_else(|| Missing::package("MariaDB", "mariadb-server"))?;
    let said = service::said(&server, "--version");
    let of_version = said.split_once("Ver ").map_or(said.trim(), |(_, rest)| rest);
    let version = of_version.split_whitespace().next().unwrap_or_default().to_string();
    let install = service::installed("mariadb-install-db").filter(|_| version.contains("MariaDB"));
    Ok((Program::new((server, version), &["mysql", "nobody"]), install))
}

#[derive(Deserialize)]
struct MariaDbSettings {
    settings: FreeSettings,
    binary_log: bool,
}

impl ServiceSettings for MariaDbSettings {
    fn missing(&self) -> Option<Missing> {
        find().err()
    }

    fn durability(&self) -> Durability {
        options::durability(&self.settings, self.binary_log)
    }

    fn files(&self, setup: &Setup) -> Vec<Configuration> {
        applied::files(&self.settings, self.binary_log, setup)
    }

    fn problems(&self) -> Vec<String> {
        self.settings.iter().filter_map(|(name, value)| options::problem(name, value)).collect()
    }

    /// MariaDB's manual, "Thread Pool System and Status Variables". MySQL's own pool is a plugin.
    fn idle(&self) -> Vec<Idle> {
        const OF_BINARY_LOG: &str = "sync_binlog binlog_* max_binlog_* expire_logs_days";
        let is_pool = |value: &str| ["pool-of-threads", "2"].iter().any(|pool| pool.eq_ignore_ascii_case(value.trim()));
        let has_pool = self.settings.iter().any(|(name, value)| {
            let name = plain(name);
            name == "thread_handling" && is_pool(value) || name.starts_with("plugin_load")
        });
        let rules = [
            (self.binary_log, OF_BINARY_LOG, "binary_log = true"),
            (has_pool, "thread_pool_*", "thread_handling = \"pool-of-threads\""),
        ];
        idle::of("settings", &self.settings, &rules)
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let (program, install) = find()?;
        Ok(Box::new(MariaDb { program, install, settings: self.settings.clone(), binary_log: self.binary_log }))
    }
}

/// An installed MariaDB with its settings.
struct MariaDb {
    program: Program,
    install: Option<PathBuf>,
    settings: FreeSettings,
    binary_log: bool,
}

impl MariaDb {
    fn format_settings(&self) -> impl Iterator<Item = (&String, &String)> {
        self.settings.iter().filter(|(name, _)| options::is_format(name))
    }

    /// MySQL makes its data folders itself. It keeps a binary log unless it is told otherwise, where MariaDB keeps none.
    fn is_mysql(&self) -> bool {
        self.install.is_none()
    }

    /// The binary log's files without their numbers.
    fn binary_log(&self, place: &Place) -> PathBuf {
        place.log.as_ref().unwrap_or(&place.data).join("binary-log")
    }

    fn configuration(&self, place: &Place) -> String {
        // Servers in namespaces of their own have the same process numbers, and so the same names for temporary tables in /tmp.
        let mut text = format!(
            "# written by surefoot\n[mysqld]\ndatadir = {0}\ntmpdir = {0}\nsocket = {1}\npid_file = {2}\n{3}",
            place.data.display(),
            place.run.join("mariadb.sock").display(),
            place.run.join("mariadb.pid").display(),
            listening(place),
        );
        text.push_str(narrow());
        if self.is_mysql() {
            text.push_str(WITHOUT_X);
        }
        if self.is_mysql() && place.network.is_some() {
            text.push_str("loose_mysql_native_password = ON\n");
        }
        // Of a load that will be copied, no log is kept: a template is the same with and without one.
        if self.is_mysql() && (place.skip_fsync || !self.binary_log) {
            text.push_str("skip-log-bin\n");
        }
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name} = {value}");
        };
        if let Some(log) = &place.log {
            line("innodb_log_group_home_dir", &log.to_string_lossy());
        }
        if place.skip_fsync {
            for (name, value) in self.format_settings() {
                line(name, value);
            }
            for (name, value) in [
                ("innodb_flush_log_at_trx_commit", "0"),
                ("innodb_flush_method", "nosync"),
                ("innodb_doublewrite", "0"),
            ] {
                line(name, value);
            }
            return text;
        }
        // Before the settings, among which may be another number.
        if self.binary_log {
            line("log_bin", &self.binary_log(place).to_string_lossy());
            line("server_id", "1");
        }
        for (name, value) in &*self.settings {
            line(name, value);
        }
        text
    }

    /// Of one that is only asked what it recovered.
    fn configuration_to_ask(&self, place: &Place) -> String {
        let of_server = if self.is_mysql() { "" } else { ASKED_OF_MARIADB };
        [self.configuration(place).as_str(), ASKED, of_server].concat()
    }

    /// What lets one machine in over the network, by its password. MySQL's own method wants the password itself from who comes first, which
    /// takes TLS; its older one goes without, up to MySQL 8.4.
    fn letting_in(&self, network: &Network) -> [String; 3] {
        let user = format!("'root'@'{}'", network.client);
        let method = if self.is_mysql() { "WITH mysql_native_password " } else { "" };
        // MySQL can't replace a user.
        [
            format!("DROP USER IF EXISTS {user}"),
            format!("CREATE USER {user} IDENTIFIED {method}BY '{}'", network.password),
            format!("GRANT ALL ON *.* TO {user} WITH GRANT OPTION"),
        ]
    }
}

/// Names are not looked up: who is let in is known by its address.
fn listening(place: &Place) -> String {
    let words = |network: &Network| {
        let (host, port) = (network.address.ip(), network.address.port());
        format!("bind_address = {host}\nport = {port}\nskip_name_resolve\n")
    };
    place.network.as_ref().map_or("skip_networking\n".into(), words)
}

/// Newer servers reserve 8 TiB of addresses for a buffer pool that may grow, which is more than a User-Mode Linux process
/// has (512 GiB) and does not start there. Older ones do not know the setting; `loose_` lets them pass over it.
#[cfg(target_os = "linux")]
fn narrow() -> &'static str {
    const RESERVED_BYTES: usize = 8 << 40;
    // SAFETY: addresses without memory, given back at once; nothing else is mapped or moved.
    let holds = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let start = libc::mmap(std::ptr::null_mut(), RESERVED_BYTES, libc::PROT_NONE, flags, -1, 0);
        start != libc::MAP_FAILED && libc::munmap(start, RESERVED_BYTES) == 0
    };
    if holds { "" } else { "loose_innodb_buffer_pool_size_max = 64G\n" }
}

#[cfg(not(target_os = "linux"))]
fn narrow() -> &'static str {
    ""
}

impl Service for MariaDb {
    fn program(&self) -> &Program {
        &self.program
    }

    fn format(&self) -> String {
        self.format_settings().map(|(name, value)| format!("{} = {value}", plain(name))).collect::<Vec<_>>().join(", ")
    }

    fn create(&self, place: &Place) -> Result<(), Error> {
        let mut text = format!("[mysqld]\ntmpdir = {}\n{}", place.data.display(), narrow());
        for (name, value) in self.format_settings() {
            let _ = writeln!(text, "{name} = {value}");
        }
        let file = place.write("create.cnf", &text)?;
        let mut arguments = vec![format!("--defaults-file={file}"), format!("--datadir={}", place.data.display())];
        let program = match &self.install {
            Some(install) => {
                arguments.extend(["--auth-root-authentication-method=normal", "--skip-test-db"].map(String::from));
                install
            }
            None => {
                arguments.push("--initialize-insecure".into());
                &self.program.path
            }
        };
        Start { program, ..Start::new(&self.program, arguments, place, place.run.join("create.log")) }.run()
    }

    fn move_log(&self, place: &Place) -> Result<(), Error> {
        let Some(log) = &place.log else { return Ok(()) };
        for entry in place.data.read_dir().map_err(Error::file("read", &place.data))?.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            if name == MYSQL_LOG {
                crate::template::move_folder(&path, &log.join(name))?;
            } else if name.to_string_lossy().starts_with("ib_logfile") {
                crate::template::move_file(&path, &log.join(name))?;
            }
        }
        Ok(())
    }

    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let file = place.write("mariadb.cnf", &self.configuration(place))?;
        let arguments = vec![format!("--defaults-file={file}")];
        let [socket, log] = ["mariadb.sock", "mariadb.log"].map(|name| place.run.join(name));
        let mut server = Start::new(&self.program, arguments, place, log.clone()).server()?;
        let mut client = server.wait_ready(|| Client::connect(&socket, "root", ""))?;
        if let Some(network) = &place.network {
            let failed = |source| Error::Asked { server: "mariadb", action: "take a password".into(), source };
            let statements = self.letting_in(network);
            statements.iter().try_for_each(|statement| client.query(statement).map(drop)).map_err(failed)?;
        }
        let none = BTreeMap::new();
        let messages = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
        let effects = effects::ask(&mut client, if place.skip_fsync { &none } else { &self.settings }, &messages)?;
        Ok(Box::new(AtWork::new(server, socket, effects, Signal::SIGTERM)))
    }

    fn ask_recovered(&self, place: &Place, questions: &[String]) -> Result<Answers, Error> {
        let deadline = recovered::deadline();
        let [log, socket] = ["recovered.log", "mariadb.sock"].map(|name| place.run.join(name));
        let file = place.write("recovered.cnf", &self.configuration_to_ask(place))?;
        recovered::remove(&log)?;
        recovered::remove(&socket)?;
        let arguments = vec![format!("--defaults-file={file}")];
        let mut server = Start::new(&self.program, arguments, place, log).server()?;
        let mut client = recovered::ready(&mut server, || Client::connect(&socket, "root", ""), deadline)?;
        let mut ask = |question: &str| client.query(question).map(|answer| answer.rows);
        recovered::ask(&mut server, "mariadb", &mut ask, questions, deadline)
    }

    fn logged(&self, place: &Place) -> Result<Option<Vec<String>>, Error> {
        if !self.binary_log {
            return Ok(None);
        }
        let files = self.binary_log(place);
        let folder = files.parent().expect("a folder of the server's");
        let is_numbered = |path: &PathBuf| {
            path.file_stem() == files.file_name()
                && path.extension().is_some_and(|number| number.to_string_lossy().parse::<u32>().is_ok())
        };
        let entries = folder.read_dir().map_err(Error::file("read", folder))?.flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_numbered).collect();
        files.sort();
        let mut logged = Vec::new();
        for file in files {
            let log = std::fs::read(&file).map_err(Error::file("read", &file))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let Some(transactions) = binary_log::transactions(&log) else { return Ok(None) };
            logged.extend(transactions.into_iter().map(text));
        }
        Ok(Some(logged))
    }

    fn commands(&self, has_log_volume: bool) -> Vec<String> {
        let user = self.program.user.as_ref().map_or(String::new(), |user| format!(" --user={}", user.name));
        let make = match &self.install {
            Some(install) => format!("{} --no-defaults --auth-root-authentication-method=normal", install.display()),
            None => format!("{} --no-defaults --initialize-insecure", self.program.path.display()),
        };
        let mut words: Vec<String> = Vec::new();
        if self.binary_log {
            let file = if has_log_volume { "=\"$WAL/binary-log\"" } else { "" };
            words.push(format!("--log-bin{file} --server-id=1"));
        } else if self.is_mysql() {
            words.push("--skip-log-bin".into());
        }
        let option = |(name, value): (&String, &String)| quoted(&format!("--{name}={value}"));
        words.extend(self.settings.iter().map(option));
        if has_log_volume {
            words.push("--innodb-log-group-home-dir=\"$WAL\"".into());
        }
        let format: String = self.format_settings().map(|setting| format!(" {}", option(setting))).collect();
        let log = if self.is_mysql() { "\"$MOUNT/data/#innodb_redo\"" } else { "\"$MOUNT/data\"/ib_logfile*" };
        // InnoDB does not start without it.
        let move_log = has_log_volume.then(|| format!("mv -t \"$WAL\" {log}"));
        let start = format!(
            "{} --no-defaults{user} --datadir=\"$MOUNT/data\" --socket=$RUN/mariadb.sock --skip-networking {}",
            self.program.path.display(),
            words.join(" ")
        );
        let make = format!("{make}{user} --datadir=\"$MOUNT/data\"{format}");
        [Some(make), move_log, Some(start)].into_iter().flatten().collect()
    }

    fn is_passing(&self, name: &str) -> bool {
        ["ibtmp1", "mariadb.pid", "mysqld.pid"].contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::durability::Class;
    use serde_json::{Value, json};

    /// MySQL has none of MariaDB's tools for a new data folder.
    fn server(is_mysql: bool, settings: Value, binary_log: bool) -> MariaDb {
        let program = Program { path: PathBuf::new(), version: String::new(), user: None };
        let install = (!is_mysql).then(PathBuf::new);
        MariaDb { program, install, settings: settings::typed(settings.as_object().expect("a table")), binary_log }
    }

    /// 12 MB at least, or it does not start: each image of a power cut would be one that does not come up.
    #[test]
    fn mysql_is_asked_what_it_recovered_with_a_temporary_file_of_its_own_size() {
        let place = Place::new("/d".into(), "/r".into());
        let asked = [true, false].map(|is_mysql| server(is_mysql, json!({}), false).configuration_to_ask(&place));
        assert_eq!(asked.map(|text| text.contains("innodb_temp_data_file_path")), [false, true]);
    }

    #[test]
    fn a_template_has_no_binary_log_whoever_loads_it() {
        let place = |skip_fsync| Place { skip_fsync, ..Place::new("/d".into(), "/r".into()) };
        let text = |binary_log, skip_fsync| server(true, json!({}), binary_log).configuration(&place(skip_fsync));
        assert_eq!(text(true, true), text(false, true));
        assert!(text(true, true).contains("skip-log-bin") && !text(true, false).contains("skip-log-bin"));
    }

    /// Of an option that stands twice the last holds.
    #[test]
    fn a_server_id_that_is_asked_for_holds() {
        let server = server(false, json!({ "server_id": 7 }), true);
        let text = server.configuration(&Place::new("/d".into(), "/r".into()));
        let ids = text.lines().filter_map(|line| line.strip_prefix("server_id = ")).collect::<Vec<_>>();
        assert_eq!(ids, ["1", "7"]);
        assert!(server.commands(false)[1].ends_with("--log-bin --server-id=1 '--server_id=7'"));
    }

    /// With its log left among the data the server does not start, and a shell takes a value apart at its spaces.
    #[test]
    fn who_repeats_a_trial_by_hand_moves_its_logs() {
        let commands = |is_mysql, has_log_volume| {
            server(is_mysql, json!({ "init_connect": "SET NAMES utf8" }), true).commands(has_log_volume)
        };
        let [_, moved, start] = <[String; 3]>::try_from(commands(false, true)).expect("three");
        assert_eq!(moved, "mv -t \"$WAL\" \"$MOUNT/data\"/ib_logfile*");
        assert!(start.contains("--log-bin=\"$WAL/binary-log\"") && start.contains("'--init_connect=SET NAMES utf8'"));
        assert!(commands(true, true)[1].ends_with("\"$MOUNT/data/#innodb_redo\""));
        assert_eq!(commands(false, false).len(), 2);
    }

    #[test]
    fn mysql_listens_where_it_is_told_alone() {
        let place = Place::new("/d".into(), "/r".into());
        let has_x = |is_mysql| !server(is_mysql, json!({}), false).configuration(&place).contains("mysqlx = OFF");
        assert_eq!([true, false].map(has_x), [false, true], "MariaDB has no such plugin");
    }

    #[test]
    fn mysql_takes_a_password_without_tls() {
        let network = Network {
            address: "10.0.0.1:3306".parse().expect("an address"),
            client: "10.0.0.2".parse().expect("an address"),
            password: "word".into(),
        };
        let place = Place { network: Some(network.clone()), ..Place::new("/d".into(), "/r".into()) };
        let said = |is_mysql| {
            let server = server(is_mysql, json!({}), false);
            (server.letting_in(&network)[1].clone(), server.configuration(&place).contains("native_password"))
        };
        let made = |method: &str| format!("CREATE USER 'root'@'10.0.0.2' IDENTIFIED {method}BY 'word'");
        assert_eq!(said(true), (made("WITH mysql_native_password "), true));
        assert_eq!(said(false), (made(""), false));
    }

    #[test]
    fn the_redo_log_moves_whatever_its_form() {
        let [data, log] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        std::fs::create_dir(data.path().join(MYSQL_LOG)).expect("a folder");
        let files = ["#innodb_redo/#ib_redo0", "ib_logfile0", "ibdata1"];
        files.iter().for_each(|file| std::fs::write(data.path().join(file), "x").expect("written"));
        let place = Place { log: Some(log.path().into()), ..Place::new(data.path().into(), data.path().into()) };
        server(true, json!({}), false).move_log(&place).expect("moved");
        let is_moved = files.map(|file| (log.path().join(file).exists(), data.path().join(file).exists()));
        assert_eq!(is_moved, [(true, false), (true, false), (false, true)]);
    }

    #[test]
    fn settings_decide_durability() {
        let class = |settings: Value| {
            let mut map = settings::defaults(SETTINGS);
            map.insert("settings".into(), settings);
            (KIND.read)(&map).durability().class
        };
        assert_eq!(class(json!({})), Class::KeepsAcknowledged);
        assert_eq!(class(json!({ "innodb_flush_log_at_trx_commit": 2 })), Class::LosesRecent);
        assert_eq!(class(json!({ "innodb-doublewrite": "OFF" })), Class::MayCorrupt);
        assert_eq!(class(json!({ "innodb_flush_method": "nosync" })), Class::MayCorrupt);
        let with_log = |settings: Value| {
            let mut map = settings::defaults(SETTINGS);
            map.extend([("settings".into(), settings), ("binary_log".into(), true.into())]);
            (KIND.read)(&map).durability().class
        };
        assert_eq!(with_log(json!({})), Class::LosesRecent);
        assert_eq!(with_log(json!({ "sync-binlog": 1 })), Class::KeepsAcknowledged);
    }
}
