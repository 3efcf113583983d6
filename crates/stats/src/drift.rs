//! Drift (F14): did the machine get slower or faster while the study ran, little by little or from one round on?

use crate::interval::mean;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Rounds on each side of a step.
const STEP_ROUNDS_MIN: usize = 3;
/// A step is said at this level, all places of a study together.
const STEP_ALPHA: f64 = 0.01;

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
    let mut bounds = Vec::new();
    search(round_means, 0, &mut bounds);
    bounds.sort_unstable();
    let edges: Vec<usize> = [&[0], &*bounds, &[round_means.len()]].concat();
    let stretches: Vec<&[f64]> = edges.windows(2).map(|pair| &round_means[pair[0]..pair[1]]).collect();
    let (slope, centre) = (slope(round_means), (round_means.len() as f64 - 1.0) / 2.0);
    let middle = mean(round_means);
    let off_line = |(round, value): (usize, &f64)| (value - middle - slope * (round as f64 - centre)).powi(2);
    let of_line: f64 = round_means.iter().enumerate().map(off_line).sum();
    if stretches.iter().map(|stretch| squares(stretch)).sum::<f64>() >= of_line {
        return Vec::new();
    }
    let change = |pair: &[&[f64]]| (mean(pair[1]) - mean(pair[0])).exp_m1();
    bounds.iter().zip(stretches.windows(2)).map(|(round, pair)| Step { round: *round, change: change(pair) }).collect()
}

/// The stretch that differs most from all the rest (circular binary segmentation, Olshen et al. 2004): one with two ends finds
/// also what came and went.
fn search(values: &[f64], first: usize, found: &mut Vec<usize>) {
    let count = values.len();
    let is_long = |length: usize| length == 0 || length >= STEP_ROUNDS_MIN;
    let to = |start| (start + STEP_ROUNDS_MIN..=count).map(move |end| (start, end));
    // A stretch from the first round on has its complement, which ends with the last, for a twin.
    let places = (0..count).flat_map(to).filter(|(start, end)| is_long(*start) && is_long(count - end));
    let places: Vec<(usize, usize)> = places.filter(|(start, end)| *start > 0 && end - start < count).collect();
    let parts = |(start, end): (usize, usize)| (&values[start..end], [&values[..start], &values[end..]].concat());
    let error = |place: &(usize, usize)| {
        let (inside, outside) = parts(*place);
        squares(inside) + squares(&outside)
    };
    let Some(place) = places.iter().copied().min_by(|a, b| error(a).total_cmp(&error(b))) else { return };
    let (inside, outside) = parts(place);
    let degrees = count as f64 - 2.0;
    let pooled = error(&place) / degrees * (1.0 / inside.len() as f64 + 1.0 / outside.len() as f64);
    let gap = (mean(inside) - mean(&outside)).abs();
    let p = match pooled > 0.0 {
        true => {
            let t = StudentsT::new(0.0, 1.0, degrees).expect("there are six rounds at least");
            2.0 * t.sf(gap / pooled.sqrt()) * places.len() as f64
        }
        false => f64::from(gap == 0.0),
    };
    if p >= STEP_ALPHA {
        return;
    }
    let cuts = [place.0, place.1].into_iter().filter(|cut| *cut < count);
    let edges: Vec<usize> = [0].into_iter().chain(cuts).chain([count]).collect();
    found.extend(edges[1..edges.len() - 1].iter().map(|cut| first + cut));
    for pair in edges.windows(2) {
        search(&values[pair[0]..pair[1]], first + pair[0], found);
    }
}

fn squares(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum()
}

/// The least-squares line through round means on the log scale, as the change from first to last round, a fraction.
/// None below three rounds.
pub fn drift(round_means: &[f64]) -> Option<f64> {
    let rounds = round_means.len();
    (rounds >= 3).then(|| (slope(round_means) * (rounds as f64 - 1.0)).exp_m1())
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
