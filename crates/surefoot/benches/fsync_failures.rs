//! What a filesystem does when a flush of a file fails, row by row as in Rebello and others, "Can Applications Recover from fsync
//! Failures?" (USENIX ATC 2020), table 1: `cargo bench -p surefoot --bench fsync_failures`, as root. Prints a table in Markdown;
//! docs/faults.md has it. `cargo test` takes one row.
//!
//! Two loads, as there: the middle block of a file of three is written over, or a block is appended; and a third, in which the appended
//! block is written and flushed once more after the failure. One request fails, once: the first write
//! with the block's content, the first other write of the flush, or its first flush of the disk. Each row is done three times.

use goals::{Goals, said};
use nix::errno::Errno;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use powercut::device::{Disk, LogFile, Options};
use powercut::fault::RequestKind;
use powercut::fault::injector::{Injection, Traced};
use powercut::states::{Cache, Choice, Rules};
use powercut::timing::Profile;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

const BLOCK: usize = 4096;
const OLD: u8 = b'a';
const NEW: u8 = b'b';
const LATER: u8 = b'c';

/// Each row so often.
const TIMES: usize = 3;

/// A filesystem: its name here, the kernel's, mkfs and mount options.
struct Filesystem {
    name: &'static str,
    kind: &'static str,
    mkfs: &'static [&'static str],
    options: &'static str,
}

const FILESYSTEMS: &[Filesystem] = &[
    Filesystem { name: "ext4, ordered", kind: "ext4", mkfs: &["mkfs.ext4", "-q", "-F"], options: "" },
    Filesystem { name: "ext4, data=journal", kind: "ext4", mkfs: &["mkfs.ext4", "-q", "-F"], options: "data=journal" },
    Filesystem { name: "XFS", kind: "xfs", mkfs: &["mkfs.xfs", "-q", "-f"], options: "" },
    Filesystem { name: "Btrfs", kind: "btrfs", mkfs: &["mkfs.btrfs", "-q", "-f"], options: "" },
];

/// What is done to the file.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    Overwrite,
    Append,
    /// As `Append`, and after the failure the same bytes are written to the same place and flushed once more, as a database does after its
    /// recovery.
    AppendAgain,
}

/// Which request fails.
#[derive(Clone, Copy, PartialEq)]
enum Struck {
    Data,
    Other,
    Flush,
}

/// What was seen, a cell each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    first_fsync: String,
    in_memory: String,
    second_fsync: String,
    written_again: String,
    after_eviction: String,
    next: String,
    writable: String,
    after_remount: String,
}

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("fsync_failures") else { return ExitCode::SUCCESS };
    // What is mounted here is nobody else's to see, and goes with us.
    sandbox::isolation::own_mounts().expect("root may");
    println!(
        "| filesystem | load | fails | first fsync | in memory | second fsync | written again | after eviction | next write and fsync | \
         writable | after a remount |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let filesystems = if goals.is_test() { &FILESYSTEMS[..1] } else { FILESYSTEMS };
    for filesystem in filesystems {
        let bench = Bench::new(filesystem);
        let loads = [(Load::Overwrite, "overwrite"), (Load::Append, "append"), (Load::AppendAgain, "append, again")];
        for (load, load_name) in loads {
            for (struck, name) in
                [(Struck::Data, "the block's write"), (Struck::Other, "another write"), (Struck::Flush, "a flush")]
            {
                let all: BTreeSet<Option<Seen>> = (0..TIMES).map(|_| bench.row(load, struck)).collect();
                goals.must("a row comes out the same each time", all.len() == 1);
                for seen in &all {
                    println!("| {} | {load_name} | {name} | {} |", filesystem.name, cells(seen.as_ref()));
                }
                if goals.is_test() {
                    let told = all.iter().flatten().all(|seen| seen.first_fsync == "EIO");
                    goals.must("ext4 says that the block's write failed", told);
                    return goals.end();
                }
            }
        }
    }
    goals.end()
}

