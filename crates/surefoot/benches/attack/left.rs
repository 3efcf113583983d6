//! What killed runs may leave behind: processes, mounts in any namespace, loop devices, cgroups, shared memory. Only what names the
//! attack's own folder, was made by a process that it started, or appeared since it began and is owned by nobody who lives, is counted:
//! others may use the machine, too.

use crate::harness::{loop_devices, processes};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the kernel and our own teardown may take after the last process has ended.
const SETTLE_TIME_MAX: Duration = Duration::from_secs(15);

/// What was there before.
pub struct Machine {
    segments: BTreeSet<String>,
}

pub fn machine() -> Machine {
    Machine { segments: segments() }
}

/// What is left, after everything had its time to go.
pub fn left(here: &Path, before: &Machine, conductors: &BTreeSet<u32>) -> Vec<String> {
    left_after(SETTLE_TIME_MAX, here, before, conductors)
}

/// What is left after so long.
pub fn left_after(time: Duration, here: &Path, before: &Machine, conductors: &BTreeSet<u32>) -> Vec<String> {
    let deadline = Instant::now() + time;
    loop {
        let left = now(here, before, conductors);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn now(here: &Path, before: &Machine, conductors: &BTreeSet<u32>) -> Vec<String> {
    let mut left = loop_devices(here);
    let here = here.to_string_lossy();
    let mut seen = BTreeSet::new();
    for (process, command) in processes() {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let works_here = std::fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&*here));
        if process.cast_unsigned() != std::process::id() && (command.contains(&*here) || works_here) {
            left.push(format!("process {process}: {command}"));
        }
        let space = std::fs::read_link(folder.join("ns/mnt")).unwrap_or_default();
        if seen.insert(space) {
            let mounts = std::fs::read_to_string(folder.join("mountinfo")).unwrap_or_default();
            let ours = mounts.lines().filter(|line| line.contains(&*here));
            left.extend(ours.map(|line| format!("mount, seen by process {process}: {line}")));
        }
    }
    let orphans = groups().into_iter().filter(|group| is_orphan(group, conductors));
    left.extend(orphans.map(|group| format!("cgroup {}", group.display())));
    left.extend(segments().difference(&before.segments).map(|segment| format!("shared memory: {segment}")));
    left
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Memory cgroups with our prefix (`sandbox::memory_limit`), of v2 and v1.
fn groups() -> BTreeSet<PathBuf> {
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"];
    let ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("surefoot-")) && path.is_dir()
    };
    roots.iter().flat_map(|root| entries(Path::new(root))).filter(ours).collect()
}

/// A group is named after its conductor's process, and this one was ours.
fn is_orphan(group: &Path, conductors: &BTreeSet<u32>) -> bool {
    let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split('-').filter_map(|word| word.parse().ok()).any(|process| conductors.contains(&process))
}

/// System V shared memory of our own IPC namespace (proc_sysvipc_shm: key, id, …, creator's process in the fifth column), of
/// creators that are gone.
fn segments() -> BTreeSet<String> {
    let text = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let is_orphan = |line: &&str| {
        let creator = line.split_whitespace().nth(4).unwrap_or_default();
        !Path::new(&format!("/proc/{creator}")).exists()
    };
    text.lines()
        .skip(1)
        .filter(is_orphan)
        .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
        .collect()
}
