//! LMDB as a store for 3n+1, shared by processes through its own lock file.

use super::store::{Shared, Store, StoreKind, Totals, Workers, steps_of};
use super::words::Spelling;
use super::{Parameters, folder};
use crate::lmdb::{self, failed};
use heed::byteorder::BigEndian;
use heed::types::{Str, U64, Unit};
use heed::{Database, Env, RoTxn, RwTxn};
use load::engines::lmdb::ENGINE;
use load::workload::Error;
use std::path::Path;

/// The row in the list of stores.
pub static STORE: StoreKind = StoreKind {
    engine: Some(&ENGINE),
    to_max: u64::MAX,
    numbers_per_second: 100_000.0,
    durability: |parameters| lmdb::durability(parameters.sync == "commit"),
    open: |place, parameters| Ok(Box::new(Lmdb::open(&folder(place), parameters)?)),
    workers: Workers::Ours(|place, parameters| Ok(Box::new(Lmdb::open(&folder(place), parameters)?))),
};

/// First integer of a block → (last, claimed, done) packed as last · 4 + claimed · 2 + done.
type Blocks = Database<U64<BigEndian>, U64<BigEndian>>;

/// An environment of one process.
pub struct Lmdb {
    env: Env,
    step: Database<Str, Str>,
    block: Blocks,
    total: Database<Str, U64<BigEndian>>,
    spelling: Spelling,
    key: String,
    value: String,
    known: Totals,
}

impl Lmdb {
    /// Opens the store in a folder.
    pub fn open(folder: &Path, parameters: &Parameters) -> Result<Lmdb, Error> {
        let open = || -> heed::Result<Lmdb> {
            let env = lmdb::open(folder, parameters.map_bytes, 3, parameters.sync == "commit")?;
            let (step, block, total) = lmdb::write(&env, |transaction| {
                let step = env.create_database(transaction, Some("step"))?;
                let block = env.create_database(transaction, Some("block"))?;
                Ok((step, block, env.create_database(transaction, Some("total"))?))
            })?;
            let (spelling, known) = (Spelling::new(parameters.words), Totals::default());
            Ok(Lmdb { env, step, block, total, spelling, key: String::new(), value: String::new(), known })
        };
        open().map_err(failed("open its file"))
    }

    fn write<T>(&self, action: &str, act: impl FnOnce(&mut RwTxn) -> heed::Result<T>) -> Result<T, Error> {
        lmdb::write(&self.env, act).map_err(failed(action))
    }

    fn read<T>(&self, action: &str, act: impl FnOnce(&RoTxn) -> heed::Result<T>) -> Result<T, Error> {
        lmdb::read(&self.env, act).map_err(failed(action))
    }

    /// Raises a shared maximum and gives what it is then.
    fn raise(&self, transaction: &mut RwTxn, name: &str, value: u64) -> heed::Result<u64> {
        let known = self.total.get(transaction, name)?.unwrap_or(0);
        if value > known {
            self.total.put(transaction, name, &value)?;
        }
        Ok(known.max(value))
    }
}

impl Store for Lmdb {
    fn create(&mut self, blocks: &[(u64, u64)]) -> Result<(), Error> {
        self.write("write the blocks", |transaction| {
            for (first, last) in blocks {
                self.block.put(transaction, first, &(last << 2))?;
            }
            Ok(())
        })
    }

    fn look_up(&mut self, numbers: &[u64]) -> Result<Vec<Option<u64>>, Error> {
        numbers.iter().map(|n| self.steps(*n)).collect()
    }

    fn unfinished_blocks(&mut self) -> Result<u64, Error> {
        self.read("count blocks", |transaction| {
            self.block.iter(transaction)?.map(|entry| Ok(u64::from(entry?.1 & 1 == 0))).sum()
        })
    }

    fn release_claims(&mut self) -> Result<(), Error> {
        self.write("release claims", |transaction| {
            let is_open = |entry: &heed::Result<(u64, u64)>| entry.as_ref().is_ok_and(|entry| entry.1 & 1 == 0);
            let open: Vec<(u64, u64)> = self.block.iter(transaction)?.filter(is_open).collect::<heed::Result<_>>()?;
            for (first, state) in open {
                self.block.put(transaction, &first, &(state & !2))?;
            }
            Ok(())
        })
    }

    fn totals(&mut self) -> Result<Totals, Error> {
        self.read("read the totals", |transaction| {
            let number = |name: &str| Ok::<u64, heed::Error>(self.total.get(transaction, name)?.unwrap_or(0));
            let (longest, highest) = (number("longest")?, number("highest")?);
            Ok(Totals { longest, highest, reads: number("reads")?, updates: number("updates")? })
        })
    }

    fn numbers(&mut self) -> Result<u64, Error> {
        self.read("count numbers", |transaction| self.step.remap_data_type::<Unit>().len(transaction))
    }
}

impl Shared for Lmdb {
    fn claim(&mut self) -> Result<Option<(u64, u64)>, Error> {
        self.write("claim a block", |transaction| {
            let free =
                self.block.iter(transaction)?.find(|entry| entry.as_ref().is_ok_and(|(_, state)| state & 3 == 0));
            let Some((first, state)) = free.transpose()? else { return Ok(None) };
            self.block.put(transaction, &first, &(state | 2))?;
            Ok(Some((first, state >> 2)))
        })
    }

    fn steps(&mut self, n: u64) -> Result<Option<u64>, Error> {
        self.spelling.write(n, &mut self.key);
        let found = self.read("look up a number", |transaction| {
            Ok(self.step.get(transaction, &self.key)?.map(|text| self.spelling.read(text)))
        });
        steps_of(n, found?)
    }

    fn put_path(&mut self, path: &[u64], total: u64, highest: u64) -> Result<(), Error> {
        let raises = total > self.known.longest || highest > self.known.highest;
        let (mut key, mut value) = (std::mem::take(&mut self.key), std::mem::take(&mut self.value));
        let known = self.write("store a path", |transaction| {
            for (index, n) in path.iter().enumerate() {
                self.spelling.write(*n, &mut key);
                self.spelling.write(total - index as u64, &mut value);
                self.step.put(transaction, &key, &value)?;
            }
            if !raises {
                return Ok(None);
            }
            Ok(Some((self.raise(transaction, "longest", total)?, self.raise(transaction, "highest", highest)?)))
        })?;
        (self.key, self.value) = (key, value);
        if let Some((longest, highest)) = known {
            self.known = Totals { longest, highest, ..self.known };
        }
        Ok(())
    }

    fn finish(&mut self, block: (u64, u64), reads: u64, updates: u64) -> Result<(), Error> {
        self.write("finish a block", |transaction| {
            self.block.put(transaction, &block.0, &(block.1 << 2 | 3))?;
            for (name, value) in [("reads", reads), ("updates", updates)] {
                let sum = self.total.get(transaction, name)?.unwrap_or(0) + value;
                self.total.put(transaction, name, &sum)?;
            }
            Ok(())
        })
    }
}
