//! How the runs went: steady or not, long enough or not, alone on the machine or not; and which claims that touches.
//!
//! Pure, over what `input.rs` keeps of each run. Nothing is taken out of the answer here: where trials were disturbed, it is said
//! whether the verdicts would be others without them.

use crate::answer::verdict_words;
use crate::input::{Counting, Details};
use crate::judge::{Claim, Judgement, Subject};
use crate::number::{figure, percent};
use crate::view::{Part, Row, View};
use crate::warnings::OfRuns;
use ledger::model::{RunRow, Scenario, Trial};
use stats::Course;
use std::collections::BTreeMap;

/// Changes of a run's level below this fraction are none: the margin that a study has unless it says otherwise.
pub(crate) const TOLERANCE: f64 = 0.03;
/// Runs that are not steady are worth a word from this share on: noise alone makes 2 or 3 % look so.
const UNSTEADY_SHARE_MIN: f64 = 0.10;
/// … and from this number on.
const UNSTEADY_MIN: usize = 2;
/// A warm-up is made half as long again as what was seen: the next one may take longer.
const WARM_UP_RESERVE: f64 = 1.5;
/// A run whose seconds hang together shall be worth this many independent ones.
const INDEPENDENT_MIN: f64 = 10.0;
/// Whole cycles that a run shall hold.
const CYCLES_MIN: f64 = 2.0;
/// CPU time that other guests took, of all that there was: more than a tick in fifty.
const STEAL_MIN: f64 = 0.02;
/// Steal that explains a slow trial, above that of its scenario's other trials.
const STEAL_EXCESS: f64 = 0.05;
/// CPUs that something else used, worth a word when they are a quarter of all as well: kernel threads work for the trial, too.
const OTHER_CORES_MIN: f64 = 0.5;
const OTHER_CORES_SHARE_MIN: f64 = 0.25;
/// Load of others that explains a slow trial, above that beside its scenario's other trials.
const OTHER_CORES_EXCESS: f64 = 0.25;
/// Bytes a second that others moved on the tested disk, worth a word when they are half of the trial's own as well.
const OTHER_DISK_MIN: f64 = 5e6;
const OTHER_DISK_SHARE_MIN: f64 = 0.5;
/// Windows of SNIA's test of steadiness (SSS PTS 2.0.2, clause 2.1.24).
const STEADINESS_WINDOWS: usize = 5;
/// Names in a sentence.
const NAMES_MAX: usize = 3;

/// How one run went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunHealth {
    /// Its course by its rate.
    pub course: Course,
    /// Independent seconds that a steady run is worth; a change of level or a cycle would look like seconds that hang together.
    pub independent: Option<f64>,
    /// Whether a fifth after the other is as even as SNIA asks of storage (range 20 %, slope 10 %); none where it is too short to say.
    pub is_even: Option<bool>,
}

impl RunHealth {
    /// By a rate, once a second.
    #[must_use]
    pub fn of(rates: &[f64]) -> RunHealth {
        let course = stats::course(rates, TOLERANCE);
        let seconds = stats::steady::effective_samples(rates).map(|(_, samples)| samples);
        let is_long = course != Course::TooShort;
        RunHealth {
            course,
            independent: seconds.filter(|_| course == Course::Steady),
            is_even: is_long.then(|| is_even(rates)).flatten(),
        }
    }
}

fn is_even(rates: &[f64]) -> Option<bool> {
    let window = rates.len() / STEADINESS_WINDOWS;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let windows: Vec<f64> = rates.chunks_exact(window).take(STEADINESS_WINDOWS).map(mean).collect();
    Some(stats::steady::steadiness(&windows)?.is_steady())
}

/// How a scenario's runs went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Health {
    /// Its runs with a rate for each second.
    pub runs: Vec<RunHealth>,
    /// Its trials' load, by round.
    pub loads: BTreeMap<u32, Load>,
    /// Trials far below their like, and what else the machine did meanwhile.
    pub disturbed: Vec<(u32, Cause)>,
    /// Checkpoints of its server in a run, where that counts them.
    pub checkpoints: Option<f64>,
    /// Seconds of a run, the median.
    pub seconds: f64,
}

