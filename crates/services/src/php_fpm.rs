//! PHP-FPM as a service: PHP's own processes, that a web server asks for pages over a socket.

use crate::php::{self, Php};
use crate::process::{AtWork, Start};
use crate::service::{
    Error, Kind, Place, Running, Service, User, check_free, free_settings, free_settings_over, is_name,
};
use crate::web;
use nix::sys::signal::Signal;
use observe::durability::Durability;
use serde_json::{Map, Value};
use settings::configuration::Configuration;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "php-fpm",
    summary: "PHP-FPM, PHP's own processes behind Apache or nginx",
    example: "[service.apache]\nphp = \"fpm\"\n[service.php-fpm]\nopcache = true\nsettings = { \"pm.max_children\" = 10 }\n",
    settings: SETTINGS,
    missing: |parameters| php::missing(find().as_ref(), "PHP-FPM", "php-fpm", parameters),
    listens: false,
    is_database: false,
    needs: |_| &[],
    durability: |_| Durability::full(),
    files,
    check,
    open: |parameters| {
        let missing = php::missing(find().as_ref(), "PHP-FPM", "php-fpm", parameters);
        let (program, version) = find().ok_or_else(|| missing.expect("what is not found is missing"))?;
        let settings = free_settings_over(DEFAULTS, parameters);
        Ok(Box::new(PhpFpm { program, version, user: web::user(), settings, php: Php::of(parameters) }))
    },
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "settings",
        kind: Is::Table,
        default: Some("{}"),
        help: "Settings of its pool: settings = { pm = \"static\", \"pm.max_children\" = 10 }.",
    },
    php::OPCACHE,
    php::APCU,
    php::SETTINGS,
    web::DATA,
];

/// Debian's own pool.
const DEFAULTS: &[(&str, &str)] = &[
    ("pm", "dynamic"),
    ("pm.max_children", "5"),
    ("pm.start_servers", "2"),
    ("pm.min_spare_servers", "1"),
    ("pm.max_spare_servers", "3"),
];

/// Settings that surefoot itself needs.
const OURS: &[&str] = &["listen", "user", "group", "chroot", "chdir"];

fn find() -> Option<(PathBuf, String)> {
    php::newest("/usr/sbin", "php-fpm", "")
}

fn files(parameters: &Map<String, Value>) -> Vec<Configuration> {
    let settings = free_settings(parameters);
    let lines: String = settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    let version = parameters.get("version").and_then(Value::as_str).unwrap_or("VERSION");
    let pool = Configuration {
        path: format!("/etc/php/{version}/fpm/pool.d/zz-surefoot.conf"),
        text: format!("[www]\n{lines}"),
        checks: vec![format!("php-fpm{version} -tt")],
    };
    let php = Php::of(parameters).file("fpm", "php-fpmVERSION -i | grep -E 'opcache.enable|apc.enabled'");
    Some(pool).filter(|_| !lines.is_empty()).into_iter().chain([php]).collect()
}

fn check(parameters: &Map<String, Value>) -> Vec<String> {
    let is_plain = |name: &str, value: &str| is_name(name) && !value.is_empty() && !value.contains(['\n', ';']);
    let problems = check_free(parameters, "settings", OURS, is_plain);
    problems.into_iter().chain(php::check(parameters)).collect()
}

/// An installed PHP-FPM with its settings.
struct PhpFpm {
    program: PathBuf,
    version: String,
    user: Option<User>,
    settings: BTreeMap<String, String>,
    php: Php,
}

impl PhpFpm {
    fn configuration(&self, run: &str) -> String {
        let mut text = format!(
            "[global]\nerror_log = {run}/messages\ndaemonize = no\npid = {run}/php-fpm.pid\n[www]\nlisten = {run}/socket\n"
        );
        for (name, value) in &self.settings {
            let _ = writeln!(text, "{name} = {value}");
        }
        text
    }
}

impl Service for PhpFpm {
    fn version(&self) -> &str {
        &self.version
    }

    fn create(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let environment = self.php.prepare(place)?;
        let text = self.configuration(&place.run.to_string_lossy());
        let configuration = web::write(place, "php-fpm.conf", &text)?;
        let start = Start {
            program: &self.program,
            arguments: vec!["-F".into(), "-y".into(), configuration],
            user: self.user.as_ref(),
            cpus: &place.cpus,
            log: place.run.join("messages"),
            environment: environment.clone(),
        };
        let mut server = start.server()?;
        let socket = place.run.join("socket");
        server.wait_ready(|| UnixStream::connect(&socket).map(drop).map_err(wire::Error::Lost))?;
        let effects = web::effects(KIND.name, &self.version, &self.settings);
        let effects = effects.and(self.php.effects(KIND.name, Some(&self.program), &environment));
        Ok(Box::new(AtWork::new(server, socket, effects, Signal::SIGQUIT)))
    }

    fn commands(&self, _has_log_volume: bool) -> Vec<String> {
        vec![
            "mkdir -p /tmp/php-fpm/php $MOUNT/data/sessions".into(),
            web::file_command("/tmp/php-fpm/php/surefoot.ini", &self.php.ini("$MOUNT/data")),
            web::file_command("/tmp/php-fpm/php-fpm.conf", &self.configuration("/tmp/php-fpm")),
            format!(
                "PHP_INI_SCAN_DIR=:/tmp/php-fpm/php {} -F -R -y /tmp/php-fpm/php-fpm.conf &",
                self.program.display()
            ),
        ]
    }

    fn user(&self) -> Option<User> {
        self.user.clone()
    }
}
