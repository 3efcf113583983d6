//! Warnings: what was seen, what it does to the answer, what to do. One enum, so that none is worded twice or forgotten.

mod answers;
mod brief;
mod power_cuts;
mod runs;

pub use answers::OfAnswers;
pub use power_cuts::OfPowerCuts;
pub use runs::OfRuns;

use crate::health;
use crate::input::Counting;
use crate::number::{figure, percent, percent_signed, ratio_precise, span};
use crate::words::Words as _;
use analysis::changed::Changed;
use analysis::judge::ROUNDS_FOR_CLAIMS;
use analysis::looks::Answer;
use analysis::row::Row;
use analysis::view::{Part, View};
use ledger::model::{Contents, Order, Phase, RunRow, Scenario, Session};
use stats::Verdict;
use std::collections::BTreeMap;

/// A run shorter than this spans too few flushes and checkpoints of a filesystem: ext4 commits its journal every 5 s,
/// the kernel writes dirty pages back after 30 s.
pub const RUN_SECONDS_MIN: f64 = 10.0;
/// Cores that the load generator may use before the CPU is likely to be what was measured: it has one thread at least.
const CLIENT_CORES_MAX: f64 = 0.8;
/// Drift over the study below this is no news.
const DRIFT_MIN: f64 = 0.02;
/// Outliers named before the rest is counted.
const NAMES_MAX: usize = 3;

/// Something a reader of the answer must know; `workload` names the part it is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The control, which is the baseline once more, differs from it.
    ControlDiffers { workload: String, difference: f64 },
    /// Values changed over the study.
    Drift { workload: String, over_study: f64 },
    /// How the runs went.
    Runs(OfRuns),
    /// What a load got for an answer.
    Answers(OfAnswers),
    /// How far what was measured of power cuts can be trusted.
    PowerCuts(OfPowerCuts),
    /// Trials that are outliers.
    Outliers { workload: String, count: usize, examples: Vec<String> },
    /// A turn changes the speed of the next one by more than the wanted precision.
    CarryOver { workload: String, after: String, ratio: f64 },
    /// Scenarios of one comparison differ in what a power cut takes.
    DurabilityMix { workload: String },
    /// Settings promise to keep what was acknowledged, and no flush reached the device; a label and what was counted each.
    DoesNotFlush { workload: String, count: usize, examples: Vec<String> },
    /// Fewer rounds than claims need, or than the study declared.
    TooFewRounds { workload: String, rounds: usize, wanted: usize },
    /// The machine, a server or a file of the user's was another one in later sessions; a phrase each.
    Changed { changes: Vec<String> },
    /// Trials failed.
    FailedTrials {
        /// How many.
        count: usize,
        /// Whose.
        scenarios: Vec<String>,
        /// Why the first of these failed.
        cause: Option<String>,
    },
    /// The exact sign-flip test does not bear a claim out.
    SignsDisagree { workload: String, claims: Vec<String> },
    /// Runs too short to hold what a filesystem does now and then.
    ShortRuns { seconds: f64, judged: bool },
    /// The study ended before its intervals were as narrow as wanted.
    PrecisionNotReached {
        workload: String,
        half_width: f64,
        wanted: f64,
        reason: String,
        rounds_needed: Option<usize>,
        is_closed: bool,
    },
    /// A trial said something, such as an option without effect.
    Said { message: String, trials: usize },
    /// What a device can give is not known, and why.
    NotProbed { failure: String },
    /// All data fits into the trial's memory.
    FitsInMemory { share: f64 },
    /// The load generator itself was busy.
    ClientBusy { cores: f64, scenario: String },
    /// Runs whose figure was 0; a label and in how many runs each.
    Stalled { workload: String, count: usize, examples: Vec<String>, more_is_better: bool },
    /// The study is still under way, or was cut off.
    Unfinished {
        /// Whether it was amid the rounds, so that claims are held to a part of their level.
        is_amid_rounds: bool,
    },
}

