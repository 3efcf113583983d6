//! `/proc/self/mountinfo`, parsed (proc(5), "proc_pid_mountinfo"). Pure, except for the two functions that read it.

use std::path::{Path, PathBuf};

/// One mount as the kernel shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor number of the filesystem's device.
    pub device: (u32, u32),
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Options of this mount: `rw`, `noatime`, …
    pub options: Vec<String>,
    /// Type of the filesystem.
    pub filesystem: String,
    /// What is mounted: a device, or a word.
    pub source: String,
    /// Options of the filesystem, the same for all its mounts: `data=writeback`, …
    pub super_options: Vec<String>,
}

/// All mounts in the text, in its order; lines that are no mounts are left out.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// The mounts that this thread sees; a thread may have a mount namespace of its own.
pub fn read() -> Vec<Mount> {
    parse_bytes(&std::fs::read("/proc/thread-self/mountinfo").unwrap_or_default())
}

/// The kernel writes names as they are: one that is no UTF-8 must not hide all other mounts.
fn parse_bytes(bytes: &[u8]) -> Vec<Mount> {
    parse(&String::from_utf8_lossy(bytes))
}

/// The mount that a path lies on, as this thread sees it.
pub fn mount_under(path: &Path) -> Option<Mount> {
    mount_of(&read(), &path.canonicalize().ok()?).cloned()
}

/// The mount that an absolute path lies on: the last of those with the longest mount point.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.components().count())
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse_line(line: &str) -> Option<Mount> {
    let fields: Vec<&str> = line.split(' ').collect();
    let dash = fields.iter().skip(6).position(|field| *field == "-")? + 6;
    let (major, minor) = fields[2].split_once(':')?;
    let list = |text: &str| text.split(',').map(unescape).collect();
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        mount_point: unescape(fields[4]).into(),
        options: list(fields[5]),
        filesystem: unescape(fields.get(dash + 1)?),
        source: unescape(fields.get(dash + 2)?),
        super_options: list(fields.get(dash + 3)?),
    })
}

/// Turns `\040` back into a space: the kernel writes space, tab, newline, backslash and some more as three octal digits.
fn unescape(text: &str) -> String {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let byte = octal(rest);
        plain.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &rest[4..] } else { behind };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn octal(bytes: &[u8]) -> Option<u8> {
    let [b'\\', digits @ ..] = bytes.get(..4)? else { return None };
    digits.iter().try_fold(0_u8, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
        value.checked_mul(8)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_manual() {
        let text = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\nnot a mount\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].device, (98, 0));
        assert_eq!(mounts[0].options, ["rw", "noatime"]);
        assert_eq!((&*mounts[0].filesystem, &*mounts[0].source), ("ext3", "/dev/root"));
        assert_eq!(mounts[0].super_options, ["rw", "errors=continue"]);
    }

    /// A folder named in Latin-1, as on an old disk that a desktop has mounted: no trial found its own mount.
    #[test]
    fn a_name_that_is_no_utf_8_hides_no_other_mount() {
        let text = b"1 2 8:17 / /media/M\xfcll rw - vfat /dev/sdb1 rw\n3 2 7:0 / /work/mount rw - ext4 /dev/loop0 rw\n";
        let mounts = parse_bytes(text);
        assert_eq!((mounts.len(), mounts[0].device), (2, (8, 17)));
        assert_eq!(mount_of(&mounts, Path::new("/work/mount/data")).expect("found").device, (7, 0));
    }

    #[test]
    fn no_optional_field_and_a_dash_as_root() {
        let mounts = parse(r"1 2 0:5 - /a\040b rw - tmpfs none rw,size=4k");
        assert_eq!(mounts[0].mount_point, Path::new("/a b"));
    }

    #[test]
    fn the_nearest_mount_wins_and_of_equals_the_last() {
        let line = |path: &str, source: &str| format!("1 2 0:5 / {path} rw - tmpfs {source} rw\n");
        let text = [line("/", "a"), line("/home", "b"), line("/home", "c"), line("/homework", "d")].concat();
        let mounts = parse(&text);
        assert_eq!(mount_of(&mounts, Path::new("/home/x")).expect("found").source, "c");
        assert_eq!(mount_of(&mounts, Path::new("/tmp")).expect("found").source, "a");
        assert_eq!(mount_of(&[], Path::new("/")), None);
    }

    /// As the kernel escapes (`mangle` in fs/proc_namespace.c: space, tab, newline, backslash, `#`).
    fn escape(text: &str) -> String {
        text.chars()
            .map(|c| if " \t\n\\#".contains(c) { format!("\\{:03o}", c as u32) } else { c.to_string() })
            .collect()
    }

    proptest! {
        #[test]
        fn any_mount_point_comes_back(path in "/[a-z \\t\\n#\\\\0-9é-]{0,20}", tags in prop::collection::vec("[a-z]+:[0-9]+", 0..3)) {
            let tags = tags.iter().map(|tag| format!("{tag} ")).collect::<String>();
            let line = format!("36 35 98:0 / {} rw,noatime {tags}- ext4 {} rw", escape(&path), escape("/dev/a b"));
            let mounts = parse(&line);
            prop_assert_eq!(mounts.len(), 1);
            prop_assert_eq!(&mounts[0].mount_point, Path::new(&path));
            prop_assert_eq!(&mounts[0].source, "/dev/a b");
        }

        #[test]
        fn any_text_is_survived(text in ".{0,200}") {
            let _ = (parse(&text), unescape(&text));
        }
    }
}
