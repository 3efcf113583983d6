//! Warnings about how runs went: steady or not, long enough or not, alone on the machine or not. The same beside a claim is `health.rs`.

use super::{NAMES_MAX, Warning, listed};
use crate::health::{UNSTEADY_MIN, is_worth_a_word, unsteady, without_disturbed};
use crate::number::{figure, percent, percent_signed, span};
use crate::words::{Words as _, some_of};
use analysis::health::{Load, OTHER_DISK_MIN, OTHER_DISK_SHARE_MIN, mean, median};
use analysis::judge::Moved;
use analysis::row::Row;
use analysis::view::{Part, View};
use stats::Course;

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

/// What to do where some scenarios moved, and not all together.
const APART: &str =
    "Look at the chart of trials over time for the hour, and for what ran beside these alone; measure them again.";

/// From these rounds on all scenarios were faster or slower, by a fraction.
pub fn steps(part: &Part, steps: &[(usize, f64)]) -> Option<Warning> {
    let from = steps.iter().map(|(round, change)| {
        let side = if *change < 0.0 { "less" } else { "more" };
        format!("{} {side} from round {} on", percent(change.abs()), round + 1)
    });
    let from: Vec<String> = from.collect();
    (!from.is_empty()).then(|| Warning {
        seen: format!("{}: all scenarios together measured {}", part.workload, from.join(", then ")),
        effect: "Comparisons hold, as each round hits all scenarios alike; the absolute values are those of two machines, as it were.",
        remedy: "Look at the chart of trials over time for the hour, and for what changed then: other load, throttling, a full device.",
        brief: None,
    })
}

/// What is said of rounds that moved, or of the study, where not all scenarios moved alike: these by a fraction against the baseline.
pub fn apart(part: &Part, of_all: Option<&Warning>, moved: &[Moved]) -> Warning {
    let baseline = part.judgement.cells.iter().find(|cell| cell.baseline && !cell.control);
    let baseline = baseline.map_or("the baseline", |cell| cell.label.as_str());
    let named = moved.iter().map(|moved| format!("{} moved by {}", moved.label, percent_signed(moved.change)));
    let unlike = format!("against {baseline}, {}", some_of(&named.collect::<Vec<_>>()));
    Warning {
        seen: match of_all {
            Some(of_all) => format!("{}; {unlike}", of_all.seen),
            None => format!("{}: while the study ran, {unlike}", part.workload),
        },
        effect: "Not all were hit alike: comparisons are means of unlike rounds, and hold for no single moment.",
        remedy: of_all.map_or(APART, |of_all| of_all.remedy),
        brief: Some(format!("{unlike} while the study ran: what is compared is a mean of unlike rounds.")),
    }
}

/// Runs of one workload that changed their level while they were measured.
pub fn not_steady(part: &Part, warm_up_runs: usize) -> Vec<Warning> {
    let rows: Vec<&Row> = part.measured().collect();
    let (unsteady, runs) = unsteady(&rows);
    let mut list = Vec::new();
    if is_worth_a_word(unsteady, runs) {
        let is_warm_up = |course: &Course| matches!(course, Course::WarmUp { .. });
        let warming: usize = rows.iter().map(|row| row.health.count(is_warm_up)).sum();
        list.extend((warming < unsteady).then(|| by_kind(part, &rows, (unsteady, runs))));
        list.extend(warm_up(part, &rows, (warming, runs), warm_up_runs));
    }
    list.extend(slower_than_warm_up(part, &rows));
    list
}

/// By kind and by scenario: "5 slow at first, 2 slower at their end".
fn by_kind(part: &Part, rows: &[&Row], (unsteady, runs): (usize, usize)) -> Warning {
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
    let kinds: Vec<String> = kinds.iter().filter_map(of_kind).collect();
    let mut worst: Vec<&&Row> = rows.iter().filter(|row| row.health.unsteady() > 0).collect();
    worst.sort_by_key(|row| std::cmp::Reverse(row.health.unsteady()));
    let examples = worst.iter().take(NAMES_MAX).map(|row| format!("{} of {}", row.health.unsteady(), row.label));
    let examples: Vec<String> = examples.collect();
    let more = match worst.len() - examples.len() {
        0 => String::new(),
        1 => " and one more scenario".into(),
        more => format!(" and {more} more scenarios"),
    };
    let (kinds, examples) = (kinds.join(", "), examples.join(", "));
    Warning {
        seen: format!("{}: {unsteady} of {runs} runs were not steady ({kinds}): {examples}{more}", part.workload),
        effect: "The mean of such a run mixes several states, and depends on the run's length; claims that rest on it say so.",
        remedy: "Look at them second by second; run longer, warm up longer, and look for throttling or a filling device.",
        brief: None,
    }
}

