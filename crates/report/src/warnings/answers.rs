//! Warnings about what a load got for an answer: wrong ones, and those that came later than asked for.

use super::{Warning, in_scenarios, listed};
use crate::errors;
use crate::number::percent;
use analysis::ceilings::By;
use analysis::errors::WRONG_SHARE_MIN;
use analysis::row::Row;
use analysis::view::Part;

/// Wrong answers: in the figures of an older file, or too many of what is recommended.
pub fn wrong(part: &Part) -> Vec<Warning> {
    in_figures(part).into_iter().chain(of_picks(part)).collect()
}

fn named(rows: &[&Row]) -> String {
    let each = rows.iter().map(|row| format!("{} ({})", row.label, errors::cell(row)));
    listed(&each.collect::<Vec<_>>(), "; ")
}

/// Figures of a version that counted wrong answers as answers, where there were any.
fn in_figures(part: &Part) -> Option<Warning> {
    let is_older = |row: &&Row| row.errors.as_ref().is_some_and(|errors| errors.is_in_figures);
    let rows: Vec<&Row> = part.measured().filter(is_older).collect();
    (!rows.is_empty()).then(|| Warning {
        seen: format!(
            "{}: this file was recorded before wrong answers were kept out of the figures, and there were some: {}",
            part.workload,
            named(&rows)
        ),
        effect: "Speed and latencies count wrong answers whatever their status, and leave time-outs out: an error that is fast looks good.",
        remedy: "Measure these scenarios again with this version.",
        brief: Some(format!("wrong answers are part of the figures of {}.", in_scenarios(rows.len()))),
    })
}

/// What is recommended answered much of what was asked wrong.
fn of_picks(part: &Part) -> Option<Warning> {
    let mut rows = part.picks();
    // Without a pick the answer speaks of all.
    if rows.is_empty() {
        rows = part.measured().collect();
    }
    rows.retain(|row| row.error_share() >= WRONG_SHARE_MIN);
    let shares = || rows.iter().map(|row| row.error_share());
    let (least, most) = (percent(shares().reduce(f64::min)?), percent(shares().reduce(f64::max)?));
    let shares = if least == most { most } else { format!("{least} to {most}") };
    Some(Warning {
        seen: format!("{}: much of what was asked for went wrong: {}", part.workload, named(&rows)),
        effect: "Speed and latencies are those of the right answers alone, and a server that refuses much has less to do for the rest.",
        remedy: "The notes have the first wrong answer in its own words: mend its cause, or compare under a load that is answered.",
        brief: Some(format!("{shares} of what was asked for went wrong: the figures are of the right answers alone.")),
    })
}

/// Open loops in which the server fell behind, and what share each reached.
pub fn late(part: &Part) -> Option<Warning> {
    let reached = |row: &Row| Some(format!("{} ({} of it)", row.label, percent(row.ceiling.as_ref()?.fell_behind()?)));
    let found: Vec<String> = part.measured().filter_map(reached).collect();
    let scenarios = in_scenarios(found.len());
    (!found.is_empty()).then(|| Warning {
        seen: format!("{}: the rate asked for was not reached: {}", part.workload, listed(&found, ", ")),
        effect: "What waits grows as long as the load lasts: such a latency is that of a run of this length, and short runs end before the first error.",
        remedy: "Compare at rates that every scenario reaches (`find-rate` looks for the highest). To see errors, set `design.order = \"blocks\"` and a long `time`.",
        brief: Some(format!("{scenarios} did not reach the rate asked for: latency there grows with the run's length.")),
    })
}

/// Searches for the highest rate that held each one that they might try.
pub fn capped(part: &Part) -> Option<Warning> {
    let is_capped = |row: &&Row| row.ceiling.as_ref().is_some_and(|ceiling| ceiling.by == Some(By::RateMax));
    let found: Vec<String> = part.measured().filter(is_capped).map(|row| row.label.clone()).collect();
    (!found.is_empty()).then(|| Warning {
        seen: format!("{}: the highest rate that is tried held: {}", part.workload, listed(&found, ", ")),
        effect: "These figures are lower bounds: of two that are equal one may do far more than the other.",
        remedy: "Set `rate_max` higher.",
        brief: Some(format!(
            "{} held the highest rate that is tried: how far scenarios are apart is not known.",
            in_scenarios(found.len())
        )),
    })
}
