//! ext2, ext3 and ext4: one family of programs, superblocks and mount options.
//!
//! Sources: mke2fs(8), the kernel's Documentation/filesystems/ext4, fs/ext4/ext4.h and `ext4_show_options`.

use crate::durability::{noted, without_journal};
use crate::filesystem::{
    About, Check, Command, Conflict, EXTERNAL_LOG, ExternalLog, Facts, Filesystem, JOURNAL, MIB, Mkfs, MountType,
    NOBARRIER, ORDERED, PLAIN, PLAIN_MOUNT, Superblock, WRITEBACK, Wanted, made, mounted,
};
use crate::mkfs_words::{self, merged, renamed, values};
use crate::signature::{Signature, at};
use observe::durability::{Class, Durability};
use observe::mountinfo::Mount;

/// Metadata are written once, and in no order.
const WITHOUT_JOURNAL: [&str; 2] = ["-O", "^has_journal"];

/// Words for mkfs by which it adds nothing of its own: writing to a file that is there and flushing it is one write and one flush. Inode tables,
/// of which a large disk has gigabytes, stay as they are.
pub(crate) const BARE_MKFS: [&str; 4] = ["-O", "^has_journal", "-E", "lazy_itable_init=1"];
/// Its mount options: nobody writes these tables meanwhile, either.
pub(crate) const BARE_MOUNT: [&str; 2] = ["noatime", "noinit_itable"];

pub(crate) const EXT2: Filesystem = Filesystem {
    name: "ext2",
    mkfs: "mkfs.ext2",
    bytes_min: MIB,
    version: None,
    external_log: None,
    has_journal: |_| false,
    own_presets: &[],
    mount: MountType { name: "ext2", durability: |_, _| without_journal("ext2"), ..MOUNT },
    modules: &["ext2"],
    repair_flags: |_| REPAIR,
    signatures: &[],
    ..EXT4
};

pub(crate) const EXT3: Filesystem = Filesystem {
    name: "ext3",
    mkfs: "mkfs.ext3",
    version: None,
    own_presets: &[JOURNAL, ORDERED, WRITEBACK, NOBARRIER, EXTERNAL_LOG],
    mount: MountType { name: "ext3", durability: |options, features| durability("ext3", options, features), ..MOUNT },
    // It has no module of its own since Linux 4.3.
    modules: &["ext4"],
    signatures: &[],
    ..EXT4
};

pub(crate) const EXT4: Filesystem = Filesystem {
    name: "ext4",
    package: "e2fsprogs",
    mkfs: "mkfs.ext4",
    mkfs_flags: &["-q", "-F"],
    mkfs_nodiscard: &["-E", "nodiscard"],
    mkfs_dry_runs: &["-n", "-V", "-S"],
    mkfs_types: &["-t"],
    as_of_size,
    mkfs_commands,
    version: Some(("mkfs.ext4", "-V")),
    check: Some(Check { program: "e2fsck", flags: &["-f", "-n"] }),
    bytes_min: 2 * MIB,
    external_log: Some(ExternalLog {
        // Journals have 1024 blocks or more (JBD2_MIN_JOURNAL_BLOCKS), here of 4 KiB.
        bytes_min: 4 * MIB,
        // It would look for its journal by UUID, which the disk below a delay has, too.
        check_option: "-j",
        mount_option: None,
    }),
    has_journal,
    own_presets: &[
        JOURNAL,
        ORDERED,
        WRITEBACK,
        mounted("nodelalloc", &["nodelalloc"], "blocks are chosen at the write, not at the flush"),
        made("no-extents", &["-O", "^extents,^64bit"], "block maps as in ext3 instead of extents"),
        made("no-journal", &WITHOUT_JOURNAL, "no journal: needs fsck after a crash"),
        made("fast-commit", &["-O", "fast_commit"], "fsync writes a short logical record where it can"),
        NOBARRIER,
        EXTERNAL_LOG,
    ],
    mount: MountType { name: "ext4", durability: |options, features| durability("ext4", options, features), ..MOUNT },
    modules: &["ext4"],
    superblock: Some(Superblock {
        program: "dumpe2fs",
        questions: &[(&["-h"], About::Device)],
        parse: |answers| parse_dumpe2fs(&answers[0]),
        wanted,
        // To whole blocks of the inode table in each group.
        rounded_up: &["inode_count"],
        // What mke2fs calls otherwise than dumpe2fs.
        feature: |name| Some(renamed(name, &[("extents", "extent"), ("resize", "resize_inode"), ("64-bit", "64bit")])),
    }),
    repair_flags: |features| if has_journal(features) { &[] } else { REPAIR },
    copy_options: Some(&[]),
    tells_places: true,
    block_name,
    signatures: SIGNATURES,
    ..PLAIN
};

