//! `run --member`: one machine's part of a fleet's study.
//!
//! It measures into a file in its own work folder, and puts a copy where all members' results are at each round's end, and after each
//! scenario of `[safety]`: the folder may lie on a network's filesystem, and nobody who reads there waits for a writer. Each start of a
//! member has a copy of its own.

use super::Measured;
use crate::cli::RunArgs;
use crate::failure::{Failure, Status};
use crate::live;
use crate::source::Loaded;
use anyhow::{Context as _, anyhow};
use crash::plan::Plan;
use lab::conductor::{Event, Stop, Summary};
use lab::member::{self, Part};
use ledger::model::{Member, Trial, TrialState};
use sandbox::work::Work;
use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Starts of one member that are looked for a free name.
const ATTEMPTS_MAX: u32 = 1000;

/// The end of the name of a file beside a ledger, which says where its copy is.
const COPY: &str = "copy";

/// Results in a work folder that are nowhere else, or not as far.
pub fn unpublished(folder: &Path) -> Vec<PathBuf> {
    let measured = |path: &Path| {
        let contents = ledger::Reader::open_untouched(path).and_then(|reader| reader.contents_with(&[]));
        let is_measured = |trial: &&Trial| matches!(trial.state, TrialState::Finished | TrialState::Failed);
        match contents {
            Ok(contents) => {
                let trials = contents.trials.iter().filter(is_measured).count();
                Some(trials + contents.safety.len() + contents.faults.len())
            }
            // It was killed before it measured anything.
            Err(ledger::Error::NoStudy { .. }) => Some(0),
            Err(_) => None,
        }
    };
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.into());
    let is_published = |ledger: &Path| {
        let copy = std::fs::read(ledger.with_extension(COPY)).unwrap_or_default();
        let copy = Path::new(std::ffi::OsStr::from_bytes(&copy));
        let is_outside = copy.canonicalize().is_ok_and(|copy| !copy.starts_with(&whole));
        // What can't be read may hold anything: of the ledger the most, of its copy nothing.
        is_outside && copy.is_file() && measured(copy).unwrap_or(0) >= measured(ledger).unwrap_or(usize::MAX)
    };
    let mut found = Vec::new();
    results_below(folder, &mut found);
    found.retain(|ledger| !is_published(ledger));
    found
}

/// Results at any depth, whatever their names; links are not followed.
fn results_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => results_below(&entry.path(), found),
            Ok(kind) if kind.is_file() && ledger::has_our_mark(&entry.path()) => found.push(entry.path()),
            _ => {}
        }
    }
}

/// Where a member measures and where its results go.
pub(super) struct Place {
    /// Who it is.
    pub(super) member: Member,
    ledger: PathBuf,
    copy: PathBuf,
}

/// Why a process can't be a member, and what to do.
pub fn no_member(error: member::Error) -> Failure {
    let hint = error.hint();
    Failure::new(Status::BadStudy, error).hint(hint)
}

/// Which part of the fleet is meant, and the plan as that part's.
pub fn joined(word: &str, plan: &mut Plan) -> Result<Part, Failure> {
    let part = member::read(word, &|name| std::env::var(name).ok()).map_err(no_member)?;
    member::design(plan, &part).map_err(no_member)?;
    Ok(part)
}

/// Which part of the fleet this process is, and the study as that part.
pub(super) fn part(word: &str, args: &RunArgs, measured: Measured, loaded: &mut Loaded) -> Result<Part, Failure> {
    let without_effect = [("--html", args.html.is_some()), ("--full", args.full), ("--json", args.json)];
    if let Some((option, _)) = without_effect.iter().find(|(_, is_given)| *is_given) {
        let error = anyhow!("`{option}` has no effect with --member: a member alone has no answer");
        return Err(Failure::new(Status::BadStudy, error).hint("leave it out"));
    }
    if measured != Measured::Everything {
        let error = anyhow!("--member is for the rounds of `surefoot run`, not for `surefoot {}`", measured.verb());
        return Err(Failure::new(Status::BadStudy, error).hint("leave it out: what a disk does needs one machine"));
    }
    let part = joined(word, &mut loaded.plan)?;
    if args.study.results.is_none() {
        loaded.results.set_extension("members");
    }
    live::tell(&format!("member {} of {}, says {}", part.number, part.of, part.known_by));
    Ok(part)
}

