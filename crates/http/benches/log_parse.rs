//! How fast access logs are read, against `wc -l` on the same file, in rounds of both in turn.
//!
//! Goals: 1 GB a second and core of CPU time, user and kernel, for plain Combined Log Format; at most 50 MB of memory whatever the
//! log's length. The log is made here (1 GiB in a temporary folder), or is the plain file that ACCESS_LOG names.
//!
//! `cargo bench -p http --bench log_parse`. With `--test`, and in `cargo test`, it only shows that all runs.

use goals::{Goals, Spread};
use http::log_generator::{Asset, Generator, Page, Shape};
use http::reader::Reader;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Odd, so that the median is a round's.
const ROUNDS: usize = 9;

const LOG_BYTES: u64 = 1 << 30;

const GIGABYTES_PER_SECOND_GOAL: f64 = 1.0;

const MEGABYTES_MAX: f64 = 50.0;

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("log_parse") else { return ExitCode::SUCCESS };
    let is_test = goals.is_test();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let given = std::env::var_os("ACCESS_LOG").map(PathBuf::from);
    let path = given.unwrap_or_else(|| made_log(folder.path(), if is_test { LOG_BYTES >> 10 } else { LOG_BYTES }));
    let bytes = std::fs::metadata(&path).expect("the log is there").len() as f64;
    let (mut ours, mut theirs, mut lines) = (Vec::new(), Vec::new(), 0);
    for _ in 0..if is_test { 1 } else { ROUNDS } {
        ours.push(bytes / 1e9 / cpu_seconds(UsageWho::RUSAGE_SELF, || lines = read(&path)));
        theirs.push(bytes / 1e9 / cpu_seconds(UsageWho::RUSAGE_CHILDREN, || count_lines(&path)));
    }
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let megabytes = megabytes_max();
    println!("{:.2} GB, {lines} lines of {:.0} bytes", bytes / 1e9, bytes / lines as f64);
    let goal = goals.at_least("gigabytes a second of CPU time", Spread::of(&ours), GIGABYTES_PER_SECOND_GOAL);
    println!("ours    {} GB/s of CPU time (median, 96 %)   {goal}", figures(&ours));
    println!("wc -l   {} GB/s", figures(&theirs));
    println!("ratio   {}", figures(&ratios));
    println!("memory  {megabytes:.1} MB at most   {}", goals.at_most("megabytes of memory", megabytes, MEGABYTES_MAX));
    goals.end()
}

/// Reads the log and looks at each request; how many lines it has.
fn read(path: &Path) -> u64 {
    let mut reader = Reader::open(path, u64::MAX).expect("the log can be opened");
    let mut target_bytes = 0;
    while let Some(bytes) = reader.next(|entry| entry.target.len()).expect("the log can be read") {
        target_bytes += bytes;
    }
    std::hint::black_box(target_bytes);
    reader.lines()
}

fn count_lines(path: &Path) {
    assert!(Command::new("wc").arg("-l").arg(path).output().is_ok_and(|output| output.status.success()));
}

/// A site of 500 pages and its visitors, without the virtual host before each line.
fn made_log(folder: &Path, bytes_min: u64) -> PathBuf {
    let page = |number: usize| Page {
        host: "www.example.org".into(),
        target: format!("/2026/{:02}/an-article-of-the-magazine-{number}/", number % 12 + 1),
        is_dynamic: number.is_multiple_of(2),
        bytes: Some(20_000 + number as u64),
        assets: (0..8)
            .map(|asset| Asset {
                target: format!("/themes/plain/assets/{}.css", number % 40 + asset),
                bytes: Some(4000),
            })
            .collect(),
    };
    let pages: Vec<Page> = (0..500).map(page).collect();
    let shape = Shape { requests: u64::MAX, sessions_per_second: 20.0, ..Shape::default() };
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let xorshift = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut generator = Generator::new(&pages, &shape, xorshift).expect("a shape that can be had");
    let path = folder.join("access.log");
    let mut out = BufWriter::new(File::create(&path).expect("a log can be made"));
    let (mut line, mut written) = (Vec::new(), 0);
    while written < bytes_min {
        line.clear();
        generator.next(&mut line);
        let line = line.splitn(2, |byte| *byte == b' ').nth(1).expect("the virtual host is followed by a blank");
        out.write_all(line).expect("a log can be written");
        written += line.len() as u64;
    }
    out.flush().expect("a log can be written");
    path
}

/// CPU time of `work`, here or in the processes that it starts.
fn cpu_seconds(who: UsageWho, work: impl FnOnce()) -> f64 {
    let seconds = || {
        let usage = getrusage(who).expect("every Unix counts this");
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
    };
    let before = seconds();
    work();
    (seconds() - before).max(1e-6)
}

/// The most memory that this process has had.
fn megabytes_max() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel keeps the peak");
    let kibibytes: f64 = peak.trim().trim_end_matches(" kB").parse().expect("a number of kB");
    kibibytes * 1024.0 / 1e6
}

fn figures(values: &[f64]) -> String {
    let Spread { median, low, high } = Spread::of(values);
    format!("{median:.3} ({low:.3}–{high:.3})")
}
