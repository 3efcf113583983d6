//! What a scheduler needs to know of a member, whichever it is: its study, its command line and how long it may take.

use crate::cli::StudyArgs;
use crate::failure::Failure;
use crate::source::{self, Loaded, RunsAs, STUDIES};
use crate::verbs::run::no_member;
use crash::plan::Plan;
use lab::estimate::{expected_seconds, of_unknown_length, safety_seconds};
use lab::member::{self, Part};
use std::path::{Path, PathBuf};

/// Where a node has its work folder, unless `--work` says another place: it must be the node's own disk.
const WORK: &str = "/var/tmp";
/// A time limit is so many times what is expected, and so much more for images and servers.
const RESERVE: f64 = 1.5;
const RESERVE_SECONDS: f64 = 600.0;

/// The study as a fleet's members measure it, or why they can't.
pub(super) fn load(study: &StudyArgs, members: u32, runs_as: RunsAs) -> Result<Loaded, Failure> {
    let mut loaded = source::load_for_nodes(study, runs_as)?;
    let part = Part { number: 1, of: members, known_by: String::new() };
    member::design(&mut loaded.plan, &part).map_err(no_member)?;
    Ok(loaded)
}

/// How long a member may take before something is wrong.
pub(super) fn limit_seconds(plan: &Plan) -> f64 {
    // A trial of which nobody knows how long it takes may take as long as any.
    let unknown_seconds =
        of_unknown_length(plan) as f64 * plan.design.trial_timeout_seconds * f64::from(plan.design.rounds_min);
    ((expected_seconds(plan) + safety_seconds(plan) + unknown_seconds) * RESERVE + RESERVE_SECONDS).ceil()
}

/// The work folder on a node.
pub(super) fn work(study: &StudyArgs, plan: &Plan) -> std::io::Result<PathBuf> {
    let work = study.work.clone().unwrap_or_else(|| Path::new(WORK).join(format!("surefoot-{}", plan.name)));
    std::path::absolute(work)
}

/// Whether it comes with surefoot, and is no file.
pub(super) fn is_built_in(study: &str) -> bool {
    !Path::new(study).is_file() && STUDIES.iter().any(|(name, _)| *name == study)
}

/// What changes the study, as words for a shell.
pub(super) fn changes(study: &StudyArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |option: &str, value: &str| words.extend([option.to_string(), report::quoted(value)]);
    study.set.iter().for_each(|change| option("--set", change));
    study.only.iter().for_each(|word| option("--only", word));
    study.rounds.iter().for_each(|rounds| option("--rounds", rounds));
    study.time.iter().for_each(|time| option("--time", time));
    study.seed.iter().for_each(|seed| option("--seed", &seed.to_string()));
    words.extend(study.exhaustive.then(|| "--exhaustive".into()));
    words
}