impl Warning {
    /// What was seen.
    pub fn seen(&self) -> String {
        match self {
            Warning::ControlDiffers { workload, difference } => {
                format!("{workload}: the A/A control differs from its twin by {}", percent(*difference))
            }
            Warning::Drift { workload, over_study } => {
                format!(
                    "{workload}: all scenarios together moved by {} from the first round to the last",
                    percent_signed(*over_study)
                )
            }
            Warning::Runs(runs) => runs.seen(),
            Warning::Answers(answers) => answers.seen(),
            Warning::PowerCuts(cuts) => cuts.seen(),
            Warning::Outliers { workload, count, examples } => {
                format!("{workload}: outlier: {}", listed(*count, examples, ", "))
            }
            Warning::CarryOver { workload, after, ratio } => {
                format!(
                    "{workload}: turns after {after} had {} times the speed of turns after others",
                    ratio_precise(*ratio)
                )
            }
            Warning::DurabilityMix { workload } => {
                format!("{workload}: the scenarios do not keep the same promises in a power cut")
            }
            Warning::DoesNotFlush { workload, count, examples } => format!(
                "{workload}: every acknowledged commit is kept by the settings, but the device got {}",
                listed(*count, examples, ", ")
            ),
            Warning::TooFewRounds { workload, rounds, wanted } => {
                format!("{workload}: comparisons rest on {}, where {wanted} were wanted", in_rounds(*rounds))
            }
            Warning::Changed { changes } => {
                format!("what was measured changed while the study went on: {}", changes.join("; "))
            }
            Warning::FailedTrials { count: 1, .. } => "one trial failed".into(),
            Warning::FailedTrials { count, .. } => format!("{count} trials failed"),
            Warning::SignsDisagree { workload, claims } => {
                format!("{workload}: the exact sign-flip test does not bear out: {}", claims.join(", "))
            }
            Warning::ShortRuns { seconds, judged: true } => format!("runs lasted only {}", span(*seconds)),
            Warning::ShortRuns { seconds, judged: false } => {
                format!("runs lasted only {}, too short to see whether they were steady", span(*seconds))
            }
            Warning::PrecisionNotReached { workload, half_width, wanted, reason, rounds_needed, .. } => {
                let (found, wanted, needed) = (percent(*half_width), percent(*wanted), needed(*rounds_needed));
                format!(
                    "{workload}: the widest interval is ±{found}, where ±{wanted} was wanted{needed}; the study ended: {reason}"
                )
            }
            Warning::Said { message, trials: 1 } => message.clone(),
            Warning::Said { message, trials } => format!("{message} (in {trials} trials)"),
            Warning::NotProbed { failure } => format!("what a device can give was not measured: {failure}"),
            Warning::FitsInMemory { share } => {
                format!("the data fill only {} of the memory the trials had", percent(*share))
            }
            Warning::ClientBusy { cores, scenario } => {
                format!(
                    "the load generator, with its embedded engine, used up to {} cores with {scenario}",
                    figure(*cores)
                )
            }
            Warning::Stalled { workload, count, examples, .. } => {
                format!("{workload}: {}", listed(*count, examples, ", "))
            }
            Warning::Unfinished { .. } => "the study is not finished".into(),
        }
    }

