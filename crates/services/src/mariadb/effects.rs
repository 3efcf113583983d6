//! What of an option file is in effect: the server's variables beside what was asked, and what its messages say of it.

use super::options::plain;
use crate::effect::{self, Effects};
use crate::service::{Error, is_among};
use std::collections::{BTreeMap, BTreeSet};
use wire::Connection as _;
use wire::mysql::Mysql as Client;

/// Variables that are facts of every trial.
const SHOWN: &str = "version innodb_flush_log_at_trx_commit innodb_flush_method innodb_doublewrite \
     innodb_buffer_pool_size innodb_page_size character_set_server log_bin sync_binlog tmpdir";

/// Options whose variables have other names.
const OTHER_NAMES: &str = "default_time_zone=time_zone memlock=locked_in_memory table_cache=table_open_cache \
     transaction_isolation=tx_isolation transaction_read_only=tx_read_only";

/// Options that no variable shows: the server took one, or it would not have started.
const UNSHOWN: &str = "binlog_do_db binlog_ignore_db binlog_row_event_max_size character_set_client_handshake \
     early_plugin_load external_locking feedback innodb_status_file performance_schema_instrument plugin_load \
     plugin_load_add safe_user_create skip_character_set_client_handshake skip_host_cache skip_slave_start skip_ssl \
     skip_stack_trace skip_symbolic_links ssl stack_trace symbolic_links sysdate_is_now temp_pool";

/// More of them begin so.
const UNSHOWN_CONSUMERS: &str = "performance_schema_consumer_";

/// How the servers say of an option that they took it for nothing.
const NOTHING: &[&str] = &["does nothing", "has no effect", "ignored deprecated configuration parameter"];

/// Asks what is in effect; `messages` are the server's since its start.
pub fn ask(client: &mut Client, asked: &BTreeMap<String, String>, messages: &str) -> Result<Effects, Error> {
    let failed = |source| Error::Asked { server: "mariadb", action: "say its settings".into(), source };
    let rows = client.query("SHOW GLOBAL VARIABLES").map_err(failed)?.rows;
    let pair = |row: Vec<Option<String>>| match <[_; 2]>::try_from(row) {
        Ok([Some(name), Some(value)]) => Some((name, value)),
        _ => None,
    };
    Ok(judge(asked, &rows.into_iter().filter_map(pair).collect(), messages))
}

fn judge(asked: &BTreeMap<String, String>, variables: &BTreeMap<String, String>, messages: &str) -> Effects {
    let fact = |name: &str| Some((format!("mariadb.{name}"), variables.get(name)?.clone()));
    let mut effects = Effects { facts: SHOWN.split(' ').filter_map(fact).collect(), ..Effects::default() };
    for (name, value) in asked {
        let known = plain(name);
        let found = variables.get(&known).or_else(|| {
            let mut others = OTHER_NAMES.split(' ').filter_map(|names| names.split_once('='));
            variables.get(others.find(|(option, _)| *option == known)?.1)
        });
        effects.facts.extend(found.map(|found| (format!("mariadb.{known}"), found.clone())));
        let said = messages.lines().find(|line| is_of_nothing(line, &known));
        let is_unshown = is_among(&known, UNSHOWN) || known.starts_with(UNSHOWN_CONSUMERS);
        let problem = match (said, found) {
            (Some(line), _) => format!("mariadb takes {name} for nothing: {}", line.trim()),
            (None, Some(found)) if effect::same(value, found, 1.0) || has_flags(found, value) => continue,
            (None, Some(found)) => format!("mariadb runs with {name} = {found}, where {value} was asked"),
            (None, None) if is_unshown => continue,
            (None, None) => format!(
                "mariadb has no variable {name}, by which it could be asked whether {value} is in effect: write the name of the variable in full"
            ),
        };
        effects.ineffective.push(problem);
    }
    effects
}

/// Names for several modes of `sql_mode`, which stand beside these (both manuals, "SQL Mode").
const MODES: &str = "ANSI DB2 MAXDB MSSQL MYSQL323 MYSQL40 ORACLE POSTGRESQL TRADITIONAL";

