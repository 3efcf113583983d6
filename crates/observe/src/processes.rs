//! Processes and those that they started: what the kernel says of them (proc(5)), and how they end together. Elsewhere than on Linux neither is known.

use std::process::Command;

/// The numbers of all processes that a process started and that were not left to another parent, and then of theirs.
pub fn descendants(process: u32) -> Vec<u32> {
    let mut all = children(process);
    let mut at = 0;
    while let Some(parent) = all.get(at) {
        let theirs = children(*parent);
        all.extend(theirs);
        at += 1;
    }
    all
}

/// The numbers of those that it started itself.
pub fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Lets the program that a command starts end with the thread that starts it: it may have a group of its own, and that of a trial that was killed
/// would work on beside the next ones, where there are no namespaces that end with the trial.
#[cfg(target_os = "linux")]
pub fn end_with_us(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    // SAFETY: between fork and exec only one system call is made.
    unsafe { command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?)) };
}

#[cfg(not(target_os = "linux"))]
pub fn end_with_us(_command: &mut Command) {}
