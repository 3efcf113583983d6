//! Mounting by mount(2), and unmounting; a failure carries what the kernel said meanwhile.

use crate::device::Device;
use crate::error::Error;
use crate::linux;
use crate::options;
use crate::settings::StorageSettings;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A program that was just killed closes its files within this time.
const BUSY_SECONDS_MAX: u64 = 5;

/// All options of the mount, ours included.
pub(crate) fn options(settings: &StorageSettings, log: Option<&str>) -> Vec<String> {
    let mut all = settings.mount_asked();
    if settings.device == Device::Tmpfs {
        all.push(format!("size={}", settings.size));
        return all;
    }
    let row = settings.row();
    // Not `discard_unit`, with which f2fs discards all the same.
    let said = all.iter().any(|option| ["discard", "nodiscard"].contains(&option.split('=').next().unwrap_or(option)));
    if settings.discard && !said {
        all.push("discard".into());
    } else if !settings.discard && !said {
        all.extend(row.mount_nodiscard.iter().map(|option| (*option).to_string()));
    }
    let log_option = row.external_log.as_ref().and_then(|log| log.mount_option);
    all.extend(log_option.zip(log).map(|(option, log)| format!("{option}={log}")));
    all
}

/// Something mounted, which goes when this goes.
#[derive(Debug)]
pub(crate) struct Mounting {
    point: PathBuf,
    mounted: bool,
    kernel: KernelLog,
}

impl Mounting {
    /// Mounts.
    pub(crate) fn new(source: &str, filesystem: &str, options: &[String], point: &Path) -> Result<Mounting, Error> {
        std::fs::create_dir_all(point).map_err(Error::file("create", point))?;
        let mut kernel = KernelLog::open();
        let split = options::split(options);
        match linux::mount(source, point, filesystem, split.flags, &split.data) {
            Ok(()) => Ok(Mounting { point: point.into(), mounted: true, kernel }),
            Err(error) => Err(Error::Mount {
                device: source.into(),
                filesystem: filesystem.into(),
                options: options.join(","),
                source: error,
                log: kernel.since_opened(),
            }),
        }
    }

    /// What the kernel said since the mount began, of anything.
    pub(crate) fn kernel_said(&mut self) -> String {
        self.kernel.since_opened()
    }

    /// Unmounts, waiting a little for the last user.
    pub(crate) fn unmount(mut self) -> Result<(), Error> {
        let started = Instant::now();
        loop {
            match linux::unmount(&self.point) {
                Ok(()) => {
                    self.mounted = false;
                    return Ok(());
                }
                Err(error)
                    if error.kind() == ErrorKind::ResourceBusy
                        && started.elapsed() < Duration::from_secs(BUSY_SECONDS_MAX) =>
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(Error::file("unmount", &self.point)(error)),
            }
        }
    }
}

impl Drop for Mounting {
    fn drop(&mut self) {
        if self.mounted {
            // Lazily, so that it goes even when somebody still looks into it.
            let _ = linux::detach(&self.point);
        }
    }
}

/// The kernel's log from a moment on, where it may be read.
#[derive(Debug)]
struct KernelLog(Option<File>);

impl KernelLog {
    fn open() -> KernelLog {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").ok();
        KernelLog(file.and_then(|mut file| file.seek(SeekFrom::End(0)).ok().map(|_| file)))
    }

    fn since_opened(&mut self) -> String {
        self.0.as_mut().map_or_else(String::new, |file| records(file).join("\n"))
    }
}

/// The messages that are there: a read gives one, "would block" after the last, and "broken pipe" once where the kernel has written over
/// some before they were read; the next read goes on behind these (Documentation/ABI/testing/dev-kmsg).
fn records(log: &mut impl Read) -> Vec<String> {
    let mut lines = Vec::new();
    let mut record = [0; 8192];
    loop {
        match log.read(&mut record) {
            Ok(length @ 1..) => {
                let text = String::from_utf8_lossy(&record[..length]).into_owned();
                let message = text.split_once(';').map_or("", |(_, rest)| rest).lines().next().unwrap_or_default();
                lines.push(message.to_string());
            }
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            _ => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{options, records};
    use crate::settings::StorageSettings;
    use std::collections::VecDeque;
    use std::io::{self, ErrorKind, Read};

    /// As the kernel gives its log, a record a read.
    struct Log(VecDeque<Result<&'static str, ErrorKind>>);

    impl Read for Log {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let record = self.0.pop_front().unwrap_or(Err(ErrorKind::WouldBlock))?;
            out[..record.len()].copy_from_slice(record.as_bytes());
            Ok(record.len())
        }
    }

    /// f2fs discards by itself: with `discard_unit` it had done so with discard = false, too.
    #[test]
    fn a_unit_of_discards_is_no_word_on_whether_there_are_any() {
        let of = |mount: &str| {
            let filesystem = "f2fs".into();
            options(&StorageSettings { filesystem, mount: vec![mount.into()], ..StorageSettings::default() }, None)
        };
        assert_eq!(of("discard_unit=block"), ["discard_unit=block", "nodiscard"]);
        assert_eq!(of("nodiscard"), ["nodiscard"]);
    }

    /// Several disks that fail side by side say much: after the first record that was lost all others had been left out.
    #[test]
    fn what_the_kernel_wrote_over_takes_nothing_with_it() {
        let records = |all: &[Result<&'static str, ErrorKind>]| records(&mut Log(all.iter().copied().collect()));
        let (first, second) = (Ok("6,1,2,-;mounted\n SUBSYSTEM=block\n"), Ok("3,9,8,-;I/O error\n"));
        assert_eq!(records(&[Err(ErrorKind::BrokenPipe), first, second]), ["mounted", "I/O error"]);
        assert_eq!(records(&[first, Err(ErrorKind::BrokenPipe), second]), ["mounted", "I/O error"]);
        assert_eq!(records(&[first, Err(ErrorKind::WouldBlock), second]), ["mounted"]);
    }
}
