//! All counters at one moment, and what two moments say of the time between them.

use super::{Place, Watched};
use crate::cpu::{KINDS, Stat, others_seconds, own_seconds, seconds_of, shares};
use crate::disk::{self, Counters};
use crate::memory::Memory;
use crate::metric::{Direction, Measured, Metric, TELEMETRY_SECONDS};
use crate::pressure::{Pressure, RESOURCES};
use std::path::PathBuf;
use std::time::Instant;

/// What the trial's data take on the disk.
pub(super) const SPACE_USED: Metric = Metric::new("space_used_bytes", "B", Direction::Neither);

/// What is looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Targets {
    pub(super) device: Option<String>,
    pub(super) log: Option<String>,
    pub(super) backing: Option<String>,
    pub(super) filesystem: Option<PathBuf>,
    pub(super) folder: Option<PathBuf>,
    pub(super) disks: Vec<u32>,
}

impl Targets {
    pub(super) fn find(watched: &Watched) -> Targets {
        let (filesystem, folder) = match watched.place {
            Some(Place::Filesystem(path)) => (Some(path.to_path_buf()), None),
            Some(Place::Folder(path)) => (None, Some(path.to_path_buf())),
            None => (None, None),
        };
        let under = || filesystem.as_deref().or(folder.as_deref()).and_then(disk::disk_under);
        let device = watched.device.map_or_else(under, disk::device_name);
        let backing = device.as_deref().and_then(disk::disk_below_loop);
        // Two folders on one disk: what that got is counted once.
        let log = watched.log_device.and_then(disk::device_name).filter(|log| device.as_ref() != Some(log));
        Targets { device, log, backing, filesystem, folder, disks: watched.disks.to_vec() }
    }
}

/// All counters at one moment.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) at: Instant,
    pub(super) stat: Option<Stat>,
    pub(super) memory: Option<Memory>,
    pub(super) device: Option<Counters>,
    pub(super) log: Option<Counters>,
    pub(super) backing: Option<Counters>,
    pub(super) space_used: Option<u64>,
    pub(super) pressure: [Option<Pressure>; 3],
    pub(super) own_seconds: f64,
    pub(super) others_seconds: Option<f64>,
    pub(super) disks_seconds: Option<f64>,
}

impl Snapshot {
    pub(super) fn take(targets: &Targets) -> Snapshot {
        Snapshot {
            at: Instant::now(),
            stat: Stat::read(),
            memory: Memory::read(),
            device: targets.device.as_deref().and_then(Counters::read),
            log: targets.log.as_deref().and_then(Counters::read),
            backing: targets.backing.as_deref().and_then(Counters::asked),
            space_used: targets.filesystem.as_deref().and_then(disk::space).map(|space| space.0),
            pressure: RESOURCES.map(Pressure::read),
            own_seconds: own_seconds(),
            others_seconds: others_seconds(&targets.disks),
            disks_seconds: seconds_of(targets.disks.iter().copied()),
        }
    }
}

/// Every figure of the time between two snapshots.
pub(super) fn difference(before: &Snapshot, after: &Snapshot) -> Vec<Measured> {
    let seconds = after.at.duration_since(before.at).as_secs_f64().max(f64::MIN_POSITIVE);
    let mut list = List(Vec::new());
    list.add(TELEMETRY_SECONDS.into(), "s", seconds);
    if let (Some(before), Some(after)) = (&before.stat, &after.stat) {
        list.cpus(before, after);
        let switches = after.context_switches.saturating_sub(before.context_switches);
        list.add("context_switches_per_second".into(), "1/s", switches as f64 / seconds);
    }
    let own = (after.own_seconds - before.own_seconds).max(0.0);
    list.add("driver_cpu_seconds".into(), "s", own);
    list.add("driver_cpu_cores".into(), "1", own / seconds);
    if let (Some(before), Some(after)) = (before.others_seconds, after.others_seconds) {
        list.add("others_cpu_seconds".into(), "s", (after - before).max(0.0));
        list.add("others_cpu_cores".into(), "1", (after - before).max(0.0) / seconds);
    }
    if let (Some(before), Some(after)) = (before.disks_seconds, after.disks_seconds) {
        list.add("virtual_disk_cpu_cores".into(), "1", (after - before).max(0.0) / seconds);
    }
    list.disk("device", before.device.zip(after.device), seconds);
    list.disk("device_log", before.log.zip(after.log), seconds);
    list.disk("device_backing", before.backing.zip(after.backing), seconds);
    if let (Some(before), Some(after)) = (before.space_used, after.space_used) {
        list.0.push(SPACE_USED.at(after as f64));
        list.add("space_grown_bytes".into(), "B", after as f64 - before as f64);
    }
    if let Some(memory) = after.memory {
        list.add("dirty_bytes_end".into(), "B", memory.dirty as f64);
    }
    for (index, resource) in RESOURCES.iter().enumerate() {
        let (Some(before), Some(after)) = (before.pressure[index], after.pressure[index]) else { continue };
        let share = |before: u64, after: u64| after.saturating_sub(before) as f64 * 1e-6 / seconds;
        list.add(format!("pressure_{resource}_some_share"), "1", share(before.some, after.some));
        if let (Some(before), Some(after)) = (before.full, after.full) {
            list.add(format!("pressure_{resource}_full_share"), "1", share(before, after));
        }
    }
    list.0
}

