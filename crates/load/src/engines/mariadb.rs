//! MariaDB or MySQL with InnoDB under a load.

use crate::process;
use crate::sql::{
    COMMON, Cell, Counters, Database, Dialect, DumpForm, Engine, NextRow, PLAIN, Place, Remote, Sql, failed, same,
    server, socket,
};
use crate::workload::Error;
use observe::durability::Class;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::Connection;
use wire::mysql::Mysql as Client;

const NAME: &str = ENGINE.name;

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "mariadb",
    page_bytes: 16_384,
    sql: Some(Sql {
        open: |_| Box::new(MariaDb),
        dumps: &[DumpForm {
            what: "a text of mysqldump",
            marks: &[b"MySQL dump", b"MariaDB dump"],
            end: Some("-- Dump completed"),
            elsewhere: &["USE ", "CREATE DATABASE "],
            beside: None,
            undone_by: None,
            without: "name one database, without --databases",
        }],
        has_unnamed_statements: false,
        takes_several_statements: false,
        remote: Some(Remote {
            schemes: &["mysql", "mariadb"],
            port: 3306,
            user: "root",
            password_variable: "MYSQL_PWD",
            socket_option: ("socket", "/run/mysqld/mysqld.sock"),
            socket: |file, _| file.into(),
            connect: |address, user, password, database| {
                Ok(Box::new(Client::connect_to(address, user, password.unwrap_or_default(), database)?))
            },
        }),
        logs: &["general", "slow"],
        weakening: &[
            ("INNODB_FLUSH_LOG_AT_TRX_COMMIT", Class::LosesRecent, "a commit may not wait for its flush"),
            // MySQL's, for bulk loads.
            ("DISABLE INNODB REDO_LOG", Class::MayCorrupt, "there is no log to recover from"),
            // A page of a blog has `aria-label`, and a table of machines a column `memory`.
            ("ENGINE MYISAM", Class::MayCorrupt, "such tables have no log"),
            ("ENGINE ARIA", Class::MayCorrupt, "such tables have no transactions"),
            ("ENGINE MEMORY", Class::LosesAll, "such tables are empty after a crash"),
            // Its older name.
            ("ENGINE HEAP", Class::LosesAll, "such tables are empty after a crash"),
            ("ENGINE BLACKHOLE", Class::LosesAll, "such tables keep nothing"),
            ("ENGINE ARCHIVE", Class::MayCorrupt, "such tables have no log"),
            ("ENGINE CSV", Class::MayCorrupt, "such tables have no log"),
            // What holds for the whole server from then on. Who only asks for one, as whoever watches a server does, changes nothing.
            ("SET GLOBAL SYNC_BINLOG", Class::LosesRecent, "a commit may not wait for the binary log's flush"),
            ("SET PERSIST SYNC_BINLOG", Class::LosesRecent, "a commit may not wait for the binary log's flush"),
            ("SET GLOBAL INNODB_DOUBLEWRITE", Class::MayCorrupt, "a torn page may not be repaired"),
            ("SET PERSIST INNODB_DOUBLEWRITE", Class::MayCorrupt, "a torn page may not be repaired"),
            ("SET GLOBAL DEBUG_NO_SYNC", Class::MayCorrupt, "the server may no longer flush"),
            // MariaDB has its older name, too.
            ("STORAGE_ENGINE MYISAM", Class::MayCorrupt, "such tables have no log"),
            ("STORAGE_ENGINE ARIA", Class::MayCorrupt, "such tables have no transactions"),
            ("STORAGE_ENGINE MEMORY", Class::LosesAll, "such tables are empty after a crash"),
            ("DEFAULT_STORAGE_ENGINE MYISAM", Class::MayCorrupt, "such tables have no log"),
            ("DEFAULT_STORAGE_ENGINE ARIA", Class::MayCorrupt, "such tables have no transactions"),
            ("DEFAULT_STORAGE_ENGINE MEMORY", Class::LosesAll, "such tables are empty after a crash"),
        ],
        refused: &[
            ("SELECT INTO OUTFILE", OUTFILE),
            ("SELECT INTO DUMPFILE", OUTFILE),
            ("CREATE DATA DIRECTORY", ELSEWHERE),
            ("ALTER DATA DIRECTORY", ELSEWHERE),
        ],
        refused_beside_others: &[],
        refused_in_schema: &[],
    }),
    small_row_bytes: 105.0,
    power_cuts_of: &["oltp", "tpcb", "orders", "key-value"],
    unheard: |service| {
        let is_it = |name: &str| name.replace('-', "_").eq_ignore_ascii_case("default_storage_engine");
        let (name, engine) = service.get("settings")?.as_object()?.iter().find(|(name, _)| is_it(name))?;
        let is_theirs = engine.as_str().is_some_and(|engine| engine.trim().eq_ignore_ascii_case("innodb"));
        (!is_theirs).then(|| {
            format!(
                "its tables are InnoDB's, so that `service.mariadb.settings.{name}` has no effect: leave it out, or \
                 make your own with `sql`"
            )
        })
    },
    file_kind: |file| match file {
        redo if redo.contains("ib_logfile") || redo.contains("#innodb_redo/") => "redo log",
        log if log.contains("-bin.") || log.contains("binary-log.") => "binary log",
        system if system.contains("ibdata") => "system tablespace",
        table if table.ends_with(".ibd") => "table",
        undo if undo.contains("undo") => "undo log",
        _ => "other file",
    },
    ..PLAIN
};

