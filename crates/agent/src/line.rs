//! Lines over a secured connection, each of a bounded length and within a time; and the socket below, whose reads and writes end at a moment.

use rustls::{ConnectionCommon, SideData, StreamOwned};
use serde::Serialize;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::DerefMut;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// What is said goes out within this time, or the other side is gone.
const SAYING_MAX: Duration = Duration::from_secs(20);

/// A side that answers nothing is given up after some 20 s: so many probes, so far apart, once nothing has come for a while.
#[cfg(target_os = "linux")]
const IDLE_SECONDS: u32 = 5;
const PROBE_SECONDS: u32 = 3;
const PROBES: u32 = 4;

/// How often whoever waits looks at other things.
pub const LOOK: Duration = Duration::from_millis(100);

/// A socket whose reads and writes end at a moment, however little comes at a time.
pub struct Socket {
    stream: TcpStream,
    until: Instant,
}

impl Socket {
    /// Over a connection, which is given up when the other side's machine answers no more.
    pub fn new(stream: TcpStream) -> io::Result<Socket> {
        use nix::sys::socket::{setsockopt, sockopt};
        stream.set_nodelay(true)?;
        setsockopt(&stream, sockopt::KeepAlive, &true)?;
        #[cfg(target_os = "linux")]
        {
            setsockopt(&stream, sockopt::TcpKeepIdle, &IDLE_SECONDS)?;
            setsockopt(&stream, sockopt::TcpUserTimeout, &((IDLE_SECONDS + PROBES * PROBE_SECONDS) * 1000))?;
        }
        setsockopt(&stream, sockopt::TcpKeepInterval, &PROBE_SECONDS)?;
        setsockopt(&stream, sockopt::TcpKeepCount, &PROBES)?;
        Ok(Socket { stream, until: Instant::now() })
    }

    /// Reads and writes end at this moment.
    pub fn until(&mut self, until: Instant) {
        self.until = until;
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Either side's secured stream.
pub trait Secured: Read + Write + Send {
    /// The socket below it.
    fn socket(&mut self) -> &mut Socket;

    /// Bytes that have come and were not read.
    fn waiting(&mut self) -> usize;
}

impl<C, S> Secured for StreamOwned<C, Socket>
where
    C: DerefMut<Target = ConnectionCommon<S>> + Send,
    S: SideData,
{
    fn socket(&mut self) -> &mut Socket {
        &mut self.sock
    }

    fn waiting(&mut self) -> usize {
        self.conn.process_new_packets().map_or(0, |state| state.plaintext_bytes_to_read())
    }
}

/// Lines over a secured stream.
pub struct Line {
    stream: Box<dyn Secured>,
    /// What came of lines that are not yet whole.
    heard: Vec<u8>,
}

impl Line {
    /// Over this stream.
    pub fn over(stream: impl Secured + 'static) -> Line {
        Line { stream: Box::new(stream), heard: Vec::new() }
    }

    /// Says one thing.
    pub fn say(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what).map_err(io::Error::other)?;
        line.push(b'\n');
        self.pass(&line)
    }

    /// Passes on what another said.
    pub fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.socket().until(Instant::now() + SAYING_MAX);
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// The next line, without its end, if it has come whole until then; it may have so many bytes.
    pub fn hear(&mut self, until: Instant, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.heard[looked..].iter().position(|byte| *byte == b'\n') {
                let rest = self.heard.split_off(looked + end + 1);
                let mut line = std::mem::replace(&mut self.heard, rest);
                line.pop();
                return Ok(Some(line));
            }
            looked = self.heard.len();
            if looked > bytes_max {
                return Err(io::Error::new(ErrorKind::InvalidData, "it says too much at once"));
            }
            let mut piece = [0; 16 << 10];
            match self.receive(until, &mut piece)? {
                Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Some(count) => self.heard.extend_from_slice(&piece[..count]),
                None => return Ok(None),
            }
        }
    }

    /// What has come, as it comes; 0: the other side has ended. None: nothing until then.
    pub fn receive(&mut self, until: Instant, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        self.stream.socket().until(until);
        match self.stream.read(bytes) {
            Ok(count) => Ok(Some(count)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
            // Without a farewell: lines tell by themselves whether they are whole.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    /// Whether something has come that was not read.
    pub fn has_more(&mut self) -> bool {
        self.stream.waiting() > 0
    }

    /// What came behind the last line that was heard.
    pub fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.heard)
    }

    /// Readable when something comes.
    pub fn with_descriptor<T>(&mut self, act: impl FnOnce(BorrowedFd) -> T) -> T {
        act(self.stream.socket().stream.as_fd())
    }
}
