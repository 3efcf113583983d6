//! `surefoot status`: how far a study has come, also while it runs.

use crate::cli::StatusArgs;
use crate::failure::{Failure, Status};
use crate::source;
use crate::verbs::report::unreadable;
use anyhow::anyhow;
use ledger::model::Contents;
use report::{Standing, printable};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Prints a line or two a results file.
pub fn run(args: &StatusArgs) -> Result<Status, Failure> {
    let files = files(args)?;
    let is_named = args.what.is_some();
    let mut all = Vec::new();
    let mut damaged = None;
    for path in &files {
        let (contents, verified) = match read(path, args.verify) {
            Ok(found) => found,
            Err(error) if is_named => return Err(unreadable(error.into())),
            Err(error) => {
                left_out(&error);
                damaged = damaged.or(args.verify.then_some(error));
                continue;
            }
        };
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
    // Who asks whether all is whole is told by the status, too.
    damaged.map_or(Ok(Status::Answered), |error| Err(unreadable(error.into())))
}

fn read(path: &Path, is_verified: bool) -> Result<(Contents, Option<ledger::Verified>), ledger::Error> {
    let reader = ledger::Reader::open_untouched(path)?;
    let verified = if is_verified { Some(reader.verify()?) } else { None };
    Ok((reader.contents()?, verified))
}

fn files(args: &StatusArgs) -> Result<Vec<PathBuf>, Failure> {
    match &args.what {
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
                // Not among the data: with --json there is an empty list.
                eprintln!("no results files (*.surefoot) in this folder");
            }
            Ok(files)
        }
    }
}

/// Says that a results file is left out, and why.
pub fn left_out(error: &dyn std::fmt::Display) {
    eprintln!("left out: {}", printable(&error.to_string()));
}

/// Where a study's results are by default: its own name says it, or that of its file, which is the usual case.
pub fn results_of(study: &str) -> PathBuf {
    let stem = || {
        let file = Path::new(study).file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A study's name may have points: what follows one is no extension but for these.
        let stem = file.strip_suffix(".toml").or_else(|| file.strip_suffix(".surefoot"));
        stem.map_or_else(|| file.clone(), str::to_string)
    };
    // A pipe would be waited for, and a device has no end.
    let read = || Path::new(study).is_file().then(|| source::text(study).ok()).flatten();
    let named = read().and_then(|(_, text)| study::name(&text));
    source::results_of(&named.unwrap_or_else(stem))
}

/// A results file, which may be named by its study.
pub fn results_file(named: &Path) -> PathBuf {
    let of_study = || results_of(&named.to_string_lossy());
    // A study may be called like a folder beside it, such as that of a fleet's results.
    let is_folder_here = named.is_dir() && named.parent() == Some(Path::new(""));
    let is_study = named.extension().is_some_and(|end| end == "toml") || is_folder_here;
    if named.exists() && !is_study {
        named.into()
    } else {
        Some(of_study()).filter(|path| path.is_file()).unwrap_or(named.into())
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
        println!("{}", printable(&format!("{}: {} (a fleet's results)", path.display(), contents.study.name)));
        println!("  members: {}; hosts: {}; trials: {}", contents.members.len(), hosts.len(), contents.trials.len());
    } else {
        println!("{}", printable(&format!("{}: {} ({})", path.display(), contents.study.name, standing.state)));
        println!("  {}", standing.words(contents));
    }
    if contents.without_checksum > 0 {
        let (without, runs) = (contents.without_checksum, contents.runs.len());
        println!("  no checksums: {without} of {runs} runs were written by an older surefoot");
    }
}

fn json(standing: &Standing, path: &Path, contents: &Contents) -> serde_json::Value {
    serde_json::json!({
        "results": path.to_string_lossy(), "study": contents.study.name, "state": standing.state, "rounds": standing.rounds,
        "screen_rounds": standing.screen_rounds,
        "rounds_min": contents.study.analysis.rounds_min, "rounds_max": contents.study.analysis.rounds_max,
        "trials_finished": standing.finished, "trials_failed": standing.failed, "trial_seconds": standing.seconds,
        "runs": contents.runs.len(), "runs_without_checksum": contents.without_checksum,
    })
}
