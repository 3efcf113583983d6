//! The general log: each command when it arrives, with nothing of what came of it. Prepared statements have their values in their texts.

use super::{is_header, moment, used};
use crate::reason::Reason;
use crate::sessions::{Expects, Sessions, Statement, Way};
use crate::spread::Spread;
use crate::time::{self, Local};
use std::collections::HashSet;

/// Commands of the protocol, as both servers name them (`sql_parse.cc`). One that was missing would be taken for lines of the statement before it.
const COMMANDS: &[&[&str]] = &[
    &["Connect", "Query", "Init DB", "Prepare", "Execute", "Close stmt", "Reset stmt", "Quit"],
    &["Field List", "Statistics", "Ping", "Change user", "Fetch", "Long Data", "Set option"],
    &["Refresh", "Processlist", "Kill", "Reset connection", "Bulk_execute", "Binlog Dump", "Create DB"],
    &["Drop DB", "Shutdown", "Debug", "Time", "Delayed insert", "Table Dump", "Connect Out"],
    &["Register Slave", "Register Replica", "Daemon", "Binlog Dump GTID", "Reset Connection"],
];

/// A command whose lines are being read.
struct Entry<'a> {
    at: Option<i64>,
    key: u64,
    command: &'a str,
    line: &'a str,
    /// With the lines that follow.
    text: Option<String>,
}

/// Whether a line begins a command.
pub fn is_entry(line: &str) -> bool {
    entry(line).is_some()
}

/// A time or two tabs, the session's number, the command, and after a tab what it was asked for.
fn entry(line: &str) -> Option<Entry<'_>> {
    let (at, rest) = match line.strip_prefix("\t\t") {
        Some(rest) => (None, rest),
        None => {
            let (at, rest) = moment(line)?;
            (Some(at), rest.strip_prefix('\t')?)
        }
    };
    let rest = rest.trim_start_matches(' ');
    let (number, rest) = rest.split_once(' ')?;
    let (command, line) = rest.split_once('\t').unwrap_or((rest, ""));
    let command = COMMANDS.iter().copied().flatten().find(|known| **known == command.trim_end())?;
    Some(Entry { at, key: number.parse().ok()?, command, line, text: None })
}

pub fn read(text: &str, sessions: &mut Sessions) {
    let mut begun: Option<Entry<'_>> = None;
    // A log that was cut may begin with lines of a second whose time stood before them.
    let first = crate::lines(text).find_map(|line| entry(line)?.at).unwrap_or(0);
    let moments = crate::lines(text).filter_map(entry).scan((first, Local::default()), |(now, local), entry| {
        *now = entry.at.map_or(*now, |at| local.at(at));
        Some(*now)
    });
    let mut spread = Spread::new(moments);
    let (mut now, mut at, mut local) = (first, first, Local::default());
    // MariaDB leaves them out, by its default of log_disabled_statements; its times have another form.
    sessions.has_programs = text.lines().any(|line| time::iso(line).is_some() && is_entry(line));
    let mut by_name = HashSet::new();
    for line in crate::lines(text) {
        sessions.lines += 1;
        if let Some(next) = entry(line) {
            end(begun.take(), at, &mut by_name, sessions);
            now = next.at.map_or(now, |at| local.at(at));
            at = spread.at(now);
            begun = Some(next);
        } else if is_header(line) {
            end(begun.take(), at, &mut by_name, sessions);
        } else if let Some(entry) = &mut begun {
            let text = entry.text.get_or_insert_with(|| entry.line.to_string());
            text.push('\n');
            text.push_str(line);
        } else {
            sessions.bad_line();
        }
    }
    if begun.is_some() && crate::is_cut(text) {
        return sessions.leave_out(Reason::CutStatement);
    }
    end(begun, at, &mut by_name, sessions);
}

/// Sessions in `by_name` have just executed a statement by its name, in SQL: what that stands for comes next, as if the client had asked for it, too.
fn end(entry: Option<Entry<'_>>, now: i64, by_name: &mut HashSet<u64>, sessions: &mut Sessions) {
    let Some(Entry { key, command, line, text, .. }) = entry else { return };
    let text = text.as_deref().unwrap_or(line);
    match command {
        "Connect" if text.starts_with("Access denied") => sessions.end(key, Some(now)),
        "Connect" => {
            sessions.begin(key, now);
            log_in(key, text, sessions);
        }
        "Change user" => {
            log_in(key, text, sessions);
            sessions.leave_out(Reason::Command);
        }
        "Init DB" => sessions.database(key, text.trim()),
        "Execute" if by_name.remove(&key) => {}
        "Query" | "Execute" => {
            // It names a database of that server, which a replay does not have.
            if let Some(name) = used(text) {
                return sessions.database(key, name);
            }
            if text.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("execute")) {
                by_name.insert(key);
            } else {
                by_name.remove(&key);
            }
            let expects = Expects::Unknown;
            let statement =
                Statement { at_microseconds: now, text, way: Way::Text, expects, is_over: true, rows: None };
            sessions.statement(key, statement);
        }
        "Quit" => sessions.end(key, Some(now)),
        // Each execution is logged whole.
        "Prepare" | "Close stmt" | "Reset stmt" | "Long Data" => {}
        _ => sessions.leave_out(Reason::Command),
    }
}

/// `joe@localhost on shop using Socket`.
fn log_in(key: u64, text: &str, sessions: &mut Sessions) {
    if let Some((_, after)) = text.split_once(" on ") {
        sessions.database(key, after.split(" using ").next().unwrap_or_default().trim());
    }
}
