//! `surefoot powercut`: what a power cut takes from each scenario, without the rounds that measure speed; and one state of
//! those that were found, to look at, or what its disk was told, for other tools.

use crate::cli::PowercutArgs;
use crate::failure::{Failure, Status};
use crate::source::{self, Loaded};
use crate::verbs::run;
use anyhow::anyhow;
use std::path::Path;

/// Measures each scenario of which it is not known yet, or shows a state.
pub fn run(args: &PowercutArgs) -> Result<Status, Failure> {
    let mut loaded = source::load(&args.run.study)?;
    if let (Some(state), Some(scenario)) = (&args.replay, &args.scenario) {
        return replay(&loaded, scenario, state);
    }
    if let (Some(file), Some(scenario)) = (&args.export, &args.scenario) {
        return export(&loaded, scenario, file);
    }
    loaded.plan.safety.get_or_insert_default();
    run::conduct(&args.run, loaded, run::Measured::PowerCuts)
}

#[cfg(target_os = "linux")]
fn replay(loaded: &Loaded, scenario: &str, state: &str) -> Result<Status, Failure> {
    let image = state.parse::<powercut::states::Image>().map_err(|error| {
        Failure::new(Status::BadStudy, error).hint("the report names states, at its findings after a power cut")
    })?;
    let work = lab::work::Work::open(&loaded.work)?;
    let replayed = lab::replay::serve(&work, scenario, &image)?;
    match &replayed.after {
        Ok(after) => println!("{scenario}, as power came back: {}", after.data_folder.display()),
        Err(error) => {
            let checked = replayed.checked.as_deref().unwrap_or_default();
            println!("{scenario} did not come up: {error}\n{checked}");
        }
    }
    println!("What you change there is thrown away. Press Enter to let it go.");
    std::io::stdin().read_line(&mut String::new())?;
    match replayed.after {
        Ok(after) => after.unmount().map(|()| Status::Answered).map_err(|error| {
            Failure::new(Status::Fault, anyhow!(error)).hint("leave the folder in all shells, and unmount it by hand")
        }),
        Err(_) => Ok(Status::Holes),
    }
}

#[cfg(target_os = "linux")]
fn export(loaded: &Loaded, scenario: &str, file: &Path) -> Result<Status, Failure> {
    let entries = lab::replay::export(&lab::work::Work::open(&loaded.work)?, scenario, file)?;
    println!("{}: {entries} entries, as dm-log-writes has them", file.display());
    Ok(Status::Answered)
}

#[cfg(not(target_os = "linux"))]
fn export(_: &Loaded, _: &str, _: &Path) -> Result<Status, Failure> {
    Err(Failure::new(Status::Missing, anyhow!("what a disk was told is recorded on Linux only")))
}

#[cfg(not(target_os = "linux"))]
fn replay(_: &Loaded, _: &str, _: &str) -> Result<Status, Failure> {
    Err(Failure::new(Status::Missing, anyhow!("states of a power cut are served on Linux only")))
}
