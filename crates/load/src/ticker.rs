//! Once a second: says how fast it goes and keeps the rate of each second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Counts into rates, one a second.
pub struct Ticker {
    started: Instant,
    counted: u64,
    rates: Vec<f64>,
}

impl Ticker {
    /// The window begins.
    pub fn start(started: Instant) -> Ticker {
        Ticker { started, counted: 0, rates: Vec::new() }
    }

    /// When [`Ticker::tick`] is to be called next.
    pub fn due(&self) -> Instant {
        self.started + SECOND * (self.rates.len() as u32 + 1)
    }

    /// A second or more has passed and `count` operations are done since the window began. Seconds that were missed,
    /// because one operation took longer, count as seconds in which nothing was done.
    pub fn tick(&mut self, now: Instant, count: u64, progress: &mut dyn FnMut(f64, f64)) {
        let mut rate = (count - self.counted) as f64;
        self.counted = count;
        while self.due() <= now {
            self.rates.push(rate);
            progress(self.rates.len() as f64, rate);
            rate = 0.0;
        }
    }

    /// Ticks until the threads of a load have ended, and looks that often whether they have; gives the rate of each second.
    pub fn watch(
        mut self,
        look: Duration,
        mut have_ended: impl FnMut() -> bool,
        count: &AtomicU64,
        progress: &mut dyn FnMut(f64, f64),
    ) -> Vec<f64> {
        while !have_ended() {
            let now = Instant::now();
            if now >= self.due() {
                self.tick(now, count.load(Ordering::Relaxed), progress);
            }
            std::thread::sleep(self.due().saturating_duration_since(Instant::now()).min(look));
        }
        self.rates
    }

    /// The rate of each whole second.
    pub fn rates(self) -> Vec<f64> {
        self.rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_seen_as_seconds_without_work() {
        let started = Instant::now();
        let mut ticker = Ticker::start(started);
        let mut said = Vec::new();
        let mut say = |second, rate| said.push((second, rate));
        ticker.tick(started + Duration::from_millis(1001), 10, &mut say);
        ticker.tick(started + Duration::from_millis(4500), 15, &mut say);
        assert_eq!(said, [(1.0, 10.0), (2.0, 5.0), (3.0, 0.0), (4.0, 0.0)]);
        assert_eq!(ticker.rates(), [10.0, 5.0, 0.0, 0.0]);
    }
}
