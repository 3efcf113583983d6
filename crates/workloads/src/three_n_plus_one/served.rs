//! A database server as a store for 3n+1: a table of texts, each worker on a connection of its own.

use super::Parameters;
use super::store::{SIGNED_TO_MAX, Shared, Store, StoreKind, Totals, Workers, steps_of};
use super::words::Spelling;
use load::sql::{Counters, Database, Place, Pragmas, failed};
use load::workload::Error;
use observe::durability::Durability;
use std::fmt::Write as _;
use wire::{Connection, Param, Statement};

/// The store on every server that takes SQL.
pub static STORE: StoreKind = StoreKind {
    engine: None,
    to_max: SIGNED_TO_MAX,
    numbers_per_second: 15_000.0,
    // What it flushes its own settings decide.
    durability: |_| Durability::full(),
    open: |place, parameters| Ok(Box::new(Served::open(place, parameters)?)),
    workers: Workers::Ours(|place, parameters| Ok(Box::new(Served::open(place, parameters)?))),
};

/// Sizes of the columns: a number of 20 digits in words has 359 bytes.
const TABLES: [&str; 3] = [
    "CREATE TABLE step (n VARCHAR(400) NOT NULL PRIMARY KEY, steps VARCHAR(400) NOT NULL)",
    "CREATE TABLE block (lowest BIGINT NOT NULL PRIMARY KEY, last BIGINT NOT NULL, claimed INTEGER NOT NULL, done INTEGER NOT NULL)",
    "CREATE TABLE total (longest BIGINT NOT NULL, highest BIGINT NOT NULL, looked_up BIGINT NOT NULL, stored BIGINT NOT NULL)",
];

/// A connection of one process.
pub struct Served {
    database: Box<dyn Database>,
    place: Place,
    connection: Box<dyn Connection>,
    /// Made when the first number is looked up: the table is there then.
    find: Option<Statement>,
    spelling: Spelling,
    key: String,
    value: String,
    known: Totals,
}

impl Served {
    /// Opens the store in the trial's server.
    pub fn open(place: &Place, parameters: &Parameters) -> Result<Served, Error> {
        let database = parameters.engine.database(&Pragmas::default());
        let connection = database.connect(place)?;
        let spelling = Spelling::new(parameters.words);
        let (key, value) = (String::new(), String::new());
        let known = Totals::default();
        Ok(Served { database, place: place.clone(), connection, find: None, spelling, key, value, known })
    }

    fn ask(&mut self, action: &'static str, statement: &str) -> Result<wire::Answer, Error> {
        self.connection.query(statement).map_err(failed(self.database.name(), action))
    }

    fn numbers_of(&mut self, action: &'static str, statement: &str) -> Result<Vec<u64>, Error> {
        let answer = self.ask(action, statement)?;
        first_row(&answer)
            .ok_or_else(|| Error::wrong_data(statement, "a row of whole numbers", format!("{:?}", answer.rows)))
    }

    /// Statements in one transaction, tried again as long as another's locks are in the way.
    fn transact(&mut self, action: &'static str, statements: &[String]) -> Result<(), Error> {
        loop {
            let tried = statements.iter().try_for_each(|statement| self.connection.query(statement).map(drop));
            match tried {
                Ok(()) => return Ok(()),
                Err(error) if error.conflict().is_some() => drop(self.ask(action, "ROLLBACK")?),
                Err(error) => return Err(failed(self.database.name(), action)(error)),
            }
        }
    }

    /// All numbers of a path in one statement, in the order of their keys, so that two workers wait for each other in a
    /// row and not in a ring.
    fn insert(&mut self, path: &[u64], total: u64) -> String {
        let mut rows: Vec<String> = Vec::with_capacity(path.len());
        for (index, n) in path.iter().enumerate() {
            self.spelling.write(*n, &mut self.key);
            self.spelling.write(total - index as u64, &mut self.value);
            let mut row = String::with_capacity(self.key.len() + self.value.len() + 7);
            let _ = write!(row, "('{}','{}')", self.key, self.value);
            rows.push(row);
        }
        rows.sort_unstable();
        let anew = (self.database.dialect().replacing)("n", "steps");
        format!("INSERT INTO step VALUES {} {anew}", rows.join(","))
    }
}

/// The first row, when it is of whole numbers.
fn first_row(answer: &wire::Answer) -> Option<Vec<u64>> {
    answer.rows.first()?.iter().map(|cell| cell.as_deref()?.parse().ok()).collect()
}

