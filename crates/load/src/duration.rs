//! Durations of settings: any number of seconds is one, and can be added to a moment.

use observe::latency::Latency;
use std::time::Duration;

/// Longer than any run: a century.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A number of seconds; what is longer than a century, or no time at all, is a century.
pub fn of_seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).map_or(LONGEST, |duration| duration.min(LONGEST))
}

/// From the start until this request, or transaction, of an open loop, the first being number 0.
pub fn until(number: u64, per_second: f64) -> Duration {
    // 0 / 0 is not met: a rate of 0 is a closed loop.
    of_seconds(number as f64 / per_second)
}

/// Does something, and counts how long it took where it was done.
///
/// # Errors
/// Those of what is done.
#[inline]
pub fn timed<T, E>(latency: &mut Latency, act: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let began = std::time::Instant::now();
    let done = act()?;
    latency.record(began.elapsed());
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Instant;

    proptest! {
        #[test]
        fn any_number_gives_a_time_that_can_be_added(seconds in any::<f64>(), number in any::<u64>()) {
            let _ = Instant::now() + of_seconds(seconds) + until(number, seconds);
        }
    }

    #[test]
    fn a_rate_that_is_hardly_one_is_a_long_wait() {
        assert_eq!([0, 1].map(|number| until(number, 1e-300)), [Duration::ZERO, LONGEST]);
        assert_eq!(until(3, 2.0), Duration::from_millis(1500));
    }
}
