//! The program that runs now, and what lies at its path: what is started by the path may be another one, as after an upgrade.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Where the kernel leads to what runs, whatever became of its path (proc(5)).
const RUNNING: &str = "/proc/self/exe";

/// Whether another file lies at the path that this process was started by, or none: by its number, and by the path that the kernel has for what runs,
/// as some filesystems of containers give a file two numbers. Where the kernel does not say what runs it is taken to be there.
pub fn is_replaced(program: &Path) -> bool {
    is_other(Path::new(RUNNING), program) && !std::env::current_exe().is_ok_and(|path| path == program)
}

fn is_other(running: &Path, program: &Path) -> bool {
    let Ok(running) = running.metadata() else { return false };
    !program.metadata().is_ok_and(|found| (found.dev(), found.ino()) == (running.dev(), running.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_takes_the_place_of_another_is_not_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let [running, program, newer] = ["running", "program", "newer"].map(|name| folder.path().join(name));
        assert!(!is_other(&running, &program), "nothing is known");
        std::fs::write(&running, "one").expect("written");
        std::fs::hard_link(&running, &program).expect("linked");
        assert!(!is_other(&running, &program));
        // The same bytes: what was built anew is not looked into.
        std::fs::write(&newer, "one").expect("written");
        std::fs::rename(&newer, &program).expect("renamed");
        assert!(is_other(&running, &program));
        std::fs::remove_file(&program).expect("removed");
        assert!(is_other(&running, &program));
        let own = std::env::current_exe().expect("this program");
        assert!(!is_replaced(&own) && (is_replaced(&running) || !Path::new(RUNNING).exists()));
    }
}
