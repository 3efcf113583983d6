//! Redis' protocol, RESP 2 (redis.io, "Redis serialization protocol specification"), pipelined, over a Unix socket.
//!
//! Requests are gathered and sent at once; replies are read as they come, in order, and looked at where they lie in the buffer. A reply
//! that has come in part is gone on with where its reading ended.

use crate::buffer::{Buffer, wait};
use crate::stream::Stream;
use crate::{Address, Error};
use std::io::Write as _;
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd};

/// Arrays in arrays: no reply to a load's requests has more than two.
const DEPTH_MAX: usize = 8;

/// A line: a status, an error, a number or a length. Redis' own limit for one that it reads is 64 KiB.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The longest text: the server's own `proto-max-bulk-len`, as it is by default.
const TEXT_BYTES_MAX: i64 = 512 << 20;

/// What stands in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<T> {
    /// Nothing: no such key.
    Nil,
    /// A number.
    Integer(i64),
    /// A text of any bytes, or a status such as `OK`.
    Text(T),
    /// The server refuses.
    Error(T),
    /// So many values follow.
    Array(usize),
}

/// A whole reply: its values in the order in which they came; of an array, its length stands before them.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    items: &'a [Item],
    bytes: &'a [u8],
}

/// By where its text lies.
type Item = Value<Range<usize>>;

impl<'a> Reply<'a> {
    /// Its value of this number.
    pub fn get(&self, index: usize) -> Option<Value<&'a [u8]>> {
        Some(match self.items.get(index)? {
            Item::Nil => Value::Nil,
            Item::Integer(number) => Value::Integer(*number),
            Item::Text(range) => Value::Text(&self.bytes[range.clone()]),
            Item::Error(range) => Value::Error(&self.bytes[range.clone()]),
            Item::Array(count) => Value::Array(*count),
        })
    }

    /// All its values.
    pub fn values(&self) -> impl Iterator<Item = Value<&'a [u8]>> {
        let reply = *self;
        (0..self.items.len()).map_while(move |index| reply.get(index))
    }

    /// Itself, or the first refusal in it: that of a transaction's command stands within the transaction's reply.
    ///
    /// # Errors
    /// What the server says.
    pub fn accepted(self) -> Result<Reply<'a>, Error> {
        for value in self.values() {
            if let Value::Error(words) = value {
                return Err(refused(words));
            }
        }
        Ok(self)
    }

    /// Its number.
    ///
    /// # Errors
    /// When the server refuses, or says something else.
    pub fn integer(self) -> Result<i64, Error> {
        match self.accepted()?.get(0) {
            Some(Value::Integer(number)) => Ok(number),
            other => Err(Error::Protocol(format!("{other:?} stands where a number is expected"))),
        }
    }

    /// Its texts, of an array those within it; numbers in digits.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn texts(self) -> Result<Vec<String>, Error> {
        let text = |value| match value {
            Value::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Nil | Value::Error(_) | Value::Array(_) => None,
        };
        Ok(self.accepted()?.values().filter_map(text).collect())
    }
}

/// An error's first word is its kind: `ERR`, `OOM`, `MISCONF` …
fn refused(words: &[u8]) -> Error {
    let words = String::from_utf8_lossy(words);
    let (code, message) = words.split_once(' ').unwrap_or((words.as_ref(), ""));
    Error::Refused { code: code.into(), message: message.into() }
}

/// Where the reading of a reply is.
#[derive(Default)]
struct Reading {
    /// Bytes of the reply that were read.
    at: usize,
    /// Values that are missing yet, of the outermost array first.
    missing: Vec<usize>,
    items: Vec<Item>,
}

impl Reading {
    /// Goes on; true: the reply is whole.
    fn advance(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        loop {
            let Some(line) = line(bytes, self.at)? else { return Ok(false) };
            let (Some(&kind), end) = (bytes.get(self.at), line.end + 2) else { return Ok(false) };
            let item = match kind {
                b'+' => Item::Text(line),
                b'-' => Item::Error(line),
                b':' => Item::Integer(number(&bytes[line])?),
                b'$' => match length(&bytes[line], TEXT_BYTES_MAX)? {
                    None => Item::Nil,
                    Some(length) => {
                        let text = end..end + length;
                        let Some(mark) = bytes.get(text.end..text.end + 2) else { return Ok(false) };
                        if mark != b"\r\n" {
                            return Err(Error::Protocol("a text does not end where it must".into()));
                        }
                        self.at = text.end + 2;
                        self.items.push(Item::Text(text));
                        if self.is_whole() {
                            return Ok(true);
                        }
                        continue;
                    }
                },
                b'*' => length(&bytes[line], i64::from(u32::MAX))?.map_or(Item::Nil, Item::Array),
                other => return Err(Error::Protocol(format!("no reply begins with {:?}", char::from(other)))),
            };
            self.at = end;
            let inner = if let Item::Array(count) = item { count } else { 0 };
            self.items.push(item);
            if inner > 0 {
                if self.missing.len() == DEPTH_MAX {
                    return Err(Error::Protocol("arrays are too deep in each other".into()));
                }
                self.missing.push(inner);
            } else if self.is_whole() {
                return Ok(true);
            }
        }
    }

