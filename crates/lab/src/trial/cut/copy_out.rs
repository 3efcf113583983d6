//! In the place of a measurement: one image of a measured scenario is brought up, and all that is on it is copied to a folder of the
//! work folder's, for a person who can't look into this kernel.

use super::super::{Done, Out, Stopped, Trial};
use crash::replay::{Kept, RECOVERY, copy_folder};
use observe::record::{CopiedOut, Record};
use powercut::states::Image;
use std::io;
use std::path::Path;
use std::process::Command;

/// Brings it up and copies.
pub(super) fn conduct(trial: &Trial, name: &str, out: &mut Out) -> Done {
    let image = name.parse::<Image>().map_err(Stopped::at("image"))?;
    let scenario = &trial.spec.scenario;
    let served = Kept::find(trial.work, scenario).and_then(|kept| kept.serve(trial.work, &image));
    let replayed = served.map_err(Stopped::at("recording disk"))?;
    let mut after = replayed.after.map_err(|error| {
        let mut stopped = Stopped::at(RECOVERY)(error);
        stopped.log.push('\n');
        stopped.log.push_str(replayed.checked.as_deref().unwrap_or_default());
        stopped
    })?;
    let (kernel, checker) = (after.kernel_said(), after.checker_said.take());
    let copied = copy(&trial.work.mount_point(), &copy_folder(trial.work, scenario, name));
    let lacking = copied.map_err(Stopped::at("copy"))?;
    out.say(&Record::CopiedOut(CopiedOut { checker, kernel, lacking }));
    Ok(())
}

/// Says what could not be copied, as damage may be met on the way.
fn copy(source: &Path, target: &Path) -> io::Result<String> {
    let output = Command::new("cp").arg("--archive").arg(source.join(".")).arg(target).env("LC_ALL", "C").output()?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}
