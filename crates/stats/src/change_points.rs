//! Where a series changes its level or its spread: PELT, and what the stretches between say of a run.
//!
//! Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 2012. Penalty,
//! and the classes of a run's course, are those of Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017.

use crate::drift::off_line;
use crate::interval::{dot, mean, median, squares};
use std::ops::Range;

/// Shortest stretch: a variance from fewer values says too little, and what passes sooner is a dip and no change.
const LENGTH_MIN: usize = 5;
/// A change must gain this many times ln n in −2 ln likelihood (Barrett et al. 2017, section 4.2): seconds of a run are autocorrelated,
/// and a smaller penalty takes that for changes.
const PENALTY: f64 = 15.0;
/// Longer series are averaged down to at most so many values: the search is quadratic where nothing changes.
const VALUES_MAX: usize = 300;
/// Fewer seconds than this can't be judged: three of the shortest stretches, and a few to spare.
pub const SECONDS_MIN: usize = 20;
/// Two stretches differ when their means are this many standard errors apart, counted in independent samples. A high number,
/// as the place between them was picked for their difference; `tests/it/change_points.rs` measures what it lets through.
const ERRORS_APART: f64 = 4.0;
/// A single value further than so many deviations (MAD) from its neighbours is a dip or a peak, and no change of level.
const DEVIATIONS_MAX: f64 = 5.0;
/// Neighbours looked at to each side.
const NEIGHBOURS: usize = 5;
/// A cycle's correlation with itself one period later, at least.
const CYCLE_CORRELATION_MIN: f64 = 0.5;
/// … and at least so many of its standard errors (Bartlett's formula).
const CYCLE_ERRORS_MIN: f64 = 3.0;

/// How a run went.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Course {
    /// Too few seconds to say.
    TooShort,
    /// No change of level.
    Steady,
    /// It comes and goes with a period, and holds its level from one period to the next.
    Cyclic {
        /// Seconds from one to the next.
        period: f64,
    },
    /// Slow at first, then steady.
    WarmUp {
        /// Seconds until it was steady.
        seconds: f64,
    },
    /// Slower at its end than before.
    Slowdown {
        /// Second from which on it was slow.
        from: f64,
        /// By how much, a fraction.
        by: f64,
    },
    /// It changed its level and did not settle.
    Unsteady,
}

impl Course {
    /// Whether its mean is of one state. What is too short to say is not held against it.
    pub fn is_steady(&self) -> bool {
        matches!(self, Course::TooShort | Course::Steady | Course::Cyclic { .. })
    }
}

/// How a run went by its rate, once a second; changes smaller than `tolerance`, a fraction, are none.
pub fn course(rates: &[f64], tolerance: f64) -> Course {
    let Some((values, width)) = averaged(rates) else { return Course::TooShort };
    let seconds = |count: usize| (count * width) as f64;
    if let Some(period) = period(&values).filter(|period| swings(&values, *period, tolerance)) {
        return Course::Cyclic { period: seconds(period) };
    }
    let plain = without_single_outliers(&values);
    let stretches = levels(&plain, tolerance);
    if stretches.len() < 2 {
        return Course::Steady;
    }
    let level = |stretch: &Range<usize>| mean(&plain[stretch.clone()]);
    let last = stretches.last().expect("there are two");
    let (end, before) = (level(last), &stretches[..stretches.len() - 1]);
    let highest = before.iter().map(level).fold(f64::MIN, f64::max);
    let falls = stretches.windows(2).all(|pair| level(&pair[1]) < level(&pair[0]));
    let settled = last.len() * 2 >= plain.len();
    if falls || (settled && is_apart(highest, end, tolerance) && highest > end) {
        return Course::Slowdown { from: seconds(last.start), by: 1.0 - end / highest };
    }
    // A stall between two stretches of one level is no warm-up.
    match settled && is_apart(highest, end, tolerance) {
        true => Course::WarmUp { seconds: seconds(last.start) },
        false => Course::Unsteady,
    }
}

