//! The process around a guest kernel: walls on the host, its disks, and the kernel on one CPU.

use super::scratch;
use crate::isolation::{self, Walls};
use crate::work::Work;
use guest::boot;
use nix::sched::CpuSet;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beside the guest's own memory, its file has a gap of up to 1 GiB, of which little is ever used.
const SCRATCH_BYTES: u64 = 512 << 20;

/// One of the CPUs that we may use, the last. Each system call of a guest's process is a hand-over to the kernel's process and
/// one back, which on two CPUs is two wake-ups from idle; a guest has one CPU at any rate. Its disks' threads stay free.
fn one_cpu() -> nix::Result<CpuSet> {
    let ours = nix::sched::sched_getaffinity(Pid::from_raw(0))?;
    let mut one = CpuSet::new();
    if let Some(last) = (0..CpuSet::count()).rev().find(|cpu| ours.is_set(*cpu).unwrap_or(false)) {
        one.set(last)?;
    }
    Ok(one)
}

/// The life of a `surefoot guest` process: walls on the host, in which nothing but the work folder can be written, and the
/// kernel in them. Returns its exit status, when it has ended.
///
/// # Errors
/// When there are no namespaces to be had, or the walls can't be built.
pub fn enclose(
    work: &Work,
    memory_bytes: u64,
    disks: &[PathBuf],
    program: &Path,
    arguments: &[OsString],
) -> std::io::Result<i32> {
    if isolation::enter()? == Walls::None {
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
    let size = format!("size={},mode=700", memory_bytes + SCRATCH_BYTES);
    isolation::lay_tmpfs(&scratch, &size)?;
    // Sockets have short paths only, and a kernel's command line no quotes: all of ours are from here.
    std::env::set_current_dir(work.folder())?;
    let inside = scratch.strip_prefix(work.folder()).expect("a folder of it");
    for (number, image) in disks.iter().enumerate() {
        guest::disk::serve(image, &boot::disk_socket(inside, number), &boot::disk_serial(number))?;
    }
    let mut command = Command::new(program);
    command.args(arguments).env("TMPDIR", &scratch).env("HOME", &scratch);
    let cpu = one_cpu()?;
    // SAFETY: between fork and exec only two system calls are made.
    unsafe {
        command.pre_exec(move || {
            nix::sched::sched_setaffinity(Pid::from_raw(0), &cpu)?;
            Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?)
        });
    }
    let status = command.status()?;
    // The kernel's helpers go with this process, the first one of the namespace.
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}
