//! From a ledger to an answer: words first, then a table, charts, one self-contained HTML file, JSON for machines.
//!
//! Reads ledgers only; knows no study, device or process. Start at `answer.rs` (the words) and `view.rs` (the numbers).

mod answer;
mod bench;
mod bencher;
mod ceilings;
mod chart;
mod choice;
mod compare;
mod confirmation;
mod errors;
mod factors;
mod flushing;
mod health;
mod history;
mod html;
mod http_forms;
mod in_force;
pub mod input;
mod json;
mod judge;
mod labels;
mod levels;
mod live;
mod markdown;
mod marks;
mod notes;
pub mod number;
mod openmetrics;
mod pivot;
mod print;
mod reproduce;
mod safety;
pub mod screening;
pub mod served;
mod side_by_side;
mod sql_bench;
mod standing;
mod sysbench;
mod table;
mod telemetry;
mod terminal;
mod tuning;
mod unpaired;
mod view;
mod warnings;
mod why;

pub use answer::answer;
pub use bench::{Bench, Guest};
pub use bencher::bencher;
pub use compare::Comparison;
pub use history::History;
pub use html::{html, write_html};
pub use http_forms::{HttpForm, http};
pub use input::{Error, Input, load, read};
pub use json::answer_json;
pub use live::{Estimate, live_estimate};
pub use markdown::markdown;
pub use openmetrics::openmetrics;
pub use print::{Print, print};
pub use reproduce::reproduce;
pub use sql_bench::sql_bench;
pub use standing::Standing;
pub use sysbench::{Form, sysbench};
pub use terminal::terminal;

/// Whether trials failed, or what a power cut takes could not be measured, so that the answer has holes.
#[must_use]
pub fn has_holes(input: &Input) -> bool {
    let contents = &input.contents;
    let is_unmeasured = |scenario| contents.safety_of(scenario).is_some_and(|measured| measured.safety.is_none());
    !input::Counting::of(contents).failed.is_empty() || contents.scenarios.iter().any(is_unmeasured)
}
