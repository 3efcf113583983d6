//! Apache httpd as a service: check, configure, start, ready, stop.
//!
//! The document root `site`, the access log and PHP's sessions lie on the filesystem under test; configuration and messages do
//! not. PHP is a module of it (with `mpm = "prefork"`: Debian's module is not made for threads) or the service `php-fpm`.

use crate::effect::Effects;
use crate::idle::Idle;
use crate::php::{self, Php};
use crate::php_fpm;
use crate::service::{self, Error, FreeSettings, Kind, Missing, Place, Program, Service, ServiceSettings, is_name};
use crate::web::{self, Installed, Launch, Told, WebServer, WebSettings};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "apache",
    summary: "Apache httpd, with PHP as its module or behind it",
    example: "[service.apache]\nmpm = \"prefork\"\nphp = \"module\"\nopcache = true\nsettings = { MaxRequestWorkers = 50 }\n",
    settings: SETTINGS,
    listens: true,
    is_database: false,
    has_log_volume: false,
    read: service::read::<ApacheSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("mpm", Is::Choice(&["event", "worker", "prefork"]), "event")
        .help("How it serves many connections: threads (`event`, `worker`), or a process each (`prefork`)."),
    Setting::new("php", Is::Choice(&["none", "module", "fpm"]), "none")
        .help("Who runs PHP: nobody, Apache itself (`module`, with `mpm = \"prefork\"`), or the service `php-fpm`, which has its settings then."),
    Setting::new("settings", Is::Table, "{}")
        .help("Directives of the server: settings = { MaxRequestWorkers = 50, KeepAlive = \"Off\" }. What Apache refuses is shown in its words."),
    web::ACCESS_LOG,
    web::VIRTUAL_HOSTS,
    web::TLS,
    php::OPCACHE,
    php::APCU,
    php::SETTINGS,
    web::DATA,
];

/// Debian's own values (apache2.conf).
const DEFAULTS: &str = "Timeout=300 KeepAlive=On MaxKeepAliveRequests=100 KeepAliveTimeout=5 HostnameLookups=Off";

/// Debian's own values (mpm_event.conf, mpm_worker.conf).
const OF_THREADS: &str = "StartServers=2 MinSpareThreads=25 MaxSpareThreads=75 ThreadLimit=64 ThreadsPerChild=25 \
    MaxRequestWorkers=150 MaxConnectionsPerChild=0";

/// Debian's own values (mpm_prefork.conf).
const OF_PREFORK: &str = "StartServers=5 MinSpareServers=5 MaxSpareServers=10 MaxRequestWorkers=150 \
    MaxConnectionsPerChild=0";

/// Directives that were renamed in 2.4 ("Upgrading to 2.4 from 2.2"), with their names since.
const OLDER_NAMES: &[(&str, &str)] =
    &[("MaxClients", "MaxRequestWorkers"), ("MaxRequestsPerChild", "MaxConnectionsPerChild")];

/// How Apache says in a warning that it takes another value than it was told: "MaxRequestWorkers of 1000 would require 40 servers and would
/// exceed ServerLimit of 16, decreasing to 400."
const CHANGES: &[&str] = &["decreasing", "increasing", "using default"];

/// Directives that must stand before others, whatever their names.
const FIRST: &[&str] = &["ServerLimit", "ThreadLimit", "ThreadsPerChild"];

/// Directives that surefoot itself needs.
const OURS: &str = "Listen DocumentRoot PidFile User Group ErrorLog CustomLog ServerRoot VirtualDocumentRoot";

const MODULES: &str = "/usr/lib/apache2/modules";

/// Modules that a plain site needs; log_config is built in.
const PLAIN: &[&str] = &["authz_core", "dir", "mime", "env", "setenvif", "filter", "alias"];

const COMBINED: &str = r#""%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"""#;

fn find() -> Result<(PathBuf, String), Missing> {
    let has_modules = Path::new(MODULES).join("mod_mpm_event.so").is_file();
    let program = service::installed("apache2").filter(|_| has_modules);
    let program = program.ok_or_else(|| Missing::package("Apache", "apache2"))?;
    let said = service::said(&program, "-v");
    let version = said.split("Apache/").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    Ok((program, version.to_string()))
}

fn php_module() -> Option<(PathBuf, String)> {
    php::newest(MODULES, "libphp", ".so")
}

/// A line each, those first that others rest on.
fn directives(settings: &BTreeMap<String, String>) -> String {
    let (first, others): (Vec<_>, Vec<_>) =
        settings.iter().partition(|(name, _)| FIRST.iter().any(|first| first.eq_ignore_ascii_case(name)));
    first.into_iter().chain(others).map(|(name, value)| format!("{name} {value}\n")).collect()
}

