//! Redis as a service, or Valkey where that is installed instead: check, configure, start, ready, stop.
//!
//! It has all its data in memory; what lies on the filesystem under test is its append-only file, its snapshots, or both, as its settings say.

mod applied;

use crate::effect::{self, Effects};
use crate::idle::{self, Idle};
use crate::process::{AtWork, READY_SECONDS_MAX, Server, Start, run_as};
use crate::recovered::{self, Answers};
use crate::service::{
    self, Error, FreeSettings, Kind, Missing, Network, Place, Program, Running, Service, ServiceSettings,
};
use nix::sys::signal::Signal;
use observe::durability::{Class, Durability};
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::Address;
use wire::redis::{Redis as Client, Reply};

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "redis",
    summary: "Redis, or Valkey where that is installed instead",
    example: "[service.redis]\nsettings = { appendonly = \"yes\", appendfsync = \"everysec\" }\n",
    settings: SETTINGS,
    listens: true,
    is_database: true,
    has_log_volume: false,
    read: service::read::<RedisSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("settings", Is::Table, "{}")
        .help("Settings of redis.conf, any of them: settings = { appendonly = \"yes\", appendfsync = \"always\", save = \"\" }. What is in effect is asked back by CONFIG GET."),
    Setting::new("data", Is::Choice(&["template", "load"]), "template")
        .help("`template`: loaded once, then copied for each trial, so that every trial starts from the same files. `load`: loaded anew through the server as it is set, and the load is measured."),
];

/// Settings that surefoot itself needs, and those that would start more or name other files.
const OURS: &str = "port bind unixsocket unixsocketperm dir daemonize supervised logfile pidfile include \
     cluster-enabled replicaof slaveof requirepass protected-mode";

/// Settings of its append-only file.
const OF_LOG: &str = "appendfsync appendfilename appenddirname aof_* auto_aof_* no_appendfsync_on_rewrite";

/// A name and a value that are one line of redis.conf: no quotes, so that none is open at its end, and no comment.
fn is_plain(name: &str, value: &str) -> bool {
    crate::service::is_name(name) && !value.contains(['\n', '\r', '"', '\'', '#', '\\'])
}

const SOCKET: &str = "redis.sock";

/// Programs, Debian's names; both take the same files and answer the same way.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

fn find() -> Result<PathBuf, Missing> {
    let missing = || Missing {
        what: "Redis is not installed, and Valkey is not, either".into(),
        remedy: "install the package redis-server".into(),
    };
    PROGRAMS.into_iter().find_map(service::installed).ok_or_else(missing)
}

/// "redis 7.0.15", as the program says it: `Redis server v=7.0.15 sha=…`.
fn version(program: &Path) -> String {
    let said = service::said(program, "--version");
    let number = said.split_whitespace().find_map(|word| word.strip_prefix("v=")).unwrap_or("of unknown version");
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    format!("{} {number}", name.trim_end_matches("-server"))
}

/// Lines of redis.conf. Nothing stands there as two quotes.
fn lines(settings: &BTreeMap<String, String>) -> String {
    let value = |value: &String| if value.trim().is_empty() { "\"\"".into() } else { value.clone() };
    settings.iter().map(|(name, text)| format!("{name} {}\n", value(text))).collect()
}

fn is_yes(settings: &BTreeMap<String, String>, name: &str) -> bool {
    settings.get(name).is_some_and(|value| value.eq_ignore_ascii_case("yes"))
}

#[derive(Deserialize)]
struct RedisSettings {
    settings: FreeSettings,
}

impl RedisSettings {
    /// What a study asks for; a boolean is `yes` or `no` there. Blanks around a value are none of it to the server.
    fn asked(&self) -> BTreeMap<String, String> {
        let word = |value: &String| match value.trim() {
            "on" => "yes".to_string(),
            "off" => "no".to_string(),
            word => word.to_string(),
        };
        self.settings.iter().map(|(name, value)| (name.to_lowercase(), word(value))).collect()
    }
}

impl ServiceSettings for RedisSettings {
    fn missing(&self) -> Option<Missing> {
        find().err()
    }

