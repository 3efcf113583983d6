//! How the runs went: steady or not, long enough or not, alone on the machine or not; and which claims that touches.
//!
//! Pure, over what `input.rs` keeps of each run. Nothing is taken out of the answer here: where trials were disturbed, it is said
//! whether the verdicts would be others without them.

use crate::claim::Claim;
use crate::counting::Counting;
use crate::details::Details;
use crate::judge::Judgement;
use crate::marks::TOLERANCE;
use crate::telemetry::{of_others, watched_seconds};
use ledger::model::{Order, Phase, RunRow, Scenario, Trial};
use observe::metric;
use stats::Course;
use std::collections::BTreeMap;

/// Steal that explains a slow trial, above that of its scenario's other trials.
const STEAL_EXCESS: f64 = 0.05;
/// Load of others that explains a slow trial, above that beside its scenario's other trials …
const OTHER_CORES_EXCESS: f64 = 0.25;
/// … and this part of all CPUs: what kernel threads do, and what ticks are off by, grows with the machine.
const OTHER_CORES_PART: f64 = 0.02;
/// Bytes a second that others moved on the tested disk, worth a word when they are half of the trial's own as well.
pub const OTHER_DISK_MIN: f64 = 5e6;
/// … and this share of it.
pub const OTHER_DISK_SHARE_MIN: f64 = 0.5;
/// Windows of SNIA's test of steadiness (SSS PTS 2.0.2, clause 2.1.24).
const STEADINESS_WINDOWS: usize = 5;
/// How one run went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunHealth {
    /// Its course by its rate.
    pub course: Course,
    /// Independent seconds that a steady run is worth; a change of level or a cycle would look like autocorrelation.
    pub independent: Option<f64>,
    /// Whether a fifth after the other is as even as SNIA asks of storage (range 20 %, slope 10 %); none where it is too short to say.
    pub is_even: Option<bool>,
}

impl RunHealth {
    /// By a rate, once a second.
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
    /// Outliers on the slow side, and what else the machine did meanwhile.
    pub disturbed: Vec<(u32, Cause)>,
    /// Checkpoints of its server in as long as `seconds` says, where that counts them.
    pub checkpoints: Option<f64>,
    /// Seconds of a run, the median; of all turns of a trial, where scenarios took turns.
    pub seconds: f64,
    /// The primary metric of measured runs, as a ratio to the warm-up before them: the median of its trials. None without warm-ups, and of
    /// runs that each do another part of the work.
    pub to_warm_up: Option<f64>,
    /// Whether each of its runs does another part of the work, so that rounds differ by what they do.
    pub goes_in_parts: bool,
}

/// What a trial shared the machine with; none of what was not counted in each of its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Share of the CPUs' time that other guests of the host took.
    pub steal: Option<f64>,
    /// CPUs busy with neither the load generator nor the server.
    pub other_cores: Option<f64>,
    /// All CPUs.
    pub cpus: f64,
    /// Bytes a second that the disk moved and the tested device did not.
    pub other_disk: Option<f64>,
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

impl Health {
    /// Runs whose course is one of these.
    pub fn count(&self, wanted: impl Fn(&Course) -> bool) -> usize {
        self.runs.iter().filter(|run| wanted(&run.course)).count()
    }

    /// Runs that changed their level while they were measured.
    pub fn unsteady(&self) -> usize {
        self.count(|course| !course.is_steady())
    }

    /// The longest warm-up that was seen, seconds.
    pub fn warm_up(&self) -> Option<f64> {
        let seconds = |run: &RunHealth| if let Course::WarmUp { seconds } = run.course { Some(seconds) } else { None };
        self.runs.iter().filter_map(seconds).reduce(f64::max)
    }

    /// Runs that pass SNIA's test of steadiness, and those it can be asked of.
    pub fn even(&self) -> (usize, usize) {
        let asked = self.runs.iter().filter_map(|run| run.is_even);
        (asked.clone().filter(|is_even| *is_even).count(), asked.count())
    }

    /// The period of its cycles, seconds: the longest.
    pub fn period(&self) -> Option<f64> {
        let period = |run: &RunHealth| if let Course::Cyclic { period } = run.course { Some(period) } else { None };
        self.runs.iter().filter_map(period).reduce(f64::max)
    }

    /// The mean of a kind of load over the trials in which it was counted.
    pub fn mean(&self, of: impl Fn(&Load) -> Option<f64>) -> Option<f64> {
        mean(self.loads.values().filter_map(of))
    }
}

