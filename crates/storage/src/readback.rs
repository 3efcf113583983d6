//! What was really made and mounted: facts read back from the kernel and the filesystem's own tool, and compared with what
//! was asked.

use crate::error::Error;
use crate::mkfs::{self, values};
use crate::mountinfo::{self, Mount};
use crate::options;
use crate::program;
use crate::settings::StorageSettings;
use std::collections::BTreeMap;
use std::path::Path;

/// Facts by name.
pub(crate) type Facts = BTreeMap<String, String>;

/// What mke2fs calls otherwise than dumpe2fs.
const EXT_NAMES: &[(&str, &str)] = &[("extents", "extent"), ("resize", "resize_inode"), ("64-bit", "64bit")];

/// What mkfs.btrfs calls otherwise than the superblock's dump.
const BTRFS_NAMES: &[(&str, &str)] =
    &[("EXTREF", "EXTENDED_IREF"), ("MIXED_BG", "MIXED_GROUPS"), ("SQUOTA", "SIMPLE_QUOTA"), ("ZONED", "ZONED")];

/// The mount of a mount point, now.
pub(crate) fn mount_at(mount_point: &Path) -> Result<Mount, Error> {
    let point = mount_point.canonicalize().map_err(Error::file("look at", mount_point))?;
    // The last one is on top.
    let mounts = mountinfo::read().into_iter().rev();
    mounts.into_iter().find(|mount| mount.mount_point == point).ok_or(Error::NotMounted { path: point })
}

/// Facts of any mount.
pub(crate) fn mount_facts(mount: &Mount) -> Facts {
    Facts::from([
        ("filesystem".into(), mount.filesystem.clone()),
        ("source".into(), mount.source.clone()),
        ("mount_options".into(), mount.options.join(",")),
        ("filesystem_options".into(), mount.super_options.join(",")),
    ])
}

