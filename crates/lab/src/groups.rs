//! Which scenarios are up at the same time: how many there is room for, and the groups of a round.
//!
//! A workload of which not all fit takes turns in groups. Baseline and control are in every group, which makes the groups comparable
//! (`ledger::groups`); which of the others share a group is drawn anew each round, balanced over the rounds.

use crate::estimate;
use crash::plan::{Plan, PlannedScenario, volumes};
use observe::memory::Memory;
use settings::quantity::format_bytes;
use storage::Device;
use study::Order;

/// The share of the memory that all scenarios that are up may need: beyond it they would take each other's cache.
const MEMORY_SHARE_MAX: f64 = 0.6;

/// The share of the free space that image files may take: the rest of the machine goes on writing.
const IMAGE_SHARE_MAX: f64 = 0.9;

/// What there is for scenarios that are up at the same time.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Bytes for image files and templates.
    pub image_bytes: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Whether trials have namespaces, by which all processes of one can be stopped.
    pub has_namespaces: bool,
}

impl Room {
    /// Of this machine, with so many bytes for images.
    pub fn of_this_machine(free_bytes: u64) -> Room {
        let has_namespaces = sandbox::isolation::available();
        Room { image_bytes: free_bytes, memory_bytes: observe::machine::memory_bytes(), has_namespaces }
    }

    /// Of a machine like this one without a limit: a cluster's login node gives each user a part, and its nodes are had whole.
    pub fn of_a_node(free_bytes: u64) -> Room {
        let memory_bytes = Memory::read().map_or(0, |memory| memory.total);
        Room { memory_bytes, ..Room::of_this_machine(free_bytes) }
    }
}

/// How many of a workload's scenarios may be up, and why no more.
struct Limit {
    count: usize,
    reason: String,
}

/// Scenarios of a workload that may be up at once, where not all may; the first of the workloads that has the fewest.
fn limit(plan: &Plan, room: Room) -> Option<Limit> {
    let of_workload = |workload: &String| {
        let all = of(plan, workload);
        let limits = [said(plan), of_images(plan, all.len(), room), of_memory(plan, &all, room)];
        limits.into_iter().flatten().filter(|limit| limit.count < all.len()).min_by_key(|limit| limit.count)
    };
    plan.workloads().iter().filter_map(of_workload).min_by_key(|limit| limit.count)
}

/// Scenarios that may be up at once; none: all of a workload.
///
/// # Errors
/// Why not even baseline, control and one more fit.
pub fn up_max(plan: &Plan, room: Room) -> Result<Option<u32>, String> {
    let Some(Limit { count, reason }) = limit(plan, room) else { return Ok(None) };
    let shared = |workload: &String| of(plan, workload).iter().filter(|index| is_shared(plan, **index)).count();
    let least = plan.workloads().iter().map(shared).max().unwrap_or(0) + 1;
    if count < least {
        let beside = if least > 2 { "baseline, control and one more" } else { "baseline and one more" };
        return Err(format!("{reason}; a group needs {least} at least, {beside}"));
    }
    Ok(Some(u32::try_from(count).expect("a plan has few scenarios")))
}

/// Why not all scenarios of a workload are up at once; none: they are.
pub fn why_split(plan: &Plan, room: Room) -> Option<String> {
    limit(plan, room).map(|limit| limit.reason)
}

fn said(plan: &Plan) -> Option<Limit> {
    let count = plan.design.up_max?;
    Some(Limit { count: count as usize, reason: format!("the study says up_max = {count}") })
}

fn of_images(plan: &Plan, all: usize, room: Room) -> Option<Limit> {
    let image = estimate::image_bytes(plan);
    let free = (room.image_bytes as f64 * IMAGE_SHARE_MAX) as u64;
    let count = free.saturating_sub(estimate::template_bytes(plan)).checked_div(image)?;
    let (needed, free) = (format_bytes(image.saturating_mul(all as u64)), format_bytes(room.image_bytes));
    let reason = format!("together they need {needed} for image files, and {free} are free");
    Some(Limit { count: usize::try_from(count).unwrap_or(usize::MAX), reason })
}

fn of_memory(plan: &Plan, all: &[usize], room: Room) -> Option<Limit> {
    let most = (room.memory_bytes as f64 * MEMORY_SHARE_MAX) as u64;
    let count = (0..=all.len()).rev().find(|count| largest_bytes(plan, all, *count) <= most).unwrap_or(0);
    let (needed, memory) = (format_bytes(largest_bytes(plan, all, all.len())), format_bytes(room.memory_bytes));
    let reason = format!("together they need {needed} of {memory} of memory, data that they read from it included");
    Some(Limit { count, reason })
}

/// What so many of these scenarios need at most: the shared ones, and of the others the largest.
fn largest_bytes(plan: &Plan, all: &[usize], count: usize) -> u64 {
    let mut needs: Vec<(bool, u64)> =
        all.iter().map(|index| (is_shared(plan, *index), memory_bytes(&plan.scenarios[*index]))).collect();
    needs.sort_unstable_by(|a, b| b.cmp(a));
    needs.iter().take(count).map(|(_, bytes)| *bytes).fold(0, u64::saturating_add)
}

