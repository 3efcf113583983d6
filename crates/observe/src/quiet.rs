//! What a measurement wants of a machine, and what would disturb it: one [`Check`] each, with its remedy.
//!
//! Looks only, changes nothing. Namespaces, memory limits and filesystems are checked where they are used (`lab`, `storage`).

use crate::cpu::{KINDS, Stat, shares};
use crate::disk;
use crate::machine::in_gibibytes;
use crate::memory::Memory;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Nothing to do.
    Ok,
    /// Something surefoot could use is not there.
    Missing,
    /// Measuring works, and the answer may suffer.
    Risky,
}

/// One line of `surefoot doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How it came out.
    pub status: CheckStatus,
    /// What was found.
    pub found: String,
    /// What to do; none when all is well.
    pub remedy: Option<String>,
}

/// The window in which steal and neighbours are watched: 50 clock ticks of 10 ms, so 2 % of a CPU can be seen.
const WINDOW: Duration = Duration::from_millis(500);

/// A load or neighbour above this share of a CPU is worth a word: five times what the window can resolve.
const DISTURBING_SHARE: f64 = 0.1;

/// Steal above this share is worth a word: one tick in a hundred.
const STEAL_SHARE_MAX: f64 = 0.01;

/// An image file of 4 GiB (the default) with the template beside it, and as much again for the ledger and the log.
const FREE_BYTES_MIN: u64 = 10 << 30;

/// Clock sources that are read without leaving user space or the guest: those of x86, ARM, POWER, s390, RISC-V and LoongArch.
const FAST_CLOCKS: &[&str] = &[
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "tod",
    "riscv_clocksource",
    "Constant",
];

/// All that a bare machine can be asked; takes half a second, in which steal and neighbours are watched.
pub fn checks(work_folder: &Path) -> Vec<Check> {
    let mut checks = vec![
        root(nix::unistd::geteuid().is_root()),
        loop_devices(Path::new("/dev/loop-control").exists()),
        free_space(work_folder, disk::space(work_folder).map(|space| space.1)),
        work_disk(disk::disk_under(work_folder)),
    ];
    checks.extend(disturbances());
    checks
}

/// What would disturb a measurement now.
pub fn disturbances() -> Vec<Check> {
    let (stat, times) = (Stat::read(), process_ticks());
    std::thread::sleep(WINDOW);
    let (stat_after, times_after) = (Stat::read(), process_ticks());
    let text = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_string()).ok();
    let stolen = stat.zip(stat_after).and_then(|(before, after)| shares(&before.total, &after.total));
    let stolen = stolen.map(|shares| shares[KINDS.iter().position(|kind| *kind == "steal").expect("steal is a kind")]);
    vec![
        governor(text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").as_deref()),
        power(&batteries(Path::new("/sys/class/power_supply"))),
        clock_source(text("/sys/devices/system/clocksource/clocksource0/current_clocksource").as_deref()),
        swap(Memory::read().map(|memory| (memory.swap_total, memory.swap_used()))),
        load(text("/proc/loadavg").as_deref().and_then(load_average)),
        steal(stolen),
        neighbours(busiest(&times, &times_after)),
    ]
}

fn check(name: &str, status: CheckStatus, found: impl Into<String>, remedy: &str) -> Check {
    let remedy = (status != CheckStatus::Ok).then(|| remedy.to_string());
    Check { name: name.into(), status, found: found.into(), remedy }
}

fn risky(condition: bool) -> CheckStatus {
    if condition { CheckStatus::Risky } else { CheckStatus::Ok }
}

fn needed(is_there: bool) -> CheckStatus {
    if is_there { CheckStatus::Ok } else { CheckStatus::Missing }
}

fn root(is_root: bool) -> Check {
    let found = if is_root { "yes" } else { "no: filesystems can't be made or mounted" };
    let remedy = "run surefoot as root; without, trials run in a guest kernel (package user-mode-linux), or in a folder (`storage.device = \"dir\"`)";
    check("root", needed(is_root), found, remedy)
}

fn loop_devices(there: bool) -> Check {
    let found = if there { "/dev/loop-control is there" } else { "no /dev/loop-control" };
    check(
        "loop devices",
        needed(there),
        found,
        "load the kernel's module: modprobe loop; of a container, start it with --privileged",
    )
}

fn free_space(folder: &Path, bytes: Option<u64>) -> Check {
    let Some(bytes) = bytes else {
        let found = format!("{} can't be read", folder.display());
        return check("free space", CheckStatus::Missing, found, "name a folder that exists with --work DIR");
    };
    let found = format!("{} in {}", in_gibibytes(bytes), folder.display());
    let remedy =
        "free some, or name a folder on a larger disk with --work DIR; `surefoot plan` says how much a study needs";
    check("free space", risky(bytes < FREE_BYTES_MIN), found, remedy)
}

fn work_disk(name: Option<String>) -> Check {
    let status = risky(name.is_none());
    let found = name.unwrap_or_else(|| "none: memory or a network".into());
    check("disk", status, found, "name a folder on the disk that the answer is to be about with --work DIR")
}

