//! Ends a disk when what depends on it takes too long. A recovery can hang in the kernel, where no signal reaches it; its disk
//! is a process, and when that is killed or told to fail, all I/O on the disk fails and the recovery ends.

use powercut::device::Breaker;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Watches one disk at a time.
#[derive(Debug)]
pub struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    limit: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Which disk, and until when.
    watched: Option<(Breaker, Instant)>,
    has_bitten: bool,
    is_over: bool,
}

impl Watchdog {
    /// One that bites after this time.
    #[must_use]
    pub fn new(limit: Duration) -> Watchdog {
        let shared = Arc::new(Shared::default());
        let watched = shared.clone();
        let thread = std::thread::spawn(move || watched.watch());
        Watchdog { shared, thread: Some(thread), limit }
    }

    /// Does something that hangs on a disk. True when it took too long and the disk was ended.
    pub fn over<T>(&self, disk: Breaker, act: impl FnOnce() -> T) -> (T, bool) {
        self.shared.set(|state| {
            state.watched = Some((disk, Instant::now() + self.limit));
            state.has_bitten = false;
        });
        let done = act();
        let mut has_bitten = false;
        self.shared.set(|state| {
            state.watched = None;
            has_bitten = state.has_bitten;
        });
        (done, has_bitten)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    fn watch(&self) {
        let mut state = self.lock();
        while !state.is_over {
            let Some((disk, until)) = &state.watched else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                disk.end();
                (state.watched, state.has_bitten) = (None, true);
                continue;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.set(|state| state.is_over = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    #[test]
    fn what_hangs_on_a_process_ends_with_it() {
        let watchdog = Watchdog::new(Duration::from_millis(50));
        let mut hangs = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let (status, bitten) = watchdog.over(Breaker::Process(hangs.id()), || hangs.wait().expect("it ends"));
        assert!(bitten);
        assert_eq!(status.signal(), Some(9));
    }

    #[test]
    fn what_ends_in_time_is_left_alone() {
        let watchdog = Watchdog::new(Duration::from_secs(60));
        let mut lives = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        for _ in 0..100 {
            assert_eq!(watchdog.over(Breaker::Process(lives.id()), || 7), (7, false));
        }
        assert!(lives.try_wait().expect("asked").is_none());
        lives.kill().expect("it lives");
        lives.wait().expect("it ends");
    }
}
