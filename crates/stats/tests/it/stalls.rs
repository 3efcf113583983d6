//! Zero is a value: what a load that stalled does to claims, to the pick and to the stop rule ("Zero" in docs/statistics.md).

use crate::noise::Noise;
use crate::properties::cells;
use stats::eliminate::{Looks, worse};
use stats::{NoShares, Observations, Rules, StopDecision, Verdict, analyse, enough, enough_to_pick};

const RULES: Rules =
    Rules { confidence: 0.95, margin: 0.03, precision: 0.03, rounds_min: 6, rounds_max: 6, looks: 1, share: 1.0 };

/// One factor, a level a column.
fn observations(rounds: Vec<Vec<f64>>, more_is_better: bool) -> Observations {
    Observations {
        cells: cells(rounds[0].len()),
        rounds: rounds.into_iter().map(|row| row.into_iter().map(Some).collect()).collect(),
        more_is_better,
    }
}

/// Six quiet rounds of these speeds, the last column's zeros set in these rounds.
fn rounds(speeds: &[f64], zeros: &[usize]) -> Vec<Vec<f64>> {
    let mut random = Noise(11);
    let of_round = |round: usize| {
        let mut row: Vec<f64> = speeds.iter().map(|speed| speed * (0.004 * random.normal()).exp()).collect();
        if zeros.contains(&round) {
            *row.last_mut().expect("a column") = 0.0;
        }
        row
    };
    (0..6).map(of_round).collect()
}

/// Of all ways in which zeros come: nothing is claimed of the one that stalled, it is no pick, and the rest is as it would be.
fn check(more_is_better: bool, zeros: &[usize]) {
    // The last one would be far the best by the other rounds.
    let speeds = if more_is_better { [1000.0, 1100.0, 3000.0] } else { [1.1, 1.0, 0.3] };
    let stalling = observations(rounds(&speeds, zeros), more_is_better);
    let found = analyse(&stalling, &RULES);
    let without = analyse(
        &observations(rounds(&speeds, zeros).iter().map(|row| row[..2].to_vec()).collect(), more_is_better),
        &RULES,
    );
    let best = found.best.as_ref().expect("two are left");
    assert_eq!((best.pick, &*best.members), (1, &[1][..]), "{zeros:?}");
    assert!(found.claims.iter().all(|claim| claim.a != "c2" && claim.b != "c2"), "{:?}", found.claims);
    assert_eq!((found.claims.len(), found.claims[0].verdict), (1, Verdict::Faster));
    assert_eq!(found.claims[0].contrast, without.claims[0].contrast, "no round is left out of the others");
    // Two of the family's three can't be decided, and count: three times the smallest p.
    assert!((found.claims[0].p_holm - 3.0 * without.claims[0].p_holm).abs() < 1e-12, "{:?}", found.claims[0]);
    let cell = &found.cells[2];
    assert!(cell.versus_baseline.is_none() && cell.regret.is_none() && !cell.in_best_set && cell.outliers.is_empty());
    assert!(found.drift.is_some_and(|drift| drift.change.is_finite()));
    let stalled = StopDecision::Stalled { of: "c2".into() };
    assert_eq!(
        (enough(&stalling, &RULES), enough_to_pick(&stalling, &[1, 2], &RULES)),
        (stalled.clone(), stalled.clone())
    );
    assert!(!stalled.is_enough() && enough_to_pick(&stalling, &[0, 1], &RULES).is_enough());
    let looks = Looks { alpha: 0.05, rounds_max: 6, candidates: 3 };
    let fell: Vec<usize> = worse(&stalling, &[0, 1, 2], &|_, _| true, &looks).iter().map(|worse| worse.cell).collect();
    assert_eq!(fell, [0], "who stalls is not dropped, and nobody is for its sake");
}

#[test]
fn who_stalls_is_not_picked_and_nothing_is_claimed_of_it() {
    for more_is_better in [true, false] {
        for zeros in [&[3][..], &[0, 5], &[0, 1, 2, 3, 4, 5]] {
            check(more_is_better, zeros);
        }
    }
}

