//! A fleet's folder as it is served: how far each member is, as `fleet status` has it, and the answer so far.
//!
//! Its version is that of all its files. While members work it changes with time, too, as what is said of them does.

use super::ledgers::Reading;
use crate::verbs::fleet::status::Standing;
use crate::verbs::status::results_in;
use report::FleetReport;
use report::served::{self, ServedFleet, Source};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::time::SystemTime;

/// How old what is said of members that work may be.
const SECONDS_MAX: u64 = 15;

/// The version there is now.
pub fn version(folder: &Path, is_over: bool) -> String {
    format!("{}-{}", of_files(folder), moment(is_over))
}

/// Short, whatever the number of files: a page carries it.
fn of_files(folder: &Path) -> String {
    let files = results_in(folder).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    files.iter().for_each(|path| ledger::stamp(path).hash(&mut hasher));
    format!("{}-{:x}", files.len(), hasher.finish())
}

/// Another word each while, as long as something may change that no file tells of.
pub fn moment(is_over: bool) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    if is_over { "over".into() } else { now.map_or(0, |time| time.as_secs() / SECONDS_MAX).to_string() }
}

/// Reads all of it. What changes meanwhile is another version than the one that is asked for first: the page loads itself again.
pub fn read(folder: &Path, name: &str, has_siblings: bool) -> Reading {
    let files = of_files(folder);
    let version_path = format!("/{name}/version");
    let standing = match Standing::of(folder) {
        Ok(standing) => standing,
        Err(error) => {
            let why = format!("the folder {} can't be read: {error}", folder.display());
            let version = format!("{files}-{}", moment(false));
            let source = Source { version_path: &version_path, version: &version };
            let page = served::message(&why, "This page looks again by itself.", Some(source));
            return Reading { version, results: Err(why), page, is_readable: false, is_over: false };
        }
    };
    let is_over = standing.members > 0 && standing.done() == standing.members;
    let version = format!("{files}-{}", moment(is_over));
    let fleet = ServedFleet {
        name,
        summary: standing.summary(),
        members: (1..=standing.members).map(|member| standing.words(member)).collect(),
        unreadable: standing.unreadable.iter().map(ToString::to_string).collect(),
        answer: answer(folder),
    };
    let page = served::fleet(&fleet, has_siblings, Source { version_path: &version_path, version: &version });
    let results = Err(format!("A fleet: {}.", fleet.summary));
    Reading { version, results, page, is_readable: true, is_over }
}

/// A merged file's page; none: it is of one machine, or can't be read.
pub fn read_merged(path: &Path, name: &str, has_siblings: bool) -> Option<Reading> {
    let version = ledger::stamp(path);
    let report = FleetReport::read(&ledger::Reader::open_untouched(path).ok()?, workloads::is_choice).ok()??;
    let version_path = format!("/{name}/version");
    let page = served::merged(&report, has_siblings, Source { version_path: &version_path, version: &version });
    Some(Reading { version, results: Err("A fleet's results.".into()), page, is_readable: true, is_over: true })
}

fn answer(folder: &Path) -> Result<FleetReport, String> {
    let files = results_in(folder).map_err(|error| error.to_string())?;
    match FleetReport::of_files(&files, workloads::is_choice) {
        Ok(Some(report)) => Ok(report),
        Ok(None) => Err("One member alone has no answer over hosts yet.".into()),
        Err(ledger::MergeError::Nothing(_)) => Err("No member has shown a round yet.".into()),
        Err(error) => Err(format!("There is no answer: {error}.")),
    }
}
