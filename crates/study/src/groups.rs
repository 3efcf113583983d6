//! Scenarios that are not all up at the same time: which of them share a group in which round.
//!
//! [`split`] gives the groups of a round. As with the orders, any round may be asked for by itself, and nothing has to be kept but the seed.

use crate::order::shuffle;
use crate::own_settings::ROUNDS_MAX;
use random::SplitMix64;

/// Rounds over which pairs are balanced; then it begins anew, so that round 10,000 takes no longer than round 50.
const BALANCED_ROUNDS: u32 = 50;
const _: () = assert!(ROUNDS_MAX.is_multiple_of(BALANCED_ROUNDS), "phases begin with a balance of their own");

/// Partitions that are tried in a round, each from another start.
const STARTS: u32 = 8;

/// `count` things in so many groups, whose sizes differ by one at most. Over the rounds each pair shares a group about equally often: a
/// round is the partition, of those that exchanges of two things lead to, whose pairs have met least.
pub fn split(count: usize, groups: usize, seed: u64, round: u32) -> Vec<Vec<usize>> {
    let mut met = vec![vec![0; count]; count];
    let begin = round - round % BALANCED_ROUNDS;
    for earlier in begin..round {
        let found = least_met(&met, groups, seed, earlier);
        note(&mut met, &found);
    }
    least_met(&met, groups, seed, round)
}

/// How often each pair shared a group.
type Met = Vec<Vec<i64>>;

fn note(met: &mut Met, groups: &[Vec<usize>]) {
    for group in groups {
        for (a, b) in group.iter().flat_map(|a| group.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b) {
            met[a][b] += 1;
        }
    }
}

fn least_met(met: &Met, groups: usize, seed: u64, round: u32) -> Vec<Vec<usize>> {
    let mut random = SplitMix64::new(SplitMix64::new(seed.rotate_left(16) ^ u64::from(round)).next_u64());
    let started = (0..STARTS).map(|_| Partition::improved(met, groups.max(1), &shuffle(met.len(), &mut random)));
    let least = started.min_by_key(Partition::meetings).expect("there is a first start");
    let of_group = |group| (0..met.len()).filter(|thing| least.groups[*thing] == group).collect();
    (0..groups.max(1)).map(of_group).collect()
}

/// Which thing is in which group, and how often each thing met those of each group before.
struct Partition {
    groups: Vec<usize>,
    meetings: Vec<Vec<i64>>,
}

impl Partition {
    /// Things dealt out in this order, then exchanged until no exchange makes it better. Each lowers the meetings, so it ends.
    fn improved(met: &Met, count: usize, order: &[usize]) -> Partition {
        let mut groups = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, thing)| groups[*thing] = place % count);
        let mut meetings = vec![vec![0; count]; order.len()];
        for (thing, times) in met.iter().enumerate() {
            times.iter().enumerate().for_each(|(other, times)| meetings[thing][groups[other]] += times);
        }
        let mut partition = Partition { groups, meetings };
        loop {
            let pairs = (0..order.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            if pairs.filter(|(a, b)| partition.exchange(met, *a, *b)).count() == 0 {
                return partition;
            }
        }
    }

    /// Exchanges two things where that makes it better, and says whether it did.
    fn exchange(&mut self, met: &Met, a: usize, b: usize) -> bool {
        let [of_a, of_b] = [self.groups[a], self.groups[b]];
        let met_in = |thing: usize, group: usize| self.meetings[thing][group];
        let change = met_in(a, of_b) + met_in(b, of_a) - met_in(a, of_a) - met_in(b, of_b) - 2 * met[a][b];
        if of_a == of_b || change >= 0 {
            return false;
        }
        (self.groups[a], self.groups[b]) = (of_b, of_a);
        for (thing, times) in met.iter().enumerate() {
            self.meetings[thing][of_a] += times[b] - times[a];
            self.meetings[thing][of_b] += times[a] - times[b];
        }
        true
    }

    /// How often the pairs that share a group met before.
    fn meetings(&self) -> i64 {
        self.groups.iter().zip(&self.meetings).map(|(group, meetings)| meetings[*group]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The difference between the most and the fewest times that a pair shared a group.
    fn spread(count: usize, groups: usize, seed: u64, rounds: u32) -> i64 {
        let mut met = vec![vec![0; count]; count];
        (0..rounds).for_each(|round| note(&mut met, &split(count, groups, seed, round)));
        let times = || (0..count).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| met[a][b]);
        times().max().unwrap_or(0) - times().min().unwrap_or(0)
    }

    /// Of two large groups pairs differ most; shuffled, those of 10 things differ by 7 and those of 23 by 9.5 on average of 20 seeds.
    #[test]
    fn pairs_share_a_group_about_equally_often() {
        for (count, groups, rounds, most) in [(4, 2, 3, 0), (6, 2, 10, 0), (6, 3, 10, 2), (9, 3, 8, 1), (12, 4, 12, 2)]
        {
            for seed in 0..20 {
                let found = spread(count, groups, seed, rounds);
                assert!(found <= most, "{count} in {groups}, seed {seed}: {found}");
            }
        }
        for (count, most) in [(10, 5.0), (23, 7.5)] {
            let mean = (0..20).map(|seed| spread(count, 2, seed, 12)).sum::<i64>() as f64 / 20.0;
            assert!(mean <= most, "{count} in two groups: {mean}");
        }
    }

    #[test]
    fn a_large_study_is_split_in_a_moment() {
        let begun = std::time::Instant::now();
        assert_eq!(split(100, 5, 1, 9_999).len(), 5);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    proptest! {
        // Each splits its study three times, over all rounds before its own.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn groups_are_a_partition_of_even_sizes(count in 1_usize..30, groups in 1_usize..6, seed: u64, round in 0_u32..60) {
            let found = split(count, groups.min(count), seed, round);
            let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
            let mut all = found.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
            prop_assert_eq!(split(count, groups.min(count), seed, round), split(count, groups.min(count), seed, round));
        }
    }
}