    /// Redis' manual, "Redis persistence", and the comments of its redis.conf.
    fn durability(&self) -> Durability {
        let settings = self.asked();
        if !is_yes(&settings, "appendonly") {
            // Snapshots are minutes apart: "the last seconds" would promise too much.
            let is_off = settings.get("save").is_some_and(|save| save.trim().is_empty());
            let why = if is_off {
                "appendonly = no, save = \"\": Redis writes nothing"
            } else {
                "appendonly = no: all that was written since the last snapshot is lost, by default up to an hour of it"
            };
            return Durability::because(Class::LosesAll, why);
        }
        // Words are the same in any case.
        let policy = settings.get("appendfsync").map_or("everysec".into(), |policy| policy.trim().to_lowercase());
        let may_corrupt = |why: &str| Durability::because(Class::MayCorrupt, why);
        if policy == "no" {
            return may_corrupt("appendfsync = no: Redis never flushes its append-only file");
        }
        if is_yes(&settings, "no-appendfsync-on-rewrite") {
            return may_corrupt("no-appendfsync-on-rewrite = yes: nothing is flushed while a file is rewritten");
        }
        if settings.get("aof-load-truncated").is_some_and(|value| value.eq_ignore_ascii_case("no")) {
            return may_corrupt(
                "aof-load-truncated = no: Redis does not start on a file whose last command is cut off",
            );
        }
        if policy == "always" {
            return Durability::full();
        }
        let second = "appendfsync = everysec: the last second or two are not flushed, as its manual says, and where the file then \
                      ends in zeros Redis does not start on it (issue 5177): `[safety]` measures how often";
        Durability::because(Class::LosesRecent, second)
    }

    fn files(&self, setup: &Setup) -> Vec<Configuration> {
        applied::files(&self.asked(), setup)
    }

    fn problems(&self) -> Vec<String> {
        self.settings.problems("settings", OURS, is_plain)
    }

    /// The comments of its redis.conf.
    fn idle(&self) -> Vec<Idle> {
        let settings = self.asked();
        let threads = settings.get("io-threads").and_then(|threads| threads.parse::<u32>().ok());
        let rules = [
            (is_yes(&settings, "appendonly"), OF_LOG, "appendonly = \"yes\""),
            (threads.is_some_and(|threads| threads > 1), "io_threads_do_reads", "io-threads above 1"),
            (is_yes(&settings, "activedefrag"), "active_defrag_*", "activedefrag = \"yes\""),
            (false, "repl_*", "a replica"),
        ];
        idle::of("settings", &self.settings, &rules)
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let path = find()?;
        let version = version(&path);
        let program = Program::new((path, version), &["redis", "valkey", "nobody"]);
        Ok(Box::new(Redis { program, settings: self.asked() }))
    }
}

/// An installed Redis with its settings.
struct Redis {
    program: Program,
    settings: BTreeMap<String, String>,
}

impl Redis {
    /// What surefoot sets, then what holds for this start, then `more`. Of a name that comes twice, the last holds.
    fn configuration(&self, place: &Place, more: &str) -> String {
        format!(
            "# written by surefoot\n{}unixsocket {}\nunixsocketperm 700\ndir {}\ndaemonize no\nlogfile \"\"\n{more}",
            listening(place),
            place.run.join(SOCKET).display(),
            place.data.display()
        )
    }

    /// What decides which files its data are in.
    fn log_settings(&self) -> String {
        let of_log = |name: &String| {
            ["appendonly", "appenddirname", "appendfilename", "dbfilename", "aof-use-rdb-preamble"].contains(&&**name)
        };
        lines(&self.settings.clone().into_iter().filter(|(name, _)| of_log(name)).collect())
    }
}

/// Its password holds for its socket, too.
fn listening(place: &Place) -> String {
    let words = |network: &Network| {
        let (host, port) = (network.address.ip(), network.address.port());
        format!("bind {host}\nport {port}\nprotected-mode no\nrequirepass {}\n", network.password)
    };
    place.network.as_ref().map_or("port 0\n".into(), words)
}

/// It answers once all its data are loaded; until then it says `LOADING`.
fn connect(socket: &Path, network: Option<&Network>) -> Result<Client, wire::Error> {
    let mut client = Client::connect(&Address::Socket(socket.into()))?;
    if let Some(network) = network {
        client.ask(&["AUTH", &network.password])?;
    }
    client.ask(&["PING"])?;
    Ok(client)
}

/// Waits until all its data are read, for so long at a time: gigabytes of an append-only file take minutes, in which it says that it loads.
fn loaded<T>(
    server: &mut Server,
    seconds: u64,
    mut connect: impl FnMut() -> Result<T, wire::Error>,
) -> Result<T, Error> {
    loop {
        let mut is_loading = false;
        let ready = server.wait_ready_for(seconds, || {
            let answer = connect();
            is_loading = matches!(&answer, Err(wire::Error::Refused { code, .. }) if code == "LOADING");
            answer
        });
        match ready {
            Err(Error::Slow { .. }) if is_loading => {}
            ready => return ready,
        }
    }
}

