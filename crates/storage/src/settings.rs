//! The `[storage]` table of a study file: its settings, and their checked form.

use crate::device::{self, Device};
use crate::filesystem::{Filesystem, MountType, Preset};
use crate::filesystems;
use crate::mkfs_words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use settings::{Kind, Setting};
use std::path::PathBuf;

const SETTINGS: &[Setting] = &[
    Setting::new("device", Kind::Choice(device::NAMES), "loop")
        .help(
            "What the filesystem stands on: `loop`, an image file behind a loop device with direct I/O; `block`, a real \
               device; `dir`, an existing directory as it is (no root needed); `tmpfs`, memory; `virtual`, a disk in memory with \
               the times of the drive that `disk` names.",
        ),
    Setting::absent("path", Kind::Text)
        .help("The block device of `device = \"block\"` or the directory of `device = \"dir\"`."),
    Setting::new("size", Kind::Bytes { min: 1 << 20, max: u64::MAX }, "4GiB")
        .help("Size of the image file or virtual disk, or the limit of the tmpfs. A larger filesystem spreads its data further."),
    Setting::new("disk", Kind::Choice(&["none", "scsi-10k", "sata-7200", "consumer-ssd", "nvme-plp"]), "none")
        .help(
            "Which drive's delays device = \"virtual\" has: 10,000 rpm SCSI, 7200 rpm SATA, an NVMe SSD without power-loss \
               protection, or one with it; `none`: as fast as memory. A run in which this machine was too late for them fails.",
        ),
    Setting::new("cache", Kind::Choice(CACHES), "volatile")
        .help(
            "What the cache of device = \"virtual\" keeps in a power cut: `volatile`, only what was flushed; `write-through`, all \
               that was completed, as with power-loss protection, and no flush is sent; `lying`, not even what was flushed.",
        ),
    Setting::new("unit", Kind::Choice(&["512", "4096"]), "512")
        .help("Bytes of a sector of device = \"virtual\", as the filesystem sees it. Drives that write 4096 and say 512 are `512` here."),
    Setting::new("filesystem", Kind::Choice(filesystems::NAMES), filesystems::DEFAULT.name)
        .help("Which filesystem is made. `surefoot list filesystems` shows them with their presets."),
    Setting::absent("preset", Kind::Text)
        .help("A named configuration of the filesystem, such as `writeback` or `noatime`; `mkfs` and `mount` add to it."),
    Setting::new("mkfs", Kind::TextList, "[]")
        .help("Options for mkfs, word by word, like [\"-O\", \"^has_journal\"]. What is asked is read back."),
    Setting::new("mount", Kind::TextList, "[]")
        .help("Mount options, like [\"noatime\", \"data=writeback\"]. An option that does not take effect is an error."),
    Setting::new("fill", Kind::Percent { min: 0.0, max: 0.95 }, "0%")
        .help("Fills the filesystem to this share with seeded incompressible files before the load; empty ones flatter."),
    Setting::new("age", Kind::Bytes { min: 0, max: u64::MAX }, "0B")
        .help("Writes this much in a seeded churn of create, append and delete before the load; fresh filesystems flatter."),
    Setting::new("discard", Kind::Boolean, "false")
        .help("Whether mkfs and mount pass discards down. They make an image file sparse again, so the default is not to."),
    Setting::new("external_log", Kind::Bytes { min: 0, max: u64::MAX }, "0B")
        .help("Size of a journal on a device of its own, a second image file (ext3, ext4, xfs); `0B` keeps it inside."),
    Setting::new("stripe", Kind::Integer { min: 1, max: 8 }, "1")
        .help(
            "Number of disks that the filesystem is striped over, as a logical volume is: image files of `size / stripe` each. \
               mkfs sees the geometry. Above 1 it needs bench = \"guest\".",
        ),
    Setting::new("stripe_chunk", Kind::Bytes { min: 4 << 10, max: 1 << 30 }, "64KiB")
        .help("What goes to one disk of a stripe before the next one gets its turn; a power of two."),
    Setting::new("delay_read", DELAY, "0ms")
        .help(
            "Imitates a slower disk (needs bench = \"guest\"): each read of each disk, an external log's too, waits so long, \
               in ticks of 10 ms, and up to one tick longer.",
        ),
    Setting::new("delay_write", DELAY, "0ms")
        .help("The same for each write; one that asks to be durable at once (FUA) counts as a write here."),
    Setting::new("delay_flush", DELAY, "0ms").help("The same for each flush of a disk's cache: what fsync waits for."),
    Setting::new("check", Kind::Boolean, "false")
        .help("Whether a read-only fsck follows each trial; a filesystem that it finds damaged fails the trial."),
    Setting::absent("wipe", Kind::Text)
        .help(
            "Must equal `path` to let mkfs overwrite what a block device holds, else it must hold zeros only. Nothing overrides \
               mounted or in use.",
        ),
];

/// Longer than any disk takes.
const DELAY: Kind = Kind::Seconds { min: 0.0, max: 10.0 };

/// The settings of `[storage]`.
pub fn settings() -> &'static [Setting] {
    SETTINGS
}

