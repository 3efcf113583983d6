//! lighttpd as a service, with PHP as CGI, a process a request as in old days, or as `FastCGI`.
//!
//! The document root `site`, the access log and PHP's sessions lie on the filesystem under test.

use crate::effect::Effects;
use crate::idle::Idle;
use crate::php::{self, Php};
use crate::service::{
    self, Error, FreeSettings, Kind, Missing, Place, Program, Service, ServiceSettings, is_among, is_name,
};
use crate::web::{self, Installed, Launch, WebServer, WebSettings};
use nix::sys::signal::Signal;
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "lighttpd",
    summary: "lighttpd, with PHP as CGI or FastCGI",
    example: "[service.lighttpd]\nphp = \"cgi\"\nsettings = { \"server.max-connections\" = 400 }\n",
    settings: SETTINGS,
    listens: true,
    is_database: false,
    has_log_volume: false,
    read: service::read::<LighttpdSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("php", Is::Choice(FORMS), "cgi")
        .help("How PHP runs: a new process for each request (`cgi`), or processes that stay (`fastcgi`)."),
    Setting::new("php_processes", Is::Integer { min: 1, max: 10_000 }, "4")
        .help("Processes of PHP that stay, with `fastcgi`."),
    Setting::new("settings", Is::Table, "{}").help(
        "Directives: settings = { \"server.max-connections\" = 400 }. What lighttpd refuses is shown in its words.",
    ),
    web::ACCESS_LOG,
    web::VIRTUAL_HOSTS,
    php::OPCACHE,
    php::APCU,
    php::SETTINGS,
    web::DATA,
];

/// Directives that surefoot itself needs.
const OURS: &str = "server.port server.bind server.document-root server.modules server.pid-file server.errorlog \
     server.username server.groupname cgi.assign fastcgi.server setenv.set-environment";

fn find() -> Result<(PathBuf, String), Missing> {
    let program = service::installed("lighttpd").ok_or_else(|| Missing::package("lighttpd", "lighttpd"))?;
    let version = service::said(&program, "-v").split(['/', ' ']).nth(1).unwrap_or_default().to_string();
    Ok((program, version))
}

fn php_cgi() -> Option<(PathBuf, String)> {
    php::newest("/usr/bin", "php-cgi", "")
}

#[derive(Clone, Deserialize)]
struct LighttpdSettings {
    #[serde(rename = "php")]
    php_form: PhpForm,
    php_processes: u64,
    settings: FreeSettings,
    #[serde(flatten)]
    web: WebSettings,
    #[serde(flatten)]
    php: Php,
}

/// How PHP runs; [`FORMS`] has their names in this order.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PhpForm {
    None,
    Cgi,
    FastCgi,
}

const FORMS: &[&str] = &["none", "cgi", "fastcgi"];

impl LighttpdSettings {
    fn missing_php(&self) -> Option<Missing> {
        let missing = || self.php.missing(php_cgi().as_ref(), "PHP as CGI", "php-cgi");
        (self.php_form != PhpForm::None).then(missing)?
    }
}

impl ServiceSettings for LighttpdSettings {
    fn missing(&self) -> Option<Missing> {
        find().err().or_else(|| self.missing_php())
    }

    /// With `:=` a directive may stand there already; with `=` lighttpd refuses the second one.
    fn files(&self, _setup: &Setup) -> Vec<Configuration> {
        let lines = self.settings.iter().map(|(name, value)| format!("{name} := {}\n", written(name, value)));
        let path = "/etc/lighttpd/conf-enabled/90-surefoot.conf".into();
        let after = vec!["lighttpd -tt -f /etc/lighttpd/lighttpd.conf  # before it is started again".into()];
        let checks = vec!["lighttpd -p -f /etc/lighttpd/lighttpd.conf".into()];
        let aside =
            (!self.web.access_log).then(|| String::from("lighty-disable-mod accesslog  # no access log was written"));
        let own = Configuration { path, before: aside.into_iter().collect(), text: lines.collect(), after, checks };
        let php = (self.php_form != PhpForm::None).then(|| self.php.file("cgi", "VERSION", "php-cgi"));
        Some(own).filter(Configuration::is_needed).into_iter().chain(php.flatten()).collect()
    }

    fn problems(&self) -> Vec<String> {
        let is_plain = |name: &str, value: &str| is_name(name) && !value.contains(['\n', '#']);
        self.settings.problems("settings", OURS, is_plain).into_iter().chain(self.php.problems()).collect()
    }

    fn idle(&self) -> Vec<Idle> {
        let stays = self.php_form == PhpForm::FastCgi;
        let processes = (!stays).then(|| ("php_processes".to_string(), "php = \"fastcgi\""));
        let to_run = (self.php_form == PhpForm::None).then_some("php = \"cgi\" or \"fastcgi\"");
        processes.into_iter().chain(self.php.idle(to_run)).collect()
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let program = Program::new(find()?, web::USERS);
        self.missing_php().map_or(Ok(()), Err)?;
        Ok(Box::new(Installed { program, asked: self.clone() }))
    }
}

