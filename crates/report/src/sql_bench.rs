//! A `sql-bench` result in the shape of the suite's own RUN file, so that it can be held against those of twenty years.
//!
//! One measured run of each scenario: the one whose total is the median of its runs. The lines are those that the run left
//! with its trial. Shape: `run-all-tests` of MySQL 5.x, and the RUN files in mysql-server's history.

use crate::input::{Counting, Error};
use crate::number::date;
use crate::terminal::printable;
use ledger::model::{Contents, RunRow, Scenario, Trial};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::AddAssign;

const WORKLOAD: &str = "sql-bench";

/// The RUN file of every scenario of `sql-bench`, one after the other.
///
/// # Errors
/// When the results have no finished run of it.
pub fn sql_bench(contents: &Contents) -> Result<String, Error> {
    let counting = Counting::of(contents);
    let mut out = String::new();
    for scenario in contents.scenarios.iter().filter(|scenario| scenario.workload == WORKLOAD) {
        let Some((trial, run)) = counting.median_run(scenario, "total_seconds") else { continue };
        let left = trial.remarks.iter().filter_map(|remark| remark.strip_prefix(WORKLOAD));
        let Some(lines) = left.into_iter().nth(run.run as usize) else { continue };
        let _ = writeln!(out, "# {}, round {}, run {}", printable(&scenario.label), trial.round + 1, run.run);
        header(contents, scenario, trial, run, &mut out);
        body(lines, &mut out);
        out.push('\n');
    }
    if out.is_empty() { Err(Error::NoRun { workloads: &[WORKLOAD] }) } else { Ok(out) }
}

fn header(contents: &Contents, scenario: &Scenario, trial: &Trial, run: &RunRow, out: &mut String) {
    // The session in which the trial began.
    let session = contents.sessions.iter().rev().find(|session| session.started <= trial.started);
    let fact = |name: &str| session.and_then(|session| session.machine.get(name)).map_or("", String::as_str);
    let settings = &scenario.settings["workload"];
    let engine = settings["engine"].as_str().unwrap_or_default();
    let version = trial.facts.get(&format!("{engine}.version")).map_or("", String::as_str);
    let arguments: Vec<String> = settings
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| *name != "engine" && !value.is_null())
        .map(|(name, value)| format!("--{name}={}", value.as_str().map_or_else(|| value.to_string(), String::from)))
        .collect();
    for (name, value) in [
        ("Benchmark DBD suite:", format!("surefoot {}", contents.study.surefoot_version)),
        ("Date of test:", date(run.started)),
        ("Running tests on:", format!("Linux {}", fact("kernel"))),
        ("Arguments:", arguments.join(" ")),
        ("Comments:", String::new()),
        ("Limits from:", String::new()),
        ("Server version:", format!("{engine} {version}")),
        ("Optimization:", "None".into()),
        ("Hardware:", format!("{} CPUs, {}", fact("cpus"), fact("cpu_model"))),
    ] {
        let _ = writeln!(out, "{}", format!("{name:<20} {}", printable(&value)).trim_end());
    }
}

/// What an operation took, added up over the tests that have it.
#[derive(Default, Clone, Copy)]
struct Row {
    seconds: f64,
    user: f64,
    system: f64,
    count: u64,
    is_estimated: bool,
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Row) {
        self.seconds += other.seconds;
        self.user += other.user;
        self.system += other.system;
        self.count += other.count;
        self.is_estimated |= other.is_estimated;
    }
}

fn body(lines: &str, out: &mut String) {
    let (mut tests, mut rows) = (0, BTreeMap::<&str, Row>::new());
    out.push('\n');
    for line in lines.lines() {
        if line.contains(": Total time: ") {
            tests += 1;
            let _ = writeln!(out, "{}", printable(line));
        }
        let Some((operation, row)) = operation(line) else { continue };
        *rows.entry(operation).or_default() += row;
    }
    let _ = writeln!(
        out,
        "\nAll {tests} test executed successfully\n\nTotals per operation:\n\
         Operation             seconds     usr     sys     cpu   tests"
    );
    let mut totals = Row::default();
    for (operation, row) in &rows {
        totals += *row;
        line(operation, row, out);
    }
    line("TOTALS", &totals, out);
}

/// `TEST: Time for OPERATION (COUNT): 1.00 wallclock secs (0.50 usr 0.25 sys + …`, or `Estimated time`.
fn operation(line: &str) -> Option<(&str, Row)> {
    let (_, rest) = line.split_once(": ")?;
    let (word, rest) = rest.split_once(" for ")?;
    let (operation, rest) = rest.split_once(" (")?;
    let (count, rest) = rest.split_once("): ")?;
    let mut numbers = rest.split([' ', '(']).filter_map(|word| word.parse::<f64>().ok());
    let row = Row {
        seconds: numbers.next()?,
        user: numbers.next()?,
        system: numbers.next()?,
        count: count.parse().ok()?,
        is_estimated: word.starts_with("Estimated"),
    };
    Some((operation, row))
}

fn line(name: &str, row: &Row, out: &mut String) {
    let Row { seconds, user, system, count, is_estimated } = *row;
    let flag = if is_estimated { "+" } else { "" };
    let _ = writeln!(
        out,
        "{:<35} {seconds:>7.2} {user:>7.2} {system:>7.2} {:>7.2} {count:>7} {flag}",
        printable(name),
        user + system
    );
}
