//! The slow log: each statement when it has ended, with how long it took and how many rows it gave.

use super::{is_header, moment, used};
use crate::reason::Reason;
use crate::sessions::{Expects, Sessions, Statement, Way};
use crate::spread::Spread;
use crate::time::Local;
use crate::transactions;
use script::Verb;

/// A statement below this is quick: thresholds of slow logs are far above it, but for those of 0.
const QUICK_SECONDS: f64 = 0.001;

/// What is known of a statement before its text.
#[derive(Default)]
struct Head<'a> {
    key: u64,
    /// The database, by MariaDB's `Schema:`; some of nothing: the session has chosen none.
    database: Option<&'a str>,
    seconds: f64,
    rows_sent: Option<u64>,
}

/// Whether a line begins a statement.
pub fn is_head(line: &str) -> bool {
    line.starts_with("# User@Host: ") || time(line).is_some()
}

fn time(line: &str) -> Option<i64> {
    line.strip_prefix("# Time: ").and_then(moment).map(|(at, _)| at)
}

pub fn read(text: &str, sessions: &mut Sessions) {
    // A log that was cut may begin with statements of a second whose time stood before them.
    let first = crate::lines(text).find_map(time).unwrap_or(0);
    let mut spread = Spread::new(moments(text, first));
    let (mut now, mut local) = (first, Local::default());
    let (mut head, mut has_begun, mut is_in_body) = (Head::default(), false, false);
    let mut body = String::new();
    // MySQL names a database where it is another than that of the entry before, whoever sent that (`log.cc`, `write_slow`).
    let mut last = None;
    for line in crate::lines(text) {
        sessions.lines += 1;
        if is_head(line) || is_header(line) {
            if is_in_body {
                end(&head, &body, spread.at(now), &mut last, sessions);
                (head, is_in_body) = (Head::default(), false);
                body.clear();
            }
            if is_header(line) {
                last = None;
            }
            has_begun = true;
            now = time(line).map_or(now, |at| local.at(at));
            take(&mut head, line);
        } else if !has_begun {
            // The rest of a statement whose beginning the log does not have.
            sessions.bad_line();
        } else if !is_in_body && line.starts_with('#') && !line.starts_with("# administrator command") {
            // MariaDB's plans have lines of nothing but this sign about them (its manual, "EXPLAIN in the Slow Query Log").
            take(&mut head, line);
        } else {
            is_in_body = true;
            body.push_str(line);
            body.push('\n');
        }
    }
    // Each ends so, also where `head` left whole lines.
    if is_in_body && !body.trim_end().ends_with(';') {
        return sessions.leave_out(Reason::CutStatement);
    }
    end(&head, &body, spread.at(now), &mut last, sessions);
}

/// When each statement ended; each has one such line.
fn moments(text: &str, first: i64) -> impl Iterator<Item = i64> {
    let (mut now, mut local) = (first, Local::default());
    crate::lines(text).filter_map(move |line| {
        now = time(line).map_or(now, |at| local.at(at));
        line.starts_with("# Query_time: ").then_some(now)
    })
}

/// `# Thread_id: 8  Schema: shop  QC_hit: No`: each name with what follows it.
fn take<'a>(head: &mut Head<'a>, line: &'a str) {
    let after = |name: &str| {
        let (_, after) = line.split_once(name)?;
        after.split_whitespace().next()
    };
    let number = |name: &str| after(name).and_then(|text| text.parse().ok());
    if line.starts_with("# User@Host: ") {
        // MySQL has the session's number here.
        head.key = number("Id: ").unwrap_or(head.key);
        return;
    }
    head.key = number("Thread_id: ").unwrap_or(head.key);
    // Of a session on no database the next name follows: MariaDB's `QC_hit:`, Percona's `Last_errno:`.
    let schema = after("Schema: ").map(|name| if name.ends_with(':') { "" } else { name });
    head.database = schema.or(head.database);
    head.seconds = after("Query_time: ").and_then(|text| text.parse().ok()).unwrap_or(head.seconds);
    head.rows_sent = number("Rows_sent: ").or(head.rows_sent);
}

/// `SET last_insert_id=7,insert_id=8,timestamp=1795482123;`: the first two where a binary log of statements needs them, too (`log.cc`).
fn is_servers_set(line: &str) -> bool {
    let assignments = line.strip_prefix("SET ").and_then(|rest| rest.strip_suffix(';'));
    let is_its_own = |assignment: &str| {
        ["last_insert_id", "insert_id", "timestamp"].contains(&assignment.split('=').next().unwrap_or_default())
    };
    assignments.is_some_and(|all| all.split(',').all(is_its_own))
}

fn end(head: &Head<'_>, body: &str, now: i64, last: &mut Option<String>, sessions: &mut Sessions) {
    let mut text = body.trim_end();
    // What the server itself puts before a statement.
    loop {
        let (line, after) = text.split_once('\n').unwrap_or((text, ""));
        if let Some(name) = line.strip_prefix("use ").and_then(|rest| rest.strip_suffix(';')) {
            *last = Some(name.trim_matches('`').into());
        } else if !is_servers_set(line) {
            break;
        }
        text = after;
    }
    if let Some(database) = head.database.or(last.as_deref()) {
        sessions.database(head.key, database);
    }
    if text.starts_with("# administrator command: Quit") {
        return sessions.end(head.key, Some(now));
    }
    let text = text.strip_suffix(';').unwrap_or(text);
    // A database that a client chose stands before the next statement.
    if text.is_empty() || text.starts_with("# administrator command") || used(text).is_some() {
        return;
    }
    // `log_queries_not_using_indexes` logs quick statements, too, but only those that read tables.
    sessions.has_quick = sessions.has_quick || head.seconds < QUICK_SECONDS && transactions::is_for_all(text, true);
    // Of a change, a client may have asked for the rows that were found or for those that became others: the log does not say which.
    let rows = head.rows_sent.filter(|_| script::verb(text) == Verb::Read);
    let at_microseconds = now.saturating_sub((head.seconds * 1e6) as i64);
    let statement = Statement { at_microseconds, text, way: Way::Text, expects: Expects::Unknown, is_over: true, rows };
    sessions.statement(head.key, statement);
}
