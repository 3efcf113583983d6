//! What differs between two results, or between sessions of one side, beside their figures: said before these.

use crate::bench::note;
use crate::input::Input;
use crate::number::{date, words};
use crate::words::estimand;
use analysis::changed::versions;
use analysis::unpaired::is_same_figure;
use analysis::view::Part;
use std::collections::BTreeSet;

/// Machine facts shown before the rest is counted.
const FACTS_MAX: usize = 20;

pub(super) const SAME_STUDY: &str = "Both ran the same study (equal hash).";
pub(super) const EQUAL_FACTS: &str = "The recorded machine facts are equal.";

/// What differs between the two files: study, version, machine.
pub(super) fn preamble(a: &Input, b: &Input) -> Vec<String> {
    let (first, second) = (&a.contents.study, &b.contents.study);
    let mut lines = vec![
        format!("A: {}, {}", first.name, date(first.created)),
        format!("B: {}, {}", second.name, date(second.created)),
    ];
    if first.hash == second.hash {
        lines.push(SAME_STUDY.into());
    } else {
        lines.push("The studies differ: scenarios of the same name may have been set up differently.".into());
    }
    if first.surefoot_version != second.surefoot_version {
        lines.push(format!("surefoot {} → {}", first.surefoot_version, second.surefoot_version));
    }
    lines.extend(two_measures(a, b));
    // Those that are compared are alike; the files may hold others.
    lines.extend([("A", a), ("B", b)].iter().filter_map(|(name, input)| Some(format!("{name}: {}", note(input)?))));
    let facts = differing_facts(a, b);
    if facts.is_empty() {
        lines.push(EQUAL_FACTS.into());
    }
    let more = facts.len().saturating_sub(FACTS_MAX);
    lines.extend(facts.into_iter().take(FACTS_MAX));
    if more > 0 {
        lines.push(format!("{more} more machine facts differ."));
    }
    lines
}

/// A word where a figure of one is another measure than one of the other.
pub(super) fn two_measures(a: &Input, b: &Input) -> Option<String> {
    let [of_a, of_b] = [a, b].map(|input| estimand(input.contents.study.analysis.order));
    (of_a != of_b).then(|| format!("A figure of A is of {of_a}, one of B of {of_b}."))
}

/// Workloads of which the other side knows nothing, such as one that `--skip-missing` left out there.
pub(super) fn alone(sides: [&[&Input]; 2]) -> Vec<String> {
    let parts = |side: usize| sides[side].iter().flat_map(|input| &input.view().parts);
    let only = |name: &str, side: usize| -> BTreeSet<String> {
        let is_alone = |part: &&Part| {
            part.measured().next().is_some() && !parts(1 - side).any(|other| is_same_figure(part, other))
        };
        let said = |part: &Part| format!("Only in {name}: {}, {}", part.workload, words(&part.metric.name));
        parts(side).filter(is_alone).map(said).collect()
    };
    [only("A", 0), only("B", 1)].into_iter().flatten().collect()
}

/// A word where a side's sessions, which are taken for the same, are of several studies, or have figures of two measures.
pub(super) fn many_studies((name, side): (&str, usize), pairs: &[[Input; 2]]) -> Option<String> {
    let studies: Vec<_> = pairs.iter().map(|pair| &pair[side].contents.study).collect();
    if studies.iter().any(|study| study.hash != studies[0].hash) {
        return Some(format!("The sessions of {name} are not of one study."));
    }
    let other = studies.iter().find(|study| study.analysis.order != studies[0].analysis.order)?;
    let [some, others] = [studies[0], *other].map(|study| estimand(study.analysis.order));
    Some(format!("Of the sessions of {name} some have figures of {some}, others of {others}."))
}

/// What differs between the machines of two sessions of one side.
pub(super) fn unlike_sessions(side: &str, first: &Input, other: &Input) -> Vec<String> {
    let facts = differing_facts(first, other).into_iter().take(FACTS_MAX);
    facts.map(|fact| format!("Within {side}: {fact}")).collect()
}

fn differing_facts(a: &Input, b: &Input) -> Vec<String> {
    let machine = |input: &Input| {
        let contents = &input.contents;
        let mut facts = contents.sessions.last().map(|session| session.machine.clone()).unwrap_or_default();
        facts.remove(observe::machine::KERNEL_RUN);
        // Of a fleet's members, whose machines may be alike otherwise.
        facts.extend(contents.members.first().map(|member| ("host".to_string(), member.host.name.clone())));
        facts
    };
    let (first, second) = (machine(a), machine(b));
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let shown = |value: Option<&String>| value.map_or("–".to_string(), Clone::clone);
    let differ = names.into_iter().filter(|name| first.get(*name) != second.get(*name));
    let of_machine = differ.map(|name| format!("{name}: {} → {}", shown(first.get(name)), shown(second.get(name))));
    // First, as only some facts are shown of two machines.
    differing_versions(a, b).into_iter().chain(of_machine).collect()
}

/// Of the servers and filesystems that both measured.
fn differing_versions(a: &Input, b: &Input) -> Vec<String> {
    let (first, second) = (versions(&a.contents), versions(&b.contents));
    let both = first.iter().filter_map(|(name, values)| Some((name, values, second.get(name)?)));
    let all = |values: &BTreeSet<&str>| values.iter().copied().collect::<Vec<_>>().join(" and ");
    let differ = both.filter(|(_, values, others)| values != others);
    differ.map(|(name, values, others)| format!("{name}: {} → {}", all(values), all(others))).collect()
}
