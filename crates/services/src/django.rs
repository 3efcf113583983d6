//! Django as a service: a project in the document root, under its own development server or under gunicorn.
//!
//! The project is the site's: `site/manage.py`, and the module `wsgi` beside it with its `application`.

use crate::service::{self, Error, FreeSettings, Kind, Missing, Place, Program, Service, ServiceSettings, is_name};
use crate::web::{self, Installed, Launch, WebServer};
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "django",
    summary: "Django, under its development server or gunicorn",
    example: "[service.django]\nserver = \"gunicorn\"\nsettings = { workers = 3 }\n",
    settings: SETTINGS,
    listens: false,
    is_database: false,
    has_log_volume: false,
    read: service::read::<DjangoSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("server", Is::Choice(SERVERS), "gunicorn")
        .help("gunicorn, or the server that Django brings for development."),
    Setting::new("threads", Is::Boolean, "true")
        .help("Whether the development server answers each request in a thread of its own; those of old had none."),
    Setting::new("settings", Is::Table, "{}")
        .help("Settings of gunicorn: settings = { workers = 3, worker-class = \"gthread\", preload = true }."),
    web::DATA,
];

/// Settings that surefoot itself needs.
const OURS: &str = "bind chdir daemon user group config pid pythonpath error-logfile";

fn find(server: DjangoServer) -> Result<(PathBuf, String), Missing> {
    let python = PathBuf::from("/usr/bin/python3");
    let ask = ["-c", "import django; print(django.__version__)"];
    let said = Command::new(&python).args(ask).output().ok().filter(|output| output.status.success());
    let said = said.ok_or_else(|| Missing::package("Django", "python3-django"))?;
    let version = String::from_utf8_lossy(&said.stdout).trim().to_string();
    if server == DjangoServer::Runserver {
        return Ok((python, version));
    }
    let gunicorn = service::installed("gunicorn").ok_or_else(|| Missing::package("gunicorn", "gunicorn"))?;
    Ok((gunicorn, version))
}

/// A switch of gunicorn's is there or not, and has no value.
fn options(settings: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    settings.iter().filter_map(|(name, value)| match value.as_str() {
        "on" => Some(format!("--{name}")),
        "off" => None,
        value => Some(format!("--{name}={value}")),
    })
}

#[derive(Clone, Deserialize)]
struct DjangoSettings {
    server: DjangoServer,
    threads: bool,
    settings: FreeSettings,
}

/// What serves it; [`SERVERS`] has their names in this order.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DjangoServer {
    Gunicorn,
    Runserver,
}

const SERVERS: &[&str] = &["gunicorn", "runserver"];

impl ServiceSettings for DjangoSettings {
    fn missing(&self) -> Option<Missing> {
        find(self.server).err()
    }

    /// gunicorn reads its options from the environment, too.
    fn files(&self, _setup: &Setup) -> Vec<Configuration> {
        let options: Vec<String> = options(&self.settings).collect();
        let text = format!("GUNICORN_CMD_ARGS=\"{}\"\n", options.join(" "));
        let checks = vec!["tr '\\0' '\\n' < /proc/$(pgrep -o gunicorn)/environ | grep ^GUNICORN_CMD_ARGS".into()];
        let path = "added to the EnvironmentFile of gunicorn's unit".into();
        let before =
            vec!["# Options of the unit's command line stand above these; of two such lines the last holds.".into()];
        let is_asked = !options.is_empty();
        let file = Configuration { path, before, text, checks, ..Configuration::default() };
        is_asked.then_some(file).into_iter().collect()
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = self.settings.problems("settings", OURS, |name, _| is_name(name));
        if self.server == DjangoServer::Runserver && !self.settings.is_empty() {
            problems.push("settings: they are gunicorn's; the development server has none".into());
        }
        if self.server == DjangoServer::Gunicorn && !self.threads {
            let own = "gunicorn's are a setting of its own: settings = { threads = 4 }";
            problems.push(format!("threads: it is the development server's; {own}"));
        }
        problems.extend(self.ignored().map(|name| {
            format!("settings.{name}: gunicorn's workers of the class sync have no use for it; worker-class = \"gthread\" has")
        }));
        problems
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        Ok(Box::new(Installed { program: Program::new(find(self.server)?, web::USERS), asked: self.clone() }))
    }
}

