//! The recording disk under a real loop device and a real filesystem. Needs root; `cargo test -p powercut --test device`.

#![cfg(target_os = "linux")]

mod desk;
mod faults;

use desk::{DISK_BYTES, Desk, Loop, Mounted, program, unmount, wait_until};
use memmap2::MmapMut;
use nix::fcntl::FallocateFlags;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use powercut::ack_log::Attempt;
use powercut::device::{self, Disk, Error, Options};
use powercut::states::{Cache, Choice, Rest, Rules};
use powercut::timing::Profile;
use powercut::write_log::{Event, Operation, Reader};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

const RULES: Rules = Rules { unit_bytes: 4096, cache: Cache::Lying };

/// Not a test but the disk's process, which the others start with the options in the environment; answers go by descriptor 3, as
/// the test harness talks on standard output.
#[test]
fn the_disks_process() {
    let Ok(options) = std::env::var("DISK_OPTIONS") else { return };
    let options: Options = serde_json::from_str(&options).expect("options");
    let answers = File::options().write(true).open("/dev/fd/3").expect("the descriptor for answers");
    device::main(&options, io::stdin().lock(), answers).expect("a disk");
}

/// What a log leaves on a disk, and when it begins, by somebody who knows nothing else.
fn replay(log: &[u8]) -> Vec<u8> {
    let reader = Reader::new(log).expect("a log");
    let mut content = vec![0; reader.disk_bytes as usize];
    for event in reader {
        let Event::Submitted { operation, .. } = event.expect("no damage") else { continue };
        match operation {
            Operation::Write { offset, data } => content[offset as usize..][..data.len()].copy_from_slice(data),
            Operation::Zero { offset, length } | Operation::Discard { offset, length } => {
                content[offset as usize..][..length as usize].fill(0);
            }
            Operation::Flush => {}
        }
    }
    content
}

#[derive(Debug, Clone)]
enum Step {
    Write(u8),
    Zero,
    Punch,
    Read,
    Flush,
}

/// Something done to some sectors.
fn steps() -> impl Strategy<Value = Vec<(Step, usize, usize)>> {
    let step = prop_oneof![
        4 => (1u8..).prop_map(Step::Write),
        1 => Just(Step::Zero),
        1 => Just(Step::Punch),
        2 => Just(Step::Read),
        1 => Just(Step::Flush),
    ];
    proptest::collection::vec((step, 0..DISK_BYTES / 512, 1..600usize), 1..60)
}

fn work(device: &Loop, model: &mut [u8], steps: &[(Step, usize, usize)]) -> Result<(), TestCaseError> {
    for (step, sector, sectors) in steps {
        let (offset, bytes) = (sector * 512, (sectors * 512).min(DISK_BYTES - sector * 512));
        match step {
            Step::Write(byte) => {
                let data: Vec<u8> = (0..bytes).map(|at| byte.wrapping_add((at / 512) as u8)).collect();
                device.write(offset, &data).expect("written");
                model[offset..][..bytes].copy_from_slice(&data);
            }
            Step::Zero | Step::Punch => {
                let flags = match step {
                    Step::Zero => FallocateFlags::FALLOC_FL_ZERO_RANGE,
                    _ => FallocateFlags::FALLOC_FL_PUNCH_HOLE,
                };
                device.clear(flags, offset, bytes);
                model[offset..][..bytes].fill(0);
            }
            Step::Read => prop_assert!(device.read(offset, bytes).expect("readable")[..] == model[offset..][..bytes]),
            Step::Flush => device.file.sync_all().expect("flushed"),
        }
    }
    Ok(())
}

