//! Each filesystem is made, mounted, read back and taken away; presets take effect; what does not is found.

use crate::world::{IMAGE_BYTES, MIB, World, alone, images, settings, words};
use observe::durability::Class;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use storage::{Device, StorageSettings};

/// Those that every kernel under test has.
const HERE: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "btrfs"];

#[test]
fn every_filesystem_is_made_read_back_and_taken_away() {
    alone(|world| {
        for name in HERE {
            let asked = StorageSettings { check: true, mount: words(&["noatime"]), ..settings(name) };
            assert_eq!(storage::missing(&asked), [], "{name}");
            let mounted = world.provision(&asked).unwrap_or_else(|error| panic!("{name}: {error}: {:?}", error.log()));
            assert_eq!(mounted.ineffective, Vec::<String>::new(), "{name}");
            assert_eq!(mounted.facts["filesystem"], name);
            assert!(mounted.facts["mount_options"].contains("noatime"), "{:?}", mounted.facts);
            assert!(mounted.facts["device"].ends_with("direct I/O on"), "{:?}", mounted.facts);
            let fact = if name == "xfs" { "meta-data reflink" } else { "features" };
            assert!(mounted.facts.contains_key(fact), "{:?}", mounted.facts);
            let device = mounted.device_name.clone().expect("a loop device");
            assert!(Path::new("/sys/class/block").join(&device).join("stat").exists());
            assert_eq!(mounted.data_folder.read_dir().expect("a folder").count(), 0);
            let mut file = std::fs::File::create(mounted.data_folder.join("file")).expect("created");
            file.write_all(&[1; 100_000]).and_then(|()| file.sync_all()).expect("written");
            drop(file);
            mounted.settle().expect("it comes to rest");
            let said = mounted.tear_down().unwrap_or_else(|error| panic!("{name}: {error}: {:?}", error.log()));
            assert!(said.is_some(), "{name} was checked");
            world.assert_nothing_mounted();
            world.assert_nothing_attached();
        }
    });
}

#[test]
fn every_preset_takes_effect() {
    alone(|world| {
        for name in HERE {
            for preset in storage::filesystem(name).expect("a row").presets() {
                let check = preset.external_log_bytes > 0;
                let asked = StorageSettings { preset: Some(preset.name.into()), check, ..settings(name) };
                let mounted = world
                    .provision(&asked)
                    .unwrap_or_else(|error| panic!("{name} {}: {error}: {:?}", preset.name, error.log()));
                assert_eq!(mounted.ineffective, Vec::<String>::new(), "{name} {}", preset.name);
                if preset.external_log_bytes > 0 {
                    let facts = &mounted.facts;
                    assert!(
                        facts.get("log place").is_some_and(|place| place == "external")
                            || facts.contains_key("journal_device"),
                        "{facts:?}"
                    );
                    let log = mounted.log_device_name.as_ref().expect("a loop device of its own");
                    assert!(
                        mounted.device_name.as_ref() != Some(log) && Path::new("/sys/class/block").join(log).exists()
                    );
                }
                mounted
                    .tear_down()
                    .unwrap_or_else(|error| panic!("{name} {}: {error}: {:?}", preset.name, error.log()));
            }
        }
    });
}

/// A probe that was killed while it wrote inode tables left a block device to nobody.
#[test]
fn what_a_device_is_probed_by_is_made_at_once_and_stays_as_it_is() {
    alone(|world| {
        let mounted = world.provision(&settings("xfs").plain()).expect("made");
        assert_eq!(mounted.ineffective, Vec::<String>::new());
        mounted.tear_down().expect("taken away");
    });
}

#[test]
fn what_the_presets_say_is_what_the_kernel_shows() {
    alone(|world| {
        let check = |name: &str, preset: &str, fact: &str, shown: &str| {
            let mounted =
                world.provision(&StorageSettings { preset: Some(preset.into()), ..settings(name) }).expect("made");
            let found = &mounted.facts[fact];
            assert!(found.split([',', ' ']).any(|word| word == shown), "{name} {preset}: {found}");
            mounted.tear_down().expect("taken away");
        };
        check("ext4", "writeback", "filesystem_options", "data=writeback");
        check("ext3", "ordered", "filesystem_options", "data=ordered");
        check("ext4", "nobarrier", "filesystem_options", "nobarrier");
        check("ext4", "relatime", "mount_options", "relatime");
        check("ext4", "fast-commit", "features", "fast_commit");
        check("btrfs", "nodatacow", "filesystem_options", "nodatasum");
        check("btrfs", "compress-zstd", "filesystem_options", "compress=zstd:3");
        check("xfs", "no-reflink", "meta-data reflink", "0");
        check("xfs", "large-log-buffers", "filesystem_options", "logbsize=256k");
    });
}