/// What a virtual disk's cache keeps in a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskCache {
    /// Only what was flushed.
    Volatile,
    /// All that was completed; the kernel sends no flushes.
    WriteThrough,
    /// Not even what was flushed.
    Lying,
}

/// Their names.
const CACHES: &[&str] = &["volatile", "write-through", "lying"];

impl DiskCache {
    /// Its name, as in `storage.cache`.
    pub fn name(self) -> &'static str {
        CACHES[self as usize]
    }

    /// What it is, in words.
    pub fn words(self) -> &'static str {
        ["a volatile cache", "no volatile cache", "a cache whose flushes do nothing"][self as usize]
    }
}

/// What a virtual disk writes whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sector {
    /// As most drives say.
    #[serde(rename = "512")]
    Small,
    /// Of drives that have no smaller ones.
    #[serde(rename = "4096")]
    Page,
}

impl Sector {
    /// Its size.
    pub fn bytes(self) -> u32 {
        if self == Sector::Small { 512 } else { 4096 }
    }
}

/// `[storage]`, checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StorageSettings {
    /// What the filesystem stands on.
    pub device: Device,
    /// The block device or directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Size of the image file, virtual disk or tmpfs, in bytes.
    pub size: u64,
    /// The drive whose times a virtual disk has: a name of the table's.
    pub disk: String,
    /// What a virtual disk's cache keeps.
    pub cache: DiskCache,
    /// A virtual disk's sectors.
    pub unit: Sector,
    /// Name of the filesystem, a row of [`filesystems()`](crate::filesystems()).
    pub filesystem: String,
    /// Name of a preset of the filesystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Options for mkfs, without the preset's.
    pub mkfs: Vec<String>,
    /// Mount options, without the preset's.
    pub mount: Vec<String>,
    /// Share of the filesystem filled before the load.
    pub fill: f64,
    /// Bytes churned before the load.
    pub age: u64,
    /// Whether discards are passed down.
    pub discard: bool,
    /// Size of the external log in bytes, without the preset's; 0: none.
    pub external_log: u64,
    /// Disks that the filesystem is striped over.
    pub stripe: u64,
    /// Bytes of a chunk of the stripe.
    pub stripe_chunk: u64,
    /// Seconds that each read waits.
    pub delay_read: f64,
    /// Seconds that each write waits.
    pub delay_write: f64,
    /// Seconds that each flush waits.
    pub delay_flush: f64,
    /// Whether a read-only fsck follows.
    pub check: bool,
    /// The device whose contents may be overwritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wipe: Option<String>,
}

impl Default for StorageSettings {
    fn default() -> StorageSettings {
        StorageSettings::from_map(&Map::new())
    }
}

impl StorageSettings {
    /// Takes the settings from their checked plain form; absent ones are at their defaults.
    ///
    /// # Panics
    /// When the map did not pass `settings::check_all`.
    pub fn from_map(map: &Map<String, Value>) -> StorageSettings {
        let mut all = settings::defaults(SETTINGS);
        all.extend(map.iter().map(|(name, value)| (name.clone(), value.clone())));
        settings::typed(&all)
    }

