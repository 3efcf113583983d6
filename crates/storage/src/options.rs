//! Mount options: split for mount(2), and compared with what the kernel shows of them. Pure.
//!
//! The kernel does not show its defaults, shows some options by another name, and accepts some that it ignores. What it
//! shows is in the functions `*_show_options` of each filesystem's source; what is known of it stands in its [`MountType`].

use crate::filesystem::{Conflict, MountType};
use observe::mountinfo::Mount;

const NO_SETUID: u64 = 1 << 1;
const NO_DEVICES: u64 = 1 << 2;

/// Options that mount(2) takes as flags, with the values of include/uapi/linux/mount.h.
const FLAGS: &[(&str, u64)] = &[
    ("ro", 1 << 0),
    ("rw", 0),
    ("nosuid", NO_SETUID),
    ("nodev", NO_DEVICES),
    ("noexec", 1 << 3),
    ("sync", 1 << 4),
    ("async", 0),
    ("dirsync", 1 << 7),
    ("noatime", 1 << 10),
    ("nodiratime", 1 << 11),
    ("relatime", 1 << 21),
    ("strictatime", 1 << 24),
    ("lazytime", 1 << 25),
    ("nolazytime", 0),
];

/// Words of mount(8) and fstab(5) that never reach the kernel, or that would make another mount than a trial's.
pub(crate) const NOT_THE_KERNELS: &[&str] = &[
    "auto", "noauto", "user", "users", "owner", "group", "nofail", "_netdev", "loop", "bind", "rbind", "remount",
    "move",
];

/// Whether an option gives a filesystem another device, which nobody has looked at: by its name, or by what it says.
pub(crate) fn names_a_device(option: &str) -> bool {
    let names = ["logdev", "rtdev", "journal_path", "journal_dev", "jdev", "device"];
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    names.contains(&name) || value.contains("/dev/") || ["UUID=", "LABEL="].iter().any(|begin| value.contains(begin))
}

/// Whether an option's number is one that the kernel reads and that no table here knows: with a sign, of base 16, or nothing in two digits
/// (`kstrtouint` with base 0). ext4's `barrier=00` sends no flushes.
pub(crate) fn has_odd_number(option: &str) -> bool {
    let value = option.split_once('=').map_or("", |(_, value)| value);
    let digits = value.strip_prefix('+').unwrap_or(value);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    let is_zeros = digits.len() > 1 && digits.bytes().all(|digit| digit == b'0');
    is_number && (digits != value || is_zeros || digits.starts_with("0x") || digits.starts_with("0X"))
}

/// Mount options, as mount(2) wants them.
#[derive(Debug, PartialEq)]
pub(crate) struct Split {
    pub(crate) flags: u64,
    /// What only the filesystem understands.
    pub(crate) data: String,
}

/// Parts the options that are flags from those that the filesystem reads.
pub(crate) fn split(options: &[String]) -> Split {
    // A filesystem under test needs neither; they keep what lies on it from acting on the host.
    let mut flags = NO_SETUID | NO_DEVICES;
    let mut data = Vec::new();
    for option in options {
        match FLAGS.iter().find(|(name, _)| name == option) {
            Some((_, flag)) => flags |= *flag,
            None => data.push(option.as_str()),
        }
    }
    Split { flags, data: data.join(",") }
}

/// Pairs of options of a filesystem of this kind of which only one can hold, in words.
pub(crate) fn conflicts(kind: &MountType, options: &[String]) -> Vec<String> {
    let pairs =
        options.iter().enumerate().flat_map(|(at, one)| options[at + 1..].iter().map(move |other| [one, other]));
    let said = |[one, other]: [&String; 2]| Some(format!("`{one}` and `{other}`: {}", conflict(kind, one, other)?));
    pairs.filter_map(said).collect()
}

fn conflict(kind: &MountType, first: &str, second: &str) -> Option<&'static str> {
    let (one, other) = (canonical(kind, first), canonical(kind, second));
    let ((key, value), (other_key, other_value)) = (halves(&one), halves(&other));
    if one == other {
        return None;
    }
    let atime = ["noatime", "relatime", "strictatime"];
    if atime.contains(&first) && atime.contains(&second) {
        return Some("only one way to keep access times");
    }
    if key == other_key && value != other_value {
        return Some("one value each");
    }
    let is = |option: &str, set: &[&str]| set.iter().any(|entry| *entry == option || *entry == halves(option).0);
    let either = |a: &[&str], b: &[&str]| (is(&one, a) && is(&other, b)) || (is(&one, b) && is(&other, a));
    let is_denial = is_negation(key, other_key) || is_negation(other_key, key);
    if is_denial || either(&["async"], &["sync"]) || either(&["ro"], &["rw"]) {
        return Some("one denies the other");
    }
    kind.conflicts.iter().find(|Conflict { one, other, .. }| either(one, other)).map(|conflict| conflict.why)
}

