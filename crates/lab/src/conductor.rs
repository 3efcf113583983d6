//! The conductor: the only one that decides (order, repeats, stop) and the only one that writes the ledger.
//!
//! Driven by `surefoot run`; drives a bench. Looks at widths at round ends, never at p, to know when it is enough.

use crate::bench::{self, Bench, End};
use crate::resume::{Done, Opened};
use crate::safety::{self, Ended};
use crate::screening;
use crate::tune::Tune;
use ledger::figure::{self, Zero};
use ledger::model::{Decision, MeasuredSafety, Phase, Place, Screened, TrialState, Worse};
use ledger::parity::{Rule, Standing};
use observe::durability::Class;
use observe::metric::Metric;
use observe::record::{Failure, Record};
use std::sync::atomic::{AtomicBool, Ordering};
use study::screen::Screen;
use study::{Mode, Plan};

/// A scenario that failed in this many rounds in a row is given up: its hole is the result.
const FAILURES_IN_A_ROW_MAX: u32 = 2;

/// What the conductor tells whoever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial starts.
    TrialStarted {
        /// Its number, from 1, over all sessions of the study.
        number: usize,
        /// How many trials the study has at most.
        total_max: usize,
        /// What it is for.
        phase: Phase,
        /// Round of that phase, from 0.
        round: u32,
        /// Scenario.
        scenario: &'a str,
    },
    /// A trial says something.
    Record(&'a Record),
    /// A trial ended.
    TrialEnded {
        /// Scenario.
        scenario: &'a str,
        /// How.
        end: &'a End,
        /// How long it took.
        seconds: f64,
    },
    /// A screen is complete.
    Screened(&'a Screened),
    /// A main round is complete.
    RoundEnded {
        /// Round, from 0.
        round: u32,
        /// What is known so far.
        values: &'a Values,
        /// What the stop rule says, in words.
        decision: String,
    },
    /// Power cuts of a scenario begin.
    SafetyStarted {
        /// Which of the scenarios that are left, from 1.
        number: usize,
        /// How many are left.
        total: usize,
        /// Scenario.
        scenario: &'a str,
    },
    /// Power cuts of a scenario ended.
    SafetyEnded {
        /// Scenario.
        scenario: &'a str,
        /// How.
        ended: &'a Ended,
        /// How long it took.
        seconds: f64,
    },
}

/// The primary figure of each trial so far.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Labels, in plan order.
    pub scenarios: Vec<String>,
    /// `[round][scenario]`: the trial's figure, 0 where a run stalled; none: not done, or failed.
    pub rounds: Vec<Vec<Option<f64>>>,
}

/// `[round][scenario]`: none is not done, or failed.
type Rounds = Vec<Vec<Option<f64>>>;

/// Why the study stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Every primary contrast is as narrow as was wanted.
    PrecisionReached,
    /// The last round that the study allows is done.
    RoundsMax,
    /// The next round would not fit into the time budget.
    TimeBudget,
    /// The user interrupted.
    Interrupted,
    /// Every scenario has been given up.
    NothingLeft,
    /// All but one scenario are shown to be worse.
    OneLeft,
    /// A screened scenario has no value, or stalled.
    ScreenFailed,
    /// What a power cut takes was all that was asked for, and is known.
    SafetyKnown,
    /// The same, but of some scenarios it could not be measured.
    SafetyHoles,
}

impl Stop {
    /// In words, as the ledger and the terminal say it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Stop::PrecisionReached => "the wanted precision is reached",
            Stop::RoundsMax => "all rounds are done",
            Stop::TimeBudget => "the next round would not fit into the time budget",
            Stop::Interrupted => "interrupted",
            Stop::NothingLeft => "every scenario failed",
            Stop::ScreenFailed => {
                "a screened scenario has no value or stalled, so that the screen can't tell factors apart"
            }
            Stop::SafetyKnown => "every scenario had its power cuts",
            Stop::SafetyHoles => {
                "not every scenario could have its power cuts; what failed is done again with --retry-failed"
            }
            Stop::OneLeft => "every other scenario is shown to be worse",
        }
    }
}

