//! What the machine did during a run: exact differences between its start and its end, and a sample each second.
//!
//! Driven by `lab::trial` around each run. Every figure is of the whole machine, but the device's and `driver_cpu_*`.
//! A figure that this kernel or device does not have is left out, never 0.

mod snapshot;

use crate::cpu::{KINDS, shares};
use crate::disk;
use crate::metric::{Direction, Measured, Metric};
use crate::pressure::RESOURCES;
use snapshot::{List, SPACE_USED, Snapshot, Targets, busy_share, difference, growth};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Device bytes written for each byte the workload wrote. What is still in memory at the run's end isn't counted.
const WRITE_AMPLIFICATION: Metric = Metric::new("write_amplification", "1", Direction::Less);
/// What a flush took. From `/proc/diskstats`, which counts whole milliseconds: a mean over a run is finer than its parts.
const FLUSH_SECONDS_MEAN: Metric = Metric::new("flush_seconds_mean", "s", Direction::Less);
/// Flushes the device got for each durable commit. Neither is better: below 1 commits share flushes, or go without. Each
/// disk of a stripe counts its own: where one disk gets 1 a commit, two get 2.
const FLUSHES_PER_COMMIT: Metric = Metric::new("flushes_per_commit", "1", Direction::Neither);
/// The commits of that ratio: without them nobody could add up several runs of which some got no flush.
const COMMITS: Metric = Metric::new("commits", "1", Direction::Neither);

/// Where the trial's data lie.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// On a filesystem of their own: what is used there is theirs.
    Filesystem(&'a Path),
    /// In a folder beside other data.
    Folder(&'a Path),
}

/// What a run's telemetry is of.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watched<'a> {
    /// What is under the filesystem under test (`loop3`); none: the disk under `place`, if any.
    pub device: Option<&'a str>,
    /// What is under a server's log of changes, or a filesystem's, when that has a device of its own.
    pub log_device: Option<&'a str>,
    /// Where the data lie.
    pub place: Option<Place<'a>>,
    /// Processes that are virtual disks: their CPU time is that of hardware, and no server's.
    pub disks: &'a [u32],
}

/// What the machine did during one run.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// Figures of the whole run.
    pub metrics: Vec<Measured>,
    /// One value a second from the run's start: of a level (`dirty_bytes`) the level at the second's end, of a
    /// count (`device_write_bytes`) its growth in that second.
    pub series: BTreeMap<String, Vec<f64>>,
}

/// Samples until it is stopped.
#[derive(Debug)]
pub struct Sampler {
    targets: Targets,
    before: Snapshot,
    /// Dropped to stop the thread.
    stop: Sender<()>,
    thread: JoinHandle<Samples>,
}

impl Sampler {
    /// Starts a run's telemetry.
    ///
    /// # Panics
    /// When the system has no thread left to give.
    pub fn start(watched: &Watched) -> Sampler {
        let targets = Targets::find(watched);
        let (stop, stopped) = channel::<()>();
        let of_thread = targets.clone();
        let before = Snapshot::take(&targets);
        let first = before.clone();
        let work = move || {
            let mut samples = Samples::new(first);
            while stopped.recv_timeout(samples.until_next()) == Err(RecvTimeoutError::Timeout) {
                samples.add(Snapshot::take(&of_thread));
            }
            samples
        };
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(work).expect("a thread can be had");
        Sampler { targets, before, stop, thread }
    }

    /// Ends the run's telemetry.
    ///
    /// # Panics
    /// When the sampling thread panicked.
    pub fn stop(self) -> Telemetry {
        let after = Snapshot::take(&self.targets);
        drop(self.stop);
        let mut samples = self.thread.join().expect("the sampling thread does not panic");
        samples.note_extremes(&after);
        let mut metrics = difference(&self.before, &after);
        metrics.extend(samples.extremes());
        // Looked at once and after the run: to walk through a folder takes time, and warms caches.
        let folder = self.targets.folder.as_deref().and_then(disk::space_of_folder);
        metrics.extend(folder.map(|bytes| SPACE_USED.at(bytes as f64)));
        Telemetry { metrics, series: samples.series }
    }
}