    /// What it does to the answer.
    pub fn effect(&self) -> &'static str {
        match self {
            Warning::ControlDiffers { .. } => {
                "Two equal scenarios look different here, so claims of about this size may be false too."
            }
            Warning::Runs(runs) => runs.effect(),
            Warning::Answers(answers) => answers.effect(),
            Warning::PowerCuts(cuts) => cuts.effect(),
            Warning::Drift { .. } => {
                "Comparisons hold where this is slow against a round; the absolute values hold for no single moment."
            }
            Warning::Outliers { .. } => {
                "They are kept: they widen the intervals and may be a slow mode that production will meet too."
            }
            Warning::CarryOver { .. } => {
                "What a turn leaves behind is paid by who comes next, seldom by itself: a difference may be off by as much."
            }
            Warning::DurabilityMix { .. } => {
                "A scenario that may lose data is fast for a reason: its speed is not comparable with a safe one's."
            }
            Warning::DoesNotFlush { .. } => {
                "What was acknowledged may lie only in a cache that a power cut empties: this counts as less safe than what flushes."
            }
            Warning::TooFewRounds { .. } => "Intervals are wide, and a difference that is there may not be seen.",
            Warning::Changed { .. } => {
                "Rounds before and after are of different things: what is compared within a round holds, the figures are a mixture."
            }
            Warning::FailedTrials { .. } => "Comparisons use the rounds in which both sides finished.",
            Warning::SignsDisagree { .. } => {
                "These claims lean on the values being roughly normal; take them as likely, not as shown."
            }
            Warning::ShortRuns { .. } => {
                "Journal commits and write-back fall into some runs and not into others, which adds noise and may flatter."
            }
            Warning::PrecisionNotReached { .. } => "Differences smaller than the intervals stay open.",
            Warning::Said { .. } => "What was measured may not be what was asked for.",
            Warning::NotProbed { .. } => "Its scenarios are no share of it, and what bound them is less clear.",
            Warning::FitsInMemory { .. } => "Reads come from the page cache: mostly flushes and writes were measured.",
            Warning::ClientBusy { .. } => {
                "Where this is near the number of its threads, the CPU is the limit and not the storage, which hides differences."
            }
            Warning::Stalled { .. } => {
                "A figure of 0 is kept and makes the mean 0: no ratio to it exists, so nothing is claimed of it, and it is never picked."
            }
            Warning::Unfinished { is_amid_rounds: true } => {
                "Everything here may still change, and claims are held to a part of their level."
            }
            Warning::Unfinished { is_amid_rounds: false } => "What comes after the rounds is not whole.",
        }
    }

    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Warning::ControlDiffers { .. } => {
                "Run more rounds; if it stays, look for what differs with the order of trials (device temperature, caches)."
            }
            Warning::Runs(runs) => runs.remedy(),
            Warning::Answers(answers) => answers.remedy(),
            Warning::PowerCuts(cuts) => cuts.remedy(),
            Warning::Drift { .. } => {
                "Look at the chart of trials over time, and for other load, thermal throttling or a filling device."
            }
            Warning::Outliers { .. } => "Look at their throughput second by second, and run more rounds.",
            Warning::CarryOver { .. } => "Measure again with `--set design.order=blocks`, or with longer turns.",
            Warning::DurabilityMix { .. } => "Set `parity = \"require\"`, or compare within one class only.",
            Warning::DoesNotFlush { .. } => {
                "Look for what swallows flushes: the filesystem, its mount options, or a setting of the database."
            }
            Warning::TooFewRounds { .. } => {
                "Run the same command again with a larger `--rounds` or `--time`: it goes on where it stopped."
            }
            Warning::Changed { .. } => "Measure anew with `--results FILE`, and compare the two.",
            Warning::FailedTrials { .. } => {
                "Mend the cause (the page has each failure with its log), and run the same command with `--retry-failed`."
            }
            Warning::SignsDisagree { .. } => "Run more rounds.",
            Warning::ShortRuns { .. } => "Make each run last at least 30 s.",
            Warning::PrecisionNotReached { is_closed: true, .. } => "Measure anew: new rounds closed the choice.",
            Warning::PrecisionNotReached { .. } => {
                "Run the same command again with a larger `--time` or `--rounds`; a quieter machine, or shorter trials in more rounds, cost less."
            }
            Warning::Said { .. } => "Correct the study file, or the machine.",
            Warning::NotProbed { .. } => "See docs/ceilings.md; `design.probe = \"0s\"` leaves the probe out.",
            Warning::FitsInMemory { .. } => {
                "Set `memory` (in a guest `guest.memory`) below the size of the data, or make the data larger."
            }
            Warning::ClientBusy { .. } => "Give the load generator more CPUs (`cpus.client`), or more threads.",
            Warning::Stalled { more_is_better: true, .. } => {
                "Look at these runs second by second for what stopped them; if pauses are expected, make runs longer than those."
            }
            Warning::Stalled { more_is_better: false, .. } => {
                "Nothing takes no time: make runs longer, or choose a metric that can be measured."
            }
            Warning::Unfinished { .. } => "Run the same command again: it goes on where it stopped.",
        }
    }
}

