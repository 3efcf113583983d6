//! nginx as a service: check, configure, start, ready, stop.
//!
//! The document root `site` and the access log lie on the filesystem under test; configuration and temporary files do not. What
//! a load is given instead of a socket is a file with the address that it listens on, a free port of loopback.

use crate::effect::Effects;
use crate::idle::{self, Idle};
use crate::php_fpm;
use crate::service::{self, Error, FreeSettings, Kind, Missing, Place, Program, Service, ServiceSettings, is_among};
use crate::web::{self, Installed, Launch, Told, WebServer, WebSettings};
use nix::sys::resource::{Resource, getrlimit, rlim_t};
use nix::sys::signal::Signal;
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
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
    Setting::new("settings", Is::Table, "{}")
        .help("Directives, each put where it belongs: settings = { worker_processes = 2, open_file_cache = \"max=1000\" }. What nginx refuses is shown in its words."),
    php_fpm::BEHIND,
    web::ACCESS_LOG,
    web::VIRTUAL_HOSTS,
    web::TLS,
    web::DATA,
];

/// Debian's own values, but for connections, of which Debian has 768: fewer than loads open. nginx itself would have one worker, and copy
/// files through its memory.
const DEFAULTS: &str =
    "worker_processes=auto worker_connections=4096 sendfile=on tcp_nopush=on types_hash_max_size=2048";

/// What a connection takes of a worker's descriptors: its own, and that of the file or of PHP.
const DESCRIPTORS_OF_CONNECTION: rlim_t = 2;

/// Directives outside of all blocks (nginx's documentation, "Core functionality").
const OF_MAIN: &str = "worker_processes worker_cpu_affinity worker_priority worker_rlimit_nofile \
     worker_shutdown_timeout thread_pool timer_resolution pcre_jit";

/// Directives of the block `events`.
const OF_EVENTS: &str = "worker_connections worker_aio_requests multi_accept accept_mutex accept_mutex_delay use";

/// What the kernel may refuse a worker that is not root's: the call as nginx names it, and the directive that asks for it
/// (ngx_process_cycle.c). The worker goes on without it.
const REFUSED: [(&str, &str); 2] =
    [("setrlimit(RLIMIT_NOFILE, ", "worker_rlimit_nofile"), ("setpriority(", "worker_priority")];

/// Directives that surefoot itself needs.
const OURS: &str = "listen root pid user daemon master_process error_log access_log try_files include";

fn find() -> Result<(PathBuf, String), Missing> {
    let program = service::installed("nginx").ok_or_else(|| Missing::package("nginx", "nginx"))?;
    let version = service::said(&program, "-v").rsplit('/').next().unwrap_or_default().trim().to_string();
    Ok((program, version))
}

/// The descriptors that a worker is to have, where its connections need more than it begins with; as many as it may, where it may have fewer.
fn room(settings: &BTreeMap<String, String>, (begins_with, may_have): (rlim_t, rlim_t)) -> Option<rlim_t> {
    let connections: rlim_t = settings.get("worker_connections")?.parse().ok()?;
    let needed = connections.saturating_mul(DESCRIPTORS_OF_CONNECTION).min(may_have);
    (needed > begins_with && !settings.contains_key("worker_rlimit_nofile")).then_some(needed)
}

/// Directives outside of all blocks, those of `events` and those of `http`, a line each.
fn directives(settings: &BTreeMap<String, String>) -> [String; 3] {
    let mut blocks = [const { String::new() }; 3];
    for (name, value) in settings {
        let name = name.as_str();
        let block = match name {
            _ if is_among(name, OF_MAIN) => 0,
            _ if is_among(name, OF_EVENTS) => 1,
            _ => 2,
        };
        let _ = writeln!(blocks[block], "{name} {value};");
    }
    blocks
}

