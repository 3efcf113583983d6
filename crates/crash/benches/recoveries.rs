//! What a filesystem's own recovery takes, without a database: an image is shown, mounted, unmounted, and what was read of it is told; with
//! images in memory and with images that the disk's process serves, by turns; beside it what the kernel alone takes to mount and unmount one
//! that has nothing to recover. Eight commits, each an append to a log and a page of a file, flushed. `cargo bench -p crash --bench recoveries [-- PAIRS]`, as root on a quiet machine.
//! It has no goals; `cargo test` takes one short pair.

use crash::mounted_image::MountedImage;
use goals::{Goals, Spread};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use powercut::device::{self, Disk, Log, LogFile, Options, keep_awake, map};
use powercut::states::{Cache, Choice, History, Rest, Rules};
use powercut::timing::{Profile, SEED};
use serde_json::json;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use storage::StorageSettings;

const PAIRS: usize = 9;
const COMMITS: u64 = 8;
const DISK_BYTES: u64 = 512 << 20;
const PAGE: [u8; 4096] = [7; 4096];
const RULES: Rules = Rules { unit_bytes: 4096, cache: Cache::Volatile };

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [what, options] = &arguments[..]
        && what == "disk"
    {
        let options: Options = serde_json::from_str(options).expect("options");
        device::main(&options, io::stdin().lock(), io::stdout()).expect("a disk");
        return ExitCode::SUCCESS;
    }
    let Some(goals) = Goals::of("recoveries") else { return ExitCode::SUCCESS };
    // As while a study's images are recovered.
    let _awake = keep_awake();
    let (pairs, recoveries) = match goals.words().next() {
        _ if goals.is_test() => (1, 4),
        pairs => (pairs.map_or(PAIRS, |count| count.parse().expect("a number of pairs")), 200),
    };
    for filesystem in ["ext4", "xfs", "btrfs"] {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let place = Place::new(folder.path(), filesystem);
        let disk = place.record();
        let history = History::new(map(&place.log).expect("a log"), RULES).expect("a log");
        let mut by_process = place.shown_by(disk);
        let clean = place.clean();
        let mut all = (Vec::new(), Vec::new(), Vec::new());
        let mut nothing = Vec::new();
        for _ in 0..pairs {
            let mut in_memory =
                MountedImage::in_memory(&history, &place.settings, &place.mount_point, &folder.path().join("trace"))
                    .expect("a disk")
                    .expect("a tracer");
            let (ours, theirs) =
                (rate(&history, &mut in_memory, recoveries), rate(&history, &mut by_process, recoveries));
            all.0.push(ours);
            all.1.push(theirs);
            all.2.push(ours / theirs);
            nothing.push(place.mount_rate(&clean, recoveries));
        }
        println!(
            "{filesystem}: {:.0} recoveries/s in memory, {:.0}/s by the disk's process, ratio {:.2}; {:.0} mounts/s with nothing to \
             recover; medians of {pairs}",
            median(&all.0),
            median(&all.1),
            median(&all.2),
            median(&nothing)
        );
        detach(&clean);
    }
    goals.end()
}

struct Place {
    settings: StorageSettings,
    filesystem: String,
    disk_folder: PathBuf,
    mount_point: PathBuf,
    log: PathBuf,
}

impl Place {
    fn new(folder: &Path, filesystem: &str) -> Place {
        let mut settings = settings::defaults(storage::settings());
        settings.insert("filesystem".into(), json!(filesystem));
        let place = Place {
            settings: StorageSettings::from_map(&settings),
            filesystem: filesystem.into(),
            disk_folder: folder.join("disk"),
            mount_point: folder.join("mounted"),
            log: folder.join("log"),
        };
        for folder in [&place.disk_folder, &place.mount_point] {
            std::fs::create_dir(folder).expect("a folder");
        }
        place
    }

    fn record(&self) -> Disk {
        let options = Options {
            mount_point: self.disk_folder.clone(),
            log: Some(LogFile { path: self.log.clone(), bytes_max: 1 << 30 }),
            disk_bytes: DISK_BYTES,
            profile: Profile::None,
            cache: Cache::Volatile,
            seed: SEED,
        };
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        program.arg("disk");
        let mut disk = Disk::start(program, &options).expect("a disk");
        let device = self.made_on(&disk.file());
        self.mount(&device);
        let create = |name: &str| File::create(self.mount_point.join(name)).expect("a file");
        let (log, pages) = (create("log"), create("pages"));
        pages.write_all_at(&[1; 1 << 16], 0).and_then(|()| pages.sync_all()).expect("written");
        disk.begin().expect("an open log");
        for commit in 0..COMMITS {
            log.write_all_at(&PAGE, commit * 4096).and_then(|()| log.sync_all()).expect("written");
            pages.write_all_at(&PAGE, commit * 4096).and_then(|()| pages.sync_all()).expect("written");
        }
        disk.stop().expect("room for the log");
        drop((log, pages));
        self.unmount();
        detach(&device);
        disk
    }

    /// A loop device on a file in memory, with a filesystem as mkfs leaves it.
    fn clean(&self) -> String {
        let file = self.log.with_file_name("clean");
        File::create(&file).and_then(|file| file.set_len(DISK_BYTES)).expect("a file");
        self.made_on(&file)
    }

    fn made_on(&self, file: &Path) -> String {
        let device = said(Command::new("losetup").args(["--direct-io=on", "-f", "--show"]).arg(file));
        let device = device.trim().to_string();
        said(Command::new(format!("mkfs.{}", self.filesystem)).arg(&device));
        device
    }

    fn mount(&self, device: &str) {
        let (kind, nothing) = (Some(self.filesystem.as_str()), None::<&str>);
        mount(Some(device), &self.mount_point, kind, MsFlags::empty(), nothing).expect("a filesystem");
    }

    fn unmount(&self) {
        umount2(&self.mount_point, MntFlags::empty()).expect("nobody is in there");
    }

    /// Of one that was unmounted in order: mounts a second.
    fn mount_rate(&self, device: &str, mounts: usize) -> f64 {
        let started = Instant::now();
        for _ in 0..mounts {
            self.mount(device);
            self.unmount();
        }
        mounts as f64 / started.elapsed().as_secs_f64()
    }

    fn shown_by(&self, mut disk: Disk) -> MountedImage<'static> {
        disk.explore(&self.log, RULES).expect("a log");
        let file = disk.file();
        MountedImage::by_process(disk, &file, &self.settings, &self.mount_point).expect("attached")
    }
}

fn detach(device: &str) {
    said(Command::new("losetup").arg("-d").arg(device));
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Recoveries a second, at all points by turns.
fn rate(history: &History<Log>, shown: &mut MountedImage, recoveries: usize) -> f64 {
    let started = Instant::now();
    for number in 0..recoveries {
        let rest = if number % 2 == 0 { Rest::Newest } else { Rest::Oldest };
        let choice = Choice { rest, ..Choice::default() };
        let after = shown.mount(number % history.points().len(), &choice).expect("it is shown").expect("it is legal");
        after.unmount().expect("nobody is in there");
        shown.units_read().expect("it is told");
    }
    recoveries as f64 / started.elapsed().as_secs_f64()
}

fn median(all: &[f64]) -> f64 {
    Spread::of(all).median
}
