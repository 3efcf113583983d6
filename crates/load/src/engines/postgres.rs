//! PostgreSQL under a load.

use crate::process;
use crate::sql::{
    COMMON, Cell, Counters, Database, Dialect, DumpForm, Engine, NextRow, PLAIN, Place, Remote, Sql, failed, same,
    server, socket,
};
use crate::workload::Error;
use observe::durability::Class;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use wire::Connection;
use wire::postgres::Postgres as Client;

const NAME: &str = ENGINE.name;

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "postgres",
    page_bytes: 8192,
    sql: Some(Sql {
        open: |_| Box::new(Postgres),
        dumps: &[
            DumpForm { what: "an archive of pg_dump", marks: ARCHIVES, ..DumpForm::PLAIN },
            DumpForm {
                what: "a text of pg_dump",
                marks: &[b"PostgreSQL database dump"],
                end: Some("PostgreSQL database dump complete"),
                elsewhere: &["\\connect ", "CREATE DATABASE "],
                without: "leave out --create",
                ..DumpForm::PLAIN
            },
            DumpForm {
                what: "a text of pg_dumpall",
                marks: &[b"PostgreSQL database cluster dump"],
                end: Some("PostgreSQL database cluster dump complete"),
                // It begins with the roles, of which each cluster has one.
                elsewhere: &["CREATE ROLE ", "\\connect "],
                without: "have pg_dump write the one database, and not pg_dumpall all of them",
                ..DumpForm::PLAIN
            },
        ],
        has_unnamed_statements: true,
        takes_several_statements: true,
        remote: Some(Remote {
            schemes: &["postgres", "postgresql"],
            port: 5432,
            user: "postgres",
            password_variable: "PGPASSWORD",
            socket_option: ("host", "/run/postgresql"),
            socket: |folder, port| Path::new(folder).join(format!(".s.PGSQL.{port}")),
            connect: |address, user, password, database| {
                Ok(Box::new(Client::connect_to(address, user, password, database)?))
            },
        }),
        logs: &["stderr", "csv", "json"],
        weakening: &[
            ("SYNCHRONOUS_COMMIT", Class::LosesRecent, "a commit may not wait for its flush"),
            ("ALTER SYSTEM", Class::MayCorrupt, "the server's settings are changed amid the load"),
            ("UNLOGGED", Class::LosesAll, "such tables are empty after a crash"),
        ],
        // By both words: a table may name `pg_default` as its TABLESPACE.
        refused: &[("CREATE CREATE TABLESPACE", ELSEWHERE)],
        refused_beside_others: &[],
        refused_in_schema: &[],
    }),
    small_row_bytes: 230.0,
    power_cuts_of: &["oltp", "tpcb", "orders", "key-value"],
    file_kind: |file| match file {
        wal if wal.contains("pg_wal/") => "WAL",
        state if state.contains("pg_xact/") => "transaction status",
        control if control.ends_with("pg_control") => "control file",
        table if table.contains("base/") || table.contains("global/") => "table",
        _ => "other file",
    },
    ..PLAIN
};

const DIALECT: Dialect = Dialect {
    identity: "SERIAL PRIMARY KEY",
    // Bytes would be sent in hexadecimal digits.
    blob: "TEXT",
    ..COMMON
};

/// A template holds the link to such a folder, so that each trial would go on with what the one before left in it.
const ELSEWHERE: &str = "its tables are not on the filesystem under test, and all trials share them: leave it out";

/// The database that every cluster has; a trial's cluster holds nothing else.
const DATABASE: &str = "postgres";

/// COPY's rows go out in pieces of about this size.
const PIECE_BYTES: usize = 256 << 10;

/// A PostgreSQL server.
pub struct Postgres;

