//! The seam: what a key-value store must do for this load. A store is a file; databases in SQL share `tables.rs`.

use super::value::KEY_LENGTH;
use load::sql::Place;
use load::workload::Error;
use observe::metric::Metric;
use observe::prometheus::Histogram;
use std::os::fd::BorrowedFd;

/// Records' keys and values are bytes that every store takes as text.
pub type Key = [u8; KEY_LENGTH];

/// How records look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Fields of a record, `field0`, `field1` …
    pub fields: usize,
    /// Bytes of each.
    pub length: usize,
    /// Whether records are asked for in the order of their keys.
    pub is_scanned: bool,
}

impl Shape {
    /// Bytes of all fields of a record.
    pub fn record_bytes(&self) -> usize {
        self.fields * self.length
    }
}

/// What is asked of a store.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    /// All fields of a record.
    Read(Key),
    /// One field is replaced.
    Update(Key, usize, &'a [u8]),
    /// A new record: all fields, one after the other.
    Insert(Key, &'a [u8]),
    /// So many records from this key on, or as many as there are.
    Scan(Key, usize),
}

/// A field that a store gave. The fields of a record come together.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Of the answer to which request.
    pub tag: usize,
    /// Of which record.
    pub key: &'a [u8],
    /// Its number.
    pub field: usize,
    /// What it holds.
    pub value: &'a [u8],
}

/// Times that a store's disk took, by its own count: the metric of their 99th percentile over a run, and those until now in seconds.
pub type DiskTimes = (Metric, Option<Histogram>);

/// A store.
pub trait Store: Sync {
    /// Fills it with records; `next` overwrites the fields of one and gives its key, until there is none left.
    ///
    /// # Errors
    /// When the store refuses.
    fn load(&self, place: &Place, next: &mut dyn FnMut(&mut Vec<u8>) -> Option<Key>) -> Result<(), Error>;

    /// Before a run that goes on from none: the start of its own cycles, where it has any.
    ///
    /// # Errors
    /// When the store refuses.
    fn ready(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    /// Lets go of what it holds of its files between runs.
    fn cool(&self) {}

    /// What it counts itself of the times that its disk takes.
    ///
    /// # Errors
    /// When it does not say.
    fn disk_times(&self, _place: &Place) -> Result<Vec<DiskTimes>, Error> {
        Ok(Vec::new())
    }

    /// How many records it counts itself, and its own consistency check, where it has one.
    ///
    /// # Errors
    /// When it refuses, or finds itself damaged.
    fn count(&self, place: &Place) -> Result<u64, Error>;

    /// A connection, or a way in.
    ///
    /// # Errors
    /// When it can't be reached.
    fn connect(&self, place: &Place) -> Result<Box<dyn Session>, Error>;
}

/// A connection: requests are gathered and sent, answers come one by one.
pub trait Session: Send {
    /// Adds a request; its answer will have this tag. A store that works in the caller's thread answers now.
    ///
    /// # Errors
    /// When it is refused, or the connection is lost.
    fn ask(&mut self, tag: usize, request: &Request) -> Result<(), Error>;

    /// Sends what was added, if there is any and it was not sent at once.
    ///
    /// # Errors
    /// When the connection is lost.
    fn send(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Takes the next answer that has come, without waiting, and shows what it holds; its tag. None: more is to come. A write that did not
    /// change what it was to change is an error.
    ///
    /// # Errors
    /// As [`Session::ask`].
    fn answer(&mut self, see: &mut dyn FnMut(Seen)) -> Result<Option<usize>, Error>;

    /// Readable when more has come; none: it works in the caller's thread.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Wrong data: a write changed another number of records or fields than it should.
pub fn changed(what: &str, expected: u64, found: u64) -> Result<(), Error> {
    // Of each answer: texts are made for a wrong one only.
    if expected == found { Ok(()) } else { load::sql::same(what, &expected.to_string(), &found.to_string()) }
}
