//! Devices of the device mapper, by the kernel's own calls (include/uapi/linux/dm-ioctl.h).
//!
//! A device is marked for removal as soon as it is there: the kernel takes it away when its last user goes, be that a
//! mount, a program or this process, whatever ended it. It lets go of the devices below then. Nothing here decides which
//! devices those are; `guard.rs` does.

use crate::error::{Error, Missing};
use nix::errno::Errno;
use nix::time::{ClockId, clock_getres};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CONTROL: &str = "/dev/mapper/control";
const LOAD: &str = "load the kernel module dm_mod, and dm_delay for delays";

/// `_IOWR(DM_IOCTL, nr, struct dm_ioctl)` with nr 0.
const CALL: libc::c_ulong = 0xC138_FD00;
const DEV_CREATE: libc::c_ulong = CALL + 3;
const DEV_REMOVE: libc::c_ulong = CALL + 4;
const DEV_SUSPEND: libc::c_ulong = CALL + 6;
const TABLE_LOAD: libc::c_ulong = CALL + 9;
const TABLE_STATUS: libc::c_ulong = CALL + 12;

const STATUS_TABLE_FLAG: u32 = 1 << 4;
const BUFFER_FULL_FLAG: u32 = 1 << 8;
const DEFERRED_REMOVE: u32 = 1 << 17;

/// The interface that first removes on the last close, of Linux 3.13.
const VERSION: [u32; 3] = [4, 27, 0];

/// A stripe over eight disks needs about 100.
const ARGUMENTS_BYTES: usize = 1024;

/// The kernel's worker takes a device away within this time of its last close.
const REMOVE_SECONDS_MAX: u64 = 3;

/// `struct dm_ioctl`.
#[repr(C)]
struct Head {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_number: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

/// `struct dm_target_spec`.
#[repr(C)]
struct TargetSpec {
    sector_start: u64,
    length: u64,
    status: i32,
    next: u32,
    target: [u8; 16],
}

/// A call with room for a table of one target.
#[repr(C)]
struct Request {
    head: Head,
    spec: TargetSpec,
    arguments: [u8; ARGUMENTS_BYTES],
}

/// A table of one target over the whole device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Length of the device.
    pub(crate) sectors: u64,
    /// The kernel's name of the target.
    pub(crate) target: String,
    /// Its arguments.
    pub(crate) arguments: String,
}

/// A device that stays while this lives or something is mounted from it.
#[derive(Debug)]
pub(crate) struct MappedDevice {
    /// `/dev/dm-0`.
    pub(crate) path: PathBuf,
    /// Its name among the mapper's devices.
    name: String,
    /// Keeps it.
    file: File,
}

impl MappedDevice {
    /// Makes a device of that name, which no other may have.
    pub(crate) fn new(name: &str, table: &Table) -> Result<MappedDevice, Error> {
        let control = control()?;
        let failed = |action, error| Error::file(action, Path::new("/dev/mapper").join(name))(error);
        let mut request = Request::new(name);
        request.call(&control, DEV_CREATE).map_err(|error| failed("create", error))?;
        let path = PathBuf::from(format!("/dev/dm-{}", libc::minor(request.head.device)));
        let made = load(&control, name, table).map_err(|error| failed("load the table of", error));
        let opened = made.and_then(|()| File::open(&path).map_err(Error::file("open", &path)));
        // The mark takes a device that nobody has open away at once: what could not be made is not left.
        let mut mark = Request::new(name);
        mark.head.flags = DEFERRED_REMOVE;
        let marked = mark.call(&control, DEV_REMOVE).map_err(|error| failed("mark", error));
        let file = opened?;
        marked?;
        Ok(MappedDevice { path, name: name.into(), file })
    }

    /// The table that the kernel works by.
    pub(crate) fn table(&self) -> Result<Table, Error> {
        let failed = |error| Error::file("read the table of", &self.path)(error);
        let mut request = Request::new(&self.name);
        request.head.flags = STATUS_TABLE_FLAG;
        request.call(&control()?, TABLE_STATUS).map_err(failed)?;
        if request.head.target_count != 1 || request.head.flags & BUFFER_FULL_FLAG != 0 {
            return Err(failed(io::ErrorKind::InvalidData.into()));
        }
        let (target, arguments) = (text(&request.spec.target), text(&request.arguments));
        Ok(Table { sectors: request.spec.length, target, arguments })
    }

