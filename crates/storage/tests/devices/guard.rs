//! The guard before real marks: every one is refused, untouched; `wipe` names the device; mounted and in use stay refused.

use crate::world::{MIB, World, alone, images};
use nix::unistd::{Whence, lseek};
use observe::durability::Class;
use std::fs::{File, OpenOptions};
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use storage::{Device, Error, Mounted, Refusal, StorageSettings};

/// Large enough for xfs.
const BYTES: u64 = 310 * MIB;

/// A loop device that stands for a real disk.
struct Disk {
    image: PathBuf,
    path: PathBuf,
}

impl Disk {
    fn new(world: &World) -> Disk {
        Disk::on(world.memory())
    }

    fn on(folder: &Path) -> Disk {
        // A file of its own each time: the loop device on the last one may take a moment to go.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let image = folder.join(format!("disk-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        File::create(&image).and_then(|file| file.set_len(BYTES)).expect("made");
        let output = said("losetup", &["--find", "--show", image.to_str().expect("a path")]);
        Disk { image, path: output.trim().into() }
    }

    fn name(&self) -> &str {
        self.path.to_str().expect("a path")
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        let disk = OpenOptions::new().write(true).open(&self.path).expect("open");
        disk.write_all_at(bytes, offset).and_then(|()| disk.sync_all()).expect("written");
    }

    fn flush(&self) {
        File::open(&self.path).and_then(|disk| disk.sync_all()).expect("written out");
    }

    fn settings(&self) -> StorageSettings {
        StorageSettings { device: Device::Block, path: Some(self.path.clone()), ..StorageSettings::default() }
    }

    /// A digest of all that is on it. Holes of the file are not read: they are most of it.
    fn digest(&self) -> u64 {
        self.flush();
        let file = File::open(&self.image).expect("open");
        let (mut hash, mut chunk) = (std::hash::DefaultHasher::new(), vec![0; MIB as usize]);
        let mut end = 0;
        // No such place is ENXIO: what is left is a hole.
        while let Ok(start) = lseek(&file, end, Whence::SeekData) {
            end = lseek(&file, start, Whence::SeekHole).expect("the end of the file is one");
            for offset in (start as u64..end as u64).step_by(chunk.len()) {
                let bytes = &mut chunk[..(end as u64 - offset).min(MIB) as usize];
                file.read_exact_at(bytes, offset).expect("read");
                // Where it was written, and what, but for zeros, which a hole is, too.
                for (number, block) in bytes.chunks(4096).enumerate() {
                    if *block != [0_u8; 4096][..block.len()] {
                        (offset, number, block).hash(&mut hash);
                    }
                }
            }
        }
        hash.finish()
    }

    fn zero(&self, offset: u64, bytes: usize) {
        self.write(offset, &vec![0; bytes]);
    }

    fn provision(&self, world: &World, wipe: bool) -> Result<Mounted, Error> {
        let wipe = wipe.then(|| self.name().to_string());
        storage::provision(
            &StorageSettings { wipe, ..self.settings() },
            &images(),
            &world.mount_point(),
            7,
            &mut |_, _| {},
        )
    }