/// What a trial shared the machine with.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Share of the CPUs' time that other guests of the host took.
    pub steal: f64,
    /// CPUs busy with neither the load generator nor the server.
    pub other_cores: f64,
    /// All CPUs.
    pub cpus: f64,
    /// Bytes a second that the disk moved and the tested device did not.
    pub other_disk: f64,
    /// Bytes a second of the tested device.
    pub own_disk: f64,
}

/// Why a trial may have been slow.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The host gave CPU time to other guests: their share.
    Steal(f64),
    /// Other programs had so many CPUs.
    OtherCores(f64),
    /// Others moved so many bytes a second on the disk.
    OtherDisk(f64),
}

impl Cause {
    /// In a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Cause::Steal(share) => format!("{} of the CPUs' time stolen", percent(*share)),
            Cause::OtherCores(cores) => format!("{} CPUs busy with something else", figure(*cores)),
            Cause::OtherDisk(bytes) => format!("{} MB/s of others on its disk", figure(bytes / 1e6)),
        }
    }
}

impl Health {
    /// Runs whose course is one of these.
    #[must_use]
    pub fn count(&self, wanted: impl Fn(&Course) -> bool) -> usize {
        self.runs.iter().filter(|run| wanted(&run.course)).count()
    }

    /// Runs that changed their level while they were measured.
    #[must_use]
    pub fn unsteady(&self) -> usize {
        self.count(|course| !course.is_steady())
    }

    /// The longest warm-up that was seen, seconds.
    #[must_use]
    pub fn warm_up(&self) -> Option<f64> {
        let seconds = |run: &RunHealth| if let Course::WarmUp { seconds } = run.course { Some(seconds) } else { None };
        self.runs.iter().filter_map(seconds).reduce(f64::max)
    }

    /// Runs that pass SNIA's test of steadiness, and those it can be asked of.
    #[must_use]
    pub fn even(&self) -> (usize, usize) {
        let asked = self.runs.iter().filter_map(|run| run.is_even);
        (asked.clone().filter(|is_even| *is_even).count(), asked.count())
    }

    /// The period of its cycles, seconds: the longest.
    #[must_use]
    pub fn period(&self) -> Option<f64> {
        let period = |run: &RunHealth| if let Course::Cyclic { period } = run.course { Some(period) } else { None };
        self.runs.iter().filter_map(period).reduce(f64::max)
    }

    /// The mean of a kind of load over its trials.
    #[must_use]
    pub fn mean(&self, of: impl Fn(&Load) -> f64) -> f64 {
        self.loads.values().map(of).sum::<f64>() / self.loads.len().max(1) as f64
    }
}

/// A scenario's health; which of its trials were disturbed is added once outliers are known.
#[must_use]
pub fn health(counting: &Counting, details: &Details, scenario: &Scenario) -> Health {
    let of_scenario: Vec<&Trial> =
        counting.trials.values().copied().filter(|trial| trial.scenario == scenario.label).collect();
    let runs_of = |trial: &Trial| counting.runs.get(&trial.id).map_or(&[][..], Vec::as_slice);
    let runs: Vec<&RunRow> = of_scenario.iter().flat_map(|trial| runs_of(trial)).copied().collect();
    let checkpoints: Vec<f64> = runs.iter().filter_map(|run| run.metrics.get("checkpoints").copied()).collect();
    let courses = details.runs.get(&scenario.label).and_then(|by_name| by_name.get(&scenario.primary_metric));
    Health {
        runs: courses.cloned().unwrap_or_default(),
        loads: of_scenario.iter().filter_map(|trial| Some((trial.round, load(runs_of(trial))?))).collect(),
        disturbed: Vec::new(),
        checkpoints: (!checkpoints.is_empty()).then(|| checkpoints.iter().sum::<f64>() / checkpoints.len() as f64),
        seconds: median(runs.iter().map(|run| run.seconds).collect()).unwrap_or(0.0),
    }
}

