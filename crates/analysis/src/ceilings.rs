//! Each scenario as a share of what its device and CPUs could give, and what bound it.
//!
//! Pure: the telemetry of the measured runs, held against the probe of the study's first session. The rules are few and simple, in
//! the order of [`bound`]; where none fits, nothing is said. `docs/ceilings.md` tells them to users.

use crate::counting::Counting;
use crate::telemetry::{is_search, metric, of_devices, watched_seconds};
use ledger::model::{Contents, Probe, RunRow, Scenario};
use observe::cpu;
use observe::metric::BEFORE_FLUSH;
use serde_json::Value;
use std::collections::BTreeMap;

/// The part of the busy CPUs that must be the trial's own; else others fill them.
const CPU_OWN_MIN: f64 = 0.5;
/// A generator that takes at least this part of full CPUs leaves its server the smaller one.
const GENERATOR_PART: f64 = 0.5;
/// When flushes take half of the time, or come half as fast as one after the other can, all else together matters less.
const FLUSHES_MIN: f64 = 0.5;
/// Reading and writing mixed, or from several places, reaches so much of what one stream alone does.
const BANDWIDTH_MIN: f64 = 0.7;
/// The same of many requests under way.
const IOS_MIN: f64 = 0.7;
/// A device that has something to do for so much of the time is waited for, however few requests it has at a time.
const DEVICE_BUSY_MIN: f64 = 0.8;
/// CPUs and device that both rest for more than half of the time are not what several connections wait for.
const RESTING_MAX: f64 = 0.5;
/// Connections that spend this part of their time waiting for rows that others have locked.
const LOCKED_MIN: f64 = 0.5;
/// Connections that spend this part of their time waiting for the network.
const NETWORK_MIN: f64 = 0.5;
/// Connections that pause for this part of their time; those that pause for less wait for the server first.
const PAUSING_MIN: f64 = 0.5;
/// A load that reaches nearly the rate that it was given is bound by that.
const RATE_REACHED: f64 = 0.95;
/// From this share on, of what was due and never begun, the 99th percentile of latency says nothing: those would be its slowest.
const MISSED_MAX: f64 = 0.01;
/// In older files, which do not tell each side's CPUs: a server on a machine of so many left one of them to the load.
const CPUS_TO_SHARE_OUT: f64 = 4.0;
/// Of CPUs that were stolen all of the time nothing could be said.
const STOLEN_MAX: f64 = 0.99;
/// Engines that work in the load's own threads, which so are what is measured.
const EMBEDDED: [&str; 2] = ["sqlite", "lmdb"];
/// What workloads call their connections, workers or I/Os under way.
const CONNECTIONS: [&str; 6] = ["threads", "connections", "streams", "depth", "jobs", "processes"];

/// What a scenario used, and what bound it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// Of each thing that there is a limit of.
    pub shares: Vec<Share>,
    /// What bound it; none: not clear.
    pub by: Option<By>,
    /// What an open loop reached of the rate that it was given; none: a closed loop.
    pub rate_reached: Option<f64>,
    /// The share of what was due that an open loop did not begin before its end.
    pub missed: f64,
}

/// How much of a limit was used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Of what.
    pub of: Of,
    /// Used in a second; of CPUs how many.
    pub used: f64,
    /// What there was.
    pub limit: f64,
}

/// What there is a limit of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// CPUs.
    Cpus,
    /// Commits, against the flushes that the device can make one after the other.
    Commits,
    /// Flushes that the device got.
    Flushes,
    /// Bytes written, against writing in sequence.
    BytesWritten,
    /// Bytes read.
    BytesRead,
    /// Write requests, against random ones of the probe's nearest size.
    Writes,
    /// Read requests.
    Reads,
    /// Round trips of the network, against as many as there is time for on all connections.
    RoundTrips,
}

