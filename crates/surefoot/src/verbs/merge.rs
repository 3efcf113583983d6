//! `surefoot merge`: a fleet's results as one file, and its answer.

use super::report::{keep_no_page, page_beside, require_writable, terminal_of_fleet, unreadable, write_page};
use super::status::{left_out, results_in};
use crate::cli::MergeArgs;
use crate::failure::{Failure, Status};
use anyhow::{Context as _, anyhow};
use ledger::model::{Contents, Host, Member};
use ledger::{MergeError, Merged};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A start of a member: the study's hash, the member's number, which start it is, and the machine.
type Start = (String, u32, u32, Host);

/// Brings members together, says what was left out, and shows the answer.
pub fn run(args: &MergeArgs) -> Result<Status, Failure> {
    let files = files(&args.results)?;
    let is_output = |file: &PathBuf| ledger::same_file(file, &args.output);
    if args.results.iter().any(|folder| results_in(folder).is_ok_and(|files| files.iter().any(is_output))) {
        let error = anyhow!("{} lies in a folder that is merged", args.output.display());
        return Err(Failure::new(Status::BadStudy, error).hint("write it somewhere else with -o FILE"));
    }
    keep_other_results(&args.output)?;
    if !files.iter().any(is_output) {
        keep_what_is_not_merged(&args.output, &files)?;
    }
    let page = args.html.clone().unwrap_or_else(|| page_beside(&args.output));
    if page == args.output || files.iter().any(|file| ledger::same_file(file, &page)) {
        let error = anyhow!("the page would be written over {}", page.display());
        return Err(Failure::new(Status::BadStudy, error).hint("name another file with --html FILE"));
    }
    if args.html.is_none() {
        keep_no_page(&page)?;
    }
    require_writable(&page)?;
    let Merged { members, broken } = ledger::merge(&files, &args.output).map_err(explained)?;
    broken.iter().for_each(|error| left_out(error));
    let reader = ledger::Reader::open_untouched(&args.output)?;
    let Some(report) =
        report::FleetReport::read(&reader, workloads::is_choice).map_err(|error| unreadable(error.into()))?
    else {
        println!("{}: member {} alone, so there is no answer over hosts", args.output.display(), members[0].number);
        return Ok(Status::Holes);
    };
    let written = write_page(&page, &report.html());
    // Behind the page: who reads no further (`| head`) ends this.
    print!("{}", terminal_of_fleet(&report));
    written?;
    println!("{} holds all of it; the page: {}", args.output.display(), page.display());
    Ok(if report.has_holes() { Status::Holes } else { Status::Answered })
}

/// What is named, and what lies in folders that are; a copy in the making is no result.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            files.extend(results_in(path).with_context(|| format!("cannot read the folder {}", path.display()))?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// A fleet's answer may be written anew. What one machine measured by the same name may not be written over.
fn keep_other_results(output: &Path) -> Result<(), Failure> {
    if !output.exists() {
        return Ok(());
    }
    let contents = ledger::Reader::open_untouched(output).and_then(|reader| reader.contents_with(&[]));
    // There may have been one member as yet; its own file was merged at no moment.
    let is_merged = |contents: Contents| contents.members.len() > 1 || contents.study.asked_at.is_some();
    let is_of_fleet = contents.is_ok_and(is_merged);
    if is_of_fleet {
        return Ok(());
    }
    let error = anyhow!("{} is there, and is no fleet's answer", output.display());
    Err(Failure::new(Status::BadStudy, error).hint("write it somewhere else with -o FILE"))
}

/// An earlier answer may be written anew with what it holds. Another fleet's, or a start of a member that is in no file that is merged, may be
/// nowhere else.
fn keep_what_is_not_merged(output: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    // With when it began: a study that is measured anew on the same nodes has all else alike. None: its file is damaged there.
    let starts = |file: &Path| -> Result<Vec<(Start, Option<f64>)>, ledger::Error> {
        let reader = ledger::Reader::open_untouched(file)?;
        let hash = reader.study()?.hash;
        let began: BTreeMap<u32, f64> = reader.members_began().unwrap_or_default();
        let start = |member: Member| {
            let began = began.get(&member.number).copied();
            ((hash.clone(), member.number, member.attempt, member.host), began)
        };
        Ok(reader.members()?.into_iter().map(start).collect())
    };
    let held = starts(output).unwrap_or_default();
    let merged: Vec<(Start, Option<f64>)> = files.iter().flat_map(|file| starts(file).unwrap_or_default()).collect();
    let is_merged = |(start, began): &(Start, Option<f64>)| {
        let is_then = |other: &Option<f64>| began.zip(*other).is_none_or(|(one, other)| one == other);
        merged.iter().any(|(other, then)| other == start && is_then(then))
    };
    let Some(((_, number, _, host), _)) = held.iter().find(|start| !is_merged(start)) else { return Ok(()) };
    let error =
        anyhow!("{} holds member {number} on {}, which is not among what is merged", output.display(), host.name);
    Err(Failure::new(Status::BadStudy, error).hint("name it, too, or write somewhere else with -o FILE"))
}

/// What is not of the fleet is the user's to mend, a full disk is the machine's.
pub(super) fn explained(error: MergeError) -> Failure {
    let hint = error.hint();
    let status = match &error {
        MergeError::Ledger(ledger::Error::Sqlite { .. }) => Status::Fault,
        _ => Status::BadStudy,
    };
    Failure::new(status, error).hinted(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::model::StudyRecord;

    /// After an upgrade, say: its members have the numbers and hosts of those before, whose folder may be gone.
    #[test]
    fn an_answer_of_the_same_nodes_at_another_time_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let [before, after, output] = ["before", "after", "output"].map(|name| folder.path().join(name));
        for (path, began) in [(&before, 1.0), (&after, 9.0)] {
            let mut writer = ledger::Writer::create_or_open(path).expect("a ledger");
            let (host, known_by, others) = (Host { name: "n1".into(), id: String::new() }, String::new(), Vec::new());
            let member = Member { number: 1, of: 2, attempt: 1, rounds: 1, host, known_by, others };
            writer.set_study(&StudyRecord::default(), &[], Some(&member)).expect("written");
            writer.begin_session(&BTreeMap::new(), began).expect("written");
        }
        ledger::merge(std::slice::from_ref(&before), &output).expect("one fleet");
        let kept = |files: &[PathBuf]| keep_what_is_not_merged(&output, files).map_err(|failure| failure.render(false));
        assert_eq!(kept(&[after.clone(), before]), Ok(()));
        let refused = kept(&[after]).expect_err("it is nowhere else");
        assert!(refused.contains("holds member 1 on n1, which is not among what is merged"), "{refused}");
    }
}