/// A trial's load, over its runs.
fn load(runs: &[&RunRow]) -> Option<Load> {
    let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
    let mean = |of: &dyn Fn(&RunRow) -> f64| runs.iter().map(|run| of(run) * run.seconds).sum::<f64>() / seconds;
    let get = |run: &RunRow, name: &str| run.metrics.get(name).copied();
    let first = runs.first().filter(|_| seconds > 0.0)?;
    get(first, "cpu_idle_share")?;
    let is_own_share = |name: &str| name.ends_with("_idle_share") && name != "cpu_idle_share";
    let cpus = first.metrics.keys().filter(|name| is_own_share(name)).count() as f64;
    let other_cores = |run: &RunRow| {
        let busy: f64 =
            ["user", "system", "irq"].iter().filter_map(|kind| get(run, &format!("cpu_{kind}_share"))).sum();
        let own = get(run, "driver_cpu_cores").unwrap_or(f64::INFINITY);
        (busy * cpus - own - get(run, "others_cpu_cores").unwrap_or(0.0)).max(0.0)
    };
    let moved = |run: &RunRow, device: &str| {
        Some((get(run, &format!("{device}_read_bytes"))? + get(run, &format!("{device}_write_bytes"))?) / run.seconds)
    };
    let own_disk = |run: &RunRow| moved(run, "device").unwrap_or(0.0) + moved(run, "device_log").unwrap_or(0.0);
    // An image file's disk moves what the image moves, and what others do.
    let other_disk = |run: &RunRow| moved(run, "device_backing").map_or(0.0, |all| (all - own_disk(run)).max(0.0));
    Some(Load {
        steal: mean(&|run| get(run, "cpu_steal_share").unwrap_or(0.0)),
        other_cores: mean(&other_cores),
        cpus,
        other_disk: mean(&other_disk),
        own_disk: mean(&own_disk),
    })
}

