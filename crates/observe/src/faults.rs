//! What a failing disk was measured to do to one scenario, as trials report it and ledgers keep it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What came of a fault, best first; the order is the order of `Ord`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// Nobody noticed, and nothing was wrong.
    Nothing,
    /// An error reached the client, and nothing wrong was read later.
    Told,
    /// The server ended itself, and came back whole.
    Stopped,
    /// An error was reported for a commit, but its change is there.
    FalseFailure,
    /// The client had no answer within the time that is waited for one.
    Hang,
    /// In the end the filesystem does not mount, the server does not start, or what it holds can't be read or is found damaged by its
    /// own check.
    NotBack,
    /// A commit that was acknowledged is gone, and nobody said so.
    Lost,
    /// Wrong content was read without a word.
    Wrong,
}

/// What each is called, and what that means in a sentence, in their order.
const SAID: [(&str, &str); 8] = [
    ("nothing", "nobody noticed, and nothing was wrong"),
    ("told", "an error reached the client, and nothing wrong was read later"),
    ("stopped", "the server ended itself, and came back whole"),
    ("false failure", "an error was reported for a commit, but its change is there"),
    ("hang", "the client had no answer"),
    ("does not come back", "filesystem or server did not come back, or what they hold was found damaged"),
    ("lost", "an acknowledged commit is gone, and nobody said so"),
    ("wrong", "wrong content was read, and nobody said so"),
];

impl Consequence {
    /// All, best first.
    pub const ALL: [Consequence; 8] = {
        use Consequence::{FalseFailure, Hang, Lost, NotBack, Nothing, Stopped, Told, Wrong};
        [Nothing, Told, Stopped, FalseFailure, Hang, NotBack, Lost, Wrong]
    };

    /// In words, as reports show it.
    pub fn words(self) -> &'static str {
        SAID[self as usize].0
    }

    /// What that means, in a sentence.
    pub fn help(self) -> &'static str {
        SAID[self as usize].1
    }

    /// Whether data are gone or wrong without a word.
    pub fn is_silent(self) -> bool {
        matches!(self, Consequence::Lost | Consequence::Wrong)
    }
}

/// The block of a case of which nobody knows what was struck: its disk was taken away, or the kernel died.
pub const UNKNOWN: &str = "unknown";

/// One case, to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Its name, by which it can be made again (`surefoot faults --replay`).
    pub case: String,
    /// What was seen.
    pub words: String,
    /// What the client was told.
    pub client: Vec<String>,
    /// What the server said, of what it calls errors.
    pub server: Vec<String>,
    /// What the kernel said of the filesystem and its device.
    pub kernel: Vec<String>,
}

/// A case that was run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultReplayed {
    /// How it ended.
    pub consequence: Consequence,
    /// And all about it.
    pub example: Example,
    /// What was done and what came of it, a line each.
    pub steps: Vec<String>,
}

/// Cases of one fault, one kind of block and one way on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The fault: `write-error`.
    pub fault: String,
    /// What was struck: "journal", "table". Empty: a flush.
    pub structure: String,
    /// The way on: `restart`.
    pub continuation: String,
    /// How many cases ended so.
    pub counts: BTreeMap<Consequence, u64>,
    /// The first case of each end.
    pub examples: BTreeMap<Consequence, Example>,
}

impl Row {
    /// Cases.
    pub fn cases(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The worst of them.
    pub fn worst(&self) -> Option<Consequence> {
        self.counts.keys().next_back().copied()
    }
}

/// What a failing disk does to one scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultsFound {
    /// Requests of the load on a disk that is well: writes, flushes, reads.
    pub writes: u64,
    /// See `writes`.
    pub flushes: u64,
    /// See `writes`.
    pub reads: u64,
    /// Cases of the whole table: each fault at each request, each way on.
    pub possible: u64,
    /// Cases that were run and whose fault struck.
    pub cases: u64,
    /// Cases that were run and in which no request was left to be struck: the load does not ask for the same twice.
    pub not_struck: u64,
    /// Pairs of a request and a fault that were drawn at random, each run with all ways on; the others are the first of their kind.
    pub drawn: u64,
    /// Of these, those whose fault struck with each way on: in the others no request was left to be struck. None: results of older
    /// versions, which know it of cases alone.
    #[serde(default)]
    pub drawn_struck: Option<u64>,
    /// Whether all possible ones were run; otherwise they are each kind of block at least once, and a random sample of the rest.
    pub is_complete: bool,
    /// Kinds of block that were struck alone; none: all were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<String>,
    /// Runs on a disk that is well, through the same machinery.
    pub honest: u64,
    /// Of these, with any other end than nothing: faults of surefoot.
    pub honest_bad: u64,
    /// What was seen.
    pub rows: Vec<Row>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What it took.
    pub seconds: f64,
    /// Whether a case could not be run: the search ended there, and may be done again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_early: bool,
}

