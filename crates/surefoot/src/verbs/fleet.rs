//! `surefoot fleet`: a study on many machines, under the scheduler that is there. Places and starts nothing itself.

mod kubernetes;
mod member;
mod slurm;
pub mod status;

use crate::cli::MergeArgs;
use crate::cli::fleet::{CollectArgs, FleetArgs, FleetCommand};
use crate::failure::{Failure, Status};
use anyhow::anyhow;
use std::path::Path;

/// Submits, prints what can be submitted, watches or collects.
pub fn run(args: &FleetArgs) -> Result<Status, Failure> {
    match &args.command {
        FleetCommand::Slurm(args) => slurm::run(args),
        FleetCommand::Kubernetes(args) => kubernetes::run(args),
        FleetCommand::Status(args) => status::run(args),
        FleetCommand::Collect(args) => collect(args),
    }
}

fn collect(CollectArgs { folder, output }: &CollectArgs) -> Result<Status, Failure> {
    require_folder(folder)?;
    let name = || {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        Path::new(folder.file_name().unwrap_or_default()).with_extension("surefoot")
    };
    let output = output.clone().unwrap_or_else(name);
    super::merge::run(&MergeArgs { results: vec![folder.clone()], output, html: None })
}

fn require_folder(folder: &Path) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    let error = anyhow!("{} is no folder", folder.display());
    Err(Failure::new(Status::BadStudy, error).hint("name the folder that the members had as --results"))
}
