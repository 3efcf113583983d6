//! The slow log: what servers say there beside statements.

use super::words;
use sqllog::{Options, read};

/// MariaDB with a binary log, whose `binlog_format` is MIXED, and with `log_slow_verbosity = explain`.
#[test]
fn what_is_said_beside_a_statement_is_not_sent() {
    let entry = |plan: &str, set: &str, text: &str| {
        format!(
            "# Time: 261124  1:02:03\n# User@Host: joe[joe] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
             # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n{plan}use shop;\n\
             SET {set}timestamp=1795482123;\n{text};\n"
        )
    };
    let plan = "#\n# explain: id\tselect_type\n# explain: 1\tSIMPLE\n#\n";
    let log = entry("", "insert_id=7,", "INSERT INTO t VALUES (NULL)")
        + &entry("", "last_insert_id=7,insert_id=8,", "INSERT INTO u VALUES (NULL, LAST_INSERT_ID())")
        + &entry(plan, "", "SELECT 1")
        + &entry("", "", "SET insert_id=9, @a=1");
    let log = read(&log, &Options::default()).expect("a log");
    let expected = [
        "INSERT INTO t VALUES (NULL) []?",
        "INSERT INTO u VALUES (NULL, LAST_INSERT_ID()) []?",
        "SELECT 1 []?",
        "SET insert_id=9, @a=1 []?",
    ];
    assert_eq!(words(&log, &log.sessions[0]), expected);
}
