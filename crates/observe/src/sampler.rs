//! Telemetry of a run: counters before and after it, and once a second in between.
//!
//! Driven by `lab::trial`. Explains a figure; never is one that a claim is about.

use crate::metric::{Direction, Measured, Metric};
use crate::proc::{self, Disk, Stat};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Watches the machine until it is stopped.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<(Snapshot, BTreeMap<String, Vec<f64>>)>,
    before: Snapshot,
    sources: Sources,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// Figures over the whole window.
    pub metrics: Vec<Measured>,
    /// Values once a second.
    pub series: BTreeMap<String, Vec<f64>>,
}

/// Where to look.
#[derive(Debug, Clone)]
struct Sources {
    device: Option<PathBuf>,
    backing: Option<PathBuf>,
    mount_point: Option<PathBuf>,
}

impl Sampler {
    /// Starts watching. `device` is the block device under test (`loop3`), `backing` the disk below it (`vda`).
    #[must_use]
    pub fn start(device: Option<&str>, backing: Option<&str>, mount_point: Option<&Path>) -> Sampler {
        let stat = |name: &str| Path::new("/sys/class/block").join(name).join("stat");
        let sources = Sources {
            device: device.map(stat),
            backing: backing.map(stat),
            mount_point: mount_point.map(Path::to_path_buf),
        };
        let (stop, stopped) = channel();
        let watched = sources.clone();
        let before = Snapshot::take(&sources);
        let mut last = before.clone();
        let thread = std::thread::spawn(move || {
            let mut series = BTreeMap::new();
            let started = Instant::now();
            for second in 1.. {
                // Against the start, so that the cost of sampling does not add up.
                let wait = Duration::from_secs(second).saturating_sub(started.elapsed());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                let now = Snapshot::take(&watched);
                now.add_to(&last, &mut series);
                last = now;
            }
            (Snapshot::take(&watched), series)
        });
        Sampler { stop, thread, before, sources }
    }

    /// Stops watching.
    ///
    /// # Panics
    /// When the sampling thread did.
    #[must_use]
    pub fn stop(self) -> Telemetry {
        // The thread may have ended only by a panic, which `join` passes on.
        let _ = self.stop.send(());
        let (after, series) = self.thread.join().expect("the sampling thread only reads");
        Telemetry { metrics: after.metrics_since(&self.before, &self.sources), series }
    }
}

/// Bytes and flushes of the device against what the workload itself asked for. `workload_bytes` and `commits` of 0
/// mean that the workload does not know.
#[must_use]
pub fn derived(telemetry: &Telemetry, workload_bytes: u64, commits: u64) -> Vec<Measured> {
    let find = |name: &str| telemetry.metrics.iter().find(|measured| measured.metric.name == name).map(|m| m.value);
    let mut metrics = Vec::new();
    if let (Some(bytes), 1..) = (find("device_write_bytes"), workload_bytes) {
        metrics.push(Metric::new("write_amplification", "1", Direction::Less).at(bytes / workload_bytes as f64));
    }
    if let (Some(flushes), 1..) = (find("device_flushes"), commits) {
        metrics.push(Metric::new("flushes_per_commit", "1", Direction::Neither).at(flushes / commits as f64));
    }
    metrics
}

/// All counters at one moment.
#[derive(Debug, Clone)]
struct Snapshot {
    at: Instant,
    stat: Stat,
    own_cpu_seconds: f64,
    device: Option<Disk>,
    backing: Option<Disk>,
    used_bytes: Option<f64>,
    available_bytes: Option<u64>,
    dirty_bytes: Option<u64>,
    writeback_bytes: Option<u64>,
    /// Stalled microseconds: cpu, io, memory.
    pressure: [Option<u64>; 3],
}

impl Snapshot {
    fn take(sources: &Sources) -> Snapshot {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let disk = |path: &Option<PathBuf>| proc::disk(&std::fs::read_to_string(path.as_ref()?).ok()?);
        let memory = read("/proc/meminfo");
        Snapshot {
            at: Instant::now(),
            stat: proc::stat(&read("/proc/stat")),
            own_cpu_seconds: own_cpu_seconds(),
            device: disk(&sources.device),
            backing: disk(&sources.backing),
            used_bytes: sources.mount_point.as_deref().and_then(used_bytes),
            available_bytes: proc::meminfo(&memory, "MemAvailable"),
            dirty_bytes: proc::meminfo(&memory, "Dirty"),
            writeback_bytes: proc::meminfo(&memory, "Writeback"),
            pressure: ["cpu", "io", "memory"].map(|name| proc::pressure(&read(&format!("/proc/pressure/{name}")))),
        }
    }

    fn add_to(&self, before: &Snapshot, series: &mut BTreeMap<String, Vec<f64>>) {
        let mut add = |name: &str, value: f64| series.entry(name.to_string()).or_default().push(value);
        for (name, share) in self.stat.all.since(before.stat.all).shares() {
            add(&format!("cpu_{name}_share"), share);
        }
        if let (Some(now), Some(then)) = (self.device, before.device) {
            let seconds = (self.at - before.at).as_secs_f64();
            add("device_read_bytes_per_second", (now.read_bytes - then.read_bytes) / seconds);
            add("device_write_bytes_per_second", (now.write_bytes - then.write_bytes) / seconds);
            if let (Some(now), Some(then)) = (now.flushes, then.flushes) {
                add("device_flushes_per_second", (now - then) / seconds);
            }
        }
        for (name, value) in [("dirty_bytes", self.dirty_bytes), ("writeback_bytes", self.writeback_bytes)] {
            if let Some(value) = value {
                add(name, value as f64);
            }
        }
    }

