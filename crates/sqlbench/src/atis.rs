//! `ATIS`: questions about an airline's 28 tables (`atis/data.rs`), most of them joins and groups.
//!
//! What each question must give is asked of an SQLite in memory before the clock starts: it has the same rows.

mod data;

use super::Test;
use super::dialect;
use super::session::Session;
use data::TABLES;
use load::engines;
use load::sql::{COMMON, failed};
use load::workload::Error;

pub static TEST: Test = Test {
    name: "ATIS",
    operations: "create_table insert select_simple_join select_join select_key_prefix_join select_distinct \
        select_group drop_table",
    run,
};

/// Two tables each.
const SIMPLE_JOINS: [&str; 5] = [
    "SELECT city_name, state_name FROM city, state WHERE city.state_code = state.state_code AND city_code = 'AAAC'",
    "SELECT state_name, city_name FROM state, city WHERE city.state_code = state.state_code",
    "SELECT month_name, day_name FROM month_name, day_name WHERE month_number = day_code",
    "SELECT month_name, day_name FROM month_name, day_name WHERE month_number = day_code AND day_code >= 3",
    "SELECT flight_code, aircraft_type FROM flight, aircraft WHERE flight.aircraft_code = aircraft.aircraft_code",
];

/// Three tables.
const JOINS: [&str; 1] = ["SELECT airline_name, aircraft_type FROM aircraft, airline, flight \
     WHERE flight.aircraft_code = aircraft.aircraft_code AND flight.airline_code = airline.airline_code"];

/// By the first column of a key of two.
const KEY_PREFIX_JOINS: [&str; 1] = ["SELECT fare_code FROM restrict_carrier, airline, fare \
     WHERE restrict_carrier.airline_code = airline.airline_code AND fare.restrict_code = restrict_carrier.restrict_code"];

const DISTINCT: [&str; 8] = [
    "SELECT DISTINCT category FROM aircraft",
    "SELECT DISTINCT to_airport FROM flight",
    "SELECT DISTINCT airline_code FROM flight",
    "SELECT DISTINCT * FROM fare",
    "SELECT DISTINCT flight_code FROM flight_fare",
    "SELECT DISTINCT flight_code, aircraft_type FROM flight, aircraft WHERE flight.aircraft_code = aircraft.aircraft_code",
    "SELECT DISTINCT airline_name, category FROM aircraft, airline, flight \
     WHERE flight.aircraft_code = aircraft.aircraft_code AND flight.airline_code = airline.airline_code",
    "SELECT DISTINCT airline_name, category FROM flight, aircraft, airline \
     WHERE flight.aircraft_code = aircraft.aircraft_code AND flight.airline_code = airline.airline_code",
];

const GROUPS: [&str; 28] = [
    "SELECT day_name.day_name, day_name.day_code, count(*) FROM flight_day, day_name WHERE day_name.day_code = flight_day.day_code \
     GROUP BY day_name.day_name, day_name.day_code ORDER BY day_name.day_code",
    "SELECT day_name.day_name, count(*) FROM flight_day, day_name WHERE day_name.day_code = flight_day.day_code \
     GROUP BY day_name.day_name",
    "SELECT month_name, day_name FROM month_name, day_name WHERE month_number = day_code AND day_code > 2 \
     GROUP BY month_name, day_name",
    "SELECT flight_day.day_code, count(*) FROM flight_day, day_name WHERE day_name.day_code = flight_day.day_code \
     GROUP BY flight_day.day_code ORDER BY flight_day.day_code DESC",
    "SELECT sum(engines) FROM aircraft",
    "SELECT avg(capacity) FROM aircraft",
    "SELECT avg(engines) FROM aircraft WHERE engines > 0",
    "SELECT count(*), min(pay_load), max(pay_load) FROM aircraft WHERE pay_load > 0",
    "SELECT min(flight_code), max(flight_code) FROM flight",
    "SELECT min(from_airport), max(to_airport) FROM flight",
    "SELECT count(*) FROM aircraft WHERE pay_load > 20000",
    "SELECT count(*) FROM aircraft WHERE range_miles <> 0",
    "SELECT count(*) FROM flight WHERE flight_code >= 100050",
    "SELECT count(CASE WHEN pay_load > 0 THEN 1 END) FROM aircraft",
    "SELECT sum(engines * engines), sum(engines), count(*) FROM aircraft",
    "SELECT from_airport, to_airport, avg(time_elapsed) FROM flight WHERE from_airport = 'AAB' GROUP BY from_airport, to_airport",
    "SELECT city_code, avg(ground_fare) FROM ground_service WHERE ground_fare <> 0 GROUP BY city_code",
    "SELECT count(*), ground_service.city_code FROM ground_service GROUP BY ground_service.city_code",
    "SELECT category, count(*) AS together FROM aircraft WHERE engines >= 2 GROUP BY category ORDER BY together",
    "SELECT category, count(*) FROM aircraft WHERE engines >= 2 GROUP BY category HAVING count(*) > 4",
    "SELECT flight_number, range_miles, fare_class FROM aircraft, flight, flight_class \
     WHERE flight.flight_code = flight_class.flight_code AND flight.aircraft_code = aircraft.aircraft_code \
     AND range_miles <> 0 AND (stops = 1 OR stops = 2) GROUP BY flight_number, range_miles, fare_class",
    "SELECT DISTINCT start.time_zone_code, finish.time_zone_code FROM flight, airport start, airport finish \
     WHERE flight.from_airport = start.airport_code AND flight.to_airport = finish.airport_code \
     GROUP BY start.time_zone_code, finish.time_zone_code, arrival_time, departure_time, time_elapsed",
    "SELECT start.time_zone_code, finish.time_zone_code, (arrival_time - departure_time + 1440) % 1440 \
     FROM flight, airport start, airport finish WHERE flight.from_airport = start.airport_code \
     AND flight.to_airport = finish.airport_code AND (arrival_time - departure_time + 1440) % 1440 < 600 \
     GROUP BY start.time_zone_code, finish.time_zone_code, (arrival_time - departure_time + 1440) % 1440",
    "SELECT from_airport, to_airport, range_miles, time_elapsed FROM aircraft, flight \
     WHERE aircraft.aircraft_code = flight.aircraft_code AND to_airport <> from_airport AND range_miles <> 0 \
     AND time_elapsed <> 0 GROUP BY from_airport, to_airport, range_miles, time_elapsed",
    "SELECT state_name, city_name, direction FROM airport_service, state, airport, city \
     WHERE airport_service.city_code = city.city_code AND airport_service.airport_code = airport.airport_code \
     AND city.state_code = state.state_code GROUP BY state_name, city_name, direction ORDER BY state_name",
    "SELECT state_name, city_name, direction FROM airport_service, state, airport, city \
     WHERE airport_service.city_code = city.city_code AND airport_service.airport_code = airport.airport_code \
     AND city.state_code = state.state_code GROUP BY state_name, city_name, direction ORDER BY state_name DESC",
    "SELECT from_airport, to_airport, fare.fare_class, night, one_way_cost, class_days FROM compound_class, fare \
     WHERE compound_class.fare_class = fare.fare_class AND one_way_cost <= 825 AND one_way_cost >= 280 AND from_airport = 'AAC' \
     GROUP BY from_airport, to_airport, fare.fare_class, night, one_way_cost, class_days ORDER BY one_way_cost",
    "SELECT engines, category, cruising_speed, from_airport, to_airport FROM aircraft, flight WHERE category = 'JET' \
     AND engines >= 1 AND aircraft.aircraft_code = flight.aircraft_code AND to_airport <> from_airport AND stops > 0 \
     GROUP BY engines, category, cruising_speed, from_airport, to_airport ORDER BY engines DESC",
];

