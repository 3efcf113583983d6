//! What is said of failing disks where they were measured: a cell, the answer's sentences, what machines get.

use crate::flushing::Marked as _;
use crate::number::{count, percent_at_most};
use crate::words::{counted, each_once, some_of};
use analysis::row::Row;
use analysis::view::Part;
use observe::faults::{Consequence, FaultsFound};
use serde_json::{Value, json};

/// The worst and how often it came: "lost in 3 of 120 cases", "told, or nothing, in 120 cases".
pub fn cell(found: &FaultsFound) -> String {
    match found.worst() {
        None if found.possible == 0 => "nothing to strike".into(),
        None => "no case tried".into(),
        Some(worst @ (Consequence::Nothing | Consequence::Told | Consequence::Stopped)) => {
            format!("{} at worst, in {}", worst.words(), counted(found.cases, "case"))
        }
        Some(worst) => {
            format!("{} in {} of {}", worst.words(), count(found.count(worst)), counted(found.cases, "case"))
        }
    }
}

/// Cases that lost or corrupted silently, in words; none: there was none.
fn silent(found: &FaultsFound) -> Option<String> {
    let both = [Consequence::Lost, Consequence::Wrong].map(|one| (one, found.count(one)));
    let words = both.iter().filter(|(_, number)| *number > 0).map(|(one, number)| match one {
        Consequence::Lost => format!("acknowledged commits were lost in {}", count(*number)),
        _ => format!("wrong content was read in {}", count(*number)),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return None;
    }
    let silent = found.rows.iter().filter(|row| row.worst().is_some_and(Consequence::is_silent));
    let names = each_once(silent.map(|row| &*row.fault));
    let cases = count(found.cases);
    Some(format!("{} of {cases} cases, and nobody said so ({})", words.join(" and "), names.join(", ")))
}

/// Why nothing is known of a scenario without a case, in words; none: some case was tried.
fn untried(found: &FaultsFound) -> Option<String> {
    let why: String = match found.cases {
        0 if found.possible == 0 => "its load made no request that such a fault strikes".into(),
        0 if found.ended_early => "the search ended before its first case".into(),
        0 if found.is_complete => "no request was left to be struck".into(),
        0 => format!(
            "none of {} was tried in the time that `safety.fault_budget` gives",
            counted(found.possible, "case")
        ),
        _ => return None,
    };
    Some(format!("nothing is known: {why}"))
}

/// Which scenarios lose or corrupt silently, in a sentence; none where no failing disk was measured.
pub fn silent_of_all<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let rows = rows.filter(|row| !row.control);
    let measured: Vec<(&Row, &FaultsFound)> = rows.filter_map(|row| Some((row, row.faults.as_ref()?))).collect();
    if measured.is_empty() {
        return None;
    }
    let silent = measured.iter().filter(|(_, found)| found.worst().is_some_and(Consequence::is_silent));
    let names: Vec<String> = silent.map(|(row, _)| row.marked()).collect();
    let without = measured.iter().filter(|(_, found)| found.cases == 0);
    let without: Vec<String> = without.map(|(row, _)| row.marked()).collect();
    let of_others = match without.len() {
        0 => String::new(),
        _ => format!(" No case was tried of {}.", some_of(&without)),
    };
    Some(match names.is_empty() {
        true if without.len() == measured.len() => "No case was tried: nothing is known.".into(),
        true => format!("Nothing was lost or wrong without a word.{of_others}"),
        false => format!("Lost or wrong without a word: {}.{of_others}", some_of(&names)),
    })
}

/// How much of what can fail was tried.
pub fn explored(found: &FaultsFound) -> String {
    let of_blocks = match &*found.blocks {
        [] => String::new(),
        blocks => format!(" for blocks of {}", blocks.join(", ")),
    };
    let not_struck = match found.not_struck {
        0 => String::new(),
        1 => "; in 1 case no request was left to be struck".into(),
        cases => format!("; in {} cases no request was left to be struck", count(cases)),
    };
    if found.is_complete {
        return format!("every request of this load{of_blocks}, each fault{not_struck}");
    }
    let bound = found.silent_share_at_most().map(percent_at_most);
    let bound = bound.map_or_else(String::new, |share| {
        format!("; of the requests and faults not tried below {share} lose or corrupt silently, at 95 %")
    });
    let part = if found.ended_early { "the search ended early: the first" } else { "a sample of" };
    format!("{part} {} of {} cases{of_blocks}{not_struck}{bound}", count(found.cases), count(found.possible))
}

