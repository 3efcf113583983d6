//! Random numbers by seed: xoshiro256++ (Blackman and Vigna, 2019, public domain), its state drawn by SplitMix64.
//!
//! Our own because a load must be the same on every machine and with every later version of a library. Not for secrets.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of this seed. Neighbouring seeds give unrelated streams.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        let mut counter = seed;
        Random { state: std::array::from_fn(|_| split_mix(&mut counter)) }
    }

    /// The stream of one of several threads that share a seed.
    #[must_use]
    pub fn of_stream(seed: u64, stream: u64) -> Random {
        let mut counter = stream;
        Random::new(seed ^ split_mix(&mut counter))
    }

    /// Any 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// From 0 up to, not including, `end` (which is above 0). Uniform but for less than `end` / 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// From 0 up to, not including, 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Steele, Lea and Flood 2014.
fn split_mix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_its_published_values() {
        // First outputs for seed 1234567, as on rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64.
        let mut counter = 1_234_567;
        assert_eq!(split_mix(&mut counter), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(&mut counter), 3_203_168_211_198_807_973);
    }

    #[test]
    fn xoshiro_gives_the_values_of_its_reference() {
        // First outputs for state 1, 2, 3, 4: the vector that rand_xoshiro took from the reference C code.
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(random.next_u64(), 41_943_041);
        assert_eq!(random.next_u64(), 58_720_359);
        assert_eq!(random.next_u64(), 3_588_806_011_781_223);
    }

    #[test]
    fn every_value_below_the_end_comes_about_equally_often() {
        let mut random = Random::new(5);
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|_| counts[random.below(10) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert!((0..1000).map(|_| random.fraction()).all(|f| (0.0..1.0).contains(&f)));
    }

    #[test]
    fn streams_of_a_seed_differ() {
        assert_ne!(Random::of_stream(1, 0).next_u64(), Random::of_stream(1, 1).next_u64());
        assert_eq!(Random::of_stream(1, 0).next_u64(), Random::of_stream(1, 0).next_u64());
    }
}