/// Figures that explain a result.
pub(super) struct List(pub(super) Vec<Measured>);

impl List {
    pub(super) fn add(&mut self, name: String, unit: &'static str, value: f64) {
        // All of these explain a result; none of them is one, so none has a better side.
        self.0.push(Metric::named(name, unit.into(), Direction::Neither).at(value));
    }

    fn cpus(&mut self, before: &Stat, after: &Stat) {
        let of_all = shares(&before.total, &after.total);
        self.shares("cpu", of_all);
        for (number, ticks) in &after.cpus {
            let of_one = before.cpu(*number).and_then(|before| shares(before, ticks));
            self.shares(&format!("cpu_{number}"), of_one);
        }
    }

    fn shares(&mut self, prefix: &str, shares: Option<[f64; 6]>) {
        for (kind, share) in KINDS.iter().zip(shares.into_iter().flatten()) {
            self.add(format!("{prefix}_{kind}_share"), "1", share);
        }
    }

    fn disk(&mut self, prefix: &str, counters: Option<(Counters, Counters)>, seconds: f64) {
        let Some((before, after)) = counters else { return };
        for (name, unit, grown) in growth(&before, &after) {
            self.add(format!("{prefix}_{name}"), unit, grown);
        }
        if let Some(share) = busy_share(&before, &after, seconds) {
            self.add(format!("{prefix}_busy_share"), "1", share);
        }
    }
}

/// The part of the time for which a device was busy: no longer than its requests took, where that is known. None where nobody counts it.
pub(super) fn busy_share(before: &Counters, after: &Counters, seconds: f64) -> Option<f64> {
    let busy = milliseconds_grown(before.busy_milliseconds, after.busy_milliseconds);
    let requests = before.request_milliseconds.zip(after.request_milliseconds);
    let busy = requests.map_or(busy, |(before, after)| milliseconds_grown(before, after).min(busy));
    after.tells_busy().then(|| (busy * 1e-3 / seconds).min(1.0))
}

/// By how much a device's counters grew.
pub(super) fn growth(before: &Counters, after: &Counters) -> Vec<(&'static str, &'static str, f64)> {
    let grown = |before: u64, after: u64| after.saturating_sub(before) as f64;
    let mut list = vec![
        ("reads", "1", grown(before.reads, after.reads)),
        ("read_bytes", "B", grown(before.read_bytes, after.read_bytes)),
        ("writes", "1", grown(before.writes, after.writes)),
        ("write_bytes", "B", grown(before.write_bytes, after.write_bytes)),
        ("merges", "1", grown(before.merges, after.merges)),
    ];
    if let (Some(before), Some(after)) = (before.discards, after.discards) {
        list.push(("discards", "1", grown(before.0, after.0)));
        list.push(("discard_bytes", "B", grown(before.1, after.1)));
    }
    if let (Some(before), Some(after)) = (before.flushes, after.flushes) {
        list.push(("flushes", "1", grown(before, after)));
    }
    if let (Some(before), Some(after)) = (before.flush_milliseconds, after.flush_milliseconds) {
        list.push(("flush_seconds", "s", milliseconds_grown(before, after) * 1e-3));
    }
    list
}

/// The kernel prints milliseconds as 32 bits, which are full after 50 days.
fn milliseconds_grown(before: u64, after: u64) -> f64 {
    let full = if after < before { 1 << 32 } else { 0 };
    (after + full).saturating_sub(before) as f64
}
