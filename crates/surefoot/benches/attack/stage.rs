//! Where the attack takes place: a folder, the program, a generator by seed, and what was tried and found.

use crate::harness::{Said, World, said};
use crate::left::{self, Machine};
use crate::report::Report;
use fuzz::Random;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The longest that a command of a few trials may take on a busy machine.
pub const COMMAND_TIME_MAX: Duration = Duration::from_secs(120);

/// See the module.
pub struct Stage {
    pub world: World,
    pub random: Random,
    pub is_test: bool,
    /// How many kills were asked for.
    pub kills: Option<usize>,
    report: Report,
    before: Machine,
    /// Processes that were started.
    conductors: BTreeSet<u32>,
}

impl Stage {
    pub fn new(is_test: bool, seed: u64, kills: Option<usize>) -> Stage {
        let (world, random) = (World::on_disk(), Random::new(seed));
        println!("seed {seed}, in {}", world.path().display());
        Stage {
            world,
            random,
            is_test,
            kills,
            report: Report::new(seed),
            before: left::machine(),
            conductors: BTreeSet::new(),
        }
    }

    /// Of a study whose filesystems are not what is attacked: as a test two whose image is small, as it is written whole.
    pub fn filesystems(&self) -> [&'static str; 2] {
        ["ext4", if self.is_test { "ext3" } else { "xfs" }]
    }

    /// Begins a part.
    pub fn begin(&mut self, part: &'static str) {
        self.report.begin(part);
    }

    /// One more thing was tried.
    pub fn tried(&mut self) {
        self.report.tried();
    }

    /// Something did not hold.
    pub fn found(&mut self, what: impl Into<String>) {
        self.report.found(what.into());
    }

    /// Something that must hold.
    pub fn holds(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.found(what());
        }
    }

    /// For `planted`: findings since the part began are what was to be seen.
    pub fn take_findings(&mut self) -> Vec<String> {
        self.report.take_findings()
    }

    /// Of two: as a test, and in full.
    pub fn count(&self, test: usize, full: usize) -> usize {
        if self.is_test { test } else { full }
    }

    /// Runs surefoot. A panic, an abort and a command without an end are findings whatever it was asked for.
    pub fn surefoot(&mut self, arguments: &[&str]) -> Said {
        let child = self.start(arguments);
        self.end_of(child, arguments)
    }

    /// Starts it and leaves it running, what it says in files.
    pub fn start(&mut self, arguments: &[&str]) -> Child {
        let mut command = self.world.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("surefoot starts");
        self.conductors.insert(child.id());
        child
    }

    /// Waits for what was started.
    pub fn end_of(&mut self, child: Child, arguments: &[&str]) -> Said {
        self.end_within(child, arguments, COMMAND_TIME_MAX)
    }

    /// The same, for a time of one's own.
    pub fn end_within(&mut self, mut child: Child, arguments: &[&str], time: Duration) -> Said {
        let (out, error) = (child.stdout.take(), child.stderr.take());
        // Read while it runs: a full pipe would hold it.
        let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                let _ = stream.map(|mut stream| stream.read_to_end(&mut text));
                text
            })
        };
        let (out, error) = (read(out.map(|s| Box::new(s) as _)), read(error.map(|s| Box::new(s) as _)));
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("our own child") {
                break status;
            }
            if started.elapsed() > time {
                self.found(format!("no end after {time:?}: surefoot {}", arguments.join(" ")));
                child.kill().expect("our own child");
                break child.wait().expect("our own child");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |thread: std::thread::JoinHandle<Vec<u8>>| thread.join().expect("no panic");
        let said = said(&std::process::Output { status, stdout: text(out), stderr: text(error) });
        self.no_panic(&said, &arguments.join(" "));
        said
    }

    /// Whatever it was asked for.
    pub fn no_panic(&mut self, said: &Said, what: &str) {
        let is_panic =
            said.status == Some(101) || said.stderr.contains("panicked at") || said.stdout.contains("panicked at");
        if is_panic || said.status.is_none() {
            let words = said.stderr.lines().rev().find(|line| !line.is_empty()).unwrap_or_default();
            let place = said.stderr.lines().find(|line| line.contains("panicked at")).unwrap_or(words);
            self.found(format!("a panic or an abort ({:?}): surefoot {what}: {place}", said.status));
        }
    }

    /// Nothing of this attack's is mounted, attached, running, in a cgroup or in shared memory.
    pub fn nothing_left(&mut self) {
        let conductors = self.conductors.clone();
        for left in left::left(self.world.path(), &self.before, &conductors) {
            self.found(format!("left behind: {left}"));
        }
    }

    /// The same right after a kill: its memory's group goes when the next command of the study starts.
    pub fn nothing_left_but_groups(&mut self) {
        for left in left::left(self.world.path(), &self.before, &BTreeSet::new()) {
            self.found(format!("left behind: {left}"));
        }
    }

    /// A file in the attack's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.world.path().join(name)
    }

    /// Prints the table; whether everything held.
    pub fn finish(self) -> bool {
        self.report.print()
    }
}

/// A hash of a file's bytes; of a block device's, too.
pub fn hash(path: &Path) -> u64 {
    use std::hash::Hasher as _;
    let mut hasher = std::hash::DefaultHasher::new();
    let mut file = File::open(path).expect("it was just there");
    // Compared whole: byte by byte an image took seconds without optimisation.
    let (mut buffer, zeros) = (vec![0_u8; 1 << 20], vec![0_u8; 1 << 20]);
    loop {
        match file.read(&mut buffer).expect("it can be read") {
            0 => return hasher.finish(),
            read if buffer[..read] == zeros[..read] => hasher.write_usize(read),
            read => hasher.write(&buffer[..read]),
        }
    }
}
