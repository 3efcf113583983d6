//! What our own benchmarks share: medians with their intervals, and goals that are kept or missed.
//!
//! Driven by the files in `benches/` of the other crates, never by what users run. A benchmark measures all that it has, and ends with
//! status 1 where a goal was missed. In `cargo test` it runs with small inputs, and no goal of speed is held against anything: figures of
//! a busy machine mean nothing. What does not depend on speed fails there, too ([`Goals::must`]).

use stats::interval::median_interval_ranks;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The median of some measurements, and an interval that holds it with 95 % confidence, whatever they are distributed like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Of an even number of values the mean of the middle two.
    pub median: f64,
    /// Lower end of the interval; of fewer than six values the least.
    pub low: f64,
    /// Upper end of the interval; of fewer than six values the greatest.
    pub high: f64,
}

impl Spread {
    /// Of these values.
    ///
    /// # Panics
    /// Without any.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        assert!(count > 0, "a benchmark measures something");
        let (low, high) = median_interval_ranks(count, 0.95).unwrap_or((1, count));
        let median = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
        Spread { median, low: sorted[low - 1], high: sorted[high - 1] }
    }
}

/// A single figure, without noise.
impl From<f64> for Spread {
    fn from(value: f64) -> Spread {
        Spread { median: value, low: value, high: value }
    }
}

/// A benchmark's command line, and what it held against its goals so far.
#[derive(Debug)]
pub struct Goals {
    arguments: Vec<String>,
    is_test: bool,
    goals: usize,
    missed: Vec<String>,
    wrong: Vec<String>,
}

impl Goals {
    /// Of the benchmark of this name, from the command line. None where it has nothing to do: `cargo test WORD` is
    /// for those that have the word in their name.
    pub fn of(benchmark: &str) -> Option<Goals> {
        Goals::with(benchmark, std::env::args().skip(1).collect())
    }

    fn with(benchmark: &str, arguments: Vec<String>) -> Option<Goals> {
        let has = |word: &str| arguments.iter().any(|argument| argument == word);
        // `cargo bench` says `--bench`, `cargo test` says nothing.
        let is_test = !has("--bench") || has("--test");
        if has("--list") {
            println!("{benchmark}: benchmark");
            return None;
        }
        let is_asked_for = !is_test || filter(&arguments).is_none_or(|word| benchmark.contains(word));
        is_asked_for.then(|| Goals { arguments, is_test, goals: 0, missed: Vec::new(), wrong: Vec::new() })
    }

    /// Whether it only shows that all runs, with small inputs.
    pub fn is_test(&self) -> bool {
        self.is_test
    }

    /// What stands after an option, such as a word after `--only`.
    pub fn after(&self, option: &str) -> Option<&str> {
        let at = self.arguments.iter().position(|argument| argument == option)?;
        self.arguments.get(at + 1).map(String::as_str)
    }

    /// The words that are no options: a number of pairs.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--"))
    }

    /// Missed where the whole interval is above the limit. What to print behind the figure.
    pub fn at_most(&mut self, what: &str, found: impl Into<Spread>, limit: f64) -> String {
        let is_missed = found.into().low > limit;
        self.goal(what, &format!("goal: at most {limit}"), is_missed)
    }

    /// Missed where the whole interval is below the limit. What to print behind the figure.
    pub fn at_least(&mut self, what: &str, found: impl Into<Spread>, limit: f64) -> String {
        let is_missed = found.into().high < limit;
        self.goal(what, &format!("goal: at least {limit}"), is_missed)
    }

    fn goal(&mut self, what: &str, goal: &str, is_missed: bool) -> String {
        self.goals += 1;
        if !is_missed || self.is_test {
            return goal.to_string();
        }
        self.missed.push(format!("{what} ({goal})"));
        format!("{goal}, MISSED")
    }

    /// What does not depend on speed, and so must hold in a test, too.
    pub fn must(&mut self, what: &str, holds: bool) {
        if !holds {
            self.wrong.push(what.to_string());
        }
    }

    /// Says what was missed. Status 1 where anything was.
    pub fn end(self) -> ExitCode {
        for wrong in &self.wrong {
            println!("wrong: {wrong}");
        }
        for missed in &self.missed {
            println!("missed: {missed}");
        }
        match (self.goals, self.missed.len()) {
            (0, _) => {}
            _ if self.is_test => println!("a test: these figures mean nothing"),
            (goals, 0) => println!("none of {goals} goals is missed beyond the noise"),
            (goals, missed) => println!("{missed} of {goals} goals are missed"),
        }
        ExitCode::from(u8::from(!self.wrong.is_empty() || !self.missed.is_empty()))
    }
}

