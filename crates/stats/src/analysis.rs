//! The whole analysis of one metric of one workload: from one number a trial to claims.

use crate::best::{BestSet, best_set};
use crate::compare::{Held, Verdict, holm, verdict};
use crate::drift::{Drift, drift};
use crate::effects::{Interaction, Swing, interactions, swings};
use crate::importance::{Importance, NoShares, importance};
use crate::interval::{Contrast, contrast, median, rounds_for_half_width};
use crate::nonparametric::{hodges_lehmann, sign_flip_p};
use crate::observations::{Declared, Observations, Rules};
use crate::outliers::{MODIFIED_Z_MAX, modified_z};

/// What one metric says.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Analysis {
    /// Each scenario by itself, in the order it came.
    pub cells: Vec<CellSummary>,
    /// The declared family.
    pub claims: Vec<Claim>,
    /// Pick, best set and regret; indices into `cells`.
    pub best: Option<BestSet>,
    /// The A/A control against the baseline: the phantom difference.
    pub control: Option<Contrast>,
    /// Change over the study that is common to all scenarios.
    pub drift: Option<Drift>,
    /// Which factor matters, or why it can't be said.
    pub importance: Result<Importance, NoShares>,
    /// How far each factor swings what is measured.
    pub swings: Vec<Swing>,
    /// For each pair of factors, what the one does to the other's effect.
    pub interactions: Vec<Interaction>,
    /// The widest half-width of the family, a fraction; what was given up is not waited for.
    pub half_width_max: Option<f64>,
    /// Rounds that the wanted precision would take at this spread.
    pub rounds_needed: Option<usize>,
    /// The level at which the family was held.
    pub alpha: f64,
    /// How many comparisons the family has, those that a stall leaves undecided with them.
    pub family: usize,
}

/// What stands out of a scenario.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CellSummary {
    /// Label.
    pub label: String,
    /// Against the baseline, log scale.
    pub versus_baseline: Option<Contrast>,
    /// Whether it can't be told from the best.
    pub in_best_set: bool,
    /// At most so far behind the best, a fraction.
    pub regret: Option<f64>,
    /// Values that stand apart (F13).
    pub outliers: Vec<Outlier>,
}

/// A value that stands apart once the round's and the cell's own level are taken out.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Outlier {
    /// Its round.
    pub round: usize,
    /// Its modified z: below 0 where it is smaller than its like.
    pub z: f64,
}

/// A member of the declared family and what it says.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Claim {
    /// The factor, for a main effect.
    pub factor: Option<String>,
    /// What is compared …
    pub a: String,
    /// … with what.
    pub b: String,
    /// a against b, log scale.
    pub contrast: Contrast,
    /// p after Holm.
    pub p_holm: f64,
    /// The factors over whose levels it is averaged.
    pub over: Vec<String>,
    /// Factors that have one level only where both sides were measured, with that level.
    pub within: Vec<(String, String)>,
    /// The verdict on a.
    pub verdict: Verdict,
    /// A robust check of a claimed difference (the exact sign-flip p, or the sign of the Hodges-Lehmann estimate) disagrees with the t
    /// interval.
    pub disagreement: bool,
}

/// Analyses one metric.
pub fn analyse(observations: &Observations, rules: &Rules) -> Analysis {
    let held = held(observations, rules);
    let claims = claims(observations, rules, &held, |differences| Some(sign_flip_p(differences)));
    let best = best_of(observations, &observations.unstalled(), rules);
    let left = left(observations, rules);
    // More rounds tell nothing of what was given up: it is asked only where nothing else is left.
    let open = if left.is_empty() { claims.iter().map(|claim| claim.contrast).collect() } else { left };
    let needed = |contrast: &Contrast| {
        rounds_for_half_width(contrast.standard_deviation, rules.precision.ln_1p(), rules.confidence)
    };
    let control = observations.control();
    let levels = levels(observations);
    let summary = |cell| summary(observations, rules, cell, (best.as_ref(), &levels));
    Analysis {
        cells: (0..observations.cells.len()).map(summary).collect(),
        control: control.and_then(|pair| contrast(&observations.differences(&pair), rules.confidence)),
        drift: drift(&observations.round_means()),
        importance: importance(observations),
        swings: swings(observations, rules.confidence),
        interactions: interactions(observations, rules.confidence),
        half_width_max: open.iter().map(Contrast::half_width).reduce(f64::max).map(f64::exp_m1),
        rounds_needed: open.iter().map(needed).max(),
        claims,
        best,
        alpha: held.alpha,
        family: held.family,
    }
}