/// Seconds from which on a rate, once a second, has another level than before, as [`course`] judges it: none where it comes and goes
/// with a period, or is too short to say.
pub fn level_changes(rates: &[f64], tolerance: f64) -> Vec<usize> {
    let Some((values, width)) = averaged(rates) else { return Vec::new() };
    if period(&values).is_some_and(|period| swings(&values, period, tolerance)) {
        return Vec::new();
    }
    levels(&without_single_outliers(&values), tolerance).iter().skip(1).map(|stretch| stretch.start * width).collect()
}

/// The seconds of a run averaged down to what is searched, and how many make one value; none where they are too few.
fn averaged(rates: &[f64]) -> Option<(Vec<f64>, usize)> {
    let finite: Vec<f64> = rates.iter().copied().filter(|rate| rate.is_finite()).collect();
    let width = finite.len().div_ceil(VALUES_MAX);
    (finite.len() >= SECONDS_MIN).then(|| (finite.chunks_exact(width).map(mean).collect(), width))
}

/// Stretches of one level: those of [`change_points`], neighbours joined that differ by less than the tolerance or by no more than
/// their own noise.
fn levels(values: &[f64], tolerance: f64) -> Vec<Range<usize>> {
    let mut bounds = change_points(values);
    bounds.push(values.len());
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for end in bounds {
        let start = stretches.last().map_or(0, |stretch| stretch.end);
        stretches.push(start..end);
    }
    let hanging = hanging(values, &stretches);
    let squared_error = |values: &[f64]| {
        variance(&off_line(values)) / (values.len() as f64 * (1.0 - hanging) / (1.0 + hanging)).max(1.0)
    };
    // The least different neighbours first, so that a long stretch is not joined piece by piece to what it differs from.
    loop {
        let likeness = |pair: &[Range<usize>]| {
            let [a, b] = [&values[pair[0].clone()], &values[pair[1].clone()]];
            let gap = (mean(a) - mean(b)).abs();
            let needed = (tolerance * mean(a).abs().max(mean(b).abs()))
                .max(ERRORS_APART * (squared_error(a) + squared_error(b)).sqrt());
            if needed == 0.0 { if gap == 0.0 { 0.0 } else { f64::INFINITY } } else { gap / needed }
        };
        let pairs = stretches.windows(2).map(likeness).enumerate();
        let Some((index, _)) = pairs.filter(|(_, apart)| *apart <= 1.0).min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return stretches;
        };
        let joined = stretches.remove(index + 1);
        stretches[index].end = joined.end;
    }
}

fn is_apart(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() > tolerance * a.abs().max(b.abs())
}

/// How much each value hangs on the one before, around the lines of the stretches (W3, of all of them together: a short stretch
/// says too little of itself; one that rises, as caches fill, has not so much noise). Never negative: alternating noise must not make means
/// look surer than they are.
fn hanging(values: &[f64], stretches: &[Range<usize>]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for stretch in stretches {
        let noise = off_line(&values[stretch.clone()]);
        products += noise.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        squares += dot(&noise, &noise);
    }
    if squares > 0.0 { (products / squares).clamp(0.0, 0.99) } else { 0.0 }
}

fn variance(values: &[f64]) -> f64 {
    squares(values) / values.len() as f64
}

/// Whether values swing by more than the tolerance, while the means of whole periods hold their level.
fn swings(values: &[f64], period: usize, tolerance: f64) -> bool {
    let means: Vec<f64> = values.chunks_exact(period).map(mean).collect();
    let half = means.len() / 2;
    // Twice the tolerance: a period may be cut askew.
    let is_level = !is_apart(mean(&means[..half]), mean(&means[means.len() - half..]), tolerance * 2.0);
    variance(values).sqrt() > tolerance * mean(values) && is_level && levels(&means, tolerance).len() == 1
}

