//! How long trials took together.

/// Seconds in which any of these was under way, from its start to its end. Those that take turns are so at the same time, which counts once.
pub fn seconds_up(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut seconds, mut until) = (0.0, f64::NEG_INFINITY);
    for (started, ended) in spans {
        seconds += (ended - started.max(until)).max(0.0);
        until = until.max(ended);
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight trials that took turns for six minutes had been 48 minutes "of trials".
    #[test]
    fn trials_that_take_turns_take_their_time_once() {
        assert_eq!(seconds_up(vec![(10.0, 20.0), (0.0, 5.0), (0.1, 5.0), (12.0, 14.0), (19.0, 25.0)]), 20.0);
        assert_eq!(seconds_up(Vec::new()).to_bits(), 0.0_f64.to_bits());
        // A clock that was put back.
        assert_eq!(seconds_up(vec![(9.0, 3.0)]), 0.0);
    }
}