/// The filesystem's own options, as fully as the kernel shows them.
pub(crate) fn listed_options(mount: &Mount) -> Vec<String> {
    let mut all = mount.super_options.clone();
    if let Some(device) = mount.source.strip_prefix("/dev/") {
        let file = format!("/proc/fs/ext4/{}/options", device.replace('/', "!"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        all.extend(text.lines().map(str::to_string));
    }
    all
}

/// Mount options that did not take effect.
pub(crate) fn ineffective_mount(settings: &StorageSettings, mount: &Mount) -> Vec<String> {
    options::ineffective(settings.mount_type(), &settings.mount_asked(), mount, &listed_options(mount))
}

/// Facts of the filesystem that was made, by its own tool.
pub(crate) fn superblock(settings: &StorageSettings, device: &Path, mount_point: &Path) -> Result<Facts, Error> {
    let row = settings.row();
    let tool = |name: &str, arguments: &[&std::ffi::OsStr]| program::run(name, arguments, row.package)?.success();
    match row.facts {
        Some("dumpe2fs") => Ok(parse_dumpe2fs(&tool("dumpe2fs", &["-h".as_ref(), device.as_os_str()])?)),
        Some("xfs_info") => Ok(parse_xfs_info(&tool("xfs_info", &[mount_point.as_os_str()])?)),
        Some("btrfs") => {
            let dump = tool("btrfs", &["inspect-internal".as_ref(), "dump-super".as_ref(), device.as_os_str()])?;
            let space = tool("btrfs", &["filesystem".as_ref(), "df".as_ref(), mount_point.as_os_str()])?;
            let mut facts = parse_dump_super(&dump);
            facts.extend(parse_profiles(&space));
            Ok(facts)
        }
        _ => Ok(Facts::new()),
    }
}

/// mkfs options that did not take effect, as far as the facts tell.
pub(crate) fn ineffective_mkfs(settings: &StorageSettings, facts: &Facts) -> Vec<String> {
    let row = settings.row();
    let asked = settings.mkfs_asked();
    let wanted = match row.name {
        "xfs" => xfs_wanted(&asked),
        "btrfs" => btrfs_wanted(&asked),
        _ if row.is_ext() => ext_wanted(&asked),
        _ => return Vec::new(),
    };
    let mut found = feature_problems(settings, facts);
    for (option, fact, value) in wanted {
        let Some(have) = facts.get(&fact) else { continue };
        if !options::same_value(&value, have) && !have.contains(&format!("({value}")) {
            found.push(format!("mkfs option `{option}` did not take effect: the filesystem has {fact} = {have}"));
        }
    }
    found
}

fn feature_problems(settings: &StorageSettings, facts: &Facts) -> Vec<String> {
    let Some(have) = facts.get("features") else { return Vec::new() };
    let have: Vec<&str> = have.split(' ').collect();
    let mut found = Vec::new();
    // The last word on a feature counts.
    let mut last: Facts = Facts::new();
    for asked in
        mkfs::features(settings).iter().filter(|asked| !["none", "list-all", "journal_dev"].contains(&&***asked))
    {
        last.insert(asked.trim_start_matches(['^', '+']).into(), asked.clone());
    }
    for (name, asked) in last {
        let name = if settings.filesystem == "btrfs" {
            renamed(&name.replace('-', "_").to_uppercase(), BTRFS_NAMES)
        } else {
            renamed(&name, EXT_NAMES)
        };
        let wanted = !asked.starts_with('^');
        if have.contains(&&*name) != wanted {
            let state = if wanted { "lacks" } else { "has" };
            found.push(format!("mkfs feature `{asked}` did not take effect: the filesystem {state} {name}"));
        }
    }
    found
}

fn renamed(name: &str, names: &[(&str, &str)]) -> String {
    names.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to).to_string()
}

/// (option as asked, name of the fact, value it should have).
type Wanted = Vec<(String, String, String)>;

fn ext_wanted(asked: &[String]) -> Wanted {
    let mut wanted = Wanted::new();
    for (option, fact) in [("-b", "block_size"), ("-I", "inode_size"), ("-N", "inode_count")] {
        wanted.extend(values(asked, &[option]).pop().map(|value| (format!("{option} {value}"), fact.into(), value)));
    }
    for list in values(asked, &["-J"]) {
        let size = list.split(',').find_map(|part| part.strip_prefix("size="));
        wanted.extend(size.map(|size| (format!("-J size={size}"), "total_journal_size".into(), megabytes(size))));
    }
    wanted
}

/// Journal sizes are megabytes when nothing is said (mke2fs(8)).
fn megabytes(size: &str) -> String {
    if size.bytes().all(|byte| byte.is_ascii_digit()) { format!("{size}M") } else { size.into() }
}

fn xfs_wanted(asked: &[String]) -> Wanted {
    let mut wanted = Wanted::new();
    for section in ["-m", "-b", "-i", "-d", "-n", "-s"] {
        for part in values(asked, &[section]).iter().flat_map(|list| list.split(',')) {
            let (key, value) = part.split_once('=').unwrap_or((part, "1"));
            let fact = match (section, key) {
                ("-b", "size") => "data bsize".to_string(),
                ("-i", "size") => "meta-data isize".into(),
                ("-i", "maxpct") => "data imaxpct".into(),
                ("-d", "agcount") => "meta-data agcount".into(),
                ("-n", "size") => "naming bsize".into(),
                ("-n", "ftype") => "naming ftype".into(),
                ("-s", "size") => "meta-data sectsz".into(),
                ("-m" | "-i", key) => format!("meta-data {key}"),
                _ => continue,
            };
            wanted.push((format!("{section} {part}"), fact, value.into()));
        }
    }
    wanted
}

fn btrfs_wanted(asked: &[String]) -> Wanted {
    let mut wanted = Wanted::new();
    let options: [(&[&str], &str); 5] = [
        (&["-n", "--nodesize"], "nodesize"),
        (&["-s", "--sectorsize"], "sectorsize"),
        (&["--csum", "--checksum"], "csum_type"),
        (&["-d", "--data"], "data_profile"),
        (&["-m", "--metadata"], "metadata_profile"),
    ];
    for (names, fact) in options {
        wanted.extend(values(asked, names).pop().map(|value| (format!("{} {value}", names[0]), fact.into(), value)));
    }
    wanted
}

/// `Filesystem features:      has_journal ext_attr …`: every line a fact, in our spelling.
fn parse_dumpe2fs(text: &str) -> Facts {
    let mut facts = Facts::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let name = name.trim().to_lowercase().replace(' ', "_");
        let name = match name.strip_prefix("filesystem_") {
            Some("features") => "features".to_string(),
            _ => name,
        };
        // What differs from one mkfs to the next is no fact of the scenario.
        if !["time", "checksum", "uuid", "seed", "created", "mounted", "check", "writes"]
            .iter()
            .any(|word| name.contains(word))
        {
            facts.insert(name, value.trim().into());
        }
    }
    facts
}

