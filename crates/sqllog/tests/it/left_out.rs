//! What of a log is not replayed, and counted by reason.

use sqllog::{LeftOut, Options, Reason, read};

const SLOW_HEAD: &str = "# Time: 261126 10:00:00\n# User@Host: joe[joe] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
                         # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1;\n";

/// How many of these of MariaDB's general log are replayed, and what is left out.
fn of_general_log(asked: &[&str]) -> (u64, LeftOut) {
    let text: String = asked.iter().map(|asked| format!("261126 10:00:00\t    8 Query\t{asked}\n")).collect();
    let log = read(&text, &Options::default()).expect("a log");
    (log.statements(), log.left_out)
}

/// As a copy of a log ends that is still written: without its condition it is another statement.
#[test]
fn a_statement_without_its_end() {
    let stderr = "2026-11-26 10:00:00.000 UTC [7] LOG:  statement: SELECT 1\n\
                  2026-11-26 10:00:01.000 UTC [7] LOG:  statement: DELETE FROM t\n\tWHERE id";
    let general = "261126 10:00:00\t    8 Query\tSELECT 1\n261126 10:00:01\t    8 Query\tDELETE FROM t\nWHERE id";
    let slow = format!("{SLOW_HEAD}SELECT 1;\n{SLOW_HEAD}DELETE FROM t\nWHERE id");
    // `head` leaves whole lines, and the slow log says all the same where a statement ends.
    let lines = format!("{slow}\n");
    for (text, end) in [(stderr, "\n"), (general, "\n"), (slow.as_str(), ";\n"), (lines.as_str(), ";\n")] {
        let log = read(text, &Options::default()).expect("a log");
        assert_eq!((log.statements(), log.left_out), (1, [(Reason::CutStatement, 1)].into()), "{text}");
        let log = read(&format!("{text}{end}"), &Options::default()).expect("a log");
        assert_eq!((log.statements(), log.left_out), (2, LeftOut::new()), "{text}");
    }
}

/// As `tail` leaves it: what stands before the first entry is no statement of a session without a number.
#[test]
fn the_rest_of_a_statement_whose_beginning_the_log_has_not() {
    let text = format!("FROM t;\n{SLOW_HEAD}SELECT 1;\n");
    let log = read(&text, &Options { bad_lines_max: 0.5, ..Options::default() }).expect("a log");
    assert_eq!((log.statements(), log.sessions.len(), log.bad_lines), (1, 1, 1));
}

/// It would be done to its end here, which may be hours away.
#[test]
fn a_statement_that_was_cancelled() {
    let cancelled = ["ERROR:  canceling statement due to user request", "STATEMENT:  SELECT count(*) FROM a, b"];
    let ways = [
        ["LOG:  statement: BEGIN", "LOG:  statement: SELECT count(*) FROM a, b"],
        ["LOG:  statement: SELECT count(*) FROM a, b", "LOG:  duration: 0.1 ms  statement: BEGIN"],
    ];
    for (first, begun) in ways.into_iter().zip([1, 2]) {
        let said = [&first[..], &cancelled[..], &["LOG:  statement: ROLLBACK"]].concat();
        let line = |(second, said): (usize, &&str)| format!("2026-11-26 10:00:{second:02}.000 UTC [7] {said}\n");
        let text: String = said.iter().enumerate().map(line).collect();
        let log = read(&text, &Options::default()).expect("a log");
        assert_eq!((log.statements(), log.left_out), (begun + 1, [(Reason::Cancelled, 1)].into()), "{text}");
    }
    // Of a time-out that the session has set, it is cancelled here, too.
    for (before, replayed) in [("SET statement_timeout = '1s'", 2), ("SET search_path = shop", 1)] {
        let text = format!(
            "2026-11-26 10:00:00.000 UTC [7] LOG:  statement: {before}\n\
             2026-11-26 10:00:00.000 UTC [7] LOG:  statement: SELECT 1\n\
             2026-11-26 10:00:01.000 UTC [7] ERROR:  canceling statement due to statement timeout\n\
             2026-11-26 10:00:01.000 UTC [7] STATEMENT:  SELECT 1\n"
        );
        assert_eq!(read(&text, &Options::default()).expect("a log").statements(), replayed, "{before}");
    }
}

#[test]
fn a_statement_that_reads_a_file() {
    let asked = [
        "LOAD DATA LOCAL INFILE '/tmp/t.csv' INTO TABLE t",
        "/* nightly */ load data infile '/tmp/t.csv' into table t",
        "TRUNCATE t; LOAD XML LOCAL INFILE '/tmp/t.xml' INTO TABLE t",
        "SELECT 'LOAD DATA'",
        "LOAD INDEX INTO CACHE t",
    ];
    assert_eq!(of_general_log(&asked), (2, [(Reason::LoadData, 3)].into()));
}

/// It stayed in the machine's own folders, where the next trial met it.
#[test]
fn a_statement_that_writes_a_file() {
    let asked = [
        "SELECT * INTO OUTFILE '/tmp/t.txt' FROM t",
        "SELECT SQL_NO_CACHE * FROM t\ninto  dumpfile \"/tmp/t.bin\"",
        "/* nightly */ (SELECT 1) UNION (SELECT 2) INTO OUTFILE '/tmp/u.txt'",
        "INSERT INTO attacks VALUES ('SELECT 1 INTO OUTFILE \\'/var/www/x.php\\'')",
        "SELECT outfile FROM exports INTO @name",
        "SELECT 'into outfile'",
    ];
    assert_eq!(of_general_log(&asked), (3, [(Reason::IntoFile, 3)].into()));
}

/// What follows would be read as of that encoding, and be another text.
#[test]
fn a_choice_of_another_encoding_than_utf_8() {
    let asked = [
        "SET client_encoding TO 'LATIN1'",
        "set session client_encoding = win1252;",
        "SET NAMES 'EUC_JP'",
        "SET client_encoding = 'utf8'",
        "SET NAMES 'UTF-8'",
        "SET search_path = names",
        "SELECT 'SET NAMES latin1'",
        ";",
    ];
    let line = |asked: &&str| format!("2026-11-26 10:00:00.000 UTC [7] LOG:  statement: {asked}\n");
    let text: String = asked.iter().map(line).collect();
    let log = read(&text, &Options::default()).expect("a log");
    assert_eq!((log.statements(), log.left_out), (5, [(Reason::Encoding, 3)].into()));
}
