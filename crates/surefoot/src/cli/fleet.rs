//! The words of `surefoot fleet`.

use super::StudyArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `fleet`.
#[derive(Args)]
pub struct FleetArgs {
    /// What to do with a fleet
    #[command(subcommand)]
    pub command: FleetCommand,
}

/// What is done with a fleet.
#[derive(Subcommand)]
pub enum FleetCommand {
    /// Run a study on many nodes as an array of Slurm jobs; `--results` names a folder that all nodes share
    Slurm(SlurmArgs),
    /// Print a manifest of an Indexed Job of Kubernetes' for a study on many nodes; `--results` names a folder that all nodes have mounted
    Kubernetes(KubernetesArgs),
    /// Show how far each member is, from the results and from Slurm's queue
    Status(FleetStatusArgs),
    /// Bring a fleet's results together in one file, and show its answer
    Collect(CollectArgs),
}

/// `fleet slurm`.
#[derive(Args)]
pub struct SlurmArgs {
    /// Which study
    #[command(flatten)]
    pub study: StudyArgs,
    /// Members, a node each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(ledger::model::MEMBERS_MAX)))]
    pub nodes: u32,
    /// Another line for Slurm, like `--partition=fast`; repeatable
    #[arg(long = "sbatch", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
    /// Print the batch script and submit nothing
    #[arg(long)]
    pub print: bool,
}

/// `fleet kubernetes`.
#[derive(Args)]
pub struct KubernetesArgs {
    /// Which study
    #[command(flatten)]
    pub study: StudyArgs,
    /// Members, a node each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(ledger::model::MEMBERS_MAX)))]
    pub nodes: u32,
    /// The image that has surefoot and what the study needs
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// Put results into this PersistentVolumeClaim, which all nodes may write to, instead of a folder that they have mounted
    #[arg(long, value_name = "NAME", conflicts_with = "results")]
    pub claim: Option<String>,
    /// Where the image has the study file [default: the manifest carries it]
    #[arg(long, value_name = "PATH")]
    pub image_study: Option<String>,
}

/// `fleet status`.
#[derive(Args)]
pub struct FleetStatusArgs {
    /// The folder of the members' results
    pub folder: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `fleet collect`.
#[derive(Args)]
pub struct CollectArgs {
    /// The folder of the members' results
    pub folder: PathBuf,
    /// The file to write [default: the folder's name, in this folder]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
