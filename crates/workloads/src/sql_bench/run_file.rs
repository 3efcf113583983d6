//! What a run leaves with its trial: the lines that the suite's programs print, one an operation and one a program. They
//! hold what metrics do not: how often, and the client's processor time.

use super::session::{Spent, Timing};
use std::fmt::Write;

/// The first line; `surefoot report --format sql-bench` looks for it.
const HEAD: &str = "sql-bench";

/// What a test took.
pub struct Done {
    /// The test's name.
    pub test: &'static str,
    /// Its operations, in their order.
    pub timings: Vec<Timing>,
    /// All of it, with what lies between the operations.
    pub spent: Spent,
}

/// The lines of a run.
pub fn text(tests: &[Done]) -> String {
    let mut out = HEAD.to_string();
    for Done { test, timings, spent } in tests {
        for timing in timings {
            let word = if timing.is_cut { "Estimated time" } else { "Time" };
            let _ =
                write!(out, "\n{test}: {word} for {} ({}): {}", timing.operation, timing.count, clocks(timing.spent));
        }
        let _ = write!(out, "\n{test}: Total time: {}", clocks(*spent));
    }
    out
}

/// As Perl's Benchmark module prints them, with hundredths of a second by the clock, too.
fn clocks(spent: Spent) -> String {
    let (user, system) = (spent.user_seconds, spent.system_seconds);
    format!(
        "{:.2} wallclock secs ({user:.2} usr {system:.2} sys + 0.00 cusr 0.00 csys = {:.2} CPU)",
        spent.seconds,
        user + system
    )
}