/// What a scenario needs of the memory: its limit, or its data, its servers' processes and what is in memory only.
fn memory_bytes(scenario: &PlannedScenario) -> u64 {
    let load = workloads::settings(&scenario.workload, &scenario.parameters);
    let data = load.map_or(0, |load| load.estimate().data_bytes + load.process_bytes());
    let in_memory = volumes(scenario).filter(|settings| settings.device == Device::Tmpfs).map(|settings| settings.size);
    scenario.memory_bytes.unwrap_or(data + in_memory.sum::<u64>())
}

/// The memory that scenarios which are up at the same time need at most.
pub fn memory_bytes_max(plan: &Plan) -> u64 {
    let of_workload = |workload: &String| largest_bytes(plan, &of(plan, workload), up_max_of(plan));
    plan.workloads().iter().map(of_workload).max().unwrap_or(0)
}

/// How many trials are up at the same time at most; 1 without turns.
pub fn up_max_of(plan: &Plan) -> usize {
    let allowed = plan.drawn.up_max.map_or(usize::MAX, |count| count as usize);
    if plan.drawn.order == Order::Turns { largest(plan).min(allowed) } else { 1 }
}

/// Scenarios of the workload that has most.
pub fn largest(plan: &Plan) -> usize {
    plan.workloads().iter().map(|workload| of(plan, workload).len()).max().unwrap_or(1)
}

fn of(plan: &Plan, workload: &str) -> Vec<usize> {
    (0..plan.scenarios.len()).filter(|index| plan.scenarios[*index].workload == workload).collect()
}

/// Whether a scenario is in every group.
pub fn is_shared(plan: &Plan, scenario: usize) -> bool {
    plan.scenarios[scenario].baseline || plan.scenarios[scenario].control
}

/// A trial's place in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Whose.
    pub scenario: usize,
    /// Position in the round.
    pub position: u32,
    /// Number of its group; none: its workload is not split in this round.
    pub group: Option<u32>,
}

/// The `wanted` trials of a round, those that are up together in a list each: by blocks one, by turns a workload or a group of it.
pub fn of_round(plan: &Plan, round: u32, wanted: &[bool]) -> Vec<Vec<Seat>> {
    let order = plan.order(round, wanted);
    let mut position = 0..;
    let mut seat = |scenario, group| Seat { scenario, group, position: position.next().expect("it has no end") };
    if plan.drawn.order == Order::Blocks {
        return order.into_iter().map(|scenario| vec![seat(scenario, None)]).collect();
    }
    let mut numbers = 0..;
    let mut all = Vec::new();
    for workload in plan.workloads() {
        let of_workload = order.iter().copied().filter(|index| plan.scenarios[*index].workload == workload).collect();
        let groups = split(plan, round, of_workload);
        let is_split = groups.len() > 1;
        for group in groups {
            let number = numbers.next().filter(|_| is_split);
            all.push(group.into_iter().map(|scenario| seat(scenario, number)).collect::<Vec<Seat>>());
        }
    }
    all.retain(|group| !group.is_empty());
    all
}

/// Scenarios of one workload, in the round's order, as groups that there is room for.
fn split(plan: &Plan, round: u32, wanted: Vec<usize>) -> Vec<Vec<usize>> {
    let Some(room) = plan.drawn.up_max.map(|count| count as usize).filter(|count| *count < wanted.len()) else {
        return vec![wanted];
    };
    let (mut shared, mut others): (Vec<usize>, Vec<usize>) =
        wanted.iter().partition(|scenario| is_shared(plan, **scenario));
    if shared.is_empty() {
        // A screen may be without its baseline, and then has it for this.
        let workload = &plan.scenarios[wanted[0]].workload;
        shared = of(plan, workload).into_iter().filter(|index| plan.scenarios[*index].baseline).collect();
    }
    others.sort_unstable();
    let count = others.len().div_ceil(room.saturating_sub(shared.len()).max(1));
    plan.groups(round, &shared, &others, count)
}

/// Trials that a round of all scenarios has beyond one each: the shared ones, once more for each further group.
pub fn repeated(plan: &Plan) -> Vec<usize> {
    let mut all: Vec<usize> =
        of_round(plan, 0, &vec![true; plan.scenarios.len()]).concat().iter().map(|seat| seat.scenario).collect();
    all.sort_unstable();
    all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

/// How many groups the workload that has most of them is split into; 1: none is split.
pub fn count_max(plan: &Plan) -> usize {
    let groups = of_round(plan, 0, &vec![true; plan.scenarios.len()]);
    let of_workload = |workload: &String| {
        groups.iter().filter(|group| plan.scenarios[group[0].scenario].workload == *workload).count()
    };
    if plan.drawn.order == Order::Blocks { 1 } else { plan.workloads().iter().map(of_workload).max().unwrap_or(1) }
}
