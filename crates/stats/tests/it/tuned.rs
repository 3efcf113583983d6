//! Studies in mode "tune" by seed: how often the true best is kept, what is saved, and what a confirmation shows of the pick.
//!
//! Shared by the test, which runs a few, and by `benches/tune.rs`, which makes the tables of docs/statistics.md.

use crate::noise::Noise;
use stats::eliminate::{FIRST_LOOK, Looks, worse};
use stats::{Cell, Observations, Rules, enough, enough_to_pick};
use std::collections::BTreeMap;

/// What is true of a study's scenarios: the logarithm of each one's speed, and how a trial strays from it.
#[derive(Clone)]
pub struct Truth {
    /// Logarithms of the speeds; the first is the baseline's.
    pub speeds: Vec<f64>,
    /// How trials stray.
    pub stray: Stray,
}

/// How trials stray from the truth, log scale.
#[derive(Clone)]
pub enum Stray {
    /// Normally, with each scenario's own deviation.
    Normal(Vec<f64>),
    /// As recorded trials did: one of these, drawn anew each time.
    Recorded(Vec<f64>),
}

/// How a study is run.
#[derive(Clone, Copy)]
pub struct Run {
    /// Rounds at most.
    pub rounds_max: u32,
    /// Whether the stop rule may end it; otherwise it takes all rounds.
    pub may_stop: bool,
    /// Whether the baseline and its control are measured to the end, and pick, runner-up and baseline in six new rounds.
    pub whole: bool,
}

/// What came of one study.
pub struct Outcome {
    /// Whether the true best was among those left.
    pub best_kept: bool,
    /// Trials of the tuned study.
    pub trials: usize,
    /// Trials of the same study without dropping anybody.
    pub trials_full: usize,
    /// How far the pick looked better than it is, by the rounds that chose it.
    pub flattered: f64,
    /// And by six new rounds.
    pub flattered_confirmed: f64,
    /// How far the pick is behind the true best.
    pub behind: f64,
    /// Whether it was at most as far behind as was said.
    pub bound_held: bool,
}

const NEW_ROUNDS: usize = 6;
/// From round to round the machine wanders by this much: pairing by round must take it out.
const WANDERING: f64 = 0.01;

/// Runs one study.
pub fn study(truth: &Truth, run: Run, random: &mut Noise) -> Outcome {
    let rules = Rules {
        confidence: 0.95,
        margin: 0.03,
        precision: 0.03,
        rounds_min: 6,
        rounds_max: run.rounds_max,
        looks: 1,
        share: 1.0,
    };
    let count = truth.speeds.len();
    let looks = Looks { alpha: 0.05, rounds_max: run.rounds_max, candidates: count };
    let mut tuned = observations(count);
    let mut full = observations(count);
    let mut standing: Vec<usize> = (0..count).collect();
    let (mut trials, mut trials_full, mut level) = (0, 0, 0.0);
    let (mut tuned_goes_on, mut full_goes_on) = (true, true);
    for round in 1..=run.rounds_max {
        level += WANDERING * random.normal();
        let row: Vec<f64> =
            (0..count).map(|cell| (truth.speeds[cell] + level + stray(truth, cell, random)).exp()).collect();
        if full_goes_on {
            trials_full += count + usize::from(run.whole);
            full.rounds.push(row.iter().copied().map(Some).collect());
            full_goes_on = !(run.may_stop && enough(&full, &rules).is_enough());
        }
        if tuned_goes_on {
            let is_measured = |cell: &usize| standing.contains(cell) || (run.whole && *cell == 0);
            trials += (0..count).filter(is_measured).count() + usize::from(run.whole);
            tuned.rounds.push((0..count).map(|cell| is_measured(&cell).then_some(row[cell])).collect());
            if round >= FIRST_LOOK {
                let found = worse(&tuned, &standing, &|_, _| true, &looks);
                standing.retain(|cell| !found.iter().any(|worse| worse.cell == *cell));
            }
            tuned_goes_on = !(run.may_stop && enough_to_pick(&tuned, &standing, &rules).is_enough());
        }
    }
    if run.whole {
        trials += NEW_ROUNDS * count.min(3);
    }
    judged(truth, &tuned, &standing, (trials, trials_full), random)
}

/// Without a hole.
fn whole(values: &[Vec<f64>]) -> Vec<Vec<Option<f64>>> {
    values.iter().map(|of_cell| of_cell.iter().copied().map(Some).collect()).collect()
}

fn judged(
    truth: &Truth,
    tuned: &Observations,
    standing: &[usize],
    (trials, trials_full): (usize, usize),
    random: &mut Noise,
) -> Outcome {
    let best = (0..truth.speeds.len()).max_by(|a, b| truth.speeds[*a].total_cmp(&truth.speeds[*b])).expect("scenarios");
    let values = tuned.complete(standing);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let picked =
        (0..standing.len()).max_by(|a, b| mean(&values[*a]).total_cmp(&mean(&values[*b]))).expect("one stands");
    let pick = standing[picked];
    // Against a scenario that nobody chose: the wandering of the machine is no flattery.
    let others: Vec<f64> = (0..values.len()).map(|cell| mean(&values[cell]) - truth.speeds[standing[cell]]).collect();
    let new: Vec<f64> = (0..NEW_ROUNDS).map(|_| stray(truth, pick, random)).collect();
    let bound = stats::best_set(&whole(&values), 0.05).map_or(0.0, |found| found.regret[picked]);
    let behind = truth.speeds[best] - truth.speeds[pick];
    Outcome {
        best_kept: standing.contains(&best),
        trials,
        trials_full,
        flattered: others[picked] - if others.len() > 1 { mean(&others) } else { others[picked] },
        flattered_confirmed: mean(&new),
        behind,
        bound_held: behind <= bound + 1e-12,
    }
}

