//! Redis' settings for a server that has data and a configuration of its own.

use super::{is_yes, lines};
use crate::applied::held_back;
use settings::configuration::{Configuration, Setup};
use std::collections::BTreeMap;

/// Settings that name the files of its data: a server that does not find them starts empty.
const OF_FILES: &[&str] = &["appenddirname", "appendfilename", "dbfilename"];

const FILES: &str = "Only of a server without data, as it looks for them under these names:";

/// A file that redis.conf includes, and the way to it without a loss. `asked` has names in small letters.
pub fn files(asked: &BTreeMap<String, String>, setup: &Setup) -> Vec<Configuration> {
    if asked.is_empty() {
        return Vec::new();
    }
    let name = if setup.version.starts_with("valkey") { "valkey" } else { "redis" };
    let (files, active): (BTreeMap<_, _>, BTreeMap<_, _>) =
        asked.clone().into_iter().partition(|(name, _)| OF_FILES.contains(&&**name));
    let files: Vec<String> = lines(&files).lines().map(String::from).collect();
    let path = format!("/etc/{name}/surefoot.conf");
    let checks = active.keys().map(|setting| format!("{name}-cli CONFIG GET {setting}"));
    let checks = checks.chain([format!("{name}-cli INFO keyspace  # as many keys as before")]).collect();
    let (before, after) = (before(name, &active), after(name, &path, &active));
    vec![Configuration { before, text: lines(&active) + &held_back(FILES, &files), after, checks, path }]
}

/// Redis' manual, "Redis persistence", on the change from snapshots to an append-only file; the comments of its redis.conf.
fn before(name: &str, active: &BTreeMap<String, String>) -> Vec<String> {
    let mut lines = vec![
        format!("# Debian's unit lets it write in /var/lib/{name} alone, unless ReadWritePaths says more."),
        format!("{name}-cli INFO keyspace  # how many keys there are"),
    ];
    if is_yes(active, "appendonly") {
        lines.extend([
            "# A server that has data gets its append-only file while it runs: started with `appendonly yes` and without one, it is empty."
                .to_string(),
            format!("{name}-cli CONFIG SET appendonly yes"),
            format!(
                "{name}-cli INFO persistence | grep aof_rewrite  # go on at aof_rewrite_in_progress:0 and aof_rewrite_scheduled:0"
            ),
            format!("{name}-cli INFO persistence | grep -E 'aof_enabled|aof_last'  # 1 and ok"),
        ]);
    }
    if active.get("save").is_some_and(|save| !save.trim().is_empty()) {
        lines.push(format!("# Lines of `save` add up: those of {name}.conf are taken out."));
    }
    if active.contains_key("maxmemory") {
        lines.push(format!(
            "{name}-cli INFO memory | grep used_memory:  # above maxmemory keys are evicted, or no more are taken (maxmemory-policy)"
        ));
    }
    if active.contains_key("databases") {
        lines.push("# With fewer databases than its data have, the server does not start.".into());
    }
    lines
}

/// Nothing reads a file of its own name, and of a setting that stands twice the last holds.
fn after(name: &str, path: &str, active: &BTreeMap<String, String>) -> Vec<String> {
    let line = format!("include {path}");
    let main = format!("/etc/{name}/{name}.conf");
    let include = format!("grep -qxF '{line}' {main} || printf '\\n{line}\\n' >> {main}  # it stays the last line");
    let is_of_snapshots = active.contains_key("appendonly") || active.contains_key("save");
    // A server without times for snapshots writes none when it is stopped by a signal.
    let stop = (is_of_snapshots && !is_yes(active, "appendonly")).then(|| {
        format!(
            "{name}-cli SHUTDOWN SAVE  # in place of a restart: it writes the snapshot that the next start reads; Debian's unit starts it again"
        )
    });
    std::iter::once(include).chain(stop).collect()
}

#[cfg(test)]
mod tests {
    use crate::applied;
    use serde_json::{Value, json};
    use settings::configuration::{Configuration, Setup};

    fn file(settings: Value, version: &str) -> Configuration {
        let setup = Setup { version: version.into(), ..Setup::default() };
        applied::tests::file("redis", json!({ "settings": settings }), &setup)
    }

    fn at(lines: &[String], words: &str) -> Option<usize> {
        lines.iter().position(|line| line.contains(words))
    }

    /// Such a server was said to be unknown.
    #[test]
    fn what_is_refused_of_older_results_is_named() {
        let why = |service: &str, settings: Value| {
            let recorded = [("settings".to_string(), settings)].into_iter().collect();
            crate::files(service, Some(&recorded), &Setup::default()).expect_err("refused")
        };
        let ours = why("redis", json!({ "dir": "/tmp", "maxmemory": "1gb" }));
        assert!(ours.contains("settings.dir") && !ours.contains("maxmemory"), "{ours}");
        assert_eq!(why("redis", json!(7)), "this version refuses settings = 7");
        assert_eq!(why("oracle", json!({})), "this version does not know it");
    }

    /// redis.conf: a change of `appendonly` in the file of a server that has data can lose them; it is made by CONFIG SET first.
    #[test]
    fn an_append_only_file_is_made_while_the_server_runs() {
        let file = file(json!({ "appendonly": true, "save": "" }), "redis 7.0.15");
        let (set, wait) =
            (at(&file.before, "CONFIG SET appendonly yes"), at(&file.before, "aof_rewrite_in_progress:0"));
        assert!(set.is_some() && set < wait, "{:?}", file.before);
        assert_eq!(at(&file.after, "SHUTDOWN"), None, "its append-only file has all");
        assert!(file.checks.iter().any(|check| check.starts_with("redis-cli INFO keyspace")), "{:?}", file.checks);
        assert!(file.after[0].contains("include /etc/redis/surefoot.conf"), "{:?}", file.after);
    }

    /// Redis' manual, SHUTDOWN: a server without times for snapshots writes none at its end unless it is told to.
    #[test]
    fn who_leaves_the_append_only_file_writes_a_snapshot_first() {
        for settings in [json!({ "appendonly": "no" }), json!({ "save": "" })] {
            let file = file(settings, "");
            assert!(at(&file.after, "SHUTDOWN SAVE") > at(&file.after, "include"), "{:?}", file.after);
            assert_eq!(at(&file.before, "CONFIG SET"), None);
        }
        assert_eq!(at(&file(json!({ "maxclients": 9 }), "").after, "SHUTDOWN"), None);
    }

    #[test]
    fn names_of_files_are_held_back() {
        let file =
            file(json!({ "appendonly": "yes", "appendfilename": "a.aof", "maxmemory": "1gb", "save": "60 1" }), "");
        let active: Vec<&str> = file.text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(active, ["appendonly yes", "maxmemory 1gb", "save 60 1"]);
        assert!(file.text.ends_with("# appendfilename a.aof\n"), "{}", file.text);
        assert!(at(&file.before, "used_memory").is_some() && at(&file.before, "add up").is_some(), "{:?}", file.before);
    }

    #[test]
    fn valkey_has_its_own_folder() {
        let file = file(json!({ "maxclients": 9 }), "valkey 8.0.1");
        assert_eq!(file.path, "/etc/valkey/surefoot.conf");
        assert!(file.after[0].contains("/etc/valkey/valkey.conf"), "{:?}", file.after);
    }
}
