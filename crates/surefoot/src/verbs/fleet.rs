//! `surefoot fleet`: a study on many machines, under the scheduler that is there. Places and starts nothing itself.

mod kubernetes;
mod member;
mod slurm;
pub mod status;

use crate::cli::MergeArgs;
use crate::cli::fleet::{CollectArgs, FleetArgs, FleetCommand};
use crate::failure::{Failure, Status};
use anyhow::anyhow;
use std::path::{Path, PathBuf};

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
    let name = || file_of(&folder.canonicalize().unwrap_or_else(|_| folder.clone()));
    let output = output.clone().unwrap_or_else(name);
    super::merge::run(&MergeArgs { results: vec![folder.clone()], output, html: None })
}

/// The whole name of a folder, which may have points, as that of a results file.
fn file_of(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_os_string();
    name.push(".surefoot");
    name.into()
}

fn require_folder(folder: &Path) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    let error = anyhow!("{} is no folder", folder.display());
    Err(Failure::new(Status::BadStudy, error).hint("name the folder that the members had as --results"))
}

#[cfg(test)]
mod tests {
    use super::file_of;
    use std::path::Path;

    #[test]
    fn folders_with_points_have_files_of_their_own() {
        let files =
            ["/shared/mail", "/shared/linux-6.1", "/shared/linux-6.12"].map(|folder| file_of(Path::new(folder)));
        assert_eq!(files, ["mail.surefoot", "linux-6.1.surefoot", "linux-6.12.surefoot"].map(Path::new));
    }
}
