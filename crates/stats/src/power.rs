//! What a study could have seen: the power of a t test (F9), also as the first step of Holm's correction (F18).

use crate::interval::t_quantile;
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

/// The power at which a difference counts as seen.
const POWER: f64 = 0.8;
/// Steps of the integral: with 400 it is right to ten digits from four rounds on (vectors P1 and P4).
const STEPS: u32 = 400;

/// The smallest difference (log scale) that a two-sided t test at this level finds with 80 % power. Of several comparisons the level is
/// that of Holm's first step: the family's over its size.
pub fn minimum_detectable_log(standard_deviation: f64, rounds: usize, level: f64) -> f64 {
    noncentrality(level, rounds - 1) * standard_deviation / (rounds as f64).sqrt()
}

/// The mean of t, in standard errors, at which it is beyond its critical value with the wanted power; by the secant method.
fn noncentrality(level: f64, degrees_of_freedom: usize) -> f64 {
    let critical = t_quantile(1.0 - level / 2.0, degrees_of_freedom);
    let missed = |shift: f64| power(shift, critical, degrees_of_freedom as f64) - POWER;
    let start = critical + t_quantile(POWER, degrees_of_freedom);
    let (mut before, mut now) = ((start * 0.98, missed(start * 0.98)), (start, missed(start)));
    for _ in 0..20 {
        let slope = (now.1 - before.1) / (now.0 - before.0);
        if now.1.abs() < 1e-11 || !slope.is_normal() {
            break;
        }
        let next = now.0 - now.1 / slope;
        (before, now) = (now, (next, missed(next)));
    }
    now.0
}

/// How often |t| is above `critical` where t = (z + shift) / s, with z normal and s² a chi-square over its degrees of freedom: for each s
/// the normal's tails, and s by the trapezoid rule between limits that leave out e⁻³⁰ (Laurent and Massart 2000, lemma 1).
fn power(shift: f64, critical: f64, degrees_of_freedom: f64) -> f64 {
    let half = degrees_of_freedom / 2.0;
    let share = 30.0 / degrees_of_freedom;
    let low = (1.0 - 2.0 * share.sqrt()).max(0.0).sqrt();
    let step = ((1.0 + 2.0 * share.sqrt() + 2.0 * share).sqrt() - low) / f64::from(STEPS);
    let constant = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let above = |z: f64| 0.5 * erfc(z / std::f64::consts::SQRT_2);
    let at = |index: u32| {
        let s = low + f64::from(index) * step;
        let density = (constant + (degrees_of_freedom - 1.0) * s.ln() - half * s * s).exp();
        density * (above(critical * s - shift) + above(critical * s + shift))
    };
    (1..STEPS).map(at).sum::<f64>() * step
}