/// What bound a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The rate or the pauses that the study gives.
    Given,
    /// The highest rate that a search may try, and held: the figure is a lower bound.
    RateMax,
    /// The load generator: the figure is a lower bound.
    Generator,
    /// The CPUs, or the one that a single thread has.
    Cpu,
    /// The time of flushes.
    Flushes,
    /// The bytes that the device moves.
    Bandwidth,
    /// The requests that the device serves, or the time of each.
    Io,
    /// CPUs that are full, mostly of work outside the trial's own processes: strangers', or the kernel's own threads'.
    OthersCpu,
    /// The round trip of the network between load and server.
    Network,
    /// Waiting for each other: CPUs and device rest.
    Locks,
}

impl Of {
    /// For machines.
    pub fn name(self) -> &'static str {
        match self {
            Of::Cpus => "cpus",
            Of::Commits => "commits_per_second",
            Of::Flushes => "flushes_per_second",
            Of::BytesWritten => "write_bytes_per_second",
            Of::BytesRead => "read_bytes_per_second",
            Of::Writes => "writes_per_second",
            Of::Reads => "reads_per_second",
            Of::RoundTrips => "round_trips_per_second",
        }
    }
}

impl Share {
    /// The used part of the limit; above 1 where the probe met a slower moment, or more was under way than in it.
    pub fn share(&self) -> f64 {
        self.used / self.limit
    }
}

impl Ceiling {
    /// Whether the figure is a lower bound: more load would have been served.
    pub fn is_lower_bound(&self) -> bool {
        matches!(self.by, Some(By::Generator | By::RateMax))
    }

    /// What share of its rate an open loop reached that fell behind; none: it kept up, or is a closed loop.
    pub fn fell_behind(&self) -> Option<f64> {
        self.rate_reached.filter(|reached| *reached < RATE_REACHED || self.missed >= MISSED_MAX)
    }
}

/// By label, of each scenario whose runs have telemetry.
pub fn ceilings(contents: &Contents, counting: &Counting) -> BTreeMap<String, Ceiling> {
    let cpus = contents.sessions.last().and_then(|session| session.machine.get("cpus")?.parse().ok());
    let mut runs: BTreeMap<&str, Vec<&RunRow>> = BTreeMap::new();
    for (trial, of_trial) in &counting.runs {
        runs.entry(&counting.trials[trial].scenario).or_default().extend(of_trial);
    }
    let of_scenario = |scenario: &Scenario| {
        let used = Use::of(runs.get(scenario.label.as_str())?, scenario, cpus)?;
        let probe = contents.probes.iter().rfind(|probe| probe.scenarios.contains(&scenario.label));
        let shares = shares(&used, probe);
        let (by, rate_reached, missed) = (bound(&used, &shares), used.reached, used.missed);
        Some((scenario.label.clone(), Ceiling { by, shares, rate_reached, missed }))
    };
    contents.scenarios.iter().filter_map(of_scenario).collect()
}

/// What a scenario's runs used, in the mean over their time. What is not known is none.
#[derive(Debug, Clone, Default)]
struct Use {
    /// Of the machine, or of the guest that a trial had.
    cpus: f64,
    /// Share of all CPUs that did something, or were kept from it by the host.
    cpu_busy: f64,
    /// Share of all CPUs' time that the host gave to others.
    stolen: f64,
    /// Cores of virtual disks, which stand for hardware.
    disk_cores: f64,
    /// CPUs that the load may use, or the embedded engine with it; none: all.
    driver_cpus: Option<f64>,
    /// CPUs that its server may use.
    server_cpus: Option<f64>,
    /// CPUs that both may use together; none: not told.
    own_cpus: Option<f64>,
    /// Cores that the trial's process had: the generator, or an embedded engine with it.
    driver_cores: f64,
    /// Cores of its server or workers.
    others_cores: Option<f64>,
    device_busy: Option<f64>,
    flush_time: Option<f64>,
    commits: Option<f64>,
    flushes: Option<f64>,
    write_bytes: Option<f64>,
    read_bytes: Option<f64>,
    writes: Option<f64>,
    reads: Option<f64>,
    /// Seconds that connections waited for locks, in a second.
    locked: Option<f64>,
    /// The primary figure against the rate that was asked for.
    reached: Option<f64>,
    /// What was due and not begun, against the rate that was asked for.
    missed: f64,
    /// The part of their time for which connections pause.
    pausing: f64,
    /// Connections, workers or I/Os under way.
    connections: f64,
    /// Threads that drive a server's load.
    driver_threads: Option<f64>,
    /// The part of the time for which these were busy where a load that looks for the highest rate met one too high.
    driver_busy_at_knee: Option<f64>,
    /// Whether it looked for the highest rate that holds.
    is_search: bool,
    /// Whether a search for the highest rate that holds met none that fails in a run.
    holds_rate_max: bool,
    /// Cores that the load had on a machine of its own.
    client_cores: Option<f64>,
    /// Round trips that the load made, and those that all its connections have time for.
    round_trips: Option<(f64, f64)>,
}

