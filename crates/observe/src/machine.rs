//! The machine's own facts, once a study. Serial numbers, host names and addresses are left out: a results file is to be shared.

use crate::proc;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Facts by name.
pub type Facts = BTreeMap<String, String>;

/// Facts whose change makes earlier figures another machine's.
const IDENTITY: &[&str] = &[
    "cpu model",
    "cpu count",
    "cpu governor",
    "memory bytes",
    "kernel release",
    "kernel version",
    "kernel command line",
    "disk device",
    "disk scheduler",
    "disk write cache",
    "mkfs.ext4",
    "mkfs.xfs",
    "mkfs.btrfs",
];

/// Programs whose version is a fact, and the option that asks for it.
const PROGRAMS: &[(&str, &str)] = &[("mkfs.ext4", "-V"), ("mkfs.xfs", "-V"), ("mkfs.btrfs", "--version"), ("fio", "--version")];

/// Facts of this machine; what the kernel does not tell is absent.
#[must_use]
pub fn facts() -> Facts {
    let mut facts = Facts::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_string(), value)));
    };
    add("cpu model", cpu_model());
    add("cpu count", std::thread::available_parallelism().ok().map(|count| count.to_string()));
    add("cpu governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    add("cpu mitigations", mitigations());
    add("hypervisor", hypervisor());
    add("memory bytes", Some(memory_bytes().to_string()));
    add("swap bytes", proc::meminfo(&read("/proc/meminfo").unwrap_or_default(), "SwapTotal").map(|bytes| bytes.to_string()));
    add("kernel release", read("/proc/sys/kernel/osrelease"));
    add("kernel version", read("/proc/sys/kernel/version"));
    add("kernel command line", read("/proc/cmdline"));
    add("operating system", operating_system());
    add("clock source", read("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    add("transparent huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled"));
    for name in ["dirty_ratio", "dirty_background_ratio", "dirty_expire_centisecs", "swappiness"] {
        add(&format!("vm.{name}"), read(&format!("/proc/sys/vm/{name}")));
    }
    for (program, option) in PROGRAMS {
        add(program, version(program, option));
    }
    facts
}

/// Facts of the disk under a folder: which, and how its queue is set.
#[must_use]
pub fn facts_for(folder: &Path) -> Facts {
    let mut facts = Facts::new();
    let Some((name, device)) = disk_under(folder) else { return facts };
    facts.insert("disk device".into(), name);
    let queue = device.join("queue");
    let entries = [
        ("disk model", device.join("device/model")),
        ("disk size in sectors", device.join("size")),
        ("disk scheduler", queue.join("scheduler")),
        ("disk write cache", queue.join("write_cache")),
        ("disk rotational", queue.join("rotational")),
        ("disk queue length", queue.join("nr_requests")),
        ("disk logical block bytes", queue.join("logical_block_size")),
        ("disk read ahead KiB", queue.join("read_ahead_kb")),
    ];
    for (name, path) in entries {
        facts.extend(read(path).map(|value| (name.to_string(), value)));
    }
    facts
}

/// The whole disk that a folder's filesystem lies on: name and sysfs folder. None on filesystems without a device.
#[must_use]
pub fn disk_under(folder: &Path) -> Option<(String, std::path::PathBuf)> {
    let device = nix::sys::stat::stat(folder).ok()?.st_dev;
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let mut entry = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    // A partition's queue is its disk's.
    if entry.join("partition").exists() {
        entry = entry.parent()?.to_path_buf();
    }
    Some((entry.file_name()?.to_string_lossy().into_owned(), entry))
}

/// Bytes of memory, 0 when the kernel does not say.
#[must_use]
pub fn memory_bytes() -> u64 {
    proc::meminfo(&read("/proc/meminfo").unwrap_or_default(), "MemTotal").unwrap_or(0)
}

/// What has changed between two sets of facts, in words; only what makes figures incomparable.
#[must_use]
pub fn changes(before: &Facts, now: &Facts) -> Vec<String> {
    let word = |value: Option<&String>| value.map_or("nothing", String::as_str).to_string();
    IDENTITY
        .iter()
        .filter(|name| before.get(**name) != now.get(**name))
        .map(|name| format!("{name} was {}, is {}", word(before.get(*name)), word(now.get(*name))))
        .collect()
}

/// A text file's only line.
pub(crate) fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn cpu_model() -> Option<String> {
    let text = read("/proc/cpuinfo")?;
    let line = text.lines().find(|line| line.starts_with("model name") || line.starts_with("Model"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

fn hypervisor() -> Option<String> {
    let flags = read("/proc/cpuinfo")?;
    let virtual_machine = flags.lines().find(|line| line.starts_with("flags"))?.split(' ').any(|flag| flag == "hypervisor");
    Some(if virtual_machine { "virtual machine" } else { "none" }.to_string())
}

fn mitigations() -> Option<String> {
    let mut names: Vec<String> = Path::new("/sys/devices/system/cpu/vulnerabilities")
        .read_dir()
        .ok()?
        .flatten()
        .filter(|entry| read(entry.path()).is_some_and(|text| text.starts_with("Mitigation")))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Some(names.join(" "))
}

fn operating_system() -> Option<String> {
    let text = read("/etc/os-release")?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_string())
}

/// The first line that says a version, on either stream: mke2fs prints it on standard error.
fn version(program: &str, option: &str) -> Option<String> {
    let output = Command::new(program).arg(option).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| line.chars().any(|c| c.is_ascii_digit())).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_facts_and_is_the_same_as_itself() {
        let facts = facts();
        for name in ["cpu count", "memory bytes", "kernel release"] {
            assert!(facts.contains_key(name), "{facts:?}");
        }
        assert!(changes(&facts, &facts).is_empty());
        let mut moved = facts.clone();
        moved.insert("kernel release".into(), "1.0".into());
        moved.insert("clock source".into(), "hourglass".into());
        assert_eq!(changes(&facts, &moved).len(), 1, "a clock source is no identity");
    }
}
