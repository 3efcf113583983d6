//! Devices with every kind of content that somebody may need: each is refused with status 4, said by `plan` before, and not a byte of
//! it is changed. An empty one is taken, or the attack would praise a guard that refuses everything.

use crate::harness::{on_block_device, small_study, tool};
use crate::stage::{Stage, hash};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The smallest that all filesystems take.
const BYTES: u64 = 320 << 20;

/// What a device holds.
struct Kind {
    name: &'static str,
    fill: fn(&Path, &mut fuzz::Random),
}

const fn kind(name: &'static str, fill: fn(&Path, &mut fuzz::Random)) -> Kind {
    Kind { name, fill }
}

const KINDS: &[Kind] = &[
    kind("random data", |path, random| put(path, 0, &noise(random, 1 << 20))),
    kind("text", |path, _| put(path, 0, &b"Dear diary, ".repeat(1000))),
    kind("data in the middle", |path, random| put(path, 100 << 20, &noise(random, 1 << 20))),
    kind("data at the end", |path, random| put(path, BYTES - 4096, &noise(random, 4096))),
    kind("one byte in the first 16 MiB", |path, random| put(path, random.below(16 << 20) as u64, b"x")),
    kind("one byte in the last 16 MiB", |path, random| put(path, BYTES - 1 - random.below(16 << 20) as u64, b"x")),
    kind("ext4", |path, _| made(path, "mkfs.ext4", &["-q"])),
    kind("ext4 without its first superblock", |path, _| damaged(path, "mkfs.ext4", &["-q"], 0, 4096)),
    kind("XFS", |path, _| made(path, "mkfs.xfs", &["-q"])),
    kind("XFS without its first superblock", |path, _| damaged(path, "mkfs.xfs", &["-q"], 0, 4096)),
    kind("Btrfs", |path, _| made(path, "mkfs.btrfs", &["-q"])),
    kind("Btrfs without its first superblock", |path, _| damaged(path, "mkfs.btrfs", &["-q"], 64 << 10, 4096)),
    kind("swap", |path, _| made(path, "mkswap", &[])),
    // cryptsetup's on-disk format, LUKS1: magic and version.
    kind("a LUKS header", |path, _| put(path, 0, b"LUKS\xba\xbe\0\x01aes\0")),
    // LVM2's label in the second sector.
    kind("an LVM label", |path, _| put(path, 512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001")),
    // UEFI, "GPT header": the copy lies in the last sector, its table before it.
    kind("the copy of a partition table at the end", |path, _| {
        put(path, BYTES - 512, b"EFI PART\0\0\x01\0\x5c\0\0\0");
        put(path, BYTES - 33 * 512, b"\xaf\x3d\xc6\x0f\x83\x84\x72\x47\x8e\x79\x3d\x69\xd8\x47\x7d\xe4");
    }),
    kind("a partition table", |path, _| {
        put(path, 446, b"\0\x20\x21\0\x83\x1a\x3b\x0c\0\x08\0\0\0\x20\x03\0");
        put(path, 510, b"\x55\xaa");
    }),
];

/// Tries them.
pub fn attack(stage: &mut Stage) {
    empty_is_taken(stage);
    let chosen = stage.count(3, KINDS.len());
    let from = if stage.is_test { stage.random.below(KINDS.len()) } else { 0 };
    for kind in KINDS.iter().cycle().skip(from).take(chosen) {
        let image = blank(stage, "image");
        (kind.fill)(&image, &mut stage.random);
        let device = attach(&image, &[]);
        refused(stage, kind.name, &device, &image, "");
        detach(&device);
    }
    mounted_elsewhere(stage);
    if !stage.is_test {
        read_only(stage);
        of_nothing(stage);
    }
}

/// A study on that device.
pub fn study(device: &str, more: &str) -> String {
    let small = small_study(&["ext4"], 1).replace("300ms", "100ms");
    on_block_device(&small, device, more)
}

/// `plan` and `run` refuse it, with status 4, and the bytes stay.
pub fn refused(stage: &mut Stage, name: &str, device: &str, image: &Path, more: &str) {
    stage.tried();
    let before = hash(image);
    stage.world.write("guard.toml", study(device, more));
    let _ = std::fs::remove_file(stage.path("small.surefoot"));
    let plan = stage.surefoot(&["plan", "guard.toml"]);
    stage.holds(plan.stdout.contains("refuse") || plan.stderr.contains("refuse") || plan.status == Some(4), || {
        format!("{name}: `plan` does not say that `run` refuses it")
    });
    let run = stage.surefoot(&["run", "guard.toml", "--quiet"]);
    stage.holds(run.status == Some(4), || format!("{name}: status {:?}, not 4: {}", run.status, run.stderr.trim()));
    stage.holds(run.stderr.contains(device), || format!("{name}: the device is not named: {}", run.stderr.trim()));
    stage.holds(hash(image) == before, || format!("{name}: the device was written to"));
}

fn empty_is_taken(stage: &mut Stage) {
    stage.tried();
    let image = blank(stage, "image");
    let device = attach(&image, &[]);
    let before = hash(&image);
    stage.world.write("guard.toml", study(&device, ""));
    let _ = std::fs::remove_file(stage.path("small.surefoot"));
    let run = stage.surefoot(&["run", "guard.toml", "--quiet"]);
    stage.holds(run.status == Some(0), || format!("an empty device: status {:?}: {}", run.status, run.stderr.trim()));
    stage.holds(hash(&image) != before, || "an empty device was not used".into());
    detach(&device);
}

/// Another loop device has the same file, and it is mounted; `wipe` names ours.
fn mounted_elsewhere(stage: &mut Stage) {
    let image = blank(stage, "image");
    made(&image, "mkfs.ext4", &["-q"]);
    let (ours, other) = (attach(&image, &[]), attach(&image, &[]));
    let mount = stage.path("precious");
    let _ = std::fs::create_dir(&mount);
    tool("mount", &[&other, &mount.to_string_lossy()]);
    std::fs::write(mount.join("letter"), "dear").expect("room");
    tool("sync", &["-f", &mount.to_string_lossy()]);
    refused(stage, "mounted by another loop device, and named by `wipe`", &ours, &image, &format!("wipe = {ours:?}\n"));
    stage.holds(std::fs::read(mount.join("letter")).is_ok_and(|letter| letter == b"dear"), || {
        "the letter is gone".into()
    });
    tool("umount", &[&mount.to_string_lossy()]);
    detach(&ours);
    detach(&other);
}

fn read_only(stage: &mut Stage) {
    stage.tried();
    let image = blank(stage, "image");
    let device = attach(&image, &["--read-only"]);
    said_once(stage, "a read-only device", &device);
    detach(&device);
}

fn of_nothing(stage: &mut Stage) {
    stage.tried();
    let image = stage.path("nothing");
    File::create(&image).expect("room");
    let device = attach(&image, &[]);
    said_once(stage, "a device of 0 bytes", &device);
    detach(&device);
}

/// Before the first trial, not by each of them.
fn said_once(stage: &mut Stage, name: &str, device: &str) {
    stage.world.write("guard.toml", study(device, ""));
    let _ = std::fs::remove_file(stage.path("small.surefoot"));
    let run = stage.surefoot(&["run", "guard.toml", "--quiet"]);
    stage.holds(matches!(run.status, Some(2 | 4 | 5)), || {
        format!("{name}: status {:?}: {}", run.status, run.stderr.trim())
    });
    stage.holds(!stage.path("small.surefoot").exists(), || format!("{name}: a trial was begun"));
}

/// An image of zeros.
pub fn blank(stage: &Stage, name: &str) -> std::path::PathBuf {
    let image = stage.path(name);
    let _ = std::fs::remove_file(&image);
    File::create(&image).and_then(|file| file.set_len(BYTES)).expect("room");
    image
}

pub fn attach(image: &Path, more: &[&str]) -> String {
    let image = image.to_string_lossy();
    tool("losetup", &[&["--find", "--show"], more, &[&*image]].concat())
}

pub fn detach(device: &str) {
    tool("losetup", &["--detach", device]);
}

fn put(path: &Path, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).expect("it was just made");
    file.write_all_at(bytes, at).expect("room");
}

fn noise(random: &mut fuzz::Random, bytes: usize) -> Vec<u8> {
    (0..bytes / 8).flat_map(|_| random.bits().to_le_bytes()).collect()
}

fn made(path: &Path, program: &str, arguments: &[&str]) {
    tool(program, &[arguments, &[&*path.to_string_lossy()]].concat());
}

fn damaged(path: &Path, program: &str, arguments: &[&str], at: u64, bytes: usize) {
    made(path, program, arguments);
    put(path, at, &vec![0; bytes]);
}