/// All warnings of a report, the gravest first.
pub fn warnings(view: &View, contents: &Contents) -> Vec<Warning> {
    let mut list = Vec::new();
    list.extend(unfinished(contents));
    if view.failed_total > 0 {
        let rows = view.parts.iter().flat_map(|part| &part.rows).filter(|row| row.failed > 0);
        let scenarios: Vec<String> = rows.map(|row| row.label.clone()).collect();
        let cause = scenarios.iter().find_map(|label| view.failure_of(label)).map(String::from);
        list.push(Warning::FailedTrials { count: view.failed_total, scenarios, cause });
    }
    list.extend(changed(contents));
    for part in &view.parts {
        list.extend(of_part(part, view, contents));
        let warm_up = contents.runs.iter().filter(|run| run.warm_up).map(|run| run.run as usize + 1).max();
        list.extend(health::of_part(part, warm_up.unwrap_or(0)).into_iter().map(Warning::Runs));
    }
    let counting = Counting::of(contents);
    list.extend(said(&counting));
    let failures = contents.probes.iter().filter_map(|probe| probe.failure.clone());
    list.extend(failures.map(|failure| Warning::NotProbed { failure }));
    list.extend(power_cuts::of(contents).into_iter().map(Warning::PowerCuts));
    list.extend(health::of_study(view).into_iter().map(Warning::Runs));
    list.extend(about_runs(contents.study.analysis.order, &counting, view));
    if list.iter().any(|warning| matches!(warning, Warning::ShortRuns { .. })) {
        // Said once: runs of so few seconds are too short for anything.
        list.retain(|warning| !matches!(warning, Warning::Runs(OfRuns::TooShort { .. })));
    }
    list.extend(fits_in_memory(&counting, contents));
    list
}

/// Examples, and how many more there are.
fn listed(count: usize, examples: &[String], separator: &str) -> String {
    format!("{}{}", examples.join(separator), more_than(count, examples))
}

fn needed(rounds: Option<usize>) -> String {
    rounds.map_or_else(String::new, |rounds| format!(", at this spread about {} are needed", in_rounds(rounds)))
}

fn in_rounds(rounds: usize) -> String {
    if rounds == 1 { "one round".into() } else { format!("{rounds} rounds") }
}

fn more_than(count: usize, examples: &[String]) -> String {
    if count > examples.len() { format!(" and {} more", count - examples.len()) } else { String::new() }
}

fn unfinished(contents: &Contents) -> Option<Warning> {
    let ended = contents.sessions.last().is_some_and(Session::came_to_an_end);
    let has_trials = |phase: &Phase| contents.trials.iter().any(|trial| trial.phase == *phase);
    let is_amid_rounds = [Phase::Main, Phase::Confirmation]
        .into_iter()
        .filter(has_trials)
        .any(|phase| Answer::of(contents, phase).share < 1.0);
    (!ended).then_some(Warning::Unfinished { is_amid_rounds })
}

fn changed(contents: &Contents) -> Option<Warning> {
    let phrase = |changed: Changed| format!("{}: {}", changed.fact.replace('_', " "), changed.values.join(", then "));
    let changes: Vec<String> = analysis::changed::changed(contents).into_iter().map(phrase).collect();
    (!changes.is_empty()).then_some(Warning::Changed { changes })
}

