//! Random numbers by seed: SplitMix64, and xoshiro256++, whose state it draws.
//!
//! Our own because plans, data and loads must be the same on every machine and with every later version of a library: seeds stand
//! in results files. Not for secrets.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// By its seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// Any 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An index into so many, by the remainder.
    pub fn index(&mut self, count: usize) -> usize {
        (self.next_u64() % count as u64) as usize
    }

    /// From 0 up to, not including, `end`. Uniform but for less than `end` / 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        below(self.next_u64(), end)
    }

    /// From 0 up to, not including, 1.
    pub fn fraction(&mut self) -> f64 {
        fraction(self.next_u64())
    }

    /// Fills with bytes that do not compress.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        let mut words = bytes.chunks_exact_mut(8);
        for word in &mut words {
            word.copy_from_slice(&self.next_u64().to_le_bytes());
        }
        let rest = words.into_remainder();
        let last = self.next_u64().to_le_bytes();
        rest.copy_from_slice(&last[..rest.len()]);
    }

    /// Evenly from the first to the second.
    pub fn between(&mut self, (least, most): (f64, f64)) -> f64 {
        least + (most - least) * self.fraction()
    }
}

/// These bits as a part of all that there are, times `end`.
fn below(bits: u64, end: u64) -> u64 {
    ((u128::from(bits) * u128::from(end)) >> 64) as u64
}

/// 53 of these bits, as many as a float has.
fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// xoshiro256++ (Blackman and Vigna, 2019, public domain).
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of this seed. Neighbouring seeds give unrelated streams.
    pub fn new(seed: u64) -> Random {
        let mut state = SplitMix64::new(seed);
        Random { state: std::array::from_fn(|_| state.next_u64()) }
    }

    /// The stream of one of several threads that share a seed.
    pub fn of_stream(seed: u64, stream: u64) -> Random {
        Random::new(seed ^ SplitMix64::new(stream).next_u64())
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
        below(self.next_u64(), end)
    }

    /// From 0 up to, not including, 1.
    pub fn fraction(&mut self) -> f64 {
        fraction(self.next_u64())
    }

    /// The place of one of these weights (not all of them 0), each as often as it is heavy.
    pub fn weighted(&mut self, weights: &[u64]) -> usize {
        let (drawn, mut sum) = (self.below(weights.iter().sum()), 0_u64);
        let is_drawn = |weight: &u64| {
            sum += *weight;
            drawn < sum
        };
        weights.iter().position(is_drawn).expect("what is drawn is below the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_its_published_values() {
        // First outputs for seed 1234567, as on rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64.
        let mut random = SplitMix64::new(1_234_567);
        let values = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(values.map(|_| random.next_u64()), values);
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
    fn every_length_is_filled() {
        for length in [0, 1, 7, 8, 9, 4096, 4099] {
            let mut bytes = vec![0; length];
            SplitMix64::new(1).fill(&mut bytes);
            assert!(length < 9 || bytes.iter().filter(|byte| **byte == 0).count() < length / 4);
        }
    }

    #[test]
    fn streams_of_a_seed_differ() {
        assert_ne!(Random::of_stream(1, 0).next_u64(), Random::of_stream(1, 1).next_u64());
        assert_eq!(Random::of_stream(1, 0).next_u64(), Random::of_stream(1, 0).next_u64());
    }
}