#[test]
fn a_disk_holds_what_is_written_and_its_log_and_its_images_the_same() {
    let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    let case = |(before, after): (Vec<_>, Vec<_>)| {
        let Some(desk) = Desk::new(DISK_BYTES) else { return Ok(()) };
        let mut disk = desk.disk();
        let device = Loop::attach(&disk);
        let mut model = vec![0; DISK_BYTES];
        work(&device, &mut model, &before)?;
        let at_begin = model.clone();
        disk.begin().expect("an open log");
        work(&device, &mut model, &after)?;
        prop_assert!(device.all()[..] == model);
        disk.stop().expect("a whole log");
        prop_assert!(replay(&desk.log()) == model);
        // Such a disk keeps nothing by its flushes: all may be lost since the beginning, or nothing.
        for unit_bytes in [512, 4096] {
            disk.explore(desk.log_path(), Rules { unit_bytes, ..RULES }).expect("a readable log");
            prop_assert!(device.all()[..] == model);
            let oldest = Choice { rest: Rest::Oldest, ..Choice::default() };
            disk.show(0, &oldest).expect("a first point");
            prop_assert!(device.all()[..] == at_begin);
            let mut recovered = at_begin.clone();
            work(&device, &mut recovered, &after)?;
            prop_assert!(device.all()[..] == recovered, "a recovery reads what it wrote");
            disk.show(0, &oldest).expect("a first point");
            prop_assert!(device.all()[..] == at_begin, "and the next one does not");
        }
        Ok(())
    };
    runner.run(&(steps(), steps()), case).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_log_says_when_each_request_came_and_when_it_was_done() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    disk.begin().expect("an open log");
    for block in 0..20 {
        device.write(block * 4096, &[1; 4096]).expect("written");
        device.file.sync_all().expect("flushed");
    }
    disk.stop().expect("a whole log");
    device.write(0, &[9; 4096]).expect("still served");
    let log = desk.log();
    let all: Vec<Event> = Reader::new(&log).expect("a log").collect::<Result<_, _>>().expect("no damage");
    let begin = all.iter().position(|event| matches!(event, Event::Begin { .. })).expect("it began");
    let mut last = 0;
    let mut under_way = BTreeSet::new();
    let (mut writes, mut flushes) = (0, 0);
    for event in &all {
        let (Event::Submitted { at_nanoseconds: at, .. }
        | Event::Done { at_nanoseconds: at, .. }
        | Event::Begin { at_nanoseconds: at }) = *event
        else {
            panic!("no disk says what is known only when all is over: {event:?}");
        };
        assert!(at >= last, "in the order of time");
        last = at;
    }
    for event in &all[begin + 1..] {
        match event {
            Event::Submitted { request, operation, .. } => {
                assert!(under_way.insert(*request), "a number of its own");
                match operation {
                    Operation::Flush => flushes += 1,
                    _ => writes += 1,
                }
            }
            Event::Done { request, .. } => assert!(under_way.remove(request), "it came before"),
            Event::Begin { .. } | Event::Only { .. } => panic!("it begins once"),
        }
    }
    assert_eq!((writes, flushes, under_way.len()), (20, 20, 0));
}

#[test]
fn a_filesystem_lives_on_it_and_comes_back_after_power_was_cut() {
    let Some(desk) = Desk::new(64 << 20) else { return };
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    let mounted = desk.ext4(&device);
    let on = mounted.0.clone();
    disk.begin().expect("an open log");
    let names = ["one", "two", "three", "four"];
    for name in names {
        std::fs::write(on.join(name), name.repeat(5000)).expect("room");
        File::open(on.join(name)).and_then(|file| file.sync_all()).expect("synced");
        File::open(&on).and_then(|folder| folder.sync_all()).expect("synced");
    }
    unmount(&on);
    drop(mounted);
    disk.stop().expect("a whole log");
    disk.explore(desk.log_path(), Rules { unit_bytes: 4096, cache: Cache::Volatile }).expect("a readable log");
    let log = desk.log();
    let points = powercut::states::History::new(&log[..], RULES).expect("a log").points().len();
    assert!(points > names.len(), "each sync flushes");
    let mut seen = BTreeSet::new();
    for point in 0..points {
        for rest in [Rest::Oldest, Rest::Newest] {
            device.forget();
            disk.show(point, &Choice { rest, ..Choice::default() }).expect("it is there");
            let mounted = Mounted::ext4(&device.path, &on).expect("the journal is played");
            let whole =
                |name: &&str| std::fs::read_to_string(on.join(name)).is_ok_and(|text| text == name.repeat(5000));
            let there = names.iter().take_while(|name| whole(name)).count();
            unmount(&on);
            drop(mounted);
            seen.insert(there);
        }
    }
    assert!(seen.contains(&0) && seen.contains(&names.len()), "files come one after the other: {seen:?}");
}

