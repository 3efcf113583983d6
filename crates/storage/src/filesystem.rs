//! What a filesystem is: all that the rest of this crate must know of one. The filesystems themselves are `filesystems/`.

use crate::signature::Signature;
use observe::durability::Durability;
use observe::mountinfo::Mount;
use std::collections::BTreeMap;

/// Facts by name.
pub(crate) type Facts = BTreeMap<String, String>;

/// A command: program and arguments.
pub(crate) type Command = (&'static str, Vec<String>);

/// Words of a command line.
type Words = &'static [&'static str];

/// One filesystem.
#[derive(Debug)]
pub struct Filesystem {
    /// Its name, as in `storage.filesystem`.
    pub name: &'static str,
    /// The Debian package of its programs.
    pub package: &'static str,
    /// The program that makes it.
    pub mkfs: &'static str,
    /// Flags for "say little and ask nothing".
    pub mkfs_flags: Words,
    /// Whether mkfs opens the device exclusively (O_EXCL) itself, so that it can't run while we hold it. By strace, 2026-11-22:
    /// e2fsprogs 1.47, xfsprogs 6.1, btrfs-progs 6.2, f2fs-tools 1.15, jfsutils 1.1.15 and reiserfsprogs 3.6.27 do.
    pub mkfs_opens_exclusively: bool,
    /// Its read-only checker, where there is one.
    pub check: Option<Check>,
    /// The smallest device that mkfs accepts, in bytes.
    pub bytes_min: u64,
    /// Flags that keep mkfs from discarding the device's blocks.
    pub(crate) mkfs_nodiscard: Words,
    /// Flags with which mkfs makes nothing: dry runs, and versions.
    pub(crate) mkfs_dry_runs: Words,
    /// Options by which mkfs would make another filesystem than this one.
    pub(crate) mkfs_types: Words,
    /// Words by which mkfs makes one as on a device of so many bytes, where it chooses by the size.
    pub(crate) as_of_size: fn(u64) -> Words,
    /// The commands that make it.
    pub(crate) mkfs_commands: fn(&Mkfs) -> Vec<Command>,
    /// The command that says which version its programs have.
    pub(crate) version: Option<(&'static str, &'static str)>,
    /// Its journal on a device of its own, where it can have that.
    pub(crate) external_log: Option<ExternalLog>,
    /// Whether it has a journal with these features asked of mkfs.
    pub(crate) has_journal: fn(&[String]) -> bool,
    /// Presets of its own, without those that all have.
    pub(crate) own_presets: &'static [Preset],
    /// What the kernel mounts it by.
    pub(crate) mount: MountType,
    /// Mount options that keep it from discarding, where that is not the default.
    pub(crate) mount_nodiscard: Words,
    /// The kernel's modules for it, each after those that it needs itself.
    pub(crate) modules: Words,
    /// How what mkfs made is read back, where a program tells it.
    pub(crate) superblock: Option<Superblock>,
    /// By features asked of mkfs: the checker's flags with which a boot runs it before the mount, where a mount alone does not
    /// recover from a crash.
    pub(crate) repair_flags: fn(&[String]) -> Words,
    /// Mount options by which copies of one can be mounted side by side; none: their kernel part would take them for one.
    pub(crate) copy_options: Option<Words>,
    /// Whether what it tells of its files' extents (FIEMAP) are places on its device.
    pub(crate) tells_places: bool,
    /// What a block of its own is, by its place on the device in bytes and its first eight bytes as a big-endian number; none: it can't be
    /// told by these.
    pub(crate) block_name: fn(u64, u64) -> Option<&'static str>,
    /// The marks that it leaves on a device.
    pub(crate) signatures: &'static [Signature],
}

/// A program that checks a filesystem without writing.
#[derive(Debug)]
pub struct Check {
    /// The program.
    pub program: &'static str,
    /// Its read-only flags.
    pub(crate) flags: Words,
}

/// A named configuration.
#[derive(Debug, PartialEq)]
pub struct Preset {
    /// Its name, as in `storage.preset`.
    pub name: &'static str,
    /// Its options for mkfs.
    pub mkfs: &'static [&'static str],
    /// Its mount options.
    pub mount: &'static [&'static str],
    /// Size of its external log; 0: none.
    pub external_log_bytes: u64,
    /// What it is and does.
    pub help: &'static str,
}

/// What is asked of mkfs.
#[derive(Debug)]
pub(crate) struct Mkfs<'a> {
    pub(crate) program: &'static str,
    /// Our own words.
    pub(crate) words: Vec<String>,
    /// The preset's and the study's.
    pub(crate) asked: Vec<String>,
    pub(crate) device: &'a str,
    pub(crate) log: Option<&'a str>,
}

/// A journal on a device of its own.
#[derive(Debug)]
pub(crate) struct ExternalLog {
    /// The smallest, in bytes.
    pub(crate) bytes_min: u64,
    /// The checker's option that names it.
    pub(crate) check_option: &'static str,
    /// The mount option that names it, where the superblock does not.
    pub(crate) mount_option: Option<&'static str>,
}

/// How what mkfs made is read back, and held against what was asked.
#[derive(Debug)]
pub(crate) struct Superblock {
    pub(crate) program: &'static str,
    /// What the program is asked: words, after which it gets the device or the mount point.
    pub(crate) questions: &'static [(Words, About)],
    /// The facts in its answers, in the order of the questions.
    pub(crate) parse: fn(&[String]) -> Facts,
    /// What the facts should be, by the words asked of mkfs.
    pub(crate) wanted: fn(&[String]) -> Wanted,
    /// Facts that mkfs rounds up from what is asked.
    pub(crate) rounded_up: Words,
    /// The name of a feature, which mkfs may call otherwise, among the facts; none: they don't tell of it.
    pub(crate) feature: fn(&str) -> Option<String>,
}