/// A directive's name since 2.4.
fn newer_name(name: &str) -> &str {
    OLDER_NAMES.iter().find(|(older, _)| older.eq_ignore_ascii_case(name)).map_or(name, |(_, newer)| newer)
}

/// A directive that Apache changes, by a line of its messages: its name, the value that it takes, where it says it, and its words.
fn change(line: &str) -> Option<(&str, Option<&str>, &str)> {
    let words = line.split_once("AH0")?.1.split_once(": ")?.1.trim();
    let words = words.trim_start_matches("WARNING: ");
    let (name, rest) = words.split_once(" of ")?;
    let (_, after) = CHANGES.iter().find_map(|change| rest.split_once(change))?;
    let value = after.split(|c: char| !c.is_ascii_digit()).find(|number| !number.is_empty());
    is_name(name).then_some((name, value, words))
}

#[derive(Clone, Deserialize)]
struct ApacheSettings {
    mpm: String,
    #[serde(rename = "php")]
    php_form: PhpForm,
    settings: FreeSettings,
    #[serde(flatten)]
    web: WebSettings,
    #[serde(flatten)]
    php: Php,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PhpForm {
    None,
    Module,
    Fpm,
}

impl ApacheSettings {
    fn runs_php(&self) -> bool {
        self.php_form == PhpForm::Module
    }

    /// Over the defaults, without those that the study has by their older names: of two lines of one directive the last holds.
    fn in_effect(&self) -> BTreeMap<String, String> {
        let defaults = if self.mpm == "prefork" { OF_PREFORK } else { OF_THREADS };
        let mut settings = self.settings.over(&format!("{DEFAULTS} {defaults}"));
        for (older, name) in OLDER_NAMES {
            if self.settings.keys().any(|asked| asked.eq_ignore_ascii_case(older)) {
                settings.remove(*name);
            }
        }
        settings
    }

    fn missing_php(&self) -> Option<Missing> {
        let missing = || self.php.missing(php_module().as_ref(), "PHP's module for Apache", "libapache2-mod-php");
        self.runs_php().then(missing)?
    }
}

impl ServiceSettings for ApacheSettings {
    fn missing(&self) -> Option<Missing> {
        find().err().or_else(|| self.missing_php()).or_else(|| self.web.missing())
    }

    fn needs(&self) -> &'static [&'static str] {
        if self.php_form == PhpForm::Fpm { &["php-fpm"] } else { &[] }
    }

    fn is_secure(&self) -> bool {
        self.web.tls
    }

    fn files(&self, _setup: &Setup) -> Vec<Configuration> {
        let mpm = &self.mpm;
        let mut before = vec![format!(
            "apache2ctl -M | grep mpm_  # mpm_{mpm} was measured; in place of another: a2dismod mpm_OTHER && a2enmod mpm_{mpm}"
        )];
        if mpm != "prefork" {
            before
                .push(format!("# Apache does not start with mpm_{mpm} beside PHP's module, which needs mpm_prefork."));
        }
        // As the packages of Debian's PHP say it.
        match self.php_form {
            PhpForm::None => {}
            PhpForm::Module => before.push("# PHP was Apache's module: a2disconf 'php*-fpm' and a2enmod 'php*'.".into()),
            PhpForm::Fpm => before.push(
                "# PHP-FPM ran PHP, and no module: a2dismod 'php*', a2enmod proxy_fcgi setenvif and a2enconf 'php*-fpm'.".into(),
            ),
        }
        if !self.web.access_log {
            let aside =
                "a2disconf other-vhosts-access-log  # no access log was written: take CustomLog out of the sites, too";
            before.push(aside.into());
        }
        let names = self.settings.keys().map(String::as_str).collect::<Vec<_>>().join("|");
        let found =
            format!("grep -rniE '^\\s*({names})\\s' /etc/apache2/  # what stands in a virtual host holds there");
        let found = (!names.is_empty()).then_some(found);
        let path = "/etc/apache2/conf-enabled/surefoot.conf".into();
        let after = vec!["apache2ctl -t  # before it is reloaded or started again".into()];
        let checks = std::iter::once("apache2ctl -M | grep mpm_".into()).chain(found).collect();
        let own = Configuration { path, before, text: directives(&self.settings), after, checks };
        let php = self.runs_php().then(|| self.php.file("apache2", "VERSION", "php"));
        std::iter::once(own).chain(php.flatten()).collect()
    }

