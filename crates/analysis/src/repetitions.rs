//! Whether trials of another length would reach a precision in less time than more rounds of those that are.
//!
//! A study that goes on keeps the length of its trials; another one is a new study. Of turns by the clock the lengths are chosen before the
//! first trial (`lab::turn_lengths`), and nothing is said here.

use crate::counting::Counting;
use crate::elapsed;
use crate::judge::ROUNDS_FOR_CLAIMS;
use crate::view::Part;
use ledger::model::{Contents, Mode, Order, Phase, Scenario};
use stats::Observations;
use stats::repetitions::{Components, Repetitions, RoundCost, Straying, Wanted, least_time};
use std::collections::BTreeSet;

/// A new study is worth it where it takes less than this share of what going on takes.
const SHARE_MAX: f64 = 0.75;
/// Rounds that are enough for every check: below six the exact sign-flip test has no say.
const ROUNDS_MIN: u32 = 6;
/// A study of more rounds is no advice.
const ROUNDS_MAX: u32 = 1000;
/// Trials of more runs than this are long enough.
const RUNS_MAX: usize = 64;

/// What narrower intervals cost: where a study's differences stray, and what a round of it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionCost {
    /// Measured runs of a trial.
    pub runs: u32,
    /// Of each workload's declared comparisons that more rounds would tell more of.
    pub straying: Vec<Straying>,
    /// Of a round.
    pub round: RoundCost,
    confidence: f64,
    rounds_min: u32,
}

impl PrecisionCost {
    /// Of all of a study's workloads. None: it can't be told, or trials of other lengths are no way to go on.
    pub fn of(parts: &[Part], contents: &Contents, counting: &Counting) -> Option<PrecisionCost> {
        let settings = &contents.study.analysis;
        let is_cut = settings.order == Order::Turns && contents.scenarios.iter().any(is_by_the_clock);
        let is_fleet = contents.trials.iter().any(|trial| trial.member.is_some());
        if is_cut || is_fleet || settings.mode == Mode::Tune || contents.is_closed() {
            return None;
        }
        let numbers = run_numbers(counting)?;
        let runs = u32::try_from(numbers.len()).ok()?;
        let round = elapsed::of_a_round(contents)?;
        let measured = round.measured.filter(|measured| *measured < round.all)?;
        let of_parts = parts.iter().map(|part| straying(part, contents, &numbers));
        Some(PrecisionCost {
            runs,
            straying: of_parts.collect::<Option<Vec<_>>>()?,
            round: RoundCost { setup_seconds: round.all - measured, run_seconds: measured / f64::from(runs) },
            confidence: settings.confidence,
            // More than six may have been asked for, and are then no least number.
            rounds_min: settings.rounds_min.clamp(ROUNDS_FOR_CLAIMS as u32, ROUNDS_MIN),
        })
    }

    /// What more rounds of this study take, seconds.
    pub fn seconds(&self, rounds: usize) -> f64 {
        self.round.of_round(self.runs) * rounds as f64
    }

    /// The runs and rounds of a new study that has intervals of ± this fraction in far less time than it takes to go on; none where going on is as
    /// good.
    pub fn cheaper(&self, half_width: f64, going_on_seconds: f64) -> Option<Repetitions> {
        let wanted =
            Wanted { half_width, confidence: self.confidence, rounds_min: self.rounds_min, rounds_max: ROUNDS_MAX };
        let found = least_time(&self.straying, self.runs, &self.round, &wanted)?;
        (found.runs != self.runs && found.seconds <= SHARE_MAX * going_on_seconds).then_some(found)
    }
}

/// Whether a scenario's load has a length in seconds, which turns cut.
fn is_by_the_clock(scenario: &Scenario) -> bool {
    scenario.settings["workload"]["time"].as_f64().is_some_and(|seconds| seconds > 0.0)
}

/// The numbers of a trial's measured runs, where all main trials have the same ones, and several.
fn run_numbers(counting: &Counting) -> Option<Vec<u32>> {
    let trials = counting.trials.values().filter(|trial| trial.phase == Phase::Main);
    let runs = |trial: &i64| counting.runs.get(trial).into_iter().flatten();
    let mut all = trials.map(|trial| runs(&trial.id).map(|run| run.run).collect::<BTreeSet<u32>>());
    let first = all.next()?;
    let is_right = (2..=RUNS_MAX).contains(&first.len()) && all.all(|numbers| numbers == first);
    is_right.then(|| first.into_iter().collect())
}

/// Where a workload's comparisons stray. None: a run stalled, or there are too few rounds.
fn straying(part: &Part, contents: &Contents, numbers: &[u32]) -> Option<Straying> {
    let cells = &part.judgement.cells;
    let place = |label: &String| contents.scenarios.iter().position(|scenario| scenario.label == *label);
    let columns: Vec<usize> = cells.iter().map(|cell| place(&cell.label)).collect::<Option<_>>()?;
    let observed = |rounds: Vec<Vec<Option<f64>>>| {
        let of_cells = |round: Vec<Option<f64>>| columns.iter().map(|column| round[*column]).collect();
        let rounds = rounds.into_iter().map(of_cells).collect();
        Observations { cells: cells.clone(), rounds, more_is_better: part.more_is_better }
    };
    let whole = observed(contents.values(&part.metric.name));
    let by_run: Vec<Observations> =
        numbers.iter().map(|number| observed(contents.values_of_run(&part.metric.name, *number))).collect();
    // Each round's runs, as if they were rounds.
    let of_round = |round: usize| {
        let rounds = by_run.iter().filter_map(|of| of.rounds.get(round).cloned()).collect();
        Observations { cells: cells.clone(), rounds, more_is_better: part.more_is_better }
    };
    let rounds: Vec<Observations> = (0..whole.rounds.len()).map(of_round).collect();
    if rounds.iter().any(|runs| (0..cells.len()).any(|cell| runs.has_stalled(cell))) {
        return None;
    }
    let of = |declared| {
        let differences: Vec<Vec<f64>> = rounds.iter().map(|runs| runs.differences(declared)).collect();
        let of_rounds = stats::contrast(&whole.differences(declared), part.confidence)?;
        let enough = of_rounds.rounds >= ROUNDS_FOR_CLAIMS;
        Some((of_rounds.standard_deviation, Components::of(&differences).filter(|_| enough)?))
    };
    let family = whole.family();
    let left = family.iter().filter(|declared| whole.is_left(declared));
    let (spreads, components): (Vec<f64>, Vec<Components>) =
        left.map(of).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let widest = spreads.into_iter().reduce(f64::max)?;
    Some(Straying { widest, components: Components::together(&components) })
}
