//! How far a factor swings what is measured, and what factors do to each other's effect (F2, F3): contrasts a round.
//!
//! Whatever stands out here was picked from the data after all pairs were looked at. So the interval of each is Bonferroni's
//! over all pairs that could have been picked, as that of the best set (F8): it holds for whichever is picked.

use crate::interval::{Contrast, contrast};
use crate::observations::{Declared, Observations};
use std::collections::BTreeMap;

/// A factor's level with the largest marginal geometric mean against that with the smallest.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Swing {
    /// The factor.
    pub factor: String,
    /// The level of the largest …
    pub high: String,
    /// … and that of the smallest.
    pub low: String,
    /// The high one against the low one, log scale. Its interval holds for all pairs of the factor's levels together, and p is
    /// times their number.
    pub contrast: Contrast,
    /// No pair of the factor's levels differs by more than this, log scale: the farthest end of all their intervals. None where a pair has
    /// none: a level stalled, or was not measured beside another.
    pub bound: Option<f64>,
}

/// The strongest difference of differences between two factors, or the strongest at which they cross.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Interaction {
    /// The two factors.
    pub factors: [String; 2],
    /// Two levels of each.
    pub levels: [[String; 2]; 2],
    /// The difference of differences, log scale: its exponential is the ratio of ratios. Interval and p are for all of these two
    /// factors together.
    pub contrast: Contrast,
    /// `[factor][level of the other]`: the factor's first level against its second one there, interval and p likewise.
    pub simple: [[Contrast; 2]; 2],
    /// For each factor, whether its two effects are both certain and of opposite sign.
    pub crossing: [bool; 2],
}

/// Each factor's swing, over the combinations in which both levels were measured (F2). None of a factor whose levels were never
/// measured with all else equal. A level that was given up has its first rounds only: it is taken where there is no other, as it would hide those.
pub fn swings(observations: &Observations, confidence: f64) -> Vec<Swing> {
    let of_factor = |(factor, levels): &(String, Vec<String>)| {
        let all = observations.level_effects(factor, levels)?;
        let left: Vec<Declared> = all.iter().filter(|effect| observations.is_left(effect)).cloned().collect();
        let effects = if left.is_empty() { all } else { left };
        let judged = |effect| Some((effect, of(observations, effect, effects.len(), confidence)?));
        let measured: Vec<(&Declared, Contrast)> = effects.iter().filter_map(judged).collect();
        let has_all = measured.len() == levels.len() * (levels.len() - 1) / 2;
        let bound =
            has_all.then(|| measured.iter().map(|(_, contrast)| contrast.high.max(-contrast.low)).fold(0.0, f64::max));
        let (effect, contrast) = *measured.iter().max_by(|a, b| a.1.mean.abs().total_cmp(&b.1.mean.abs()))?;
        let is_low = contrast.mean < 0.0;
        let (high, low) = if is_low { (&effect.b, &effect.a) } else { (&effect.a, &effect.b) };
        Some(Swing {
            factor: factor.clone(),
            high: high.clone(),
            low: low.clone(),
            contrast: if is_low { contrast.flipped() } else { contrast },
            bound,
        })
    };
    observations.factors().iter().filter_map(of_factor).collect()
}

/// For each pair of factors what stands out most, where two levels of both were measured with all else equal.
pub fn interactions(observations: &Observations, confidence: f64) -> Vec<Interaction> {
    let factors = observations.factors();
    let pairs = factors.iter().enumerate().flat_map(|(index, a)| factors[index + 1..].iter().map(move |b| [a, b]));
    pairs.filter_map(|pair| interaction(observations, pair, confidence)).collect()
}

