//! Where the parts of a file lie; which parts of an image lie on the disk unwritten or not at all, and writing them.
//!
//! mkfs.ext4 and mkfs.xfs zero their journals by a request that a loop device turns into "these blocks are zero" on the
//! host's filesystem, which then marks them unwritten. Left so, the first writes to the journal, during the measurement,
//! would make the host convert and journal them: a cost of the image file, charged to the filesystems that zero most.

use crate::error::Error;
use crate::linux;
use crate::settle::forget;
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use random::SplitMix64;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// `_IOWR('f', 11, struct fiemap)`, include/uapi/linux/fs.h.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
/// Unknown, not yet allocated, encoded, inside metadata, or a packed tail: of these there is no place.
const FIEMAP_EXTENT_WITHOUT_PLACE: u32 = 0x2 | 0x4 | 0x8 | 0x200 | 0x400;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;

/// Extents asked for at once.
const EXTENTS: usize = 256;

const CHUNK_BYTES: usize = 4 << 20;

/// What memory, place and length of a direct write are multiples of on every device.
const DIRECT_BYTES: usize = 4096;

/// `struct fiemap_extent`, include/uapi/linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

/// `struct fiemap` with room for its extents.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

/// A part of a file: first byte and length.
pub(crate) type Range = (u64, u64);

/// What to write where nothing was.
pub(crate) enum Content {
    /// As it reads now.
    Zeros,
    /// Nothing that a disk below could leave out.
    Noise,
}

/// Holes and unwritten parts of a file; holes alone where the filesystem tells of no extents (tmpfs).
pub(crate) fn unwritten(file: &File, path: &Path) -> Result<Vec<Range>, Error> {
    let bytes = file.metadata().map_err(Error::file("look at", path))?.len();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes {
        let map = match ask(file, at, bytes - at) {
            Ok(map) => map,
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                return holes(file, bytes).map_err(Error::file("look for holes of", path));
            }
            Err(error) => return Err(Error::file("ask for the extents of", path)(error)),
        };
        let extents = &map.extents[..map.mapped as usize];
        for extent in extents {
            if extent.logical > at {
                found.push((at, extent.logical - at));
            }
            let (start, end) = (extent.logical.max(at), (extent.logical + extent.length).min(bytes));
            if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 && end > start {
                found.push((start, end - start));
            }
            at = end.max(at);
        }
        if extents.last().is_none_or(|extent| extent.flags & FIEMAP_EXTENT_LAST != 0) {
            break;
        }
    }
    if at < bytes {
        found.push((at, bytes - at));
    }
    Ok(found)
}

/// A filesystem that knows of no holes says that all is data (lseek(2)).
fn holes(file: &File, bytes: u64) -> io::Result<Vec<Range>> {
    let (mut found, mut at): (Vec<Range>, u64) = (Vec::new(), 0);
    while at < bytes {
        let start = lseek(file, at.cast_signed(), Whence::SeekHole)?.cast_unsigned();
        if start >= bytes {
            break;
        }
        let end = match lseek(file, start.cast_signed(), Whence::SeekData) {
            Ok(data) => data.cast_unsigned().min(bytes),
            Err(Errno::ENXIO) => bytes,
            Err(error) => return Err(error.into()),
        };
        found.push((start, end - start));
        // Should the file be written meanwhile.
        at = end.max(start + 1);
    }
    Ok(found)
}

/// Where a file's parts lie on its filesystem's device: offset in the file, offset on the device, length, in bytes.
///
/// # Errors
/// When the filesystem does not tell.
pub(crate) fn placed(file: &File) -> io::Result<Vec<(u64, u64, u64)>> {
    let (mut found, mut at) = (Vec::new(), 0);
    loop {
        let map = ask(file, at, u64::MAX - at)?;
        let extents = &map.extents[..map.mapped as usize];
        let placed = extents.iter().filter(|extent| extent.flags & FIEMAP_EXTENT_WITHOUT_PLACE == 0);
        found.extend(placed.map(|extent| (extent.logical, extent.physical, extent.length)));
        match extents.last() {
            Some(last) if last.flags & FIEMAP_EXTENT_LAST == 0 => at = last.logical + last.length,
            _ => return Ok(found),
        }
    }
}

