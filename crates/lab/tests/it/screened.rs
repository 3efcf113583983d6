//! Screened studies by seed, without trials: how often what is kept holds the best, and what is saved.
//!
//! Shared by the test, which runs a few, and by `benches/screen.rs`, which makes the table of docs/statistics.md.

use random::SplitMix64;
use stats::screening::{Keep, Screened, screening};
use study::screen::TwoLevel;

/// What is true of a study.
#[derive(Clone, Copy)]
pub struct Truth {
    /// Factors of two levels that do something by themselves.
    pub active: usize,
    /// Whether two of them do more together.
    pub together: bool,
    /// Whether two that do nothing by themselves do something together.
    pub hidden: bool,
    /// The largest effect, log scale; the others are spread evenly below it, down to a tenth.
    pub largest: f64,
}

/// How a study is screened.
#[derive(Clone, Copy)]
pub struct Run {
    /// Factors of two levels.
    pub two_level: usize,
    /// Levels of one more factor; 1: there is none.
    pub levels: usize,
    /// Rounds of the screen.
    pub rounds: usize,
    /// By Plackett and Burman instead of by a fraction.
    pub plackett_burman: bool,
}

impl Run {
    fn more(&self) -> impl Iterator<Item = usize> + use<> {
        Some(self.levels).filter(|levels| *levels > 1).into_iter()
    }
}

/// The average of many studies.
#[derive(Debug)]
pub struct Summary {
    /// Share in which a scenario that is studied on is within the margin of the best of all.
    pub best_kept: f64,
    /// How far the best that is studied on is behind the best of all.
    pub behind: f64,
    /// Factors kept.
    pub factors: f64,
    /// Trials with the screen and the confirmation.
    pub trials: f64,
    /// Trials of everything in as many rounds.
    pub trials_full: f64,
}

const NOISE: f64 = 0.03;
const MARGIN: f64 = 0.03;
/// Rounds of what is studied on, and of everything.
const ROUNDS: usize = 6;
/// Six rounds of pick, runner-up and baseline.
const CONFIRMATION: usize = 18;

/// SplitMix64 and Box-Muller: the same on every machine.
struct Random(SplitMix64);

impl Random {
    /// In (0, 1).
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Up or down, between a tenth and the whole of the largest.
    fn effect(&mut self, largest: f64) -> f64 {
        let sign = if self.uniform() < 0.5 { -1.0 } else { 1.0 };
        sign * largest * (0.1 + 0.9 * self.uniform())
    }
}

/// Logarithms of speeds: effects of levels, and of pairs.
struct World {
    effects: Vec<Vec<f64>>,
    pairs: Vec<([usize; 2], f64)>,
}

impl World {
    /// Which factors do something is drawn, too: none has a place of its own in the design.
    fn drawn(truth: &Truth, run: &Run, random: &mut Random) -> World {
        let mut order: Vec<usize> = (0..run.two_level).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, (random.uniform() * (last + 1) as f64) as usize);
        }
        let mut effects = vec![vec![0.0, 0.0]; run.two_level];
        for factor in &order[..truth.active] {
            effects[*factor][1] = random.effect(truth.largest);
        }
        effects.extend(run.more().map(|levels| (0..levels).map(|_| truth.largest / 3.0 * random.normal()).collect()));
        let (first, idle) = order.split_at(truth.active);
        let mut pairs = Vec::new();
        if truth.together {
            pairs.push(([first[0], first[1]], random.effect(truth.largest)));
        }
        if truth.hidden {
            pairs.push(([idle[0], idle[1]], random.effect(truth.largest)));
        }
        World { effects, pairs }
    }

    fn speed(&self, levels: &[usize]) -> f64 {
        let alone: f64 = self.effects.iter().zip(levels).map(|(effect, level)| effect[*level]).sum();
        // In full where both are changed, and not seen in their averages: half up, half down.
        let sign = |level: usize| if level == 0 { 1.0 } else { -1.0 };
        let of_pair = |([a, b], size): &([usize; 2], f64)| size / 2.0 * sign(levels[*a]) * sign(levels[*b]);
        alone + self.pairs.iter().map(of_pair).sum::<f64>()
    }
}

/// Runs studies that `truth` describes.
pub fn repeat(studies: u32, truth: Truth, run: Run) -> Summary {
    let mut sums = [0.0; 4];
    let counts: Vec<usize> = [2].repeat(run.two_level).into_iter().chain(run.more()).collect();
    let all = combinations(&counts);
    for seed in 0..studies {
        let mut random = Random(SplitMix64::new(u64::from(seed) * 7919 + 11));
        let world = World::drawn(&truth, &run, &mut random);
        let (kept, screened) = screen(&world, &run, &mut random);
        let best =
            |of: &mut dyn Iterator<Item = &Vec<usize>>| of.map(|cell| world.speed(cell)).fold(f64::MIN, f64::max);
        let is_studied = |cell: &&Vec<usize>| (0..cell.len()).all(|factor| kept.contains(&factor) || cell[factor] == 0);
        let behind = best(&mut all.iter()) - best(&mut all.iter().filter(is_studied));
        sums[0] += f64::from(u8::from(behind <= MARGIN.ln_1p()));
        sums[1] += behind;
        sums[2] += kept.len() as f64;
        sums[3] += (screened + ROUNDS * all.iter().filter(is_studied).count() + CONFIRMATION) as f64;
    }
    let [best_kept, behind, factors, trials] = sums.map(|sum| sum / f64::from(studies));
    Summary { best_kept, behind, factors, trials, trials_full: (ROUNDS * all.len()) as f64 }
}

/// Factors that one screen keeps, and its trials.
fn screen(world: &World, run: &Run, random: &mut Random) -> (Vec<usize>, usize) {
    let design = if run.plackett_burman { TwoLevel::plackett_burman } else { TwoLevel::fraction };
    let design = design(run.two_level).expect("the design has so many factors");
    let cross = |signs: &Vec<bool>| {
        let signs: Vec<usize> = signs.iter().map(|sign| usize::from(!sign)).collect();
        combinations(&run.more().collect::<Vec<_>>()).into_iter().map(move |more| [signs.clone(), more].concat())
    };
    let levels: Vec<Vec<usize>> = design.runs.iter().flat_map(cross).collect();
    let mut of_round =
        |_| levels.iter().map(|cell| Some((world.speed(cell) + NOISE * random.normal()).exp())).collect();
    let rounds: Vec<Vec<Option<f64>>> = (0..run.rounds).map(&mut of_round).collect();
    let keep = Keep { confidence: 0.95, margin: MARGIN, explained: 0.95, factors_max: study::screen::KEPT_MAX };
    let found = screening(&Screened { levels: &levels, rounds: &rounds }, &keep).expect("every scenario has a value");
    (found.kept, levels.len() * run.rounds)
}

fn combinations(counts: &[usize]) -> Vec<Vec<usize>> {
    let longer = |all: Vec<Vec<usize>>, count: &usize| {
        all.into_iter().flat_map(|cell| (0..*count).map(move |level| [&cell[..], &[level]].concat())).collect()
    };
    counts.iter().fold(vec![Vec::new()], longer)
}