#[test]
fn the_units_that_are_read_are_said() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    device.write(0, &[1; 64 << 10]).expect("written");
    disk.begin().expect("an open log");
    for block in [3, 4, 9] {
        device.write(block * 4096, &[2; 4096]).expect("written");
    }
    assert!(matches!(disk.read(), Err(Error::Refused(_))), "no images yet");
    disk.stop().expect("a whole log");
    disk.explore(desk.log_path(), RULES).expect("a readable log");
    assert!(matches!(disk.begin(), Err(Error::Refused(_))), "no log any more");
    assert!(matches!(disk.show(0, &Choice { rest: Rest::Newest, units: [(5, 0)].into() }), Err(Error::Refused(_))));
    disk.show(0, &Choice { rest: Rest::Oldest, units: [(9, 1)].into() }).expect("it is there");
    let first = |block: usize| device.read(block * 4096, 4096).expect("readable")[0];
    assert_eq!([9, 0, 3, 9].map(first), [2, 1, 1, 2]);
    assert_eq!(disk.read().expect("units"), [9, 3]);
    disk.show(0, &Choice::default()).expect("it is there");
    assert!(disk.read().expect("units").is_empty());
    device.write(3 * 4096, &[7; 4096]).expect("written");
    device.write(4 * 4096 + 512, &[7; 512]).expect("written");
    assert_eq!([3, 4].map(first), [7, 2]);
    assert_eq!(disk.read().expect("units"), [4], "a part was written, and the rest kept");
}

#[test]
fn a_disk_that_is_killed_under_load_leaves_nothing() {
    let Some(desk) = Desk::new(256 << 20) else { return };
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    let mounted = desk.ext4(&device);
    let on = mounted.0.clone();
    let path = device.path.clone();
    // It detaches when its last user goes, which is the mount.
    drop(device);
    assert!(Loop::is_attached(&path, desk.folder.path()));
    let write = |name: String| -> io::Result<()> {
        let file = File::create(on.join(name))?;
        (0..1_000_000)
            .try_for_each(|at| file.write_all_at(&[5; 8192], at % 1000 * 8192).and_then(|()| file.sync_data()))
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|index| scope.spawn(move || write(format!("{index}")))).collect();
        std::thread::sleep(Duration::from_millis(300));
        assert!(writers.iter().all(|writer| !writer.is_finished()), "they write");
        disk.kill();
        for writer in writers {
            assert!(writer.join().expect("no panic").is_err(), "I/O fails");
        }
    });
    assert!(matches!(disk.begin(), Err(Error::Ended)));
    drop(mounted);
    wait_until("the loop device detaches", || !Loop::is_attached(&path, desk.folder.path()));
    let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").expect("mounts");
    assert!(!mounts.contains(&*desk.folder.path().to_string_lossy()), "no mount is left");
}

/// Both ends of a line on which orders and answers pass, as a guest kernel has one, with the disk's process at the other end.
fn line_to(disk: Disk) -> (device::Served, File) {
    let (served, orders, answers) = disk.hand_over();
    let (ours, theirs) = UnixStream::pair().expect("a line");
    let from_us = theirs.try_clone().expect("a second handle");
    pass_on(from_us, orders.into());
    pass_on(File::from(answers), OwnedFd::from(theirs).into());
    (served, File::from(OwnedFd::from(ours)))
}

/// Each piece as it comes, in a thread, until there are no more. `io::copy` would keep pieces back to move many at once.
fn pass_on(mut from: impl Read + Send + 'static, mut to: File) {
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(bytes @ 1..) = from.read(&mut buffer)
            && to.write_all(&buffer[..bytes]).is_ok()
        {}
    });
}

fn now_nanoseconds() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).expect("every Linux has it");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