fn cells(seen: Option<&Seen>) -> String {
    let Some(seen) = seen else {
        return ["no such request"].into_iter().chain(["–"; 7]).collect::<Vec<_>>().join(" | ");
    };
    [
        &seen.first_fsync,
        &seen.in_memory,
        &seen.second_fsync,
        &seen.written_again,
        &seen.after_eviction,
        &seen.next,
        &seen.writable,
        &seen.after_remount,
    ]
    .map(String::as_str)
    .join(" | ")
}

/// A filesystem with its file of three old blocks, on a disk that can show it again and again.
struct Bench {
    filesystem: &'static Filesystem,
    folder: tempfile::TempDir,
    log: PathBuf,
}

impl Bench {
    fn new(filesystem: &'static Filesystem) -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["disk", "files"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let log = folder.path().join("log");
        let bench = Bench { filesystem, folder, log };
        let mut disk = bench.disk();
        let device = Device::attach(&disk);
        let (program, words) = filesystem.mkfs.split_first().expect("a program");
        let device_path = device.0.to_string_lossy();
        let _ = said(Path::new(program), Path::new("/"), &[words, &[&*device_path]].concat());
        bench.mount(&device);
        std::fs::write(bench.file(), [OLD; 3 * BLOCK]).expect("room");
        File::open(bench.file()).and_then(|file| file.sync_all()).expect("flushed");
        bench.unmount();
        disk.begin().expect("an open log");
        disk.stop().expect("a whole log");
        bench
    }

    fn disk(&self) -> Disk {
        let mut program = Command::new(env!("CARGO_BIN_EXE_surefoot"));
        program.arg("disk");
        let options = Options {
            mount_point: self.folder.path().join("disk"),
            log: (!self.log.exists()).then(|| LogFile { path: self.log.clone(), bytes_max: 1 << 30 }),
            disk_bytes: 320 << 20,
            profile: Profile::None,
            cache: Cache::Volatile,
            seed: 1,
        };
        Disk::start(program, &options).expect("a disk")
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("files/file")
    }

    fn mount(&self, device: &Device) {
        let at = self.folder.path().join("files");
        mount(Some(&device.0), &at, Some(self.filesystem.kind), MsFlags::empty(), Some(self.filesystem.options))
            .expect("it mounts");
    }

    fn unmount(&self) {
        umount2(&self.folder.path().join("files"), MntFlags::empty()).expect("nobody uses it");
    }