#[derive(Clone, Deserialize)]
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

    /// nginx refuses a directive that stands twice in a block, and Debian's file, or the administrator's, has many: a file beside it is no way.
    fn files(&self, _setup: &Setup) -> Vec<Configuration> {
        let mut lines = directives(&self.settings);
        if !self.web.access_log {
            lines[2].push_str("access_log off;\n");
        }
        let blocks = ["outside of all blocks", "events { … }", "http { … }"].into_iter().zip(lines);
        let file = |(block, text)| Configuration {
            path: format!("{block} of /etc/nginx/nginx.conf"),
            text,
            ..Configuration::default()
        };
        let mut all: Vec<Configuration> = blocks.filter(|(_, text)| !text.is_empty()).map(file).collect();
        if let Some(first) = all.first_mut() {
            first.before.push(
                "# Each line takes the place of the one of its name, there or in an included file: nginx does not start with both."
                    .into(),
            );
            if self.settings.contains_key("worker_connections") && !self.settings.contains_key("worker_rlimit_nofile") {
                first.before.push(
                    "# A worker has as many connections as descriptors: worker_rlimit_nofile, or LimitNOFILE of its unit.".into(),
                );
            }
        }
        if let Some(last) = all.last_mut() {
            let log = (!self.web.access_log).then_some("access_log");
            let names: Vec<&str> = self.settings.keys().map(String::as_str).chain(log).collect();
            last.after.push("nginx -t  # before it is reloaded or started again".into());
            last.checks.push(format!("nginx -T 2> /dev/null | grep -E '^\\s*({})\\s'", names.join("|")));
        }
        all
    }

    fn problems(&self) -> Vec<String> {
        let is_plain = |text: &str| !text.is_empty() && !text.contains([';', '{', '}', '\n', '#']);
        let problems = self.settings.problems("settings", OURS, |name, value| is_plain(name) && is_plain(value));
        let newer = web::newer_protocols(&self.settings, &["http2", "http3", "quic"]);
        problems.into_iter().chain(web::compression(&self.settings, "gzip")).chain(newer).collect()
    }

    /// nginx' documentation of these directives.
    fn idle(&self) -> Vec<Idle> {
        const OF_COMPRESSION: &str =
            "gzip_buffers gzip_comp_level gzip_disable gzip_http_version gzip_min_length gzip_proxied gzip_types";
        let is_on = |name: &str| self.settings.get(name).is_some_and(|value| value != "off");
        let rules = [
            (false, OF_COMPRESSION, "a load that asks for compressed answers"),
            (false, "proxy_* uwsgi_* scgi_* grpc_* memcached_*", "another server behind nginx"),
            (false, "open_log_file_cache", "variables in the path of the access log"),
            (is_on("open_file_cache"), "open_file_cache_*", "open_file_cache"),
            (is_on("directio"), "directio_alignment", "directio"),
            (is_on("aio"), "aio_write worker_aio_requests", "aio"),
            (is_on("accept_mutex"), "accept_mutex_delay", "accept_mutex = \"on\""),
            (self.php == php_fpm::Behind::Fpm, "fastcgi_*", "php = \"fpm\""),
            (self.web.tls, "ssl_*", "tls = true"),
        ];
        idle::of("settings", &self.settings, &rules)
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        Ok(Box::new(Installed { program: Program::new(find()?, web::USERS), asked: self.clone() }))
    }
}

impl NginxSettings {
    /// Those of the study over the defaults.
    fn in_effect(&self) -> BTreeMap<String, String> {
        let mut settings = self.settings.over(DEFAULTS);
        let room = getrlimit(Resource::RLIMIT_NOFILE).ok().and_then(|limits| room(&settings, limits));
        settings.extend(room.map(|descriptors| ("worker_rlimit_nofile".to_string(), descriptors.to_string())));
        settings
    }

