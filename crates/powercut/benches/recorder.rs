//! What recording costs: 4 KiB writes past the page cache, one after the other, through a loop device on the recording disk and
//! through one on a file in memory. `cargo bench -p powercut --bench recorder [-- PAIRS]`, as root on a quiet machine. It has no goals;
//! `cargo test` takes one short pair.

use goals::{Goals, Spread};
use memmap2::MmapMut;
use powercut::device::{self, Disk, LogFile, Options, keep_awake};
use powercut::states::{Cache, Choice, Rest, Rules};
use powercut::timing::Profile;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const PAIRS: usize = 9;
const DISK_BYTES: u64 = 256 << 20;

struct Scale {
    pairs: usize,
    seconds: f64,
    shows: u32,
    appends: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [what, options] = &arguments[..]
        && what == "disk"
    {
        let options: Options = serde_json::from_str(options).expect("options");
        device::main(&options, io::stdin().lock(), io::stdout()).expect("a disk");
        return ExitCode::SUCCESS;
    }
    let Some(goals) = Goals::of("recorder") else { return ExitCode::SUCCESS };
    let scale = match goals.words().next() {
        _ if goals.is_test() => Scale { pairs: 1, seconds: 0.1, shows: 100, appends: 20 },
        pairs => Scale {
            pairs: pairs.map_or(PAIRS, |count| count.parse().expect("a number of pairs")),
            seconds: 1.0,
            shows: 20_000,
            appends: 300,
        },
    };
    // Rates would say how often a CPU was woken, and differ by a factor of three from one run to the next.
    let _awake = keep_awake();
    let write = |path: &Path| writes_per_second(path, scale.seconds);
    let (mut recorded, mut plain, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..scale.pairs {
        let (ours, theirs) = if pair % 2 == 0 {
            let ours = on_the_recorder(write);
            (ours, on_memory(write))
        } else {
            let theirs = on_memory(write);
            (on_the_recorder(write), theirs)
        };
        recorded.push(ours);
        plain.push(theirs);
        ratios.push(ours / theirs);
    }
    let median = |values: &[f64]| Spread::of(values).median;
    println!("recorded: {:.0} writes/s, median of {}", median(&recorded), scale.pairs);
    println!("plain loop on tmpfs: {:.0} writes/s", median(&plain));
    println!("ratio: {:.3}", median(&ratios));
    println!("images shown: {:.0}/s", shows_per_second(scale.shows));
    for profile in [Profile::Scsi10k, Profile::Sata7200, Profile::ConsumerSsd, Profile::NvmePlp] {
        let (microseconds, slip) = synced_append_microseconds(profile, scale.appends);
        println!("{profile:?}: an append and its flush in {microseconds:.0} µs, answered {slip:.1} µs late (p99)");
    }
    goals.end()
}

fn disk(folder: &Path, profile: Profile) -> Disk {
    let options = Options {
        mount_point: folder.join("disk"),
        log: Some(LogFile { path: folder.join("log"), bytes_max: 4 << 30 }),
        disk_bytes: DISK_BYTES,
        profile,
        cache: Cache::Volatile,
        seed: 1,
    };
    std::fs::create_dir(&options.mount_point).expect("a directory");
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.arg("disk");
    Disk::start(program, &options).expect("a disk")
}

fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").expect("a folder in memory")
}

fn on_the_recorder(measure: impl Fn(&Path) -> f64) -> f64 {
    let folder = in_memory();
    let mut disk = disk(folder.path(), Profile::None);
    let rate = with_loop_device(&disk.file(), measure);
    disk.stop().expect("room for the log");
    rate
}

fn on_memory(measure: impl Fn(&Path) -> f64) -> f64 {
    let folder = in_memory();
    let path = folder.path().join("image");
    File::create(&path).and_then(|file| file.set_len(DISK_BYTES)).expect("a file in memory");
    with_loop_device(&path, measure)
}

fn with_loop_device(file: &Path, measure: impl FnOnce(&Path) -> f64) -> f64 {
    let made = Command::new("losetup").args(["--direct-io=on", "-f", "--show"]).arg(file).output().expect("losetup");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let path = PathBuf::from(String::from_utf8(made.stdout).expect("a path").trim());
    let rate = measure(&path);
    assert!(Command::new("losetup").arg("-d").arg(&path).status().expect("losetup").success());
    rate
}

fn writes_per_second(path: &Path, seconds: f64) -> f64 {
    let file = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(path).expect("a device");
    let pages = MmapMut::map_anon(1 << 20).expect("memory");
    for offset in (0..DISK_BYTES).step_by(1 << 20) {
        file.write_all_at(&pages, offset).expect("written");
    }
    let started = Instant::now();
    let mut writes = 0_u64;
    while started.elapsed() < Duration::from_secs_f64(seconds) {
        for _ in 0..100 {
            writes += 1;
            // Knuth's multiplier: all over the disk, and the same in every run.
            let block = writes.wrapping_mul(2_654_435_761) % (DISK_BYTES / 4096);
            file.write_all_at(&pages[..4096], block * 4096).expect("written");
        }
    }
    writes as f64 / started.elapsed().as_secs_f64()
}

/// Median of a log's appends, and how late the disk's answers were.
fn synced_append_microseconds(profile: Profile, appends: u64) -> (f64, f64) {
    let folder = in_memory();
    let mut disk = disk(folder.path(), profile);
    let append = |path: &Path| {
        let file = File::options().write(true).custom_flags(libc::O_DIRECT).open(path).expect("a device");
        let page = MmapMut::map_anon(4096).expect("memory");
        let one = |block: u64| {
            let started = Instant::now();
            file.write_all_at(&page, block * 4096).and_then(|()| file.sync_all()).expect("written");
            started.elapsed().as_secs_f64() * 1e6
        };
        Spread::of(&(0..appends).map(one).collect::<Vec<_>>()).median
    };
    let microseconds = with_loop_device(&disk.file(), append);
    disk.stop().expect("room for the log");
    (microseconds, disk.timing_fidelity().expect("answers were delayed").late_nanoseconds_p99 as f64 / 1e3)
}

fn shows_per_second(shows: u32) -> f64 {
    let folder = in_memory();
    let mut disk = disk(folder.path(), Profile::None);
    with_loop_device(&disk.file(), |path| writes_per_second(path, 0.1));
    disk.stop().expect("room for the log");
    disk.explore(&folder.path().join("log"), Rules { unit_bytes: 4096, cache: Cache::Volatile }).expect("a log");
    let choice = Choice { rest: Rest::Newest, units: Default::default() };
    let started = Instant::now();
    for _ in 0..shows {
        disk.show(0, &choice).expect("it is there");
    }
    f64::from(shows) / started.elapsed().as_secs_f64()
}