    fn problems(&self) -> Vec<String> {
        let is_plain = |name: &str, value: &str| is_name(name) && !value.contains(['\n', '\\']);
        let mut problems = self.settings.problems("settings", OURS, is_plain);
        if self.runs_php() && self.mpm != "prefork" {
            problems.push("php = \"module\" needs mpm = \"prefork\": Debian's PHP is not made for threads".into());
        }
        problems.extend(web::newer_protocols(&self.settings, &["h2", "protocols"]));
        problems.extend(self.php.problems());
        problems
    }

    fn idle(&self) -> Vec<Idle> {
        self.php.idle((!self.runs_php()).then_some("php = \"module\""))
    }

    /// A setting that PHP-FPM has alike may stand here, too: a study of both forms of PHP sets it for each.
    fn problems_beside(&self, services: &BTreeMap<String, Map<String, Value>>) -> Vec<String> {
        let in_vain = self.php.asked_beside(&php_fpm::php_of(services)).filter(|_| self.php_form == PhpForm::Fpm);
        let problem = |name: &str| format!("{name}: PHP-FPM runs the pages, so set `service.php-fpm.{name}`");
        in_vain.map(problem).into_iter().collect()
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let program = Program::new(find()?, web::USERS);
        self.missing_php().map_or(Ok(()), Err)?;
        Ok(Box::new(Installed { program, asked: self.clone() }))
    }
}

impl ApacheSettings {
    fn configuration(&self, [data, run]: [&str; 2], address: SocketAddr, told: &Told, fpm: Option<&Path>) -> String {
        let mut text = format!(
            "ServerRoot {run}\nDefaultRuntimeDir {run}\nPidFile {run}/apache.pid\nErrorLog {run}/messages\n\
             ServerName localhost\nListen {address}\n"
        );
        let mpm = format!("mpm_{}", self.mpm);
        let hosts = self.web.virtual_hosts.then_some("vhost_alias");
        let proxies: &[&str] = if fpm.is_some() { &["proxy", "proxy_fcgi"] } else { &[] };
        let secure = self.web.tls.then_some("ssl");
        for name in [&*mpm].iter().chain(PLAIN).chain(&hosts).chain(&secure).chain(proxies) {
            let _ = writeln!(text, "LoadModule {name}_module {MODULES}/mod_{name}.so");
        }
        // Apache alone answers 404 to a slash that the client encoded, unless it is told otherwise.
        text.push_str("AllowEncodedSlashes On\n");
        text.push_str(&directives(&self.in_effect()));
        if self.web.tls {
            let files = format!("SSLCertificateFile {run}/certificate.pem\nSSLCertificateKeyFile {run}/key.pem");
            let _ = writeln!(text, "SSLEngine on\n{files}");
        }
        // Without PHP such a file is a page of a log like others.
        let index = if self.runs_php() || fpm.is_some() { "index.php index.html" } else { "index.html" };
        let _ = writeln!(text, "TypesConfig /etc/mime.types\nDirectoryIndex {index}");
        if self.web.virtual_hosts {
            let _ = writeln!(text, "UseCanonicalName Off\nVirtualDocumentRoot {data}/site/%0");
        } else {
            let _ = writeln!(text, "DocumentRoot {data}/site");
        }
        let _ = writeln!(text, "<Directory {data}/site>\nOptions FollowSymLinks\nRequire all granted\n</Directory>");
        for (name, value) in told {
            let _ = writeln!(text, "SetEnv {name} {value}");
        }
        let handler = match (self.runs_php().then(php_module).flatten(), fpm) {
            (Some((module, _)), _) => {
                let _ = writeln!(text, "LoadModule php_module {}", module.display());
                Some("application/x-httpd-php".to_string())
            }
            (None, Some(socket)) => Some(format!("proxy:unix:{}|fcgi://localhost", socket.display())),
            (None, None) => None,
        };
        if let Some(handler) = handler {
            let _ = writeln!(text, "<FilesMatch \"\\.php$\">\nSetHandler \"{handler}\"\n</FilesMatch>");
        }
        if self.web.access_log {
            let _ = writeln!(text, "CustomLog {data}/access.log {COMBINED}");
        }
        text
    }
}

