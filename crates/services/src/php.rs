//! PHP below a web server: which of its forms are installed, and its settings.
//!
//! Debian's own configuration holds, with a file of ours read after it (`PHP_INI_SCAN_DIR`); sessions lie on the filesystem
//! under test.

use crate::effect::{self, Effects};
use crate::service::{Error, FreeSettings, Missing, Place, is_name};
use serde::Deserialize;
use settings::configuration::Configuration;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `opcache`.
pub const OPCACHE: Setting = Setting {
    name: "opcache",
    kind: Is::Boolean,
    default: Some("true"),
    help: "Whether PHP keeps compiled scripts in shared memory (opcache.enable).",
};

/// `apcu`.
pub const APCU: Setting = Setting {
    name: "apcu",
    kind: Is::Boolean,
    default: Some("false"),
    help: "Whether PHP's programs may keep data of theirs in shared memory (apc.enabled, package php-apcu).",
};

/// `php_settings`.
pub const SETTINGS: Setting = Setting {
    name: "php_settings",
    kind: Is::Table,
    default: Some("{}"),
    help: "Settings of php.ini, any of them: php_settings = { memory_limit = \"256M\", \"opcache.memory_consumption\" = 256 }.",
};

/// Settings that surefoot itself needs.
const OURS: &[&str] = &["session.save_path", "opcache.enable", "apc.enabled"];

/// PHP as a study wants it.
#[derive(Debug, Clone, Deserialize)]
pub struct Php {
    opcache: bool,
    apcu: bool,
    #[serde(rename = "php_settings")]
    settings: FreeSettings,
}

impl Php {
    /// What is missing of this form of PHP; `found` is what [`newest`] says of it.
    pub fn missing<T>(&self, found: Option<&T>, what: &str, package: &str) -> Option<Missing> {
        if found.is_none() {
            return Some(Missing::package(what, package));
        }
        let extensions = Path::new("/usr/lib/php").read_dir().into_iter().flatten().flatten();
        let has_apcu = extensions.map(|folder| folder.path().join("apcu.so")).any(|extension| extension.is_file());
        (self.apcu && !has_apcu).then(|| Missing::package("PHP's extension APCu", "php-apcu"))
    }

    /// Problems of its settings.
    pub fn problems(&self) -> Vec<String> {
        let is_plain = |name: &str, value: &str| is_name(name) && !value.contains('\n');
        self.settings.problems(SETTINGS.name, OURS, is_plain)
    }

    /// As a file for one of Debian's forms of PHP; where sessions lie is the site's own affair.
    pub fn file(&self, form: &str, check: &str) -> Configuration {
        Configuration {
            path: format!("/etc/php/VERSION/{form}/conf.d/90-surefoot.ini"),
            text: self.lines(),
            checks: vec![check.into()],
        }
    }

    /// What php.ini says beyond Debian's own.
    pub fn ini(&self, data: &str) -> String {
        format!("session.save_path = \"{data}/sessions\"\n{}", self.lines())
    }

    fn lines(&self) -> String {
        let on = |is_on: bool| if is_on { "1" } else { "0" };
        let mut text = String::new();
        let _ = writeln!(text, "opcache.enable = {}\napc.enabled = {}", on(self.opcache), on(self.apcu));
        for (name, value) in &*self.settings {
            let _ = writeln!(text, "{name} = \"{}\"", value.replace('"', "\\\""));
        }
        text
    }

    /// Writes it, makes the folder of sessions, and gives the variables of the environment that make PHP read it.
    pub fn prepare(&self, place: &Place) -> Result<Vec<(String, String)>, Error> {
        let sessions = place.data.join("sessions");
        if !sessions.exists() {
            std::fs::create_dir(&sessions).map_err(Error::file("create", &sessions))?;
            crate::web::user().map_or(Ok(()), |user| {
                std::os::unix::fs::chown(&sessions, Some(user.uid), Some(user.gid))
                    .map_err(Error::file("change the owner of", &sessions))
            })?;
        }
        let folder = place.run.join("php");
        let ini = folder.join("surefoot.ini");
        std::fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
        std::fs::write(&ini, self.ini(&place.data.to_string_lossy())).map_err(Error::file("write", &ini))?;
        // The empty part is the folder that PHP was built with.
        Ok(vec![("PHP_INI_SCAN_DIR".into(), format!(":{}", folder.display()))])
    }

    /// What is in effect, asked from a program of PHP that reads the same files (`php-cgi -i`).
    pub fn effects(&self, name: &str, program: Option<&Path>, environment: &[(String, String)]) -> Effects {
        let mut effects = Effects::default();
        let Some(program) = program else { return effects };
        let said = Command::new(program).arg("-i").envs(environment.iter().cloned()).output();
        let said = said.map(|output| output.stdout).unwrap_or_default();
        // A line is `name => value here => value of the files`, or that as a row of HTML.
        let said =
            String::from_utf8_lossy(&said).replace("<tr><td class=\"e\">", "").replace("</td><td class=\"v\">", " => ");
        let said = said.replace("</td></tr>", "");
        let known: BTreeMap<&str, &str> = said
            .lines()
            .filter_map(|line| line.split_once(" => "))
            .map(|(name, values)| (name, values.split(" => ").next().unwrap_or_default()))
            .collect();
        let switches = [("opcache.enable", self.opcache), ("apc.enabled", self.apcu)];
        let switches = switches.map(|(name, is_on)| (name, if is_on { "On" } else { "Off" }));
        for (setting, value) in self.settings.iter().map(|(name, value)| (&**name, &**value)).chain(switches) {
            match known.get(setting) {
                Some(found) if effect::same(value, found, 1.0) => {
                    effects.facts.insert(format!("{name}.php.{setting}"), (*found).to_string());
                }
                Some(found) => effects.ineffective.push(format!("PHP has {setting} = {found}, not {value}")),
                // An extension that is not there has no settings; who wants none of it has that.
                None if value == "Off" => {}
                None => effects.ineffective.push(format!("PHP has no setting {setting}")),
            }
        }
        effects
    }
}

/// The newest of a program or module of PHP, like `/usr/sbin/php-fpm8.2`, with its version.
pub fn newest(folder: &str, before: &str, after: &str) -> Option<(PathBuf, String)> {
    let version = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix(before)?.strip_suffix(after)?;
        let numbers: Vec<u32> = version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some((numbers, entry.path(), version.to_string()))
    };
    let found = Path::new(folder).read_dir().into_iter().flatten().flatten().filter_map(version).max()?;
    Some((found.1, found.2))
}
