//! etcd's own interface, version 3: messages of its `rpc.proto` and `kv.proto` (etcd.io, "API reference") over gRPC.
//!
//! Few messages are needed, so they are written and read here in Protocol Buffers' encoding (protobuf.dev, "Encoding").

use crate::grpc::Grpc;
use crate::stream::Stream;
use crate::{Address, Error};
use std::io::{Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Sets a key.
    Put(&'a [u8], &'a [u8]),
    /// Sets all of these keys or none.
    PutAll(&'a [Pair]),
    /// The keys from the first to the one before the second, in their order, so many at most; 0: all.
    Range(&'a [u8], &'a [u8], usize),
    /// How many such keys there are.
    Count(&'a [u8], &'a [u8]),
    /// The server's version, size and errors.
    Status,
    /// Its file is written anew, without what is free.
    Defragment,
}

/// Numbers of fields and of kinds, by the interface's definition.
const RANGE: &str = "/etcdserverpb.KV/Range";
const PUT: &str = "/etcdserverpb.KV/Put";
const TRANSACTION: &str = "/etcdserverpb.KV/Txn";
const STATUS: &str = "/etcdserverpb.Maintenance/Status";
const DEFRAGMENT: &str = "/etcdserverpb.Maintenance/Defragment";

impl Request<'_> {
    fn path(&self) -> &'static str {
        match self {
            Request::Put(..) => PUT,
            Request::PutAll(_) => TRANSACTION,
            Request::Range(..) | Request::Count(..) => RANGE,
            Request::Status => STATUS,
            Request::Defragment => DEFRAGMENT,
        }
    }

    /// Appends the message.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Request::Put(key, value) => put(key, value, out),
            Request::PutAll(pairs) => {
                let (mut one, mut operation) = (Vec::new(), Vec::new());
                for (key, value) in *pairs {
                    one.clear();
                    operation.clear();
                    put(key, value, &mut one);
                    // RequestOp.request_put, and TxnRequest.success.
                    bytes(2, &one, &mut operation);
                    bytes(2, &operation, out);
                }
            }
            Request::Range(from, to, limit) => {
                bytes(1, from, out);
                bytes(2, to, out);
                number(3, *limit as u64, out);
            }
            Request::Count(from, to) => {
                bytes(1, from, out);
                bytes(2, to, out);
                number(9, 1, out);
            }
            Request::Status | Request::Defragment => {}
        }
    }
}

fn put(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    bytes(1, key, out);
    bytes(2, value, out);
}

/// Seven bits a byte, the lowest first.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(field: u64, value: u64, out: &mut Vec<u8>) {
    varint(field << 3, out);
    varint(value, out);
}

fn bytes(field: u64, value: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Field::Bytes(bytes) => Ok(bytes),
            Field::Number(_) => Err(Error::Protocol("a number stands where a message has bytes".into())),
        }
    }
}

/// Takes the next field of a message, with its number.
fn next<'a>(message: &mut &'a [u8]) -> Result<Option<(u64, Field<'a>)>, Error> {
    if message.is_empty() {
        return Ok(None);
    }
    let key = take_varint(message)?;
    let length = match key & 7 {
        0 => return Ok(Some((key >> 3, Field::Number(take_varint(message)?)))),
        1 => 8,
        2 => take_varint(message)?,
        5 => 4,
        other => return Err(Error::Protocol(format!("a message has a field of kind {other}"))),
    };
    let split = usize::try_from(length).ok().and_then(|length| message.split_at_checked(length));
    let (taken, rest) = split.ok_or_else(|| Error::Protocol("a message is cut off".into()))?;
    *message = rest;
    Ok(Some((key >> 3, Field::Bytes(taken))))
}

fn take_varint(message: &mut &[u8]) -> Result<u64, Error> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first().ok_or_else(|| Error::Protocol("a number is cut off".into()))?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Error::Protocol("a number has more than 64 bits".into()))
}

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// `3.4.23`.
    pub version: String,
    /// Bytes of its file.
    pub file_bytes: u64,
    /// What it holds wrong, such as a raised alarm.
    pub errors: Vec<String>,
}

