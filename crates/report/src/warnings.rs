//! Warnings: what was seen, what it does to the answer, what to do. Each is worded where it is found, all three at once, so that none
//! is forgotten.

mod answers;
mod power_cuts;
mod runs;

use crate::advice;
use crate::input::Counting;
use crate::labels;
use crate::number::{about, figure, percent, percent_signed, ratio_precise, span};
use crate::words::{Words as _, first_of, one_or_more, some_of};
use analysis::changed::Changed;
use analysis::claim::Claim;
use analysis::judge::{Moved, ROUNDS_FOR_CLAIMS};
use analysis::looks::Answer;
use analysis::view::{Part, View};
use ledger::model::{Contents, Order, Phase, RunRow, Scenario, Session};
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
/// Letters of what a trial said that the short answer has room for.
const SAID_MAX: usize = 70;
/// Share of a device that is there to be filled at least; a filesystem's tables, journal and reserve take the rest.
const FILLED_MIN: f64 = 0.9;
/// Where more main rounds would help, and none is measured any more.
const CLOSED: &str = "Measure anew: new rounds closed the choice.";

/// Something a reader of the answer must know.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// What was seen.
    pub seen: String,
    /// What it does to the answer.
    pub effect: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// A sentence for the short answer, where this changes what may be believed. What only says how a study was set up, or how wide its
    /// intervals are, has none: a plan and the page have that.
    pub brief: Option<String>,
}

/// All warnings of a report, the gravest first.
pub fn warnings(view: &View, contents: &Contents) -> Vec<Warning> {
    let counting = Counting::of(contents);
    let short_runs = short_runs(contents.study.analysis.order, &counting, view);
    let warm_up = contents.runs.iter().filter(|run| run.warm_up).map(|run| run.run as usize + 1).max();
    let of_study = unfinished(contents).into_iter().chain(failed_trials(view)).chain(changed(contents));
    let mut list: Vec<Warning> = of_study.collect();
    for part in &view.parts {
        list.extend(of_part(part, view, contents));
        list.extend(runs::not_steady(part, warm_up.unwrap_or(0)));
        // Said once: runs of so few seconds are too short for anything.
        list.extend(if short_runs.is_none() { runs::too_short(part) } else { None });
        list.extend(runs::disturbed(part));
    }
    list.extend(said(&counting));
    list.extend(contents.probes.iter().filter_map(|probe| probe.failure.as_deref()).map(not_probed));
    list.extend(power_cuts::of(contents));
    list.extend(runs::of_study(view));
    list.extend(short_runs);
    list.extend(busy_client(&counting));
    list.extend(fits_in_memory(&counting, contents));
    list
}

/// The first of them, and how many more there are.
fn listed(all: &[String], separator: &str) -> String {
    first_of(all, NAMES_MAX, separator)
}

fn in_scenarios(count: usize) -> String {
    one_or_more(count, "scenario")
}

fn cut(message: &str) -> String {
    if message.chars().count() <= SAID_MAX {
        return message.trim_end_matches('.').into();
    }
    message.chars().take(SAID_MAX - 1).chain(['…']).collect()
}

/// The study is still under way, or was cut off.
fn unfinished(contents: &Contents) -> Option<Warning> {
    let is_whole = contents.last_of_rounds().is_none_or(Session::ended_its_rounds);
    let ended = is_whole && contents.sessions.last().is_some_and(Session::came_to_an_end);
    let has_trials = |phase: &Phase| contents.trials.iter().any(|trial| trial.phase == *phase);
    let mut phases = [Phase::Main, Phase::Confirmation].into_iter().filter(has_trials);
    let is_amid_rounds = phases.any(|phase| Answer::of(contents, phase).share < 1.0);
    (!ended).then(|| Warning {
        seen: "the study is not finished".into(),
        effect: match is_amid_rounds {
            true => "Everything here may still change, and claims are held to a part of their level.",
            false => "What comes after the rounds is not whole.",
        },
        remedy: "Run the same command again: it goes on where it stopped.",
        brief: Some("the study is not finished: all of this may still change.".into()),
    })
}

