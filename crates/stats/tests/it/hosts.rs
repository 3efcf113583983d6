//! A contrast over hosts: statsmodels' and metafor's values, what must hold, and simulated fleets.

use crate::fleets::{Kind, shares};
use crate::vectors::{near, numbers, vector};
use proptest::prelude::*;
use stats::contrast;
use stats::hosts::{HOSTS_MIN, OverHosts, RandomEffects, further_rounds, half_width, over_hosts, these_hosts};

fn rounds(id: &str) -> Vec<Vec<f64>> {
    vector(id)["in"]["rounds"].as_array().expect("hosts").iter().map(numbers).collect()
}

#[test]
fn random_effects_are_those_of_statsmodels() {
    for id in ["H1.", "H2.", "H3.", "H4."] {
        let (rounds, out) = (rounds(id), vector(id)["out"].clone());
        let found = over_hosts(&rounds, 0.95).expect("four hosts at least");
        near(found.contrast.mean, &out["mean"]);
        near(found.contrast.standard_error, &out["se"]);
        near(found.contrast.low, &out["lo"]);
        near(found.contrast.high, &out["hi"]);
        near(found.contrast.p, &out["p"]);
        near(found.prediction.0, &out["predict_lo"]);
        near(found.prediction.1, &out["predict_hi"]);
        near(found.tau.expect("several rounds"), &out["tau"]);
        near(found.i_squared.expect("several rounds"), &out["i2"]);
        let fixed = these_hosts(&rounds, 0.95).expect("several rounds");
        near(fixed.mean, &out["unweighted_mean"]);
        // In H2 a host has a single round, of whose spread the reference knows nothing.
        assert_eq!(out["these_hosts_half_width"].is_null(), id == "H2.");
        if id != "H2." {
            near(fixed.half_width(), &out["these_hosts_half_width"]);
        }
        // Equal rounds: the plain t over hosts.
        assert_eq!(found.is_equal, id == "H1.");
        if found.is_equal {
            near(found.contrast.mean, &out["unweighted_mean"]);
            near(found.contrast.half_width(), &out["unweighted_half_width"]);
        }
    }
}

fn means(rounds: &[Vec<f64>]) -> Vec<f64> {
    rounds.iter().map(|rounds| rounds.iter().sum::<f64>() / rounds.len() as f64).collect()
}

proptest! {
    /// With equal rounds it is the t interval over hosts, and a further host within t·s·√(1 + 1/H).
    #[test]
    fn equal_rounds_are_a_plain_t(
        hosts in prop::collection::vec(prop::collection::vec(-0.5_f64..0.5, 3), HOSTS_MIN..40),
    ) {
        let found = over_hosts(&hosts, 0.95).expect("enough");
        let plain = contrast(&means(&hosts), 0.95).expect("enough");
        prop_assert!((found.contrast.mean - plain.mean).abs() < 1e-12);
        prop_assert!((found.contrast.low - plain.low).abs() < 1e-9 && (found.contrast.high - plain.high).abs() < 1e-9);
        let wide = plain.half_width() * (hosts.len() as f64 + 1.0).sqrt();
        prop_assert!((found.prediction.1 - found.contrast.mean - wide).abs() < 1e-9);
    }

    /// Which host is named first and which scenario is the baseline change nothing.
    #[test]
    fn neither_order_nor_sign_matters(
        hosts in prop::collection::vec(prop::collection::vec(-0.5_f64..0.5, 1..6), HOSTS_MIN..20),
    ) {
        let found = over_hosts(&hosts, 0.95).expect("enough");
        let mirrored: Vec<Vec<f64>> = hosts.iter().rev().map(|rounds| rounds.iter().map(|ratio| -ratio).collect()).collect();
        let OverHosts { contrast, prediction, apart, .. } = over_hosts(&mirrored, 0.95).expect("enough");
        prop_assert!((contrast.mean + found.contrast.mean).abs() < 1e-9);
        prop_assert!((contrast.low + found.contrast.high).abs() < 1e-9);
        prop_assert!((prediction.0 + found.prediction.1).abs() < 1e-9);
        let apart: Vec<usize> = apart.iter().rev().map(|host| hosts.len() - 1 - host).collect();
        prop_assert_eq!(apart, found.apart);
        prop_assert!(found.contrast.low <= found.contrast.mean && found.prediction.0 <= found.contrast.low + 1e-12);
    }
}

