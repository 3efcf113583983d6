//! Where the CPUs' time went: `/proc/stat` (proc_stat(5)), and this process's own share of it.

use crate::metric::{Direction, Metric};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// CPUs that the load may use, as its trial or its agent found them. An embedded engine works on the same ones.
pub const DRIVER_CPUS: Metric = Metric::new("driver_cpus", "1", Direction::Neither);
/// CPUs that the load's server may use.
pub const SERVER_CPUS: Metric = Metric::new("server_cpus", "1", Direction::Neither);
/// CPUs that both may use together, of those that are here.
pub const OWN_CPUS: Metric = Metric::new("own_cpus", "1", Direction::Neither);

/// Kinds of time, in the order of [`Ticks`].
pub const KINDS: [&str; 6] = ["user", "system", "iowait", "irq", "steal", "idle"];

/// From this share on a CPU, or a thread on one, is full: what is left goes by between wake-ups.
pub const FULL: f64 = 0.85;

/// Clock ticks by kind, in the order of [`KINDS`]. `user` has the niced and the guests' time, `irq` both kinds of interrupt.
pub type Ticks = [u64; 6];

/// One reading of `/proc/stat`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// All CPUs together.
    pub total: Ticks,
    /// By CPU number; a CPU that is offline is absent.
    pub cpus: Vec<(u32, Ticks)>,
    /// Context switches since boot.
    pub context_switches: u64,
}

impl Stat {
    /// Reads a text in the form of `/proc/stat`; `None` when it has no line of all CPUs.
    pub fn parse(text: &str) -> Option<Stat> {
        let mut stat = Stat::default();
        let mut complete = false;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(name) = words.next() else { continue };
            if name == "cpu" {
                stat.total = ticks(words)?;
                complete = true;
            } else if let Some(number) = name.strip_prefix("cpu").and_then(|number| number.parse().ok()) {
                stat.cpus.push((number, ticks(words)?));
            } else if name == "ctxt" {
                stat.context_switches = words.next()?.parse().ok()?;
            }
        }
        complete.then_some(stat)
    }

    /// The kernel's counters now.
    pub fn read() -> Option<Stat> {
        Stat::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// One CPU's ticks.
    pub fn cpu(&self, number: u32) -> Option<&Ticks> {
        self.cpus.iter().find(|cpu| cpu.0 == number).map(|cpu| &cpu.1)
    }
}

/// The share of each kind in the time between two readings; they sum to 1. `None` when no tick lies between them.
pub fn shares(before: &Ticks, after: &Ticks) -> Option<[f64; 6]> {
    // The kernel lets iowait and idle run backwards at times (proc_stat(5)); such a step counts as none.
    let spent: Vec<f64> =
        after.iter().zip(before).map(|(after, before)| after.saturating_sub(*before) as f64).collect();
    let sum: f64 = spent.iter().sum();
    (sum > 0.0).then(|| std::array::from_fn(|kind| spent[kind] / sum))
}

/// How many CPUs the calling thread may use: those that it is pinned to, or a control group's share of time where that is less. None where
/// the system does not say.
pub fn usable() -> Option<usize> {
    std::thread::available_parallelism().ok().map(usize::from)
}

/// CPU time of the trial's other processes (its server, its workers) but for these disks, of children they waited for too. None unless this
/// process is the first of its PID namespace, where every other is the trial's own.
pub fn others_seconds(disks: &[u32]) -> Option<f64> {
    if std::process::id() != 1 {
        return None;
    }
    let names = std::fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.file_name());
    let processes = names.filter_map(|name| name.to_str()?.parse::<u32>().ok());
    seconds_of(processes.filter(|process| *process != 1 && !disks.contains(process)))
}

/// CPU time of these processes, of children they waited for too. None: there is none of them.
pub fn seconds_of(processes: impl IntoIterator<Item = u32>) -> Option<f64> {
    let ticks_per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()?? as f64;
    let text = |process: u32| std::fs::read_to_string(format!("/proc/{process}/stat")).ok();
    let ticks = processes.into_iter().filter_map(|process| process_ticks(&text(process)?));
    ticks.reduce(u64::saturating_add).map(|ticks| ticks as f64 / ticks_per_second)
}

