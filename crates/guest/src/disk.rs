//! A disk of the guest's: virtio-blk, served from an image file by a thread of ours.
//!
//! The kernel's own disks (ubd) drop flushes: their driver hands a request of no segments, which a flush is, to nobody
//! (arch/um/drivers/ubd_kern.c, `io_thread`, since Linux 4.20), so that nothing there would show which filesystem flushes. Here
//! a flush is an fdatasync of the image, and reads and writes pass by the host's page cache where its filesystem allows.
//! Protocol: vhost-user, and virtio 1.1, 5.2 (block device).

mod in_flight;
mod vhost_user;

use in_flight::{Completion, InFlight};
use nix::errno::Errno;
use nix::fcntl::FallocateFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use vhost_user::{QUEUE_SIZE, Ring};
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_ID_BYTES,
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH,
    VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
};
use vm_memory::{Address as _, Bytes, GuestAddress, GuestMemoryBackend as _, GuestMemoryMmap};

/// A driver counts in sectors of this size whatever the device's own (virtio 1.1, 5.2.4).
const SECTOR_BYTES: u64 = 512;

/// Pieces of memory in one request at most, beside its head and its status.
const SEGMENTS_MAX: u32 = 126;

/// In one discard at most: 1 GiB; and all of whole pages, which is what the host's filesystem can give back.
const DISCARD_SECTORS_MAX: u32 = (1 << 30) / SECTOR_BYTES as u32;
const DISCARD_ALIGNMENT_SECTORS: u32 = 4096 / SECTOR_BYTES as u32;

/// A piece of the guest's memory: where, how long, and whether the guest wants it written.
type Piece = (GuestAddress, u32, bool);

/// One disk.
struct Disk {
    image: File,
    /// The same file through the page cache, for what direct I/O refuses.
    buffered: File,
    sectors: u64,
    serial: String,
}

/// What the guest asks.
struct Request {
    /// Its name in the guest's ring.
    head: u16,
    kind: u32,
    sector: u64,
    data: Vec<Piece>,
    status_at: GuestAddress,
}

/// Bytes to move, or a flush when there are none.
#[derive(Default)]
struct Transfer {
    is_write: bool,
    offset: u64,
    /// Pieces of the guest's memory.
    vectors: Vec<libc::iovec>,
    bytes: u32,
}

/// Serves a disk on a socket until the guest has gone, in a thread of its own. `serial` is what the guest is told, at most
/// twenty bytes.
///
/// # Errors
/// When the image can't be opened or the socket not made.
pub fn serve(image: &Path, socket: &Path, serial: &str) -> io::Result<()> {
    let disk = Disk::open(image, serial)?;
    let listener = UnixListener::bind(socket)?;
    std::thread::Builder::new().name(serial.into()).spawn(move || {
        let mut server = Server { disk, flight: InFlight::new(QUEUE_SIZE) };
        let served = listener.accept().and_then(|(guest, _)| vhost_user::serve(guest, &mut server));
        // The guest meets a disk that does not answer; why stands beside its own messages.
        if let Err(error) = served {
            eprintln!("disk {}: {error}", server.disk.serial);
        }
    })?;
    Ok(())
}

/// Whether disks have several requests under way at a time; where io_uring is refused, they do one after the other.
pub fn has_several_under_way() -> bool {
    InFlight::new(QUEUE_SIZE).is_some()
}

/// A disk at work.
struct Server {
    disk: Disk,
    /// None where one request is done after the other.
    flight: Option<InFlight>,
}

impl Server {
    /// Its own features, beside those of every device.
    fn features(&self) -> u64 {
        let bits = [VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD];
        bits.into_iter().fold(0, |all, bit| all | 1 << bit)
    }

    /// What the driver reads about it, `struct virtio_blk_config`: capacity at 0, seg_max at 12, blk_size at 20; max_discard_sectors,
    /// max_discard_seg and discard_sector_alignment from 36 on.
    fn configuration(&self) -> Vec<u8> {
        let mut all = vec![0; 64];
        all[..8].copy_from_slice(&self.disk.sectors.to_le_bytes());
        all[12..16].copy_from_slice(&SEGMENTS_MAX.to_le_bytes());
        all[20..24].copy_from_slice(&(SECTOR_BYTES as u32).to_le_bytes());
        all[36..40].copy_from_slice(&DISCARD_SECTORS_MAX.to_le_bytes());
        all[40..44].copy_from_slice(&1_u32.to_le_bytes());
        all[44..48].copy_from_slice(&DISCARD_ALIGNMENT_SECTORS.to_le_bytes());
        all
    }