fn is_negation(key: &str, other: &str) -> bool {
    key.strip_prefix("no").is_some_and(|positive| positive == other)
}

/// Asked options that did not take effect, each with what is known of the reason. `listed` is what the kernel shows of the
/// filesystem's own options.
pub(crate) fn ineffective(kind: &MountType, asked: &[String], mount: &Mount, listed: &[String]) -> Vec<String> {
    asked.iter().filter_map(|option| why_ineffective(kind, option, mount, listed)).collect()
}

fn why_ineffective(kind: &MountType, option: &str, mount: &Mount, listed: &[String]) -> Option<String> {
    let shown = |list: &[String], word: &str| list.iter().any(|entry| entry == word);
    let effective = match option {
        "strictatime" => !shown(&mount.options, "noatime") && !shown(&mount.options, "relatime"),
        "async" => !shown(listed, "sync"),
        "nolazytime" => !shown(listed, "lazytime"),
        "sync" | "dirsync" | "lazytime" => shown(listed, option),
        _ if FLAGS.iter().any(|(name, _)| *name == option) => shown(&mount.options, option),
        _ => return data_option(kind, option, listed),
    };
    (!effective).then(|| {
        let options = mount.options.join(",");
        format!("mount option `{option}` did not take effect: the mount has `{options}`")
    })
}

fn data_option(kind: &MountType, option: &str, listed: &[String]) -> Option<String> {
    let wanted = canonical(kind, option);
    let (key, value) = halves(&wanted);
    let same_key: Vec<(&str, &str)> =
        listed.iter().map(|entry| halves(entry)).filter(|(name, _)| *name == key).collect();
    if same_key.iter().any(|(_, found)| same_value(value, found)) {
        return None;
    }
    if let Some((_, found)) = same_key.first() {
        return Some(format!("mount option `{option}` was rewritten: the kernel shows `{key}={found}`"));
    }
    let denial =
        listed.iter().map(|entry| halves(entry).0).find(|found| is_negation(found, key) || is_negation(key, found));
    if let Some(found) = denial {
        return Some(format!("mount option `{option}` did not take effect: the kernel shows `{found}`"));
    }
    if kind.hidden_defaults.split(' ').any(|default| default == wanted) || kind.unshown.contains(&key) {
        return None;
    }
    let (ignored, why_ignored) = kind.ignored;
    let why = if ignored.split(' ').any(|option| option == key) { why_ignored } else { "the kernel does not list it" };
    Some(format!("mount option `{option}` did not take effect: {why}"))
}

/// The name by which the kernel shows an option.
pub(crate) fn canonical(kind: &MountType, option: &str) -> String {
    let mut renamed = kind.renamed.split(' ').filter_map(|pair| pair.split_once(':'));
    renamed.find(|(asked, _)| *asked == option).map_or(option, |(_, shown)| shown).to_string()
}

fn halves(option: &str) -> (&str, &str) {
    option.split_once('=').unwrap_or((option, ""))
}

/// Equal (`DUP`, `dup`), or equal as sizes (`262144`, `256k`), or a word that was given its default level (`zstd`, `zstd:3`).
pub(crate) fn same_value(asked: &str, found: &str) -> bool {
    let sizes = size(asked).zip(size(found));
    asked.eq_ignore_ascii_case(found)
        || sizes.is_some_and(|(a, b)| a == b)
        || found.strip_prefix(asked).is_some_and(|rest| rest.starts_with(':'))
}

