//! One figure a scenario and round where the round was split: trials of different groups were not up at the same time.
//!
//! Baseline and control are in every group. What disturbed one group more than another is seen in these two, and taken off: in logarithms
//! a figure of group g becomes figure − m(g) + mean of m over the round's groups, where m(g) is the mean of the shared scenarios in g.
//! That is the analysis of an augmented design, in which each block is adjusted by the checks that all blocks have (Federer, "Augmented
//! designs with one-way elimination of heterogeneity", Biometrics 17, 1961).

use crate::figure::{self, Zero};
use std::collections::{BTreeMap, BTreeSet};

/// A trial's figure in a round of one workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Its scenario's place in the study.
    pub scenario: usize,
    /// Its group; none: the round was not split.
    pub group: Option<u32>,
    /// Whether its scenario is in every group.
    pub is_shared: bool,
    /// The figure.
    pub value: f64,
}

/// The figures of a round of one workload as if all had been up at the same time: claims rest on these. A scenario without one is a hole.
///
/// A figure of 0 is a stall, which has no logarithm: it stays 0, and its group is adjusted by the other shared scenario. Whoever was in a
/// group without a shared figure above 0 is a hole. Where no group has one, nothing can be taken off and all stay as they are, as by
/// blocks: what disturbed a group is then part of what strays from round to round.
pub fn adjusted(round: &[Figure]) -> BTreeMap<usize, f64> {
    let groups: BTreeSet<Option<u32>> = round.iter().map(|figure| figure.group).collect();
    let levels = if groups.len() > 1 { levels(round) } else { BTreeMap::new() };
    let middle = levels.values().sum::<f64>() / levels.len() as f64;
    let adjust = |figure: &Figure| -> Option<f64> {
        if levels.is_empty() || figure.value <= 0.0 {
            return Some(figure.value);
        }
        Some((figure.value.ln() - levels.get(&figure.group)? + middle).exp())
    };
    let whole = whole_groups(round);
    // Of two shared scenarios the one that is alone in a group is its level: of their difference it says nothing. Where no group has both,
    // the first, which is the baseline, is the level of all, and the other, its double, has no figure of its own.
    let first = round.iter().filter(|figure| figure.is_shared).map(|figure| figure.scenario).min();
    let counts = |figure: &&Figure| match figure.is_shared {
        true if whole.is_empty() => Some(figure.scenario) == first,
        true => whole.contains(&figure.group),
        false => true,
    };
    let mut found: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for figure in round.iter().filter(counts) {
        found.entry(figure.scenario).or_default().extend(adjust(figure));
    }
    combined(found, Zero::Stall)
}

/// The same of a metric that no claim rests on: the mean over a scenario's trials, with nothing taken off.
pub fn plain(round: &[Figure]) -> BTreeMap<usize, f64> {
    let mut found: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    round.iter().for_each(|figure| found.entry(figure.scenario).or_default().push(figure.value));
    combined(found, Zero::Count)
}

fn combined(figures: BTreeMap<usize, Vec<f64>>, zero: Zero) -> BTreeMap<usize, f64> {
    let one = |values: Vec<f64>| match &*values {
        [] => None,
        // A single figure is what it is, to the last bit.
        [value] => Some(*value),
        several => Some(figure::mean(several, zero)),
    };
    figures.into_iter().filter_map(|(scenario, values)| Some((scenario, one(values)?))).collect()
}

