//! Warnings about what was measured of power cuts: where it failed, and where the search missed something.

use super::{NAMES_MAX, more_than};
use ledger::model::{Contents, MeasuredSafety};
use observe::safety::Safety;

/// Something about the measured safety that a reader of the answer must know.
#[derive(Debug, Clone, PartialEq)]
pub enum OfPowerCuts {
    /// Scenarios of which it could not be measured, each with why.
    NotMeasured { count: usize, examples: Vec<String> },
    /// Images drawn at random came out as the search had not found; how many of how many with which scenario.
    Missed { count: usize, examples: Vec<String> },
}

impl OfPowerCuts {
    /// What was seen.
    #[must_use]
    pub fn seen(&self) -> String {
        match self {
            OfPowerCuts::NotMeasured { count, examples } => {
                let more = more_than(*count, examples);
                format!("what a power cut takes was not measured with {}{more}", examples.join(", "))
            }
            OfPowerCuts::Missed { count, examples } => {
                let more = more_than(*count, examples);
                format!("images drawn at random came out as the search did not find: {}{more}", examples.join(", "))
            }
        }
    }

    /// What it does to the answer.
    #[must_use]
    pub fn effect(&self) -> &'static str {
        match self {
            OfPowerCuts::NotMeasured { .. } => "Only what the settings promise is known of it.",
            OfPowerCuts::Missed { .. } => "The search has a hole: a class may be better than it should be.",
        }
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            OfPowerCuts::NotMeasured { .. } => "Mend the cause and run the same command again.",
            OfPowerCuts::Missed { .. } => {
                "Give it more time (`safety.budget`), and report it: this is a fault of surefoot."
            }
        }
    }
}

/// Of a study; of each scenario the last measurement counts.
pub fn of(contents: &Contents) -> Vec<OfPowerCuts> {
    let scenarios = contents.scenarios.iter().filter(|scenario| !scenario.control);
    let measured: Vec<&MeasuredSafety> = scenarios.filter_map(|scenario| contents.safety_of(scenario)).collect();
    let failed = |of: &&MeasuredSafety| {
        let failure = of.failure.as_ref()?;
        Some(format!("{} ({}: {})", of.scenario, failure.step, failure.causes.last()?))
    };
    let missed = |of: &&MeasuredSafety| {
        let Safety { audited, audited_new, .. } = of.safety.as_ref()?;
        (*audited_new > 0).then(|| format!("{audited_new} of {audited} with {}", of.scenario))
    };
    let failed: Vec<String> = measured.iter().filter_map(failed).collect();
    let missed: Vec<String> = measured.iter().filter_map(missed).collect();
    let mut list = Vec::new();
    if !missed.is_empty() {
        list.push(OfPowerCuts::Missed { count: missed.len(), examples: some(missed) });
    }
    if !failed.is_empty() {
        list.push(OfPowerCuts::NotMeasured { count: failed.len(), examples: some(failed) });
    }
    list
}

fn some(mut examples: Vec<String>) -> Vec<String> {
    examples.truncate(NAMES_MAX);
    examples
}
