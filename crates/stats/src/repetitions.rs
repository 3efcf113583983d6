//! Runs of a trial against rounds of a study: where a difference strays, and what reaches a precision in the least time (Kalibera and
//! Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, sections 6 and 9).
//!
//! What strays between the runs of one trial is averaged by more runs, which cost little; what strays from one trial to the next one only by
//! more rounds, in each of which everything is provisioned anew.

use crate::interval::{mean, rounds_for_half_width, squares};

/// More runs a trial than so many times what was measured are not advised: how runs stray over so long was not seen.
const LONGER_MAX: f64 = 4.0;
/// Numbers are tried in steps of this ratio.
const STEP: f64 = 1.2;

/// Numbers of runs or turns that are tried: from the first to the last, both included.
pub fn steps(first: u32, last: u32) -> Vec<u32> {
    let next = |now: &u32| Some(((f64::from(*now) * STEP) as u32).max(now + 1)).filter(|next| *next < last);
    std::iter::successors(Some(first), next).chain((last > first).then_some(last)).collect()
}

/// The variances of a comparison's difference, log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// Of the runs of a round, about the round's own mean.
    pub within: f64,
    /// Of the rounds' true means: what no number of runs averages out. An estimate may be below 0.
    pub between: f64,
}

impl Components {
    /// From the differences of each round's runs, by the analysis of variance with random effects; a round may have fewer runs than others
    /// (Searle, Casella and McCulloch, "Variance Components", 1992, section 3.6). None: fewer than two rounds, or no round has two runs.
    pub fn of(rounds: &[Vec<f64>]) -> Option<Components> {
        let rounds: Vec<&Vec<f64>> = rounds.iter().filter(|runs| !runs.is_empty()).collect();
        let count = |runs: &Vec<f64>| runs.len() as f64;
        let all: f64 = rounds.iter().map(|runs| count(runs)).sum();
        let (of_rounds, of_runs) = (rounds.len() as f64 - 1.0, all - rounds.len() as f64);
        if of_rounds < 1.0 || of_runs < 1.0 {
            return None;
        }
        let overall = rounds.iter().flat_map(|runs| runs.iter()).sum::<f64>() / all;
        let within = rounds.iter().map(|runs| squares(runs)).sum::<f64>() / of_runs;
        let from_overall = |runs: &&Vec<f64>| count(runs) * (mean(runs) - overall).powi(2);
        let of_means = rounds.iter().map(from_overall).sum::<f64>() / of_rounds;
        let runs_each = (all - rounds.iter().map(|runs| count(runs).powi(2)).sum::<f64>() / all) / of_rounds;
        Some(Components { within, between: (of_means - within) / runs_each })
    }

    /// Those of several comparisons together: of one alone few rounds tell too little, and the largest of many is chance.
    pub fn together(all: &[Components]) -> Components {
        let sum = |of: fn(&Components) -> f64| all.iter().map(of).sum::<f64>();
        Components { within: sum(|of| of.within), between: sum(|of| of.between).max(0.0) }
    }

    /// By which factor a round's difference strays more or less with so many runs a trial than with as many as were measured.
    fn change(&self, measured_runs: u32, runs: u32) -> f64 {
        let variance = |runs: u32| self.between + self.within / f64::from(runs);
        let change = (variance(runs) / variance(measured_runs)).sqrt();
        if change.is_finite() { change } else { 1.0 }
    }
}

/// Where the comparisons of a workload stray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Straying {
    /// The standard deviation over rounds of the comparison that strays most.
    pub widest: f64,
    /// Of all together: how that changes with the number of runs.
    pub components: Components,
}

/// What a round of all scenarios takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundCost {
    /// Beside its measured runs: provisioning, warm-up and what follows.
    pub setup_seconds: f64,
    /// One measured run of each scenario.
    pub run_seconds: f64,
}

impl RoundCost {
    /// What a round takes with so many runs a trial, seconds.
    pub fn of_round(&self, runs: u32) -> f64 {
        self.setup_seconds + f64::from(runs) * self.run_seconds
    }
}

