//! Cross-checks of `[storage]`: what each setting's own check can't see. Pure.

use crate::device::Device;
use crate::filesystem::{ExternalLog, Filesystem};
use crate::filesystems;
use crate::guard;
use crate::layer;
use crate::mkfs_words;
use crate::options;
use crate::settings::StorageSettings;
use serde_json::{Map, Value};
use settings::quantity::format_bytes;
use std::collections::{BTreeMap, HashMap};

/// A tmpfs below this has no room for any load.
const TMPFS_BYTES_MIN: u64 = 16 << 20;

/// Of which a virtual disk has a whole number.
const PAGE_BYTES: u64 = 4096;

/// All that is wrong between the settings of a checked table: the setting, and the problem.
pub fn problems(map: &Map<String, Value>) -> Vec<(String, String)> {
    let settings = StorageSettings::from_map(map);
    let mut found = Problems(Vec::new());
    found.device(&settings);
    if settings.makes_filesystem() {
        found.filesystem(&settings);
    } else {
        found.without_filesystem(&settings);
    }
    if settings.device != Device::Dir {
        found.mount(&settings);
    }
    found.layers(&settings);
    found.0
}

/// All that is wrong of further volumes beside the first one and those before them: the volume, its setting, and the problem.
pub fn problems_beside(
    first: &Map<String, Value>,
    further: &BTreeMap<String, Map<String, Value>>,
) -> Vec<(String, &'static str, String)> {
    let mut taken = HashMap::new();
    let mut twice = |name: &str, map: &Map<String, Value>| {
        let settings = StorageSettings::from_map(map);
        let path = settings.path.filter(|_| settings.device == Device::Block)?;
        let other = taken.insert(path.clone(), name.to_string())?;
        let path = path.display();
        Some((
            name.into(),
            "path",
            format!("{path} has the volume `{other}` already: a block device has one filesystem"),
        ))
    };
    let first = twice("data", first);
    first.into_iter().chain(further.iter().filter_map(|(name, map)| twice(name, map))).collect()
}

struct Problems(Vec<(String, String)>);

impl Problems {
    fn add(&mut self, setting: &str, problem: impl Into<String>) {
        self.0.push((setting.into(), problem.into()));
    }

    fn device(&mut self, settings: &StorageSettings) {
        let defaults = StorageSettings::default();
        match (settings.device, &settings.path) {
            (Device::Block, None) => self.add("path", "device = \"block\" needs the path of the device"),
            (Device::Dir, None) => self.add("path", "device = \"dir\" needs the path of the directory"),
            (Device::Block | Device::Dir, Some(path)) if !path.is_absolute() => {
                let path = path.display();
                self.add("path", format!("{path} is not absolute: a trial has a working folder of its own"));
            }
            (Device::Loop | Device::Tmpfs | Device::Virtual, Some(_)) => {
                self.add("path", "has no effect here: only device = \"block\" and \"dir\" take a path");
            }
            _ => {}
        }
        if matches!(settings.device, Device::Block | Device::Dir) && settings.size != defaults.size {
            self.add("size", "has no effect here: the device or directory has its own size");
        }
        if settings.device == Device::Tmpfs && settings.size < TMPFS_BYTES_MIN {
            self.add("size", format!("a tmpfs needs {} or more", format_bytes(TMPFS_BYTES_MIN)));
        }
        self.virtual_disk(settings);
        match &settings.wipe {
            Some(_) if settings.device != Device::Block => {
                self.add("wipe", "has no effect here: it is for device = \"block\"")
            }
            Some(wipe) if settings.path.as_ref().is_none_or(|path| path.as_os_str() != wipe.as_str()) => {
                self.add("wipe", format!("\"{wipe}\" is not the device that `path` names"));
            }
            _ => {}
        }
    }

    fn virtual_disk(&mut self, settings: &StorageSettings) {
        if settings.device != Device::Virtual {
            let defaults = StorageSettings::default();
            let idle = [
                ("disk", settings.disk != defaults.disk),
                ("cache", settings.cache != defaults.cache),
                ("unit", settings.unit != defaults.unit),
            ];
            for (name, _) in idle.iter().filter(|(_, set)| *set) {
                self.add(name, "has no effect here: only device = \"virtual\" is a drive that can be chosen");
            }
            return;
        }
        if !settings.size.is_multiple_of(PAGE_BYTES) {
            let next = settings.size.next_multiple_of(PAGE_BYTES);
            let whole = format!("a virtual disk has whole pages of {PAGE_BYTES} bytes");
            self.add("size", format!("{whole}: the next size that has is \"{next}B\""));
        }
        if settings.external_log_bytes() > 0 {
            let why = "device = \"virtual\" is one disk: only image files and block devices have a log beside them";
            self.add("external_log", why);
        }
    }

