//! Transactions of sessions that were open when the log began.

use super::words;
use sqllog::{Log, Options, read};

fn general(asked: &[&str]) -> Log {
    let line = |(second, asked): (usize, &&str)| format!("2026-11-24T01:02:{second:02}.000000Z\t    8 {asked}\n");
    let text: String = asked.iter().enumerate().map(line).collect();
    read(&text, &Options::default()).expect("a log")
}

/// As those of a pool of Java's or Python's: each statement would be a transaction of its own, and flush.
#[test]
fn a_session_that_commits_what_it_has_not_begun_has_no_autocommit() {
    let half = ["Query\tUPDATE t SET a=1", "Query\tCOMMIT"];
    let rest = [
        "Query\tUPDATE t SET a=2",
        "Query\tUPDATE t SET a=3",
        "Query\tCOMMIT",
        "Query\tSELECT 1",
        "Query\tDELETE FROM t",
        "Query\tCOMMIT",
    ];
    let log = general(&[&half[..], &rest[..]].concat());
    let expected = [
        "SET autocommit=0 []?",
        "UPDATE t SET a=2 []?",
        "UPDATE t SET a=3 []?",
        "COMMIT []?",
        "SELECT 1 []?",
        "DELETE FROM t []?",
        "COMMIT []?",
    ];
    assert_eq!(words(&log, &log.sessions[0]), expected);
    assert!(log.notes.len() == 1 && log.notes[0].starts_with("1 of the sessions commit what"), "{:?}", log.notes);
    // It is known from its beginning, says it itself, begins transactions itself, or commits so once.
    let behind = |first: &'static str| [&[first][..], &rest[..]].concat();
    for asked in [
        behind("Connect\tjoe@localhost on  using Socket"),
        behind("Query\tSET autocommit=0"),
        behind("Query\tBEGIN"),
        [&half[..], &rest[..3]].concat(),
    ] {
        let log = general(&asked);
        let switches = words(&log, &log.sessions[0]).iter().filter(|words| words.starts_with("SET")).count();
        assert_eq!((switches, log.notes.len()), (usize::from(asked[0].contains("SET auto")), 0), "{asked:?}");
    }
}

/// By a threshold of a second, each BEGIN is missing; without autocommit a session's other changes would keep their locks until its next slow commit.
/// Quick reads stand in such a log, too, with `log_queries_not_using_indexes`.
#[test]
fn a_slow_log_of_slow_statements_alone_says_nothing_of_autocommit() {
    let switches = |last: (&'static str, &'static str)| {
        let asked = [("UPDATE t SET a=1", "2.0"), ("COMMIT", "1.5")].repeat(3);
        let entry = |(text, seconds): &(&str, &str)| {
            format!(
                "# Time: 2026-11-24T01:02:03.000000Z\n# User@Host: joe[joe] @ localhost []  Id:     8\n\
                 # Query_time: {seconds}  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 1\nSET timestamp=1;\n{text};\n"
            )
        };
        let text: String = asked.iter().chain([&last]).map(entry).collect();
        let log = read(&text, &Options::default()).expect("a log");
        let switches = words(&log, &log.sessions[0]).iter().filter(|words| words.starts_with("SET auto")).count();
        assert_eq!(log.notes.len(), switches, "{:?}", log.notes);
        switches
    };
    let quick = "0.000012";
    assert_eq!(
        [("SET NAMES utf8", "1.1"), ("SELECT * FROM t", quick), ("SET NAMES utf8", quick)].map(switches),
        [0, 0, 1]
    );
}
