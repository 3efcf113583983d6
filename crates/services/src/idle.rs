//! Settings that a server takes and that do nothing beside the others: they wait for one that is off or not set.

use std::collections::BTreeMap;

/// A setting's place in its service's table, as `settings.sync_binlog`, and what it needs.
pub type Idle = (String, &'static str);

/// Those of a free table that do nothing. A rule says whether a need is met, which names have it (of one that ends with `*`, the
/// beginning), and what it is. Names are in small letters there, with `_` for `-`.
pub(crate) fn of(table: &str, settings: &BTreeMap<String, String>, rules: &[(bool, &str, &'static str)]) -> Vec<Idle> {
    let needs = |name: &String| {
        let plain = name.replace('-', "_").to_ascii_lowercase();
        let (.., needs) = rules.iter().find(|(is_met, names, _)| !is_met && is_of(&plain, names))?;
        Some((format!("{table}.{name}"), *needs))
    };
    settings.keys().filter_map(needs).collect()
}

fn is_of(name: &str, names: &str) -> bool {
    let is_it = |word: &str| word.strip_suffix('*').map_or(name == word, |beginning| name.starts_with(beginning));
    names.split(' ').any(is_it)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn idle(service: &str, asked: &Value) -> Vec<String> {
        let kind = crate::kind(service).expect("it is in the list");
        let checked = settings::check_all(kind.settings, asked.as_object().expect("a table")).expect("right");
        (kind.read)(&checked).idle().into_iter().map(|(name, _)| name).collect()
    }

    /// Each by its maker's manual. The levels of such a factor were compared as if they were real.
    #[test]
    fn what_waits_for_another_setting_is_idle_until_it_is_set() {
        let of_fpm = json!({ "settings": { "pm": "static", "pm.start_servers": 2, "pm.max_children": 9 } });
        let in_vain = [
            ("redis", json!({ "settings": { "appendfsync": "always", "maxmemory": "1gb" } }), "settings.appendfsync"),
            ("mariadb", json!({ "settings": { "sync-binlog": 1, "max_connections": 9 } }), "settings.sync-binlog"),
            ("mariadb", json!({ "settings": { "thread-pool-size": 9 } }), "settings.thread-pool-size"),
            ("redis", json!({ "settings": { "io-threads-do-reads": true } }), "settings.io-threads-do-reads"),
            ("redis", json!({ "settings": { "repl-backlog-size": "9mb" } }), "settings.repl-backlog-size"),
            ("postgres", json!({ "settings": { "commit_siblings": 2, "fsync": "on" } }), "settings.commit_siblings"),
            (
                "postgres",
                json!({ "settings": { "wal_sync_method": "fsync", "FSYNC": "off" } }),
                "settings.wal_sync_method",
            ),
            (
                "nginx",
                json!({ "settings": { "open_file_cache_valid": "9s", "aio": "on" } }),
                "settings.open_file_cache_valid",
            ),
            ("php-fpm", of_fpm, "settings.pm.start_servers"),
            (
                "php-fpm",
                json!({ "opcache": false, "php_settings": { "opcache.jit": "off" } }),
                "php_settings.opcache.jit",
            ),
            ("lighttpd", json!({ "php": "cgi", "php_processes": 9 }), "php_processes"),
            ("gtm", json!({ "journal": "none", "settings": { "journal_sync_io": true } }), "settings.journal_sync_io"),
        ];
        for (service, asked, name) in in_vain {
            assert_eq!(idle(service, &asked), [name], "{service} {asked}");
        }
        let of_module = json!({ "mpm": "prefork", "php": "module", "php_settings": { "opcache.jit": "off" } });
        let at_work = [
            ("redis", json!({ "settings": { "appendfsync": "always", "APPENDONLY": true } })),
            ("mariadb", json!({ "binary_log": true, "settings": { "sync_binlog": 1 } })),
            ("mariadb", json!({ "settings": { "thread_handling": "pool-of-threads", "thread_pool_size": 9 } })),
            ("redis", json!({ "settings": { "io-threads": 2, "io-threads-do-reads": true, "replica-priority": 9 } })),
            (
                "postgres",
                json!({ "settings": { "commit_siblings": 2, "Commit_Delay": 100, "wal_sync_method": "fsync" } }),
            ),
            ("nginx", json!({ "settings": { "open_file_cache_valid": "9s", "open_file_cache": "max=9" } })),
            ("php-fpm", json!({ "settings": { "pm.start_servers": 2 }, "php_settings": { "memory_limit": "1G" } })),
            ("lighttpd", json!({ "php": "fastcgi", "php_processes": 9 })),
            ("apache", of_module),
            ("gtm", json!({ "settings": { "journal_sync_io": true } })),
            ("etcd", json!({ "settings": { "snapshot-count": 9 } })),
        ];
        for (service, asked) in at_work {
            assert_eq!(idle(service, &asked), [""; 0], "{service} {asked}");
        }
    }

    #[test]
    fn settings_of_php_that_nobody_runs_are_idle() {
        for service in ["apache", "lighttpd"] {
            let found = idle(service, &json!({ "php": "none", "php_settings": { "memory_limit": "1G" } }));
            assert!(
                ["opcache", "apcu", "php_settings.memory_limit"].iter().all(|name| found.iter().any(|one| one == name)),
                "{found:?}"
            );
        }
    }
}