/// Of a load whose files will be copied: nothing is flushed, and a snapshot is written at the end, as there are times for one.
const UNFLUSHED: &str = "appendfsync no\nsave 86400 1\nauto-aof-rewrite-percentage 0\n";

impl Service for Redis {
    fn program(&self) -> &Program {
        &self.program
    }

    /// With an append-only file, Redis reads no snapshot.
    fn format(&self) -> String {
        self.log_settings()
    }

    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let settings = if place.skip_fsync { self.log_settings() + UNFLUSHED } else { lines(&self.settings) };
        let file = place.write("redis.conf", &self.configuration(place, &settings))?;
        let socket = place.run.join(SOCKET);
        recovered::remove(&socket)?;
        let mut server = Start::new(&self.program, vec![file], place, place.run.join("redis.log")).server()?;
        let mut client = loaded(&mut server, READY_SECONDS_MAX, || connect(&socket, place.network.as_ref()))?;
        let none = BTreeMap::new();
        let asked = if place.skip_fsync { &none } else { &self.settings };
        let effects = effects(&mut client, &self.program.version, asked)?;
        // SIGTERM: what the settings keep is written and flushed.
        Ok(Box::new(AtWork::new(server, socket, effects, Signal::SIGTERM)))
    }

    /// A question is a command, its words on a line each. A row of its answer is a pair, or a text alone; what stands between tabs are columns.
    fn ask_recovered(&self, place: &Place, questions: &[String]) -> Result<Answers, Error> {
        let deadline = recovered::deadline();
        let more = lines(&self.settings) + "appendfsync no\nsave \"\"\nauto-aof-rewrite-percentage 0\n";
        let file = place.write("recovered.conf", &self.configuration(place, &more))?;
        let (socket, log) = (place.run.join(SOCKET), place.run.join("recovered.log"));
        recovered::remove(&log)?;
        recovered::remove(&socket)?;
        let mut server = Start::new(&self.program, vec![file], place, log).server()?;
        let mut client = recovered::ready(&mut server, || connect(&socket, None), deadline)?;
        recovered::ask(&mut server, KIND.name, &mut |question| client.table(question), questions, deadline)
    }

    fn commands(&self, _has_log_volume: bool) -> Vec<String> {
        let run_as = run_as(self.program.user.as_ref());
        let set = |line: &str| format!("echo '{line}' >> $RUN/redis.conf");
        let program = self.program.path.display();
        let start =
            format!("{run_as}{program} $RUN/redis.conf --port 0 --unixsocket $RUN/{SOCKET} --dir \"$MOUNT/data\"");
        let made = "touch $RUN/redis.conf".to_string();
        [made].into_iter().chain(lines(&self.settings).lines().map(set)).chain([start]).collect()
    }

    fn is_passing(&self, name: &str) -> bool {
        name.starts_with("temp-")
    }
}

/// What is in effect: what was asked, and how its files are kept.
fn effects(client: &mut Client, version: &str, asked: &BTreeMap<String, String>) -> Result<Effects, Error> {
    const ALWAYS: [&str; 4] = ["appendonly", "appendfsync", "save", "maxmemory"];
    let mut effects = Effects::default();
    effects.facts.insert("redis.version".into(), version.into());
    let names = ALWAYS.into_iter().chain(asked.keys().map(String::as_str).filter(|name| !ALWAYS.contains(name)));
    for name in names {
        let failed = |source| Error::Asked { server: KIND.name, action: "say its settings".into(), source };
        // The name, and then the value.
        let said = client.ask(&["CONFIG", "GET", name]).and_then(Reply::texts).map_err(failed)?;
        let Some(found) = said.into_iter().nth(1) else {
            effects.ineffective.push(format!("redis has no setting {name}"));
            continue;
        };
        if let Some(asked) = asked.get(name).filter(|asked| !same(asked, &found)) {
            effects.ineffective.push(format!("redis runs with {name} = {found}, where {asked} was asked"));
        }
        effects.facts.insert(format!("redis.{name}"), found);
    }
    Ok(effects)
}

