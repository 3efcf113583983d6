//! `surefoot powercut`: what a power cut takes from each scenario, without the rounds that measure speed; and what is kept of those
//! that lost something (`powercut/kept.rs`).

#[cfg(target_os = "linux")]
mod kept;

use crate::cli::{PowercutArgs, RunArgs, StudyArgs};
use crate::failure::{Failure, Status};
use crate::source;
use crate::verbs::run;
use lab::conductor::What;

/// Measures each scenario of which it is not known yet, or shows what is kept of one.
pub fn run(args: &PowercutArgs) -> Result<Status, Failure> {
    match args.scenario {
        Some(_) => require_no_run(&args.run, "`--replay` and `--export`, which only look at what is kept")?,
        None => refuse_rounds(&args.run.study, "powercut", "--set safety.budget=60s")?,
    }
    // What is exported is only read.
    if args.export.is_none() {
        require_root("powercut")?;
    }
    let mut loaded = source::load(&args.run.study)?;
    if let Some(scenario) = &args.scenario {
        return look(args, &loaded.work, scenario);
    }
    loaded.plan.safety.get_or_insert_default();
    run::conduct(&args.run, loaded, run::Measured::Only(What::PowerCuts))
}

/// Both verbs stand on a disk that only root may mount. A guest kernel's is the same one, so that an ordinary user's study would end in a
/// hole for each scenario.
pub(super) fn require_root(verb: &str) -> Result<(), Failure> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let error =
        anyhow::anyhow!("`{verb}` needs root, also where trials run in a guest kernel: only root may mount its disk");
    Err(Failure::new(Status::Missing, error).hint("run it as root"))
}

/// What says how rounds are measured says nothing to a verb that measures none; `longer` looks longer at each scenario.
pub(super) fn refuse_rounds(study: &StudyArgs, verb: &str, longer: &str) -> Result<(), Failure> {
    refuse(&about_rounds(study), &format!("`{verb}`, which measures no rounds"))
        .map_err(|failure| failure.hint(format!("leave it out; `{longer}` looks longer at each scenario")))
}

/// An option, and whether it is given.
type Given = (&'static str, bool);

/// What says how rounds are measured.
fn about_rounds(study: &StudyArgs) -> [Given; 4] {
    [
        ("--rounds", study.rounds.is_some()),
        ("--time", study.time.is_some()),
        ("--tune", study.tune),
        ("--exhaustive", study.exhaustive),
    ]
}

/// Refuses the first option that is given without use.
fn refuse(options: &[Given], beside: &str) -> Result<(), Failure> {
    let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let error = anyhow::anyhow!("`{option}` has no effect with {beside}");
    Err(Failure::new(Status::BadStudy, error).hint("leave it out"))
}

/// Who looks at what is kept, or at one case, measures nothing.
pub(super) fn require_no_run(run: &RunArgs, beside: &str) -> Result<(), Failure> {
    let study = &run.study;
    let of_run = [
        ("--html", run.html.is_some()),
        ("--json", run.json),
        ("--full", run.full),
        ("--quiet", run.quiet),
        ("--pairing", run.pairing.is_some()),
        ("--member", run.member.is_some()),
        ("--skip-missing", run.skip_missing),
        ("--retry-failed", run.retry_failed),
        ("--accept-changes", run.accept_changes),
        ("--results", study.results.is_some()),
        ("--only", !study.only.is_empty()),
    ];
    let all = [&of_run[..], &about_rounds(study)].concat();
    refuse(&all, beside)
}

#[cfg(target_os = "linux")]
fn look(args: &PowercutArgs, work: &std::path::Path, scenario: &str) -> Result<Status, Failure> {
    let holder = sandbox::work::Holder::this_process(None);
    let work = sandbox::work::Work::own(work, &holder).map_err(run::unusable)?;
    match (&args.replay, &args.export) {
        (Some(state), _) => kept::replay(&work, scenario, state),
        (_, Some(file)) => kept::export(&work, scenario, file),
        (None, None) => unreachable!("a scenario is named with one of them"),
    }
}

#[cfg(not(target_os = "linux"))]
fn look(_: &PowercutArgs, _: &std::path::Path, _: &str) -> Result<Status, Failure> {
    let error = anyhow::anyhow!("power cuts are recorded, and their states served, on Linux only");
    Err(Failure::new(Status::Missing, error))
}
