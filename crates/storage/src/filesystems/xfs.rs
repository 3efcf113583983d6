//! XFS. Sources: mkfs.xfs(8), the kernel's Documentation/admin-guide/xfs.rst and `xfs_fs_show_options`.

use crate::filesystem::{
    About, Check, EXTERNAL_LOG, ExternalLog, Facts, Filesystem, MIB, Mkfs, MountType, PLAIN, PLAIN_MOUNT, Superblock,
    Wanted, made, mounted,
};
use crate::mkfs_words::values;
use crate::signature::{Signature, at, by_rule};

pub(crate) const XFS: Filesystem = Filesystem {
    name: "xfs",
    package: "xfsprogs",
    mkfs: "mkfs.xfs",
    mkfs_flags: &["-q", "-f"],
    mkfs_nodiscard: &["-K"],
    mkfs_dry_runs: &["-N", "-V"],
    mkfs_commands: |mkfs| {
        let log = mkfs.log.iter().flat_map(|log| ["-l".to_string(), format!("logdev={log}")]);
        let asked = mkfs.asked.iter().cloned().chain(log).collect();
        (PLAIN.mkfs_commands)(&Mkfs { asked, words: mkfs.words.clone(), ..*mkfs })
    },
    version: Some(("mkfs.xfs", "-V")),
    check: Some(Check { program: "xfs_repair", flags: &["-n"] }),
    // mkfs.xfs refuses less since 5.19.
    bytes_min: 300 * MIB,
    external_log: Some(ExternalLog { bytes_min: 64 * MIB, check_option: "-l", mount_option: Some("logdev") }),
    own_presets: &[
        made("no-reflink", &["-m", "reflink=0"], "no shared extents, so no bookkeeping for them"),
        mounted("large-log-buffers", &["logbufs=8", "logbsize=256k"], "larger log writes"),
        mounted("wsync", &["wsync"], "names are made, changed and removed synchronously"),
        EXTERNAL_LOG,
    ],
    mount: MountType {
        name: "xfs",
        hidden_defaults: "nodiscard noikeep nolargeio nogrpid attr2 dax=inode lifetime",
        renamed: "uquota:usrquota quota:usrquota gquota:grpquota pquota:prjquota qnoenforce:uqnoenforce bsdgroups:grpid \
            sysvgroups:nogrpid",
        ignored: ("attr2 noattr2 ikeep noikeep", "xfs accepts the option and ignores it: it is deprecated"),
        ..PLAIN_MOUNT
    },
    modules: &["xfs"],
    superblock: Some(Superblock {
        program: "xfs_info",
        questions: &[(&[], About::MountPoint)],
        parse: |answers| parse_xfs_info(&answers[0]),
        wanted,
        rounded_up: &[],
        feature: |name| Some(name.into()),
    }),
    copy_options: Some(&["nouuid"]),
    tells_places: true,
    block_name,
    signatures: &[
        at("an xfs filesystem", 0, MAGIC),
        at("an xfs log", 0, &[0xfe, 0xed, 0xba, 0xbe]),
        copy(group::<2, 1>),
        copy(group::<4, 1>),
        copy(group::<4, 2>),
        copy(group::<4, 3>),
        copy(group::<8, 1>),
        copy(group::<16, 1>),
        copy(group::<32, 1>),
    ],
    ..PLAIN
};

const MAGIC: &[u8] = b"XFSB";

/// Blocks by their magic number (fs/xfs/libxfs/xfs_format.h, xfs_da_format.h, xfs_log_format.h).
fn block_name(_: u64, head: u64) -> Option<&'static str> {
    match &head.to_be_bytes() {
        [b'X', b'F', b'S', b'B', ..] => Some("superblock"),
        [0xfe, 0xed, 0xba, 0xbe, ..] => Some("journal"),
        [b'X', b'A', b'G', b'F' | b'I', ..] | [b'X', b'A', b'F', b'L', ..] => Some("allocation group"),
        [b'X', b'D', b'B' | b'D' | b'F', b'3', ..] => Some("directory"),
        [b'I', b'N', ..] => Some("inodes"),
        _ => None,
    }
}

const fn copy(rule: fn(u64) -> Option<u64>) -> Signature {
    by_rule("a copy of an xfs superblock", rule, MAGIC)
}

/// An allocation group, of so many that the device is divided into, and which of them (mkfs/xfs_mkfs.c,
/// `calc_default_ag_geometry`: groups of whole 4 KiB blocks, rounded up).
fn group<const OF: u64, const GROUP: u64>(bytes: u64) -> Option<u64> {
    Some((bytes / 4096).div_ceil(OF) * GROUP * 4096)
}

fn wanted(asked: &[String]) -> Wanted {
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

/// `meta-data=/dev/loop0  isize=512  agcount=4, agsize=…`, lines that begin with blanks going on with the last section.
fn parse_xfs_info(text: &str) -> Facts {
    let mut facts = Facts::new();
    let mut section = String::new();
    for (head, rest) in text.lines().filter_map(|line| line.split_once('=')) {
        if !head.trim().is_empty() {
            section = head.trim().into();
        }
        let words = rest.split([' ', ',']).filter_map(|word| word.split_once('='));
        facts.extend(words.map(|(key, value)| (format!("{section} {key}"), value.to_string())));
        if section == "log" && !head.trim().is_empty() {
            let place = if rest.starts_with("internal") { "internal" } else { "external" };
            facts.insert("log place".into(), place.into());
        }
    }
    facts
}
