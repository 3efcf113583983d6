//! How the guest is started, and the first line that is said to it.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

/// What a guest says first, to show that the line works and that it is there.
pub const READY: &str = "ready";

/// Each disk is a word of the kernel's command line, which has 4,096 bytes (COMMAND_LINE_SIZE).
pub const DISKS_MAX: usize = 32;

/// What the kernel is to leave out when it starts: it tries four ways to compute RAID 6 and one to mend it, for 16 ticks each,
/// and spins for 0.8 s (lib/raid6/algos.c), which is more than all else that it does. Without it there is no RAID 6, and a
/// trial that uses some fails by the kernel's panic: a `command` may, nothing that `storage` makes has several devices.
const LEFT_OUT: &str = "initcall_blacklist=raid6_select_algo";

/// `VIRTIO_ID_BLOCK`, include/uapi/linux/virtio_ids.h.
const VIRTIO_BLOCK: u32 = 2;

/// What the guest's first process is told before the trial's specification, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// The study's work folder, the only one of the host's that may be written.
    #[serde(with = "any_path")]
    pub work: PathBuf,
    /// The disk for what is kept from trial to trial is number 0; these image files, by their paths in the work folder, are
    /// number 1 and so on.
    pub images: Vec<PathBuf>,
    /// Kernel modules to load: `f2fs`, `dm_mod`.
    pub modules: Vec<String>,
    /// Where programs are looked for.
    pub path: OsString,
    /// The folder that the study's paths are from: the conductor's.
    #[serde(with = "any_path")]
    pub folder: PathBuf,
    /// The user's own files that the trial reads. Some may lie where the guest has a folder on memory.
    pub files: Vec<OsString>,
}

/// A path is bytes, which need be no text as in JSON.
mod any_path {
    use super::{Deserialize as _, OsString, Path, PathBuf, Serialize as _};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

/// A guest's hardware.
#[derive(Debug, Clone)]
pub struct Machine<'a> {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// How many disks it has.
    pub disks: usize,
    /// The guest's first process.
    pub init: &'a Path,
    /// A word for that process.
    pub word: &'a str,
    /// Where the kernel's own files and the disks' sockets are while it lives, from the folder that it is started in.
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

/// The socket of a disk in the scratch folder.
pub fn disk_socket(scratch: &Path, number: usize) -> PathBuf {
    scratch.join(format!("disk-{number}"))
}

/// What a disk answers when it is asked who it is: names of devices are given in an order that nobody promises.
pub fn disk_serial(number: usize) -> String {
    format!("surefoot-{number}")
}

/// The word that makes two open files the guest's second serial line, on which a recording disk outside is given orders.
pub fn disk_line(answers: RawFd, orders: RawFd) -> String {
    format!("ssl1=fd:{answers},fd:{orders}")
}

/// The kernel's command line. Its standard input and output become the first serial line, which carries the specification
/// in and the records out; kernel messages and the console go to standard error. So the two can't mix.
///
/// # Errors
/// When a path can't be put on it, or there are too many disks.
pub fn arguments(machine: &Machine) -> Result<Vec<OsString>, Error> {
    if machine.disks > DISKS_MAX {
        return Err(Error::Disks(machine.disks - 1));
    }
    if machine.init.to_string_lossy().contains(char::is_whitespace) {
        return Err(Error::Space(machine.init.into()));
    }
    let root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "loglevel=6", LEFT_OUT];
    let lines = ["con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1"];
    let mut all: Vec<OsString> = root.into_iter().chain(lines).map(OsString::from).collect();
    all.push(format!("mem={}K", machine.memory_bytes >> 10).into());
    all.push(format!("uml_dir={}/", machine.scratch.display()).into());
    for number in 0..machine.disks {
        let socket = disk_socket(machine.scratch, number);
        all.push(format!("virtio_uml.device={}:{VIRTIO_BLOCK}", socket.display()).into());
    }
    let mut init = OsString::from("init=");
    init.push(machine.init);
    all.extend([init, "--".into(), machine.word.into()]);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;

    /// JSON has text only: the conductor had panicked over a folder that an older system named in Latin-1.
    #[test]
    fn a_folder_may_have_any_name() {
        let name = || OsString::from_vec(b"/home/me/\xfcbung".to_vec());
        let (work, folder, files) = (name().into(), name().into(), vec![name()]);
        let boot = Boot { work, images: Vec::new(), modules: Vec::new(), path: "/bin".into(), folder, files };
        let said = serde_json::to_string(&boot).expect("plain data");
        assert_eq!(serde_json::from_str::<Boot>(&said).expect("it was written"), boot);
    }

    #[test]
    fn a_command_line() {
        let machine = Machine {
            memory_bytes: 1 << 30,
            disks: 2,
            init: Path::new("/usr/bin/surefoot"),
            word: "guest-init",
            scratch: Path::new("guest/memory"),
        };
        let words = arguments(&machine).expect("fine");
        let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        assert!(
            line.contains(
                "uml_dir=guest/memory/ virtio_uml.device=guest/memory/disk-0:2 virtio_uml.device=guest/memory/disk-1:2"
            ),
            "{line}"
        );
        assert!(line.ends_with("init=/usr/bin/surefoot -- guest-init"), "{line}");
        let spaced = Machine { init: Path::new("/my programs/surefoot"), ..machine.clone() };
        assert!(matches!(arguments(&spaced), Err(Error::Space(_))));
        assert!(matches!(arguments(&Machine { disks: 33, ..machine }), Err(Error::Disks(32))));
    }
}