fn ask(file: &File, start: u64, length: u64) -> io::Result<Map> {
    // SAFETY: plain integers, for which all zeros is a value.
    let mut map: Map = unsafe { std::mem::zeroed() };
    (map.start, map.length, map.flags, map.room) = (start, length, FIEMAP_FLAG_SYNC, EXTENTS as u32);
    // SAFETY: the kernel writes at most `room` extents into the map.
    Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &mut map) })?;
    Ok(map)
}

/// Writes the parts, past the page cache where that can be: to fill it with what nobody reads costs more than the writing.
pub(crate) fn write(
    target: &File,
    path: &Path,
    ranges: &[Range],
    content: &Content,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let mut memory = vec![0; CHUNK_BYTES + DIRECT_BYTES];
    let first = memory.as_ptr().align_offset(DIRECT_BYTES);
    let chunk = &mut memory[first..][..CHUNK_BYTES];
    let mut noise = SplitMix64::new(0);
    // Some filesystems refuse it, and write all the same.
    let _ = linux::set_direct(target, true);
    for (start, length) in ranges {
        let mut done = 0;
        while done < *length {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let part = &mut chunk[..(length - done).min(CHUNK_BYTES as u64) as usize];
            if let Content::Noise = content {
                noise.fill(part);
            }
            let written = target.write_all_at(part, start + done).or_else(|_| {
                // The end of an image may be no whole block, and some filesystems take the flag and refuse the write.
                linux::set_direct(target, false)?;
                target.write_all_at(part, start + done)
            });
            written.map_err(Error::file("write", path))?;
            done += part.len() as u64;
        }
    }
    linux::set_direct(target, false).map_err(Error::file("write", path))?;
    target.sync_all().map_err(Error::file("flush", path))?;
    // The page cache belongs to the trials.
    forget(target);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn the_kernels_structures_have_their_sizes() {
        assert_eq!(size_of::<Extent>(), 56);
        assert_eq!(size_of::<Map>(), 32 + 56 * EXTENTS);
    }

    #[test]
    fn holes_are_found_and_written() {
        // Memory tells of no extents.
        for place in [std::env::temp_dir().as_path(), Path::new("/dev/shm")] {
            holes_are_found_and_written_in(place);
        }
    }

    fn holes_are_found_and_written_in(place: &Path) {
        let folder = tempfile::tempdir_in(place).expect("a folder");
        let path = folder.path().join("image");
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("made");
        file.set_len(10 << 20).expect("sized");
        // More extents than one question takes.
        for index in 0..300 {
            file.write_all_at(&[1; 4096], index * 16384).expect("written");
        }
        let found = unwritten(&file, &path).expect("found");
        assert_eq!(found.iter().map(|(_, length)| length).sum::<u64>(), (10 << 20) - 300 * 4096);
        assert_eq!(found[0], (4096, 12288));
        write(&file, &path, &found, &Content::Zeros, &AtomicBool::new(false)).expect("written");
        assert_eq!(unwritten(&file, &path).expect("none"), []);
        let mut block = [0; 4096];
        file.read_exact_at(&mut block, 16384).expect("readable");
        assert_eq!(block, [1; 4096]);
    }

    #[test]
    fn parts_are_written_whatever_their_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("image");
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("made");
        let ranges = [(0, CHUNK_BYTES as u64), (CHUNK_BYTES as u64 + 4096, 8192), (CHUNK_BYTES as u64 + 20_480, 1000)];
        write(&file, &path, &ranges, &Content::Noise, &AtomicBool::new(false)).expect("written");
        let mut bytes = Vec::new();
        File::open(&path).expect("open").read_to_end(&mut bytes).expect("readable");
        let noise = |start: usize, length: usize| bytes[start..start + length].chunks(8).all(|word| word != [0; 8]);
        assert_eq!(bytes.len(), CHUNK_BYTES + 20_480 + 1000);
        assert!(ranges.iter().all(|(start, length)| noise(*start as usize, *length as usize)));
        assert!(bytes[CHUNK_BYTES..CHUNK_BYTES + 4096].iter().all(|byte| *byte == 0));
        // As before for whoever uses the file next: memory at any place.
        file.write_all_at(&[1], 1).expect("written");
    }

    #[test]
    fn preallocated_is_unwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("image");
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("made");
        linux::allocate(&file, 1 << 20).expect("there is room");
        let bytes: u64 = unwritten(&file, &path).expect("found").iter().map(|(_, length)| length).sum();
        assert_eq!(bytes, 1 << 20);
    }
}
