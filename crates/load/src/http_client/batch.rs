//! How many events to wait for at a time where they come fast: falling asleep and waking costs as much as two requests.
//!
//! The time after which a batch is given up is a tick of most kernels. For a shorter one the kernel sets the processor's timer in each
//! wait and takes it back, which costs all that batches gain (on a virtual machine, with 200 µs, 7.9 µs a request instead of 7.0). So
//! a batch must not be given up often: where it is again and again, because most answers are slow and a few are fast, events are waited
//! for one by one for longer and longer. A server that stalls once costs one batch.

use std::time::{Duration, Instant};

/// As many events are waited for as come in this time.
const SPAN: Duration = Duration::from_micros(200);

/// Where fewer come in it, each is taken as it comes.
const EVENTS_MIN: usize = 8;

/// The longest that a batch waits for its last event.
pub const TIME_MAX: Duration = Duration::from_millis(4);

/// For so long there is no batch after one that was given up; twice as long after the next, up to the second.
const PAUSE: (Duration, Duration) = (TIME_MAX, Duration::from_millis(400));

/// The last wait's share in the mean of all.
const SHARE: u32 = 8;

/// How fast events come.
pub struct Batch {
    /// Between two events, in the mean; the last ones count most.
    interval: Duration,
    /// Nothing when the last batch filled.
    pause: Duration,
    paused_until: Instant,
}

impl Batch {
    /// One by one, until it is known how fast they come.
    pub fn new(now: Instant) -> Batch {
        Batch { interval: SPAN, pause: Duration::ZERO, paused_until: now }
    }

    /// Events to wait for, of so many that are worth it.
    pub fn events(&self, most: usize, now: Instant) -> usize {
        let fitting = (SPAN.as_nanos() / self.interval.as_nanos().max(1)) as usize;
        if fitting < EVENTS_MIN || now < self.paused_until { 1 } else { fitting.min(most).max(1) }
    }

    /// Some events came, of those that were waited for.
    pub fn learn(&mut self, came: usize, waited_for: usize, began: Instant, now: Instant) {
        if came < waited_for {
            self.pause = (self.pause * 2).clamp(PAUSE.0, PAUSE.1);
            self.paused_until = now + self.pause;
        } else if waited_for > 1 {
            self.pause = Duration::ZERO;
        }
        self.interval = (self.interval * (SHARE - 1) + (now - began) / (came.max(1) as u32)) / SHARE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// A clock, and what is learnt from waits by it.
    struct Waits {
        batch: Batch,
        now: Instant,
    }

    impl Waits {
        fn new() -> Waits {
            let now = Instant::now();
            Waits { batch: Batch::new(now), now }
        }

        /// A wait in which so many came, and what it had waited for.
        fn wait(&mut self, came: usize, took: Duration) -> usize {
            let (began, waited_for) = (self.now, self.batch.events(12, self.now));
            self.now += took;
            self.batch.learn(came, waited_for, began, self.now);
            waited_for
        }

        fn next(&self) -> usize {
            self.batch.events(12, self.now)
        }
    }

    #[test]
    fn fast_events_are_waited_for_together_and_slow_ones_are_not() {
        for (microseconds, expected) in [(1, 12), (19, 10), (24, 8), (26, 1), (5000, 1)] {
            let mut waits = Waits::new();
            assert_eq!(waits.next(), 1);
            for _ in 0..100 {
                let came = waits.next() as u32;
                waits.wait(came as usize, microseconds * came * MICROSECOND);
            }
            assert_eq!(waits.next(), expected, "{microseconds} µs");
        }
    }

    #[test]
    fn a_stall_costs_one_batch() {
        let mut waits = Waits::new();
        (0..50).for_each(|_| _ = waits.wait(12, 120 * MICROSECOND));
        assert_eq!(waits.wait(3, TIME_MAX), 12);
        for _ in 0..30 {
            assert_eq!(waits.next(), 1);
            waits.wait(10, 100 * MICROSECOND);
        }
        (0..50).for_each(|_| _ = waits.wait(12, 120 * MICROSECOND));
        assert_eq!((waits.next(), waits.batch.pause), (12, Duration::ZERO));
    }

    #[test]
    fn slow_answers_on_most_connections_do_not_hold_up_the_fast_ones_on_a_few() {
        for fast in [1, 4, 11] {
            let mut waits = Waits::new();
            let (began, mut in_vain) = (waits.now, Duration::ZERO);
            while waits.now - began < Duration::from_secs(10) {
                let is_in_vain = waits.next() > fast;
                let took = if is_in_vain { TIME_MAX } else { fast as u32 * 10 * MICROSECOND };
                waits.wait(fast, took);
                in_vain += took * u32::from(is_in_vain);
            }
            assert!(in_vain > Duration::ZERO && in_vain < Duration::from_millis(200), "{in_vain:?} of 10 s");
        }
    }
}