/// utime, stime, cutime and cstime of `/proc/PID/stat` (proc_pid_stat(5)); a name may have blanks and brackets.
fn process_ticks(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<u64> = rest.split_ascii_whitespace().skip(11).take(4).map_while(|word| word.parse().ok()).collect();
    (fields.len() == 4).then(|| fields.iter().sum())
}

/// CPU seconds, user and system, of the calling thread.
pub fn thread_seconds() -> f64 {
    let time =
        nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// CPU seconds, user and system, of this process with all its threads, and of its children that have ended and been waited for.
pub fn own_seconds() -> f64 {
    used_seconds(UsageWho::RUSAGE_SELF) + used_seconds(UsageWho::RUSAGE_CHILDREN)
}

/// CPU seconds, user and system, of this process with all its threads, or of its children that have ended and been waited for.
pub fn used_seconds(who: UsageWho) -> f64 {
    let usage = getrusage(who).expect("these kinds of usage exist on every Linux");
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

fn ticks<'a>(words: impl Iterator<Item = &'a str>) -> Option<Ticks> {
    // user nice system idle iowait irq softirq steal guest guest_nice; the guests' time is in `user` and `nice` already.
    let mut read = [0_u64; 8];
    let mut words = words.take(read.len());
    for (index, slot) in read.iter_mut().enumerate() {
        match words.next() {
            Some(word) => *slot = word.parse().ok()?,
            // Kernels before 2.6.11 have no steal.
            None if index >= 7 => {}
            None => return None,
        }
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = read;
    Some([user.saturating_add(nice), system, iowait, irq.saturating_add(softirq), steal, idle])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "cpu  9108 2 10585 1328908 4560 3 504 25 7 0\n\
        cpu0 4035 0 4779 666158 2174 0 20 9 0 0\n\
        cpu3 5072 2 5806 662750 2385 3 484 15 0 0\n\
        intr 2227682 0 0\nctxt 7777237\nbtime 1795213924\n";

    #[test]
    fn a_processes_time_is_read_behind_its_name() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 5 1 1";
        assert_eq!(process_ticks(text), Some(110));
        assert_eq!(process_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn a_real_text_is_read() {
        let stat = Stat::parse(TEXT).expect("it is one");
        assert_eq!(stat.total, [9110, 10585, 4560, 507, 25, 1_328_908]);
        assert_eq!(stat.cpu(3), Some(&[5074, 5806, 2385, 487, 15, 662_750]));
        assert_eq!(stat.cpu(1), None);
        assert_eq!(stat.context_switches, 7_777_237);
    }

    #[test]
    fn shares_are_of_the_time_between() {
        let shares = shares(&[0, 0, 0, 0, 0, 100], &[30, 20, 10, 0, 0, 140]).expect("time went by");
        assert_eq!(shares, [0.3, 0.2, 0.1, 0.0, 0.0, 0.4]);
        assert_eq!(super::shares(&[1; 6], &[1; 6]), None);
    }

    #[test]
    fn an_idle_counter_that_runs_backwards_counts_as_none() {
        assert_eq!(shares(&[0, 0, 9, 0, 0, 50], &[10, 0, 4, 0, 0, 40]), Some([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    }

    /// A virtual disk that was awake all of the time made its server "bound by CPU".
    #[test]
    fn processes_are_counted_by_their_numbers() {
        assert!(seconds_of([std::process::id()]).is_some_and(|seconds| seconds >= 0.0));
        assert_eq!(seconds_of([]), None);
        assert_eq!(seconds_of([u32::MAX]), None, "no process has it");
    }

    #[test]
    fn own_seconds_grow_with_work() {
        let before = own_seconds();
        let mut sum = 0_u64;
        while own_seconds() < before + 0.01 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        assert!(own_seconds() > before);
    }

    #[test]
    fn this_kernel_is_understood() {
        let stat = Stat::read().expect("there is a /proc/stat");
        assert!(!stat.cpus.is_empty() && stat.context_switches > 0);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(cpu[0-9]{0,3}|ctxt|[a-z]{0,4})?[ 0-9\n.-]{0,80}\\PC{0,20}") {
            let _ = Stat::parse(&text);
        }

        #[test]
        fn shares_sum_to_one(before in any::<[u32; 6]>(), grown in any::<[u32; 6]>()) {
            let before = before.map(u64::from);
            let after: Ticks = std::array::from_fn(|i| before[i] + u64::from(grown[i]));
            if let Some(shares) = shares(&before, &after) {
                prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
        }
    }
}
