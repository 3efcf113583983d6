//! What a results file means, in values: the parts of a study with their claims, the pick, what bound each scenario, who may win.
//!
//! Pure, over a ledger's contents. Start at `view.rs`. The conductor asks it while a study runs, the report when it is read. It says
//! nothing: words are `report`'s.

pub mod advice;
pub mod bench;
pub mod ceilings;
pub mod changed;
pub mod choice;
pub mod claim;
pub mod conditions;
pub mod confirmation;
pub mod counting;
pub mod details;
pub mod elapsed;
pub mod errors;
pub mod exported;
pub mod failures;
#[cfg(test)]
mod fixtures;
pub mod fleet;
pub mod flushing;
pub mod health;
pub mod judge;
pub mod levels;
pub mod limits;
pub mod looks;
pub mod marks;
pub mod means;
pub mod orders;
pub mod parity;
pub mod repetitions;
pub mod row;
pub mod screening;
pub mod shapes;
pub mod tails;
pub mod telemetry;
pub mod unpaired;
pub mod view;
pub mod why;

/// Each of these once, in the order in which they come.
pub fn each_once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
