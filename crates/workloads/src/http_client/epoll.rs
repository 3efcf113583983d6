//! Connections by epoll, for kernels without `io_uring` and policies that forbid it.

use super::address::RawAddress;
use super::network::{Event, Network, Step, Wait};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

const BUFFER_BYTES: usize = 64 << 10;

/// The queue and its connections.
pub struct Polled {
    epoll: Epoll,
    addresses: Vec<RawAddress>,
    lines: Vec<Line>,
    buffer: Vec<u8>,
    /// What was known without waiting; told by the next [`Network::wait`].
    known: Vec<(usize, Step, io::Error)>,
    events: Vec<EpollEvent>,
}

/// A connection.
#[derive(Default)]
struct Line {
    request: Vec<u8>,
    socket: Option<OwnedFd>,
    sent: usize,
    is_connecting: bool,
    /// Whether epoll tells when it can be written.
    waits_to_write: bool,
}

impl Polled {
    /// For so many connections.
    ///
    /// # Errors
    /// When the kernel gives no queue.
    pub fn new(addresses: &[SocketAddr], lines: usize) -> io::Result<Polled> {
        Ok(Polled {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            addresses: addresses.iter().map(RawAddress::new).collect(),
            lines: (0..lines).map(|_| Line::default()).collect(),
            buffer: vec![0; BUFFER_BYTES],
            known: Vec::new(),
            events: vec![EpollEvent::empty(); lines.clamp(1, 256)],
        })
    }

    fn connect(&mut self, line: usize, address: usize) -> Result<(), (Step, io::Error)> {
        let to = &self.addresses[address];
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; the descriptor is ours alone.
        let socket = unsafe { libc::socket(to.family(), kind, 0) };
        if socket < 0 {
            return Err((Step::Socket, io::Error::last_os_error()));
        }
        // SAFETY: just made.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: pointer and length are one address's.
        let connected = unsafe { libc::connect(socket.as_raw_fd(), to.pointer(), to.length()) };
        let error = io::Error::last_os_error();
        if connected < 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
            return Err((Step::Connect, error));
        }
        let wanted = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT, line as u64);
        self.epoll.add(&socket, wanted).map_err(|error| (Step::Socket, error.into()))?;
        let at = &mut self.lines[line];
        (at.socket, at.sent, at.is_connecting, at.waits_to_write) = (Some(socket), 0, true, true);
        Ok(())
    }

    /// Sends what can be sent, and has epoll watch for the rest.
    fn write(&mut self, line: usize) -> Result<(), (Step, io::Error)> {
        let at = &mut self.lines[line];
        let Some(socket) = &at.socket else { return Ok(()) };
        while at.sent < at.request.len() {
            let rest = &at.request[at.sent..];
            // SAFETY: the slice is readable for its length.
            let sent = unsafe { libc::send(socket.as_raw_fd(), rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) };
            match usize::try_from(sent) {
                Ok(sent) => at.sent += sent,
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::WouldBlock => break,
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err((Step::Send, error)),
                },
            }
        }
        let waits = at.sent < at.request.len();
        if waits != at.waits_to_write {
            at.waits_to_write = waits;
            let flags = if waits { EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN };
            let wanted = &mut EpollEvent::new(flags, line as u64);
            self.epoll.modify(socket, wanted).map_err(|error| (Step::Send, error.into()))?;
        }
        Ok(())
    }

    fn ready(&mut self, line: usize, flags: EpollFlags, see: &mut dyn FnMut(usize, Event)) {
        let Some(socket) = &self.lines[line].socket else { return };
        // SAFETY: the line keeps its socket while this function runs.
        let socket = unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) };
        if self.lines[line].is_connecting {
            match nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::SocketError) {
                Ok(0) => {}
                Ok(error) => return see(line, Event::Failed(Step::Connect, io::Error::from_raw_os_error(error))),
                Err(error) => return see(line, Event::Failed(Step::Connect, error.into())),
            }
            self.lines[line].is_connecting = false;
            see(line, Event::Connected);
        }
        if flags.contains(EpollFlags::EPOLLOUT)
            && let Err((step, error)) = self.write(line)
        {
            return see(line, Event::Failed(step, error));
        }
        if flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            match nix::sys::socket::recv(socket.as_raw_fd(), &mut self.buffer, nix::sys::socket::MsgFlags::empty()) {
                Ok(0) => see(line, Event::Ended),
                Ok(count) => see(line, Event::Received(&self.buffer[..count])),
                Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => {}
                Err(error) => see(line, Event::Failed(Step::Receive, error.into())),
            }
        }
    }
}

impl Network for Polled {
    fn request(&mut self, line: usize) -> &mut Vec<u8> {
        &mut self.lines[line].request
    }

    fn open(&mut self, line: usize, address: usize) {
        if let Err((step, error)) = self.connect(line, address) {
            self.known.push((line, step, error));
        }
    }

    fn send(&mut self, line: usize) {
        self.lines[line].sent = 0;
        if let Err((step, error)) = self.write(line) {
            self.known.push((line, step, error));
        }
    }

    fn more(&mut self, _line: usize) {
        // Epoll tells as long as there is something to read.
    }

    fn close(&mut self, line: usize) {
        self.lines[line].socket = None;
        self.known.retain(|(known, ..)| *known != line);
    }

    fn wait(&mut self, wait: Wait, see: &mut dyn FnMut(usize, Event)) -> io::Result<()> {
        for (line, step, error) in std::mem::take(&mut self.known) {
            see(line, Event::Failed(step, error));
        }
        let left = wait.until.saturating_duration_since(Instant::now()).min(Duration::from_secs(1));
        let mut events = std::mem::take(&mut self.events);
        let count = pwait(&self.epoll, &mut events, left);
        for event in &events[..*count.as_ref().unwrap_or(&0)] {
            self.ready(event.data() as usize, event.events(), see);
        }
        self.events = events;
        count.map(drop)
    }
}

/// Waits with a time in nanoseconds: epoll's own is in milliseconds, too coarse for a schedule.
fn pwait(epoll: &Epoll, events: &mut [EpollEvent], left: Duration) -> io::Result<usize> {
    use nix::poll::{PollFd, PollFlags, ppoll};
    use std::os::fd::AsFd;
    let poll = |_| epoll.wait(events, nix::sys::epoll::EpollTimeout::ZERO);
    match ppoll(&mut [PollFd::new(epoll.0.as_fd(), PollFlags::POLLIN)], Some(left.into()), None).and_then(poll) {
        Err(nix::errno::Errno::EINTR) => Ok(0),
        waited => Ok(waited?),
    }
}
