//! In the place of power cuts: what a failing disk does. The scenario's data are loaded on a disk of ours, and each case begins with them.

use super::super::{Done, Out, STOP, Stopped, Trial};
use crash::faults::{self, Beginning, Loaded};
use crash::virtual_disks::VirtualDisks;
use observe::record::Record;
use std::time::Instant;
use study::trial_spec::{Cut, Faults};

/// Loads, then searches, or runs one case again.
pub(super) fn conduct(trial: &Trial, cut: &Cut, asked: &Faults, out: &mut Out) -> Done {
    let started = Instant::now();
    let loaded = load(trial, cut, out)?;
    out.step("load", started.elapsed().as_secs_f64());
    if let Some(case) = &asked.replay {
        let case = case.parse::<powercut::fault::Case>().map_err(Stopped::at("case"))?;
        let replayed = faults::replay(&loaded, trial.spec, trial.work, asked, &case);
        let replayed = replayed.map_err(Stopped::at("failing disk"))?;
        out.say(&Record::FaultReplayed(Box::new(replayed)));
        return Ok(());
    }
    let searched = faults::search(&loaded, trial.spec, trial.work, asked, &STOP, &mut |record| out.say(record));
    let found = searched.map_err(Stopped::at("failing disk"))?;
    out.step("cases", found.seconds);
    out.say(&Record::Faults(Box::new(found)));
    Ok(())
}

/// Makes the filesystem, loads the data and leaves both in peace.
fn load(trial: &Trial, cut: &Cut, out: &mut Out) -> Done<Loaded> {
    let beginning = Beginning::start(trial.work, trial.spec, cut).map_err(Stopped::at("recording disk"))?;
    trial.on_storage(VirtualDisks::default(), out, |run_context, workload, served, out| {
        match served.take() {
            Some(served) => served.stop().map_err(Stopped::at("stop server"))?,
            None => {
                run_context.with_context(out, |context| workload.prepare(context)).map_err(Stopped::at("load"))?;
            }
        }
        run_context.volumes.settle().map_err(Stopped::at("settle"))
    })?;
    beginning.finish().map_err(Stopped::at("recording disk"))
}
