//! What was really made and mounted: facts read back from the kernel and the filesystem's own tool, and compared with what
//! was asked.

use crate::durability;
use crate::error::Error;
use crate::filesystem::{About, Facts, Superblock};
use crate::filesystems;
use crate::options;
use crate::program;
use crate::settings::StorageSettings;
use observe::mountinfo::{self, Mount};
use std::ffi::OsStr;
use std::path::Path;

/// The mount of a mount point, now.
pub(crate) fn mount_at(mount_point: &Path) -> Result<Mount, Error> {
    let point = mount_point.canonicalize().map_err(Error::file("look at", mount_point))?;
    // The last one is on top.
    let mounts = mountinfo::read().into_iter().rev();
    mounts.into_iter().find(|mount| mount.mount_point == point).ok_or(Error::NotMounted(point))
}

/// Facts of any mount.
pub(crate) fn mount_facts(mount: &Mount) -> Facts {
    Facts::from([
        ("filesystem".into(), mount.filesystem.clone()),
        ("source".into(), mount.source.clone()),
        ("mount_options".into(), mount.options.join(",")),
        ("filesystem_options".into(), listed_options(mount).join(",")),
    ])
}

/// Which build of the filesystem's modules is loaded: one that is patched has another, in a kernel of the same release. What is built in is the kernel's.
pub(crate) fn module_facts(modules: &[&str]) -> Facts {
    let build = |module: &&str| {
        let note = std::fs::read(format!("/sys/module/{module}/notes/.note.gnu.build-id")).ok()?;
        Some((format!("{module}.module"), format!("build {}", build_id(&note)?)))
    };
    modules.iter().filter_map(build).collect()
}

