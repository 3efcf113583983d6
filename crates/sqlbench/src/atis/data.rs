//! The airline's data: 28 tables of 9,768 rows, made from a seed. Tables and sizes are after the suite's, whose data are a
//! third party's; the contents are nobody's.

use crate::dialect::{Column, Key, Type, column};
use crate::session::Loops;
use random::Random;

/// A table: its name, its rows at a factor of 1, its columns, how many of them are its primary key, and its indexes.
pub struct Table {
    pub name: &'static str,
    rows: u64,
    columns: &'static [(&'static str, Source)],
    primary: usize,
    indexes: &'static [&'static str],
}

/// What a column of a row holds. Text is in capitals, so that no database takes two for one.
#[derive(Clone, Copy)]
enum Source {
    /// The row's number from this one on.
    Number(u64),
    /// The row's number in so many letters.
    Letters(usize),
    /// This word and the row's number.
    Named(&'static str),
    /// The first column of a table's row, drawn.
    Of(&'static str),
    /// The same, each row in turn.
    Each(&'static str),
    /// The same, so that with the `Each` of the first table before it no pair comes twice.
    Besides(&'static str, &'static str),
    /// How often the rows of the table have been gone through, for such keys.
    Lap(&'static str),
    /// A number from one to another, drawn.
    Between(u64, u64),
    /// One of these, drawn.
    One(&'static [&'static str]),
}

use Source::{Besides, Between, Each, Lap, Letters, Named, Number, Of, One};

/// Tables, each with its rows, how many columns its primary key has, and which columns have an index of their own.
macro_rules! tables {
    ($(
        $name:ident($rows:literal, $primary:literal $(; $($index:ident),+)?) { $($column:ident: $source:expr),+ $(,)? }
    )+) => {
        [$(Table {
            name: stringify!($name),
            rows: $rows,
            columns: &[$((stringify!($column), $source)),+],
            primary: $primary,
            indexes: &[$($(stringify!($index)),+)?],
        }),+]
    };
}

const YES_OR_NO: Source = One(&["YES", "NO"]);
const DAYS: Source = One(&["1234567", "12345", "67", "1357", "246"]);

/// A table comes after those that its rows name.
pub static TABLES: [Table; 28] = tables! {
    time_zone(4, 1) { time_zone_code: Letters(3), time_zone_name: Named("ZONE") }
    state(63, 1) { state_code: Letters(2), state_name: Named("STATE"), country_name: One(&["USA", "CANADA"]) }
    city(11, 1) {
        city_code: Letters(4), city_name: Named("CITY"), state_code: Of("state"), time_zone_code: Of("time_zone"),
    }
    airport(9, 1) {
        airport_code: Letters(3), airport_name: Named("AIRPORT"), state_code: Of("state"),
        time_zone_code: Of("time_zone"),
    }
    airport_service(14, 2) {
        city_code: Each("city"), airport_code: Besides("city", "airport"), direction: One(&["N", "E", "S", "W"]),
        minutes_distant: Between(5, 90),
    }
    aircraft(78, 1) {
        aircraft_code: Letters(3), aircraft_type: Named("TYPE"), engines: Between(0, 4),
        category: One(&["JET", "TURBOPROP", "PISTON", "GLIDER", "HELICOPTER", "TURBOJET"]), wide_body: YES_OR_NO,
        capacity: Between(0, 400), pay_load: Between(0, 90_000), cruising_speed: Between(100, 600),
        range_miles: Between(0, 7000),
    }
    airline(46, 1) { airline_code: Letters(2), airline_name: Named("AIRLINE") }
    class_of_service(18, 1) { class_code: Letters(2), class_rank: Between(1, 9) }
    code_description(62, 1) { code: Letters(5), description: Named("WHAT THE CODE STANDS FOR IN CASE") }
    compound_class(65, 1) {
        fare_class: Letters(3), base_class: Of("class_of_service"), economy: YES_OR_NO, night: YES_OR_NO,
        class_days: DAYS,
    }
    fconnection(600, 1; from_airport, to_airport) {
        connect_code: Number(200_000), from_airport: Of("airport"), to_airport: Of("airport"),
        departure_time: Between(0, 1439), time_elapsed: Between(60, 900),
    }
    day_name(7, 1) { day_code: Number(1), day_name: Named("DAY") }
    month_name(12, 1) { month_number: Number(1), month_name: Named("MONTH") }
    dual_carrier(48, 2; main_airline) {
        main_airline: Each("airline"), dual_airline: Besides("airline", "airline"), low_flight: Between(1, 9000),
    }
    restriction(58, 1) { restrict_code: Letters(5), stopovers: One(&["Y", "N"]), return_min: Between(0, 9) }
    fare(534, 1; from_airport, to_airport) {
        fare_code: Letters(8), from_airport: Of("airport"), to_airport: Of("airport"), fare_class: Of("compound_class"),
        fare_airline: Of("airline"), restrict_code: Of("restriction"), one_way_cost: Between(30, 900),
        rnd_trip_cost: Between(60, 1800),
    }
    flight(579, 1; from_airport, to_airport) {
        flight_code: Number(100_000), flight_days: DAYS, from_airport: Of("airport"), to_airport: Of("airport"),
        departure_time: Between(0, 1439), arrival_time: Between(0, 1439), airline_code: Of("airline"),
        flight_number: Between(1, 9000), aircraft_code: Of("aircraft"), stops: Between(0, 2),
        time_elapsed: Between(0, 600),
    }
    connect_leg(1200, 2) {
        connect_code: Each("fconnection"), leg_number: Lap("fconnection"), flight_code: Of("flight"),
    }
    flight_class(1900, 2) { flight_code: Each("flight"), fare_class: Besides("flight", "compound_class") }
    flight_day(180, 2) { day_mask: Letters(7), day_code: Of("day_name"), day_name: Named("DAY") }
    flight_fare(3387, 2) { flight_code: Each("flight"), fare_code: Besides("flight", "fare") }
    food_service(110, 2) {
        meal_code: Letters(4), meal_number: Between(1, 3), meal_class: One(&["FIRST", "COACH"]),
        meal_description: One(&["BREAKFAST", "LUNCH", "DINNER", "SNACK"]),
    }
    transport(4, 1) { transport_code: Letters(1), transport_desc: Named("TRANSPORT") }
    ground_service(39, 3) {
        city_code: Each("city"), transport_code: Besides("city", "transport"), airport_code: Of("airport"),
        ground_fare: Between(0, 60),
    }
    time_interval(16, 1) { period: Named("PERIOD"), begin_time: Between(0, 1439), end_time: Between(0, 1439) }
    restrict_carrier(325, 2) { restrict_code: Each("restriction"), airline_code: Besides("restriction", "airline") }
    restrict_class(60, 2) {
        restrict_code: Each("restriction"), ex_fare_class: Besides("restriction", "compound_class"),
    }
    stop1(339, 2) { flight_code: Each("flight"), stop_number: Lap("flight"), stop_flight: Of("flight") }
};

/// Smaller tables keep their rows whatever the factor is.
const ROWS_MIN: u64 = 100;

impl Table {
    pub fn count(&self, loops: Loops) -> u64 {
        loops.at_most(self.rows, self.rows.min(ROWS_MIN))
    }

    pub fn columns(&self) -> Vec<Column<'static>> {
        self.columns.iter().map(|(name, source)| column(name, source.kind())).collect()
    }

    /// The columns of the primary key.
    pub fn primary(&self) -> String {
        self.columns[..self.primary].iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    pub fn keys<'a>(&self, primary: &'a str) -> Vec<Key<'a>> {
        [Key::Primary(primary)].into_iter().chain(self.indexes.iter().map(|column| Key::Index(column))).collect()
    }

    /// The rows, each written `(1, 'A')`.
    pub fn rows(&self, loops: Loops, seed: u64) -> Vec<String> {
        let place = TABLES.iter().position(|table| table.name == self.name).unwrap_or_default();
        let mut random = Random::of_stream(seed, place as u64);
        let cells = |row: u64, random: &mut Random| {
            let cell = |(_, source): &(&str, Source)| source.cell(row, loops, random);
            self.columns.iter().map(cell).collect::<Vec<_>>().join(", ")
        };
        (0..self.count(loops)).map(|row| format!("({})", cells(row, &mut random))).collect()
    }
}

fn named(name: &str) -> &'static Table {
    TABLES.iter().find(|table| table.name == name).expect("sources name tables of the list")
}

