//! Drift (F14): did the machine get slower or faster while the study ran, little by little or from one round on?

use crate::interval::{dot, mean, squares, two_sided_p};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Rounds on each side of a step.
const STEP_ROUNDS_MIN: usize = 3;
/// A step is said at this level, all places of a study together.
const STEP_ALPHA: f64 = 0.01;
/// A drift is said at this level.
const DRIFT_ALPHA: f64 = 0.05;

/// The least-squares line through round means on the log scale.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Drift {
    /// The change from first to last round, a fraction.
    pub change: f64,
    /// Two-sided p of its slope, by how rounds stray from the line.
    pub p: f64,
}

impl Drift {
    /// Whether there is any: rounds that stray by chance have a slope, too.
    pub fn is_shown(&self) -> bool {
        self.p < DRIFT_ALPHA
    }
}

/// From one round on everything was faster or slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The first round after it, from 0.
    pub round: usize,
    /// The change of what is measured, a fraction.
    pub change: f64,
}

/// Steps of round means on the log scale. Of all places the one with the largest t is tested, with p times the number of places
/// (Bonferroni); what lies before and after a step is searched again. None where a line fits better: that is drift.
pub fn steps(round_means: &[f64]) -> Vec<Step> {
    steps_at(round_means, STEP_ALPHA)
}

/// By what fraction differences of logarithms moved while the study ran, in a step or little by little; none where that may
/// be chance, at the level of steps over so many questions of this kind (Bonferroni).
pub fn moved(differences: &[f64], among: usize) -> Option<f64> {
    let level = STEP_ALPHA / among.max(1) as f64;
    let slope = drift(differences).filter(|drift| drift.p < level).map(|drift| drift.change);
    steps_at(differences, level).first().map(|step| step.change).or(slope)
}

fn steps_at(round_means: &[f64], level: f64) -> Vec<Step> {
    let mut bounds = Vec::new();
    search(round_means, 0, level, &mut bounds);
    bounds.sort_unstable();
    let edges: Vec<usize> = [&[0], &*bounds, &[round_means.len()]].concat();
    let stretches: Vec<&[f64]> = edges.windows(2).map(|pair| &round_means[pair[0]..pair[1]]).collect();
    if stretches.iter().map(|stretch| squares(stretch)).sum::<f64>() >= squares_off_line(round_means) {
        return Vec::new();
    }
    let change = |pair: &[&[f64]]| (mean(pair[1]) - mean(pair[0])).exp_m1();
    bounds.iter().zip(stretches.windows(2)).map(|(round, pair)| Step { round: *round, change: change(pair) }).collect()
}

/// The stretch that differs most from all the rest (circular binary segmentation, Olshen et al. 2004): one with two ends finds
/// also what came and went.
fn search(values: &[f64], first: usize, level: f64, found: &mut Vec<usize>) {
    let count = values.len();
    let is_long = |length: usize| length == 0 || length >= STEP_ROUNDS_MIN;
    let to = |start| (start + STEP_ROUNDS_MIN..=count).map(move |end| (start, end));
    // A stretch from the first round on has its complement, which ends with the last, for a twin.
    let places = || (STEP_ROUNDS_MIN..count).flat_map(to).filter(|(_, end)| is_long(count - end));
    let middle = mean(values);
    let mut sums = vec![0.0];
    values.iter().for_each(|value| sums.push(sums[sums.len() - 1] + (value - middle)));
    // What is taken from the squares around one mean by one inside and one outside: there are a million places in fifteen hundred rounds.
    let gain = |(start, end): &(usize, usize)| {
        let (sum, length) = (sums[*end] - sums[*start], (end - start) as f64);
        sum * sum * (1.0 / length + 1.0 / (count as f64 - length))
    };
    let Some(place) = places().min_by(|a, b| gain(b).total_cmp(&gain(a))) else { return };
    let (inside, outside) = (&values[place.0..place.1], [&values[..place.0], &values[place.1..]].concat());
    let degrees = count as f64 - 2.0;
    let pooled =
        (squares(inside) + squares(&outside)) / degrees * (1.0 / inside.len() as f64 + 1.0 / outside.len() as f64);
    let gap = (mean(inside) - mean(&outside)).abs();
    let p = match pooled > 0.0 {
        true => {
            let t = StudentsT::new(0.0, 1.0, degrees).expect("there are six rounds at least");
            2.0 * t.sf(gap / pooled.sqrt()) * places().count() as f64
        }
        false => f64::from(gap == 0.0),
    };
    if p >= level {
        return;
    }
    let cuts = [place.0, place.1].into_iter().filter(|cut| *cut < count);
    let edges: Vec<usize> = [0].into_iter().chain(cuts).chain([count]).collect();
    found.extend(edges[1..edges.len() - 1].iter().map(|cut| first + cut));
    for pair in edges.windows(2) {
        search(&values[pair[0]..pair[1]], first + pair[0], level, found);
    }
}

fn squares_off_line(values: &[f64]) -> f64 {
    let left = off_line(values);
    dot(&left, &left)
}

/// What is left of values beside their straight line.
pub(crate) fn off_line(values: &[f64]) -> Vec<f64> {
    let (middle, slope, centre) = (mean(values), slope(values), (values.len() as f64 - 1.0) / 2.0);
    values.iter().enumerate().map(|(index, value)| value - middle - slope * (index as f64 - centre)).collect()
}

/// The line through round means on the log scale. None below three rounds.
pub fn drift(round_means: &[f64]) -> Option<Drift> {
    if round_means.len() < 3 {
        return None;
    }
    let (count, slope) = (round_means.len() as f64, slope(round_means));
    // Of 0, 1, 2 … around their mean.
    let squares_of_places = count * (count * count - 1.0) / 12.0;
    let error = (squares_off_line(round_means) / (count - 2.0) / squares_of_places).sqrt();
    let p = if slope == 0.0 { 1.0 } else { two_sided_p(slope / error, round_means.len() - 2) };
    Some(Drift { change: (slope * (count - 1.0)).exp_m1(), p })
}

/// Least-squares slope over 0, 1, 2 …
pub fn slope(values: &[f64]) -> f64 {
    let centre = (values.len() as f64 - 1.0) / 2.0;
    let mean = mean(values);
    let (mut top, mut bottom) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - centre;
        top += x * (value - mean);
        bottom += x * x;
    }
    top / bottom
}