/// Shows the keys and values of an answer to a range, in their order; how many.
fn pairs(mut message: &[u8], see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Error> {
    let mut count = 0;
    while let Some((number, field)) = next(&mut message)? {
        if number != 2 {
            continue;
        }
        let (mut pair, mut key, mut value) = (field.bytes()?, &[][..], &[][..]);
        while let Some((number, field)) = next(&mut pair)? {
            match number {
                1 => key = field.bytes()?,
                5 => value = field.bytes()?,
                _ => {}
            }
        }
        see(key, value);
        count += 1;
    }
    Ok(count)
}

/// The number in an answer's field of this number; one that is not there is 0.
fn number_of(mut message: &[u8], wanted: u64) -> Result<u64, Error> {
    let mut value = 0;
    while let Some((number, field)) = next(&mut message)? {
        if let (true, Field::Number(found)) = (number == wanted, field) {
            value = found;
        }
    }
    Ok(value)
}

fn status(mut message: &[u8]) -> Result<Status, Error> {
    let mut status = Status::default();
    let text = |field: Field| Ok::<_, Error>(String::from_utf8_lossy(field.bytes()?).into_owned());
    while let Some((number, field)) = next(&mut message)? {
        match (number, field) {
            (2, field) => status.version = text(field)?,
            (3, Field::Number(bytes)) => status.file_bytes = bytes,
            (8, field) => status.errors.push(text(field)?),
            _ => {}
        }
    }
    Ok(status)
}

/// The first key behind all that begin with `prefix`.
pub fn behind(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // To etcd, one byte of zero as the end: all keys from the first on.
    vec![0]
}

/// What the server says of itself by HTTP, in Prometheus' text form, on a connection of its own.
///
/// # Errors
/// When it can't be reached, or does not say it.
pub fn metrics(address: &Address) -> Result<String, Error> {
    let mut stream = Stream::to(address)?;
    let mut answer = String::new();
    // HTTP/1.0: the answer is whole when the connection ends.
    let asked = stream
        .set_read_timeout(Some(METRICS_TIME_MAX))
        .and_then(|()| stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n"))
        .and_then(|()| stream.take(METRICS_BYTES_MAX).read_to_string(&mut answer));
    asked.map_err(Error::Lost)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.split(' ').nth(1) == Some("200") => Ok(body.into()),
        _ => Err(Error::Protocol(format!("etcd has no /metrics: {}", answer.lines().next().unwrap_or_default()))),
    }
}

/// Its page has some 50 KB.
const METRICS_BYTES_MAX: u64 = 16 << 20;

/// A server that is asked for more than it can do answers late.
const METRICS_TIME_MAX: Duration = Duration::from_secs(30);

/// One connection, on which one request at a time is under way.
pub struct Etcd {
    grpc: Grpc,
    message: Vec<u8>,
    /// Whether the answer under way is a transaction's.
    is_transaction: bool,
}

impl Etcd {
    /// Connects by an address.
    ///
    /// # Errors
    /// When no server listens.
    pub fn connect(address: &Address) -> Result<Etcd, Error> {
        Ok(Etcd::over(Stream::to(address)?))
    }

    pub(crate) fn over(stream: Stream) -> Etcd {
        Etcd { grpc: Grpc::over(stream), message: Vec::new(), is_transaction: false }
    }

    /// Adds a request, which [`Etcd::send`] sends.
    ///
    /// # Errors
    /// When it is larger than the server takes at once.
    pub fn request(&mut self, request: &Request) -> Result<(), Error> {
        self.message.clear();
        request.write(&mut self.message);
        self.is_transaction = matches!(request, Request::PutAll(_));
        self.grpc.begin(request.path(), &self.message)
    }

    /// Sends what was added.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn send(&mut self) -> Result<(), Error> {
        self.grpc.send()
    }

    /// Takes the answer without waiting and shows its keys and values; how many. None: it has not come whole.
    ///
    /// # Errors
    /// When the server refuses (the connection goes on), the connection is lost, or what comes is no answer.
    pub fn answer(&mut self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<Option<usize>, Error> {
        let is_transaction = self.is_transaction;
        let Some(message) = self.grpc.answer()? else { return Ok(None) };
        if !is_transaction {
            return pairs(message, see).map(Some);
        }
        // TxnResponse.succeeded: without conditions it always does.
        if number_of(message, 2)? != 1 {
            return Err(Error::Refused { code: "succeeded".into(), message: "a transaction was not made".into() });
        }
        Ok(Some(0))
    }

    /// Makes a request and waits; all keys and values of its answer.
    ///
    /// # Errors
    /// As [`Etcd::answer`].
    pub fn ask(&mut self, request: &Request) -> Result<Vec<Pair>, Error> {
        self.request(request)?;
        self.send()?;
        let mut found = Vec::new();
        while self.answer(&mut |key, value| found.push((key.to_vec(), value.to_vec())))?.is_none() {
            self.wait()?;
        }
        Ok(found)
    }

    /// How many keys there are from the first to the one before the second.
    ///
    /// # Errors
    /// As [`Etcd::answer`].
    pub fn count(&mut self, from: &[u8], to: &[u8]) -> Result<u64, Error> {
        let mut message = Vec::new();
        Request::Count(from, to).write(&mut message);
        // RangeResponse.count.
        number_of(&self.grpc.ask(RANGE, &message)?, 4)
    }

    /// What the server says of itself.
    ///
    /// # Errors
    /// As [`Etcd::answer`].
    pub fn status(&mut self) -> Result<Status, Error> {
        status(&self.grpc.ask(STATUS, &[])?)
    }

    /// The answer to `STATUS`, a cell that says `well` or what is wrong, or to `RANGE PREFIX`, a row for each such key: with a cell for what is behind
    /// its prefix, and one for all that stands between tabs in its value.
    ///
    /// # Errors
    /// As [`Etcd::ask`].
    pub fn table(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        let Some(prefix) = question.strip_prefix("RANGE ").map(str::as_bytes) else {
            let errors = self.status()?.errors;
            return Ok(vec![vec![Some(if errors.is_empty() { "well".into() } else { errors.join("; ") })]]);
        };
        let found = self.ask(&Request::Range(prefix, &behind(prefix), 0))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let row = |(key, value): &Pair| {
            let value = text(value);
            let key = std::iter::once(text(key.strip_prefix(prefix).unwrap_or(key)));
            key.chain(value.split('\t').map(String::from)).map(Some).collect()
        };
        Ok(found.iter().map(row).collect())
    }

    /// Waits until more of an answer has come.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn wait(&self) -> Result<(), Error> {
        crate::buffer::wait(self.grpc.descriptor())
    }

    /// Readable when more of an answer has come.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.grpc.descriptor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// protobuf.dev, "Encoding": field 1 with the number 150, and field 2 with the text "testing".
    #[test]
    fn fields_are_the_encodings_own() {
        let mut out = Vec::new();
        number(1, 150, &mut out);
        bytes(2, b"testing", &mut out);
        assert_eq!(out, b"\x08\x96\x01\x12\x07testing");
        let mut message = &out[..];
        assert_eq!(next(&mut message).expect("right"), Some((1, Field::Number(150))));
        assert_eq!(next(&mut message).expect("right"), Some((2, Field::Bytes(b"testing"))));
        assert_eq!(next(&mut message).expect("right"), None);
    }

    #[test]
    fn what_is_no_message_is_said() {
        for bytes in [
            &b"\x12\x07test"[..],
            b"\x08",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x0b",
            b"\x0d\x01",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        ] {
            pairs(bytes, &mut |_, _| {}).expect_err("it is none");
        }
    }

    #[test]
    fn a_prefix_ends_behind_its_last_key() {
        assert_eq!(behind(b"user"), b"uses");
        assert_eq!(behind(b"a\xff\xff"), b"b");
        assert_eq!(behind(b"\xff"), [0], "there is nothing behind");
    }
}
