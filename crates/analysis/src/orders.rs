//! In which order scenarios went, as far as the results file tells: how well that was balanced, and what a turn did to the next one (F16).

use crate::counting::Counting;
use ledger::model::{Contents, Order, Phase, RunRow, Scenario, Trial};
use stats::Contrast;
use stats::carry_over::{Turn, carry_over, cycles, worst_balance};
use std::collections::{BTreeMap, HashSet};

/// Below this p a carry-over is called one.
const ALPHA: f64 = 0.05;

/// The pair of scenarios that the orders treat least alike.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Balance {
    /// Who went first more often.
    pub first: String,
    /// Who less often.
    pub second: String,
    /// In so many.
    pub before: usize,
    /// Of so many rounds; under turns, of so many cycles of turns.
    pub of: usize,
    /// Whether cycles of turns are meant.
    pub by_turns: bool,
}

/// What a turn does to the next one, of whom it does most.
#[derive(Debug, Clone, PartialEq)]
pub struct CarryOver {
    /// After whom.
    pub after: String,
    /// Speed of the turn after it by that after the others, over rounds.
    pub effect: Contrast,
    /// p, corrected over all who could go before.
    pub p: f64,
}

impl CarryOver {
    /// Whether there is any.
    pub fn is_shown(&self) -> bool {
        self.p < ALPHA
    }

    /// How far it moves a turn, a fraction.
    pub fn size(&self) -> f64 {
        (self.effect.ratio() - 1.0).abs()
    }
}

/// Of one workload's scenarios, by their labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Orders {
    /// None without two scenarios.
    pub balance: Option<Balance>,
    /// None without turns, or where too few tell it apart.
    pub carry_over: Option<CarryOver>,
}

/// From the moments at which the main rounds' trials and turns began.
pub fn orders(contents: &Contents, counting: &Counting, scenarios: &[&Scenario], more_is_better: bool) -> Orders {
    let mains = || counting.trials.values().filter(|trial| trial.phase == Phase::Main);
    // By who never ran no predecessors can be told apart.
    let ran: HashSet<&str> = mains().map(|trial| trial.scenario.as_str()).collect();
    let labels: Vec<&str> =
        scenarios.iter().map(|scenario| scenario.label.as_str()).filter(|label| ran.contains(label)).collect();
    let primary = scenarios.first().map_or("", |scenario| scenario.primary_metric.as_str());
    let settings = &contents.study.analysis;
    let mut rounds: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    for trial in mains().filter(|trial| labels.contains(&trial.scenario.as_str())) {
        rounds.entry(trial.round).or_default().push(trial);
    }
    let index = |trial: &Trial| labels.iter().position(|label| *label == trial.scenario).unwrap_or_default();
    let by_turns = settings.order == Order::Turns;
    let of_round = |trials: &Vec<&Trial>| turns((trials, counting), primary, more_is_better, index);
    let turns: Vec<Vec<Turn>> = if by_turns { rounds.values().map(of_round).collect() } else { Vec::new() };
    let orders: Vec<Vec<usize>> = if by_turns {
        let cycles = turns.iter().flat_map(|round| cycles(round));
        cycles.map(|cycle| cycle.iter().map(|turn| turn.scenario).collect()).collect()
    } else {
        rounds.values_mut().for_each(|trials| trials.sort_by(|a, b| a.started.total_cmp(&b.started)));
        rounds.values().map(|trials| trials.iter().map(|trial| index(trial)).collect()).collect()
    };
    let label = |index: usize| labels[index].to_string();
    let balance = worst_balance(&orders, labels.len()).map(|worst| Balance {
        first: label(worst.first),
        second: label(worst.second),
        before: worst.before,
        of: worst.of,
        by_turns,
    });
    let carry_over = carry_over(&turns, labels.len(), settings.confidence);
    let carry_over = carry_over.map(|found| CarryOver { after: label(found.after), effect: found.effect, p: found.p });
    Orders { balance, carry_over }
}

/// The turns of a round's trials, the first one first. Who went before counts where both trials were up together, and is no other group's.
fn turns(
    (trials, counting): (&[&Trial], &Counting),
    primary: &str,
    more_is_better: bool,
    index: impl Fn(&Trial) -> usize,
) -> Vec<Turn> {
    let mut all: Vec<(&Trial, &RunRow)> = Vec::new();
    for trial in trials {
        all.extend(counting.runs.get(&trial.id).into_iter().flatten().map(|run| (*trial, *run)));
    }
    all.sort_by(|a, b| a.1.started.total_cmp(&b.1.started));
    let sign = if more_is_better { 1.0 } else { -1.0 };
    let of_place = |place: usize| {
        let (trial, run) = all[place];
        // Both by the session's clock. A run's own is the machine's, which may be set meanwhile, or go on while the machine sleeps.
        let is_up = |before: &&Trial| before.ended.is_none_or(|ended| ended > trial.started);
        let before = place.checked_sub(1).map(|before| all[before].0).filter(is_up);
        let value = run.metrics.get(primary).copied().unwrap_or(f64::NAN);
        Turn { scenario: index(trial), before: before.map(&index), log_rate: sign * value.ln() }
    };
    (0..all.len()).map(of_place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{counting, run, trial};

    /// After a suspend, or when it is set, the machine's clock is another one than the session's.
    #[test]
    fn who_went_before_is_known_whatever_the_machines_clock_does() {
        let trials = [trial(1, "a", 0), trial(2, "b", 0), trial(3, "a", 1), trial(4, "b", 1)];
        let (right, ahead, set_back) =
            ([2.0, 3.0, 12.0, 13.0], [3602.0, 3603.0, 3612.0, 3613.0], [2.0, 3.0, 9.5, 10.5]);
        for moments in [right, ahead, set_back] {
            let begun = |(trial, started): (&Trial, f64)| RunRow { started, seconds: 1.0, ..run(trial.id, &[]) };
            let runs: Vec<RunRow> = trials.iter().zip(moments).map(begun).collect();
            let counting = counting(&trials, &runs);
            let all: Vec<&Trial> = trials.iter().collect();
            let turns = turns((&all, &counting), "", true, |trial| usize::from(trial.scenario == "b"));
            let before: Vec<Option<usize>> = turns.iter().map(|turn| turn.before).collect();
            assert_eq!(before, [None, Some(0), None, Some(0)], "{moments:?}");
        }
    }
}
