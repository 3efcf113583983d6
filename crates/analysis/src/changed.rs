//! What was not the same all along while a study was measured: of the machine from one session to the next, of a server from one trial to
//! the next.

use ledger::model::{Contents, TrialState};
use std::collections::{BTreeMap, BTreeSet};

/// A fact, and the values that it had in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its name.
    pub fact: String,
    /// Within which member of a fleet; none: of one machine.
    pub member: Option<u32>,
    /// Each value once, in the order in which they came.
    pub values: Vec<String>,
}

/// The ends of the names of a trial's facts that say what was measured, and not how it is set: a server's version, and a module's build.
const VERSIONS: [&str; 2] = [".version", ".module"];

/// Whether a trial's fact is one of these.
pub(crate) fn is_version(fact: &str) -> bool {
    VERSIONS.iter().any(|end| fact.ends_with(end))
}

/// What the finished trials measured, by these facts: the versions that each had.
pub fn versions(contents: &Contents) -> BTreeMap<&str, BTreeSet<&str>> {
    let finished = contents.trials.iter().filter(|trial| trial.state == TrialState::Finished);
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (fact, value) in finished.flat_map(|trial| &trial.facts).filter(|(fact, _)| is_version(fact)) {
        versions.entry(fact).or_default().insert(value);
    }
    versions
}

/// The facts that changed; of a fleet, within one of its members.
pub fn changed(contents: &Contents) -> Vec<Changed> {
    // By fact, member, and of a trial its scenario: versions may be what is compared.
    let mut values: BTreeMap<(&str, Option<u32>, &str), Vec<&str>> = BTreeMap::new();
    let mut note = |fact, member, scenario, value| {
        let values = values.entry((fact, member, scenario)).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    };
    for session in &contents.sessions {
        for (fact, value) in observe::machine::identity(&session.machine) {
            note(fact, session.member, "", value);
        }
    }
    let mut trials: Vec<_> = contents.trials.iter().filter(|trial| trial.state == TrialState::Finished).collect();
    trials.sort_by_key(|trial| trial.id);
    for trial in trials {
        for (fact, value) in trial.facts.iter().filter(|(fact, _)| is_version(fact)) {
            note(fact, trial.member, &trial.scenario, value);
        }
    }
    let mut told = BTreeSet::new();
    let changed =
        values.into_iter().filter(|((fact, member, _), values)| values.len() > 1 && told.insert((*fact, *member)));
    let owned = |values: Vec<&str>| values.into_iter().map(String::from).collect();
    changed.map(|((fact, member, _), values)| Changed { fact: fact.into(), member, values: owned(values) }).collect()
}