/// The mean logarithm of the shared scenarios in each group that has a figure of theirs above 0.
fn levels(round: &[Figure]) -> BTreeMap<Option<u32>, f64> {
    let mut logarithms: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
    for figure in round.iter().filter(|figure| figure.is_shared && figure.value > 0.0) {
        logarithms.entry(figure.group).or_default().push(figure.value.ln());
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    logarithms.into_iter().map(|(group, values)| (group, mean(values))).collect()
}

/// Groups in which every shared scenario has a figure that has one in this round at all.
fn whole_groups(round: &[Figure]) -> BTreeSet<Option<u32>> {
    let mut shared: BTreeMap<Option<u32>, BTreeSet<usize>> = BTreeMap::new();
    for figure in round.iter().filter(|figure| figure.is_shared) {
        shared.entry(figure.group).or_default().insert(figure.scenario);
    }
    let all: BTreeSet<usize> = shared.values().flatten().copied().collect();
    shared.into_iter().filter(|(_, of_group)| *of_group == all).map(|(group, _)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups by their number, each with (scenario, figure); scenarios 0 and 1 are shared.
    fn round(groups: &[&[(usize, f64)]]) -> Vec<Figure> {
        let of = |(number, group): (u32, &&[(usize, f64)])| -> Vec<Figure> {
            let one = |(scenario, value): &(usize, f64)| Figure {
                scenario: *scenario,
                group: Some(number),
                is_shared: *scenario < 2,
                value: *value,
            };
            group.iter().map(one).collect()
        };
        (0..).zip(groups).flat_map(of).collect()
    }

    fn check(groups: &[&[(usize, f64)]], expected: &[(usize, f64)]) {
        let found = adjusted(&round(groups));
        let scenarios: Vec<usize> = found.keys().copied().collect();
        assert_eq!(scenarios, expected.iter().map(|(scenario, _)| *scenario).collect::<Vec<_>>(), "{found:?}");
        for (scenario, value) in expected {
            assert!((found[scenario] - value).abs() < 1e-9, "{scenario}: {} and not {value}", found[scenario]);
        }
    }

    #[test]
    fn what_a_group_suffered_is_taken_off() {
        // Everything in the second group is four times slower, so that the round's middle is half of the first.
        check(
            &[&[(0, 100.0), (1, 100.0), (2, 120.0)], &[(0, 25.0), (1, 25.0), (3, 20.0)]],
            &[(0, 50.0), (1, 50.0), (2, 60.0), (3, 40.0)],
        );
    }

    #[test]
    fn a_round_that_was_not_split_stays_as_it_is() {
        let group = [(0, 100.1), (1, 99.7), (2, 33.3), (3, 0.0)];
        let mut figures = round(&[&group]);
        assert_eq!(adjusted(&figures), group.into());
        figures.iter_mut().for_each(|figure| figure.group = None);
        assert_eq!(adjusted(&figures), group.into());
    }

    #[test]
    fn a_stall_stays_one_and_the_other_shared_scenario_is_its_groups_level() {
        // The baseline stalled in the second group.
        check(
            &[&[(0, 100.0), (1, 100.0), (2, 120.0)], &[(0, 0.0), (1, 25.0), (3, 20.0)]],
            &[(0, 0.0), (1, 50.0), (2, 60.0), (3, 40.0)],
        );
        // Another one did, in a group that nothing can be held against: a hole would make it look better than it is.
        check(
            &[&[(0, 100.0), (1, 100.0), (2, 120.0)], &[(0, 0.0), (1, 0.0), (3, 0.0), (4, 7.0)]],
            &[(0, 0.0), (1, 0.0), (2, 120.0), (3, 0.0)],
        );
    }

    #[test]
    fn a_group_without_a_shared_figure_has_holes() {
        check(&[&[(0, 100.0), (1, 100.0), (2, 120.0)], &[(3, 20.0)]], &[(0, 100.0), (1, 100.0), (2, 120.0)]);
        // The baseline fails wherever it is: what strays from group to group stays in the figures.
        check(&[&[(2, 120.0)], &[(3, 20.0)]], &[(2, 120.0), (3, 20.0)]);
    }

    #[test]
    fn one_shared_scenario_says_nothing_of_its_difference_from_the_other() {
        // The control failed in the second group: that pair is known from the first only, 100 against 121.
        check(
            &[&[(0, 100.0), (1, 121.0), (2, 110.0)], &[(0, 50.0), (3, 50.0)]],
            &[
                (0, 100.0 / 2.2_f64.sqrt()),
                (1, 121.0 / 2.2_f64.sqrt()),
                (2, 110.0 / 2.2_f64.sqrt()),
                (3, 50.0 * 2.2_f64.sqrt()),
            ],
        );
    }

    #[test]
    fn shared_scenarios_that_never_met_have_no_difference() {
        check(&[&[(0, 100.0), (2, 120.0)], &[(1, 25.0), (3, 20.0)]], &[(0, 50.0), (2, 60.0), (3, 40.0)]);
    }

    #[test]
    fn what_no_claim_rests_on_is_a_mean() {
        let found = plain(&round(&[&[(0, 0.0), (2, 3.0)], &[(0, 4.0), (3, 5.0)]]));
        assert_eq!(found, [(0, 2.0), (2, 3.0), (3, 5.0)].into());
    }
}