#[test]
fn hosts_that_all_say_the_same_leave_an_interval() {
    let found = over_hosts(&[vec![0.05; 3], vec![0.05; 3], vec![0.05; 3], vec![0.05; 3]], 0.95).expect("four");
    assert!(found.contrast.low < 0.05 && found.contrast.high > 0.05, "{found:?}");
    assert!((found.tau, found.i_squared) == (Some(0.0), Some(0.0)), "{found:?}");
}

#[test]
fn one_round_each_can_not_tell_hosts_from_rounds() {
    let found = over_hosts(&[vec![0.02], vec![0.05], vec![0.03], vec![0.06]], 0.95).expect("four");
    assert_eq!((found.tau, found.is_equal), (None, true));
    assert!((found.contrast.mean - 0.04).abs() < 1e-12);
    assert!(these_hosts(&[vec![0.02], vec![0.05]], 0.95).is_none());
    assert!(over_hosts(&[vec![0.02; 4], vec![0.05; 4], vec![0.03; 4], Vec::new()], 0.95).is_none(), "three hosts");
}

#[test]
fn a_host_that_stands_apart_is_named() {
    let mut rounds: Vec<Vec<f64>> = (0..10)
        .map(|host| [-0.01, 0.0, 0.01].map(|round| 0.05 + 0.004 * f64::from(host % 3) + round).to_vec())
        .collect();
    assert_eq!(over_hosts(&rounds, 0.95).expect("ten").apart, Vec::<usize>::new());
    rounds[4] = vec![-0.31, -0.30, -0.29];
    assert_eq!(over_hosts(&rounds, 0.95).expect("ten").apart, [4]);
}

#[test]
fn a_plan_s_width_is_what_fleets_have() {
    // Equal rounds whose spread is what was planned with.
    let planned = half_width(20, 3, 0.04, 0.02, 0.95);
    let widths: Vec<f64> = (0..200)
        .map(|seed| {
            let mut random = crate::noise::Noise(seed);
            let hosts: Vec<Vec<f64>> = (0..20)
                .map(|_| {
                    let truth = 0.04 * random.normal();
                    (0..3).map(|_| truth + 0.02 * random.normal()).collect()
                })
                .collect();
            over_hosts(&hosts, 0.95).expect("twenty").contrast.half_width()
        })
        .collect();
    let mean = widths.iter().sum::<f64>() / widths.len() as f64;
    assert!((mean / planned - 1.0).abs() < 0.05, "{mean} is not {planned}");
}

/// In small; `make simulations` has 20,000 fleets a line.
#[test]
fn intervals_over_hosts_hold_what_is_true() {
    const FLEETS: u64 = 2000;
    // Three standard errors of 2,000 fleets.
    const ERROR: f64 = 0.0147;
    for hosts in [4, 8, 20, 64] {
        for (interaction, missing) in [(0.0, 0.0), (0.05, 0.0), (0.1, 0.0), (0.05, 0.3)] {
            let kind = Kind { hosts, rounds: 3, missing, interaction, noise: 0.03 };
            let fleets = if hosts == 64 { FLEETS / 4 } else { FLEETS };
            let error = if hosts == 64 { 2.0 * ERROR } else { ERROR };
            let [covers, _, predicts, blames] = shares(fleets, &kind);
            assert!((0.94 - error..=0.96 + error).contains(&covers), "{kind:?}: {covers}");
            assert!((0.93 - error..=0.97 + error).contains(&predicts), "{kind:?}: {predicts}");
            assert!(blames <= 0.05 + error, "{kind:?}: {blames}");
        }
    }
    let kind = Kind { hosts: 8, rounds: 6, missing: 0.0, interaction: 0.1, noise: 0.03 };
    let [_, pool, ..] = shares(FLEETS, &kind);
    assert!(pool < 0.8, "a pool of rounds is no answer over machines: {pool}");
}

