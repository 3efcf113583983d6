//! Studies of known truth by the thousand, on a machine with the noise that was measured on a shared virtual one: what is claimed of them.

use ledger::groups::Figure;
use random::SplitMix64;
use stats::carry_over::Turn;
use stats::shape::{self, QUANTILES};
use stats::slow::SlowMode;
use stats::{Cell, Held, Observations, Rules, analyse};
use std::collections::BTreeMap;

/// Standard deviation and correlation time of what disturbs a shared virtual machine, and of what strays from second to second (REML of
/// recorded seconds).
const SLOW: (f64, f64) = (0.165, 20.0);
const WHITE: f64 = 0.09;

/// Turns of a second that each has in a group.
const TURNS: u32 = 24;

/// What a study is held to, as its first answer.
pub const RULES: Rules =
    Rules { confidence: 0.95, margin: 0.03, precision: 0.03, rounds_min: 6, rounds_max: 6, looks: 1, share: 1.0 };

/// A machine that is disturbed.
pub struct Machine {
    random: SplitMix64,
    slow: f64,
}

impl Machine {
    /// By its seed, after a long time.
    pub fn new(seed: u64) -> Machine {
        let mut machine = Machine { random: SplitMix64::new(SplitMix64::new(seed).next_u64()), slow: 0.0 };
        machine.slow = SLOW.0 * machine.normal();
        machine
    }

    /// Of the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.fraction()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.fraction()).cos()
    }

    /// Whether something of this probability happens.
    fn happens(&mut self, share: f64) -> bool {
        self.random.fraction() < share
    }

    /// How much faster than usual it is over so many seconds from now on, log scale.
    fn seconds(&mut self, count: u32) -> f64 {
        let kept = (-1.0 / SLOW.1).exp();
        let mut sum = 0.0;
        for _ in 0..count {
            self.slow = kept * self.slow + SLOW.0 * (1.0 - kept * kept).sqrt() * self.normal();
            sum += self.slow + WHITE * self.normal();
        }
        sum / f64::from(count)
    }
}

/// Scenarios with these speeds (log scale), the first of them the baseline, of one factor, and no round yet.
pub fn scenarios(count: usize) -> Observations {
    let cells = (0..count).map(|index| Cell {
        label: format!("c{index}"),
        levels: BTreeMap::from([("f".to_string(), format!("c{index}"))]),
        control: false,
        baseline: index == 0,
    });
    Observations { cells: cells.collect(), rounds: Vec::new(), more_is_better: true }
}

/// A round of trials of so many seconds with ten between them, in the study's order.
fn add_round(study: &mut Observations, speeds: &[f64], seconds: u32, seed: u64, machine: &mut Machine) {
    let round = study.rounds.len() as u32;
    let mut row = vec![None; speeds.len()];
    for index in study::order::balanced(speeds.len(), seed, round) {
        machine.seconds(10);
        row[index] = Some(1000.0 * (speeds[index] + machine.seconds(seconds)).exp());
    }
    study.rounds.push(row);
}

/// The share of studies, by seed, of which something is true.
pub fn share(studies: u32, is_so: impl Fn(u64) -> bool) -> f64 {
    f64::from((0..studies).filter(|seed| is_so(u64::from(*seed))).count() as u32) / f64::from(studies)
}

/// Equals on a machine that gets slower by `drift` over six rounds, beside 1 % of noise: something is claimed.
pub fn drifting(seed: u64, count: usize, drift: f64) -> bool {
    let (mut study, mut machine) = (scenarios(count), Machine::new(seed));
    let step = (1.0 - drift).ln() / (6 * count - 1) as f64;
    for round in 0..6 {
        let mut row = vec![None; count];
        for (place, index) in study::order::balanced(count, seed, round).into_iter().enumerate() {
            let trials = (round as usize * count + place) as f64;
            row[index] = Some(1000.0 * (step * trials + 0.01 * machine.normal()).exp());
        }
        study.rounds.push(row);
    }
    analyse(&study, &RULES).claims.iter().any(|claim| claim.verdict.is_claim())
}

/// Two equals, rounds added until something is claimed or the last look is done: something is claimed. `rules` says which answer has which
/// level.
pub fn looked_again(seed: u64, looks: &[usize], rules: impl Fn(u32) -> Rules) -> bool {
    let (mut study, mut machine) = (scenarios(2), Machine::new(seed));
    looks.iter().zip(1..).any(|(rounds, look)| {
        while study.rounds.len() < *rounds {
            add_round(&mut study, &[0.0; 2], 6, seed, &mut machine);
        }
        analyse(&study, &rules(look)).claims.iter().any(|claim| claim.verdict.is_claim())
    })
}

