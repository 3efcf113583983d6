//! One contrast over many hosts (F20): what holds on all of them, how far they differ, and what a further one would show.
//!
//! A host is a block of rounds: its figure is the mean of its rounds' contrasts. Hosts are a sample, so the unit is the host: a
//! random-effects mean with the spread between hosts by Paule and Mandel (1982) and the interval by Hartung and Knapp (2001), at hosts − 1
//! degrees of freedom. Where all have equally many rounds that is the plain t over hosts, to the last digit. The spread of rounds is one for
//! all hosts: of a few rounds each, one of its own would be noise.

use crate::interval::{Contrast, RESOLUTION, mean, standard_deviation, t_quantile, two_sided_p};

/// Fewer hosts are no sample: what they show holds for them.
pub const HOSTS_MIN: usize = 4;

/// What hosts show of one contrast, log scale.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct OverHosts {
    /// The mean over hosts. Its count is that of hosts.
    pub contrast: Contrast,
    /// Whether all hosts have equally many rounds.
    pub is_equal: bool,
    /// The standard deviation of what hosts truly show; none where no host has two rounds, so that rounds and hosts can't be told apart.
    pub tau: Option<f64>,
    /// Share of the variation between the hosts' figures that is theirs, and not their rounds'.
    pub i_squared: Option<f64>,
    /// Where the figure of a further host of this kind lies, over as many rounds.
    pub prediction: (f64, f64),
    /// Hosts that lie where, going by all others, none of so many would in 95 % of fleets.
    pub apart: Vec<usize>,
}

/// A contrast over hosts, `rounds[host]` each. None below four hosts with rounds: use [`these_hosts`].
pub fn over_hosts(rounds: &[Vec<f64>], confidence: f64) -> Option<OverHosts> {
    let hosts: Vec<usize> = (0..rounds.len()).filter(|host| !rounds[*host].is_empty()).collect();
    if hosts.len() < HOSTS_MIN {
        return None;
    }
    let means: Vec<f64> = hosts.iter().map(|host| mean(&rounds[*host])).collect();
    let pooled = pooled_variance(rounds);
    let variance = |host: &usize| pooled.unwrap_or(0.0).max(RESOLUTION.powi(2)) / rounds[*host].len() as f64;
    let variances: Vec<f64> = hosts.iter().map(variance).collect();
    let found = RandomEffects::of(&means, &variances);
    Some(OverHosts {
        contrast: found.contrast(confidence),
        is_equal: hosts.iter().all(|host| rounds[*host].len() == rounds[hosts[0]].len()),
        tau: pooled.map(|_| found.tau_squared.sqrt()),
        i_squared: pooled.map(|_| found.i_squared),
        prediction: found.prediction(mean(&variances), confidence),
        apart: apart(&means, &variances, confidence).into_iter().map(|place| hosts[place]).collect(),
    })
}

/// Where every round of a further host of this kind lies: of as many rounds as the host with most of them had, all together (Bonferroni). None
/// below four hosts.
///
/// A round strays by more than the mean of a host's rounds does: what the mean takes off its variance comes back. That part is known by the
/// rounds and not by the hosts; with the hosts' degrees of freedom for both the limits are rather too wide.
pub fn further_rounds(rounds: &[Vec<f64>], confidence: f64) -> Option<(f64, f64)> {
    let most = rounds.iter().map(Vec::len).max()?;
    let level = 1.0 - (1.0 - confidence) / most.max(1) as f64;
    let (low, high) = over_hosts(rounds, level)?.prediction;
    let hosts: Vec<&Vec<f64>> = rounds.iter().filter(|rounds| !rounds.is_empty()).collect();
    // Without a second round anywhere a host's figure is that of a round.
    let variance = pooled_variance(rounds).unwrap_or(0.0);
    let of_means = hosts.iter().map(|rounds| variance / rounds.len() as f64).sum::<f64>() / hosts.len() as f64;
    let t = t_quantile(0.5 + level / 2.0, hosts.len() - 1);
    let half = ((high - low) / 2.0).hypot(t * (variance - of_means).max(0.0).sqrt());
    let middle = f64::midpoint(low, high);
    Some((middle - half, middle + half))
}

/// A contrast over these hosts and no other: their mean, each counted once, and its interval by how rounds stray on them. Each host has a
/// spread of its own, and degrees of freedom are Satterthwaite's (1946; Welch's, for more than two): a host that strays and has few rounds must
/// not be taken for as quiet as one that has many. Its count of rounds is one more than these, rounded down. A host with a single round says nothing
/// of how it strays: it is taken to stray as the one does that strays most, with one degree of freedom. None where all have a single one.
pub fn these_hosts(rounds: &[Vec<f64>], confidence: f64) -> Option<Contrast> {
    let measured: Vec<&Vec<f64>> = rounds.iter().filter(|rounds| !rounds.is_empty()).collect();
    let spread = |rounds: &&&Vec<f64>| rounds.len() > 1;
    let most = measured.iter().filter(spread).map(|rounds| standard_deviation(rounds)).reduce(f64::max)?;
    let count = measured.len() as f64;
    // Of each host's mean, and by its degrees of freedom.
    let deviation = |rounds: &Vec<f64>| if rounds.len() > 1 { standard_deviation(rounds) } else { most };
    let variance = |rounds: &Vec<f64>| deviation(rounds).max(RESOLUTION).powi(2) / rounds.len() as f64;
    let sum: f64 = measured.iter().map(|rounds| variance(rounds)).sum();
    let squares: f64 =
        measured.iter().map(|rounds| variance(rounds).powi(2) / (rounds.len() as f64 - 1.0).max(1.0)).sum();
    // Equal variances make a whole number of it, but for the last bits.
    let degrees = (sum * sum / squares * (1.0 + 1e-9)).floor() as usize;
    let mean = measured.iter().map(|rounds| mean(rounds)).sum::<f64>() / count;
    Some(contrast(mean, sum.sqrt() / count, degrees + 1, confidence))
}

