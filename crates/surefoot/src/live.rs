//! What a person watches while a study runs: a small table on a terminal, plain lines elsewhere.

mod forecast;

use crate::failure::plain;
use crash::plan::{Plan, PlannedScenario};
use forecast::Wanted;
use indicatif::{ProgressBar, ProgressStyle};
use lab::bench::End;
use lab::conductor::{Ended, Event, What};
use lab::values::Values;
use ledger::model::Phase;
use observe::record::Record;
use report::Underway;
use settings::quantity::format_seconds;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// How much of what a failed program said is shown; the report has more of it.
const LINES_SHOWN: usize = 12;

/// Lines of the display beside its tables: where the study is, its time, what is foretold, and a line of the shell's above it.
const ROWS_BESIDE: usize = 4;

/// The live display.
pub struct Live {
    mode: Mode,
    wanted: Wanted,
    scenarios: Vec<Underway>,
    rounds_max: u32,
    started: Instant,
    trials_here: usize,
    /// Trials that earlier sessions did.
    before: Option<usize>,
    number: usize,
    total: usize,
    place: String,
    scenario: String,
    doing: String,
    speed: Option<f64>,
    estimates: String,
}

enum Mode {
    Quiet,
    Lines,
    Terminal(ProgressBar),
}

/// A line on standard error; where nobody reads it any more, the study goes on.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

