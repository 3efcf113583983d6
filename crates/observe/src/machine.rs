//! The machine's own facts: what a reader must know of it, and what must not change while a study goes on.
//!
//! Recorded once a session. Serial numbers, host names and addresses are not recorded: a results file is made to be sent on. A fleet's
//! members have a name beside them, as an operator has to find the machine.

use crate::command_line;
use crate::cpu;
use crate::disk;
use crate::memory::{self, Memory};
use crate::mountinfo;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program, and the argument by which it says its version.
pub type Program = (&'static str, &'static str);

/// Programs whose version can change a result, whatever is studied. Those that are not there are left out.
const PROGRAMS: &[Program] = &[("fio", "--version")];

/// Plain files and the fact that each is.
const FILES: &[(&str, &str)] = &[
    ("kernel", "/proc/sys/kernel/osrelease"),
    ("kernel_version", "/proc/sys/kernel/version"),
    ("cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("swappiness", "/proc/sys/vm/swappiness"),
    ("dirty_ratio_percent", "/proc/sys/vm/dirty_ratio"),
    ("dirty_background_ratio_percent", "/proc/sys/vm/dirty_background_ratio"),
    ("dirty_bytes", "/proc/sys/vm/dirty_bytes"),
    ("dirty_background_bytes", "/proc/sys/vm/dirty_background_bytes"),
    ("dirty_expire_centiseconds", "/proc/sys/vm/dirty_expire_centisecs"),
    ("dirty_writeback_centiseconds", "/proc/sys/vm/dirty_writeback_centisecs"),
];

/// A disk's settings that decide its speed or its promises.
const DISK_ATTRIBUTES: &[(&str, &str)] = &[
    ("device_model", "device/model"),
    ("device_write_cache", "queue/write_cache"),
    ("device_fua", "queue/fua"),
    ("device_rotational", "queue/rotational"),
    ("device_nr_requests", "queue/nr_requests"),
    ("device_logical_block_bytes", "queue/logical_block_size"),
    ("device_physical_block_bytes", "queue/physical_block_size"),
    ("device_read_ahead_kibibytes", "queue/read_ahead_kb"),
];

/// Facts that are told but may differ when a study goes on: they do so by themselves.
const FREE_TO_CHANGE: &[&str] =
    &[KERNEL_RUN, "memory_bytes", "client_round_trip_microseconds_median", "client_round_trip_microseconds_p99"];

/// The fact that says of a fleet's member which start of a kernel ran it, in a word: two that have one ran on one machine.
pub const KERNEL_RUN: &str = "kernel_run";

/// Facts that older files do not have.
const LATER: &[&str] = &["cpu_microcode", "cpus_usable", "firmware", "hardware", "memory_limit_bytes", "surefoot"];

/// Facts that an upgrade does not change.
const HARDWARE: &[&str] = &["cpu_model", "cpus", "device_model", "device_size"];

/// Facts by which machines are of one kind, but for the memory.
const KIND: &str = "cpu_model cpus hypervisor hardware firmware kernel operating_system device_model device_size";

/// Facts that the kind has in other words, that results are refused for, or that name a machine's own disks.
const NEVER_ALIKE: &[&str] =
    &["command_line", "cpus_usable", "device", "kernel_version", "memory", "memory_limit_bytes", "surefoot"];

/// The fact that a file of the user's is, by its name.
pub fn input(file: &Path) -> String {
    format!("{INPUT}{}", file.display())
}

/// The user's file that a fact is of.
pub fn input_of(fact: &str) -> Option<&str> {
    fact.strip_prefix(INPUT)
}

const INPUT: &str = "input ";

/// What is true of the machine as a whole.
pub fn facts(programs: &[Program]) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_string(), value)));
    };
    for (name, path) in FILES {
        add(name, file(path));
    }
    let processors = file("/proc/cpuinfo").unwrap_or_default();
    add("cpu_model", cpu_model(&processors));
    add("cpu_microcode", processor_field(&processors, "microcode"));
    let cpus = cpu::Stat::read().map(|stat| stat.cpus.len());
    add("cpus", cpus.map(|count| count.to_string()));
    // As a cpuset, `taskset` or a control group leaves them.
    let usable = cpu::usable().filter(|usable| cpus.is_some_and(|cpus| *usable < cpus));
    add("cpus_usable", usable.map(|count| count.to_string()));
    add("hypervisor", hypervisor(&processors));
    add("hardware", dmi(&["sys_vendor", "product_name"]).filter(|_| !is_guest(&processors)));
    add("firmware", dmi(&["bios_vendor", "bios_version"]));
    if let Some(memory) = Memory::read() {
        add("memory", Some(in_gibibytes(memory.total)));
        add("memory_bytes", Some(memory.total.to_string()));
        add("memory_limit_bytes", memory::limit().filter(|limit| *limit < memory.total).map(|limit| limit.to_string()));
        add("swap", Some(in_gibibytes(memory.swap_total)));
    }
    let host = file("/proc/sys/kernel/hostname").unwrap_or_default();
    add("command_line", file("/proc/cmdline").map(|text| command_line::redacted(&text, &host)));
    add("mitigations", mitigations());
    let pages = file("/sys/kernel/mm/transparent_hugepage/enabled");
    add("transparent_hugepages", pages.map(|text| chosen(&text).to_string()));
    add("operating_system", operating_system(&file("/etc/os-release").unwrap_or_default()));
    #[cfg(not(target_os = "linux"))]
    crate::elsewhere::facts().into_iter().for_each(|(name, value)| add(&name, Some(value)));
    for (program, argument) in PROGRAMS.iter().chain(programs) {
        add(program, program_version(program, argument));
    }
    facts
}