/// Whose trials failed, and why the first of these did.
pub fn failed_trials(view: &View) -> Option<Warning> {
    let rows = view.parts.iter().flat_map(|part| &part.rows).filter(|row| row.failed > 0);
    let scenarios: Vec<String> = rows.map(|row| row.label.clone()).collect();
    let cause = scenarios.iter().find_map(|label| view.failure_of(label));
    let cause =
        cause.map_or_else(String::new, |why| format!(" ({})", labels::cut(why.trim_end_matches('.'), SAID_MAX)));
    let trials = one_or_more(view.failed_total, "trial");
    (view.failed_total > 0).then(|| Warning {
        seen: format!("{trials} failed"),
        effect: "Comparisons use the rounds in which both sides finished.",
        remedy: "Mend the cause (the page has each failure with its log), and run the same command with `--retry-failed`.",
        brief: Some(format!("{trials} of {} failed{cause}; the others are compared.", some_of(&scenarios))),
    })
}

/// The machine, a server or a file of the user's was another one in later sessions; a phrase each.
fn changed(contents: &Contents) -> Option<Warning> {
    let phrase = |changed: Changed| format!("{}: {}", changed.fact.replace('_', " "), changed.values.join(", then "));
    let changes: Vec<String> = analysis::changed::changed(contents).into_iter().map(phrase).collect();
    let changes = changes.join("; ");
    (!changes.is_empty()).then(|| Warning {
        seen: format!("what was measured changed while the study went on: {changes}"),
        effect: "Rounds before and after are of different things: what is compared within a round holds, the figures are a mixture.",
        remedy: "Measure anew with `--results FILE`, and compare the two.",
        brief: Some(format!("something changed while the study went on: {}.", cut(&changes))),
    })
}

fn of_part(part: &Part, view: &View, contents: &Contents) -> Vec<Warning> {
    let mut list: Vec<Warning> = does_not_flush(part).into_iter().chain(answers::wrong(part)).collect();
    list.extend(durability_mix(part));
    list.extend(stalled(part));
    list.extend(answers::late(part));
    list.extend(answers::capped(part));
    if !part.has_choice() {
        return list;
    }
    list.extend(too_few_rounds(part, contents));
    if part.rounds_compared() < ROUNDS_FOR_CLAIMS {
        return list;
    }
    list.extend(control_differs(part));
    list.extend(signs_disagree(part));
    list.extend(carry_over(part, view));
    list.extend(precision(part, view, contents));
    list.extend(moved_together(part));
    list.extend(outliers(part));
    list
}

/// Settings promise to keep what was acknowledged, and no flush reached the device.
fn does_not_flush(part: &Part) -> Option<Warning> {
    let found = part.measured().filter(|row| row.breaks_promise());
    let named = found.filter_map(|row| Some(format!("{} with {}", row.flushing.as_ref()?.words(), row.label)));
    let named: Vec<String> = named.collect();
    let (workload, got, scenarios) = (&part.workload, listed(&named, ", "), in_scenarios(named.len()));
    (!named.is_empty()).then(|| Warning {
        seen: format!("{workload}: every acknowledged commit is kept by the settings, but the device got {got}"),
        effect: "What was acknowledged may lie only in a cache that a power cut empties: this counts as less safe than what flushes.",
        remedy: "Look for what swallows flushes: the filesystem, its mount options, or a setting of the database.",
        brief: Some(format!("{scenarios} acknowledged commits that no flush had brought to the device.")),
    })
}

/// Scenarios of one comparison differ in what a power cut takes.
fn durability_mix(part: &Part) -> Option<Warning> {
    part.durability_differs.then(|| Warning {
        seen: format!("{}: the scenarios do not keep the same promises in a power cut", part.workload),
        effect: "A scenario that may lose data is fast for a reason: its speed is not comparable with a safe one's.",
        remedy: "Set `parity = \"require\"`, or compare within one class only.",
        brief: None,
    })
}