/// Whom a question about a filesystem is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About {
    Device,
    MountPoint,
}

/// (option as asked, name of the fact, value it should have).
pub(crate) type Wanted = Vec<(String, String, String)>;

/// A type that the kernel mounts: what it shows of the options, and what they do to durability.
#[derive(Debug)]
pub(crate) struct MountType {
    pub(crate) name: &'static str,
    /// A folder where it lists all its options, in a folder for each device.
    pub(crate) options_folder: Option<&'static str>,
    /// Options that are in force without being shown, with a space between each.
    pub(crate) hidden_defaults: &'static str,
    /// Options that are shown by another name: as asked, a colon, and as shown, with a space between each.
    pub(crate) renamed: &'static str,
    /// Options that it accepts and ignores, and why.
    pub(crate) ignored: (&'static str, &'static str),
    /// Options, by their names, that it obeys and shows never, or only where they are not its default.
    pub(crate) unshown: Words,
    /// Options that don't go together.
    pub(crate) conflicts: &'static [Conflict],
    /// Options by which it sends the device no flushes.
    pub(crate) flushless: Words,
    /// What fsync promises, by mount options and by features asked of mkfs, with flushes.
    pub(crate) durability: fn(&[String], &[String]) -> Durability,
    /// What is told of the features of one that is mounted, as words for mkfs, or as `name=value` where it has no mkfs.
    pub(crate) mounted_features: fn(&Mount) -> Vec<String>,
    /// Whether these matter to image files, too, which are allocated and written before they are used and need no journal of their host's.
    pub(crate) features_reach_images: bool,
}

/// Options of which none goes with any of the others, by their names or as a whole, and why.
#[derive(Debug)]
pub(crate) struct Conflict {
    pub(crate) one: Words,
    pub(crate) other: Words,
    pub(crate) why: &'static str,
}

impl Filesystem {
    /// All its presets: those that every filesystem has, then its own.
    pub fn presets(&self) -> Vec<&'static Preset> {
        GENERIC_PRESETS.iter().chain(self.own_presets).collect()
    }
}

pub(crate) const MIB: u64 = 1 << 20;

/// Logs of the external-log presets: above the least of mkfs.xfs (64 MiB) and of ext4 (1024 blocks).
const PRESET_LOG_BYTES: u64 = 128 * MIB;

/// A preset of mount options.
pub(crate) const fn mounted(name: &'static str, mount: Words, help: &'static str) -> Preset {
    Preset { name, mkfs: &[], mount, external_log_bytes: 0, help }
}

/// A preset of options for mkfs.
pub(crate) const fn made(name: &'static str, mkfs: Words, help: &'static str) -> Preset {
    Preset { name, mkfs, mount: &[], external_log_bytes: 0, help }
}

const GENERIC_PRESETS: &[Preset] = &[
    mounted("default", &[], "what mkfs and mount do when nobody says otherwise"),
    mounted("atime", &["strictatime"], "every read updates the access time"),
    mounted("noatime", &["noatime"], "no read updates the access time"),
    mounted(
        "relatime",
        &["relatime"],
        "a read updates the access time once a day or after a change; the kernel's default",
    ),
];

// Presets that more than one filesystem has.
pub(crate) const JOURNAL: Preset =
    mounted("journal", &["data=journal"], "data goes through the journal too: written twice, in order");
pub(crate) const ORDERED: Preset =
    mounted("ordered", &["data=ordered"], "data reaches the disk before the metadata that names it");
pub(crate) const WRITEBACK: Preset = mounted(
    "writeback",
    &["data=writeback"],
    "only metadata is journalled; unflushed files may show old blocks after a crash",
);
pub(crate) const NOBARRIER: Preset = mounted(
    "nobarrier",
    &["nobarrier"],
    "no flushes to the device: fast, and corrupt after a power cut with a volatile cache",
);
pub(crate) const EXTERNAL_LOG: Preset = Preset {
    external_log_bytes: PRESET_LOG_BYTES,
    ..mounted("external-log", &[], "the journal on a device of its own")
};

/// What most filesystems have in common; a row says the rest.
pub(crate) const PLAIN: Filesystem = Filesystem {
    name: "",
    package: "",
    mkfs: "",
    mkfs_flags: &[],
    mkfs_opens_exclusively: true,
    check: None,
    bytes_min: 0,
    mkfs_nodiscard: &[],
    mkfs_dry_runs: &[],
    mkfs_types: &[],
    as_of_size: |_| &[],
    mkfs_commands: |mkfs| {
        let words = mkfs.words.iter().chain(&mkfs.asked).cloned();
        vec![(mkfs.program, words.chain([mkfs.device.into()]).collect())]
    },
    version: None,
    external_log: None,
    has_journal: |_| true,
    own_presets: &[],
    mount: PLAIN_MOUNT,
    mount_nodiscard: &[],
    modules: &[],
    superblock: None,
    repair_flags: |_| &[],
    copy_options: None,
    tells_places: false,
    block_name: |_, _| None,
    signatures: &[],
};

/// A mount of which nothing is special: fsync keeps what was acknowledged.
pub(crate) const PLAIN_MOUNT: MountType = MountType {
    name: "",
    options_folder: None,
    hidden_defaults: "",
    renamed: "",
    ignored: ("", ""),
    unshown: &[],
    conflicts: &[],
    flushless: &["nobarrier"],
    durability: |_, _| Durability::full(),
    mounted_features: |_| Vec::new(),
    features_reach_images: false,
};