impl Place {
    /// The place that this start has, or that an earlier one on this machine had, which goes on.
    pub(super) fn of(part: Part, loaded: &mut Loaded, work: &Work) -> Result<Place, Failure> {
        let folder = std::path::absolute(&loaded.results)?;
        if folder.exists() && !folder.is_dir() {
            let error = anyhow!("{} is no folder, and a member's --results is one", folder.display());
            let hint = "name the folder of all members' results, which `surefoot merge` brings together";
            return Err(Failure::new(Status::BadStudy, error).hint(hint));
        }
        let failed = || format!("cannot make the folder of the results {}", folder.display());
        std::fs::create_dir_all(&folder).with_context(failed)?;
        let ledger = work.folder().join(format!("member-{}-{:016x}.surefoot", part.number, word(&folder, loaded)));
        let begun = if ledger.is_file() { ledger::Writer::create_or_open(&ledger)?.member()? } else { None };
        let stem = format!("{}.member-{}-of-{}", loaded.plan.name, part.number, part.of);
        let named = |attempt: u32| folder.join(format!("{stem}.attempt-{attempt}.surefoot"));
        let first_free = || (1..=ATTEMPTS_MAX).find_map(|attempt| is_free(&named(attempt), attempt)).transpose();
        let none_is_free = || anyhow!("{} has {ATTEMPTS_MAX} starts of member {}", folder.display(), part.number);
        let host = lab::host::this(&|name| std::env::var(name).ok());
        let member = match begun {
            Some(begun) if (&begun.host.name, begun.of) != (&host.name, part.of) => {
                let error = anyhow!(
                    "{} holds member {} of {} on {}, and this is member {} of {} on {}",
                    ledger.display(),
                    begun.number,
                    begun.of,
                    begun.host.name,
                    part.number,
                    part.of,
                    host.name
                );
                return Err(Failure::new(Status::BadStudy, error).hint("name a work folder of its own with --work DIR"));
            }
            // A copy that somebody removed is made again.
            Some(begun) => begun,
            None => Member {
                attempt: first_free()?.ok_or_else(none_is_free)?,
                number: part.number,
                of: part.of,
                rounds: loaded.plan.design.rounds_min,
                host,
                known_by: part.known_by,
                others: Vec::new(),
            },
        };
        loaded.results.clone_from(&ledger);
        let copy = named(member.attempt);
        // For `clean`, which removes what has been published.
        let path = ledger.with_extension(COPY);
        std::fs::write(&path, copy.as_os_str().as_encoded_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Place { copy, member, ledger })
    }

    /// Shows how far it is at each round's end, and when `[safety]` comes to a scenario: what it found of the one before is written down by then.
    pub(super) fn follow(&self, event: &Event) {
        if matches!(event, Event::RoundEnded { .. } | Event::SafetyStarted { .. }) {
            self.show();
        }
    }

    /// Shows how far it is. A folder that can't be reached now may be there at the next round's end.
    pub(super) fn show(&self) {
        if let Err(error) = ledger::publish(&self.ledger, &self.copy) {
            live::tell(&format!("cannot show the results yet: {:#}", anyhow!(error)));
        }
    }

    /// Puts the results where they belong and says so.
    pub(super) fn tell(&self, summary: Summary) -> Result<Status, Failure> {
        ledger::publish(&self.ledger, &self.copy).map_err(|error| {
            let hint =
                format!("what was measured is kept in {}; the same command puts it there", self.ledger.display());
            Failure::new(Status::Fault, error).hint(hint)
        })?;
        let Member { number, of, host, .. } = &self.member;
        // Its rounds are fixed: that its own figures are precise by then did not end it.
        let stop = if summary.stop == Stop::PrecisionReached { Stop::RoundsMax } else { summary.stop };
        let mut told = format!("member {number} of {of} on {}: {}\n", host.name, stop.words());
        told += &format!("results: {}\n", self.copy.display());
        if let (Some(folder), Stop::RoundsMax) = (self.copy.parent(), stop) {
            let folder = report::quoted(&folder.to_string_lossy());
            told += &format!("`surefoot merge {folder} -o FILE` brings all members together\n");
        }
        // All is measured and kept: that nobody reads on is no failure.
        let _ = std::io::stdout().write_all(told.as_bytes());
        Ok(match stop {
            Stop::Interrupted => Status::Interrupted,
            Stop::RoundsMax if !report::has_holes(&report::load(&self.ledger)?) => Status::Answered,
            _ => Status::Holes,
        })
    }
}

