//! By epoll.

use super::{Interest, Ready};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Descriptors that are watched.
pub struct Readiness {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Readiness {
    /// Watches nothing yet; tells of so many at a time.
    ///
    /// # Errors
    /// When the kernel gives no queue.
    pub fn new(at_once: usize) -> io::Result<Readiness> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Readiness { epoll, events: vec![EpollEvent::empty(); at_once.max(1)] })
    }

    /// Watches a descriptor under a number.
    ///
    /// # Errors
    /// When it can't be watched.
    pub fn add(&self, descriptor: impl AsFd, number: usize, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.add(descriptor, EpollEvent::new(flags(interest), number as u64))?)
    }

    /// Waits for something else of a descriptor.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn change(&self, descriptor: impl AsFd, number: usize, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.modify(descriptor, &mut EpollEvent::new(flags(interest), number as u64))?)
    }

    /// Watches a descriptor no longer.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn remove(&self, descriptor: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(descriptor)?)
    }

    /// Fills `ready` with those that are, after waiting for some, but no longer than this.
    ///
    /// # Errors
    /// When the queue itself fails.
    pub fn wait(&mut self, left: Duration, ready: &mut Vec<Ready>) -> io::Result<()> {
        let waited = match u16::try_from(left.as_millis()) {
            Ok(milliseconds) if Duration::from_millis(milliseconds.into()) == left => {
                self.epoll.wait(&mut self.events, EpollTimeout::from(milliseconds))
            }
            // Its own time is in milliseconds, too coarse for a schedule.
            _ => {
                let mut readable = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
                ppoll(&mut readable, Some(left.into()), None)
                    .and_then(|_| self.epoll.wait(&mut self.events, EpollTimeout::ZERO))
            }
        };
        let count = match waited {
            Err(Errno::EINTR) => 0,
            waited => waited?,
        };
        ready.clear();
        ready.extend(self.events[..count].iter().map(|event| Ready {
            number: event.data() as usize,
            read: event.events().intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR),
            write: event.events().contains(EpollFlags::EPOLLOUT),
        }));
        Ok(())
    }
}

fn flags(interest: Interest) -> EpollFlags {
    match interest {
        Interest::Read => EpollFlags::EPOLLIN,
        Interest::ReadOrWrite => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
    }
}
