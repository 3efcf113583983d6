//! What a power cut was measured to take in both results, where that is not the same: speed may be bought with it.

use crate::input::Input;
use crate::safety::cell;
use analysis::row::Row;
use observe::durability::Class;
use observe::safety::Safety;
use serde_json::Value;
use std::collections::BTreeMap;

/// How power cuts were asked for, which is no part of a study's hash, and what was found.
type Cut<'a> = (&'a Value, &'a Safety);

/// A line for each scenario that is held to another class, with the disks where these differ, or else that something other was asked. Of several
/// sessions a side the worst counts: power cuts need not be measured in each.
pub(super) fn differing(sides: [&[&Input]; 2]) -> Vec<String> {
    let [of_a, of_b] = sides.map(worst);
    let both = of_a.into_iter().filter_map(|(scenario, first)| Some((scenario.1, first, *of_b.get(&scenario)?)));
    let other = both.filter(|(_, (_, first), (_, second))| first.held_to() != second.held_to());
    let is_asked_alike = |label: &str, first: &Value, second: &Value| {
        sides.into_iter().flatten().any(|input| input.contents.asks_the_same(label, first, second))
    };
    let said =
        other.map(|(label, first, second)| line(label, [first, second], is_asked_alike(label, first.0, second.0)));
    said.collect()
}

/// Scenarios that a power cut takes more from in the second, a sentence each: by their settings or as flushes are missing, or as was measured in
/// both, on disks of one kind and asked alike. What flushes less may be faster for it.
pub(super) fn less_safe(sides: [&[&Input]; 2]) -> Vec<String> {
    let [of_a, of_b] = sides.map(classes);
    let mut said: BTreeMap<Name, String> = BTreeMap::new();
    for ((workload, label), first) in of_a {
        let second = of_b.get(&(workload, label)).filter(|second| **second > first);
        said.extend(second.map(|second| {
            let [first, second] = [first, *second].map(Class::words);
            ((workload, label), format!("{workload}: in a power cut {label} {second} in B, and {first} in A"))
        }));
    }
    let [of_a, of_b] = sides.map(worst);
    for ((workload, label), (asked, first)) in of_a {
        let Some((asked_too, second)) = of_b.get(&(workload, label)) else { continue };
        let is_alike =
            || sides.into_iter().flatten().any(|input| input.contents.asks_the_same(label, asked, asked_too));
        if second.held_to() > first.held_to() && first.disk == second.disk && is_alike() {
            let found = format!("{workload}: {label} after a power cut: {} → {}", cell(first), cell(second));
            said.entry((workload, label)).or_insert(found);
        }
    }
    said.into_values().collect()
}

/// A scenario's workload and label.
type Name<'a> = (&'a str, &'a str);

/// What a power cut may take from each scenario; of several sessions the worst counts.
fn classes<'a>(side: &[&'a Input]) -> BTreeMap<Name<'a>, Class> {
    let mut worst = BTreeMap::new();
    for (name, row, _) in rows(side).filter(|(_, row, _)| row.centre.is_some()) {
        let known = worst.entry(name).or_insert(Class::KeepsAcknowledged);
        *known = row.safety().max(*known);
    }
    worst
}

/// What each scenario was found to lose.
fn worst<'a>(side: &[&'a Input]) -> BTreeMap<Name<'a>, Cut<'a>> {
    let mut worst: BTreeMap<Name, Cut> = BTreeMap::new();
    for (name, row, input) in rows(side) {
        let measured = input.contents.safety_of(&input.contents.scenarios[row.index]);
        let Some((asked, found)) = measured.and_then(|one| Some((&one.asked, one.safety.as_ref()?))) else {
            continue;
        };
        let known = worst.entry(name).or_insert((asked, found));
        if known.1.badness() < found.badness() {
            *known = (asked, found);
        }
    }
    worst
}

/// The scenarios of a side but for the controls, each with the session that it is of.
fn rows<'a>(side: &[&'a Input]) -> impl Iterator<Item = (Name<'a>, &'a Row, &'a Input)> {
    let parts = side.iter().flat_map(|input| input.view().parts.iter().map(move |part| (part, *input)));
    parts.flat_map(|(part, input)| {
        let rows = part.rows.iter().filter(|row| !row.control);
        rows.map(move |row| ((&*part.workload, &*row.label), row, input))
    })
}

fn line(label: &str, [(_, first), (_, second)]: [Cut; 2], is_asked_alike: bool) -> String {
    let unlike = match (first.disk == second.disk, is_asked_alike) {
        (false, _) => format!(" (on other disks: {} → {})", first.disk, second.disk),
        (true, false) => " (`[safety]` differs, so that this alone may make the classes differ)".into(),
        (true, true) => String::new(),
    };
    format!("{label} after a power cut: {} → {}{unlike}", cell(first), cell(second))
}
