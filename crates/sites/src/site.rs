//! Sites that HTTP loads ask for: files of one size, a page that reads plain files, a page that works on `SQLite`.
//!
//! One file a site. `http-load` and `find-rate` know only what is here; what `http-replay` asks for comes with its log.

pub mod files;
mod plain_files;
mod sqlite_page;

pub use files::{FILE_SIZE, FILES};
pub use sqlite_page::{SQLITE_BUSY_TIMEOUT, SQLITE_JOURNAL, SQLITE_SYNCHRONOUS, SQLITE_TRANSACTION};

use http::request::Request;
use load::http_client::settings::Sending;
use load::http_client::{Source, Task};
use load::workload::{self, Context, Error, Estimate};
use observe::durability::Durability;
use observe::metric::Measured;
use random::Random;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// `site`.
pub const SITE: Setting = Setting::new("site", Is::Choice(KINDS), "static")
    .help("`static`: files of one size. `plain-files`: a Django page that reads five files, 211.8 KiB together, and shows them. `sqlite-page`: a PHP page with 41 statements on SQLite.");

/// A site.
#[derive(Debug, Clone, Deserialize)]
pub struct Site {
    #[serde(rename = "site")]
    kind: Kind,
    #[serde(flatten)]
    files: files::Files,
    #[serde(flatten)]
    sqlite: sqlite_page::SqlitePage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Static,
    PlainFiles,
    SqlitePage,
}

/// As users write them.
const KINDS: &[&str] = &["static", "plain-files", "sqlite-page"];

impl Site {
    /// Problems of a site together with the server that serves it.
    pub fn problems(&self, sending: &Sending) -> Vec<String> {
        let (own, is_own) = (plain_files::SERVER, self.kind == Kind::PlainFiles);
        let fits = is_own == (sending.server == own);
        let right = if is_own { format!("\"{own}\"") } else { format!("a web server that is not \"{own}\"") };
        let wrong_server =
            (!fits).then(|| format!("the site `{}` needs `server` to be {right}", KINDS[self.kind as usize]));
        let is_too_long = self.kind == Kind::Static && !self.files.have_room_for(&sending.body_contains);
        let too_long =
            is_too_long.then(|| "`body_contains` is longer than `file_size`: no file has room for it".to_string());
        wrong_server.into_iter().chain(too_long).collect()
    }

    /// What its pages need and this machine lacks.
    pub fn missing(&self) -> Vec<String> {
        let of_page = if self.kind == Kind::SqlitePage { sqlite_page::missing() } else { None };
        of_page.into_iter().collect()
    }

    /// What a trial with runs of this length will need.
    pub fn estimate(&self, run_seconds: f64) -> Estimate {
        match self.kind {
            Kind::Static => self.files.estimate(run_seconds),
            Kind::PlainFiles | Kind::SqlitePage => Estimate { data_bytes: 1 << 20, load_seconds: 0.1, run_seconds },
        }
    }

    /// What it is, in words: part of a template's identity.
    pub fn words(&self) -> String {
        match self.kind {
            Kind::Static => self.files.words(),
            Kind::PlainFiles => plain_files::words(),
            Kind::SqlitePage => self.sqlite.words(),
        }
    }

    /// What the site's own settings do to durability.
    pub fn durability(&self) -> Durability {
        if self.kind == Kind::SqlitePage { self.sqlite.durability() } else { Durability::full() }
    }

    /// Makes it in the document root; files begin with this text.
    pub fn make(&self, text: &[u8], context: &Context) -> Result<Vec<Measured>, Error> {
        let started = Instant::now();
        match self.kind {
            Kind::Static => self.files.make(text, context)?,
            Kind::PlainFiles => plain_files::make(context)?,
            Kind::SqlitePage => self.sqlite.make(context)?,
        }
        Ok(workload::load_seconds(started))
    }

    /// It is as it was made, or as its pages leave it, so many of which gave no whole answer.
    pub fn verify(&self, unanswered: u64, context: &Context) -> Result<(), Error> {
        match self.kind {
            Kind::Static => self.files.verify(context),
            Kind::PlainFiles => plain_files::verify(context),
            Kind::SqlitePage => self.sqlite.verify(unanswered, context),
        }
    }

    /// Requests for it, drawn by seed where there is a choice, with what each answer must be.
    pub fn requests(&self, host: String, sending: &Sending, random: Random) -> impl Source + use<> {
        let page = match self.kind {
            Kind::Static => None,
            Kind::PlainFiles => Some(plain_files::page()),
            Kind::SqlitePage => Some(sqlite_page::page()),
        };
        let (keep_alive, body_text) = (sending.keep_alive, sending.body_text());
        Drawn { files: self.files, page, host, keep_alive, body_text, random }
    }
}

/// What the settings of a load on such a site say, of a struct with its `site` and its `sending`.
#[macro_export]
macro_rules! settings_of_site {
    () => {
        fn durability(&self) -> observe::durability::Durability {
            self.site.durability()
        }

        fn problems_beside(
            &self,
            services: &std::collections::BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
        ) -> Vec<String> {
            $crate::site::problems_beside(&self.sending.server, services)
        }

        fn missing(&self) -> Vec<String> {
            self.site.missing()
        }

        fn services(&self) -> Vec<&'static str> {
            self.sending.services()
        }
    };
}

/// Problems beside the settings of the study's services: such a site, and one made from a log, has no folder with a host's name.
pub fn problems_beside(server: &str, services: &BTreeMap<String, Map<String, Value>>) -> Vec<String> {
    let has_hosts = services.get(server).and_then(|settings| settings.get("virtual_hosts")?.as_bool()) == Some(true);
    let problem = || {
        format!(
            "its site is one for all hosts, and `service.{server}.virtual_hosts` looks for a folder of each: leave it out"
        )
    };
    has_hosts.then(problem).into_iter().collect()
}

struct Drawn {
    files: files::Files,
    /// The site's one page; none: files are drawn.
    page: Option<(String, Task)>,
    host: String,
    keep_alive: bool,
    body_text: Option<Arc<[u8]>>,
    random: Random,
}

impl Source for Drawn {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        let (target, task) = self.page.clone().unwrap_or_else(|| self.files.draw(&mut self.random));
        let (target, host, keep_alive) = (target.as_bytes(), self.host.as_bytes(), self.keep_alive);
        Request { method: b"GET", target, host, referer: b"", agent: b"", keep_alive, body: None }.write(request);
        let body_text = self.body_text.clone().or(task.body_text);
        Ok(Some(Task { body_text, ..task }))
    }
}

/// The document root.
pub fn root(context: &Context) -> PathBuf {
    context.data_folder.join("site")
}

/// Writes a file of the document root.
fn write(context: &Context, name: &str, text: impl AsRef<[u8]>) -> Result<(), Error> {
    let path = root(context).join(name);
    let folder = path.parent().expect("a file has a folder");
    std::fs::create_dir_all(folder).map_err(Error::doing("create", folder))?;
    std::fs::write(&path, text).map_err(Error::doing("write", &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_without_hosts_is_refused_where_the_server_looks_for_them() {
        let problems = |has_hosts: bool| {
            let settings = Map::from_iter([("virtual_hosts".to_string(), has_hosts.into())]);
            problems_beside("nginx", &BTreeMap::from([("nginx".to_string(), settings)]))
        };
        assert_eq!(problems(false), [""; 0]);
        assert!(problems(true)[0].contains("`service.nginx.virtual_hosts` looks for a folder of each"));
        assert_eq!(problems_beside("django", &BTreeMap::new()), [""; 0]);
    }
}
