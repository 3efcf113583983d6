//! One session of a study: what its phases share, and the trials that they ask for.

use super::event::{Cut, Error, Event, Stop};
use crate::bench::{Bench, End};
use crate::durability;
use crate::groups::{self, Seat};
use crate::resume::{Done, Opened};
use crate::tune::Tune;
use crate::values::{Values, primary_metric};
use analysis::parity::{Rule, Standing};
use crash::plan::{Plan, TrialSpec};
use ledger::figure::{self, Zero};
use ledger::groups::{Figure, adjusted};
use ledger::model::{Order, Phase, Place, TrialState};
use observe::durability::{Class, Durability};
use observe::record::{Failure, Record};
use std::sync::atomic::{AtomicBool, Ordering};

/// A scenario that failed in this many rounds in a row is given up: its hole is the result.
const FAILURES_IN_A_ROW_MAX: u32 = 2;

pub(super) struct Session<'a> {
    pub(super) plan: &'a Plan,
    pub(super) writer: ledger::Writer,
    pub(super) done: Done,
    pub(super) bench: &'a mut dyn Bench,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) watch: &'a mut dyn FnMut(Event),
    /// Of the main rounds.
    pub(super) values: Values,
    pub(super) tune: Tune,
    /// Scenarios that a screen left out; none before it is complete.
    pub(super) left_out: Option<Vec<bool>>,
    pub(super) trial_seconds_max: f64,
    pub(super) failures_in_a_row: Vec<u32>,
    started: f64,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        opened: Opened,
        bench: &'a mut dyn Bench,
        interrupted: &'a AtomicBool,
        watch: &'a mut dyn FnMut(Event),
    ) -> Session<'a> {
        let scenarios: Vec<String> = plan.scenarios.iter().map(|scenario| scenario.label.clone()).collect();
        let count = scenarios.len();
        let Opened { writer, done } = opened;
        Session {
            tune: Tune::new(plan, done.decisions.clone(), &vec![false; count]),
            left_out: None,
            plan,
            writer,
            done,
            started: bench.now(),
            bench,
            interrupted,
            watch,
            values: Values { scenarios, rounds: Vec::new() },
            failures_in_a_row: vec![0; count],
            trial_seconds_max: 0.0,
        }
    }

    /// Whether a trial of this round is still to be done.
    pub(super) fn is_open(&self, (phase, round): (Phase, u32), wanted: &[bool]) -> bool {
        let mut seats = groups::of_round(self.plan, drawn(phase, round), wanted).into_iter().flatten();
        seats.any(|seat| self.state(seat, phase, round).is_none())
    }

    fn state(&self, seat: Seat, phase: Phase, round: u32) -> Option<TrialState> {
        self.done.state(&self.plan.scenarios[seat.scenario].label, place(seat, phase, round))
    }

    /// Whether a scenario is measured in the main rounds that are left.
    pub(super) fn is_studied(&self, scenario: usize) -> bool {
        !self.is_left_out(scenario) && !self.tune.is_dropped(scenario)
    }

    pub(super) fn is_left_out(&self, scenario: usize) -> bool {
        self.left_out.as_ref().is_some_and(|left_out| left_out[scenario])
    }

    /// Whether a scenario failed so often that it is measured no more.
    pub(super) fn is_given_up(&self, scenario: usize) -> bool {
        self.failures_in_a_row[scenario] >= FAILURES_IN_A_ROW_MAX
    }

    /// Whether so many more seconds would not fit into the study's time.
    pub(super) fn exceeds_budget(&self, seconds: f64) -> bool {
        let all = self.bench.now() - self.started + seconds;
        self.plan.design.time_budget_seconds.is_some_and(|budget| all > budget)
    }

    /// Seconds that so many trials may take.
    pub(super) fn seconds_of(&self, trials: usize) -> f64 {
        self.trial_seconds_max * trials as f64
    }

    /// One pass over the `wanted` scenarios: a value each, none where it failed.
    pub(super) fn round(&mut self, (phase, round): (Phase, u32), wanted: &[bool]) -> Result<Vec<Option<f64>>, Cut> {
        let groups = groups::of_round(self.plan, drawn(phase, round), wanted);
        for group in &groups {
            let is_open = |seat: &Seat| self.state(*seat, phase, round).is_none() && !self.is_given_up(seat.scenario);
            let open: Vec<(usize, Place)> =
                group.iter().copied().filter(is_open).map(|seat| (seat.scenario, place(seat, phase, round))).collect();
            match (&*open, self.plan.drawn.order) {
                ([], _) => {}
                _ if self.interrupted.load(Ordering::Relaxed) => return Err(Cut::Stop(Stop::Interrupted)),
                ([(scenario, place), ..], study::Order::Blocks) => self.trial(*scenario, *place)?,
                (_, study::Order::Turns) => self.trials_by_turns(&open)?,
            }
            let is_cut = |seat: &Seat| self.state(*seat, phase, round) == Some(TrialState::Interrupted);
            if group.iter().any(is_cut) {
                return Err(Cut::Stop(Stop::Interrupted));
            }
        }
        let seats = groups.concat();
        self.count_failures(&seats, (phase, round));
        Ok(self.row(&seats, (phase, round)))
    }

    /// Counts in how many rounds in a row a scenario failed wherever it was.
    fn count_failures(&mut self, seats: &[Seat], (phase, round): (Phase, u32)) {
        for scenario in 0..self.plan.scenarios.len() {
            let of_scenario = seats.iter().filter(|seat| seat.scenario == scenario);
            let states: Vec<TrialState> = of_scenario.filter_map(|seat| self.state(*seat, phase, round)).collect();
            if states.contains(&TrialState::Finished) {
                self.failures_in_a_row[scenario] = 0;
            } else if !states.is_empty() {
                self.failures_in_a_row[scenario] += 1;
            }
        }
    }

    /// A round's figures, groups made comparable.
    fn row(&self, seats: &[Seat], (phase, round): (Phase, u32)) -> Vec<Option<f64>> {
        let mut row = vec![None; self.plan.scenarios.len()];
        for workload in self.plan.workloads() {
            let figure = |&seat: &Seat| {
                let Seat { scenario, group, .. } = seat;
                let planned = &self.plan.scenarios[scenario];
                let value = self.done.value(&planned.label, place(seat, phase, round))?;
                let is_shared = groups::is_shared(self.plan, scenario);
                (planned.workload == workload).then_some(Figure { scenario, group, is_shared, value })
            };
            let figures: Vec<Figure> = seats.iter().filter_map(figure).collect();
            adjusted(&figures).into_iter().for_each(|(scenario, value)| row[scenario] = Some(value));
        }
        row
    }

    /// A trial's specification.
    pub(super) fn spec(&self, scenario: usize, place: Place) -> TrialSpec {
        self.plan.trial_spec(scenario, drawn(place.phase, place.round), place.position)
    }

    fn trial(&mut self, scenario: usize, place: Place) -> Result<(), Cut> {
        let Place { phase, round, .. } = place;
        let spec = self.spec(scenario, place);
        let label = &self.plan.scenarios[scenario].label;
        let (number, total_max) = (self.done.count() + 1, self.trials_max());
        (self.watch)(Event::TrialStarted { number, total_max, phase, round, scenario: label });
        let begun = self.bench.now();
        let id = self.writer.begin_trial(label, place, spec.seed, begun)?;
        let promised = durability::of(&self.plan.scenarios[scenario]).class;
        let mut notes = Notes::of(primary_metric(&spec.workload, &spec.parameters), promised);
        let (writer, watch) = (&mut self.writer, &mut *self.watch);
        let end = self.bench.run(&spec, self.interrupted, &mut |record| {
            watch(Event::Record(&record));
            notes.take(writer, id, &record);
        })?;
        let seconds = self.bench.now() - begun;
        self.finish(vec![Started { scenario, place, id, notes }], Order::Blocks, vec![end], seconds)
    }

    /// Records how trials ended that were up at the same time and took so long each. They stand or fall together: what is left of an
    /// interrupted group would be measured on another day, without its baseline.
    pub(super) fn finish(
        &mut self,
        mut trials: Vec<Started>,
        order: Order,
        mut ends: Vec<End>,
        seconds: f64,
    ) -> Result<(), Cut> {
        if let Some(error) = trials.iter_mut().find_map(|trial| trial.notes.error.take()) {
            return Err(error.into());
        }
        if ends.contains(&End::Interrupted) {
            ends.fill(End::Interrupted);
        }
        let ended = trials.iter().zip(&ends).map(|(trial, end)| {
            let (state, failure) = recorded(end);
            (trial.id, state, failure)
        });
        self.writer.finish_trials(&ended.collect::<Vec<_>>(), self.bench.now())?;
        self.trial_seconds_max = self.trial_seconds_max.max(seconds);
        for (Started { scenario, place, notes, .. }, end) in trials.into_iter().zip(&ends) {
            let label = &self.plan.scenarios[scenario].label;
            let value = figure::of_runs(&notes.values, figure::Rule::of(order, &notes.unit, Zero::Stall));
            // As a later session reads it: what failed behind its runs has no figure, as its data may be wrong.
            let value = value.filter(|_| *end == End::Finished);
            self.done.note(label, place, recorded(end).0, value);
            (self.watch)(Event::TrialEnded { scenario: label, end, seconds });
        }
        Ok(())
    }

    /// Trials that the study has at most, as it looks now.
    pub(super) fn trials_max(&self) -> usize {
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
        let studied = self.plan.scenarios.len() - left_out + groups::repeated(self.plan).len();
        let main = studied * design.rounds_max as usize - dropped * left;
        (screen + main + confirmation).max(self.done.count() + 1)
    }

    /// What comes before each scenario's speed: what a power cut may take, by its settings, the flushes that its trials had so far and
    /// what was measured; how much of what was asked of it went wrong; and in how many rounds it failed.
    pub(super) fn standings(&self) -> Result<Vec<Standing>, Error> {
        let metrics = [analysis::flushing::METRICS, analysis::errors::METRICS].concat();
        let contents = self.writer.reader()?.contents_with(&metrics)?;
        let flushing = analysis::flushing::flushing(&contents);
        let errors = analysis::errors::errors(&contents);
        let failed = analysis::failures::failed_rounds(&contents, Phase::Main);
        let standing = |scenario: &ledger::model::Scenario| {
            let rule = Rule::of(&contents, &scenario.workload);
            let measured = contents.safety_of(scenario).and_then(|measured| measured.safety.as_ref());
            let class = rule.competes_in(scenario.durability.class, flushing.get(&scenario.label), measured);
            let errors = errors.get(&scenario.label).cloned().unwrap_or_default();
            let failed = failed.get(&scenario.label).copied().unwrap_or(0);
            // Who is never picked beats nobody.
            Standing { class: class.unwrap_or(Class::LosesAll), errors, failed }
        };
        Ok(contents.scenarios.iter().map(standing).collect())
    }
}

