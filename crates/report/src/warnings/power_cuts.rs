//! Warnings about what was measured of power cuts: where it failed, and where the search missed something.

use super::{NAMES_MAX, more_than};
use ledger::model::{Contents, MeasuredSafety};
use observe::safety::Safety;
use std::collections::BTreeMap;

/// Something about the measured safety that a reader of the answer must know.
#[derive(Debug, Clone, PartialEq)]
pub enum OfPowerCuts {
    /// Scenarios of which it could not be measured; `causes` are different ones, each with its scenarios.
    NotMeasured { count: usize, causes: Vec<String> },
    /// Images drawn at random came out as the search had not found; how many of how many with which scenario.
    Missed { count: usize, examples: Vec<String> },
}

impl OfPowerCuts {
    /// What was seen.
    pub fn seen(&self) -> String {
        match self {
            OfPowerCuts::NotMeasured { causes, .. } => {
                format!("what a power cut takes was not measured with {}", causes.join("; "))
            }
            OfPowerCuts::Missed { count, examples } => {
                let more = more_than(*count, examples);
                format!("images drawn at random came out as the search did not find: {}{more}", examples.join(", "))
            }
        }
    }

    /// What it does to the answer.
    pub fn effect(&self) -> &'static str {
        match self {
            OfPowerCuts::NotMeasured { .. } => "Only what the settings promise is known of it.",
            OfPowerCuts::Missed { .. } => "The search has a hole: a class may be better than it should be.",
        }
    }

    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            OfPowerCuts::NotMeasured { .. } => "Mend the cause and run the same command with `--retry-failed`.",
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
    let mut causes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (of, failure) in measured.iter().filter_map(|of| Some((of, of.failure.as_ref()?))) {
        let cause = format!("{}: {}", failure.step, failure.causes.last().map_or("no cause", String::as_str));
        causes.entry(cause).or_default().push(of.scenario.clone());
    }
    let missed = |of: &&MeasuredSafety| {
        let Safety { audited, audited_new, .. } = of.safety.as_ref()?;
        (*audited_new > 0).then(|| format!("{audited_new} of {audited} with {}", of.scenario))
    };
    let missed: Vec<String> = measured.iter().filter_map(missed).collect();
    let mut list = Vec::new();
    if !missed.is_empty() {
        list.push(OfPowerCuts::Missed { count: missed.len(), examples: some(missed) });
    }
    if !causes.is_empty() {
        let count = causes.values().map(Vec::len).sum();
        let of_cause = |(cause, scenarios): (String, Vec<String>)| {
            let count = scenarios.len();
            let named = some(scenarios);
            format!("{}{} ({cause})", named.join(", "), more_than(count, &named))
        };
        list.push(OfPowerCuts::NotMeasured { count, causes: causes.into_iter().map(of_cause).collect() });
    }
    list
}

fn some(mut examples: Vec<String>) -> Vec<String> {
    examples.truncate(NAMES_MAX);
    examples
}
