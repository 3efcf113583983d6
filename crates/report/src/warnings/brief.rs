//! The warnings that change what may be believed, in a sentence each: those that belong into the short answer.
//!
//! What only says how a study was set up, or how wide its intervals are, is not among them: a plan and the page have that.

use super::{OfPowerCuts, OfRuns, Warning};
use crate::number::{figure, percent, ratio_precise};
use crate::words::some_of;

/// Letters of what a trial said that there is room for.
const SAID_MAX: usize = 70;

impl Warning {
    /// For the short answer; none where the answer may be believed all the same.
    pub fn in_brief(&self) -> Option<String> {
        Some(match self {
            Warning::Unfinished { .. } => "the study is not finished: all of this may still change.".into(),
            Warning::ControlDiffers { difference, .. } => format!(
                "two copies of the baseline differ by {}: differences of this size may be false.",
                percent(*difference)
            ),
            Warning::DoesNotFlush { count, .. } => {
                format!("{} acknowledged commits that no flush had brought to the device.", scenarios(*count))
            }
            Warning::Answers(answers) => answers.in_brief(),
            Warning::Changed { changes } => {
                let changes = cut(&changes.join("; "));
                format!("something changed while the study went on: {changes}.")
            }
            Warning::FailedTrials { count, scenarios, cause } => {
                let trials = if *count == 1 { "one trial".into() } else { format!("{count} trials") };
                let cause = cause.as_ref().map_or_else(String::new, |cause| format!(" ({})", cut(cause)));
                format!("{trials} of {} failed{cause}; the others are compared.", some_of(scenarios))
            }
            Warning::SignsDisagree { claims, .. } => {
                let comparisons = if claims.len() == 1 { "comparison" } else { "comparisons" };
                format!("an exact test does not bear out {} {comparisons}: take it as likely only.", claims.len())
            }
            Warning::CarryOver { after, ratio, .. } => {
                format!(
                    "turns after {after} had {} times the speed: differences may be off by as much.",
                    ratio_precise(*ratio)
                )
            }
            Warning::Said { message, .. } => format!("not all is as asked: {}.", cut(message)),
            Warning::Stalled { count, .. } => {
                format!("{} had runs with a figure of 0: no claim is made.", scenarios(*count))
            }
            Warning::PowerCuts(OfPowerCuts::Missed { .. }) => {
                "the search for the worst power cut missed some: a class may be too good.".into()
            }
            Warning::PowerCuts(OfPowerCuts::NotMeasured { count, .. }) => {
                format!("what a power cut takes from {} could not be measured.", scenarios(*count))
            }
            Warning::Runs(OfRuns::Disturbed { count, without, .. }) if !without.is_empty() => {
                let trials = if *count == 1 { "a trial" } else { "trials" };
                format!("something else slowed {trials} down, and without that the answer is another.")
            }
            Warning::Runs(OfRuns::SlowerThanWarmUp { slower, .. }) => {
                let (label, times) = slower.first()?;
                let times = figure(*times);
                format!("measured runs of {label} were {times} times as slow as the warm-up: a run slows the next one.")
            }
            Warning::ClientBusy { cores, .. } => {
                format!("the load itself took up to {} CPUs, which may hide differences.", figure(*cores))
            }
            Warning::Runs(_)
            | Warning::Drift { .. }
            | Warning::Outliers { .. }
            | Warning::DurabilityMix { .. }
            | Warning::TooFewRounds { .. }
            | Warning::ShortRuns { .. }
            | Warning::PrecisionNotReached { .. }
            | Warning::NotProbed { .. }
            | Warning::FitsInMemory { .. } => return None,
        })
    }
}

pub(super) fn scenarios(count: usize) -> String {
    if count == 1 { "one scenario".into() } else { format!("{count} scenarios") }
}

fn cut(message: &str) -> String {
    if message.chars().count() <= SAID_MAX {
        return message.trim_end_matches('.').into();
    }
    message.chars().take(SAID_MAX - 1).chain(['…']).collect()
}
