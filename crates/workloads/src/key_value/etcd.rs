//! etcd: a key for each field, `user…/field`, so that a field is replaced by one write and a record read by one range.

use super::store::{DiskTimes, Key, Request, Seen, Session, Shape, Store, changed};
use super::value::KEY_LENGTH;
use load::engines::etcd::{connect, disk_times, failed};
use load::sql::Place;
use load::workload::Error;
use observe::metric::{Direction, Metric};
use std::os::fd::BorrowedFd;
use wire::etcd::{Etcd as Client, Request as Ask, behind};

/// What all keys begin with, and what the first key behind them is.
const FIRST: &[u8] = b"user";
const LAST: &[u8] = b"uses";

/// Bytes of a record that a request holds: HTTP/2's window (`wire::grpc`), less than a key and heads for each field.
pub const RECORD_BYTES_MAX: usize = 48 << 10;

/// The metrics that only etcd has, of its own histograms, whose bounds are powers of two of a millisecond: between these it is read as its
/// maker's dashboards read it.
pub const METRICS: [Metric; 2] = [
    Metric::new("wal_fsync_microseconds_p99", "µs", Direction::Less),
    Metric::new("backend_commit_microseconds_p99", "µs", Direction::Less),
];

/// Records in etcd.
pub struct Etcd(pub Shape);

impl Etcd {
    fn session(&self, place: &Place) -> Result<EtcdSession, Error> {
        Ok(EtcdSession { shape: self.0, client: connect(place)?, asked: None })
    }
}

impl Store for Etcd {
    fn load(&self, place: &Place, next: &mut dyn FnMut(&mut Vec<u8>) -> Option<Key>) -> Result<(), Error> {
        // Changes that come at the same time share a flush.
        let mut sessions = Vec::new();
        for _ in 0..LOADING {
            sessions.push(self.session(place)?);
        }
        let mut record = Vec::with_capacity(self.0.record_bytes());
        let mut more = true;
        while more {
            for session in &mut sessions {
                let Some(key) = next(&mut record) else {
                    more = false;
                    break;
                };
                session.ask(0, &Request::Insert(key, &record))?;
                session.send()?;
            }
            for session in sessions.iter_mut().filter(|session| session.asked.is_some()) {
                while session.answer(&mut |_| {})?.is_none() {
                    session.client.wait().map_err(failed("be waited for"))?;
                }
            }
        }
        Ok(())
    }

    fn disk_times(&self, place: &Place) -> Result<Vec<DiskTimes>, Error> {
        Ok(METRICS.into_iter().zip(disk_times(place)?).collect())
    }

    fn count(&self, place: &Place) -> Result<u64, Error> {
        let mut client = connect(place)?;
        let keys = client.count(FIRST, LAST).map_err(failed("count its keys"))?;
        let fields = self.0.fields as u64;
        changed("fields of the last record", 0, keys % fields)?;
        Ok(keys / fields)
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(self.session(place)?))
    }
}

/// Connections that load records.
const LOADING: usize = 64;

/// What an answer holds.
#[derive(Clone, Copy)]
struct Asked {
    tag: usize,
    /// Whether fields.
    is_read: bool,
}

struct EtcdSession {
    shape: Shape,
    client: Client,
    /// The request under way: one at a time.
    asked: Option<Asked>,
}

/// The key of a record's field. Three digits, so that their order is the fields'.
fn field_key(key: &Key, field: usize) -> Vec<u8> {
    [&key[..], format!("/{field:03}").as_bytes()].concat()
}

impl Session for EtcdSession {
    fn ask(&mut self, tag: usize, request: &Request) -> Result<(), Error> {
        let Shape { fields, length, .. } = self.shape;
        let asked = match request {
            Request::Read(key) => {
                let prefix = [&key[..], b"/"].concat();
                self.client.request(&Ask::Range(&prefix, &behind(&prefix), 0))
            }
            Request::Update(key, field, value) => self.client.request(&Ask::Put(&field_key(key, *field), value)),
            Request::Insert(key, record) => {
                let values = record.chunks_exact(length).enumerate();
                let pairs: Vec<_> = values.map(|(field, value)| (field_key(key, field), value.to_vec())).collect();
                self.client.request(&Ask::PutAll(&pairs))
            }
            Request::Scan(from, count) => self.client.request(&Ask::Range(from, LAST, count * fields)),
        };
        asked.map_err(failed("be asked"))?;
        let is_read = matches!(request, Request::Read(_) | Request::Scan(..));
        self.asked = Some(Asked { tag, is_read });
        Ok(())
    }

    fn send(&mut self) -> Result<(), Error> {
        self.client.send().map_err(failed("be sent requests"))
    }

    fn answer(&mut self, see: &mut dyn FnMut(Seen)) -> Result<Option<usize>, Error> {
        let Some(Asked { tag, is_read }) = self.asked else {
            self.client.answer(&mut |_, _| {}).map_err(failed("keep a connection that nothing was asked on"))?;
            return Ok(None);
        };
        let mut wrong = None;
        let shown = self.client.answer(&mut |key, value| match field_of(key).filter(|_| is_read) {
            Some((key, field)) => see(Seen { tag, key, field, value }),
            None => wrong = Some(String::from_utf8_lossy(key).into_owned()),
        });
        let Some(_) = shown.map_err(failed("answer"))? else { return Ok(None) };
        self.asked = None;
        match wrong {
            None => Ok(Some(tag)),
            Some(found) => Err(Error::wrong_data("etcd's answer", "a key of ours, where one was asked for", found)),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.client.descriptor())
    }
}

/// The record and the field of a key.
fn field_of(key: &[u8]) -> Option<(&[u8], usize)> {
    let (record, field) = key.split_at_checked(KEY_LENGTH)?;
    let digits = std::str::from_utf8(field.strip_prefix(b"/")?).ok()?;
    Some((record, digits.parse().ok().filter(|_| digits.len() == 3)?))
}
