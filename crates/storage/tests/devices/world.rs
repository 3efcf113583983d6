//! What the tests stand on: images kept from run to run, and a mount namespace a test, in which its mounts vanish.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use storage::{Error, Mounted, StorageSettings};

pub const MIB: u64 = 1 << 20;

/// Large enough for xfs (300 MiB).
pub const IMAGE_BYTES: u64 = 400 * MIB;

/// Tests share the images, so one at a time has them.
static IMAGES: Mutex<()> = Mutex::new(());

/// A test's own folder, with the shared images.
pub struct World {
    folder: tempfile::TempDir,
    memory: tempfile::TempDir,
}

/// Runs a test in a mount namespace of its own, with the images to itself; afterwards nothing may be attached.
pub fn alone(test: impl FnOnce(&World) + Send) {
    if !may_run() {
        return;
    }
    let _images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let world = World { folder: tempfile::tempdir().expect("a folder"), memory };
    std::thread::scope(|scope| {
        let body = || {
            enter_namespace();
            test(&world);
        };
        scope.spawn(body).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    world.assert_nothing_attached();
}

fn may_run() -> bool {
    let root = nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    assert!(
        root || std::env::var_os("CI").is_none(),
        "these tests need root and loop devices, and are not skipped in CI"
    );
    if !root {
        eprintln!("skipped: needs root and loop devices");
    }
    root
}

/// Mounts of this thread and its children are its own from here on.
pub fn enter_namespace() {
    unshare(CloneFlags::CLONE_NEWNS).expect("root may");
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).expect("root may");
}

/// Kept from run to run, because writing them takes longer than all tests.
pub fn images() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("storage-images")
}

impl World {
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// In memory: for disks whose contents matter and not that they are disks.
    pub fn memory(&self) -> &Path {
        self.memory.path()
    }

    pub fn mount_point(&self) -> PathBuf {
        self.folder().join("mount")
    }

    pub fn provision(&self, settings: &StorageSettings) -> Result<Mounted, Error> {
        storage::provision(settings, &images(), &self.mount_point(), 7, &mut |_, _| {})
    }

    /// No mount below the test's folder in this thread's namespace.
    pub fn assert_nothing_mounted(&self) {
        let text = std::fs::read_to_string("/proc/thread-self/mountinfo").expect("proc");
        let mounts = observe::mountinfo::parse(&text).into_iter();
        let below: Vec<_> = mounts.filter(|mount| mount.mount_point.starts_with(self.folder())).collect();
        assert!(below.is_empty(), "{below:?}");
    }

    /// No loop device on an image of ours. A mount that was let go lazily takes a moment.
    pub fn assert_nothing_attached(&self) {
        let attached = || {
            let images = images().canonicalize().unwrap_or_else(|_| images());
            let devices = Path::new("/sys/block").read_dir().expect("sysfs").flatten().map(|entry| entry.path());
            let ours = |device: &PathBuf| {
                let backing = std::fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
                [&*images, self.folder(), self.memory()].iter().any(|folder| Path::new(&backing).starts_with(folder))
            };
            devices.filter(ours).collect::<Vec<_>>()
        };
        for _ in 0..200 {
            if attached().is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("still attached: {:?}", attached());
    }
}

/// Settings of a filesystem on a small image.
pub fn settings(filesystem: &str) -> StorageSettings {
    StorageSettings { filesystem: filesystem.into(), size: IMAGE_BYTES, ..StorageSettings::default() }
}

pub fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_string()).collect()
}