/// The default of studies (6 to 20 rounds, until known within the precision), and twenty more rounds where nothing was claimed.
pub fn stopped_and_looked_again(seed: u64, noise: f64) -> bool {
    let (mut study, mut machine) = (scenarios(2), Machine::new(seed));
    let mut rules = Rules { rounds_max: 20, ..RULES };
    loop {
        let row = (0..2).map(|_| Some(1000.0 * (noise * machine.normal()).exp())).collect();
        study.rounds.push(row);
        let is_over = study.rounds.len() >= rules.rounds_max as usize;
        if !is_over && !stats::enough(&study, &rules).is_enough() {
            continue;
        }
        if analyse(&study, &rules).claims.iter().any(|claim| claim.verdict.is_claim()) {
            return true;
        }
        if rules.looks == 3 {
            return false;
        }
        (rules.looks, rules.rounds_min, rules.rounds_max) =
            (rules.looks + 1, study.rounds.len() as u32 + 20, study.rounds.len() as u32 + 20);
    }
}

/// Two equals, looked at after each of 20 rounds from the fourth on, and broken off where a difference is shown; `share` is the part of the level
/// that a look before the last has.
pub fn broken_off(seed: u64, share: impl Fn(u32) -> f64) -> bool {
    let (mut machine, mut differences) = (Machine::new(seed), Vec::new());
    (1..=20).any(|round| {
        differences.push(0.04 * machine.normal());
        let rules = Rules { share: if round == 20 { 1.0 } else { share(round) }, ..RULES };
        round >= 4 && stats::contrast(&differences, 0.95).expect("four rounds").p < rules.alpha()
    })
}

/// A row of neighbours, each faster than the one before by the margin: two of them are called the same.
pub fn neighbours_are_called_the_same(seed: u64, count: usize, noise: f64) -> bool {
    let (mut study, mut machine) = (scenarios(count), Machine::new(seed));
    let step = RULES.margin.ln_1p();
    for _ in 0..6 {
        let row = (0..count).map(|index| Some(1000.0 * (step * index as f64 + noise * machine.normal()).exp()));
        study.rounds.push(row.collect());
    }
    let is_same = |verdict| matches!(verdict, stats::Verdict::Equivalent | stats::Verdict::Negligible);
    analyse(&study, &RULES).claims.iter().any(|claim| is_same(claim.verdict))
}

/// One comparison of a family of so many differs by just what is said to be visible at its true spread: it is found.
pub fn visible_is_found(seed: u64, family: usize, spread: f64) -> bool {
    let mut machine = Machine::new(seed);
    let held = Held { alpha: RULES.alpha(), family, margin: 0.03, more_is_better: true };
    let size = stats::power::minimum_detectable_log(spread, 6, held.level());
    let p = |size: f64, machine: &mut Machine| {
        let differences: Vec<f64> = (0..6).map(|_| size + spread * machine.normal()).collect();
        stats::contrast(&differences, 0.95).expect("six rounds").p
    };
    let mut all = vec![p(size, &mut machine)];
    all.extend((1..family).map(|_| p(0.0, &mut machine)));
    stats::holm(&all)[0] < held.alpha
}

/// Of equals, whether the interval of the one that measured best holds its true speed: corrected for having been picked, and not.
pub fn picked_interval_holds(seed: u64, count: usize) -> [bool; 2] {
    let mut machine = Machine::new(seed);
    let values: Vec<Vec<f64>> = (0..count).map(|_| (0..6).map(|_| 0.05 * machine.normal()).collect()).collect();
    let mean = |values: &Vec<f64>| stats::interval::mean(values);
    let pick = values.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))).expect("scenarios");
    [analysis::row::simultaneous(0.95, count), 0.95].map(|confidence| {
        let found = stats::contrast(pick, confidence).expect("six rounds");
        found.low <= 0.0 && found.high >= 0.0
    })
}

/// Six scenarios within 4 %, a share of their trials missing: whether the true best is in the best set, and the bound of the pick holds.
pub fn holes(seed: u64, missing: f64, noise: f64) -> [bool; 2] {
    let mut machine = Machine::new(seed);
    let speeds: Vec<f64> = (0..6).map(|index| 0.008 * f64::from(index)).collect();
    let of = |speed: &f64, machine: &mut Machine| -> Vec<Option<f64>> {
        let values = (0..6).map(|_| {
            let value = speed + noise * machine.normal();
            (!machine.happens(missing)).then_some(value)
        });
        values.collect()
    };
    let values: Vec<Vec<Option<f64>>> = speeds.iter().map(|speed| of(speed, &mut machine)).collect();
    let Some(found) = stats::best_set(&values, 0.05) else { return [true; 2] };
    let behind = speeds[5] - speeds[found.pick];
    [found.members.contains(&5), behind <= found.regret[found.pick]]
}