/// A warm-up that goes on in the measured runs, and how many runs would hold it.
fn warm_up(part: &Part, rows: &[&Row], (warming, runs): (usize, usize), warm_up_runs: usize) -> Option<Warning> {
    let slowest =
        rows.iter().max_by(|a, b| a.health.warm_up().unwrap_or(0.0).total_cmp(&b.health.warm_up().unwrap_or(0.0)))?;
    let seconds = slowest.health.warm_up().filter(|_| warming >= UNSTEADY_MIN)?;
    let more = (seconds * WARM_UP_RESERVE / slowest.health.seconds.max(1.0)).ceil() as usize;
    let after = match warm_up_runs {
        0 => "without a warm-up run".into(),
        1 => "after one warm-up run".into(),
        several => format!("after {several} warm-up runs"),
    };
    let needed = match warm_up_runs + more.max(1) {
        1 => "one would cover".into(),
        several => format!("{several} would cover"),
    };
    let (workload, longest, scenario) = (&part.workload, span(seconds), &slowest.label);
    Some(Warning {
        seen: format!(
            "{workload}: {after}, {warming} of {runs} runs were still warming up, for up to {longest} ({scenario}); {needed} that, with \
             half as much to spare"
        ),
        effect: "The figures lie below those of a longer run, and not equally far for each scenario.",
        remedy: "Set `design.warm_up_runs` higher, or make runs longer.",
        brief: None,
    })
}

/// A run that slows down the next one: what is measured is no state of a new filesystem, and not the same for each scenario.
fn slower_than_warm_up(part: &Part, rows: &[&Row]) -> Option<Warning> {
    let times = |row: &&Row| {
        // An open loop that falls behind is slower by chance of its queue.
        let falls_behind = row.ceiling.as_ref().is_some_and(|ceiling| ceiling.fell_behind().is_some());
        let ratio = row.health.to_warm_up.filter(|ratio| *ratio > 0.0 && !falls_behind)?;
        Some((row.label.clone(), if part.more_is_better { 1.0 / ratio } else { ratio }))
    };
    let mut slower: Vec<(String, f64)> =
        rows.iter().filter_map(times).filter(|(_, times)| *times >= SLOWER_MIN).collect();
    slower.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (label, times) = slower.first()?;
    let named: Vec<String> =
        slower.iter().map(|(label, times)| format!("{label} {} times as slow", figure(*times))).collect();
    let (workload, examples, times) = (&part.workload, listed(&named, ", "), figure(*times));
    Some(Warning {
        seen: format!("{workload}: measured runs were slower than the warm-up before them: {examples}"),
        effect: "A run leaves behind what slows the next one down: the figures are not those of a new filesystem, and another number of runs may reverse a comparison.",
        remedy: "If a job begins on a new filesystem where you work, set `design.warm_up_runs = 0` and `design.runs = 1`. Else look for what a run leaves: deleted files, a full cache of the device, throttling.",
        brief: Some(format!(
            "measured runs of {label} were {times} times as slow as the warm-up: a run slows the next one."
        )),
    })
}

/// Runs that end before what happens in them now and then has happened often enough, and how many seconds would do.
pub fn too_short(part: &Part) -> Option<Warning> {
    let of_checkpoints = |row: &Row| {
        let count = row.health.checkpoints.filter(|count| *count > 0.0 && *count < CYCLES_MIN)?;
        let why = format!("it holds {} checkpoints of the server on average", figure(count));
        Some((row.health.seconds * CYCLES_MIN / count, why))
    };
    let of_independent = |row: &Row| {
        let seconds = median(row.health.runs.iter().filter_map(|run| run.independent).collect())?;
        let why = || format!("its seconds are autocorrelated and worth {} independent ones", figure(seconds));
        (seconds < INDEPENDENT_MIN).then(|| (row.health.seconds * INDEPENDENT_MIN / seconds, why()))
    };
    let by_checkpoints = part.measured().filter_map(|row| Some((row, of_checkpoints(row)?)));
    let found = by_checkpoints.chain(part.measured().filter_map(|row| Some((row, of_independent(row)?))));
    let (row, (needed, why)) = found.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0))?;
    let (seconds, needed) = (span(row.health.seconds), span(needed.ceil()));
    let (workload, label) = (&part.workload, &row.label);
    Some(Warning {
        seen: format!("{workload}: a run of {seconds} is too short for {label}: {why}; about {needed} would do"),
        effect: "What comes now and then falls into some runs and not into others, which adds noise and may flatter.",
        remedy: "Make each run longer.",
        brief: None,
    })
}

