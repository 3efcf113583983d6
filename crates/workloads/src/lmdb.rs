//! LMDB's environment, as each workload that stores in it opens and writes it.

use heed::{Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn};
use load::engines::lmdb::ENGINE;
use load::workload::Error;
use observe::durability::{Class, Durability};
use std::path::Path;

const PAGE_BYTES: u64 = 4096;

/// More than a load has processes and threads.
const READERS_MAX: u32 = 2048;

/// Opens the environment in a folder of the trial's own. A process can have it open once.
pub fn open(folder: &Path, map_bytes: u64, tables: u32, is_flushed: bool) -> heed::Result<Env> {
    let mut options = EnvOpenOptions::new();
    options.map_size(usize::try_from(map_bytes / PAGE_BYTES * PAGE_BYTES).unwrap_or(usize::MAX));
    options.max_dbs(tables).max_readers(READERS_MAX);
    if !is_flushed {
        // SAFETY: without sync a crash of the machine may lose or damage the file; that is what the study asked for and what its
        // durability class says.
        unsafe { options.flags(EnvFlags::NO_SYNC) };
    }
    // SAFETY: the file lies in this trial's own folder, and only its processes map it.
    unsafe { options.open(folder) }
}

/// What a power cut may take, by whether each transaction is flushed.
pub fn durability(is_flushed: bool) -> Durability {
    let why = "sync = none: LMDB without sync may be corrupt after a power cut";
    if is_flushed { Durability::full() } else { Durability::because(Class::MayCorrupt, why) }
}

/// One transaction that writes.
pub fn write<T>(env: &Env, act: impl FnOnce(&mut RwTxn) -> heed::Result<T>) -> heed::Result<T> {
    let mut transaction = env.write_txn()?;
    let done = act(&mut transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// Reads in a transaction of its own.
///
/// # Errors
/// When LMDB refuses.
pub fn read<T>(env: &Env, act: impl FnOnce(&RoTxn) -> heed::Result<T>) -> heed::Result<T> {
    act(&*env.read_txn()?)
}

/// What can't be done.
pub fn failed(action: &str) -> impl Fn(heed::Error) -> Error {
    move |error| match error {
        // Its own words name no setting.
        heed::Error::Mdb(heed::MdbError::MapFull) => {
            Error::engine(ENGINE.name, action, "MDB_MAP_FULL: the data and what updates leave are more than `map_size`")
        }
        error => Error::engine(ENGINE.name, action, error),
    }
}
