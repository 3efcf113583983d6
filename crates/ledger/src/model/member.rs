//! A member of a fleet: one machine's part of a study that many machines measure.

use serde::{Deserialize, Serialize};

/// More members are a mistake.
pub const MEMBERS_MAX: u32 = 10_000;

/// Who of a fleet measured a part of its rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its number, from 1.
    pub number: u32,
    /// Members that the fleet was to have when this one began.
    pub of: u32,
    /// Which start of it this is, from 1: a scheduler may start one twice, also at the same time.
    pub attempt: u32,
    /// Rounds that it was to measure.
    pub rounds: u32,
    /// The machine.
    pub host: Host,
    /// How it knew its number, in words.
    pub known_by: String,
    /// Other starts of it that were seen when results were merged, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Attempt>,
}

/// A machine, told apart from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Host {
    /// Its name: an operator has to find it.
    pub name: String,
    /// A word made from its machine id, for two machines of one name; empty where it has none.
    pub id: String,
}

/// A start of a member whose trials are not in the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Attempt {
    /// Which start, from 1.
    pub attempt: u32,
    /// The machine's name.
    pub host: String,
    /// Trials that it finished.
    pub trials: u32,
}
