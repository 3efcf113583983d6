//! What must hold for any figures.

use crate::vectors::HELD;
use proptest::prelude::*;
use stats::{Cell, Observations, Rules, Verdict, analyse, contrast, enough, verdict};
use std::collections::BTreeMap;

const RULES: Rules =
    Rules { confidence: 0.95, margin: 0.03, precision: 0.03, rounds_min: 3, rounds_max: 20, looks: 1, share: 1.0 };

/// So many levels of one factor, the first of which is the baseline.
pub fn cells(count: usize) -> Vec<Cell> {
    let cell = |index: usize| Cell {
        label: format!("c{index}"),
        levels: BTreeMap::from([("f".to_string(), format!("c{index}"))]),
        control: false,
        baseline: index == 0,
    };
    (0..count).map(cell).collect()
}

fn observations(rounds: Vec<Vec<Option<f64>>>) -> Observations {
    Observations { cells: cells(rounds[0].len()), rounds, more_is_better: true }
}

fn full() -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
    prop::collection::vec(prop::collection::vec((1.0..1e4_f64).prop_map(Some), 3), 3..8)
}

fn holed() -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
    prop::collection::vec(prop::collection::vec(prop::option::of(0.0..1e4_f64), 3), 1..8)
}

proptest! {
    // A whole analysis takes tens of milliseconds, most of them for bounds that hold together.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_constant_in_a_round_changes_no_contrast(rounds in full(), factor in 0.1..10.0_f64, which in 0_usize..3) {
        let mut shifted = rounds.clone();
        shifted[which].iter_mut().flatten().for_each(|value| *value *= factor);
        let (a, b) = (analyse(&observations(rounds), &RULES), analyse(&observations(shifted), &RULES));
        for (a, b) in a.claims.iter().zip(&b.claims) {
            prop_assert!((a.contrast.mean - b.contrast.mean).abs() < 1e-9);
            prop_assert!((a.contrast.low - b.contrast.low).abs() < 1e-9);
        }
    }

    #[test]
    fn scaling_changes_no_verdict(rounds in full(), factor in 0.001..1000.0_f64) {
        let scaled = rounds.iter().map(|row| row.iter().map(|v| v.map(|v| v * factor)).collect()).collect();
        let (a, b) = (analyse(&observations(rounds), &RULES), analyse(&observations(scaled), &RULES));
        for (a, b) in a.claims.iter().zip(&b.claims) {
            prop_assert_eq!(a.verdict, b.verdict);
        }
    }

    #[test]
    fn the_pick_is_in_the_best_set_and_bounds_hold_together(rounds in full()) {
        let best = analyse(&observations(rounds), &RULES).best.expect("three cells");
        prop_assert!(best.members.contains(&best.pick));
        for cell in 0..3 {
            prop_assert!(best.regret[cell] >= 0.0);
            // Who has no regret is the best of all, and alone so unless figures are equal.
            prop_assert!(best.regret[cell] > 0.0 || best.members.contains(&cell));
        }
    }
}

proptest! {
    #[test]
    fn swapping_inverts_the_ratio_and_the_verdict(differences in prop::collection::vec(-0.5..0.5_f64, 3..12)) {
        let swapped: Vec<f64> = differences.iter().map(|d| -d).collect();
        let (a, b) = (contrast(&differences, 0.95).expect("three"), contrast(&swapped, 0.95).expect("three"));
        prop_assert!((a.ratio() * b.ratio() - 1.0).abs() < 1e-12);
        prop_assert_eq!(a.flipped(), b);
        let opposite = match verdict(&a, a.p, &HELD) {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            same => same,
        };
        prop_assert_eq!(verdict(&b, b.p, &HELD), opposite);
        prop_assert_eq!(verdict(&a, a.p, &stats::Held { more_is_better: false, ..HELD }), opposite);
    }

    #[test]
    fn holes_and_zeros_never_break_it(rounds in holed()) {
        let observations = observations(rounds);
        let analysis = analyse(&observations, &RULES);
        prop_assert_eq!(analysis.cells.len(), 3);
        let _ = enough(&observations, &RULES);
        for claim in &analysis.claims {
            prop_assert!(claim.p_holm >= 0.0 && claim.p_holm <= 1.0);
        }
    }

    #[test]
    fn holm_is_never_below_p_nor_above_bonferroni(p in prop::collection::vec(0.0..1.0_f64, 1..10)) {
        for (p_holm, raw) in stats::holm(&p).into_iter().zip(&p) {
            prop_assert!(p_holm >= *raw && p_holm <= (raw * p.len() as f64).min(1.0) + 1e-12);
        }
    }
}

#[test]
fn one_lucky_round_is_no_pick() {
    let of = |values: &[f64]| -> Vec<Option<f64>> {
        (0..6).map(|round| values.get(round).map(|value| value.ln())).collect()
    };
    let values = [of(&[10.0, 10.2, 9.9, 10.1, 10.0, 9.8]), of(&[10.5, 10.7, 10.4, 10.6, 10.5, 10.3]), of(&[20.0])];
    let best = stats::best_set(&values, 0.05).expect("two cells share rounds");
    assert_eq!(best.pick, 1);
    assert!(
        best.members.contains(&2) && best.regret.iter().all(|regret| regret.is_infinite()),
        "nothing is known of it"
    );
}