    /// After a value: whether it was the last.
    fn is_whole(&mut self) -> bool {
        while let Some(missing) = self.missing.last_mut() {
            *missing -= 1;
            if *missing > 0 {
                return false;
            }
            self.missing.pop();
        }
        true
    }
}

/// What stands between the kind and the end of a line; none: it has not come whole.
fn line(bytes: &[u8], at: usize) -> Result<Option<Range<usize>>, Error> {
    let from = at + 1;
    let rest = bytes.get(from..).unwrap_or_default();
    match rest.iter().position(|byte| *byte == b'\r') {
        Some(length) if rest.get(length + 1) == Some(&b'\n') => Ok(Some(from..from + length)),
        Some(length) if rest.len() > length + 1 => Err(Error::Protocol("a line has a carriage return in it".into())),
        _ if rest.len() > LINE_BYTES_MAX => Err(Error::Protocol("a line does not end".into())),
        _ => Ok(None),
    }
}

fn number(digits: &[u8]) -> Result<i64, Error> {
    let parsed = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    parsed.ok_or_else(|| Error::Protocol(format!("{:?} is no number", String::from_utf8_lossy(digits))))
}

/// -1 is no value at all.
fn length(digits: &[u8], max: i64) -> Result<Option<usize>, Error> {
    match number(digits)? {
        -1 => Ok(None),
        length if (0..=max).contains(&length) => Ok(Some(length as usize)),
        length => Err(Error::Protocol(format!("{length} is no length"))),
    }
}