    fn filesystem(&mut self, settings: &StorageSettings) {
        let row = settings.row();
        if matches!(settings.device, Device::Loop | Device::Virtual) && settings.size < row.bytes_min {
            self.add("size", format!("{} needs {} or more", row.name, format_bytes(row.bytes_min)));
        }
        self.preset(settings);
        self.mkfs(settings);
        let log = settings.external_log_bytes();
        match &row.external_log {
            _ if log == 0 => {}
            None => self.add("external_log", format!("{} has no external log", row.name)),
            Some(ExternalLog { bytes_min, .. }) if log < *bytes_min => {
                self.add("external_log", format!("{} needs a log of {} or more", row.name, format_bytes(*bytes_min)));
            }
            Some(_) => {}
        }
        if log > 0 && row.external_log.is_some() && !(row.has_journal)(&settings.features()) {
            self.add("external_log", "has no effect without a journal");
        }
        if settings.check && row.check.is_none() {
            self.add("check", format!("{} has no checker", row.name));
        }
    }

    fn layers(&mut self, settings: &StorageSettings) {
        if settings.device == Device::Loop {
            for (name, problem) in layer::problems(settings) {
                self.add(name, problem);
            }
            return;
        }
        let defaults = StorageSettings::default();
        let delays = settings.delays().map(|(name, seconds)| (name, seconds > 0.0));
        let striped =
            [("stripe", settings.stripe > 1), ("stripe_chunk", settings.stripe_chunk != defaults.stripe_chunk)];
        for (name, _) in striped.iter().chain(&delays).filter(|(_, set)| *set) {
            self.add(name, "has no effect here: only image files, device = \"loop\", are striped and delayed");
        }
    }

    fn preset(&mut self, settings: &StorageSettings) {
        let (Some(wanted), None) = (&settings.preset, settings.preset_row()) else { return };
        let row = settings.row();
        let names: Vec<_> = row.presets().iter().map(|preset| preset.name).collect();
        let has_it = |other: &&Filesystem| other.presets().iter().any(|preset| preset.name == wanted);
        let others: Vec<_> = filesystems::filesystems().iter().filter(has_it).map(|other| other.name).collect();
        let whose = if others.is_empty() { String::new() } else { format!(" (it is one of {})", others.join(", ")) };
        let near = settings::nearest_name(wanted, names.iter().copied()).filter(|_| others.is_empty());
        let near = near.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        self.add("preset", format!("{} has no preset `{wanted}`{whose}; it has {}{near}", row.name, names.join(", ")));
    }

    fn mkfs(&mut self, settings: &StorageSettings) {
        let row = settings.row();
        if !mkfs_words::values(&settings.mkfs, row.mkfs_types).is_empty() {
            let option = row.mkfs_types.join(" or ");
            self.add("mkfs", format!("with `{option}` {} makes another filesystem; `filesystem` chooses it", row.mkfs));
        }
        for word in &settings.mkfs {
            if guard::names_a_device(word) {
                self.add("mkfs", format!("`{word}` may name a device or file; mkfs is given one device, by surefoot"));
            }
            if row.mkfs_dry_runs.contains(&&**word) {
                self.add("mkfs", format!("with `{word}` {} makes no filesystem", row.mkfs));
            }
        }
    }

    /// Settings that shape a filesystem have no effect where none is made.
    fn without_filesystem(&mut self, settings: &StorageSettings) {
        let (defaults, tmpfs) = (StorageSettings::default(), settings.device == Device::Tmpfs);
        let device = settings.device.name();
        let idle = [
            ("filesystem", settings.filesystem != defaults.filesystem),
            ("preset", settings.preset.is_some()),
            ("mkfs", !settings.mkfs.is_empty()),
            ("mount", !tmpfs && !settings.mount.is_empty()),
            ("discard", settings.discard),
            ("external_log", settings.external_log > 0),
            ("check", settings.check),
        ];
        for (name, _) in idle.iter().filter(|(_, set)| *set) {
            self.add(name, format!("has no effect with device = \"{device}\": nothing is formatted"));
        }
        for (name, set) in [("fill", settings.fill > 0.0), ("age", settings.age > 0)] {
            if set && !tmpfs {
                self.add(name, "is not done to a directory: its filesystem is in use by others");
            } else if set {
                self.add(name, "has no effect on a tmpfs: memory does not fragment into files");
            }
        }
    }