/// Where a Gaussian series changes its mean or variance: the first index of each stretch but the first, by PELT with the penalty
/// above. The best of all ways to cut it.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    if n < 2 * LENGTH_MIN {
        return Vec::new();
    }
    let costs = Costs::of(values);
    let penalty = PENALTY * (n as f64).ln();
    // best[t]: the least cost of values[..t], cut at last[t] before.
    let (mut best, mut last) = (vec![f64::INFINITY; n + 1], vec![0; n + 1]);
    best[0] = -penalty;
    let mut candidates = vec![0];
    for end in LENGTH_MIN..=n {
        let cost = |start: &usize| best[*start] + costs.of_stretch(*start..end);
        let costs_here = candidates.iter().map(|start| (*start, cost(start)));
        let (start, least) = costs_here.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there is always a candidate");
        (best[end], last[end]) = (least + penalty, start);
        // From the next end on, a cut can lie at `recent`; what is worse up to there is worse for good.
        let recent = end + 1 - LENGTH_MIN;
        if recent >= LENGTH_MIN {
            candidates.retain(|start| best[*start] + costs.of_stretch(*start..recent) <= best[recent]);
            candidates.push(recent);
        }
    }
    let mut cuts = Vec::new();
    let mut end = n;
    while last[end] > 0 {
        end = last[end];
        cuts.push(end);
    }
    cuts.reverse();
    cuts
}

/// −2 ln likelihood of stretches, without what is the same for every cut.
struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
    variance_min: f64,
}

impl Costs {
    fn of(values: &[f64]) -> Costs {
        // Around the mean, so that squares of large values keep their digits.
        let middle = mean(values);
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        for value in values {
            sums.push(sums[sums.len() - 1] + (value - middle));
            squares.push(squares[squares.len() - 1] + (value - middle).powi(2));
        }
        // Equal values have no variance, and its logarithm no end: a hundred-thousandth of the level is as good as equal.
        let variance_min = (middle.abs() * 1e-5).powi(2).max(f64::MIN_POSITIVE);
        Costs { sums, squares, variance_min }
    }

    fn of_stretch(&self, stretch: Range<usize>) -> f64 {
        let count = stretch.len() as f64;
        let sum = self.sums[stretch.end] - self.sums[stretch.start];
        let squares = self.squares[stretch.end] - self.squares[stretch.start];
        let variance = squares / count - (sum / count).powi(2);
        // Added and not a floor: so a stretch never costs less than its parts, on which the pruning rests.
        count * (variance.max(0.0) + self.variance_min).ln()
    }
}

/// Single values far from all their neighbours put to the neighbours' median (Hampel's filter): a level's change lasts longer.
fn without_single_outliers(values: &[f64]) -> Vec<f64> {
    let of = |index: usize| {
        let near = index.saturating_sub(NEIGHBOURS)..(index + NEIGHBOURS + 1).min(values.len());
        let others: Vec<f64> = near.filter(|other| *other != index).map(|other| values[other]).collect();
        let middle = median(&others);
        let deviation = median(&others.iter().map(|other| (other - middle).abs()).collect::<Vec<_>>()) * 1.4826;
        let far = |value: f64| (value - middle) / deviation.max(f64::MIN_POSITIVE);
        let own = far(values[index]);
        let is_company = |next: &f64| far(*next) * own.signum() > own.abs() / 2.0;
        let mut nearest = [index.checked_sub(1), Some(index + 1)].into_iter().flatten();
        let has_company = nearest.any(|next| values.get(next).is_some_and(is_company));
        if own.abs() > DEVIATIONS_MAX && !has_company { middle } else { values[index] }
    };
    (0..values.len()).map(of).collect()
}

