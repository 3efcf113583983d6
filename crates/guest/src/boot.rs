//! How the guest is started, and the first line that is said to it.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A User-Mode Linux kernel takes so many disks (MAX_DEV in arch/um/drivers/ubd_kern.c).
pub const DISKS_MAX: usize = 16;

/// What the guest's first process is told before the trial's specification, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// The study's work folder, the only one of the host's that may be written.
    pub work: PathBuf,
    /// The disk for what is kept from trial to trial is the first one; these image files, by their paths in the folder of
    /// images, are the second and so on.
    pub images: Vec<PathBuf>,
    /// Kernel modules to load: `f2fs`, `dm_mod`.
    pub modules: Vec<String>,
    /// Where programs are looked for.
    pub path: OsString,
}

/// A guest's hardware.
#[derive(Debug, Clone)]
pub struct Machine<'a> {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Image files, by their paths from the folder that the kernel is started in: no disk's path may have a space or comma.
    pub disks: &'a [PathBuf],
    /// The guest's first process.
    pub init: &'a Path,
    /// A word for that process.
    pub word: &'a str,
    /// Where the kernel's own files go while it lives.
    pub scratch: &'a Path,
}

/// Why a guest can't be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A kernel's command line has no way to quote.
    #[error("{0} has a space in its path, which a kernel's command line can't carry; copy the program elsewhere")]
    Space(PathBuf),
    /// More disks than it takes.
    #[error("the trial has {0} image files, and a guest kernel takes {max}", max = DISKS_MAX - 1)]
    Disks(usize),
}

/// The device of the disk of an index: `/dev/ubda`.
#[must_use]
pub fn disk_device(index: usize) -> PathBuf {
    let letter = char::from(b'a' + u8::try_from(index).expect("at most sixteen disks"));
    PathBuf::from(format!("/dev/ubd{letter}"))
}

/// The kernel's command line. Its standard input and output become the first serial line, which carries the specification
/// in and the records out; kernel messages and the console go to standard error. So the two can't mix.
///
/// # Errors
/// When a path can't be put on it, or there are too many disks.
pub fn arguments(machine: &Machine) -> Result<Vec<OsString>, Error> {
    if machine.disks.len() > DISKS_MAX {
        return Err(Error::Disks(machine.disks.len() - 1));
    }
    if machine.init.to_string_lossy().contains(char::is_whitespace) {
        return Err(Error::Space(machine.init.into()));
    }
    let mut all: Vec<OsString> = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "loglevel=6"]
        .into_iter()
        .chain(["con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1"])
        .map(OsString::from)
        .collect();
    all.push(format!("mem={}K", machine.memory_bytes >> 10).into());
    all.push(format!("uml_dir={}/", machine.scratch.display()).into());
    for (index, disk) in machine.disks.iter().enumerate() {
        let device = disk_device(index);
        let name = device.file_name().expect("a device has a name").to_string_lossy().into_owned();
        // `t`: no discards, so that the image stays allocated and a freed block costs what it costs on a disk.
        let mut word = OsString::from(format!("{name}t="));
        word.push(disk);
        all.push(word);
    }
    let mut init = OsString::from("init=");
    init.push(machine.init);
    all.extend([init, "--".into(), machine.word.into()]);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line() {
        let disks = [PathBuf::from("guest/cache.img"), PathBuf::from("images/device-1.img")];
        let machine = Machine {
            memory_bytes: 1 << 30,
            disks: &disks,
            init: Path::new("/usr/bin/surefoot"),
            word: "guest-init",
            scratch: Path::new("/dev/shm"),
        };
        let words = arguments(&machine).expect("fine");
        let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        assert!(
            line.contains("mem=1048576K uml_dir=/dev/shm/ ubdat=guest/cache.img ubdbt=images/device-1.img"),
            "{line}"
        );
        assert!(line.ends_with("init=/usr/bin/surefoot -- guest-init"), "{line}");
        let spaced = Machine { init: Path::new("/my programs/surefoot"), ..machine.clone() };
        assert!(matches!(arguments(&spaced), Err(Error::Space(_))));
        let many = vec![PathBuf::from("x"); 17];
        assert!(matches!(arguments(&Machine { disks: &many, ..machine }), Err(Error::Disks(16))));
    }
}
