//! Shares where trials or combinations are missing, held against an independent least-squares fit of each pair of models.

use proptest::prelude::*;
use stats::type_two::Table;
use stats::{Cell, NoShares, Observations, Rules, analyse};
use std::collections::BTreeMap;

const RULES: Rules =
    Rules { confidence: 0.95, margin: 0.03, precision: 0.03, rounds_min: 3, rounds_max: 20, looks: 1, share: 1.0 };

/// Cells by the levels of factors `a`, `b`, …; `rounds[round][cell]`.
fn observations(levels: &[&[usize]], rounds: Vec<Vec<Option<f64>>>) -> Observations {
    let cell = |levels: &&[usize]| Cell {
        label: format!("{levels:?}"),
        levels: levels.iter().zip('a'..).map(|(level, name)| (name.to_string(), format!("{name}{level}"))).collect(),
        control: false,
        baseline: false,
    };
    Observations { cells: levels.iter().map(cell).collect(), rounds, more_is_better: true }
}

const THREE_BY_TWO: [&[usize]; 6] = [&[0, 0], &[0, 1], &[1, 0], &[1, 1], &[2, 0], &[2, 1]];

/// Residual sum of squares and rank of a fit of rounds and of these terms, each by one column a level: Gauss with full pivots.
fn fit(observations: &Observations, terms: &[usize]) -> (f64, usize) {
    let mut columns: BTreeMap<(usize, Vec<String>), Vec<f64>> = BTreeMap::new();
    let values: Vec<(usize, usize, f64)> = (0..observations.rounds.len())
        .flat_map(|round| (0..observations.cells.len()).map(move |cell| (round, cell)))
        .filter_map(|(round, cell)| Some((round, cell, observations.rounds[round][cell]?.ln())))
        .collect();
    for (row, (round, cell, _)) in values.iter().enumerate() {
        let levels: Vec<&String> = observations.cells[*cell].levels.values().collect();
        let mut mark = |key: (usize, Vec<String>)| columns.entry(key).or_insert(vec![0.0; values.len()])[row] = 1.0;
        mark((0, vec![round.to_string()]));
        for term in terms {
            let of_term = levels.iter().enumerate().filter(|(factor, _)| term >> factor & 1 == 1);
            mark((*term, of_term.map(|(_, level)| (*level).clone()).collect()));
        }
    }
    let columns: Vec<Vec<f64>> = columns.into_values().collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let y: Vec<f64> = values.iter().map(|value| value.2).collect();
    let mut matrix: Vec<Vec<f64>> =
        columns.iter().map(|a| columns.iter().map(|b| product(a, b)).chain([product(a, &y)]).collect()).collect();
    let (mut rank, mut explained) = (0, 0.0);
    let mut left: Vec<usize> = (0..columns.len()).collect();
    while let Some(pivot) = left.iter().copied().max_by(|a, b| matrix[*a][*a].total_cmp(&matrix[*b][*b])) {
        if matrix[pivot][pivot] < 1e-8 {
            break;
        }
        left.retain(|row| *row != pivot);
        let of_pivot = matrix[pivot].clone();
        explained += of_pivot[columns.len()].powi(2) / of_pivot[pivot];
        rank += 1;
        for row in &left {
            let factor = matrix[*row][pivot] / of_pivot[pivot];
            matrix[*row].iter_mut().zip(&of_pivot).for_each(|(value, other)| *value -= factor * other);
        }
    }
    (product(&y, &y) - explained, rank)
}

/// Every sum of squares is the difference of two fits.
#[track_caller]
fn check_by_models(observations: &Observations) {
    let table = Table::of(observations).expect("every cell has its levels");
    let sums = table.sums();
    let all: Vec<usize> = (1..1 << table.counts.len()).collect();
    for term in &sums.terms {
        let mut model: Vec<usize> = all.iter().copied().filter(|other| other & term.mask != term.mask).collect();
        let reduced = fit(observations, &model);
        model.push(term.mask);
        let full = fit(observations, &model);
        assert!((term.sum - (reduced.0 - full.0)).abs() < 1e-7, "{term:?}: {reduced:?} {full:?}");
        assert_eq!(term.freedom, full.1 - reduced.1, "{term:?}");
    }
    let (residual, rank) = fit(observations, &all);
    assert!((sums.residual - residual).abs() < 1e-7, "{} is not {residual}", sums.residual);
    assert_eq!(sums.residual_freedom, sums.values - rank);
}

fn holed(cells: usize) -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
    let value = prop_oneof![4 => (500.0..2000.0_f64).prop_map(Some), 1 => Just(None)];
    prop::collection::vec(prop::collection::vec(value, cells), 2..6)
}

/// Of factor `a` one level is left: once rounds are out there is nothing of it but rounding errors.
#[test]
fn a_factor_of_which_one_level_is_left_has_no_freedom() {
    let levels: [&[usize]; 6] = [&[0, 0, 0], &[0, 1, 0], &[1, 0, 0], &[1, 1, 0], &[1, 0, 1], &[1, 1, 1]];
    let value = Some(500.0);
    check_by_models(&observations(
        &levels,
        vec![vec![None, None, value, value, value, None], vec![None, None, value, value, value, value]],
    ));
}

