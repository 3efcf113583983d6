//! PHP-FPM as a service: PHP's own processes, that a web server asks for pages over a socket.

use crate::idle::{self, Idle};
use crate::php::{self, Php};
use crate::process::{AtWork, Start};
use crate::service::{
    self, Error, FreeSettings, Kind, Missing, Place, Program, Running, Service, ServiceSettings, is_name,
};
use crate::web;
use nix::sys::signal::Signal;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "php-fpm",
    summary: "PHP-FPM, PHP's own processes behind Apache, Caddy or nginx",
    example: "[service.apache]\nphp = \"fpm\"\n[service.php-fpm]\nopcache = true\nsettings = { \"pm.max_children\" = 10 }\n",
    settings: SETTINGS,
    listens: false,
    is_database: false,
    has_log_volume: false,
    read: service::read::<PhpFpmSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("settings", Is::Table, "{}")
        .help("Settings of its pool: settings = { pm = \"static\", \"pm.max_children\" = 10 }."),
    php::OPCACHE,
    php::APCU,
    php::SETTINGS,
    web::DATA,
];

/// PHP as a study's services have it here.
pub fn php_of(services: &BTreeMap<String, Map<String, Value>>) -> Php {
    services.get(KIND.name).map_or_else(|| settings::typed(&settings::defaults(SETTINGS)), settings::typed)
}

/// `php` of web servers that run no PHP themselves.
pub const BEHIND: Setting = Setting::new("php", Is::Choice(&["none", "fpm"]), "none")
    .help("Who runs PHP: nobody, or the service `php-fpm`, which has its settings.");

/// Who runs PHP for such a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Behind {
    /// Nobody.
    None,
    /// The service `php-fpm`.
    Fpm,
}

impl Behind {
    /// The service that it is.
    pub fn needs(self) -> &'static [&'static str] {
        if self == Behind::Fpm { &["php-fpm"] } else { &[] }
    }

    /// Its socket, where it was started by hand.
    pub fn socket_by_hand(self) -> Option<&'static Path> {
        (self == Behind::Fpm).then(socket_by_hand)
    }
}

/// The socket of one that was started by hand.
pub fn socket_by_hand() -> &'static Path {
    Path::new("$RUN/php-fpm/socket")
}

/// The socket of the one that runs beside a server.
pub fn socket(place: &Place) -> Option<&Path> {
    place.sockets.get(KIND.name).map(PathBuf::as_path)
}

/// Debian's own pool.
const DEFAULTS: &str = "pm=dynamic pm.max_children=5 pm.start_servers=2 pm.min_spare_servers=1 pm.max_spare_servers=3";

/// Settings that surefoot itself needs.
const OURS: &str = "listen user group chroot chdir";

fn find() -> Option<(PathBuf, String)> {
    php::newest("/usr/sbin", "php-fpm", "")
}

#[derive(Deserialize)]
struct PhpFpmSettings {
    settings: FreeSettings,
    #[serde(flatten)]
    php: Php,
}

impl ServiceSettings for PhpFpmSettings {
    fn missing(&self) -> Option<Missing> {
        self.php.missing(find().as_ref(), "PHP-FPM", "php-fpm")
    }

    fn files(&self, setup: &Setup) -> Vec<Configuration> {
        let lines: String = self.settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        let version = if setup.version.is_empty() { "VERSION" } else { &setup.version };
        let path = format!("/etc/php/{version}/fpm/pool.d/zz-surefoot.conf");
        let before = "# www is Debian's pool; PHP-FPM does not start with a pool of a name that has no address yet.";
        let after = vec![format!("php-fpm{version} -t  # before it is reloaded or started again")];
        let (before, checks) = (vec![before.into()], vec![format!("php-fpm{version} -tt")]);
        let pool = Configuration { path, before, text: format!("[www]\n{lines}"), after, checks };
        let php = self.php.file("fpm", version, &format!("php-fpm{version}"));
        Some(pool).filter(|_| !lines.is_empty()).into_iter().chain(php).collect()
    }

    fn problems(&self) -> Vec<String> {
        let is_plain = |name: &str, value: &str| is_name(name) && !value.is_empty() && !value.contains(['\n', ';']);
        self.settings.problems("settings", OURS, is_plain).into_iter().chain(self.php.problems()).collect()
    }

    /// PHP's manual, "FPM configuration", on `pm`.
    fn idle(&self) -> Vec<Idle> {
        let pm = self.settings.get("pm").map_or("dynamic", String::as_str);
        let of_dynamic = "pm.start_servers pm.min_spare_servers pm.max_spare_servers pm.max_spawn_rate";
        let rules = [
            (pm == "dynamic", of_dynamic, "pm = \"dynamic\""),
            (pm == "ondemand", "pm.process_idle_timeout", "pm = \"ondemand\""),
        ];
        idle::of("settings", &self.settings, &rules).into_iter().chain(self.php.idle(None)).collect()
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let found = find().ok_or_else(|| self.missing().expect("what is not found is missing"))?;
        let (settings, php) = (self.settings.over(DEFAULTS), self.php.clone());
        Ok(Box::new(PhpFpm { program: Program::new(found, web::USERS), settings, php }))
    }
}

/// An installed PHP-FPM with its settings.
struct PhpFpm {
    program: Program,
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
    fn program(&self) -> &Program {
        &self.program
    }

    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let environment = self.php.prepare(place)?;
        let text = self.configuration(&place.run.to_string_lossy());
        let configuration = place.write("php-fpm.conf", &text)?;
        let arguments = vec!["-F".into(), "-y".into(), configuration];
        let start = Start::new(&self.program, arguments, place, place.run.join("messages"));
        let mut server = Start { environment: environment.clone(), ..start }.server()?;
        let socket = place.run.join("socket");
        server.wait_ready(|| UnixStream::connect(&socket).map(drop).map_err(wire::Error::Lost))?;
        let effects = web::effects(KIND.name, &self.program.version, &self.settings);
        let effects = effects.and(self.php.effects(KIND.name, Some(&self.program.path), &environment));
        Ok(Box::new(AtWork::new(server, socket, effects, Signal::SIGQUIT)))
    }

    fn commands(&self, _has_log_volume: bool) -> Vec<String> {
        let program = self.program.path.display();
        vec![
            "mkdir -p $RUN/php-fpm/php $MOUNT/data/sessions".into(),
            web::file_command("$RUN/php-fpm/php/surefoot.ini", &self.php.ini("$MOUNT/data")),
            web::file_command("$RUN/php-fpm/php-fpm.conf", &self.configuration("$RUN/php-fpm")),
            format!("PHP_INI_SCAN_DIR=:$RUN/php-fpm/php {program} -F -R -y $RUN/php-fpm/php-fpm.conf &"),
        ]
    }
}
