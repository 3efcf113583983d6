//! What the block layer says of a device while a load runs on it: an instance of the kernel's tracer of its own (tracefs,
//! Documentation/trace/ftrace.rst), so that nobody else's tracing is touched.

use nix::mount::{MsFlags, mount};
use powercut::fua::EVENTS;
use std::io;
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
}

impl BlockTrace {
    /// Of a block device; `tracefs` is a folder to mount the tracer on.
    ///
    /// # Errors
    /// When the kernel has no tracer, or does not grant it.
    pub fn start(device: &str, tracefs: &Path) -> io::Result<BlockTrace> {
        std::fs::create_dir_all(tracefs)?;
        mount(Some("tracefs"), tracefs, Some("tracefs"), MsFlags::empty(), None::<&str>)?;
        let instance = tracefs.join("instances").join(format!("{PREFIX}{device}"));
        let trace = BlockTrace { tracefs: tracefs.into(), instance };
        sweep(&tracefs.join("instances"), device)?;
        std::fs::create_dir(&trace.instance)?;
        let set = |file: &str, value: &str| std::fs::write(trace.instance.join(file), value);
        set("trace_clock", "mono")?;
        set("buffer_size_kb", BUFFER_KIB)?;
        let number = kernel_number(device)?;
        for event in EVENTS {
            set(&format!("events/block/{event}/filter"), &format!("dev == {number}"))?;
            set(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(trace)
    }

    /// All that was said. None: there was more than was kept.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn text(&self) -> io::Result<Option<String>> {
        std::fs::write(self.instance.join("tracing_on"), "0")?;
        let text = std::fs::read_to_string(self.instance.join("trace"))?;
        Ok(is_whole(&text).then_some(text))
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.instance);
        let _ = crate::isolation::detach(&self.tracefs);
    }
}

/// Ends the traces that killed trials left: those of this device, and of loop devices that have ended with their trials.
fn sweep(instances: &Path, device: &str) -> io::Result<()> {
    for entry in std::fs::read_dir(instances)? {
        let name = entry?.file_name();
        let Some(traced) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        if traced == device || !Path::new("/sys/class/block").join(traced).join("loop").exists() {
            std::fs::remove_dir(instances.join(&name))?;
        }
    }
    Ok(())
}

/// Its head says `entries-in-buffer/entries-written: 293/293`.
fn is_whole(text: &str) -> bool {
    let counts = text.lines().find_map(|line| line.split_once("entries-written: ")).map(|(_, counts)| counts);
    counts
        .and_then(|counts| counts.split_whitespace().next()?.split_once('/'))
        .is_some_and(|(kept, written)| kept == written)
}

/// As the kernel has it inside (`MKDEV` of include/linux/kdev_t.h): the major number above 20 bits of the minor one.
fn kernel_number(device: &str) -> io::Result<u64> {
    let text = std::fs::read_to_string(format!("/sys/class/block/{device}/dev"))?;
    let numbers = text
        .trim()
        .split_once(':')
        .and_then(|(major, minor)| Some((major.parse::<u64>().ok()?, minor.parse::<u64>().ok()?)));
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
        let trace = BlockTrace::start(&device, folder.path()).expect("a tracer, for root");
        let left = folder.path().join("instances").join(format!("{PREFIX}loop4711"));
        std::fs::create_dir(&left).expect("an instance");
        std::mem::forget(trace);
        crate::isolation::detach(folder.path()).expect("mounted above");
        let trace = BlockTrace::start(&device, folder.path()).expect("the first one of this device is ended");
        assert!(!left.exists());
        assert_eq!(trace.text().expect("readable").map(|text| text.contains("block_bio_queue")), Some(false));
        let instance = trace.instance.clone();
        drop(trace);
        assert!(!instance.exists() && !folder.path().join("instances").exists(), "nothing is left");
    }

    #[test]
    fn a_trace_that_lost_lines_is_told() {
        let head =
            |counts: &str| format!("# tracer: nop\n#\n# entries-in-buffer/entries-written: {counts}   #P:2\n#\n");
        assert!(is_whole(&head("293/293")));
        assert!(!is_whole(&head("293/40293")));
        assert!(!is_whole(""));
    }
}
