//! `surefoot status`: how far a study has come, also while it runs.

use crate::cli::StatusArgs;
use crate::failure::{Failure, Status};
use crate::verbs::report::unreadable;
use anyhow::anyhow;
use ledger::model::Contents;
use report::Standing;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Prints a line or two a results file.
pub fn run(args: &StatusArgs) -> Result<Status, Failure> {
    let files = files(args)?;
    let mut all = Vec::new();
    for path in &files {
        let reader = ledger::Reader::open(path).map_err(|error| unreadable(error.into()))?;
        let verified = if args.verify { Some(reader.verify()) } else { None };
        let verified = verified.transpose().map_err(|error| unreadable(error.into()))?;
        let contents = reader.contents().map_err(|error| unreadable(error.into()))?;
        let standing = Standing::of(&contents, ledger::is_held(path));
        if args.json {
            let mut found = json(&standing, path, &contents);
            if let Some(verified) = verified {
                found["verified"] = serde_json::json!({ "trials": verified.trials, "runs": verified.runs });
            }
            all.push(found);
        } else {
            print(&standing, path, &contents);
            if let Some(ledger::Verified { trials, runs, .. }) = verified {
                println!("  whole: {trials} trials and {runs} runs read; SQLite's integrity check found nothing");
            }
        }
    }
    if args.json {
        println!("{:#}", serde_json::Value::Array(all));
    }
    Ok(Status::Answered)
}

fn files(args: &StatusArgs) -> Result<Vec<PathBuf>, Failure> {
    let results_of = |study: &str| -> PathBuf {
        let stem = Path::new(study).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        format!("{stem}.surefoot").into()
    };
    match &args.what {
        // A study's own name decides its results file; its file's stem is the usual case.
        Some(what) if what.ends_with(".toml") || !Path::new(what).is_file() => {
            let path = results_of(what);
            if path.is_file() {
                return Ok(vec![path]);
            }
            let error = anyhow!("no results file {} for `{what}`", path.display());
            Err(Failure::new(Status::BadStudy, error).hint("name the results file itself"))
        }
        Some(what) => Ok(vec![what.into()]),
        None => {
            let files = results_in(Path::new("."))?;
            if files.is_empty() {
                println!("no results files (*.surefoot) in this folder");
            }
            Ok(files)
        }
    }
}

/// The results files of a folder, by name.
pub fn results_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths = folder.read_dir()?.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "surefoot")).collect();
    files.sort();
    Ok(files)
}

fn print(standing: &Standing, path: &Path, contents: &Contents) {
    if contents.members.len() > 1 {
        // Rounds of many machines are no standing.
        let hosts: BTreeSet<_> = contents.members.iter().map(|member| &member.host).collect();
        println!("{}: {} (a fleet's results)", path.display(), contents.study.name);
        println!("  {} members on {} hosts, {} trials", contents.members.len(), hosts.len(), contents.trials.len());
    } else {
        println!("{}: {} ({})", path.display(), contents.study.name, standing.state);
        println!("  {}", standing.words(contents));
    }
    if contents.without_checksum > 0 {
        let (without, runs) = (contents.without_checksum, contents.runs.len());
        println!("  no checksums: {without} of {runs} runs were written by an older surefoot");
    }
}

fn json(standing: &Standing, path: &Path, contents: &Contents) -> serde_json::Value {
    serde_json::json!({
        "results": path, "study": contents.study.name, "state": standing.state, "rounds": standing.rounds,
        "screen_rounds": standing.screen_rounds,
        "rounds_min": contents.study.analysis.rounds_min, "rounds_max": contents.study.analysis.rounds_max,
        "trials_finished": standing.finished, "trials_failed": standing.failed, "trial_seconds": standing.seconds,
        "runs": contents.runs.len(), "runs_without_checksum": contents.without_checksum,
    })
}
