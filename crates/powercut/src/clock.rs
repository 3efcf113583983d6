//! How far the disk's clock is ahead of the load's, when the two are in different kernels: a span, which is certain, and no figure.
//!
//! Asked of the disk between two looks at the own clock, its answer belongs to some moment between them. What is dated with it
//! is dated so that no loss is made up: an acknowledgement not before it came, a try not after it was made.

use crate::ack_log::Attempt;

/// The other clock minus ours, in nanoseconds, is between these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    least_nanoseconds: i128,
    most_nanoseconds: i128,
}

impl Ahead {
    /// From one question: when it was asked and answered by our clock, and what the other said.
    pub fn of(asked_nanoseconds: u64, said_nanoseconds: u64, answered_nanoseconds: u64) -> Ahead {
        let [asked, said, answered] = [asked_nanoseconds, said_nanoseconds, answered_nanoseconds].map(i128::from);
        Ahead { least_nanoseconds: said - answered, most_nanoseconds: said - asked }
    }

    /// How much is not known.
    pub fn width_nanoseconds(&self) -> u64 {
        u64::try_from(self.most_nanoseconds - self.least_nanoseconds).unwrap_or(u64::MAX)
    }

    /// What holds at both times and, where the clocks drift apart evenly, between them.
    pub fn and_later(&self, later: &Ahead) -> Ahead {
        Ahead {
            least_nanoseconds: self.least_nanoseconds.min(later.least_nanoseconds),
            most_nanoseconds: self.most_nanoseconds.max(later.most_nanoseconds),
        }
    }

    /// An attempt by the other clock: tried as early and acknowledged as late as can be. A loss in the time that is not known is
    /// missed so; the other way round, a commit would be called lost that nobody had been told of.
    pub fn date(&self, attempt: &Attempt) -> Attempt {
        let shifted = |at: u64, by: i128| u64::try_from(i128::from(at) + by).unwrap_or_default();
        let tried_nanoseconds = shifted(attempt.tried_nanoseconds, self.least_nanoseconds);
        let acknowledged_nanoseconds = attempt.acknowledged_nanoseconds.map(|at| shifted(at, self.most_nanoseconds));
        Attempt { tried_nanoseconds, acknowledged_nanoseconds, ..*attempt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Two clocks, one ahead of the other by what changes evenly; questions whose answers take their time on both ways.
        #[test]
        fn no_acknowledgement_is_dated_too_early_and_no_try_too_late(
            ahead in 0u64..1 << 40,
            drift in -1000i64..1000,
            ways in [0u64..1_000_000, 0u64..1_000_000, 0u64..1_000_000, 0u64..1_000_000],
            moment in 2_000_000u64..1_000_000_000,
        ) {
            let end = 1_000_000_000u64;
            let other = |at: u64| (at + ahead).checked_add_signed(drift * at as i64 / end as i64).expect("small");
            let question = |asked: u64, to: u64, back: u64| Ahead::of(asked, other(asked + to), asked + to + back);
            let all = question(0, ways[0], ways[1]).and_later(&question(end, ways[2], ways[3]));
            let attempt = Attempt { stream: 0, number: 1, tried_nanoseconds: moment, acknowledged_nanoseconds: Some(moment) };
            let dated = all.date(&attempt);
            // Rounding of the test's own drift.
            prop_assert!(dated.tried_nanoseconds <= other(moment) + 1);
            prop_assert!(dated.acknowledged_nanoseconds.expect("it was") + 1 >= other(moment));
            prop_assert!(dated.acknowledged_nanoseconds.expect("it was") - dated.tried_nanoseconds == all.width_nanoseconds());
        }
    }

    #[test]
    fn what_was_not_acknowledged_stays_so() {
        let attempt = Attempt { stream: 3, number: 9, tried_nanoseconds: 50, acknowledged_nanoseconds: None };
        let dated = Ahead::of(10, 1000, 20).date(&attempt);
        assert_eq!(dated, Attempt { tried_nanoseconds: 1030, ..attempt });
        assert_eq!(Ahead::of(10, 1000, 20).width_nanoseconds(), 10);
    }
}
