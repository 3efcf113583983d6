//! Settings of an embedded database that takes SQL. They are SQLite's, the only one so far.

use observe::durability::{Class, Durability};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use settings::{Kind as Is, Setting};

/// SQLite's own settings, as the settings below give them.
#[derive(Debug, Clone, Deserialize)]
pub struct Pragmas {
    /// `wal`, `delete` …
    pub journal_mode: String,
    /// `full`, `normal` …
    pub synchronous: String,
    /// Bytes of a page.
    #[serde(rename = "page_size", deserialize_with = "written_bytes")]
    pub page_bytes: u64,
    /// Bytes of each connection's page cache.
    #[serde(rename = "cache_size")]
    pub cache_bytes: u64,
    /// Bytes mapped into memory.
    #[serde(rename = "mmap_size")]
    pub mmap_bytes: u64,
    /// How long a connection waits for another's lock.
    #[serde(rename = "busy_timeout")]
    pub busy_timeout_seconds: f64,
    /// Whether a transaction takes the write lock at once, as it does where there is no setting for it.
    #[serde(rename = "begin", default = "immediate", deserialize_with = "is_immediate")]
    pub begin_immediate: bool,
}

/// `journal_mode`.
pub const JOURNAL_MODE: Setting =
    Setting::new("journal_mode", Is::Choice(&["wal", "delete", "truncate", "persist", "memory", "off"]), "wal")
        .help("SQLite's journal.");
/// `synchronous`.
pub const SYNCHRONOUS: Setting = Setting::new("synchronous", Is::Choice(&["full", "normal", "off", "extra"]), "full")
    .help("When SQLite flushes: `full` at every commit; `normal` in WAL mode only at checkpoints.");
/// `page_size`.
pub const PAGE_SIZE: Setting =
    Setting::new("page_size", Is::Choice(&["4KiB", "512B", "1KiB", "2KiB", "8KiB", "16KiB", "32KiB", "64KiB"]), "4KiB")
        .help("SQLite's page. A database file that is loaded as it is must have been made with it.");
/// `cache_size`.
pub const CACHE_SIZE: Setting = Setting::new("cache_size", Is::Bytes { min: 0, max: 1 << 40 }, "2MiB")
    .help("SQLite's page cache, for each connection.");
/// `mmap_size`.
pub const MMAP_SIZE: Setting = Setting::new("mmap_size", Is::Bytes { min: 0, max: 1 << 46 }, "0B")
    .help("How much of the file SQLite maps into memory; it maps no more than 2 GiB less 64 KiB.");
/// `busy_timeout`.
pub const BUSY_TIMEOUT: Setting = Setting::new("busy_timeout", Is::Seconds { min: 0.0, max: 3600.0 }, "5s")
    .help("How long a connection waits for another's lock before the transaction is tried again.");

/// The settings of a kind that stores in SQLite, too: its own, and after them these.
#[macro_export]
macro_rules! with_pragmas {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)* $crate::sql::JOURNAL_MODE, $crate::sql::SYNCHRONOUS, $crate::sql::PAGE_SIZE, $crate::sql::CACHE_SIZE,
            $crate::sql::MMAP_SIZE, $crate::sql::BUSY_TIMEOUT,
        ]
    };
}

impl Pragmas {
    /// What they do to durability.
    pub fn durability(&self) -> Durability {
        durability(&self.journal_mode, &self.synchronous)
    }
}

/// What a `journal_mode` and a `synchronous` do to durability, by SQLite's documentation of them (sqlite.org/pragma.html).
pub fn durability(journal: &str, synchronous: &str) -> Durability {
    let because = |class, reason: String| Durability { class, reasons: vec![reason] };
    match (journal, synchronous) {
        ("off" | "memory", _) => {
            because(Class::MayCorrupt, format!("journal_mode = {journal}: nothing to roll back from"))
        }
        (_, "off") => because(Class::MayCorrupt, "synchronous = off: SQLite never flushes".into()),
        ("wal", "normal") => {
            because(Class::LosesRecent, "synchronous = normal with WAL: commits are flushed at checkpoints only".into())
        }
        (_, "normal") => because(
            Class::MayCorrupt,
            "synchronous = normal without WAL: a power cut at the wrong moment may corrupt".into(),
        ),
        ("delete", "full") => because(
            Class::LosesRecent,
            "synchronous = full with journal_mode = delete: that the journal is removed, which ends a commit, is not flushed (`extra` does)".into(),
        ),
        _ => Durability::full(),
    }
}

impl Default for Pragmas {
    /// A write-ahead log that is flushed at every commit; the rest as SQLite has it.
    fn default() -> Pragmas {
        settings::typed(&settings::defaults(crate::with_pragmas![]))
    }
}

/// A page's size is one of a choice, so it comes as a study writes it.
fn written_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    settings::quantity::parse_bytes(&text).ok_or_else(|| D::Error::custom(format!("{text} is not a size")))
}

fn is_immediate<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(String::deserialize(from)? == "immediate")
}

fn immediate() -> bool {
    true
}
