//! nginx as a service: check, configure, start, ready, stop.
//!
//! The document root `site` and the access log lie on the filesystem under test; configuration and temporary files do not. What
//! a load is given instead of a socket is a file with the address that it listens on, a free port of loopback.

use crate::php_fpm;
use crate::service::{self, Error, FreeSettings, Kind, Missing, Place, Service, ServiceSettings};
use crate::web::{self, Launch, WebServer, WebSettings};
use nix::sys::signal::Signal;
use serde::Deserialize;
use settings::configuration::Configuration;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "nginx",
    summary: "nginx, serving files, with PHP behind it",
    example: "[service.nginx]\nsettings = { worker_processes = 2, sendfile = \"on\" }\n",
    settings: SETTINGS,
    listens: true,
    is_database: false,
    has_log_volume: false,
    read: service::read::<NginxSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "settings",
        kind: Is::Table,
        default: Some("{}"),
        help: "Directives, each put where it belongs: settings = { worker_processes = 2, open_file_cache = \"max=1000\" }. What nginx refuses is shown in its words.",
    },
    php_fpm::BEHIND,
    web::ACCESS_LOG,
    web::VIRTUAL_HOSTS,
    web::TLS,
    web::DATA,
];

/// Debian's own values, but for connections, of which Debian has 768: fewer than loads open. nginx itself would have one worker, and copy
/// files through its memory.
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

fn find() -> Result<(PathBuf, String), Missing> {
    let program = service::installed("nginx").ok_or_else(|| Missing::package("nginx", "nginx"))?;
    let version = service::said(&program, "-v").rsplit('/').next().unwrap_or_default().trim().to_string();
    Ok((program, version))
}

/// Directives outside of all blocks, those of `events` and those of `http`, a line each.
fn directives(settings: &BTreeMap<String, String>) -> [String; 3] {
    let mut blocks = [const { String::new() }; 3];
    for (name, value) in settings {
        let name = name.as_str();
        let block = match name {
            _ if OF_MAIN.contains(&name) => 0,
            _ if OF_EVENTS.contains(&name) => 1,
            _ => 2,
        };
        let _ = writeln!(blocks[block], "{name} {value};");
    }
    blocks
}

#[derive(Deserialize)]
struct NginxSettings {
    settings: FreeSettings,
    php: php_fpm::Behind,
    #[serde(flatten)]
    web: WebSettings,
}

impl ServiceSettings for NginxSettings {
    fn missing(&self) -> Option<Missing> {
        find().err().or_else(|| self.web.missing())
    }

    fn needs(&self) -> &'static [&'static str] {
        self.php.needs()
    }

    fn is_secure(&self) -> bool {
        self.web.tls
    }

    /// Debian includes a file in the context of all, of events in none, and of `http`; nginx refuses a directive that stands twice.
    fn files(&self) -> Vec<Configuration> {
        let [of_main, of_events, of_http] = directives(&self.settings);
        let all = [
            ("/etc/nginx/modules-enabled/90-surefoot.conf", of_main),
            ("events { … } of /etc/nginx/nginx.conf", of_events),
            ("/etc/nginx/conf.d/surefoot.conf", of_http),
        ];
        let all = all.into_iter().filter(|(_, text)| !text.is_empty());
        let checks = || vec!["nginx -t".into(), "nginx -T".into()];
        all.map(|(path, text)| Configuration { path: path.into(), text, checks: checks() }).collect()
    }

    fn problems(&self) -> Vec<String> {
        let is_plain = |text: &str| !text.is_empty() && !text.contains([';', '{', '}', '\n', '#']);
        self.settings.problems("settings", OURS, |name, value| is_plain(name) && is_plain(value))
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let (program, version) = find()?;
        let settings = self.settings.over(DEFAULTS);
        Ok(Box::new(Nginx { program, version, settings, web: self.web, php: self.php }))
    }
}

/// An installed nginx with its settings.
struct Nginx {
    program: PathBuf,
    version: String,
    settings: BTreeMap<String, String>,
    web: WebSettings,
    php: php_fpm::Behind,
}