#[test]
fn a_disk_beyond_a_line_says_how_far_its_clock_is_ahead_and_can_be_made_to_fail() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let (served, line) = line_to(desk.disk());
    let file = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(served.file()).expect("opens");
    let mut page = MmapMut::map_anon(4096).expect("memory");
    page.fill(1);
    let mut disk = Disk::beyond(&line, desk.log_path()).expect("a disk");
    disk.begin().expect("it records");
    let before = now_nanoseconds();
    // Every second page, so that there are many units to be named.
    (0..DISK_BYTES / 8192).for_each(|at| file.write_all_at(&page, at as u64 * 8192).expect("written"));
    let after = now_nanoseconds();
    disk.stop().expect("whole");
    // It is the same clock here, so dates may only widen, and by what it takes to ask.
    let ahead = disk.ahead().expect("it was asked");
    let attempt = Attempt { stream: 0, number: 1, tried_nanoseconds: before, acknowledged_nanoseconds: Some(after) };
    let dated = ahead.date(&attempt);
    assert!(dated.tried_nanoseconds <= before && dated.acknowledged_nanoseconds >= Some(after), "{ahead:?}");

    let breaker = disk.breaker().expect("a second handle");
    disk.explore(desk.log_path(), RULES).expect("a log");
    let mut read = MmapMut::map_anon(DISK_BYTES).expect("memory");
    file.read_exact_at(&mut read, 0).expect("readable");
    let expected: Vec<u32> = (0..DISK_BYTES as u32 / 8192).map(|at| at * 2).collect();
    assert_eq!(disk.read().expect("units"), expected, "an answer of several pieces");
    let units = expected.iter().map(|unit| (*unit, 0)).collect();
    disk.show(0, &Choice { rest: Rest::Newest, units }).expect("an order of several pieces");
    breaker.end();
    wait_until("I/O fails", || file.read_exact_at(&mut read, 0).is_err());
    assert!(matches!(disk.read(), Err(Error::Refused(_))));
    drop(disk);
    let mut disk = Disk::beyond(&line, desk.log_path()).expect("a disk");
    disk.explore(desk.log_path(), RULES).expect("a log");
    file.read_exact_at(&mut read, 0).expect("it is back");
}

#[test]
fn a_disk_ends_with_whoever_started_it() {
    let Some(desk) = Desk::new(DISK_BYTES) else { return };
    let file = std::thread::scope(|scope| {
        let start = || {
            let disk = desk.disk();
            let file = File::open(disk.file()).expect("a file");
            assert!(file.read_exact_at(&mut [1; 512], 0).is_ok());
            std::mem::forget(disk);
            file
        };
        scope.spawn(start).join().expect("no panic")
    });
    wait_until("reading fails", || file.read_exact_at(&mut [1; 512], 0).is_err());
    umount2(&desk.options.mount_point, MntFlags::MNT_DETACH).expect("it was mounted");
}

#[test]
fn a_log_at_its_limit_ends_and_the_disk_goes_on() {
    let Some(mut desk) = Desk::new(DISK_BYTES) else { return };
    desk.options.log.as_mut().expect("it has one").bytes_max = 1 << 20;
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    for block in 0..512 {
        device.write(block * 4096, &[3; 4096]).expect("written");
    }
    assert!(device.read(0, 512 * 4096).expect("readable").iter().all(|byte| *byte == 3));
    let error = disk.stop().expect_err("too much for the log");
    assert!(matches!(&error, Error::Full { .. }) && error.to_string().contains("1048576"), "{error}");
    let log = desk.log();
    assert!(log.len() <= 1 << 20 && log.len() > 1_000_000, "{}", log.len());
    assert_eq!(replay(&log).iter().filter(|byte| **byte == 3).count() / 4096, ((1 << 20) - 16) / (4096 + 80));
}

