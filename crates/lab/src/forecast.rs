//! What the machine's noise means for a study by turns: how long its turns should be, and when its differences will be known.

use crate::estimate;
use crate::groups;
use crate::turn_lengths::{Costs, Lengths, Said, choose};
use crate::turns;
use crash::plan::Plan;
use stats::MachineNoise;
use stats::repetitions::Wanted;
use study::ROUNDS_MAX;
use study::{ChosenTurns, Order};

/// From the end of a turn's work to the begin of the next one's, flush included: 0.004 s of SQLite, 0.033 s of PostgreSQL with 8 connections (means over
/// 632 and 490 turns on 2026-11-23, two cores, loop devices, nothing else at work).
const BETWEEN_SECONDS: f64 = 0.02;
/// What is foretold, beside the study's own precision.
const HALF_WIDTH: f64 = 0.05;

/// The turns of a new study, of which it says nothing itself or not all. None: it has no turns, it says all, or its precision is out of reach.
pub fn chosen_turns(plan: &Plan, noise: &MachineNoise) -> Option<ChosenTurns> {
    let (costs, said) = (costs(plan)?, said(plan));
    if !has_choice(plan) {
        return None;
    }
    let lengths = choose(noise, &costs, &wanted(plan, plan.design.precision, &said), &said)?;
    let turns = said.work_seconds.is_none().then_some(lengths.turns);
    Some(ChosenTurns { turn_milliseconds: lengths.turn_milliseconds, turns, rounds: lengths.rounds })
}

/// Whether there is anything to choose: a study by turns that does not say all of their lengths itself.
pub fn has_choice(plan: &Plan) -> bool {
    let said = said(plan);
    costs(plan).is_some() && (said.turn_milliseconds.is_none() || said.work_seconds.is_none())
}

/// When differences are known within 5 %, and within the study's precision, however many rounds that takes: half-width and lengths, the
/// coarsest first, but only one of those that take the same time. Of the turns that are chosen already, or that the study says.
pub fn forecast(plan: &Plan, noise: &MachineNoise) -> Vec<(f64, Lengths)> {
    // Two that are not up at the same time stray more than turns do.
    let Some(costs) = costs(plan).filter(|_| groups::count_max(plan) < 2) else { return Vec::new() };
    let said = in_force(plan);
    let mut half_widths = vec![plan.design.precision, HALF_WIDTH];
    half_widths.sort_by(|a, b| b.total_cmp(a));
    half_widths.dedup();
    let of = |half_width: f64| {
        let wanted = Wanted { rounds_max: ROUNDS_MAX, ..wanted(plan, half_width, &said) };
        Some((half_width, choose(noise, &costs, &wanted, &said)?))
    };
    let mut found: Vec<(f64, Lengths)> = half_widths.into_iter().filter_map(of).collect();
    // What takes the same time is said of the finer one.
    found.reverse();
    found.dedup_by_key(|(_, lengths)| lengths.rounds);
    found.reverse();
    found
}

/// None: no scenario's turns are a matter of time, or none has another beside it.
fn costs(plan: &Plan) -> Option<Costs> {
    let is_cut = plan.scenarios.iter().any(|scenario| turns::run_seconds(scenario).is_some());
    let up = groups::up_max_of(plan);
    if plan.drawn.order != Order::Turns || !is_cut || up < 2 {
        return None;
    }
    let scenarios = plan.scenarios.len() + groups::repeated(plan).len();
    let unmeasured: f64 = plan.scenarios.iter().map(|scenario| estimate::unmeasured_seconds(plan, scenario)).sum();
    let trial_seconds = unmeasured / plan.scenarios.len() as f64;
    // Of the spread of provisioning nothing was found where it was looked for (docs/turns.md).
    Some(Costs { up, scenarios, trial_seconds, between_seconds: BETWEEN_SECONDS, provisioning_spread: 0.0 })
}

fn wanted(plan: &Plan, half_width: f64, said: &Said) -> Wanted {
    let design = &plan.design;
    // Who says how long a round is has the number of rounds, and not its length, to reach the precision.
    let rounds_max = if said.work_seconds.is_some() { ROUNDS_MAX } else { design.rounds_max };
    Wanted { half_width, confidence: design.confidence, rounds_min: design.rounds_min, rounds_max }
}

/// What the study's text and the command line say. Who says a number of rounds or the length of a run means a length of the study.
fn said(plan: &Plan) -> Said {
    let is_named = |name: &&str| plan.design_named.iter().any(|named| named == name);
    let is_time = |path: &String| path.starts_with("workload.") && path.ends_with(".time");
    let is_length_said = ["runs", "rounds_min", "rounds_max"].iter().any(is_named) || plan.named.iter().any(is_time);
    Said {
        turn_milliseconds: is_named(&"turn").then(|| milliseconds(plan.design.turn_seconds)),
        work_seconds: is_length_said.then(|| work_seconds(plan)),
    }
}

/// The turns that the study will have.
fn in_force(plan: &Plan) -> Said {
    let chosen = plan.drawn.turns;
    let turn = chosen.map_or(milliseconds(plan.design.turn_seconds), |chosen| chosen.turn_milliseconds);
    let work = chosen.and_then(|chosen| Some(f64::from(chosen.turns?) * f64::from(turn) / 1000.0));
    Said { turn_milliseconds: Some(turn), work_seconds: Some(work.unwrap_or_else(|| work_seconds(plan))) }
}

/// What a scenario works in a round by its settings; the longest of them.
fn work_seconds(plan: &Plan) -> f64 {
    let run_seconds = plan.scenarios.iter().filter_map(turns::run_seconds).fold(0.0, f64::max);
    run_seconds * f64::from(plan.design.runs)
}

fn milliseconds(seconds: f64) -> u32 {
    (seconds * 1000.0).round() as u32
}