    fn metrics_since(&self, before: &Snapshot, sources: &Sources) -> Vec<Measured> {
        use Direction::{Less, Neither};
        let seconds = (self.at - before.at).as_secs_f64();
        let mut metrics = Vec::new();
        let mut add = |name: String, unit: &'static str, direction, value| {
            metrics.push(Metric::named(name, unit.into(), direction).at(value));
        };
        for (name, share) in self.stat.all.since(before.stat.all).shares() {
            add(format!("cpu_{name}_share"), "1", Neither, share);
        }
        for (cpu, (now, then)) in self.stat.each.iter().zip(&before.stat.each).enumerate() {
            for (name, share) in now.since(*then).shares().into_iter().filter(|(name, _)| *name != "idle") {
                add(format!("cpu{cpu}_{name}_share"), "1", Neither, share);
            }
        }
        let switches = self.stat.context_switches.saturating_sub(before.stat.context_switches);
        add("context_switches_per_second".into(), "1/s", Neither, switches as f64 / seconds);
        add("client_cpu_seconds".into(), "s", Neither, self.own_cpu_seconds - before.own_cpu_seconds);
        add("client_cpu_share".into(), "1", Neither, (self.own_cpu_seconds - before.own_cpu_seconds) / seconds);
        for (prefix, now, then) in
            [("device", self.device, before.device), ("backing_device", self.backing, before.backing)]
        {
            if let (Some(now), Some(then)) = (now, then) {
                for (name, unit, value) in disk_figures(now, then, seconds) {
                    add(format!("{prefix}_{name}"), unit, Neither, value);
                }
            }
        }
        for (name, now, then) in [
            ("cpu", self.pressure[0], before.pressure[0]),
            ("io", self.pressure[1], before.pressure[1]),
            ("memory", self.pressure[2], before.pressure[2]),
        ] {
            if let (Some(now), Some(then)) = (now, then) {
                add(format!("pressure_{name}_share"), "1", Less, now.saturating_sub(then) as f64 / 1e6 / seconds);
            }
        }
        for (name, value) in [("memory_available_bytes", self.available_bytes), ("dirty_bytes", self.dirty_bytes)] {
            if let Some(value) = value {
                add(name.into(), "B", Neither, value as f64);
            }
        }
        if let (Some(used), Some(_)) = (self.used_bytes, &sources.mount_point) {
            add("filesystem_used_bytes".into(), "B", Less, used);
        }
        metrics
    }
}

fn disk_figures(now: Disk, then: Disk, seconds: f64) -> Vec<(&'static str, &'static str, f64)> {
    let mut figures = vec![
        ("reads", "1", now.reads - then.reads),
        ("read_bytes", "B", now.read_bytes - then.read_bytes),
        ("writes", "1", now.writes - then.writes),
        ("write_bytes", "B", now.write_bytes - then.write_bytes),
        ("busy_share", "1", (now.busy_seconds - then.busy_seconds) / seconds),
    ];
    for (name, now, then) in [("flushes", now.flushes, then.flushes), ("discards", now.discards, then.discards)] {
        if let (Some(now), Some(then)) = (now, then) {
            figures.push((name, "1", now - then));
        }
    }
    figures
}

/// CPU time of this process and of the children it has waited for.
fn own_cpu_seconds() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .into_iter()
        .filter_map(|who| getrusage(who).ok())
        .flat_map(|usage| [usage.user_time(), usage.system_time()])
        .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
        .sum()
}

fn used_bytes(path: &Path) -> Option<f64> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    Some((stat.blocks() - stat.blocks_free()) as f64 * stat.fragment_size() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_second_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let sampler = Sampler::start(None, None, Some(folder.path()));
        let started = Instant::now();
        let mut turns = 0_u64;
        while started.elapsed() < Duration::from_millis(1200) {
            turns = std::hint::black_box(turns + 1);
        }
        let telemetry = sampler.stop();
        let find = |name: &str| telemetry.metrics.iter().find(|m| m.metric.name == name).map(|m| m.value);
        assert!(find("client_cpu_seconds").expect("always there") > 0.3, "{telemetry:?}");
        assert!(find("filesystem_used_bytes").is_some());
        assert_eq!(telemetry.series["cpu_user_share"].len(), 1);
        assert!(derived(&telemetry, 1000, 10).is_empty(), "no device, no amplification");
    }

    #[test]
    fn amplification_and_flushes_per_commit() {
        let metric = |name, value| Metric::new(name, "1", Direction::Neither).at(value);
        let metrics = vec![metric("device_write_bytes", 3000.0), metric("device_flushes", 20.0)];
        let telemetry = Telemetry { metrics, series: BTreeMap::new() };
        let values: Vec<f64> = derived(&telemetry, 1000, 10).iter().map(|measured| measured.value).collect();
        assert_eq!(values, [3.0, 2.0]);
        assert!(derived(&telemetry, 0, 0).is_empty());
    }
}