fn size(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let digits = text.trim_end_matches(['k', 'm', 'g']);
    let factor = match &text[digits.len()..] {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::mount::MsFlags;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        text.split(',').filter(|word| !word.is_empty()).map(str::to_string).collect()
    }

    fn of(name: &str) -> &'static MountType {
        crate::filesystems::mount_type(name).expect("it is known")
    }

    #[test]
    fn options_that_could_name_a_device() {
        for option in ["jdev=/dev/sdb", "logdev=loop1", "device", "journal=/dev/sdb", "log=UUID=1-2"] {
            assert!(names_a_device(option), "{option}");
        }
        for option in ["noatime", "subvol=/data", "data=journal", "usrjquota=aquota.user"] {
            assert!(!names_a_device(option), "{option}");
        }
    }

    #[test]
    fn numbers_in_a_form_of_their_own() {
        for option in ["barrier=00", "barrier=+0", "barrier=0x0", "commit=0X5"] {
            assert!(has_odd_number(option), "{option}");
        }
        for option in ["barrier=0", "commit=30", "mode=0755", "compress=zstd:3", "barrier", "data=+a", "size=10k"] {
            assert!(!has_odd_number(option), "{option}");
        }
    }

    /// `asked` against what the kernel shows of the mount and of the filesystem.
    fn check(name: &str, asked: &str, options: &str, listed: &str, expect: &[&str]) {
        let mount = Mount {
            device: (7, 0),
            mount_point: "/m".into(),
            options: words(options),
            filesystem: name.into(),
            source: "/dev/loop0".into(),
            super_options: words(listed),
        };
        assert_eq!(ineffective(of(name), &words(asked), &mount, &words(listed)), expect);
    }

    #[test]
    fn access_times() {
        check("ext4", "strictatime", "rw", "rw", &[]);
        check("ext4", "noatime", "rw,noatime", "rw", &[]);
        check(
            "ext4",
            "strictatime",
            "rw,relatime",
            "rw",
            &["mount option `strictatime` did not take effect: the mount has `rw,relatime`"],
        );
    }

    #[test]
    fn other_names_and_defaults() {
        check("ext4", "barrier=1,data=ordered", "rw", "rw,barrier,data=ordered", &[]);
        check("ext4", "barrier=0", "rw", "rw,nobarrier", &[]);
        check("btrfs", "compress=zstd,barrier,commit=30", "rw", "rw,compress=zstd:3", &[]);
        check("xfs", "logbsize=262144,nodiscard", "rw", "rw,logbsize=256k", &[]);
        check("ext4", "dioread_lock", "rw", "rw,nodioread_nolock", &[]);
        check(
            "ext4",
            "dioread_lock",
            "rw",
            "rw,dioread_nolock",
            &["mount option `dioread_lock` did not take effect: the kernel shows `dioread_nolock`"],
        );
    }

    #[test]
    fn names_of_before_and_what_is_never_shown() {
        let quotas = "rw,usrquota,prjquota,grpquota";
        check("xfs", "uquota,gquota,pquota", "rw", quotas, &[]);
        check("xfs", "qnoenforce", "rw", "rw,uqnoenforce", &[]);
        check("xfs", "bsdgroups", "rw", "rw,grpid", &[]);
        check("xfs", "sysvgroups", "rw", "rw", &[]);
        check("ext4", "bsdgroups", "rw", "rw,grpid", &[]);
        check("ext4", "sysvgroups,journal_ioprio=3", "rw", "rw,nogrpid", &[]);
        check(
            "ext4",
            "bsdgroups",
            "rw",
            "rw,nogrpid",
            &["mount option `bsdgroups` did not take effect: the kernel shows `nogrpid`"],
        );
    }

    /// Each failed its trial on Linux 6.18, and was in effect (super.c of fs/ext4 and fs/btrfs, fs/xfs/xfs_super.c).
    #[test]
    fn what_is_shown_otherwise_is_in_effect() {
        check("ext4", "init_itable,no_mbcache,mb_optimize_scan=1", "rw", "rw,init_itable=10,nombcache", &[]);
        let off = &["mount option `mb_optimize_scan=1` was rewritten: the kernel shows `mb_optimize_scan=0`"];
        check("ext4", "mb_optimize_scan=1", "rw", "rw,mb_optimize_scan=0", off);
        check("ext4", "noload,data_err=ignore", "rw", "rw,norecovery", &[]);
        let aborts = &["mount option `data_err=ignore` was rewritten: the kernel shows `data_err=abort`"];
        check("ext4", "data_err=ignore", "rw", "rw,data_err=abort", aborts);
        check("bcachefs", "journal_flush_disabled=1", "rw", "rw,journal_flush_disabled", &[]);
        check("btrfs", "thread_pool=4", "rw", "rw,space_cache=v2", &[]);
        check("xfs", "dax=inode,lifetime", "rw", "rw,inode64", &[]);
        let never = &["mount option `dax=inode` was rewritten: the kernel shows `dax=never`"];
        check("xfs", "dax=inode", "rw", "rw,dax=never", never);
    }

    #[test]
    fn ignored_and_rewritten() {
        check(
            "ext4",
            "nobh",
            "rw",
            "rw",
            &["mount option `nobh` did not take effect: ext4 accepts the option and ignores it: it was removed"],
        );
        check(
            "ext4",
            "commit=7",
            "rw",
            "rw,commit=5",
            &["mount option `commit=7` was rewritten: the kernel shows `commit=5`"],
        );
        check(
            "ext4",
            "nodelalloc",
            "rw",
            "rw,delalloc",
            &["mount option `nodelalloc` did not take effect: the kernel shows `delalloc`"],
        );
        check(
            "btrfs",
            "nodatacow",
            "rw",
            "rw",
            &["mount option `nodatacow` did not take effect: the kernel does not list it"],
        );
    }

    #[test]
    fn only_one_of_two_can_hold() {
        let conflicts = |name: &str, text: &str| conflicts(of(name), &words(text)).len();
        assert_eq!(conflicts("ext4", "noatime,data=ordered,commit=5"), 0);
        assert_eq!(conflicts("ext4", "noatime,relatime"), 1);
        assert_eq!(conflicts("ext4", "data=ordered,data=journal"), 1);
        assert_eq!(conflicts("ext4", "barrier=1,nobarrier"), 1);
        assert_eq!(conflicts("ext4", "barrier=0,nobarrier"), 0);
        assert_eq!(conflicts("ext4", "data=journal,delalloc"), 1);
        assert_eq!(conflicts("ext4", "dioread_lock,dioread_nolock"), 1);
        assert_eq!(conflicts("ext4", "dioread_lock,nodioread_nolock"), 0);
        assert_eq!(conflicts("xfs", "bsdgroups,sysvgroups"), 1);
        assert_eq!(conflicts("btrfs", "nodatacow,compress=zstd"), 1);
    }

    #[test]
    fn flags_have_the_kernels_values() {
        let named = |name: &str| FLAGS.iter().find(|(known, _)| *known == name).expect("a flag").1;
        for (name, flag) in [
            ("ro", MsFlags::MS_RDONLY),
            ("noexec", MsFlags::MS_NOEXEC),
            ("sync", MsFlags::MS_SYNCHRONOUS),
            ("dirsync", MsFlags::MS_DIRSYNC),
            ("noatime", MsFlags::MS_NOATIME),
            ("nodiratime", MsFlags::MS_NODIRATIME),
            ("relatime", MsFlags::MS_RELATIME),
            ("strictatime", MsFlags::MS_STRICTATIME),
            ("lazytime", MsFlags::MS_LAZYTIME),
        ] {
            assert_eq!(named(name), flag.bits(), "{name}");
        }
    }

    #[test]
    fn flags_are_parted_from_data() {
        let split = split(&words("noatime,data=journal,lazytime,commit=9"));
        assert_eq!(split.data, "data=journal,commit=9");
        let wanted = MsFlags::from_bits_retain(split.flags);
        assert_eq!(wanted, MsFlags::MS_NOATIME | MsFlags::MS_LAZYTIME | MsFlags::MS_NOSUID | MsFlags::MS_NODEV);
    }

    proptest! {
        /// Whatever the kernel shows word by word is in force.
        #[test]
        fn what_is_shown_is_effective(options in prop::collection::vec("[a-z_]{1,8}(=[a-z0-9]{1,5})?", 0..6)) {
            let mount = Mount {
                device: (7, 0), mount_point: "/m".into(), options: options.clone(), filesystem: "f2fs".into(),
                source: String::new(), super_options: options.clone(),
            };
            let asked: Vec<String> = options.iter().filter(|option| FLAGS.iter().all(|(name, _)| name != option)).cloned().collect();
            prop_assert_eq!(ineffective(of("f2fs"), &asked, &mount, &options), Vec::<String>::new());
        }

        #[test]
        fn splitting_loses_nothing(options in prop::collection::vec("[a-z]{1,8}", 0..6)) {
            let known = options.iter().filter(|option| FLAGS.iter().any(|(name, _)| name == option)).count();
            let data = words(&split(&options).data).len();
            prop_assert_eq!(known + data, options.len());
        }
    }
}
