//! Btrfs. Sources: mkfs.btrfs(8), btrfs(5), fs/btrfs/disk-io.h and `btrfs_show_options`.

use crate::durability::noted;
use crate::filesystem::{
    About, Check, Conflict, Facts, Filesystem, MIB, MountType, NOBARRIER, PLAIN, PLAIN_MOUNT, Superblock, mounted,
};
use crate::mkfs_words::{renamed, wanted};
use crate::signature::at;
use observe::durability::Durability;

pub(crate) const BTRFS: Filesystem = Filesystem {
    name: "btrfs",
    package: "btrfs-progs",
    mkfs: "mkfs.btrfs",
    mkfs_flags: &["-q", "-f"],
    mkfs_nodiscard: &["-K"],
    mkfs_dry_runs: &["-V"],
    version: Some(("mkfs.btrfs", "--version")),
    check: Some(Check { program: "btrfs", flags: &["check", "--readonly"] }),
    // mkfs.btrfs 6.2 with its default DUP metadata: 114294784 bytes, rounded up.
    bytes_min: 110 * MIB,
    own_presets: &[
        mounted("nodatacow", &["nodatacow"], "files are overwritten in place, without checksums"),
        mounted("nodatasum", &["nodatasum"], "data without checksums"),
        mounted("compress-zstd", &["compress=zstd"], "data compressed by zstd"),
        mounted("compress-lzo", &["compress=lzo"], "data compressed by LZO"),
        mounted("compress-zlib", &["compress=zlib"], "data compressed by zlib"),
        mounted("notreelog", &["notreelog"], "fsync commits the whole tree instead of a log"),
        NOBARRIER,
    ],
    mount: MountType {
        name: "btrfs",
        hidden_defaults: "nodiscard datacow datasum barrier treelog noautodefrag noflushoncommit acl commit=30 \
            nocompress compress=no logreplay nossd_spread noenospc_debug max_inline=2048",
        renamed: "compress:compress=zlib compress-force:compress-force=zlib discard=sync:discard space_cache=v1:space_cache",
        ignored: (
            "alloc_start recovery subvolrootid inode_cache",
            "btrfs accepts the option and ignores it: it was removed",
        ),
        // Shown only where it is not the default, which hangs on the number of CPUs.
        unshown: &["thread_pool"],
        conflicts: &[Conflict {
            one: &["nodatacow", "nodatasum"],
            other: &["compress", "compress-force"],
            why: "btrfs compresses only what it copies on write and checksums",
        }],
        durability,
        ..PLAIN_MOUNT
    },
    // Discards are on by themselves since Linux 6.2 where the device takes them.
    mount_nodiscard: &["nodiscard"],
    modules: &["btrfs"],
    superblock: Some(Superblock {
        program: "btrfs",
        questions: &[(&["inspect-internal", "dump-super"], About::Device), (&["filesystem", "df"], About::MountPoint)],
        parse,
        wanted: |asked| {
            wanted(
                asked,
                &[
                    (&["-n", "--nodesize"], "nodesize"),
                    (&["-s", "--sectorsize"], "sectorsize"),
                    (&["--csum", "--checksum"], "csum_type"),
                    (&["-d", "--data"], "data_profile"),
                    (&["-m", "--metadata"], "metadata_profile"),
                ],
            )
        },
        rounded_up: &[],
        // Quotas are a tree, and no flag of the superblock.
        feature: |name| (name != "quota").then(|| renamed(&name.replace('-', "_").to_uppercase(), FEATURE_NAMES)),
    }),
    // BTRFS_SUPER_INFO_OFFSET and its first mirror; a tree's block begins with its checksum.
    block_name: |at, _| matches!(at, 0x1_0000 | 0x400_0000).then_some("superblock"),
    signatures: &[
        at("a btrfs filesystem", 0x1_0040, MAGIC),
        // BTRFS_SUPER_MIRROR_SHIFT: 64 MiB and 256 GiB.
        at("a copy of a btrfs superblock", (64 << 20) + 0x40, MAGIC),
        at("a copy of a btrfs superblock", (256 << 30) + 0x40, MAGIC),
    ],
    ..PLAIN
};

const MAGIC: &[u8] = b"_BHRfS_M";

const NO_COPIES: &str =
    "data is overwritten in place and has no checksums: what fsync flushed is kept, a torn block is not noticed";

/// What mkfs.btrfs calls otherwise than the superblock's dump.
const FEATURE_NAMES: &[(&str, &str)] =
    &[("EXTREF", "EXTENDED_IREF"), ("MIXED_BG", "MIXED_GROUPS"), ("SQUOTA", "SIMPLE_QUOTA"), ("ZONED", "ZONED")];

fn durability(options: &[String], _features: &[String]) -> Durability {
    noted(options, |option| match option {
        "nodatacow" => Some(NO_COPIES),
        "nodatasum" => Some("data has no checksums: a damaged block is not noticed"),
        _ => None,
    })
}

fn parse(answers: &[String]) -> Facts {
    let mut facts = parse_dump_super(&answers[0]);
    facts.extend(parse_profiles(&answers[1]));
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
