//! The FUSE protocol as far as a disk needs it: a directory with one file (include/uapi/linux/fuse.h, version 7.38).
//!
//! Spoken raw on `/dev/fuse`: a message is one read or one write, and the kernel finds out by itself when the process that
//! holds the descriptor is gone. Knows nothing of what the file holds.

use crate::write_log::Operation;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, ppoll};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::Duration;

/// The one file's name.
pub(super) const FILE: &str = "disk.img";

/// Most bytes of a write or a read: 256 pages, the most that the kernel puts into one request.
pub(super) const TRANSFER_BYTES_MAX: usize = 1 << 20;

/// What stands before a write's bytes: `struct fuse_in_header` and `struct fuse_write_in`.
const BEFORE_DATA_BYTES: usize = HEAD_BYTES + WRITE_BYTES;
const HEAD_BYTES: usize = 40;
const WRITE_BYTES: usize = 40;

const PAGE_BYTES: usize = 4096;

const DIRECTORY_NODE: u64 = 1;
const FILE_NODE: u64 = 2;

const MAJOR: u32 = 7;
const MINOR: u32 = 38;

/// FUSE_ASYNC_READ, FUSE_BIG_WRITES, FUSE_ASYNC_DIO, FUSE_MAX_PAGES.
const WANTED_FLAGS: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;

/// Asynchronous requests at once; a loop device has 128.
const BACKGROUND_MAX: u16 = 256;

/// FOPEN_DIRECT_IO, FOPEN_PARALLEL_DIRECT_WRITES: no page cache, and no write waits for another.
const OPEN_FLAGS: u32 = 1 | 1 << 6;

/// Nothing here ever changes: what the kernel knows holds for as long as it likes.
const VALID_SECONDS: u64 = 1 << 30;

/// FALLOC_FL_KEEP_SIZE, _PUNCH_HOLE, _ZERO_RANGE.
const KEEP_SIZE: u32 = 1;
const PUNCH_HOLE: u32 = 2;
const ZERO_RANGE: u32 = 0x10;

/// A message of the kernel's.
pub(super) struct Call<'a> {
    /// Its name, which the answer bears.
    pub(super) unique: u64,
    pub(super) ask: Ask<'a>,
}

/// What the kernel wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ask<'a> {
    Read {
        offset: u64,
        bytes: u32,
    },
    Do(Operation<'a>),
    /// With the flags that the kernel offers.
    Init(u32),
    LookUp {
        is_file: bool,
    },
    Attributes {
        is_file: bool,
    },
    Open,
    Statistics,
    /// Needs nothing but a yes.
    Agree,
    /// Is not answered.
    Silence,
    /// Has no place on a disk.
    Unknown,
}

/// Reads a message; none: it is shorter than its kind needs.
pub(super) fn parse(message: &[u8]) -> Option<Call<'_>> {
    let (head, rest) = message.split_at_checked(HEAD_BYTES)?;
    let (opcode, unique, node) = (u32_at(head, 4)?, u64_at(head, 8)?, u64_at(head, 16)?);
    let is_file = node == FILE_NODE;
    let ask = match opcode {
        1 => Ask::LookUp { is_file: rest.strip_suffix(&[0]) == Some(FILE.as_bytes()) },
        3 => Ask::Attributes { is_file },
        14 if is_file => Ask::Open,
        15 => Ask::Read { offset: u64_at(rest, 8)?, bytes: u32_at(rest, 16)? },
        16 => {
            let length = u32_at(rest, 16)? as usize;
            let data = rest.get(WRITE_BYTES..)?.get(..length)?;
            Ask::Do(Operation::Write { offset: u64_at(rest, 8)?, data })
        }
        17 => Ask::Statistics,
        20 => Ask::Do(Operation::Flush),
        // RELEASE and FLUSH, which a close asks for; and DESTROY.
        18 | 25 | 38 => Ask::Agree,
        26 => Ask::Init(u32_at(rest, 12)?),
        // FORGET, INTERRUPT, BATCH_FORGET.
        2 | 36 | 42 => Ask::Silence,
        43 => fallocate(u64_at(rest, 8)?, u64_at(rest, 16)?, u32_at(rest, 24)?),
        _ => Ask::Unknown,
    };
    Some(Call { unique, ask })
}

/// A loop device punches a hole for a discard, and for zeros that may be unmapped, too; both read as zeros then.
fn fallocate<'a>(offset: u64, length: u64, mode: u32) -> Ask<'a> {
    match mode & !KEEP_SIZE {
        PUNCH_HOLE => Ask::Do(Operation::Discard { offset, length }),
        ZERO_RANGE => Ask::Do(Operation::Zero { offset, length }),
        _ => Ask::Unknown,
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_ne_bytes)
}