impl Postgres {
    /// Makes the roles that a dump's text names: a cluster has those of its own users only.
    fn make_roles(&self, place: &Place, dump: &Path) -> Result<(), Error> {
        let text = std::fs::File::open(dump).map_err(Error::doing("read", dump))?;
        let mut roles = BTreeSet::new();
        for line in BufReader::new(text).split(b'\n') {
            let line = line.map_err(Error::doing("read", dump))?;
            roles.extend(std::str::from_utf8(&line).into_iter().flat_map(roles_in).map(str::to_string));
        }
        let mut client = self.client(place)?;
        for role in roles {
            match client.query(&format!("CREATE ROLE {role}")) {
                Err(wire::Error::Refused { code, .. }) if code == DUPLICATE => {}
                made => drop(made.map_err(failed(NAME, "make a role of the dump"))?),
            }
        }
        Ok(())
    }

    fn listed(&self, place: &Place, sql: &str) -> Result<Vec<String>, Error> {
        let answer = self.client(place)?.query(sql).map_err(failed(NAME, "list its tables"))?;
        Ok(answer.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    fn client(&self, place: &Place) -> Result<Client, Error> {
        let at = server(place, NAME)?;
        Client::connect_to(&at.address(), "postgres", at.password.as_deref(), DATABASE)
            .map_err(failed(NAME, "take a connection"))
    }
}

/// The archive formats of `pg_dump` in one file begin so: its own, and tar, whose first file is the table of contents.
const ARCHIVES: &[&[u8]] = &[b"PGDMP", b"toc.dat\0"];

/// SQLSTATE of a role that is there already (the manual's appendix A: duplicate_object).
const DUPLICATE: &str = "42710";

/// Has amcheck look at the indexes of tables. It refuses all but B-trees with pages of their own that are whole: other access methods,
/// those of partitioned tables, which have none, those that were never finished, and other sessions' temporary ones (the manual, "amcheck").
fn index_check(tables: &[String]) -> String {
    let tables: Vec<String> = tables.iter().map(|table| format!("'{}'::regclass", table.replace('\'', "''"))).collect();
    format!(
        "SELECT count(bt_index_check(entry.indexrelid, true)) FROM pg_index entry \
         JOIN pg_class relation ON relation.oid = entry.indexrelid JOIN pg_am method ON method.oid = relation.relam \
         WHERE method.amname = 'btree' AND relation.relkind = 'i' AND relation.relpersistence <> 't' \
         AND entry.indisvalid AND entry.indisready AND entry.indrelid IN ({})",
        tables.join(", ")
    )
}

/// The roles that a line of a dump's text needs: `ALTER TABLE … OWNER TO app;`, `GRANT … TO app;`, `REVOKE … FROM app;`, and both of
/// `ALTER DEFAULT PRIVILEGES FOR ROLE app … GRANT … TO reader;`.
fn roles_in(line: &str) -> Vec<&str> {
    let after = |word: &str| line.rsplit_once(word).map(|(_, role)| role.trim_end());
    let (maker, other) = if let Some(rest) = line.strip_prefix("ALTER DEFAULT PRIVILEGES FOR ROLE ") {
        let ends = [" IN SCHEMA ", " GRANT ", " REVOKE "].into_iter().filter_map(|word| rest.find(word));
        (ends.min().map(|end| &rest[..end]), after(" TO ").or_else(|| after(" FROM ")))
    } else {
        let words = [("ALTER ", " OWNER TO "), ("GRANT ", " TO "), ("REVOKE ", " FROM ")];
        (None, words.into_iter().find(|(begin, _)| line.starts_with(begin)).and_then(|(_, word)| after(word)))
    };
    let other = other.and_then(|role| role.strip_suffix(';')).map(|role| role.trim_end_matches(" WITH GRANT OPTION"));
    // Every cluster has those that begin with `pg_`, and nobody can make one (the manual, "CREATE ROLE").
    let is_own = |role: &&str| !["PUBLIC", "CURRENT_USER", "SESSION_USER"].contains(role) && !role.starts_with("pg_");
    maker.into_iter().chain(other).filter(is_own).collect()
}

/// As COPY's text has it (the manual, COPY, "Text Format").
fn push_text(text: &str, piece: &mut Vec<u8>) {
    // Of most rows nothing is changed.
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '\t', '\n', '\r']) {
        let escaped = match rest.as_bytes()[at] {
            b'\t' => b't',
            b'\n' => b'n',
            b'\r' => b'r',
            backslash => backslash,
        };
        piece.extend_from_slice(&rest.as_bytes()[..at]);
        piece.extend_from_slice(&[b'\\', escaped]);
        rest = &rest[at + 1..];
    }
    piece.extend_from_slice(rest.as_bytes());
}

