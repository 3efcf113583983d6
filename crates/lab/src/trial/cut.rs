//! A trial that measures what a power cut takes: the load runs on a recording disk, and then `crash` searches among the images that
//! a cut may have left.

mod copy_out;
mod faults;

use super::{Done, Out, STOP, Stopped, Trial};
use crash::recorder::Recorder;
use crash::search::Promised;
use crash::virtual_disks::VirtualDisks;
use observe::record::Record;
use std::time::Instant;
use study::trial_spec::Cut;

/// Records, then searches.
pub(super) fn conduct(trial: &Trial, wanted: &Cut, out: &mut Out) -> Done {
    if let Some(image) = &wanted.copy_out {
        return copy_out::conduct(trial, image, out);
    }
    if let Some(asked) = &trial.spec.faults {
        return faults::conduct(trial, wanted, asked, out);
    }
    let started = Instant::now();
    let mut recorder = Recorder::start(trial.work, trial.spec, wanted).map_err(Stopped::at("recording disk"))?;
    let spec = recorder.spec().clone();
    let trial = Trial { spec: &spec, cpus: trial.cpus.clone(), ..*trial };
    let (promised, notes) = record(&trial, &mut recorder, out)?;
    let recording = recorder.finish(notes).map_err(Stopped::at("power cut"))?;
    let record_seconds = started.elapsed().as_secs_f64();
    out.step("record", record_seconds);
    let searched = recording.search(promised, &STOP, &mut |record| out.say(record));
    let safety = searched.map_err(Stopped::at("power cut"))?;
    out.step("explore", safety.seconds - record_seconds);
    out.say(&Record::Safety(Box::new(safety)));
    Ok(())
}

/// Makes the filesystem and runs the load on the recording disk; then everything on it is ended. Gives what is promised of it on this
/// disk, which need not be the scenario's own, and what the load has to say.
fn record(trial: &Trial, recorder: &mut Recorder, out: &mut Out) -> Done<(Promised, Vec<String>)> {
    let by_load = trial.load().durability().class;
    let mut promised = Promised { by_load, by_settings: by_load };
    let mut notes = Vec::new();
    trial.on_storage(VirtualDisks::default(), out, |run_context, workload, served, out| {
        match served {
            None => {
                run_context.with_context(out, |context| workload.prepare(context)).map_err(Stopped::at("load"))?;
            }
            // A server that flushes late may have in its memory alone what was loaded through it: a cut that takes that is no commit's loss.
            Some(served) if !served.loaded.is_empty() => {
                run_context.with_context(out, |context| workload.ready(context)).map_err(Stopped::at("checkpoint"))?;
            }
            Some(_) => {}
        }
        run_context.volumes.settle().map_err(Stopped::at("settle"))?;
        let device = run_context.volumes.data.device_name.as_deref().unwrap_or_default();
        recorder.begin(device).map_err(Stopped::at("recording disk"))?;
        promised.by_settings = run_context.durability().class;
        let outcome = run_context.with_context(out, |context| workload.run(context));
        notes = outcome.map_err(Stopped::at("run"))?.notes;
        // What closing connections writes is a part of the log: SQLite's last one checkpoints and removes its own.
        workload.cool().map_err(Stopped::at("cool"))?;
        // The server is left to be ended by force: what it would still write is not part of the log.
        recorder.stop().map_err(Stopped::at("recording disk"))
    })?;
    Ok((promised, notes))
}
