//! Trials that take turns: all of a group are up at the same time, and recorded as they go.

use super::event::{Cut, Event};
use super::session::{Notes, Session, Started};
use crate::durability;
use crate::turns;
use crate::values::primary_metric;
use crash::plan::TrialSpec;
use ledger::model::{Order, Place};
use observe::record::Record;

impl Session<'_> {
    /// Measures these scenarios, each with its place in the round, in one go.
    pub(super) fn trials_by_turns(&mut self, open: &[(usize, Place)]) -> Result<(), Cut> {
        let (mut up, specs) = self.begin(open)?;
        let mut is_seen = vec![false; up.len()];
        let counts: Vec<u32> = specs.iter().map(|spec| spec.runs).collect();
        let order = turns::order(&counts, specs.first().map_or(0, |spec| spec.seed));
        let begun = self.bench.now();
        let (number, total_max) = (self.done.count() + 1, self.trials_max());
        let (writer, watch, scenarios) = (&mut self.writer, &mut *self.watch, &self.plan.scenarios);
        let ends = self.bench.run_by_turns(&specs, &order, self.interrupted, &mut |index, record| {
            let (trial, spec) = (&mut up[index], &specs[index]);
            let scenario = &scenarios[trial.scenario].label;
            if !std::mem::replace(&mut is_seen[index], true) {
                let Place { phase, round, .. } = trial.place;
                watch(Event::TrialStarted { number: number + index, total_max, phase, round, scenario });
            }
            watch(Event::Record(&record));
            if let Record::RunStarted { run, warm_up: false } = &record {
                watch(Event::TurnStarted { scenario, number: run - spec.warm_up_runs + 1, of: spec.runs });
            }
            trial.notes.take(writer, trial.id, &record);
        })?;
        let seconds = (self.bench.now() - begun) / ends.len().max(1) as f64;
        self.finish(up, Order::Turns, ends, seconds)
    }

    fn begin(&mut self, open: &[(usize, Place)]) -> Result<(Vec<Started>, Vec<TrialSpec>), Cut> {
        let (mut up, mut specs) = (Vec::new(), Vec::new());
        for (scenario, place) in open.iter().copied() {
            let mut spec = self.spec(scenario, place);
            turns::cut(&mut spec, self.plan);
            let planned = &self.plan.scenarios[scenario];
            let id = self.writer.begin_trial(&planned.label, place, spec.seed, self.bench.now())?;
            let promised = durability::of(planned).class;
            let notes = Notes::of(primary_metric(&spec.workload, &spec.parameters), promised);
            up.push(Started { scenario, place, id, notes });
            specs.push(spec);
        }
        Ok((up, specs))
    }
}
