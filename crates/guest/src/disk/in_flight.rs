//! Requests under way on a disk's image, by io_uring: the next one starts while others wait for the host's disk, as on a disk
//! of the host's own. Where io_uring is refused, the disk does one after the other.

use super::{Request, Transfer};
use io_uring::{IoUring, opcode, squeue, types};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// What has been handed to the host's kernel.
pub(super) struct InFlight {
    ring: IoUring,
    /// By their names in the guest's ring.
    under_way: HashMap<u16, (Request, Transfer)>,
}

/// What has ended.
pub(super) struct Completion {
    pub(super) request: Request,
    /// Whether all of it was done; otherwise it may be tried in another way. An error is the disk's own: to ask again could hide it, as
    /// the second flush after one that failed is well.
    pub(super) is_whole: io::Result<bool>,
    /// Bytes of the guest's memory that were written.
    pub(super) written: u32,
}

impl InFlight {
    /// None where this process may not have one.
    pub(super) fn new(requests_max: u16) -> Option<InFlight> {
        Some(InFlight { ring: IoUring::new(requests_max.into()).ok()?, under_way: HashMap::new() })
    }

    /// Becomes readable when something has ended.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring is open as long as the borrow of it.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }

    /// Starts a transfer, or a flush where there is nothing to transfer. A flush covers the writes that had ended before the
    /// guest asked for it (virtio 1.1, 5.2.6.2), so it waits for no others.
    pub(super) fn start(&mut self, image: &File, request: Request, transfer: Transfer) -> io::Result<()> {
        let head = request.head;
        if self.under_way.contains_key(&head) {
            return Err(io::Error::other("the guest asks twice by one name"));
        }
        let entry = entry(image, &transfer).user_data(head.into());
        self.under_way.insert(head, (request, transfer));
        // SAFETY: the vectors are kept in `under_way` and the guest's memory stays mapped, until this has ended.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        // Each at once: together they would reach the host's disk in bursts, between which it idles.
        self.enter(0)
    }

    /// One that has ended, without waiting.
    pub(super) fn next_landed(&mut self) -> Option<Completion> {
        let completion = self.ring.completion().next()?;
        let head = u16::try_from(completion.user_data()).expect("we gave it a request's name");
        let (request, transfer) = self.under_way.remove(&head).expect("what ends was started");
        let is_whole = match u32::try_from(completion.result()) {
            Ok(bytes) => Ok(bytes == transfer.bytes),
            Err(_) => match io::Error::from_raw_os_error(-completion.result()) {
                error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EAGAIN | libc::EINTR)) => Ok(false),
                error => Err(error),
            },
        };
        Some(Completion { request, is_whole, written: transfer.written() })
    }

    /// Waits until something has ended; false when nothing is under way.
    pub(super) fn wait(&mut self) -> io::Result<bool> {
        if self.under_way.is_empty() { Ok(false) } else { self.enter(1).map(|()| true) }
    }

    fn enter(&self, wanted: usize) -> io::Result<()> {
        match self.ring.submit_and_wait(wanted) {
            // What was not submitted is by the next call.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

fn entry(image: &File, transfer: &Transfer) -> squeue::Entry {
    let file = types::Fd(image.as_raw_fd());
    let (start, count) = (transfer.vectors.as_ptr(), transfer.vectors.len() as u32);
    if transfer.vectors.is_empty() {
        opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build()
    } else if transfer.is_write {
        opcode::Writev::new(file, start, count).offset(transfer.offset).build()
    } else {
        opcode::Readv::new(file, start, count).offset(transfer.offset).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;
    use vm_memory::GuestAddress;

    fn request(head: u16) -> Request {
        Request { head, kind: 0, sector: 0, data: Vec::new(), status_at: GuestAddress(0) }
    }

    fn transfer(is_write: bool, offset: u64, bytes: &mut [u8]) -> Transfer {
        let vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        Transfer { is_write, offset, vectors: vec![vector], bytes: bytes.len() as u32 }
    }

    /// Waits for all, and says which were whole, by their names.
    fn landed(flight: &mut InFlight) -> Vec<(u16, Option<bool>, u32)> {
        let mut all = Vec::new();
        while flight.wait().expect("the ring works") {
            all.extend(
                std::iter::from_fn(|| flight.next_landed()).map(|it| (it.request.head, it.is_whole.ok(), it.written)),
            );
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn several_are_under_way_and_each_says_whether_it_is_whole() {
        let Some(mut flight) = InFlight::new(8) else {
            eprintln!("skipped: io_uring is refused here");
            return;
        };
        let image = tempfile::tempfile().expect("a file");
        image.write_all_at(&[7; 4096], 0).expect("written");
        let (mut first, mut second, mut beyond, mut written) = ([0; 512], [0; 512], [0; 512], [9; 512]);
        flight.start(&image, request(1), transfer(false, 0, &mut first)).expect("started");
        flight.start(&image, request(2), transfer(false, 3584, &mut second)).expect("started");
        flight.start(&image, request(3), transfer(false, 3840, &mut beyond)).expect("started");
        assert!(flight.start(&image, request(3), Transfer::default()).is_err(), "one name for two requests");
        assert_eq!(landed(&mut flight), [(1, Some(true), 512), (2, Some(true), 512), (3, Some(false), 512)]);
        assert_eq!((first, second), ([7; 512], [7; 512]));
        flight.start(&image, request(1), transfer(true, 512, &mut written)).expect("started");
        flight.start(&image, request(2), Transfer::default()).expect("a flush");
        assert_eq!(landed(&mut flight), [(1, Some(true), 0), (2, Some(true), 0)]);
        image.read_exact_at(&mut first, 512).expect("read");
        assert_eq!(first, [9; 512]);
        // A failed write is no partial one: trying again would hide it.
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        flight.start(&full, request(1), transfer(true, 0, &mut written)).expect("started");
        assert_eq!(landed(&mut flight), [(1, None, 0)]);
    }
}
