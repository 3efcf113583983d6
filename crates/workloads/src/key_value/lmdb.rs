//! LMDB: a record is one value with all its fields, one after the other; each operation is a transaction of its own.

use super::store::{Key, Request, Seen, Session, Shape, Store};
use crate::lmdb::{self, failed};
use heed::types::Bytes;
use heed::{Database, Env, RwTxn};
use load::sql::Place;
use load::workload::Error;
use std::collections::VecDeque;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex};

type Table = Database<Bytes, Bytes>;

/// Records that are loaded in one transaction.
const LOADING: usize = 10_000;

/// Records in LMDB.
pub struct Lmdb {
    shape: Shape,
    map_bytes: u64,
    /// Whether each commit is flushed.
    is_flushed: bool,
    /// A process can have an environment open once.
    opened: Mutex<Option<Arc<Opened>>>,
}

struct Opened {
    env: Env,
    table: Table,
}

impl Lmdb {
    /// Not opened yet.
    pub fn new(shape: Shape, map_bytes: u64, is_flushed: bool) -> Lmdb {
        Lmdb { shape, map_bytes, is_flushed, opened: Mutex::new(None) }
    }

    fn open(&self, place: &Place) -> Result<Arc<Opened>, Error> {
        let mut opened = self.opened.lock().expect("no thread panics with it");
        if let Some(opened) = &*opened {
            return Ok(Arc::clone(opened));
        }
        let folder = place.data_folder.join("key-value");
        std::fs::create_dir_all(&folder).map_err(Error::doing("create", &folder))?;
        let made = Arc::new(self.open_in(&folder).map_err(failed("open its file"))?);
        *opened = Some(Arc::clone(&made));
        Ok(made)
    }

    fn open_in(&self, folder: &Path) -> heed::Result<Opened> {
        let env = lmdb::open(folder, self.map_bytes, 0, self.is_flushed)?;
        let table = lmdb::write(&env, |transaction| env.create_database(transaction, None))?;
        Ok(Opened { env, table })
    }
}

impl Opened {
    fn write<T>(&self, act: impl FnOnce(&mut RwTxn, &Table) -> heed::Result<T>) -> heed::Result<T> {
        lmdb::write(&self.env, |transaction| act(transaction, &self.table))
    }
}

impl Store for Lmdb {
    fn load(&self, place: &Place, next: &mut dyn FnMut(&mut Vec<u8>) -> Option<Key>) -> Result<(), Error> {
        let opened = self.open(place)?;
        let mut record = Vec::with_capacity(self.shape.record_bytes());
        let mut more = true;
        while more {
            let part = opened.write(|transaction, table| {
                for _ in 0..LOADING {
                    let Some(key) = next(&mut record) else { return Ok(false) };
                    table.put(transaction, &key, &record)?;
                }
                Ok(true)
            });
            more = part.map_err(failed("load the records"))?;
        }
        opened.env.force_sync().map_err(failed("flush its file"))
    }

    /// Pages that a process has mapped stay in memory when the page cache is dropped.
    fn cool(&self) {
        *self.opened.lock().expect("no thread panics with it") = None;
    }

    fn count(&self, place: &Place) -> Result<u64, Error> {
        let opened = self.open(place)?;
        lmdb::read(&opened.env, |transaction| opened.table.len(transaction)).map_err(failed("count its records"))
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Session>, Error> {
        let (opened, shape) = (self.open(place)?, self.shape);
        Ok(Box::new(LmdbSession { opened, shape, answers: VecDeque::new(), found: Vec::new(), record: Vec::new() }))
    }
}

/// One thread's way in.
struct LmdbSession {
    opened: Arc<Opened>,
    shape: Shape,
    /// Answers that were not taken: the tag, and how many records of `found` they hold.
    answers: VecDeque<(usize, usize)>,
    /// Records by key.
    found: Vec<(Key, Vec<u8>)>,
    record: Vec<u8>,
}

impl LmdbSession {
    fn read(&mut self, key: Key) -> heed::Result<usize> {
        let transaction = self.opened.env.read_txn()?;
        let record = self.opened.table.get(&transaction, &key)?;
        self.found.extend(record.map(|record| (key, record.to_vec())));
        Ok(usize::from(record.is_some()))
    }

    fn scan(&mut self, from: &Key, count: usize) -> heed::Result<usize> {
        let transaction = self.opened.env.read_txn()?;
        let range = (Bound::Included(&from[..]), Bound::Unbounded);
        let before = self.found.len();
        for entry in self.opened.table.range(&transaction, &range)?.take(count) {
            let (key, record) = entry?;
            // A key of another length is none of ours, and is seen as another one.
            self.found.push((Key::try_from(key).unwrap_or([0; _]), record.to_vec()));
        }
        Ok(self.found.len() - before)
    }

    /// Whether there was such a record.
    fn update(&mut self, key: &Key, field: usize, value: &[u8]) -> heed::Result<bool> {
        let (record, length) = (&mut self.record, self.shape.length);
        self.opened.write(|transaction, table| {
            record.clear();
            record.extend_from_slice(table.get(transaction, key)?.unwrap_or_default());
            let Some(place) = record.get_mut(field * length..(field + 1) * length) else { return Ok(false) };
            place.copy_from_slice(value);
            table.put(transaction, key, record)?;
            Ok(true)
        })
    }
}

impl Session for LmdbSession {
    fn ask(&mut self, tag: usize, request: &Request) -> Result<(), Error> {
        let opened = Arc::clone(&self.opened);
        let mut run = || -> heed::Result<Option<usize>> {
            match request {
                Request::Read(key) => self.read(*key).map(Some),
                Request::Scan(from, count) => self.scan(from, *count).map(Some),
                Request::Update(key, field, value) => Ok(self.update(key, *field, value)?.then_some(0)),
                Request::Insert(key, record) => {
                    opened.write(|transaction, table| table.put(transaction, key, record)).map(|()| Some(0))
                }
            }
        };
        let records = run().map_err(failed("do what it is asked"))?;
        let records = records.ok_or_else(|| Error::wrong_data("LMDB", "a record with the field to update", "none"))?;
        self.answers.push_back((tag, records));
        Ok(())
    }

    fn answer(&mut self, see: &mut dyn FnMut(Seen)) -> Result<Option<usize>, Error> {
        let Some((tag, records)) = self.answers.pop_front() else { return Ok(None) };
        for (key, record) in self.found.drain(..records) {
            for (field, value) in record.chunks(self.shape.length).enumerate() {
                see(Seen { tag, key: &key, field, value });
            }
        }
        Ok(Some(tag))
    }
}