/// Whether two ways of writing a value mean the same. Redis' own units (redis.conf): `k` is 1,000 bytes, `kb` 1,024.
fn same(asked: &str, found: &str) -> bool {
    let units: [(&str, u64); 6] =
        [("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30), ("k", 1000), ("m", 1_000_000), ("g", 1_000_000_000)];
    let asked = asked.trim().to_lowercase();
    let bytes = units
        .iter()
        .find_map(|(unit, bytes)| asked.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(*bytes));
    if let Some(bytes) = bytes {
        return found.parse() == Ok(bytes);
    }
    let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
    words(&asked) == words(found) || effect::same(&asked, found, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parameters(settings: Value) -> RedisSettings {
        let mut map = settings::defaults(SETTINGS);
        map.insert("settings".into(), settings);
        settings::typed(&map)
    }

    #[test]
    fn settings_decide_durability() {
        let class = |settings: Value| parameters(settings).durability().class;
        assert_eq!(class(json!({})), Class::LosesAll, "snapshots are minutes apart");
        assert_eq!(class(json!({ "save": "" })), Class::LosesAll);
        assert_eq!(class(json!({ "appendonly": true })), Class::LosesRecent);
        let why = parameters(json!({ "appendonly": "yes" })).durability().reasons.concat();
        assert!(why.contains("does not start on it (issue 5177)"), "the manual has it not: {why}");
        assert_eq!(class(json!({ "appendonly": "yes", "appendfsync": "always" })), Class::KeepsAcknowledged);
        assert_eq!(class(json!({ "APPENDONLY": "yes", "appendfsync": "no" })), Class::MayCorrupt);
        assert_eq!(class(json!({ "appendonly": "YES", "appendfsync": "NO" })), Class::MayCorrupt);
        let unflushed = json!({ "appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": true });
        assert_eq!(class(unflushed), Class::MayCorrupt);
        // redis.conf: with `no` the server refuses a file that is cut off, until redis-check-aof has mended it.
        let strict = json!({ "appendonly": "yes", "appendfsync": "always", "aof-load-truncated": false });
        assert_eq!(class(strict), Class::MayCorrupt);
        // `sdssplitargs` of its config.c: lines are split at blanks, however many.
        for (name, value) in
            [("no-appendfsync-on-rewrite", "yes "), ("aof-load-truncated", " no"), ("appendfsync", " NO")]
        {
            let mut asked = json!({ "appendonly": " yes", "appendfsync": "always" });
            asked[name] = value.into();
            assert_eq!(class(asked), Class::MayCorrupt, "{name} = {value:?}");
        }
    }

    #[test]
    fn settings_are_lines_and_nothing_slips_out_of_them() {
        let settings = parameters(json!({ "save": "", "appendonly": true, "maxmemory": "100mb" })).asked();
        assert_eq!(lines(&settings), "appendonly yes\nmaxmemory 100mb\nsave \"\"\n");
        let problems = |settings: Value| parameters(settings).problems();
        assert_eq!(problems(json!({ "port": 6379 })), ["settings.port: surefoot sets it itself"]);
        // The older name of `replicaof`.
        assert_eq!(problems(json!({ "slaveof": "db1 6379" })), ["settings.slaveof: surefoot sets it itself"]);
        assert_eq!(problems(json!({ "save": "900 1\nport 1", "x y": "1", "proc-title-template": "\"" })).len(), 3);
        assert_eq!(problems(json!({ "save": "3600 1 300 100", "maxmemory-policy": "allkeys-lru" })), [""; 0]);
    }

    /// After two minutes a server with much data was ended, in every trial.
    #[test]
    fn a_server_that_still_loads_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = Start::of_shell("exec sleep 60", folder.path());
        let mut server = start.server().expect("it starts");
        let refused = |code: &str| wire::Error::Refused { code: code.into(), message: String::new() };
        let mut asked = 0;
        let ready = loaded(&mut server, 0, || {
            asked += 1;
            if asked < 4 { Err(refused("LOADING")) } else { Ok(asked) }
        });
        assert_eq!(ready.expect("it has loaded"), 4);
        let silent = loaded(&mut server, 0, || Err::<(), _>(refused("NOAUTH")));
        assert!(matches!(silent, Err(Error::Slow { .. })), "{silent:?}");
    }

    #[test]
    fn values_are_compared_by_redis_own_units() {
        assert!(same("100mb", "104857600") && same("100m", "100000000") && same("1GB", "1073741824"));
        assert!(same("3600 1  300 100", "3600 1 300 100") && same("yes", "yes") && same("", ""));
        assert!(!same("100mb", "100000000") && !same("always", "everysec") && !same("yes", "no"));
    }
}
