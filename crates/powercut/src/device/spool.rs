//! The write log's way to its file: bytes are gathered in large chunks, and a thread of its own writes them.
//!
//! So that a request costs a copy and no system call. Chunks come back to be filled again. When the file's filesystem is
//! slower than the disk under test, the disk waits instead of filling the memory.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;

/// Bytes that are written at once; more than any one record has.
const CHUNK_BYTES: usize = 4 << 20;

/// Chunks that may wait for the file.
const CHUNKS_MAX: usize = 16;

/// Where the log is written to.
pub(super) struct Spool {
    chunk: Vec<u8>,
    /// Chunks that have not come back.
    under_way: usize,
    to_write: SyncSender<Vec<u8>>,
    written: Receiver<Vec<u8>>,
    /// None once it was asked why it ended.
    thread: Option<JoinHandle<io::Result<()>>>,
    bytes_left: u64,
    bytes_max: u64,
}

impl Spool {
    /// Onto this file, with so many bytes at most.
    pub(super) fn new(mut file: File, bytes_max: u64) -> io::Result<Spool> {
        let (to_write, chunks) = sync_channel::<Vec<u8>>(CHUNKS_MAX);
        let (back, written) = channel();
        let thread = std::thread::Builder::new().name("write log".into()).spawn(move || {
            for mut chunk in chunks {
                file.write_all(&chunk)?;
                chunk.clear();
                // It is dropped when the disk records no more.
                let _ = back.send(chunk);
            }
            Ok(())
        })?;
        let chunk = Vec::with_capacity(CHUNK_BYTES);
        Ok(Spool { chunk, under_way: 0, to_write, written, thread: Some(thread), bytes_left: bytes_max, bytes_max })
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let empty = match self.written.try_recv() {
            Ok(chunk) => {
                self.under_way -= 1;
                chunk
            }
            Err(TryRecvError::Empty) => Vec::with_capacity(CHUNK_BYTES),
            Err(TryRecvError::Disconnected) => return Err(self.failure()),
        };
        let full = std::mem::replace(&mut self.chunk, empty);
        self.to_write.send(full).map_err(|_| self.failure())?;
        self.under_way += 1;
        Ok(())
    }

    /// Why the thread ended.
    fn failure(&mut self) -> io::Error {
        let ended = || io::Error::other("the thread that writes it has ended");
        self.thread.take().and_then(|thread| thread.join().ok()?.err()).unwrap_or_else(ended)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.bytes_left {
            let said = format!("its limit of {} bytes is reached", self.bytes_max);
            return Err(io::Error::new(io::ErrorKind::StorageFull, said));
        }
        if self.chunk.len() + bytes.len() > CHUNK_BYTES {
            self.hand_over()?;
        }
        self.chunk.extend_from_slice(bytes);
        self.bytes_left -= bytes.len() as u64;
        Ok(bytes.len())
    }

    /// Comes back when all is in the file.
    fn flush(&mut self) -> io::Result<()> {
        self.hand_over()?;
        while self.under_way > 0 {
            if self.written.recv().is_err() {
                return Err(self.failure());
            }
            self.under_way -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Seek as _};

    fn file() -> (File, File) {
        let file = tempfile::tempfile().expect("a file");
        (file.try_clone().expect("a second handle"), file)
    }

    #[test]
    fn all_bytes_arrive_in_order() {
        let (write, mut read) = file();
        let mut spool = Spool::new(write, u64::MAX).expect("a thread");
        let pieces: Vec<Vec<u8>> = (0..100_u8).map(|index| vec![index; 100_003 * usize::from(index % 7)]).collect();
        pieces.iter().for_each(|piece| spool.write_all(piece).expect("room"));
        spool.flush().expect("written");
        let mut found = Vec::new();
        read.rewind().expect("the start");
        read.read_to_end(&mut found).expect("readable");
        assert!(found == pieces.concat());
    }

    #[test]
    fn the_limit_is_said_and_what_came_before_holds() {
        let (write, read) = file();
        let mut spool = Spool::new(write, 10).expect("a thread");
        spool.write_all(b"12345678").expect("room");
        let error = spool.write_all(b"abc").expect_err("no room");
        assert_eq!(error.to_string(), "its limit of 10 bytes is reached");
        spool.flush().expect("written");
        assert_eq!(read.metadata().expect("there").len(), 8);
    }

    #[test]
    fn a_file_that_takes_nothing_is_said() {
        let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
        let mut spool = Spool::new(full, u64::MAX).expect("a thread");
        spool.write_all(b"1").expect("memory");
        let error = spool.flush().expect_err("no room");
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        assert!(spool.flush().is_err(), "and stays so");
    }
}
