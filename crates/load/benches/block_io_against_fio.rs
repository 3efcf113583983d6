//! Our block I/O loop against fio's: the same file, block size, engine, depth and flushes, in alternating pairs.
//!
//! Both record the latency of every I/O. CPU time is that of the thread that drives the I/O, in user and kernel: what
//! fio reports as `usr_cpu` and `sys_cpu`, and the same counter for ours. Goals: no fewer I/Os per second than fio, and no
//! more CPU time per I/O; missed where the median's interval lies wholly on the wrong side.
//!
//! `cargo bench -p load`; with `-- --folder DIR` on another disk, with `-- --only TEXT` the cases with that text.
//! With `--test`, and in `cargo test`, it only shows that both run.

use goals::{Goals, Spread};
use load::block_io::{BlockIo, Engine, Pattern, lay_out, measure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const IOPS_RATIO_MIN: f64 = 1.0;
const CPU_RATIO_MAX: f64 = 1.0;

/// Room for 256 MiB in memory and on disk; the file is larger than a processor's cache, so that memory is touched.
const FILE_BYTES: u64 = 256 << 20;

/// Odd, so that the median is a pair's; many short ones, because a shared disk drifts from second to second.
const PAIRS: usize = 17;

struct Scale {
    pairs: usize,
    seconds: f64,
    file_bytes: u64,
}

struct Case {
    name: &'static str,
    in_memory: bool,
    direct: bool,
    pattern: Pattern,
    engine: Engine,
    depth: usize,
    fdatasync_ios: u64,
}

const CASES: &[Case] = &[
    case("page cache (tmpfs), psync, random write", true, Pattern::Randwrite, Engine::Psync, 1),
    case("page cache (tmpfs), psync, random read", true, Pattern::Randread, Engine::Psync, 1),
    Case {
        fdatasync_ios: 32,
        direct: false,
        ..case("disk, psync, random write, fdatasync every 32", false, Pattern::Randwrite, Engine::Psync, 1)
    },
    case("disk, O_DIRECT, psync, random write", false, Pattern::Randwrite, Engine::Psync, 1),
    case("disk, O_DIRECT, psync, random read", false, Pattern::Randread, Engine::Psync, 1),
    case("disk, O_DIRECT, io_uring depth 16, random write", false, Pattern::Randwrite, Engine::IoUring, 16),
    case("disk, O_DIRECT, io_uring depth 16, random read", false, Pattern::Randread, Engine::IoUring, 16),
];

const fn case(name: &'static str, in_memory: bool, pattern: Pattern, engine: Engine, depth: usize) -> Case {
    Case { name, in_memory, direct: !in_memory, pattern, engine, depth, fdatasync_ios: 0 }
}

/// What one side did.
struct Side {
    ios_per_second: f64,
    cpu_seconds_per_io: f64,
}

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("block_io_against_fio") else { return ExitCode::SUCCESS };
    let is_test = goals.is_test();
    let disk = goals.after("--folder").map_or_else(std::env::temp_dir, PathBuf::from);
    let only = goals.after("--only").unwrap_or_default().to_string();
    let scale = match is_test {
        true => Scale { pairs: 1, seconds: 0.1, file_bytes: 4 << 20 },
        false => Scale { pairs: PAIRS, seconds: 1.0, file_bytes: FILE_BYTES },
    };
    if Command::new("fio").arg("--version").output().is_err() {
        // Without the peer there is nothing to compare; a test must not pass unseen because of it.
        eprintln!("block_io_against_fio: fio is not on this machine (package fio)");
        return ExitCode::from(if is_test { 1 } else { 5 });
    }
    println!(
        "ours / fio, medians of {} pairs of {} s; goals: I/Os ≥ {IOPS_RATIO_MIN}, CPU ≤ {CPU_RATIO_MAX}",
        scale.pairs, scale.seconds
    );
    println!(
        "{:52} {:>9} {:>9} {:>6} {:>13} {:>6} {:>13}",
        "", "ours 1/s", "fio 1/s", "I/Os", "95 %", "CPU/IO", "95 %"
    );
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        compare(case, &scale, &disk, &mut goals);
    }
    goals.end()
}