/// How rounds stray on a host, over all hosts.
fn pooled_variance(rounds: &[Vec<f64>]) -> Option<f64> {
    let several = || rounds.iter().filter(|rounds| rounds.len() > 1);
    let squares: f64 = several().map(|rounds| standard_deviation(rounds).powi(2) * (rounds.len() as f64 - 1.0)).sum();
    let degrees: usize = several().map(|rounds| rounds.len() - 1).sum();
    (degrees > 0).then(|| squares / degrees as f64)
}

fn contrast(mean: f64, standard_error: f64, count: usize, confidence: f64) -> Contrast {
    let half = t_quantile(0.5 + confidence / 2.0, count - 1) * standard_error;
    Contrast {
        rounds: count,
        mean,
        standard_deviation: standard_error * (count as f64).sqrt(),
        standard_error,
        low: mean - half,
        high: mean + half,
        p: two_sided_p(mean / standard_error, count - 1),
    }
}

/// A mean of hosts that differ, each figure with the variance of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomEffects {
    /// How many.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// Variance between them (Paule and Mandel).
    pub tau_squared: f64,
    /// Share of their variation that is between them (Higgins and Thompson).
    pub i_squared: f64,
    /// Hartung and Knapp's factor: how far they stray from what variances and tau say. 1 where there is a tau, at most 1 where there is none.
    pub factor: f64,
    /// Sum of the weights.
    weights: f64,
}

impl RandomEffects {
    /// Of at least two figures.
    pub fn of(means: &[f64], variances: &[f64]) -> RandomEffects {
        let degrees = means.len() as f64 - 1.0;
        let fixed = weighted(means, variances, 0.0);
        let tau_squared = paule_mandel(means, variances);
        let Weighted { mean, weights, squares } = weighted(means, variances, tau_squared);
        RandomEffects {
            count: means.len(),
            mean,
            tau_squared,
            i_squared: (1.0 - degrees / fixed.squares).max(0.0),
            factor: squares / degrees,
            weights,
        }
    }

    /// The mean with its interval.
    pub fn contrast(&self, confidence: f64) -> Contrast {
        let error = (self.factor / self.weights).sqrt().max(RESOLUTION / (self.count as f64).sqrt());
        contrast(self.mean, error, self.count, confidence)
    }

    /// Where a further figure with this variance lies.
    pub fn prediction(&self, variance: f64, confidence: f64) -> (f64, f64) {
        let spread = self.factor * (self.tau_squared + variance + 1.0 / self.weights);
        let least = RESOLUTION.powi(2) * (1.0 + 1.0 / self.count as f64);
        let half = t_quantile(0.5 + confidence / 2.0, self.count - 1) * spread.max(least).sqrt();
        (self.mean - half, self.mean + half)
    }
}

struct Weighted {
    mean: f64,
    weights: f64,
    squares: f64,
}

fn weighted(means: &[f64], variances: &[f64], tau_squared: f64) -> Weighted {
    let each = || means.iter().zip(variances).map(|(mean, variance)| (mean, 1.0 / (variance + tau_squared)));
    let weights: f64 = each().map(|(_, weight)| weight).sum();
    let mean = each().map(|(mean, weight)| mean * weight).sum::<f64>() / weights;
    Weighted { mean, weights, squares: each().map(|(value, weight)| weight * (value - mean).powi(2)).sum() }
}

/// The variance between hosts at which they stray as much as they should; 0 where they stray less without any.
fn paule_mandel(means: &[f64], variances: &[f64]) -> f64 {
    let degrees = means.len() as f64 - 1.0;
    let strays_more = |tau_squared: f64| weighted(means, variances, tau_squared).squares > degrees;
    if !strays_more(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, standard_deviation(means).powi(2));
    while strays_more(high) {
        (low, high) = (high, 2.0 * high);
    }
    // As far as numbers go: each step halves.
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if strays_more(middle) { low = middle } else { high = middle }
    }
}

/// Each held against the prediction from all others, at Bonferroni's level.
fn apart(means: &[f64], variances: &[f64], confidence: f64) -> Vec<usize> {
    let level = 1.0 - (1.0 - confidence) / means.len() as f64;
    let without = |values: &[f64], place: usize| [&values[..place], &values[place + 1..]].concat();
    let is_apart = |place: &usize| {
        let others = RandomEffects::of(&without(means, *place), &without(variances, *place));
        let (low, high) = others.prediction(variances[*place], level);
        !(low..=high).contains(&means[*place])
    };
    (0..means.len()).filter(is_apart).collect()
}

/// Half the width of the interval over so many hosts with so many rounds each, log scale: hosts differ by `tau`, rounds on a host stray by
/// `deviation`.
pub fn half_width(hosts: usize, rounds: usize, tau: f64, deviation: f64, confidence: f64) -> f64 {
    let variance = (tau.powi(2) + deviation.powi(2) / rounds as f64) / hosts as f64;
    t_quantile(0.5 + confidence / 2.0, hosts - 1) * variance.sqrt()
}