fn stalled(part: &Part) -> Option<Warning> {
    let stalled: Vec<&Row> = part.rows.iter().filter(|row| row.stalls.is_some()).collect();
    let said = stalled.iter().filter_map(|row| Some(format!("{} {}", row.label, row.stalls?.words())));
    (!stalled.is_empty()).then(|| Warning::Stalled {
        workload: part.workload.clone(),
        count: stalled.len(),
        examples: said.take(NAMES_MAX).collect(),
        more_is_better: part.more_is_better,
    })
}

fn of_part(part: &Part, view: &View, contents: &Contents) -> Vec<Warning> {
    let workload = part.workload.clone();
    let mut list: Vec<Warning> = does_not_flush(part).into_iter().collect();
    list.extend(answers::wrong(part).into_iter().map(Warning::Answers));
    if part.durability_differs {
        list.push(Warning::DurabilityMix { workload: workload.clone() });
    }
    list.extend(stalled(part));
    list.extend(answers::late(part).map(Warning::Answers));
    list.extend(answers::capped(part).map(Warning::Answers));
    if !part.has_choice() {
        return list;
    }
    let wanted = (contents.study.analysis.rounds_min as usize).max(ROUNDS_FOR_CLAIMS);
    if part.rounds_compared() < wanted {
        list.push(Warning::TooFewRounds { workload: workload.clone(), rounds: part.rounds_compared(), wanted });
    }
    if part.rounds_compared() < ROUNDS_FOR_CLAIMS {
        return list;
    }
    if let Some(control) =
        part.judgement.control.as_ref().filter(|claim| matches!(claim.verdict, Some(Verdict::Faster | Verdict::Slower)))
    {
        list.push(Warning::ControlDiffers { workload: workload.clone(), difference: (control.ratio - 1.0).abs() });
    }
    let disagreeing: Vec<String> = part
        .judgement
        .claims
        .iter()
        .filter(|claim| !claim.signs_agree)
        .map(|claim| format!("{} against {}", claim.names().0, claim.names().1))
        .collect();
    if !disagreeing.is_empty() {
        list.push(Warning::SignsDisagree { workload: workload.clone(), claims: disagreeing });
    }
    list.extend(carry_over(part, view));
    list.extend(precision(part, view, contents));
    list.extend(moved_together(part));
    if !part.judgement.outliers.is_empty() {
        let named = part
            .judgement
            .outliers
            .iter()
            .take(NAMES_MAX)
            .map(|(label, round)| format!("{label} in round {}", round + 1));
        list.push(Warning::Outliers { workload, count: part.judgement.outliers.len(), examples: named.collect() });
    }
    list
}

/// Rounds that became faster or slower for all scenarios alike; of rounds that do different parts of the work that says nothing.
fn moved_together(part: &Part) -> Option<Warning> {
    if part.goes_in_parts() {
        return None;
    }
    let workload = part.workload.clone();
    let mut steps = part.judgement.steps.clone();
    steps.retain(|(_, change)| change.abs() >= DRIFT_MIN);
    if !steps.is_empty() {
        return Some(Warning::Runs(OfRuns::Steps { workload, steps }));
    }
    let over_study = part.judgement.drift.filter(|drift| drift.abs() >= DRIFT_MIN)?;
    Some(Warning::Drift { workload, over_study })
}

/// Scenarios of which the measurement says otherwise than the settings.
fn does_not_flush(part: &Part) -> Option<Warning> {
    let found = || part.measured().filter(|row| row.breaks_promise());
    let example = |row: &Row| Some(format!("{} with {}", row.flushing.as_ref()?.words(), row.label));
    let examples: Vec<String> = found().take(NAMES_MAX).filter_map(example).collect();
    let count = found().count();
    (count > 0).then(|| Warning::DoesNotFlush { workload: part.workload.clone(), count, examples })
}

fn carry_over(part: &Part, view: &View) -> Option<Warning> {
    let found = part.orders.carry_over.as_ref()?;
    let (workload, after) = (part.workload.clone(), found.after.clone());
    let is_large = found.is_shown() && found.size() > view.precision;
    is_large.then_some(Warning::CarryOver { workload, after, ratio: found.ratio })
}

