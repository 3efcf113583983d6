//! What a power cut was measured to take in both results, where that is not the same: speed may be bought with it.

use crate::input::Input;
use crate::safety::cell;
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

/// What each scenario, by its workload and label, was found to lose.
fn worst<'a>(side: &[&'a Input]) -> BTreeMap<(&'a str, &'a str), Cut<'a>> {
    let mut worst: BTreeMap<(&str, &str), Cut> = BTreeMap::new();
    for input in side {
        for (part, row) in input.view().parts.iter().flat_map(|part| part.rows.iter().map(move |row| (part, row))) {
            let measured = input.contents.safety_of(&input.contents.scenarios[row.index]).filter(|_| !row.control);
            let Some((asked, found)) = measured.and_then(|one| Some((&one.asked, one.safety.as_ref()?))) else {
                continue;
            };
            let known = worst.entry((&*part.workload, &*row.label)).or_insert((asked, found));
            if known.1.badness() < found.badness() {
                *known = (asked, found);
            }
        }
    }
    worst
}

fn line(label: &str, [(_, first), (_, second)]: [Cut; 2], is_asked_alike: bool) -> String {
    let unlike = match (first.disk == second.disk, is_asked_alike) {
        (false, _) => format!(" (on other disks: {} → {})", first.disk, second.disk),
        (true, false) => " (`[safety]` differs, so that this alone may make the classes differ)".into(),
        (true, true) => String::new(),
    };
    format!("{label} after a power cut: {} → {}{unlike}", cell(first), cell(second))
}