    /// None: no such request is made.
    fn row(&self, load: Load, struck: Struck) -> Option<Seen> {
        let mut disk = self.disk();
        disk.explore(&self.log, Rules { unit_bytes: 4096, cache: Cache::Volatile }).expect("a readable log");
        let device = Device::attach(&disk);
        self.mount(&device);
        disk.fail(None, true).expect("it shows images");
        let _ = self.write(load, NEW).sync_all();
        let traced = disk.traced().expect("asked");
        self.unmount();
        let (name, nth) = request(&traced, struck)?;
        device.forget();
        disk.show(0, &Choice::default()).expect("the only point");
        device.forget();
        self.mount(&device);
        let failure = name.parse().expect("a fault");
        let injection = Injection { failure, nth, only: Vec::new(), late_nanoseconds: 0, seed: 1 };
        let file = self.write_with(load, NEW, || disk.fail(Some(injection), false).expect("it shows images"));
        let first_fsync = outcome(file.sync_all());
        let in_memory = self.content(load);
        disk.fail(None, true).expect("it shows images");
        let mut second_fsync = outcome(file.sync_all());
        if load == Load::AppendAgain {
            let repeated = file.write_all_at(&[NEW; BLOCK], 3 * BLOCK as u64).and_then(|()| file.sync_all());
            second_fsync = format!("{second_fsync}, then {}", outcome(repeated));
        }
        let again = disk.traced().expect("asked").iter().any(|one| has(one, NEW));
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).expect("advice");
        let after_eviction = self.content(load);
        drop(file);
        let next = self.try_write(Load::Append, LATER);
        let writable = if File::create(self.folder.path().join("files/other")).is_ok() { "yes" } else { "no" };
        self.unmount();
        device.forget();
        disk.mend().expect("it shows images");
        self.mount(&device);
        let after_remount = self.content(load);
        self.unmount();
        Some(Seen {
            first_fsync,
            in_memory,
            second_fsync,
            written_again: if again { "yes".into() } else { "no".into() },
            after_eviction,
            next,
            writable: writable.into(),
            after_remount,
        })
    }

    fn write(&self, load: Load, byte: u8) -> File {
        self.write_with(load, byte, || {})
    }

    /// Writes to the open file; `before` comes between opening and writing.
    fn write_with(&self, load: Load, byte: u8, before: impl FnOnce()) -> File {
        let file = File::options().read(true).write(true).open(self.file()).expect("it is there");
        before();
        let at = match load {
            Load::Overwrite => BLOCK as u64,
            Load::Append | Load::AppendAgain => file.metadata().expect("it is there").size(),
        };
        file.write_all_at(&[byte; BLOCK], at).expect("the page cache takes it");
        file
    }

    /// Writes and flushes where that may not be possible any more.
    fn try_write(&self, load: Load, byte: u8) -> String {
        let attempt = || -> io::Result<()> {
            let file = File::options().read(true).write(true).open(self.file())?;
            let at = if load == Load::Append { file.metadata()?.size() } else { BLOCK as u64 };
            file.write_all_at(&[byte; BLOCK], at)?;
            file.sync_all()
        };
        outcome(attempt())
    }

    /// What stands where the block was written, and how long the file is.
    fn content(&self, load: Load) -> String {
        let at = if load == Load::Overwrite { BLOCK } else { 3 * BLOCK };
        let mut bytes = Vec::new();
        if let Err(error) = File::open(self.file()).and_then(|mut file| file.read_to_end(&mut bytes)) {
            return outcome(Err(error));
        }
        match bytes.get(at..at + BLOCK) {
            None => "no block".into(),
            Some(block) if block.iter().all(|byte| *byte == block[0]) => match block[0] {
                OLD => "old".into(),
                NEW => "new".into(),
                LATER => "the next one".into(),
                0 => "zeros".into(),
                other => format!("bytes of {other}"),
            },
            Some(_) => "mixed".into(),
        }
    }
}

/// The fault, and which of its requests it strikes.
fn request(traced: &[Traced], struck: Struck) -> Option<(&'static str, u64)> {
    let kind = if struck == Struck::Flush { RequestKind::Flush } else { RequestKind::Write };
    let mut of_kind = traced.iter().filter(|one| one.asked.kind == kind);
    let place = of_kind.position(|one| match struck {
        Struck::Data => has(one, NEW),
        Struck::Other => !has(one, NEW),
        Struck::Flush => true,
    })?;
    Some((if struck == Struck::Flush { "flush-error" } else { "write-error" }, place as u64 + 1))
}

fn has(traced: &Traced, byte: u8) -> bool {
    traced.heads.contains(&u64::from_be_bytes([byte; 8]))
}

fn outcome(result: io::Result<()>) -> String {
    match result.map_err(|error| error.raw_os_error().map(Errno::from_raw)) {
        Ok(()) => "ok".into(),
        Err(Some(errno)) => format!("{errno:?}"),
        Err(None) => "an error".into(),
    }
}

/// A loop device.
struct Device(PathBuf);

impl Device {
    fn attach(disk: &Disk) -> Device {
        let file = disk.file();
        let words = ["--direct-io=on", "-f", "--show", &*file.to_string_lossy()];
        Device(PathBuf::from(said(Path::new("losetup"), Path::new("/"), &words).trim()))
    }

    /// Drops what the kernel keeps of it in memory.
    fn forget(&self) {
        let _ = Command::new("blockdev").arg("--flushbufs").arg(&self.0).status();
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // Somebody who looks at new devices may have it open.
        for _ in 0..50 {
            if Command::new("losetup").arg("-d").arg(&self.0).status().is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
