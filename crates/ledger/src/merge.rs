//! A fleet's results files as one: of each member the start that got furthest, copied row by row.
//!
//! Which start is taken depends on the starts alone, and rows are written member after member. So merged files merge on, in any order and as
//! often as one likes, with the same outcome. Streams: no file is held in memory.

mod copy;
mod join;

use crate::lock::Lock;
use crate::model::{Attempt, Contents, Member, Scenario, StudyRecord};
use crate::reasons::{INTERRUPTED, INTERRUPTED_BEHIND_ROUNDS};
use crate::schema::{self, beside};
use crate::{Error, Reader};
use copy::Copier;
use observe::machine::input_of;
use rusqlite::types::FromSql;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why files are not one fleet's.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A study of one machine.
    #[error("{0} is no member of a fleet")]
    NoMember(PathBuf),
    /// Something else was measured, or otherwise.
    #[error("{path} is not of the same fleet as {first}: {}", differences.join("; "))]
    Other {
        /// Which file.
        path: PathBuf,
        /// The one that it was held against.
        first: PathBuf,
        /// What differs, a phrase each.
        differences: Vec<String>,
    },
    /// No file could be read: why the first one could not, where there is one.
    #[error("there is no results file of a fleet's member that can be read")]
    Nothing(#[source] Option<Error>),
    /// The new file can't be written, or a file changed while it was read.
    #[error(transparent)]
    Ledger(#[from] Error),
}

impl MergeError {
    /// What to do next, where that is not plain from the message.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            MergeError::NoMember(_) => Some(
                "`surefoot compare` sets studies of two machines side by side; a fleet is measured by `run --member`",
            ),
            MergeError::Other { .. } => {
                Some("leave it out, or run it again with the study, the files and the surefoot of the others")
            }
            MergeError::Nothing(_) => Some("name the folder that the members had as --results"),
            MergeError::Ledger(error) => error.hint(),
        }
    }
}

/// What was brought together.
#[derive(Debug)]
pub struct Merged {
    /// The members that are in the file, by number, with their other starts.
    pub members: Vec<Member>,
    /// Files that could not be read.
    pub broken: Vec<Error>,
}

/// How far a start came; the larger is taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// It measured in all its rounds, and ended by itself: a node on which all fails ends by itself, too.
    is_finished: bool,
    /// Those that failed are none.
    trials: u32,
    /// What it found of power cuts and of failing disks, a scenario each.
    harms: u32,
    /// Of two that came as far the earlier one; two folders may each have a first start on one host.
    earlier: std::cmp::Reverse<(u32, String, u64)>,
}

/// A start of a member, and the file that holds it.
struct Start {
    member: Member,
    rank: Rank,
    file: PathBuf,
}

impl Start {
    fn attempt(&self) -> Attempt {
        let Member { attempt, host, .. } = &self.member;
        Attempt { attempt: *attempt, host: host.name.clone(), trials: self.rank.trials }
    }
}

/// Brings files together in a new one, which has its name only once it is whole. A file that can't be read is told, and a hole.
///
/// # Errors
/// When a file is of another study, version or design, or the new one can't be written.
pub fn merge(files: &[PathBuf], target: &Path) -> Result<Merged, MergeError> {
    let (chosen, (), broken) = read_whole(files, Some(target), |chosen, asked_last| write(chosen, asked_last, target))?;
    Ok(Merged { members: chosen.into_iter().map(|start| start.member).collect(), broken })
}

/// What [`merge`] would make of these files, and files that can't be read. Of figures it has those of the metrics that are `wanted` for the study, as
/// it was asked last, and its scenarios. Writes nothing.
///
/// # Errors
/// As [`merge`].
pub fn read_merged(
    files: &[PathBuf],
    wanted: &dyn Fn(&StudyRecord, &[Scenario]) -> Vec<String>,
) -> Result<(Contents, Vec<Error>), MergeError> {
    let (_, contents, broken) = read_whole(files, None, |chosen, asked_last| join::read(chosen, asked_last, wanted))?;
    Ok((contents, broken))
}

