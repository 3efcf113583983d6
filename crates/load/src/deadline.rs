//! What a run's deadline does to its figures: over which time a loop has its rate, and what an open loop begins after it.
//!
//! After the deadline a closed loop begins nothing, and each of its connections is done with its last answer. Over the time until the last of them, the rate
//! would count as work that all others wait for the slowest: once a run, so that short runs would be slower than long ones, and the more so the longer
//! the slowest answers take. Over each connection's own time it is neither: a connection stops with the first answer past the deadline, and the sum of the
//! times until then is in the mean their number times the mean time (Wald's identity: On cumulative sums of random variables, Annals of Mathematical Statistics 15, 1944).
//! Without the answers past the deadline each connection would lack half of one, which is much in a second. The same holds of the pause after the last one.
//!
//! An open loop's connections have the whole window, too: over the time until its last answer, a database that holds the rate would have more than that, and the
//! more the sooner it answers.

use std::time::{Duration, Instant};

/// Limits of how long after the deadline of an open loop that is begun which was due before it: as long again as the run, and no longer than a
/// request of HTTP is waited for, where nobody says otherwise. A server far below the rate would have no end of it.
const BACKLOG: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// How long after the deadline of a run of this length.
pub fn backlog_max(window: Duration) -> Duration {
    window.clamp(BACKLOG[0], BACKLOG[1])
}

/// Whether an open loop of a run of this length begins now what was due then. All that was due before the deadline is part of the run, however late it begins: the wait is its latency.
pub fn begins(due: Instant, (deadline, window): (Instant, Duration), now: Instant) -> bool {
    due < deadline && now < deadline + backlog_max(window)
}

/// When the connections of a loop ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ends {
    connections: u64,
    seconds: f64,
}

impl Ends {
    /// Adds a connection: how long it could begin something, and when the last thing that it began had ended. Both from when it could.
    pub fn add(&mut self, window: Duration, last: Duration) {
        self.connections += 1;
        self.seconds += last.max(window).as_secs_f64();
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: Ends) {
        self.connections += other.connections;
        self.seconds += other.seconds;
    }

    /// The time that the rate of all connections is over; none: there are none.
    pub fn mean_seconds(&self) -> Option<f64> {
        (self.connections > 0).then(|| self.seconds / self.connections as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;

    const CONNECTIONS: u64 = 25;

    /// Answers of 2 ms, of which one in 5,000 takes 500 ms.
    fn answer(random: &mut Random) -> Duration {
        Duration::from_millis(if random.below(5000) == 0 { 500 } else { 2 })
    }

    /// What all turns answered, over the sum of their times: by each connection's own end, and by the end of the last.
    fn rates(turns: u64, window: Duration, random: &mut Random) -> (f64, f64) {
        let (mut answers, mut by_own, mut by_last) = (0, 0.0, 0.0);
        for _ in 0..turns {
            let (mut ends, mut slowest) = (Ends::default(), window);
            for _ in 0..CONNECTIONS {
                let mut last = Duration::ZERO;
                while last < window {
                    last += answer(random);
                    answers += 1;
                }
                ends.add(window, last);
                slowest = slowest.max(last);
            }
            by_own += ends.mean_seconds().expect("there are connections");
            by_last += slowest.as_secs_f64();
        }
        (answers as f64 / by_own, answers as f64 / by_last)
    }

    #[test]
    fn short_turns_and_long_ones_have_the_same_rate() {
        let random = &mut Random::new(1);
        let (short, short_by_last) = rates(600, Duration::from_secs(1), random);
        let (long, long_by_last) = rates(20, Duration::from_secs(30), random);
        let expected = CONNECTIONS as f64 / (0.002 + 0.498 / 5000.0);
        assert!((short / expected - 1.0).abs() < 0.01, "{short} instead of {expected}");
        assert!((long / expected - 1.0).abs() < 0.01, "{long} instead of {expected}");
        // By the end of the last one, turns of a second cost a sixth.
        assert!(short_by_last / long_by_last < 0.88, "{short_by_last} and {long_by_last}");
    }

    #[test]
    fn a_connection_that_was_done_before_the_windows_end_had_all_of_it() {
        let (mut ends, mut other) = (Ends::default(), Ends::default());
        assert_eq!(ends.mean_seconds(), None);
        let window = Duration::from_secs(2);
        ends.add(window, Duration::from_secs(1));
        other.add(window, Duration::from_secs(5));
        ends.merge(other);
        assert_eq!(ends.mean_seconds(), Some(3.5));
    }

    #[test]
    fn what_was_due_before_the_deadline_is_begun_after_it_and_not_for_ever() {
        let deadline = Instant::now() + Duration::from_secs(100);
        let run = (deadline, Duration::from_secs(10));
        let [before, after] = [Duration::from_secs(1), Duration::from_secs(2)].map(|by| (deadline - by, deadline + by));
        assert!(begins(before.0, run, before.0) && begins(after.0, run, after.1));
        assert!(!begins(deadline, run, before.1) && !begins(before.1, run, after.1));
        assert!(!begins(before.0, run, deadline + run.1));
        let seconds = [0.2, 5.0, 600.0].map(|seconds| backlog_max(Duration::from_secs_f64(seconds)).as_secs_f64());
        assert_eq!(seconds, [1.0, 5.0, 30.0]);
    }
}
