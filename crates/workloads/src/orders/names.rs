//! Random values as the standard draws them (TPC-C revision 5.11, clauses 2.1.6 and 4.3.2).

use random::Random;

/// Items, of which each warehouse has a stock.
pub const ITEMS: i64 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: i64 = 10;
/// Customers of a district.
pub const CUSTOMERS: i64 = 3_000;
/// Different last names.
const LAST_NAMES: i64 = 1_000;

/// Syllables of last names, by digit (4.3.2.3).
const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// A last name by its number below 1,000.
pub fn last_name(number: i64) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// A whole number, from the first to the second.
pub fn uniform(random: &mut Random, least: i64, most: i64) -> i64 {
    least + random.below((most - least + 1) as u64) as i64
}

/// The constants of non-uniform draws: those of the load and of the run differ as 2.1.6.1 wants it.
#[derive(Debug, Clone, Copy)]
pub struct Constants {
    last: i64,
    customer: i64,
    item: i64,
}

/// Of the data.
pub const OF_LOAD: Constants = Constants { last: 157, customer: 259, item: 7_911 };
/// Of the run: `last` is 66 away from the load's (allowed: 65 to 119, but 96 and 112).
pub const OF_RUN: Constants = Constants { last: 223, customer: 259, item: 7_911 };

/// NURand(A, x, y) with the constant C.
fn non_uniform(random: &mut Random, a: i64, constant: i64, (least, most): (i64, i64)) -> i64 {
    let (first, second) = (uniform(random, 0, a), uniform(random, least, most));
    ((first | second) + constant) % (most - least + 1) + least
}

impl Constants {
    /// A last name: some are a hundred times as frequent as others.
    pub fn last_name(&self, random: &mut Random) -> String {
        last_name(non_uniform(random, 255, self.last, (0, LAST_NAMES - 1)))
    }

    /// A customer's number.
    pub fn customer(&self, random: &mut Random) -> i64 {
        non_uniform(random, 1023, self.customer, (1, CUSTOMERS))
    }

    /// An item's number.
    pub fn item(&self, random: &mut Random) -> i64 {
        non_uniform(random, 8191, self.item, (1, ITEMS))
    }
}

/// The last name of a customer who is loaded: the first thousand have each once.
pub fn loaded_last_name(random: &mut Random, customer: i64) -> String {
    if customer <= LAST_NAMES { last_name(customer - 1) } else { OF_LOAD.last_name(random) }
}

/// Letters, as many as this range allows.
pub fn letters(random: &mut Random, least: i64, most: i64) -> String {
    let count = uniform(random, least, most);
    (0..count).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

/// Digits.
pub fn digits(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
}

/// Letters, in one of ten with the word ORIGINAL in them (4.3.3.1).
pub fn data(random: &mut Random) -> String {
    const WORD: &str = "ORIGINAL";
    let mut text = letters(random, 26, 50);
    if random.below(10) == 0 {
        let at = random.below((text.len() - WORD.len()) as u64) as usize;
        text.replace_range(at..at + WORD.len(), WORD);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_the_standards() {
        // 4.3.2.3: 371 is PRICALLYOUGHT, 40 is BARPRESBAR.
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        let delta = (OF_RUN.last - OF_LOAD.last).abs();
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112);
    }

    #[test]
    fn draws_stay_in_their_range_and_are_not_uniform() {
        let mut random = Random::new(5);
        let mut counts = vec![0_u32; CUSTOMERS as usize];
        (0..300_000).for_each(|_| counts[OF_RUN.customer(&mut random) as usize - 1] += 1);
        let most = counts.iter().max().expect("some");
        // 100 each if they were uniform; by the OR of ten bits the most frequent has (3/4)^10 / (1/2)^10 times the mean of its kind.
        assert!(*most > 1_000, "{most}");
        assert!((0..100_000).all(|_| (1..=ITEMS).contains(&OF_RUN.item(&mut random))));
    }
}