/// A kind and a number in digits, without the detour of formatting: each word of each request has them.
fn count(kind: u8, count: usize, out: &mut Vec<u8>) {
    let (mut digits, mut from, mut rest) = ([0; 20], 20, count);
    while from == 20 || rest > 0 {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.push(kind);
    out.extend_from_slice(&digits[from..]);
    out.extend_from_slice(b"\r\n");
}

/// The head of a request of so many words, if it begins here, and these words, as the protocol has them; then what stands before a further word
/// of so many bytes, if one follows. Behind that word comes the end of a line.
pub fn written(head: Option<usize>, words: &[&[u8]], next: Option<usize>) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(words) = head {
        count(b'*', words, &mut out);
    }
    for word in words {
        count(b'$', word.len(), &mut out);
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    if let Some(bytes) = next {
        count(b'$', bytes, &mut out);
    }
    out
}

/// One connection.
pub struct Redis {
    stream: Stream,
    input: Buffer,
    output: Vec<u8>,
    reading: Reading,
    /// Whether the reply that was read last was handed out and lies in the buffer still.
    is_handed_out: bool,
}

impl Redis {
    /// Connects by an address.
    ///
    /// # Errors
    /// When no server listens.
    pub fn connect(address: &Address) -> Result<Redis, Error> {
        Stream::to(address).map(Redis::over)
    }

    pub(crate) fn over(stream: Stream) -> Redis {
        let (input, output, reading) = (Buffer::new(), Vec::new(), Reading::default());
        Redis { stream, input, output, reading, is_handed_out: false }
    }

    /// Adds a request to those that [`Redis::send`] sends.
    pub fn request(&mut self, words: &[&[u8]]) {
        self.head(words.len());
        words.iter().for_each(|word| self.word(word));
    }

    /// Adds part of a request that is written as the protocol has it, by [`written`]: what is the same in each request is written once.
    pub fn part(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
    }

    /// Begins a request of so many words, each of which is added by [`Redis::word`].
    pub fn head(&mut self, words: usize) {
        count(b'*', words, &mut self.output);
    }

    /// Adds a word of a request.
    pub fn word(&mut self, word: &[u8]) {
        count(b'$', word.len(), &mut self.output);
        self.output.extend_from_slice(word);
        self.output.extend_from_slice(b"\r\n");
    }

    /// Sends what was added, if there is any. The server reads on whatever it has to answer, so this does not wait for replies to be taken.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn send(&mut self) -> Result<(), Error> {
        self.stream.write_all(&self.output).map_err(Error::Lost)?;
        self.output.clear();
        Ok(())
    }

    /// The next reply, without waiting; none: it has not come whole.
    ///
    /// # Errors
    /// When the connection is lost, or what comes is no reply. A refusal is a reply.
    pub fn reply(&mut self) -> Result<Option<Reply<'_>>, Error> {
        if std::mem::take(&mut self.is_handed_out) {
            self.input.take(self.reading.at);
            self.reading.at = 0;
            self.reading.items.clear();
        }
        while !self.reading.advance(self.input.bytes())? {
            let held = self.input.bytes().len();
            if !self.input.have(&self.stream, held + 1)? {
                return Ok(None);
            }
        }
        self.is_handed_out = true;
        Ok(Some(Reply { items: &self.reading.items, bytes: self.input.bytes() }))
    }

    /// Sends a request and waits for its reply, when no other is under way: for set-up and checks, not for load.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    pub fn ask(&mut self, words: &[&str]) -> Result<Reply<'_>, Error> {
        self.head(words.len());
        words.iter().for_each(|word| self.word(word.as_bytes()));
        self.send()?;
        self.wait_for_reply()?.accepted()
    }

    /// The reply to a request, a word a line, as a table: a row is two of its texts, a key and its value, with a cell for all that stands between tabs.
    ///
    /// # Errors
    /// As [`Redis::ask`].
    pub fn table(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        let words: Vec<&str> = question.split('\n').collect();
        let texts = self.ask(&words)?.texts()?;
        let row =
            |pair: &[String]| pair.iter().flat_map(|text| text.split('\t')).map(|cell| Some(cell.into())).collect();
        Ok(texts.chunks(2).map(row).collect())
    }

    /// Waits for the next reply.
    ///
    /// # Errors
    /// As [`Redis::reply`].
    pub fn wait_for_reply(&mut self) -> Result<Reply<'_>, Error> {
        while self.reply()?.is_none() {
            self.wait()?;
        }
        Ok(Reply { items: &self.reading.items, bytes: self.input.bytes() })
    }

    /// Waits until more of a reply has come, when none is there whole.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn wait(&self) -> Result<(), Error> {
        wait(self.stream.as_fd())
    }

    /// Readable when more of a reply has come.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// The values of the replies that a server sends.
    fn seen(bytes: &[u8]) -> Vec<String> {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        theirs.write_all(bytes).expect("it fits the socket's buffer");
        let mut client = Redis::over(Stream::Unix(ours));
        let mut seen = Vec::new();
        loop {
            match client.reply() {
                Ok(Some(reply)) => seen.push(format!("{:?}", reply.values().collect::<Vec<_>>())),
                Ok(None) => return seen,
                Err(error) => {
                    seen.push(error.to_string());
                    return seen;
                }
            }
        }
    }

    /// The examples of the specification.
    #[test]
    fn replies_of_all_kinds() {
        assert_eq!(seen(b"+OK\r\n"), ["[Text([79, 75])]"]);
        assert_eq!(seen(b":-7\r\n:0\r\n"), ["[Integer(-7)]", "[Integer(0)]"]);
        assert_eq!(seen(b"$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"), ["[Text([])]", "[Nil]", "[Nil]", "[Array(0)]"]);
        let nested = b"*3\r\n*2\r\n:1\r\n$1\r\nx\r\n*0\r\n-ERR no\r\n";
        assert_eq!(
            seen(nested),
            ["[Array(3), Array(2), Integer(1), Text([120]), Array(0), Error([69, 82, 82, 32, 110, 111])]"]
        );
        assert_eq!(seen(b"*2\r\n:1\r\n$5\r\nhal"), [""; 0], "it has not come whole");
    }

    #[test]
    fn what_is_no_reply_is_said() {
        assert_eq!(seen(b"?\r\n"), ["the server's answer can't be read: no reply begins with '?'"]);
        assert_eq!(seen(b"$1\r\nxyz\r\n"), ["the server's answer can't be read: a text does not end where it must"]);
        assert_eq!(seen(b"$-2\r\n"), ["the server's answer can't be read: -2 is no length"]);
        assert_eq!(
            seen(&b"*1\r\n".repeat(9)),
            ["the server's answer can't be read: arrays are too deep in each other"]
        );
    }

    #[test]
    fn a_refusal_within_a_transaction_is_one() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        theirs.write_all(b"*2\r\n:1\r\n-WRONGTYPE Operation against a key\r\n").expect("written");
        let error =
            Redis::over(Stream::Unix(ours)).wait_for_reply().expect("whole").accepted().expect_err("one is refused");
        assert_eq!(error.to_string(), "the database says: Operation against a key (WRONGTYPE)");
    }

    #[test]
    fn requests_are_arrays_of_texts() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let mut client = Redis::over(Stream::Unix(ours));
        client.request(&[b"SET", b"k", &[b'x'; 12]]);
        client.send().expect("sent");
        drop(client);
        let mut sent = String::new();
        std::io::Read::read_to_string(&mut theirs, &mut sent).expect("text");
        assert_eq!(sent, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$12\r\nxxxxxxxxxxxx\r\n");
        let in_parts = [written(Some(3), &[b"SET", b"k"], Some(12)), vec![b'x'; 12], b"\r\n".to_vec()].concat();
        assert_eq!(sent.as_bytes(), in_parts);
    }
}
