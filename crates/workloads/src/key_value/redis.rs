//! Redis: a hash for each record, as YCSB's binding has it, and where records are scanned a sorted set with all keys.
//!
//! A scan takes its keys from the set in their order, and then the records; YCSB's own binding sorts by a hash of the key, which is no
//! order of keys.

use super::store::{Key, Request, Seen, Session, Shape, Store, changed};
use super::value::KEY_LENGTH;
use load::engines::redis::{connect, failed};
use load::sql::Place;
use load::workload::Error;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use wire::redis::{Redis as Client, Reply, Value, written};

/// The set of all keys.
const INDEX: &[u8] = b"_indices";

/// The end of a word.
const END: &[u8] = b"\r\n";

/// Requests under way while records are loaded.
const LOADING: usize = 200;

/// Records in Redis.
pub struct Redis(pub Shape);

impl Redis {
    fn session(&self, place: &Place) -> Result<RedisSession, Error> {
        let names: Vec<Vec<u8>> = (0..self.0.fields).map(|field| format!("field{field}").into_bytes()).collect();
        let (client, shape) = (connect(place)?, self.0);
        let of_key = |words: usize, word: &[u8]| written(Some(words), &[word], Some(KEY_LENGTH));
        let of_field = |name: &Vec<u8>| [END, &written(None, &[name], Some(shape.length))].concat();
        Ok(RedisSession {
            shape,
            read: of_key(2, b"HGETALL"),
            update: of_key(4, b"HSET"),
            field: names.iter().map(of_field).collect(),
            names,
            client,
            expected: VecDeque::new(),
            found: Vec::new(),
        })
    }
}

impl Store for Redis {
    fn load(&self, place: &Place, next: &mut dyn FnMut(&mut Vec<u8>) -> Option<Key>) -> Result<(), Error> {
        let mut session = self.session(place)?;
        let mut record = Vec::with_capacity(self.0.record_bytes());
        let mut more = true;
        while more {
            let mut asked = 0;
            while more && asked < LOADING {
                match next(&mut record) {
                    Some(key) => session.ask(0, &Request::Insert(key, &record))?,
                    None => more = false,
                }
                asked += usize::from(more);
            }
            session.finish()?;
        }
        Ok(())
    }

    fn count(&self, place: &Place) -> Result<u64, Error> {
        let mut client = connect(place)?;
        let mut count = |words: &[&str]| client.ask(words).and_then(Reply::integer).map_err(failed("count its keys"));
        let keys = count(&["DBSIZE"])? as u64;
        if !self.0.is_scanned {
            return Ok(keys);
        }
        let index = std::str::from_utf8(INDEX).expect("it is text");
        records(keys, count(&["ZCARD", index])? as u64)
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(self.session(place)?))
    }
}

/// What the next reply is to be.
enum Expected {
    /// A record, of the answer with this tag; and whether that ends with it.
    Record { tag: usize, key: Key, is_last: bool },
    /// That no field was added.
    Updated { tag: usize },
    /// That all fields were added; the answer ends with it, or with the next.
    Inserted { tag: usize, is_last: bool },
    /// That a key was added to the set.
    Indexed { tag: usize },
    /// The keys of a scan.
    Keys { tag: usize },
}

struct RedisSession {
    shape: Shape,
    /// A read before its key, and an update before its key and between that and its value, by field.
    read: Vec<u8>,
    update: Vec<u8>,
    field: Vec<Vec<u8>>,
    /// `field0`, `field1` …
    names: Vec<Vec<u8>>,
    client: Client,
    expected: VecDeque<Expected>,
    /// Keys of a scan.
    found: Vec<Key>,
}

impl RedisSession {
    /// Sends what was added and waits for all answers.
    fn finish(&mut self) -> Result<(), Error> {
        self.send()?;
        while !self.expected.is_empty() {
            if self.answer(&mut |_| {})?.is_none() {
                self.client.wait().map_err(failed("be waited for"))?;
            }
        }
        Ok(())
    }

    /// Asks for the records of a scan, whose keys were found. A scan without any has nothing more to come.
    fn ask_found(&mut self, tag: usize) -> Option<usize> {
        let last = self.found.len().checked_sub(1);
        for (index, key) in self.found.iter().enumerate() {
            self.client.request(&[b"HGETALL", key]);
            self.expected.push_back(Expected::Record { tag, key: *key, is_last: Some(index) == last });
        }
        last.is_none().then_some(tag)
    }
}