impl Live {
    /// A display for this study; `quiet` shows nothing.
    pub fn new(plan: &Plan, quiet: bool) -> Live {
        let mode = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Mode::Quiet,
            (false, false) => Mode::Lines,
            (false, true) => {
                let bar = ProgressBar::new_spinner();
                bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("the template is well formed"));
                bar.enable_steady_tick(Duration::from_millis(250));
                Mode::Terminal(bar)
            }
        };
        Live {
            mode,
            wanted: wanted(plan),
            scenarios: underway(plan),
            rounds_max: plan.design.rounds_max,
            started: Instant::now(),
            trials_here: 0,
            before: None,
            number: 0,
            total: plan.scenarios.len() * plan.design.rounds_max as usize,
            place: String::new(),
            scenario: String::new(),
            doing: String::new(),
            speed: None,
            estimates: String::new(),
        }
    }

    /// Shows one line outside any trial.
    pub fn say(&mut self, text: &str) {
        match &self.mode {
            Mode::Quiet => {}
            Mode::Lines => tell(text),
            Mode::Terminal(bar) => bar.set_message(text.to_string()),
        }
    }

    /// Shows what the conductor tells.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::SafetyStarted { what, number, total, scenario } => {
                (self.number, self.total) = (*number, *total);
                (self.before, self.trials_here) = (Some(0), number - 1);
                if *number == 1 {
                    self.started = Instant::now();
                }
                self.place = format!("{} {number} of {total}", what.words());
                self.scenario = (*scenario).to_string();
                let doing = match what {
                    What::PowerCuts => "recording, then recovering",
                    What::Faults => "loading, then failing",
                };
                (self.doing, self.speed) = (doing.into(), None);
            }
            Event::SafetyEnded { what, scenario, ended, seconds } => {
                self.safety_ended(*what, scenario, ended, *seconds)
            }
            Event::TrialStarted { number, total_max, phase, round, scenario } => {
                (self.number, self.total) = (*number, *total_max);
                self.before.get_or_insert(*number - 1);
                self.place = match phase {
                    Phase::Screen => format!("screen {}", round + 1),
                    Phase::Main => format!("round {} of at most {}", round + 1, self.rounds_max),
                    Phase::Confirmation => format!("confirmation {}", round + 1),
                };
                self.scenario = (*scenario).to_string();
                (self.doing, self.speed) = ("provisioning".into(), None);
            }
            Event::TurnStarted { scenario, number, of } => {
                self.scenario = (*scenario).to_string();
                self.doing = format!("turn {number} of {of}");
            }
            Event::Record(record) => self.record(record),
            Event::TrialEnded { scenario, end, seconds } => self.trial_ended(scenario, end, *seconds),
            Event::Screened(screened) => self.line(&report::screening::sentence(screened)),
            Event::RoundEnded { round, values, decision } => {
                self.estimates = self.estimates(values);
                let forecast = self.forecast(values);
                if !forecast.is_empty() {
                    let _ = writeln!(self.estimates, "  differences are known {forecast}");
                }
                self.line(&format!("round {} done: {decision}\n{}", round + 1, self.estimates.trim_end()));
            }
        }
        self.draw();
    }

    /// Whether this session did a trial, or the like: it may find all of them done.
    pub fn has_measured(&self) -> bool {
        self.trials_here > 0
    }

    /// Takes the display away.
    pub fn finish(&self) {
        if let Mode::Terminal(bar) = &self.mode {
            bar.finish_and_clear();
        }
    }

    /// When differences will be known, as far as this session says how long a round takes.
    fn forecast(&self, values: &Values) -> String {
        if self.trials_here < self.scenarios.len() {
            return String::new();
        }
        let trial_seconds = self.started.elapsed().as_secs_f64() / self.trials_here as f64;
        forecast::sentence(values, &self.wanted, trial_seconds * self.scenarios.len() as f64)
    }

    /// The scenarios so far: on a terminal as many as it has room for.
    fn estimates(&self, values: &Values) -> String {
        let (columns, rows) = crate::screen::size(&std::io::stderr());
        let room = match self.mode {
            Mode::Terminal(_) => rows.saturating_sub(ROWS_BESIDE).max(1),
            _ => usize::MAX,
        };
        report::live(&self.scenarios, &values.rounds, self.wanted.confidence, (columns.saturating_sub(2), room))
    }

    fn record(&mut self, record: &Record) {
        match record {
            Record::RunStarted { run, warm_up } => {
                self.doing = if *warm_up { "warm-up".into() } else { format!("run {run}") };
            }
            Record::Progress { value, .. } => self.speed = Some(*value),
            Record::Warning { message } => self.line(&format!("warning: {}: {message}", self.scenario)),
            Record::Note { message } => self.line(&format!("note: {}: {message}", self.scenario)),
            _ => {}
        }
    }

    fn trial_ended(&mut self, scenario: &str, end: &End, seconds: f64) {
        self.trials_here += 1;
        let how = match end {
            End::Finished => format!("finished in {}", format_seconds(seconds)),
            End::Failed(failure) => {
                let said = last_lines(&failure.log);
                format!("FAILED at {}: {}{said}", failure.step, failure.causes.join(": "))
            }
            End::Interrupted => "interrupted".into(),
        };
        // Those that take turns have all begun before one ends.
        let number = self.before.unwrap_or(0) + self.trials_here;
        let text = plain(&format!("trial {number}/{}: {scenario}: {how}", self.total));
        match (&self.mode, end) {
            (Mode::Lines, _) => tell(&text),
            // On a terminal the bar says it; what went wrong must stay readable above it.
            (Mode::Terminal(bar), End::Failed(_)) => bar.println(text),
            _ => {}
        }
    }

    fn safety_ended(&mut self, what: What, scenario: &str, ended: &Ended, seconds: f64) {
        self.trials_here += 1;
        let how = match ended {
            Ended::Measured(safety) => {
                let (grade, images) = (safety.grade, safety.images);
                format!("{grade:?}, {} ({images} images in {})", grade.words(), format_seconds(seconds))
            }
            Ended::Faults(found) => {
                let worst = found.worst().map_or("no case", observe::faults::Consequence::words);
                format!("worst: {worst} ({} cases in {})", found.cases, format_seconds(seconds))
            }
            Ended::Not(failure) => format!("not measured: {}: {}", failure.step, failure.causes.join(": ")),
            Ended::Interrupted => "interrupted".into(),
        };
        self.line(&format!("{} {}/{}: {scenario}: {how}", what.words(), self.number, self.total));
    }

    fn line(&self, text: &str) {
        if matches!(self.mode, Mode::Lines) {
            tell(&plain(text));
        }
    }

    fn draw(&self) {
        let Mode::Terminal(bar) = &self.mode else { return };
        let elapsed = self.started.elapsed().as_secs_f64();
        let mut text = format!("{} · {} · {}", self.place, self.scenario, self.doing);
        if let Some(speed) = self.speed {
            let _ = write!(text, " · {}", report::number::figure(speed));
        }
        let _ = write!(text, "\n  elapsed {}", format_seconds(elapsed));
        if let Some(seconds) = self.seconds_to_go(elapsed) {
            let _ = write!(text, " · at most {} to go", format_seconds(seconds));
        }
        if !self.estimates.is_empty() {
            let _ = write!(text, "\n{}", self.estimates.trim_end());
        }
        bar.set_message(text);
    }

    /// By what took so long here. Those that take turns have all begun before one ends, and are still to be measured.
    fn seconds_to_go(&self, elapsed_seconds: f64) -> Option<f64> {
        let ended = self.before.unwrap_or(0) + self.trials_here;
        let each = (self.trials_here > 0).then(|| elapsed_seconds / self.trials_here as f64)?;
        Some(each * self.total.saturating_sub(ended) as f64)
    }
}