impl WebServer for ApacheSettings {
    fn launch(&self, version: &str, place: &Place, address: SocketAddr) -> Result<Launch, Error> {
        let environment = if self.runs_php() { self.php.prepare(place)? } else { Vec::new() };
        let (data, run) = (place.data.to_string_lossy(), place.run.to_string_lossy());
        let text = self.configuration([&*data, &*run], address, &web::environment(place), php_fpm::socket(place));
        let configuration = place.write("apache.conf", &text)?;
        let mut effects = web::effects(KIND.name, version, &self.in_effect());
        effects.facts.insert("apache.mpm".into(), self.mpm.clone());
        let module = php_module().filter(|_| self.runs_php());
        // The module itself can't be asked. A program of its version can be, and here it reads the module's files.
        let program = module.as_ref().and_then(|(_, version)| php::program_of(Path::new("/usr/bin"), version));
        let of_module = module.map_or(Vec::new(), |(_, version)| php::reading("apache2", &version, &environment));
        let effects = effects.and(self.php.effects(KIND.name, program.as_deref(), &of_module));
        let arguments = ["-f", &configuration, "-D", "FOREGROUND"];
        Ok(Launch { environment, ..Launch::new(arguments, effects) })
    }

    fn heed(&self, messages: &str, effects: &mut Effects) {
        let settings = self.in_effect();
        for (name, value, words) in messages.lines().filter_map(change) {
            let is_it = |known: &&String| known.eq_ignore_ascii_case(name) || newer_name(known) == name;
            let missed = self.settings.keys().find(is_it).map(|asked| format!("apache changed {asked}: {words}"));
            let fact = settings.keys().find(is_it).map_or(name, String::as_str);
            effects.mend(format!("{}.{fact}", KIND.name), value, missed);
        }
    }

