//! A trial's runs, each in its turn where the trial takes turns, and the last look at the data.

use super::turns::Turns;
use super::{Done, Out, RunContext, Stopped};
use load::workload::Workload;
use observe::metric::Measured;
use observe::record::{Record, Run};
use observe::sampler::{Sampler, Watched};
use std::sync::mpsc::Receiver;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use study::trial_spec::Cache;

impl RunContext<'_> {
    /// All runs, each in its turn where the trial takes turns, and the last look at the data.
    pub(super) fn run_all(&mut self, workload: &mut dyn Workload, told: &Receiver<()>, out: &mut Out) -> Done {
        let spec = self.trial.spec;
        let mut turns = spec.turns.map(|settings| Turns::new(settings, told));
        for run in 0..spec.warm_up_runs + spec.runs {
            if let Some(turns) = turns.as_mut().filter(|_| run >= spec.warm_up_runs) {
                if run == spec.warm_up_runs {
                    turns.judge(true, out)?;
                }
                turns.wait(self.volumes, out)?;
            }
            self.run(run, workload, turns.as_mut(), out)?;
        }
        if let Some(turns) = &mut turns {
            turns.wait(self.volumes, out)?;
            turns.judge(false, out)?;
        }
        let verifying = Instant::now();
        self.with_context(out, |context| workload.verify(context)).map_err(Stopped::at("verify"))?;
        out.step("verify", verifying.elapsed().as_secs_f64());
        Ok(())
    }

    fn run(&mut self, run: u32, workload: &mut dyn Workload, mut turns: Option<&mut Turns>, out: &mut Out) -> Done {
        let warm_up = run < self.trial.spec.warm_up_runs;
        self.with_context(out, |context| workload.ready(context)).map_err(Stopped::at("make ready"))?;
        if self.trial.spec.cache == Cache::Cold {
            workload.cool().map_err(Stopped::at("cool"))?;
            storage::drop_caches().map_err(Stopped::at("cool"))?;
        }
        out.say(&Record::RunStarted { run, warm_up });
        let started = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs_f64();
        let sampler = Sampler::start(&Watched {
            device: self.volumes.data.device_name.as_deref(),
            log_device: self.volumes.log_device(),
            place: Some(self.volumes.data.place()),
            disks: &self.disks.processes(),
        });
        self.disks.begin().map_err(Stopped::at("virtual disk"))?;
        let outcome = self.with_context(out, |context| {
            // All runs of a trial are one long load, so that what is measured is a server at work and not one that was just made ready.
            context.goes_on = run > 0;
            workload.run(context)
        });
        let flush_seconds = turns.as_ref().map(|turns| turns.flush(self.volumes)).transpose()?;
        let telemetry = sampler.stop();
        let mut outcome = outcome.map_err(Stopped::at("run"))?;
        self.disks.stop().map_err(Stopped::at("virtual disk"))?;
        // The one place where a run with errors stands or fails, whatever the workload.
        match &mut turns {
            Some(turns) => turns.note(&outcome.asked),
            None => outcome.asked.judge().map_err(Stopped::at("run"))?,
        }
        let mut metrics = std::mem::take(&mut outcome.metrics);
        metrics.extend(outcome.asked.metrics());
        metrics.extend(self.disks.metrics());
        metrics.extend(self.trial.cpus.metrics.iter().cloned());
        metrics.extend(observe::sampler::derived(&telemetry, outcome.bytes_written, outcome.commits));
        metrics.extend(telemetry.metrics);
        metrics.extend(self.loaded.iter().cloned());
        outcome.series.extend(telemetry.series);
        if !warm_up {
            self.disks.check().map_err(Stopped::at("run"))?;
            self.check_primary(&metrics)?;
        }
        if let (Some(turns), Some(flush_seconds)) = (&turns, flush_seconds) {
            outcome.seconds = turns.charge(&mut metrics, &self.primary().unwrap_or_default(), &outcome, flush_seconds);
        }
        let (seconds, latencies, series) = (outcome.seconds, outcome.latencies, outcome.series);
        out.say(&Record::Run(Run { run, warm_up, started, seconds, metrics, latencies, series }));
        // Of turns, what was asked for is judged and said at their end.
        let of_asked = if turns.is_some() { Vec::new() } else { outcome.asked.notes() };
        say_notes(of_asked.into_iter().chain(outcome.notes), warm_up, turns, out);
        if let Some(text) = outcome.transcript {
            out.say(&Record::Transcript { text });
        }
        Ok(())
    }

    /// A run without its primary figure, or with one that is no number, is a failure and not a hole in a table.
    fn check_primary(&self, metrics: &[Measured]) -> Done {
        let Some(primary) = self.primary() else { return Ok(()) };
        let found = metrics.iter().find(|measured| measured.metric.name == primary);
        match found {
            Some(measured) if measured.value.is_finite() => Ok(()),
            _ => Err(Stopped::at("run")(format!("the run yielded no `{primary}`"))),
        }
    }

    /// The primary metric's name; `command` has one only where its settings name one.
    fn primary(&self) -> Option<String> {
        self.trial.load().metrics().first().map(|primary| primary.name.to_string())
    }
}

/// Says what a reader of the run should know, of turns once.
fn say_notes(notes: impl Iterator<Item = String>, warm_up: bool, mut turns: Option<&mut Turns>, out: &mut Out) {
    for note in notes {
        let message = if warm_up { format!("in a warm-up: {note}") } else { note };
        if turns.as_mut().is_none_or(|turns| turns.is_new(&message)) {
            out.say(&Record::Note { message });
        }
    }
}
