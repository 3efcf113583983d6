//! How much a rate strays from second to second: its Allan variance at several lengths, and the noise that this fits.
//!
//! The difference of neighbouring averages asks for no mean of all time, which half a minute does not know.

use crate::machine_noise::MachineNoise;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// By how much an average of this length differs from its neighbour, divided by √2: the Allan deviation, a fraction of the mean.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Spread {
    /// Length of an average.
    pub seconds: f64,
    /// The Allan deviation.
    pub spread: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether the noise that was fitted says so, as the series is too short to show it.
    pub is_extrapolated: bool,
}

/// A rate that was sampled in slices of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Of each slice; above 0.
    pub rates: Vec<f64>,
    /// Its length.
    pub slice_seconds: f64,
}

/// What a series says of the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The noise that is likeliest.
    pub best: MachineNoise,
    /// All that a likelihood ratio test at 5 % does not reject; the best is one of them.
    likely: Vec<MachineNoise>,
    /// The series is so long.
    seconds: f64,
    slice_seconds: f64,
}

/// The shortest averages that are fitted, in slices: how a rate strays in less, by single events, is another matter than what turns meet.
const FITTED_SLICES_MIN: usize = 4;
/// Fewer slices tell nothing.
const SLICES_MIN: usize = 12;
/// An average of which the series has fewer is not taken for measured.
const AVERAGES_MIN: usize = 3;
/// Noise that lasts longer than so many times the series looks like a trend, whatever it is.
const CORRELATION_MAX: f64 = 10.0;
/// What a noise is made of.
const PARAMETERS: usize = 3;
/// Steps of the search in each direction.
const STEPS: u32 = 28;
/// The 95 % quantile of chi-square with as many degrees of freedom as parameters: a likelihood ratio above it is rejected.
const REJECTED: f64 = 7.815;

/// An Allan variance and how many degrees of freedom it has.
struct Estimate {
    seconds: f64,
    variance: f64,
    freedom: f64,
}

impl Series {
    /// Its length.
    pub fn seconds(&self) -> f64 {
        self.rates.len() as f64 * self.slice_seconds
    }

    /// The spread at this length as measured, with the chi-square interval of its degrees of freedom. None: the series is too short.
    pub fn spread(&self, seconds: f64) -> Option<Spread> {
        let estimate = self.estimate((seconds / self.slice_seconds).round() as usize)?;
        let of_quantile = |share: f64| {
            let quantile = ChiSquared::new(estimate.freedom).ok()?.inverse_cdf(share);
            Some((estimate.variance * estimate.freedom / quantile).sqrt())
        };
        let (low, high) = (of_quantile(0.975)?, of_quantile(0.025)?);
        Some(Spread { seconds, spread: estimate.variance.sqrt(), low, high, is_extrapolated: false })
    }

    /// The overlapping Allan variance of averages over so many slices. Its degrees of freedom are those of white noise or of a random walk,
    /// whichever are fewer (Riley, "Handbook of frequency stability analysis", NIST SP 1065, 5.4.1).
    fn estimate(&self, slices: usize) -> Option<Estimate> {
        let count = self.rates.len();
        if slices == 0 || count < SLICES_MIN || count < AVERAGES_MIN * slices {
            return None;
        }
        let mean = self.rates.iter().sum::<f64>() / count as f64;
        let mut sums = vec![0.0];
        self.rates.iter().for_each(|rate| sums.push(sums[sums.len() - 1] + rate / mean));
        let differences = (0..=count - 2 * slices).map(|at| sums[at + 2 * slices] - 2.0 * sums[at + slices] + sums[at]);
        let square_mean = differences.map(|d| d * d).sum::<f64>() / (count - 2 * slices + 1) as f64;
        let (n, m) = ((count + 1) as f64, slices as f64);
        let of_white = (1.5 * (n - 1.0) / m - 2.0 * (n - 2.0) / n) * 4.0 * m * m / (4.0 * m * m + 5.0);
        let of_walk = (n - 2.0) / m * ((n - 1.0).powi(2) - 3.0 * m * (n - 1.0) + 4.0 * m * m) / (n - 3.0).powi(2);
        let variance = square_mean / (2.0 * m * m);
        (variance > 0.0).then(|| Estimate {
            seconds: m * self.slice_seconds,
            variance,
            freedom: of_white.min(of_walk).max(1.0),
        })
    }