/// Blocks of a journal by their magic number and type (include/linux/jbd2.h); the superblock is in the device's first block.
fn block_name(at: u64, head: u64) -> Option<&'static str> {
    const JBD2_MAGIC: u64 = 0xc03b_3998;
    match (at, head >> 32, head & 0xffff_ffff) {
        (0, ..) => Some("superblock"),
        (_, JBD2_MAGIC, 2) => Some("journal commit"),
        (_, JBD2_MAGIC, 1 | 5) => Some("journal descriptor"),
        (_, JBD2_MAGIC, 3 | 4) => Some("journal superblock"),
        _ => None,
    }
}

const REPAIR: &[&str] = &["-f", "-y"];

const MOUNT: MountType = MountType {
    mounted_features,
    options_folder: Some("/proc/fs/ext4"),
    // Which scan is the default hangs on the kernel and the size, and only the other one is shown.
    hidden_defaults: "mb_optimize_scan=0 mb_optimize_scan=1 data_err=ignore",
    renamed: "barrier=1:barrier barrier=0:nobarrier barrier=none:nobarrier auto_da_alloc=0:noauto_da_alloc \
        auto_da_alloc=1:auto_da_alloc dioread_lock:nodioread_nolock bsdgroups:grpid sysvgroups:nogrpid \
        init_itable:init_itable=10 no_mbcache:nombcache noload:norecovery",
    ignored: (
        "bh nobh orlov oldalloc reservation noreservation journal mblk_io_submit nomblk_io_submit",
        "ext4 accepts the option and ignores it: it was removed",
    ),
    unshown: &["journal_ioprio"],
    conflicts: &[Conflict {
        one: &["data=journal"],
        other: &["delalloc"],
        why: "a data journal has no delayed allocation",
    }],
    flushless: &["nobarrier", "barrier=0", "barrier=none"],
    ..PLAIN_MOUNT
};

const MAGIC: &[u8] = &[0x53, 0xef];
const COPY: &str = "a copy of an ext2, ext3 or ext4 superblock";

const SIGNATURES: &[Signature] = &[
    at("an ext2, ext3 or ext4 filesystem or journal", 0x438, MAGIC),
    // Copies, at the groups 1, 3, 5 … of 8 blocks a byte of a block, of 1, 2 and 4 KiB, and of the first kind from block 1 on; the
    // magic is 56 bytes into it.
    at(COPY, (8192 + 1) * 1024 + 56, MAGIC),
    at(COPY, (3 * 8192 + 1) * 1024 + 56, MAGIC),
    at(COPY, 16384 * 2048 + 56, MAGIC),
    at(COPY, 3 * 16384 * 2048 + 56, MAGIC),
    at(COPY, 32768 * 4096 + 56, MAGIC),
    at(COPY, 3 * 32768 * 4096 + 56, MAGIC),
    at(COPY, 5 * 32768 * 4096 + 56, MAGIC),
];

/// Block size of a journal on its own device, which must equal the filesystem's (mke2fs(8), `-J device=`).
const LOG_BLOCK_BYTES: &str = "4096";

/// Options of mke2fs that count only once, so that ours and the study's go into one list.
const LISTS: [&str; 3] = ["-O", "-E", "-J"];

/// Inode tables and journal are written now, not by a kernel thread while the load runs.
const NOT_LAZY: &str = "lazy_itable_init=0,lazy_journal_init=0";

/// One for a journal of its own, and mkfs itself.
fn mkfs_commands(mkfs: &Mkfs) -> Vec<Command> {
    let mut all = Vec::new();
    let mut words = mkfs.words.clone();
    words.extend(["-E".into(), NOT_LAZY.into()]);
    words.extend(mkfs.asked.iter().cloned());
    if let Some(log) = mkfs.log {
        let asked = values(&mkfs.asked, &["-b"]).pop();
        let block = asked.clone().unwrap_or_else(|| LOG_BLOCK_BYTES.into());
        if asked.is_none() {
            words.extend(["-b".into(), block.clone()]);
        }
        words.extend(["-J".into(), format!("device={log}")]);
        let journal = ["-q", "-F", "-E", "nodiscard", "-O", "journal_dev", "-b", &block, log];
        all.push(("mke2fs", journal.map(str::to_string).to_vec()));
    }
    words = LISTS.iter().fold(words, |words, option| merged(words, option));
    words.push(mkfs.device.into());
    all.push((mkfs.program, words));
    all
}

