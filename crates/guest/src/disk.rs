//! A disk of the guest's: virtio-blk, served from an image file by a thread of ours.
//!
//! The kernel's own disks (ubd) drop flushes: their driver hands a request of no segments, which a flush is, to nobody
//! (arch/um/drivers/ubd_kern.c, `io_thread`, since Linux 4.20), so that nothing there would show which filesystem flushes. Here
//! a flush is an fdatasync of the image, and reads and writes pass by the host's page cache where its filesystem allows.
//! Protocol: vhost-user, and virtio 1.1, 5.2 (block device).

mod vhost_user;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use vhost_user::{Device, Ring};
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_ID_BYTES, VIRTIO_BLK_S_IOERR,
    VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
};
use vm_memory::{Address as _, Bytes, GuestAddress, GuestMemoryBackend as _, GuestMemoryMmap};

/// A driver counts in sectors of this size whatever the device's own (virtio 1.1, 5.2.4).
const SECTOR_BYTES: u64 = 512;

/// Pieces of memory in one request at most, beside its head and its status.
const SEGMENTS_MAX: u32 = 126;

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

/// Serves a disk on a socket until the guest has gone, in a thread of its own. `serial` is what the guest is told, at most
/// twenty bytes.
///
/// # Errors
/// When the image can't be opened or the socket not made.
pub fn serve(image: &Path, socket: &Path, serial: &str) -> io::Result<()> {
    let disk = Disk::open(image, serial)?;
    let listener = UnixListener::bind(socket)?;
    std::thread::Builder::new().name(serial.into()).spawn(move || {
        let served = listener.accept().and_then(|(guest, _)| vhost_user::serve(guest, &disk));
        // The guest meets a disk that does not answer; why stands beside its own messages.
        if let Err(error) = served {
            eprintln!("disk {}: {error}", disk.serial);
        }
    })?;
    Ok(())
}

impl Device for Disk {
    fn features(&self) -> u64 {
        [VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_BLK_SIZE].into_iter().fold(0, |all, bit| all | 1 << bit)
    }

    /// `struct virtio_blk_config`: capacity at 0, seg_max at 12, blk_size at 20.
    fn configuration(&self) -> Vec<u8> {
        let mut all = vec![0; 64];
        all[..8].copy_from_slice(&self.sectors.to_le_bytes());
        all[12..16].copy_from_slice(&SEGMENTS_MAX.to_le_bytes());
        all[20..24].copy_from_slice(&(SECTOR_BYTES as u32).to_le_bytes());
        all
    }

    fn work(&self, ring: &mut Ring) -> io::Result<()> {
        while let Some((head, pieces)) = ring.next()? {
            let written = self.request(pieces, ring.memory()).unwrap_or(0);
            ring.done(head, written)?;
        }
        Ok(())
    }
}

impl Disk {
    fn open(image: &Path, serial: &str) -> io::Result<Disk> {
        let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags).open(image);
        let buffered = open(0)?;
        // tmpfs and some others have no direct I/O.
        let image = open(libc::O_DIRECT).or_else(|_| open(0))?;
        let sectors = buffered.metadata()?.len() / SECTOR_BYTES;
        Ok(Disk { image, buffered, sectors, serial: serial.into() })
    }

    /// Does one request: head (kind, sector), data, and the byte for its status. None when the guest's driver is not one.
    fn request(&self, mut pieces: Vec<Piece>, memory: &GuestMemoryMmap) -> Option<u32> {
        let (status_at, ..) = pieces.pop().filter(|(_, length, writable)| *writable && *length == 1)?;
        let (head_at, ..) = pieces.first().copied().filter(|(_, length, writable)| !writable && *length >= 16)?;
        let kind: u32 = memory.read_obj(head_at).ok()?;
        let sector: u64 = memory.read_obj(head_at.unchecked_add(8)).ok()?;
        let (status, written) = match self.perform(kind, sector, &pieces[1..], memory) {
            Ok(Some(written)) => (VIRTIO_BLK_S_OK, written),
            Ok(None) => (VIRTIO_BLK_S_UNSUPP, 0),
            Err(_) => (VIRTIO_BLK_S_IOERR, 0),
        };
        memory.write_obj(u8::try_from(status).expect("a status is a byte"), status_at).ok()?;
        Some(written + 1)
    }

    /// Bytes that were written to the guest's memory; none for a request that this disk does not know.
    fn perform(&self, kind: u32, sector: u64, pieces: &[Piece], memory: &GuestMemoryMmap) -> io::Result<Option<u32>> {
        match kind {
            VIRTIO_BLK_T_FLUSH => self.image.sync_data().map(|()| Some(0)),
            VIRTIO_BLK_T_IN | VIRTIO_BLK_T_OUT => {
                self.transfer(kind == VIRTIO_BLK_T_OUT, sector * SECTOR_BYTES, pieces, memory).map(Some)
            }
            VIRTIO_BLK_T_GET_ID => {
                let mut id = [0; VIRTIO_BLK_ID_BYTES as usize];
                let bytes = self.serial.as_bytes();
                id[..bytes.len()].copy_from_slice(bytes);
                let (at, ..) = pieces.first().ok_or(io::ErrorKind::InvalidInput)?;
                memory.write_slice(&id, *at).map_err(io::Error::other)?;
                Ok(Some(VIRTIO_BLK_ID_BYTES))
            }
            _ => Ok(None),
        }
    }

    fn transfer(&self, write: bool, offset: u64, pieces: &[Piece], memory: &GuestMemoryMmap) -> io::Result<u32> {
        let mut vectors = Vec::with_capacity(pieces.len());
        let mut total = 0;
        for (at, length, _) in pieces {
            let slice = memory.get_slice(*at, *length as usize).map_err(io::Error::other)?;
            let start = slice.ptr_guard_mut().as_ptr();
            vectors.push(libc::iovec { iov_base: start.cast(), iov_len: *length as usize });
            total += *length;
        }
        if offset + u64::from(total) > self.sectors * SECTOR_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let whole = |file: &File| whole(file, write, &vectors, offset, total);
        match whole(&self.image) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => whole(&self.buffered)?,
            other => other?,
        }
        Ok(if write { 0 } else { total })
    }
}

/// Reads or writes it all, in one call where the kernel does.
fn whole(file: &File, write: bool, vectors: &[libc::iovec], offset: u64, total: u32) -> io::Result<()> {
    let (count, at) = (vectors.len() as libc::c_int, offset.cast_signed());
    // SAFETY: every vector is a piece of the guest's memory, which stays mapped while its guard lives in the caller.
    let done = unsafe {
        if write {
            libc::pwritev(file.as_raw_fd(), vectors.as_ptr(), count, at)
        } else {
            libc::preadv(file.as_raw_fd(), vectors.as_ptr(), count, at)
        }
    };
    match usize::try_from(done) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(done) if done == total as usize => Ok(()),
        // An image has all its blocks, so a short transfer is a disk that is full or failing.
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
