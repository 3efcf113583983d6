//! Screens: the published example's effects, what is kept, and that neither drift nor names change it.

use crate::noise::Noise;
use crate::vectors::{near, number, numbers, vector};
use proptest::prelude::*;
use serde_json::Value;
use stats::screening::{Keep, Screened, Screening, lenth, screening};

const KEEP: Keep = Keep { confidence: 0.95, margin: 0.03, explained: 0.95, factors_max: 4 };

/// A vector's signs as levels, + for the second one, and its figures as one round.
fn published(vector: &Value) -> (Vec<Vec<usize>>, Vec<f64>) {
    let rows = vector["out"]["design"].as_array().expect("rows");
    let levels = rows.iter().map(|row| numbers(row).iter().map(|sign| usize::from(*sign > 0.0)).collect()).collect();
    (levels, numbers(&vector["in"]["y_log"]))
}

fn of(levels: &[Vec<usize>], rounds: &[Vec<f64>]) -> Screening {
    let rounds: Vec<Vec<Option<f64>>> =
        rounds.iter().map(|row| row.iter().map(|logarithm| Some(logarithm.exp())).collect()).collect();
    screening(&Screened { levels, rounds: &rounds }, &KEEP).expect("every scenario has a value")
}

/// S1: of eleven factors in twelve runs once, the two planted ones.
#[test]
fn lenth_finds_exactly_what_was_planted() {
    let vector = vector("S1.");
    let (levels, logarithms) = published(&vector);
    let found = of(&levels, &[logarithms]);
    let effects: Vec<f64> = found.effects.iter().map(|effect| effect.size).collect();
    let expected = numbers(&vector["out"]["effects"]);
    assert!(effects.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{effects:?}");
    let lenth = lenth(&expected, 0.95);
    near(lenth.error, &vector["out"]["PSE"]);
    assert!((lenth.margin / number(&vector["out"]["ME"]) - 1.0).abs() < 1e-8, "{lenth:?}");
    assert!((lenth.margin_simultaneous / number(&vector["out"]["SME"]) - 1.0).abs() < 1e-8, "{lenth:?}");
    assert!((found.effects[0].half_width / lenth.margin - 1.0).abs() < 1e-6, "{found:?}");
    let above: Vec<usize> = (0..11).filter(|factor| effects[*factor].abs() > lenth.margin).collect();
    assert_eq!((above, found.kept), (vec![0, 4], vec![0, 4]));
}

/// S2: D = ABC, so that what A and B do together is seen as a sum with C and D.
#[test]
fn a_half_fraction_by_hand() {
    let vector = vector("S2.");
    let (levels, logarithms) = published(&vector);
    let found = of(&levels, &[logarithms.clone(), logarithms]);
    for (effect, expected) in found.effects.iter().zip(numbers(&vector["out"]["effects_ABCD"])) {
        assert!((effect.size - expected).abs() < 1e-9, "{found:?}");
    }
    let first = found.interactions.first().expect("without noise everything stands out");
    assert_eq!((first.pair, first.alike.clone()), ([0, 1], vec![[2, 3]]), "A and B matter most themselves");
}

/// Four two-level factors as D = ABC, crossed with one of three levels; the last is worth 20 %, A 10 %, both together 8 % more.
fn crossed(seed: u64, noise: f64, rounds: usize) -> (Vec<Vec<usize>>, Vec<Vec<f64>>) {
    let mut random = Noise(seed);
    let mut levels = Vec::new();
    for run in 0..8_usize {
        let [a, b, c] = [run & 1, run >> 1 & 1, run >> 2];
        levels.extend((0..3).map(|third| vec![a, b, c, (a + b + c) % 2, third]));
    }
    let truth = |cell: &Vec<usize>| {
        let last = [0.0, 0.2, 0.05][cell[4]];
        7.0 + 0.1 * cell[0] as f64 + last + if cell[0] == 1 && cell[4] == 1 { 0.08 } else { 0.0 }
    };
    let of_round = |round: usize| {
        let drift = -0.05 * round as f64;
        levels.iter().map(|cell| truth(cell) + drift + noise * random.normal()).collect::<Vec<f64>>()
    };
    let rounds = (0..rounds).map(of_round).collect();
    (levels, rounds)
}

#[test]
fn what_matters_is_kept_and_the_rest_bounded() {
    let (levels, rounds) = crossed(5, 0.01, 3);
    let found = of(&levels, &rounds);
    assert_eq!(found.kept, [4, 0], "{found:?}");
    assert_eq!((found.interactions.len(), found.interactions[0].pair), (1, [0, 4]), "{found:?}");
    assert!(found.interactions[0].alike.is_empty(), "crossed factors are told apart");
    assert!(found.explained > 0.99 && (found.deviation - 0.01).abs() < 0.003, "{found:?}");
    let last = found.effects[4];
    assert!(last.level == 1 && (last.size - 0.24).abs() < 0.02, "{last:?}");
    for factor in [1, 2, 3] {
        assert!(found.effects[factor].bound < 0.02 && found.effects[factor].bound > found.effects[factor].half_width);
    }
    let shares: f64 = found.effects.iter().map(|effect| effect.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "pairs are divided among their factors: {shares}");
}

/// 24 scenarios in three rounds leave 46 degrees of freedom: t is 2.0129 at 0.975, and 0.8497 at 0.8.
#[test]
fn what_could_have_been_seen() {
    let (levels, rounds) = crossed(5, 0.01, 3);
    let found = of(&levels, &rounds);
    let expected = (2.012_896 + 0.849_687) * found.deviation * 2.0 / 72.0_f64.sqrt();
    assert!((found.visible / expected - 1.0).abs() < 1e-4, "{} {expected}", found.visible);
}

#[test]
fn holes_are_left_out_and_a_scenario_without_any_value_is_no_screen() {
    let (levels, logarithms) = crossed(5, 0.01, 3);
    let mut rounds: Vec<Vec<Option<f64>>> =
        logarithms.iter().map(|row| row.iter().map(|logarithm| Some(logarithm.exp())).collect()).collect();
    let whole = screening(&Screened { levels: &levels, rounds: &rounds }, &KEEP).expect("whole");
    (rounds[0][3], rounds[1][7]) = (None, None);
    let holed = screening(&Screened { levels: &levels, rounds: &rounds }, &KEEP).expect("two of three are enough");
    assert_eq!(holed.kept, whole.kept);
    assert!((holed.effects[4].size - whole.effects[4].size).abs() < 0.01);
    rounds.iter_mut().for_each(|row| row[3] = None);
    assert!(screening(&Screened { levels: &levels, rounds: &rounds }, &KEEP).is_none());
}

#[test]
fn of_nothing_one_is_kept_all_the_same() {
    let levels = crossed(1, 0.0, 1).0;
    let found = of(&levels, &vec![vec![7.0; 24]; 3]);
    assert_eq!((found.kept.len(), found.interactions.len(), found.explained), (1, 0, 0.0), "{found:?}");
}

/// The same effects, ten thousand times as small: no figure is known so well.
#[test]
fn what_is_below_the_resolution_does_not_stand_out() {
    let (levels, rounds) = crossed(5, 0.01, 3);
    let small = |row: &Vec<f64>| row.iter().map(|value| 7.0 + (value - 7.0) * 1e-4).collect();
    let found = of(&levels, &rounds.iter().map(small).collect::<Vec<Vec<f64>>>());
    assert_eq!((found.kept.len(), found.interactions.len(), found.explained), (1, 0, 0.0), "{found:?}");
}

proptest! {
    /// A machine that gets slower from round to round changes nothing, nor does a metric in another unit.
    #[test]
    fn drift_and_scale_take_no_part(seed in 0_u64..1000, drift in -1.0..1.0_f64, scale in -3.0..3.0_f64) {
        let (levels, rounds) = crossed(seed, 0.03, 3);
        let moved: Vec<Vec<f64>> = rounds.iter().enumerate()
            .map(|(round, row)| row.iter().map(|value| value + scale + drift * round as f64).collect())
            .collect();
        let (first, second) = (of(&levels, &rounds), of(&levels, &moved));
        prop_assert_eq!(&first.kept, &second.kept);
        for (a, b) in first.effects.iter().zip(&second.effects) {
            prop_assert!((a.size - b.size).abs() < 1e-9 && (a.half_width - b.half_width).abs() < 1e-9);
        }
    }

    /// Whatever is kept: at most four, at least one, each once; and what is left is no larger than what the screen says.
    #[test]
    fn what_is_kept_is_a_choice(seed in 0_u64..1000, noise in 0.001..0.3_f64) {
        let (levels, rounds) = crossed(seed, noise, 3);
        let found = of(&levels, &rounds);
        prop_assert!((1..=4).contains(&found.kept.len()));
        let mut once = found.kept.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), found.kept.len());
        prop_assert!(found.explained >= 0.95 || found.kept.len() == 4 || found.effects.iter().all(|e| e.share == 0.0));
    }
}
