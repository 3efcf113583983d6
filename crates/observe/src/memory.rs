//! Memory, dirty pages and swap: `/proc/meminfo` (proc_meminfo(5)), and what control groups leave of it (cgroups(7)).

use std::iter::once;
use std::path::{Component, Path, PathBuf};

/// Where systems mount control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// One reading of `/proc/meminfo`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Usable memory.
    pub total: u64,
    /// What new programs could have without swapping.
    pub available: u64,
    /// Pages that wait to be written.
    pub dirty: u64,
    /// Pages that are being written.
    pub writeback: u64,
    /// Swap space.
    pub swap_total: u64,
    /// Swap space not in use.
    pub swap_free: u64,
}

impl Memory {
    /// Reads a text in the form of `/proc/meminfo`; `None` without the total.
    pub fn parse(text: &str) -> Option<Memory> {
        let mut memory = Memory::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let slot = match name {
                "MemTotal" => &mut memory.total,
                "MemAvailable" => &mut memory.available,
                "Dirty" => &mut memory.dirty,
                "Writeback" => &mut memory.writeback,
                "SwapTotal" => &mut memory.swap_total,
                "SwapFree" => &mut memory.swap_free,
                _ => continue,
            };
            // The kernel writes "kB" and means 1024 bytes.
            let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
            *slot = kibibytes.checked_mul(1024)?;
        }
        (memory.total > 0).then_some(memory)
    }

    /// The kernel's figures now.
    pub fn read() -> Option<Memory> {
        Memory::parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    /// Swap space in use.
    pub fn swap_used(&self) -> u64 {
        self.swap_total.saturating_sub(self.swap_free)
    }
}

/// Bytes that this process and its control group may have at most, as a container, a batch job or a unit of systemd sets them; none: no limit
/// but the machine's.
pub fn limit() -> Option<u64> {
    limit_in(Path::new(GROUPS), &std::fs::read_to_string("/proc/self/cgroup").ok()?)
}

/// The least limit of the groups that a text in the form of `/proc/self/cgroup` names, and of those above them.
fn limit_in(mounted: &Path, groups: &str) -> Option<u64> {
    groups.lines().flat_map(|line| limits(mounted, line)).min()
}

fn limits(mounted: &Path, line: &str) -> Vec<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let (mut folder, file) = match controllers {
        "" => (mounted.to_path_buf(), "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => (mounted.join("memory"), "memory.limit_in_bytes"),
        _ => return Vec::new(),
    };
    // A container may see its group's path on the host, and that group mounted as the topmost one: folders that are not there limit nothing.
    let names = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_)));
    let folders: Vec<PathBuf> = once(folder.clone())
        .chain(names.map(|name| {
            folder.push(name);
            folder.clone()
        }))
        .collect();
    // Without a limit version 2 says `max`, and version 1 a number that no memory reaches.
    let limit = |folder: PathBuf| std::fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok();
    folders.into_iter().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_limit_of_all_groups_above_counts() {
        let mounted = tempfile::tempdir().expect("a folder");
        let limit = |groups: &str| limit_in(mounted.path(), groups);
        let write = |path: &str, text: &str| {
            let file = mounted.path().join(path);
            std::fs::create_dir_all(file.parent().expect("it has one")).expect("made");
            std::fs::write(file, text).expect("written");
        };
        assert_eq!(limit("0::/job/step\n"), None, "nothing is mounted");
        write("job/step/memory.max", "max\n");
        assert_eq!(limit("0::/job/step\n"), None);
        write("job/memory.max", "4294967296\n");
        assert_eq!(limit("0::/job/step\n"), Some(4 << 30));
        write("job/step/memory.max", "8589934592\n");
        assert_eq!((limit("0::/job/step\n"), limit("0::/other\n")), (Some(4 << 30), None));
        // A container's own group is the topmost one that it sees.
        write("memory.max", "1073741824\n");
        assert_eq!((limit("0::/\n"), limit("0::/../elsewhere\n")), (Some(1 << 30), Some(1 << 30)));
        write("memory/docker/memory.limit_in_bytes", "536870912\n");
        let both = "9:cpu,cpuacct:/docker\n4:hugetlb,memory:/docker\n1:name=systemd:/docker\n0::/job\n";
        assert_eq!(limit(both), Some(512 << 20));
        assert_eq!(limit("9:cpu:/docker\nmemory\n"), None);
    }

    #[test]
    fn a_real_text_is_read() {
        let text = "MemTotal:       24684092 kB\nMemFree:  1 kB\nMemAvailable:   24314032 kB\nDirty:               156 kB\n\
            Writeback:             8 kB\nWritebackTmp: 3 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\nHugePages_Total:       0\n";
        let memory = Memory::parse(text).expect("it is one");
        assert_eq!((memory.total, memory.available), (24_684_092 << 10, 24_314_032 << 10));
        assert_eq!((memory.dirty, memory.writeback, memory.swap_used()), (156 << 10, 8 << 10, 40 << 10));
    }

    #[test]
    fn this_kernel_is_understood() {
        let memory = Memory::read().expect("there is a /proc/meminfo");
        assert!(memory.available <= memory.total);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(MemTotal|Dirty|SwapFree|[A-Z]{0,3}):?[ 0-9]{0,30}(kB)?\n?\\PC{0,20}") {
            let _ = Memory::parse(&text);
        }
    }
}
