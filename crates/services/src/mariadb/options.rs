//! Options of MariaDB and MySQL by their names: whose they are, what they decide, and what they do to durability.
//!
//! No server is asked here.

use crate::service::{is_among, is_name};
use observe::durability::{Class, Durability};
use std::collections::BTreeMap;

/// Settings that surefoot itself needs.
const OURS: &str =
    "datadir socket skip_networking port bind_address pid_file log_error innodb_log_group_home_dir log_bin user";

/// Folders of what a recovery goes by. A trial's are on its filesystem: in one of the machine's each trial found what the one before had left,
/// and no power cut is tried there.
const ELSEWHERE: &str = "innodb_data_home_dir innodb_undo_directory innodb_doublewrite_dir aria_log_dir_path";

/// Settings by which a single statement is no transaction of its own, with their values by which it is. Loads begin and commit what is more.
const OF_COMMITS: [(&str, &[&str]); 2] =
    [("autocommit", &["on", "true", "1"]), ("completion_type", &["no_chain", "0"])];

/// Settings that decide what a load leaves in the files, and so belong to a template: the layout of files and pages, what tables are
/// made with where they do not say it themselves, and the statistics that are stored with them.
const FORMAT: &str = "innodb_page_size innodb_file_per_table innodb_checksum_algorithm innodb_compression_default \
     innodb_compression_algorithm innodb_compression_level innodb_data_file_path innodb_undo_tablespaces \
     innodb_log_file_size innodb_redo_log_capacity innodb_default_row_format innodb_strict_mode innodb_fill_factor \
     innodb_encrypt_tables innodb_encrypt_log innodb_stats_persistent innodb_stats_persistent_sample_pages \
     lower_case_table_names default_storage_engine character_set_server character_set_collations collation_server \
     explicit_defaults_for_timestamp sql_mode use_stat_tables histogram_size histogram_type analyze_sample_percentage \
     plugin_load plugin_load_add";

/// How the names of the settings of MariaDB's key file begin, without which nothing is encrypted.
const OF_KEYS: &str = "file_key_management";

/// Beginnings that are no part of a name: with one, a server takes a setting the other way round, for a limit, or for nothing where it
/// does not know it (MySQL's manual, "Program Option Modifiers").
const MODIFIERS: &[&str] = &["loose_", "skip_", "disable_", "enable_", "maximum_"];

/// Names that begin so by themselves.
const WHOLE_NAMES: &str = "skip_character_set_client_handshake skip_external_locking skip_grant_tables \
     skip_host_cache skip_name_resolve skip_replica_start skip_show_database skip_slave_start skip_ssl \
     skip_stack_trace skip_symbolic_links";

/// Flush methods that flush data files. `littlesync`, `nosync` and `O_DIRECT_NO_FSYNC` do not, and each has a number, too (InnoDB's source,
/// `srv_flush_t`).
const FLUSHED: &[&str] = &["fsync", "O_DSYNC", "O_DIRECT"];

/// Checksums by which recovery finds a torn page. `none` and `strict_none` are none, and have numbers, too.
const CHECKSUMS: &[&str] = &["crc32", "strict_crc32", "innodb", "strict_innodb", "full_crc32", "strict_full_crc32"];

/// A log that is flushed within this time has lost the last seconds; what waits longer is not called so.
const LAST_SECONDS_MAX: f64 = 10.0;