/// What is true of the disk and the filesystem under a path.
pub fn facts_for(path: &Path) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_string(), value)));
    };
    let mount = mountinfo::mount_under(path);
    add("work_filesystem", mount.as_ref().map(|mount| mount.filesystem.clone()));
    let Some(name) = disk::disk_under(path) else { return facts };
    for (fact, attribute) in DISK_ATTRIBUTES {
        add(fact, disk::attribute(&name, attribute));
    }
    let scheduler = disk::attribute(&name, "queue/scheduler").map(|text| chosen(&text).to_string());
    add("device_scheduler", scheduler);
    let size = disk::attribute(&name, "size").and_then(|sectors| sectors.parse::<u64>().ok());
    add("device_size", size.map(|sectors| in_gibibytes(sectors.saturating_mul(512))));
    let on = mount.map_or(String::new(), |mount| format!(", {}", mount.filesystem));
    add("device", Some(format!("{name}{on}")));
    facts
}

/// Bytes of memory that surefoot may use, which its control group may limit; 0 where the kernel does not say.
pub fn memory_bytes() -> u64 {
    Memory::read().map_or(0, |memory| limited(memory.total))
}

/// Bytes that programs could still be given without swapping, and no more than the control group may have; 0 where the kernel does not say.
pub fn available_bytes() -> u64 {
    Memory::read().map_or(0, |memory| limited(memory.available))
}

fn limited(bytes: u64) -> u64 {
    memory::limit().map_or(bytes, |limit| limit.min(bytes))
}

/// Bytes of memory that surefoot could use on the machine that these are the facts of.
pub fn memory_bytes_of(facts: &BTreeMap<String, String>) -> Option<u64> {
    ["memory_bytes", "memory_limit_bytes"].iter().filter_map(|name| facts.get(*name)?.parse().ok()).min()
}

/// The facts that must be the same when a study goes on.
pub fn identity(facts: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    facts.iter().map(|(name, value)| (&**name, &**value)).filter(|(name, _)| !FREE_TO_CHANGE.contains(name)).collect()
}

/// Whether two records are of one machine, whatever was installed on it between them: what can't be updated is the same, as
/// far as both know it.
pub fn is_same(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> bool {
    let agree = |name: &&str| a.get(*name).zip(b.get(*name)).is_none_or(|(a, b)| a == b);
    let memory = |facts: &BTreeMap<String, String>| facts.get("memory_bytes").cloned();
    HARDWARE.iter().all(agree) && memory(a).zip(memory(b)).is_none_or(|(a, b)| is_near(&a, &b))
}

/// Whether two numbers of bytes are of one size of memory: kernels keep more or less of it for themselves, and limits may be shares of the rest.
fn is_near(a: &str, b: &str) -> bool {
    let bytes = |text: &str| text.parse::<f64>().ok();
    bytes(a).zip(bytes(b)).is_none_or(|(a, b)| (a / b - 1.0).abs() < 0.1)
}

/// What kind of machine it is: two of a fleet are of one kind where all of it is the same. Of CPUs and memory what there is to use counts.
pub fn kind(facts: &BTreeMap<String, String>) -> BTreeMap<&'static str, String> {
    let mut kind: BTreeMap<&str, String> =
        KIND.split(' ').filter_map(|name| Some((name, facts.get(name)?.clone()))).collect();
    kind.extend(facts.get("cpus_usable").map(|usable| ("cpus", usable.clone())));
    // Of one size, kernels keep more or less for themselves.
    let memory = memory_bytes_of(facts).map(|bytes| bytes as f64 / f64::from(1 << 30));
    kind.extend(memory.map(|gibibytes| ("memory", format!("about {gibibytes:.0} GiB"))));
    kind
}

