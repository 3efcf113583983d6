//! A socket to a server, on this machine or another.

use crate::{Address, Error};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A connected socket.
pub enum Stream {
    /// By a socket file.
    Unix(UnixStream),
    /// By host and port.
    Tcp(TcpStream),
}

impl Stream {
    /// Connects by the server's socket file.
    pub fn unix(socket: &Path) -> Result<Stream, Error> {
        let stream =
            UnixStream::connect(socket).map_err(|error| Error::Connect(socket.display().to_string(), error))?;
        Ok(Stream::Unix(stream))
    }

    /// Connects; what is sent leaves at once.
    pub fn to(address: &Address) -> Result<Stream, Error> {
        let (host, port) = match address {
            Address::Socket(path) => return Stream::unix(path),
            Address::Host(host, port) => (host.as_str(), *port),
        };
        let failed = |error| Error::Connect(format!("{host}:{port}"), error);
        let stream = TcpStream::connect((host, port)).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok(Stream::Tcp(stream))
    }
}

impl Stream {
    /// A read waits no longer than this.
    pub fn set_read_timeout(&self, most: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(most),
            Stream::Tcp(stream) => stream.set_read_timeout(most),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(bytes),
            Stream::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