/// `-` and `_` are one in option files.
pub fn plain(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// Whether it decides what a load leaves in the files.
pub fn is_format(name: &str) -> bool {
    let name = plain(name);
    is_among(&name, FORMAT) || name.starts_with(OF_KEYS)
}

/// What is wrong with a setting as a line of an option file.
pub fn problem(name: &str, value: &str) -> Option<String> {
    let known = plain(name);
    if is_among(&known, OURS) {
        return Some(format!("settings.{name}: surefoot sets it itself"));
    }
    if is_among(&known, ELSEWHERE) {
        return Some(format!("settings.{name}: a trial's files lie on the filesystem under test: leave it out"));
    }
    if !is_name(name) || value.contains(['\n', '\r']) {
        return Some(format!("settings.{name}: {value:?} is not one setting's value"));
    }
    let alone = OF_COMMITS.iter().find(|(name, _)| *name == known);
    if alone.is_some_and(|(_, alone)| !alone.iter().any(|word| word.eq_ignore_ascii_case(value.trim()))) {
        return Some(format!(
            "settings.{name}: with {value} a load's single statements are committed together or never: leave it out"
        ));
    }
    let modifier = MODIFIERS.iter().find(|modifier| known.starts_with(**modifier))?;
    let is_whole = is_among(&known, WHOLE_NAMES);
    (!is_whole).then(|| {
        format!("settings.{name}: `{modifier}` is no part of a setting's name: write the setting itself, and its value")
    })
}

/// MariaDB's knowledge base, "InnoDB system variables" and "Replication and binary log system variables"; MySQL's manual, "InnoDB
/// startup options and system variables". Only a value that is known to keep a promise has it.
pub fn durability(settings: &BTreeMap<String, String>, has_binary_log: bool) -> Durability {
    let value = |wanted: &str| {
        settings.iter().find(|(name, _)| plain(name) == wanted).map(|(_, value)| value.trim().to_string())
    };
    let is_one = |value: &str, known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(value));
    let other_than = |name: &str, safe: &[&str]| value(name).filter(|value| !is_one(value, safe));
    let may_corrupt = |reason: String| Durability::because(Class::MayCorrupt, reason);
    for name in ["default_storage_engine", "enforce_storage_engine"] {
        if let Some(engine) = other_than(name, &["innodb"]) {
            return may_corrupt(format!(
                "{name} = {engine}: tables without an engine of their own have no log of InnoDB's"
            ));
        }
    }
    if let Some(value) = other_than("debug_no_sync", &["off", "false", "0"]) {
        return may_corrupt(format!("debug_no_sync = {value}: the server never flushes"));
    }
    // MySQL's DETECT_ONLY keeps no copy of a page.
    if let Some(value) = other_than("innodb_doublewrite", &["on", "true", "1", "detect_and_recover"]) {
        let is_fast = value.eq_ignore_ascii_case("fast");
        let why = if is_fast { "data files are not flushed" } else { "a page torn by a power cut is not repaired" };
        return may_corrupt(format!("innodb_doublewrite = {value}: {why}"));
    }
    if let Some(value) = other_than("innodb_checksum_algorithm", CHECKSUMS) {
        return may_corrupt(format!("innodb_checksum_algorithm = {value}: recovery takes a torn page for a whole one"));
    }
    // The older name of `none`, which MariaDB knows up to 10.5.
    if let Some(value) = other_than("innodb_checksums", &["on", "true", "1"]) {
        return may_corrupt(format!("innodb_checksums = {value}: recovery takes a torn page for a whole one"));
    }
    if let Some(value) = other_than("innodb_log_checksums", &["on", "true", "1"]) {
        return may_corrupt(format!("innodb_log_checksums = {value}: recovery takes a torn log for a whole one"));
    }
    if let Some(method) = other_than("innodb_flush_method", FLUSHED) {
        return may_corrupt(format!("innodb_flush_method = {method}: data files are not flushed"));
    }
    // Where nobody names another, it takes O_DIRECT_NO_FSYNC before MySQL 8.4 (MySQL's manual, "What Is New in MySQL 8.4").
    let chosen = other_than("innodb_dedicated_server", &["off", "false", "0"]);
    if let Some(is_on) = chosen.filter(|_| value("innodb_flush_method").is_none()) {
        return may_corrupt(format!(
            "innodb_dedicated_server = {is_on}: before MySQL 8.4 data files are not flushed (name an innodb_flush_method)"
        ));
    }
    // 3 flushes once more than 1.
    if let Some(at) = other_than("innodb_flush_log_at_trx_commit", &["1", "3"]) {
        let seconds = value("innodb_flush_log_at_timeout").unwrap_or("1".into());
        let is_soon = seconds.parse().is_ok_and(|seconds: f64| seconds <= LAST_SECONDS_MAX);
        let class = if is_soon { Class::LosesRecent } else { Class::LosesAll };
        let how = format!("the log is flushed every {seconds} s (innodb_flush_log_at_timeout)");
        return Durability::because(class, format!("innodb_flush_log_at_trx_commit = {at}: {how}"));
    }
    if has_binary_log && value("sync_binlog").as_deref() != Some("1") {
        let why =
            "sync_binlog is not 1: commits wait for no flush of the binary log, which recovery and replicas go by";
        return Durability::because(Class::LosesRecent, why);
    }
    Durability::full()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> BTreeMap<String, String> {
        let pairs = text.split(", ").filter_map(|pair| pair.split_once(" = "));
        pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn class(text: &str) -> Class {
        durability(&settings(text), false).class
    }

    #[test]
    fn settings_decide_durability() {
        assert_eq!(class(""), Class::KeepsAcknowledged);
        assert_eq!(class("innodb_flush_log_at_trx_commit = 2"), Class::LosesRecent);
        assert_eq!(class("innodb_flush_log_at_trx_commit = 3"), Class::KeepsAcknowledged);
        // InnoDB's source, `srv_flush_t`: each has a number (3 is nosync), and littlesync flushes the log alone.
        for unflushed in ["nosync", "O_DIRECT_NO_FSYNC", "littlesync", "3"] {
            assert_eq!(class(&format!("innodb_flush_method = {unflushed}")), Class::MayCorrupt, "{unflushed}");
        }
        for flushed in ["fsync", "o_dsync", "O_DIRECT"] {
            assert_eq!(class(&format!("innodb_flush_method = {flushed}")), Class::KeepsAcknowledged, "{flushed}");
        }
        assert_eq!(class("default-storage-engine = Aria"), Class::MayCorrupt);
        assert_eq!(class("enforce_storage_engine = Aria"), Class::MayCorrupt);
        assert_eq!(class("enforce_storage_engine = InnoDB"), Class::KeepsAcknowledged);
        // ha_innodb.cc of MySQL 8.0: by itself it chooses O_DIRECT_NO_FSYNC.
        assert_eq!(class("innodb-dedicated-server = ON"), Class::MayCorrupt);
        assert_eq!(class("innodb_dedicated_server = 1, innodb_flush_method = fsync"), Class::KeepsAcknowledged);
        assert_eq!(class("innodb_dedicated_server = off"), Class::KeepsAcknowledged);
        assert_eq!(class("debug_no_sync = ON"), Class::MayCorrupt);
        let with_log = |text: &str| durability(&settings(text), true).class;
        assert_eq!(with_log(""), Class::LosesRecent);
        assert_eq!(with_log("sync-binlog = 1"), Class::KeepsAcknowledged);
    }

    /// MySQL's manual of `innodb_doublewrite`, and MariaDB's.
    #[test]
    fn only_a_full_doublewrite_keeps_pages_whole() {
        for whole in ["ON", "true", "1", "DETECT_AND_RECOVER"] {
            assert_eq!(class(&format!("innodb_doublewrite = {whole}")), Class::KeepsAcknowledged, "{whole}");
        }
        for torn in ["OFF", "0", "DETECT_ONLY", "fast", "2"] {
            assert_eq!(class(&format!("innodb-doublewrite = {torn}")), Class::MayCorrupt, "{torn}");
        }
    }

    /// MySQL's manual: with `none` pages are not checked, and the doublewrite buffer repairs what a check finds.
    #[test]
    fn what_is_not_checked_is_not_repaired() {
        for unchecked in [
            "innodb_checksum_algorithm = NONE",
            "innodb-checksum-algorithm = strict_none",
            "innodb_checksum_algorithm = 4",
            "innodb_checksums = OFF",
            "innodb_log_checksums = OFF",
        ] {
            assert_eq!(class(unchecked), Class::MayCorrupt, "{unchecked}");
        }
        for checked in ["innodb_checksum_algorithm = crc32", "innodb_checksums = 1", "innodb_log_checksums = on"] {
            assert_eq!(class(checked), Class::KeepsAcknowledged, "{checked}");
        }
    }

    #[test]
    fn minutes_are_not_the_last_seconds() {
        let of = |seconds: u32| {
            let text = format!("innodb_flush_log_at_trx_commit = 0, innodb_flush_log_at_timeout = {seconds}");
            durability(&settings(&text), true)
        };
        assert_eq!((of(1).class, of(10).class), (Class::LosesRecent, Class::LosesRecent));
        assert_eq!((of(11).class, of(2700).class), (Class::LosesAll, Class::LosesAll));
        assert!(of(600).reasons[0].contains("every 600 s"), "{:?}", of(600));
    }

    #[test]
    fn a_beginning_that_turns_a_name_round_is_refused() {
        let turned = ["skip_innodb_doublewrite", "loose-datadir", "Disable-log-bin", "maximum_sort_buffer_size"];
        for name in turned {
            let problem = problem(name, "1").expect(name);
            assert!(problem.contains("no part of a setting's name"), "{problem}");
        }
        // With an address or port of its own, a server is not where the load looks for it, or open to others than an agent.
        for ours in ["pid-file", "port", "Bind-Address"] {
            assert_eq!(problem(ours, "x"), Some(format!("settings.{ours}: surefoot sets it itself")));
        }
        // Pages torn by a power cut were repaired from copies that no power cut had met.
        for elsewhere in ["innodb-doublewrite-dir", "innodb_undo_directory", "Aria_Log_Dir_Path"] {
            let problem = problem(elsewhere, "/dev/shm").expect(elsewhere);
            assert!(problem.ends_with("on the filesystem under test: leave it out"), "{problem}");
        }
        assert!(problem("max_connections", "5\nloose_innodb_doublewrite = 0").is_some());
        assert!(problem("!include", "/etc/my.cnf").is_some());
        for name in ["skip_name_resolve", "skip-external-locking", "innodb_doublewrite", "enabled"] {
            assert_eq!(problem(name, "1"), None, "{name}");
        }
    }

    /// Both manuals, `autocommit` and `completion_type`: `sql-bench` and `three-n-plus-one` counted as commits what was committed together.
    #[test]
    fn single_statements_are_commits() {
        for off in ["0", "off", "FALSE"] {
            assert!(problem("AutoCommit", off).expect(off).contains("committed together or never"), "{off}");
        }
        assert!(problem("completion-type", "CHAIN").is_some() && problem("completion_type", "1").is_some());
        for (name, on) in [("autocommit", "1"), ("autocommit", "on"), ("completion_type", "NO_CHAIN")] {
            assert_eq!(problem(name, on), None, "{name} = {on}");
        }
    }

    #[test]
    fn what_tables_are_made_with_belongs_to_a_template() {
        for name in ["character-set-server", "collation_server", "sql_mode", "file_key_management_filename"] {
            assert!(is_format(name), "{name}");
        }
        // MariaDB's manual, "Histogram-Based Statistics": ANALYZE TABLE makes them, and that ends a load.
        assert!(is_format("histogram_size") && is_format("Histogram-Type") && is_format("analyze_sample_percentage"));
        assert!(!is_format("innodb_buffer_pool_size"));
    }
}
