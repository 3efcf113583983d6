//! A thread of a load keeps to one CPU.
//!
//! Where load and server share CPUs, the kernel moves a waiting thread to whoever wakes it, and in the end all share one CPU while the
//! other idles. With two CPUs and PostgreSQL that made 1,700 transactions a second of 2,300, from about a second after a run's start on: short
//! runs and long ones differed, and so did settings that wait often and those that don't.

/// Keeps the calling thread to the CPU with this number among those that it may use, counted round. Where the system refuses, it may use any.
#[cfg(target_os = "linux")]
pub fn keep(thread: usize) {
    use observe::affinity;
    let Ok(ours) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else { return };
    let usable = affinity::numbers(&ours);
    if let Some(cpu) = usable.get(thread % usable.len().max(1)) {
        let _ = affinity::pin(&[*cpu]);
    }
}

/// Threads are where the system puts them.
#[cfg(not(target_os = "linux"))]
pub fn keep(_thread: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use nix::sched::sched_getaffinity;
    use nix::unistd::Pid;
    use observe::affinity;

    #[test]
    fn threads_are_spread_over_the_cpus_there_are() {
        let affinity = || affinity::numbers(&sched_getaffinity(Pid::from_raw(0)).expect("affinity"));
        let all = affinity();
        for thread in 0..2 * all.len() {
            let kept = std::thread::scope(|scope| {
                let kept = scope.spawn(|| {
                    super::keep(thread);
                    affinity()
                });
                kept.join().expect("no panic")
            });
            assert_eq!(kept, [all[thread % all.len()]]);
        }
        assert_eq!(affinity(), all, "others are where they were");
    }
}
