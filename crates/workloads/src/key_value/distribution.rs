//! Which record an operation is about: YCSB's distributions. Pure.
//!
//! The zipfian is that of Gray and others ("Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994), as YCSB uses it: the
//! first two ranks come exactly as often as the formula says, 1 / rank^0.99 of the sum over all ranks, the others by a continuous approximation.

use random::Random;

/// YCSB's exponent, `ZIPFIAN_CONSTANT`.
const EXPONENT: f64 = 0.99;

/// Ranks that YCSB's scrambled zipfian draws from, whatever the number of records.
const SCRAMBLED_RANKS: u64 = 10_000_000_000;

/// Ranks whose terms are added up one by one.
const EXACT: u64 = 1000;

/// The sum of 1 / rank^0.99 up to so many ranks: the first ones one by one, the others by Euler's and Maclaurin's formula, whose next
/// term is below 1e-12 here.
fn zeta(ranks: u64) -> f64 {
    let one = |rank: u64| (rank as f64).powf(-EXPONENT);
    if ranks <= EXACT {
        return (1..=ranks).map(one).sum();
    }
    let (from, to) = (EXACT as f64, ranks as f64);
    let below: f64 = (1..EXACT).map(one).sum();
    let integral = (to.powf(1.0 - EXPONENT) - from.powf(1.0 - EXPONENT)) / (1.0 - EXPONENT);
    let ends = (one(EXACT) + one(ranks)) / 2.0;
    let slopes = EXPONENT * (from.powf(-EXPONENT - 1.0) - to.powf(-EXPONENT - 1.0)) / 12.0;
    below + integral + ends + slopes
}

/// Ranks from 0, the first the most frequent.
#[derive(Debug, Clone)]
pub struct Zipfian {
    ranks: u64,
    zeta: f64,
    eta: f64,
    /// The share of the sum up to the second rank.
    second: f64,
}

impl Zipfian {
    /// Over so many ranks.
    pub fn new(ranks: u64) -> Zipfian {
        Zipfian::of(ranks, zeta(ranks))
    }

    fn of(ranks: u64, zeta: f64) -> Zipfian {
        let second = 1.0 + 0.5_f64.powf(EXPONENT);
        let eta = (1.0 - (2.0 / ranks as f64).powf(1.0 - EXPONENT)) / (1.0 - second / zeta);
        Zipfian { ranks, zeta, eta, second }
    }

    /// Over more ranks.
    pub fn grow(&mut self, ranks: u64) {
        let added = ranks.saturating_sub(self.ranks);
        if added > EXACT {
            // What all runs so far added: one by one, the first draw of a run would wait for it, and the longer the faster the store was.
            *self = Zipfian::new(ranks);
        } else if added > 0 {
            let added: f64 = (self.ranks + 1..=ranks).map(|rank| (rank as f64).powf(-EXPONENT)).sum();
            *self = Zipfian::of(ranks, self.zeta + added);
        }
    }

    /// The rank at this share of all draws.
    fn rank(&self, share: f64) -> u64 {
        let at = share * self.zeta;
        if at < 1.0 {
            return 0;
        }
        if at < self.second {
            return 1.min(self.ranks - 1);
        }
        let place = (self.eta * share - self.eta + 1.0).powf(1.0 / (1.0 - EXPONENT));
        ((self.ranks as f64 * place) as u64).min(self.ranks - 1)
    }

    /// Draws one.
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.rank(random.fraction())
    }
}

/// A distribution of requests over records.
#[derive(Debug, Clone)]
pub enum Choice {
    /// Each equally often.
    Uniform,
    /// Few of them most often, wherever they lie: the hash of a zipfian rank, of so many records.
    Zipfian(Zipfian, u64),
    /// The newest most often.
    Latest(Zipfian),
}

impl Choice {
    /// By its name, over so many records. Where a mix adds records, YCSB's zipfian counts twice as many as it expects to be added; how
    /// many a run of some length will add nobody knows, so it counts as many as there are, and draws again where there is none yet.
    pub fn named(name: &str, records: u64, adds: bool) -> Choice {
        match name {
            "uniform" => Choice::Uniform,
            "latest" => Choice::Latest(Zipfian::new(records)),
            _ => Choice::Zipfian(Zipfian::new(SCRAMBLED_RANKS), if adds { 2 * records } else { records }),
        }
    }

