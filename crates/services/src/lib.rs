//! Servers under test: one file each. Found, made, configured, started, asked what is in effect, stopped.
//!
//! Driven by `lab::served`. A service does not know its workload, nor the filesystem below its data, and never runs as root.

mod apache;
mod applied;
mod caddy;
pub mod complaints;
mod django;
mod effect;
mod etcd;
mod gtm;
pub mod idle;
mod lighttpd;
mod mariadb;
mod nginx;
mod php;
mod php_fpm;
mod postgres;
mod process;
mod recovered;
mod redis;
pub mod service;
pub mod template;
mod versions;
mod web;

use serde_json::{Map, Value};
use service::{Kind, ServiceSettings};
use settings::configuration::{Configuration, Setup};
use std::collections::BTreeMap;

/// Every service there is.
static KINDS: [&Kind; 11] = [
    &postgres::KIND,
    &mariadb::KIND,
    &gtm::KIND,
    &redis::KIND,
    &etcd::KIND,
    &nginx::KIND,
    &apache::KIND,
    &lighttpd::KIND,
    &caddy::KIND,
    &php_fpm::KIND,
    &django::KIND,
];

/// Every service there is, in the order of lists.
pub fn kinds() -> &'static [&'static Kind] {
    &KINDS
}

/// A service that a scenario wants, and what it says of it.
pub struct Wanted {
    /// Which.
    pub kind: &'static Kind,
    /// Its checked settings.
    pub settings: Box<dyn ServiceSettings>,
    /// Whether its data are loaded anew for each trial, and not copied.
    pub loads_anew: bool,
}

/// A service's settings as an administrator puts them in place, from what a results file recorded of it; none recorded: its defaults.
///
/// # Errors
/// In words, where this version does not know the service, or refuses what was recorded.
pub fn files(name: &str, recorded: Option<&Map<String, Value>>, setup: &Setup) -> Result<Vec<Configuration>, String> {
    let kind = kind(name).ok_or("this version does not know it")?;
    // What an older version recorded may lack a setting that there is now, and have one that is gone.
    let mut all = settings::defaults(kind.settings);
    let known = recorded.into_iter().flatten().filter(|(name, _)| kind.settings.iter().any(|one| one.name == **name));
    all.extend(known.map(|(name, value)| (name.clone(), value.clone())));
    settings::check_plain(kind.settings, &all)
        .map_err(|setting| format!("this version refuses {setting} = {}", all[&setting]))?;
    let all = (kind.read)(&all);
    let problems = all.problems();
    if problems.is_empty() {
        Ok(all.files(setup))
    } else {
        Err(format!("this version refuses {}", problems.join("; ")))
    }
}

/// A scenario's services in the order of their start: those that `names` says, each with what it needs before it. `settings` are
/// the study's, by service.
pub fn wanted(names: &[&'static str], settings: &BTreeMap<String, Map<String, Value>>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for kind in names.iter().filter_map(|name| kind(name)) {
        let asked = settings.get(kind.name).cloned().unwrap_or_else(|| settings::defaults(kind.settings));
        let loads_anew = asked.get("data").is_some_and(|data| data == "load");
        let settings_of_kind = (kind.read)(&asked);
        let needed = wanted(settings_of_kind.needs(), settings);
        for one in needed.into_iter().chain([Wanted { kind, settings: settings_of_kind, loads_anew }]) {
            if all.iter().all(|known| known.kind.name != one.kind.name) {
                all.push(one);
            }
        }
    }
    all
}

/// The service of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}