    /// `fpm` is PHP-FPM's socket; its programs are told the environment.
    fn configuration(&self, [data, run]: [&str; 2], address: SocketAddr, fpm: Option<&Path>, told: &Told) -> String {
        let [of_main, of_events, of_http] = directives(&self.in_effect());
        let mut text = format!("daemon off;\npid {run}/nginx.pid;\n{of_main}");
        let _ = write!(text, "events {{\n{of_events}}}\nhttp {{\n{of_http}");
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            let _ = writeln!(text, "{kind}_temp_path {run}/{kind};");
        }
        let log = if self.web.access_log { format!("{data}/access.log combined") } else { "off".into() };
        let (root, tls) = (if self.web.virtual_hosts { "/$host" } else { "" }, if self.web.tls { " ssl" } else { "" });
        let _ = writeln!(text, "access_log {log};\nserver {{\nlisten {address}{tls};\nroot {data}/site{root};");
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
                for (name, value) in told {
                    let _ = writeln!(text, "fastcgi_param {name} {value};");
                }
                let _ = writeln!(text, "fastcgi_pass unix:{};\n}}", socket.display());
            }
        }
        text.push_str("}\n}\n");
        text
    }
}

impl WebServer for NginxSettings {
    fn launch(&self, version: &str, place: &Place, address: SocketAddr) -> Result<Launch, Error> {
        let (data, run) = (place.data.to_string_lossy(), place.run.to_string_lossy());
        let text = self.configuration([&*data, &*run], address, php_fpm::socket(place), &web::environment(place));
        let configuration = place.write("nginx.conf", &text)?;
        let effects = web::effects(KIND.name, version, &self.in_effect());
        let launch = Launch::new(["-e", "stderr", "-c", &configuration], effects);
        Ok(Launch { stop: Signal::SIGQUIT, ..launch })
    }

    /// A worker that has fewer descriptors than connections takes no more when they are gone. One that is refused a right goes on without it.
    fn heed(&self, messages: &str, effects: &mut Effects) {
        const LIMITED: &str = " worker_connections exceed open file resource limit: ";
        let limits = messages.lines().filter_map(|line| Some(line.split_once(LIMITED)?.1.trim()));
        for limit in limits {
            let missed = self.settings.get("worker_connections").map(|asked| {
                format!("nginx has descriptors for {limit} connections a worker, where worker_connections = {asked} was asked")
            });
            effects.mend(format!("{}.worker_connections", KIND.name), Some(limit), missed);
        }
        for (call, directive) in REFUSED {
            let is_refused = |line: &&str| line.contains(call) && line.contains(" failed (");
            let words = messages.lines().find(is_refused).and_then(|line| line.get(line.find(call)?..));
            let missed = self.settings.get(directive).zip(words);
            let missed = missed.map(|(asked, words)| format!("nginx goes on without {directive} = {asked}: {words}"));
            effects.mend(format!("{}.{directive}", KIND.name), None, missed);
        }
    }

    fn commands(&self, _program: &Path) -> Vec<String> {
        let text = self.configuration(["$MOUNT/data", "$RUN"], web::BY_HAND, self.php.socket_by_hand(), &[]);
        let mut commands = vec!["mkdir -p $MOUNT/data/site".into(), web::file_command("$RUN/nginx.conf", &text)];
        commands.extend(self.web.certify_by_hand("$RUN"));
        commands.push("nginx -e stderr -c $RUN/nginx.conf".into());
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
    fn compression_that_nobody_asks_for_is_refused() {
        let problems = |value: &str| parameters(json!({ "settings": { "gzip": value } })).problems();
        assert_eq!(problems("off"), [""; 0]);
        assert!(problems("on").len() == 1 && problems("on")[0].contains("settings.gzip"), "{:?}", problems("on"));
    }

    /// nginx 1.25 and later have `http2` and `http3` as directives of their own.
    #[test]
    fn protocols_that_no_load_speaks_are_refused() {
        let problems = |settings: serde_json::Value| parameters(json!({ "settings": settings })).problems();
        assert_eq!(problems(json!({ "http2": "off", "keepalive_requests": 9 })), [""; 0]);
        let asked = problems(json!({ "http2": "on", "http3": "on", "http2_max_concurrent_streams": 9 }));
        assert!(asked.len() == 3 && asked.iter().all(|said| said.contains("HTTP/1.1 only")), "{asked:?}");
    }

    #[test]
    fn workers_have_descriptors_for_their_connections() {
        let settings = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
        };
        let of = |connections: &str| settings(&[("worker_connections", connections)]);
        assert_eq!(room(&of("4096"), (1024, 524_288)), Some(8192));
        assert_eq!(room(&of("4096"), (1024, 4096)), Some(4096), "no more than it may have");
        assert_eq!(room(&of("4096"), (1 << 20, 1 << 20)), None, "it has enough");
        assert_eq!(room(&of("auto"), (1024, 4096)), None);
        let asked = settings(&[("worker_connections", "4096"), ("worker_rlimit_nofile", "100")]);
        assert_eq!(room(&asked, (1024, 524_288)), None, "the study says it");
    }

