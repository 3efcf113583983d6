//! Whatever fails, and wherever: nothing stays mounted or attached, and the next trial works.

use crate::world::{IMAGE_BYTES, MIB, alone, enter_namespace, images, settings, words};
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use storage::{CutDisk, Device, StorageSettings};

/// Set in the process that is to be killed.
const CHILD: &str = "SUREFOOT_TEST_CHILD";

#[test]
fn a_break_after_any_step_leaves_nothing() {
    alone(|world| {
        for asked in [
            StorageSettings { fill: 0.1, age: MIB, ..settings("ext4") },
            StorageSettings { preset: Some("external-log".into()), ..settings("xfs") },
            StorageSettings { device: Device::Tmpfs, size: 32 * MIB, ..StorageSettings::default() },
        ] {
            let mut broken = 0;
            loop {
                let mut steps = 0;
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let mut step = |_: &str, _: f64| {
                        steps += 1;
                        // Not a panic's message: a break is expected here.
                        if steps > broken {
                            std::panic::resume_unwind(Box::new("break"));
                        }
                    };
                    storage::provision(&asked, &images(), &world.mount_point(), 7, &mut step)
                }));
                match outcome {
                    Ok(mounted) => break mounted.expect("made").tear_down().map(drop).expect("taken away"),
                    Err(_) => broken += 1,
                }
                world.assert_nothing_mounted();
                world.assert_nothing_attached();
            }
            assert!(broken >= 3, "{broken} steps were broken");
        }
    });
}

#[test]
fn a_failing_mkfs_says_what_it_said() {
    alone(|world| {
        let error = world
            .provision(&StorageSettings { mkfs: words(&["-b", "17"]), ..settings("ext4") })
            .expect_err("no such block size");
        assert!(error.to_string().contains("mkfs.ext4 -q -F"), "{error}");
        assert!(error.log().is_some_and(|log| log.contains("invalid block size - 17")), "{:?}", error.log());
        world.assert_nothing_attached();
    });
}

#[test]
fn a_refused_mount_says_what_the_kernel_said() {
    alone(|world| {
        let error = world
            .provision(&StorageSettings { mount: words(&["nobarrier"]), ..settings("xfs") })
            .expect_err("xfs has barriers");
        assert!(error.to_string().starts_with("cannot mount /dev/loop"), "{error}");
        if std::fs::File::open("/dev/kmsg").is_ok() {
            assert!(error.log().is_some_and(|log| log.contains("nobarrier")), "{:?}", error.log());
        }
        world.assert_nothing_mounted();
        world.assert_nothing_attached();
    });
}

#[test]
fn too_small_a_device_is_mkfs_own_word() {
    alone(|world| {
        let error = world.provision(&StorageSettings { size: 20 * MIB, ..settings("btrfs") }).expect_err("too small");
        assert!(
            error.log().is_some_and(|log| log.contains("too small") || log.contains("minimum")),
            "{:?}",
            error.log()
        );
        world.assert_nothing_attached();
    });
}

#[test]
fn what_does_not_fill_is_said() {
    alone(|world| {
        // btrfs sets space aside for metadata that files can't take: on a small device far more than a twentieth.
        let asked = StorageSettings { fill: 0.95, size: 130 * MIB, ..settings("btrfs") };
        let error = world.provision(&asked).expect_err("it can't be filled");
        assert!(matches!(error, storage::Error::NotFilled { .. }), "{error}");
        world.assert_nothing_mounted();
        world.assert_nothing_attached();
    });
}

#[test]
fn something_in_use_keeps_the_mount_and_is_named() {
    alone(|world| {
        let mounted = world.provision(&settings("ext4")).expect("made");
        let file = std::fs::File::create(mounted.data_folder.join("open")).expect("created");
        let error = mounted.tear_down().expect_err("a file is open");
        assert!(error.to_string().contains("cannot unmount"), "{error}");
        world.assert_nothing_mounted();
        drop(file);
        world.assert_nothing_attached();
    });
}

#[test]
fn two_trials_on_one_image_the_second_is_refused() {
    alone(|world| {
        let first = world.provision(&settings("ext4")).expect("made");
        let other = world.folder().join("other");
        let error = storage::provision(&settings("xfs"), &images(), &other, 7, &mut |_, _| {}).expect_err("in use");
        assert!(error.is_refusal(), "{error}");
        first.tear_down().expect("taken away");
    });
}

#[test]
fn a_killed_process_takes_its_mount_and_loop_device_with_it() {
    alone(|world| {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "faults::child_that_is_killed", "--nocapture"])
            .env(CHILD, world.mount_point())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        assert!(lines.any(|line| line.expect("text").contains("mounted")), "the child mounts");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        world.assert_nothing_attached();
        world.provision(&settings("xfs")).expect("the image is free again").tear_down().expect("taken away");
    });
}

/// Not a test by itself: what the one above kills.
#[test]
fn child_that_is_killed() {
    let Some(mount_point) = std::env::var_os(CHILD) else { return };
    enter_namespace();
    let asked = StorageSettings { size: IMAGE_BYTES, ..StorageSettings::default() };
    let mounted = storage::provision(&asked, &images(), mount_point.as_ref(), 7, &mut |_, _| {}).expect("made");
    println!("mounted {}", mounted.data_folder.display());
    std::thread::sleep(std::time::Duration::from_secs(60));
}

fn ext4_disk(mount_point: &Path) -> CutDisk {
    let image = mount_point.with_extension("img");
    std::fs::create_dir_all(mount_point).expect("a folder");
    std::fs::File::create(&image).and_then(|file| file.set_len(16 * MIB)).expect("an image");
    let made = Command::new("mkfs.ext4").arg("-q").arg(&image).status().expect("mkfs starts");
    assert!(made.success());
    CutDisk::attach(&settings("ext4"), &image, mount_point).expect("attached")
}

/// Each program that another thread starts has, until it runs, all files that are open here: also a device that is asked whether it is
/// free.
#[test]
fn a_disk_is_free_whatever_other_threads_start() {
    alone(|world| {
        let disk = ext4_disk(&world.mount_point());
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        assert!(Command::new("true").status().expect("it starts").success());
                    }
                });
            }
            let mounts = catch_unwind(AssertUnwindSafe(|| {
                for round in 0..400 {
                    disk.forget().expect("nobody has it");
                    let mounted = disk.mount().unwrap_or_else(|error| panic!("round {round}: {error:?}"));
                    mounted.unmount().expect("unmounted");
                }
            }));
            ended.store(true, Ordering::Relaxed);
            assert!(mounts.is_ok(), "a mount of 400 failed");
        });
    });
}

/// A process that has a mount of its own keeps the filesystem alive, and the next mount of the device would be that one, with its pages.
#[test]
fn a_disk_is_another_one_only_when_nobody_has_it_mounted_any_more() {
    alone(|world| {
        let disk = ext4_disk(&world.mount_point());
        let mounted = disk.mount().expect("mounted");
        let mut command = Command::new("unshare");
        let holder = command.args(["--mount", "sh", "-c", "echo here; read line"]);
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        BufReader::new(holder.stdout.take().expect("piped")).read_line(&mut said).expect("it says that it is there");
        mounted.unmount().expect("unmounted here");
        let waits = std::thread::scope(|scope| {
            let forgets = scope.spawn(|| disk.forget());
            std::thread::sleep(std::time::Duration::from_millis(200));
            let waits = !forgets.is_finished();
            drop(holder.stdin.take());
            holder.wait().expect("it ends");
            forgets.join().expect("no panic").expect("nobody has it any more");
            waits
        });
        assert!(waits, "it was still mounted elsewhere");
    });
}