/// The declared contrasts of which more rounds would tell more: those that the stop rule looks at.
fn left(observations: &Observations, rules: &Rules) -> Vec<Contrast> {
    let family = observations.family().into_iter().filter(|declared| observations.is_left(declared));
    family.filter_map(|declared| contrast(&observations.differences(&declared), rules.confidence)).collect()
}

/// The claims of the declared family, and what they are held to; without the exact check beside each.
pub fn family(observations: &Observations, rules: &Rules) -> (Vec<Claim>, Held) {
    let held = held(observations, rules);
    (claims(observations, rules, &held, |_| None), held)
}

fn held(observations: &Observations, rules: &Rules) -> Held {
    let counts = |of: &&Declared| observations.is_undecided(of) || observations.differences(of).len() >= 2;
    let measured = observations.family().iter().filter(counts).count();
    Held { alpha: rules.alpha(), family: measured, margin: rules.margin, more_is_better: observations.more_is_better }
}

fn claims(
    observations: &Observations,
    rules: &Rules,
    held: &Held,
    exact_p: impl Fn(&[f64]) -> Option<f64>,
) -> Vec<Claim> {
    let family = observations.family();
    let undecided = family.iter().filter(|declared| observations.is_undecided(declared)).count();
    let measured = family.into_iter().filter_map(|declared| {
        let differences = observations.differences(&declared);
        Some((contrast(&differences, rules.confidence)?, declared, differences))
    });
    let measured: Vec<_> = measured.collect();
    // What a stall leaves undecided stays a member of the family: it must not make the others look surer.
    let p = measured.iter().map(|(contrast, ..)| contrast.p).chain(std::iter::repeat_n(1.0, undecided));
    let adjusted = holm(&p.collect::<Vec<_>>());
    let claim = |((contrast, declared, differences), p_holm): ((Contrast, Declared, Vec<f64>), f64)| {
        let verdict = verdict(&contrast, p_holm, held);
        let sign_flip_p = if verdict.is_claim() { exact_p(&differences) } else { None };
        // Below six rounds the exact test can't reach 0.05, and has no say.
        let far = |p: f64| p > 0.05 && differences.len() >= 6;
        let disagreement =
            sign_flip_p.is_some_and(|p| far(p) || hodges_lehmann(&differences).signum() != contrast.mean.signum());
        Claim {
            factor: declared.factor,
            over: declared.over,
            within: declared.within,
            a: declared.a,
            b: declared.b,
            p_holm,
            verdict,
            disagreement,
            contrast,
        }
    };
    measured.into_iter().zip(adjusted).map(claim).collect()
}

/// The best set among candidates, none of which stalled, that were measured at all: as indices into all cells.
pub fn best_of(observations: &Observations, candidates: &[usize], rules: &Rules) -> Option<BestSet> {
    let measured: Vec<usize> =
        candidates.iter().copied().filter(|cell| observations.rounds.iter().any(|row| row[*cell].is_some())).collect();
    let sign = if observations.more_is_better { 1.0 } else { -1.0 };
    let rounds = || observations.rounds.iter();
    let logarithms = |cell: &usize| rounds().map(|row| row[*cell].map(|value| sign * value.ln())).collect();
    let values: Vec<Vec<Option<f64>>> = measured.iter().map(logarithms).collect();
    let found = best_set(&values, rules.alpha())?;
    let mut regret = vec![f64::NAN; observations.cells.len()];
    for (index, cell) in measured.iter().enumerate() {
        regret[*cell] = found.regret[index];
    }
    let members = found.members.iter().map(|member| measured[*member]).collect();
    Some(BestSet { pick: measured[found.pick], members, regret, critical: found.critical })
}