    /// The words are nginx' own (ngx_event.c, 1.22).
    #[test]
    fn connections_beyond_the_descriptors_are_no_connections() {
        let nginx = |asked: serde_json::Value| NginxSettings {
            settings: FreeSettings::from(asked.as_object().expect("a table").clone()),
            web: WebSettings { access_log: false, virtual_hosts: false, tls: false },
            php: php_fpm::Behind::None,
        };
        let said = "2026/12/01 10:00:00 [warn] 7#7: 4096 worker_connections exceed open file resource limit: 1024\n";
        let heeded = |asked| {
            let mut effects = Effects::default();
            nginx(asked).heed(said, &mut effects);
            (effects.facts["nginx.worker_connections"].clone(), effects.ineffective.len())
        };
        assert_eq!(heeded(json!({ "worker_connections": 4096 })), ("1024".into(), 1));
        assert_eq!(heeded(json!({})), ("1024".into(), 0), "a default that gives way is a fact");
        let refused = |said: &str| {
            let mut effects = Effects::default();
            nginx(json!({ "worker_rlimit_nofile": 2_000_000, "worker_priority": -5 })).heed(said, &mut effects);
            effects.ineffective
        };
        let alert =
            "2026/11/27 10:00:00 [alert] 8#8: setrlimit(RLIMIT_NOFILE, 2000000) failed (1: Operation not permitted)\n";
        let missed = refused(&alert.repeat(2));
        assert!(
            missed.len() == 1 && missed[0].contains("= 2000000: setrlimit(RLIMIT_NOFILE, 2000000) failed (1"),
            "{missed:?}"
        );
        assert_eq!(refused("2026/11/27 10:00:00 [notice] 8#8: start worker processes\n"), [""; 0]);
    }

    /// Debian's nginx.conf has both already, and nginx refuses a directive that stands twice.
    #[test]
    fn no_file_beside_nginx_conf_has_directives() {
        let asked = parameters(json!({ "settings": { "worker_processes": 2, "sendfile": "on" } }));
        let all = asked.files(&Setup::default());
        let paths: Vec<&str> = all.iter().map(|file| file.path.as_str()).collect();
        let expected = ["outside of all blocks of /etc/nginx/nginx.conf", "http { … } of /etc/nginx/nginx.conf"];
        assert_eq!(paths, expected);
        assert!(all[0].before[0].contains("takes the place") && all[1].after[0].starts_with("nginx -t"), "{all:?}");
    }

    #[test]
    fn directives_go_where_they_belong() {
        let settings = json!({ "worker_processes": 2, "worker_connections": 9, "sendfile": "off" });
        let nginx = NginxSettings {
            settings: FreeSettings::from(settings.as_object().expect("a table").clone()),
            web: WebSettings { access_log: false, virtual_hosts: true, tls: true },
            php: php_fpm::Behind::Fpm,
        };
        let text =
            nginx.configuration(["/d", "/r"], "127.0.0.1:81".parse().expect("an address"), Some(Path::new("/f")), &[]);
        assert!(
            text.starts_with("daemon off;\npid /r/nginx.pid;\nworker_processes 2;\nevents {\nworker_connections 9;\n}")
        );
        assert!(text.contains("http {\nsendfile off;\n") && text.contains("access_log off;\n"));
        assert!(text.contains("root /d/site/$host;\n") && text.contains("fastcgi_pass unix:/f;"));
        assert!(text.contains("listen 127.0.0.1:81 ssl;\n") && text.contains("ssl_certificate_key /r/key.pem;"));
    }
}