#[test]
fn an_option_that_the_kernel_ignores_is_found() {
    alone(|world| {
        let asked = StorageSettings { mount: words(&["nobh", "data=ordered"]), ..settings("ext4") };
        let mounted = world.provision(&asked).expect("the kernel takes it");
        assert_eq!(mounted.ineffective.len(), 1, "{:?}", mounted.ineffective);
        assert!(mounted.ineffective[0].contains("`nobh`"), "{:?}", mounted.ineffective);
        mounted.tear_down().expect("taken away");
        // The later option wins; `problems` would have refused the pair.
        let asked = StorageSettings { mount: words(&["nodatacow", "compress=zstd"]), ..settings("btrfs") };
        let mounted = world.provision(&asked).expect("the kernel takes it");
        assert!(mounted.ineffective.iter().any(|found| found.contains("`nodatacow`")), "{:?}", mounted.ineffective);
        mounted.tear_down().expect("taken away");
    });
}

/// mke2fs makes none on less than 2048 blocks, and ends well.
#[test]
fn a_journal_that_mkfs_left_out_is_missed() {
    alone(|world| {
        for (block, is_missing) in [("4096", true), ("1024", false)] {
            let asked = StorageSettings { size: 4 * MIB, mkfs: words(&["-b", block]), ..settings("ext4") };
            let mounted = world.provision(&asked).expect("made");
            let found = mounted.durability.clone();
            let is_said = found.reasons.iter().any(|reason| reason.contains("without a journal"));
            assert_eq!((is_said, is_said && found.class == Class::MayCorrupt), (is_missing, is_missing), "{found:?}");
            mounted.tear_down().expect("taken away");
        }
    });
}

/// tune2fs(8), `-o`: such options are in force at each mount, which does not show them. A folder there had been called safe.
#[test]
fn a_mount_option_of_the_superblock_counts() {
    alone(|world| {
        let run = |program: &str, words: &[&str]| {
            let output =
                Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{program}: {error}"));
            assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        };
        std::fs::create_dir_all(images()).expect("made");
        let (image, folder) = (images().join("tuned"), world.folder().join("tuned-mount"));
        std::fs::create_dir(&folder).expect("made");
        let (file, point) = (image.to_str().expect("plain"), folder.to_str().expect("plain"));
        run("mkfs.ext4", &["-q", "-F", file, "64M"]);
        run("tune2fs", &["-o", "nobarrier", file]);
        run("mount", &["-o", "loop", file, point]);
        let asked = StorageSettings { device: Device::Dir, path: Some(folder.clone()), ..settings("ext4") };
        let found = storage::durability(&asked);
        run("umount", &[point]);
        std::fs::remove_file(&image).expect("it was made here");
        assert_eq!(found.class, Class::MayCorrupt, "{found:?}");
        assert!(found.reasons.iter().any(|reason| reason.contains("`nobarrier`")), "{found:?}");
    });
}

#[test]
fn discards_are_passed_down_only_on_request() {
    alone(|world| {
        let size = 130 * MIB;
        for name in ["ext4", "btrfs"] {
            let asked = StorageSettings { size, ..settings(name) };
            let mounted = world.provision(&asked).expect("made");
            assert!(
                !mounted.facts["filesystem_options"].split(',').any(|option| option.starts_with("discard")),
                "{:?}",
                mounted.facts
            );
            mounted.tear_down().expect("taken away");
            // The image is as whole as before.
            storage::prepare_images(&asked, &images(), &AtomicBool::new(false)).expect("whole");
        }
        let own = world.folder().join("images");
        let asked = StorageSettings { size, discard: true, ..settings("ext4") };
        // Twice, because the first leaves holes that the second may not stumble over.
        for _ in 0..2 {
            let mounted = storage::provision(&asked, &own, &world.mount_point(), 7, &mut |_, _| {}).expect("made");
            assert!(
                mounted.facts["filesystem_options"].split(',').any(|option| option == "discard"),
                "{:?}",
                mounted.facts
            );
            let image = own.join(storage::images(&asked).into_keys().next().expect("one"));
            let allocated = std::os::unix::fs::MetadataExt::blocks(&image.metadata().expect("there")) * 512;
            assert!(allocated < size / 2, "mkfs discarded: {allocated}");
            mounted.tear_down().expect("taken away");
        }
    });
}

