//! A timer that is always due soon and never ends, for reads and writes that wait for the device.
//!
//! On an idle virtual machine a loop of nothing but `pread`, past the page cache and one at a time, took 22.6 µs of CPU time each, as
//! ours did, and fio's 19.3: fio has a thread that wakes a hundred times a second. With such a thread that loop took 19.2 µs, with one that
//! wakes after 3 ms 17.0, and with one on another processor 22.7 (medians of 7 turns, 2026-11-24). The guest kernel does the same
//! in all cases: no more interrupts, no more settings of its timer. So it is likely how deep the processor, or the host's, sleeps in the
//! 40 µs between: that goes by the next timer, and what wakes from a deep sleep finds its caches empty.

use std::time::{Duration, Instant};

/// When the timer is due; it is set anew after half of it.
const DUE: Duration = Duration::from_millis(3);

/// The timer, on the processor that the calling thread is on.
pub struct Wakeful {
    timer: Option<Timer>,
    set_next: Instant,
}

impl Wakeful {
    /// Where the system has no such timer, it does nothing.
    pub fn new(now: Instant) -> Wakeful {
        Wakeful { timer: timer(), set_next: now }
    }

    /// To be called after each I/O.
    pub fn keep(&mut self, now: Instant) {
        if now >= self.set_next {
            self.set_next = now + DUE / 2;
            self.timer.as_ref().inspect(|timer| set(timer));
        }
    }
}

#[cfg(target_os = "linux")]
use nix::sys::timerfd::TimerFd as Timer;

#[cfg(target_os = "linux")]
fn timer() -> Option<Timer> {
    use nix::sys::timerfd::{ClockId, TimerFlags};
    Timer::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC).ok()
}

#[cfg(target_os = "linux")]
fn set(timer: &Timer) {
    use nix::sys::timerfd::{Expiration, TimerSetTimeFlags};
    let _ = timer.set(Expiration::OneShot(DUE.into()), TimerSetTimeFlags::empty());
}

#[cfg(not(target_os = "linux"))]
type Timer = std::convert::Infallible;

#[cfg(not(target_os = "linux"))]
fn timer() -> Option<Timer> {
    None
}

#[cfg(not(target_os = "linux"))]
fn set(timer: &Timer) {
    match *timer {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::sys::timerfd::Expiration;

    #[test]
    fn a_timer_is_due_as_long_as_it_is_kept() {
        let now = Instant::now();
        let mut wakeful = Wakeful::new(now);
        let left = |wakeful: &Wakeful| {
            let timer = wakeful.timer.as_ref().expect("Linux has it");
            timer.get().expect("it tells").map_or(Duration::ZERO, |left| match left {
                Expiration::OneShot(time) => time.into(),
                other => panic!("{other:?}"),
            })
        };
        wakeful.keep(now);
        std::thread::sleep(DUE * 2);
        assert_eq!(left(&wakeful), Duration::ZERO);
        wakeful.keep(now + DUE / 2);
        assert!(left(&wakeful) <= DUE);
        assert_eq!(wakeful.set_next, now + DUE);
    }
}
