//! Which of many descriptors can be read or written, asked for all at once: epoll on Linux, kqueue on the BSDs and macOS.
//!
//! Both tell as long as it is so, not only when it becomes so. A descriptor that is closed is watched no longer.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(not(target_os = "linux"))]
mod kqueue;

#[cfg(target_os = "linux")]
pub use epoll::Readiness;
#[cfg(not(target_os = "linux"))]
pub use kqueue::Readiness;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, or the end.
    Read,
    /// That, or room to write.
    ReadOrWrite,
}

/// What a descriptor is ready for; an error or the other side's end is something to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The number that it was added with.
    pub number: usize,
    /// It can be read.
    pub read: bool,
    /// It can be written.
    pub write: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn it_tells_what_is_ready_as_long_as_it_is() {
        let (mut ours, mut theirs) = UnixStream::pair().expect("a pair");
        let mut readiness = Readiness::new(4).expect("a queue");
        readiness.add(&ours, 7, Interest::ReadOrWrite).expect("watched");
        let wait = |readiness: &mut Readiness, left| {
            let mut ready = Vec::new();
            readiness.wait(left, &mut ready).expect("waited");
            ready
        };
        let only = |read, write| vec![Ready { number: 7, read, write }];
        assert_eq!(wait(&mut readiness, LONG), only(false, true));
        readiness.change(&ours, 7, Interest::Read).expect("changed");
        assert_eq!(wait(&mut readiness, Duration::ZERO), []);
        theirs.write_all(b"x").expect("written");
        for _ in 0..2 {
            assert_eq!(wait(&mut readiness, LONG), only(true, false));
        }
        ours.read_exact(&mut [0]).expect("read");
        assert_eq!(wait(&mut readiness, Duration::ZERO), []);
        drop(theirs);
        assert!(wait(&mut readiness, LONG)[0].read, "the end is something to read");
        drop(ours);
        assert_eq!(wait(&mut readiness, Duration::ZERO), []);
    }

    #[test]
    fn it_does_not_return_before_its_time() {
        let mut readiness = Readiness::new(1).expect("a queue");
        // Below a millisecond, which is epoll's own unit.
        for time in [Duration::from_micros(1500), Duration::from_millis(2)] {
            let started = Instant::now();
            let mut ready = Vec::new();
            readiness.wait(time, &mut ready).expect("waited");
            assert_eq!(ready, []);
            assert!(started.elapsed() >= time);
        }
    }
}
