//! Which CPUs a process may use: `taskset`, a cpuset or a batch system may leave fewer than the machine has, and others than the first.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::OnceLock;

/// The CPUs that this process began with, in order; what it pins itself to later does not count. Empty where the system does not say.
pub fn cpus() -> &'static [usize] {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    // Of the first thread: others keep to a CPU of their own.
    CPUS.get_or_init(|| sched_getaffinity(Pid::this()).map(|set| numbers(&set)).unwrap_or_default())
}

/// The CPUs of a set, in order.
pub fn numbers(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

/// A set of these CPUs, without numbers that no system has.
pub fn set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in cpus {
        let _ = set.set(*cpu);
    }
    set
}

/// Pins the calling thread, and what it starts, to these CPUs.
///
/// # Errors
/// When none of them may be used.
pub fn pin(cpus: &[usize]) -> nix::Result<()> {
    sched_setaffinity(Pid::from_raw(0), &set(cpus))
}

/// CPUs as the kernel lists them: `0-2,7`.
pub fn list(cpus: &[usize]) -> String {
    let stretches = cpus.chunk_by(|one, next| one + 1 == *next).map(|stretch| match stretch {
        [one] => one.to_string(),
        _ => format!("{}-{}", stretch[0], stretch[stretch.len() - 1]),
    });
    stretches.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_of_the_cpus_that_are_left_to_us() {
        let ours = cpus().to_vec();
        let last = *ours.last().expect("a CPU");
        std::thread::spawn(move || {
            pin(&[last]).expect("one of ours");
            assert_eq!(numbers(&sched_getaffinity(Pid::from_raw(0)).expect("affinity")), [last]);
            assert_eq!(cpus(), ours, "as the process began");
            assert!(pin(&[CpuSet::count() - 1]).is_err(), "a CPU that is not there");
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn stretches_are_written_as_the_kernel_does() {
        let written = |cpus: &[usize]| list(cpus);
        assert_eq!([written(&[]), written(&[3]), written(&[0, 1]), written(&[0, 1, 2, 7])], ["", "3", "0-1", "0-2,7"]);
    }
}
