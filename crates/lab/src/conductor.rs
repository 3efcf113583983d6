//! The conductor: the only one that decides (order, repeats, stop) and the only one that writes the ledger.
//!
//! Driven by `surefoot run`; drives a bench. Looks at widths at round ends, never at p, to know when it is enough.

use crate::bench::{self, Bench, End};
use crate::resume::{Done, Opened};
use ledger::model::TrialState;
use observe::record::{Failure, Record};
use std::sync::atomic::{AtomicBool, Ordering};
use study::Plan;

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
        /// Round, from 0.
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
    /// A round is complete.
    RoundEnded {
        /// Round, from 0.
        round: u32,
        /// What is known so far.
        values: &'a Values,
        /// What the stop rule says, in words.
        decision: String,
    },
}

/// The primary figure of each trial so far.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Labels, in plan order.
    pub scenarios: Vec<String>,
    /// `[round][scenario]`: geometric mean of the primary metric over the trial's runs; none: not done, or failed.
    pub rounds: Vec<Vec<Option<f64>>>,
}

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
    let stop = conductor.rounds(started)?;
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
    failures_in_a_row: Vec<u32>,
    round_seconds: Vec<f64>,
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
        let failures_in_a_row = vec![0; scenarios.len()];
        let values = Values { scenarios, rounds: Vec::new() };
        let Opened { writer, done } = opened;
        Conductor {
            plan,
            writer,
            done,
            bench,
            interrupted,
            watch,
            values,
            failures_in_a_row,
            round_seconds: Vec::new(),
        }
    }

    fn rounds(&mut self, started: f64) -> Result<Stop, Error> {
        for round in 0..self.plan.design.rounds_max {
            // Rounds of an earlier session are walked through again, so that the stop rule sees what it saw then.
            let begun = self.bench.now();
            if self.round_is_open(round) && self.over_budget(begun - started) {
                return Ok(Stop::TimeBudget);
            }
            let worked = self.round_is_open(round);
            if let Some(stop) = self.round(round)? {
                return Ok(stop);
            }
            if worked {
                self.round_seconds.push(self.bench.now() - begun);
            }
            if self.failures_in_a_row.iter().all(|count| *count >= FAILURES_IN_A_ROW_MAX) {
                return Ok(Stop::NothingLeft);
            }
            let (enough, decision) = self.decide();
            (self.watch)(Event::RoundEnded { round, values: &self.values, decision });
            if enough {
                return Ok(Stop::PrecisionReached);
            }
        }
        Ok(Stop::RoundsMax)
    }

    fn round(&mut self, round: u32) -> Result<Option<Stop>, Error> {
        let mut row = vec![None; self.plan.scenarios.len()];
        for (position, scenario) in self.plan.order(round).into_iter().enumerate() {
            let label = &self.plan.scenarios[scenario].label;
            let state = match self.done.state(label, round) {
                Some(state) => state,
                None if self.failures_in_a_row[scenario] >= FAILURES_IN_A_ROW_MAX => continue,
                None if self.interrupted.load(Ordering::Relaxed) => return Ok(Some(Stop::Interrupted)),
                None => self.trial(scenario, round, position as u32)?,
            };
            match state {
                TrialState::Finished => {
                    self.failures_in_a_row[scenario] = 0;
                    row[scenario] = self.done.value(label, round);
                }
                TrialState::Failed => self.failures_in_a_row[scenario] += 1,
                TrialState::Interrupted | TrialState::Running => return Ok(Some(Stop::Interrupted)),
            }
        }
        self.values.rounds.push(row);
        Ok(None)
    }

    fn trial(&mut self, scenario: usize, round: u32, position: u32) -> Result<TrialState, Error> {
        let spec = self.plan.trial_spec(scenario, round, position);
        let label = self.plan.scenarios[scenario].label.clone();
        (self.watch)(Event::TrialStarted {
            number: self.done.count() + 1,
            total_max: self.plan.scenarios.len() * self.plan.design.rounds_max as usize,
            round,
            scenario: &label,
        });
        let begun = self.bench.now();
        let id = self.writer.begin_trial(&label, round, position, spec.seed, begun)?;
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
        self.done.note(&label, round, state, geometric_mean(&notes.values));
        (self.watch)(Event::TrialEnded { scenario: &label, end: &end, seconds: ended - begun });
        Ok(state)
    }

    fn round_is_open(&self, round: u32) -> bool {
        self.plan.scenarios.iter().any(|scenario| self.done.state(&scenario.label, round).is_none())
    }

    fn over_budget(&self, elapsed_seconds: f64) -> bool {
        let Some(budget) = self.plan.design.time_budget_seconds else { return false };
        let next = self.round_seconds.iter().copied().fold(0.0, f64::max);
        elapsed_seconds + next > budget
    }

    /// The stop rule, workload by workload: enough when every one has enough.
    fn decide(&self) -> (bool, String) {
        let rules = rules(self.plan);
        let mut decisions = Vec::new();
        for workload in self.plan.workloads() {
            let observations = self.observations(&workload);
            decisions.push(stats::enough(&observations, &rules));
        }
        let enough = decisions.iter().all(stats::StopDecision::is_enough);
        (enough, decisions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    fn observations(&self, workload: &str) -> stats::Observations {
        let scenarios = &self.plan.scenarios;
        let columns: Vec<usize> = (0..scenarios.len()).filter(|i| scenarios[*i].workload == workload).collect();
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
    workloads::kind(workload)
        .and_then(|kind| (kind.metrics)(parameters).first().map(|metric| metric.name.to_string()))
        .unwrap_or_default()
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
            Record::Note { message } => writer.remark(id, message),
            Record::Run(run) => {
                let value = run.metrics.iter().find(|measured| measured.metric.name == primary);
                self.values.extend(value.filter(|_| !run.warm_up).map(|measured| measured.value));
                writer.run(id, run)
            }
            Record::RunStarted { .. } | Record::Progress { .. } | Record::Failed(_) | Record::Finished => Ok(()),
        };
        // The first error is the cause of the others.
        self.error = self.error.take().or(written.err());
    }
}

/// Several runs of a trial are one number: their geometric mean (the analysis is on the log scale).
fn geometric_mean(values: &[f64]) -> Option<f64> {
    let all_positive = !values.is_empty() && values.iter().all(|value| *value > 0.0);
    all_positive.then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}
