//! A `sql-bench` result in the shape of the suite's own RUN file, so that it can be held against those of twenty years.
//!
//! One measured run of each scenario: the one whose total is the median of its runs. All of it is made from the run's figures;
//! what a file of an older surefoot lacks is a `-`. Shape: `run-all-tests` of MySQL 5.x, and the RUN files in mysql-server's history.

use crate::document::printable;
use crate::input::{Counting, Error};
use crate::number::date;
use analysis::means::is_own;
use ledger::model::{Contents, RunRow, Scenario, Trial};
use std::fmt::Write;

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
        let _ = writeln!(out, "# {}, round {}, run {}", printable(&scenario.label), trial.round + 1, run.run);
        header(contents, scenario, trial, run, &mut out);
        body(scenario, run, &mut out);
        out.push('\n');
    }
    if out.is_empty() { Err(Error::NoRun(&[WORKLOAD])) } else { Ok(out) }
}

fn header(contents: &Contents, scenario: &Scenario, trial: &Trial, run: &RunRow, out: &mut String) {
    // The session in which the trial began.
    let session = contents.sessions.iter().rev().find(|session| session.started <= trial.started);
    let fact = |name: &str| session.and_then(|session| session.machine.get(name)).map_or("", String::as_str);
    let settings = &scenario.settings["workload"];
    let engine = settings["engine"].as_str().unwrap_or_default();
    let version = trial.facts.get(&format!("{engine}.version")).map_or("", String::as_str);
    let all = settings.as_object().into_iter().flatten();
    let given = all.filter(|(name, value)| *name != "engine" && !value.is_null());
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    let arguments: Vec<String> = given.map(|(name, value)| format!("--{name}={}", text(value))).collect();
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

/// What an operation or a test took; none was not measured, as by an older surefoot, and printed as `-`.
#[derive(Clone, Copy)]
struct Row {
    seconds: f64,
    user: Option<f64>,
    system: Option<f64>,
    count: Option<f64>,
    /// Loops that were cut, so that their time is an estimate.
    cut: Option<f64>,
}

impl Row {
    /// Of `what`, a test or an operation, by a metric's part of its name.
    fn of(run: &RunRow, what: &str, name: &str, seconds: f64) -> Row {
        let figure = |figure: &str| run.metrics.get(&*format!("{what}_{name}_{figure}")).copied();
        Row {
            seconds,
            user: figure("user_cpu_seconds"),
            system: figure("system_cpu_seconds"),
            count: figure("count"),
            cut: figure("loops_cut"),
        }
    }

    fn plus(self, other: &Row) -> Row {
        let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        Row {
            seconds: self.seconds + other.seconds,
            user: sum(self.user, other.user),
            system: sum(self.system, other.system),
            count: sum(self.count, other.count),
            cut: sum(self.cut, other.cut),
        }
    }

    fn cpu(&self) -> Option<f64> {
        Some(self.user? + self.system?)
    }
}

/// Names that a metric can't spell as the suite does.
const SPELLINGS: &str = "alter-table ATIS big-tables connect+select_1_row connect+select_simple create+drop create_key+drop \
    create_MANY_tables drop_table_when_MANY_tables select_column+column select_group_when_MANY_tables";

fn spelled(name: &str) -> &str {
    let plain = |spelling: &str| spelling.replace(['+', '-'], "_").to_lowercase();
    SPELLINGS.split(' ').find(|spelling| plain(spelling) == name).unwrap_or(name)
}

/// A run's tests and operations: their names as in metrics, and what they took.
fn measured(run: &RunRow) -> [Vec<(&str, Row)>; 2] {
    let is_other =
        |name: &str| !is_own(name) || ["total_", "client_", "operation_"].iter().any(|prefix| name.starts_with(prefix));
    let timed = run.metrics.iter().filter(|(name, _)| !is_other(name) && !name.ends_with("_cpu_seconds"));
    let timed = timed.filter_map(|(name, value)| Some((name.strip_suffix("_seconds")?, *value)));
    let (tests, operations): (Vec<_>, Vec<_>) = timed.partition(|(name, _)| name.starts_with("test_"));
    let tests = tests.into_iter().filter_map(|(name, seconds)| {
        let name = name.strip_prefix("test_")?;
        Some((name, Row::of(run, "test", name, seconds)))
    });
    let operations = operations.into_iter().map(|(name, seconds)| (name, Row::of(run, "operation", name, seconds)));
    [tests.collect(), operations.collect()]
}

fn body(scenario: &Scenario, run: &RunRow, out: &mut String) {
    let [tests, mut operations] = measured(run);
    out.push('\n');
    for (name, row) in &tests {
        let [user, system, cpu] = [row.user, row.system, row.cpu()].map(|seconds| shown(seconds, 2));
        let _ = writeln!(
            out,
            "{}: Total time: {:.2} wallclock secs ({user} usr {system} sys + 0.00 cusr 0.00 csys = {cpu} CPU)",
            spelled(name),
            row.seconds
        );
    }
    let asked = scenario.settings["workload"]["tests"].as_array().map_or(tests.len(), Vec::len);
    let executed = match tests.len() {
        found if found == asked => format!("All {found} test executed successfully"),
        found => format!("{found} of {asked} test have figures"),
    };
    let _ = writeln!(
        out,
        "\n{executed}\n\nTotals per operation:\n\
         Operation             seconds     usr     sys     cpu   tests"
    );
    operations.sort_by_key(|(name, _)| spelled(name));
    operations.iter().for_each(|(name, row)| line(spelled(name), row, out));
    let total = operations.iter().map(|(_, row)| *row).reduce(|sum, row| sum.plus(&row));
    total.iter().for_each(|total| line("TOTALS", total, out));
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"))
}

fn line(name: &str, row: &Row, out: &mut String) {
    let [user, system, cpu] = [row.user, row.system, row.cpu()].map(|seconds| shown(seconds, 2));
    let flag = if row.cut.is_some_and(|cut| cut > 0.0) { "+" } else { "" };
    let count = shown(row.count, 0);
    let _ =
        writeln!(out, "{:<35} {:>7.2} {user:>7} {system:>7} {cpu:>7} {count:>7} {flag}", printable(name), row.seconds);
}