/// What speaks for a cause outside: more of it in this trial than in the scenario's others.
#[must_use]
pub fn cause(health: &Health, round: u32) -> Option<Cause> {
    let load = health.loads.get(&round)?;
    let excess = |of: &dyn Fn(&Load) -> f64| {
        let others = health.loads.iter().filter(|(other, _)| **other != round).map(|(_, load)| of(load));
        Some(of(load) - median(others.collect())?)
    };
    if excess(&|load| load.steal)? >= STEAL_EXCESS {
        return Some(Cause::Steal(load.steal));
    }
    if excess(&|load| load.other_cores)? >= OTHER_CORES_EXCESS {
        return Some(Cause::OtherCores(load.other_cores));
    }
    let disk = excess(&|load| load.other_disk)?;
    let is_much = disk >= OTHER_DISK_MIN.max(load.own_disk * OTHER_DISK_SHARE_MIN);
    is_much.then_some(Cause::OtherDisk(load.other_disk))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// "; 3 of its 12 runs were not steady" for a claim's sentence, or nothing.
#[must_use]
pub fn claim_words(claim: &Claim, part: &Part) -> String {
    match mark(claim, part) {
        words if words.is_empty() => words,
        words => format!("; {words}"),
    }
}

/// What speaks against the runs of a claim's two sides, in a few words; empty when nothing does.
#[must_use]
pub fn mark(claim: &Claim, part: &Part) -> String {
    let is_of = |row: &Row| match &claim.subject {
        Subject::Level { factor, .. } => row.levels.get(factor).is_some_and(|level| claim.names_one(level)),
        Subject::Scenario { .. } | Subject::Control { .. } => claim.names_one(&row.label),
    };
    let rows: Vec<&Row> = part.measured().filter(|row| is_of(row)).collect();
    let (unsteady, runs) = unsteady(&rows);
    let disturbed: usize = rows.iter().map(|row| row.health.disturbed.len()).sum();
    let mut words = Vec::new();
    if is_worth_a_word(unsteady, runs) {
        words.push(format!("{unsteady} of its {runs} runs were not steady"));
    }
    match disturbed {
        0 => {}
        1 => words.push("one of its trials was disturbed".into()),
        several => words.push(format!("{several} of its trials were disturbed")),
    }
    words.join(", and ")
}

/// What would be said without the disturbed trials where it is something else, in words: "xfs against ext4 would be “can't tell”
/// and not “faster”".
#[must_use]
pub fn other_verdicts(part: &Part, without: &Judgement) -> Vec<String> {
    let mut list = Vec::new();
    for claim in part.judgement.claims.iter().filter(|claim| claim.verdict.is_some()) {
        let (a, b) = claim.names();
        let factor = factor(claim);
        // Sides change places where the better one is named first.
        let same =
            |other: &&Claim| self::factor(other) == factor && (other.names() == (a, b) || other.names() == (b, a));
        let Some(found) = without.claims.iter().find(same).filter(|found| found.verdict.is_some()) else {
            return vec!["too few rounds would be left for a verdict".into()];
        };
        let (before, after) = (verdict_words(claim, part), verdict_words(found, part));
        if found.names() != (a, b) {
            let (of, against) = found.names();
            list.push(format!("{of} against {against} would be \u{201c}{after}\u{201d}"));
        } else if before != after {
            list.push(format!("{a} against {b} would be \u{201c}{after}\u{201d} and not \u{201c}{before}\u{201d}"));
        }
    }
    list
}

fn factor(claim: &Claim) -> Option<&String> {
    if let Subject::Level { factor, .. } = &claim.subject { Some(factor) } else { None }
}

fn unsteady(rows: &[&Row]) -> (usize, usize) {
    let judged = |row: &Row| row.health.count(|course| *course != Course::TooShort);
    (rows.iter().map(|row| row.health.unsteady()).sum(), rows.iter().map(|row| judged(row)).sum())
}

fn is_worth_a_word(unsteady: usize, runs: usize) -> bool {
    unsteady >= UNSTEADY_MIN && unsteady as f64 > runs as f64 * UNSTEADY_SHARE_MIN
}

/// Warnings about the runs of one workload.
#[must_use]
pub fn of_part(part: &Part, warm_up_runs: usize) -> Vec<OfRuns> {
    let rows: Vec<&Row> = part.measured().collect();
    let workload = || part.workload.clone();
    let mut list = Vec::new();
    let (unsteady, runs) = unsteady(&rows);
    if is_worth_a_word(unsteady, runs) {
        let warming = rows.iter().map(|row| row.health.count(|course| matches!(course, Course::WarmUp { .. }))).sum();
        if warming < unsteady {
            list.push(not_steady(part, &rows, unsteady, runs));
        }
        list.extend(warm_up(part, &rows, (warming, runs), warm_up_runs));
    }
    list.extend(too_short(part, &rows));
    let named = |row: &&Row| {
        let label = row.label.clone();
        row.health
            .disturbed
            .iter()
            .map(move |(round, cause)| format!("{label} in round {} ({})", round + 1, cause.words()))
            .collect::<Vec<_>>()
    };
    let trials: Vec<String> = rows.iter().flat_map(named).collect();
    if !trials.is_empty() {
        let examples = trials.iter().take(NAMES_MAX).cloned().collect();
        list.push(OfRuns::Disturbed {
            workload: workload(),
            count: trials.len(),
            examples,
            without: part.without_disturbed.clone(),
        });
    }
    list
}

/// By kind and by scenario: "5 slow at first, 2 slower at their end".
fn not_steady(part: &Part, rows: &[&Row], unsteady: usize, runs: usize) -> OfRuns {
    type Kind = (&'static str, fn(&Course) -> bool);
    let kinds: [Kind; 3] = [
        ("slow at first", |course| matches!(course, Course::WarmUp { .. })),
        ("slower at their end", |course| matches!(course, Course::Slowdown { .. })),
        ("without a steady state", |course| matches!(course, Course::Unsteady)),
    ];
    let of_kind = |(words, is_one): &Kind| {
        let count: usize = rows.iter().map(|row| row.health.count(is_one)).sum();
        (count > 0).then(|| format!("{count} {words}"))
    };
    let mut worst: Vec<&&Row> = rows.iter().filter(|row| row.health.unsteady() > 0).collect();
    worst.sort_by_key(|row| std::cmp::Reverse(row.health.unsteady()));
    let examples = worst.iter().take(NAMES_MAX).map(|row| format!("{} of {}", row.health.unsteady(), row.label));
    OfRuns::NotSteady {
        workload: part.workload.clone(),
        unsteady,
        runs,
        kinds: kinds.iter().filter_map(of_kind).collect(),
        examples: examples.collect(),
        scenarios: worst.len(),
    }
}

/// A warm-up that goes on in the measured runs, and how many runs would hold it.
fn warm_up(part: &Part, rows: &[&Row], (warming, runs): (usize, usize), warm_up_runs: usize) -> Option<OfRuns> {
    let slowest =
        rows.iter().max_by(|a, b| a.health.warm_up().unwrap_or(0.0).total_cmp(&b.health.warm_up().unwrap_or(0.0)))?;
    let seconds = slowest.health.warm_up().filter(|_| warming >= UNSTEADY_MIN)?;
    let more = (seconds * WARM_UP_RESERVE / slowest.health.seconds.max(1.0)).ceil() as usize;
    Some(OfRuns::WarmUp {
        workload: part.workload.clone(),
        warming,
        runs,
        seconds,
        scenario: slowest.label.clone(),
        warm_up_runs,
        wanted: warm_up_runs + more.max(1),
    })
}

/// Runs that end before what happens in them now and then has happened often enough.
fn too_short(part: &Part, rows: &[&Row]) -> Option<OfRuns> {
    let warning = |row: &Row, needed: f64, why: String| OfRuns::TooShort {
        workload: part.workload.clone(),
        scenario: row.label.clone(),
        seconds: row.health.seconds,
        needed,
        why,
    };
    let of_checkpoints = |row: &&Row| {
        let count = row.health.checkpoints.filter(|count| *count > 0.0 && *count < CYCLES_MIN)?;
        let why = format!("it holds {} checkpoints of the server on average", figure(count));
        Some(warning(row, row.health.seconds * CYCLES_MIN / count, why))
    };
    let of_independent = |row: &&Row| {
        let seconds = median(row.health.runs.iter().filter_map(|run| run.independent).collect())?;
        let why = || format!("its seconds hang together and are worth {} independent ones", figure(seconds));
        (seconds < INDEPENDENT_MIN).then(|| warning(row, row.health.seconds * INDEPENDENT_MIN / seconds, why()))
    };
    let needed = |found: &OfRuns| if let OfRuns::TooShort { needed, .. } = found { *needed } else { 0.0 };
    let found = rows.iter().filter_map(of_checkpoints).chain(rows.iter().filter_map(of_independent));
    found.max_by(|a, b| needed(a).total_cmp(&needed(b)))
}

/// Warnings about what the machine did beside the study.
#[must_use]
pub fn of_study(view: &View) -> Vec<OfRuns> {
    let rows: Vec<&Row> = view.parts.iter().flat_map(Part::measured).collect();
    let loads: Vec<(&Row, u32, &Load)> =
        rows.iter().flat_map(|row| row.health.loads.iter().map(move |(round, load)| (*row, *round, load))).collect();
    if loads.is_empty() {
        return Vec::new();
    }
    let mean = |of: fn(&Load) -> f64| loads.iter().map(|(.., load)| of(load)).sum::<f64>() / loads.len() as f64;
    let worst = |of: fn(&Load) -> f64| {
        let (row, round, load) = loads.iter().max_by(|a, b| of(a.2).total_cmp(&of(b.2))).expect("there is one");
        (format!("{} in round {}", row.label, round + 1), of(load))
    };
    let mut list = Vec::new();
    let steal = mean(|load| load.steal);
    if steal >= STEAL_MIN {
        let (trial, most) = worst(|load| load.steal);
        list.push(OfRuns::Steal { mean: steal, most, trial });
    }
    let (cores, cpus) = (mean(|load| load.other_cores), mean(|load| load.cpus));
    let is_cpu = cores >= OTHER_CORES_MIN.max(cpus * OTHER_CORES_SHARE_MIN);
    let disk = mean(|load| load.other_disk);
    let is_disk = disk >= OTHER_DISK_MIN.max(mean(|load| load.own_disk) * OTHER_DISK_SHARE_MIN);
    if is_cpu || is_disk {
        list.push(OfRuns::OtherLoad { cores: is_cpu.then_some((cores, cpus)), disk: is_disk.then_some(disk) });
    }
    list
}