impl Session for RedisSession {
    fn ask(&mut self, tag: usize, request: &Request) -> Result<(), Error> {
        let Shape { fields, length, is_scanned } = self.shape;
        match request {
            Request::Read(key) => {
                [&self.read, &key[..], END].into_iter().for_each(|part| self.client.part(part));
                self.expected.push_back(Expected::Record { tag, key: *key, is_last: true });
            }
            Request::Update(key, field, value) => {
                let parts = [&self.update, &key[..], &self.field[*field], value, END];
                parts.into_iter().for_each(|part| self.client.part(part));
                self.expected.push_back(Expected::Updated { tag });
            }
            Request::Insert(key, record) => {
                self.client.head(2 + 2 * fields);
                self.client.word(b"HSET");
                self.client.word(key);
                for (name, value) in self.names.iter().zip(record.chunks_exact(length)) {
                    self.client.word(name);
                    self.client.word(value);
                }
                self.expected.push_back(Expected::Inserted { tag, is_last: !is_scanned });
                if is_scanned {
                    // In this order, so that no scan finds a key without its record. With one score for all, keys are in their own order.
                    self.client.request(&[b"ZADD", INDEX, b"0", key]);
                    self.expected.push_back(Expected::Indexed { tag });
                }
            }
            Request::Scan(from, count) => {
                let (from, count) = ([b"[", &from[..]].concat(), count.to_string());
                self.client.request(&[b"ZRANGEBYLEX", INDEX, &from, b"+", b"LIMIT", b"0", count.as_bytes()]);
                self.expected.push_back(Expected::Keys { tag });
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), Error> {
        self.client.send().map_err(failed("be sent requests"))
    }

    fn answer(&mut self, see: &mut dyn FnMut(Seen)) -> Result<Option<usize>, Error> {
        if self.expected.is_empty() {
            let action = "keep a connection that nothing was asked on";
            let Some(found) = self.client.reply().map_err(failed(action))? else { return Ok(None) };
            let found = format!("{:?}", found.values().next());
            return Err(Error::wrong_data("a reply", "none, as nothing was asked", found));
        }
        while let Some(expected) = self.expected.front() {
            let Some(reply) = self.client.reply().map_err(failed("answer"))? else { return Ok(None) };
            let reply = reply.accepted().map_err(failed("answer"))?;
            let ended = match *expected {
                Expected::Record { tag, key, is_last } => {
                    show(&reply, tag, &key, see)?;
                    is_last.then_some(tag)
                }
                Expected::Updated { tag } => {
                    changed("fields that an update added", 0, number(reply)?)?;
                    Some(tag)
                }
                Expected::Inserted { tag, is_last } => {
                    changed("fields that an insert added", self.shape.fields as u64, number(reply)?)?;
                    is_last.then_some(tag)
                }
                Expected::Indexed { tag } => {
                    changed("keys that an insert added to the set", 1, number(reply)?)?;
                    Some(tag)
                }
                Expected::Keys { tag } => {
                    self.found.clear();
                    let texts = reply
                        .values()
                        .filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None });
                    for text in texts {
                        let key = Key::try_from(text).map_err(|_| wrong("a key of ours", text))?;
                        self.found.push(key);
                    }
                    self.ask_found(tag)
                }
            };
            self.expected.pop_front();
            if ended.is_some() {
                return Ok(ended);
            }
        }
        Ok(None)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.client.descriptor())
    }
}

/// Records where the set of their keys is a key, too. A server that lost all has not that one either.
fn records(keys: u64, in_set: u64) -> Result<u64, Error> {
    let records = keys.saturating_sub(1);
    changed("keys in the sorted set", records, in_set)?;
    Ok(records)
}

fn number(reply: Reply) -> Result<u64, Error> {
    reply.integer().map(|number| number as u64).map_err(failed("answer"))
}

fn wrong(expected: &str, found: &[u8]) -> Error {
    let found = String::from_utf8_lossy(found).into_owned();
    Error::wrong_data("Redis' reply", expected, found)
}

/// A hash's names and values, in whatever order.
fn show(reply: &Reply, tag: usize, key: &Key, see: &mut dyn FnMut(Seen)) -> Result<(), Error> {
    let mut values = reply.values().skip(1);
    while let (Some(Value::Text(name)), Some(Value::Text(value))) = (values.next(), values.next()) {
        let field = name.strip_prefix(b"field").and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let field = field.ok_or_else(|| wrong("a field of ours", name))?;
        see(Seen { tag, key, field, value });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 18446744073709551615 keys were expected of an empty server's set.
    #[test]
    fn a_server_that_lost_all_has_no_records() {
        assert_eq!(records(0, 0).expect("they agree"), 0);
        assert_eq!(records(1001, 1000).expect("they agree"), 1000);
        assert!(records(1000, 1000).is_err());
    }
}
