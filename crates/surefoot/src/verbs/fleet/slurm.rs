//! `fleet slurm`: an array of jobs, a member each, each alone on a node.
//!
//! Slurm places, starts again what a node took with it, and stops; the script says only what a member needs.

use super::member;
use crate::cli::StudyArgs;
use crate::cli::fleet::SlurmArgs;
use crate::failure::{Failure, Status};
use crate::source::RunsAs;
use crate::verbs::status::results_in;
use anyhow::{Context as _, anyhow};
use crash::plan::Plan;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The script and the number of its job lie beside the results.
const SCRIPT: &str = "slurm.sh";
pub(super) const JOB: &str = "slurm.job";

/// Prints or submits the batch script.
pub fn run(args: &SlurmArgs) -> Result<Status, Failure> {
    let plan = member::load(&args.study, args.nodes, RunsAs::ThisUser)?.plan;
    let folder = args.study.results.clone().unwrap_or_else(|| format!("{}.members", plan.name).into());
    let folder = std::path::absolute(folder)?;
    let script = script(args, &plan, &folder)?;
    if args.print {
        print!("{script}");
        return Ok(Status::Answered);
    }
    let path = folder.join(SCRIPT);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(&path, script).with_context(|| format!("cannot write {}", path.display()))?;
    there_already(&folder).iter().for_each(|note| eprintln!("note: {note}"));
    let job = submit(&path)?;
    std::fs::write(folder.join(JOB), format!("{job}\n"))?;
    println!("submitted job {job}: {} members, a node each", args.nodes);
    println!("{}", what_next(&folder));
    Ok(Status::Answered)
}

/// Commands as a shell takes them.
fn what_next(folder: &Path) -> String {
    let folder = report::quoted(&folder.to_string_lossy());
    format!("`surefoot fleet status {folder}` shows how far they are, `surefoot fleet collect {folder}` the answer")
}

/// What becomes of a fleet that is measured anew in the folder of one before, as after an upgrade: it would be told as the answer of now.
fn there_already(folder: &Path) -> Option<String> {
    let is_there = results_in(folder).is_ok_and(|files| !files.is_empty());
    is_there.then(|| {
        format!(
            "{} has results already: of two starts of a member that came as far, the earlier one counts; to measure anew, name another folder \
             with --results",
            folder.display()
        )
    })
}

/// The number of the job.
fn submit(script: &Path) -> Result<String, Failure> {
    let output = Command::new("sbatch").arg("--parsable").arg(script).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        Failure::new(Status::Missing, anyhow!(error).context("cannot start sbatch"))
            .hint("run it where Slurm's commands are (Debian's package slurm-client); --print shows the script")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        return Err(Failure::new(Status::Fault, anyhow!("sbatch refused: {said}")).hint("--print shows the script"));
    }
    // With several clusters a name follows the number.
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.trim().split(';').next().unwrap_or_default().to_string())
}

fn script(args: &SlurmArgs, plan: &Plan, folder: &Path) -> Result<String, Failure> {
    let minutes = (member::limit_seconds(plan) / 60.0).ceil() as u64;
    let program = std::env::current_exe()?;
    let work = member::work(&args.study, plan)?;
    let mut words = vec![report::quoted(&program.to_string_lossy()), "run".into(), study(&args.study)?];
    words.extend(member::changes(&args.study));
    // Not `auto`: who fills a hole with `sbatch --array=3` starts a part of the array.
    words.extend(["--member".into(), format!("\"$SLURM_ARRAY_TASK_ID/{}\"", args.nodes)]);
    words.extend(["--results".into(), report::quoted(&folder.to_string_lossy())]);
    words.extend(["--work".into(), "\"$work\"".into(), "--quiet".into()]);
    let mut text = String::from("#!/bin/bash\n");
    let mut line = |words: &str| writeln!(text, "{words}").expect("a string takes all");
    line(&format!("#SBATCH --job-name=surefoot-{}", plan.name));
    line(&format!("#SBATCH --array=1-{}", args.nodes));
    line("#SBATCH --nodes=1");
    line("#SBATCH --exclusive");
    // Of a node that is ours alone the job still has a partition's default share of the memory; 0 is all of it (sbatch(1)). Two of
    // `--mem`, `--mem-per-cpu` and `--mem-per-gpu` exclude each other: who says one has that.
    let is_memory =
        |option: &String| matches!(option.split(['=', ' ']).next(), Some("--mem" | "--mem-per-cpu" | "--mem-per-gpu"));
    if !args.options.iter().any(is_memory) {
        line("#SBATCH --mem=0");
    }
    line("#SBATCH --requeue");
    line("#SBATCH --open-mode=append");
    line(&format!("#SBATCH --time={minutes}"));
    // Slurm reads these lines itself: words by quotes, and `%` in a file's name as a pattern.
    let log = folder.to_string_lossy().replace('%', "%%");
    line(&format!("#SBATCH --output=\"{log}/slurm-%A_%a.log\""));
    args.options.iter().for_each(|option| line(&format!("#SBATCH {option}")));
    line(
        "# Images lie on the node's own disk, which is what is measured. A folder each, in case nodes share that path.",
    );
    line(&format!("work={}-$SLURMD_NODENAME", report::quoted(&work.to_string_lossy())));
    line(&words.join(" "));
    line("status=$?");
    line(
        "# What was measured lies with the results. After a fault the folder stays, and the same node goes on with it.",
    );
    line(&format!(
        "case $status in 0|3) {} clean --work \"$work\" ;; esac",
        report::quoted(&program.to_string_lossy())
    ));
    line("exit $status");
    Ok(text)
}

/// The study for a node: a file by its whole path, which all nodes must see.
fn study(study: &StudyArgs) -> std::io::Result<String> {
    let built_in = member::is_built_in(&study.study).then(|| PathBuf::from(&study.study));
    let path = built_in.map_or_else(|| std::path::absolute(&study.study), Ok)?;
    Ok(report::quoted(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::{there_already, what_next};
    use std::path::Path;

    /// A shell had taken what was said for two folders.
    #[test]
    fn commands_of_a_folder_with_a_space_can_be_pasted() {
        let said = what_next(Path::new("/shared/my mail"));
        assert!(said.starts_with("`surefoot fleet status '/shared/my mail'` shows"), "{said}");
        assert!(what_next(Path::new("/shared/mail")).contains("`surefoot fleet collect /shared/mail`"));
    }

    /// The answer of the kernel before had been told as that of the new one: all members had come as far, and earlier.
    #[test]
    fn who_measures_anew_is_told_of_the_results_that_count() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(there_already(folder.path()), None);
        std::fs::write(folder.path().join("slurm.sh"), "").expect("written");
        assert_eq!(there_already(folder.path()), None);
        std::fs::write(folder.path().join("mail.member-1-of-2.attempt-1.surefoot"), "").expect("written");
        let said = there_already(folder.path()).expect("there are results");
        assert!(said.contains("the earlier one counts; to measure anew, name another folder with --results"), "{said}");
    }
}