#[test]
fn what_mkfs_zeroes_is_written() {
    alone(|world| {
        for (name, preset) in [
            ("ext2", "default"),
            ("ext4", "external-log"),
            ("ext4", "default"),
            ("xfs", "external-log"),
            ("xfs", "default"),
        ] {
            let asked = StorageSettings { preset: Some(preset.into()), check: true, ..settings(name) };
            let mounted = world.provision(&asked).expect("made");
            for image in storage::images(&asked).into_keys().map(|image| images().join(image)) {
                let output = Command::new("filefrag").arg("-v").arg(&image).output().expect("e2fsprogs has it");
                let extents = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(extents.contains("1 extent found") || extents.contains("extents found"), "{extents}");
                assert!(!extents.contains("unwritten"), "{name} {preset}: {extents}");
            }
            // Nothing but zeros was written.
            mounted.tear_down().unwrap_or_else(|error| panic!("{name} {preset}: {error}: {:?}", error.log()));
        }
    });
}

/// Names and sizes of all files below a folder.
fn tree(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.push((entry.path(), entry.metadata().expect("there").len()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn filled_and_aged_alike_by_the_same_seed() {
    alone(|world| {
        for name in ["ext4", "btrfs"] {
            let trees = [(); 2].map(|()| {
                let asked = StorageSettings { fill: 0.5, age: 48 * MIB, size: IMAGE_BYTES, ..settings(name) };
                let mounted = world.provision(&asked).expect("made");
                let space = nix::sys::statvfs::statvfs(&mounted.data_folder).expect("mounted");
                let used = 1.0 - space.blocks_free() as f64 / space.blocks() as f64;
                assert!((0.49..0.65).contains(&used), "{name}: {used}");
                assert_eq!(mounted.data_folder.read_dir().expect("a folder").count(), 0);
                let tree = tree(&world.mount_point());
                mounted.tear_down().expect("taken away");
                tree
            });
            assert!(trees[0].iter().any(|(path, _)| path.starts_with(world.mount_point().join("age"))));
            assert_eq!(trees[0], trees[1], "{name}");
        }
    });
}

#[test]
fn memory() {
    alone(|world| {
        let asked = StorageSettings {
            device: Device::Tmpfs,
            size: 64 * MIB,
            mount: words(&["noatime", "huge=never"]),
            ..StorageSettings::default()
        };
        let mounted = world.provision(&asked).expect("mounted");
        assert_eq!(mounted.ineffective, Vec::<String>::new());
        assert_eq!(mounted.durability.class, Class::LosesAll);
        let space = nix::sys::statvfs::statvfs(&mounted.data_folder).expect("mounted");
        assert_eq!(space.blocks() as u64 * space.fragment_size() as u64, 64 * MIB);
        mounted.settle().expect("nothing to wait for");
        mounted.tear_down().expect("taken away");
        world.assert_nothing_mounted();
    });
}

#[test]
fn a_directory_gets_a_folder_of_its_own_and_is_left_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("diary"), "mine").expect("written");
    // What a killed trial left goes. What a living one has stays, and so does another machine's, and what is only called like one.
    let theirs =
        ["surefoot-trial-2026-11", "surefoot-trial-another-00c0ffee-1-1795000000123456789", "surefoot-trial-results"];
    let host = nix::unistd::gethostname().expect("it has a name");
    let left = format!("surefoot-trial-{}-00c0ffee-1-1795000000123456789", host.to_string_lossy());
    for name in [&*left].iter().chain(&theirs) {
        std::fs::create_dir(folder.path().join(name)).expect("made");
    }
    let asked = StorageSettings { device: Device::Dir, path: Some(folder.path().into()), ..StorageSettings::default() };
    let provision =
        || storage::provision(&asked, Path::new("/nowhere"), Path::new("/nowhere"), 7, &mut |_, _| {}).expect("made");
    let (one, two) = (provision(), provision());
    assert_ne!(one.data_folder, two.data_folder);
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 6);
    std::fs::write(one.data_folder.join("file"), "data").expect("written");
    assert!(one.facts.contains_key("mount_options"));
    assert_eq!(one.own_device(), None, "its disk is others', too");
    one.settle().expect("written out");
    one.tear_down().expect("removed");
    drop(two);
    let left = folder.path().read_dir().expect("a folder").flatten();
    let left: BTreeSet<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let expected: BTreeSet<String> = ["diary"].iter().chain(&theirs).map(ToString::to_string).collect();
    assert_eq!(left, expected);
}

#[test]
fn caches_are_dropped_by_root() {
    alone(|_: &World| storage::drop_caches().expect("root may"));
}
