//! The parent's part: starts the process that reads inputs, sees how it ends, and makes a finding smaller.

use crate::shared::Shared;
use crate::{CHILD, Random, Target, corpus};
use nix::sys::resource::{Resource, setrlimit};
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a finding is made smaller.
const REDUCE_TIME_MAX: Duration = Duration::from_secs(20);

/// Lines of the child's last words that are shown.
const LINES: usize = 12;

/// Reads inputs in a process of its own until its time is over or something was found.
pub(crate) fn watch(target: &Target, seed: Option<u64>) {
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos() as u64);
    let seed = seed.unwrap_or_else(clock);
    let place = Place::new(target);
    let longest = corpus::read(target).iter().map(Vec::len).max().unwrap_or(0).max(target.bytes_max);
    let shared = Shared::create(&place.shared, longest, seed);
    let started = Instant::now();
    let Err(how) = place.run(target, &shared) else {
        let branches = if shared.reached() > 0 { format!(", {} branches", shared.reached()) } else { String::new() };
        let seconds = started.elapsed().as_secs_f64();
        println!("{}: {} inputs in {seconds:.1} s{branches}", target.test, shared.ended());
        return;
    };
    assert!(shared.begun() > 0, "{}: it ended before the first input: {how}", target.test);
    let (found, input) = (shared.under_way(), shared.begun());
    drop(shared);
    let smaller = place.reduced(target, &found);
    let name = format!("{}-{:016x}", target.test.replace("::", "-"), Random::of_bytes(&smaller).bits());
    let file = corpus::output().join(name);
    std::fs::write(&file, &smaller).expect("a file below target/");
    panic!(
        "{}: {how}\nseed {seed}, input {}: {} bytes, made smaller: {}\nread it again: FUZZ_INPUT={} cargo test -p {} {}\nwhen it is mended, keep \
         the file in {}",
        target.test,
        input,
        found.len(),
        smaller.len(),
        file.display(),
        Path::new(target.corpus.0).file_name().unwrap_or_default().to_string_lossy(),
        target.test,
        target.corpus().display()
    );
}

/// Address space beyond what is taken now.
pub(crate) fn limit_memory(bytes: u64) {
    // proc_pid_statm(5): the first number is the address space, in pages.
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let limit = pages * 4096 + bytes;
    let _ = setrlimit(Resource::RLIMIT_AS, limit, limit);
}

/// Files of a target while it is tested.
struct Place {
    shared: PathBuf,
    words: PathBuf,
}

impl Place {
    fn new(target: &Target) -> Place {
        let folder = corpus::output();
        std::fs::create_dir_all(&folder).expect("a folder below target/");
        let file = |end: &str| folder.join(format!("{}-{}.{end}", target.test.replace("::", "-"), std::process::id()));
        Place { shared: file("shared"), words: file("words") }
    }

    /// How a child ended, if not well.
    fn run(&self, target: &Target, shared: &Shared) -> Result<(), String> {
        let words = File::create(&self.words).expect("a file below target/");
        let program = std::env::current_exe().expect("this program has a path");
        let child = Command::new(program)
            .args([target.test, "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, &self.shared)
            .stdin(Stdio::null())
            .stdout(words.try_clone().expect("a descriptor"))
            .stderr(words)
            .spawn()
            .expect("this program starts once more");
        let ended = wait(child, target, shared);
        let said = std::fs::read(&self.words).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        match ended {
            None => Err(format!("it hangs: an input took more than {} s", target.seconds_max)),
            // A wrong name of the test is a test that can't fail.
            Some(status) if status.success() && said.contains("1 passed") => Ok(()),
            Some(status) => {
                let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).take(LINES).collect();
                let how = status.signal().map_or(String::new(), |signal| format!("it was ended by signal {signal}\n"));
                Err(format!("{how}{}", lines.join("\n")))
            }
        }
    }

    fn fails(&self, target: &Target, bytes: &[u8]) -> bool {
        let shared = Shared::create(&self.shared, bytes.len(), 0);
        shared.ask_only(bytes);
        self.run(target, &shared).is_err()
    }

    /// As long as it is still a finding: without a piece, of half the length, a quarter, …
    fn reduced(&self, target: &Target, found: &[u8]) -> Vec<u8> {
        let end = Instant::now() + REDUCE_TIME_MAX;
        let mut bytes = found.to_vec();
        let mut piece = bytes.len().div_ceil(2);
        while piece > 0 && Instant::now() < end {
            let mut at = 0;
            while at < bytes.len() && Instant::now() < end {
                let mut shorter = bytes[..at].to_vec();
                shorter.extend_from_slice(bytes.get(at + piece..).unwrap_or_default());
                if self.fails(target, &shorter) {
                    bytes = shorter;
                } else {
                    at += piece;
                }
            }
            piece /= 2;
        }
        bytes
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.shared);
        let _ = std::fs::remove_file(&self.words);
    }
}

/// None: it hung, and was ended.
fn wait(mut child: Child, target: &Target, shared: &Shared) -> Option<ExitStatus> {
    let mut last = (shared.begun(), Instant::now());
    loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            return Some(status);
        }
        if shared.begun() != last.0 {
            last = (shared.begun(), Instant::now());
        }
        if last.1.elapsed() > Duration::from_secs(target.seconds_max) {
            child.kill().expect("our own child");
            child.wait().expect("our own child");
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Target = Target {
        seconds_max: 1,
        memory_bytes_max: 256 << 20,
        ..Target::new("watch::tests::findings", env!("CARGO_MANIFEST_DIR"), "src")
    };

    /// What is found below: a panic, an abort, a loop without end, memory without end.
    #[test]
    fn findings() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        crate::run(&TARGET, |bytes, _| match bytes.iter().find(|byte| **byte < b' ') {
            Some(1) => panic!("one"),
            Some(2) => std::process::abort(),
            Some(3) => loop {
                std::hint::spin_loop();
            },
            Some(4) => drop(std::hint::black_box(vec![1_u8; 1 << 30])),
            _ => {}
        });
    }

    #[test]
    fn each_kind_of_end_is_a_finding_and_its_input_is_made_smaller() {
        let place = Place::new(&Target { test: "watch", ..TARGET });
        assert!(!place.fails(&TARGET, b"all is well"));
        for kind in [1, 2, 3, 4] {
            assert!(place.fails(&TARGET, &[b'a', kind]), "{kind}");
        }
        assert_eq!(place.reduced(&TARGET, b"some text \x02 and more of it"), [2]);
    }
}