/// Runs whose figure was 0.
fn stalled(part: &Part) -> Option<Warning> {
    let said = part.rows.iter().filter_map(|row| Some(format!("{} {}", row.label, row.stalls?.words())));
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| Warning {
        seen: format!("{}: {}", part.workload, listed(&said, ", ")),
        effect: "A figure of 0 is kept and makes the mean 0: no ratio to it exists, so nothing is claimed of it, and it is never picked.",
        remedy: match part.more_is_better {
            true => {
                "Look at these runs second by second for what stopped them; if pauses are expected, make runs longer than those."
            }
            false => "Nothing takes no time: make runs longer, or choose a metric that can be measured.",
        },
        brief: Some(format!(
            "{} had runs with a figure of 0: nothing is claimed of {}.",
            in_scenarios(said.len()),
            if said.len() == 1 { "it" } else { "them" }
        )),
    })
}

/// Fewer rounds than claims need, or than the study declared.
fn too_few_rounds(part: &Part, contents: &Contents) -> Option<Warning> {
    let wanted = (contents.study.analysis.rounds_min as usize).max(ROUNDS_FOR_CLAIMS);
    let rounds = part.rounds_compared();
    (rounds < wanted).then(|| Warning {
        seen: format!(
            "{}: comparisons rest on {}, where {wanted} were wanted",
            part.workload,
            one_or_more(rounds, "round")
        ),
        effect: "Intervals are wide, and a difference that is there may not be seen.",
        remedy: if part.is_closed {
            CLOSED
        } else {
            "Run the same command again with a larger `--rounds` or `--time`: it goes on where it stopped."
        },
        brief: None,
    })
}

/// The control, which is the baseline once more, differs from it.
fn control_differs(part: &Part) -> Option<Warning> {
    let control = part.judgement.control.as_ref().filter(|claim| claim.is_shown())?;
    let difference = percent((control.ratio - 1.0).abs());
    Some(Warning {
        seen: format!("{}: the A/A control differs from its twin by {difference}", part.workload),
        effect: "Two equal scenarios look different here, so claims of about this size may be false too.",
        remedy: "Run more rounds; if it stays, look for what differs with the order of trials (device temperature, caches).",
        brief: Some(format!(
            "two copies of the baseline differ by {difference}: differences of this size may be false."
        )),
    })
}

/// The exact sign-flip test does not confirm a claim.
fn signs_disagree(part: &Part) -> Option<Warning> {
    let disagreeing = part.judgement.claims.iter().filter(|claim| !claim.signs_agree).map(Claim::names);
    let claims: Vec<String> = disagreeing.map(|(a, b)| format!("{a} against {b}")).collect();
    let (comparisons, them) = if claims.len() == 1 { ("comparison", "it") } else { ("comparisons", "them") };
    (!claims.is_empty()).then(|| Warning {
        seen: format!("{}: the exact sign-flip test does not confirm {}", part.workload, claims.join(", ")),
        effect: "These claims lean on the values being roughly normal; take them as likely, not as shown.",
        remedy: "Run more rounds.",
        brief: Some(format!(
            "an exact test does not confirm {} {comparisons}: take {them} as likely, not as shown.",
            claims.len()
        )),
    })
}

/// A turn changes the speed of the next one by more than the wanted precision.
fn carry_over(part: &Part, view: &View) -> Option<Warning> {
    let found = part.orders.carry_over.as_ref().filter(|found| found.is_shown() && found.size() > view.precision)?;
    let turns = format!("turns after {} had {} times the speed", found.after, ratio_precise(found.effect.ratio()));
    Some(Warning {
        seen: format!("{}: {turns} of turns after others", part.workload),
        effect: "A scenario pays for what the turn before its own left behind, and seldom for what it leaves itself: a difference may be off by as much.",
        remedy: "Measure again with `--set design.order=blocks`, or with longer turns.",
        brief: Some(format!("{turns}: differences may be off by as much.")),
    })
}