    /// Begins what is in the ring, and may finish it.
    fn work(&mut self, ring: &mut Ring) -> io::Result<()> {
        while let Some((head, pieces)) = ring.next()? {
            let Some(request) = Request::of(head, pieces, ring.memory()) else {
                // The guest's driver is not one.
                ring.done(head, 0)?;
                continue;
            };
            match (&mut self.flight, self.disk.transfer(&request, ring.memory())) {
                (Some(flight), Ok(Some(transfer))) => flight.start(&self.disk.image, request, transfer)?,
                _ => {
                    let result = self.disk.perform(&request, ring.memory());
                    request.answer(result, ring)?;
                    ring.tell()?;
                }
            }
        }
        Ok(())
    }

    /// Becomes readable when something that was begun has ended; none when [`Server::work`] finishes all.
    fn under_way(&self) -> Option<BorrowedFd<'_>> {
        self.flight.as_ref().map(InFlight::descriptor)
    }

    /// Hands back what has ended.
    fn finish(&mut self, ring: &mut Ring) -> io::Result<()> {
        let Some(flight) = &mut self.flight else { return Ok(()) };
        while let Some(Completion { request, is_whole, written }) = flight.next_landed() {
            let result = match is_whole {
                Ok(true) => Ok(Some(written)),
                // By the plain way, which has more ways out.
                Ok(false) => self.disk.perform(&request, ring.memory()),
                Err(error) => Err(error),
            };
            request.answer(result, ring)?;
        }
        ring.tell()
    }

    /// Waits until all has ended, and hands it back.
    fn settle(&mut self, ring: &mut Ring) -> io::Result<()> {
        while self.flight.as_mut().map_or(Ok(false), InFlight::wait)? {
            self.finish(ring)?;
        }
        Ok(())
    }
}

impl Request {
    /// Head (kind, sector), data, and the byte for its status. None when it is not so.
    fn of(head: u16, mut pieces: Vec<Piece>, memory: &GuestMemoryMmap) -> Option<Request> {
        let (status_at, ..) = pieces.pop().filter(|(_, length, writable)| *writable && *length == 1)?;
        let (head_at, ..) = pieces.first().copied().filter(|(_, length, writable)| !writable && *length >= 16)?;
        let kind: u32 = memory.read_obj(head_at).ok()?;
        let sector: u64 = memory.read_obj(head_at.unchecked_add(8)).ok()?;
        Some(Request { head, kind, sector, data: pieces.split_off(1), status_at })
    }

    /// Hands it back: bytes that were written to the guest's memory; none for a request that this disk does not know.
    fn answer(&self, result: io::Result<Option<u32>>, ring: &mut Ring) -> io::Result<()> {
        let (status, written) = match result {
            Ok(Some(written)) => (VIRTIO_BLK_S_OK, written),
            Ok(None) => (VIRTIO_BLK_S_UNSUPP, 0),
            Err(_) => (VIRTIO_BLK_S_IOERR, 0),
        };
        let status = u8::try_from(status).expect("a status is a byte");
        let written = ring.memory().write_obj(status, self.status_at).map_or(0, |()| written + 1);
        ring.done(self.head, written)
    }
}

impl Transfer {
    /// Bytes of the guest's memory that it writes.
    fn written(&self) -> u32 {
        if self.is_write { 0 } else { self.bytes }
    }
}