impl Database for Postgres {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Connection>, Error> {
        Ok(Box::new(self.client(place)?))
    }

    fn load(&self, place: &Place, table: &str, columns: &[&str], next: NextRow) -> Result<(), Error> {
        let sql = format!("COPY {table} ({}) FROM STDIN", columns.join(", "));
        let mut row = Vec::new();
        let rows = |piece: &mut Vec<u8>| {
            while piece.len() < PIECE_BYTES {
                row.clear();
                if !next(&mut row) {
                    return false;
                }
                for (index, cell) in row.iter().enumerate() {
                    if index > 0 {
                        piece.push(b'\t');
                    }
                    match cell {
                        Cell::Null => piece.extend_from_slice(b"\\N"),
                        Cell::Boolean(value) => drop(write!(piece, "{value}")),
                        Cell::Integer(value) => drop(write!(piece, "{value}")),
                        Cell::Double(value) => drop(write!(piece, "{value:?}")),
                        Cell::Text(text) => push_text(text, piece),
                    }
                }
                piece.push(b'\n');
            }
            true
        };
        self.client(place)?.copy_in(&sql, rows).map_err(failed(NAME, "load the rows"))
    }

    /// `pg_dump`'s archives by `pg_restore`, its text by `psql`; owners and grants are left out, as a trial's cluster has one user.
    fn load_dump(&self, place: &Place, dump: &Path, interrupted: &AtomicBool) -> Result<(), Error> {
        let socket = socket(place, NAME)?;
        let (folder, name) = (socket.parent().unwrap_or(Path::new("/")), socket.extension().unwrap_or_default());
        let is_archive = process::begins_with(dump, ARCHIVES)?;
        let options: &[&str] = if is_archive {
            &["pg_restore", "--exit-on-error", "--no-owner", "--no-privileges", "--dbname", DATABASE]
        } else {
            &["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", DATABASE, "--file"]
        };
        if !is_archive {
            self.make_roles(place, dump)?;
        }
        let mut arguments: Vec<String> = options.iter().map(|option| (*option).to_string()).collect();
        arguments.push(dump.display().to_string());
        let reached = [
            format!("--host={}", folder.display()),
            format!("--port={}", name.display()),
            "--username=postgres".into(),
        ];
        arguments.splice(1..1, reached);
        process::succeed(&arguments, folder, interrupted)
    }

    fn tables(&self, place: &Place) -> Result<Vec<String>, Error> {
        let sql = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables \
                   WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1";
        self.listed(place, sql)
    }

    /// UNLOGGED ones: they are emptied.
    fn unsafe_tables(&self, place: &Place) -> Result<Vec<String>, Error> {
        let sql = "SELECT oid::regclass::text FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r' ORDER BY 1";
        self.listed(place, sql)
    }

    fn loaded(&self, place: &Place, tables: &[String]) -> Result<(), Error> {
        let mut client = self.client(place)?;
        for table in tables {
            let numbered = format!(
                "SELECT quote_ident(attname), pg_get_serial_sequence('{table}', attname) FROM pg_attribute \
                 WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped \
                 AND pg_get_serial_sequence('{table}', attname) IS NOT NULL"
            );
            for row in client.query(&numbered).map_err(failed(NAME, "look at its tables"))?.rows {
                let [Some(column), Some(sequence)] = &row[..] else { continue };
                // Never lower than a dump has set it: rows with higher numbers may have been deleted.
                let next = format!(
                    "SELECT setval('{}', filled.most) FROM (SELECT max({column})::bigint AS most FROM {table}) AS filled, {sequence} AS numbers \
                     WHERE filled.most > numbers.last_value - (NOT numbers.is_called)::int",
                    sequence.replace('\'', "''")
                );
                client.query(&next).map_err(failed(NAME, "number the next row"))?;
            }
            client.query(&format!("VACUUM ANALYZE {table}")).map_err(failed(NAME, "analyze its tables"))?;
        }
        Ok(())
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        self.client(place)?.query("CHECKPOINT").map(drop).map_err(failed(NAME, "checkpoint"))
    }