/// Trials far behind their like while something else loaded the machine; what would be said without them.
pub fn disturbed(part: &Part) -> Option<Warning> {
    let named = part.measured().flat_map(|row| {
        let disturbed = row.health.disturbed.iter();
        disturbed.map(move |(round, cause)| format!("{} in round {} ({})", row.label, round + 1, cause.words()))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return None;
    }
    let without = without_disturbed(part);
    let changed = match without.as_slice() {
        [] => "; without them the verdicts are the same".into(),
        changed => format!("; without them, {}", changed.join(", and ")),
    };
    let (trials, them) = if named.len() == 1 { ("a trial", "it") } else { ("trials", "them") };
    let (workload, examples) = (&part.workload, listed(&named, ", "));
    Some(Warning {
        seen: format!("{workload}: slow while something else used the machine: {examples}{changed}"),
        effect: "They are kept in the answer: taking out what is slow makes everything look fast.",
        remedy: "Keep the machine to the study, and run more rounds.",
        brief: (!without.is_empty())
            .then(|| format!("something else slowed {trials} down; without {them} the answer would differ.")),
    })
}

/// What the machine did beside the study.
pub fn of_study(view: &View) -> Vec<Warning> {
    let rows: Vec<&Row> = view.parts.iter().flat_map(Part::measured).collect();
    let loads: Vec<(&Row, u32, &Load)> =
        rows.iter().flat_map(|row| row.health.loads.iter().map(move |(round, load)| (*row, *round, load))).collect();
    steal(&loads).into_iter().chain(other_load(&loads)).collect()
}

fn overall(loads: &[(&Row, u32, &Load)], of: fn(&Load) -> Option<f64>) -> Option<f64> {
    mean(loads.iter().filter_map(|(.., load)| of(load)))
}

/// Other guests of the host took CPU time.
fn steal(loads: &[(&Row, u32, &Load)]) -> Option<Warning> {
    let stolen = loads.iter().filter_map(|(row, round, load)| Some((load.steal?, row, round)));
    let (most, row, round) = stolen.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mean = overall(loads, |load| load.steal).filter(|mean| *mean >= STEAL_MIN)?;
    let (mean, most, round) = (percent(mean), percent(most), round + 1);
    Some(Warning {
        seen: format!(
            "other guests of the host took {mean} of the CPUs' time, at most {most} ({} in round {round})",
            row.label
        ),
        effect: "Trials are slower than they are on a host of their own, and unequally so: intervals are wider.",
        remedy: "Measure on a host of your own, or at a quieter hour, and plan more rounds.",
        brief: None,
    })
}

/// Something else used CPUs or the disk.
fn other_load(loads: &[(&Row, u32, &Load)]) -> Option<Warning> {
    let own = |of: fn(&Load) -> f64| mean(loads.iter().map(|(.., load)| of(load))).unwrap_or(0.0);
    let (cpus, own_disk) = (own(|load| load.cpus), own(|load| load.own_disk));
    let cores = overall(loads, |load| load.other_cores);
    let cores = cores.filter(|cores| *cores >= OTHER_CORES_MIN.max(cpus * OTHER_CORES_SHARE_MIN));
    let disk = overall(loads, |load| load.other_disk);
    let disk = disk.filter(|bytes| *bytes >= OTHER_DISK_MIN.max(own_disk * OTHER_DISK_SHARE_MIN));
    let cores = cores.map(|cores| format!("used {} of {cpus:.0} CPUs", figure(cores)));
    let disk = disk.map(|bytes| format!("moved {} MB/s on the disk below", figure(bytes / 1e6)));
    let what: Vec<String> = cores.into_iter().chain(disk).collect();
    (!what.is_empty()).then(|| Warning {
        seen: format!("beside load and server, something else {} on average", what.join(" and ")),
        effect: "If this was other programs, and not the kernel at work for the trial, speeds were measured too low and times too long, and intervals are too wide.",
        remedy: "Look with `surefoot doctor` who is busy, stop it, and run the study again.",
        brief: None,
    })
}