impl Disk {
    fn open(image: &Path, serial: &str) -> io::Result<Disk> {
        let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags).open(image);
        let buffered = open(0)?;
        // Two kernels on one image would each write over the other's filesystem.
        if buffered.try_lock().is_err() {
            return Err(io::Error::other(format!("{} is locked: another trial works on it", image.display())));
        }
        // tmpfs and some others have no direct I/O.
        let image = open(libc::O_DIRECT).or_else(|_| open(0))?;
        let sectors = buffered.metadata()?.len() / SECTOR_BYTES;
        Ok(Disk { image, buffered, sectors, serial: serial.into() })
    }

    /// Does a request and waits for it, as [`Request::answer`] takes it.
    fn perform(&self, request: &Request, memory: &GuestMemoryMmap) -> io::Result<Option<u32>> {
        if request.kind == VIRTIO_BLK_T_GET_ID {
            let mut id = [0; VIRTIO_BLK_ID_BYTES as usize];
            let bytes = self.serial.as_bytes();
            id[..bytes.len()].copy_from_slice(bytes);
            let (at, ..) = request.data.first().ok_or(io::ErrorKind::InvalidInput)?;
            memory.write_slice(&id, *at).map_err(io::Error::other)?;
            return Ok(Some(VIRTIO_BLK_ID_BYTES));
        }
        if request.kind == VIRTIO_BLK_T_DISCARD {
            return self.discard(request, memory);
        }
        let Some(transfer) = self.transfer(request, memory)? else { return Ok(None) };
        if transfer.vectors.is_empty() {
            self.image.sync_data()?;
            return Ok(Some(0));
        }
        match whole(&self.image, &transfer) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => whole(&self.buffered, &transfer)?,
            other => other?,
        }
        Ok(Some(transfer.written()))
    }

    /// Gives blocks back to the host's filesystem: `struct virtio_blk_discard_write_zeroes` has sector, sectors and flags.
    fn discard(&self, request: &Request, memory: &GuestMemoryMmap) -> io::Result<Option<u32>> {
        let (at, ..) = request.data.first().ok_or(io::ErrorKind::InvalidInput)?;
        let sector: u64 = memory.read_obj(*at).map_err(io::Error::other)?;
        let sectors: u32 = memory.read_obj(at.unchecked_add(8)).map_err(io::Error::other)?;
        if sector.checked_add(sectors.into()).is_none_or(|end| end > self.sectors) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (offset, length) = (sector * SECTOR_BYTES, u64::from(sectors) * SECTOR_BYTES);
        let how = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        match nix::fcntl::fallocate(&self.buffered, how, offset.cast_signed(), length.cast_signed()) {
            Ok(()) => Ok(Some(0)),
            Err(Errno::EOPNOTSUPP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What a request moves; none when it is of another kind.
    fn transfer(&self, request: &Request, memory: &GuestMemoryMmap) -> io::Result<Option<Transfer>> {
        if request.kind == VIRTIO_BLK_T_FLUSH {
            return Ok(Some(Transfer::default()));
        }
        if request.kind != VIRTIO_BLK_T_IN && request.kind != VIRTIO_BLK_T_OUT {
            return Ok(None);
        }
        let mut vectors = Vec::with_capacity(request.data.len());
        let mut total: u32 = 0;
        for (at, length, _) in &request.data {
            let slice = memory.get_slice(*at, *length as usize).map_err(io::Error::other)?;
            let start = slice.ptr_guard_mut().as_ptr();
            vectors.push(libc::iovec { iov_base: start.cast(), iov_len: *length as usize });
            total = total.checked_add(*length).ok_or(io::ErrorKind::InvalidInput)?;
        }
        let offset = request.sector.checked_mul(SECTOR_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
        let end = offset.checked_add(total.into()).ok_or(io::ErrorKind::InvalidInput)?;
        if total == 0 || end > self.sectors * SECTOR_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Some(Transfer { is_write: request.kind == VIRTIO_BLK_T_OUT, offset, vectors, bytes: total }))
    }
}

/// Reads or writes it all, in one call where the kernel does.
fn whole(file: &File, transfer: &Transfer) -> io::Result<()> {
    let Transfer { is_write, offset, vectors, bytes } = transfer;
    let (count, at) = (vectors.len() as libc::c_int, offset.cast_signed());
    // SAFETY: every vector is a piece of the guest's memory, which stays mapped while its guard lives in the caller.
    let done = unsafe {
        if *is_write {
            libc::pwritev(file.as_raw_fd(), vectors.as_ptr(), count, at)
        } else {
            libc::preadv(file.as_raw_fd(), vectors.as_ptr(), count, at)
        }
    };
    match usize::try_from(done) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(done) if done == *bytes as usize => Ok(()),
        // An image has all its blocks, so a short transfer is a disk that is full or failing.
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