/// Colditz and others' 13 trials of a vaccine, which every text on random effects has: log risk ratios and their variances, made by metafor
/// 3.8-1 (`escalc`, measure RR) as shipped by Debian 12; figures by `rma(method = "PM", test = "knha")` there.
#[test]
fn a_published_set_has_metafor_s_values() {
    const RATIOS: [f64; 13] = [
        -0.889_311_333_920_20,
        -1.585_388_657_201_43,
        -1.348_073_148_299_69,
        -1.441_551_190_021_30,
        -0.217_547_322_211_29,
        -0.786_115_585_818_86,
        -1.620_898_223_598_39,
        0.011_952_333_523_84,
        -0.469_417_648_738_14,
        -1.371_344_803_472_78,
        -0.339_358_828_338_39,
        0.445_913_400_571_37,
        -0.017_313_948_216_87,
    ];
    const VARIANCES: [f64; 13] = [
        0.325_584_765_003_96,
        0.194_581_121_398_14,
        0.415_367_965_367_96,
        0.020_010_031_902_24,
        0.051_210_172_169_63,
        0.006_905_618_455_90,
        0.223_017_247_572_31,
        0.003_961_579_297_81,
        0.056_434_210_463_24,
        0.073_024_793_613_02,
        0.012_412_213_971_55,
        0.532_505_845_200_15,
        0.071_404_659_683_98,
    ];
    let found = RandomEffects::of(&RATIOS, &VARIANCES);
    let contrast = found.contrast(0.95);
    let pairs = [
        (contrast.mean, -0.714_968_153_493_444),
        (contrast.standard_error, 0.180_892_191_537_624),
        (contrast.low, -1.109_098_381_202_24),
        (contrast.high, -0.320_837_925_784_648),
        (contrast.p, 0.001_919_271_831_278),
        (found.tau_squared, 0.318_068_452_205_024),
        (found.i_squared, 1.0 - 12.0 / 152.233_008_082_373),
    ];
    for (ours, theirs) in pairs {
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} is not {theirs}");
    }
}

/// Rounds of a host that stray by this much.
fn host(random: &mut crate::noise::Noise, rounds: usize, deviation: f64, truth: f64) -> Vec<f64> {
    (0..rounds).map(|_| truth + deviation * random.normal()).collect()
}

/// By hand: variances of the means 0.01 and 0.0001 / 3, together 0.010033; of Satterthwaite's 1.007 degrees of freedom one, whose t is 12.706.
#[test]
fn a_host_that_strays_and_has_few_rounds_is_not_taken_for_a_quiet_one() {
    let found = these_hosts(&[vec![0.0, 0.2], vec![0.0, 0.02, 0.0, 0.02]], 0.95).expect("two rounds each");
    assert!((found.mean - 0.055).abs() < 1e-12 && found.rounds == 2, "{found:?}");
    assert!((found.half_width() - 12.7062 * 0.010_033_333_f64.sqrt() / 2.0).abs() < 1e-5, "{found:?}");
    // Equal spreads and rounds have all degrees of freedom.
    assert_eq!(these_hosts(&[vec![0.0, 0.2, 0.1], vec![0.3, 0.5, 0.4]], 0.95).map(|found| found.rounds), Some(5));
    // Of a single round it is not known: as the other. Variances of the means 0.01 and 0.02, of 1.8 degrees of freedom one.
    let found = these_hosts(&[vec![0.0, 0.2], vec![0.1]], 0.95).expect("one strays");
    assert!((found.half_width() - 12.7062 * 0.03_f64.sqrt() / 2.0).abs() < 1e-4 && found.rounds == 2, "{found:?}");
}