/// Such a statement is refused, as each trial would meet the file of the one before.
const OUTFILE: &str =
    "it writes a file that is not on the filesystem under test, and is there already when it comes again: leave it out";

const DIALECT: Dialect = Dialect {
    identity: "INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY",
    timestamp: "DATETIME",
    tiny: "TINYINT",
    medium: "MEDIUMINT",
    float: "FLOAT",
    table: " ENGINE = InnoDB",
    table_bytewise: " ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    quotient: "DIV",
    indexes_in_tables: true,
    backslash_escapes: true,
    replacing: |_, column| format!("ON DUPLICATE KEY UPDATE {column} = VALUES({column})"),
    ..COMMON
};

/// A template holds the name of such a folder, so that each trial would go on with what the one before left in it.
const ELSEWHERE: &str = "such a table is not on the filesystem under test, and all trials share it: leave it out";

/// sysbench's own name for it.
const DATABASE: &str = "sbtest";

/// The client, as MariaDB's packages and as MySQL's have it.
const CLIENTS: [&str; 2] = ["mariadb", "mysql"];

/// An INSERT of about this size: well below `max_allowed_packet`.
const PIECE_BYTES: usize = 256 << 10;

/// Rows a transaction while loading.
const COMMIT_ROWS: u64 = 100_000;

/// A buffer pool is written out within this time, or the checkpoint counts as failed.
const CHECKPOINT_SECONDS_MAX: u64 = 120;

/// Settings while a checkpoint is made; the server's own come back after it.
const WHILE_CHECKPOINTING: [(&str, u32); 4] = [
    ("innodb_io_capacity_max", 1_000_000),
    ("innodb_io_capacity", 1_000_000),
    ("innodb_max_dirty_pages_pct_lwm", 0),
    ("innodb_max_dirty_pages_pct", 0),
];

/// A MariaDB or MySQL server.
pub struct MariaDb;