/// Each operation's questions.
const QUESTIONS: [(&str, &[&str]); 5] = [
    ("select_simple_join", &SIMPLE_JOINS),
    ("select_join", &JOINS),
    ("select_key_prefix_join", &KEY_PREFIX_JOINS),
    ("select_distinct", &DISTINCT),
    ("select_group", &GROUPS),
];

fn run(s: &mut Session) -> Result<(), Error> {
    let (loops, seed) = (s.loops, s.seed());
    let data: Vec<Vec<String>> = TABLES.iter().map(|table| table.rows(loops, seed)).collect();
    let beforehand = failed(engines::sqlite::ENGINE.name, "tell beforehand what questions must give");
    let expected = s.apart(|| answers(&data)).map_err(beforehand)?;
    s.connect()?;
    s.time("create_table", TABLES.len() as u64, |s| {
        TABLES.iter().try_for_each(|table| s.create(table.name, &table.columns(), &table.keys(&table.primary())))
    })?;
    let count = data.iter().map(Vec::len).sum::<usize>() as u64;
    s.time("insert", count, |s| {
        TABLES.iter().zip(&data).try_for_each(|(table, rows)| s.insert(table.name, rows.iter().cloned()))
    })?;
    let turns = loops.of(100, 1);
    for ((operation, questions), rows) in QUESTIONS.iter().zip(&expected) {
        s.repeat(operation, turns * questions.len() as u64, turns, |s, _| {
            questions.iter().zip(rows).try_for_each(|(sql, rows)| s.rows(sql, *rows))
        })?;
    }
    s.time("drop_table", TABLES.len() as u64, |s| TABLES.iter().try_for_each(|table| s.drop_table(table.name)))
}

/// How many rows each question gives.
fn answers(data: &[Vec<String>]) -> rusqlite::Result<Vec<Vec<u64>>> {
    let memory = rusqlite::Connection::open_in_memory()?;
    for (table, rows) in TABLES.iter().zip(data) {
        for sql in dialect::create(&COMMON, table.name, &table.columns(), &table.keys(&table.primary())) {
            memory.execute_batch(&sql)?;
        }
        memory.execute_batch(&format!("INSERT INTO {} VALUES {}", table.name, rows.join(",")))?;
    }
    let rows_of = |sql: &&str| {
        let mut statement = memory.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while rows.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    };
    QUESTIONS.iter().map(|(_, questions)| questions.iter().map(rows_of).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Loops;
    use expect_test::expect;

    /// What can be told without asking: every flight has its aircraft and its airline, every fare is one of its own.
    #[test]
    fn questions_find_something() {
        let data: Vec<Vec<String>> = TABLES.iter().map(|table| table.rows(Loops(1.0), 1)).collect();
        let rows = answers(&data).unwrap();
        assert_eq!(rows[0], [1, 11, 7, 5, 579]);
        assert_eq!(rows[1], [579]);
        assert_eq!([rows[3][3], rows[3][4], rows[3][5]], [534, 579, 579]);
        assert!(rows.iter().flatten().all(|count| *count > 0), "{rows:?}");
        expect!["[[1, 11, 7, 5, 579], [579], [2995], [6, 9, 46, 534, 579, 579, 234, 234], [7, 7, 5, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 11, 11, 6, 6, 1263, 16, 248, 518, 14, 14, 30, 48]]"].assert_eq(&format!("{rows:?}"));
    }
}