#[test]
fn intervals_of_these_hosts_hold_where_hosts_stray_unequally() {
    const FLEETS: u64 = 4000;
    let covered = |kinds: &[(usize, f64)]| {
        let holds = |seed: &u64| {
            let mut random = crate::noise::Noise(seed * 7919 + 11);
            let hosts: Vec<Vec<f64>> =
                kinds.iter().map(|(rounds, deviation)| host(&mut random, *rounds, *deviation, 0.0)).collect();
            these_hosts(&hosts, 0.95).is_some_and(|found| found.low <= 0.0 && found.high >= 0.0)
        };
        (0..FLEETS).filter(holds).count() as f64 / FLEETS as f64
    };
    // A disk that was cut after two of six rounds, and an NVMe drive: by a pooled variance 57 %.
    for kinds in [
        &[(2, 0.1), (6, 0.01)][..],
        &[(6, 0.1), (2, 0.01)],
        &[(4, 0.03), (4, 0.03)],
        &[(3, 0.05), (3, 0.02), (6, 0.01)],
    ] {
        let share = covered(kinds);
        println!("{kinds:?}: {:.1} %", share * 100.0);
        assert!(share > 0.94 - 0.0103, "{kinds:?}: {share}");
    }
}

/// By hand: hosts' means stray by a variance of 0.000667, a further one by 1.25 times that; of a round half of 0.0002 comes on top. With two
/// rounds each is at 97.5 %, whose t with 3 degrees of freedom is 4.1765.
#[test]
fn a_further_round_strays_by_more_than_a_further_mean() {
    let rounds: Vec<Vec<f64>> = [0.0, 0.02, 0.04, 0.06].map(|mean| vec![mean - 0.01, mean + 0.01]).into();
    let (low, high) = further_rounds(&rounds, 0.95).expect("four hosts");
    let half = 4.1765 * (0.002 / 3.0 * 1.25 + 0.0001_f64).sqrt();
    assert!((low - 0.03 + half).abs() < 1e-5 && (high - 0.03 - half).abs() < 1e-5, "{low} {high}, {half}");
    let (mean_low, mean_high) = over_hosts(&rounds, 0.95).expect("four hosts").prediction;
    assert!(low < mean_low && high > mean_high);
    // Of one round each that is the same thing.
    let single: Vec<Vec<f64>> = [0.0, 0.02, 0.04, 0.06].map(|value| vec![value]).into();
    let found = further_rounds(&single, 0.95).expect("four hosts");
    let predicted = over_hosts(&single, 0.95).expect("four hosts").prediction;
    assert!((found.0 - predicted.0).abs() < 1e-12 && (found.1 - predicted.1).abs() < 1e-12);
    assert!(further_rounds(&rounds[..3], 0.95).is_none());
}

#[test]
fn every_round_of_a_further_host_lies_where_it_is_said_to() {
    const FLEETS: u64 = 2000;
    for (hosts, tau) in [(4, 0.0), (8, 0.0), (4, 0.05), (8, 0.05)] {
        let holds = |seed: &u64| {
            let mut random = crate::noise::Noise(seed * 104_729 + 7);
            let mut one = || {
                let truth = tau * random.normal();
                host(&mut random, 6, 0.05, truth)
            };
            let fleet: Vec<Vec<f64>> = (0..hosts).map(|_| one()).collect();
            let (low, high) = further_rounds(&fleet, 0.95).expect("hosts enough");
            one().iter().all(|round| (low..=high).contains(round))
        };
        let share = (0..FLEETS).filter(holds).count() as f64 / FLEETS as f64;
        println!("{hosts} hosts that differ by {tau}: {:.1} %", share * 100.0);
        assert!(share > 0.95 - 0.0147, "{hosts} {tau}: {share}");
    }
}