/// How the study stands when the conductor returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Why it stopped.
    pub stop: Stop,
    /// Trials that failed, over all sessions.
    pub failed: usize,
}

/// Why the study could not be conducted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bench could not start a trial.
    #[error(transparent)]
    Bench(#[from] bench::Error),
    /// The ledger could not be written.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

/// Runs what is left of a study.
///
/// # Errors
/// When a trial can't be started or recorded; a trial that fails is part of the answer.
pub fn conduct(
    plan: &Plan,
    opened: Opened,
    bench: &mut dyn Bench,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Summary, Error> {
    let started = bench.now();
    let mut conductor = Conductor::new(plan, opened, bench, interrupted, watch);
    let stop = match conductor.screen(started)? {
        Some(stop) => stop,
        None => {
            let stop = conductor.rounds(started)?;
            conductor.confirmation(started, stop)?
        }
    };
    let stop = conductor.safety(stop)?;
    let now = conductor.bench.now();
    conductor.writer.end_session(stop.words(), now)?;
    Ok(Summary { stop, failed: conductor.done.failed() })
}

/// Measures only what a power cut takes, of each scenario of which that is not known yet.
///
/// # Errors
/// As [`conduct`].
pub fn conduct_safety(
    plan: &Plan,
    opened: Opened,
    bench: &mut dyn Bench,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Summary, Error> {
    let mut conductor = Conductor::new(plan, opened, bench, interrupted, watch);
    let stop = conductor.safety(Stop::SafetyKnown)?;
    let now = conductor.bench.now();
    conductor.writer.end_session(stop.words(), now)?;
    Ok(Summary { stop, failed: conductor.done.failed() })
}

struct Conductor<'a> {
    plan: &'a Plan,
    writer: ledger::Writer,
    done: Done,
    bench: &'a mut dyn Bench,
    interrupted: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    values: Values,
    tune: Tune,
    /// Scenarios that a screen left out; none before it is complete.
    left_out: Option<Vec<bool>>,
    failures_in_a_row: Vec<u32>,
    round_seconds: Vec<f64>,
    trial_seconds_max: f64,
}

impl<'a> Conductor<'a> {
    fn new(
        plan: &'a Plan,
        opened: Opened,
        bench: &'a mut dyn Bench,
        interrupted: &'a AtomicBool,
        watch: &'a mut dyn FnMut(Event),
    ) -> Conductor<'a> {
        let scenarios: Vec<String> = plan.scenarios.iter().map(|scenario| scenario.label.clone()).collect();
        let scenarios_count = scenarios.len();
        let values = Values { scenarios, rounds: Vec::new() };
        let Opened { writer, done } = opened;
        Conductor {
            tune: Tune::new(plan, done.decisions().to_vec(), &vec![false; scenarios_count]),
            left_out: None,
            plan,
            writer,
            done,
            bench,
            interrupted,
            watch,
            values,
            failures_in_a_row: vec![0; scenarios_count],
            round_seconds: Vec::new(),
            trial_seconds_max: 0.0,
        }
    }

    /// The rounds of a part of the scenarios by which it is found what to study; why the study ends here, if it does.
    fn screen(&mut self, started: f64) -> Result<Option<Stop>, Error> {
        let plan = self.plan;
        let mut decisions = self.done.decisions().to_vec();
        let is_decided = |workload: &str| {
            let mut screens = decisions.iter();
            screens.any(|decision| matches!(decision, Decision::Screen(screened) if screened.workload == workload))
        };
        let screens: Vec<&Screen> = plan.screens.iter().filter(|screen| !is_decided(&screen.workload)).collect();
        if !screens.is_empty() {
            let rounds = match self.screen_rounds(started, &screens)? {
                Ok(rounds) => rounds,
                Err(stop) => return Ok(Some(stop)),
            };
            let found = screens.iter().map(|screen| screening::judge(plan, screen, &rounds));
            let Some(found) = found.collect::<Option<Vec<Screened>>>() else { return Ok(Some(Stop::ScreenFailed)) };
            found.iter().for_each(|screened| (self.watch)(Event::Screened(screened)));
            let found: Vec<Decision> = found.into_iter().map(Decision::Screen).collect();
            self.writer.decide(&found)?;
            decisions.extend(found);
            // A session that goes on does not walk through the screen again.
            self.failures_in_a_row.fill(0);
        }
        let left_out = screening::left_out(plan, &decisions);
        self.tune = Tune::new(plan, decisions, &left_out);
        self.left_out = Some(left_out);
        Ok(None)
    }

    /// Values of the screens' scenarios, `[round][scenario]`, or why they were cut off.
    fn screen_rounds(&mut self, started: f64, screens: &[&Screen]) -> Result<Result<Rounds, Stop>, Error> {
        let plan = self.plan;
        let wanted: Vec<bool> = (0..plan.scenarios.len())
            .map(|index| screens.iter().any(|screen| screen.scenarios.contains(&index)))
            .collect();
        let count = wanted.iter().filter(|wanted| **wanted).count() as f64;
        let mut rounds = Vec::new();
        for round in 0..plan.design.screen_rounds {
            let is_open = |index: usize| {
                wanted[index] && self.done.state(&plan.scenarios[index].label, Phase::Screen, round).is_none()
            };
            let elapsed = self.bench.now() - started;
            if (0..wanted.len()).any(is_open) && self.exceeds_budget(elapsed + self.trial_seconds_max * count) {
                return Ok(Err(Stop::TimeBudget));
            }
            match self.round((Phase::Screen, round), &plan.order(Plan::screen_round(round)), &wanted)? {
                Ok(row) => rounds.push(row),
                Err(stop) => return Ok(Err(stop)),
            }
        }
        Ok(Ok(rounds))
    }

    /// What a power cut takes from each scenario, once, when the study asks for it.
    fn safety(&mut self, stop: Stop) -> Result<Stop, Error> {
        let Some(settings) = self.plan.safety.as_ref().filter(|_| stop != Stop::Interrupted) else { return Ok(stop) };
        let asked = serde_json::to_value(settings).expect("settings are plain data");
        let known = self.writer.reader()?.contents_with(&[])?.safety;
        let again = self.done.retry_failed();
        let is_known = |label: &str| {
            // The last word counts.
            let last = known.iter().rfind(|one| one.scenario == label && one.asked == asked);
            last.is_some_and(|one| one.safety.is_some() || !again)
        };
        let is_open = |scenario: &&study::PlannedScenario| !scenario.control && !is_known(&scenario.label);
        let open: Vec<&study::PlannedScenario> = self.plan.scenarios.iter().filter(is_open).collect();
        for (index, scenario) in open.iter().enumerate() {
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(Stop::Interrupted);
            }
            (self.watch)(Event::SafetyStarted { number: index + 1, total: open.len(), scenario: &scenario.label });
            let watch = &mut *self.watch;
            let begun = self.bench.now();
            let ended = safety::measure(self.plan, scenario, settings, self.bench, self.interrupted, &mut |record| {
                watch(Event::Record(record));
            })?;
            if matches!(ended, Ended::Interrupted) {
                return Ok(Stop::Interrupted);
            }
            let now = self.bench.now();
            (self.watch)(Event::SafetyEnded { scenario: &scenario.label, ended: &ended, seconds: now - begun });
            let (safety, failure) = match ended {
                Ended::Measured(safety) => (Some(*safety), None),
                Ended::Not(reason) => (None, Some(reason)),
                Ended::Interrupted => continue,
            };
            let (scenario, asked) = (scenario.label.clone(), asked.clone());
            self.writer.safety(&MeasuredSafety { scenario, ended: now, asked, safety, failure })?;
        }
        let has_all = stop != Stop::SafetyKnown || self.all_have_safety()?;
        Ok(if has_all { stop } else { Stop::SafetyHoles })
    }

    /// Whether it is measured of every scenario what a power cut takes.
    fn all_have_safety(&self) -> Result<bool, Error> {
        let contents = self.writer.reader()?.contents_with(&[])?;
        let has = |one: &ledger::model::Scenario| contents.safety_of(one).is_some_and(|found| found.safety.is_some());
        Ok(contents.scenarios.iter().filter(|one| !one.control).all(has))
    }

    /// Whether a scenario is measured in the main rounds that are left.
    fn is_studied(&self, scenario: usize) -> bool {
        !self.is_left_out(scenario) && !self.tune.is_dropped(scenario)
    }

    fn is_left_out(&self, scenario: usize) -> bool {
        self.left_out.as_ref().is_some_and(|left_out| left_out[scenario])
    }

    fn rounds(&mut self, started: f64) -> Result<Stop, Error> {
        let rounds_max = self.plan.design.rounds_max;
        // Who is confirmed was chosen from these rounds: more of them would choose again.
        let rounds = self.tune.closed_after().map_or(rounds_max, |last| rounds_max.min(last + 1));
        for round in 0..rounds {
            // Rounds of an earlier session are walked through again, so that the stop rule sees what it saw then.
            let begun = self.bench.now();
            if self.round_is_open(round) && self.over_budget(begun - started) {
                return Ok(Stop::TimeBudget);
            }
            let worked = self.round_is_open(round);
            let wanted: Vec<bool> = (0..self.plan.scenarios.len()).map(|index| self.is_studied(index)).collect();
            let row = match self.round((Phase::Main, round), &self.plan.order(round), &wanted)? {
                Ok(row) => row,
                Err(stop) => return Ok(stop),
            };
            self.values.rounds.push(row);
            if worked {
                self.round_seconds.push(self.bench.now() - begun);
            }
            let gives_up = |index: usize| self.failures_in_a_row[index] >= FAILURES_IN_A_ROW_MAX;
            if (0..wanted.len()).all(|index| !wanted[index] || gives_up(index)) {
                return Ok(Stop::NothingLeft);
            }
            let (stop, decision) = self.decide(round)?;
            (self.watch)(Event::RoundEnded { round, values: &self.values, decision });
            if let Some(stop) = stop {
                return Ok(stop);
            }
        }
        Ok(if rounds < rounds_max { Stop::TimeBudget } else { Stop::RoundsMax })
    }

    /// New rounds of pick, runner-up and baseline, once the main rounds have their answer.
    fn confirmation(&mut self, started: f64, stop: Stop) -> Result<Stop, Error> {
        let rounds = self.plan.design.confirmation_rounds();
        let last = self.values.rounds.len().checked_sub(1).and_then(|last| u32::try_from(last).ok());
        let (Some(last), false) = (last, rounds == 0 || matches!(stop, Stop::Interrupted | Stop::NothingLeft)) else {
            return Ok(stop);
        };
        let confirmed = |tune: &Tune| {
            let confirmed = tune.confirmed();
            (0..self.plan.scenarios.len()).map(|index| confirmed.contains(&index)).collect::<Vec<_>>()
        };
        let mut wanted = confirmed(&self.tune);
        let seconds = |wanted: &[bool], longest: f64| longest * wanted.iter().filter(|wanted| **wanted).count() as f64;
        if self.tune.closed_after().is_none() {
            let elapsed = self.bench.now() - started;
            if self.exceeds_budget(elapsed + self.trial_seconds_max * self.tune.confirmed_max() as f64) {
                return Ok(stop);
            }
            let finalists = self.tune.finalists(last, &self.values, &self.standings()?);
            self.writer.decide(&finalists.into_iter().map(Decision::Confirm).collect::<Vec<_>>())?;
            wanted = confirmed(&self.tune);
        }
        for round in 0..rounds {
            let is_open = |index: usize| {
                wanted[index]
                    && self.done.state(&self.plan.scenarios[index].label, Phase::Confirmation, round).is_none()
            };
            let elapsed = self.bench.now() - started;
            if (0..wanted.len()).any(is_open) && self.exceeds_budget(elapsed + seconds(&wanted, self.trial_seconds_max))
            {
                return Ok(Stop::TimeBudget);
            }
            let order = self.plan.order(Plan::confirmation_round(round));
            if let Err(stop) = self.round((Phase::Confirmation, round), &order, &wanted)? {
                return Ok(stop);
            }
        }
        Ok(stop)
    }

    /// One pass over the `wanted` scenarios in this order: a value each, or why it was cut off.
    fn round(
        &mut self,
        (phase, round): (Phase, u32),
        order: &[usize],
        wanted: &[bool],
    ) -> Result<Result<Vec<Option<f64>>, Stop>, Error> {
        let mut row = vec![None; self.plan.scenarios.len()];
        for (position, scenario) in order.iter().copied().enumerate().filter(|(_, scenario)| wanted[*scenario]) {
            let label = &self.plan.scenarios[scenario].label;
            let place = Place { phase, round, position: u32::try_from(position).expect("a plan has few scenarios") };
            let state = match self.done.state(label, phase, round) {
                Some(state) => state,
                None if self.failures_in_a_row[scenario] >= FAILURES_IN_A_ROW_MAX => continue,
                None if self.interrupted.load(Ordering::Relaxed) => return Ok(Err(Stop::Interrupted)),
                None => self.trial(scenario, place)?,
            };
            match state {
                TrialState::Finished => {
                    self.failures_in_a_row[scenario] = 0;
                    row[scenario] = self.done.value(label, phase, round);
                }
                TrialState::Failed => self.failures_in_a_row[scenario] += 1,
                TrialState::Interrupted | TrialState::Running => return Ok(Err(Stop::Interrupted)),
            }
        }
        Ok(Ok(row))
    }

    fn trial(&mut self, scenario: usize, place: Place) -> Result<TrialState, Error> {
        let Place { phase, round, position } = place;
        let drawn = match phase {
            Phase::Screen => Plan::screen_round(round),
            Phase::Main => round,
            Phase::Confirmation => Plan::confirmation_round(round),
        };
        let spec = self.plan.trial_spec(scenario, drawn, position);
        let label = self.plan.scenarios[scenario].label.clone();
        let (number, total_max) = (self.done.count() + 1, self.trials_max());
        (self.watch)(Event::TrialStarted { number, total_max, phase, round, scenario: &label });
        let begun = self.bench.now();
        let id = self.writer.begin_trial(&label, place, spec.seed, begun)?;
        let mut notes = Notes { values: Vec::new(), error: None };
        let primary = primary_metric(&spec.workload, &spec.parameters);
        let (writer, watch) = (&mut self.writer, &mut *self.watch);
        let end = self.bench.run(&spec, self.interrupted, &mut |record| {
            watch(Event::Record(&record));
            notes.take(writer, id, &record, &primary);
        })?;
        if let Some(error) = notes.error {
            return Err(error.into());
        }
        let ended = self.bench.now();
        let (state, failure): (TrialState, Option<&Failure>) = match &end {
            End::Finished => (TrialState::Finished, None),
            End::Failed(failure) => (TrialState::Failed, Some(failure)),
            End::Interrupted => (TrialState::Interrupted, None),
        };
        self.writer.finish_trial(id, state, failure, ended)?;
        self.trial_seconds_max = self.trial_seconds_max.max(ended - begun);
        self.done.note(&label, (phase, round), state, figure::of_runs(&notes.values, Zero::Stall));
        (self.watch)(Event::TrialEnded { scenario: &label, end: &end, seconds: ended - begun });
        Ok(state)
    }

    /// Trials that the study has at most, as it looks now.
    fn trials_max(&self) -> usize {
        let design = &self.plan.design;
        let left = (design.rounds_max as usize).saturating_sub(self.values.rounds.len());
        let dropped = (0..self.plan.scenarios.len()).filter(|index| self.tune.is_dropped(*index)).count();
        let confirmation = design.confirmation_rounds() as usize * self.tune.confirmed_max();
        let screens = &self.plan.screens;
        let screen = design.screen_rounds as usize * screens.iter().map(|screen| screen.scenarios.len()).sum::<usize>();
        let left_out: usize = match &self.left_out {
            Some(left_out) => left_out.iter().filter(|left_out| **left_out).count(),
            None => screens.iter().map(|screen| screen.of - screen.kept_max()).sum(),
        };
        let main = (self.plan.scenarios.len() - left_out) * design.rounds_max as usize - dropped * left;
        (screen + main + confirmation).max(self.done.count() + 1)
    }

    fn round_is_open(&self, round: u32) -> bool {
        let mut studied = self.plan.scenarios.iter().enumerate().filter(|(index, _)| self.is_studied(*index));
        studied.any(|(_, scenario)| self.done.state(&scenario.label, Phase::Main, round).is_none())
    }

    /// Whether another round and the confirmation after it would not fit.
    fn over_budget(&self, elapsed_seconds: f64) -> bool {
        let next = self.round_seconds.iter().copied().fold(0.0, f64::max);
        let rounds = f64::from(self.plan.design.confirmation_rounds());
        let confirmation = rounds * self.tune.confirmed_max() as f64 * self.trial_seconds_max;
        self.exceeds_budget(elapsed_seconds + next + confirmation)
    }

    fn exceeds_budget(&self, seconds: f64) -> bool {
        self.plan.design.time_budget_seconds.is_some_and(|budget| seconds > budget)
    }

    /// What comes before each scenario's speed: what a power cut may take, by its settings, the flushes that its trials had so far and
    /// what was measured; and how much of what was asked of it went wrong.
    fn standings(&self) -> Result<Vec<Standing>, Error> {
        let metrics = [ledger::flushing::METRICS, ledger::errors::METRICS].concat();
        let contents = self.writer.reader()?.contents_with(&metrics)?;
        let flushing = ledger::flushing::flushing(&contents);
        let errors = ledger::errors::errors(&contents);
        let standing = |scenario: &ledger::model::Scenario| {
            let rule = Rule::of(&contents, &scenario.workload);
            let measured = contents.safety_of(scenario).and_then(|measured| measured.safety.as_ref());
            let class = rule.competes_in(scenario.durability.class, flushing.get(&scenario.label), measured);
            let errors = errors.get(&scenario.label).map_or(0.0, ledger::errors::Errors::share);
            // Who is never picked beats nobody.
            Standing { class: class.unwrap_or(Class::LosesAll), errors }
        };
        Ok(contents.scenarios.iter().map(standing).collect())
    }

    /// Why to stop after this round, if it is enough, and in words what was decided.
    fn decide(&mut self, round: u32) -> Result<(Option<Stop>, String), Error> {
        let rules = rules(self.plan);
        let (decisions, found) = match self.plan.design.mode {
            Mode::Full => (self.enough(&rules), Vec::new()),
            Mode::Tune => self.look(round, &rules)?,
        };
        let enough = decisions.iter().all(stats::StopDecision::is_enough);
        let one_left = decisions.iter().all(|decision| *decision == stats::StopDecision::OneLeft);
        let dropped = found.iter().map(|worse| {
            let what = if worse.stays { "is shown to be worse" } else { "is dropped" };
            let behind = worse.behind_at_least * 100.0;
            format!("{} {what}: at least {behind:.1} % behind {}", worse.scenario, worse.than)
        });
        let words = decisions.iter().map(ToString::to_string).chain(dropped).collect::<Vec<_>>().join("; ");
        let stop = if one_left { Stop::OneLeft } else { Stop::PrecisionReached };
        Ok((enough.then_some(stop), words))
    }

    /// The stop rule, workload by workload: enough when every one has enough.
    fn enough(&self, rules: &stats::Rules) -> Vec<stats::StopDecision> {
        let of = |workload: &String| stats::enough(&self.observations(workload), rules);
        self.plan.workloads().iter().map(of).collect()
    }

    /// Drops what is shown to be worse; where a later session walks through the round, what was decided then.
    fn look(&mut self, round: u32, rules: &stats::Rules) -> Result<(Vec<stats::StopDecision>, Vec<Worse>), Error> {
        let standings = self.standings()?;
        self.tune.recall(round);
        let mut found = Vec::new();
        if !self.done.went_on_after(round) && self.tune.closed_after().is_none() {
            found = self.tune.look(round, &self.values, &standings, rules);
            self.writer.decide(&found.iter().cloned().map(Decision::Worse).collect::<Vec<_>>())?;
        }
        Ok((self.tune.enough(&self.values, &standings, rules), found))
    }

    fn observations(&self, workload: &str) -> stats::Observations {
        let scenarios = &self.plan.scenarios;
        let is_column = |i: &usize| scenarios[*i].workload == workload && !self.is_left_out(*i);
        let columns: Vec<usize> = (0..scenarios.len()).filter(is_column).collect();
        let cells = columns.iter().map(|i| stats::Cell {
            label: scenarios[*i].label.clone(),
            levels: scenarios[*i].levels.clone(),
            control: scenarios[*i].control,
            baseline: scenarios[*i].baseline,
        });
        let rounds = self.values.rounds.iter().map(|row| columns.iter().map(|i| row[*i]).collect());
        // Widths do not depend on which way is better.
        stats::Observations { cells: cells.collect(), rounds: rounds.collect(), more_is_better: true }
    }
}