/// What else may differ between machines of one kind and change a figure: settings of the kernel and the disk, and versions of programs.
pub fn beside_kind(facts: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    let is_told = |name: &str| KIND.split(' ').any(|of_kind| of_kind == name) || NEVER_ALIKE.contains(&name);
    identity(facts).into_iter().filter(move |fact| !is_told(fact.0) && !fact.0.starts_with(INPUT))
}

/// What has changed, a phrase each; empty when it is the same machine in the same state.
pub fn changes(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>, programs: &[Program]) -> Vec<String> {
    let (before, now) = (identity(before), identity(now));
    let mut names: Vec<&str> = before.keys().chain(now.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let phrase = |name: &&str| match (before.get(name), now.get(name)) {
        (Some(before), Some(now)) if before == now => None,
        (Some(before), Some(now)) if *name == "memory_limit_bytes" && is_near(before, now) => None,
        (Some(before), Some(now)) => Some(format!("{name} was {before}, now {now}")),
        (Some(before), None) => Some(format!("{name} was {before}, now there is none")),
        (None, Some(_)) if LATER.contains(name) || name.starts_with(INPUT) => None,
        // A program that came since took no part in what is measured.
        (None, Some(_)) if PROGRAMS.iter().chain(programs).any(|program| program.0 == *name) => None,
        (None, now) => now.map(|now| format!("{name} was not there, now {now}")),
    };
    names.iter().filter_map(phrase).collect()
}

/// The first line with a digit that a program says when asked for its version; `None` when it is not there.
pub fn program_version(program: &str, argument: &str) -> Option<String> {
    let mut command = Command::new(program);
    // mkfs programs lie where an unprivileged user's PATH does not lead.
    let path = std::env::var("PATH").unwrap_or_default();
    command.arg(argument).env("PATH", format!("{path}:/usr/sbin:/sbin")).env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    version_in(&String::from_utf8_lossy(&said))
}

fn version_in(said: &str) -> Option<String> {
    let has_digit = |word: &&str| word.bytes().any(|byte| byte.is_ascii_digit());
    let line = said.lines().find(|line| line.split_whitespace().any(has_version))?;
    // "mke2fs 1.47.0 (5-Feb-2023)" and "mkfs.btrfs, part of btrfs-progs v6.2": the words from the number on.
    let words: Vec<&str> = line.split_whitespace().skip_while(|word| !(has_version(word) && has_digit(word))).collect();
    Some(words.join(" "))
}

/// Whether a word is a version: a number with a point in it, after at most a `v` or a program's name and a hyphen.
fn has_version(word: &str) -> bool {
    let tail = word.rsplit_once('-').map_or(word, |(_, tail)| tail);
    let tail = tail.strip_prefix('v').unwrap_or(tail);
    tail.contains('.') && tail.starts_with(|c: char| c.is_ascii_digit())
}

/// A field of the first processor.
fn processor_field(processors: &str, name: &str) -> Option<String> {
    let line = processors.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

fn cpu_model(processors: &str) -> Option<String> {
    // ARM kernels name no model; its parts' numbers are the best there is.
    let field = |name: &str| processor_field(processors, name);
    let parts = || Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
    field("model name").or_else(|| field("Model")).or_else(|| field("cpu")).or_else(parts)
}

fn hypervisor(processors: &str) -> Option<String> {
    // Of some clouds the product is the instance's type: "Amazon EC2 m7i.large".
    let named = || dmi(&["sys_vendor", "product_name"]).filter(|_| is_guest(processors)).unwrap_or_default();
    let kind = file("/sys/hypervisor/type").unwrap_or_else(named);
    if kind.is_empty() { is_guest(processors).then(|| "unnamed".to_string()) } else { Some(kind) }
}

/// What the firmware says of the machine; none of it is a serial number.
fn dmi(names: &[&str]) -> Option<String> {
    let words =
        names.iter().filter_map(|name| file(&format!("/sys/class/dmi/id/{name}")).filter(|word| !word.is_empty()));
    Some(words.collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty())
}

/// Hypervisors set this CPU flag for their guests.
fn is_guest(processors: &str) -> bool {
    let flags = processors.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split(' ').any(|flag| flag == "hypervisor"))
}

/// `meltdown: PTI; …`, those that the CPU is not affected by left out.
fn mitigations() -> Option<String> {
    let folder = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities").ok()?;
    let affected = |entry: std::fs::DirEntry| {
        let state = file(entry.path().to_str()?)?;
        (state != "Not affected").then(|| format!("{}: {state}", entry.file_name().to_string_lossy()))
    };
    let mut all: Vec<String> = folder.flatten().filter_map(affected).collect();
    all.sort_unstable();
    Some(if all.is_empty() { "not affected".into() } else { all.join("; ") })
}

/// The name in `/etc/os-release` (os-release(5)).
fn operating_system(text: &str) -> Option<String> {
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_string())
}