impl Use {
    fn of(runs: &[&RunRow], scenario: &Scenario, cpus: Option<f64>) -> Option<Use> {
        let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
        let sum = |of: &dyn Fn(&RunRow) -> Option<f64>| runs.iter().map(|run| of(run)).sum::<Option<f64>>();
        let rate = |of: &dyn Fn(&RunRow) -> Option<f64>| Some(sum(of)? / seconds).filter(|rate| rate.is_finite());
        let watched: f64 = runs.iter().map(|run| watched_seconds(run)).sum();
        let of_device = |of: &dyn Fn(&RunRow) -> Option<f64>| Some(sum(of)? / watched).filter(|rate| rate.is_finite());
        let mean = |name: &str| rate(&|run| Some(metric(run, name)? * run.seconds));
        // A load asks for nothing while the flush goes on that ends its turn.
        let before_flush = |name: &str| mean(BEFORE_FLUSH).filter(|_| name == scenario.primary_metric);
        let asking = |name: &str| mean(name).map(|all| before_flush(name).unwrap_or(all));
        let workload = &scenario.settings["workload"];
        let number = |name: &str| workload[name].as_f64().filter(|value| *value > 0.0);
        let connections = CONNECTIONS.iter().filter_map(|name| number(name)).fold(1.0, f64::max);
        // A guest has one CPU.
        let cpus = if scenario.settings["bench"] == "guest" { Some(1.0) } else { cpus };
        let client = (mean("client_cpu_cores"), mean("client_round_trip_microseconds_median"));
        let under_way = connections * number("pipeline").unwrap_or(1.0);
        let (driver_threads, others_cores) = (driver_threads(workload), mean("others_cpu_cores"));
        let answers = answers_for_a_right_one(runs).and_then(|answers| Some(answers * mean("requests_per_second")?));
        let is_served_here =
            driver_threads.is_some() && others_cores.is_some() && scenario.settings["client"].is_null();
        let shared_out = cpus.filter(|cpus| *cpus >= CPUS_TO_SHARE_OUT && is_served_here);
        let (storage, log) = (&scenario.settings["storage"], &scenario.settings["volumes"]["wal"]);
        let is_probed = is_log_probed(runs, storage, log);
        // The probe is of the data's device: what a log's other one got is no part of that.
        let count = |name: &str| {
            of_device(&|run| if is_probed { of_devices(run, name) } else { metric(run, &format!("device_{name}")) })
        };
        Some(Use {
            client_cores: client.0,
            round_trips: client.1.and_then(|microseconds| Some((asked(&asking)?, under_way / microseconds * 1e6))),
            cpus: cpus?,
            cpu_busy: 1.0 - mean("cpu_idle_share")? - mean("cpu_iowait_share")?,
            stolen: mean("cpu_steal_share").unwrap_or(0.0).min(STOLEN_MAX),
            disk_cores: mean("virtual_disk_cpu_cores").unwrap_or(0.0),
            driver_cpus: mean("driver_cpus").or(shared_out.map(|_| 1.0)),
            server_cpus: mean("server_cpus").or(shared_out.map(|cpus| cpus - 1.0)),
            own_cpus: mean("own_cpus"),
            driver_cores: mean("driver_cpu_cores")?,
            others_cores,
            device_busy: larger(mean("device_busy_share"), mean("device_log_busy_share")),
            flush_time: larger(
                of_device(&|run| Some(metric(run, "device_flush_seconds")? / disks(storage))),
                of_device(&|run| Some(metric(run, "device_log_flush_seconds")? / disks(log))),
            ),
            commits: rate(&|run| metric(run, "commits")).filter(|_| is_probed),
            flushes: of_device(&|run| flushes(run, storage, Some(log).filter(|_| is_probed))),
            write_bytes: count("write_bytes"),
            read_bytes: count("read_bytes"),
            writes: count("writes"),
            reads: count("reads"),
            locked: rate(&|run| metric(run, "lock_wait_seconds")),
            reached: number("rate").and_then(|asked| Some(done(scenario, answers, &asking)? / asked)),
            missed: number("rate").and_then(|asked| Some(rate(&missed)? / asked)).unwrap_or(0.0),
            // A log that is replayed at its own times has its pauses, too.
            pausing: match (number("speed"), number("think_time")) {
                (Some(_), _) => 1.0,
                (None, Some(pause)) => answered(&asking).map_or(1.0, |rate| rate * pause / connections),
                (None, None) => 0.0,
            },
            connections,
            driver_threads: driver_threads.map(|threads| threads.min(connections)),
            driver_busy_at_knee: mean("generator_busy_share_at_lowest_failing_rate"),
            is_search: runs.iter().any(|run| is_search(run)),
            holds_rate_max: runs.iter().any(|run| metric(run, "lowest_failing_rate_per_second") == Some(0.0)),
        })
    }

