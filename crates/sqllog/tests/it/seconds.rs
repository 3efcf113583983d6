//! Logs whose times are whole seconds.

use sqllog::{Options, Session, read};

/// When each session begins, when its statements do, and when it ends, in milliseconds after the first of all.
fn milliseconds(text: &str) -> Vec<Vec<i64>> {
    let log = read(text, &Options::default()).expect("a log");
    let from = log.span().start;
    let of = |session: &Session| -> Vec<i64> {
        let steps = session.steps.iter().map(|step| step.at_microseconds);
        let all = session.began.into_iter().chain(steps).chain(session.ended);
        all.map(|at| (at - from) / 1000).collect()
    };
    log.sessions.iter().map(of).collect()
}

/// At a second's beginning they would be a burst, and each would wait for all before it.
#[test]
fn what_came_in_a_second_is_spread_over_it() {
    let general = "261126 10:00:00\t    8 Connect\tjoe@localhost on shop using Socket\n\t\t    8 Query\tSELECT 1\n\
                   \t\t    8 Query\tSELECT 2\n\t\t    8 Quit\t\n261126 10:00:02\t    9 Query\tSELECT 3\n";
    assert_eq!(milliseconds(general), [vec![0, 250, 500, 750], vec![2000]]);
    let stderr = |moment: &str| {
        let line = |text: &str| format!("2026-11-26 10:00:{moment} UTC [7]: LOG:  statement: {text}\n");
        line("SELECT 1") + &line("SELECT 2") + "2026-11-26 10:00:01 UTC [7]: LOG:  statement: SELECT 3\n"
    };
    assert_eq!(milliseconds(&stderr("00")), [[0, 500, 1000]]);
    assert_eq!(milliseconds(&stderr("00.250")), [[0, 0, 750]], "a log that has fractions keeps its times");
    // Ends are spread: each began a quarter of a second before its own.
    let slow = |time: &str| {
        format!(
            "{time}# User@Host: joe[joe] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
             # Query_time: 0.25  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1;\nSELECT 1;\n"
        )
    };
    assert_eq!(milliseconds(&(slow("# Time: 261126 10:00:00\n") + &slow(""))), [[0, 500]]);
}

/// MariaDB's times are local ones, and name no zone: the hour after had lain on the one before.
#[test]
fn the_hour_that_summer_time_ends_with_comes_twice() {
    let general = "261025  2:59:59\t    8 Query\tSELECT 1\n261025  2:00:00\t    8 Query\tSELECT 2\n\
                   261025  3:00:00\t    8 Query\tSELECT 3\n";
    assert_eq!(milliseconds(general), [[0, 1000, 3_601_000]]);
    let slow = |clock: &str| {
        format!(
            "# Time: 261025 {clock}\n# User@Host: joe[joe] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
             # Query_time: 0.25  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1;\nSELECT 1;\n"
        )
    };
    assert_eq!(milliseconds(&(slow(" 2:59:59") + &slow(" 2:00:00"))), [[0, 1000]]);
}
