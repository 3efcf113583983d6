//! MariaDB's and MySQL's settings for a server that has data, replicas and option files of its own.

use super::options::plain;
use crate::applied::held_back;
use crate::service::FreeSettings;
use settings::configuration::{Configuration, Setup};

/// Beginnings of settings of a data directory that is made anew: with another value a server that has data does not start, or does not
/// find its tables (MariaDB's knowledge base, "InnoDB System Variables", "Aria System Variables" and "File Key Management"; MySQL's manual,
/// `lower_case_table_names`).
const OF_NEW_DATA: &str = "innodb_page_size innodb_checksum_algorithm innodb_data_file_path innodb_data_home_dir \
     innodb_undo_tablespaces innodb_undo_directory innodb_encrypt_ file_key_management plugin_load \
     lower_case_table_names aria_log_dir_path";

/// Beginnings of settings that replicas, and backups up to a point in time, go by (both manuals, "Replication and Binary Logging").
const OF_REPLICATION: &str = "server_id server_uuid log_bin log_basename log_slave_updates log_replica_updates \
     binlog_format binlog_do_db binlog_ignore_db binlog_expire_logs expire_logs_days max_binlog_total_size relay_log \
     replicate_ replica_ slave_ skip_replica_start skip_slave_start master_ source_ gtid_ enforce_gtid_consistency \
     rpl_ wsrep_";

const NEW_DATA: &str = "Only of a data directory that is made anew, never of one that has data:";

const REPLICATION: &str = "Only where nothing goes by it yet. Each server has a server_id of its own, and a binary \
     log keeps its name and place: replicas and backups look for its files.";

/// The option file, and the way to a log on a volume of its own.
pub fn files(settings: &FreeSettings, keeps_binary_log: bool, setup: &Setup) -> Vec<Configuration> {
    let (mut active, mut of_new_data, mut of_replication) = (Vec::new(), Vec::new(), Vec::new());
    let mut names: Vec<String> = Vec::new();
    for (name, value) in &**settings {
        let line = format!("{name} = {value}");
        let name = plain(name);
        if begins(&name, OF_NEW_DATA) {
            of_new_data.push(line);
        } else if begins(&name, OF_REPLICATION) {
            of_replication.push(line);
        } else {
            active.push(line);
            names.push(name);
        }
    }
    if let Some(log) = &setup.log {
        active.push(format!("innodb_log_group_home_dir = {log}"));
        names.push("innodb_log_group_home_dir".into());
    }
    if keeps_binary_log {
        let folder = setup.log.as_ref().map_or(String::new(), |log| format!("{log}/"));
        of_replication.push(format!("log_bin = {folder}binary-log"));
        names.extend(["log_bin", "log_bin_basename", "server_id"].map(String::from));
    }
    if active.is_empty() && of_new_data.is_empty() && of_replication.is_empty() {
        return Vec::new();
    }
    let active: String = active.into_iter().map(|line| line + "\n").collect();
    let held_back = held_back(NEW_DATA, &of_new_data) + &held_back(REPLICATION, &of_replication);
    let server = Server::of(setup);
    let (path, mut before) = (server.file.into(), move_log(&server, setup));
    before.extend(server.own_log.filter(|_| !keeps_binary_log).map(String::from));
    let after = vec![format!("{}  # before the server is started again: no error may be said", server.validate)];
    let checks = (!names.is_empty()).then(|| ask(&server, &names)).into_iter().collect();
    vec![Configuration { path, before, text: format!("[mysqld]\n{active}{held_back}"), after, checks }]
}

/// What the two servers have under other names.
struct Server {
    /// Read last of its folder.
    file: &'static str,
    validate: &'static str,
    client: &'static str,
    /// Its log in the data folder, as a shell takes it.
    log: &'static str,
    /// What to know where none was kept: of a server that keeps a binary log unless it is told otherwise.
    own_log: Option<&'static str>,
}

impl Server {
    /// MySQL's packages read no folder of MariaDB's. Its log has a folder of its own since 8.0.30 (its manual, "Redo Log").
    fn of(setup: &Setup) -> Server {
        if setup.version.is_empty() || setup.version.contains("MariaDB") {
            return Server {
                file: "/etc/mysql/mariadb.conf.d/90-surefoot.cnf",
                validate: "mariadbd --verbose --help > /dev/null",
                client: "mariadb",
                log: "ib_logfile*",
                own_log: None,
            };
        }
        Server {
            file: "/etc/mysql/mysql.conf.d/zz-surefoot.cnf",
            validate: "mysqld --validate-config",
            client: "mysql",
            log: "'#innodb_redo'  # before 8.0.30: ib_logfile*",
            own_log: Some(
                "# Measured without a binary log, which MySQL keeps, and flushes at each commit, unless skip_log_bin is set.",
            ),
        }
    }
}

