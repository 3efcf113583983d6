//! How a machine's speed strays from second to second, as a model of two parts, and what that does to scenarios that take turns.
//!
//! The first part is white: an average over T seconds strays by it with a variance of `white`² / T. The other lasts: a
//! first-order autocorrelated (Gauss-Markov) process, whose correlation falls by e in `correlation_seconds`. All are fractions of the mean.

/// White noise and a part that lasts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct MachineNoise {
    /// Standard deviation of an average over one second by the white part alone.
    pub white: f64,
    /// Standard deviation of the part that lasts.
    pub lasting: f64,
    /// How long it lasts.
    pub correlation_seconds: f64,
}

impl MachineNoise {
    /// Variance of an average over so many seconds around the mean of all time. The part that lasts: 2 (x − 1 + e⁻ˣ) / x², x = T / τ
    /// (Papoulis, "Probability, random variables and stochastic processes", on ergodicity of the mean).
    pub fn variance_of_average(&self, seconds: f64) -> f64 {
        let x = seconds / self.correlation_seconds;
        // The formula loses digits where x is small: there its series.
        let share = if x < 1e-2 { 1.0 - x / 3.0 + x * x / 12.0 } else { 2.0 * (x + (-x).exp_m1()) / (x * x) };
        self.white.powi(2) / seconds + self.lasting.powi(2) * share
    }

    /// Covariance of two averages over so many seconds, the second of which begins `gap` seconds after the first one's end.
    pub fn covariance(&self, seconds: f64, gap: f64) -> f64 {
        let x = seconds / self.correlation_seconds;
        let share = if x < 1e-2 { 1.0 - x / 2.0 + x * x / 6.0 } else { -(-x).exp_m1() / x };
        (self.lasting * share).powi(2) * (-gap / self.correlation_seconds).exp()
    }

    /// Half the mean square of the difference of neighbouring averages (Allan, "Statistics of atomic frequency standards", 1966); of a
    /// Gauss-Markov process as in IEEE Std 952, annex C.
    pub fn allan_variance(&self, seconds: f64) -> f64 {
        self.variance_of_average(seconds) - self.covariance(seconds, 0.0)
    }

    /// Variance of the difference of two scenarios' averages over a round, the mean over all pairs, where `order` says whose turn it is,
    /// one after the other. An exact sum over the covariances of all turns.
    pub fn contrast_variance(&self, order: &[usize], turns: &Turns) -> f64 {
        let scenarios = order.iter().max().map_or(0, |last| last + 1);
        if scenarios < 2 {
            return 0.0;
        }
        let mut counts = vec![0.0; scenarios];
        order.iter().for_each(|scenario| counts[*scenario] += 1.0);
        let weights = |wanted: Option<usize>| {
            let of = |scenario: &usize| {
                if wanted.is_none_or(|one| one == *scenario) { 1.0 / counts[*scenario] } else { 0.0 }
            };
            order.iter().map(of).collect::<Vec<f64>>()
        };
        // The squares of all pairs' differences are k times the sum of squares, less the square of the sum.
        let k = scenarios as f64;
        let alone: f64 = (0..scenarios).map(|scenario| self.variance_of_sum(&weights(Some(scenario)), turns)).sum();
        let together = self.variance_of_sum(&weights(None), turns);
        (k * alone - together) * 2.0 / (k * (k - 1.0))
    }

    /// Variance of a weighted sum of turns that follow each other. The covariance falls by the same factor from turn to turn, so that one
    /// pass is enough.
    fn variance_of_sum(&self, weights: &[f64], turns: &Turns) -> f64 {
        let (own, next) =
            (self.variance_of_average(turns.seconds), self.covariance(turns.seconds, turns.seconds_between));
        let fall = (-(turns.seconds + turns.seconds_between) / self.correlation_seconds).exp();
        let (mut sum, mut before) = (0.0, 0.0);
        for weight in weights {
            sum += weight * (weight * own + 2.0 * before * next);
            before = before * fall + weight;
        }
        sum
    }
}

/// How turns follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turns {
    /// Length of a turn.
    pub seconds: f64,
    /// From the end of one to the begin of the next.
    pub seconds_between: f64,
}
