//! `vectors/vectors.json`: inputs and outputs to ten digits, made with scipy and statsmodels by the script beside it (`make vectors`).

use serde_json::Value;
use stats::interval::{self, contrast};
use stats::power::minimum_detectable_log;
use stats::{Cell, Contrast, Observations, Rules, analyse};
use std::collections::BTreeMap;

pub fn vector(id: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../vectors/vectors.json")).expect("vectors.json is JSON");
    let found = all["vectors"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|v| v["id"].as_str().is_some_and(|name| name.starts_with(id)));
    found.unwrap_or_else(|| panic!("no vector {id}")).clone()
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

/// The vectors have ten significant digits.
#[track_caller]
pub fn near(found: f64, expected: &Value) {
    let expected = number(expected);
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-12), "{found} is not {expected}");
}

fn d0() -> Observations {
    let vector = vector("D0.");
    let labels: Vec<String> = vector["in"]["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .map(|l| l.as_str().expect("text").to_string())
        .collect();
    let rows: Vec<Vec<f64>> = vector["in"]["tps"].as_array().expect("rows").iter().map(numbers).collect();
    let cells = labels.iter().enumerate().map(|(index, label)| {
        let (filesystem, buffers) = label.split_once('/').expect("fs/buffers");
        let levels = BTreeMap::from([("fs".into(), filesystem.into()), ("buf".into(), buffers.into())]);
        Cell { label: label.clone(), levels, control: false, baseline: index == 0 }
    });
    let rounds = (0..6).map(|round| rows.iter().map(|row| Some(row[round])).collect()).collect();
    Observations { cells: cells.collect(), rounds, more_is_better: true }
}

const RULES: Rules =
    Rules { confidence: 0.95, margin: 0.03, precision: 0.03, rounds_min: 6, rounds_max: 6, looks: 1, share: 1.0 };

#[track_caller]
fn check_contrast(found: &Contrast, out: &Value) {
    near(found.mean, &out["mean"]);
    near(found.standard_deviation, &out["sd"]);
    near(found.standard_error, &out["se"]);
    near(found.half_width(), &out["half_width"]);
    near(found.low, &out["lo"]);
    near(found.high, &out["hi"]);
    near(found.p, &out["p"]);
    near(found.ratio(), &out["ratio"]);
    near(found.ratio_low(), &out["ratio_lo"]);
    near(found.ratio_high(), &out["ratio_hi"]);
}

/// One comparison at 5 %.
pub const HELD: stats::Held = stats::Held { alpha: 0.05, family: 1, margin: 0.03, more_is_better: true };

#[test]
fn c1_a_pair() {
    let d0 = d0();
    let pair = d0.differences(&d0.pair(3, 1));
    check_contrast(&contrast(&pair, 0.95).expect("six rounds"), &vector("C1.")["out"]);
}

#[test]
fn c2_c3_main_effects_and_m2_the_family() {
    let d0 = d0();
    let family = d0.family();
    let of = |a: &str, b: &str| {
        let declared = family.iter().find(|d| (d.a.as_str(), d.b.as_str()) == (a, b)).expect("declared");
        contrast(&d0.differences(declared), 0.95).expect("six rounds")
    };
    check_contrast(&of("xfs", "ext4"), &vector("C2.")["out"]);
    check_contrast(&of("2G", "128M"), &vector("C3.")["out"]);
    let out = &vector("M2.")["out"];
    let analysis = analyse(&d0, &RULES);
    assert_eq!(analysis.claims.len(), 4);
    let pairs = [("xfs", "ext4"), ("btrfs", "ext4"), ("btrfs", "xfs"), ("2G", "128M")];
    for (index, (a, b)) in pairs.into_iter().enumerate() {
        let claim = analysis.claims.iter().find(|c| (c.a.as_str(), c.b.as_str()) == (a, b)).expect("claimed");
        near(claim.contrast.ratio(), &out["ratio"][index]);
        near(claim.p_holm, &out["p_holm"][index]);
        let exact = claim.contrast.minimum_detectable_effect(0.05) * 100.0;
        assert!((exact / number(&out["mde80_pct_approx"][index]) - 1.0).abs() < 0.01, "the approximation is near");
    }
}

#[test]
fn c4_an_interaction() {
    let d0 = d0();
    let mut declared = d0.pair(5, 4);
    declared.weights.extend([(1, -1.0), (0, 1.0)]);
    check_contrast(&contrast(&d0.differences(&declared), 0.95).expect("six rounds"), &vector("C4.")["out"]);
    let [interaction] = &analyse(&d0, &RULES).interactions[..] else { panic!("of two factors one") };
    assert_eq!(interaction.factors, ["buf", "fs"]);
    assert_eq!(interaction.levels, [["2G", "128M"], ["btrfs", "ext4"]], "the strongest of three");
    near(interaction.contrast.ratio(), &vector("C4.")["out"]["ratio"]);
    assert_eq!(interaction.crossing, [false, false]);
}

#[test]
fn c5_n1_sign_flips_and_hodges_lehmann() {
    let d0 = d0();
    near(stats::nonparametric::sign_flip_p(&d0.differences(&d0.pair(3, 1))), &vector("C5.")["out"]["p"][0]);
    let n1 = vector("N1.");
    let d = numbers(&n1["in"]["d"]);
    near(stats::nonparametric::hodges_lehmann(&d), &n1["out"]["HL"]);
    near(stats::nonparametric::sign_flip_p(&d), &n1["out"]["p_signflip"]);
    near(contrast(&d, 0.95).expect("ten").half_width(), &n1["out"]["t_interval"]["half_width"]);
}

#[test]
fn n2_median_interval() {
    for (count, out) in vector("N2.")["out"].as_object().expect("by n") {
        let ranks = interval::median_interval_ranks(count.parse().expect("a count"), 0.95).expect("enough");
        assert_eq!((ranks.0 as f64, ranks.1 as f64), (number(&out["lo_rank"]), number(&out["hi_rank"])));
    }
    assert_eq!(interval::median_interval_ranks(5, 0.95), None);
}

#[test]
fn n4_welch() {
    let n4 = vector("N4.");
    let found = stats::welch(&numbers(&n4["in"]["a"]), &numbers(&n4["in"]["b"]), 0.95).expect("two samples");
    for (value, name) in
        [(found.t, "t"), (found.degrees_of_freedom, "df"), (found.p, "p"), (found.low, "lo"), (found.high, "hi")]
    {
        near(value, &n4["out"][name]);
    }
}

#[test]
fn a1_importance() {
    let out = &vector("A1.")["out"];
    let analysis = analyse(&d0(), &RULES);
    let found = analysis.importance.expect("balanced");
    assert!(!found.approximate);
    let term = |names: &[&str]| found.terms.iter().find(|term| term.factors == names).expect("a term").clone();
    let shares = &out["importance_share_omega2"];
    let ranges = &out["importance_share_leave_one_block_out_range"];
    for (names, name) in [(&["fs"][..], "fs"), (&["buf"], "buf"), (&["buf", "fs"], "fsxbuf")] {
        near(term(names).share, &shares[name]);
        let (low, high) = term(names).share_range.expect("rounds are left");
        near(low, &ranges[name][0]);
        near(high, &ranges[name][1]);
    }
    near(found.noise_share, &shares["noise"]);
    near(found.trial_deviation, &out["sigma_run"]);
    near(found.round_deviation, &out["sigma_block"]);
    let by_noise = found.noise_share * (found.round_deviation / found.trial_deviation).powi(2);
    assert!((found.drift_share - by_noise).abs() < 1e-12, "{} {by_noise}", found.drift_share);
    for (name, high, low) in [("buf", "2G", "128M"), ("fs", "xfs", "btrfs")] {
        let swing = analysis.swings.iter().find(|swing| swing.factor == name).expect("a swing");
        assert_eq!((&*swing.high, &*swing.low), (high, low));
        near(swing.contrast.mean.exp_m1() * 100.0, &out["swing_pct"][name]);
    }
}

/// The same sums by least squares, as statsmodels has them.
#[test]
fn a1_sums_of_squares() {
    let out = &vector("A1.")["out"];
    let sums = stats::type_two::Table::of(&d0()).expect("levels").sums();
    for (mask, name) in [(1, "buf"), (2, "fs"), (3, "fsxbuf")] {
        let term = sums.terms.iter().find(|term| term.mask == mask).expect("a term");
        near(term.sum, &out["SS"][name]);
        assert_eq!(term.freedom as f64, number(&out["df"][name]));
    }
    near(sums.residual, &out["SS"]["resid"]);
    assert_eq!(sums.residual_freedom as f64, number(&out["df"]["resid"]));
    near(sums.round_variance, &out["sigma2_block"]);
}

#[test]
fn b1_regret_and_best_set() {
    let out = &vector("B1.")["out"];
    let d0 = d0();
    // The vector is at 5 %; a first answer is held at half of that.
    let best = analyse(&d0, &Rules { confidence: 0.9, ..RULES }).best.expect("six cells");
    near(best.critical, &out["q"]);
    assert_eq!(d0.cells[best.pick].label, out["pick"].as_str().expect("text"));
    assert_eq!(best.members, [best.pick]);
    for (cell, regret) in d0.cells.iter().zip(&best.regret) {
        near(*regret, &out["L_log"][&cell.label]);
        near(regret.exp_m1() * 100.0, &out["L_pct"][&cell.label]);
    }
}

#[test]
fn m1_holm_and_benjamini_hochberg() {
    let m1 = vector("M1.");
    let p = numbers(&m1["in"]["p"]);
    for (found, name) in [(stats::holm(&p), "holm"), (stats::benjamini_hochberg(&p), "bh")] {
        for (found, expected) in found.into_iter().zip(m1["out"][name].as_array().expect("a list")) {
            near(found, expected);
        }
    }
}

#[test]
fn e1_all_five_verdicts() {
    let e1 = vector("E1.");
    for (name, differences) in e1["in"]["cases"].as_object().expect("cases") {
        let contrast = contrast(&numbers(differences), 0.95).expect("six rounds");
        let out = &e1["out"][name];
        near(contrast.low, &out["ci95"][0]);
        near(contrast.interval(0.90).0, &out["ci90"][0]);
        near(contrast.interval(0.90).1, &out["ci90"][1]);
        let verdict = stats::verdict(&contrast, contrast.p, &HELD);
        let word = match verdict {
            stats::Verdict::Equivalent => "equivalent",
            stats::Verdict::Inconclusive => "inconclusive",
            other => other.words(),
        };
        assert_eq!(word, out["verdict"].as_str().expect("a word"), "{name}");
    }
}

#[test]
fn p1_p2_power() {
    for (rounds, out) in vector("P1.")["out"].as_object().expect("by b") {
        near(minimum_detectable_log(0.03, rounds.parse().expect("a count"), 0.05), &out["mde_log_exact"]);
    }
    for out in vector("P4.")["out"].as_array().expect("cases") {
        let (family, rounds) = (number(&out["family"]), number(&out["rounds"]) as usize);
        let found = minimum_detectable_log(number(&out["s_d"]), rounds, 0.05 / family);
        near(found, &out["mde_log_exact"]);
        near(found.exp_m1() * 100.0, &out["mde_pct_exact"]);
    }
    let p2 = vector("P2.");
    for (deviation, rounds) in numbers(&p2["in"]["s_d"]).into_iter().zip(numbers(&p2["out"]["b_for_halfwidth"])) {
        assert_eq!(interval::rounds_for_half_width(deviation, number(&p2["in"]["h"]), 0.95) as f64, rounds);
    }
}

#[test]
fn w2_w3_steadiness() {
    let w2 = vector("W2.");
    for name in ["s1", "s2", "s3"] {
        let found = stats::steady::steadiness(&numbers(&w2["in"][name])).expect("five windows");
        let out = &w2["out"][name];
        near(found.range * 100.0, &out["range_pct"]);
        near(found.excursion * 100.0, &out["slope_excursion_pct"]);
        assert_eq!(found.is_steady(), out["steady"].as_bool().expect("a bool"), "{name}");
    }
    let w3 = vector("W3.");
    let (r, samples) = stats::steady::effective_samples(&numbers(&w3["in"]["x"])).expect("it varies");
    near(r, &w3["out"]["r1"]);
    near(samples, &w3["out"]["n_eff"]);
}

#[test]
fn d0_g1_o1_x1_summaries() {
    let (d0, d0_out) = (d0(), vector("D0.")["out"].clone());
    let logarithms = d0.complete(&d0.candidates());
    for (index, cell) in d0.cells.iter().enumerate() {
        let values: Vec<f64> = d0.rounds.iter().filter_map(|row| row[index]).collect();
        near(interval::mean(&logarithms[index]).exp(), &d0_out["geomean"][&cell.label]);
        near(interval::median(&values), &d0_out["median"][&cell.label]);
    }
    let analysis = analyse(&d0, &RULES);
    let (drift, x1_out) = (analysis.drift.expect("six rounds"), vector("X1.")["out"].clone());
    near(drift.change * 100.0, &x1_out["drift_pct_over_study"]);
    near(drift.p, &x1_out["slope_p"]);
    let o1 = vector("O1.");
    let z = stats::outliers::modified_z(&numbers(&o1["in"]["x"]));
    for (index, z) in z.into_iter().enumerate() {
        near(z, &o1["out"]["M"][index]);
        assert_eq!(z.abs() > stats::outliers::MODIFIED_Z_MAX, o1["out"]["flag"][index].as_bool().expect("a bool"));
    }
    let g1 = vector("G1.");
    let ratios: Vec<f64> =
        numbers(&g1["in"]["a"]).into_iter().zip(numbers(&g1["in"]["b"])).map(|(a, b)| (a / b).ln()).collect();
    near(interval::mean(&ratios).exp(), &g1["out"]["gm_ratio"]);
}