/// Reads the starts that count. A file of which a row turns out damaged is left out, as one that can't be opened, and the starts are
/// chosen anew: of its member another may be whole, or what the file that is written anew holds of it. That is never one that is left out.
fn read_whole<T>(
    files: &[PathBuf],
    written: Option<&Path>,
    read: impl Fn(&[Start], &StudyRecord) -> Result<T, Error>,
) -> Result<(Vec<Start>, T, Vec<Error>), MergeError> {
    let mut files = files.to_vec();
    let mut damaged: Vec<Error> = Vec::new();
    loop {
        let (chosen, asked_last, broken) = match choose(&files) {
            Err(MergeError::Nothing(_)) if !damaged.is_empty() => return Err(damaged.swap_remove(0).into()),
            chosen => chosen?,
        };
        let error = match read(&chosen, &asked_last) {
            Ok(found) => return Ok((chosen, found, damaged.into_iter().chain(broken).collect())),
            Err(error) => error,
        };
        let is_written = |file: &Path| written.is_some_and(|written| same_file(file, written));
        let place = files.iter().position(|file| error.is_of(file) && !is_written(file));
        let Some(place) = place else { return Err(error.into()) };
        files.remove(place);
        damaged.push(error);
        // First, so that of equal starts another counts.
        if let Some(written) = written
            && written.exists()
            && !files.iter().any(|file| is_written(file))
        {
            files.insert(0, written.into());
        }
    }
}

/// Whether two names are of one file that is there.
pub fn same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
}

/// The start of each member that counts, member after member, the study as the start that sat down last has it, and files that can't be read.
/// What is asked of figures decides none, and a start on a node that is gone can't be told of it.
fn choose(files: &[PathBuf]) -> Result<(Vec<Start>, StudyRecord, Vec<Error>), MergeError> {
    let mut first: Option<(PathBuf, StudyRecord, Vec<String>)> = None;
    let mut asked_last: Option<StudyRecord> = None;
    let mut read_by_others: BTreeMap<String, String> = BTreeMap::new();
    let mut members: BTreeMap<u32, Vec<Start>> = BTreeMap::new();
    let mut broken = Vec::new();
    for path in files {
        let found = look(path).map_err(|error| broken.push(error));
        let Ok(Looked { study, labels, inputs, starts }) = found else { continue };
        if starts.is_empty() {
            return Err(MergeError::NoMember(path.clone()));
        }
        let (first, known, known_labels) = first.get_or_insert_with(|| (path.clone(), study.clone(), labels.clone()));
        let of_member = |number: u32| members.get(&number).and_then(|starts| starts.first()).map(|start| &start.member);
        let mut differences =
            differences((known, known_labels), (&study, &labels), starts.iter().map(|start| &start.member), &of_member);
        differences.extend(other_inputs(&read_by_others, &inputs));
        if !differences.is_empty() {
            return Err(MergeError::Other { path: path.clone(), first: first.clone(), differences });
        }
        // Of two that began at one moment the order of the files must not decide.
        let when = |study: &StudyRecord| (study.asked_at, study.text.clone(), study.overrides.clone());
        if asked_last.as_ref().is_none_or(|last| when(&study) > when(last)) {
            asked_last = Some(study);
        }
        read_by_others.extend(inputs);
        starts.into_iter().for_each(|start| members.entry(start.member.number).or_default().push(start));
    }
    let Some(study) = asked_last else { return Err(MergeError::Nothing(broken.into_iter().next())) };
    Ok((members.into_values().map(furthest).collect(), study, broken))
}

/// The start that got furthest, with a note of the others.
fn furthest(starts: Vec<Start>) -> Start {
    let mut seen: BTreeMap<(u32, String, u64), Attempt> = BTreeMap::new();
    for start in &starts {
        let known = seen.entry(start.rank.earlier.0.clone()).or_insert_with(|| start.attempt());
        known.trials = known.trials.max(start.rank.trials);
    }
    // Of what an earlier merge left out, the moment is not known.
    for other in starts.iter().flat_map(|start| &start.member.others) {
        let same = seen.iter_mut().find(|((attempt, host, _), _)| (*attempt, host) == (other.attempt, &other.host));
        match same {
            Some((_, known)) => known.trials = known.trials.max(other.trials),
            None => drop(seen.insert((other.attempt, other.host.clone(), 0), other.clone())),
        }
    }
    let of = starts.iter().map(|start| start.member.of).max().unwrap_or(0);
    let mut start = starts.into_iter().max_by(|a, b| a.rank.cmp(&b.rank)).expect("a member has a start");
    seen.remove(&start.rank.earlier.0);
    start.member.others = seen.into_values().collect();
    start.member.of = of;
    start
}

