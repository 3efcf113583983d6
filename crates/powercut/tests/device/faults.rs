//! A disk that fails as it is told, below a loop device: what the block layer passes on of each fault.

use super::desk::{DISK_BYTES, Desk, Loop};
use powercut::device::Disk;
use powercut::fault::injector::Injection;
use powercut::fault::{FAULTS, Fault};
use powercut::states::{Cache, Choice, Rules};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const RULES: Rules = Rules { unit_bytes: 4096, cache: Cache::Volatile };

/// A disk that shows what it was left with: every block has its number.
fn begun(desk: &Desk) -> (Disk, Loop) {
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    for block in 0..DISK_BYTES / 4096 {
        device.write(block * 4096, &[block as u8 | 1; 4096]).expect("written");
    }
    disk.begin().expect("an open log");
    disk.stop().expect("a whole log");
    disk.explore(desk.log_path(), RULES).expect("a readable log");
    (disk, device)
}

/// Fails so from the next request on.
fn fail(disk: &mut Disk, name: &str, late: Duration) {
    let (failure, nth, seed) = (name.parse().expect("a fault"), 1, 7);
    let injection = Injection { failure, nth, only: Vec::new(), late_nanoseconds: late.as_nanos() as u64, seed };
    disk.show(0, &Choice::default()).expect("the only point");
    disk.fail(Some(injection), false).expect("it shows images");
}

fn error(result: io::Result<impl Sized>) -> i32 {
    result.err().expect("it fails").raw_os_error().expect("an error of the system's")
}

#[test]
fn an_error_is_passed_on_and_only_as_often_as_it_was_told() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let (mut disk, device) = begun(&desk);
    let (new, old) = ([0xaa; 4096], [1; 4096]);
    fail(&mut disk, "write-error:2", Duration::ZERO);
    assert_eq!(error(device.write(0, &new)), libc::EIO);
    assert_eq!(error(device.write(0, &new)), libc::EIO);
    assert_eq!(device.read(0, 4096).expect("readable")[..], old, "nothing of it is there");
    device.write(0, &new).expect("written");
    assert_eq!(device.read(0, 4096).expect("readable")[..], new);
    assert_eq!(disk.struck().expect("asked").len(), 2);

    fail(&mut disk, "flush-error", Duration::ZERO);
    device.write(0, &new).expect("written");
    assert_eq!(error(device.file.sync_all()), libc::EIO);
    device.write(0, &new).expect("written");
    device.file.sync_all().expect("flushed");

    fail(&mut disk, "full", Duration::ZERO);
    assert_eq!(error(device.write(0, &new)), libc::ENOSPC);
    assert_eq!(error(device.write(4096, &new)), libc::ENOSPC, "until there is room");
    disk.mend().expect("it shows images");
    device.write(0, &new).expect("written");

    fail(&mut disk, "read-error", Duration::ZERO);
    assert_eq!(error(device.read(0, 4096)), libc::EIO);
    assert_eq!(device.read(0, 4096).expect("readable")[..], old);

    fail(&mut disk, "read-only", Duration::ZERO);
    assert_eq!(error(device.write(0, &new)), libc::EIO);
    assert_eq!(device.read(0, 4096).expect("readable")[..], old);
}

#[test]
fn a_lie_is_not_told() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let (mut disk, device) = begun(&desk);
    let old = device.all().to_vec();
    let new = vec![0xaa; 8 * 4096];
    let written = |disk: &mut Disk, name: &str| {
        fail(disk, name, Duration::ZERO);
        device.write(1 << 20, &new).expect("acknowledged");
        device.all().to_vec()
    };
    let differs = |found: &[u8]| found.iter().zip(&old).filter(|(found, old)| found != old).count();
    let whole = differs(&written(&mut disk, "stall:1"));
    assert_eq!(whole, new.len(), "late, but done");
    assert_eq!(differs(&written(&mut disk, "lost-write")), 0);
    let torn = differs(&written(&mut disk, "torn-write"));
    assert!(torn > 0 && torn < whole && torn.is_multiple_of(512), "{torn}");
    let elsewhere = written(&mut disk, "misdirected-write");
    assert_ne!(elsewhere[1 << 20..][..new.len()], new);
    assert_eq!(elsewhere.windows(new.len()).filter(|window| *window == new).count(), 1);
    for (name, bytes) in [("rotten-bit", 1), ("rotten-sector", 512), ("rotten-block", 4096)] {
        let found = written(&mut disk, name);
        let wrong = found[1 << 20..][..new.len()].iter().zip(&new).filter(|(found, new)| found != new).count();
        assert_eq!(wrong, bytes, "{name}");
    }
    for (name, bytes) in [("read-bit", 1), ("read-sector", 512), ("read-block", 4096)] {
        fail(&mut disk, name, Duration::ZERO);
        let read = device.read(1 << 20, 8192).expect("readable");
        let wrong = read.iter().zip(&old[1 << 20..]).filter(|(found, old)| found != old).count();
        assert_eq!(wrong, bytes, "{name}");
        assert_eq!(device.read(1 << 20, 8192).expect("readable")[..], old[1 << 20..][..8192], "this time only");
    }
}