/// The study ended before its intervals were as narrow as wanted.
fn precision(part: &Part, view: &View, contents: &Contents) -> Option<Warning> {
    let half_width = part.judgement.half_width_max.filter(|half_width| *half_width > view.precision)?;
    let (found, wanted) = (percent(half_width), percent(view.precision));
    let needed = part.judgement.rounds_needed.map_or_else(String::new, |rounds| {
        let to_go = rounds.saturating_sub(part.rounds_compared());
        let cheaper = view.precision_cost.as_ref().and_then(|cost| {
            let going_on = cost.seconds(to_go);
            let cheaper = cost.cheaper(view.precision, going_on)?;
            Some(format!(" ({} more; {})", about(going_on), advice::new_study(&cheaper)))
        });
        format!(", at this spread about {} are needed{}", one_or_more(rounds, "round"), cheaper.unwrap_or_default())
    });
    let reason = contents.last_of_rounds().and_then(|session| session.reason.as_deref());
    Some(Warning {
        seen: format!(
            "{}: the widest interval is ±{found}, where ±{wanted} was wanted{needed}; the study ended: {}",
            part.workload,
            reason.unwrap_or("it is still running")
        ),
        effect: "Differences smaller than the intervals stay open.",
        remedy: if part.is_closed {
            CLOSED
        } else {
            "Run the same command again with a larger `--time` or `--rounds`; on a quieter machine fewer are enough."
        },
        brief: None,
    })
}

/// Rounds that became faster or slower for all scenarios alike; of rounds that do different parts of the work that says nothing.
fn moved_together(part: &Part) -> Option<Warning> {
    if part.goes_in_parts() {
        return None;
    }
    let is_news = |change: f64| change.abs() >= DRIFT_MIN;
    let steps = part.judgement.steps.iter().copied().filter(|(_, change)| is_news(*change));
    let of_steps = runs::steps(part, &steps.collect::<Vec<_>>());
    let of_all = of_steps.or_else(|| {
        let workload = &part.workload;
        let drift = part.judgement.drift.filter(|drift| drift.is_shown() && is_news(drift.change))?;
        let over_study = percent_signed(drift.change);
        Some(Warning {
            seen: format!("{workload}: all scenarios together moved by {over_study} from the first round to the last"),
            effect: "Comparisons hold where this is slow against a round; the absolute values hold for no single moment.",
            remedy: "Look at the chart of trials over time, and for other load, thermal throttling or a filling device.",
            brief: None,
        })
    });
    // Of many scenarios the mean hardly moves with one.
    let is_told = |moved: &&Moved| is_news(moved.change) && (of_all.is_some() || moved.is_sure);
    let apart: Vec<Moved> = part.judgement.apart.iter().filter(is_told).cloned().collect();
    if apart.is_empty() {
        return of_all;
    }
    Some(runs::apart(part, of_all.as_ref(), &apart))
}

fn outliers(part: &Part) -> Option<Warning> {
    let named = part.judgement.outliers.iter().map(|(label, found)| format!("{label} in round {}", found.round + 1));
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| Warning {
        seen: format!("{}: outlier: {}", part.workload, listed(&named, ", ")),
        effect: "They are kept: they widen the intervals and may be a slow mode that production will meet too.",
        remedy: "Look at their throughput second by second, and run more rounds.",
        brief: None,
    })
}

/// What trials said, such as an option without effect, equal messages together.
fn said(counting: &Counting) -> Vec<Warning> {
    let mut messages: BTreeMap<&str, usize> = BTreeMap::new();
    for message in counting.trials.values().flat_map(|trial| &trial.warnings) {
        *messages.entry(message).or_default() += 1;
    }
    let warning = |(message, trials): (&str, usize)| Warning {
        seen: if trials == 1 { message.into() } else { format!("{message} (in {trials} trials)") },
        effect: "What was measured may not be what was asked for.",
        remedy: "Correct the study file, or the machine.",
        brief: Some(format!("something is not as the study asks: {}.", cut(message))),
    };
    messages.into_iter().map(warning).collect()
}

/// What a device can give is not known, and why.
fn not_probed(failure: &str) -> Warning {
    Warning {
        seen: format!("what a device can give was not measured: {failure}"),
        effect: "Its scenarios are no share of it, and what bound them is less clear.",
        remedy: "See docs/ceilings.md; `design.probe = \"0s\"` leaves the probe out.",
        brief: None,
    }
}

