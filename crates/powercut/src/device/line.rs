//! The line between a disk's process and who gives it orders: two pipes, or the serial line of a guest kernel.
//!
//! What is said is a line of JSON. A long one goes in pieces, each of which the other side asks for: User-Mode Linux stops to read a
//! serial line for ever once more waits there than its 4,096 bytes hold (seen with Linux 6.1).

use super::Error;
use super::orders::{Answer, Order};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::fd::{AsFd as _, OwnedFd};

/// Bytes of a piece, at most.
const PIECE_BYTES: usize = 2048;

/// Bytes of a line, at most: an image that decides each of a million units in turn has fewer. Else a line without an end would take all
/// memory.
const LINE_BYTES_MAX: usize = 64 << 20;

/// Far longer than any order takes: a disk that says nothing for so long is stopped, or hangs.
const ANSWER_SECONDS_MAX: u16 = 300;

/// What a piece ends with that others follow; no JSON text ends so.
const MORE: u8 = b'+';

/// The end of who gives orders.
#[derive(Debug)]
pub(super) struct Line {
    orders: File,
    answers: BufReader<File>,
}

/// Ends a disk from another thread: what waits for it gets I/O errors.
#[derive(Debug)]
pub enum Breaker {
    /// By its process, a child that was not waited for.
    Process(u32),
    /// By an order.
    Line(File),
    /// By taking the memory that it is in ([`super::memory`]): it reads as zeros then, and writing fails.
    Memory(File),
}

impl Breaker {
    /// Ends it.
    pub fn end(&self) {
        match self {
            // Not yet waited for, so the number is still its own.
            Breaker::Process(process) => drop(kill(Pid::from_raw(process.cast_signed()), Signal::SIGKILL)),
            // Where the line is gone, so is the disk.
            Breaker::Line(orders) => drop((&*orders).write_all(&[text(&Order::Break), b"\n".into()].concat())),
            // It is open for writing, and sealed by nobody else.
            Breaker::Memory(file) => drop(super::memory::end(file)),
        }
    }
}

impl Line {
    pub(super) fn new(orders: File, answers: File) -> Line {
        Line { orders, answers: BufReader::new(answers) }
    }

    /// Where orders go, and where answers come from.
    pub(super) fn into_ends(self) -> (OwnedFd, OwnedFd) {
        (self.orders.into(), self.answers.into_inner().into())
    }

    pub(super) fn breaker(&self) -> Result<Breaker, Error> {
        self.orders.try_clone().map(Breaker::Line).map_err(Error::Pipe)
    }

    pub(super) fn give(&mut self, order: &Order) -> Result<(), Error> {
        send(&text(order), &mut self.orders, &mut self.answers).map_err(|_| Error::Ended)
    }

    pub(super) fn hear(&mut self) -> Result<Answer, Error> {
        self.hear_within(ANSWER_SECONDS_MAX)
    }

    fn hear_within(&mut self, seconds: u16) -> Result<Answer, Error> {
        if self.answers.buffer().is_empty() {
            let mut ready = [PollFd::new(self.answers.get_ref().as_fd(), PollFlags::POLLIN)];
            let limit = PollTimeout::try_from(i32::from(seconds) * 1000).expect("not negative");
            if poll(&mut ready, limit).map_err(|errno| Error::Pipe(errno.into()))? == 0 {
                return Err(Error::Silent(seconds));
            }
        }
        let line = receive(&mut self.answers, &mut self.orders).map_err(Error::Pipe)?.ok_or(Error::Ended)?;
        serde_json::from_slice(&line).map_err(|_| Error::Ended)
    }
}

/// Says a line, without its end.
pub(super) fn send(line: &[u8], to: &mut impl Write, from: &mut impl BufRead) -> io::Result<()> {
    let mut pieces = line.chunks(PIECE_BYTES).peekable();
    while let Some(piece) = pieces.next() {
        let has_more = pieces.peek().is_some();
        let end: &[u8] = if has_more { &[MORE, b'\n'] } else { b"\n" };
        // One write a piece, so that a breaker's order stands between two.
        to.write_all(&[piece, end].concat())?;
        to.flush()?;
        if has_more && from.read_until(b'\n', &mut Vec::new())? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Hears a line, without its end; none when there are no more.
pub(super) fn receive(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    while from.by_ref().take((LINE_BYTES_MAX - line.len()) as u64).read_until(b'\n', &mut line)? > 0 {
        line.pop_if(|byte| *byte == b'\n');
        if line.last() != Some(&MORE) {
            return Ok(Some(line));
        }
        line.pop();
        if line.len() + PIECE_BYTES >= LINE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        to.write_all(&[MORE, b'\n'])?;
        to.flush()?;
    }
    Ok(None)
}

fn text(order: &Order) -> Vec<u8> {
    serde_json::to_vec(order).expect("numbers and names")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::pipe;

    #[test]
    fn a_disk_that_says_nothing_is_not_waited_for_for_ever() {
        let ((_orders_there, orders), (answers, answers_there)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        let file = |end: OwnedFd| File::from(end);
        let mut line = Line::new(file(orders.into()), file(answers.into()));
        assert!(matches!(line.hear_within(0), Err(Error::Silent(0))));
        drop(answers_there);
        assert!(matches!(line.hear_within(0), Err(Error::Ended)), "its process is gone");
    }

    #[test]
    fn lines_of_any_length_arrive_and_no_piece_is_too_long_for_a_serial_line() {
        for bytes in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 100 * PIECE_BYTES + 7] {
            let line = vec![b'a'; bytes.max(1)];
            let ((from_here, mut here), (from_there, mut there)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
            let sent = line.clone();
            let sender = std::thread::spawn(move || send(&sent, &mut here, &mut BufReader::new(from_there)));
            let mut longest = Longest { inner: BufReader::new(from_here), bytes: 0 };
            assert_eq!(receive(&mut longest, &mut there).expect("a line"), Some(line));
            assert!(longest.bytes <= PIECE_BYTES + 2, "{}", longest.bytes);
            sender.join().expect("no panic").expect("sent");
            assert_eq!(receive(&mut longest, &mut there).expect("the end"), None);
        }
    }

    /// How much was waiting at most.
    struct Longest<R> {
        inner: R,
        bytes: usize,
    }

    impl<R: BufRead> io::Read for Longest<R> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.inner.read(out)
        }
    }

    impl<R: BufRead> BufRead for Longest<R> {
        fn fill_buf(&mut self) -> io::Result<&[u8]> {
            let waiting = self.inner.fill_buf()?;
            self.bytes = self.bytes.max(waiting.len());
            Ok(waiting)
        }

        fn consume(&mut self, bytes: usize) {
            self.inner.consume(bytes);
        }
    }
}