/// Figures that need both the machine's and the workload's count; each is left out where either is unknown.
pub fn derived(telemetry: &Telemetry, workload_bytes: u64, commits: u64) -> Vec<Measured> {
    let value =
        |name: &str| telemetry.metrics.iter().find(|measured| measured.metric.name == name).map(|found| found.value);
    // What a commit costs is spread over both volumes; where one of them does not tell, nobody knows the sum.
    let of_log = |name: &str| value("device_log_writes").map_or(Some(0.0), |_| value(&format!("device_log_{name}")));
    let both = |name: &str| Some(value(&format!("device_{name}"))? + of_log(name)?);
    let ratio =
        |metric: &Metric, name: &str, count: u64| Some(metric.at(both(name)? / count as f64)).filter(|_| count > 0);
    let flushes = both("flushes").filter(|count| *count > 0.0);
    let latency = flushes.and_then(|count| Some(FLUSH_SECONDS_MEAN.at(both("flush_seconds")? / count)));
    let amplification = ratio(&WRITE_AMPLIFICATION, "write_bytes", workload_bytes);
    let per_commit = ratio(&FLUSHES_PER_COMMIT, "flushes", commits);
    let commits = per_commit.as_ref().map(|_| COMMITS.at(commits as f64));
    [amplification, per_commit, latency, commits].into_iter().flatten().collect()
}

/// What the sampling thread has gathered.
#[derive(Debug)]
struct Samples {
    start: Instant,
    /// Whole seconds that have their values.
    seconds: usize,
    last: Snapshot,
    series: BTreeMap<String, Vec<f64>>,
    available_min: Option<u64>,
    dirty_max: Option<u64>,
    writeback_max: Option<u64>,
}

impl Samples {
    fn new(first: Snapshot) -> Samples {
        let (start, series) = (first.at, BTreeMap::new());
        let mut samples = Samples {
            start,
            seconds: 0,
            last: first.clone(),
            series,
            available_min: None,
            dirty_max: None,
            writeback_max: None,
        };
        samples.note_extremes(&first);
        samples
    }

    /// How long until the next whole second of the run ends.
    fn until_next(&self) -> Duration {
        (self.start + Duration::from_secs(self.seconds as u64 + 1)).saturating_duration_since(Instant::now())
    }

    fn add(&mut self, now: Snapshot) {
        self.note_extremes(&now);
        let whole = now.at.duration_since(self.start).as_secs() as usize;
        let missed = whole.saturating_sub(self.seconds);
        let interval = now.at.duration_since(self.last.at).as_secs_f64();
        if missed == 0 || interval <= 0.0 {
            return;
        }
        for (name, value) in values(&self.last, &now, interval) {
            let series = self.series.entry(name).or_default();
            // A figure that came late or a second that was slept over on a busy machine must not shift the others.
            series.resize(self.seconds.max(series.len()), f64::NAN);
            series.resize(whole, value);
        }
        self.seconds = whole;
        self.last = now;
    }

    fn note_extremes(&mut self, now: &Snapshot) {
        let Some(memory) = now.memory else { return };
        self.available_min = Some(self.available_min.map_or(memory.available, |min| min.min(memory.available)));
        self.dirty_max = self.dirty_max.max(Some(memory.dirty));
        self.writeback_max = self.writeback_max.max(Some(memory.writeback));
    }

    fn extremes(&self) -> Vec<Measured> {
        let mut list = List(Vec::new());
        let named = [
            ("memory_available_bytes_min", self.available_min),
            ("dirty_bytes_max", self.dirty_max),
            ("memory_writeback_bytes_max", self.writeback_max),
        ];
        let known = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.for_each(|(name, value)| list.add(name.into(), "B", value as f64));
        list.0
    }
}

