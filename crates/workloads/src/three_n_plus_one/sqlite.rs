//! SQLite as a store for 3n+1: a table of texts, shared by processes in WAL mode.

use super::store::{SIGNED_TO_MAX, Shared, Store, StoreKind, Totals, Workers, steps_of};
use super::words::Spelling;
use super::{Parameters, folder};
use load::engines::sqlite::ENGINE;
use load::sql::{failed, pragmas};
use load::workload::Error;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use std::path::Path;
use std::time::Duration;

/// The row in the list of stores.
pub static STORE: StoreKind = StoreKind {
    engine: Some(&ENGINE),
    to_max: SIGNED_TO_MAX,
    numbers_per_second: 100_000.0,
    durability: |parameters| pragmas::durability(&parameters.journal_mode, synchronous(parameters)),
    open: |place, parameters| Ok(Box::new(Sqlite::open(&folder(place), parameters)?)),
    workers: Workers::Ours(|place, parameters| Ok(Box::new(Sqlite::open(&folder(place), parameters)?))),
};

/// SQLite's `synchronous` for `sync`. Without a write-ahead log, `normal` would flush each path.
fn synchronous(parameters: &Parameters) -> &'static str {
    match (parameters.sync.as_str(), parameters.journal_mode.as_str()) {
        ("commit", _) => "full",
        (_, "wal") => "normal",
        _ => "off",
    }
}

/// Workers wait for each other's locks; a lock is held for one short transaction.
const BUSY_SECONDS_MAX: u64 = 60;

/// A connection of one process.
pub struct Sqlite {
    connection: Connection,
    spelling: Spelling,
    key: String,
    value: String,
    /// The highest number that the store knows of, as far as this process has seen.
    known: Totals,
}

impl Sqlite {
    /// Opens the store in a folder.
    pub fn open(folder: &Path, parameters: &Parameters) -> Result<Sqlite, Error> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(folder.join("steps.sqlite"))?;
            connection.busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX))?;
            connection.pragma_update_and_check(None, "journal_mode", &parameters.journal_mode, |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", synchronous(parameters))?;
            connection.execute_batch(
                "CREATE TABLE IF NOT EXISTS step (n TEXT PRIMARY KEY, steps TEXT NOT NULL) WITHOUT ROWID;
                 CREATE TABLE IF NOT EXISTS block (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, claimed INTEGER NOT NULL, done INTEGER NOT NULL);
                 CREATE TABLE IF NOT EXISTS total (longest INTEGER NOT NULL, highest INTEGER NOT NULL, reads INTEGER NOT NULL, updates INTEGER NOT NULL)",
            )?;
            Ok(connection)
        };
        let connection = open().map_err(failed(ENGINE.name, "open its file"))?;
        let spelling = Spelling::new(parameters.words);
        Ok(Sqlite { connection, spelling, key: String::new(), value: String::new(), known: Totals::default() })
    }

    fn write<T>(
        &mut self,
        action: &str,
        act: impl FnOnce(&rusqlite::Transaction) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let all = || -> rusqlite::Result<T> {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = act(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        all().map_err(failed(ENGINE.name, action))
    }
}

impl Store for Sqlite {
    fn create(&mut self, blocks: &[(u64, u64)]) -> Result<(), Error> {
        self.write("write the blocks", |transaction| {
            transaction.execute("INSERT INTO total VALUES (0, 0, 0, 0)", [])?;
            for (first, last) in blocks {
                transaction.execute("INSERT INTO block VALUES (?1, ?2, 0, 0)", params![*first as i64, *last as i64])?;
            }
            Ok(())
        })
    }

    fn look_up(&mut self, numbers: &[u64]) -> Result<Vec<Option<u64>>, Error> {
        numbers.iter().map(|n| self.steps(*n)).collect()
    }

    fn unfinished_blocks(&mut self) -> Result<u64, Error> {
        let count =
            self.connection.query_row("SELECT count(*) FROM block WHERE done = 0", [], |row| row.get::<_, i64>(0));
        count.map(|count| count as u64).map_err(failed(ENGINE.name, "count blocks"))
    }

    fn release_claims(&mut self) -> Result<(), Error> {
        self.write("release claims", |transaction| {
            transaction.execute("UPDATE block SET claimed = 0 WHERE done = 0", []).map(drop)
        })
    }

    fn totals(&mut self) -> Result<Totals, Error> {
        let read = |row: &rusqlite::Row| {
            let number = |index: usize| row.get::<_, i64>(index).map(|value| value as u64);
            Ok(Totals { longest: number(0)?, highest: number(1)?, reads: number(2)?, updates: number(3)? })
        };
        self.connection
            .query_row("SELECT longest, highest, reads, updates FROM total", [], read)
            .map_err(failed(ENGINE.name, "read the totals"))
    }

    fn numbers(&mut self) -> Result<u64, Error> {
        let count = self.connection.query_row("SELECT count(*) FROM step", [], |row| row.get::<_, i64>(0));
        count.map(|count| count as u64).map_err(failed(ENGINE.name, "count numbers"))
    }
}

impl Shared for Sqlite {
    fn claim(&mut self) -> Result<Option<(u64, u64)>, Error> {
        self.write("claim a block", |transaction| {
            let sql = "UPDATE block SET claimed = 1 WHERE first = (SELECT min(first) FROM block WHERE claimed = 0 AND done = 0) RETURNING first, last";
            transaction.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))).optional()
        })
    }

    fn steps(&mut self, n: u64) -> Result<Option<u64>, Error> {
        self.spelling.write(n, &mut self.key);
        let find = || -> rusqlite::Result<_> {
            let mut statement = self.connection.prepare_cached("SELECT steps FROM step WHERE n = ?1")?;
            let mut rows = statement.query([&self.key])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            Ok(Some(row.get_ref(0)?.as_str().map(|text| self.spelling.read(text))?))
        };
        steps_of(n, find().map_err(failed(ENGINE.name, "look up a number"))?)
    }

    fn put_path(&mut self, path: &[u64], total: u64, highest: u64) -> Result<(), Error> {
        let raises = total > self.known.longest || highest > self.known.highest;
        let (spelling, mut key, mut value) =
            (self.spelling, std::mem::take(&mut self.key), std::mem::take(&mut self.value));
        let known = self.write("store a path", |transaction| {
            let mut known = None;
            if raises {
                let maxima = "UPDATE total SET longest = max(longest, ?1), highest = max(highest, ?2)";
                transaction.execute(maxima, params![total as i64, highest as i64])?;
                known = Some(transaction.query_row("SELECT longest, highest FROM total", [], |row| {
                    Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))
                })?);
            }
            let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO step VALUES (?1, ?2)")?;
            for (index, n) in path.iter().enumerate() {
                spelling.write(*n, &mut key);
                spelling.write(total - index as u64, &mut value);
                insert.execute([&key, &value])?;
            }
            Ok(known)
        })?;
        (self.key, self.value) = (key, value);
        if let Some((longest, highest)) = known {
            self.known = Totals { longest, highest, ..self.known };
        }
        Ok(())
    }

    fn finish(&mut self, block: (u64, u64), reads: u64, updates: u64) -> Result<(), Error> {
        self.write("finish a block", |transaction| {
            transaction.execute("UPDATE block SET done = 1 WHERE first = ?1", [block.0 as i64])?;
            let sums = "UPDATE total SET reads = reads + ?1, updates = updates + ?2";
            transaction.execute(sums, params![reads as i64, updates as i64]).map(drop)
        })
    }
}
