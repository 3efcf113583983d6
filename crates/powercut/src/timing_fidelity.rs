//! Whether a disk answered when its profile says: the figures of a load on one that did not are this machine's and not the drive's.
//!
//! Pure: who serves the disk tells of each request when it came, was due and was answered.

use observe::latency::Latency;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One request in a hundred may be later than this share of a request's mean time; beyond it no figure is the drive's.
pub const LATE_SHARE_MAX: f64 = 0.02;

/// What is kept of the requests while they are answered.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    late: Latency,
    taken_nanoseconds: u128,
}

/// When the timestamps of a request were, in nanoseconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// It came.
    pub came: u64,
    /// The drive is done with it.
    pub due: u64,
    /// The host was told, not before it was due.
    pub answered: u64,
}

/// How far a disk kept to its profile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimingFidelity {
    /// How many requests were answered.
    pub requests: u64,
    /// From a request's coming to when it was due, by the profile, what waits in the drive included.
    pub request_nanoseconds_mean: f64,
    /// From when it was due to its answer, the 99th percentile.
    pub late_nanoseconds_p99: u64,
}

impl Tally {
    /// Counts a request.
    pub fn add(&mut self, timestamps: Timestamps) {
        self.late.record(Duration::from_nanos(timestamps.answered.saturating_sub(timestamps.due)));
        self.taken_nanoseconds += u128::from(timestamps.due.saturating_sub(timestamps.came));
    }

    /// What came of it; none without a request.
    pub fn timing_fidelity(&self) -> Option<TimingFidelity> {
        let requests = self.late.count();
        (requests > 0).then(|| TimingFidelity {
            requests,
            request_nanoseconds_mean: self.taken_nanoseconds as f64 / requests as f64,
            late_nanoseconds_p99: self.late.histogram().value_at_quantile(0.99),
        })
    }
}

impl TimingFidelity {
    /// What may be late, in nanoseconds.
    pub fn late_nanoseconds_max(&self) -> f64 {
        LATE_SHARE_MAX * self.request_nanoseconds_mean
    }

    /// Whether a load on it has met the drive that is imitated.
    pub fn is_kept(&self) -> bool {
        self.late_nanoseconds_p99 as f64 <= self.late_nanoseconds_max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Requests of so many nanoseconds each, with how late each was answered.
    fn of(requests: impl IntoIterator<Item = (u64, u64)>) -> TimingFidelity {
        let mut tally = Tally::default();
        let mut came = 0;
        for (takes, late) in requests {
            let due = came + takes;
            tally.add(Timestamps { came, due, answered: due + late });
            came = due + late + 1000;
        }
        tally.timing_fidelity().expect("there were some")
    }

    #[test]
    fn without_requests_nothing_is_said() {
        assert_eq!(Tally::default().timing_fidelity(), None);
    }

    #[test]
    fn one_in_a_hundred_may_be_late_and_two_may_not() {
        let (takes, late) = (1_000_000, 30_000);
        let requests = |late_ones: usize| of((0..1000).map(|one| (takes, if one < late_ones { late } else { 10_000 })));
        let kept = requests(10);
        assert_eq!((kept.requests, kept.request_nanoseconds_mean, kept.late_nanoseconds_max()), (1000, 1e6, 20_000.0));
        assert!(kept.is_kept(), "{kept:?}");
        let missed = requests(11);
        assert!(!missed.is_kept() && missed.late_nanoseconds_p99 >= late, "{missed:?}");
    }

    /// What a write into the cache takes is not what a commit takes: the mean of all requests counts.
    #[test]
    fn writes_into_the_cache_and_their_flushes_count_together() {
        let commit = |late| [(100_000, late), (8_300_000, late)];
        assert!(of((0..100).flat_map(|_| commit(80_000))).is_kept());
        assert!(!of((0..100).flat_map(|_| commit(90_000))).is_kept());
    }

    proptest! {
        #[test]
        fn a_drive_that_is_slower_by_a_factor_may_be_later_by_it(
            all in proptest::collection::vec((50u64..100_000, 1u64..10_000), 1..50), factor in 2u64..50,
        ) {
            let slower = of(all.iter().map(|(takes, late)| (takes * factor, late * factor)));
            let (one, other) = (of(all).late_nanoseconds_p99 as f64 * factor as f64, slower.late_nanoseconds_p99 as f64);
            // Three significant digits are kept.
            prop_assert!((one / other - 1.0).abs() < 0.003, "{one} {other}");
        }
    }
}