/// How the ledger has an end.
fn recorded(end: &End) -> (TrialState, Option<&Failure>) {
    match end {
        End::Finished => (TrialState::Finished, None),
        End::Failed(failure) => (TrialState::Failed, Some(failure)),
        End::Interrupted => (TrialState::Interrupted, None),
    }
}

/// A trial that was begun.
pub(super) struct Started {
    pub(super) scenario: usize,
    pub(super) place: Place,
    /// Its number in the ledger.
    pub(super) id: i64,
    pub(super) notes: Notes,
}

/// What is noted of a trial while its records go to the ledger.
pub(super) struct Notes {
    /// The primary metric's name, and its unit once a run had it.
    primary: String,
    unit: String,
    /// Its value in each measured run, and the run's seconds.
    values: Vec<(f64, f64)>,
    /// What its scenario's settings say that a power cut takes.
    promised: Class,
    error: Option<ledger::Error>,
}

impl Notes {
    pub(super) fn of(primary: String, promised: Class) -> Notes {
        Notes { primary, unit: String::new(), values: Vec::new(), promised, error: None }
    }

    pub(super) fn take(&mut self, writer: &mut ledger::Writer, id: i64, record: &Record) {
        let written = match record {
            Record::Step { name, seconds } => writer.step(id, name, *seconds),
            Record::Provisioned(provisioned) => {
                let less = provisioned.durability.as_ref().filter(|found| found.class > self.promised);
                let weakened = less.map_or(Ok(()), |found| {
                    writer.keeps_less(id, found).and_then(|()| writer.warning(id, &keeps_less(found)))
                });
                writer.provisioned(id, provisioned).and(weakened)
            }
            Record::Warning { message } => writer.warning(id, message),
            Record::Note { message } => writer.note(id, message),
            Record::Transcript { text } => writer.transcript(id, text),
            Record::Run(run) => {
                let value = run.metrics.iter().find(|measured| measured.metric.name == self.primary);
                if let Some(measured) = value.filter(|_| !run.warm_up) {
                    self.unit = measured.metric.unit.to_string();
                    self.values.push((measured.value, run.seconds));
                }
                writer.run(id, run)
            }
            Record::Waiting
            | Record::RunStarted { .. }
            | Record::Progress { .. }
            | Record::Safety(_)
            | Record::Faults(_)
            | Record::FaultReplayed(_)
            | Record::Recovering { .. }
            | Record::CopiedOut(_)
            | Record::Failed(_)
            | Record::Finished => Ok(()),
        };
        // The first error is the cause of the others.
        self.error = self.error.take().or(written.err());
    }
}

