//! From a ledger to an answer: words first, then a table, charts, one self-contained HTML file, JSON for machines.
//!
//! Reads ledgers only; knows no study, device or process. Start at `answer.rs` (the words) and `document.rs` (what they stand in); the
//! numbers are `analysis`.

mod action_benchmark;
mod advice;
mod answer;
mod apply;
mod bench;
mod bencher;
mod brief;
mod ceilings;
mod chart;
mod claims;
mod compare;
mod document;
mod errors;
mod factors;
mod failed;
mod faults;
mod fleet;
mod flushing;
mod formats;
mod full;
mod health;
mod history;
mod http_forms;
mod in_force;
pub mod input;
mod json;
mod knowledge;
mod labels;
mod limits;
mod live;
mod marks;
mod notes;
pub mod number;
mod openmetrics;
mod pivot;
mod reproduce;
mod safety;
pub mod screening;
pub mod served;
mod side_by_side;
mod sql_bench;
mod standing;
mod summary;
mod sysbench;
mod tails;
mod tuning;
mod unpaired;
mod warnings;
mod why;
mod words;

pub use action_benchmark::action_benchmark;
pub use answer::answer;
pub use apply::apply;
pub use bencher::bencher;
pub use brief::{markdown, terminal};
pub use compare::{Comparison, Gate};
pub use document::{PAGE_BEGIN, printable};
pub use fleet::FleetReport;
pub use formats::{Asked, FORMATS, Format, Make};
pub use full::{html, print};
pub use history::History;
pub use http_forms::{HttpForm, http};
pub use input::{Error, Input, load, read};
pub use json::{JSON_SCHEMA, answer_json};
pub use knowledge::Knowledge;
pub use live::{Underway, live, log_ratios};
pub use openmetrics::openmetrics;
pub use reproduce::{quoted, reproduce};
pub use sql_bench::sql_bench;
pub use standing::Standing;
pub use summary::{LINES_MAX, Place, summary};
pub use sysbench::{Form, sysbench};
pub use warnings::RUN_SECONDS_MIN;

/// Fewer rounds than this claim no difference.
pub const ROUNDS_FOR_CLAIMS: usize = analysis::judge::ROUNDS_FOR_CLAIMS;

/// Whether trials failed, or what a power cut takes or a failing disk does could not be measured to the end, so that the answer has holes: also
/// where damage that was found before counts. What a screen left out is in no answer.
pub fn has_holes(input: &Input) -> bool {
    let contents = &input.contents;
    let member = contents.members.first().map(|member| member.number);
    let is_unmeasured = |scenario: &ledger::model::Scenario| {
        let of_power_cuts = contents.last_cut(&scenario.label, member).is_some_and(|last| last.safety.is_none());
        of_power_cuts || contents.last_faults(&scenario.label, member).is_some_and(|last| !last.is_whole())
    };
    !input::Counting::of(contents).failed.is_empty() || contents.studied().any(is_unmeasured)
}
