//! Everything random of a study: the order of each round and the seed of each round's data, from one recorded seed.
//!
//! [`balanced`] gives the orders of rounds, and of turns: `balanced(count, seed, index)` is the order with this index. Any index may be
//! asked for by itself, and nothing has to be kept but the seed. [`shuffled`] is the rule of results files that were begun before.

use random::SplitMix64;

/// Orders of `count` things in which each has each place, and each follows each other one, equally often: Williams, "Experimental
/// designs balanced for the estimation of residual effects of treatments" (1949). An even count takes `count` orders to be balanced,
/// an odd one twice as many; so many make a square (or a pair of squares), and each following square is drawn anew.
///
/// Before a square is full no thing had a place more than once more than another. No pair were neighbours more than once more than another
/// pair either; of an odd count in the first half, more than twice more. Orders come in pairs of opposites (of an odd count, nearly
/// opposite), so that what drifts steadily hits all alike after two of them.
pub fn balanced(count: usize, seed: u64, index: u32) -> Vec<usize> {
    let (half, is_even) = (count / 2, count.is_multiple_of(2));
    let rows = if is_even { count.max(1) } else { 2 * count };
    let (square, row) = (index as usize / rows, index as usize % rows);
    let mut random = SplitMix64::new(SplitMix64::new(seed).next_u64() ^ square as u64);
    let names = shuffle(count, &mut random);
    // The second square of an odd count is the first one's mirror image, from its last order to its first.
    let is_mirrored = row >= count;
    let row = if is_mirrored { rows - 1 - row } else { row };
    let pairs = shuffle(half, &mut random);
    let shift = pairs.get(row / 2).map_or(half, |pair| {
        let is_opposite = (row % 2 == 1) != (random.next_u64() >> (pair % 64) & 1 == 1);
        if is_opposite { pair + count - half } else { *pair }
    });
    // 0, 1, -1, 2, -2 …: the steps between neighbours are all different.
    let of_place = |place: usize| if place.is_multiple_of(2) { count - place / 2 } else { place.div_ceil(2) };
    let order = (0..count).map(|place| names[(of_place(place) + shift) % count]);
    if is_mirrored { order.rev().collect() } else { order.collect() }
}

/// The numbers below `count`, shuffled with SplitMix64(seed + round).
pub(crate) fn shuffled(count: usize, seed: u64, round: u32) -> Vec<usize> {
    shuffle(count, &mut SplitMix64::new(seed.wrapping_add(u64::from(round))))
}

/// The numbers below `count`, shuffled by Fisher and Yates from the end.
pub(crate) fn shuffle(count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.index(last + 1));
    }
    order
}

/// The seed of a round's data and load: apart from the order's, and the same for all scenarios, which do the same work. Members of a fleet,
/// which have different numbers of rounds before them, work on different data.
/// It has 63 bits, because programs and databases take seeds as signed numbers (fio refuses larger ones).
pub(crate) fn data_seed(seed: u64, round: u32, rounds_before: u32) -> u64 {
    SplitMix64::new(seed.rotate_left(32) ^ (u64::from(rounds_before) << 32 | u64::from(round))).next_u64() >> 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first numbers of the reference implementation from seed 42, and the orders they give six scenarios.
    #[test]
    fn orders_are_those_of_the_published_shuffle() {
        let mut random = SplitMix64::new(42);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(first, [13_679_457_532_755_275_413, 2_949_826_092_126_892_291, 5_139_283_748_462_763_858]);
        let orders = [[4, 3, 0, 2, 5, 1], [0, 1, 2, 5, 3, 4], [2, 4, 5, 1, 0, 3]];
        for (round, order) in (0..).zip(orders) {
            assert_eq!(shuffled(6, 42, round), order);
        }
    }

    /// The difference between the most and the fewest times that a thing had a place, and that a pair were neighbours.
    fn imbalance(orders: &[Vec<usize>]) -> (usize, usize) {
        let count = orders[0].len();
        let mut places = vec![0; count * count];
        let mut neighbours = vec![0; count * count];
        for order in orders {
            order.iter().enumerate().for_each(|(place, thing)| places[place * count + thing] += 1);
            order.windows(2).for_each(|pair| neighbours[pair[0] * count + pair[1]] += 1);
        }
        let pairs = (0..count * count).filter(|pair| pair / count != pair % count).map(|pair| neighbours[pair]);
        let spread = |counts: &[usize]| counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0);
        (spread(&places), spread(&pairs.collect::<Vec<_>>()))
    }

    #[test]
    fn what_drifts_steadily_hits_an_even_count_alike_after_two_orders() {
        for (count, seed) in [(2, 1), (4, 2), (6, 3), (24, 4)] {
            let [a, b] = [0, 1].map(|index| balanced(count, seed, index));
            assert!(a.iter().eq(b.iter().rev()), "{a:?} {b:?}");
        }
    }

    /// Five scenarios had the control before the baseline in six of six rounds.
    #[test]
    fn nobody_is_before_another_in_every_round() {
        for (count, seed) in (2..=24).flat_map(|count| (0..50).map(move |seed| (count, seed))) {
            let orders: Vec<Vec<usize>> = (0..6).map(|index| balanced(count, seed, index)).collect();
            let place = |order: &[usize], thing| order.iter().position(|other| *other == thing);
            for (a, b) in (0..count).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let before = orders.iter().filter(|order| place(order, a) < place(order, b)).count();
                assert!((2..=4).contains(&before), "{a} before {b} in {before} of {orders:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn an_order_is_a_permutation(count in 0_usize..300, seed in any::<u64>(), round in any::<u32>()) {
            for mut order in [shuffled(count, seed, round), balanced(count, seed, round)] {
                order.sort_unstable();
                prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_full_square_is_balanced(count in 2_usize..25, seed in any::<u64>(), square in 0_u32..1000) {
            let rows = if count % 2 == 0 { count } else { 2 * count } as u32;
            let orders: Vec<_> = (0..rows).map(|row| balanced(count, seed, square * rows + row)).collect();
            prop_assert_eq!(imbalance(&orders), (0, 0));
        }

        #[test]
        fn orders_are_nearly_balanced_at_any_time(count in 2_usize..25, seed in any::<u64>(), rounds in 1_u32..60) {
            let orders: Vec<_> = (0..rounds).map(|index| balanced(count, seed, index)).collect();
            let (places, neighbours) = imbalance(&orders);
            prop_assert!(places <= 1 && neighbours <= 1 + count % 2, "{places} {neighbours}");
        }

        #[test]
        fn data_seeds_fit_signed_numbers_and_differ_by_round_and_member(
            seed in any::<u64>(), round in 0_u32..1_000_000, before in 0_u32..1_000_000,
        ) {
            prop_assert!(i64::try_from(data_seed(seed, round, before)).is_ok());
            prop_assert_ne!(data_seed(seed, round, before), data_seed(seed, round + 1, before));
            prop_assert_ne!(data_seed(seed, round, before), data_seed(seed, round, before + 1));
        }
    }
}