/// The size of blocks and the number of inodes are those of a usage type, which mke2fs chooses by the size (mke2fs(8), `-T`).
fn as_of_size(bytes: u64) -> &'static [&'static str] {
    const TIB_IN_MIB: u64 = 1 << 20;
    match bytes / MIB {
        ..=2 => &["-T", "floppy"],
        3..=511 => &["-T", "small"],
        mib if mib < 4 * TIB_IN_MIB => &["-T", "default"],
        mib if mib < 16 * TIB_IN_MIB => &["-T", "big"],
        _ => &["-T", "huge"],
    }
}

/// The last word on it counts.
fn has_journal(features: &[String]) -> bool {
    features.iter().fold(true, |has, feature| match feature.as_str() {
        "none" | "^has_journal" => false,
        "has_journal" => true,
        _ => has,
    })
}

/// Whether its journal has a checksum for each block, as mke2fs makes ext4, and none for a whole commit (docs/safety.md, "Measured"). The last
/// word on it counts.
fn has_metadata_sums(name: &str, features: &[String]) -> bool {
    features.iter().fold(name == "ext4", |has, feature| match feature.as_str() {
        "none" | "^metadata_csum" => false,
        "metadata_csum" => true,
        _ => has,
    })
}

fn durability(name: &str, options: &[String], features: &[String]) -> Durability {
    // fs/ext4/super.c: a journal that is not loaded is not written, either. One that is mounted so seems to have none.
    if let Some(option) = options.iter().find(|option| ["norecovery", "noload"].contains(&option.as_str())) {
        let why = "mounted without the journal: metadata is written in no order";
        return Durability::because(Class::MayCorrupt, format!("`{option}`: {why}"));
    }
    if !has_journal(features) {
        let why = "without a journal: metadata is written in no order, and fsck may drop or mix files";
        return Durability::because(Class::MayCorrupt, format!("{name} {why}"));
    }
    if options.iter().any(|option| option == "journal_async_commit") && has_metadata_sums(name, features) {
        let why = "with metadata_csum a commit whose blocks were not all written keeps the filesystem from mounting";
        return Durability::because(Class::MayCorrupt, format!("`journal_async_commit`: {why}"));
    }
    noted(options, |option| {
        Some(match option {
            "data=writeback" => "what fsync flushed is kept; files written since may show old blocks after a crash",
            "data=journal" => "data goes through the journal too",
            "noauto_da_alloc" | "auto_da_alloc=0" => "a file replaced without fsync may be empty after a crash",
            "journal_async_commit" => {
                "the commit block is not waited for; its checksum tells at replay whether all was there"
            }
            _ => return None,
        })
    })
}

/// A journal that is not there has no task (fs/ext4/sysfs.c).
fn mounted_features(mount: &Mount) -> Vec<String> {
    let (major, minor) = mount.device;
    let task = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok().and_then(|device| {
        let name = device.file_name()?.to_str()?.to_string();
        std::fs::read_to_string(format!("/sys/fs/ext4/{name}/journal_task")).ok()
    });
    task.filter(|task| task.trim() == "<none>").map(|_| "^has_journal".into()).into_iter().collect()
}

fn wanted(asked: &[String]) -> Wanted {
    let mut wanted =
        mkfs_words::wanted(asked, &[(&["-b"], "block_size"), (&["-I"], "inode_size"), (&["-N"], "inode_count")]);
    // The records of fast commits come on top of the size that is asked, a 64th of it if nothing is said (e2fsprogs 1.47).
    if mkfs_words::features(asked).iter().any(|feature| feature == "fast_commit") {
        return wanted;
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

/// `Filesystem features:      has_journal ext_attr …`: every line a fact, in our spelling.
fn parse_dumpe2fs(text: &str) -> Facts {
    let mut facts = Facts::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let name = name.trim().to_lowercase().replace(' ', "_");
        let name = if name == "filesystem_features" { "features".into() } else { name };
        // What differs from one mkfs to the next is no fact of the scenario.
        let passing = ["time", "checksum", "uuid", "seed", "created", "mounted", "check", "writes"];
        if !passing.iter().any(|word| name.contains(word)) {
            facts.insert(name, value.trim().into());
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_the_journal_counts() {
        let has = |text: &str| has_journal(&text.split(',').map(str::to_string).collect::<Vec<_>>());
        assert!(has("extents") && has("none,has_journal"));
        assert!(!has("^has_journal") && !has("none,extents"));
    }
}
