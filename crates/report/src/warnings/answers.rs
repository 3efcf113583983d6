//! Warnings about what a load got for an answer: wrong ones, and those that came later than asked for.

use super::{NAMES_MAX, listed};
use crate::errors;
use crate::number::percent;
use analysis::ceilings::By;
use analysis::errors::WRONG_SHARE_MIN;
use analysis::row::Row;
use analysis::view::Part;

/// Something about the answers that a reader of the figures must know.
#[derive(Debug, Clone, PartialEq)]
pub enum OfAnswers {
    /// What is recommended answered much of what was asked wrong; a label and its errors each, and their least and largest share.
    Wrong { workload: String, count: usize, examples: Vec<String>, shares: (f64, f64) },
    /// Figures of a version that counted wrong answers as answers, where there were any; a label and its errors each.
    WrongInFigures { workload: String, count: usize, examples: Vec<String> },
    /// Open loops that were asked for more than was served, and what share each reached.
    RateNotReached { workload: String, count: usize, examples: Vec<String> },
    /// Searches for the highest rate that held each one that they might try.
    RateMaxHeld { workload: String, count: usize, examples: Vec<String> },
}

impl OfAnswers {
    /// What was seen.
    pub fn seen(&self) -> String {
        match self {
            OfAnswers::Wrong { workload, count, examples, .. } => {
                format!("{workload}: much of what was asked for went wrong: {}", listed(*count, examples, "; "))
            }
            OfAnswers::WrongInFigures { workload, count, examples } => format!(
                "{workload}: this file was recorded before wrong answers were kept out of the figures, and there were some: {}",
                listed(*count, examples, "; ")
            ),
            OfAnswers::RateNotReached { workload, count, examples } => {
                format!("{workload}: the rate asked for was not reached: {}", listed(*count, examples, ", "))
            }
            OfAnswers::RateMaxHeld { workload, count, examples } => {
                format!("{workload}: the highest rate that is tried held: {}", listed(*count, examples, ", "))
            }
        }
    }

    /// What it does to the answer.
    pub fn effect(&self) -> &'static str {
        match self {
            OfAnswers::Wrong { .. } => {
                "Speed and latencies are those of the right answers alone, and a server that refuses much has less to do for the rest."
            }
            OfAnswers::WrongInFigures { .. } => {
                "Speed and latencies count wrong answers whatever their status, and leave time-outs out: an error that is fast looks good."
            }
            OfAnswers::RateNotReached { .. } => {
                "What waits grows as long as the load lasts: such a latency is that of a run of this length, and short runs end before the first error."
            }
            OfAnswers::RateMaxHeld { .. } => {
                "These figures are lower bounds: of two that are equal one may do far more than the other."
            }
        }
    }

    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            OfAnswers::Wrong { .. } => {
                "The notes have the first wrong answer in its own words: mend its cause, or compare under a load that is answered."
            }
            OfAnswers::WrongInFigures { .. } => "Measure these scenarios again with this version.",
            OfAnswers::RateNotReached { .. } => {
                "Compare at rates that every scenario reaches (`find-rate` looks for the highest). To see errors, set `design.order = \"blocks\"` and a long `time`."
            }
            OfAnswers::RateMaxHeld { .. } => "Set `rate_max` higher.",
        }
    }

    /// For the short answer.
    pub fn in_brief(&self) -> String {
        match self {
            OfAnswers::Wrong { shares: (least, most), .. } => {
                let (least, most) = (percent(*least), percent(*most));
                let shares = if least == most { most } else { format!("{least} to {most}") };
                format!("{shares} of what was asked for went wrong: the figures are of the right answers alone.")
            }
            OfAnswers::WrongInFigures { count, .. } => {
                format!("wrong answers are part of the figures of {}.", super::brief::scenarios(*count))
            }
            OfAnswers::RateNotReached { count, .. } => format!(
                "{} did not reach the rate asked for: latency there grows with the run's length.",
                super::brief::scenarios(*count)
            ),
            OfAnswers::RateMaxHeld { count, .. } => format!(
                "{} held the highest rate that is tried: how far scenarios are apart is not known.",
                super::brief::scenarios(*count)
            ),
        }
    }
}

/// Wrong answers: in the figures of an older file, or too many of what is recommended.
pub fn wrong(part: &Part) -> Vec<OfAnswers> {
    let of_older: Vec<&Row> =
        part.measured().filter(|row| row.errors.as_ref().is_some_and(|errors| errors.is_in_figures)).collect();
    let share = |row: &Row| row.errors.as_ref().map_or(0.0, analysis::errors::Errors::share);
    let mut of_picks = part.picks();
    // Without a pick the answer speaks of all.
    if of_picks.is_empty() {
        of_picks = part.measured().collect();
    }
    of_picks.retain(|row| share(row) >= WRONG_SHARE_MIN);
    let examples = |rows: &[&Row]| {
        rows.iter().take(NAMES_MAX).map(|row| format!("{} ({})", row.label, errors::cell(row))).collect::<Vec<_>>()
    };
    let workload = &part.workload;
    let mut list = Vec::new();
    if !of_older.is_empty() {
        let (count, examples) = (of_older.len(), examples(&of_older));
        list.push(OfAnswers::WrongInFigures { workload: workload.clone(), count, examples });
    }
    if !of_picks.is_empty() {
        let shares = || of_picks.iter().map(|row| share(row));
        let shares = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
        let (count, examples) = (of_picks.len(), examples(&of_picks));
        list.push(OfAnswers::Wrong { workload: workload.clone(), count, examples, shares });
    }
    list
}

/// Open loops in which the server fell behind.
pub fn late(part: &Part) -> Option<OfAnswers> {
    let reached = |row: &Row| row.ceiling.as_ref()?.fell_behind();
    let found: Vec<String> =
        part.measured().filter_map(|row| Some(format!("{} ({} of it)", row.label, percent(reached(row)?)))).collect();
    let (workload, count) = (part.workload.clone(), found.len());
    let examples = found.into_iter().take(NAMES_MAX).collect();
    (count > 0).then_some(OfAnswers::RateNotReached { workload, count, examples })
}

/// Searches that met no rate too high.
pub fn capped(part: &Part) -> Option<OfAnswers> {
    let is_capped = |row: &&Row| row.ceiling.as_ref().is_some_and(|ceiling| ceiling.by == Some(By::RateMax));
    let found: Vec<String> = part.measured().filter(is_capped).map(|row| row.label.clone()).collect();
    let (workload, count) = (part.workload.clone(), found.len());
    let examples = found.into_iter().take(NAMES_MAX).collect();
    (count > 0).then_some(OfAnswers::RateMaxHeld { workload, count, examples })
}