/// `meta-data=/dev/loop0  isize=512  agcount=4, agsize=…`, lines that begin with blanks going on with the last section.
fn parse_xfs_info(text: &str) -> Facts {
    let mut facts = Facts::new();
    let mut section = String::new();
    for (head, rest) in text.lines().filter_map(|line| line.split_once('=')) {
        if !head.trim().is_empty() {
            section = head.trim().into();
        }
        let words = rest.split([' ', ',']).filter_map(|word| word.split_once('='));
        for (key, value) in words {
            facts.insert(format!("{section} {key}"), value.into());
        }
        if section == "log" && !head.trim().is_empty() {
            let place = if rest.starts_with("internal") { "internal" } else { "external" };
            facts.insert("log place".into(), place.into());
        }
    }
    facts
}

/// `nodesize<tabs>16384`; flags follow their number on lines of their own.
fn parse_dump_super(text: &str) -> Facts {
    let kept = ["nodesize", "sectorsize", "csum_type", "total_bytes", "num_devices"];
    let (mut facts, mut features, mut key) = (Facts::new(), Vec::new(), "");
    for line in text.lines() {
        let value = if line.starts_with(char::is_whitespace) {
            line
        } else {
            let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            key = name;
            value
        };
        if kept.contains(&key) {
            facts.insert(key.into(), value.trim().into());
        } else if ["incompat_flags", "compat_ro_flags"].contains(&key) {
            let flags = value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            features
                .extend(flags.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())).map(str::to_string));
        }
    }
    facts.insert("features".into(), features.join(" "));
    facts
}

/// `Metadata, DUP: total=…` of `btrfs filesystem df`.
fn parse_profiles(text: &str) -> Facts {
    let lines = text.lines().filter_map(|line| line.split_once(':')?.0.split_once(", "));
    lines.map(|(what, profile)| (format!("{}_profile", what.to_lowercase()), profile.to_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(filesystem: &str, mkfs: &[&str]) -> StorageSettings {
        StorageSettings {
            filesystem: filesystem.into(),
            mkfs: mkfs.iter().map(|word| (*word).to_string()).collect(),
            ..StorageSettings::default()
        }
    }

    #[test]
    fn ext_features_and_sizes_are_compared() {
        let facts = parse_dumpe2fs(
            "Filesystem features:      has_journal extent 64bit\nBlock size:               4096\nFilesystem UUID: 1-2\nTotal journal size:       64M\n",
        );
        assert_eq!(facts["features"], "has_journal extent 64bit");
        assert_eq!(facts.len(), 3);
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

    #[test]
    fn xfs_geometry_is_compared() {
        let text = "meta-data=/dev/loop0 isize=512    agcount=4, agsize=25600 blks\n         =          reflink=1    bigtime=1\n\
                    data     =          bsize=4096   blocks=102400, imaxpct=25\nlog      =internal log bsize=4096   blocks=16384\n";
        let facts = parse_xfs_info(text);
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
        let mut facts = parse_dump_super(text);
        facts.extend(parse_profiles("Data, single: total=8.00MiB, used=0.00B\nMetadata, DUP: total=1MiB\n"));
        assert_eq!(facts["features"], "MIXED_BACKREF NO_HOLES");
        let asked = settings("btrfs", &["-O", "^no-holes", "--csum", "xxhash", "-m", "single", "-n", "16k"]);
        assert_eq!(
            ineffective_mkfs(&asked, &facts),
            [
                "mkfs feature `^no-holes` did not take effect: the filesystem has NO_HOLES",
                "mkfs option `-m single` did not take effect: the filesystem has metadata_profile = dup",
            ]
        );
    }
}
