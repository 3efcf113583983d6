//! What is said of how the runs went, beside a claim and in a warning; how they went is `analysis::health`.
//!
//! Nothing is taken out of the answer: where trials were disturbed, it is said whether the verdicts would be others without them.

use crate::claims::verdict_words;
use crate::number::{figure, percent};
use crate::warnings::OfRuns;
use crate::words::Words;
use analysis::claim::{Claim, Subject};
use analysis::health::{Cause, Load, OTHER_DISK_MIN, OTHER_DISK_SHARE_MIN, Without, mean, median};
use analysis::row::Row;
use analysis::view::{Part, View};
use stats::Course;

/// Runs that are not steady are worth a word from this share on: noise alone makes 2 or 3 % look so.
const UNSTEADY_SHARE_MIN: f64 = 0.10;
/// … and from this number on.
const UNSTEADY_MIN: usize = 2;
/// A warm-up is made half as long again as what was seen: the next one may take longer.
const WARM_UP_RESERVE: f64 = 1.5;
/// A run whose seconds are autocorrelated shall be worth this many independent ones.
const INDEPENDENT_MIN: f64 = 10.0;
/// Whole cycles that a run shall hold.
const CYCLES_MIN: f64 = 2.0;
/// Measured runs that are so many times as slow as the warm-up before them: a warm-up that was lucky is not.
const SLOWER_MIN: f64 = 1.5;
/// CPU time that other guests took, of all that there was: more than a tick in fifty.
const STEAL_MIN: f64 = 0.02;
/// CPUs that something else used, worth a word when they are a quarter of all as well: kernel threads work for the trial, too.
const OTHER_CORES_MIN: f64 = 0.5;
const OTHER_CORES_SHARE_MIN: f64 = 0.25;
/// Names in a sentence.
const NAMES_MAX: usize = 3;

impl Words for Cause {
    fn words(&self) -> String {
        match self {
            Cause::Steal(share) => format!("{} of the CPUs' time stolen", percent(*share)),
            Cause::OtherCores(cores) => format!("{} CPUs busy with something else", figure(*cores)),
            Cause::OtherDisk(bytes) => format!("{} MB/s of others on its disk", figure(bytes / 1e6)),
        }
    }
}

/// "; 3 of the 12 runs of both were not steady" for a claim's sentence, or nothing.
pub fn claim_words(claim: &Claim, part: &Part) -> String {
    match mark(claim, part) {
        words if words.is_empty() => words,
        words => format!("; {words}"),
    }
}

/// What speaks against the runs of a claim's two sides, in a few words; empty when nothing does.
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
        words.push(format!("{unsteady} of the {runs} runs of both were not steady"));
    }
    match disturbed {
        0 => {}
        1 => words.push("one trial was disturbed".into()),
        several => words.push(format!("{several} trials were disturbed")),
    }
    words.join(", and ")
}

/// What would be said without the disturbed trials where it is something else, in words: "xfs against ext4 would be “can't tell”
/// and not “faster”".
pub fn without_disturbed(part: &Part) -> Vec<String> {
    let others = match &part.without_disturbed {
        None => return Vec::new(),
        Some(Without::TooFewRounds) => return vec!["too few rounds would be left for a verdict".into()],
        Some(Without::Others(others)) => others,
    };
    let said = others.iter().filter_map(|(claim, found)| {
        let (a, b) = claim.names();
        let (before, after) = (verdict_words(claim, part), verdict_words(found, part));
        if found.names() != (a, b) {
            let (of, against) = found.names();
            return Some(format!("{of} against {against} would be \u{201c}{after}\u{201d}"));
        }
        (before != after)
            .then(|| format!("{a} against {b} would be \u{201c}{after}\u{201d} and not \u{201c}{before}\u{201d}"))
    });
    said.collect()
}

fn unsteady(rows: &[&Row]) -> (usize, usize) {
    let judged = |row: &Row| row.health.count(|course| *course != Course::TooShort);
    (rows.iter().map(|row| row.health.unsteady()).sum(), rows.iter().map(|row| judged(row)).sum())
}

fn is_worth_a_word(unsteady: usize, runs: usize) -> bool {
    unsteady >= UNSTEADY_MIN && unsteady as f64 > runs as f64 * UNSTEADY_SHARE_MIN
}

/// Warnings about the runs of one workload.
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
    list.extend(slower_than_warm_up(part, &rows));
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
            without: without_disturbed(part),
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

/// A run that slows down the next one: what is measured is no state of a new filesystem, and not the same for each scenario.
fn slower_than_warm_up(part: &Part, rows: &[&Row]) -> Option<OfRuns> {
    let times = |row: &&Row| {
        // An open loop that falls behind is slower by chance of its queue.
        let falls_behind = row.ceiling.as_ref().is_some_and(|ceiling| ceiling.fell_behind().is_some());
        let ratio = row.health.to_warm_up.filter(|ratio| *ratio > 0.0 && !falls_behind)?;
        Some((row.label.clone(), if part.more_is_better { 1.0 / ratio } else { ratio }))
    };
    let mut slower: Vec<(String, f64)> =
        rows.iter().filter_map(times).filter(|(_, times)| *times >= SLOWER_MIN).collect();
    slower.sort_by(|a, b| b.1.total_cmp(&a.1));
    let workload = part.workload.clone();
    (!slower.is_empty()).then_some(OfRuns::SlowerThanWarmUp { workload, slower })
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
        let why = || format!("its seconds are autocorrelated and worth {} independent ones", figure(seconds));
        (seconds < INDEPENDENT_MIN).then(|| warning(row, row.health.seconds * INDEPENDENT_MIN / seconds, why()))
    };
    let needed = |found: &OfRuns| if let OfRuns::TooShort { needed, .. } = found { *needed } else { 0.0 };
    let found = rows.iter().filter_map(of_checkpoints).chain(rows.iter().filter_map(of_independent));
    found.max_by(|a, b| needed(a).total_cmp(&needed(b)))
}

/// Warnings about what the machine did beside the study.
pub fn of_study(view: &View) -> Vec<OfRuns> {
    let rows: Vec<&Row> = view.parts.iter().flat_map(Part::measured).collect();
    let loads: Vec<(&Row, u32, &Load)> =
        rows.iter().flat_map(|row| row.health.loads.iter().map(move |(round, load)| (*row, *round, load))).collect();
    let overall = |of: fn(&Load) -> Option<f64>| mean(loads.iter().filter_map(|(.., load)| of(load)));
    let mut list = Vec::new();
    let stolen = loads.iter().filter_map(|(row, round, load)| Some((load.steal?, *row, *round)));
    let worst = stolen.max_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some(mean), Some((most, row, round))) = (overall(|load| load.steal), worst)
        && mean >= STEAL_MIN
    {
        list.push(OfRuns::Steal { mean, most, trial: format!("{} in round {}", row.label, round + 1) });
    }
    let own = |of: fn(&Load) -> f64| mean(loads.iter().map(|(.., load)| of(load))).unwrap_or(0.0);
    let (cpus, own_disk) = (own(|load| load.cpus), own(|load| load.own_disk));
    let cores = overall(|load| load.other_cores)
        .filter(|cores| *cores >= OTHER_CORES_MIN.max(cpus * OTHER_CORES_SHARE_MIN))
        .map(|cores| (cores, cpus));
    let disk =
        overall(|load| load.other_disk).filter(|bytes| *bytes >= OTHER_DISK_MIN.max(own_disk * OTHER_DISK_SHARE_MIN));
    if cores.is_some() || disk.is_some() {
        list.push(OfRuns::OtherLoad { cores, disk });
    }
    list
}