/// Settings that it does not know, or of a module that is not loaded.
fn ignored(messages: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let (name, rest) = line.split_once("unknown config-key: ")?.1.split_once(' ')?;
        rest.starts_with("(ignored)").then(|| format!("lighttpd has no setting {name} (or its module is not loaded)"))
    };
    messages.lines().filter_map(of_line).collect()
}

/// How many connections it takes at a time, where it says that they are fewer than it was told: half of its descriptors, or since 1.4.83 such
/// a part as it says ("can't have more connections than fds/2: 3000 4096"; "reducing server.max-connections (3000) to 1/10 server.max-fds
/// (4096)": server.c).
fn fewer_connections(messages: &str) -> Option<u64> {
    const SAYS: [&str; 2] = ["can't have more connections than fds/2: ", "reducing server.max-connections "];
    messages.lines().find_map(|line| {
        let said = SAYS.iter().find_map(|says| Some(line.split_once(says)?.1))?;
        let numbers: Vec<u64> = said.split(|c: char| !c.is_ascii_digit()).flat_map(str::parse).collect();
        match numbers[..] {
            [_, descriptors] => Some(descriptors / 2),
            [_, _, part, descriptors] => descriptors.checked_div(part),
            _ => None,
        }
    })
}

/// Numbers that lighttpd keeps in 32 bits. In quotes 1.4.56 to 1.4.64 would cut them to 16, too (`T_CONFIG_INT` in configfile-glue.c).
const WIDE: &str = "server.chunkqueue-chunk-sz server.listen-backlog server.max-request-field-size server.max-request-size \
     server.upload-temp-file-size";

/// Numbers and lists stand as they are, all else in quotes. In quotes are numbers above 16 bits, too: of `server.max-fds` and its like
/// lighttpd would cut off what does not fit, and refuses it in quotes (`T_CONFIG_SHORT` there).
fn written(name: &str, value: &str) -> String {
    let value = match value {
        // As a study's booleans are written elsewhere.
        "on" => "enable",
        "off" => "disable",
        value => value,
    };
    let fits = |number: i64| number <= i64::from(u16::MAX) || is_among(name, WIDE);
    if value.parse::<i64>().is_ok_and(fits) || value.starts_with('(') { value.into() } else { format!("\"{value}\"") }
}

impl LighttpdSettings {
    fn configuration(&self, data: &str, run: &str, address: SocketAddr, environment: &[(String, String)]) -> String {
        let host = web::host(address);
        let mut text = format!(
            "server.port = {}\nserver.bind = \"{host}\"\nserver.document-root = \"{data}/site\"\n\
             server.pid-file = \"{run}/lighttpd.pid\"\nserver.errorlog = \"{run}/messages\"\n\
             server.upload-dirs = ( \"{run}\" )\n",
            address.port()
        );
        // Without PHP such a file is a page of a log like others.
        text.push_str(match self.php_form {
            PhpForm::None => "index-file.names = ( \"index.html\" )\n",
            PhpForm::Cgi | PhpForm::FastCgi => {
                "index-file.names = ( \"index.php\", \"index.html\" )\nstatic-file.exclude-extensions = ( \".php\" )\n"
            }
        });
        let mut modules = vec!["indexfile", "setenv"];
        modules.extend(self.web.virtual_hosts.then_some("simple_vhost"));
        modules.extend(self.web.access_log.then_some("accesslog"));
        modules.extend(match self.php_form {
            PhpForm::Cgi => Some("cgi"),
            PhpForm::FastCgi => Some("fastcgi"),
            PhpForm::None => None,
        });
        modules.push("staticfile");
        let modules: Vec<String> = modules.iter().map(|module| format!("\"mod_{module}\"")).collect();
        let _ = writeln!(text, "server.modules = ( {} )", modules.join(", "));
        for (name, value) in &*self.settings {
            let _ = writeln!(text, "{name} = {}", written(name, value));
        }
        if self.web.virtual_hosts {
            let _ = writeln!(text, "simple-vhost.server-root = \"{data}/site/\"\nsimple-vhost.document-root = \"/\"");
        }
        if self.web.access_log {
            let _ = writeln!(text, "accesslog.filename = \"{data}/access.log\"");
        }
        let pairs: Vec<String> = environment.iter().map(|(name, value)| format!("\"{name}\" => \"{value}\"")).collect();
        let _ = writeln!(text, "setenv.set-environment = ( {} )", pairs.join(", "));
        let program = php_cgi().map(|found| found.0).unwrap_or_default();
        let program = program.display();
        match self.php_form {
            PhpForm::Cgi => {
                let _ = writeln!(text, "cgi.assign = ( \".php\" => \"{program}\" )");
            }
            PhpForm::FastCgi => {
                let _ = writeln!(
                    text,
                    "fastcgi.server = ( \".php\" => (( \"bin-path\" => \"{program}\", \"socket\" => \"{run}/php\", \
                     \"max-procs\" => 1, \"bin-environment\" => ( \"PHP_FCGI_CHILDREN\" => \"{}\", {} ) )) )",
                    self.php_processes,
                    pairs.join(", ")
                );
            }
            PhpForm::None => {}
        }
        text
    }
}

