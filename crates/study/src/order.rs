//! Everything random of a study: the order of each round and the seed of each round's data, from one recorded seed.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, figure 17).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The numbers below `count`, shuffled by Fisher and Yates from the end with SplitMix64(seed + round).
pub fn shuffled(count: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut state = seed.wrapping_add(u64::from(round));
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let other = split_mix(&mut state) % (last as u64 + 1);
        order.swap(last, usize::try_from(other).expect("below the count"));
    }
    order
}

/// The seed of a round's data and load: apart from the order's, and the same for all scenarios, which do the same work.
/// It has 63 bits, because programs and databases take seeds as signed numbers (fio refuses larger ones).
pub fn data_seed(seed: u64, round: u32) -> u64 {
    let mut state = seed.rotate_left(32) ^ u64::from(round);
    split_mix(&mut state) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first numbers of the reference implementation from seed 42, and the orders they give six scenarios.
    #[test]
    fn orders_are_those_of_the_published_shuffle() {
        let mut state = 42;
        let first: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(first, [13_679_457_532_755_275_413, 2_949_826_092_126_892_291, 5_139_283_748_462_763_858]);
        let orders = [[4, 3, 0, 2, 5, 1], [0, 1, 2, 5, 3, 4], [2, 4, 5, 1, 0, 3]];
        for (round, order) in (0..).zip(orders) {
            assert_eq!(shuffled(6, 42, round), order);
        }
    }

    proptest! {
        #[test]
        fn an_order_is_a_permutation(count in 0_usize..300, seed in any::<u64>(), round in any::<u32>()) {
            let mut order = shuffled(count, seed, round);
            order.sort_unstable();
            prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn data_seeds_fit_signed_numbers_and_differ_by_round(seed in any::<u64>(), round in 0_u32..1_000_000) {
            prop_assert!(i64::try_from(data_seed(seed, round)).is_ok());
            prop_assert_ne!(data_seed(seed, round), data_seed(seed, round + 1));
        }
    }
}
