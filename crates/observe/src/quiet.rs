//! What this machine can do, and what would disturb a measurement: the checks of `surefoot doctor`.

use crate::machine::read;
use crate::proc;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Good.
    Ok,
    /// Not there.
    Missing,
    /// It works, and may spoil a measurement.
    Risky,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// How it is.
    pub status: CheckStatus,
    /// What was seen.
    pub found: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Check {
    fn new(name: &str, status: CheckStatus, found: impl Into<String>, remedy: &str) -> Check {
        let remedy = (status != CheckStatus::Ok).then(|| remedy.to_string());
        Check { name: name.into(), status, found: found.into(), remedy }
    }

    fn risky_if(name: &str, risky: bool, found: impl Into<String>, remedy: &str) -> Check {
        Check::new(name, if risky { CheckStatus::Risky } else { CheckStatus::Ok }, found, remedy)
    }
}

/// Less free space than this leaves no room for a study's image.
const FREE_BYTES_MIN: u64 = 2 << 30;

/// More than this of a CPU used by others is a busy neighbour.
const BUSY_SHARE_MAX: f64 = 0.10;

/// A stolen share above this means that the host is overcommitted.
const STEAL_SHARE_MAX: f64 = 0.01;

/// Looks at everything that is the machine's own; takes half a second, to see its load.
#[must_use]
pub fn checks(work_folder: &Path) -> Vec<Check> {
    let mut all = vec![root(), loop_devices(), free_space(work_folder), governor(), swap()];
    all.extend(load());
    all.push(clock_source());
    all
}

fn root() -> Check {
    let root = nix::unistd::geteuid().is_root();
    let status = if root { CheckStatus::Ok } else { CheckStatus::Missing };
    Check::new("root", status, if root { "yes" } else { "no" }, "run as root to make filesystems; device = \"dir\" works without")
}

fn loop_devices() -> Check {
    let there = Path::new("/dev/loop-control").exists();
    let status = if there { CheckStatus::Ok } else { CheckStatus::Missing };
    Check::new("loop devices", status, if there { "/dev/loop-control" } else { "no /dev/loop-control" }, "modprobe loop")
}

fn free_space(folder: &Path) -> Check {
    use crate::machine::disk_under;
    let Ok(stat) = nix::sys::statvfs::statvfs(folder) else {
        return Check::new("free space", CheckStatus::Missing, format!("{} can't be read", folder.display()), "name a folder with --work");
    };
    let free = stat.blocks_available() as u64 * stat.fragment_size() as u64;
    let disk = disk_under(folder).map_or_else(|| "no disk: memory or network".to_string(), |(name, _)| format!("disk {name}"));
    let found = format!("{:.1} GiB in {} ({disk})", free as f64 / (1_u64 << 30) as f64, folder.display());
    let status = match (free < FREE_BYTES_MIN, disk.starts_with("no disk")) {
        (true, _) => CheckStatus::Missing,
        (_, true) => CheckStatus::Risky,
        _ => CheckStatus::Ok,
    };
    Check::new("free space", status, found, "name a folder on the disk under test, with room for the image, by --work DIR")
}

fn governor() -> Check {
    match read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        None => Check::new("CPU governor", CheckStatus::Ok, "none: the machine does not scale its clock, or hides it", ""),
        Some(name) => {
            let remedy = "cpupower frequency-set -g performance";
            Check::risky_if("CPU governor", name != "performance", name, remedy)
        }
    }
}

fn swap() -> Check {
    let memory = read("/proc/meminfo").unwrap_or_default();
    let used = proc::meminfo(&memory, "SwapTotal").unwrap_or(0).saturating_sub(proc::meminfo(&memory, "SwapFree").unwrap_or(0));
    let found = if used == 0 { "not in use".to_string() } else { format!("{} MiB in use", used >> 20) };
    Check::risky_if("swap", used > 0, found, "swapoff -a while a study runs")
}

fn load() -> Vec<Check> {
    let look = || proc::stat(&read("/proc/stat").unwrap_or_default()).all;
    let before = look();
    std::thread::sleep(Duration::from_millis(500));
    let shares = look().since(before).shares();
    let share = |name: &str| shares.iter().find(|share| share.0 == name).map_or(0.0, |share| share.1);
    let busy = 1.0 - share("idle") - share("iowait");
    let average = read("/proc/loadavg").unwrap_or_default();
    let average = average.split(' ').next().unwrap_or("?").to_string();
    let busiest = format!("{:.0} % of the CPUs busy just now, load average {average}", busy * 100.0);
    vec![
        Check::risky_if("load", busy > BUSY_SHARE_MAX, busiest, "stop what else runs here; `top` shows it"),
        Check::risky_if(
            "steal",
            share("steal") > STEAL_SHARE_MAX,
            format!("{:.1} % of CPU time taken by the host", share("steal") * 100.0),
            "another guest uses the same CPUs: measure at another time, with more rounds, or on another host",
        ),
    ]
}

fn clock_source() -> Check {
    let name = read("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_else(|| "unknown".into());
    let cheap = ["tsc", "kvm-clock", "arch_sys_counter"].contains(&name.as_str());
    Check::risky_if("clock source", !cheap, name, "reading the time costs a system call or more here: latencies below 1 µs are its own")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_that_is_not_well_has_a_remedy() {
        let all = checks(Path::new("/"));
        assert!(all.iter().any(|check| check.name == "steal"));
        for check in all {
            assert_eq!(check.status != CheckStatus::Ok, check.remedy.is_some(), "{check:?}");
        }
    }
}
