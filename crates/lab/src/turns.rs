//! Scenarios by turns: which can take them, how a trial's runs are cut into them, and in which order they go.

use crate::groups::{self, Room};
use crash::plan::{Plan, PlannedScenario, TrialSpec, volumes};
use load::workload::WorkloadSettings;
use observe::durability::Class;
use sandbox::work::Work;
use storage::Device;
use study::Order;
use study::trial_spec::{Bench, Turns};

/// A trial has so many turns at most; in a longer one they are longer, too.
const TURNS_MAX: f64 = 10_000.0;

/// How rounds of a new study go: as it says, else by turns where these are better and possible; and how many scenarios are up at once at
/// most, where not all of a workload are.
pub fn chosen(plan: &Plan, room: Room) -> (Order, Option<u32>) {
    let is_cut = |scenario: &PlannedScenario| {
        let Some(load) = workloads::settings(&scenario.workload, &scenario.parameters) else { return false };
        let runs = plan.design.runs;
        let Some(seconds) = load.run_seconds() else { return runs > 1 && load.goes_in_parts() };
        seconds * f64::from(runs) > plan.design.turn_seconds
    };
    let is_better =
        || groups::largest(plan) > 1 && plan.scenarios.iter().any(is_cut) && why_blocks(plan, room).is_none();
    let order = plan.design.order.unwrap_or_else(|| if is_better() { Order::Turns } else { Order::Blocks });
    (order, groups::up_max(plan, room).ok().flatten().filter(|_| order == Order::Turns))
}

/// Why blocks are better where the study leaves it open, or turns can't be taken; none: turns are better, if a load can be cut by time.
pub fn why_blocks(plan: &Plan, room: Room) -> Option<String> {
    why_not(plan, room).or_else(|| {
        // A server's log is flushed within a second even where commits do not wait for it.
        let is_gathered = |scenario: &&PlannedScenario| {
            workloads::settings(&scenario.workload, &scenario.parameters)
                .is_some_and(|load| load.durability().class != Class::KeepsAcknowledged)
        };
        let scenario = plan.scenarios.iter().find(is_gathered)?;
        let label = &scenario.label;
        Some(format!("{label}: the kernel gathers its writes for longer than a turn, and the flush of each turn would take that from it"))
    })
}

/// Why nothing takes turns where the study leaves it open and [`why_blocks`] has no reason.
pub fn why_whole(plan: &Plan) -> &'static str {
    let load = |scenario: &PlannedScenario| workloads::settings(&scenario.workload, &scenario.parameters);
    let loads: Vec<_> = plan.scenarios.iter().filter_map(load).collect();
    if groups::largest(plan) <= 1 {
        "no workload has two scenarios"
    } else if loads.iter().any(|load| load.run_seconds().is_some()) {
        "all runs of a trial together are no longer than a turn"
    } else if loads.iter().any(|load| load.goes_in_parts()) {
        "a trial has one run, as `design.runs` says"
    } else {
        "no load can be cut into turns by time"
    }
}

/// Why the scenarios of a plan can't be up at the same time, in groups neither; none: they can.
pub fn why_not(plan: &Plan, room: Room) -> Option<String> {
    let of = |scenario: &PlannedScenario| -> Option<&'static str> {
        if scenario.bench == Bench::Guest {
            return Some("its guest kernel does not stand still between turns");
        }
        let mut devices = volumes(scenario).map(|settings| settings.device);
        devices.find_map(|device| match device {
            Device::Loop | Device::Dir | Device::Tmpfs => None,
            Device::Virtual => Some("the process of its virtual disk would stand still with it"),
            Device::Block => Some("its device holds one filesystem at a time"),
        })
    };
    let alone = plan.scenarios.iter().find_map(|scenario| Some(format!("{}: {}", scenario.label, of(scenario)?)));
    alone.or_else(|| {
        if !room.has_namespaces {
            return Some(
                "this machine grants no namespaces, so that a trial's processes can't be stopped as one".into(),
            );
        }
        groups::up_max(plan, room).err()
    })
}

/// How long a run is by the study, where that is a matter of time.
pub(crate) fn run_seconds(scenario: &PlannedScenario) -> Option<f64> {
    workloads::settings(&scenario.workload, &scenario.parameters)?.run_seconds()
}

/// The places in the work folder that trials have: the folder itself, or by turns a slot for each that is up, be it a single one.
///
/// # Errors
/// When one can't be made.
pub fn places(plan: &Plan, work: &Work) -> Result<Vec<Work>, sandbox::work::Error> {
    match plan.drawn.order {
        Order::Blocks => Ok(vec![work.clone()]),
        Order::Turns => (0..groups::up_max_of(plan)).map(|slot| work.slot(slot)).collect(),
    }
}