#[test]
fn a_disk_that_stalls_answers_late_and_one_that_hangs_when_it_is_taken_away() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let (mut disk, device) = begun(&desk);
    fail(&mut disk, "stall", Duration::from_millis(150));
    let started = Instant::now();
    device.write(0, &[2; 4096]).expect("written");
    assert!(started.elapsed() >= Duration::from_millis(150), "{:?}", started.elapsed());

    fail(&mut disk, "slow", Duration::from_millis(60));
    let started = Instant::now();
    device.write(0, &[3; 4096]).expect("written");
    device.write(4096, &[3; 4096]).expect("written");
    assert!(started.elapsed() >= Duration::from_millis(120), "each: {:?}", started.elapsed());

    fail(&mut disk, "hang", Duration::from_millis(200));
    let started = Instant::now();
    assert_eq!(error(device.write(0, &[2; 4096])), libc::EIO, "nobody waits for ever");
    assert!(started.elapsed() >= Duration::from_millis(200), "{:?}", started.elapsed());
    device.write(0, &[2; 4096]).expect("it was put in again");

    fail(&mut disk, "hang", Duration::from_secs(3600));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| device.write(0, &[2; 4096]));
        while disk.struck().expect("asked").is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!waits.is_finished(), "it has no answer yet");
        disk.mend().expect("it shows images");
        assert_eq!(error(waits.join().expect("no panic")), libc::EIO);
    });
}

#[test]
fn requests_are_traced_with_the_heads_of_their_blocks() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let (mut disk, device) = begun(&desk);
    disk.fail(None, true).expect("it shows images");
    device.write(8192, &[0x11; 8192]).expect("written");
    device.file.sync_all().expect("flushed");
    device.read(0, 4096).expect("readable");
    let traced = disk.traced().expect("asked");
    let seen: Vec<(u64, u64, usize)> =
        traced.iter().map(|one| (one.asked.offset, one.asked.length, one.heads.len())).collect();
    assert_eq!(seen, [(8192, 8192, 2), (0, 0, 0), (0, 4096, 0)]);
    assert_eq!(traced[0].heads, [0x1111_1111_1111_1111; 2]);
}

/// What fails is memory of the disk's process: it has no block device open, and the kernel counts no byte of it on its way to one.
#[test]
fn no_disk_of_the_machine_is_asked_to_fail() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let (mut disk, device) = begun(&desk);
    let process = PathBuf::from(format!("/proc/{}", disk.process()));
    let written = || {
        let counters = std::fs::read_to_string(process.join("io")).expect("its counters");
        let line = counters.lines().find_map(|line| line.strip_prefix("write_bytes: ")).expect("a counter");
        line.parse::<u64>().expect("a number")
    };
    let before = written();
    for kind in FAULTS.iter().filter(|kind| !matches!(kind.fault, Fault::Hang)) {
        fail(&mut disk, kind.name, Duration::from_millis(1));
        let _ = device.write(0, &[0xaa; 8192]);
        let _ = device.file.sync_all();
        let _ = device.read(0, 8192);
        assert!(!disk.struck().expect("asked").is_empty(), "{}", kind.name);
    }
    assert_eq!(written(), before);
    let open = process.join("fd").read_dir().expect("its files").flatten();
    let kinds: Vec<_> = open.filter_map(|entry| Some(std::fs::metadata(entry.path()).ok()?.file_type())).collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| !kind.is_block_device()), "{kinds:?}");
}