fn stray(truth: &Truth, cell: usize, random: &mut Noise) -> f64 {
    match &truth.stray {
        Stray::Normal(deviations) => deviations[cell] * random.normal(),
        Stray::Recorded(residuals) => residuals[(random.uniform() * residuals.len() as f64) as usize % residuals.len()],
    }
}

fn observations(count: usize) -> Observations {
    let cell = |index: usize| Cell {
        label: format!("c{index}"),
        levels: BTreeMap::new(),
        control: false,
        baseline: index == 0,
    };
    Observations { cells: (0..count).map(cell).collect(), rounds: Vec::new(), more_is_better: true }
}

/// Speeds drawn anew, with this deviation among them, and trials that stray with that one.
pub fn drawn(count: usize, spread: f64, noise: f64, random: &mut Noise) -> Truth {
    Truth { speeds: (0..count).map(|_| spread * random.normal()).collect(), stray: Stray::Normal(vec![noise; count]) }
}

/// Recorded studies: name, and speeds and strays from each scenario's mean and interval.
pub fn recorded() -> Vec<(String, Truth)> {
    let mut studies: Vec<(String, Truth)> = Vec::new();
    for line in include_str!("../data/recorded.csv").lines().skip(2) {
        let fields: Vec<&str> = line.split(',').collect();
        let [study, _, mean, low, high, rounds] = fields[..] else { panic!("six fields: {line}") };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let rounds = number(rounds);
        let half_width = (number(high) / number(low)).ln() / 2.0;
        let deviation = half_width * rounds.sqrt() / stats::interval::t_quantile(0.975, rounds as usize - 1);
        if studies.last().is_none_or(|(name, _)| name != study) {
            studies.push((study.into(), Truth { speeds: Vec::new(), stray: Stray::Normal(Vec::new()) }));
        }
        let truth = &mut studies.last_mut().expect("just added").1;
        truth.speeds.push(number(mean).ln());
        let Stray::Normal(deviations) = &mut truth.stray else { continue };
        deviations.push(deviation);
    }
    studies.extend(recorded_rounds());
    studies
}

/// A recorded study of which every trial is kept: its trials stray as they did.
fn recorded_rounds() -> Option<(String, Truth)> {
    let lines = include_str!("../data/sqlite-rounds.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| -> Vec<f64> {
        line.rsplit(',').filter_map(|field| field.parse::<f64>().ok()).map(f64::ln).collect()
    };
    let values: Vec<Vec<f64>> = lines.map(row).collect();
    let (cells, rounds) = (values.len(), values.first()?.len());
    let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
    let of_cell: Vec<f64> = values.iter().map(|row| mean(&mut row.iter().copied(), rounds)).collect();
    let grand = mean(&mut of_cell.iter().copied(), cells);
    let of_round: Vec<f64> =
        (0..rounds).map(|round| mean(&mut values.iter().map(|row| row[round]), cells) - grand).collect();
    // Residuals are smaller than what they are left of, by the means that were taken out.
    let larger = ((rounds * cells) as f64 / ((rounds - 1) * (cells - 1)) as f64).sqrt();
    let residuals = values
        .iter()
        .zip(&of_cell)
        .flat_map(|(row, cell)| row.iter().zip(&of_round).map(move |(value, round)| (value - cell - round) * larger));
    let stray = Stray::Recorded(residuals.collect());
    Some(("sqlite-journals".into(), Truth { speeds: of_cell, stray }))
}

/// The average of many studies.
#[derive(Debug)]
pub struct Summary {
    /// Share in which the true best was kept.
    pub best_kept: f64,
    /// Share of trials saved, over all studies together.
    pub saved: f64,
    /// Trials of a tuned study.
    pub trials: f64,
    /// Trials of a full one.
    pub trials_full: f64,
    /// How far the pick looked better than it is, against the others that were left.
    pub flattered: f64,
    /// And in new rounds.
    pub flattered_confirmed: f64,
    /// How far the pick is behind the true best.
    pub behind: f64,
    /// Share in which it was at most as far behind as was said.
    pub bound_held: f64,
}

/// Runs studies of truths that `draw` makes.
pub fn repeat(studies: u32, run: Run, draw: &dyn Fn(&mut Noise) -> Truth) -> Summary {
    let outcomes: Vec<Outcome> = (0..studies)
        .map(|seed| {
            let mut random = Noise(u64::from(seed) * 7919 + 11);
            let truth = draw(&mut random);
            study(&truth, run, &mut random)
        })
        .collect();
    let share = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64;
    let (trials, trials_full) = (share(&|one| one.trials as f64), share(&|one| one.trials_full as f64));
    Summary {
        best_kept: share(&|one| f64::from(u8::from(one.best_kept))),
        saved: 1.0 - trials / trials_full,
        trials,
        trials_full,
        flattered: share(&|one| one.flattered),
        flattered_confirmed: share(&|one| one.flattered_confirmed),
        behind: share(&|one| one.behind),
        bound_held: share(&|one| f64::from(u8::from(one.bound_held))),
    }
}
