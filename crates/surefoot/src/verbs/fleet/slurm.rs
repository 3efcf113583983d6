//! `fleet slurm`: an array of jobs, a member each, each alone on a node.
//!
//! Slurm places, starts again what a node took with it, and stops; the script says only what a member needs.

use crate::cli::StudyArgs;
use crate::cli::fleet::SlurmArgs;
use crate::failure::{Failure, Status};
use crate::source::{self, Loaded, STUDIES};
use anyhow::{Context as _, anyhow};
use lab::estimate::round_seconds;
use lab::member::{self, Part};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The script and the number of its job lie beside the results.
const SCRIPT: &str = "slurm.sh";
pub(super) const JOB: &str = "slurm.job";
/// Where a node has its work folder, unless `--work` says another place: it must be the node's own disk.
const WORK: &str = "/var/tmp";
/// A time limit is so many times what is expected, and so much more for images and servers.
const RESERVE: f64 = 1.5;
const RESERVE_SECONDS: f64 = 600.0;

/// Prints or submits the batch script.
pub fn run(args: &SlurmArgs) -> Result<Status, Failure> {
    let mut loaded = source::load(&args.study)?;
    let part = Part { number: 1, of: args.nodes, known_by: String::new() };
    member::design(&mut loaded.plan, &part).map_err(|error| {
        let hint = error.hint();
        Failure::new(Status::BadStudy, error).hint(hint)
    })?;
    let folder = args.study.results.clone().unwrap_or_else(|| format!("{}.members", loaded.plan.name).into());
    let folder = std::path::absolute(folder)?;
    let script = script(args, &loaded, &folder)?;
    if args.print {
        print!("{script}");
        return Ok(Status::Answered);
    }
    let path = folder.join(SCRIPT);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(&path, script).with_context(|| format!("cannot write {}", path.display()))?;
    let job = submit(&path)?;
    std::fs::write(folder.join(JOB), format!("{job}\n"))?;
    println!("submitted job {job}: {} members, a node each", args.nodes);
    println!(
        "`surefoot fleet status {0}` shows how far they are, `surefoot fleet collect {0}` the answer",
        folder.display()
    );
    Ok(Status::Answered)
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

fn script(args: &SlurmArgs, loaded: &Loaded, folder: &Path) -> Result<String, Failure> {
    let plan = &loaded.plan;
    let rounds = f64::from(plan.design.rounds_min);
    let seconds = round_seconds(plan) * rounds * RESERVE + RESERVE_SECONDS;
    let minutes = (seconds / 60.0).ceil() as u64;
    let program = std::env::current_exe()?;
    let work = args.study.work.clone().unwrap_or_else(|| Path::new(WORK).join(format!("surefoot-{}", plan.name)));
    let work = std::path::absolute(work)?;
    let mut words = vec![quoted(&program.to_string_lossy()), "run".into()];
    words.extend(study_words(&args.study)?.iter().map(|word| quoted(word)));
    // Not `auto`: who fills a hole with `sbatch --array=3` starts a part of the array.
    words.extend(["--member".into(), format!("\"$SLURM_ARRAY_TASK_ID/{}\"", args.nodes)]);
    words.extend(["--results".into(), quoted(&folder.to_string_lossy())]);
    words.extend(["--work".into(), "\"$work\"".into(), "--quiet".into()]);
    let mut text = String::from("#!/bin/bash\n");
    let mut line = |words: &str| writeln!(text, "{words}").expect("a string takes all");
    line(&format!("#SBATCH --job-name=surefoot-{}", plan.name));
    line(&format!("#SBATCH --array=1-{}", args.nodes));
    line("#SBATCH --nodes=1");
    line("#SBATCH --exclusive");
    line("#SBATCH --requeue");
    line("#SBATCH --open-mode=append");
    line(&format!("#SBATCH --time={minutes}"));
    line(&format!("#SBATCH --output={}/slurm-%A_%a.log", folder.display()));
    args.options.iter().for_each(|option| line(&format!("#SBATCH {option}")));
    line(
        "# Images lie on the node's own disk, which is what is measured. A folder each, in case nodes share that path.",
    );
    line(&format!("work={}-$SLURMD_NODENAME", quoted(&work.to_string_lossy())));
    line(&words.join(" "));
    line("status=$?");
    line(
        "# What was measured lies with the results. After a fault the folder stays, and the same node goes on with it.",
    );
    line(&format!("case $status in 0|3) {} clean --work \"$work\" ;; esac", quoted(&program.to_string_lossy())));
    line("exit $status");
    Ok(text)
}

/// The study and what changes it, for a node: a file by its whole path, which all nodes must see.
fn study_words(study: &StudyArgs) -> Result<Vec<String>, Failure> {
    let is_file = Path::new(&study.study).is_file();
    let name = if !is_file && STUDIES.iter().any(|(name, _)| *name == study.study) {
        PathBuf::from(&study.study)
    } else {
        std::path::absolute(&study.study)?
    };
    let mut words = vec![name.to_string_lossy().into_owned()];
    let mut option = |option: &str, value: String| words.extend([option.to_string(), value]);
    study.set.iter().for_each(|change| option("--set", change.clone()));
    study.only.iter().for_each(|word| option("--only", word.clone()));
    study.rounds.iter().for_each(|rounds| option("--rounds", rounds.clone()));
    study.time.iter().for_each(|time| option("--time", time.clone()));
    study.seed.iter().for_each(|seed| option("--seed", seed.to_string()));
    words.extend(study.exhaustive.then(|| "--exhaustive".into()));
    Ok(words)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_what_was_said() {
        assert_eq!(["a.toml", "a b", "it's", ""].map(quoted), ["a.toml", "'a b'", "'it'\\''s'", "''"]);
    }
}
