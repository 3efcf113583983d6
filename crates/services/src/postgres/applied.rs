//! PostgreSQL's settings for a cluster that has data, replicas and settings of its own.

use super::lines;
use crate::applied::held_back;
use crate::service::FreeSettings;
use settings::configuration::{Configuration, Setup};
use std::collections::BTreeMap;

/// Beginnings of settings that standbys, archives and extensions go by (PostgreSQL's manual, "Replication", "Write Ahead Log" and "Shared
/// Library Preloading"). Below `replica`, `wal_level` leaves replicas and archives without what they need, and does not start beside them.
const OF_OTHERS: &str = "wal_level wal_keep_ max_wal_senders max_replication_slots max_slot_wal_keep_size \
     idle_replication_slot_timeout archive_ restore_command recovery_ primary_ hot_standby synchronous_standby_names \
     synchronized_standby_slots shared_preload_libraries session_preload_libraries local_preload_libraries";

const OTHERS: &str =
    "Only where no standby, archive or extension goes by it; a list of libraries takes the place of the server's own:";

/// Settings that a standby needs as large as its primary has them ("Hot Standby", "Administrator's Overview").
const AS_LARGE_AS_PRIMARY: &[&str] =
    &["max_connections", "max_prepared_transactions", "max_locks_per_transaction", "max_worker_processes"];

/// A file for the cluster `main`, and the way to a log on a volume of its own. `made_with` is what initdb was told.
pub fn files(
    settings: &FreeSettings,
    made_with: &[String],
    version: Option<&str>,
    setup: &Setup,
) -> Vec<Configuration> {
    let (others, active): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (**settings).clone().into_iter().partition(|(name, _)| is_of_others(name));
    let mut before = Vec::new();
    if !made_with.is_empty() {
        before.push(format!("# The data directory was made by: initdb {}", made_with.join(" ")));
    }
    before.extend(move_log(setup));
    let is_large = |name: &&String| AS_LARGE_AS_PRIMARY.iter().any(|large| large.eq_ignore_ascii_case(name));
    let large: Vec<&str> = active.keys().filter(is_large).map(String::as_str).collect();
    if !large.is_empty() {
        before.push(format!("# A standby does not go on where its primary has more of these: {}", large.join(", ")));
    }
    let others: Vec<String> = lines(&others).lines().map(String::from).collect();
    let text = lines(&active) + &held_back(OTHERS, &others);
    if before.is_empty() && text.is_empty() {
        return Vec::new();
    }
    // "15.14 (Debian 15.14-0+deb12u1)", "18beta1".
    let told = setup.version.split(|c: char| !c.is_ascii_digit()).next().filter(|major| !major.is_empty());
    let version = version.or(told).unwrap_or("VERSION");
    let folder = format!("/etc/postgresql/{version}/main");
    let validate = format!(
        "sudo -u postgres /usr/lib/postgresql/{version}/bin/postgres -D {folder} -C config_file  # before a restart: no error may be said"
    );
    let path = format!("{folder}/conf.d/surefoot.conf");
    let after = (!text.is_empty()).then_some(validate).into_iter().collect();
    vec![Configuration { path, before, after, checks: checks(&active, setup), text }]
}

fn is_of_others(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OF_OTHERS.split(' ').any(|beginning| name.starts_with(beginning))
}

/// What `ALTER SYSTEM` has set is read after this file.
fn checks(active: &BTreeMap<String, String>, setup: &Setup) -> Vec<String> {
    let names: Vec<String> =
        active.keys().map(|name| format!("'{}'", name.to_lowercase().replace('\'', "''"))).collect();
    let ask = format!(
        "sudo -u postgres psql -c \"SELECT name, setting, unit, sourcefile, pending_restart FROM pg_settings \
         WHERE lower(name) IN ({})\"  # sourcefile must be surefoot.conf",
        names.join(", ")
    );
    let log = setup.log.as_ref().map(|log| format!("readlink {}/pg_wal  # must be {log}/pg_wal", setup.data));
    (!names.is_empty()).then_some(ask).into_iter().chain(log).collect()
}

/// As initdb's option `--waldir` does it.
fn move_log(setup: &Setup) -> Vec<String> {
    let (Some(log), data) = (&setup.log, &setup.data) else { return Vec::new() };
    vec![
        "# While the cluster is stopped:".into(),
        format!("mv {data}/pg_wal {log}/pg_wal && ln -s {log}/pg_wal {data}/pg_wal"),
    ]
}

#[cfg(test)]
mod tests {
    use crate::applied;
    use serde_json::{Value, json};
    use settings::configuration::{Configuration, Setup};

    fn file(recorded: Value, setup: &Setup) -> Configuration {
        applied::tests::file("postgres", recorded, setup)
    }

    /// With `wal_level = minimal` a server that has standbys or an archive does not start; a list of libraries replaces the one before.
    #[test]
    fn what_standbys_archives_and_extensions_go_by_is_held_back() {
        let asked = json!({ "wal_level": "minimal", "max_wal_senders": 0, "archive_mode": "off", "Shared_Preload_Libraries": "pg_stat_statements",
                            "shared_buffers": "1GB", "synchronous_commit": "off" });
        let file =
            file(json!({ "settings": asked }), &Setup { version: "17.6 (Debian 17.6-1)".into(), ..Setup::default() });
        let active: Vec<&str> = file.text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(active, ["shared_buffers = '1GB'", "synchronous_commit = 'off'"]);
        assert_eq!(file.text.lines().count(), 7, "{}", file.text);
        assert_eq!(file.path, "/etc/postgresql/17/main/conf.d/surefoot.conf");
        assert!(file.checks[0].contains("IN ('shared_buffers', 'synchronous_commit')"), "{:?}", file.checks);
    }

    #[test]
    fn a_log_on_its_own_volume_is_moved_there() {
        let setup = Setup { data: "/MOUNTPOINT/data".into(), log: Some("/MOUNTPOINT-wal".into()), ..Setup::default() };
        let file = file(json!({}), &setup);
        assert_eq!(file.text, "");
        assert_eq!(
            file.before[1],
            "mv /MOUNTPOINT/data/pg_wal /MOUNTPOINT-wal/pg_wal && ln -s /MOUNTPOINT-wal/pg_wal /MOUNTPOINT/data/pg_wal"
        );
        assert_eq!(file.checks, ["readlink /MOUNTPOINT/data/pg_wal  # must be /MOUNTPOINT-wal/pg_wal"]);
    }

    #[test]
    fn a_standby_needs_what_its_primary_has() {
        let file = file(
            json!({ "settings": { "max_connections": 20 }, "checksums": true, "version": "15" }),
            &Setup::default(),
        );
        assert_eq!(file.before[0], "# The data directory was made by: initdb --data-checksums");
        assert!(file.before[1].ends_with("has more of these: max_connections"), "{:?}", file.before);
    }
}