    /// Cores of the trial's own processes.
    fn own_cores(&self) -> f64 {
        self.driver_cores + self.others_cores.unwrap_or(0.0)
    }

    /// Whether load and server fill the CPUs that both have together: a limit of CPU time, or a cpuset, which neither fills alone.
    fn is_full_together(&self) -> bool {
        self.own_cpus.is_some_and(|cpus| self.own_cores() >= cpu::FULL * self.given(cpus))
    }

    /// So many CPUs as the host left of them.
    fn given(&self, cpus: f64) -> f64 {
        cpus * (1.0 - self.stolen)
    }

    /// The machine's CPUs as the host and virtual disks left them.
    fn left(&self) -> f64 {
        let given = self.given(self.cpus);
        given - self.disk_cores.min(STOLEN_MAX * given)
    }

    /// Their busy share.
    fn busy(&self) -> f64 {
        1.0 - (1.0 - self.cpu_busy) * self.cpus / self.left()
    }

    /// Whether it is known what of the busy CPUs is not the trial's: without a PID namespace nobody counts its server's.
    fn tells_strangers(&self) -> bool {
        self.others_cores.is_some() || self.server_cpus.is_none()
    }

    /// The threads of a load that has a server, where the two can be told apart.
    fn generator_threads(&self) -> Option<f64> {
        self.driver_threads.filter(|_| self.others_cores.is_some())
    }
}

/// Disks of a volume. Each counts a flush of the whole, which is one to the probe.
fn disks(volume: &Value) -> f64 {
    volume["stripe"].as_f64().unwrap_or(1.0).max(1.0)
}

/// Flushes of a volume, and of a log's.
fn flushes(run: &RunRow, storage: &Value, log: Option<&Value>) -> Option<f64> {
    let of_log = match log.filter(|_| metric(run, "device_log_writes").is_some()) {
        Some(log) => metric(run, "device_log_flushes")? / disks(log),
        None => 0.0,
    };
    Some(metric(run, "device_flushes")? / disks(storage) + of_log)
}

/// Whether a log lies where the probe looked: in the data's volume, or both are image files, which share a disk. Each virtual or slowed disk is one of
/// its own, a filesystem's external log, too.
fn is_log_probed(runs: &[&RunRow], storage: &Value, log: &Value) -> bool {
    const DELAYS: [&str; 3] = ["delay_read", "delay_write", "delay_flush"];
    let is_slowed = |volume: &Value| DELAYS.iter().any(|name| volume[*name].as_f64().is_some_and(|delay| delay > 0.0));
    if log.is_null() {
        return !is_slowed(storage) || runs.iter().all(|run| metric(run, "device_log_writes").is_none());
    }
    [storage, log].iter().all(|volume| volume["device"] == "loop" && !is_slowed(volume))
}