fn precision(part: &Part, view: &View, contents: &Contents) -> Option<Warning> {
    let half_width = part.judgement.half_width_max?;
    (half_width > view.precision).then(|| Warning::PrecisionNotReached {
        workload: part.workload.clone(),
        half_width,
        wanted: view.precision,
        rounds_needed: part.judgement.rounds_needed,
        is_closed: contents.finalists().any(|finalists| finalists.workload == part.workload),
        reason: contents
            .sessions
            .last()
            .and_then(|session| session.reason.clone())
            .unwrap_or_else(|| "it is still running".into()),
    })
}

/// What trials said, equal messages together.
fn said(counting: &Counting) -> Vec<Warning> {
    let mut messages: BTreeMap<&str, usize> = BTreeMap::new();
    for message in counting.trials.values().flat_map(|trial| &trial.warnings) {
        *messages.entry(message).or_default() += 1;
    }
    messages.into_iter().map(|(message, trials)| Warning::Said { message: message.into(), trials }).collect()
}

fn about_runs(order: Order, counting: &Counting, view: &View) -> Vec<Warning> {
    let mut list = Vec::new();
    let runs = || counting.runs.values().flatten().copied();
    let shortest = runs().map(|run: &RunRow| run.seconds).fold(f64::INFINITY, f64::min);
    // The flush that ends a turn writes out what the journal and the kernel would have kept for later.
    if order == Order::Blocks && shortest < RUN_SECONDS_MIN {
        let mut rows = view.parts.iter().flat_map(Part::measured).filter(|row| !row.health.runs.is_empty()).peekable();
        let is_judged = |row: &Row| row.health.count(|course| *course != stats::Course::TooShort) > 0;
        let judged = rows.peek().is_none() || rows.any(is_judged);
        list.push(Warning::ShortRuns { seconds: shortest, judged });
    }
    let busiest =
        runs().filter_map(|run| Some((run, *run.metrics.get("driver_cpu_cores")?))).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((run, cores)) = busiest.filter(|(_, cores)| *cores > CLIENT_CORES_MAX) {
        let scenario = counting.trials[&run.trial].scenario.clone();
        list.push(Warning::ClientBusy { cores, scenario });
    }
    list
}

/// What a trial had: its limit, its guest's memory or the machine's, whichever is least.
fn memory_of(scenario: &Scenario, machine: Option<f64>) -> Option<f64> {
    let own = [&scenario.settings["memory_bytes"], &scenario.settings["guest"]["memory"]];
    own.into_iter().filter_map(serde_json::Value::as_f64).reduce(f64::min).or(machine)
}

/// The largest of the data against the memory of its trial, or of the machine.
fn fits_in_memory(counting: &Counting, contents: &Contents) -> Option<Warning> {
    let machine = observe::machine::memory_bytes_of(&contents.sessions.last()?.machine).map(|bytes| bytes as f64);
    let limits: BTreeMap<&str, f64> = contents
        .scenarios
        .iter()
        .filter_map(|scenario| Some((scenario.label.as_str(), memory_of(scenario, machine)?)))
        .collect();
    let is_folder = |scenario: &&Scenario| scenario.settings["storage"]["device"] == "dir";
    let in_folders: Vec<&str> =
        contents.scenarios.iter().filter(is_folder).map(|scenario| scenario.label.as_str()).collect();
    let share = |run: &RunRow| {
        let scenario = counting.trials[&run.trial].scenario.as_str();
        // In older files what the whole disk of a folder held, which they tell by how much that grew.
        if in_folders.contains(&scenario) && run.metrics.contains_key("space_grown_bytes") {
            return None;
        }
        Some(run.metrics.get("space_used_bytes")? / limits.get(scenario)?)
    };
    let largest = counting.runs.values().flatten().filter_map(|run| share(run)).max_by(f64::total_cmp)?;
    (largest < 1.0).then_some(Warning::FitsInMemory { share: largest })
}
