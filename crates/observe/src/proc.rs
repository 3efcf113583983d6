//! The kernel's texts, parsed: `/proc/stat`, `/sys/block/*/stat`, `/proc/meminfo`, `/proc/pressure/*`. Pure.
//!
//! A field that an older kernel does not have is absent, never zero made up.

/// CPU time in ticks, by where it went (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    pub user: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub interrupts: u64,
    pub steal: u64,
}

/// `/proc/stat`: all CPUs together, each CPU, and context switches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    pub all: Cpu,
    pub each: Vec<Cpu>,
    pub context_switches: u64,
}

/// `/proc/stat`.
pub fn stat(text: &str) -> Stat {
    let mut stat = Stat::default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        let mut numbers = words.map_while(|word| word.parse::<u64>().ok());
        if name == "cpu" {
            stat.all = cpu(numbers);
        } else if name.starts_with("cpu") {
            stat.each.push(cpu(numbers));
        } else if name == "ctxt" {
            stat.context_switches = numbers.next().unwrap_or(0);
        }
    }
    stat
}

/// user nice system idle iowait irq softirq steal; `guest` is part of `user` already.
fn cpu(numbers: impl Iterator<Item = u64>) -> Cpu {
    let n: Vec<u64> = numbers.take(8).collect();
    let at = |index: usize| n.get(index).copied().unwrap_or(0);
    Cpu {
        user: at(0).saturating_add(at(1)),
        system: at(2),
        idle: at(3),
        iowait: at(4),
        interrupts: at(5).saturating_add(at(6)),
        steal: at(7),
    }
}

impl Cpu {
    /// What passed since `before`.
    pub fn since(self, before: Cpu) -> Cpu {
        Cpu {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            idle: self.idle.saturating_sub(before.idle),
            iowait: self.iowait.saturating_sub(before.iowait),
            interrupts: self.interrupts.saturating_sub(before.interrupts),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    /// (name, share of all time) of each; empty when no tick has passed.
    pub fn shares(self) -> Vec<(&'static str, f64)> {
        let parts = [
            ("user", self.user),
            ("system", self.system),
            ("iowait", self.iowait),
            ("irq", self.interrupts),
            ("steal", self.steal),
            ("idle", self.idle),
        ];
        let all: f64 = parts.iter().map(|part| part.1 as f64).sum();
        if all == 0.0 { Vec::new() } else { parts.map(|(name, ticks)| (name, ticks as f64 / all)).to_vec() }
    }
}

/// `/sys/block/X/stat` (Documentation/block/stat.rst), in bytes and seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disk {
    pub reads: f64,
    pub read_bytes: f64,
    pub writes: f64,
    pub write_bytes: f64,
    pub busy_seconds: f64,
    /// Absent before Linux 4.18.
    pub discards: Option<f64>,
    /// Absent before Linux 5.5.
    pub flushes: Option<f64>,
}

/// One device's `stat`.
pub fn disk(text: &str) -> Option<Disk> {
    let n: Vec<f64> = text.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok()).map(|n| n as f64).collect();
    // Sectors are 512 bytes here whatever the device's own are.
    (n.len() >= 11).then(|| Disk {
        reads: n[0],
        read_bytes: n[2] * 512.0,
        writes: n[4],
        write_bytes: n[6] * 512.0,
        busy_seconds: n[9] / 1000.0,
        discards: n.get(11).copied(),
        flushes: n.get(15).copied(),
    })
}

/// A line of `/proc/meminfo`, in bytes.
pub fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Microseconds that some task stalled, from a `/proc/pressure` file.
pub fn pressure(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("some ")?.rsplit_once("total=")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stat_of_a_two_cpu_machine() {
        let text = "cpu  10 1 20 300 4 2 3 5 7 0\ncpu0 5 1 10 150 2 1 1 5 0 0\ncpu1 5 0 10 150 2 1 2 0 0 0\nctxt 99\nbtime 1\n";
        let stat = stat(text);
        assert_eq!(stat.all, Cpu { user: 11, system: 20, idle: 300, iowait: 4, interrupts: 5, steal: 5 });
        assert_eq!((stat.each.len(), stat.context_switches), (2, 99));
        let shares = stat.all.shares();
        assert!((shares.iter().map(|share| share.1).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn disk_with_and_without_new_fields() {
        let old = disk("1 0 8 2 3 0 16 4 0 500 6").expect("eleven fields");
        assert_eq!((old.read_bytes, old.write_bytes, old.busy_seconds), (4096.0, 8192.0, 0.5));
        assert_eq!((old.discards, old.flushes), (None, None));
        let new = disk("1 0 8 2 3 0 16 4 0 500 6 7 0 0 0 9 1").expect("seventeen fields");
        assert_eq!((new.discards, new.flushes), (Some(7.0), Some(9.0)));
        assert_eq!(disk("1 2 3"), None);
    }

    #[test]
    fn memory_and_pressure() {
        assert_eq!(meminfo("MemTotal:  2 kB\nDirty:   4 kB\n", "Dirty"), Some(4096));
        assert_eq!(meminfo("DirtyX: 4 kB", "Dirty"), None);
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(pressure(text), Some(123));
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in ".{0,200}", digits in "[a-z0-9 \n]{0,200}") {
            for text in [text, digits] {
                let _ = (stat(&text).all.shares(), disk(&text), meminfo(&text, "Dirty"), pressure(&text));
            }
        }
    }
}
