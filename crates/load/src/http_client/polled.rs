//! Connections that are asked which of them is ready, for systems without `io_uring` and policies that forbid it.

use super::network::{Event, Network, See, Step, Wait};
use crate::readiness::{Interest, Readiness, Ready};
use nix::sys::socket::{SockaddrLike as _, SockaddrStorage};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

const BUFFER_BYTES: usize = 64 << 10;

/// The queue and its connections.
pub struct Polled {
    readiness: Readiness,
    addresses: Vec<SockaddrStorage>,
    lines: Vec<Line>,
    buffer: Vec<u8>,
    /// What was known without waiting; told by the next [`Network::wait`].
    known: Vec<(usize, Step, io::Error)>,
    ready: Vec<Ready>,
}

/// A connection.
#[derive(Default)]
struct Line {
    request: Vec<u8>,
    socket: Option<OwnedFd>,
    sent: usize,
    is_connecting: bool,
    /// Whether it is told when it can be written.
    waits_to_write: bool,
}

impl Polled {
    /// For so many connections.
    ///
    /// # Errors
    /// When the kernel gives no queue.
    pub fn new(addresses: &[SocketAddr], lines: usize) -> io::Result<Polled> {
        Ok(Polled {
            readiness: Readiness::new(lines.min(256))?,
            addresses: addresses.iter().copied().map(SockaddrStorage::from).collect(),
            lines: (0..lines).map(|_| Line::default()).collect(),
            buffer: vec![0; BUFFER_BYTES],
            known: Vec::new(),
            ready: Vec::new(),
        })
    }

    fn connect(&mut self, line: usize, address: usize) -> Result<(), (Step, io::Error)> {
        let to = &self.addresses[address];
        let family = to.family().map_or(libc::AF_UNSPEC, |family| family as i32);
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; the descriptor is ours alone.
        let socket = unsafe { libc::socket(family, kind, 0) };
        if socket < 0 {
            return Err((Step::Socket, io::Error::last_os_error()));
        }
        // SAFETY: just made.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: pointer and length are one address's.
        let connected = unsafe { libc::connect(socket.as_raw_fd(), to.as_ptr(), to.len()) };
        let error = io::Error::last_os_error();
        if connected < 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
            return Err((Step::Connect, error));
        }
        self.readiness.add(&socket, line, Interest::ReadOrWrite).map_err(|error| (Step::Socket, error))?;
        let at = &mut self.lines[line];
        (at.socket, at.sent, at.is_connecting, at.waits_to_write) = (Some(socket), 0, true, true);
        Ok(())
    }

    /// Sends what can be sent, and waits for room for the rest.
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
            let interest = if waits { Interest::ReadOrWrite } else { Interest::Read };
            self.readiness.change(socket, line, interest).map_err(|error| (Step::Send, error))?;
        }
        Ok(())
    }

    fn ready(&mut self, ready: Ready, see: &mut See) {
        let line = ready.number;
        let mut see = |event| see(line, event, Instant::now());
        let Some(socket) = &self.lines[line].socket else { return };
        // SAFETY: the line keeps its socket while this function runs.
        let socket = unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) };
        if self.lines[line].is_connecting {
            match nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::SocketError) {
                Ok(0) => {}
                Ok(error) => return see(Event::Failed(Step::Connect, io::Error::from_raw_os_error(error))),
                Err(error) => return see(Event::Failed(Step::Connect, error.into())),
            }
            self.lines[line].is_connecting = false;
            see(Event::Connected);
        }
        if ready.write
            && let Err((step, error)) = self.write(line)
        {
            return see(Event::Failed(step, error));
        }
        if ready.read {
            match nix::sys::socket::recv(socket.as_raw_fd(), &mut self.buffer, nix::sys::socket::MsgFlags::empty()) {
                Ok(0) => see(Event::Ended),
                Ok(count) => see(Event::Received(&self.buffer[..count])),
                Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => {}
                Err(error) => see(Event::Failed(Step::Receive, error.into())),
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
        // It is told as long as there is something to read.
    }

    fn is_sent(&self, line: usize) -> bool {
        self.lines[line].sent >= self.lines[line].request.len()
    }

    fn close(&mut self, line: usize) {
        self.lines[line].socket = None;
        self.known.retain(|(known, ..)| *known != line);
    }

    fn wait(&mut self, wait: Wait, see: &mut See) -> io::Result<()> {
        for (line, step, error) in std::mem::take(&mut self.known) {
            see(line, Event::Failed(step, error), Instant::now());
        }
        let left = wait.until.saturating_duration_since(Instant::now()).min(Duration::from_secs(1));
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.readiness.wait(left, &mut ready);
        for of_line in ready.drain(..) {
            self.ready(of_line, see);
        }
        self.ready = ready;
        waited
    }
}