/// The length of a turn: as it was chosen when the study began, else as the study says.
pub fn turn_seconds(plan: &Plan) -> f64 {
    plan.drawn.turns.map_or(plan.design.turn_seconds, |chosen| f64::from(chosen.turn_milliseconds) / 1000.0)
}

/// The same for runs of so many seconds, of which there are so many: a trial has no more than [`TURNS_MAX`] turns.
fn turn_seconds_for(plan: &Plan, seconds: f64, runs: u32) -> f64 {
    turn_seconds(plan).max(seconds * f64::from(runs) / TURNS_MAX)
}

/// The length of a scenario's turns, where that is a matter of time: of runs that [`cut`] leaves whole, theirs.
pub fn turn_seconds_of(plan: &Plan, scenario: &PlannedScenario) -> Option<f64> {
    let seconds = run_seconds(scenario)?;
    let turn = turn_seconds_for(plan, seconds, plan.design.runs);
    let is_chosen = plan.drawn.turns.is_some_and(|chosen| chosen.turns.is_some());
    Some(if is_chosen { turn } else { turn.min(seconds) })
}

/// A trial's specification, whose runs are turns: by time where the load is a matter of it, else as they are.
pub fn cut(spec: &mut TrialSpec, plan: &Plan) {
    let design = &plan.design;
    let load = workloads::settings(&spec.workload, &spec.parameters);
    let seconds = load.as_ref().and_then(|load| load.run_seconds());
    let is_job = load.is_none_or(|load| is_job(&*load));
    spec.turns = Some(Turns { charge_flush: design.charge_flush, is_job });
    let Some(seconds) = seconds else { return };
    let chosen_turns = plan.drawn.turns.and_then(|chosen| chosen.turns);
    let turn_seconds = turn_seconds_for(plan, seconds, spec.runs);
    if turn_seconds >= seconds && chosen_turns.is_none() {
        return;
    }
    spec.parameters.insert("time".into(), turn_seconds.into());
    let turns_of = |runs: u32| (f64::from(runs) * seconds / turn_seconds).ceil() as u32;
    (spec.runs, spec.warm_up_runs) = (chosen_turns.unwrap_or(turns_of(spec.runs)), turns_of(spec.warm_up_runs));
}

/// Whether a turn is a whole job. One that is not cut and lasts by the clock all the same is charged with its flush as those are that it is held against.
fn is_job(load: &dyn WorkloadSettings) -> bool {
    !load.is_by_the_clock() && !load.goes_in_parts()
}

/// Whose turn it is, one after the other, when each has this many: cycle after cycle of balanced orders, so that nobody has the
/// better place or the better predecessor.
pub fn order(turns: &[u32], seed: u64) -> Vec<usize> {
    let cycles = turns.iter().copied().max().unwrap_or(0);
    let of_cycle =
        |cycle: u32| study::order::balanced(turns.len(), seed, cycle).into_iter().map(move |index| (cycle, index));
    let all = (0..cycles).flat_map(of_cycle);
    all.filter(|(cycle, index)| *cycle < turns[*index]).map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_has_its_turns_and_none_is_far_ahead(turns in proptest::collection::vec(1_u32..30, 1..12), seed: u64) {
            let order = order(&turns, seed);
            let mut had = vec![0; turns.len()];
            for index in order {
                had[index] += 1;
                let still = || (0..turns.len()).filter(|index| had[*index] < turns[*index]).map(|index| had[index]);
                let ahead = had[index] - still().min().unwrap_or(had[index]).min(had[index]);
                prop_assert!(ahead <= 1, "{had:?}");
            }
            prop_assert_eq!(had, turns);
        }
    }

    /// Of two that are held against each other, the one whose runs are whole had paid for no flush.
    #[test]
    fn a_run_that_lasts_by_the_clock_is_no_job() {
        let is_job = |name: &str, setting: &str, value: serde_json::Value| {
            let kind = workloads::kind(name).expect("a kind");
            let mut parameters = settings::defaults(kind.settings);
            parameters.insert(setting.into(), value);
            is_job(&*(kind.read)(&parameters))
        };
        assert!(!is_job("key-value", "aof_rewrite", 0.into()) && !is_job("key-value", "aof_rewrite", 3.into()));
        assert!(!is_job("orders", "thinking", true.into()) && !is_job("http-replay", "requests_per_run", 100.into()));
        assert!(is_job("oltp", "transactions", 100.into()) && is_job("tree", "files", 100.into()));
    }
}