/// The rules of analysis that a plan declares.
#[must_use]
pub fn rules(plan: &Plan) -> stats::Rules {
    let design = &plan.design;
    stats::Rules {
        confidence: design.confidence,
        margin: design.margin,
        precision: design.precision,
        rounds_min: design.rounds_min,
        rounds_max: design.rounds_max,
    }
}

/// The name of the metric that a workload's claims are about.
#[must_use]
pub fn primary_metric(workload: &str, parameters: &serde_json::Map<String, serde_json::Value>) -> String {
    primary(workload, parameters).map(|metric| metric.name.to_string()).unwrap_or_default()
}

/// The metric that a workload's claims are about.
#[must_use]
pub fn primary(workload: &str, parameters: &serde_json::Map<String, serde_json::Value>) -> Option<Metric> {
    workloads::kind(workload).and_then(|kind| (kind.metrics)(parameters).first().cloned())
}

/// What is noted of a trial while its records go to the ledger.
struct Notes {
    values: Vec<f64>,
    error: Option<ledger::Error>,
}

impl Notes {
    fn take(&mut self, writer: &mut ledger::Writer, id: i64, record: &Record, primary: &str) {
        let written = match record {
            Record::Step { name, seconds } => writer.step(id, name, *seconds),
            Record::Provisioned(provisioned) => writer.provisioned(id, provisioned),
            Record::Warning { message } => writer.warning(id, message),
            Record::Note { message } => writer.note(id, message),
            Record::Transcript { text } => writer.transcript(id, text),
            Record::Run(run) => {
                let value = run.metrics.iter().find(|measured| measured.metric.name == primary);
                self.values.extend(value.filter(|_| !run.warm_up).map(|measured| measured.value));
                writer.run(id, run)
            }
            Record::RunStarted { .. }
            | Record::Progress { .. }
            | Record::Safety(_)
            | Record::Recovering { .. }
            | Record::CopiedOut(_)
            | Record::Failed(_)
            | Record::Finished => Ok(()),
        };
        // The first error is the cause of the others.
        self.error = self.error.take().or(written.err());
    }
}