    /// Refused, and not a byte changed. Gives the reason.
    fn refuses(&self, world: &World, wipe: bool) -> String {
        let before = self.digest();
        let asked = StorageSettings { wipe: wipe.then(|| self.name().to_string()), ..self.settings() };
        assert!(storage::check_device(&asked, &images()).expect_err("refused").is_refusal());
        let error = self.provision(world, wipe).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
        assert!(self.digest() == before, "the refused device was written to");
        std::error::Error::source(&error).expect("a reason").to_string()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        said("losetup", &["--detach", self.name()]);
    }
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A disk with a mark: refused without a word, formatted when named, empty again afterwards.
fn check(mark: impl FnOnce(&Disk) + Send, expect: &str) {
    alone(|world| {
        let disk = Disk::new(world);
        mark(&disk);
        let reason = disk.refuses(world, false);
        assert!(reason.contains(expect), "{reason}");
        let mounted = disk.provision(world, true).expect("named by wipe");
        assert_eq!(mounted.facts["filesystem"], "ext4");
        mounted.tear_down().expect("taken away");
        storage::check_device(&disk.settings(), &images()).expect("it was left as empty as it was found");
    });
}

#[test]
fn ext4() {
    check(|disk| drop(said("mkfs.ext4", &["-q", disk.name()])), "holds an ext2, ext3 or ext4 filesystem");
}

#[test]
fn xfs() {
    check(|disk| drop(said("mkfs.xfs", &["-q", disk.name()])), "holds an xfs filesystem");
}

#[test]
fn btrfs() {
    check(|disk| drop(said("mkfs.btrfs", &["-q", disk.name()])), "holds a btrfs filesystem");
}

#[test]
fn swap() {
    check(|disk| drop(said("mkswap", &[disk.name()])), "holds swap");
}

#[test]
fn lvm() {
    // LVM2's label: in the second sector, with its CRC left out, which a damaged volume lacks too.
    let mark = |disk: &Disk| disk.write(512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001");
    check(mark, "holds an LVM physical volume");
}

#[test]
fn raid_old_and_new() {
    const MAGIC: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
    for (offset, name) in
        [(4096, "mdraid 1.2"), (0, "mdraid 1.1"), (BYTES - 8192, "mdraid 1.0"), (BYTES - 0x1_0000, "mdraid 0.90")]
    {
        check(|disk| disk.write(offset, MAGIC), name);
    }
}

#[test]
fn partition_tables() {
    check(|disk| disk.write(512, b"EFI PART\0\0\x01\0"), "holds a GPT partition table");
    check(|disk| disk.write(BYTES - 512, b"EFI PART\0\0\x01\0"), "holds a GPT partition table (its copy)");
    check(|disk| disk.write(510, &[0x55, 0xaa]), "holds a partition table or boot sector");
}

#[test]
fn luks() {
    check(|disk| disk.write(0, b"LUKS\xba\xbe\0\x02"), "holds a LUKS volume");
}

#[test]
fn what_only_blkid_knows() {
    // A romfs header (Documentation/filesystems/romfs.rst): our table leaves such rarities to the second opinion.
    check(|disk| disk.write(0, b"-rom1fs-\0\0\x04\0\0\0\0\0rom\0"), "says blkid");
}

/// What bears no mark, or has lost it, is somebody's all the same.
#[test]
fn data_that_nobody_knows() {
    type Mark = fn(&Disk);
    let kinds: [(Mark, &str); 7] = [
        (|disk| disk.write(0, &noise(MIB as usize)), "holds data of no known kind: at byte 0 stands"),
        (|disk| disk.write(0, b"Dear diary, today I have"), "(\"Dear diary, toda\")"),
        (|disk| disk.write(100 * MIB, &noise(5 << 20)), "holds data of no known kind: at byte 10"),
        (|disk| disk.write(BYTES - 1, b"x"), "at byte 325058559 stands 78"),
        (
            |disk| {
                said("mkfs.ext4", &["-q", "-b", "4096", disk.name()]);
                disk.zero(1024, 1024);
            },
            "holds a copy of an ext2, ext3 or ext4 superblock at byte 134217784",
        ),
        (
            |disk| {
                said("mkfs.xfs", &["-q", disk.name()]);
                disk.zero(0, 512);
            },
            "holds a copy of an xfs superblock at byte",
        ),
        (
            |disk| {
                said("mkfs.btrfs", &["-q", disk.name()]);
                disk.zero(64 << 10, 4096);
            },
            "holds a copy of a btrfs superblock at byte 67108928",
        ),
    ];
    alone(|world| {
        for (mark, expect) in kinds {
            let disk = Disk::new(world);
            mark(&disk);
            let reason = disk.refuses(world, false);
            assert!(reason.contains(expect), "{reason}");
        }
    });
}

/// Bytes without a pattern, none of them zero.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8 | 1
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn what_this_study_left_is_known_and_what_came_since_is_not() {
    alone(|world| {
        let (disk, data) = (Disk::new(world), noise(40 << 20));
        let empty = disk.digest();
        let trial = || {
            let mounted = disk.provision(world, false)?;
            std::fs::write(mounted.data_folder.join("file"), &data).expect("written");
            mounted.tear_down().map(drop)
        };
        trial().expect("empty");
        assert_ne!(disk.digest(), empty);
        trial().expect("this study's own");
        // Another study does not know it.
        let elsewhere = world.folder().join("images of another");
        let settings = disk.settings();
        let error = storage::check_device(&settings, &elsewhere).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
        // Nor is it this study's any more when a byte of it has changed.
        disk.write(7 * MIB + 11, &[0x99]);
        let reason = disk.refuses(world, false);
        assert!(reason.contains("holds data of no known kind"), "{reason}");
        // As it is when all of it was discarded.
        said("blkdiscard", &[disk.name()]);
        trial().expect("empty again");
        // A trial that failed on the way gives it back, too.
        let wrong = StorageSettings { mount: vec!["no-such-option".into()], ..disk.settings() };
        storage::provision(&wrong, &images(), &world.mount_point(), 7, &mut |_, _| {}).expect_err("no such option");
        trial().expect("this study's own");
    });
}

/// A server's log may lie on an image file, whose folder is in that of the data's notes.
#[test]
fn what_is_left_is_noted_beside_the_images_of_a_further_volume() {
    alone(|world| {
        let (disk, images) = (Disk::new(world), world.folder().join("images"));
        let log = StorageSettings { size: 4 * MIB, ..StorageSettings::default() };
        storage::prepare_images(&log, &images.join("wal"), &AtomicBool::new(false)).expect("made");
        for _ in 0..2 {
            let mounted = storage::provision(&disk.settings(), &images, &world.mount_point(), 7, &mut |_, _| {});
            mounted.expect("empty, or this study's own").tear_down().expect("taken away");
        }
    });
}

/// A device's log is an image file, and lost with what that lies on.
#[test]
fn a_log_in_memory_is_no_safer_than_memory() {
    alone(|world| {
        let in_memory = Disk::new(world);
        assert_eq!(storage::durability(&in_memory.settings()).class, Class::LosesAll, "the device itself");
        let disk = Disk::on(world.folder());
        let asked = StorageSettings { external_log: 16 * MIB, ..disk.settings() };
        let images = world.memory().join("images");
        let mounted =
            storage::provision(&asked, &images, &world.mount_point(), 7, &mut |_, _| {}).expect("the device is empty");
        assert_eq!(mounted.durability.class, Class::LosesAll, "{:?}", mounted.durability);
        mounted.tear_down().expect("taken away");
    });
}

#[test]
fn nothing_overrides_another_way_to_the_same_bytes() {
    alone(|world| {
        let disk = Disk::new(world);
        let image = disk.image.to_str().expect("a path");
        let other = said("losetup", &["--find", "--show", image]).trim().to_string();
        let reason = disk.refuses(world, true);
        assert!(reason.contains(&format!("has its file attached as {other}, too")), "{reason}");
        said("mkfs.ext4", &["-q", &other]);
        let point = world.folder().join("theirs");
        std::fs::create_dir(&point).expect("made");
        let flags = nix::mount::MsFlags::MS_RDONLY;
        nix::mount::mount(Some(&*other), &point, Some("ext4"), flags, None::<&str>).expect("mounted");
        let reason = disk.refuses(world, true);
        assert!(reason.contains(&format!("too, mounted at {}", point.display())), "{reason}");
        nix::mount::umount(&point).expect("unmounted");
        said("losetup", &["--detach", &other]);
        // A loop device over the device itself.
        let over = said("losetup", &["--find", "--show", disk.name()]).trim().to_string();
        let reason = disk.refuses(world, true);
        assert!(reason.contains(&format!("is what {over} stands on")), "{reason}");
        let asked = StorageSettings { path: Some(over.clone().into()), wipe: Some(over.clone()), ..disk.settings() };
        storage::check_device(&asked, &images()).expect("nobody uses what it stands on");
        let holder = said("losetup", &["--find", "--show", image]).trim().to_string();
        let error = storage::check_device(&asked, &images()).expect_err("refused");
        let reason = std::error::Error::source(&error).expect("a reason").to_string();
        assert!(reason.contains(&format!("stands on {}, which has its file attached", disk.name())), "{reason}");
        for device in [holder, over] {
            said("losetup", &["--detach", &device]);
        }
    });
}

#[test]
fn what_can_not_be_formatted_is_said_before() {
    alone(|world| {
        for (bytes, flags, expect) in [
            (MIB, &["--find", "--show"][..], "has 1MiB, and ext4 needs 2MiB"),
            (64 * MIB, &["--find", "--show", "--read-only"][..], "is read-only"),
            (0, &["--find", "--show"][..], "has 0 bytes"),
        ] {
            let image = world.folder().join(format!("small-{bytes}"));
            File::create(&image).and_then(|file| file.set_len(bytes)).expect("made");
            let device = said("losetup", &[flags, &[image.to_str().expect("a path")]].concat()).trim().to_string();
            let settings =
                StorageSettings { device: Device::Block, path: Some(device.clone().into()), ..Default::default() };
            let error = storage::check_device(&settings, &images()).expect_err("refused");
            said("losetup", &["--detach", &device]);
            let reason = std::error::Error::source(&error).expect("a reason").to_string();
            assert!(error.is_refusal() && reason.contains(expect), "{reason}");
        }
    });
}

/// mkfs runs in the moment after we let go, so it must itself ask for exclusive use; where it does not, we hold on.
#[test]
fn every_mkfs_meets_a_device_that_another_holds() {
    alone(|world| {
        let disk = Disk::new(world);
        for row in
            storage::filesystems().iter().filter(|row| storage::missing_for(row).is_empty() || row.name == "nilfs2")
        {
            let holder = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.path).expect("open");
            let output = Command::new(row.mkfs).args(row.mkfs_flags).arg(&disk.path).output();
            let Ok(output) = output else { continue };
            assert_eq!(output.status.success(), !row.mkfs_opens_exclusively, "{}", row.name);
            drop(holder);
        }
    });
}

#[test]
fn another_name_in_wipe_does_not_help() {
    alone(|world| {
        let disk = Disk::new(world);
        said("mkfs.ext4", &["-q", disk.name()]);
        for wipe in ["/dev/loop", "loop0", "", "/dev/"] {
            let asked = StorageSettings { wipe: Some(wipe.into()), ..disk.settings() };
            let error =
                storage::provision(&asked, &images(), &world.mount_point(), 7, &mut |_, _| {}).expect_err("refused");
            assert!(error.is_refusal(), "{error}");
        }
    });
}

#[test]
fn nothing_overrides_mounted() {
    alone(|world| {
        let disk = Disk::new(world);
        said("mkfs.ext4", &["-q", disk.name()]);
        let point = world.folder().join("theirs");
        std::fs::create_dir(&point).expect("made");
        nix::mount::mount(Some(&disk.path), &point, Some("ext4"), nix::mount::MsFlags::MS_RDONLY, None::<&str>)
            .expect("mounted");
        let reason = disk.refuses(world, true);
        assert!(reason.contains(&format!("is mounted at {}", point.display())), "{reason}");
        let is_free = |seconds| {
            let patience = Duration::from_secs(seconds);
            storage::wait_until_free(&disk.settings(), &world.folder().join("none"), patience, &AtomicBool::new(false))
        };
        assert!(!is_free(0));
        // A mount in another namespace is not in our mountinfo, and the kernel still says so.
        let (path, elsewhere) = (world.folder(), disk.name());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                crate::world::enter_namespace();
                nix::mount::umount(&point).expect("only here");
                let asked = StorageSettings { wipe: Some(elsewhere.into()), ..disk.settings() };
                let error =
                    storage::provision(&asked, &images(), &path.join("mount"), 7, &mut |_, _| {}).expect_err("refused");
                let refusal = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<Refusal>());
                let Refusal { reason, hint, .. } = refusal.expect("a reason");
                assert!(error.is_refusal() && reason.contains("is in use"), "{reason}");
                // Of its own trials that may be, too, for as long as they are written out.
                assert!(hint.as_ref().is_some_and(|hint| hint.contains("try again")), "{hint:?}");
            });
        });
        nix::mount::umount(&point).expect("unmounted");
        assert!(is_free(3600));
    });
}

#[test]
fn nothing_overrides_swap_in_use() {
    alone(|world| {
        let disk = Disk::new(world);
        said("mkswap", &[disk.name()]);
        said("swapon", &[disk.name()]);
        let reason = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| disk.refuses(world, true)));
        said("swapoff", &[disk.name()]);
        assert!(reason.expect("no panic").contains("is swap in use"));
    });
}

#[test]
fn nothing_overrides_held() {
    alone(|world| {
        let disk = Disk::new(world);
        let holder = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.path).expect("open");
        let reason = disk.refuses(world, true);
        assert!(reason.contains("is in use, says the kernel"), "{reason}");
        drop(holder);
        disk.provision(world, false).expect("free and empty").tear_down().expect("taken away");
    });
}

#[test]
fn a_word_for_mkfs_can_not_name_another_device() {
    alone(|world| {
        let disk = Disk::new(world);
        let (empty, other) = (disk.digest(), Path::new(disk.name()));
        let asked = StorageSettings {
            mkfs: vec![other.display().to_string()],
            filesystem: "btrfs".into(),
            ..crate::world::settings("btrfs")
        };
        let error = world.provision(&asked).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
        assert_eq!(disk.digest(), empty);
    });
}