    /// The row of the filesystem.
    pub(crate) fn row(&self) -> &'static Filesystem {
        filesystems::filesystem(&self.filesystem).expect("the filesystem was checked against the table")
    }

    /// The preset, when there is one and the filesystem has it.
    pub(crate) fn preset_row(&self) -> Option<&'static Preset> {
        let wanted = self.preset.as_deref()?;
        self.row().presets().into_iter().find(|preset| preset.name == wanted)
    }

    /// All options asked for mkfs: the preset's, then the study's own.
    pub(crate) fn mkfs_asked(&self) -> Vec<String> {
        let preset = self.preset_row().map_or(&[][..], |preset| preset.mkfs);
        preset.iter().map(|word| (*word).to_string()).chain(self.mkfs.iter().cloned()).collect()
    }

    /// All mount options asked: the preset's, then the study's own, one option an entry.
    pub(crate) fn mount_asked(&self) -> Vec<String> {
        let preset = self.preset_row().map_or(&[][..], |preset| preset.mount);
        let own = self.mount.iter().flat_map(|entry| entry.split(','));
        let all = preset.iter().copied().chain(own).map(str::trim);
        let all = all.filter(|option| !option.is_empty() && *option != "defaults");
        // mount(8)'s `atime` is "whatever the kernel does", relatime; who compares it with noatime means every read.
        all.map(|option| if option == "atime" { "strictatime" } else { option }.to_string()).collect()
    }

    /// Bytes of the external log, 0 when there is none.
    pub fn external_log_bytes(&self) -> u64 {
        match self.external_log {
            0 => self.preset_row().map_or(0, |preset| preset.external_log_bytes),
            asked => asked,
        }
    }

    /// The image files that hold the filesystem, without an external log: what each is called, and its bytes.
    pub(crate) fn disks(&self) -> Vec<(String, u64)> {
        match self.stripe {
            1 => vec![("device".into(), self.size)],
            count => (1..=count).map(|number| (format!("device-{number}"), self.size / count)).collect(),
        }
    }

    /// The delays, by the names of their settings, in seconds.
    pub(crate) fn delays(&self) -> [(&'static str, f64); 3] {
        [("delay_read", self.delay_read), ("delay_write", self.delay_write), ("delay_flush", self.delay_flush)]
    }

    /// Whether disks are slowed down.
    pub(crate) fn is_delayed(&self) -> bool {
        self.delays().iter().any(|(_, seconds)| *seconds > 0.0)
    }

    /// The same device with a filesystem that adds nothing of its own.
    pub fn plain(&self) -> StorageSettings {
        // A tmpfs has no filesystem made on it, and knows no options of one.
        let bare_mount = if self.device == Device::Tmpfs { &[][..] } else { &filesystems::BARE_MOUNT };
        StorageSettings {
            filesystem: filesystems::DEFAULT.name.into(),
            preset: None,
            mkfs: filesystems::BARE_MKFS.map(str::to_string).to_vec(),
            mount: bare_mount.iter().map(|option| (*option).to_string()).collect(),
            fill: 0.0,
            age: 0,
            external_log: 0,
            check: false,
            ..self.clone()
        }
    }

    /// The same on a device of so many bytes. What mkfs chooses by the size, as the size of blocks, is as it is on this one.
    pub fn resized(&self, bytes: u64) -> StorageSettings {
        let row = self.row();
        let (own, there) = ((row.as_of_size)(self.size), (row.as_of_size)(bytes));
        let is_asked = own.first().is_some_and(|option| !mkfs_words::values(&self.mkfs_asked(), &[*option]).is_empty());
        let more = if own == there || is_asked { &[] } else { own };
        let mkfs = self.mkfs.iter().cloned().chain(more.iter().map(|word| (*word).to_string())).collect();
        StorageSettings { size: bytes, mkfs, ..self.clone() }
    }

    /// The smallest device that the filesystem can be made on, in bytes.
    pub fn bytes_min(&self) -> u64 {
        self.row().bytes_min
    }

    /// Whether copies of the filesystem can be mounted side by side.
    pub fn has_mountable_copies(&self) -> bool {
        self.row().copy_options.is_some()
    }

    /// Features asked of mkfs.
    pub(crate) fn features(&self) -> Vec<String> {
        mkfs_words::features(&self.mkfs_asked())
    }

    /// The type that is mounted.
    pub(crate) fn mount_type(&self) -> &'static MountType {
        if self.device == Device::Tmpfs { &filesystems::TMPFS } else { &self.row().mount }
    }

    /// Whether a filesystem is made at all.
    pub(crate) fn makes_filesystem(&self) -> bool {
        matches!(self.device, Device::Loop | Device::Block | Device::Virtual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_ext4_on_a_four_gigabyte_loop_device() {
        let settings = StorageSettings::default();
        assert_eq!((settings.device, settings.size, &*settings.filesystem), (Device::Loop, 4 << 30, "ext4"));
        assert_eq!((settings.path, settings.wipe, settings.fill), (None, None, 0.0));
    }

    #[test]
    fn each_name_is_a_cache() {
        for cache in [DiskCache::Volatile, DiskCache::WriteThrough, DiskCache::Lying] {
            assert_eq!(serde_json::to_value(cache).expect("a name"), cache.name());
        }
    }

    /// A filesystem of 1 KiB blocks was searched for what one of 4 KiB blocks keeps.
    #[test]
    fn on_another_size_mke2fs_chooses_as_on_this_one() {
        const MIB: u64 = 1 << 20;
        let check = |filesystem: &str, asked: &[&str], from: u64, to: u64, expect: &[&str]| {
            let mkfs = asked.iter().map(ToString::to_string).collect();
            let settings = StorageSettings { filesystem: filesystem.into(), size: from, mkfs, ..Default::default() };
            let resized = settings.resized(to);
            assert_eq!(
                (resized.size, &*resized.mkfs),
                (to, &*expect.iter().map(ToString::to_string).collect::<Vec<_>>())
            );
        };
        check("ext4", &[], 4096 * MIB, 64 * MIB, &["-T", "default"]);
        check("ext3", &["-b", "2048"], 4096 * MIB, 511 * MIB, &["-b", "2048", "-T", "default"]);
        check("ext4", &[], 511 * MIB, 512 * MIB, &["-T", "small"]);
        check("ext2", &[], 2 * MIB, 64 * MIB, &["-T", "floppy"]);
        check("ext4", &[], 4096 * MIB, 512 * MIB, &[]);
        check("ext4", &["-Tnews"], 4096 * MIB, 64 * MIB, &["-Tnews"]);
        check("xfs", &[], 4096 * MIB, 300 * MIB, &[]);
    }

    #[test]
    fn a_preset_comes_before_the_studys_own_options() {
        let settings = StorageSettings {
            preset: Some("no-extents".into()),
            mkfs: vec!["-b".into(), "4096".into()],
            mount: vec!["noatime,commit=30".into()],
            ..StorageSettings::default()
        };
        assert_eq!(settings.mkfs_asked(), ["-O", "^extents,^64bit", "-b", "4096"]);
        assert_eq!(settings.mount_asked(), ["noatime", "commit=30"]);
    }
}