impl MariaDb {
    /// The tables for which this holds.
    fn listed(&self, place: &Place, condition: &str) -> Result<Vec<String>, Error> {
        let sql = format!(
            "SELECT concat('`', table_name, '`') FROM information_schema.tables \
             WHERE table_schema = '{DATABASE}' AND table_type = 'BASE TABLE' AND {condition} ORDER BY 1"
        );
        let answer = self.client(place)?.query(&sql).map_err(failed(NAME, "list its tables"))?;
        Ok(answer.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    fn client(&self, place: &Place) -> Result<Client, Error> {
        self.client_of(place, DATABASE)
    }

    fn client_of(&self, place: &Place, database: &str) -> Result<Client, Error> {
        let at = server(place, NAME)?;
        // Its socket lets root in without one.
        let password = at.password.as_deref().filter(|_| at.file().is_none()).unwrap_or_default();
        Client::connect_to(&at.address(), "root", password, database).map_err(failed(NAME, "take a connection"))
    }
}

/// Whether a row of CHECK TABLE says that the table's engine has no check, as MEMORY has none.
fn has_no_check(row: &[Option<String>]) -> bool {
    matches!(row, [.., Some(kind), Some(said)] if kind == "note" && said.ends_with("doesn't support check"))
}

/// How lines of a dump begin that say where a table or a part of it lies. Rows begin otherwise.
const OF_TABLE: [&str; 3] = [") ENGINE=", "(PARTITION ", " PARTITION "];

/// The first line of a dump that puts a table into a folder of the machine.
fn elsewhere(dump: &Path) -> Result<Option<String>, Error> {
    let text = std::fs::File::open(dump).map_err(Error::doing("read", dump))?;
    for line in BufReader::new(text).split(b'\n') {
        let line = line.map_err(Error::doing("read", dump))?;
        if OF_TABLE.iter().any(|begin| line.starts_with(begin.as_bytes())) {
            let line = String::from_utf8_lossy(&line);
            if line.contains(" DATA DIRECTORY") {
                return Ok(Some(line.trim().to_string()));
            }
        }
    }
    Ok(None)
}

/// How its client is asked to load a text. One that does not say its encoding, as by hand, is UTF-8: by itself the client asks the locale, which is C
/// here, and takes it for latin1.
fn to_load(client: &str, socket: &Path, dump: &Path) -> [String; 8] {
    let (socket, source) = (format!("--socket={}", socket.display()), format!("source {}", dump.display()));
    let encoding = "--default-character-set=utf8mb4";
    [client, "--no-defaults", &socket, "--user=root", encoding, DATABASE, "--execute", &source].map(String::from)
}

/// As a statement has it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

impl Database for MariaDb {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Connection>, Error> {
        Ok(Box::new(self.client(place)?))
    }

    fn create(&self, place: &Place) -> Result<(), Error> {
        let sql = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
        self.client_of(place, "")?.query(&sql).map(drop).map_err(failed(NAME, "make the database"))
    }

    fn load(&self, place: &Place, table: &str, columns: &[&str], next: NextRow) -> Result<(), Error> {
        let mut client = self.client(place)?;
        let head = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
        let (mut row, mut rows, mut more) = (Vec::new(), 0, true);
        let mut run = |sql: &str| client.query(sql).map(drop).map_err(failed(NAME, "load the rows"));
        run("SET autocommit = 0")?;
        while more {
            let mut sql = head.clone();
            while sql.len() < PIECE_BYTES {
                row.clear();
                more = next(&mut row);
                if !more {
                    break;
                }
                sql.push_str(if sql.len() == head.len() { "(" } else { ",(" });
                for (index, cell) in row.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    let _ = match cell {
                        Cell::Null => write!(sql, "{comma}NULL"),
                        Cell::Boolean(value) => write!(sql, "{comma}{value}"),
                        Cell::Integer(value) => write!(sql, "{comma}{value}"),
                        Cell::Double(value) => write!(sql, "{comma}{value:?}"),
                        Cell::Text(text) => write!(sql, "{comma}{}", quoted(text)),
                    };
                }
                sql.push(')');
                rows += 1;
            }
            if sql.len() > head.len() {
                run(&sql)?;
            }
            if rows >= COMMIT_ROWS {
                run("COMMIT")?;
                rows = 0;
            }
        }
        run("COMMIT")
    }

    /// By its own client, which says the line of what it refuses.
    fn load_dump(&self, place: &Place, dump: &Path, interrupted: &AtomicBool) -> Result<(), Error> {
        let socket = socket(place, NAME)?;
        if let Some(line) = elsewhere(dump)? {
            let problem = format!("`{line}`: {ELSEWHERE}");
            return Err(Error::Parameter { setting: "dump", problem });
        }
        let client = CLIENTS.into_iter().find(|client| process::find(client).is_some()).unwrap_or(CLIENTS[0]);
        process::succeed(&to_load(client, &socket, dump), Path::new("/"), interrupted)
    }

    fn tables(&self, place: &Place) -> Result<Vec<String>, Error> {
        self.listed(place, "true")
    }

    /// Of other engines than InnoDB: they have no log of their own, or no rows after a restart.
    fn unsafe_tables(&self, place: &Place) -> Result<Vec<String>, Error> {
        self.listed(place, "engine <> 'InnoDB'")
    }

    fn loaded(&self, place: &Place, tables: &[String]) -> Result<(), Error> {
        let mut client = self.client(place)?;
        let sql = format!("ANALYZE TABLE {}", tables.join(", "));
        client.query(&sql).map(drop).map_err(failed(NAME, "analyze its tables"))
    }

    /// InnoDB has no statement for it: with no dirty page allowed and all the I/O it wants, the page cleaner writes all of
    /// them out. At its default of 200 pages a second that took 35 s after each run.
    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        let mut client = self.client(place)?;
        let mut run = |sql: &str| client.query(sql).map_err(failed(NAME, "checkpoint"));
        let names = WHILE_CHECKPOINTING.map(|(name, _)| format!("@@{name}"));
        let before = run(&format!("SELECT {}", names.join(", ")))?.rows.first().cloned().unwrap_or_default();
        for (name, value) in WHILE_CHECKPOINTING {
            run(&format!("SET GLOBAL {name} = {value}"))?;
        }
        let deadline = Instant::now() + Duration::from_secs(CHECKPOINT_SECONDS_MAX);
        let mut dirty = i64::MAX;
        while dirty > 0 && Instant::now() < deadline {
            let answer = run("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
            dirty = answer.rows.first().and_then(|row| row.get(1)?.as_deref()?.parse().ok()).unwrap_or(0);
            if dirty > 0 {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        // Backwards, because a limit may not be below what it limits.
        for ((name, _), value) in WHILE_CHECKPOINTING.iter().zip(&before).rev() {
            value.as_ref().map(|value| run(&format!("SET GLOBAL {name} = {value}"))).transpose()?;
        }
        same("dirty pages after a checkpoint", "0", &dirty.to_string())
    }

    /// A checkpoint waits for the page cleaner, which looks once a second; this is InnoDB's other way ("FLUSH TABLES FOR EXPORT": changes
    /// to these tables are flushed to disk).
    fn write_out(&self, place: &Place, tables: &[String]) -> Result<(), Error> {
        let mut client = self.client(place)?;
        let mut run = |sql: &str| client.query(sql).map(drop).map_err(failed(NAME, "write its tables"));
        run(&format!("FLUSH TABLES {} FOR EXPORT", tables.join(", ")))?;
        run("UNLOCK TABLES")
    }

    fn check(&self, place: &Place, tables: &[String]) -> Result<(), Error> {
        let mut client = self.client(place)?;
        for table in tables {
            let answer = client.query(&format!("CHECK TABLE {table}")).map_err(failed(NAME, "check its tables"))?;
            let last = answer.rows.last().map_or(&[][..], Vec::as_slice);
            if !has_no_check(last) {
                let said = last.last().cloned().flatten().unwrap_or_default();
                same(&format!("CHECK TABLE {table}"), "OK", &said)?;
            }
        }
        Ok(())
    }

    fn question_of_health(&self, tables: &[String]) -> String {
        format!("CHECK TABLE {} EXTENDED", tables.join(", "))
    }

    /// It ends when no page is dirty.
    fn checkpoints_alone(&self) -> bool {
        true
    }

    fn counters(&self, place: &Place) -> Result<Counters, Error> {
        let mut client = self.client(place)?;
        let mut ask = |name: &str| -> Result<Option<f64>, Error> {
            let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
            let answer = client.query(&sql).map_err(failed(NAME, "say its status"))?;
            Ok(answer.rows.first().and_then(|row| row.get(1)?.as_deref()?.parse().ok()))
        };
        Ok(Counters {
            log_bytes: ask("Innodb_os_log_written")?,
            checkpoints: None,
            lock_waits: ask("Innodb_row_lock_waits")?,
            lock_wait_seconds: ask("Innodb_row_lock_time")?.map(|milliseconds| milliseconds * 1e-3),
        })
    }

    fn qualified(&self, table: &str) -> String {
        format!("{DATABASE}.{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_value_whatever_it_has() {
        assert_eq!(quoted("L'Aquila\\"), "'L''Aquila\\\\'");
    }

    #[test]
    fn a_text_without_an_encoding_is_utf_8() {
        let arguments = to_load("mariadb", Path::new("/run/m.sock"), Path::new("/my data/by hand.sql"));
        // Before anything else, `--no-defaults` has no effect otherwise.
        assert_eq!(arguments[1], "--no-defaults");
        assert!(arguments.contains(&"--default-character-set=utf8mb4".into()), "{arguments:?}");
        assert_eq!(arguments.last().map(String::as_str), Some("source /my data/by hand.sql"));
    }

    /// Lines of `mysqldump` of MySQL 8.4. Rows may say the same words.
    #[test]
    fn a_table_of_a_dump_in_a_folder_of_the_machine_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let dump = folder.path().join("shop.sql");
        let told = |line: &str| {
            let text =
                format!("CREATE TABLE `t` (\n  `a` int\n{line}\nINSERT INTO `t` VALUES\n('DATA DIRECTORY'),\n(2);\n");
            std::fs::write(&dump, text).expect("written");
            elsewhere(&dump).expect("read")
        };
        let apart = ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 DATA DIRECTORY='/mnt/shop/';";
        assert_eq!(told(apart).as_deref(), Some(apart));
        assert!(told("(PARTITION p0 VALUES LESS THAN (9) DATA DIRECTORY = '/mnt' ENGINE = InnoDB,").is_some());
        assert_eq!(told(") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='data directory';"), None);
    }

    /// Aria was measured in vain, and found to be as fast as InnoDB.
    #[test]
    fn an_engine_that_tables_of_a_load_do_not_take_is_told() {
        let said = |settings: serde_json::Value| {
            let service = serde_json::json!({ "settings": settings });
            (ENGINE.unheard)(service.as_object().expect("a table"))
        };
        let aria = said(serde_json::json!({ "Default-Storage-Engine": "Aria" })).expect("it does nothing");
        assert!(aria.contains("service.mariadb.settings.Default-Storage-Engine"), "{aria}");
        for heard in
            [serde_json::json!({ "default_storage_engine": "innodb" }), serde_json::json!({ "sync_binlog": 1 })]
        {
            assert_eq!(said(heard), None);
        }
    }

    /// As MariaDB 10.11 and MySQL 8.4 say it; what a check finds is an error, or a warning, and never a note.
    #[test]
    fn a_table_without_a_check_is_not_damaged() {
        let row = |kind: &str, said: &str| ["shop.t", "check", kind, said].map(|cell| Some(cell.to_string()));
        assert!(has_no_check(&row("note", "The storage engine for the table doesn't support check")));
        for (kind, said) in [("status", "OK"), ("error", "Corrupt"), ("note", "Table does not exist")] {
            assert!(!has_no_check(&row(kind, said)), "{said}");
        }
        assert!(!has_no_check(&[]));
    }

    /// MariaDB 10.11's files, as surefoot names the binary log, and MySQL 8.4's.
    #[test]
    fn files_are_known_by_their_names() {
        for (file, kind) in [
            ("ib_logfile0", "redo log"),
            ("#innodb_redo/#ib_redo6", "redo log"),
            ("binary-log.000001", "binary log"),
            ("mysql-bin.000007", "binary log"),
            ("ibdata1", "system tablespace"),
            ("sbtest/rows.ibd", "table"),
            ("undo001", "undo log"),
            ("ib_buffer_pool", "other file"),
        ] {
            assert_eq!((ENGINE.file_kind)(file), kind, "{file}");
        }
    }
}
