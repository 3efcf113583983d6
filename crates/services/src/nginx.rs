//! nginx as a service: check, configure, start, ready, stop.
//!
//! The document root `site` and the access log lie on the filesystem under test; configuration and temporary files do not. What
//! a load is given instead of a socket is a file with the address that it listens on, a free port of loopback.

use crate::effect::Effects;
use crate::process::{AtWork, Start};
use crate::service::{Error, Kind, Missing, Place, Running, Service, User, free_settings, free_settings_over};
use nix::sys::signal::Signal;
use observe::durability::Durability;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "nginx",
    summary: "nginx, serving files",
    example: "[service.nginx]\nsettings = { worker_processes = 2, sendfile = \"on\" }\n",
    settings: SETTINGS,
    missing: |_| find().err(),
    durability: |_| Durability::full(),
    check,
    open: |parameters| {
        let (program, version) = find()?;
        let settings = free_settings_over(DEFAULTS, parameters);
        let has_access_log = parameters["access_log"] == Value::Bool(true);
        Ok(Box::new(Nginx {
            program,
            version,
            user: User::first_of(&["www-data", "nobody"]),
            settings,
            has_access_log,
        }))
    },
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "settings",
        kind: Is::Table,
        default: Some("{}"),
        help: "Directives, each put where it belongs: settings = { worker_processes = 2, open_file_cache = \"max=1000\" }. What nginx refuses is shown in its words.",
    },
    Setting {
        name: "access_log",
        kind: Is::Boolean,
        default: Some("true"),
        help: "Whether it writes an access log, on the filesystem under test.",
    },
    Setting {
        name: "data",
        kind: Is::Choice(&["template", "load"]),
        default: Some("template"),
        help: "`template`: the site is made once, then copied for each trial. `load`: made anew on the filesystem under test.",
    },
];

/// Debian's own values; nginx itself would have one worker, and copy files through its memory.
const DEFAULTS: &[(&str, &str)] = &[
    ("worker_processes", "auto"),
    ("worker_connections", "4096"),
    ("sendfile", "on"),
    ("tcp_nopush", "on"),
    ("types_hash_max_size", "2048"),
];

/// Directives outside of all blocks (nginx's documentation, "Core functionality").
const OF_MAIN: &[&str] = &[
    "worker_processes",
    "worker_cpu_affinity",
    "worker_priority",
    "worker_rlimit_nofile",
    "worker_shutdown_timeout",
    "thread_pool",
    "timer_resolution",
    "pcre_jit",
];

/// Directives of the block `events`.
const OF_EVENTS: &[&str] =
    &["worker_connections", "worker_aio_requests", "multi_accept", "accept_mutex", "accept_mutex_delay", "use"];

/// Directives that surefoot itself needs.
const OURS: &[&str] =
    &["listen", "root", "pid", "user", "daemon", "master_process", "error_log", "access_log", "try_files", "include"];

const ADDRESS: &str = "address";

fn find() -> Result<(PathBuf, String), Missing> {
    let missing = || Missing { what: "nginx is not installed".into(), remedy: "install the package nginx".into() };
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/nginx/sbin"];
    let program = folders.iter().map(|folder| Path::new(folder).join("nginx")).find(|path| path.is_file());
    let program = program.ok_or_else(missing)?;
    let said = Command::new(&program).arg("-v").output().map(|output| output.stderr).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let version = said.rsplit('/').next().unwrap_or_default().trim().to_string();
    Ok((program, version))
}

fn check(parameters: &Map<String, Value>) -> Vec<String> {
    let settings = free_settings(parameters);
    let of_one = |(name, value): (&String, &String)| {
        if OURS.contains(&name.as_str()) {
            return Some(format!("settings.{name}: surefoot sets it itself"));
        }
        let is_plain = |text: &str| !text.is_empty() && !text.contains([';', '{', '}', '\n', '#']);
        (!is_plain(name) || !is_plain(value))
            .then(|| format!("settings.{name}: {value:?} is not one directive's value"))
    };
    settings.iter().filter_map(of_one).collect()
}

/// An installed nginx with its settings.
struct Nginx {
    program: PathBuf,
    version: String,
    user: Option<User>,
    settings: BTreeMap<String, String>,
    has_access_log: bool,
}

impl Nginx {
    fn directives(&self, belongs: impl Fn(&str) -> bool) -> String {
        let mine = self.settings.iter().filter(|(name, _)| belongs(name));
        mine.map(|(name, value)| format!("{name} {value};\n")).collect()
    }