    fn commands(&self, _program: &Path) -> Vec<String> {
        let fpm = (self.php_form == PhpForm::Fpm).then(php_fpm::socket_by_hand);
        let text = self.configuration(["$MOUNT/data", "$RUN/apache"], web::BY_HAND, &[], fpm);
        let mut commands = vec![
            "mkdir -p $RUN/apache/php $MOUNT/data/site $MOUNT/data/sessions".into(),
            web::file_command("$RUN/apache/apache.conf", &text),
        ];
        let mut environment = "";
        if self.runs_php() {
            commands.push(web::file_command("$RUN/apache/php/surefoot.ini", &self.php.ini("$MOUNT/data")));
            environment = "PHP_INI_SCAN_DIR=:$RUN/apache/php ";
        }
        commands.extend(self.web.certify_by_hand("$RUN/apache"));
        commands.push(format!("{environment}apache2 -f $RUN/apache/apache.conf"));
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

    fn apache(asked: serde_json::Value) -> ApacheSettings {
        settings::typed(&settings::check_all(SETTINGS, asked.as_object().expect("a table")).expect("right"))
    }

    #[test]
    fn nothing_slips_into_the_configuration() {
        let asked = json!({ "php": "module", "settings": { "listen": "80", "Timeout": "1\nUser root", "KeepAlive": "Off" },
                            "php_settings": { "session.save_path": "/", "memory_limit": "64M" } });
        let problems = parameters(asked).problems();
        assert_eq!(problems.len(), 4, "{problems:?}");
    }

    /// Where it is a factor, the lines of both were the same.
    #[test]
    fn who_runs_php_is_put_in_place() {
        let said = |php: &str| {
            let all = parameters(json!({ "php": php, "mpm": "prefork" })).files(&Setup::default());
            all[0].before.join("\n")
        };
        assert!(said("module").contains("a2enmod 'php*'") && said("fpm").contains("a2enconf 'php*-fpm'"));
        assert!(!said("none").contains("php*"), "{}", said("none"));
    }

    /// Apache takes `Protocols h2` without mod_http2, too (core.c of 2.4).
    #[test]
    fn protocols_that_no_load_speaks_are_refused() {
        let problems = parameters(json!({ "settings": { "Protocols": "h2 http/1.1", "KeepAlive": "On" } })).problems();
        assert!(problems.len() == 1 && problems[0].starts_with("settings.Protocols: loads speak"), "{problems:?}");
    }

    /// The words are those of Apache 2.4.
    #[test]
    fn a_directive_that_apache_changes_is_seen() {
        let said = |line: &'static str| change(line).map(|(name, value, _)| (name, value));
        let limited = "AH00515: WARNING: MaxRequestWorkers of 1000 would require 40 servers and would exceed ServerLimit of 16, \
                       decreasing to 400. To increase, please see the ServerLimit directive.";
        assert_eq!(said(limited), Some(("MaxRequestWorkers", Some("400"))));
        let nearest = "AH00513: WARNING: MaxRequestWorkers of 150 is not an integer multiple of ThreadsPerChild of 64, \
                       decreasing to nearest multiple 128, for a maximum of 2 servers.";
        assert_eq!(said(nearest), Some(("MaxRequestWorkers", Some("128"))));
        let matching =
            "[mpm_event:warn] [pid 7] AH00508: ThreadsPerChild of 100 exceeds ThreadLimit of 64, decreasing to match";
        assert_eq!(said(matching), Some(("ThreadsPerChild", None)));
        let size = "AH02436: WARNING: ThreadStackSize of 7 is inappropriate, using default";
        assert_eq!(said(size), Some(("ThreadStackSize", None)));
        for other in ["AH00489: Apache/2.4.71 (Debian) configured -- resuming normal operations", "decreasing to 4", ""]
        {
            assert_eq!(change(other), None);
        }
    }

    /// An older name is asked for, and Apache speaks of the newer one; a default that had to give way is a fact and no failure.
    #[test]
    fn only_what_was_asked_fails_and_every_fact_is_true() {
        let apache = apache(json!({ "settings": { "MaxClients": 1000 } }));
        let mut effects = Effects::default();
        let said = "AH00318: WARNING: MaxRequestWorkers of 1000 would require 40 servers and would exceed ServerLimit of 16, decreasing to 400.\n\
                    AH00507: WARNING: ThreadsPerChild of 25 exceeds ThreadLimit of 20 threads, decreasing to 20.\n";
        apache.heed(said, &mut effects);
        assert_eq!(effects.ineffective.len(), 1, "{effects:?}");
        assert!(effects.ineffective[0].contains("apache changed MaxClients") && effects.ineffective[0].contains("400"));
        assert_eq!((&*effects.facts["apache.MaxClients"], &*effects.facts["apache.ThreadsPerChild"]), ("400", "20"));
    }

    /// Of two lines of one directive the last holds.
    #[test]
    fn encoded_slashes_are_served_unless_the_study_says_otherwise() {
        let apache = apache(json!({ "mpm": "prefork", "settings": { "AllowEncodedSlashes": "NoDecode" } }));
        let text = apache.configuration(["/d", "/r"], "127.0.0.1:81".parse().expect("an address"), &[], None);
        assert!(text.contains("\nAllowEncodedSlashes On\nAllowEncodedSlashes NoDecode\n"), "{text}");
        assert!(!text.contains("<VirtualHost"), "such a host would begin with Apache's own default");
    }

    #[test]
    fn a_page_of_php_stands_for_its_folder_where_it_is_run() {
        let text = |fpm: Option<&Path>| apache(json!({})).configuration(["/d", "/r"], web::BY_HAND, &[], fpm);
        assert!(text(None).contains("\nDirectoryIndex index.html\n"));
        assert!(text(Some(Path::new("/s"))).contains("\nDirectoryIndex index.php index.html\n"));
    }

    #[test]
    fn who_repeats_a_trial_by_hand_runs_php_where_it_was_run() {
        for (php, is_asked) in [("none", false), ("fpm", true)] {
            let commands = apache(json!({ "php": php })).commands(Path::new("/usr/sbin/apache2")).join("\n");
            assert_eq!((commands.contains("proxy:unix:"), commands.contains("index.php")), (is_asked, is_asked));
        }
    }

    #[test]
    fn settings_of_php_stand_where_it_runs() {
        let problems = |php: &str, changes: &Value, of_fpm: &Value| {
            let mut asked = json!({ "php": php, "mpm": "prefork" });
            asked.as_object_mut().expect("a table").extend(changes.as_object().expect("a table").clone());
            let of_fpm = settings::check_all(php_fpm::KIND.settings, of_fpm.as_object().expect("a table"));
            let services = BTreeMap::from([(php_fpm::KIND.name.to_string(), of_fpm.expect("right"))]);
            parameters(asked).problems_beside(&services)
        };
        let (asked, none) =
            ([json!({ "opcache": false }), json!({ "apcu": true }), json!({ "php_settings": { "a": 1 } })], json!({}));
        for (changes, name) in asked.iter().zip(["opcache", "apcu", "php_settings"]) {
            assert!(problems("fpm", changes, &none)[0].ends_with(&format!("`service.php-fpm.{name}`")));
            assert_eq!(problems("module", changes, &none), [""; 0]);
            assert_eq!(problems("fpm", changes, changes), [""; 0], "a study of both forms has both");
        }
        assert_eq!(problems("fpm", &none, &asked[0]), [""; 0]);
        assert_eq!(parameters(json!({ "php": "fpm", "apcu": true })).problems_beside(&BTreeMap::new()).len(), 1);
    }

    #[test]
    fn php_is_needed_where_it_runs_beside() {
        let needs = |php: &str| parameters(json!({ "php": php })).needs().len();
        assert_eq!((needs("fpm"), needs("none")), (1, 0));
    }
}