impl FaultsFound {
    /// The worst of all.
    pub fn worst(&self) -> Option<Consequence> {
        self.rows.iter().filter_map(Row::worst).max()
    }

    /// How many cases ended so.
    pub fn count(&self, consequence: Consequence) -> u64 {
        self.rows.iter().filter_map(|row| row.counts.get(&consequence)).sum()
    }

    /// Rows in the order of lists, whatever the order in which their cases ended.
    pub fn sort_rows(&mut self) {
        let key = |row: &Row| (row.fault.clone(), row.structure.clone(), row.continuation.clone());
        self.rows.sort_by_key(key);
    }

    /// Adds a case.
    pub fn add(&mut self, key: [&str; 3], consequence: Consequence, example: impl FnOnce() -> Example) {
        let [fault, structure, continuation] = key;
        let is_it = |row: &Row| [&*row.fault, &*row.structure, &*row.continuation] == key;
        let place = self.rows.iter().position(is_it).unwrap_or_else(|| {
            let [fault, structure, continuation] = [fault, structure, continuation].map(String::from);
            let (counts, examples) = (BTreeMap::new(), BTreeMap::new());
            self.rows.push(Row { fault, structure, continuation, counts, examples });
            self.rows.len() - 1
        });
        let row = &mut self.rows[place];
        *row.counts.entry(consequence).or_default() += 1;
        row.examples.entry(consequence).or_insert_with(example);
        self.cases += 1;
    }

    /// Upper end of a 95 % interval for the share of the requests and faults not tried of which a way on loses or corrupts silently: by the
    /// rule of three (1 − 0.05^(1/n)) over those that were drawn at random and struck, as the ways on of one are not independent. None where all
    /// were run, none was drawn, or some did.
    pub fn silent_share_at_most(&self) -> Option<f64> {
        let silent = self.count(Consequence::Lost) + self.count(Consequence::Wrong);
        // A case that was not struck is one of one pair.
        let struck = self.drawn_struck.unwrap_or_else(|| self.drawn.saturating_sub(self.not_struck));
        let is_sample = !self.is_complete && struck > 0 && silent == 0;
        is_sample.then(|| 1.0 - 0.05f64.powf(1.0 / struck as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> FaultsFound {
        FaultsFound {
            writes: 3,
            flushes: 2,
            possible: 60,
            drawn: 3,
            drawn_struck: Some(3),
            honest: 4,
            seconds: 1.0,
            ..FaultsFound::default()
        }
    }

    #[test]
    fn consequences_are_in_order() {
        assert!(Consequence::ALL.is_sorted());
        assert!(Consequence::ALL.iter().filter(|one| one.is_silent()).all(|one| *one > Consequence::NotBack));
    }

    #[test]
    fn what_was_not_struck_says_nothing_of_what_would_come_of_it() {
        let share = |found: FaultsFound| found.silent_share_at_most().map(|share| (share * 1e3).round() / 1e3);
        let drawn = FaultsFound { drawn: 100, not_struck: 240, ..none() };
        assert_eq!(share(FaultsFound { drawn_struck: Some(40), ..drawn.clone() }), Some(0.072));
        assert_eq!(share(FaultsFound { drawn_struck: Some(0), ..drawn.clone() }), None);
        // In results of older versions each case may be of a pair of its own.
        let older = FaultsFound { drawn_struck: None, ..drawn };
        assert_eq!(share(FaultsFound { not_struck: 60, ..older.clone() }), Some(0.072));
        assert_eq!(share(FaultsFound { not_struck: 0, ..older.clone() }), Some(0.03));
        assert_eq!(share(older), None);
    }

    #[test]
    fn cases_add_up_by_fault_structure_and_way_on() {
        let mut found = none();
        let example = |words: &str| Example {
            case: "write-error@1/restart".into(),
            words: words.into(),
            client: Vec::new(),
            server: Vec::new(),
            kernel: vec!["I/O error".into()],
        };
        found.add(["write-error", "journal", "restart"], Consequence::Told, || example("first"));
        found.add(["write-error", "journal", "restart"], Consequence::Told, || example("second"));
        found.add(["write-error", "table", "restart"], Consequence::Nothing, || example("third"));
        assert_eq!((found.cases, found.rows.len(), found.rows[0].cases()), (3, 2, 2));
        assert_eq!(found.rows[0].examples[&Consequence::Told].words, "first");
        assert_eq!(found.worst(), Some(Consequence::Told));
        // Of three that were drawn without one: 1 − 0.05^(1/3).
        assert!((found.silent_share_at_most().expect("a sample") - 0.631_597).abs() < 1e-6);
        found.add(["lost-write", "table", "go-on"], Consequence::Wrong, || example("fourth"));
        assert_eq!(found.silent_share_at_most(), None);
        assert_eq!(found.worst(), Some(Consequence::Wrong));
        let text = serde_json::to_string(&found).expect("plain data");
        assert_eq!(serde_json::from_str::<FaultsFound>(&text).expect("the same"), found);
    }
}
