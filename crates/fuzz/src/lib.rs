//! Readers of what others wrote, given what nobody would write: inputs changed at random from a stored corpus, until one makes
//! the reader panic, hang, or take memory without end.
//!
//! For tests alone: a target is a test that calls [`run`] with a corpus and a check. Its inputs run in a process of their own (this
//! test's binary once more), so that an abort, an overflow of the stack, a loop without end or the end of memory is a finding like a
//! panic, and harms no other test. What was being read then is kept, made smaller, and named with the command that reads it again.
//!
//! Seconds a target: `FUZZ_SECONDS`, else 4. The seed: `FUZZ_SEED`, else the clock's. `FUZZ_INPUT=FILE` reads that file only.
//! Compiled with the counters of `make fuzz`, inputs that reach something new are kept and changed further (`coverage.rs`).

mod corpus;
mod coverage;
mod draws;
mod mutate;
mod shared;
mod watch;

pub use draws::Random;

use mutate::Mutator;
use shared::Shared;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// With a dozen targets, about a minute in all.
const SECONDS: f64 = 4.0;

/// Where a child finds what it shares with its parent.
const CHILD: &str = "FUZZ_CHILD";

/// What is tested, and what it may cost.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The test's own full name, as `cargo test -- --exact` takes it.
    pub test: &'static str,
    /// The folder of its corpus, from the crate's own (`env!("CARGO_MANIFEST_DIR")`).
    pub corpus: (&'static str, &'static str),
    /// Texts that mean something to the reader, put in here and there.
    pub words: &'static [&'static str],
    /// No input is longer.
    pub bytes_max: usize,
    /// Address space that the reading of an input may take.
    pub memory_bytes_max: u64,
    /// What takes longer than this hangs.
    pub seconds_max: u64,
}

impl Target {
    /// A target with limits that suit a reader of small things.
    pub const fn new(test: &'static str, crate_folder: &'static str, corpus: &'static str) -> Target {
        Target {
            test,
            corpus: (crate_folder, corpus),
            words: &[],
            bytes_max: 16 << 10,
            memory_bytes_max: 1 << 30,
            seconds_max: 10,
        }
    }

    fn corpus(&self) -> PathBuf {
        Path::new(self.corpus.0).join(self.corpus.1)
    }
}

/// Reads the corpus, then changes of it until the time is over; `check` panics where something does not hold. What it draws at random
/// comes from the generator that it is given, whose seed is the input itself.
///
/// # Panics
/// When an input was found, or there is no corpus.
pub fn run(target: &Target, check: impl Fn(&[u8], &mut Random)) {
    let check = |bytes: &[u8]| check(bytes, &mut Random::of_bytes(bytes));
    if let Some(file) = std::env::var_os("FUZZ_INPUT") {
        return check(&std::fs::read(file).expect("FUZZ_INPUT is a file"));
    }
    match std::env::var_os(CHILD) {
        Some(file) => feed(target, &Shared::open(Path::new(&file)), &check),
        None => watch::watch(target, number("FUZZ_SEED")),
    }
}

/// One of a corpus, changed: for what reads files by their names, in a process of its own already.
pub fn changed(random: &mut Random, corpus: &[Vec<u8>], words: &'static [&'static str], bytes_max: usize) -> Vec<u8> {
    let target = Target { words, bytes_max, ..Target::new("", "", "") };
    Mutator::new(Random::new(random.bits()), &target).next(corpus)
}

/// The child's part.
fn feed(target: &Target, shared: &Shared, check: &dyn Fn(&[u8])) {
    watch::limit_memory(target.memory_bytes_max);
    if let Some(bytes) = shared.only() {
        return check(&bytes);
    }
    let try_one = |bytes: &[u8]| {
        shared.begin(bytes);
        check(bytes);
        shared.end();
        coverage::is_new()
    };
    let mut corpus = corpus::read(target);
    for bytes in &corpus {
        try_one(bytes);
    }
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut mutator = Mutator::new(Random::new(shared.seed()), target);
    while Instant::now() < end {
        let bytes = mutator.next(&corpus);
        if try_one(&bytes) {
            corpus::keep(target, &bytes);
            corpus.push(bytes);
        }
    }
    shared.say_reached(coverage::reached());
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}