proptest! {
    #[test]
    fn sums_with_holes_are_those_of_the_models(rounds in holed(6)) {
        check_by_models(&observations(&THREE_BY_TWO, rounds));
    }

    /// Three factors, and the last of them on one level of the first only.
    #[test]
    fn sums_with_combinations_left_out_are_those_of_the_models(rounds in holed(6)) {
        let levels: [&[usize]; 6] = [&[0, 0, 0], &[0, 1, 0], &[1, 0, 0], &[1, 1, 0], &[1, 0, 1], &[1, 1, 1]];
        check_by_models(&observations(&levels, rounds));
    }

    #[test]
    fn without_holes_it_is_the_balanced_result(
        rounds in prop::collection::vec(prop::collection::vec((500.0..2000.0_f64).prop_map(Some), 6), 3..8),
    ) {
        let full = observations(&THREE_BY_TWO, rounds);
        let exact = analyse(&full, &RULES).importance.expect("balanced");
        let sums = Table::of(&full).expect("levels").sums();
        let mean_square = sums.residual / sums.residual_freedom as f64;
        prop_assert!((mean_square.sqrt() - exact.trial_deviation).abs() < 1e-9);
        prop_assert!((sums.round_variance.max(0.0).sqrt() - exact.round_deviation).abs() < 1e-7);
        let theta = |term: &stats::type_two::TermSum| {
            ((term.sum - term.freedom as f64 * mean_square) / sums.values as f64).max(0.0)
        };
        let everything = sums.terms.iter().map(theta).sum::<f64>() + mean_square;
        for (term, known) in sums.terms.iter().zip(&exact.terms) {
            prop_assert!((theta(term) / everything - known.share).abs() < 1e-9);
        }
    }
}

/// Rounds of a speed by levels, with a little noise that differs from trial to trial.
fn rounds(levels: &[&[usize]], count: usize, speed: impl Fn(&[usize]) -> f64) -> Vec<Vec<Option<f64>>> {
    let noise = |round: usize, cell: usize| 1.0 + 0.01 * ((round * 7 + cell * 3 + round * cell) % 11) as f64 / 10.0;
    let row = |round| levels.iter().enumerate().map(|(cell, of)| Some(speed(of) * noise(round, cell))).collect();
    (0..count).map(row).collect()
}

#[test]
fn a_failed_trial_leaves_its_round_to_the_others() {
    let mut holed = rounds(&THREE_BY_TWO, 6, |of| 1000.0 * 1.2_f64.powi(of[0] as i32) * 1.1_f64.powi(of[1] as i32));
    let exact = analyse(&observations(&THREE_BY_TWO, holed.clone()), &RULES).importance.expect("balanced");
    holed.iter_mut().enumerate().for_each(|(round, row)| row[round % 6] = None);
    let found = analyse(&observations(&THREE_BY_TWO, holed), &RULES).importance.expect("no round is complete");
    assert!(found.approximate && !exact.approximate);
    for (found, exact) in found.terms.iter().zip(&exact.terms) {
        assert!((found.share - exact.share).abs() < 0.02, "{found:?} {exact:?}");
        let (low, high) = found.share_range.expect("rounds are left");
        assert!(low <= found.share && found.share <= high);
    }
    let all: f64 = found.terms.iter().map(|term| term.share).sum::<f64>() + found.noise_share;
    assert!((all - 1.0).abs() < 1e-12, "{all}");
}

/// "84 % – 84 %" was said of two rounds, as if neither mattered.
#[test]
fn a_share_of_two_rounds_has_no_range() {
    let ranges = |count: usize| -> Vec<bool> {
        let rounds = rounds(&THREE_BY_TWO, count, |of| 1000.0 * 1.2_f64.powi(of[0] as i32));
        let found = analyse(&observations(&THREE_BY_TWO, rounds), &RULES).importance.expect("balanced");
        found.terms.iter().map(|term| term.share_range.is_some()).collect()
    };
    assert_eq!([2, 3].map(ranges), [vec![false; 3], vec![true; 3]]);
}

/// All reach a given rate, but for a fifty-thousandth: "explains 100 % of the differences" was said of that.
#[test]
fn differences_below_the_resolution_are_noise() {
    let value = |round: usize, cell: usize| {
        (1000.0 + 0.02 * (cell / 2) as f64) * (1.0 + 1e-7 * ((round * 7 + cell * 3) % 5) as f64)
    };
    let rounds = (0..6).map(|round| (0..6).map(|cell| Some(value(round, cell))).collect()).collect();
    let found = analyse(&observations(&THREE_BY_TWO, rounds), &RULES).importance.expect("balanced");
    assert_eq!(found.noise_share, 1.0, "{found:?}");
    let equal = analyse(&observations(&THREE_BY_TWO, vec![vec![Some(1000.0); 6]; 6]), &RULES).importance;
    assert_eq!(equal.expect("there are trials enough").noise_share, 1.0);
}

