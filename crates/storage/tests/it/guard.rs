//! The guard before real marks: every one is refused, untouched; `wipe` names the device; mounted and in use stay refused.

use crate::world::{MIB, World, alone, images};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use storage::{Device, Error, Mounted, StorageSettings};

/// Large enough for xfs.
const BYTES: u64 = 310 * MIB;

/// A loop device that stands for a real disk.
struct Disk {
    image: PathBuf,
    path: PathBuf,
}

impl Disk {
    fn new(world: &World) -> Disk {
        let image = world.folder().join("disk");
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

    /// All that is not zero in the first and last MiB.
    fn contents(&self) -> Vec<u8> {
        said("sync", &[]);
        let file = File::open(&self.image).expect("open");
        let mut bytes = vec![0; 2 * MIB as usize];
        file.read_exact_at(&mut bytes[..MIB as usize], 0).expect("read");
        file.read_exact_at(&mut bytes[MIB as usize..], BYTES - MIB).expect("read");
        bytes
    }

    fn settings(&self) -> StorageSettings {
        StorageSettings { device: Device::Block, path: Some(self.path.clone()), ..StorageSettings::default() }
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
        let before = self.contents();
        let asked = StorageSettings { wipe: wipe.then(|| self.name().to_string()), ..self.settings() };
        assert!(storage::check_device(&asked).expect_err("refused").is_refusal());
        let error = self.provision(world, wipe).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
        assert!(self.contents() == before, "the refused device was written to");
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
        disk.provision(world, false).expect("it was left as empty as it was found").tear_down().expect("taken away");
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
        // A mount in another namespace is not in our mountinfo, and the kernel still says so.
        let (path, elsewhere) = (world.folder(), disk.name());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                crate::world::enter_namespace();
                nix::mount::umount(&point).expect("only here");
                let asked = StorageSettings { wipe: Some(elsewhere.into()), ..disk.settings() };
                let error =
                    storage::provision(&asked, &images(), &path.join("mount"), 7, &mut |_, _| {}).expect_err("refused");
                let reason = std::error::Error::source(&error).expect("a reason").to_string();
                assert!(error.is_refusal() && reason.contains("is in use"), "{reason}");
            });
        });
        nix::mount::umount(&point).expect("unmounted");
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
        let other = Path::new(disk.name());
        let asked = StorageSettings {
            mkfs: vec![other.display().to_string()],
            filesystem: "btrfs".into(),
            ..crate::world::settings("btrfs")
        };
        let error = world.provision(&asked).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
        assert!(disk.contents().iter().all(|byte| *byte == 0));
    });
}
