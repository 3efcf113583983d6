//! `surefoot status`: how far a study has come, also while it runs.

use crate::cli::StatusArgs;
use crate::failure::{Failure, Status};
use crate::verbs::report::unreadable;
use anyhow::anyhow;
use ledger::model::{Contents, Phase, TrialState};
use settings::quantity::format_seconds;
use std::path::{Path, PathBuf};

/// Prints a line or two a results file.
pub fn run(args: &StatusArgs) -> Result<Status, Failure> {
    let files = files(args)?;
    let mut all = Vec::new();
    for path in &files {
        let contents = ledger::Reader::open(path)
            .and_then(|reader| reader.contents())
            .map_err(|error| unreadable(error.into()))?;
        let standing = Standing::of(&contents, ledger::is_held(path));
        if args.json {
            all.push(standing.json(path, &contents));
        } else {
            standing.print(path, &contents);
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
            let mut files: Vec<PathBuf> = Path::new(".")
                .read_dir()?
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "surefoot"))
                .collect();
            files.sort();
            if files.is_empty() {
                println!("no results files (*.surefoot) in this folder");
            }
            Ok(files)
        }
    }
}

/// How a study stands.
struct Standing {
    finished: usize,
    failed: usize,
    rounds: u32,
    state: &'static str,
    seconds: f64,
}

impl Standing {
    fn of(contents: &Contents, held: bool) -> Standing {
        let count = |state| contents.counted_trials().iter().filter(|trial| trial.state == state).count();
        let last = contents.sessions.last();
        let state = match (held, last.and_then(|session| session.reason.as_deref())) {
            (true, _) => "running",
            (false, None) => "cut off; `surefoot resume` goes on",
            (false, Some("interrupted")) => "interrupted; `surefoot resume` goes on",
            (false, Some(_)) => "done",
        };
        Standing {
            finished: count(TrialState::Finished),
            failed: count(TrialState::Failed),
            rounds: contents
                .trials
                .iter()
                .filter(|trial| trial.phase == Phase::Main)
                .map(|trial| trial.round + 1)
                .max()
                .unwrap_or(0),
            state,
            seconds: contents.trials.iter().filter_map(|trial| Some(trial.ended? - trial.started)).sum(),
        }
    }

    fn print(&self, path: &Path, contents: &Contents) {
        println!("{}: {} ({})", path.display(), contents.study.name, self.state);
        println!(
            "  {} scenarios, round {} of {} to {}, {} trials finished, {} failed, {} of trials",
            contents.scenarios.len(),
            self.rounds,
            contents.study.analysis.rounds_min,
            contents.study.analysis.rounds_max,
            self.finished,
            self.failed,
            format_seconds(self.seconds)
        );
    }

    fn json(&self, path: &Path, contents: &Contents) -> serde_json::Value {
        serde_json::json!({
            "results": path, "study": contents.study.name, "state": self.state, "rounds": self.rounds,
            "rounds_min": contents.study.analysis.rounds_min, "rounds_max": contents.study.analysis.rounds_max,
            "trials_finished": self.finished, "trials_failed": self.failed, "trial_seconds": self.seconds,
        })
    }
}
