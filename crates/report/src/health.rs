//! What is said of how the runs went, beside a claim; the warnings are `warnings/runs.rs`, and how they went is `analysis::health`.
//!
//! Nothing is taken out of the answer: where trials were disturbed, it is said whether the verdicts would be others without them.

use crate::claims::verdict_words;
use crate::number::{figure, percent};
use crate::words::Words;
use analysis::claim::Claim;
use analysis::health::{Cause, Without};
use analysis::row::Row;
use analysis::view::Part;
use stats::Course;

/// Runs that are not steady are worth a word from this share on: noise alone makes 2 or 3 % look so.
const UNSTEADY_SHARE_MIN: f64 = 0.10;
/// … and from this number on.
pub const UNSTEADY_MIN: usize = 2;

impl Words for Cause {
    fn words(&self) -> String {
        match self {
            Cause::Steal(share) => format!("{} of the CPUs' time stolen", percent(*share)),
            Cause::OtherCores(cores) => format!("{} CPUs busy with something else", figure(*cores)),
            Cause::OtherDisk(bytes) => format!("{} MB/s of others on its disk", figure(bytes / 1e6)),
        }
    }
}

/// "; 3 of the 12 runs of both were not steady" for a claim's sentence, or nothing.
pub fn claim_words(claim: &Claim, part: &Part) -> String {
    match mark(claim, part) {
        words if words.is_empty() => words,
        words => format!("; {words}"),
    }
}

/// What speaks against the runs of a claim's two sides, in a few words; empty when nothing does.
pub fn mark(claim: &Claim, part: &Part) -> String {
    let is_of = |row: &&Row| row.name_in(claim).is_some_and(|name| claim.names_one(name));
    let rows: Vec<&Row> = part.measured().filter(is_of).collect();
    let (unsteady, runs) = unsteady(&rows);
    let disturbed: usize = rows.iter().map(|row| row.health.disturbed.len()).sum();
    let mut words = Vec::new();
    if is_worth_a_word(unsteady, runs) {
        words.push(format!("{unsteady} of the {runs} runs of both were not steady"));
    }
    match disturbed {
        0 => {}
        1 => words.push("one trial was disturbed".into()),
        several => words.push(format!("{several} trials were disturbed")),
    }
    words.join(", and ")
}

/// What would be said without the disturbed trials where it is something else, in words: "xfs against ext4 would be “can't tell”
/// and not “faster”".
pub fn without_disturbed(part: &Part) -> Vec<String> {
    let others = match &part.without_disturbed {
        None => return Vec::new(),
        Some(Without::TooFewRounds) => return vec!["too few rounds would be left for a verdict".into()],
        Some(Without::Others(others)) => others,
    };
    let said = others.iter().filter_map(|(claim, found)| {
        let (a, b) = claim.names();
        let (before, after) = (verdict_words(claim, part), verdict_words(found, part));
        if found.names() != (a, b) {
            let (of, against) = found.names();
            return Some(format!("{of} against {against} would be \u{201c}{after}\u{201d}"));
        }
        (before != after)
            .then(|| format!("{a} against {b} would be \u{201c}{after}\u{201d} and not \u{201c}{before}\u{201d}"))
    });
    said.collect()
}

/// How many runs were not steady, and of how many that can be said.
pub fn unsteady(rows: &[&Row]) -> (usize, usize) {
    let judged = |row: &Row| row.health.count(|course| *course != Course::TooShort);
    (rows.iter().map(|row| row.health.unsteady()).sum(), rows.iter().map(|row| judged(row)).sum())
}

/// Whether so many are more than noise makes of steady runs.
pub fn is_worth_a_word(unsteady: usize, runs: usize) -> bool {
    unsteady >= UNSTEADY_MIN && unsteady as f64 > runs as f64 * UNSTEADY_SHARE_MIN
}