    /// amcheck looks at every whole B-tree index, and that each row of its table is in it.
    fn check(&self, place: &Place, tables: &[String]) -> Result<(), Error> {
        let mut client = self.client(place)?;
        let amcheck = "CREATE EXTENSION IF NOT EXISTS amcheck";
        client.query(amcheck).map_err(failed(NAME, "load amcheck, of its contrib modules"))?;
        for table in tables {
            client.query(&index_check(std::slice::from_ref(table))).map_err(failed(NAME, "find its indexes whole"))?;
        }
        let checksums = "SELECT coalesce(sum(checksum_failures), 0) FROM pg_stat_database";
        let answer = client.query(checksums).map_err(failed(NAME, "say its checksum failures"))?;
        same("checksum failures", "0", answer.first().unwrap_or("none"))
    }

    /// As [`Database::check`], of all tables in one answer. It complains by an error.
    fn question_of_health(&self, tables: &[String]) -> String {
        index_check(tables)
    }

    fn is_well(&self, _row: &[Option<String>]) -> bool {
        true
    }

    fn counters(&self, place: &Place) -> Result<Counters, Error> {
        let mut client = self.client(place)?;
        let mut ask = |sql: &str| client.query(sql).map(|answer| answer.first().and_then(|text| text.parse().ok()));
        let log_bytes =
            ask("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").map_err(failed(NAME, "say its WAL position"))?;
        // Version 17 moved them.
        let checkpoints = ask("SELECT num_timed + num_requested FROM pg_stat_checkpointer")
            .or_else(|_| ask("SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter"))
            .map_err(failed(NAME, "say its checkpoints"))?;
        Ok(Counters { log_bytes, checkpoints, ..Counters::default() })
    }

    /// READ COMMITTED looks at the newest version of the row it waited for, and a deleted row has none.
    fn misses_replaced_rows(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `pg_dump` 15 to 17.
    #[test]
    fn the_roles_of_a_dump_are_those_that_a_cluster_lacks() {
        for (line, roles) in [
            ("ALTER TABLE public.orders OWNER TO shop;", vec!["shop"]),
            ("GRANT SELECT ON TABLE public.orders TO \"read only\" WITH GRANT OPTION;", vec!["\"read only\""]),
            ("REVOKE ALL ON SCHEMA public FROM PUBLIC;", vec![]),
            ("GRANT SELECT ON TABLE public.orders TO pg_monitor;", vec![]),
            ("ALTER SCHEMA public OWNER TO pg_database_owner;", vec![]),
            (
                "ALTER DEFAULT PRIVILEGES FOR ROLE shop IN SCHEMA public GRANT SELECT ON TABLES TO reader;",
                vec!["shop", "reader"],
            ),
            ("ALTER DEFAULT PRIVILEGES FOR ROLE shop REVOKE ALL ON TABLES FROM shop;", vec!["shop", "shop"]),
            ("ALTER TABLE ONLY public.orders ADD CONSTRAINT orders_pkey PRIMARY KEY (id);", vec![]),
        ] {
            assert_eq!(roles_in(line), roles, "{line}");
        }
    }

    #[test]
    fn a_text_is_one_field_of_a_copy_whatever_it_has() {
        for (text, expected) in
            [("it's", "it's"), ("", ""), ("\\N", "\\\\N"), ("C:\\new\té\r\n", "C:\\\\new\\té\\r\\n")]
        {
            let mut piece = Vec::new();
            push_text(text, &mut piece);
            assert_eq!(String::from_utf8(piece).as_deref(), Ok(expected));
        }
    }
}
