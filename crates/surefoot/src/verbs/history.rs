//! `surefoot history RESULTS…`: results of one study over time, and what changed after an upgrade.

use crate::cli::HistoryArgs;
use crate::failure::{Failure, Status};
use crate::knowledge;
use crate::verbs::report::{unreadable, write_page_and_text};
use crate::verbs::status::{left_out, results_in};
use report::{History, Input};
use std::path::{Path, PathBuf};

/// Prints the history.
pub fn run(args: &HistoryArgs) -> Result<Status, Failure> {
    let here = [PathBuf::from(".")];
    let mut results = Vec::new();
    for path in if args.results.is_empty() { &here[..] } else { &args.results } {
        if !path.is_dir() {
            results.push((path.display().to_string(), load(path).map_err(unreadable)?));
            continue;
        }
        for path in results_in(path)? {
            let name = path.strip_prefix(".").unwrap_or(&path).display().to_string();
            match load(&path) {
                Ok(input) => results.push((name, input)),
                Err(error) => left_out(&error),
            }
        }
    }
    let history = History::of(results);
    if !history.has_two() {
        eprintln!(
            "hint: there are no two results of one study and machine; after an upgrade, run the study again with \
             --results ANOTHER.surefoot"
        );
    }
    let (html, json) = (args.html.as_deref(), || format!("{:#}", history.json()));
    write_page_and_text(html, args.json, [&|| history.html(), &json, &|| history.text()])
}

/// Histograms and series are not needed.
fn load(path: &Path) -> anyhow::Result<Input> {
    let contents = ledger::Reader::open_untouched(path)?.contents()?;
    if contents.members.len() > 1 {
        return Err(report::Error::Fleet(contents.members.len()).into());
    }
    Ok(knowledge::told(Input::new(contents, report::input::Details::default())))
}
