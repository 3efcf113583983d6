//! Inside the guest: what its first process does before a trial and after it.
//!
//! The root stays the host's and read-only. What programs must write lies on memory; the work folder is the host's own.

use crate::boot::{Boot, READY, disk_serial};
use crate::kernel::modules_folder;
use crate::modules;
use nix::mount::{MsFlags, mount, umount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::termios::{self, SetArg};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The first serial line: the conductor.
const LINE: &str = "/dev/ttyS0";

/// The second one: a recording disk outside.
const DISK_LINE: &str = "/dev/ttyS1";

/// Memory that programs share.
const SHARED_MEMORY: &str = "/dev/shm";

/// Folders on memory. The host's content of them is its own.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp", "/run", SHARED_MEMORY];

/// A kind that uses many connections needs them; the kernel's own default is 4,096.
const OPEN_FILES_MAX: u64 = 1 << 20;

/// The conductor's line, both ways.
pub struct Line {
    /// What it says: first the [`Boot`], then what a trial hears.
    pub input: BufReader<File>,
    /// What it hears.
    pub output: File,
}

impl Line {
    /// Opens it and says that we are here.
    ///
    /// # Errors
    /// When there is no such line.
    pub fn open() -> io::Result<Line> {
        let mut output = open_raw(LINE)?;
        let input = BufReader::new(output.try_clone()?);
        output.write_all(format!("{READY}\n").as_bytes())?;
        Ok(Line { input, output })
    }

    /// The first thing said to us.
    ///
    /// # Errors
    /// When the line ends or says something else.
    pub fn boot(&mut self) -> io::Result<Boot> {
        let mut line = String::new();
        self.input.read_line(&mut line)?;
        serde_json::from_str(&line).map_err(io::Error::other)
    }
}

/// The line to a recording disk that is served outside. Only one who has it open may give orders.
///
/// # Errors
/// When there is no such line.
pub fn disk_line() -> io::Result<File> {
    open_raw(DISK_LINE)
}

/// A serial line on which bytes are just bytes.
fn open_raw(path: &str) -> io::Result<File> {
    let line = File::options().read(true).write(true).open(path)?;
    let mut settings = termios::tcgetattr(&line)?;
    termios::cfmakeraw(&mut settings);
    termios::tcsetattr(&line, SetArg::TCSANOW, &settings)?;
    Ok(line)
}

/// A file of the host's that may lie in one of the scratch folders, and is seen there again.
struct Shown {
    path: PathBuf,
    file: File,
}

impl Shown {
    /// Before the scratch folders are laid over the host's.
    fn open(path: PathBuf) -> io::Result<Shown> {
        let file = File::open(&path)?;
        Ok(Shown { path, file })
    }

    /// Afterwards.
    fn show(&self) -> io::Result<()> {
        if self.path.exists() {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        File::create(&self.path)?;
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let nothing = None::<&str>;
        Ok(mount(Some(&source), &self.path, nothing, MsFlags::MS_BIND, nothing)?)
    }
}

/// The program itself, and the user's files: what links lead to before the links. What is not there, the trial says.
fn shown(boot: &Boot) -> io::Result<Vec<Shown>> {
    let names = boot.files.iter().map(PathBuf::from).filter(|file| file.is_file());
    let names = names.flat_map(|file| [file.canonicalize().ok(), Some(file)]).flatten();
    let of_user = names.filter_map(|path| Shown::open(path).ok());
    Ok(std::iter::once(Shown::open(std::env::current_exe()?)?).chain(of_user).collect())
}

/// Furnishes the guest: file systems of the kernel's own, memory where programs write, the user's files and folder, the work folder with
/// the disk for what is kept, an empty folder in the place of the images, and modules.
///
/// # Errors
/// What the kernel refused, with the path.
pub fn furnish(boot: &Boot) -> io::Result<()> {
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mounted("sysfs", "/sys", safe, None)?;
    std::fs::create_dir_all(SHARED_MEMORY)?;
    // The kernel's own /dev hides the host's, and files of the user's in there. A host may have none.
    let _ = mounted("hostfs", SHARED_MEMORY, safe | MsFlags::MS_RDONLY, Some(SHARED_MEMORY.as_ref()));
    let shown = shown(boot)?;
    for folder in SCRATCH {
        mounted("tmpfs", folder, safe, Some("mode=1777".as_ref()))?;
    }
    for one in &shown {
        one.show().map_err(|error| io::Error::other(format!("cannot show {}: {error}", one.path.display())))?;
    }
    if !boot.work.exists() {
        std::fs::create_dir_all(&boot.work)?;
    }
    mounted("hostfs", &boot.work, safe, Some(boot.work.as_os_str()))?;
    load_modules(boot)?;
    disks(boot)?;
    // Servers look their host up and say more than a line when it has no name.
    nix::unistd::sethostname("localhost")?;
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 1024, OPEN_FILES_MAX)?;
    // As on the host, where a trial has its conductor's. One that can't be entered is missed by who names a file from there, and says so.
    let _ = std::fs::create_dir_all(&boot.folder).and_then(|()| std::env::set_current_dir(&boot.folder));
    Ok(())
}

/// `/proc` must be there before anything else can be asked.
///
/// # Errors
/// When the kernel refuses.
pub fn mount_proc() -> io::Result<()> {
    mounted("proc", "/proc", MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC, None)
}

/// What is kept from trial to trial is a disk of the guest's own, with the owners that servers give their files.
fn disks(boot: &Boot) -> io::Result<()> {
    let cache = boot.work.join("cache");
    let device = disk_device(0)?;
    // `noinit_itable`: no kernel thread goes on formatting while something is measured.
    mount(Some(&device), &cache, Some("ext4"), MsFlags::MS_NOATIME, Some("noinit_itable")).map_err(|error| {
        let remedy = "remove guest/cache.img in the work folder, it is made again";
        io::Error::other(format!("cannot mount the disk for what trials keep ({error}); {remedy}"))
    })?;
    // In the place of the image files themselves come links to the disks on them. Each lies in a folder of the work folder's, or
    // in one in there.
    let first = |image: &PathBuf| image.iter().next().map(PathBuf::from);
    let folders: BTreeSet<PathBuf> = boot.images.iter().filter_map(first).collect();
    let options = Some(OsStr::new("mode=755"));
    folders.iter().try_for_each(|folder| mounted("tmpfs", boot.work.join(folder), MsFlags::MS_NOSUID, options))
}

/// The device of a disk, found by what it answers.
///
/// # Errors
/// When there is no such disk.
pub fn disk_device(number: usize) -> io::Result<PathBuf> {
    let wanted = disk_serial(number);
    for entry in Path::new("/sys/class/block").read_dir()?.flatten() {
        let serial = std::fs::read_to_string(entry.path().join("serial")).unwrap_or_default();
        if serial.trim_end() == wanted {
            return Ok(Path::new("/dev").join(entry.file_name()));
        }
    }
    Err(io::Error::other(format!("the guest has no disk {wanted}")))
}

fn load_modules(boot: &Boot) -> io::Result<()> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    // A kernel of one's own may have everything built in.
    let Some(folder) = modules_folder(release.trim()) else { return Ok(()) };
    modules::load(&folder, &boot.modules)
}

fn mounted(kind: &str, on: impl AsRef<Path>, flags: MsFlags, options: Option<&OsStr>) -> io::Result<()> {
    let on = on.as_ref();
    mount(Some(kind), on, Some(kind), flags, options)
        .map_err(|error| io::Error::other(format!("cannot mount {kind} on {}: {error}", on.display())))
}

/// Ends the guest: what is kept is written out, the line says its last word, the kernel goes.
pub fn power_off(boot: &Boot, line: &File) -> ! {
    let _ = umount(&boot.work.join("cache"));
    let _ = termios::tcdrain(line);
    let refused = reboot(RebootMode::RB_POWER_OFF);
    unreachable!("the first process may power off: {refused:?}")
}
