//! What a power cut was measured to take in both results, where that is not the same: speed may be bought with it.

use crate::input::Input;
use crate::safety::cell;
use analysis::unpaired::parts;
use observe::safety::Safety;

/// A line for each scenario that is held to another class, with the disks where these differ, too.
pub(super) fn differing(a: &Input, b: &Input) -> Vec<String> {
    let mut lines = Vec::new();
    for (part, other) in parts(a.view(), b.view()) {
        for row in part.rows.iter().filter(|row| !row.control) {
            let later = other.row(&row.label).and_then(|later| later.power_cut.as_ref());
            let Some((first, second)) = row.power_cut.as_ref().zip(later) else { continue };
            if first.held_to() != second.held_to() {
                lines.push(line(&row.label, first, second));
            }
        }
    }
    lines
}

fn line(label: &str, first: &Safety, second: &Safety) -> String {
    let disks = match first.disk == second.disk {
        true => String::new(),
        false => format!(" (on other disks: {} → {})", first.disk, second.disk),
    };
    format!("{label} after a power cut: {} → {}{disks}", cell(first), cell(second))
}
