//! The process around a guest kernel: isolation on the host, its disks, and the kernel on one CPU.

use super::{clock, scratch};
use crash::recording::RecordingDisk;
use crash::recording_disk::Disks;
use guest::boot;
use nix::fcntl::{FcntlArg, FdFlag};
use nix::sched::CpuSet;
use nix::unistd::Pid;
use observe::affinity;
use powercut::device::Served;
use sandbox::isolation::{self, Isolation};
use sandbox::work::Work;
use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beside the guest's own memory, its file has a gap of up to 1 GiB, of which little is ever used.
const SCRATCH_BYTES: u64 = 512 << 20;

/// What a guest is given beside its kernel.
#[derive(Debug)]
pub struct Enclosed<'a> {
    /// Its memory.
    pub memory_bytes: u64,
    /// Image files, from the work folder.
    pub disks: &'a [PathBuf],
    /// A recording disk, which comes after them.
    pub recording: Option<RecordingDisk>,
}

/// The life of a `surefoot guest` process: isolation on the host, in which nothing but the work folder can be written, and the
/// kernel in them. Returns its exit status, when it has ended.
///
/// # Errors
/// When there are no namespaces to be had, or they can't be set up.
pub fn enclose(work: &Work, machine: &Enclosed, program: &Path, arguments: &[OsString]) -> std::io::Result<i32> {
    if isolation::enter(isolation::Network::Own)? == Isolation::None {
        return Err(std::io::Error::other(
            "the kernel refuses namespaces, without which a killed guest leaves processes",
        ));
    }
    let scratch = scratch(work);
    std::fs::create_dir_all(&scratch)?;
    isolation::fence(work.folder()).map_err(|error| {
        let what = "cannot make all but the work folder read-only for the guest, which needs Linux 5.12 or newer";
        std::io::Error::other(format!("{what}: {error}"))
    })?;
    let size = format!("size={},mode=700", machine.memory_bytes + SCRATCH_BYTES);
    isolation::lay_tmpfs(&scratch, &size)?;
    // Sockets have short paths only, and a kernel's command line no quotes: all of ours are from here.
    std::env::set_current_dir(work.folder())?;
    let inside = scratch.strip_prefix(work.folder()).expect("a folder of it");
    let recorded = machine.recording.as_ref().map(|disk| start_recording(disk, work)).transpose()?;
    let recording_file = recorded.as_ref().map(|recorded| recorded.served.file());
    for (number, image) in machine.disks.iter().chain(&recording_file).enumerate() {
        guest::disk::serve(image, &boot::disk_socket(inside, number), &boot::disk_serial(number))?;
    }
    // Named from here, as its path must not have a space.
    let library = inside.join("registers.so");
    guest::registers::write_library(&library)?;
    let mut command = Command::new(program);
    // Before what is said to the guest's first process.
    command.args(recorded.as_ref().map(Recorded::word)).args(arguments).env("TMPDIR", &scratch).env("HOME", &scratch);
    command.env(guest::registers::LOADED_BY, &library);
    // One of the CPUs that we may use, the last. Each system call of a guest's process is a hand-over to the kernel's process and
    // one back, which on two CPUs is two wake-ups from idle; a guest has one CPU at any rate. Its disks' threads stay free.
    if let Some(cpu) = last_of(affinity::cpus()) {
        // SAFETY: between fork and exec only one system call is made.
        unsafe { command.pre_exec(move || Ok(nix::sched::sched_setaffinity(Pid::from_raw(0), &cpu)?)) };
    }
    observe::processes::end_with_us(&mut command);
    let status = clock::wait(command.spawn()?)?;
    drop(recorded);
    // The kernel's helpers go with this process, the first one of the namespace.
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}

/// The last of these CPUs; none where the system does not say which there are, as with more than 1,024.
fn last_of(cpus: &[usize]) -> Option<CpuSet> {
    cpus.last().map(|cpu| affinity::set(&[*cpu]))
}

/// A recording disk whose orders come from the guest.
struct Recorded {
    served: Served,
    orders: OwnedFd,
    answers: OwnedFd,
}

impl Recorded {
    /// For the kernel's command line.
    fn word(&self) -> String {
        boot::disk_line(self.answers.as_raw_fd(), self.orders.as_raw_fd())
    }
}

fn start_recording(disk: &RecordingDisk, work: &Work) -> std::io::Result<Recorded> {
    let disk = Disks::Ours(disk.clone()).record(work).map_err(std::io::Error::other)?;
    let (served, orders, answers) = disk.hand_over();
    for end in [&orders, &answers] {
        // The kernel's process has them by their numbers.
        nix::fcntl::fcntl(end, FcntlArg::F_SETFD(FdFlag::empty()))?;
    }
    Ok(Recorded { served, orders, answers })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel on no CPU at all could not be started.
    #[test]
    fn a_guest_has_the_last_cpu_or_any() {
        assert_eq!(last_of(&[0, 1, 7]).map(|set| affinity::numbers(&set)), Some(vec![7]));
        assert_eq!(last_of(&[]), None);
    }
}