/// The period of a series that comes and goes: the first peak of its correlation with itself after that was negative.
fn period(values: &[f64]) -> Option<usize> {
    let n = values.len();
    let middle = mean(values);
    let spread = variance(values);
    if spread == 0.0 {
        return None;
    }
    let correlation = |lag: usize| {
        let products = (0..n - lag).map(|i| (values[i] - middle) * (values[i + lag] - middle)).sum::<f64>();
        products / ((n - lag) as f64 * spread)
    };
    let all: Vec<f64> = (0..=n / 2).map(correlation).collect();
    let negative = all.iter().position(|r| *r < 0.0)?;
    let own: f64 = all[1..negative].iter().map(|r| r * r).sum();
    let is_peak = |lag: &usize| all[*lag] >= all[lag - 1] && all[*lag] >= all[lag + 1];
    let peak = (negative + 1..n / 2).filter(is_peak).max_by(|a, b| all[*a].total_cmp(&all[*b]))?;
    // Multiples of a period peak as well: the first that is nearly as high.
    let first = (negative + 1..=peak).find(|lag| all[*lag] >= all[peak] * 0.9 && is_peak(lag))?;
    let error = ((1.0 + 2.0 * own) / (n - first) as f64).sqrt();
    (all[first] >= CYCLE_CORRELATION_MIN.max(CYCLE_ERRORS_MIN * error)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every way to cut, by recursion over the last stretch: slow, and nothing pruned.
    fn least(costs: &Costs, end: usize, known: &mut Vec<Option<f64>>) -> f64 {
        if end == 0 {
            return 0.0;
        }
        if let Some(cost) = known[end] {
            return cost;
        }
        let price = PENALTY * ((known.len() - 1) as f64).ln();
        let starts = (0..=end.saturating_sub(LENGTH_MIN)).filter(|start| *start == 0 || *start >= LENGTH_MIN);
        let cost = starts
            .filter(|start| end - start >= LENGTH_MIN)
            .map(|start| {
                least(costs, start, known) + costs.of_stretch(start..end) + if start > 0 { price } else { 0.0 }
            })
            .fold(f64::INFINITY, f64::min);
        known[end] = Some(cost);
        cost
    }

    fn cost_of(costs: &Costs, cuts: &[usize], n: usize) -> f64 {
        let bounds: Vec<usize> = [&[0], cuts, &[n]].concat();
        let stretches: f64 = bounds.windows(2).map(|pair| costs.of_stretch(pair[0]..pair[1])).sum();
        stretches + cuts.len() as f64 * PENALTY * (n as f64).ln()
    }

    proptest! {
        #[test]
        fn no_other_way_to_cut_is_better(
            levels in prop::collection::vec((5_usize..15, 0.0..100.0_f64, 0.01..3.0_f64), 1..6),
            noise in prop::collection::vec(-1.0..1.0_f64, 80),
        ) {
            let lengths = levels.iter().flat_map(|(length, level, spread)| (0..*length).map(move |_| (*level, *spread)));
            let values: Vec<f64> = lengths.zip(&noise).map(|((level, spread), noise)| level + spread * noise).collect();
            let costs = Costs::of(&values);
            let cuts = change_points(&values);
            let bounds: Vec<usize> = [&[0], &*cuts, &[values.len()]].concat();
            prop_assert!(bounds.windows(2).all(|pair| pair[1] - pair[0] >= LENGTH_MIN));
            let found = cost_of(&costs, &cuts, values.len());
            let best = least(&costs, values.len(), &mut vec![None; values.len() + 1]);
            prop_assert!((found - best).abs() <= 1e-6 * best.abs().max(1.0), "{} against {}", found, best);
        }

        #[test]
        fn no_series_breaks_it(values in prop::collection::vec(prop_oneof![0.0..1e9_f64, Just(0.0), Just(f64::NAN)], 0..400)) {
            let _ = course(&values, 0.03);
        }
    }

    #[test]
    fn a_single_outlier_is_no_change() {
        let mut values: Vec<f64> = (0..60).map(|i| 100.0 + f64::from(i * 7 % 5)).collect();
        values[31] = 5.0;
        assert_eq!(course(&values, 0.03), Course::Steady);
        values[32] = 5.0;
        assert_eq!(without_single_outliers(&values)[31..33], [5.0, 5.0], "two are company");
    }
}