/// What was said of two scenarios of equal mean, twelve rounds of 24 turns each, of which one is at half its speed in a share of its turns:
/// by the means alone, and with the shape looked at.
pub fn slow_turns(seed: u64, slow: f64, noise: f64) -> [bool; 2] {
    let mut machine = Machine::new(seed);
    // So much faster in its other turns that the work done over time is equal.
    let faster = -(1.0 - slow / 2.0).ln();
    let mut turns = [Vec::new(), Vec::new()];
    let mut study = scenarios(2);
    for _ in 0..12 {
        let mut row = Vec::new();
        for (scenario, turns) in turns.iter_mut().enumerate() {
            let mut of_round = Vec::new();
            for _ in 0..24 {
                let is_slow = scenario == 1 && machine.happens(slow);
                let speed = if scenario == 1 { faster } else { 0.0 } + noise * machine.normal();
                of_round.push(speed.exp() * if is_slow { 0.5 } else { 1.0 });
            }
            row.push(Some(stats::interval::mean(&of_round)));
            turns.extend(of_round);
        }
        study.rounds.push(row);
    }
    let verdict = analyse(&study, &RULES).claims[0].verdict;
    let [a, b] = turns.map(|turns| SlowMode::of(&turns, true).expect("turns"));
    let is_said = verdict != stats::Verdict::Inconclusive;
    [is_said, is_said && !a.differs_from(&b)]
}

/// Equal results of so many sessions a side, whose days differ by `day`: by one session a side, Welch's test on rounds; by several, one
/// difference a pair of sessions.
pub fn sessions_differ(seed: u64, sessions: usize, day: f64) -> bool {
    let mut machine = Machine::new(seed);
    let session = |machine: &mut Machine| -> Vec<f64> {
        let level = day * machine.normal();
        (0..6).map(|_| level + 0.03 * machine.normal()).collect()
    };
    let sides: Vec<[Vec<f64>; 2]> = (0..sessions).map(|_| [session(&mut machine), session(&mut machine)]).collect();
    let p = if sessions == 1 {
        stats::welch(&sides[0][0], &sides[0][1], 0.95).map(|test| test.p)
    } else {
        let mean = |values: &Vec<f64>| stats::interval::mean(values);
        let differences: Vec<f64> = sides.iter().map(|[a, b]| mean(a) - mean(b)).collect();
        stats::contrast(&differences, 0.95).map(|contrast| contrast.p)
    };
    p.is_some_and(|p| p < 0.05)
}

/// Equal sides, four sessions each, on a machine that gets slower by `drift` over all of them, and whose sessions stray by 1 %: a difference is
/// shown. Either side changes places from pair to pair, or the first always goes first.
pub fn sessions_drift(seed: u64, drift: f64, change_places: bool) -> bool {
    let mut machine = Machine::new(seed);
    let step = (1.0 - drift).ln() / 7.0;
    let sessions: Vec<f64> = (0..8).map(|session| step * f64::from(session) + 0.01 * machine.normal()).collect();
    let is_crossed = |pair: usize| change_places && pair % 2 == 1;
    let of = |side: usize| -> Vec<f64> {
        (0..4).map(|pair| sessions[2 * pair + if is_crossed(pair) { 1 - side } else { side }]).collect()
    };
    let found = stats::paired(&of(1), &of(0), 0.95).expect("four pairs");
    let held = Held { alpha: RULES.alpha(), family: 1, margin: RULES.margin, more_is_better: true };
    matches!(found.verdict(found.p, &held), stats::Verdict::Faster | stats::Verdict::Slower)
}

/// Seconds between groups: everything is provisioned anew.
const BETWEEN_GROUPS: u32 = 10;

/// What one provisioning does to a trial as a whole.
const PROVISIONING: f64 = 0.01;