/// The place of its workload's baseline.
fn baseline(plan: &Plan, scenario: &PlannedScenario) -> Option<usize> {
    plan.scenarios.iter().position(|one| one.baseline && one.workload == scenario.workload)
}

/// What is shown of each scenario.
fn underway(plan: &Plan) -> Vec<Underway> {
    let of = |scenario: &PlannedScenario| Underway {
        label: scenario.label.clone(),
        metric: lab::values::primary(&scenario.workload, &scenario.parameters).expect("each workload has a metric"),
        baseline: baseline(plan, scenario),
    };
    plan.scenarios.iter().map(of).collect()
}

/// What the study's rounds are to reach: each scenario against its workload's baseline; the control only checks.
fn wanted(plan: &Plan) -> Wanted {
    let of = |(index, one): (usize, &PlannedScenario)| {
        Some((index, baseline(plan, one)?)).filter(|(a, b)| a != b && !one.control)
    };
    let design = &plan.design;
    let (pairs, rounds_min) = (plan.scenarios.iter().enumerate().filter_map(of).collect(), design.rounds_min as usize);
    Wanted { pairs, confidence: design.confidence, precision: design.precision, rounds_min }
}

/// The end of a program's own messages, each line on one of its own and set in.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].iter().fold(String::new(), |text, line| text + "\n  | " + line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once all three of a round had begun to take turns, a third of it was called the most that was to go.
    #[test]
    fn what_has_begun_is_still_to_go() {
        let wanted = Wanted { pairs: Vec::new(), confidence: 0.95, precision: 0.03, rounds_min: 2 };
        let mut live = Live {
            mode: Mode::Quiet,
            wanted,
            scenarios: Vec::new(),
            rounds_max: 2,
            started: Instant::now(),
            trials_here: 0,
            before: None,
            number: 0,
            total: 6,
            place: String::new(),
            scenario: String::new(),
            doing: String::new(),
            speed: None,
            estimates: String::new(),
        };
        let begin = |live: &mut Live, round: u32| {
            for place in 1..=3 {
                let number = round as usize * 3 + place;
                live.show(&Event::TrialStarted { number, total_max: 6, phase: Phase::Main, round, scenario: "a" });
            }
        };
        begin(&mut live, 0);
        assert_eq!(live.seconds_to_go(20.0), None);
        for _ in 0..3 {
            live.show(&Event::TrialEnded { scenario: "a", end: &End::Finished, seconds: 20.0 });
        }
        begin(&mut live, 1);
        assert_eq!(live.seconds_to_go(60.0), Some(60.0));
        live.show(&Event::SafetyStarted { what: What::PowerCuts, number: 2, total: 3, scenario: "a" });
        assert_eq!(live.seconds_to_go(10.0), Some(20.0));
    }
}