/// What is said of storage that was found to keep less than a scenario's settings promise.
fn keeps_less(found: &Durability) -> String {
    let why = found.reasons.join("; ");
    format!("after a power cut it {}, which its settings do not say: {why}", found.class.words())
}

fn place(Seat { position, group, .. }: Seat, phase: Phase, round: u32) -> Place {
    Place { phase, round, position, group }
}

/// The number under which order and seeds of a phase's round are drawn.
fn drawn(phase: Phase, round: u32) -> u32 {
    match phase {
        Phase::Screen => Plan::screen_round(round),
        Phase::Main => round,
        Phase::Confirmation => Plan::confirmation_round(round),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::model::{Scenario, StudyRecord};
    use observe::record::Provisioned;
    use std::collections::BTreeMap;

    /// An image in memory, which no setting names.
    #[test]
    fn a_scenario_is_held_to_what_its_storage_was_found_to_keep() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = ledger::Writer::create_or_open(&folder.path().join("s.surefoot")).expect("a new file");
        let scenario = |label: &str| Scenario {
            label: label.into(),
            levels: BTreeMap::new(),
            workload: "oltp".into(),
            primary_metric: "transactions_per_second".into(),
            control: false,
            baseline: false,
            durability: Durability::full(),
            settings: serde_json::Value::Null,
        };
        writer.set_study(&StudyRecord::default(), &[scenario("ext4"), scenario("xfs")], None).expect("written");
        writer.begin_session(&BTreeMap::new(), 1.0).expect("written");
        let lost = Durability::because(Class::LosesAll, "the image file lies on: memory");
        for (label, found) in [("ext4", &lost), ("xfs", &Durability::full())] {
            let id = writer.begin_trial(label, Place::main(0, 0), 1, 2.0).expect("written");
            let provisioned = Provisioned { durability: Some(found.clone()), ..Provisioned::default() };
            let mut notes = Notes::of("transactions_per_second".into(), Class::KeepsAcknowledged);
            notes.take(&mut writer, id, &Record::Provisioned(provisioned));
            assert!(notes.error.is_none(), "{:?}", notes.error);
            writer.finish_trials(&[(id, TrialState::Finished, None)], 3.0).expect("written");
        }
        // A trial that does not count binds nobody: the next was made elsewhere.
        let cut_off = writer.begin_trial("xfs", Place::main(1, 0), 1, 4.0).expect("written");
        writer.keeps_less(cut_off, &lost).expect("written");
        writer.finish_trials(&[(cut_off, TrialState::Interrupted, None)], 5.0).expect("written");
        let contents = writer.reader().and_then(|reader| reader.contents()).expect("readable");
        assert_eq!(contents.scenarios[0].durability, lost);
        assert_eq!(contents.scenarios[1].durability, Durability::full());
        let warned =
            "after a power cut it loses everything, which its settings do not say: the image file lies on: memory";
        assert_eq!(contents.trials[0].warnings, [warned]);
        assert!(contents.trials[1].warnings.is_empty() && contents.trials[0].notes.is_empty());
    }
}