/// A scenario's health; which of its trials were disturbed is added once outliers are known.
pub fn health(counting: &Counting, details: &Details, order: Order, scenario: &Scenario) -> Health {
    let of_scenario: Vec<&Trial> =
        counting.trials.values().copied().filter(|trial| trial.scenario == scenario.label).collect();
    let runs_of = |trial: &Trial| counting.runs.get(&trial.id).map_or(&[][..], Vec::as_slice);
    let runs: Vec<&RunRow> = of_scenario.iter().flat_map(|trial| runs_of(trial)).copied().collect();
    let seconds = match order {
        Order::Blocks => runs.iter().map(|run| run.seconds).collect(),
        Order::Turns => of_scenario.iter().map(|trial| runs_of(trial).iter().map(|run| run.seconds).sum()).collect(),
    };
    let counted = |run: &&RunRow| run.metrics.get("checkpoints").copied();
    let in_turns = |trial: &&Trial| runs_of(trial).iter().filter_map(counted).reduce(|a, b| a + b);
    let checkpoints = match order {
        Order::Blocks => mean(runs.iter().filter_map(counted)),
        Order::Turns => mean(of_scenario.iter().filter_map(in_turns)),
    };
    let primary = |run: &RunRow| run.metrics.get(&*scenario.primary_metric).copied();
    let goes_in_parts = runs.iter().any(|run| run.metrics.contains_key(metric::PART_BEGIN));
    let to_warm_up = |trial: &&Trial| {
        let warm_up = counting.warm_ups.get(&trial.id).filter(|_| !goes_in_parts)?;
        let before = primary(warm_up).filter(|before| *before > 0.0)?;
        Some(mean(runs_of(trial).iter().filter_map(|run| primary(run)))? / before)
    };
    // Of the rounds whose figures are judged: new rounds are counted from the first again. In each of a round's groups baseline and control have a trial.
    let mut by_round: BTreeMap<u32, Vec<&RunRow>> = BTreeMap::new();
    for trial in of_scenario.iter().filter(|trial| trial.phase == Phase::Main) {
        by_round.entry(trial.round).or_default().extend(runs_of(trial));
    }
    let courses = details.runs.get(&scenario.label).and_then(|by_name| by_name.get(&scenario.primary_metric));
    Health {
        runs: courses.cloned().unwrap_or_default(),
        loads: by_round.into_iter().filter_map(|(round, runs)| Some((round, load(&runs)?))).collect(),
        disturbed: Vec::new(),
        checkpoints,
        seconds: median(seconds).unwrap_or(0.0),
        to_warm_up: median(of_scenario.iter().filter_map(to_warm_up).collect()),
        goes_in_parts,
    }
}

/// A trial's load, over its runs.
fn load(runs: &[&RunRow]) -> Option<Load> {
    let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
    let mean = |of: &dyn Fn(&RunRow) -> Option<f64>| {
        let parts: Option<Vec<f64>> = runs.iter().map(|run| Some(of(run)? * run.seconds)).collect();
        Some(parts?.iter().sum::<f64>() / seconds)
    };
    let get = |run: &RunRow, name: &str| run.metrics.get(name).copied();
    let first = runs.first().filter(|_| seconds > 0.0)?;
    get(first, "cpu_idle_share")?;
    let is_own_share = |name: &str| name.ends_with("_idle_share") && name != "cpu_idle_share";
    let cpus = first.metrics.keys().filter(|name| is_own_share(name)).count() as f64;
    let other_cores = |run: &RunRow| {
        let busy: f64 =
            ["user", "system", "irq"].iter().filter_map(|kind| get(run, &format!("cpu_{kind}_share"))).sum();
        let own = get(run, "driver_cpu_cores")?;
        let disks = get(run, "virtual_disk_cpu_cores").unwrap_or(0.0);
        Some((busy * cpus - own - of_others(run, "cpu_cores")? - disks).max(0.0))
    };
    let moved = |run: &RunRow, device: &str| {
        let bytes = get(run, &format!("{device}_read_bytes"))? + get(run, &format!("{device}_write_bytes"))?;
        Some(bytes / watched_seconds(run))
    };
    let own_disk = |run: &RunRow| moved(run, "device").unwrap_or(0.0) + moved(run, "device_log").unwrap_or(0.0);
    // An image file's disk moves what the image moves, and what others do.
    let other_disk = |run: &RunRow| Some((moved(run, "device_backing")? - own_disk(run)).max(0.0));
    Some(Load {
        steal: mean(&|run| get(run, "cpu_steal_share")),
        other_cores: mean(&other_cores),
        cpus,
        other_disk: mean(&other_disk),
        own_disk: mean(&|run| Some(own_disk(run))).unwrap_or(0.0),
    })
}

