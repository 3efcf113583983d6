//! Pieces (turns, or runs) that are far slower than their like: a scenario with a slow mode, or one that stalls, may have another's mean and
//! is not the same (F19).

use statrs::distribution::{Beta, ContinuousCDF as _};

/// A piece is slow below this share of the median speed, or above its inverse of the median time.
const SLOW: f64 = 0.5;
/// One slow piece is an accident.
const SLOW_MIN: usize = 2;
/// Of the interval of a share.
const CONFIDENCE: f64 = 0.95;

/// How often a scenario is slow, and how slow.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct SlowMode {
    /// Slow pieces.
    pub slow: usize,
    /// Of so many.
    pub of: usize,
    /// Lower end of the share's interval (Clopper and Pearson 1934).
    pub low: f64,
    /// Upper end: of none seen, what may have been missed.
    pub high: f64,
    /// Speed of the slowest, by the median: 0 is a standstill.
    pub worst: f64,
}

impl SlowMode {
    /// Of a scenario's pieces; none without any.
    pub fn of(pieces: &[f64], more_is_better: bool) -> Option<SlowMode> {
        if pieces.is_empty() {
            return None;
        }
        let moving: Vec<f64> = pieces.iter().copied().filter(|piece| *piece > 0.0).collect();
        // Where most pieces stand still, the others say what is normal.
        let median = match crate::interval::median(pieces) {
            median if median > 0.0 || moving.is_empty() => median,
            _ => crate::interval::median(&moving),
        };
        let speed = |piece: &f64| if more_is_better { piece / median } else { median / piece };
        let speeds: Vec<f64> = pieces.iter().map(speed).filter(|speed| !speed.is_nan()).collect();
        let slow = speeds.iter().filter(|speed| **speed < SLOW).count();
        Some(SlowMode::counted(slow, pieces.len(), speeds.into_iter().fold(1.0, f64::min)))
    }

    /// Of several scenarios together; none without any.
    pub fn together(all: &[SlowMode]) -> Option<SlowMode> {
        let worst = all.iter().map(|one| one.worst).reduce(f64::min)?;
        let sum = |count: fn(&SlowMode) -> usize| all.iter().map(count).sum();
        Some(SlowMode::counted(sum(|one| one.slow), sum(|one| one.of), worst))
    }

    fn counted(slow: usize, of: usize, worst: f64) -> SlowMode {
        let (low, high) = clopper_pearson(slow, of, CONFIDENCE);
        SlowMode { slow, of, low, high, worst }
    }

    /// Share of the pieces that are slow.
    pub fn share(&self) -> f64 {
        self.slow as f64 / self.of.max(1) as f64
    }

    /// Whether it is slow more often than another: its share's interval leaves out the other's share.
    fn is_more_than(&self, other: &SlowMode) -> bool {
        self.slow >= SLOW_MIN && self.low > other.share()
    }

    /// Whether one of two is slow more often, so that their means alone say neither "the same" nor "faster".
    pub fn differs_from(&self, other: &SlowMode) -> bool {
        self.is_more_than(other) || other.is_more_than(self)
    }
}

/// The exact interval of a share, of `count` in `of`.
pub fn clopper_pearson(count: usize, of: usize, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let (hits, misses) = (count as f64, (of - count) as f64);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(p));
    let low = if count == 0 { 0.0 } else { quantile(hits, misses + 1.0, tail) };
    let high = if count == of { 1.0 } else { quantile(hits + 1.0, misses, 1.0 - tail) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, DiscreteCDF as _};

    /// By its definition: at either end, what was seen or more extreme has the probability of a tail.
    #[test]
    fn the_ends_of_a_share_leave_a_tail_each() {
        for (count, of) in [(1, 6), (2, 48), (5, 48), (47, 48), (30, 200)] {
            let (low, high) = clopper_pearson(count, of, 0.95);
            let at_most = |share, count: usize| Binomial::new(share, of as u64).expect("a share").cdf(count as u64);
            assert!((1.0 - at_most(low, count - 1) - 0.025).abs() < 1e-6, "{count} of {of}: {low}");
            assert!((at_most(high, count) - 0.025).abs() < 1e-6, "{count} of {of}: {high}");
        }
        let (low, high) = clopper_pearson(0, 48, 0.95);
        assert!(low == 0.0 && (high - (1.0 - 0.025_f64.powf(1.0 / 48.0))).abs() < 1e-9, "{high}");
        assert_eq!(clopper_pearson(6, 6, 0.95).1, 1.0);
    }

    #[test]
    fn what_is_slow_is_counted_by_speed() {
        let steady = SlowMode::of(&[10.0; 20], true).expect("pieces");
        let mut pieces = [10.0; 20];
        pieces[..3].copy_from_slice(&[4.0, 0.0, 2.0]);
        let stalls = SlowMode::of(&pieces, true).expect("pieces");
        assert_eq!((stalls.slow, stalls.of, stalls.worst), (3, 20, 0.0));
        assert!(stalls.differs_from(&steady) && steady.differs_from(&stalls) && !stalls.differs_from(&stalls));
        let times = SlowMode::of(&[1.0, 1.0, 1.0, 2.5], false).expect("pieces");
        assert_eq!((times.slow, times.worst), (1, 0.4));
        assert!(!times.differs_from(&steady), "one is an accident");
        assert_eq!(SlowMode::of(&[0.0; 5], true).map(|all| all.slow), Some(0), "of zeros alone nothing stands out");
        let rarely = SlowMode::of(&[0.0, 0.0, 0.0, 5.0, 6.0], true).expect("pieces");
        assert_eq!((rarely.slow, rarely.worst), (3, 0.0), "what stands still most of the time is slow");
        assert!(SlowMode::of(&[], true).is_none());
    }
}
