//! Simulated fleets of known truth; `benches/hosts.rs` has the whole table.

use crate::noise::Noise;
use stats::hosts::over_hosts;

/// A kind of fleet.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub hosts: usize,
    /// Rounds that a host measures at most.
    pub rounds: usize,
    /// Share of rounds that are missing.
    pub missing: f64,
    /// How far hosts differ in the contrast, a standard deviation of logarithms.
    pub interaction: f64,
    /// How far a contrast strays from round to round.
    pub noise: f64,
}

/// What was asked of one fleet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer {
    /// The interval holds the mean of all machines of this kind.
    pub covers: bool,
    /// Likewise, after equal weights and rounds taken for the unit: what a pool of all rounds says.
    pub pool_covers: bool,
    /// The prediction holds what a further machine shows over as many rounds.
    pub predicts: bool,
    /// A machine is said to stand apart, of which none does.
    pub blames: bool,
}

/// One fleet by seed, of scenarios that are equal over all machines of this kind.
pub fn answer(seed: u64, kind: &Kind) -> Answer {
    let mut random = Noise(seed);
    let host = |random: &mut Noise| -> Vec<f64> {
        let truth = kind.interaction * random.normal();
        let all = (0..kind.rounds).map(|_| truth + kind.noise * random.normal());
        let all: Vec<f64> = all.collect();
        let kept: Vec<f64> = all.iter().copied().filter(|_| random.uniform() >= kind.missing).collect();
        if kept.is_empty() { vec![all[0]] } else { kept }
    };
    let rounds: Vec<Vec<f64>> = (0..kind.hosts).map(|_| host(&mut random)).collect();
    let found = over_hosts(&rounds, 0.95).expect("four hosts at least");
    let further = host(&mut random);
    let further = further.iter().sum::<f64>() / further.len() as f64;
    let pooled = stats::contrast(&rounds.concat(), 0.95).expect("several rounds");
    Answer {
        covers: found.contrast.low <= 0.0 && 0.0 <= found.contrast.high,
        pool_covers: pooled.low <= 0.0 && 0.0 <= pooled.high,
        predicts: (found.prediction.0..=found.prediction.1).contains(&further),
        blames: !found.apart.is_empty(),
    }
}

/// Shares of so many fleets: covers, pool covers, predicts, blames.
pub fn shares(fleets: u64, kind: &Kind) -> [f64; 4] {
    let mut counts = [0_u64; 4];
    for seed in 0..fleets {
        let Answer { covers, pool_covers, predicts, blames } = answer(seed * 7919 + 3, kind);
        counts
            .iter_mut()
            .zip([covers, pool_covers, predicts, blames])
            .for_each(|(count, is_so)| *count += u64::from(is_so));
    }
    counts.map(|count| count as f64 / fleets as f64)
}