/// What speaks for a cause outside: more of it in this trial than in the scenario's others.
pub fn cause(health: &Health, round: u32) -> Option<Cause> {
    let load = health.loads.get(&round)?;
    // What it was, where it was so much more than in the others.
    let excess = |of: &dyn Fn(&Load) -> Option<f64>, least: f64| {
        let others = health.loads.iter().filter(|(other, _)| **other != round).filter_map(|(_, load)| of(load));
        let (own, others) = (of(load)?, median(others.collect())?);
        (own - others >= least).then_some(own)
    };
    let cores_min = OTHER_CORES_EXCESS.max(load.cpus * OTHER_CORES_PART);
    let disk_min = OTHER_DISK_MIN.max(load.own_disk * OTHER_DISK_SHARE_MIN);
    excess(&|load| load.steal, STEAL_EXCESS)
        .map(Cause::Steal)
        .or_else(|| excess(&|load| load.other_cores, cores_min).map(Cause::OtherCores))
        .or_else(|| excess(&|load| load.other_disk, disk_min).map(Cause::OtherDisk))
}

/// None without values.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// The lower one of two in the middle; none without values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// Claims that would get other verdicts without the disturbed trials.
#[derive(Debug, Clone)]
pub enum Without {
    /// Too few rounds would be left for a verdict.
    TooFewRounds,
    /// Each claim with what it would be; the sides change places where the other one would be the better.
    Others(Vec<(Claim, Claim)>),
}

impl Without {
    /// Holds two judgements against each other.
    pub fn of(judgement: &Judgement, without: &Judgement) -> Without {
        let mut others = Vec::new();
        for claim in judgement.claims.iter().filter(|claim| claim.verdict.is_some()) {
            let (a, b) = claim.names();
            let is_same = |other: &&Claim| {
                other.subject.factor() == claim.subject.factor() && (other.names() == (a, b) || other.names() == (b, a))
            };
            let Some(found) = without.claims.iter().find(is_same).filter(|found| found.verdict.is_some()) else {
                return Without::TooFewRounds;
            };
            others.push((claim.clone(), found.clone()));
        }
        Without::Others(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{baseline, counting, run, trial};

    /// A trial in a container that may make no namespaces: its own server was "something else" that was busy beside it.
    #[test]
    fn a_server_whose_time_nobody_counted_is_nobody_else() {
        let other_cores = |more: &[(&str, f64)]| {
            let all = [
                ("cpu_idle_share", 0.1),
                ("cpu_0_idle_share", 0.1),
                ("cpu_1_idle_share", 0.1),
                ("cpu_user_share", 0.75),
                ("driver_cpu_cores", 0.25),
            ];
            load(&[&run(1, all.iter().chain(more))]).expect("it has telemetry").other_cores
        };
        assert_eq!(other_cores(&[("server_cpus", 2.0), ("others_cpu_cores", 1.0)]), Some(0.25));
        assert_eq!(other_cores(&[("server_cpus", 2.0)]), None);
        assert_eq!(other_cores(&[]), Some(1.25), "without a server there is nobody else of the trial's");
        assert_eq!(
            other_cores(&[("virtual_disk_cpu_cores", 1.0)]),
            Some(0.25),
            "what stands for a drive is no stranger"
        );
    }

    /// Twelve CPUs' worth of kernel threads, which do half a CPU more in one trial: on a machine of 256 that slowed nobody down.
    #[test]
    fn what_explains_a_slow_trial_is_a_part_of_the_machine() {
        let cause_on = |cpus: f64, more: f64| {
            let of_round = |round: u32| {
                let other_cores = Some(if round == 2 { 12.0 + more } else { 12.0 });
                (round, Load { other_cores, cpus, ..Load::default() })
            };
            cause(&Health { loads: (0..6).map(of_round).collect(), ..Health::default() }, 2)
        };
        assert_eq!(cause_on(4.0, 0.5), Some(Cause::OtherCores(12.5)));
        assert_eq!((cause_on(256.0, 0.5), cause_on(256.0, 8.0)), (None, Some(Cause::OtherCores(20.0))));
    }

    /// The baseline of a round of two groups: what was stolen in the first of them was forgotten.
    #[test]
    fn a_rounds_load_is_that_of_all_its_groups() {
        let stolen = |(trial, share)| run(trial, &[("cpu_idle_share", 0.5), ("cpu_steal_share", share)]);
        let (trials, runs) = ([trial(0, "a", 0), trial(1, "a", 1)], [(0, 0.5), (1, 0.0)].map(stolen));
        let scenario = baseline(serde_json::Value::Null);
        let found = health(&counting(&trials, &runs), &Details::default(), Order::Turns, &scenario);
        assert_eq!(found.loads[&0].steal, Some(0.25));
    }
}
