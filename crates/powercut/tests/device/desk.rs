//! A recording disk below a loop device and a filesystem, and what the tests do with them.

use memmap2::MmapMut;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use powercut::device::{Disk, LogFile, Options};
use powercut::states::Cache;
use powercut::timing::Profile;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub const DISK_BYTES: usize = 8 << 20;

/// What should have gone by itself goes within this time.
const GONE_SECONDS_MAX: u64 = 20;

pub fn program() -> Command {
    let mut shell = Command::new("/bin/sh");
    let line = r#"export DISK_OPTIONS="$1"; exec "$0" --exact the_disks_process --nocapture 3>&1 >/dev/null"#;
    shell.args(["-c", line]).arg(std::env::current_exe().expect("this program"));
    shell
}

/// Where a disk is tried out.
pub struct Desk {
    pub folder: tempfile::TempDir,
    pub options: Options,
}

impl Desk {
    /// None, which is said, where there is no root.
    pub fn new(disk_bytes: usize) -> Option<Desk> {
        if !nix::unistd::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
            assert!(std::env::var_os("CI").is_none(), "these tests need root, and are not skipped in CI");
            eprintln!("skipped: needs root, loop devices and /dev/fuse");
            return None;
        }
        // Another test's disk, which has a mount namespace of its own, would keep a copy of what is mounted here, and what is unmounted
        // would live on.
        unshare(CloneFlags::CLONE_NEWNS).expect("root may");
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).expect("root may");
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options {
            mount_point: folder.path().join("disk"),
            log: Some(LogFile { path: folder.path().join("log"), bytes_max: 1 << 30 }),
            disk_bytes: disk_bytes as u64,
            profile: Profile::None,
            cache: Cache::Volatile,
            seed: 1,
        };
        std::fs::create_dir(&options.mount_point).expect("a directory");
        Some(Desk { folder, options })
    }

    pub fn disk(&self) -> Disk {
        Disk::start(program(), &self.options).expect("a disk")
    }

    pub fn log_path(&self) -> &Path {
        &self.options.log.as_ref().expect("it has one").path
    }

    pub fn log(&self) -> Vec<u8> {
        std::fs::read(self.log_path()).expect("a log")
    }

    /// A new filesystem on it.
    pub fn ext4(&self, device: &Loop) -> Mounted {
        run(Command::new("mkfs.ext4").arg("-q").arg(&device.path));
        let on = self.folder.path().join("files");
        std::fs::create_dir(&on).expect("a directory");
        Mounted::ext4(&device.path, &on).expect("a filesystem")
    }
}

/// A loop device, and a handle on it that passes by the page cache.
pub struct Loop {
    pub path: PathBuf,
    pub file: File,
}

impl Loop {
    pub fn attach(disk: &Disk) -> Loop {
        let made = Command::new("losetup").args(["--direct-io=on", "-f", "--show"]).arg(disk.file()).output();
        let made = made.expect("losetup");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let path = PathBuf::from(String::from_utf8(made.stdout).expect("a path").trim());
        let file = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(&path).expect("opens");
        Loop { path, file }
    }

    pub fn write(&self, offset: usize, data: &[u8]) -> io::Result<()> {
        let mut pages = MmapMut::map_anon(data.len())?;
        pages.copy_from_slice(data);
        self.file.write_all_at(&pages, offset as u64)
    }

    pub fn read(&self, offset: usize, bytes: usize) -> io::Result<MmapMut> {
        let mut pages = MmapMut::map_anon(bytes)?;
        self.file.read_exact_at(&mut pages, offset as u64)?;
        Ok(pages)
    }

    pub fn all(&self) -> MmapMut {
        self.read(0, DISK_BYTES).expect("readable")
    }

    pub fn clear(&self, flags: FallocateFlags, offset: usize, bytes: usize) {
        let flags = flags | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(&self.file, flags, offset as i64, bytes as i64).expect("zeros");
    }

    /// Drops what the kernel keeps of it in memory.
    pub fn forget(&self) {
        nix::ioctl_none_bad!(flush_buffers, 0x1261);
        // SAFETY: BLKFLSBUF takes no argument.
        unsafe { flush_buffers(self.file.as_raw_fd()) }.expect("clean");
    }

    /// Whether the kernel has it on a file of this folder.
    pub fn is_attached(path: &Path, folder: &Path) -> bool {
        let name = path.file_name().expect("a name");
        let backing = Path::new("/sys/block").join(name).join("loop/backing_file");
        std::fs::read_to_string(backing).is_ok_and(|file| file.contains(&*folder.to_string_lossy()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run(Command::new("losetup").arg("-d").arg(&self.path));
    }
}

pub struct Mounted(pub PathBuf);

impl Mounted {
    pub fn ext4(device: &Path, on: &Path) -> nix::Result<Mounted> {
        mount(Some(device), on, Some("ext4"), MsFlags::empty(), None::<&str>)?;
        Ok(Mounted(on.into()))
    }
}

/// Unmounts, when what another test starts at the moment has let go of the files here (between its fork and its exec).
pub fn unmount(on: &Path) {
    wait_until("it unmounts", || umount2(on, MntFlags::empty()) != Err(Errno::EBUSY));
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

pub fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(GONE_SECONDS_MAX), "not after {GONE_SECONDS_MAX} s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