    /// A record of those that are there, in the order of their insertion from 0.
    pub fn draw(&mut self, random: &mut Random, there: u64) -> u64 {
        match self {
            Choice::Uniform => random.below(there),
            Choice::Latest(zipfian) => {
                zipfian.grow(there);
                there - 1 - zipfian.draw(random).min(there - 1)
            }
            Choice::Zipfian(zipfian, records) => loop {
                let record = super::value::key_number(zipfian.draw(random)) % *records;
                if record < there {
                    return record;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_are_those_of_ycsb() {
        // `ZETAN` of YCSB's ScrambledZipfianGenerator, which adds up 10^10 numbers one by one.
        assert!((zeta(SCRAMBLED_RANKS) - 26.469_028_201_783_02).abs() < 1e-9, "{}", zeta(SCRAMBLED_RANKS));
        let plain: f64 = (1..=50_000).map(|rank| f64::from(rank).powf(-0.99)).sum();
        assert!((zeta(50_000) - plain).abs() < 1e-9);
        let mut grown = Zipfian::new(10);
        // The last one would take minutes one by one.
        for ranks in [11, 900, 5000, SCRAMBLED_RANKS] {
            grown.grow(ranks);
            assert!((grown.zeta - zeta(ranks)).abs() < 1e-9 && grown.ranks == ranks);
        }
    }

    /// The share of draws up to each rank, from where a rank ends, against the formula. Gray's approximation is exact at
    /// the first two ranks and at the end, and at most 0.02 from it between (found here, with 100 to 10^6 ranks).
    #[test]
    fn ranks_come_as_often_as_the_formula_says() {
        for ranks in [100_u64, 1000, 1_000_000] {
            let zipfian = Zipfian::new(ranks);
            let up_to = |rank: u64| {
                // By halving: the smallest share that gives a later rank.
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..60 {
                    let middle = (low + high) / 2.0;
                    if zipfian.rank(middle) <= rank { low = middle } else { high = middle }
                }
                high
            };
            for rank in [0, 1, 9, 49, ranks / 2, ranks - 1] {
                let (found, formula) = (up_to(rank), zeta(rank + 1) / zeta(ranks));
                let allowed = if rank < 2 || rank == ranks - 1 { 1e-9 } else { 0.02 };
                assert!((found - formula).abs() < allowed, "{rank} of {ranks}: {found} for {formula}");
            }
        }
    }

    #[test]
    fn draws_have_their_shares() {
        const DRAWS: u32 = 200_000;
        let (zipfian, mut random) = (Zipfian::new(1000), Random::new(3));
        let mut counts = [0_u32; 1000];
        (0..DRAWS).for_each(|_| counts[zipfian.draw(&mut random) as usize] += 1);
        for rank in [0, 1] {
            let (found, formula) =
                (f64::from(counts[rank]) / f64::from(DRAWS), (rank as f64 + 1.0).powf(-0.99) / zeta(1000));
            // Five standard deviations of a share among 200,000 draws are at most 0.0056.
            assert!((found - formula).abs() < 0.0056, "{found} for {formula}");
        }
        // The most frequent rank of 10^10 is 1 / 26.469 of all draws, and its record is its hash.
        let mut choice = Choice::named("zipfian", 1000, false);
        let first = super::super::value::key_number(0) % 1000;
        let hits = (0..DRAWS).filter(|_| choice.draw(&mut random, 1000) == first).count();
        // Other ranks fall on it, too: a thousandth of the rest.
        let expected = (1.0 / 26.469) + (1.0 - 1.0 / 26.469) / 1000.0;
        assert!((hits as f64 / f64::from(DRAWS) - expected).abs() < 0.0056, "{hits}");
        let mut latest = Choice::named("latest", 1000, true);
        let newest = (0..DRAWS).filter(|_| latest.draw(&mut random, 1000) == 999).count();
        assert!((newest as f64 / f64::from(DRAWS) - 1.0 / zeta(1000)).abs() < 0.0056, "{newest}");
    }

    proptest! {
        #[test]
        fn only_records_that_are_there_are_drawn(records in 1u64..500, added in 0u64..100, seed: u64, adds: bool) {
            let mut random = Random::new(seed);
            let there = if adds { records + added } else { records };
            for name in ["uniform", "latest", "zipfian"] {
                let mut choice = Choice::named(name, records, adds);
                for _ in 0..50 {
                    prop_assert!(choice.draw(&mut random, there) < there);
                }
            }
        }
    }
}