/// A word for the study and the folder: another study's results, or those of another fleet, are not gone on with.
fn word(folder: &Path, loaded: &Loaded) -> u64 {
    let mut hasher = DefaultHasher::new();
    (folder, &loaded.plan.hash, loaded.plan.design.rounds_min).hash(&mut hasher);
    hasher.finish()
}

/// Takes the name of a start, unless another start has it.
fn is_free(path: &Path, attempt: u32) -> Option<std::io::Result<u32>> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => Some(Ok(attempt)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
        Err(error) => Some(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::conductor::What;
    use ledger::model::{Host, MeasuredFaults, MeasuredSafety, Scenario, StudyRecord};
    use observe::durability::Durability;
    use std::collections::BTreeMap;

    fn scenario() -> Scenario {
        Scenario {
            label: "ext4".into(),
            levels: BTreeMap::new(),
            workload: "w".into(),
            primary_metric: "m".into(),
            control: false,
            baseline: true,
            durability: Durability::full(),
            settings: serde_json::Value::Null,
        }
    }

    /// Power cuts that could not be measured.
    fn without_outcome() -> MeasuredSafety {
        let (scenario, asked) = ("ext4".into(), serde_json::Value::Null);
        MeasuredSafety { scenario, ended: 2.0, asked, safety: None, failure: None, member: None }
    }

    /// The first of two members, which measures and shows here.
    fn place(folder: &Path) -> Place {
        let member = Member {
            number: 1,
            of: 2,
            attempt: 1,
            rounds: 1,
            host: Host { name: "n1".into(), id: String::new() },
            known_by: String::new(),
            others: Vec::new(),
        };
        Place { member, ledger: folder.join("ledger.surefoot"), copy: folder.join("copy.surefoot") }
    }

    /// Hours of power cuts, measured while the shared folder was away.
    #[test]
    fn what_a_disk_did_and_the_copy_does_not_say_is_nowhere_else() {
        let [work, shared] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let (path, copy) = (work.path().join("member.surefoot"), shared.path().join("copy.surefoot"));
        std::fs::write(path.with_extension(COPY), copy.as_os_str().as_encoded_bytes()).expect("written");
        let write = |act: &dyn Fn(&mut ledger::Writer) -> Result<(), ledger::Error>| {
            let mut writer = ledger::Writer::create_or_open(&path).expect("a ledger");
            act(&mut writer).expect("written");
        };
        write(&|writer| writer.set_study(&StudyRecord::default(), &[scenario()], None));
        let safety = without_outcome();
        let MeasuredSafety { scenario, ended, asked, .. } = safety.clone();
        let faults = MeasuredFaults { scenario, ended, asked, faults: None, failure: None, member: None };
        for is_safety in [true, false] {
            ledger::publish(&path, &copy).expect("published");
            assert_eq!(unpublished(work.path()), Vec::<PathBuf>::new());
            write(&|writer: &mut ledger::Writer| {
                writer.begin_session(&BTreeMap::new(), 1.0)?;
                if is_safety { writer.safety(&safety) } else { writer.faults(&faults) }
            });
            assert_eq!(unpublished(work.path()), std::slice::from_ref(&path));
        }
    }

    #[test]
    fn what_a_disk_did_to_a_scenario_is_shown_before_the_next_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        drop(ledger::Writer::create_or_open(&place.ledger).expect("a ledger"));
        place.follow(&Event::TurnStarted { scenario: "ext4", number: 1, of: 2 });
        assert!(!place.copy.exists(), "not amid a round");
        place.follow(&Event::SafetyStarted { what: What::PowerCuts, number: 2, total: 2, scenario: "xfs" });
        assert!(ledger::Reader::open(&place.copy).is_ok(), "a whole copy");
    }

    /// A scheduler had called such a member well.
    #[test]
    fn a_member_whose_power_cuts_could_not_be_measured_has_a_hole() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let open = || ledger::Writer::create_or_open(&place.ledger).expect("a ledger");
        open().set_study(&StudyRecord::default(), &[scenario()], None).expect("written");
        let ends = |stop| place.tell(Summary { stop, failed: 0 }).expect("published");
        assert_eq!(ends(Stop::RoundsMax), Status::Answered);
        let mut writer = open();
        writer.begin_session(&BTreeMap::new(), 1.0).expect("written");
        writer.safety(&without_outcome()).expect("written");
        drop(writer);
        assert_eq!([Stop::RoundsMax, Stop::Interrupted].map(ends), [Status::Holes, Status::Interrupted]);
    }
}