/// Of an ELF note (elf(5)): how long its name and its description are, a type, the name, padded to four bytes, and the description.
fn build_id(note: &[u8]) -> Option<String> {
    let number = |at: usize| Some(u32::from_ne_bytes(note.get(at..at + 4)?.try_into().ok()?) as usize);
    let (name, length) = (number(0)?, number(4)?);
    let begin = name.checked_next_multiple_of(4)?.checked_add(12)?;
    let id = note.get(begin..begin.checked_add(length)?).filter(|id| !id.is_empty())?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The filesystem's own options, as fully as the kernel shows them.
pub(crate) fn listed_options(mount: &Mount) -> Vec<String> {
    let folder = options_in_folder(mount);
    mount.super_options.iter().cloned().chain(folder).collect()
}

/// All options in force where the filesystem lists them in a folder of its own: those of its superblock, too, which a
/// mount does not show.
fn options_in_folder(mount: &Mount) -> Vec<String> {
    let folder = filesystems::mount_type(&mount.filesystem).and_then(|kind| kind.options_folder);
    let file =
        folder.zip(durability::block_device(mount)).map(|(folder, name)| Path::new(folder).join(name).join("options"));
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

/// Mount options that did not take effect.
pub(crate) fn ineffective_mount(settings: &StorageSettings, mount: &Mount) -> Vec<String> {
    options::ineffective(settings.mount_type(), &settings.mount_asked(), mount, &listed_options(mount))
}

/// The shell commands that read a filesystem back by its own tool, by its name; none where no tool tells.
pub fn reads_back(filesystem: &str, device: &str, mount_point: &str) -> Vec<String> {
    let superblock = filesystems::filesystem(filesystem).and_then(|row| row.superblock.as_ref());
    let Some(superblock) = superblock else { return Vec::new() };
    let command = |(words, about): &(&[&str], About)| {
        let place = if matches!(about, About::Device) { device } else { mount_point };
        [&[superblock.program], *words, &[place]].concat().join(" ")
    };
    superblock.questions.iter().map(command).collect()
}

/// Facts of the filesystem that was made, by its own tool.
pub(crate) fn superblock(settings: &StorageSettings, device: &Path, mount_point: &Path) -> Result<Facts, Error> {
    let row = settings.row();
    let Some(superblock) = &row.superblock else { return Ok(Facts::new()) };
    let answer = |(words, about): &(&[&str], About)| {
        let about = if matches!(about, About::Device) { device } else { mount_point };
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).chain([about.as_os_str()]).collect();
        program::run(superblock.program, &words, row.package)?.success()
    };
    let answers: Result<Vec<String>, Error> = superblock.questions.iter().map(answer).collect();
    Ok((superblock.parse)(&answers?))
}

/// mkfs options that did not take effect, as far as the facts tell.
pub(crate) fn ineffective_mkfs(settings: &StorageSettings, facts: &Facts) -> Vec<String> {
    let Some(superblock) = &settings.row().superblock else { return Vec::new() };
    let mut found = feature_problems(settings, superblock, facts);
    for (option, fact, value) in (superblock.wanted)(&settings.mkfs_asked()) {
        let Some(have) = facts.get(&fact) else { continue };
        let numbers = have.parse::<u64>().ok().zip(value.parse::<u64>().ok());
        let is_rounded_up =
            superblock.rounded_up.contains(&&*fact) && numbers.is_some_and(|(have, asked)| have >= asked);
        if !is_rounded_up && !options::same_value(&value, have) && !have.contains(&format!("({value}")) {
            found.push(format!("mkfs option `{option}` did not take effect: the filesystem has {fact} = {have}"));
        }
    }
    found
}

fn feature_problems(settings: &StorageSettings, superblock: &Superblock, facts: &Facts) -> Vec<String> {
    let Some(have) = facts.get("features") else { return Vec::new() };
    let have: Vec<&str> = have.split(' ').collect();
    let mut found = Vec::new();
    // The last word on a feature counts.
    let mut last: Facts = Facts::new();
    for asked in settings.features().iter().filter(|asked| !["none", "list-all", "journal_dev"].contains(&&***asked)) {
        last.insert(asked.trim_start_matches(['^', '+']).into(), asked.clone());
    }
    for (name, asked) in last {
        let Some(name) = (superblock.feature)(&name) else { continue };
        let wanted = !asked.starts_with('^');
        if have.contains(&&*name) != wanted {
            let state = if wanted { "lacks" } else { "has" };
            found.push(format!("mkfs feature `{asked}` did not take effect: the filesystem {state} {name}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts in what a filesystem's own tool answers.
    fn parse(filesystem: &str, answers: &[&str]) -> Facts {
        let superblock = settings(filesystem, &[]).row().superblock.as_ref().expect("it is read back");
        (superblock.parse)(&answers.iter().map(|answer| (*answer).to_string()).collect::<Vec<_>>())
    }

    fn settings(filesystem: &str, mkfs: &[&str]) -> StorageSettings {
        StorageSettings {
            filesystem: filesystem.into(),
            mkfs: mkfs.iter().map(|word| (*word).to_string()).collect(),
            ..StorageSettings::default()
        }
    }

    #[test]
    fn a_build_of_a_module_is_known_by_its_note() {
        let note = |id: &[u8]| {
            [&4_u32.to_ne_bytes()[..], &(id.len() as u32).to_ne_bytes(), &3_u32.to_ne_bytes(), b"GNU\0", id].concat()
        };
        assert_eq!(build_id(&note(&[0x3f, 0xa9, 0x01])).as_deref(), Some("3fa901"));
        for bad in [&note(&[1, 2, 3])[..18], &note(&[])[..], &[0xff; 40], b""] {
            assert_eq!(build_id(bad), None, "{bad:?}");
        }
        assert_eq!(module_facts(&["no_such_module"]), Facts::new());
    }

    #[test]
    fn ext_features_and_sizes_are_compared() {
        let text = "Filesystem features:      has_journal extent 64bit\nBlock size:               4096\nFilesystem UUID: 1-2\nTotal journal size:       64M\n";
        let facts = parse("ext4", &[text]);
        assert_eq!((&*facts["features"], facts.len()), ("has_journal extent 64bit", 3));
        let asked = settings("ext4", &["-O", "^extents,64bit,quota", "-b", "1024", "-J", "size=64"]);
        assert_eq!(
            ineffective_mkfs(&asked, &facts),
            [
                "mkfs feature `^extents` did not take effect: the filesystem has extent",
                "mkfs feature `quota` did not take effect: the filesystem lacks quota",
                "mkfs option `-b 1024` did not take effect: the filesystem has block_size = 4096",
            ]
        );
    }

    /// By mke2fs 1.47.0, of which each trial had failed.
    #[test]
    fn the_records_of_fast_commits_are_beside_the_journal_that_is_asked() {
        let facts = parse("ext4", &["Total journal size:       65M\n"]);
        let problems = |features| ineffective_mkfs(&settings("ext4", &["-O", features, "-J", "size=64"]), &facts).len();
        assert_eq!((problems("fast_commit"), problems("quota")), (0, 1));
    }

    #[test]
    fn mke2fs_makes_as_many_inodes_as_are_asked_or_more() {
        let problems = |count: &str| {
            let facts = parse("ext4", &[&*format!("Inode count:              {count}\n")]);
            ineffective_mkfs(&settings("ext4", &["-N", "100000"]), &facts)
        };
        assert_eq!(problems("100352"), Vec::<String>::new());
        assert_eq!(
            problems("99000"),
            ["mkfs option `-N 100000` did not take effect: the filesystem has inode_count = 99000"]
        );
    }

    #[test]
    fn xfs_geometry_is_compared() {
        let text = "meta-data=/dev/loop0 isize=512    agcount=4, agsize=25600 blks\n         =          reflink=1    bigtime=1\n\
                    data     =          bsize=4096   blocks=102400, imaxpct=25\nlog      =internal log bsize=4096   blocks=16384\n";
        let facts = parse("xfs", &[text]);
        assert_eq!(
            (&*facts["meta-data reflink"], &*facts["data bsize"], &*facts["log place"]),
            ("1", "4096", "internal")
        );
        assert_eq!(
            ineffective_mkfs(&settings("xfs", &["-m", "reflink=1,bigtime=1", "-b", "size=4k"]), &facts),
            Vec::<String>::new()
        );
        assert_eq!(
            ineffective_mkfs(&settings("xfs", &["-mreflink=0"]), &facts),
            ["mkfs option `-m reflink=0` did not take effect: the filesystem has meta-data reflink = 1"]
        );
    }

    #[test]
    fn btrfs_flags_are_compared() {
        let text = "csum_type\t\t1 (xxhash64)\nnodesize\t\t16384\nincompat_flags\t\t0x341\n\t\t\t( MIXED_BACKREF |\n\t\t\t  NO_HOLES )\ncache_generation\t0\n";
        let profiles = "Data, single: total=8.00MiB, used=0.00B\nMetadata, DUP: total=1MiB\n";
        let facts = parse("btrfs", &[text, profiles]);
        assert_eq!(facts["features"], "MIXED_BACKREF NO_HOLES");
        let asked = settings("btrfs", &["-O", "^no-holes", "--csum", "xxhash", "-m", "single", "-n", "16k"]);
        assert_eq!(
            ineffective_mkfs(&asked, &facts),
            [
                "mkfs feature `^no-holes` did not take effect: the filesystem has NO_HOLES",
                "mkfs option `-m single` did not take effect: the filesystem has metadata_profile = dup",
            ]
        );
        let profile = settings("btrfs", &["-m", "DUP"]);
        assert_eq!(ineffective_mkfs(&profile, &facts), Vec::<String>::new(), "mkfs.btrfs takes it in any case");
        let quotas = settings("btrfs", &["-O", "quota", "-R", "quota"]);
        assert_eq!(ineffective_mkfs(&quotas, &facts), Vec::<String>::new(), "the superblock does not tell");
    }
}