/// Whether a variable has these flags. A server shows them in an order of its own, and of `optimizer_switch` those that it was not given, too.
fn has_flags(found: &str, asked: &str) -> bool {
    let flags = |text: &str| text.split(',').map(|flag| flag.trim().to_ascii_uppercase()).collect::<BTreeSet<_>>();
    let (found, asked) = (flags(found), flags(asked));
    let shows_more = asked.iter().any(|flag| flag.contains('=') || is_among(flag, MODES));
    if shows_more { found.is_superset(&asked) } else { found == asked }
}

/// Whether a line of its messages says that this option does nothing.
fn is_of_nothing(line: &str, name: &str) -> bool {
    let line = plain(line);
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(|word| word.trim_matches('_'));
    NOTHING.iter().any(|nothing| line.contains(nothing)) && words.any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
    }

    fn ineffective(name: &str, value: &str, messages: &str) -> Vec<String> {
        let variables = table(&[
            ("innodb_doublewrite", "ON"),
            ("innodb_log_file_size", "100663296"),
            ("max_connections", "10"),
            ("tx_isolation", "READ-COMMITTED"),
            ("optimizer_switch", "index_merge=on,mrr=off,mrr_cost_based=off"),
            ("sql_mode", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"),
        ]);
        judge(&table(&[(name, value)]), &variables, messages).ineffective
    }

    #[test]
    fn what_no_variable_shows_is_not_taken_for_granted() {
        for (name, value) in [
            ("innodb-doublewrite", "1"),
            ("transaction-isolation", "read-committed"),
            ("plugin_load_add", "auth_socket"),
            ("performance_schema_consumer_events_waits_current", "on"),
            ("optimizer_switch", "mrr=off, index_merge=on"),
            ("sql_mode", "NO_ENGINE_SUBSTITUTION, strict_trans_tables"),
        ] {
            assert_eq!(ineffective(name, value, ""), [""; 0], "{name}");
        }
        for less in ["STRICT_TRANS_TABLES", "NO_ENGINE_SUBSTITUTION,ANSI_QUOTES", ""] {
            assert_eq!(ineffective("sql_mode", less, "").len(), 1, "{less}");
        }
        let changed = ineffective("max_connections", "5", "");
        assert_eq!(changed, ["mariadb runs with max_connections = 10, where 5 was asked"]);
        assert_eq!(ineffective("optimizer_switch", "mrr=on,index_merge=on", "").len(), 1);
        // The beginning of a name is enough for MariaDB, and its variable is not found by it.
        let begun = ineffective("innodb_flush_log_at_trx", "2", "");
        assert!(begun[0].contains("has no variable innodb_flush_log_at_trx"), "{begun:?}");
    }

    #[test]
    fn one_name_stands_for_several_modes() {
        let shown = "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI";
        assert!(
            has_flags(shown, "ansi") && has_flags(&format!("STRICT_TRANS_TABLES,{shown}"), "ANSI,STRICT_TRANS_TABLES")
        );
        assert!(!has_flags(shown, "TRADITIONAL") && !has_flags(shown, "ANSI_QUOTES"));
    }

    /// The lines are MariaDB 10.11's and MySQL 8.4's.
    #[test]
    fn what_the_messages_call_nothing_is_not_in_effect() {
        let removed = "2026-12-01 10:00:00 0 [Warning] 'innodb-buffer-pool-instances' was removed. It does nothing now and exists only for compatibility with old my.cnf files.\n";
        let said = ineffective("innodb_buffer_pool_instances", "8", removed);
        assert!(said[0].contains("takes innodb_buffer_pool_instances for nothing"), "{said:?}");
        let ignored = "2026-12-01T10:00:00.1Z 1 [Warning] [MY-013869] [InnoDB] Ignored deprecated configuration parameter innodb_log_file_size. Used innodb_redo_log_capacity instead.\n";
        assert!(ineffective("innodb_log_file_size", "96M", ignored)[0].contains("for nothing"));
        assert_eq!(ineffective("innodb_doublewrite", "1", removed), [""; 0], "another's line");
    }
}
