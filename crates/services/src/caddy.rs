//! Caddy as a service, with PHP-FPM behind it where a site has programs.
//!
//! The document root `site` and the access log lie on the filesystem under test; its configuration, and what Caddy keeps for
//! itself, do not. Directives and their order: Caddy's documentation, "Caddyfile".

use crate::php_fpm;
use crate::service::{self, Error, FreeSettings, Kind, Missing, Place, Program, Service, ServiceSettings, is_name};
use crate::web::{self, Installed, Launch, Told, WebServer, WebSettings};
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "caddy",
    summary: "Caddy, serving files, with PHP behind it",
    example: "[service.caddy]\nsettings = { header = \"Cache-Control max-age=60\" }\n",
    settings: SETTINGS,
    listens: true,
    is_database: false,
    has_log_volume: false,
    read: service::read::<CaddySettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("settings", Is::Table, "{}").help(
        "Directives of the site: settings = { header = \"Cache-Control max-age=60\" }. What Caddy refuses is shown in its words.",
    ),
    php_fpm::BEHIND,
    web::ACCESS_LOG,
    web::VIRTUAL_HOSTS,
    web::TLS,
    web::DATA,
];

/// Directives that surefoot itself needs.
const OURS: &str = "bind root log tls try_files php_fastcgi file_server import";

fn find() -> Result<(PathBuf, String), Missing> {
    let program = service::installed("caddy").ok_or_else(|| Missing::package("Caddy", "caddy"))?;
    let said = service::said(&program, "version");
    let version = said.split_whitespace().next().unwrap_or_default().trim_start_matches('v').to_string();
    Ok((program, version))
}

#[derive(Clone, Deserialize)]
struct CaddySettings {
    settings: FreeSettings,
    php: php_fpm::Behind,
    #[serde(flatten)]
    web: WebSettings,
}

impl ServiceSettings for CaddySettings {
    fn missing(&self) -> Option<Missing> {
        find().err().or_else(|| self.web.missing())
    }

    fn needs(&self) -> &'static [&'static str] {
        self.php.needs()
    }

    fn is_secure(&self) -> bool {
        self.web.tls
    }

    fn files(&self, _setup: &Setup) -> Vec<Configuration> {
        let (path, text) = ("a site's block of /etc/caddy/Caddyfile".into(), directives(&self.settings));
        let after =
            vec!["caddy validate --config /etc/caddy/Caddyfile  # before it is reloaded or started again".into()];
        let checks = vec!["caddy adapt --config /etc/caddy/Caddyfile".into()];
        let aside = (!self.web.access_log)
            .then(|| String::from("# No access log was written: take `log` out of the site's block."));
        let own = Configuration { path, before: aside.into_iter().collect(), text, after, checks };
        Some(own).filter(Configuration::is_needed).into_iter().collect()
    }

    fn problems(&self) -> Vec<String> {
        let is_plain = |name: &str, value: &str| is_name(name) && !value.contains(['{', '}', '\n', '#', '`']);
        let problems = self.settings.problems("settings", OURS, is_plain);
        problems.into_iter().chain(web::compression(&self.settings, "encode")).collect()
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        Ok(Box::new(Installed { program: Program::new(find()?, web::USERS), asked: self.clone() }))
    }
}

/// A line each.
fn directives(settings: &FreeSettings) -> String {
    settings.iter().map(|(name, value)| format!("{name} {value}\n")).collect()
}

impl CaddySettings {
    /// `fpm` is PHP-FPM's socket; its programs are told the environment.
    fn configuration(&self, [data, run]: [&str; 2], address: SocketAddr, fpm: Option<&Path>, told: &Told) -> String {
        let host = web::host(address);
        // Whoever does not name a host, or names one that the certificate does not, gets that certificate all the same.
        let mut text = format!(
            "{{\nadmin off\nauto_https off\ndefault_sni localhost\nstorage file_system \"{run}/caddy\"\n}}\n:{} {{\nbind {host}\n",
            address.port()
        );
        let root = if self.web.virtual_hosts { "/{host}" } else { "" };
        let _ = writeln!(text, "root * \"{data}/site{root}\"");
        if self.web.access_log {
            let _ = writeln!(text, "log {{\noutput file \"{data}/access.log\" {{\nroll_disabled\n}}\n}}");
        }
        if self.web.tls {
            let _ = writeln!(text, "tls \"{run}/certificate.pem\" \"{run}/key.pem\"");
        }
        text.push_str(&directives(&self.settings));
        // A path can be a file and a folder in one log: the folder's file answers then, without a redirect.
        match fpm {
            None => text.push_str("try_files {path} {path}/index.html\n"),
            Some(socket) => {
                text.push_str("try_files {path} {path}/index.php {path}/index.html\n");
                let _ = writeln!(text, "php_fastcgi \"unix/{}\" {{\nindex off", socket.display());
                for (name, value) in told {
                    let _ = writeln!(text, "env {name} \"{value}\"");
                }
                text.push_str("}\n");
            }
        }
        text.push_str("file_server {\ndisable_canonical_uris\n}\n}\n");
        text
    }
}

impl WebServer for CaddySettings {
    fn launch(&self, version: &str, place: &Place, address: SocketAddr) -> Result<Launch, Error> {
        let (data, run) = (place.data.to_string_lossy(), place.run.to_string_lossy());
        let text = self.configuration([&*data, &*run], address, php_fpm::socket(place), &web::environment(place));
        let configuration = place.write("Caddyfile", &text)?;
        let effects = web::effects(KIND.name, version, &self.settings);
        let arguments = ["run", "--adapter", "caddyfile", "--config", &configuration];
        // Where it would keep its last configuration.
        let environment = vec![("HOME".to_string(), run.into_owned())];
        Ok(Launch { environment, ..Launch::new(arguments, effects) })
    }

    fn commands(&self, _program: &Path) -> Vec<String> {
        let text = self.configuration(["$MOUNT/data", "$RUN"], web::BY_HAND, self.php.socket_by_hand(), &[]);
        let mut commands = vec!["mkdir -p $MOUNT/data/site".into(), web::file_command("$RUN/Caddyfile", &text)];
        commands.extend(self.web.certify_by_hand("$RUN"));
        commands.push("caddy run --adapter caddyfile --config $RUN/Caddyfile".into());
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_slips_into_the_configuration() {
        let asked =
            json!({ "settings": { "root": "/", "encode": "gzip\nroot * /", "header": "A {host}", "templates": "" } });
        let parameters = settings::check_all(SETTINGS, asked.as_object().expect("a table")).expect("right");
        // The last is `encode`: nobody asks for compressed answers.
        assert_eq!((KIND.read)(&parameters).problems().len(), 4);
    }
}