/// Six rounds of equals, the first of them the baseline and one more its control, of which so many are up at once and have 24 turns of a
/// second each; `adjust` makes one figure each of those of a round's groups.
pub fn grouped(
    seed: u64,
    count: usize,
    up_max: usize,
    adjust: &dyn Fn(&[Figure]) -> BTreeMap<usize, f64>,
) -> Observations {
    let (mut study, mut machine) = (scenarios(count + 1), Machine::new(seed));
    study.cells[count] = Cell { control: true, ..study.cells[0].clone() };
    study.cells[count].baseline = false;
    let groups = (count - 1).div_ceil(up_max - 2);
    for round in 0..RULES.rounds_max {
        let mut figures = Vec::new();
        for (number, others) in (0..).zip(study::groups::split(count - 1, groups, seed, round)) {
            machine.seconds(BETWEEN_GROUPS);
            let up: Vec<usize> = [0, count].into_iter().chain(others.into_iter().map(|other| other + 1)).collect();
            let mut work: Vec<f64> = vec![0.0; up.len()];
            for place in lab::turns::order(&vec![TURNS; up.len()], seed ^ u64::from(round)) {
                work[place] += machine.seconds(1).exp() / f64::from(TURNS);
            }
            figures.extend(up.into_iter().zip(work).map(|(scenario, work)| Figure {
                scenario,
                group: Some(number),
                is_shared: scenario == 0 || scenario == count,
                value: 1000.0 * work * (PROVISIONING * machine.normal()).exp(),
            }));
        }
        let mut row = vec![None; count + 1];
        adjust(&figures).into_iter().for_each(|(scenario, value)| row[scenario] = Some(value));
        study.rounds.push(row);
    }
    study
}

/// Rounds of turns of a second, on the machine as it was measured: what each trial's turns say besides their mean.
pub struct Turned {
    /// The work of all turns over their time.
    pub means: Observations,
    /// The mean of the turns' 99th percentiles of latency.
    pub latencies: Observations,
    /// The slowest turn.
    pub worst: Observations,
    /// Quantiles of turns, as `stats::shape` has them.
    pub quantiles: Vec<Observations>,
    /// The turns of each round.
    pub turns: Vec<Vec<Turn>>,
}

/// What is wrong with the second of two scenarios.
#[derive(Clone, Copy, Default)]
pub struct Wrong {
    /// Share of its turns at half its speed; in the others it is as much faster as leaves its mean.
    pub slow: f64,
    /// How much longer its slowest operations take, a fraction.
    pub tail: f64,
    /// How much the turn after one of its own is slower, log scale.
    pub carried: f64,
}

/// Two scenarios provisioned anew in each round (2 % from one to the next), 24 turns of a second each.
pub fn turned(seed: u64, rounds: u32, wrong: Wrong) -> Turned {
    let mut machine = Machine::new(seed);
    let less = || Observations { more_is_better: false, ..scenarios(2) };
    let mut made = Turned {
        means: scenarios(2),
        latencies: less(),
        worst: scenarios(2),
        quantiles: QUANTILES.iter().map(|_| scenarios(2)).collect(),
        turns: Vec::new(),
    };
    for round in 0..rounds {
        machine.seconds(20);
        let levels = [0.02 * machine.normal(), 0.02 * machine.normal() - (1.0 - wrong.slow / 2.0).ln()];
        let (mut speeds, mut waits, mut turns) = ([Vec::new(), Vec::new()], [0.0; 2], Vec::<Turn>::new());
        for cycle in 0..24 {
            for scenario in study::order::balanced(2, seed ^ u64::from(round) << 32, cycle) {
                let before = turns.last().map(|turn| turn.scenario);
                let slow = if scenario == 1 && machine.happens(wrong.slow) { 0.5_f64.ln() } else { 0.0 };
                let carried = if before == Some(1) { wrong.carried } else { 0.0 };
                let log_rate = levels[scenario] + machine.seconds(1) + slow - carried;
                let tail = if scenario == 1 { wrong.tail } else { 0.0 };
                waits[scenario] += (0.3 * machine.normal().abs() - log_rate).exp() * (1.0 + tail);
                speeds[scenario].push(log_rate.exp());
                turns.push(Turn { scenario, before, log_rate });
            }
        }
        let row = |of: &dyn Fn(&Vec<f64>) -> f64| speeds.iter().map(|speeds| Some(of(speeds))).collect();
        made.means.rounds.push(row(&|speeds| stats::interval::mean(speeds)));
        made.worst.rounds.push(row(&|speeds| speeds.iter().copied().fold(f64::INFINITY, f64::min)));
        made.latencies.rounds.push(waits.map(Some).into());
        for (quantile, share) in made.quantiles.iter_mut().zip(QUANTILES) {
            quantile.rounds.push(row(&|speeds| shape::quantile(speeds, share).expect("turns")));
        }
        made.turns.push(turns);
    }
    made
}