#[test]
fn where_all_stall_nothing_is_said() {
    for zeros in 1..=6 {
        let rows = (0..6).map(|round| if round < zeros { vec![0.0, 0.0] } else { vec![5.0, 9.0] }).collect();
        let found = analyse(&observations(rows, true), &RULES);
        assert!(
            found.best.is_none() && found.claims.is_empty() && found.drift.is_none() && found.half_width_max.is_none()
        );
        assert!(found.swings.is_empty(), "{found:?}");
    }
    let mut both = observations(vec![vec![1.0, 2.0, 3.0, 0.0]; 6], true);
    for (cell, levels) in both.cells.iter_mut().zip([["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]]) {
        cell.levels = [("f", levels[0]), ("g", levels[1])].map(|(factor, level)| (factor.into(), level.into())).into();
    }
    let found = analyse(&both, &RULES);
    assert_eq!(found.importance, Err(NoShares::Stalled));
    assert!(
        found.claims.is_empty() && found.interactions.is_empty(),
        "each level is averaged over who stalled: {found:?}"
    );
}

/// Three equal scenarios, one of which stalls in a tenth of its trials: with zeros as holes it may be the best as often as its equals.
#[test]
fn a_stall_makes_nobody_faster() {
    const STUDIES: u64 = 1000;
    let (mut wrong, mut kept, mut kept_by_holes, mut stalled) = (0, 0, 0, 0);
    for seed in 0..STUDIES {
        let mut random = Noise(seed * 7919 + 5);
        let mut level = 0.0;
        let rows = (0..6).map(|_| {
            level += 0.01 * random.normal();
            let mut row: Vec<f64> = (0..3).map(|_| 1000.0 * (level + 0.03 * random.normal()).exp()).collect();
            row[2] *= if random.uniform() < 0.1 { 0.0 } else { 1.0 };
            row
        });
        let with_zeros = observations(rows.collect(), true);
        let mut with_holes = with_zeros.clone();
        with_holes.rounds.iter_mut().flatten().for_each(|value| *value = value.filter(|value| *value > 0.0));
        let may_be_best = |found: &stats::Analysis| found.best.as_ref().is_some_and(|best| best.members.contains(&2));
        let found = analyse(&with_zeros, &RULES);
        wrong += u32::from(found.claims.iter().any(|claim| claim.verdict.is_claim()));
        if with_zeros.has_stalled(2) {
            stalled += 1;
            kept += u32::from(may_be_best(&found));
            kept_by_holes += u32::from(may_be_best(&analyse(&with_holes, &RULES)));
        }
    }
    let share = f64::from(wrong) / STUDIES as f64;
    println!(
        "{stalled} of {STUDIES} studies saw a stall; it may be the best in {kept} of them, with holes in {kept_by_holes}"
    );
    println!("equals called different in {:.1} %", share * 100.0);
    assert!((420..520).contains(&stalled), "1 - 0.9^6 = 47 %");
    assert!(kept == 0 && kept_by_holes > stalled * 9 / 10, "{kept}, {kept_by_holes} of {stalled}");
    assert!(share <= 0.05 + 3.0 * (0.05_f64 * 0.95 / STUDIES as f64).sqrt(), "{share}");
}

/// Failed trials leave the last one a single round: of it nothing is known, whatever the others' widths.
#[test]
fn a_pair_with_one_round_is_not_known() {
    let all = [0, 1, 2];
    let holes = |is_there: &dyn Fn(usize) -> [bool; 3]| {
        let mut found = observations(rounds(&[1000.0, 1100.0, 3000.0], &[]), true);
        for (round, row) in found.rounds.iter_mut().enumerate() {
            row.iter_mut().zip(is_there(round)).for_each(|(value, is_there)| *value = value.filter(|_| is_there));
        }
        found
    };
    let is_enough =
        |found: &Observations| (enough(found, &RULES).is_enough(), enough_to_pick(found, &all, &RULES).is_enough());
    assert_eq!(is_enough(&holes(&|_| [true; 3])), (true, true));
    let met_once = holes(&|round| [true, true, round == 5]);
    assert_eq!(is_enough(&met_once), (false, false));
    assert_eq!(enough_to_pick(&met_once, &all, &RULES).to_string(), "c0 against c2 is not known within 100 % yet");
    let never_met = holes(&|round| [true, round % 2 == 0, round % 2 == 1]);
    assert!(!is_enough(&never_met).1, "each is known against the first, and not against the other");
    assert_eq!(
        is_enough(&holes(&|round| [true, true, round == 0])),
        (true, true),
        "what was given up is not waited for"
    );
    assert_eq!(is_enough(&holes(&|_| [true, true, false])), (true, true), "nor what never ran");
}

#[test]
fn one_scenario_with_one_round_is_not_known() {
    let one = |values: &[Option<f64>]| {
        let mut found = observations(vec![vec![100.0]; values.len()], true);
        found.rounds = values.iter().map(|value| vec![*value]).collect();
        enough(&found, &Rules { rounds_min: 2, ..RULES }).is_enough()
    };
    assert!(!one(&[Some(100.0), None]) && one(&[Some(100.0), Some(100.1), Some(99.9)]));
}

/// Filesystems and ways of reading, all combinations, in six rounds that stray by `noise`; `failing` never has a value.
fn factorial(noise: f64, failing: &[usize]) -> Observations {
    let mut random = Noise(5);
    let rows = (0..6).map(|_| (0..4).map(|_| 1000.0 * (noise * random.normal()).exp()).collect()).collect();
    let mut found = observations(rows, true);
    for (cell, levels) in found.cells.iter_mut().zip([
        ["ext4", "direct"],
        ["ext4", "buffered"],
        ["btrfs", "direct"],
        ["btrfs", "buffered"],
    ]) {
        cell.levels =
            [("fs", levels[0]), ("io", levels[1])].map(|(factor, level)| (factor.into(), level.into())).into();
    }
    found.rounds.iter_mut().for_each(|row| failing.iter().for_each(|cell| row[*cell] = None));
    found
}

/// Each average over levels has the failing combination in it; the others are no better known for that.
#[test]
fn one_that_fails_is_no_precision_of_the_others() {
    let noisy = enough(&factorial(0.1, &[2]), &RULES);
    assert!(matches!(noisy, StopDecision::Continue { half_width, .. } if half_width > 0.05), "{noisy}");
    let quiet = enough(&factorial(0.004, &[2]), &RULES);
    assert!(matches!(quiet, StopDecision::PrecisionReached { half_width } if half_width > 0.001), "{quiet}");
    // The baseline, which all pairs are against.
    let mut pairs = factorial(0.1, &[0]);
    pairs.cells.iter_mut().for_each(|cell| cell.levels.clear());
    assert!(!enough(&pairs, &RULES).is_enough());
    assert!(!enough_to_pick(&pairs, &[0, 1, 2], &RULES).is_enough());
}

/// A study of one round, as `--rounds 1` asks for it, was told to have two at least.
#[test]
fn of_one_round_no_width_is_known() {
    let after = |count: usize, rounds_min: u32| {
        let rounds = rounds(&[1000.0, 1100.0], &[]).split_off(6 - count);
        enough(&observations(rounds, true), &Rules { rounds_min, rounds_max: 6, ..RULES }).to_string()
    };
    assert_eq!(after(1, 1), "of one round no difference has a width");
    assert_eq!(after(1, 6), "1 of at least 6 rounds");
    assert_eq!(after(3, 4), "3 of at least 4 rounds");
}

#[test]
fn where_nothing_is_left_to_compare_no_precision_is_reached() {
    let alone = factorial(0.1, &[0, 1, 2]);
    assert_eq!(enough(&alone, &RULES), StopDecision::NothingLeft);
    let mut given_up = factorial(0.1, &[]);
    given_up.rounds[4..].iter_mut().for_each(|row| row[1..].fill(None));
    assert_eq!(enough(&given_up, &RULES), StopDecision::NothingLeft);
    assert_eq!(enough_to_pick(&given_up, &[0, 1], &RULES), StopDecision::NothingLeft, "nobody was shown to be worse");
    assert!(StopDecision::NothingLeft.is_enough());
}

/// The claims' sides, rounds and places, and the widest half-width, of a 2 x 2 in which these had values in the first two rounds only.
fn given_up(cells: &[usize]) -> (Vec<(String, usize, String)>, f64) {
    let mut study = factorial(0.004, &[]);
    study.rounds[2..].iter_mut().for_each(|row| cells.iter().for_each(|cell| row[*cell] = None));
    let found = analyse(&study, &RULES);
    let within =
        |claim: &stats::Claim| claim.within.iter().map(|(_, level)| level.clone()).collect::<Vec<_>>().join(" ");
    let said = |claim: &stats::Claim| (format!("{} {}", claim.a, claim.b), claim.contrast.rounds, within(claim));
    let widest = found.half_width_max.expect("claims");
    let decided = enough(&study, &RULES);
    assert!(
        matches!(decided, StopDecision::PrecisionReached { half_width } if (half_width - widest).abs() < 1e-12),
        "the report and the stop rule look at the same: {widest}, {decided:?}"
    );
    (found.claims.iter().map(said).collect(), widest)
}

/// One that was given up takes no rounds of the others with it.
#[test]
fn averages_are_without_who_was_given_up() {
    let claim = |sides: &str, rounds: usize, within: &str| (sides.to_string(), rounds, within.to_string());
    let (claims, whole) = given_up(&[]);
    assert_eq!(claims, [claim("btrfs ext4", 6, ""), claim("buffered direct", 6, "")]);
    let (claims, widest) = given_up(&[2]);
    assert_eq!(claims, [claim("btrfs ext4", 6, "buffered"), claim("buffered direct", 6, "ext4")]);
    assert!(widest < 10.0 * whole, "not that of two rounds: {widest}, {whole}");
    // A level of which nothing is left keeps the rounds that it had.
    assert_eq!(given_up(&[2, 3]).0, [claim("btrfs ext4", 2, ""), claim("buffered direct", 6, "ext4")]);
    // What is left has no level in common: it is held against the baseline.
    assert_eq!(given_up(&[1, 2]).0, [claim("c1 c0", 2, ""), claim("c2 c0", 2, ""), claim("c3 c0", 6, "")]);
}

/// A pair has no third scenario in it: who fell out has the claims of the rounds that it had.
#[test]
fn pairs_with_who_was_given_up_stay() {
    let mut study = observations(rounds(&[1000.0, 1100.0, 3000.0], &[]), true);
    study.rounds[4..].iter_mut().for_each(|row| row[2] = None);
    let found = analyse(&study, &RULES);
    let rounds: Vec<(&str, &str, usize)> =
        found.claims.iter().map(|claim| (&*claim.a, &*claim.b, claim.contrast.rounds)).collect();
    assert_eq!(rounds, [("c1", "c0", 6), ("c2", "c0", 4), ("c2", "c1", 4)]);
}

/// Half of what the one strayed by lay in the middle of two others: all three were named, and a fast one made two disturbed.
#[test]
fn one_that_strays_makes_no_outlier_of_two_others() {
    let columns = [
        [1000.0, 1006.0, 997.0, 1003.0, 995.0, 1001.0],
        [998.0, 1001.0, 500.0, 1004.0, 1000.0, 997.0],
        [1003.0, 999.0, 1001.0, 996.0, 1002.0, 1000.0],
    ];
    let rounds = (0..6).map(|round| columns.iter().map(|column| column[round]).collect()).collect();
    let found = analyse(&observations(rounds, true), &RULES);
    let named = found.cells.iter().map(|cell| cell.outliers.iter().map(|outlier| outlier.round).collect::<Vec<_>>());
    let wanted: [Vec<usize>; 3] = [Vec::new(), vec![2], Vec::new()];
    assert_eq!(named.collect::<Vec<_>>(), wanted);
}