#[test]
fn factors_that_only_change_together_are_refused_by_name() {
    let levels: [&[usize]; 3] = [&[0, 0], &[1, 1], &[2, 2]];
    let analysis = analyse(&observations(&levels, rounds(&levels, 5, |of| 1000.0 + of[0] as f64)), &RULES);
    assert_eq!(analysis.importance, Err(NoShares::Aliased("a".into())));
    assert!(analysis.swings.is_empty() && analysis.interactions.is_empty(), "no level was met with all else equal");
}

#[test]
fn one_round_tells_no_noise_and_no_swing() {
    let analysis = analyse(&observations(&THREE_BY_TWO, rounds(&THREE_BY_TWO, 1, |_| 1000.0)), &RULES);
    assert_eq!(analysis.importance, Err(NoShares::TooFewTrials));
    assert!(analysis.swings.is_empty());
}

#[test]
fn levels_that_cross_are_told_from_those_that_only_differ_in_degree() {
    let levels: [&[usize]; 4] = [&[0, 0], &[0, 1], &[1, 0], &[1, 1]];
    let of = |corner: f64| {
        let speed = move |of: &[usize]| [[1000.0, 1000.0], [1200.0, corner]][of[0]][of[1]];
        let analysis = analyse(&observations(&levels, rounds(&levels, 6, speed)), &RULES);
        analysis.interactions[0].clone()
    };
    let [crossing, differing] = [of(850.0), of(1400.0)];
    assert_eq!(crossing.levels, [["a1", "a0"], ["b1", "b0"]]);
    // `a1` gains a fifth at b0 and loses at b1; at no level of `a` does `b` change its sign: at `a0` it does nothing.
    assert_eq!(crossing.crossing, [true, false]);
    assert!(crossing.simple[0][0].high < 0.0 && crossing.simple[0][1].low > 0.0);
    assert!((crossing.contrast.ratio() - 850.0 / 1200.0).abs() < 0.01);
    assert_eq!(differing.crossing, [false, false]);
    assert!(differing.contrast.low > 0.0, "it differs in degree: {differing:?}");
}

/// `a2` runs out of memory after two rounds: slowest of all, it was the swing, which two rounds do not show, and hid what eight do.
#[test]
fn a_level_that_was_given_up_hides_no_other() {
    let speed = |of: &[usize]| [[1000.0, 1000.0], [1300.0, 1600.0], [100.0, 400.0]][of[0]][of[1]];
    let mut rounds = rounds(&THREE_BY_TWO, 8, speed);
    rounds[2..].iter_mut().for_each(|row| (row[4], row[5]) = (None, None));
    let found = analyse(&observations(&THREE_BY_TWO, rounds), &RULES);
    let swing = found.swings.iter().find(|swing| swing.factor == "a").expect("a swing");
    assert_eq!((&*swing.high, &*swing.low, swing.contrast.rounds, swing.bound), ("a1", "a0", 8, None), "{swing:?}");
    assert!(swing.contrast.low > 0.2, "{swing:?}");
    let together = &found.interactions[0];
    assert_eq!((&together.levels[0], together.contrast.rounds), (&["a1".to_string(), "a0".to_string()], 8));
}

/// The swing's interval holds although the pair was picked: of four equal levels the largest difference seldom excludes none.
#[test]
fn a_swing_of_equals_excludes_none_in_at_most_five_percent() {
    let levels: [&[usize]; 4] = [&[0], &[1], &[2], &[3]];
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let excluding = (0..1000).filter(|_| {
        let mut value = || Some((0.02 * (0..12).map(|_| uniform()).sum::<f64>()).exp());
        let rounds = (0..6).map(|_| (0..4).map(|_| value()).collect()).collect();
        analyse(&observations(&levels, rounds), &RULES).swings[0].contrast.low > 0.0
    });
    let share = excluding.count() as f64 / 1000.0;
    assert!(share <= 0.05, "{share}");
}

/// Ten settings that are on or off, in every combination: each term went through all pairs of scenarios, for minutes.
#[test]
fn a_large_full_factorial_is_shared_out() {
    let levels: Vec<Vec<usize>> = (0..1024_usize).map(|cell| (0..10).map(|bit| cell >> bit & 1).collect()).collect();
    let levels: Vec<&[usize]> = levels.iter().map(Vec::as_slice).collect();
    let all = observations(&levels, rounds(&levels, 2, |of| if of[3] == 1 { 1500.0 } else { 1000.0 }));
    let found = stats::importance::importance(&all).expect("balanced");
    let of_fourth = found.terms.iter().find(|term| term.factors == ["d"]).expect("a term");
    assert!(of_fourth.share > 0.95 && found.terms.len() == 1023, "{of_fourth:?}");
}

#[test]
fn more_holed_scenarios_than_least_squares_can_take_are_refused() {
    let levels: Vec<Vec<usize>> = (0..1200).map(|cell| vec![cell % 30, cell / 30]).skip(1).collect();
    let levels: Vec<&[usize]> = levels.iter().map(Vec::as_slice).collect();
    let found = stats::importance::importance(&observations(&levels, rounds(&levels, 4, |_| 1000.0)));
    assert_eq!(found, Err(NoShares::TooManyScenarios));
}
