//! Commits on etcd: a transaction of several keys, the rows and the counters, by id.
//!
//! Its own check is what it reports of itself; each start reads its log with checksums.

use super::look::Rows;
use super::rule::{LOADED_ROWS, LOADED_STREAM, Rule, id};
use super::target::{Client, CommitTarget, Committed, Session};
use super::{COUNTERS, ROWS};
use crate::ack_log::nanoseconds;
use load::engines::etcd::{connect, failed};
use load::sql::Place;
use load::workload::Error;
use wire::etcd::{Etcd as Connection, Pair, Request};

/// Keys that are set at once: etcd takes 128 by default (`--max-txn-ops`).
const AT_ONCE: usize = 100;

/// The trial's database.
pub struct Etcd;

/// A row's key, and its cells behind the id.
fn row(rule: Rule, id: u64, revision: u64, (stream, number): (u32, u64)) -> Pair {
    let cells = format!("{stream}\t{number}\t{revision}\t{}", rule.payload(id));
    (format!("{ROWS}/{id}").into_bytes(), cells.into_bytes())
}

fn counter(stream: u32, number: u64) -> Pair {
    (format!("{COUNTERS}/{stream}").into_bytes(), number.to_string().into_bytes())
}

impl CommitTarget for Etcd {
    fn fill(&self, place: &Place, rule: Rule) -> Result<(), Error> {
        let mut client = connect(place)?;
        let rows = (1..=LOADED_ROWS).map(|number| {
            let id = id(LOADED_STREAM, number);
            row(rule, id, 0, (LOADED_STREAM, number))
        });
        let pairs: Vec<Pair> = rows.chain((0..rule.streams).map(|stream| counter(stream, 0))).collect();
        let put = |pairs: &[Pair]| client.ask(&Request::PutAll(pairs)).map(drop).map_err(failed("load the rows"));
        pairs.chunks(AT_ONCE).try_for_each(put)
    }

    /// Its file of keys is written anew and takes the old one's place, with all that was committed before.
    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        connect(place)?.ask(&Request::Defragment).map(drop).map_err(failed("write its file anew"))
    }

    fn questions(&self) -> [String; 3] {
        ["STATUS".into(), format!("RANGE {ROWS}/"), format!("RANGE {COUNTERS}/")]
    }

    fn is_well(&self, _answer: &[Vec<Option<String>>], row: &[Option<String>]) -> bool {
        row.first().is_some_and(|cell| cell.as_deref() == Some("well"))
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
        let mut pairs = vec![row(self.rule, own, 0, (stream, number)), counter(stream, number)];
        let loaded = |touched| row(self.rule, id(LOADED_STREAM, touched), number, (LOADED_STREAM, touched));
        pairs.extend(self.rule.touched(stream, number).map(loaded));
        // A loaded row may be touched twice, and etcd sets a key once in a transaction.
        pairs.sort_unstable();
        pairs.dedup();
        let asked = nanoseconds();
        self.client.ask(&Request::PutAll(&pairs)).map_err(failed("commit"))?;
        Ok(Some(Committed { asked, acknowledged: nanoseconds() }))
    }

    /// A call may be under way still.
    fn give_up(&mut self) -> Result<(), Error> {
        self.client = connect(&self.place)?;
        Ok(())
    }
}