/// What a program says on its standard output, run in a folder.
///
/// # Panics
/// When it does not start, or ends badly: with what it said of that.
pub fn said(program: &Path, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a study anew in a folder, from a text with this name, and gives its report as JSON.
///
/// # Panics
/// As [`said`].
pub fn studied(program: &Path, folder: &Path, name: &str, text: &str) -> String {
    let (file, results) = (format!("{name}.toml"), format!("{name}.surefoot"));
    std::fs::write(folder.join(&file), text).expect("a study file");
    let _ = std::fs::remove_file(folder.join(&results));
    let _ = said(program, folder, &["run", &file, "--quiet"]);
    said(program, folder, &["report", &results, "--json"])
}

/// The word that tests are chosen by, apart from what belongs to an option.
fn filter(arguments: &[String]) -> Option<&str> {
    let takes_a_word = ["--only", "--folder", "--skip", "--test-threads", "--format", "--color"];
    let mut before = "";
    arguments.iter().map(String::as_str).find(|argument| {
        let is_free = !argument.starts_with('-') && !takes_a_word.contains(&before);
        before = argument;
        is_free
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goals(arguments: &[&str]) -> Option<Goals> {
        Goals::with("log_parse", arguments.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_missed_goal_is_a_failure_in_a_benchmark_and_nothing_in_a_test() {
        let end = |arguments: &[&str], figure: f64| {
            let mut goals = goals(arguments).expect("asked for");
            let words = goals.at_most("seconds", Spread::of(&[figure; 9]), 2.0);
            (words.contains("MISSED"), goals.end())
        };
        assert_eq!(end(&["--bench"], 2.1), (true, ExitCode::FAILURE));
        assert_eq!(end(&["--bench"], 1.9), (false, ExitCode::SUCCESS));
        assert_eq!(end(&["--bench", "--test"], 2.1), (false, ExitCode::SUCCESS));
        assert_eq!(end(&[], 2.1), (false, ExitCode::SUCCESS));
        let mut wrong = goals(&[]).expect("asked for");
        wrong.must("both sides ask the same", false);
        assert_eq!(wrong.end(), ExitCode::FAILURE);
    }

    #[test]
    fn noise_that_reaches_the_limit_misses_nothing() {
        let nine = [1.0, 1.9, 3.0, 3.0, 3.0, 3.0, 3.0, 4.0, 5.0];
        assert_eq!(Spread::of(&nine), Spread { median: 3.0, low: 1.9, high: 4.0 });
        let mut goals = goals(&["--bench"]).expect("asked for");
        assert_eq!(goals.at_most("seconds", Spread::of(&nine), 1.9), "goal: at most 1.9");
        assert_eq!(goals.at_most("seconds", Spread::of(&nine), 1.8), "goal: at most 1.8, MISSED");
        assert_eq!(goals.at_least("rate", Spread::of(&nine), 4.1), "goal: at least 4.1, MISSED");
        assert_eq!(goals.at_least("rate", Spread::of(&nine), 4.0), "goal: at least 4");
        assert_eq!(Spread::of(&[1.0, 4.0]), Spread { median: 2.5, low: 1.0, high: 4.0 });
    }

    #[test]
    fn other_tests_are_left_alone() {
        assert!(goals(&["kills"]).is_none());
        assert!(goals(&["--nocapture", "kills"]).is_none());
        assert!(goals(&["--list"]).is_none());
        assert!(goals(&["parse"]).is_some());
        assert!(goals(&["--test-threads", "1"]).is_some());
        assert!(goals(&["--bench", "9"]).is_some_and(|goals| goals.words().eq(["9"]) && !goals.is_test()));
        assert_eq!(goals(&["--only", "e"]).expect("asked for").after("--only"), Some("e"));
    }
}
