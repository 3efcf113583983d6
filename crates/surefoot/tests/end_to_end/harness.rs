//! A folder of its own for each test, the binary, and what must never be left behind.

use sandbox::isolation::{detach, lay_tmpfs, own_mounts};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// All tests that run at a time have up to 10 GB in memory; where less is left than this, the next lie on the disk.
const MEMORY_LEFT_BYTES: u64 = 8 << 30;

/// A test's world.
pub struct World {
    folder: tempfile::TempDir,
}

/// What the binary said and how it ended.
#[derive(Debug)]
pub struct Said {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    /// In memory, where there is enough of it: whole images are written in most tests, and all waited for one disk. Seen by this test's
    /// thread and what it starts, so that it goes with them, even if they are killed.
    pub fn new() -> World {
        let world = World::on_disk();
        if observe::machine::available_bytes() > MEMORY_LEFT_BYTES {
            own_mounts().and_then(|()| lay_tmpfs(world.path(), "mode=700")).expect("root may mount");
        }
        world
    }

    /// For what asks about the disk.
    pub fn on_disk() -> World {
        assert!(nix::unistd::geteuid().is_root(), "these tests make filesystems: run them as root");
        let folder = tempfile::Builder::new().prefix("surefoot-test-").tempdir_in("/var/tmp").expect("a folder");
        World { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file in the test's folder");
        path
    }

    /// A copy of the binary in the folder, made by another process: what this one has open for writing, a test beside it hands on to what it
    /// starts just then, and a file that is open for writing can't be started.
    pub fn copy_of_surefoot(&self) -> PathBuf {
        let copy = self.path().join("surefoot");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_surefoot")).arg(&copy).status();
        assert!(copied.is_ok_and(|status| status.success()), "no copy of the binary");
        copy
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_surefoot"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null()).env_remove("COLUMNS");
        command
    }

    pub fn surefoot(&self, arguments: &[&str]) -> Said {
        said(&self.command(arguments).output().expect("surefoot starts"))
    }

    /// Runs a study of the name `s`, which ends with this status, and gives its report.
    #[track_caller]
    pub fn run(&self, study: impl AsRef<[u8]>, status: i32) -> serde_json::Value {
        self.write("s.toml", study);
        self.surefoot(&["run", "s.toml"]).status(status);
        self.report("s.surefoot")
    }

    /// Runs a script in a mount namespace of its own.
    pub fn shell(&self, script: &str) -> Said {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-ec", script]).current_dir(self.path());
        said(&command.output().expect("unshare is part of util-linux"))
    }

    /// What it reports of a results file, as a program reads it.
    pub fn report(&self, results: &str) -> serde_json::Value {
        self.surefoot(&["report", results, "--json"]).json()
    }

    /// Starts it and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("surefoot starts")
    }

    /// Nothing of this test is mounted, attached or running.
    pub fn assert_nothing_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left behind: {left:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn left(&self) -> Vec<String> {
        let here = self.path().to_string_lossy().into_owned();
        let mut left = Vec::new();
        let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").expect("/proc");
        let below = mounts.lines().filter(|line| line.contains(&here) && line.split(' ').nth(4) != Some(here.as_str()));
        left.extend(below.map(|line| format!("mount {line}")));
        left.extend(loop_devices(self.path()));
        let ours = processes().into_iter().filter(|(_, line)| line.contains(&here));
        left.extend(ours.map(|(process, line)| format!("process {process}: {line}")));
        left
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A folder with something mounted on it can't be removed.
        let _ = detach(self.path());
    }
}

impl Said {
    #[track_caller]
    pub fn status(self, expected: i32) -> Said {
        assert_eq!(self.status, Some(expected), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Said {
        assert!(
            self.stderr.contains(text) || self.stdout.contains(text),
            "no {text:?} in\n{}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {}", self.stdout))
    }
}

pub fn said(output: &Output) -> Said {
    Said {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a tool that must work, and gives what it says.
#[track_caller]
pub fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; `make test` installs what is needed"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

/// Loop devices that stand on files below a folder, each with its file.
pub fn loop_devices(folder: &Path) -> Vec<String> {
    let here = folder.to_string_lossy();
    let of_device = |device: PathBuf| {
        let file = std::fs::read_to_string(device.join("loop/backing_file")).ok()?;
        file.contains(&*here).then(|| format!("loop device {} on {file}", device.display()))
    };
    let devices = Path::new("/sys/block").read_dir().expect("/sys").flatten();
    devices.filter_map(|device| of_device(device.path())).collect()
}

/// All processes, each with its command line.
pub fn processes() -> Vec<(i32, String)> {
    let entries = Path::new("/proc").read_dir().expect("/proc").flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.map(|process| (process, command_line(process))).collect()
}

/// A process' command line, of one that has ended nothing.
pub fn command_line(process: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// All processes below this one, its own before theirs.
pub fn descendants(process: i32) -> Vec<i32> {
    observe::processes::descendants(process.cast_unsigned()).into_iter().map(u32::cast_signed).collect()
}

/// The processes that this one started itself.
pub fn children(process: u32) -> Vec<i32> {
    observe::processes::children(process).into_iter().map(u32::cast_signed).collect()
}

/// Waits until something is true, at most this long.
#[track_caller]
pub fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(60), "waited in vain until {what}");
        // The longer it takes, the less often: a look may read all of /proc or start a program, beside tests that want the processors.
        std::thread::sleep((waited / 20).clamp(Duration::from_millis(10), Duration::from_millis(100)));
    }
}

/// A study that takes seconds: `filesystems` on a small loop device, short oltp runs.
pub fn small_study(filesystems: &[&str], rounds: u32) -> String {
    // The image is written whole: XFS needs 300 MiB, ext2 to ext4 little.
    let size = if filesystems.iter().all(|name| name.starts_with("ext")) { "64MiB" } else { "320MiB" };
    format!(
        r#"name = "small"
question = "Which is faster?"
[factors]
"storage.filesystem" = {filesystems:?}
[storage]
device = "loop"
size = {size:?}
[workload.oltp]
engine = "sqlite"
table_size = 2000
threads = 1
time = "300ms"
[design]
probe = "0s"
rounds_min = {rounds}
rounds_max = {rounds}
warm_up_runs = 0
runs = 1
"#
    )
}

/// A small study on a block device, which has its own size, with these further lines of `[storage]`.
pub fn on_block_device(study: &str, path: &str, more: &str) -> String {
    let lines = study.lines().filter(|line| !line.starts_with("size = "));
    let study: String = lines.flat_map(|line| [line, "\n"]).collect();
    study.replace("device = \"loop\"", &format!("device = \"block\"\npath = {path:?}\n{more}"))
}