/// What a file holds.
struct Looked {
    /// As its last session asked, and when that began.
    study: StudyRecord,
    /// Of its scenarios.
    labels: Vec<String>,
    /// What the user's files held that the study reads, by name.
    inputs: BTreeMap<String, String>,
    /// The members'.
    starts: Vec<Start>,
}

fn look(path: &Path) -> Result<Looked, Error> {
    let reader = Reader::open_untouched(path)?;
    let mut study = reader.study()?;
    let members = reader.members()?;
    let labels: Vec<String> = reader.queried("SELECT label FROM scenario ORDER BY id", |row| row.get(0))?;
    if members.is_empty() {
        return Ok(Looked { study, labels, inputs: BTreeMap::new(), starts: Vec::new() });
    }
    let inputs = inputs(&reader)?;
    let counts = "SELECT member, count(*) FROM trial WHERE state = 'finished' AND member IS NOT NULL GROUP BY member";
    let counts: BTreeMap<u32, u32> = by_member(&reader, counts)?;
    let rounds = "SELECT member, count(DISTINCT round) FROM trial WHERE state = 'finished' AND member IS NOT NULL GROUP BY member";
    let rounds: BTreeMap<u32, u32> = by_member(&reader, rounds)?;
    // The last session of each says how it ended.
    let ended = format!(
        "SELECT member, coalesce(reason NOT IN ('{INTERRUPTED}', '{INTERRUPTED_BEHIND_ROUNDS}'), 0) FROM session WHERE id IN \
         (SELECT max(id) FROM session WHERE member IS NOT NULL GROUP BY member)"
    );
    let ended: BTreeMap<u32, u32> = by_member(&reader, &ended)?;
    // Whether these are damaged is found out when they are copied: then the file that is written anew may hold them.
    let [cuts, faults] = ["safety", "faults"].map(|table| harms(&reader, table).unwrap_or_default());
    let started = "SELECT member, min(started) FROM session WHERE member IS NOT NULL GROUP BY member";
    let started: BTreeMap<u32, f64> = by_member(&reader, started)?;
    if study.asked_at.is_none() {
        let last: Vec<Option<f64>> = reader.queried("SELECT max(started) FROM session", |row| row.get(0))?;
        study.asked_at = last.into_iter().flatten().next();
    }
    let start = |member: Member| {
        let rank = Rank {
            is_finished: ended.get(&member.number) == Some(&1)
                && rounds.get(&member.number).is_some_and(|rounds| *rounds >= member.rounds),
            trials: counts.get(&member.number).copied().unwrap_or(0),
            harms: [&cuts, &faults].into_iter().filter_map(|found| found.get(&member.number)).sum(),
            earlier: std::cmp::Reverse((
                member.attempt,
                member.host.name.clone(),
                started.get(&member.number).copied().unwrap_or(0.0).to_bits(),
            )),
        };
        Start { member, rank, file: path.into() }
    };
    let starts = members.into_iter().map(start).collect();
    Ok(Looked { study, labels, inputs, starts })
}

/// Of how many scenarios each member found what a table tells; a row without that says why there is nothing.
fn harms(reader: &Reader, table: &str) -> Result<BTreeMap<u32, u32>, Error> {
    let found = format!(
        "SELECT session.member, count(DISTINCT {table}.scenario) FROM {table} JOIN session ON session.id = {table}.session \
         WHERE session.member IS NOT NULL AND json_extract({table}.json, '$.{table}') IS NOT NULL GROUP BY session.member"
    );
    by_member(reader, &found)
}

/// By the sessions' facts. Whether these are damaged is found out when they are copied.
fn inputs(reader: &Reader) -> Result<BTreeMap<String, String>, Error> {
    let machines: Vec<String> = reader.queried("SELECT machine FROM session ORDER BY id", |row| row.get(0))?;
    let facts_of = |machine: &String| serde_json::from_str::<BTreeMap<String, String>>(machine).unwrap_or_default();
    let facts = machines.iter().flat_map(facts_of);
    Ok(facts.filter_map(|(fact, held)| Some((input_of(&fact)?.to_string(), held))).collect())
}