#[test]
fn a_log_on_a_full_filesystem_ends_and_the_disk_goes_on() {
    let Some(mut desk) = Desk::new(DISK_BYTES) else { return };
    let small = desk.folder.path().join("small");
    std::fs::create_dir(&small).expect("a directory");
    let nothing = MsFlags::empty();
    mount(Some("tmpfs"), &small, Some("tmpfs"), nothing, Some("size=4m")).expect("a small filesystem");
    let _small = Mounted(small.clone());
    desk.options.log.as_mut().expect("it has one").path = small.join("log");
    let refused = Disk::start(program(), &desk.options).expect_err("a log of 1 GiB has no room");
    assert!(matches!(refused, Error::Room { free_bytes, .. } if free_bytes <= 4 << 20), "{refused}");
    desk.options.log.as_mut().expect("it has one").bytes_max = 3 << 20;
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    std::fs::write(small.join("other"), vec![0; 3 << 20]).expect("room for another");
    for block in 0..512 {
        device.write(block * 4096, &[3; 4096]).expect("written");
    }
    let error = disk.stop().expect_err("no room");
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(device.read(0, 512 * 4096).expect("readable").iter().all(|byte| *byte == 3));
}

#[test]
fn a_disk_that_cant_be_made_is_said() {
    let Some(mut desk) = Desk::new(DISK_BYTES) else { return };
    desk.options.disk_bytes = 1000;
    assert!(matches!(Disk::start(program(), &desk.options), Err(Error::Size(1000))));
    desk.options.disk_bytes = 4096;
    desk.options.mount_point.push("nowhere");
    let error = Disk::start(program(), &desk.options).expect_err("no directory");
    assert!(error.to_string().contains("nowhere: No such file or directory"), "{error}");
    let ended = Disk::start(Command::new("true"), &desk.options).expect_err("another program");
    assert!(matches!(ended, Error::Ended), "{ended}");
}

#[test]
fn a_drives_flushes_take_their_time() {
    let Some(mut desk) = Desk::new(DISK_BYTES) else { return };
    desk.options.profile = Profile::ConsumerSsd;
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    let started = Instant::now();
    for block in 0..20 {
        device.write(block * 4096, &[1; 4096]).expect("written");
        device.file.sync_all().expect("flushed");
    }
    assert!(started.elapsed() > 20 * Duration::from_micros(620));
    assert!(device.all()[..20 * 4096].iter().all(|byte| *byte == 1));
    disk.stop().expect("a whole log");
    assert!(disk.timing_fidelity().is_some());
    let log = desk.log();
    let mut flushes = std::collections::BTreeMap::new();
    for event in Reader::new(&log).expect("a log") {
        match event.expect("no damage") {
            Event::Submitted { request, at_nanoseconds, operation: Operation::Flush } => {
                flushes.insert(request, at_nanoseconds);
            }
            Event::Done { request, at_nanoseconds } => {
                let came = flushes.remove(&request);
                assert!(came.is_none_or(|came| at_nanoseconds >= came + 600_000), "written down when it was answered");
            }
            _ => {}
        }
    }
    assert!(flushes.is_empty(), "each was done");
}

#[test]
fn a_disk_without_a_log_says_of_each_measured_part_how_late_it_was() {
    let Some(mut desk) = Desk::new(DISK_BYTES) else { return };
    let log = desk.options.log.take().expect("it had one");
    desk.options.profile = Profile::ConsumerSsd;
    let mut disk = desk.disk();
    let device = Loop::attach(&disk);
    device.write(0, &[1; 4096]).expect("written");
    for commits in [3, 5] {
        disk.begin().expect("it has no log that could be full");
        for block in 0..commits {
            device.write(block * 4096, &[2; 4096]).expect("written");
            device.file.sync_all().expect("flushed");
        }
        disk.stop().expect("it has no log that could be full");
        let found = disk.timing_fidelity().expect("answers were delayed");
        assert_eq!(found.requests, 2 * commits as u64, "those before do not count");
        // By the profile, a write takes 20 µs and a flush 600 µs at least.
        assert!(found.request_nanoseconds_mean > 310e3 && found.late_nanoseconds_p99 > 0, "{found:?}");
    }
    assert!(device.all()[..5 * 4096].iter().all(|byte| *byte == 2));
    assert!(!log.path.exists());
}