/// Runs too short to hold what a filesystem does now and then.
fn short_runs(order: Order, counting: &Counting, view: &View) -> Option<Warning> {
    let runs = counting.runs.values().flatten();
    let shortest = runs.map(|run| run.seconds).fold(f64::INFINITY, f64::min);
    // The flush that ends a turn writes out what the journal and the kernel would have kept for later.
    if order != Order::Blocks || shortest >= RUN_SECONDS_MIN {
        return None;
    }
    let mut rows = view.parts.iter().flat_map(Part::measured).filter(|row| !row.health.runs.is_empty()).peekable();
    let is_judged =
        rows.peek().is_none() || rows.any(|row| row.health.count(|course| *course != stats::Course::TooShort) > 0);
    let unseen = if is_judged { "" } else { ", too short to see whether they were steady" };
    Some(Warning {
        seen: format!("runs lasted only {}{unseen}", span(shortest)),
        effect: "Journal commits and write-back fall into some runs and not into others, which adds noise and may flatter.",
        remedy: "Make each run last at least 30 s.",
        brief: None,
    })
}

/// The load generator itself was busy.
fn busy_client(counting: &Counting) -> Option<Warning> {
    let runs = counting.runs.values().flatten();
    let cores = runs.filter_map(|run| Some((run, *run.metrics.get("driver_cpu_cores")?)));
    let busiest = cores.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, cores)| *cores > CLIENT_CORES_MAX);
    let (run, cores) = busiest?;
    let (cores, scenario) = (figure(cores), &counting.trials[&run.trial].scenario);
    Some(Warning {
        seen: format!("the load generator, with its embedded engine, used up to {cores} cores with {scenario}"),
        effect: "Where this is near the number of its threads, the CPU is the limit and not the storage, which hides differences.",
        remedy: "Give the load generator more CPUs (`cpus.client`), or more threads.",
        brief: Some(format!("the load itself took up to {cores} CPUs, which may hide differences.")),
    })
}

/// What a trial had: its limit, its guest's memory or the machine's, whichever is least.
fn memory_of(scenario: &Scenario, machine: Option<f64>) -> Option<f64> {
    let own = [&scenario.settings["memory_bytes"], &scenario.settings["guest"]["memory"]];
    own.into_iter().filter_map(serde_json::Value::as_f64).chain(machine).reduce(f64::min)
}

/// What `storage.fill` wrote at least before the data, where the study says how large the device is: no load reads it.
pub fn filled_bytes(scenario: &Scenario) -> f64 {
    let storage = &scenario.settings["storage"];
    let is_sized = storage["device"] == "loop" || storage["device"] == "virtual";
    let filled = || Some(storage["fill"].as_f64()? * storage["size"].as_f64()? * FILLED_MIN);
    if is_sized { filled().unwrap_or(0.0) } else { 0.0 }
}

/// The largest of the data against the memory of its trial, or of the machine.
fn fits_in_memory(counting: &Counting, contents: &Contents) -> Option<Warning> {
    let machine = observe::machine::memory_bytes_of(&contents.sessions.last()?.machine).map(|bytes| bytes as f64);
    let limits = contents
        .scenarios
        .iter()
        .filter_map(|scenario| Some((&*scenario.label, (scenario, memory_of(scenario, machine)?))));
    let limits: BTreeMap<&str, (&Scenario, f64)> = limits.collect();
    let share = |run: &RunRow| {
        let (scenario, memory) = limits.get(counting.trials[&run.trial].scenario.as_str())?;
        // Past the page cache no memory holds what is read.
        if scenario.settings["workload"]["direct"] == true {
            return None;
        }
        // In older files what the whole disk of a folder held, which they tell by how much that grew.
        if scenario.settings["storage"]["device"] == "dir" && run.metrics.contains_key("space_grown_bytes") {
            return None;
        }
        Some((run.metrics.get("space_used_bytes")? - filled_bytes(scenario)).max(0.0) / memory)
    };
    let largest = counting.runs.values().flatten().filter_map(|run| share(run)).max_by(f64::total_cmp)?;
    (largest < 1.0).then(|| Warning {
        seen: format!("the data fill only {} of the memory the trials had", percent(largest)),
        effect: "Reads come from the page cache: mostly flushes and writes were measured.",
        remedy: "Set `memory` (in a guest `guest.memory`) below the size of the data, or make the data larger.",
        brief: None,
    })
}