impl Source {
    fn kind(self) -> Type {
        match self {
            Number(_) | Lap(_) | Between(..) => Type::Integer,
            Letters(width) => Type::Char(width as u32),
            Named(_) => Type::Char(40),
            Of(table) | Each(table) | Besides(_, table) => named(table).columns[0].1.kind(),
            One(_) => Type::Char(10),
        }
    }

    fn cell(self, row: u64, loops: Loops, random: &mut Random) -> String {
        let count = |table: &str| named(table).count(loops);
        let first = |table: &str, row: u64, random: &mut Random| named(table).columns[0].1.cell(row, loops, random);
        match self {
            Number(start) => (start + row).to_string(),
            Letters(width) => format!("'{}'", letters(row, width)),
            Named(word) => format!("'{word} {row}'"),
            Of(table) => {
                let drawn = random.below(count(table));
                first(table, drawn, random)
            }
            Each(table) => first(table, row % count(table), random),
            Besides(each, table) => {
                let (lap, place) = (row / count(each), row % count(each));
                first(table, (lap + place) % count(table), random)
            }
            Lap(table) => (row / count(table) + 1).to_string(),
            Between(low, high) => (low + random.below(high - low + 1)).to_string(),
            One(words) => format!("'{}'", words[random.below(words.len() as u64) as usize]),
        }
    }
}

/// A number in letters, `A` for nothing before it.
fn letters(mut number: u64, width: usize) -> String {
    let mut text = vec![b'A'; width];
    for place in text.iter_mut().rev() {
        *place += (number % 26) as u8;
        number /= 26;
    }
    text.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn as_many_rows_as_the_suite_has() {
        assert_eq!(TABLES.iter().map(|table| table.count(Loops(1.0))).sum::<u64>(), 9768);
        let few: u64 = TABLES.iter().map(|table| table.count(Loops(0.001))).sum();
        assert!((500..2000).contains(&few), "{few}");
    }

    proptest! {
        // Up to 20,000 rows a case, made twice.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn primary_keys_are_unique_and_rows_follow_the_seed(seed in any::<u64>(), factor in 0.0001f64..2.0) {
            for table in &TABLES {
                let rows = table.rows(Loops(factor), seed);
                prop_assert_eq!(&rows, &table.rows(Loops(factor), seed));
                let key = |row: &String| row.split(", ").take(table.primary).map(String::from).collect::<Vec<_>>();
                let keys: BTreeSet<Vec<String>> = rows.iter().map(key).collect();
                prop_assert_eq!(keys.len(), rows.len(), "{}", table.name);
            }
        }
    }
}