/// What gunicorn ignores where a worker has one connection at a time ("Settings" in its documentation).
const OF_SEVERAL_CONNECTIONS: [&str; 2] = ["keep-alive", "worker-connections"];

impl DjangoSettings {
    /// The first setting that has no effect beside the others. With threads, a worker of the class sync is one of gthread.
    fn ignored(&self) -> Option<&'static str> {
        let is_one = |name: &str, by_default: &str| self.settings.get(name).is_none_or(|value| value == by_default);
        let is_sync = is_one("worker-class", "sync") && is_one("threads", "1");
        OF_SEVERAL_CONNECTIONS.into_iter().find(|name| is_sync && self.settings.contains_key(*name))
    }

    fn arguments(&self, site: &Path, address: &str) -> Vec<String> {
        if self.server == DjangoServer::Runserver {
            let manage = site.join("manage.py").to_string_lossy().into_owned();
            let mut arguments = vec![manage, "runserver".into(), "--noreload".into()];
            arguments.extend((!self.threads).then(|| "--nothreading".into()));
            arguments.push(address.into());
            return arguments;
        }
        let options = options(&self.settings);
        let ours = ["--chdir".into(), site.to_string_lossy().into_owned(), "--bind".into(), address.into()];
        ours.into_iter().chain(options).chain(["wsgi:application".into()]).collect()
    }
}

impl WebServer for DjangoSettings {
    fn launch(&self, version: &str, place: &Place, address: SocketAddr) -> Result<Launch, Error> {
        let mut effects = web::effects(KIND.name, version, &self.settings);
        effects.facts.insert("django.server".into(), SERVERS[self.server as usize].into());
        let arguments = self.arguments(&place.data.join(web::SITE), &address.to_string());
        let environment = web::environment(place);
        // The development server has no answer to SIGTERM but its default, which ends it. An interrupt would be an exception in whatever
        // its main thread does, and is lost where that is one that Python ignores.
        Ok(Launch { arguments, environment, ..Launch::new([], effects) })
    }

    fn commands(&self, program: &Path) -> Vec<String> {
        let arguments = self.arguments(Path::new("$MOUNT/data/site"), "127.0.0.1:8080").join(" ");
        vec!["mkdir -p $MOUNT/data/site".into(), format!("{} {arguments} &", program.display())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn gunicorn(asked: serde_json::Value) -> DjangoSettings {
        let settings = FreeSettings::from(asked.as_object().expect("a table").clone());
        DjangoSettings { server: DjangoServer::Gunicorn, threads: true, settings }
    }

    #[test]
    fn what_workers_of_one_connection_ignore_is_refused() {
        let problems = |asked: serde_json::Value| gunicorn(asked).problems().len();
        assert_eq!(problems(json!({ "keep-alive": 75, "workers": 2 })), 1);
        assert_eq!(problems(json!({ "worker-connections": 10, "worker-class": "sync", "threads": 1 })), 1);
        assert_eq!(problems(json!({ "keep-alive": 75, "worker-class": "gthread" })), 0);
        assert_eq!(problems(json!({ "keep-alive": 75, "threads": 4 })), 0);
    }

    #[test]
    fn switches_of_gunicorn_have_no_value() {
        let django = gunicorn(json!({ "workers": 2, "preload": true, "reuse-port": false }));
        let expected = ["--chdir", "/s", "--bind", "h:1", "--preload", "--workers=2", "wsgi:application"];
        assert_eq!(django.arguments(Path::new("/s"), "h:1"), expected);
    }
}
