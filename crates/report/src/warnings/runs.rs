//! Warnings about how runs went: steady or not, long enough or not, alone on the machine or not. What finds them is `health.rs`.

use super::{NAMES_MAX, more_than};
use crate::number::{figure, percent, span};

/// Something about the runs that a reader of the answer must know.
#[derive(Debug, Clone, PartialEq)]
pub enum OfRuns {
    /// From these rounds on all scenarios were faster or slower, by a fraction.
    Steps { workload: String, steps: Vec<(usize, f64)> },
    /// Runs changed their level while they were measured.
    NotSteady {
        workload: String,
        unsteady: usize,
        runs: usize,
        kinds: Vec<String>,
        examples: Vec<String>,
        scenarios: usize,
    },
    /// Measured runs were still warming up.
    WarmUp {
        workload: String,
        warming: usize,
        runs: usize,
        scenario: String,
        seconds: f64,
        warm_up_runs: usize,
        wanted: usize,
    },
    /// Measured runs were so many times as slow as the warm-up before them, by scenario, the slowest first.
    SlowerThanWarmUp { workload: String, slower: Vec<(String, f64)> },
    /// Runs end before what happens in them has happened often enough; `needed` seconds would do.
    TooShort { workload: String, scenario: String, seconds: f64, needed: f64, why: String },
    /// Trials far behind their like while something else loaded the machine; what would be said without them.
    Disturbed { workload: String, count: usize, examples: Vec<String>, without: Vec<String> },
    /// Other guests of the host took CPU time.
    Steal { mean: f64, most: f64, trial: String },
    /// Something else used CPUs (how many, of how many) or the disk (bytes a second).
    OtherLoad { cores: Option<(f64, f64)>, disk: Option<f64> },
}

impl OfRuns {
    /// What was seen.
    pub fn seen(&self) -> String {
        match self {
            OfRuns::Steps { workload, steps } => {
                let from = steps.iter().map(|(round, change)| {
                    let side = if *change < 0.0 { "less" } else { "more" };
                    format!("{} {side} from round {} on", percent(change.abs()), round + 1)
                });
                format!("{workload}: all scenarios together measured {}", from.collect::<Vec<_>>().join(", then "))
            }
            OfRuns::NotSteady { workload, unsteady, runs, kinds, examples, scenarios } => {
                let more = match scenarios - examples.len() {
                    0 => String::new(),
                    1 => " and one more scenario".into(),
                    more => format!(" and {more} more scenarios"),
                };
                let (kinds, examples) = (kinds.join(", "), examples.join(", "));
                format!("{workload}: {unsteady} of {runs} runs were not steady ({kinds}): {examples}{more}")
            }
            OfRuns::WarmUp { workload, warming, runs, scenario, seconds, warm_up_runs, wanted } => {
                let after = match warm_up_runs {
                    0 => "without a warm-up run".into(),
                    1 => "after one warm-up run".into(),
                    several => format!("after {several} warm-up runs"),
                };
                let needed = if *wanted == 1 { "one would cover".into() } else { format!("{wanted} would cover") };
                let longest = span(*seconds);
                format!(
                    "{workload}: {after}, {warming} of {runs} runs were still warming up, for up to {longest} ({scenario}); \
                     {needed} that, with half as much to spare"
                )
            }
            OfRuns::SlowerThanWarmUp { workload, slower } => {
                let named = slower
                    .iter()
                    .take(NAMES_MAX)
                    .map(|(label, times)| format!("{label} {} times as slow", figure(*times)));
                let examples: Vec<String> = named.collect();
                let more = more_than(slower.len(), &examples);
                format!(
                    "{workload}: measured runs were slower than the warm-up before them: {}{more}",
                    examples.join(", ")
                )
            }
            OfRuns::TooShort { workload, scenario, seconds, needed, why } => {
                let (seconds, needed) = (span(*seconds), span(needed.ceil()));
                format!("{workload}: a run of {seconds} is too short for {scenario}: {why}; about {needed} would do")
            }
            OfRuns::Disturbed { workload, count, examples, without } => {
                let more = more_than(*count, examples);
                let changed = match without.as_slice() {
                    [] => "; without them the verdicts are the same".into(),
                    changed => format!("; without them, {}", changed.join(", and ")),
                };
                format!(
                    "{workload}: slow while the machine was not theirs alone: {}{more}{changed}",
                    examples.join(", ")
                )
            }
            OfRuns::Steal { mean, most, trial } => format!(
                "other guests of the host took {} of the CPUs' time, at most {} ({trial})",
                percent(*mean),
                percent(*most)
            ),
            OfRuns::OtherLoad { cores, disk } => {
                let cores = cores.map(|(cores, cpus)| format!("used {} of {cpus:.0} CPUs", figure(cores)));
                let disk = disk.map(|bytes| format!("moved {} MB/s on the disk below", figure(bytes / 1e6)));
                let what: Vec<String> = cores.into_iter().chain(disk).collect();
                format!("beside load and server, something else {} on average", what.join(" and "))
            }
        }
    }

    /// What it does to the answer.
    pub fn effect(&self) -> &'static str {
        match self {
            OfRuns::NotSteady { .. } => {
                "The mean of such a run is that of no one state, and changes with the run's length; claims that rest on it say so."
            }
            OfRuns::WarmUp { .. } => {
                "The figures lie below those of a longer run, and not equally far for each scenario."
            }
            OfRuns::SlowerThanWarmUp { .. } => {
                "A run leaves behind what slows the next one down: the figures are not those of a new filesystem, and comparisons may turn round with the number of runs."
            }
            OfRuns::TooShort { .. } => {
                "What comes now and then falls into some runs and not into others, which adds noise and may flatter."
            }
            OfRuns::Disturbed { .. } => {
                "They are kept in the answer: taking out what is slow makes everything look fast."
            }
            OfRuns::Steal { .. } => {
                "Trials are slower than they are on a host of their own, and unequally so: intervals are wider."
            }
            OfRuns::OtherLoad { .. } => {
                "If this was other programs, and not the kernel at work for the trial, speeds were measured too low and times too long, and intervals are too wide."
            }
            OfRuns::Steps { .. } => {
                "Comparisons hold, as each round hits all scenarios alike; the absolute values are those of two machines, as it were."
            }
        }
    }

    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            OfRuns::NotSteady { .. } => {
                "Look at them second by second; run longer, warm up longer, and look for throttling or a filling device."
            }
            OfRuns::WarmUp { .. } => "Set `design.warm_up_runs` higher, or make runs longer.",
            OfRuns::SlowerThanWarmUp { .. } => {
                "If a job begins on a new filesystem where you work, set `design.warm_up_runs = 0` and `design.runs = 1`. Else look for what a run leaves: deleted files, a full cache of the device, throttling."
            }
            OfRuns::TooShort { .. } => "Make each run longer.",
            OfRuns::Disturbed { .. } => "Keep the machine to the study, and run more rounds.",
            OfRuns::Steal { .. } => "Measure on a host of your own, or at a quieter hour, and plan more rounds.",
            OfRuns::OtherLoad { .. } => "Look with `surefoot doctor` who is busy, stop it, and run the study again.",
            OfRuns::Steps { .. } => {
                "Look at the chart of trials over time for the hour, and for what changed then: other load, throttling, a full device."
            }
        }
    }
}