impl Store for Served {
    fn create(&mut self, blocks: &[(u64, u64)]) -> Result<(), Error> {
        let action = "make its tables";
        // Numbers in words are in many scripts, and compared byte by byte.
        let of_words = self.database.dialect().table_bytewise;
        for (name, table) in ["step", "block", "total"].into_iter().zip(TABLES) {
            self.ask(action, &format!("DROP TABLE IF EXISTS {name}"))?;
            self.ask(action, &format!("{table}{of_words}"))?;
        }
        self.ask(action, "INSERT INTO total VALUES (0, 0, 0, 0)")?;
        for some in blocks.chunks(1000) {
            let rows: Vec<String> = some.iter().map(|(first, last)| format!("({first}, {last}, 0, 0)")).collect();
            self.ask(action, &format!("INSERT INTO block VALUES {}", rows.join(", ")))?;
        }
        self.database.checkpoint(&self.place)
    }

    fn look_up(&mut self, numbers: &[u64]) -> Result<Vec<Option<u64>>, Error> {
        numbers.iter().map(|n| self.steps(*n)).collect()
    }

    fn unfinished_blocks(&mut self) -> Result<u64, Error> {
        // In a fresh server there is no table yet.
        let exists = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'block'";
        if self.numbers_of("look for its tables", exists)? == [0] {
            return Ok(0);
        }
        Ok(self.numbers_of("count blocks", "SELECT count(*) FROM block WHERE done = 0")?[0])
    }

    fn release_claims(&mut self) -> Result<(), Error> {
        self.ask("release claims", "UPDATE block SET claimed = 0 WHERE done = 0").map(drop)
    }

    fn totals(&mut self) -> Result<Totals, Error> {
        let all = self.numbers_of("read the totals", "SELECT longest, highest, looked_up, stored FROM total")?;
        Ok(Totals { longest: all[0], highest: all[1], reads: all[2], updates: all[3] })
    }

    fn numbers(&mut self) -> Result<u64, Error> {
        Ok(self.numbers_of("count numbers", "SELECT count(*) FROM step")?[0])
    }

    fn counters(&mut self) -> Result<Counters, Error> {
        self.database.counters(&self.place)
    }

    fn check(&mut self) -> Result<(), Error> {
        self.database.check(&self.place, &["step".into(), "block".into()])
    }
}

impl Shared for Served {
    fn claim(&mut self) -> Result<Option<(u64, u64)>, Error> {
        let free = "SELECT lowest, last FROM block WHERE claimed = 0 AND done = 0 ORDER BY lowest LIMIT 1";
        loop {
            let found = first_row(&self.ask("find a block", free)?);
            let Some(&[first, last]) = found.as_deref() else { return Ok(None) };
            // Another may take it in between.
            let take = format!("UPDATE block SET claimed = 1 WHERE lowest = {first} AND claimed = 0");
            if self.ask("claim a block", &take)?.changed == 1 {
                return Ok(Some((first, last)));
            }
        }
    }

    fn steps(&mut self, n: u64) -> Result<Option<u64>, Error> {
        let (engine, action) = (self.database.name(), "look up a number");
        let find = match self.find {
            Some(find) => find,
            None => {
                let made = self.connection.prepare("SELECT steps FROM step WHERE n = $1");
                *self.find.insert(made.map_err(failed(engine, action))?)
            }
        };
        self.spelling.write(n, &mut self.key);
        let (spelling, mut found) = (self.spelling, None);
        let mut row = |value: wire::Value| found = Some(value.text().and_then(|text| spelling.read(text)));
        self.connection.execute(find, &[Param::Text(&self.key)], &mut row).map_err(failed(engine, action))?;
        steps_of(n, found)
    }

    fn put_path(&mut self, path: &[u64], total: u64, highest: u64) -> Result<(), Error> {
        let insert = self.insert(path, total);
        if total <= self.known.longest && highest <= self.known.highest {
            return self.transact("store a path", &[insert]);
        }
        let raise =
            format!("UPDATE total SET longest = greatest(longest, {total}), highest = greatest(highest, {highest})");
        self.transact("store a path", &["BEGIN".into(), raise, insert, "COMMIT".into()])?;
        self.known = self.totals()?;
        Ok(())
    }

    fn finish(&mut self, block: (u64, u64), reads: u64, updates: u64) -> Result<(), Error> {
        let done = format!("UPDATE block SET done = 1 WHERE lowest = {}", block.0);
        let count = format!("UPDATE total SET looked_up = looked_up + {reads}, stored = stored + {updates}");
        self.transact("finish a block", &["BEGIN".into(), count, done, "COMMIT".into()])
    }
}