fn governor(name: Option<&str>) -> Check {
    match name {
        // Guests see no governor; their host's counts, and shows as noise.
        None => check("CPU frequency", CheckStatus::Ok, "not in this machine's hands", ""),
        Some(name) => {
            let remedy = "cpupower frequency-set -g performance: else the clock follows the load, and speed with it";
            check("CPU frequency", risky(name != "performance"), format!("governor {name}"), remedy)
        }
    }
}

/// What the machine's own batteries do (the kernel's Documentation/ABI/testing/sysfs-class-power); those of a mouse say that they are a device's.
fn batteries(folder: &Path) -> Vec<String> {
    let supplies = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let status = |supply: PathBuf| {
        let said = |file: &str| std::fs::read_to_string(supply.join(file)).unwrap_or_default().trim().to_string();
        (said("type") == "Battery" && said("scope") != "Device").then(|| said("status"))
    };
    supplies.filter_map(status).collect()
}

fn power(batteries: &[String]) -> Check {
    let is_on_battery = batteries.iter().any(|status| status == "Discharging");
    let found = if is_on_battery { "on its battery" } else { "not from a battery" };
    check(
        "power",
        risky(is_on_battery),
        found,
        "plug it in: on a battery clocks are slower, and slower still as it empties",
    )
}

fn clock_source(name: Option<&str>) -> Check {
    let fast = name.is_some_and(|name| FAST_CLOCKS.contains(&name));
    let remedy = "a read of this clock costs a system call or more, and each operation is timed; see the kernel's log for why tsc is not used";
    check("clock source", risky(!fast), name.unwrap_or("unknown"), remedy)
}

fn swap(bytes: Option<(u64, u64)>) -> Check {
    match bytes {
        None => check("swap", CheckStatus::Ok, "unknown", ""),
        Some((0, _)) => check("swap", CheckStatus::Ok, "none", ""),
        Some((total, 0)) => check("swap", CheckStatus::Ok, format!("{}, not in use", in_gibibytes(total)), ""),
        Some((total, used)) => {
            let found = format!("{} of {} in use", in_gibibytes(used), in_gibibytes(total));
            check("swap", CheckStatus::Risky, found, "find what fills the memory, then: swapoff -a && swapon -a")
        }
    }
}

fn load(average: Option<f64>) -> Check {
    let Some(average) = average else { return check("load", CheckStatus::Ok, "unknown", "") };
    let status = risky(average > DISTURBING_SHARE * 5.0);
    let found = format!("{average:.2} over the last minute");
    check("load", status, found, "wait until the machine is idle, or stop what runs on it")
}

fn steal(share: Option<f64>) -> Check {
    let Some(share) = share else { return check("steal", CheckStatus::Ok, "unknown", "") };
    let found = format!("{:.1} % of the CPUs' time goes to other guests", share * 100.0);
    let remedy = "measure on a host of your own, or at a quieter hour; expect wide intervals and plan more rounds";
    check("steal", risky(share > STEAL_SHARE_MAX), found, remedy)
}

fn neighbours(busiest: Option<(String, f64)>) -> Check {
    match busiest.filter(|(_, share)| *share > DISTURBING_SHARE) {
        None => check("neighbours", CheckStatus::Ok, "no other program is busy", ""),
        Some((name, share)) => {
            let found = format!("{name} uses {:.0} % of a CPU", share * 100.0);
            check("neighbours", CheckStatus::Risky, found, "stop it, or wait until it is done")
        }
    }
}

fn load_average(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok().filter(|load: &f64| load.is_finite())
}

/// The program that used most CPU between two looks, and its share of one CPU.
fn busiest(before: &HashMap<u32, Process>, after: &HashMap<u32, Process>) -> Option<(String, f64)> {
    let ours = family(after, std::process::id());
    let grown = after.iter().filter(|(id, _)| !ours.contains(id)).map(|(id, process)| {
        let earlier = before.get(id).map_or(process.ticks, |earlier| earlier.ticks);
        (process.ticks.saturating_sub(earlier), process)
    });
    let (ticks, process) = grown.max_by_key(|(ticks, _)| *ticks)?;
    let ticks_per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    Some((process.name.clone(), ticks as f64 / ticks_per_second as f64 / WINDOW.as_secs_f64()))
}

/// A process and all that it started.
fn family(processes: &HashMap<u32, Process>, head: u32) -> HashSet<u32> {
    let mut family = HashSet::from([head]);
    loop {
        let children =
            processes.iter().filter(|(id, process)| family.contains(&process.parent) && !family.contains(id));
        let children: Vec<u32> = children.map(|(id, _)| *id).collect();
        if children.is_empty() {
            return family;
        }
        family.extend(children);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    parent: u32,
    ticks: u64,
}

fn process_ticks() -> HashMap<u32, Process> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return HashMap::new() };
    let one = |entry: std::fs::DirEntry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        // A process may end between the listing and the reading.
        let text = std::fs::read(entry.path().join("stat")).ok()?;
        Some((id, process(&String::from_utf8_lossy(&text))?))
    };
    folder.flatten().filter_map(one).collect()
}

