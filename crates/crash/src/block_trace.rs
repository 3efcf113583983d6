//! What the block layer says of a device while a load runs on it: an instance of the kernel's tracer of its own (tracefs,
//! Documentation/trace/ftrace.rst), so that nobody else's tracing is touched.

use nix::mount::{MsFlags, mount};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Kept on each CPU until it is read, in KiB: some 40,000 lines.
const BUFFER_KIB: &str = "4096";

/// Before the device, in the name of an instance.
const PREFIX: &str = "surefoot-";

/// A trace that is being written. It ends when this is dropped.
#[derive(Debug)]
pub struct BlockTrace {
    tracefs: PathBuf,
    instance: PathBuf,
    /// Where what is read once is read.
    pipe: Option<File>,
}

impl BlockTrace {
    /// Of these events of a block device; `tracefs` is a folder to mount the tracer on.
    ///
    /// # Errors
    /// When the kernel has no tracer, or does not grant it.
    pub fn start(device: &str, events: &[&str], tracefs: &Path) -> io::Result<BlockTrace> {
        std::fs::create_dir_all(tracefs)?;
        mount(Some("tracefs"), tracefs, Some("tracefs"), MsFlags::empty(), None::<&str>)?;
        let instance = tracefs.join("instances").join(format!("{PREFIX}{device}"));
        let mut trace = BlockTrace { tracefs: tracefs.into(), instance, pipe: None };
        sweep(&tracefs.join("instances"), device)?;
        std::fs::create_dir(&trace.instance)?;
        let set = |file: &str, value: &str| std::fs::write(trace.instance.join(file), value);
        set("trace_clock", "mono")?;
        set("buffer_size_kb", BUFFER_KIB)?;
        let number = kernel_number(device)?;
        for event in events {
            set(&format!("events/block/{event}/filter"), &format!("dev == {number}"))?;
            set(&format!("events/block/{event}/enable"), "1")?;
        }
        let pipe = trace.instance.join("trace_pipe");
        trace.pipe = Some(File::options().read(true).custom_flags(libc::O_NONBLOCK).open(pipe)?);
        Ok(trace)
    }

    /// What was said since this was asked last. None: some of it was not kept.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn take(&mut self) -> io::Result<Option<String>> {
        let mut said = Vec::new();
        let read = self.pipe.as_mut().expect("it was opened").read_to_end(&mut said);
        read.or_else(|error| if error.kind() == io::ErrorKind::WouldBlock { Ok(0) } else { Err(error) })?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(is_whole(&said).then_some(said))
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        // An instance that is open can't be ended.
        self.pipe = None;
        let _ = std::fs::remove_dir(&self.instance);
        let _ = sandbox::isolation::detach(&self.tracefs);
    }
}

/// Ends the traces that killed trials left: those of this device, and of loop devices that have ended with their trials.
fn sweep(instances: &Path, device: &str) -> io::Result<()> {
    for entry in std::fs::read_dir(instances)? {
        let name = entry?.file_name();
        let Some(traced) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        if traced == device || !Path::new("/sys/class/block").join(traced).join("loop").exists() {
            // One that somebody reads is in use all the same.
            let _ = std::fs::remove_dir(instances.join(&name));
        }
    }
    Ok(())
}

/// What was overwritten before it was read is counted in a line of its own.
fn is_whole(said: &str) -> bool {
    !said.contains("[LOST ")
}

/// As the kernel has it inside (`MKDEV` of include/linux/kdev_t.h): the major number above 20 bits of the minor one.
fn kernel_number(device: &str) -> io::Result<u64> {
    let text = std::fs::read_to_string(format!("/sys/class/block/{device}/dev"))?;
    let parsed = |(major, minor): (&str, &str)| Some((major.parse::<u64>().ok()?, minor.parse::<u64>().ok()?));
    let numbers = text.trim().split_once(':').and_then(parsed);
    let (major, minor) = numbers.ok_or_else(|| io::Error::other(format!("{device} has no number")))?;
    Ok(major << 20 | minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_trial_left_is_ended_by_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let block =
            std::fs::read_dir("/sys/class/block").expect("a kernel").next().expect("a block device").expect("a name");
        let device = block.file_name().into_string().expect("a name");
        let mut trace = BlockTrace::start(&device, powercut::fua::EVENTS, folder.path()).expect("a tracer, for root");
        let left = folder.path().join("instances").join(format!("{PREFIX}loop4711"));
        std::fs::create_dir(&left).expect("an instance");
        trace.pipe = None;
        std::mem::forget(trace);
        sandbox::isolation::detach(folder.path()).expect("mounted above");
        let mut trace =
            BlockTrace::start(&device, powercut::fua::EVENTS, folder.path()).expect("the first one is ended");
        assert!(!left.exists());
        // The device may be at work beside.
        assert!(trace.take().expect("readable").is_some());
        let instance = trace.instance.clone();
        drop(trace);
        assert!(!instance.exists() && !folder.path().join("instances").exists(), "nothing is left");
    }

    #[test]
    fn a_trace_that_lost_lines_is_told() {
        let line = "  <idle>-0  [000] d.s1. 64804.010004: block_bio_queue: 7,0 R 32820 + 2 [x]\n";
        assert!(is_whole("") && is_whole(line));
        assert!(!is_whole(&format!("CPU:1 [LOST 12 EVENTS]\n{line}")));
    }
}