/// What speaks against the pick on a disk that fails; none where that was not measured, or nothing does.
pub fn against_the_pick(part: &Part) -> Option<String> {
    let pick = part.pick()?;
    let silent = silent(pick.faults.as_ref()?)?;
    Some(format!("On a failing disk, {silent}: {}.", pick.marked()))
}

/// A sentence a scenario.
pub fn sentences(part: &Part) -> Vec<String> {
    let of_row = |row: &Row| {
        let found = row.faults.as_ref()?;
        if let Some(why) = untried(found) {
            return Some(format!("On a failing disk, {}: {why}.", row.marked()));
        }
        let what =
            silent(found).unwrap_or_else(|| format!("nothing was lost or wrong without a word: {}", cell(found)));
        Some(format!("On a failing disk, {}: {what}; {}.", row.marked(), explored(found)))
    };
    part.rows.iter().filter(|row| !row.control).filter_map(of_row).collect()
}

/// For machines: all that was measured, with the bound.
pub fn of_row(row: &Row) -> Option<Value> {
    let found = row.faults.as_ref()?;
    let mut value = json!(found);
    value["worst"] = json!(found.worst());
    value["silent_share_at_most"] = json!(found.silent_share_at_most());
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::faults::Example;

    fn found(cases: &[(&str, Consequence)]) -> FaultsFound {
        let mut found: FaultsFound = serde_json::from_value(json!({
            "writes": 9, "flushes": 3, "reads": 0, "possible": 48, "cases": 0, "not_struck": 0, "drawn": 1, "is_complete": false,
            "honest": 8, "honest_bad": 0, "rows": [], "notes": [], "seconds": 1.0,
        }))
        .expect("as a trial says it");
        let example = |case: &str| Example {
            case: case.into(),
            words: String::new(),
            client: Vec::new(),
            server: Vec::new(),
            kernel: Vec::new(),
        };
        for (fault, end) in cases {
            found.add([fault, "WAL", "restart"], *end, || example(fault));
        }
        found
    }

    #[test]
    fn a_cell_has_the_worst_and_how_often() {
        use Consequence::{Lost, NotBack, Nothing, Told, Wrong};
        assert_eq!(cell(&found(&[])), "no case tried");
        let idle = FaultsFound { possible: 0, is_complete: true, ..found(&[]) };
        assert_eq!(cell(&idle), "nothing to strike");
        assert_eq!(cell(&found(&[("write-error", Told)])), "told at worst, in 1 case");
        assert_eq!(cell(&found(&[("write-error", Told), ("full", Nothing)])), "told at worst, in 2 cases");
        assert_eq!(cell(&found(&[("write-error", NotBack), ("full", Told)])), "does not come back in 1 of 2 cases");
        assert_eq!(cell(&found(&[("a", Lost), ("b", Wrong), ("c", Lost)])), "wrong in 1 of 3 cases");
    }

    #[test]
    fn what_is_lost_silently_is_said_with_its_faults() {
        use Consequence::{Lost, Told, Wrong};
        assert_eq!(silent(&found(&[("write-error", Told)])), None);
        let said = silent(&found(&[("lost-write", Lost), ("read-bit", Wrong), ("full", Told)])).expect("two");
        assert_eq!(
            said,
            "acknowledged commits were lost in 1 and wrong content was read in 1 of 3 cases, and nobody said so (lost-write, read-bit)"
        );
        assert!(
            explored(&found(&[("full", Told)]))
                .starts_with("a sample of 1 of 48 cases; of the requests and faults not tried below 95 %")
        );
        assert_eq!(explored(&found(&[("full", Lost)])), "a sample of 1 of 48 cases");
        let broken = FaultsFound { ended_early: true, ..found(&[("full", Lost)]) };
        assert_eq!(explored(&broken), "the search ended early: the first 1 of 48 cases");
        let of_journal = FaultsFound { blocks: vec!["journal".into()], is_complete: true, ..found(&[("full", Lost)]) };
        assert_eq!(explored(&of_journal), "every request of this load for blocks of journal, each fault");
        let all = FaultsFound { is_complete: true, not_struck: 12, ..found(&[("full", Lost)]) };
        assert_eq!(
            explored(&all),
            "every request of this load, each fault; in 12 cases no request was left to be struck"
        );
        let some = FaultsFound { not_struck: 1, ..found(&[("full", Told)]) };
        assert_eq!(explored(&some), "a sample of 1 of 48 cases; in 1 case no request was left to be struck");
    }
}