/// An answer's fields one after the other, in the machine's byte order.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn u16(mut self, fields: &[u16]) -> Fields {
        fields.iter().for_each(|field| self.0.extend(field.to_ne_bytes()));
        self
    }

    fn u32(mut self, fields: &[u32]) -> Fields {
        fields.iter().for_each(|field| self.0.extend(field.to_ne_bytes()));
        self
    }

    fn u64(mut self, fields: &[u64]) -> Fields {
        fields.iter().for_each(|field| self.0.extend(field.to_ne_bytes()));
        self
    }

    /// `struct fuse_attr`: ino, size, blocks and three times; their nanoseconds, mode, links, owner, device, block size, flags.
    fn attributes(self, is_file: bool, disk_bytes: u64) -> Fields {
        let (node, size, mode, links) = match is_file {
            true => (FILE_NODE, disk_bytes, libc::S_IFREG | 0o600, 1),
            false => (DIRECTORY_NODE, 0, libc::S_IFDIR | 0o700, 2),
        };
        self.u64(&[node, size, size / 512, 0, 0, 0]).u32(&[0, 0, 0, mode, links, 0, 0, 0, PAGE_BYTES as u32, 0])
    }
}

/// `struct fuse_init_out`.
pub(super) fn initial(offered_flags: u32) -> Vec<u8> {
    let sizes = [BACKGROUND_MAX, BACKGROUND_MAX * 3 / 4];
    let pages = (TRANSFER_BYTES_MAX / PAGE_BYTES) as u16;
    let start = Fields::default().u32(&[MAJOR, MINOR, TRANSFER_BYTES_MAX as u32, offered_flags & WANTED_FLAGS]);
    start.u16(&sizes).u32(&[TRANSFER_BYTES_MAX as u32, 1]).u16(&[pages, 0]).u32(&[0; 8]).0
}

/// `struct fuse_entry_out` of the file.
pub(super) fn entry(disk_bytes: u64) -> Vec<u8> {
    let start = Fields::default().u64(&[FILE_NODE, 0, VALID_SECONDS, VALID_SECONDS]).u32(&[0, 0]);
    start.attributes(true, disk_bytes).0
}

/// `struct fuse_attr_out`.
pub(super) fn attributes(is_file: bool, disk_bytes: u64) -> Vec<u8> {
    Fields::default().u64(&[VALID_SECONDS]).u32(&[0, 0]).attributes(is_file, disk_bytes).0
}

/// `struct fuse_open_out`.
pub(super) fn opened() -> Vec<u8> {
    Fields::default().u64(&[0]).u32(&[OPEN_FLAGS, 0]).0
}

/// `struct fuse_write_out`.
pub(super) fn written(bytes: u32) -> [u8; 8] {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&bytes.to_ne_bytes());
    out
}

/// `struct fuse_statfs_out`: a filesystem that one file fills.
pub(super) fn statistics(disk_bytes: u64) -> Vec<u8> {
    let blocks = disk_bytes / PAGE_BYTES as u64;
    let size = PAGE_BYTES as u32;
    Fields::default().u64(&[blocks, 0, 0, 1, 0]).u32(&[size, 255, size, 0, 0, 0, 0, 0, 0, 0]).0
}

/// Where messages are read to: the bytes of a write begin with a page.
pub(super) struct Buffer {
    memory: Vec<u8>,
    start: usize,
}

impl Buffer {
    pub(super) fn new() -> Buffer {
        let memory = vec![0; 3 * PAGE_BYTES + TRANSFER_BYTES_MAX];
        let start = memory.as_ptr().align_offset(PAGE_BYTES) + PAGE_BYTES - BEFORE_DATA_BYTES;
        Buffer { memory, start }
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..BEFORE_DATA_BYTES + TRANSFER_BYTES_MAX]
    }

    /// The first bytes of what was read.
    pub(super) fn message(&self, bytes: usize) -> &[u8] {
        &self.memory[self.start..][..bytes]
    }
}

/// What a try to read a message came to.
pub(super) enum Received {
    /// So many bytes of one.
    Message(usize),
    /// None is there, or it was taken back.
    Nothing,
    /// The filesystem is mounted no more.
    Gone,
}

/// The kernel on the other side. When this is dropped, all I/O on the file fails.
pub(super) struct Connection {
    device: File,
    is_blocking: bool,
}

impl Connection {
    /// Mounts the directory with the file.
    pub(super) fn mount(point: &Path) -> io::Result<Connection> {
        // std opens close-on-exec.
        let device = File::options().read(true).write(true).open("/dev/fuse")?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_NOATIME;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        mount(Some("surefoot-disk"), point, Some("fuse"), flags, Some(options.as_str()))?;
        Ok(Connection { device, is_blocking: true })
    }