/// Of two devices, of which one may not tell. A log on the slower one is waited for as long as that takes.
fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(f64::max)
}

/// Answers for each right one; none: a run has no right one, or an older file does not tell. They are not taken from a run's seconds, as
/// by turns those have the flush, too, and the rate of right ones has not.
fn answers_for_a_right_one(runs: &[&RunRow]) -> Option<f64> {
    let sum = |of: &dyn Fn(&RunRow) -> Option<f64>| runs.iter().map(|run| of(run)).sum::<Option<f64>>();
    let right = sum(&|run| Some(metric(run, "asked")? - metric(run, "errors")?)).filter(|right| *right > 0.0)?;
    Some(sum(&|run| metric(run, "answers"))? / right)
}

/// The rate that a load reached: of sessions where each makes several calls, else of requests with `answers`, wrong ones too, as who refuses has
/// not fallen behind; of transactions or operations. Older files have connections, one for each session, and right answers alone.
fn done(scenario: &Scenario, answers: Option<f64>, mean: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    if scenario.settings["workload"]["calls"].as_f64().is_some_and(|calls| calls > 1.0) {
        return mean("sessions_per_second").or_else(|| mean("connections_per_second"));
    }
    answers.or_else(|| answered(mean))
}

/// Transactions, requests or operations in a second.
fn answered(mean: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    ["transactions_per_second", "requests_per_second", "operations_per_second"].into_iter().find_map(mean)
}

/// What an open loop did not begin, in a run.
fn missed(run: &RunRow) -> Option<f64> {
    ["missed_transactions", "missed_operations"].into_iter().find_map(|name| metric(run, name))
}

/// How often a load waits for the network, a second: for each statement or request, and for each new connection.
fn asked(mean: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let requests = ["queries_per_second", "requests_per_second", "operations_per_second"].into_iter().find_map(mean)?;
    Some(requests + mean("connections_per_second").unwrap_or(0.0))
}

/// The threads that drive a load; none where the engine works in them.
fn driver_threads(workload: &Value) -> Option<f64> {
    let is_embedded = workload["engine"].as_str().is_some_and(|engine| EMBEDDED.contains(&engine));
    workload["driver_threads"].as_f64().filter(|threads| *threads > 0.0 && !is_embedded)
}

/// Each use that there is a limit of.
fn shares(used: &Use, probe: Option<&Probe>) -> Vec<Share> {
    let limit = |name: &str| probe?.figures.get(name).copied().filter(|limit| *limit > 0.0);
    let sized = |name: &str, bytes: Option<f64>, requests: Option<f64>| {
        let size = bytes? / requests.filter(|requests| *requests > 0.0)?;
        nearest(probe?, name, size)
    };
    let flushes = limit("flushes_per_second");
    let all = [
        (Of::Cpus, Some(used.cpu_busy * used.cpus), Some(used.cpus)),
        (Of::Commits, used.commits, flushes),
        (Of::Flushes, used.flushes, flushes),
        (Of::BytesWritten, used.write_bytes, limit("sequential_write_bytes_per_second")),
        (Of::BytesRead, used.read_bytes, limit("sequential_read_bytes_per_second")),
        (Of::Writes, used.writes, sized("random_write_ios_per_second_", used.write_bytes, used.writes)),
        (Of::Reads, used.reads, sized("random_read_ios_per_second_", used.read_bytes, used.reads)),
        (Of::RoundTrips, used.round_trips.map(|trips| trips.0), used.round_trips.map(|trips| trips.1)),
    ];
    all.into_iter().filter_map(|(of, used, limit)| Some(Share { of, used: used?, limit: limit? })).collect()
}

/// The probe's I/Os of the size that is nearest, as a ratio.
fn nearest(probe: &Probe, prefix: &str, bytes: f64) -> Option<f64> {
    let sizes = probe.figures.iter().filter_map(|(name, limit)| {
        let size: f64 = name.strip_prefix(prefix)?.parse().ok()?;
        Some(((size / bytes).ln().abs(), *limit))
    });
    sizes.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, limit)| limit).filter(|limit| *limit > 0.0)
}

