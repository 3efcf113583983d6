//! By kqueue.

use super::{Interest, Ready};
use nix::errno::Errno;
use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::time::Duration;

/// Descriptors that are watched.
pub struct Readiness {
    queue: Kqueue,
    events: Vec<KEvent>,
}

impl Readiness {
    /// Watches nothing yet; tells of so many at a time.
    ///
    /// # Errors
    /// When the kernel gives no queue.
    pub fn new(at_once: usize) -> io::Result<Readiness> {
        let nothing = KEvent::new(0, EventFilter::EVFILT_READ, EvFlags::empty(), FilterFlag::empty(), 0, 0);
        Ok(Readiness { queue: Kqueue::new()?, events: vec![nothing; at_once.max(1)] })
    }

    /// Watches a descriptor under a number.
    ///
    /// # Errors
    /// When it can't be watched.
    pub fn add(&self, descriptor: impl AsFd, number: usize, interest: Interest) -> io::Result<()> {
        let of = |filter| {
            let descriptor = descriptor.as_fd().as_raw_fd() as usize;
            KEvent::new(descriptor, filter, EvFlags::EV_ADD, FilterFlag::empty(), 0, number as isize)
        };
        let both = [of(EventFilter::EVFILT_READ), of(EventFilter::EVFILT_WRITE)];
        let wanted = if interest == Interest::Read { &both[..1] } else { &both[..] };
        self.queue.kevent(wanted, &mut [], None)?;
        Ok(())
    }

    /// Waits for something else of a descriptor.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn change(&self, descriptor: impl AsFd, number: usize, interest: Interest) -> io::Result<()> {
        let action = if interest == Interest::Read { EvFlags::EV_DELETE } else { EvFlags::EV_ADD };
        let descriptor = descriptor.as_fd().as_raw_fd() as usize;
        let writing =
            KEvent::new(descriptor, EventFilter::EVFILT_WRITE, action, FilterFlag::empty(), 0, number as isize);
        self.queue.kevent(&[writing], &mut [], None)?;
        Ok(())
    }

    /// Watches a descriptor no longer for what can be read of it.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn remove(&self, descriptor: impl AsFd) -> io::Result<()> {
        let descriptor = descriptor.as_fd().as_raw_fd() as usize;
        let reading = KEvent::new(descriptor, EventFilter::EVFILT_READ, EvFlags::EV_DELETE, FilterFlag::empty(), 0, 0);
        self.queue.kevent(&[reading], &mut [], None)?;
        Ok(())
    }

    /// Fills `ready` with those that are, after waiting for some, but no longer than this.
    ///
    /// # Errors
    /// When the queue itself fails.
    pub fn wait(&mut self, left: Duration, ready: &mut Vec<Ready>) -> io::Result<()> {
        let time = libc::timespec {
            tv_sec: left.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(left.subsec_nanos() as i32),
        };
        let count = match self.queue.kevent(&[], &mut self.events, Some(time)) {
            Err(Errno::EINTR) => 0,
            waited => waited?,
        };
        ready.clear();
        ready.extend(self.events[..count].iter().map(|event| Ready {
            number: event.udata() as usize,
            read: matches!(event.filter(), Ok(EventFilter::EVFILT_READ)),
            write: matches!(event.filter(), Ok(EventFilter::EVFILT_WRITE)),
        }));
        Ok(())
    }
}