    /// Lets go of the device, and waits until the kernel has taken it away.
    pub(crate) fn remove(self) -> Result<(), Error> {
        let MappedDevice { path, name, file } = self;
        drop(file);
        let file_name = path.file_name().expect("a device has a name");
        let shown = Path::new("/sys/class/block").join(file_name).join("dm/name");
        let started = Instant::now();
        while std::fs::read_to_string(&shown).is_ok_and(|text| text.trim_end() == name) {
            if started.elapsed() > Duration::from_secs(REMOVE_SECONDS_MAX) {
                return Err(Error::file("remove", path)(io::Error::from_raw_os_error(libc::EBUSY)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Milliseconds of the kernel's tick, in which its timers wait: what its coarse clocks resolve.
pub(crate) fn tick_milliseconds() -> u64 {
    let nanoseconds = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).map_or(0, |resolution| resolution.tv_nsec());
    // A tick is 10, 4, 3 1/3 or 1 ms.
    nanoseconds.cast_unsigned().div_ceil(1_000_000).max(1)
}

fn control() -> Result<File, Error> {
    File::options().read(true).write(true).open(CONTROL).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Missing::new(format!("there is no {CONTROL}"), LOAD).into(),
        _ => Error::file("open", CONTROL)(error),
    })
}

/// Loads a table, and lets the device work by it.
fn load(control: &File, name: &str, table: &Table) -> io::Result<()> {
    let mut request = Request::new(name);
    request.head.target_count = 1;
    request.spec.length = table.sectors;
    put(&mut request.spec.target, &table.target)?;
    put(&mut request.arguments, &table.arguments)?;
    request.call(control, TABLE_LOAD)?;
    // Without its flag "suspend" resumes.
    Request::new(name).call(control, DEV_SUSPEND)
}

impl Request {
    fn new(name: &str) -> Request {
        // SAFETY: plain integers and bytes, for which all zeros is "not said".
        let mut request: Request = unsafe { std::mem::zeroed() };
        request.head.version = VERSION;
        request.head.data_size = u32::try_from(size_of::<Request>()).expect("a kilobyte");
        request.head.data_start = u32::try_from(size_of::<Head>()).expect("a few hundred bytes");
        put(&mut request.head.name, name).expect("names are made of a few short ones");
        request
    }

    fn call(&mut self, control: &File, number: libc::c_ulong) -> io::Result<()> {
        // SAFETY: the calls read and write `data_size` bytes, laid out as the kernel's.
        Ok(Errno::result(unsafe { libc::ioctl(control.as_raw_fd(), number as _, &raw mut *self) }).map(drop)?)
    }
}

/// Writes a text that the kernel reads up to its zero byte.
fn put(field: &mut [u8], text: &str) -> io::Result<()> {
    if text.len() >= field.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    field[..text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}

fn text(field: &[u8]) -> String {
    CStr::from_bytes_until_nul(field).unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_structures_have_their_sizes() {
        assert_eq!((size_of::<Head>(), size_of::<TargetSpec>()), (312, 40));
        assert_eq!(std::mem::offset_of!(Request, spec), 312);
        assert_eq!(std::mem::offset_of!(Request, arguments), 352);
        // The size is part of each call's number.
        assert_eq!((CALL >> 16) & 0x3FFF, 312);
    }

    #[test]
    fn texts_end_with_a_zero() {
        let mut field = [7; 4];
        put(&mut field, "abcd").expect_err("no room for the zero");
        field.fill(0);
        put(&mut field, "abc").expect("it fits");
        assert_eq!(text(&field), "abc");
        assert_eq!(text(b"abcd"), "", "what has no end is none");
    }

    #[test]
    fn the_tick_is_one_that_kernels_have() {
        assert!((1..=10).contains(&tick_milliseconds()));
    }
}