/// Reads a text in the form of `/proc/PID/stat` (proc_pid_stat(5)); the name in brackets may itself hold blanks and brackets.
fn process(text: &str) -> Option<Process> {
    let (head, tail) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_string();
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // After the name come state (field 3), parent (4), … utime (14), stime (15).
    Some(Process { name, parent: u32::try_from(number(1)?).ok()?, ticks: number(11)?.checked_add(number(12)?)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_check_of_this_machine_has_a_remedy_or_is_well() {
        let checks = checks(Path::new("/tmp"));
        assert_eq!(checks.len(), 11);
        for check in checks {
            assert_eq!(check.status == CheckStatus::Ok, check.remedy.is_none(), "{check:?}");
            assert!(!check.found.is_empty() && check.remedy.as_deref() != Some(""), "{check:?}");
        }
    }

    #[test]
    fn an_ordinary_user_is_told_of_every_way() {
        let remedy = root(false).remedy.expect("root is missing");
        assert!(["as root", "user-mode-linux", "in a folder"].iter().all(|way| remedy.contains(way)), "{remedy}");
    }

    #[test]
    fn what_disturbs_is_risky() {
        let risky = [
            governor(Some("powersave")),
            power(&["Full".into(), "Discharging".into()]),
            clock_source(Some("acpi_pm")),
            clock_source(None),
            swap(Some((10 << 30, 1 << 30))),
            load(Some(3.5)),
            steal(Some(0.05)),
            neighbours(Some(("cc1".into(), 0.97))),
            free_space(Path::new("/tmp"), Some(1 << 30)),
            work_disk(None),
        ];
        for check in risky {
            assert_eq!(check.status, CheckStatus::Risky, "{check:?}");
        }
        assert_eq!(neighbours(Some(("cc1".into(), 0.97))).found, "cc1 uses 97 % of a CPU");
    }

    #[test]
    fn what_does_not_disturb_is_well() {
        let well = [
            governor(Some("performance")),
            governor(None),
            power(&[]),
            power(&["Charging".into()]),
            clock_source(Some("tsc")),
            clock_source(Some("tod")),
            clock_source(Some("riscv_clocksource")),
            swap(Some((0, 0))),
            swap(Some((1 << 30, 0))),
            load(Some(0.2)),
            steal(Some(0.0)),
            neighbours(None),
            neighbours(Some(("sshd".into(), 0.02))),
            free_space(Path::new("/tmp"), Some(100 << 30)),
            work_disk(Some("vda".into())),
            root(true),
            loop_devices(true),
        ];
        for check in well {
            assert_eq!((check.status, &check.remedy), (CheckStatus::Ok, &None), "{check:?}");
        }
    }

    #[test]
    fn a_laptop_s_batteries_are_read_and_a_mouse_s_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, files) in [
            ("AC", &[("type", "Mains"), ("online", "0")][..]),
            ("BAT0", &[("type", "Battery"), ("status", "Discharging\n")]),
            ("hidpp_battery_0", &[("type", "Battery"), ("scope", "Device\n"), ("status", "Discharging")]),
        ] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
            for (file, text) in files {
                std::fs::write(folder.path().join(name).join(file), text).expect("written");
            }
        }
        assert_eq!(batteries(folder.path()), ["Discharging"]);
        assert!(batteries(Path::new("/nowhere")).is_empty());
    }

    #[test]
    fn what_is_not_there_is_missing() {
        for check in [root(false), loop_devices(false), free_space(Path::new("/nowhere"), None)] {
            assert_eq!(check.status, CheckStatus::Missing, "{check:?}");
        }
    }

    #[test]
    fn the_busiest_stranger_is_found_and_our_own_family_is_not() {
        let own = std::process::id();
        let one = |name: &str, parent, ticks| Process { name: name.into(), parent, ticks };
        let before: HashMap<u32, Process> = [
            (own, one("us", 1, 5)),
            (own + 1, one("ours", own, 5)),
            (own + 2, one("cc1", 1, 5)),
            (own + 3, one("sshd", 1, 900)),
        ]
        .into();
        let mut after = before.clone();
        for (id, grown) in [(own, 40), (own + 1, 50), (own + 2, 30), (own + 3, 1)] {
            after.get_mut(&id).expect("it is there").ticks += grown;
        }
        let (name, share) = busiest(&before, &after).expect("there is one");
        assert_eq!(name, "cc1");
        assert!(share > 0.0);
    }

    #[test]
    fn a_process_line_with_an_odd_name_is_read() {
        let text = "42 (a) (b c) S 7 42 42 0 -1 4194560 1 2 3 4 11 22 0 0 20 0 1 0 5";
        assert_eq!(process(text), Some(Process { name: "a) (b c".into(), parent: 7, ticks: 33 }));
        assert_eq!(process("42 (a"), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parsers(text in "([0-9]{0,6} )?\\(?[a-z )(]{0,9}\\)?[ 0-9SR-]{0,80}\\PC{0,9}") {
            let _ = process(&text);
            let _ = load_average(&text);
        }
    }
}