impl WebServer for LighttpdSettings {
    fn launch(&self, version: &str, place: &Place, address: SocketAddr) -> Result<Launch, Error> {
        let mut environment = web::environment(place);
        environment.extend(self.php.prepare(place)?);
        let (data, run) = (place.data.to_string_lossy(), place.run.to_string_lossy());
        let text = self.configuration(&data, &run, address, &environment);
        let configuration = place.write("lighttpd.conf", &text)?;
        let mut effects = web::effects(KIND.name, version, &self.settings);
        effects.facts.insert("lighttpd.php".into(), FORMS[self.php_form as usize].into());
        let program = php_cgi().map(|found| found.0).filter(|_| self.php_form != PhpForm::None);
        let effects = effects.and(self.php.effects(KIND.name, program.as_deref(), &environment));
        // By SIGTERM it leaves connections that are still open, and then ends with status 1.
        let stop = Signal::SIGINT;
        Ok(Launch { stop, ..Launch::new(["-D", "-f", &configuration], effects) })
    }

    fn heed(&self, messages: &str, effects: &mut Effects) {
        effects.ineffective.extend(ignored(messages));
        let Some(connections) = fewer_connections(messages) else { return };
        let name = "server.max-connections";
        let missed = self.settings.get(name).map(|asked| {
            format!("lighttpd takes {connections} connections at a time, where {name} = {asked} was asked: raise server.max-fds with it")
        });
        effects.mend(format!("{}.{name}", KIND.name), Some(connections.to_string().as_str()), missed);
    }

    fn commands(&self, _program: &Path) -> Vec<String> {
        let environment = [("PHP_INI_SCAN_DIR".to_string(), ":$RUN/lighttpd/php".to_string())];
        let text = self.configuration("$MOUNT/data", "$RUN/lighttpd", web::BY_HAND, &environment);
        vec![
            "mkdir -p $RUN/lighttpd/php $MOUNT/data/site $MOUNT/data/sessions".into(),
            web::file_command("$RUN/lighttpd/php/surefoot.ini", &self.php.ini("$MOUNT/data")),
            web::file_command("$RUN/lighttpd/lighttpd.conf", &text),
            "lighttpd -f $RUN/lighttpd/lighttpd.conf".into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_of_php_are_sent_where_nobody_runs_them() {
        let text = |form: PhpForm| {
            let mut lighttpd: LighttpdSettings = settings::typed(&settings::defaults(SETTINGS));
            lighttpd.php_form = form;
            lighttpd.configuration("/d", "/r", web::BY_HAND, &[])
        };
        for (form, runs) in [(PhpForm::None, false), (PhpForm::Cgi, true), (PhpForm::FastCgi, true)] {
            let text = text(form);
            assert_eq!((text.contains("exclude-extensions"), text.contains("index.php")), (runs, runs), "{text}");
        }
    }

    /// The words are lighttpd's own (server.c of 1.4.69 and 1.4.85).
    #[test]
    fn connections_that_lighttpd_does_not_take_are_no_connections() {
        let asked = json!({ "settings": { "server.max-connections": 3000 } });
        let checked = settings::check_all(SETTINGS, asked.as_object().expect("a table")).expect("right");
        let lighttpd: LighttpdSettings = settings::typed(&checked);
        let heeded = |said: &str| {
            let mut effects = web::effects(KIND.name, "1", &lighttpd.settings);
            lighttpd.heed(said, &mut effects);
            (effects.facts["lighttpd.server.max-connections"].clone(), effects.ineffective.len())
        };
        let older = "2026-11-27 10:00:00: (server.c.1762) can't have more connections than fds/2: 3000 4096\n";
        let newer = "2026-11-27 10:00:00: (server.c.2035) reducing server.max-connections (3000) to 1/10 server.max-fds (4096)\n";
        assert_eq!(heeded(older), ("2048".into(), 1));
        assert_eq!(heeded(newer), ("409".into(), 1));
        assert_eq!(
            heeded("2026-11-27 10:00:00: (server.c.1909) server started (lighttpd/1.4.69)\n"),
            ("3000".into(), 0)
        );
    }

    #[test]
    fn nothing_slips_into_the_configuration() {
        let asked =
            json!({ "settings": { "server.port": 80, "server.max-fds": "1\nserver.port = 2", "server.tag": "x" } });
        let parameters = settings::check_all(SETTINGS, asked.as_object().expect("a table")).expect("right");
        assert_eq!((KIND.read)(&parameters).problems().len(), 2);
        for (name, value, expected) in [
            ("server.max-fds", "65535", "65535"),
            ("server.max-fds", "65536", "\"65536\""),
            ("server.max-request-size", "102400", "102400"),
            ("server.tag", "x", "\"x\""),
            ("server.range-requests", "off", "\"disable\""),
            ("index-file.names", "( \"a\" )", "( \"a\" )"),
        ] {
            assert_eq!(written(name, value), expected);
        }
    }
}