/// Runs the pairs of a case and prints its line.
fn compare(case: &Case, scale: &Scale, disk: &Path, goals: &mut Goals) {
    let folder = if case.in_memory { Path::new("/dev/shm") } else { disk };
    let folder = tempfile::tempdir_in(folder).expect("a folder can be made");
    let job = BlockIo {
        path: folder.path().join("file"),
        seed: 1,
        size: scale.file_bytes,
        block_size: 4096,
        pattern: case.pattern,
        engine: case.engine,
        depth: case.depth,
        direct: case.direct,
        fdatasync_ios: case.fdatasync_ios,
        time: scale.seconds,
        verify: false,
    };
    lay_out(&job).expect("the file can be written");
    let (mut all_ours, mut all_fio) = (Vec::new(), Vec::new());
    for pair in 0..scale.pairs {
        // Who goes first changes, so that a drift of the machine hits both.
        if pair % 2 == 0 {
            all_ours.push(ours(&job));
            all_fio.push(fio(&job));
        } else {
            all_fio.push(fio(&job));
            all_ours.push(ours(&job));
        }
    }
    let spread = |values: Vec<f64>| Spread::of(&values);
    let ratios = |of: fn(&Side) -> f64| spread(all_ours.iter().zip(&all_fio).map(|(a, b)| of(a) / of(b)).collect());
    let speed = |sides: &[Side]| spread(sides.iter().map(|side| side.ios_per_second).collect()).median;
    let (iops, cpu) = (ratios(|side| side.ios_per_second), ratios(|side| side.cpu_seconds_per_io));
    let range = |values: Spread| format!("{:.3}–{:.3}", values.low, values.high);
    println!(
        "{:52} {:9.0} {:9.0} {:6.3} {:>13} {:6.3} {:>13}",
        case.name,
        speed(&all_ours),
        speed(&all_fio),
        iops.median,
        range(iops),
        cpu.median,
        range(cpu)
    );
    goals.at_least(&format!("{}: I/Os as a share of fio's", case.name), iops, IOPS_RATIO_MIN);
    goals.at_most(&format!("{}: CPU time as a share of fio's", case.name), cpu, CPU_RATIO_MAX);
}

fn ours(job: &BlockIo) -> Side {
    let result = measure(job).expect("our side runs");
    let ios = result.ios as f64;
    Side { ios_per_second: ios / result.seconds, cpu_seconds_per_io: result.cpu_seconds / ios }
}

fn fio(job: &BlockIo) -> Side {
    let (rw, direction) = match job.pattern {
        Pattern::Randwrite => ("randwrite", "write"),
        Pattern::Write => ("write", "write"),
        Pattern::Randread => ("randread", "read"),
        Pattern::Read => ("read", "read"),
    };
    let engine = match job.engine {
        Engine::Psync => "psync",
        Engine::IoUring => "io_uring",
    };
    let mut command = Command::new("fio");
    command
        .args(["--name=peer", "--time_based", "--norandommap", "--fallocate=none", "--output-format=json"])
        .arg(format!("--filename={}", job.path.display()))
        .arg(format!("--size={}", job.size))
        .arg(format!("--bs={}", job.block_size))
        .arg(format!("--rw={rw}"))
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--iodepth={}", job.depth))
        .arg(format!("--direct={}", u8::from(job.direct)))
        .arg(format!("--fdatasync={}", job.fdatasync_ios))
        .arg(format!("--runtime={}ms", (job.time * 1000.0).round()));
    let output = command.output().expect("fio starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "fio: {text}{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_str(&text[text.find('{').expect("fio prints JSON")..]).expect("fio prints JSON");
    let number = |pointer: String| {
        json.pointer(&pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("fio's JSON has no {pointer}"))
    };
    let ios = number(format!("/jobs/0/{direction}/total_ios"));
    let busy_percent = number("/jobs/0/usr_cpu".into()) + number("/jobs/0/sys_cpu".into());
    let cpu_seconds = busy_percent / 100.0 * number("/jobs/0/job_runtime".into()) / 1000.0;
    Side { ios_per_second: number(format!("/jobs/0/{direction}/iops")), cpu_seconds_per_io: cpu_seconds / ios }
}