fn is_shown(claims: &[stats::Claim]) -> bool {
    claims.iter().any(|claim| matches!(claim.verdict, stats::Verdict::Faster | stats::Verdict::Slower))
}

/// Which comparisons show a difference: of means, of latencies' tails, of the worst second, of any quantile.
pub fn tails_shown(seed: u64, rounds: u32, wrong: Wrong) -> [bool; 4] {
    let made = turned(seed, rounds, wrong);
    let of = |observations: &Observations| is_shown(&stats::analysis::family(observations, &RULES).0);
    let quantiles = shape::families(&made.quantiles, &RULES);
    let by_shape = quantiles.iter().any(|(claims, _)| is_shown(claims));
    [of(&made.means), of(&made.latencies), of(&made.worst), by_shape]
}

/// Whether stalls are called a claim of their own: by count, of turns.
pub fn stalls_shown(seed: u64, rounds: u32, wrong: Wrong) -> bool {
    let made = turned(seed, rounds, wrong);
    let of = |scenario: usize| {
        let all = made.turns.iter().flatten().filter(|turn| turn.scenario == scenario);
        SlowMode::of(&all.map(|turn| turn.log_rate.exp()).collect::<Vec<f64>>(), true).expect("turns")
    };
    of(0).differs_from(&of(1))
}

/// Whether a carry-over is shown.
pub fn carry_over_shown(seed: u64, wrong: Wrong) -> bool {
    let made = turned(seed, 8, wrong);
    stats::carry_over::carry_over(&made.turns, 2, 0.95).expect("it can be told").p < 0.05
}

/// A first answer of equals, after six rounds: blocks of 6 s with 10 s between them, or 24 turns of a second; as it is held, or with the
/// standard error widened by the correlation of neighbouring rounds, as their contrasts show it.
pub fn first_answer(seed: u64, by_turns: bool, is_widened: bool) -> bool {
    let study = if by_turns {
        turned(seed, 6, Wrong::default()).means
    } else {
        let (mut study, mut machine) = (scenarios(2), Machine::new(seed));
        (0..6).for_each(|_| add_round(&mut study, &[0.0; 2], 6, seed, &mut machine));
        study
    };
    let differences = study.differences(&study.family()[0]);
    let found = stats::contrast(&differences, 0.95).expect("six rounds");
    let widened = if is_widened {
        let kept = correlation(&differences).clamp(0.0, 0.9);
        ((1.0 + kept) / (1.0 - kept)).sqrt()
    } else {
        1.0
    };
    let t = found.mean / (found.standard_error * widened);
    stats::interval::two_sided_p(t, found.rounds - 1) < RULES.alpha()
}

/// Of neighbouring rounds, less the bias that their own mean gives it: -1 of their number.
pub fn correlation(differences: &[f64]) -> f64 {
    let mean = stats::interval::mean(differences);
    let from_mean: Vec<f64> = differences.iter().map(|d| d - mean).collect();
    let products: f64 = from_mean.windows(2).map(|pair| pair[0] * pair[1]).sum();
    products / from_mean.iter().map(|d| d * d).sum::<f64>() + 1.0 / differences.len() as f64
}

/// The correlation of neighbouring rounds' contrasts over a long study.
pub fn long_correlation(by_turns: bool) -> f64 {
    let study = if by_turns {
        turned(1, 4000, Wrong::default()).means
    } else {
        let (mut study, mut machine) = (scenarios(2), Machine::new(1));
        (0..4000).for_each(|_| add_round(&mut study, &[0.0; 2], 6, 1, &mut machine));
        study
    };
    correlation(&study.differences(&study.family()[0]))
}

/// Six scenarios within 4 %, answers after so many rounds each: at some answer the true best is not in the best set or the pick is farther behind
/// than its bound. `level` is that of an answer.
pub fn bound_fails(seed: u64, looks: &[usize], level: impl Fn(u32) -> f64) -> bool {
    let mut machine = Machine::new(seed);
    let speeds: Vec<f64> = (0..6).map(|index| 0.008 * f64::from(index)).collect();
    let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); 6];
    looks.iter().zip(1..).any(|(rounds, look)| {
        while values[0].len() < *rounds {
            for (speed, values) in speeds.iter().zip(&mut values) {
                values.push(Some(speed + 0.03 * machine.normal()));
            }
        }
        let found = stats::best_set(&values, level(look)).expect("six scenarios");
        !found.members.contains(&5) || speeds[5] - speeds[found.pick] > found.regret[found.pick]
    })
}
