//! Warnings about what was measured of power cuts: where it failed, and where the search missed something.

use super::{Warning, in_scenarios, listed};
use ledger::model::{Contents, MeasuredSafety};
use observe::safety::Safety;
use std::collections::BTreeMap;

/// Of a study; of each scenario the last measurement counts, and of those that failed what was damaged before.
pub fn of(contents: &Contents) -> Vec<Warning> {
    let scenarios = || contents.studied().filter(|scenario| !scenario.control);
    let measured: Vec<&MeasuredSafety> = scenarios().filter_map(|scenario| contents.safety_of(scenario)).collect();
    let member = contents.members.first().map(|member| member.number);
    let last: Vec<&MeasuredSafety> =
        scenarios().filter_map(|scenario| contents.last_cut(&scenario.label, member)).collect();
    let is_damaged = |failed: &MeasuredSafety| {
        measured.iter().any(|counts| counts.scenario == failed.scenario && counts.safety.is_some())
    };
    missed(&measured).into_iter().chain(not_measured(&last, is_damaged)).collect()
}

/// Images drawn at random came out as the search had not found; how many of how many with which scenario.
fn missed(measured: &[&MeasuredSafety]) -> Option<Warning> {
    let missed = |of: &&MeasuredSafety| {
        let Safety { audited, audited_new, .. } = of.safety.as_ref()?;
        (*audited_new > 0).then(|| format!("{audited_new} of {audited} with {}", of.scenario))
    };
    let missed: Vec<String> = measured.iter().filter_map(missed).collect();
    (!missed.is_empty()).then(|| Warning {
        seen: format!("images drawn at random came out as the search did not find: {}", listed(&missed, ", ")),
        effect: "The search has a hole: a class may be better than it should be.",
        remedy: "Give it more time (`safety.budget`), and report it: this is a fault of surefoot.",
        brief: Some("the search for the worst power cut missed some: a class may be too good.".into()),
    })
}

/// Scenarios of which it could not be measured, by what went wrong. Of some it may be known all the same that they were damaged.
fn not_measured(last: &[&MeasuredSafety], is_damaged: impl Fn(&MeasuredSafety) -> bool) -> Option<Warning> {
    let mut causes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut is_any_damaged = false;
    for (of, failure) in last.iter().filter_map(|of| Some((of, of.failure.as_ref()?))) {
        is_any_damaged |= is_damaged(of);
        let cause = format!("{}: {}", failure.step, failure.causes.last().map_or("no cause", String::as_str));
        causes.entry(cause).or_default().push(of.scenario.clone());
    }
    let of_cause = |(cause, scenarios): (&String, &Vec<String>)| format!("{} ({cause})", listed(scenarios, ", "));
    let named: Vec<String> = causes.iter().map(of_cause).collect();
    let scenarios = in_scenarios(causes.values().map(Vec::len).sum());
    (!named.is_empty()).then(|| Warning {
        seen: format!("what a power cut takes was not measured with {}", named.join("; ")),
        effect: match is_any_damaged {
            true => "Only what the settings promise is known of it, and the damage that was found before.",
            false => "Only what the settings promise is known of it.",
        },
        remedy: "Mend the cause and run the same command with `--retry-failed`.",
        brief: Some(format!("what a power cut takes from {scenarios} could not be measured.")),
    })
}