/// InnoDB does not start with tables whose log it does not find.
fn move_log(server: &Server, setup: &Setup) -> Vec<String> {
    let Some(log) = &setup.log else { return Vec::new() };
    vec![
        "# While the server is stopped, as it does not start without its log:".into(),
        format!("chown mysql: {log}"),
        format!("mv -t {log} {}/{}", setup.data, server.log),
        "# Where AppArmor or SELinux holds the server to its folders, this one is added to them.".into(),
    ]
}

/// The command that asks for these variables.
fn ask(server: &Server, names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("{} -e \"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})\"", server.client, names.join(", "))
}

fn begins(name: &str, beginnings: &str) -> bool {
    beginnings.split(' ').any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use crate::applied;
    use serde_json::{Value, json};
    use settings::configuration::{Configuration, Setup};

    fn file(recorded: Value, setup: &Setup) -> Configuration {
        applied::tests::file("mariadb", recorded, setup)
    }

    /// A replica whose primary has the number 1 skips all that comes from there, or is refused; a log of another name is a gap.
    #[test]
    fn a_binary_log_keeps_its_name_and_a_server_its_number() {
        let asked =
            json!({ "binary_log": true, "settings": { "sync_binlog": 1, "server-id": 7, "skip_slave_start": 1 } });
        let file = file(asked, &Setup::default());
        let active: Vec<&str> = file.text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(active, ["[mysqld]", "sync_binlog = 1"]);
        for held_back in ["# server-id = 7", "# skip_slave_start = 1", "# log_bin = binary-log"] {
            assert!(file.text.lines().any(|line| line == held_back), "no {held_back}: {}", file.text);
        }
        assert!(
            file.checks[0].contains("'sync_binlog', 'log_bin', 'log_bin_basename', 'server_id'"),
            "{:?}",
            file.checks
        );
    }

    /// With another page size InnoDB does not open tables that are there.
    #[test]
    fn what_holds_for_new_data_is_not_put_on_old_ones() {
        let asked = json!({ "settings": { "innodb-page-size": "8K", "lower_case_table_names": 1, "innodb_undo_tablespaces": 3,
                                          "innodb_log_file_size": "512M", "skip_name_resolve": 1 } });
        let file = file(asked, &Setup::default());
        let active: Vec<&str> = file.text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(active, ["[mysqld]", "innodb_log_file_size = 512M", "skip_name_resolve = 1"]);
        assert!(
            file.text
                .contains("# innodb-page-size = 8K\n# innodb_undo_tablespaces = 3\n# lower_case_table_names = 1\n")
        );
        assert!(file.checks[0].ends_with("IN ('innodb_log_file_size', 'skip_name_resolve')\""), "{:?}", file.checks);
    }

    #[test]
    fn a_log_on_its_own_volume_is_moved_there_and_named() {
        let setup = Setup {
            version: "10.11.14-MariaDB-0+deb12u2".into(),
            data: "/MOUNTPOINT/data".into(),
            log: Some("/MOUNTPOINT-wal".into()),
        };
        let file = file(json!({ "binary_log": true }), &setup);
        assert!(file.text.contains("\ninnodb_log_group_home_dir = /MOUNTPOINT-wal\n"), "{}", file.text);
        assert!(file.text.contains("\n# log_bin = /MOUNTPOINT-wal/binary-log\n"), "{}", file.text);
        assert_eq!(file.before[2], "mv -t /MOUNTPOINT-wal /MOUNTPOINT/data/ib_logfile*");
    }

    #[test]
    fn mysql_reads_other_folders_than_mariadb() {
        let setup = Setup { version: "8.4.6".into(), data: "/d".into(), log: Some("/l".into()) };
        let file = file(json!({ "settings": { "sort_buffer_size": "1M" } }), &setup);
        assert_eq!(file.path, "/etc/mysql/mysql.conf.d/zz-surefoot.cnf");
        assert!(file.checks[0].starts_with("mysql -e"), "{:?}", file.checks);
        assert!(file.before[2].starts_with("mv -t /l /d/'#innodb_redo'"), "{:?}", file.before);
    }

    /// MySQL's manual, "The Binary Log": it is on by default, with `sync_binlog` = 1. Its commits were slower than those that were measured.
    #[test]
    fn a_binary_log_that_was_not_measured_is_told_of_where_there_is_one() {
        let says = |version: &str, binary_log: bool| {
            let setup = Setup { version: version.into(), ..Setup::default() };
            let asked = json!({ "binary_log": binary_log, "settings": { "sort_buffer_size": "1M" } });
            file(asked, &setup).before.concat().contains("without a binary log")
        };
        assert!(says("8.4.6", false) && !says("8.4.6", true) && !says("10.11.14-MariaDB", false));
    }
}