/// The word in brackets of `always [madvise] never`; the whole text where none is.
fn chosen(text: &str) -> &str {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(text, |(word, _)| word)
}

pub(crate) fn in_gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

fn file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(facts: &[(&str, &str)]) -> BTreeMap<String, String> {
        facts.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
    }

    #[test]
    fn this_machine_is_known() {
        let facts = facts(&[]);
        for name in ["cpu_model", "cpus", "kernel", "memory", "memory_bytes", "command_line", "clock_source"] {
            assert!(facts.contains_key(name), "{name} in {facts:#?}");
        }
        assert_eq!(memory_bytes_of(&facts), Some(memory_bytes()));
        let host = file("/proc/sys/kernel/hostname").expect("a host name");
        // A short name like `vm` is part of other words by chance.
        assert!(host.len() < 6 || !facts.values().any(|value| value.contains(&host)), "{facts:#?}");
        assert_eq!(changes(&facts, &super::facts(&[]), &[]), Vec::<String>::new());
    }

    #[test]
    fn the_disk_under_a_folder_is_known() {
        let folder = std::env::current_dir().expect("a folder");
        let facts = facts_for(&folder);
        assert!(facts.contains_key("work_filesystem"), "{facts:#?}");
        assert!(!facts.values().any(|value| value.to_lowercase().contains("serial")));
    }

    #[test]
    fn a_change_is_said_in_words() {
        let before = map(&[("kernel", "6.1"), ("cpus", "2"), ("memory_bytes", "5"), ("cpu_governor", "performance")]);
        let now = map(&[("kernel", "6.18"), ("cpus", "2"), ("memory_bytes", "4"), ("device", "vdb")]);
        assert_eq!(
            changes(&before, &now, &[]),
            [
                "cpu_governor was performance, now there is none",
                "device was not there, now vdb",
                "kernel was 6.1, now 6.18",
            ]
        );
    }

    #[test]
    fn a_limit_is_what_there_was_to_use() {
        let free = map(&[("memory_bytes", "64000"), ("kernel", "6.1")]);
        let limited = map(&[("memory_bytes", "64000"), ("memory_limit_bytes", "4000"), ("kernel", "6.1")]);
        assert_eq!([&free, &limited].map(memory_bytes_of), [Some(64_000), Some(4000)]);
        assert_eq!(memory_bytes_of(&map(&[])), None);
        assert!(is_same(&free, &limited), "it is the machine's, whoever limits it");
        assert_eq!(changes(&free, &limited, &[]), Vec::<String>::new(), "older files don't tell it");
        assert_eq!(changes(&limited, &free, &[]), ["memory_limit_bytes was 4000, now there is none"]);
        let limited_to =
            |bytes: &str| map(&[("memory_bytes", "64000"), ("memory_limit_bytes", bytes), ("kernel", "6.1")]);
        assert_eq!(
            changes(&limited, &limited_to("4010"), &[]),
            Vec::<String>::new(),
            "a share of what the kernel left"
        );
        assert_eq!(changes(&limited, &limited_to("2000"), &[]), ["memory_limit_bytes was 4000, now 2000"]);
    }

    /// A study went on with a sixteenth of the CPUs, as a container or a batch job may leave them, without a word.
    #[test]
    fn cpus_that_are_left_to_us_are_what_there_was_to_use() {
        let pinned = || {
            crate::affinity::pin(&crate::affinity::cpus()[..1]).expect("one of ours");
            facts(&[])
        };
        let facts = std::thread::spawn(pinned).join().expect("no panic");
        let limited = facts["cpus"] != "1";
        assert_eq!(facts.get("cpus_usable").map(String::as_str), limited.then_some("1"));
        let of = |usable: &str| map(&[("cpus", "64"), ("cpus_usable", usable), ("kernel", "6.1")]);
        let whole = map(&[("cpus", "64"), ("kernel", "6.1")]);
        assert_eq!(changes(&of("32"), &of("4"), &[]), ["cpus_usable was 32, now 4"]);
        assert_eq!(changes(&of("4"), &whole, &[]), ["cpus_usable was 4, now there is none"]);
        assert_eq!(changes(&whole, &of("4"), &[]), Vec::<String>::new(), "older files don't tell it");
        assert!(is_same(&whole, &of("4")), "it is the machine's, whoever limits it");
    }

    #[test]
    fn an_upgraded_machine_is_the_same_and_another_is_not() {
        let old = map(&[("kernel", "6.1"), ("cpu_model", "EPYC"), ("cpus", "2"), ("memory_bytes", "1000")]);
        let with = |name: &str, value: &str| {
            let mut facts = old.clone();
            facts.insert(name.into(), value.into());
            facts
        };
        assert!(is_same(&old, &with("kernel", "6.18")) && is_same(&old, &with("memory_bytes", "990")));
        assert!(is_same(&old, &with("device_model", "SSD")), "older files may know less");
        assert!(!is_same(&old, &with("cpus", "4")) && !is_same(&old, &with("memory_bytes", "2000")));
        assert_eq!(changes(&old, &with("cpu_microcode", "0x1"), &[]), Vec::<String>::new());
    }

    #[test]
    fn machines_of_one_kind_differ_in_what_does_not_matter() {
        let one = map(&[("kernel", "6.1"), ("cpus", "2"), ("memory_bytes", "25282367488"), ("swappiness", "60")]);
        let other = map(&[("kernel", "6.1"), ("cpus", "2"), ("memory_bytes", "25282000000"), ("swappiness", "10")]);
        assert_eq!(kind(&one), kind(&other));
        assert_eq!(kind(&one)["memory"], "about 24 GiB");
        assert_ne!(kind(&one), kind(&map(&[("kernel", "6.18"), ("cpus", "2"), ("memory_bytes", "25282367488")])));
        assert_eq!(beside_kind(&one).collect::<Vec<_>>(), [("swappiness", "60")]);
        // A batch job that was left one CPU and 4 GiB had been told as a machine like any other.
        let mut confined = one.clone();
        confined.extend(map(&[("cpus_usable", "1"), ("memory_limit_bytes", "4294967296")]));
        assert_eq!([&kind(&confined)["cpus"], &kind(&confined)["memory"]], ["1", "about 4 GiB"]);
    }

    #[test]
    fn a_program_may_come_but_not_go() {
        let (without, with) = (map(&[("kernel", "6")]), map(&[("kernel", "6"), ("mkfs.xfs", "6.1.0")]));
        assert_eq!(changes(&without, &with, &[("mkfs.xfs", "-V")]), Vec::<String>::new());
        assert_eq!(changes(&with, &without, &[]), ["mkfs.xfs was 6.1.0, now there is none"]);
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let versions = [
            ("mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS Library version 1.47.0\n", Some("1.47.0 (5-Feb-2023)")),
            ("mkfs.xfs version 6.1.0\n", Some("6.1.0")),
            ("mkfs.btrfs, part of btrfs-progs v6.2\n", Some("v6.2")),
            ("fio-3.33\n", Some("fio-3.33")),
            ("usage: mkfs2 device\n", None),
            ("", None),
        ];
        for (said, version) in versions {
            assert_eq!(version_in(said).as_deref(), version, "{said}");
        }
        assert_eq!(program_version("no-such-program", "-V"), None);
    }

    #[test]
    fn models_and_choices_are_read() {
        assert_eq!(cpu_model("processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n").as_deref(), Some("AMD EPYC"));
        assert_eq!(
            cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n").as_deref(),
            Some("implementer 0x41 part 0xd0c")
        );
        assert_eq!(cpu_model(""), None);
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none"), "none");
        assert_eq!(operating_system("ID=debian\nPRETTY_NAME=\"Debian 12\"\n").as_deref(), Some("Debian 12"));
    }
}