impl Nginx {
    /// `fpm` is PHP-FPM's socket; its programs are told the environment.
    fn configuration(
        &self,
        data: &str,
        run: &str,
        address: SocketAddr,
        fpm: Option<&Path>,
        environment: &[(String, String)],
    ) -> String {
        let [of_main, of_events, of_http] = directives(&self.settings);
        let mut text = format!("daemon off;\npid {run}/nginx.pid;\n{of_main}");
        let _ = write!(text, "events {{\n{of_events}}}\nhttp {{\n{of_http}");
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            let _ = writeln!(text, "{kind}_temp_path {run}/{kind};");
        }
        let log = if self.web.access_log { format!("{data}/access.log combined") } else { "off".into() };
        let root = if self.web.virtual_hosts { "/$host" } else { "" };
        let _ = writeln!(
            text,
            "access_log {log};\nserver {{\nlisten {address}{};\nroot {data}/site{root};",
            if self.web.tls { " ssl" } else { "" }
        );
        if self.web.tls {
            let _ = writeln!(text, "ssl_certificate {run}/certificate.pem;\nssl_certificate_key {run}/key.pem;");
        }
        // A path can be a file and a folder in one log: the folder's file answers then, without a redirect.
        match fpm {
            None => text.push_str("location / { try_files $uri $uri/index.html =404; }\n"),
            Some(socket) => {
                text.push_str(
                    "index index.php index.html;\nlocation / { try_files $uri $uri/index.html $uri/ =404; }\n",
                );
                text.push_str("location ~ \\.php$ {\ninclude /etc/nginx/fastcgi_params;\n");
                text.push_str("fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n");
                for (name, value) in environment {
                    let _ = writeln!(text, "fastcgi_param {name} {value};");
                }
                let _ = writeln!(text, "fastcgi_pass unix:{};\n}}", socket.display());
            }
        }
        text.push_str("}\n}\n");
        text
    }
}

impl WebServer for Nginx {
    fn version(&self) -> &str {
        &self.version
    }

    fn is_secure(&self) -> bool {
        self.web.tls
    }

    fn launch(&self, place: &Place, address: SocketAddr) -> Result<Launch<'_>, Error> {
        let (data, run) = (place.data.to_string_lossy(), place.run.to_string_lossy());
        let text = self.configuration(&data, &run, address, php_fpm::socket(place), &web::environment(place));
        let configuration = web::write(place, "nginx.conf", &text)?;
        let effects = web::effects(KIND.name, &self.version, &self.settings);
        let launch = Launch::new(&self.program, ["-e", "stderr", "-c", &configuration], effects);
        Ok(Launch { stop: Signal::SIGQUIT, ..launch })
    }

    fn commands(&self) -> Vec<String> {
        let text = self.configuration("$MOUNT/data", "/tmp", web::BY_HAND, self.php.socket_by_hand(), &[]);
        let mut commands = vec!["mkdir -p $MOUNT/data/site".into(), web::file_command("/tmp/nginx.conf", &text)];
        commands.extend(self.web.certify_by_hand("/tmp"));
        commands.push("nginx -e stderr -c /tmp/nginx.conf".into());
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters(changes: serde_json::Value) -> Box<dyn ServiceSettings> {
        (KIND.read)(&settings::check_all(SETTINGS, changes.as_object().expect("a table")).expect("right"))
    }

    #[test]
    fn nothing_slips_into_the_configuration() {
        let asked = json!({ "settings": { "root": "/", "sendfile": "on; user root", "aio": "threads" } });
        assert_eq!(parameters(asked).problems().len(), 2);
    }

    #[test]
    fn directives_go_where_they_belong() {
        let settings = [("worker_processes", "2"), ("worker_connections", "9"), ("sendfile", "off")];
        let settings = settings.map(|(name, value)| (name.to_string(), value.to_string())).into();
        let (program, version) = (PathBuf::from("nginx"), String::new());
        let nginx = Nginx {
            program,
            version,
            settings,
            web: WebSettings { access_log: false, virtual_hosts: true, tls: true },
            php: php_fpm::Behind::Fpm,
        };
        let text =
            nginx.configuration("/d", "/r", "127.0.0.1:81".parse().expect("an address"), Some(Path::new("/f")), &[]);
        assert!(
            text.starts_with("daemon off;\npid /r/nginx.pid;\nworker_processes 2;\nevents {\nworker_connections 9;\n}")
        );
        assert!(text.contains("http {\nsendfile off;\n") && text.contains("access_log off;\n"));
        assert!(text.contains("root /d/site/$host;\n") && text.contains("fastcgi_pass unix:/f;"));
        assert!(text.contains("listen 127.0.0.1:81 ssl;\n") && text.contains("ssl_certificate_key /r/key.pem;"));
    }
}
