//! What a power cut may take, as far as the settings say: the class shown beside every speed.

use serde::{Deserialize, Serialize};

/// Durability classes, best first; the order is the order of `Ord`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Every acknowledged commit survives a power cut.
    KeepsAcknowledged,
    /// The last seconds of acknowledged commits may be lost; what is left is consistent.
    LosesRecent,
    /// Data may be corrupt after a power cut.
    MayCorrupt,
    /// Nothing survives: memory only.
    LosesAll,
}

impl Class {
    /// The class in words, as reports show it.
    pub fn words(self) -> &'static str {
        match self {
            Class::KeepsAcknowledged => "keeps every acknowledged commit",
            Class::LosesRecent => "may lose the last seconds",
            Class::MayCorrupt => "may be corrupt",
            Class::LosesAll => "loses everything",
        }
    }
}

/// The reason of a class that is no promise: what a program flushes that surefoot did not write.
pub const UNKNOWN: &str = "what the program itself flushes is not known";

/// A class and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// The class.
    pub class: Class,
    /// What decided it, a phrase each: "`synchronous = off`: commits are not flushed".
    pub reasons: Vec<String>,
}

impl Durability {
    /// Nothing here weakens it.
    pub fn full() -> Durability {
        Durability { class: Class::KeepsAcknowledged, reasons: Vec::new() }
    }

    /// A class for one reason.
    pub fn because(class: Class, reason: impl Into<String>) -> Durability {
        Durability { class, reasons: vec![reason.into()] }
    }

    /// Whether nothing is known to weaken it, and nothing that it keeps anything.
    pub fn is_unknown(&self) -> bool {
        self.class == Class::KeepsAcknowledged && self.reasons.iter().any(|reason| reason.ends_with(UNKNOWN))
    }

    /// The class in words, or that it is not known.
    pub fn words(&self) -> &'static str {
        if self.is_unknown() { UNKNOWN } else { self.class.words() }
    }

    /// The worse of two layers (filesystem, engine), with the reasons of the layers that decided.
    pub fn and(mut self, other: Durability) -> Durability {
        match self.class.cmp(&other.class) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => {
                self.reasons.extend(other.reasons);
                self
            }
        }
    }
}
