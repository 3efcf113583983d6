//! Scenarios that are shown to be worse while a study still runs, so that they need not be measured on (STATISTICS section 5).
//!
//! Looked for at round ends, from the fourth on. One-sided, on differences of logarithms paired by round, and held at a level that
//! is shared out among all looks and all others (Bonferroni): the true best falls out of at most `alpha` of studies, however it goes.

use crate::interval::{RESOLUTION, mean, standard_deviation, t_quantile};
use crate::observations::Observations;
use std::cell::OnceCell;

/// The first round after which is looked: of fewer, a spread says next to nothing.
pub const FIRST_LOOK: u32 = 4;

/// How sure a drop must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Looks {
    /// Share of studies in which the true best may fall out.
    pub alpha: f64,
    /// At most so many rounds, and a look after each from the first look on.
    pub rounds_max: u32,
    /// Cells that compete, those that fell out already counted with them.
    pub candidates: usize,
}

impl Looks {
    /// The part of the level that the look after this round has. Earlier looks have more, as one over the square root of the look's
    /// number: with few rounds more of the level buys much of the quantile, and a drop saves most.
    pub fn share(&self, round: u32) -> f64 {
        let weight = |round: u32| 1.0 / f64::from(round + 1 - FIRST_LOOK).sqrt();
        weight(round) / (FIRST_LOOK..=self.rounds_max.max(round)).map(weight).sum::<f64>()
    }

    /// The critical value after a round, for differences over so many rounds, two at least.
    pub fn critical(&self, round: u32, rounds: usize) -> f64 {
        let others = (self.candidates.max(2) - 1) as f64;
        t_quantile(1.0 - self.alpha * self.share(round) / others, rounds - 1)
    }
}

/// A cell that is shown to be worse than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worse {
    /// Its index.
    pub cell: usize,
    /// The index of the one that it is farthest behind, for sure.
    pub than: usize,
    /// Mean lead of that one, log scale.
    pub lead: f64,
    /// At least this.
    pub lead_low: f64,
    /// At most this, as surely.
    pub lead_high: f64,
    /// Rounds in which both have a value.
    pub rounds: usize,
}

/// Which of the `standing` cells are shown to be worse than another of them that `may_beat(it, cell)`.
pub fn worse(
    observations: &Observations,
    standing: &[usize],
    may_beat: &dyn Fn(usize, usize) -> bool,
    looks: &Looks,
) -> Vec<Worse> {
    let round = u32::try_from(observations.rounds.len()).unwrap_or(u32::MAX);
    if round < FIRST_LOOK {
        return Vec::new();
    }
    // Most pairs share all rounds: a quantile takes longer than all else.
    let criticals: Vec<OnceCell<f64>> = vec![OnceCell::new(); observations.rounds.len() + 1];
    let critical = |rounds: usize| *criticals[rounds].get_or_init(|| looks.critical(round, rounds));
    let against = |cell: usize| {
        let others = standing.iter().copied().filter(|other| *other != cell && may_beat(*other, cell));
        let leads = others.filter_map(|other| lead(observations, cell, other, &critical));
        leads.max_by(|a, b| a.lead_low.total_cmp(&b.lead_low)).filter(|worse| worse.lead_low > 0.0)
    };
    standing.iter().filter_map(|cell| against(*cell)).collect()
}

/// How far `than` is ahead of `cell`, over the rounds that they share; none of too few, and none where one of them stalled: who stalls
/// is measured to the end.
fn lead(observations: &Observations, cell: usize, than: usize, critical: &dyn Fn(usize) -> f64) -> Option<Worse> {
    let pair = if observations.more_is_better { (than, cell) } else { (cell, than) };
    let differences = observations.differences(&observations.pair(pair.0, pair.1));
    let rounds = differences.len();
    if rounds < FIRST_LOOK as usize {
        return None;
    }
    let lead = mean(&differences);
    let half = critical(rounds) * standard_deviation(&differences).max(RESOLUTION) / (rounds as f64).sqrt();
    Some(Worse { cell, than, lead, lead_low: lead - half, lead_high: lead + half, rounds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observations::Cell;
    use std::collections::BTreeMap;

    fn observations(rounds: &[&[f64]]) -> Observations {
        let cell = |index: usize| Cell {
            label: format!("c{index}"),
            levels: BTreeMap::new(),
            control: false,
            baseline: index == 0,
        };
        Observations {
            cells: (0..rounds[0].len()).map(cell).collect(),
            rounds: rounds.iter().map(|row| row.iter().copied().map(Some).collect()).collect(),
            more_is_better: true,
        }
    }

    const LOOKS: Looks = Looks { alpha: 0.05, rounds_max: 16, candidates: 3 };

    fn cells(found: &[Worse]) -> Vec<(usize, usize)> {
        found.iter().map(|worse| (worse.cell, worse.than)).collect()
    }

    /// Two close to each other, one far behind, on a machine that slows down.
    #[test]
    fn who_is_far_behind_falls_out_from_the_fourth_round_on() {
        let rows: &[&[f64]] = &[&[100.0, 101.0, 70.0], &[90.0, 89.0, 64.0], &[80.0, 81.5, 56.0], &[71.0, 70.0, 49.0]];
        let all = [0, 1, 2];
        assert!(worse(&observations(&rows[..3]), &all, &|_, _| true, &LOOKS).is_empty());
        let found = worse(&observations(rows), &all, &|_, _| true, &LOOKS);
        assert_eq!(cells(&found), [(2, 0)], "paired by round, so the slowing does not hide it: {found:?}");
        assert!(found[0].lead_low > 0.2 && found[0].lead > found[0].lead_low && found[0].rounds == 4, "{found:?}");
        let less = Observations { more_is_better: false, ..observations(rows) };
        assert_eq!(cells(&worse(&less, &all, &|_, _| true, &LOOKS)), [(0, 2), (1, 2)]);
    }

    #[test]
    fn only_who_may_beats_and_only_who_stands() {
        let rows: &[&[f64]] = &[&[100.0, 101.0, 70.0], &[90.0, 89.0, 64.0], &[80.0, 81.5, 56.0], &[71.0, 70.0, 49.0]];
        let rows = observations(rows);
        assert_eq!(cells(&worse(&rows, &[0, 1, 2], &|other, _| other == 1, &LOOKS)), [(2, 1)]);
        assert!(worse(&rows, &[0, 1], &|_, _| true, &LOOKS).is_empty());
        assert!(worse(&rows, &[0, 1, 2], &|_, _| false, &LOOKS).is_empty());
    }

    /// t(1 − 0.05 · share / 23, 3) and (…, 15), by the incomplete beta function in thirty digits (mpmath 1.3).
    #[test]
    fn the_level_is_shared_among_looks_and_others() {
        let looks = Looks { candidates: 24, rounds_max: 16, alpha: 0.05 };
        let all: f64 = (4..=16).map(|round| looks.share(round)).sum();
        assert!((all - 1.0).abs() < 1e-12 && looks.share(4) > looks.share(5), "{all}");
        for (rounds, expected) in [(4, 14.317826623), (16, 4.8678956765)] {
            let found = looks.critical(rounds, rounds as usize);
            assert!((found / expected - 1.0).abs() < 1e-6, "{found}");
        }
    }
}