    /// The noise that its Allan variances at 4, 8, 16 … slices fit. Those hardly depend on each other (they are Haar wavelet variances:
    /// Percival and Guttorp, "Long-memory processes, the Allan variance and wavelets", 1994), so that each counts as a chi-square variable of its
    /// own. Where not even the best noise fits, the limits are wider by as much (quasi-likelihood: McCullagh and Nelder, chapter 9).
    pub fn fit(&self) -> Option<Fit> {
        let lengths = std::iter::successors(Some(FITTED_SLICES_MIN), |slices| Some(slices * 2));
        let estimates: Vec<Estimate> = lengths.map_while(|slices| self.estimate(slices)).collect();
        let longest = estimates.last()?;
        let largest = estimates.iter().map(|one| one.variance).fold(0.0, f64::max);
        let times = log_steps(self.slice_seconds, CORRELATION_MAX * self.seconds(), STEPS);
        // The part that lasts, by what it adds to the longest average: how strong it is by itself a short series does not say.
        let added: Vec<f64> = [0.0].into_iter().chain(log_steps(largest * 1e-3, largest * 10.0, STEPS)).collect();
        let points = || times.iter().flat_map(|time| added.iter().map(move |added| (*time, *added)));
        let models = |(time, added): (f64, f64)| white_parts(&estimates, lasting(time, added, longest.seconds));
        let found: Vec<Vec<Point>> = points().map(models).collect();
        let least = |models: &Vec<Point>| models.iter().map(|point| point.deviance).fold(f64::INFINITY, f64::min);
        let nearest = (0..found.len()).min_by(|a, b| least(&found[*a]).total_cmp(&least(&found[*b])))?;
        let (time, strength) = points().nth(nearest)?;
        let finer = near(strength, &added);
        let nearby = near(time, &times).into_iter().flat_map(|time| finer.iter().map(move |added| (time, *added)));
        let all: Vec<Point> = found.into_iter().flatten().chain(nearby.flat_map(models)).collect();
        let best = all.iter().min_by(|a, b| a.deviance.total_cmp(&b.deviance))?;
        let scale = (best.deviance / estimates.len().saturating_sub(PARAMETERS).max(1) as f64).max(1.0);
        let is_likely = |point: &&Point| (point.deviance - best.deviance) / scale <= REJECTED;
        let likely = all.iter().filter(is_likely).map(|point| point.noise).collect();
        Some(Fit { best: best.noise, likely, seconds: self.seconds(), slice_seconds: self.slice_seconds })
    }
}

/// A noise, and how badly it fits.
struct Point {
    deviance: f64,
    noise: MachineNoise,
}

/// Around a value of a grid, up to the next ones.
fn near(value: f64, grid: &[f64]) -> Vec<f64> {
    let step = grid[grid.len() - 1] / grid[grid.len() - 2];
    if value > 0.0 { log_steps(value / step, value * step, 17) } else { vec![0.0] }
}

/// From the first to the last, each the same ratio above the one before.
fn log_steps(first: f64, last: f64, steps: u32) -> Vec<f64> {
    let at = |step: u32| first * (last / first).powf(f64::from(step) / f64::from(steps - 1));
    (0..steps).map(at).collect()
}

/// Noise that lasts so long and adds so much to the Allan variance of averages of this length.
fn lasting(correlation_seconds: f64, added: f64, seconds: f64) -> MachineNoise {
    let unit = MachineNoise { white: 0.0, lasting: 1.0, correlation_seconds };
    MachineNoise { lasting: (added / unit.allan_variance(seconds)).sqrt(), ..unit }
}

/// With this part that lasts, the likeliest white part, and those up to three standard errors from it. By Fisher's scoring: a mean of what is
/// left, weighted by the inverse of its variance.
fn white_parts(estimates: &[Estimate], lasting: MachineNoise) -> Vec<Point> {
    let lasts: Vec<f64> = estimates.iter().map(|one| lasting.allan_variance(one.seconds)).collect();
    // Never quite none, so that no variance is 0.
    let least = estimates[0].variance * estimates[0].seconds * 1e-6;
    let (mut square, mut error) = (estimates[0].variance * estimates[0].seconds, 0.0);
    for _ in 0..12 {
        let (mut above, mut below) = (0.0, 0.0);
        for (one, lasts) in estimates.iter().zip(&lasts) {
            // Twice the square of its mean over its degrees of freedom is the variance of such a variance.
            let weight = one.freedom / 2.0 / (lasts + square / one.seconds).powi(2);
            above += weight * (one.variance - lasts) / one.seconds;
            below += weight / one.seconds.powi(2);
        }
        (square, error) = ((above / below).max(least), below.sqrt().recip());
    }
    let point = |errors: f64| {
        let white = (square + errors * error).max(least).sqrt();
        let noise = MachineNoise { white, ..lasting };
        let deviances = estimates.iter().map(|one| {
            let ratio = one.variance / noise.allan_variance(one.seconds);
            one.freedom * (ratio - 1.0 - ratio.ln())
        });
        Point { deviance: deviances.sum(), noise }
    };
    [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0].map(point).into()
}

impl Fit {
    /// What the noise comes to at this length, and between which limits it may be.
    pub fn spread(&self, seconds: f64) -> Spread {
        let of = |noise: &MachineNoise| noise.allan_variance(seconds).sqrt();
        let (low, high) = range(self.likely.iter().map(of));
        Spread { seconds, spread: of(&self.best), low, high, is_extrapolated: true }
    }

    /// Between which limits the seconds lie that the noise lasts, as far as the series shows them: none below its slices and above its length.
    pub fn correlation_seconds(&self) -> (Option<f64>, Option<f64>) {
        let (low, high) = range(self.likely.iter().map(|noise| noise.correlation_seconds));
        let is_seen = |limit: &f64| *limit > self.slice_seconds && *limit < self.seconds;
        (Some(low).filter(is_seen), Some(high).filter(is_seen))
    }

    /// Whether anything lasts at all, as far as the series shows.
    pub fn has_lasting_part(&self) -> bool {
        self.likely.iter().all(|noise| noise.lasting > 0.0)
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), value| (low.min(value), f64::max(high, value)))
}