fn interaction(
    observations: &Observations,
    factors: [&(String, Vec<String>); 2],
    confidence: f64,
) -> Option<Interaction> {
    // As of swings.
    let left = squares(observations, factors, |cell| observations.is_measured_yet(cell));
    let squares = if left.is_empty() { squares(observations, factors, |_| true) } else { left };
    let count = squares.len();
    let judged = squares.into_iter().filter_map(|square| {
        let contrast = of(observations, &square.difference, count, confidence)?;
        let simple = |weights: &Declared| of(observations, weights, 4 * count, confidence);
        let [a, b] = &square.simple;
        let simple = [[simple(&a[0])?, simple(&a[1])?], [simple(&b[0])?, simple(&b[1])?]];
        let certain = |contrast: &Contrast| contrast.low > 0.0 || contrast.high < 0.0;
        let cross = |pair: &[Contrast; 2]| pair.iter().all(certain) && pair[0].mean * pair[1].mean < 0.0;
        let crossing = [cross(&simple[0]), cross(&simple[1])];
        let factors = factors.map(|(factor, _)| factor.clone());
        Some(Interaction { factors, levels: square.levels, contrast, simple, crossing })
    });
    let rank = |found: &Interaction| (found.crossing != [false, false], found.contrast.mean.abs());
    judged.max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

/// Two levels of two factors.
struct Square {
    levels: [[String; 2]; 2],
    difference: Declared,
    /// `[factor][level of the other]`.
    simple: [[Declared; 2]; 2],
}

/// All of two factors among these cells, each over the combinations of the others in which its four corners were measured.
fn squares(
    observations: &Observations,
    factors: [&(String, Vec<String>); 2],
    is_in: impl Fn(usize) -> bool,
) -> Vec<Square> {
    let names: Vec<String> = observations.factors().into_iter().map(|(name, _)| name).collect();
    let mut at: BTreeMap<Vec<Option<&String>>, BTreeMap<[&String; 2], usize>> = BTreeMap::new();
    for cell in observations.candidates().into_iter().filter(|cell| is_in(*cell)) {
        let levels = &observations.cells[cell].levels;
        let own = factors.map(|(factor, _)| levels.get(factor));
        let others = names.iter().filter(|name| factors.iter().all(|(factor, _)| factor != *name));
        if let [Some(a), Some(b)] = own {
            at.entry(others.map(|other| levels.get(other)).collect()).or_default().insert([a, b], cell);
        }
    }
    let mut squares = Vec::new();
    for [a1, a2] in pairs(&factors[0].1) {
        for [b1, b2] in pairs(&factors[1].1) {
            let corners = |cells: &BTreeMap<[&String; 2], usize>| {
                let corner = |a, b| cells.get(&[a, b]).copied();
                Some([corner(a1, b1)?, corner(a2, b1)?, corner(a1, b2)?, corner(a2, b2)?])
            };
            let shared: Vec<[usize; 4]> = at.values().filter_map(corners).collect();
            if shared.is_empty() {
                continue;
            }
            let weighed = |signs: [f64; 4]| {
                let share = 1.0 / shared.len() as f64;
                let cells = shared.iter().flat_map(|corners| corners.iter().zip(signs));
                let weights =
                    cells.filter(|(_, sign)| *sign != 0.0).map(|(cell, sign)| (*cell, sign * share)).collect();
                Declared { weights, ..observations.pair(shared[0][0], shared[0][1]) }
            };
            squares.push(Square {
                levels: [[a1.clone(), a2.clone()], [b1.clone(), b2.clone()]],
                difference: weighed([1.0, -1.0, -1.0, 1.0]),
                simple: [
                    [weighed([1.0, -1.0, 0.0, 0.0]), weighed([0.0, 0.0, 1.0, -1.0])],
                    [weighed([1.0, 0.0, -1.0, 0.0]), weighed([0.0, 1.0, 0.0, -1.0])],
                ],
            });
        }
    }
    squares
}

fn pairs(levels: &[String]) -> Vec<[&String; 2]> {
    levels.iter().enumerate().flat_map(|(index, b)| levels[index + 1..].iter().map(move |a| [a, b])).collect()
}

/// A contrast that is one of `count` from which the strongest is picked.
fn of(observations: &Observations, declared: &Declared, count: usize, confidence: f64) -> Option<Contrast> {
    let count = count as f64;
    let found = contrast(&observations.differences(declared), 1.0 - (1.0 - confidence) / count)?;
    Some(Contrast { p: (found.p * count).min(1.0), ..found })
}
