//! What will be claimed: the comparisons that a study declares, by which figure, and at which level. Fixed before the first trial.

use crash::plan::Plan;
use lab::values::primary_metric;
use report::number::words;
use report::printable;
use serde_json::{Value, json};
use settings::quantity::format_percent;
use stats::observations::Declared;
use stats::{Cell, Observations};
use study::Mode;

/// Comparisons of a workload that are named; of the others there is a number.
const NAMED_MAX: usize = 3;

/// A workload's comparisons, which are corrected together.
struct Family {
    workload: String,
    metric: String,
    declared: Vec<Declared>,
}

/// Those of a plan; none where rounds say who is compared: in mode "tune", and behind a screen.
fn families(plan: &Plan) -> Vec<Family> {
    if plan.design.mode != Mode::Full || !plan.screens.is_empty() {
        return Vec::new();
    }
    let of = |workload: String| {
        let scenarios: Vec<_> = plan.scenarios.iter().filter(|one| one.workload == workload).collect();
        let metric = primary_metric(&workload, &scenarios.first()?.parameters);
        let cells = scenarios.iter().map(|one| Cell {
            label: one.label.clone(),
            levels: one.levels.clone(),
            control: one.control,
            baseline: one.baseline,
        });
        // Neither values nor which way is better decide who is compared.
        let observations = Observations { cells: cells.collect(), rounds: Vec::new(), more_is_better: true };
        Some(Family { workload, metric, declared: observations.family() }).filter(|family| !family.declared.is_empty())
    };
    plan.workloads().into_iter().filter_map(of).collect()
}

/// For a terminal: a line a workload, and one on the level of all.
pub fn lines(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = families(plan).iter().map(in_words).collect();
    if !lines.is_empty() {
        // Half of the level is a first answer's; what is left is for those after more rounds.
        let (all, margin) = (plan.design.confidence, plan.design.margin);
        let [all, first, margin] =
            [all, (1.0 + all) / 2.0, margin].map(|share| format_percent(share).replace('%', " %"));
        lines.push(format!(
            "at {all} over all answers ({first} in a first one), corrected together (Holm) in each workload; a difference below {margin} does \
             not matter"
        ));
    }
    lines
}

fn in_words(Family { workload, metric, declared }: &Family) -> String {
    let pair = |(place, one): (usize, &Declared)| {
        // A level alone may be a number, or "on".
        let is_of_another = place == 0 || declared[place - 1].factor != one.factor;
        let factor = one.factor.as_ref().filter(|_| is_of_another);
        let factor = factor.map_or_else(String::new, |path| format!("{}: ", path.rsplit('.').next().unwrap_or(path)));
        format!("{factor}{} with {}", one.a, one.b)
    };
    let pairs: Vec<String> = declared.iter().take(NAMED_MAX).enumerate().map(pair).collect();
    let (count, more) = (declared.len(), if declared.len() > NAMED_MAX { ", …" } else { "" });
    // A study names its own metrics and levels.
    printable(&format!("{workload} by {}, {count} in all ({}{more})", words(metric), pairs.join(", ")))
}

/// All of them as values.
pub fn json(plan: &Plan) -> Value {
    let of = |family: Family| {
        let Family { workload, metric, declared } = family;
        let one = move |one: Declared| {
            json!({
                "workload": workload, "metric": metric, "factor": one.factor, "of": one.a, "against": one.b,
                "averaged_over": one.over,
            })
        };
        declared.into_iter().map(one)
    };
    families(plan).into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// SECURITY.md: a stranger's study may be planned.
    #[test]
    fn what_a_study_calls_its_metrics_does_not_steer_the_terminal() {
        let cell = |label: &str| Cell { label: label.into(), levels: BTreeMap::new(), control: false, baseline: false };
        let cells = ["ext4", "\u{1b}]0;mine\u{7}"].map(cell).to_vec();
        let declared = Observations { cells, rounds: Vec::new(), more_is_better: true }.family();
        let line = in_words(&Family { workload: "command".into(), metric: "a\u{1b}[2J\nb".into(), declared });
        assert!(line.contains(" with ext4") && !line.contains(char::is_control), "{line:?}");
    }
}
