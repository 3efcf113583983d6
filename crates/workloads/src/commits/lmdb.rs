//! Commits on LMDB: two named databases in one file, which this process maps.
//!
//! A process can have an environment open once, so the streams and whoever asks share one; it is closed when the last of them lets
//! go. LMDB has no check of its own: that all can be read is all that can be asked.

use super::look::Rows;
use super::rule::{LOADED_ROWS, LOADED_STREAM, Rule, id};
use super::target::{Client, CommitTarget, Committed};
use crate::ack_log::nanoseconds;
use crate::lmdb::{self, failed};
use heed::byteorder::BigEndian;
use heed::types::{Str, U64};
use heed::{Database, Env, RwTxn};
use load::sql::Place;
use load::workload::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Far more than the rows take.
const MAP_BYTES: u64 = 64 << 20;

/// By id: a row's cells, or a stream's counter.
type Table = Database<U64<BigEndian>, Str>;

/// The trial's database.
pub struct Lmdb {
    /// Whether each commit is flushed.
    is_flushed: bool,
    opened: Mutex<Weak<Opened>>,
}

/// The environment.
struct Opened {
    env: Env,
    rows: Table,
    counters: Table,
}

impl Lmdb {
    /// Not opened yet.
    pub fn new(is_flushed: bool) -> Lmdb {
        Lmdb { is_flushed, opened: Mutex::new(Weak::new()) }
    }

    fn open(&self, place: &Place) -> Result<Arc<Opened>, Error> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.upgrade() {
            return Ok(opened);
        }
        let folder = folder(place);
        std::fs::create_dir_all(&folder).map_err(Error::doing("create", &folder))?;
        let open = || -> heed::Result<Opened> {
            let env = lmdb::open(&folder, MAP_BYTES, 2, self.is_flushed)?;
            let read = env.read_txn()?;
            let known = (env.open_database(&read, Some("rows"))?, env.open_database(&read, Some("counters"))?);
            read.commit()?;
            // Only who fills it writes here.
            let (rows, counters) = match known {
                (Some(rows), Some(counters)) => (rows, counters),
                _ => lmdb::write(&env, |write| {
                    Ok((env.create_database(write, Some("rows"))?, env.create_database(write, Some("counters"))?))
                })?,
            };
            Ok(Opened { env, rows, counters })
        };
        let made = Arc::new(open().map_err(failed("open its file"))?);
        *opened = Arc::downgrade(&made);
        Ok(made)
    }
}

impl Opened {
    fn write(&self, action: &'static str, act: impl FnOnce(&mut RwTxn) -> heed::Result<()>) -> Result<(), Error> {
        lmdb::write(&self.env, act).map_err(failed(action))
    }

    /// All of a table, its key first.
    fn all(&self, table: &Table) -> heed::Result<Rows> {
        let transaction = self.env.read_txn()?;
        let row = |entry: heed::Result<(u64, &str)>| {
            let (key, value) = entry?;
            let cells = std::iter::once(key.to_string()).chain(value.split(' ').map(String::from));
            Ok(cells.map(Some).collect())
        };
        table.iter(&transaction)?.map(row).collect()
    }
}

impl CommitTarget for Lmdb {
    fn fill(&self, place: &Place, rule: Rule) -> Result<(), Error> {
        let opened = self.open(place)?;
        opened.write("load the rows", |transaction| {
            for number in 1..=LOADED_ROWS {
                let id = id(LOADED_STREAM, number);
                let row = format!("{LOADED_STREAM} {number} 0 {}", rule.payload(id));
                opened.rows.put(transaction, &id, &row)?;
            }
            (0..rule.streams).try_for_each(|stream| opened.counters.put(transaction, &u64::from(stream), "0"))
        })
    }

    /// It has none: each commit is in its place.
    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        self.open(place)?.env.force_sync().map_err(failed("flush its file"))
    }

    /// Nobody else can be asked.
    fn questions(&self) -> [String; 3] {
        ["check", "rows", "counters"].map(String::from)
    }

    fn is_well(&self, _answer: &[Vec<Option<String>>], row: &[Option<String>]) -> bool {
        row.first().is_some_and(|cell| cell.as_deref() == Some("ok"))
    }

    fn ask(&self, place: &Place) -> Result<Vec<Rows>, Error> {
        let opened = self.open(place)?;
        let read = || Ok(vec![vec![vec![Some("ok".into())]], opened.all(&opened.rows)?, opened.all(&opened.counters)?]);
        read().map_err(failed("say what it holds"))
    }

    fn is_there(&self, place: &Place) -> bool {
        folder(place).join("data.mdb").exists()
    }

    fn connect<'a>(&'a self, place: &Place, rule: Rule, stream: u32) -> Result<Box<dyn Client + 'a>, Error> {
        Ok(Box::new(Session { opened: self.open(place)?, rule, stream }))
    }
}

/// A stream's way in.
struct Session {
    opened: Arc<Opened>,
    rule: Rule,
    stream: u32,
}

impl Client for Session {
    fn commit(&mut self, number: u64, _is_over: &dyn Fn() -> bool) -> Result<Option<Committed>, Error> {
        let (opened, stream, own) = (&self.opened, self.stream, id(self.stream, number));
        let mut asked = 0;
        opened.write("commit", |transaction| {
            opened.rows.put(transaction, &own, &format!("{stream} {number} 0 {}", self.rule.payload(own)))?;
            opened.counters.put(transaction, &u64::from(stream), &number.to_string())?;
            for touched in self.rule.touched(stream, number) {
                let loaded = id(LOADED_STREAM, touched);
                let row = format!("{LOADED_STREAM} {touched} {number} {}", self.rule.payload(loaded));
                opened.rows.put(transaction, &loaded, &row)?;
            }
            asked = nanoseconds();
            Ok(())
        })?;
        Ok(Some(Committed { asked, acknowledged: nanoseconds() }))
    }

    /// A transaction that fails is gone.
    fn give_up(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn folder(place: &Place) -> PathBuf {
    place.data_folder.join("lmdb")
}