/// What bound a scenario: the first rule that fits.
fn bound(used: &Use, shares: &[Share]) -> Option<By> {
    let share = |of: Of| shares.iter().find(|share| share.of == of).map_or(0.0, Share::share);
    let rules = [
        (By::Given, used.pausing >= PAUSING_MIN || used.reached.is_some_and(|reached| reached >= RATE_REACHED)),
        (By::RateMax, used.holds_rate_max),
        (By::Generator, is_generator(used)),
        (By::Cpu, is_cpu(used)),
        (By::Network, share(Of::RoundTrips) >= NETWORK_MIN),
        (By::Flushes, share(Of::Flushes) >= FLUSHES_MIN || used.flush_time.is_some_and(|time| time >= FLUSHES_MIN)),
        (By::Bandwidth, share(Of::BytesWritten) + share(Of::BytesRead) >= BANDWIDTH_MIN),
        (
            By::Io,
            share(Of::Writes) + share(Of::Reads) >= IOS_MIN
                || used.device_busy.is_some_and(|busy| busy >= DEVICE_BUSY_MIN),
        ),
        (By::OthersCpu, used.busy() >= cpu::FULL && used.tells_strangers()),
        (By::Locks, is_locks(used)),
    ];
    rules.into_iter().find(|(_, fits)| *fits).map(|(by, _)| by)
}

/// Its threads are full, or the CPUs that it has for them are, or it has the larger part of full CPUs: the machine's, or those that it shares.
fn is_generator(used: &Use) -> bool {
    // Most of the rates that it tries are low ones, so that the mean says nothing.
    if used.driver_busy_at_knee.is_some_and(|busy| busy >= cpu::FULL) {
        return true;
    }
    if let Some(cores) = used.client_cores {
        let cpus = used.driver_cpus.unwrap_or(f64::INFINITY);
        return used.driver_threads.is_some_and(|threads| cores >= cpu::FULL * threads.min(cpus));
    }
    let Some(threads) = used.generator_threads() else { return false };
    let cpus = used.given(used.driver_cpus.unwrap_or(used.cpus));
    let part = used.driver_cores / used.own_cores();
    let all = used.busy() >= cpu::FULL && own_part(used) >= CPU_OWN_MIN;
    used.driver_cores >= cpu::FULL * threads.min(cpus) || ((all || used.is_full_together()) && part >= GENERATOR_PART)
}

/// All CPUs are full of the trial's own work, or those are that it or its server has, or as many as an embedded engine has threads.
fn is_cpu(used: &Use) -> bool {
    let all = used.busy() >= cpu::FULL && own_part(used) >= CPU_OWN_MIN;
    let of_server = match (used.generator_threads(), used.others_cores, used.server_cpus) {
        (Some(_), Some(cores), Some(cpus)) => cores >= cpu::FULL * used.given(cpus),
        (Some(_), _, _) => false,
        // Load and server that can't be told apart have each other's CPUs.
        (None, _, Some(_)) => used.own_cores() >= cpu::FULL * used.connections.min(used.given(used.cpus)),
        (None, _, None) => {
            let cpus = used.given(used.driver_cpus.unwrap_or(used.cpus));
            used.own_cores() >= cpu::FULL * used.connections.min(cpus)
        }
    };
    all || used.is_full_together() || of_server
}

fn own_part(used: &Use) -> f64 {
    used.own_cores() / (used.busy() * used.left())
}

/// Connections say that they wait for locks; or there are several, and neither CPUs nor device have enough to do, which they never have in most of a
/// search's time.
fn is_locks(used: &Use) -> bool {
    let said = used.locked.is_some_and(|seconds| seconds >= LOCKED_MIN * used.connections);
    let own = used.own_cores() / used.given(used.own_cpus.unwrap_or(used.cpus));
    let cpus_rest = used.busy() < RESTING_MAX && own < RESTING_MAX;
    said || (!used.is_search
        && used.connections > 1.0
        && cpus_rest
        && used.device_busy.is_some_and(|busy| busy < RESTING_MAX))
}

#[cfg(test)]
mod tests;