/// Files that held something else, a phrase each. Of large ones size and time are known alone, and a copy has a time of its own.
fn other_inputs(known: &BTreeMap<String, String>, inputs: &BTreeMap<String, String>) -> Vec<String> {
    let size = |held: &str| held.split(',').next().unwrap_or_default().to_string();
    let is_other = |one: &str, other: &str| {
        let are_read = [one, other].iter().all(|held| held.contains("SHA-256"));
        if are_read { one != other } else { size(one) != size(other) }
    };
    let differing = inputs.iter().filter_map(|(name, held)| Some((name, known.get(name)?, held)));
    let differing = differing.filter(|(_, known, held)| is_other(known, held));
    differing.map(|(name, known, held)| format!("the file {name} was {known}, here {held}")).collect()
}

/// What a question gives for each member.
fn by_member<T: FromSql>(reader: &Reader, sql: &str) -> Result<BTreeMap<u32, T>, Error> {
    reader.queried(sql, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// What makes files those of two fleets, a phrase each.
fn differences<'a>(
    (a, a_labels): (&StudyRecord, &[String]),
    (b, b_labels): (&StudyRecord, &[String]),
    members: impl Iterator<Item = &'a Member>,
    known: &dyn Fn(u32) -> Option<&'a Member>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&StudyRecord) -> String| {
        let (a, b) = (of(a), of(b));
        if a != b {
            found.push(format!("{what} was {a}, here {b}"));
        }
    };
    differ("the study", &|study| format!("`{}`", study.name));
    let missing = |labels: &[String], others: &[String]| -> Vec<String> {
        labels.iter().filter(|label| !others.contains(label)).cloned().collect()
    };
    let (only_a, only_b) = (missing(a_labels, b_labels), missing(b_labels, a_labels));
    if only_a.is_empty() && only_b.is_empty() {
        // A damaged file may have any letters.
        differ("the hash of the study's settings", &|study| study.hash.chars().take(12).collect());
    }
    differ("surefoot's version", &|study| study.surefoot_version.clone());
    differ("the seed", &|study| study.seed.to_string());
    differ("how a round goes (`design.order`)", &|study| format!("{:?}", study.analysis.order).to_lowercase());
    differ("how many scenarios are up at once", &|study| format!("{:?}", study.analysis.up_max));
    differ("rounds of a member", &|study| study.analysis.rounds_min.to_string());
    differ("confidence and margin", &|study| format!("{} and {}", study.analysis.confidence, study.analysis.margin));
    if !only_a.is_empty() {
        found.push(format!("without the scenarios {}", only_a.join(", ")));
    }
    if !only_b.is_empty() {
        found.push(format!("with the scenarios {}", only_b.join(", ")));
    }
    for member in members {
        if let Some(rounds) = known(member.number).map(|known| known.rounds).filter(|rounds| *rounds != member.rounds) {
            found.push(format!("member {} was to measure {rounds} rounds, here {}", member.number, member.rounds));
        }
    }
    found
}

/// Writes the chosen starts, the study as the first member had it and as it was asked last.
fn write(chosen: &[Start], asked_last: &StudyRecord, target: &Path) -> Result<(), Error> {
    let _lock = Lock::take(target)?;
    schema::refuse_stray_logs(target)?;
    let unfinished = beside(target, ".merging");
    let failed = |source| Error::Open { path: target.into(), source };
    let _ = std::fs::remove_file(&unfinished);
    let written = write_rows(chosen, asked_last, &unfinished).and_then(|()| {
        let synced = std::fs::File::open(&unfinished).and_then(|file| file.sync_all());
        synced.and_then(|()| std::fs::rename(&unfinished, target)).map_err(failed)
    });
    if written.is_err() {
        // It may be what has filled the disk.
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

/// A new file of theirs, which nobody reads yet.
fn write_rows(chosen: &[Start], asked_last: &StudyRecord, unfinished: &Path) -> Result<(), Error> {
    schema::create(unfinished)?;
    let mut copier = Copier::new(unfinished, &chosen[0].file, asked_last)?;
    for start in chosen {
        copier.member(&start.file, &start.member)?;
    }
    copier.finish()
}