    fn configuration(&self, data: &str, run: &str, port: u16) -> String {
        let (is_main, is_event) = (|name: &str| OF_MAIN.contains(&name), |name: &str| OF_EVENTS.contains(&name));
        let mut text = format!("daemon off;\npid {run}/nginx.pid;\n{}", self.directives(is_main));
        let _ = writeln!(text, "events {{\n{}}}\nhttp {{", self.directives(is_event));
        text.push_str(&self.directives(|name| !is_main(name) && !is_event(name)));
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            let _ = writeln!(text, "{kind}_temp_path {run}/{kind};");
        }
        let log = if self.has_access_log { format!("{data}/access.log combined") } else { "off".into() };
        let _ = writeln!(text, "access_log {log};\nserver {{\nlisten 127.0.0.1:{port};\nroot {data}/site;");
        // A path can be a file and a folder in one log: the folder's file answers then, without a redirect.
        text.push_str("location / { try_files $uri $uri/index.html =404; }\n}\n}\n");
        text
    }
}

impl Service for Nginx {
    fn version(&self) -> &str {
        &self.version
    }

    fn format(&self) -> String {
        String::new()
    }

    fn create(&self, place: &Place) -> Result<(), Error> {
        let site = place.data.join("site");
        std::fs::create_dir_all(&site).map_err(Error::file("create", site))
    }

    fn move_log(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.map_err(Error::file("take a port of", "loopback"))?;
        let configuration = place.run.join("nginx.conf");
        let text = self.configuration(&place.data.to_string_lossy(), &place.run.to_string_lossy(), address.port());
        std::fs::write(&configuration, text).map_err(Error::file("write", &configuration))?;
        let arguments = ["-e", "stderr", "-c", &configuration.to_string_lossy()].map(String::from).to_vec();
        let start = Start {
            program: &self.program,
            arguments,
            user: self.user.as_ref(),
            cpus: &place.cpus,
            log: place.run.join("messages"),
        };
        let mut server = start.server()?;
        server.wait_ready(|| TcpStream::connect(address).map(drop).map_err(wire::Error::Lost))?;
        let told = place.run.join(ADDRESS);
        std::fs::write(&told, address.to_string()).map_err(Error::file("write", &told))?;
        let facts = self.settings.iter().map(|(name, value)| (format!("nginx.{name}"), value.clone()));
        let mut effects = Effects { facts: facts.collect(), ineffective: Vec::new() };
        effects.facts.insert("nginx.version".into(), self.version.clone());
        Ok(Box::new(AtWork::new(server, told, effects, Signal::SIGQUIT)))
    }

    fn commands(&self, _has_log_volume: bool) -> Vec<String> {
        let text = self.configuration("$MOUNT/data", "/tmp", 8080);
        let lines: Vec<String> = text.lines().map(|line| format!("\"{}\"", line.replace("$uri", "\\$uri"))).collect();
        vec![
            "mkdir -p $MOUNT/data/site".into(),
            format!("printf '%s\\n' {} > /tmp/nginx.conf", lines.join(" ")),
            "nginx -e stderr -c /tmp/nginx.conf".into(),
        ]
    }

    fn is_passing(&self, name: &str) -> bool {
        name == "access.log"
    }

    fn user(&self) -> Option<User> {
        self.user.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters(changes: Value) -> Map<String, Value> {
        settings::check_all(SETTINGS, changes.as_object().expect("a table")).expect("right")
    }

    #[test]
    fn nothing_slips_into_the_configuration() {
        let asked = json!({ "settings": { "root": "/", "sendfile": "on; user root", "aio": "threads" } });
        assert_eq!(check(&parameters(asked)).len(), 2);
    }

    #[test]
    fn directives_go_where_they_belong() {
        let settings = [("worker_processes", "2"), ("worker_connections", "9"), ("sendfile", "off")];
        let settings = settings.map(|(name, value)| (name.to_string(), value.to_string())).into();
        let (program, version) = (PathBuf::from("nginx"), String::new());
        let nginx = Nginx { program, version, user: None, settings, has_access_log: false };
        let text = nginx.configuration("/d", "/r", 81);
        assert!(
            text.starts_with("daemon off;\npid /r/nginx.pid;\nworker_processes 2;\nevents {\nworker_connections 9;\n}")
        );
        assert!(text.contains("http {\nsendfile off;\n") && text.contains("access_log off;\n"));
    }
}
