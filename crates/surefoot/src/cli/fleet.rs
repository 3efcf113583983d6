//! The words of `surefoot fleet`.

use super::StudyArgs;
use clap::{Arg, Args, Subcommand};
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

/// What a fleet's nodes have in other places than one machine, and what its members refuse, which is not offered.
fn of_nodes(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "results" => option.value_name("DIR").help(
            "Folder of all members' results, on a disk that all nodes share [default under Slurm: STUDY.members]",
        ),
        "work" => option.help(
            "Folder for image files and caches, on each node's own disk; under Slurm with the node's name behind it \
             [default: /var/tmp/surefoot-STUDY]",
        ),
        "seed" => option.help("Seed of orders and data, of all members [default: made from the study]"),
        "tune" => option.hide(true),
        _ => option,
    }
}

/// `fleet slurm`.
#[derive(Args)]
#[command(mut_args(of_nodes))]
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
#[command(mut_args(of_nodes))]
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

#[cfg(test)]
mod tests {
    use crate::cli::Surefoot;
    use clap::CommandFactory as _;

    /// The help named the places of one machine, and offered what members refuse.
    #[test]
    fn a_fleet_s_help_names_its_own_places_and_offers_nothing_that_it_refuses() {
        let all = Surefoot::command();
        for scheduler in ["slurm", "kubernetes"] {
            let fleet = all.find_subcommand("fleet").expect("a verb");
            let verb = fleet.find_subcommand(scheduler).expect("a verb of its own");
            let find = |name: &str| verb.get_arguments().find(|one| one.get_id().as_str() == name).expect("an option");
            let help = |name: &str| find(name).get_help().expect("words").to_string();
            assert!(help("results").contains("all nodes share"), "{}", help("results"));
            assert!(help("work").contains("/var/tmp/surefoot-STUDY"), "{}", help("work"));
            assert!(help("seed").contains("made from the study"), "{}", help("seed"));
            assert!(find("tune").is_hide_set() && !find("rounds").is_hide_set());
        }
    }
}
