//! What a power cut was measured to take in both results, where that is not the same: speed may be bought with it.

use crate::input::Input;
use crate::safety::cell;
use observe::safety::{Grade, Safety};
use std::collections::BTreeMap;

/// A line for each scenario that is held to another class, with the disks where these differ, too. Of several sessions a side the worst
/// counts: power cuts need not be measured in each.
pub(super) fn differing(sides: [&[&Input]; 2]) -> Vec<String> {
    let [of_a, of_b] = sides.map(worst);
    let both = of_a.into_iter().filter_map(|(scenario, first)| Some((scenario.1, first, *of_b.get(&scenario)?)));
    let other = both.filter(|(_, first, second)| first.held_to() != second.held_to());
    other.map(|(label, first, second)| line(label, first, second)).collect()
}

/// What each scenario, by its workload and label, was found to lose.
fn worst<'a>(side: &[&'a Input]) -> BTreeMap<(&'a str, &'a str), &'a Safety> {
    let mut worst: BTreeMap<(&str, &str), &Safety> = BTreeMap::new();
    for part in side.iter().flat_map(|input| &input.view().parts) {
        for row in part.rows.iter().filter(|row| !row.control) {
            let Some(found) = &row.power_cut else { continue };
            let known = worst.entry((&*part.workload, &*row.label)).or_insert(found);
            if badness(known) < badness(found) {
                *known = found;
            }
        }
    }
    worst
}

fn badness(found: &Safety) -> (Grade, u64) {
    (found.held_to(), found.worst_lost_commits)
}

fn line(label: &str, first: &Safety, second: &Safety) -> String {
    let disks = match first.disk == second.disk {
        true => String::new(),
        false => format!(" (on other disks: {} → {})", first.disk, second.disk),
    };
    format!("{label} after a power cut: {} → {}{disks}", cell(first), cell(second))
}