    fn mount(&mut self, settings: &StorageSettings) {
        let asked = settings.mount_asked();
        for conflict in options::conflicts(settings.mount_type(), &asked) {
            self.add("mount", conflict);
        }
        for option in &asked {
            let name = option.split('=').next().unwrap_or(option);
            let problem = match name {
                _ if options::NOT_THE_KERNELS.contains(&name) || name.starts_with("x-") => {
                    format!("`{option}` is no option of a filesystem: it would have no effect")
                }
                "ro" => "`ro`: no load can be written to a read-only filesystem".into(),
                _ if options::names_a_device(option) => {
                    format!("`{option}` names a device; `external_log` gives a log its own")
                }
                _ if options::has_odd_number(option) => {
                    format!("`{option}`: write the number in plain decimal digits, as in `barrier=0` or `commit=30`")
                }
                "discard" if !settings.discard => "`discard` contradicts discard = false; say discard = true".into(),
                "nodiscard" if settings.discard => "`nodiscard` contradicts discard = true".into(),
                "size" if settings.device == Device::Tmpfs => "the tmpfs has the size of `size`".into(),
                _ => continue,
            };
            self.add("mount", problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    /// Settings in plain form, and all problems, a line each.
    fn check(settings: Value, expect: Expect) {
        let Value::Object(map) = settings else { panic!("a table") };
        let lines: Vec<String> =
            problems(&map).into_iter().map(|(setting, problem)| format!("{setting}: {problem}")).collect();
        expect.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn the_defaults_and_every_preset_are_fine() {
        check(json!({}), expect![[""]]);
        for row in filesystems::filesystems() {
            for preset in row.presets() {
                check(json!({ "filesystem": row.name, "preset": preset.name }), expect![[""]]);
            }
        }
    }

    #[test]
    fn paths() {
        check(json!({ "device": "block" }), expect![[r#"path: device = "block" needs the path of the device"#]]);
        check(
            json!({ "path": "/dev/sdb" }),
            expect![[r#"path: has no effect here: only device = "block" and "dir" take a path"#]],
        );
        check(
            json!({ "device": "dir", "path": "data" }),
            expect!["path: data is not absolute: a trial has a working folder of its own"],
        );
        check(
            json!({ "device": "block", "path": "/dev/sdb", "wipe": "/dev/sda" }),
            expect![[r#"wipe: "/dev/sda" is not the device that `path` names"#]],
        );
        check(json!({ "device": "block", "path": "/dev/sdb", "wipe": "/dev/sdb" }), expect![[""]]);
    }

    #[test]
    fn two_volumes_of_one_disk() {
        let of = |settings: Value| settings.as_object().cloned().expect("a table");
        let disk = |path: &str| of(json!({ "device": "block", "path": path, "wipe": path }));
        let told = |first, further: &[(&str, Map<String, Value>)]| {
            let further = further.iter().map(|(name, map)| (name.to_string(), map.clone())).collect();
            problems_beside(&first, &further)
        };
        let [b, c] = ["/dev/sdb", "/dev/sdc"].map(disk);
        let folder = of(json!({ "device": "dir", "path": "/srv" }));
        assert_eq!(told(b.clone(), &[("wal", c.clone())]), []);
        assert_eq!(told(folder.clone(), &[("wal", folder)]), [], "each trial has a folder of its own there");
        let problem = "/dev/sdb has the volume `data` already: a block device has one filesystem".to_string();
        assert_eq!(told(b.clone(), &[("wal", b.clone())]), [("wal".into(), "path", problem)]);
        let of_both = told(of(json!({})), &[("temporary", b.clone()), ("wal", b)]);
        assert_eq!(of_both.len(), 1, "{of_both:?}");
    }

    #[test]
    fn virtual_disks() {
        check(json!({ "device": "virtual", "disk": "sata-7200", "cache": "lying", "unit": "4096" }), expect![[""]]);
        check(
            json!({ "disk": "sata-7200", "cache": "write-through", "unit": "4096" }),
            expect![[r#"
                disk: has no effect here: only device = "virtual" is a drive that can be chosen
                cache: has no effect here: only device = "virtual" is a drive that can be chosen
                unit: has no effect here: only device = "virtual" is a drive that can be chosen"#]],
        );
        check(
            json!({ "device": "virtual", "path": "/dev/sdb", "size": (1 << 30) + 512, "filesystem": "xfs", "preset": "external-log",
                    "delay_read": 0.01 }),
            expect![[r#"
                path: has no effect here: only device = "block" and "dir" take a path
                size: a virtual disk has whole pages of 4096 bytes: the next size that has is "1073745920B"
                external_log: device = "virtual" is one disk: only image files and block devices have a log beside them
                delay_read: has no effect here: only image files, device = "loop", are striped and delayed"#]],
        );
        check(
            json!({ "device": "virtual", "filesystem": "xfs", "size": 200 << 20 }),
            expect!["size: xfs needs 300MiB or more"],
        );
    }

    #[test]
    fn presets_of_others() {
        check(
            json!({ "filesystem": "xfs", "preset": "writeback" }),
            expect![
                "preset: xfs has no preset `writeback` (it is one of ext3, ext4, reiserfs); it has default, atime, noatime, relatime, no-reflink, large-log-buffers, wsync, external-log"
            ],
        );
        check(
            json!({ "filesystem": "ext3", "preset": "writback" }),
            expect![
                "preset: ext3 has no preset `writback`; it has default, atime, noatime, relatime, journal, ordered, writeback, nobarrier, external-log; did you mean `writeback`?"
            ],
        );
    }

    #[test]
    fn too_small() {
        check(json!({ "filesystem": "xfs", "size": 200 << 20 }), expect!["size: xfs needs 300MiB or more"]);
        check(
            json!({ "filesystem": "xfs", "external_log": 8 << 20 }),
            expect!["external_log: xfs needs a log of 64MiB or more"],
        );
        check(
            json!({ "filesystem": "btrfs", "external_log": 8 << 20 }),
            expect!["external_log: btrfs has no external log"],
        );
    }

    #[test]
    fn layers() {
        check(json!({ "stripe": 2, "delay_read": 0.07, "delay_flush": 10.0 }), expect![[""]]);
        check(
            json!({ "stripe": 3, "size": 1 << 30, "delay_write": 0.005 }),
            expect![[r#"
                delay_write: 5 ms is no multiple of 10 ms, the tick of the guest's kernel
                size: does not divide into 3 disks of whole chunks of 64KiB: the next size that does is "1073872896B""#]],
        );
        check(
            json!({ "stripe_chunk": 128 << 10 }),
            expect!["stripe_chunk: has no effect with stripe = 1: nothing is striped"],
        );
        check(
            json!({ "stripe": 2, "stripe_chunk": 6000 }),
            expect![[r#"stripe_chunk: 6000B is no power of two, like "64KiB""#]],
        );
        check(
            json!({ "device": "tmpfs", "stripe": 2, "stripe_chunk": 4096, "delay_flush": 0.01 }),
            expect![[r#"
                stripe: has no effect here: only image files, device = "loop", are striped and delayed
                stripe_chunk: has no effect here: only image files, device = "loop", are striped and delayed
                delay_flush: has no effect here: only image files, device = "loop", are striped and delayed"#]],
        );
    }

    #[test]
    fn options_without_effect() {
        check(
            json!({ "device": "dir", "path": "/tmp", "filesystem": "xfs", "mkfs": ["-K"], "mount": ["noatime"], "fill": 0.5, "size": 5 }),
            expect![[r#"
                size: has no effect here: the device or directory has its own size
                filesystem: has no effect with device = "dir": nothing is formatted
                mkfs: has no effect with device = "dir": nothing is formatted
                mount: has no effect with device = "dir": nothing is formatted
                fill: is not done to a directory: its filesystem is in use by others"#]],
        );
        check(
            json!({ "mount": ["nofail", "ro", "discard", "logdev=/dev/sdb", "barrier=00"] }),
            expect![[r#"
                mount: `nofail` is no option of a filesystem: it would have no effect
                mount: `ro`: no load can be written to a read-only filesystem
                mount: `discard` contradicts discard = false; say discard = true
                mount: `logdev=/dev/sdb` names a device; `external_log` gives a log its own
                mount: `barrier=00`: write the number in plain decimal digits, as in `barrier=0` or `commit=30`"#]],
        );
        check(
            json!({ "mkfs": ["-O", "^has_journal"], "preset": "external-log" }),
            expect!["external_log: has no effect without a journal"],
        );
    }

    #[test]
    fn no_other_device_gets_to_mkfs() {
        check(
            json!({ "filesystem": "btrfs", "mkfs": ["-d", "single", "/dev/sdb"] }),
            expect!["mkfs: `/dev/sdb` may name a device or file; mkfs is given one device, by surefoot"],
        );
        check(json!({ "mkfs": ["-n"] }), expect!["mkfs: with `-n` mkfs.ext4 makes no filesystem"]);
    }

    /// Its durability would be another one's.
    #[test]
    fn no_other_filesystem_is_made() {
        for words in [json!(["-t", "ext2"]), json!(["-b", "4096", "-text2"])] {
            check(
                json!({ "mkfs": words }),
                expect!["mkfs: with `-t` mkfs.ext4 makes another filesystem; `filesystem` chooses it"],
            );
        }
        check(json!({ "filesystem": "f2fs", "mkfs": ["-t", "1"] }), expect![[""]]);
    }

    #[test]
    fn contradictions() {
        check(
            json!({ "filesystem": "ext4", "preset": "noatime", "mount": ["relatime"] }),
            expect!["mount: `noatime` and `relatime`: only one way to keep access times"],
        );
    }
}
