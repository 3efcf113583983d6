//! GT.M as a store for 3n+1: the workers are GT.M's own processes, running the routine `surefoot.m`.

use super::Parameters;
use super::store::{Store, StoreKind, Totals, Workers};
use load::engines::gtm;
use load::sql::{Counters, Place};
use load::workload::Error;
use observe::durability::{Class, Durability};
use std::fmt::Write as _;
use std::process::Command;

/// The row in the list of stores.
pub static STORE: StoreKind = StoreKind {
    engine: Some(&gtm::ENGINE),
    to_max: TO_MAX,
    numbers_per_second: 300_000.0,
    durability: |_| {
        let why = "GT.M flushes single updates with the next transaction, or about a second later";
        Durability::because(Class::LosesRecent, why)
    },
    open: |place, parameters| Ok(Box::new(Gtm::open(place, parameters)?)),
    workers: Workers::Own(|place, parameters| Ok(Gtm::open(place, parameters)?.worker())),
};

/// The routine; its entries read orders a line each.
const ROUTINE: &str = include_str!("surefoot.m");

/// M's numbers have 18 digits. Below this integer no sequence goes above 10^18 (the first that does is that of 319,804,831).
const TO_MAX: u64 = 319_804_830;

/// The trial's database.
pub struct Gtm {
    database: gtm::Gtm,
    words: bool,
}

impl Gtm {
    /// Opens it, and gives it the routine.
    pub fn open(place: &Place, parameters: &Parameters) -> Result<Gtm, Error> {
        Ok(Gtm { database: gtm::Gtm::open(place, "surefoot", ROUTINE)?, words: parameters.words })
    }

    /// The command of a worker, and its orders.
    pub fn worker(&self) -> (Command, Vec<u8>) {
        let command = self.database.command(&["mumps", "-run", "work^surefoot"]);
        (command, format!("{}\n", u8::from(self.words)).into())
    }

    fn call(&self, entry: &str, input: &str) -> Result<String, Error> {
        self.database.run(&["mumps", "-run", &format!("{entry}^surefoot")], input)
    }

    fn numbers_of<T: std::str::FromStr>(&self, entry: &str, input: &str) -> Result<Vec<T>, Error> {
        let said = self.call(entry, input)?;
        let numbers: Option<Vec<T>> = said.split_whitespace().map(|word| word.parse().ok()).collect();
        numbers.ok_or_else(|| Error::wrong_data(entry, "numbers", said))
    }

    fn all_totals(&self) -> Result<[u64; 5], Error> {
        let wrong = |found: Vec<u64>| Error::wrong_data("totals", "five numbers", format!("{found:?}"));
        self.numbers_of("totals", "")?.try_into().map_err(wrong)
    }
}

impl Store for Gtm {
    fn create(&mut self, blocks: &[(u64, u64)]) -> Result<(), Error> {
        let mut input = String::new();
        for (first, last) in blocks {
            let _ = writeln!(input, "{first} {last}");
        }
        input.push('\n');
        self.call("create", &input).map(drop)
    }

    fn look_up(&mut self, numbers: &[u64]) -> Result<Vec<Option<u64>>, Error> {
        let mut input = format!("{}\n", u8::from(self.words));
        for n in numbers {
            let _ = writeln!(input, "{n}");
        }
        input.push('\n');
        let found: Vec<i64> = self.numbers_of("look", &input)?;
        Ok(found.into_iter().map(|steps| steps.try_into().ok()).collect())
    }

    fn unfinished_blocks(&mut self) -> Result<u64, Error> {
        Ok(self.all_totals()?[4])
    }

    fn release_claims(&mut self) -> Result<(), Error> {
        self.call("release", "").map(drop)
    }

    fn totals(&mut self) -> Result<Totals, Error> {
        let [longest, highest, reads, updates, _] = self.all_totals()?;
        Ok(Totals { longest, highest, reads, updates })
    }

    fn numbers(&mut self) -> Result<u64, Error> {
        Ok(self.numbers_of("count", "")?.first().copied().unwrap_or_default())
    }

    /// The file header has them when no process is in the database.
    fn counters(&mut self) -> Result<Counters, Error> {
        let header = self.database.run(&["mupip", "dumpfhead", "-region", "DEFAULT"], "")?;
        let field = |name: &str| {
            let start = format!("record(\"sgmnt_data.gvstats_rec.{name}\")=");
            let text = header.lines().find_map(|line| line.strip_prefix(start.as_str()))?;
            u64::from_str_radix(text.trim_matches('"').trim_start_matches("0x"), 16).ok().map(|value| value as f64)
        };
        let epochs =
            field("n_jrec_epoch_regular").zip(field("n_jrec_epoch_idle")).map(|(regular, idle)| regular + idle);
        Ok(Counters { log_bytes: field("n_jfile_bytes"), checkpoints: epochs, ..Counters::default() })
    }

    /// `mupip integ` reads every block.
    fn check(&mut self) -> Result<(), Error> {
        let said = self.database.run(&["mupip", "integ", "-region", "DEFAULT"], "")?;
        if said.contains("No errors detected by integ") {
            return Ok(());
        }
        Err(Error::wrong_data("GT.M's database", "no errors detected by mupip integ", said))
    }
}