/// The values of one second, by the name of their series. Growth is scaled to a second: the thread wakes a little late.
fn values(before: &Snapshot, after: &Snapshot, interval: f64) -> Vec<(String, f64)> {
    let mut list = Vec::new();
    if let (Some(before), Some(after)) = (&before.stat, &after.stat) {
        for (kind, share) in KINDS.iter().zip(shares(&before.total, &after.total).into_iter().flatten()) {
            list.push((format!("cpu_{kind}_share"), share));
        }
        for (number, ticks) in &after.cpus {
            if let Some([_, _, iowait, _, _, idle]) = before.cpu(*number).and_then(|before| shares(before, ticks)) {
                list.push((format!("cpu_{number}_busy_share"), 1.0 - iowait - idle));
            }
        }
        let switches = after.context_switches.saturating_sub(before.context_switches);
        list.push(("context_switches".into(), switches as f64 / interval));
    }
    let devices = [
        ("device", before.device, after.device),
        ("device_log", before.log, after.log),
        ("device_backing", before.backing, after.backing),
    ];
    for (prefix, before, after) in devices {
        let Some((before, after)) = before.zip(after) else { continue };
        list.extend(
            growth(&before, &after).into_iter().map(|(name, _, grown)| (format!("{prefix}_{name}"), grown / interval)),
        );
        list.extend(busy_share(&before, &after, interval).map(|share| (format!("{prefix}_busy_share"), share)));
    }
    if let Some(memory) = after.memory {
        list.push(("memory_available_bytes".into(), memory.available as f64));
        list.push(("dirty_bytes".into(), memory.dirty as f64));
        list.push(("memory_writeback_bytes".into(), memory.writeback as f64));
    }
    list.extend(after.space_used.map(|used| ("space_used_bytes".into(), used as f64)));
    for (index, resource) in RESOURCES.iter().enumerate() {
        if let (Some(before), Some(after)) = (before.pressure[index], after.pressure[index]) {
            let stalled = after.some.saturating_sub(before.some) as f64 * 1e-6;
            list.push((format!("pressure_{resource}_some_share"), stalled / interval));
        }
    }
    list.push(("driver_cpu_cores".into(), (after.own_seconds - before.own_seconds).max(0.0) / interval));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Counters;
    use crate::memory::Memory;
    use crate::pressure::Pressure;
    use proptest::prelude::*;

    fn at(start: Instant, milliseconds: u64, written: u64) -> Snapshot {
        let counters = Counters { write_bytes: written, flushes: Some(written / 100), ..Counters::default() };
        Snapshot {
            at: start + Duration::from_millis(milliseconds),
            stat: None,
            memory: Some(Memory {
                total: 9000,
                available: 5000 - written.min(5000),
                dirty: written,
                ..Memory::default()
            }),
            device: Some(counters),
            log: None,
            backing: None,
            space_used: Some(written),
            pressure: [None, Some(Pressure { some: written, full: None }), None],
            own_seconds: 0.0,
            others_seconds: None,
            disks_seconds: None,
        }
    }

    fn value(metrics: &[Measured], name: &str) -> Option<f64> {
        metrics.iter().find(|measured| measured.metric.name == name).map(|found| found.value)
    }

    #[test]
    fn what_is_said_of_each_run_has_names_that_no_program_may_have() {
        use crate::cpu::{DRIVER_CPUS, OWN_CPUS, SERVER_CPUS};
        let folder = std::env::temp_dir();
        let watched = Watched { place: Some(Place::Filesystem(&folder)), ..Watched::default() };
        let said = Sampler::start(&watched).stop().metrics;
        assert!(said.len() > 5, "{said:?}");
        let others = [WRITE_AMPLIFICATION, FLUSH_SECONDS_MEAN, FLUSHES_PER_COMMIT, COMMITS, SPACE_USED];
        let of_cpus = [DRIVER_CPUS, SERVER_CPUS, OWN_CPUS];
        for metric in said.into_iter().map(|measured| measured.metric).chain(others).chain(of_cpus) {
            assert!(crate::metric::is_taken(&metric.name), "{}", metric.name);
        }
        assert!(!["speed", "cpu_seconds", "program_errors"].into_iter().any(crate::metric::is_taken));
    }

    #[test]
    fn the_difference_is_exact() {
        let start = Instant::now();
        let metrics = difference(&at(start, 0, 1000), &at(start, 2500, 4000));
        assert_eq!(value(&metrics, "device_write_bytes"), Some(3000.0));
        assert_eq!(value(&metrics, "device_flushes"), Some(30.0));
        assert_eq!(value(&metrics, "telemetry_seconds"), Some(2.5));
        assert_eq!(value(&metrics, "space_grown_bytes"), Some(3000.0));
        assert_eq!(value(&metrics, "pressure_io_some_share"), Some(3000.0 * 1e-6 / 2.5));
        for absent in [
            "device_discards",
            "device_backing_writes",
            "pressure_io_full_share",
            "pressure_cpu_some_share",
            "cpu_user_share",
        ] {
            assert_eq!(value(&metrics, absent), None, "{absent} was not there, so it is not 0");
        }
    }

    #[test]
    fn a_virtual_disk_s_time_is_told_apart_from_the_servers() {
        let start = Instant::now();
        let at = |milliseconds: u64, others: f64, disks: Option<f64>| Snapshot {
            others_seconds: Some(others),
            disks_seconds: disks,
            ..at(start, milliseconds, 0)
        };
        let metrics = difference(&at(0, 5.0, Some(7.0)), &at(2000, 6.0, Some(9.0)));
        let cores = ["others_cpu_cores", "virtual_disk_cpu_cores"].map(|name| value(&metrics, name));
        assert_eq!(cores, [Some(0.5), Some(1.0)]);
        assert_eq!(value(&difference(&at(0, 5.0, None), &at(2000, 6.0, None)), "virtual_disk_cpu_cores"), None);
    }

    #[test]
    fn a_device_is_busy_no_longer_than_its_requests_took() {
        let share = |counted: [u64; 2], requests: [Option<u64>; 2]| {
            let start = Instant::now();
            let at = |milliseconds: u64, number: usize| {
                let device = Counters {
                    busy_milliseconds: counted[number],
                    request_milliseconds: requests[number],
                    ..Counters::default()
                };
                Snapshot { device: Some(device), ..at(start, milliseconds, 0) }
            };
            let (before, after) = (at(0, 0), at(2000, 1));
            let mut samples = Samples::new(before.clone());
            samples.add(after.clone());
            let of_run = value(&difference(&before, &after), "device_busy_share").expect("a device");
            assert_eq!(samples.series["device_busy_share"], [of_run; 2]);
            of_run
        };
        // A kernel that counts a tick of 4 ms for each of 500 flushes of 50 µs.
        assert_eq!(share([100, 2100], [Some(7), Some(32)]), 0.0125);
        // Requests that are under way at once.
        assert_eq!(share([100, 1100], [Some(0), Some(16_000)]), 0.5);
        assert_eq!(share([100, 1100], [None, None]), 0.5);
        // One of their counters began anew at 32 bits.
        assert_eq!(share([0, 2000], [Some((1 << 32) - 10), Some(490)]), 0.25);
    }

    /// A RAID of md on an older kernel, and paths whose times are added up.
    #[test]
    fn a_device_whose_busy_time_nobody_counts_does_not_rest() {
        let share = |busy: u64, writes: u64| {
            let after = Counters { busy_milliseconds: busy, writes, ..Counters::default() };
            snapshot::busy_share(&Counters::default(), &after, 2.0)
        };
        assert_eq!(share(0, 1_000_000), None);
        assert_eq!((share(0, 100), share(1000, 1_000_000)), (Some(0.0), Some(0.5)));
        assert_eq!(share(3500, 1_000_000), Some(1.0));
    }

    #[test]
    fn a_second_slept_over_does_not_shift_the_others() {
        let start = Instant::now();
        let mut samples = Samples::new(at(start, 0, 0));
        for (milliseconds, written) in [(1000, 100), (1300, 130), (4000, 400)] {
            samples.add(at(start, milliseconds, written));
        }
        assert_eq!(samples.series["device_write_bytes"], [100.0; 4]);
        assert_eq!(samples.series["dirty_bytes"], [100.0, 400.0, 400.0, 400.0]);
        assert_eq!(value(&samples.extremes(), "dirty_bytes_max"), Some(400.0));
        assert_eq!(value(&samples.extremes(), "memory_available_bytes_min"), Some(4600.0));
    }

    #[test]
    fn a_figure_that_comes_late_is_a_hole_before() {
        let start = Instant::now();
        let mut samples = Samples::new(Snapshot { device: None, ..at(start, 0, 0) });
        samples.add(Snapshot { device: None, ..at(start, 1000, 0) });
        samples.add(at(start, 2000, 50));
        samples.add(at(start, 3000, 80));
        let series = &samples.series["device_write_bytes"];
        assert!(series.len() == 3 && series[0].is_nan() && series[1].is_nan() && series[2] == 30.0, "{series:?}");
    }

    #[test]
    fn what_is_derived_needs_both_counts() {
        let metric = |name, value| Metric::new(name, "1", Direction::Neither).at(value);
        let metrics = [("device_write_bytes", 3000.0), ("device_flushes", 20.0), ("device_flush_seconds", 0.5)];
        let metrics = metrics.map(|(name, value)| metric(name, value)).into();
        let telemetry = Telemetry { metrics, series: BTreeMap::new() };
        let values =
            |bytes, commits| derived(&telemetry, bytes, commits).iter().map(|found| found.value).collect::<Vec<_>>();
        assert_eq!(values(1000, 10), [3.0, 2.0, 0.025, 10.0]);
        assert_eq!(values(0, 10), [2.0, 0.025, 10.0]);
        assert_eq!(values(0, 0), [0.025]);
        assert!(derived(&Telemetry::default(), 1000, 10).is_empty());
        let mut of_both = telemetry;
        of_both.metrics.extend([metric("device_log_writes", 20.0), metric("device_log_flushes", 10.0)]);
        let names: Vec<_> = derived(&of_both, 0, 10).iter().map(|found| found.metric.name.clone()).collect();
        assert_eq!(names, ["flushes_per_commit", "commits"], "what the log's flushes took is not known");
    }

    #[test]
    fn the_flushes_of_two_volumes_are_known_only_where_both_are() {
        let metric = |name: &str, value| Metric::named(name.to_string(), "1".into(), Direction::Neither).at(value);
        let per_commit = |named: &[(&str, f64)]| {
            let metrics = named.iter().map(|(name, value)| metric(name, *value)).collect();
            let found = derived(&Telemetry { metrics, series: BTreeMap::new() }, 0, 10);
            value(&found, "flushes_per_commit")
        };
        let (data, log) = (("device_flushes", 4.0), ("device_log_writes", 9.0));
        assert_eq!(per_commit(&[data]), Some(0.4));
        assert_eq!(per_commit(&[data, log, ("device_log_flushes", 6.0)]), Some(1.0));
        assert_eq!(per_commit(&[data, log]), None);
    }

    proptest! {
        /// Whatever the wake-ups, every series has a value for each whole second and no more.
        #[test]
        fn series_are_as_long_as_the_run(waits in prop::collection::vec(0_u64..2500, 0..20)) {
            let start = Instant::now();
            let mut samples = Samples::new(at(start, 0, 0));
            let mut milliseconds = 0;
            for wait in waits {
                milliseconds += wait;
                samples.add(at(start, milliseconds, milliseconds));
            }
            for (name, series) in &samples.series {
                prop_assert_eq!(series.len() as u64, milliseconds / 1000, "{}", name);
                prop_assert!(!series.iter().any(|value| value.is_nan()));
            }
        }
    }
}
