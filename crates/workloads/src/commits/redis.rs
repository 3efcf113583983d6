//! Commits on Redis: a transaction (MULTI … EXEC) on two hashes, the rows and the counters, by id.
//!
//! Redis has no check of its own beside the one that each start makes of its files: that it comes up is all that can be asked.

use super::look::Rows;
use super::rule::{LOADED_ROWS, LOADED_STREAM, Rule, id};
use super::target::{Client, CommitTarget, Committed, Session};
use super::{COUNTERS, ROWS};
use crate::ack_log::nanoseconds;
use load::engines::redis::{connect, failed, has_log, rewrite_log};
use load::sql::Place;
use load::workload::Error;
use std::time::{Duration, Instant};
use wire::redis::Redis as Connection;

/// A rewrite of the log takes no longer, where the disk does not fail.
const REWRITE: Duration = Duration::from_secs(12);

/// The trial's database.
pub struct Redis;

/// A row's cells behind its id.
fn cells(stream: u32, number: u64, revision: u64, payload: &str) -> String {
    format!("{stream}\t{number}\t{revision}\t{payload}")
}

impl CommitTarget for Redis {
    fn fill(&self, place: &Place, rule: Rule) -> Result<(), Error> {
        let mut client = connect(place)?;
        let mut set = |hash: &str, key: String, value: String| {
            client.ask(&["HSET", hash, &key, &value]).map(drop).map_err(failed("load the rows"))
        };
        for number in 1..=LOADED_ROWS {
            let id = id(LOADED_STREAM, number);
            set(ROWS, id.to_string(), cells(LOADED_STREAM, number, 0, &rule.payload(id)))?;
        }
        (0..rule.streams).try_for_each(|stream| set(COUNTERS, stream.to_string(), "0".into()))
    }

    /// A rewrite of its log, if it keeps one: another file takes its place.
    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        let mut client = connect(place)?;
        if !has_log(&mut client)? {
            return Ok(());
        }
        let deadline = Instant::now() + REWRITE;
        rewrite_log(&mut client, &|| Instant::now() >= deadline)
    }

    /// About one second, so that a short recording has one and `everysec` shows what it loses afterwards.
    fn checkpoint_spacing(&self) -> u64 {
        4
    }

    fn questions(&self) -> [String; 3] {
        ["PING".into(), format!("HGETALL\n{ROWS}"), format!("HGETALL\n{COUNTERS}")]
    }

    fn is_well(&self, _answer: &[Vec<Option<String>>], row: &[Option<String>]) -> bool {
        row.first().is_some_and(|cell| cell.as_deref() == Some("PONG"))
    }

    fn ask(&self, place: &Place) -> Result<Vec<Rows>, Error> {
        let mut client = connect(place)?;
        self.questions().iter().map(|question| client.table(question).map_err(failed("say what it holds"))).collect()
    }

    fn connect<'a>(&'a self, place: &Place, rule: Rule, stream: u32) -> Result<Box<dyn Client + 'a>, Error> {
        Ok(Box::new(Session { place: place.clone(), client: connect(place)?, rule, stream }))
    }
}

impl Client for Session<Connection> {
    fn commit(&mut self, number: u64, _is_over: &dyn Fn() -> bool) -> Result<Option<Committed>, Error> {
        let (stream, own) = (self.stream, id(self.stream, number));
        let row = |id: u64, revision: u64, (of, at): (u32, u64)| {
            (ROWS, id.to_string(), cells(of, at, revision, &self.rule.payload(id)))
        };
        let mut sets = vec![row(own, 0, (stream, number)), (COUNTERS, stream.to_string(), number.to_string())];
        let loaded = |touched| row(id(LOADED_STREAM, touched), number, (LOADED_STREAM, touched));
        sets.extend(self.rule.touched(stream, number).map(loaded));
        self.client.request(&[b"MULTI"]);
        for (hash, key, value) in &sets {
            self.client.request(&[b"HSET", hash.as_bytes(), key.as_bytes(), value.as_bytes()]);
        }
        self.client.request(&[b"EXEC"]);
        let asked = nanoseconds();
        // Redis says OK, that it queued each, and what all did; the first refusal is the reason of those behind it.
        let replies = sets.len() + 2;
        let mut refusal = Ok(());
        let took = self.client.send().and_then(|()| {
            (0..replies).try_for_each(|_| {
                let reply = self.client.wait_for_reply()?.accepted().map(drop);
                if reply.is_err() && refusal.is_ok() {
                    refusal = reply;
                }
                Ok(())
            })
        });
        took.and(refusal).map_err(failed("commit"))?;
        Ok(Some(Committed { asked, acknowledged: nanoseconds() }))
    }

    /// The connection may be amid a transaction that it queued for.
    fn give_up(&mut self) -> Result<(), Error> {
        self.client = connect(&self.place)?;
        Ok(())
    }
}