/// What is to be reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// Half of an interval's width, a fraction.
    pub half_width: f64,
    /// Its confidence.
    pub confidence: f64,
    /// Fewer rounds claim nothing.
    pub rounds_min: u32,
    /// More are not allowed.
    pub rounds_max: u32,
}

/// How often a study measures.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Repetitions {
    /// Runs of a trial.
    pub runs: u32,
    /// Rounds.
    pub rounds: u32,
    /// What all of them take.
    pub seconds: f64,
}

/// What reaches what is wanted in each of these workloads in the least time, where trials of so many runs were measured.
/// None: there is none, or it takes more rounds than are allowed.
pub fn least_time(all: &[Straying], measured_runs: u32, cost: &RoundCost, wanted: &Wanted) -> Option<Repetitions> {
    let of_runs = |runs: u32| {
        let strays = |of: &Straying| of.widest * of.components.change(measured_runs, runs);
        let widest = all.iter().map(strays).reduce(f64::max)?;
        let needed = rounds_for_half_width(widest, wanted.half_width.ln_1p(), wanted.confidence);
        let rounds = u32::try_from(needed).ok()?.max(wanted.rounds_min);
        let seconds = f64::from(rounds) * cost.of_round(runs);
        (rounds <= wanted.rounds_max).then_some(Repetitions { runs, rounds, seconds })
    };
    let most = (f64::from(measured_runs) * LONGER_MAX) as u32;
    let found = steps(1, most).into_iter().filter_map(of_runs);
    found.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Yields of dyestuff from six batches, five samples each (Davies, "Statistical Methods in Research and Production", 1947; R's `lme4` has
    /// them as `Dyestuff`). Mean squares 11,271.5 and 2,451.25, so 42.00 and 49.51 as standard deviations (Bates, "lme4", 2010, section 1.3).
    const DYESTUFF: [[f64; 5]; 6] = [
        [1545.0, 1440.0, 1440.0, 1520.0, 1580.0],
        [1540.0, 1555.0, 1490.0, 1560.0, 1495.0],
        [1595.0, 1550.0, 1605.0, 1510.0, 1560.0],
        [1445.0, 1440.0, 1595.0, 1465.0, 1545.0],
        [1595.0, 1630.0, 1515.0, 1635.0, 1625.0],
        [1520.0, 1455.0, 1450.0, 1480.0, 1445.0],
    ];

    fn rounds<const RUNS: usize>(of: &[[f64; RUNS]]) -> Vec<Vec<f64>> {
        of.iter().map(|runs| runs.to_vec()).collect()
    }

    #[test]
    fn the_components_of_dyestuff_are_the_published_ones() {
        let found = Components::of(&rounds(&DYESTUFF)).expect("six batches");
        assert!((found.within - 2451.25).abs() < 1e-9 && (found.between - 1764.05).abs() < 1e-9, "{found:?}");
        assert!((found.within.sqrt() - 49.51).abs() < 0.005 && (found.between.sqrt() - 42.00).abs() < 0.005);
        // The mean of five samples strays by the root of 11,271.5 over 5.
        assert!((found.change(1, 5).powi(2) - 11_271.5 / 5.0 / (1764.05 + 2451.25)).abs() < 1e-9);
    }

    #[test]
    fn rounds_that_are_nearer_than_their_runs_tell_have_no_variance_of_their_own() {
        let found = Components::of(&[vec![1.0, 3.0], vec![3.0, 1.0], vec![2.0, 2.0]]).expect("three rounds");
        assert_eq!(found, Components { within: 4.0 / 3.0, between: -2.0 / 3.0 });
        // What is below 0 by chance in one comparison makes up for what is above in another.
        let other = Components { within: 1.0, between: 1.0 };
        let both = Components::together(&[found, other]);
        assert!((both.within - 7.0 / 3.0).abs() < 1e-12 && (both.between - 1.0 / 3.0).abs() < 1e-12, "{both:?}");
        assert_eq!(Components::together(&[found]).between.to_bits(), 0.0_f64.to_bits());
        assert_eq!(Components::of(&[vec![1.0, 2.0]]), None, "one round");
        assert_eq!(Components::of(&[vec![1.0], vec![2.0], Vec::new()]), None, "one run each");
    }

    /// Two runs in one round and one in the other: by hand, 0.5 within; between them (6 − 0.5) / (3 − 5 / 3).
    #[test]
    fn rounds_may_have_fewer_runs_than_others() {
        let found = Components::of(&[vec![1.0, 2.0], vec![4.5]]).expect("two rounds");
        assert!((found.within - 0.5).abs() < 1e-12 && (found.between - 5.5 / (4.0 / 3.0)).abs() < 1e-12, "{found:?}");
    }

    const COST: RoundCost = RoundCost { setup_seconds: 90.0, run_seconds: 10.0 };
    const WANTED: Wanted = Wanted { half_width: 0.01, confidence: 0.95, rounds_min: 4, rounds_max: 10_000 };

    /// That of one comparison with these components, of trials of so many runs.
    fn straying(within: f64, between: f64, runs: u32) -> Straying {
        Straying { widest: (between + within / f64::from(runs)).sqrt(), components: Components { within, between } }
    }

    /// Where rounds are many the best number of runs is the root of the costs' ratio by that of the variances (Kalibera and Jones, section 9;
    /// Cochran, "Sampling Techniques", 1977, section 10.6).
    #[test]
    fn the_best_number_of_runs_is_that_of_the_formula() {
        for (within, between) in [(0.01, 0.01), (0.04, 0.01), (0.09, 0.01)] {
            let formula = (COST.setup_seconds / COST.run_seconds * within / between).sqrt();
            let found = least_time(&[straying(within, between, 10)], 10, &COST, &WANTED).expect("a workload");
            assert!(found.rounds > 200, "{found:?}");
            assert!((f64::from(found.runs) / formula).ln().abs() < 0.25_f64.ln_1p(), "{found:?} for {formula}");
        }
    }

    #[test]
    fn what_strays_within_trials_alone_needs_the_fewest_rounds_that_runs_allow() {
        let found = |wanted| least_time(&[straying(0.0138, 0.0, 10)], 10, &COST, wanted);
        let coarse = found(&Wanted { half_width: 0.1, ..WANTED }).expect("a workload");
        assert_eq!(coarse.rounds, WANTED.rounds_min, "{coarse:?}");
        assert!(found(&WANTED).expect("a workload").runs > 30, "no more than four times as long");
        assert_eq!(least_time(&[], 2, &COST, &WANTED), None);
        assert_eq!(found(&Wanted { rounds_max: 5, ..WANTED }), None);
    }

    #[test]
    fn what_never_strays_is_measured_once_in_each_of_the_least_rounds() {
        let found = least_time(&[straying(0.0, 0.0, 3)], 3, &COST, &WANTED).expect("a workload");
        assert_eq!((found.runs, found.rounds), (1, WANTED.rounds_min));
    }

    proptest! {
        /// The workload that strays most decides, and nobody is left wider than wanted.
        #[test]
        fn each_comparison_is_as_narrow_as_wanted(
            all in prop::collection::vec((1e-6..0.1_f64, 0.0..0.01_f64), 1..6),
            runs in 1_u32..20,
            half_width in 0.02..0.3_f64,
        ) {
            let straying: Vec<Straying> =
                all.iter().map(|(within, between)| straying(*within, *between, runs)).collect();
            let wanted = Wanted { half_width, ..WANTED };
            let found = least_time(&straying, runs, &COST, &wanted).expect("workloads");
            prop_assert!(found.rounds >= wanted.rounds_min && found.runs <= 4 * runs);
            for (within, between) in &all {
                let t = crate::interval::t_quantile(0.975, found.rounds as usize - 1);
                let deviation = (between + within / f64::from(found.runs)).sqrt();
                let half = t * deviation / f64::from(found.rounds).sqrt();
                prop_assert!(half <= half_width.ln_1p() * (1.0 + 1e-9), "{half} of {half_width}");
            }
        }
    }
}
