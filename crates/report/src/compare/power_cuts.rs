//! What a power cut was measured to take in both results, where that is not the same: speed may be bought with it.

use crate::input::Input;
use crate::safety::{cell, short_cell};
use crate::words::some_of;
use analysis::row::Row;
use observe::durability::Class;
use observe::safety::Safety;
use serde_json::Value;
use std::collections::BTreeMap;

/// How power cuts were asked for, which is no part of a study's hash, and what was found.
type Cut<'a> = (&'a Value, &'a Safety);

/// A scenario that is held to another class on the second side than on the first.
pub(super) struct Changed<'a> {
    name: Name<'a>,
    found: [&'a Safety; 2],
    is_asked_alike: bool,
}

/// All of them. Of several sessions a side the worst counts: power cuts need not be measured in each.
pub(super) fn changed<'a>(sides: [&[&'a Input]; 2]) -> Vec<Changed<'a>> {
    let [of_a, of_b] = sides.map(worst);
    let both = of_a.into_iter().filter_map(|(name, first)| Some((name, first, *of_b.get(&name)?)));
    let other = both.filter(|(_, (_, first), (_, second))| first.held_to() != second.held_to());
    let changed = other.map(|(name, (asked, first), (asked_too, second))| Changed {
        name,
        found: [first, second],
        is_asked_alike: sides.into_iter().flatten().any(|input| input.contents.asks_the_same(name.1, asked, asked_too)),
    });
    changed.collect()
}

/// Scenarios that a power cut takes more from in the second, a sentence each: by their settings or as flushes are missing, or as was measured in
/// both, on disks of one kind and asked alike. What flushes less may be faster for it.
pub(super) fn less_safe(sides: [&[&Input]; 2], changed: &[Changed]) -> Vec<String> {
    let worse = by_class(sides).into_iter().filter(|unlike| unlike.classes[1] > unlike.classes[0]);
    let mut said: BTreeMap<Name, String> = worse.map(|unlike| (unlike.name, unlike.line())).collect();
    for one in changed {
        let [first, second] = one.found;
        if second.held_to() > first.held_to() && first.disk == second.disk && one.is_asked_alike {
            said.entry(one.name).or_insert_with(|| format!("{}: {}", one.name.0, one.line()));
        }
    }
    said.into_values().collect()
}

/// Scenarios of which the settings promise another class, or the flushes that were counted leave one, on the second side, a sentence each; but
/// those of which it was measured and is said so.
pub(super) fn promised_otherwise(sides: [&[&Input]; 2], changed: &[Changed]) -> Vec<String> {
    let is_measured = |name: Name| changed.iter().any(|one| one.name == name);
    by_class(sides).into_iter().filter(|unlike| !is_measured(unlike.name)).map(|unlike| unlike.line()).collect()
}

/// The same of two results over time, alike ones as one phrase: what was measured, then what settings and flushes promise.
pub(crate) fn meanwhile(before: &Input, now: &Input) -> Vec<String> {
    let sides: [&[&Input]; 2] = [&[before], &[now]];
    let measured = changed(sides);
    let of_measured = |one: &Changed| {
        let [first, second] = one.found.map(short_cell);
        format!("{} {first} → {second}", one.name.1)
    };
    let mut promised: BTreeMap<[Class; 2], Vec<String>> = BTreeMap::new();
    for Unlike { name, classes } in by_class(sides) {
        if !measured.iter().any(|one| one.name == name) {
            promised.entry(classes).or_default().push(name.1.into());
        }
    }
    let measured: Vec<String> = measured.iter().map(of_measured).collect();
    let measured = (!measured.is_empty()).then(|| format!("after a power cut: {}", some_of(&measured)));
    let promised = promised.into_iter().map(|(classes, labels)| {
        let [was, is] = classes.map(Class::words);
        format!("in a power cut: {was} → {is} ({})", some_of(&labels))
    });
    measured.into_iter().chain(promised).collect()
}

/// A scenario of which a power cut may take more or less on the second side, by settings and flushes.
struct Unlike<'a> {
    name: Name<'a>,
    /// What it is on either side.
    classes: [Class; 2],
}

impl Unlike<'_> {
    fn line(&self) -> String {
        let ((workload, label), [of_a, of_b]) = (self.name, self.classes.map(Class::words));
        format!("{workload}: in a power cut {label} {of_b} in B, and {of_a} in A")
    }
}

fn by_class<'a>(sides: [&[&'a Input]; 2]) -> Vec<Unlike<'a>> {
    let [of_a, of_b] = sides.map(classes);
    let both = of_a.into_iter().filter_map(|(name, first)| Some((name, [first, *of_b.get(&name)?])));
    both.filter(|(_, [first, second])| first != second).map(|(name, classes)| Unlike { name, classes }).collect()
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

impl Changed<'_> {
    /// Both classes, with the disks where these differ, or else that something other was asked.
    pub(super) fn line(&self) -> String {
        let ((_, label), [first, second]) = (self.name, self.found);
        let unlike = match (first.disk == second.disk, self.is_asked_alike) {
            (false, _) => format!(" (on other disks: {} → {})", first.disk, second.disk),
            (true, false) => " (`[safety]` differs, so that this alone may make the classes differ)".into(),
            (true, true) => String::new(),
        };
        format!("{label} after a power cut: {} → {}{unlike}", cell(first), cell(second))
    }
}
