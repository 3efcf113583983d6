//! PostgreSQL under a load.

use crate::sql::{
    COMMON, Cell, Column, Counters, Database, Dialect, Engine, Place, column_names, failed, same, socket,
};
use crate::workload::Error;
use std::io::Write as _;
use wire::Connection;
use wire::postgres::Postgres as Client;

const NAME: &str = ENGINE.name;

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "postgres",
    page_bytes: 8192,
    is_embedded: false,
    sql: Some(|_| Box::new(Postgres)),
    small_row_bytes: 230.0,
    power_cuts_of: &["oltp", "tpcb"],
    unmeasured: |_| None,
    opens_once: false,
    file_kind: |file| match file {
        wal if wal.contains("pg_wal/") => "WAL",
        state if state.contains("pg_xact/") => "transaction status",
        control if control.ends_with("pg_control") => "control file",
        table if table.contains("base/") || table.contains("global/") => "table",
        _ => "other file",
    },
};

const DIALECT: Dialect = Dialect {
    identity: "SERIAL PRIMARY KEY",
    // Bytes would be sent in hexadecimal digits.
    blob: "TEXT",
    ..COMMON
};

/// The database that every cluster has; a trial's cluster holds nothing else.
const DATABASE: &str = "postgres";

/// COPY's rows go out in pieces of about this size.
const PIECE_BYTES: usize = 256 << 10;

/// A PostgreSQL server.
pub struct Postgres;

impl Postgres {
    fn client(&self, place: &Place) -> Result<Client, Error> {
        Client::connect(&socket(place, NAME)?, "postgres", DATABASE).map_err(failed(NAME, "take a connection"))
    }
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

    fn load(
        &self,
        place: &Place,
        table: &str,
        columns: &[Column],
        next: &mut dyn FnMut(&mut Vec<Cell>) -> bool,
    ) -> Result<(), Error> {
        let sql = format!("COPY {table} ({}) FROM STDIN", column_names(columns));
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
                        Cell::Integer(value) => drop(write!(piece, "{value}")),
                        Cell::Text(text) => piece.extend_from_slice(text.as_bytes()),
                    }
                }
                piece.push(b'\n');
            }
            true
        };
        self.client(place)?.copy_in(&sql, rows).map_err(failed(NAME, "load the rows"))
    }

    fn loaded(&self, place: &Place, tables: &[String]) -> Result<(), Error> {
        let mut client = self.client(place)?;
        for table in tables {
            let numbered =
                format!("SELECT 1 FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = 'id'");
            if client.query(&numbered).map_err(failed(NAME, "look at its tables"))?.first().is_some() {
                let next = format!("SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}");
                client.query(&next).map_err(failed(NAME, "number the next row"))?;
            }
            client.query(&format!("VACUUM ANALYZE {table}")).map_err(failed(NAME, "analyze its tables"))?;
        }
        Ok(())
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        self.client(place)?.query("CHECKPOINT").map(drop).map_err(failed(NAME, "checkpoint"))
    }

    /// amcheck looks at every B-tree index, and that each row of its table is in it.
    fn check(&self, place: &Place, tables: &[String]) -> Result<(), Error> {
        let mut client = self.client(place)?;
        client
            .query("CREATE EXTENSION IF NOT EXISTS amcheck")
            .map_err(failed(NAME, "load amcheck, of its contrib modules"))?;
        for table in tables {
            let sql = format!(
                "SELECT count(bt_index_check(indexrelid, true)) FROM pg_index WHERE indrelid = '{table}'::regclass"
            );
            client.query(&sql).map_err(failed(NAME, "find its indexes whole"))?;
        }
        let checksums = "SELECT coalesce(sum(checksum_failures), 0) FROM pg_stat_database";
        let answer = client.query(checksums).map_err(failed(NAME, "say its checksum failures"))?;
        same("checksum failures", "0", answer.first().unwrap_or("none"))
    }

    /// As [`Database::check`], of all tables in one answer. It complains by an error.
    fn question_of_health(&self, tables: &[String]) -> String {
        let tables: Vec<String> = tables.iter().map(|table| format!("'{table}'::regclass")).collect();
        format!(
            "SELECT count(bt_index_check(indexrelid, true)) FROM pg_index WHERE indrelid IN ({})",
            tables.join(", ")
        )
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