    /// Whether a read waits for a message.
    pub(super) fn block(&mut self, is_blocking: bool) -> io::Result<()> {
        if self.is_blocking != is_blocking {
            let flags = if is_blocking { OFlag::O_RDWR } else { OFlag::O_RDWR | OFlag::O_NONBLOCK };
            fcntl(&self.device, FcntlArg::F_SETFL(flags))?;
            self.is_blocking = is_blocking;
        }
        Ok(())
    }

    /// Reads a message.
    pub(super) fn receive(&self, buffer: &mut Buffer) -> io::Result<Received> {
        match (&self.device).read(buffer.room()) {
            Ok(bytes) => Ok(Received::Message(bytes)),
            Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::EAGAIN | Errno::EINTR | Errno::ENOENT) => Ok(Received::Nothing),
                Some(Errno::ENODEV | Errno::ECONNABORTED) => Ok(Received::Gone),
                _ => Err(error),
            },
        }
    }

    /// Waits for a message for at most so long.
    pub(super) fn wait(&self, at_most: Duration) -> io::Result<()> {
        let mut files = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut files, Some(at_most.into()), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Answers a request. That nobody waits for the answer any more is no error of ours.
    pub(super) fn answer(&self, unique: u64, body: &[u8]) {
        self.send(unique, 0, body);
    }

    /// Answers that it can't be.
    pub(super) fn refuse(&self, unique: u64, error: Errno) {
        self.send(unique, -(error as i32), &[]);
    }

    /// `struct fuse_out_header` and what follows it.
    fn send(&self, unique: u64, error: i32, body: &[u8]) {
        let mut head = [0; 16];
        let bytes = head.len() + body.len();
        head[..4].copy_from_slice(&(bytes as u32).to_ne_bytes());
        head[4..8].copy_from_slice(&error.to_ne_bytes());
        head[8..].copy_from_slice(&unique.to_ne_bytes());
        let _ = (&self.device).write_vectored(&[IoSlice::new(&head), IoSlice::new(body)]);
    }
}

/// Takes the directory away from where it was mounted; whoever has its file open keeps it.
pub(super) fn detach(point: &Path) {
    // It is not there when somebody else was faster.
    let _ = umount2(point, MntFlags::MNT_DETACH);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(opcode: u32, node: u64, rest: &[u8]) -> Vec<u8> {
        let head = Fields::default().u32(&[0, opcode]).u64(&[77, node]).u32(&[0; 4]).0;
        [&head, rest].concat()
    }

    #[test]
    fn the_kernels_structures_have_their_sizes() {
        assert_eq!(initial(u32::MAX).len(), 64);
        assert_eq!(entry(4096).len(), 128);
        assert_eq!(attributes(false, 4096).len(), 104);
        assert_eq!(opened().len(), 16);
        assert_eq!(statistics(4096).len(), 80);
    }

    #[test]
    fn only_flags_that_are_offered_are_taken() {
        assert_eq!(u32_at(&initial(1 << 15 | 1 << 9), 12), Some(1 << 15));
    }

    #[test]
    fn a_write_is_read_with_its_bytes() {
        let start = Fields::default().u64(&[0, 8192]).u32(&[3, 0]).u64(&[0]).u32(&[0, 0]).0;
        let whole = message(16, FILE_NODE, &[&start[..], b"abc"].concat());
        let call = parse(&whole).expect("a write");
        assert_eq!(call.unique, 77);
        assert_eq!(call.ask, Ask::Do(Operation::Write { offset: 8192, data: b"abc" }));
        assert!(parse(&whole[..whole.len() - 1]).is_none(), "a byte is missing");
    }

    #[test]
    fn holes_are_discards_and_ranges_zeros() {
        let ask = |mode| {
            let rest = Fields::default().u64(&[0, 512, 1024]).u32(&[mode, 0]).0;
            match parse(&message(43, FILE_NODE, &rest)).expect("a fallocate").ask {
                Ask::Do(Operation::Discard { offset: 512, length: 1024 }) => "discard",
                Ask::Do(Operation::Zero { offset: 512, length: 1024 }) => "zero",
                _ => "unknown",
            }
        };
        assert_eq!([0, 3, 0x10, 0x11].map(ask), ["unknown", "discard", "zero", "zero"]);
    }

    #[test]
    fn one_name_is_known() {
        let is_file =
            |name: &[u8]| matches!(parse(&message(1, 1, name)).expect("a look-up").ask, Ask::LookUp { is_file: true });
        assert!(is_file(b"disk.img\0"));
        assert!(!is_file(b"disk.im\0"));
    }

    #[test]
    fn a_writes_bytes_begin_with_a_page() {
        let buffer = Buffer::new();
        assert_eq!(buffer.message(BEFORE_DATA_BYTES + 1)[BEFORE_DATA_BYTES..].as_ptr().align_offset(PAGE_BYTES), 0);
    }
}