fn summary(
    observations: &Observations,
    rules: &Rules,
    cell: usize,
    (best, levels): (Option<&BestSet>, &[Option<f64>]),
) -> CellSummary {
    let rounds = observations.rounds.iter().enumerate();
    let of: Vec<(usize, f64)> = rounds.filter_map(|(round, row)| Some((round, row[cell]?))).collect();
    let baseline = observations.cells.iter().position(|other| other.baseline && !other.control);
    let against = baseline.filter(|baseline| *baseline != cell);
    CellSummary {
        label: observations.cells[cell].label.clone(),
        versus_baseline: against.and_then(|baseline| {
            contrast(&observations.differences(&observations.pair(cell, baseline)), rules.confidence)
        }),
        in_best_set: best.is_some_and(|best| best.members.contains(&cell)),
        regret: best.map(|best| best.regret[cell].exp_m1()).filter(|regret| regret.is_finite()),
        outliers: outliers(observations, cell, &of, levels),
    }
}

fn logarithm(row: &[Option<f64>], cell: usize) -> Option<f64> {
    row[cell].filter(|value| *value > 0.0).map(f64::ln)
}

/// Each cell's median logarithm; none of one without a value above 0.
fn levels(observations: &Observations) -> Vec<Option<f64>> {
    let level = |cell: usize| {
        let values: Vec<f64> = observations.rounds.iter().filter_map(|row| logarithm(row, cell)).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    (0..observations.cells.len()).map(level).collect()
}

/// A cell's values that stand apart (F13).
fn outliers(observations: &Observations, cell: usize, of: &[(usize, f64)], levels: &[Option<f64>]) -> Vec<Outlier> {
    if observations.has_stalled(cell) || of.len() < 4 {
        return Vec::new();
    }
    // Each cell's own level is taken out first, so that a round in which another has a hole looks like the rounds in which it has none.
    // The round's level is the median of the other cells: one stray value must not make them all look strange.
    let beside = |(round, value): &(usize, f64)| -> (f64, Vec<f64>) {
        let row = &observations.rounds[*round];
        let others = (0..levels.len()).filter(|other| *other != cell);
        (value.ln(), others.filter_map(|other| Some(logarithm(row, other)? - levels[other]?)).collect())
    };
    let rounds: Vec<(f64, Vec<f64>)> = of.iter().map(beside).collect();
    let own = levels[cell].unwrap_or(0.0);
    let by_middle: Vec<f64> = rounds.iter().map(|(value, others)| value - middle(others)).collect();
    let by_nearest: Vec<f64> =
        rounds.iter().map(|(value, others)| value - middle_or_nearest(value - own, others)).collect();
    let apart = modified_z(&by_middle).into_iter().zip(modified_z(&by_nearest));
    let found = of.iter().zip(apart).filter(|(_, (z, nearest))| z.abs().min(nearest.abs()) > MODIFIED_Z_MAX);
    found.map(|((round, _), (z, _))| Outlier { round: *round, z }).collect()
}

/// A round's level by the other cells.
fn middle(others: &[f64]) -> f64 {
    if others.is_empty() { 0.0 } else { median(others) }
}

/// As [`middle`], but of two others the one that goes with the cell's own value: their middle has half of what one strays by.
fn middle_or_nearest(own: f64, others: &[f64]) -> f64 {
    match others {
        [one, other] if (own - one).abs() < (own - other).abs() => *one,
        [_, other] => *other,
        _ => middle(others),
    }
}
