//! A real recovery of an image that a power cut may have left: the filesystem's, then the database's, then what is there.
//!
//! Linux's only, as recording disks are.

mod memo;

use crate::database::Asked;
use crate::error::Error;
use crate::mounted_image::MountedImage;
use crate::plan::TrialSpec;
pub use memo::Memo;
use memo::folder_hash;
use observe::record::causes;
use powercut::explore::Recovered;
use powercut::states::{Choice, Unit};
use powercut::verdict::{Found, RecoveryOutcome};
use sandbox::work::Work;
use serde_json::{Map, Value};
use services::service;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workloads::steps::process::Remote;
use workloads::{commits, replacements};

/// How the database is asked.
enum Database {
    /// There is none: files are.
    Files(Map<String, Value>),
    /// Where it maps its file, it is read by a process of its own: a page that can't be read ends who touches it.
    Embedded(Map<String, Value>, Option<Remote>),
    Served {
        service: services::Wanted,
        questions: Vec<String>,
        parameters: Map<String, Value>,
        /// Once it was asked.
        asked: Option<Asked>,
    },
}

impl Database {
    fn of(spec: &TrialSpec) -> Database {
        let parameters = spec.parameters.clone();
        if spec.workload == replacements::KIND.name {
            return Database::Files(parameters);
        }
        let kind = workloads::kind_of_trial(&spec.workload).expect("it ran");
        let wanted = services::wanted(&(kind.read)(&parameters).services(), &spec.services);
        match wanted.into_iter().next_back() {
            Some(service) => {
                Database::Served { service, questions: commits::questions(&parameters), parameters, asked: None }
            }
            None => {
                let of_its_own = commits::is_mapped(&parameters);
                let remote = of_its_own.then(|| Remote::new(commits::KIND.name, &parameters));
                Database::Embedded(parameters, remote)
            }
        }
    }

    fn look(&mut self, data: &Path, work: &Work) -> Result<Found, Error> {
        let look = match self {
            Database::Files(parameters) => Ok(replacements::look(parameters, data)),
            Database::Embedded(parameters, None) => {
                commits::look_at_embedded(parameters, data).map_err(RecoveryOutcome::Down)
            }
            Database::Embedded(_, Some(remote)) => {
                remote.look_at_embedded(data).map_err(Error::Look)?.map_err(RecoveryOutcome::Down)
            }
            Database::Served { service, questions, parameters, asked } => {
                let asked = match asked {
                    Some(asked) => asked,
                    None => asked.insert(Asked::new(service, work)?),
                };
                match asked.ask(data, questions) {
                    Ok(recovered) => Ok(commits::look(parameters, &recovered.answers, recovered.logged.as_deref())),
                    // It runs, and can't answer.
                    Err(Error::Service(error @ service::Error::Asked { .. })) => {
                        Err(RecoveryOutcome::Damaged(error.complaint()))
                    }
                    Err(Error::Service(error)) => Err(RecoveryOutcome::Down(error.complaint())),
                    Err(other) => return Err(other),
                }
            }
        };
        Ok(look.map_or_else(nothing, found))
    }
}

/// What a database holds that came up.
pub fn found(look: commits::Look) -> Found {
    let outcome = look.damage.map_or(RecoveryOutcome::Up, RecoveryOutcome::Damaged);
    Found { outcome, streams: look.streams, wrong: look.wrong, logged: look.logged }
}

/// Of what did not come up, nothing can be read.
pub fn nothing(outcome: RecoveryOutcome) -> Found {
    Found { outcome, streams: BTreeMap::new(), wrong: Vec::new(), logged: None }
}

/// How an image is brought up, and what is known of those before.
pub struct Recovery<'a> {
    database: Database,
    work: &'a Work,
    memo: Arc<Mutex<Memo>>,
}

impl<'a> Recovery<'a> {
    /// Of the scenario that was recorded; others may know what is in the memo.
    pub fn new(spec: &TrialSpec, work: &'a Work, memo: Arc<Mutex<Memo>>) -> Recovery<'a> {
        Recovery { database: Database::of(spec), work, memo }
    }

    /// Brings an image up; one that comes again as if nothing were known.
    ///
    /// # Errors
    /// When that can't be tried.
    pub fn bring_up(
        &mut self,
        shown: &mut MountedImage,
        point: usize,
        choice: &Choice,
        is_again: bool,
    ) -> Result<Recovered, Error> {
        // To read files is all that their hash would take.
        let is_read_only = matches!(self.database, Database::Files(_));
        if is_again || is_read_only || !self.memo().is_to_be_asked() {
            return self.bring_up_anew(shown, point, choice);
        }
        let hash = match shown.mount(point, choice)? {
            Err(error) => Err(causes(&error).join(": ")),
            Ok(after) => {
                let hash = folder_hash(&after.data_folder);
                after.unmount()?;
                hash.map_err(|error| format!("files can't be read: {error}"))
            }
        };
        let mut read = shown.units_read()?;
        let hash = match hash {
            Ok(hash) => hash,
            Err(words) => return Ok(unmountable(words, read)),
        };
        let known = self.memo().ask(hash);
        let is_new = known.is_none();
        let (found, also_read) = match known {
            Some(known) => known,
            None => {
                // So that what the database reads is not in the cache that the hash has filled.
                let recovered = self.bring_up_anew(shown, point, choice)?;
                let known = (recovered.found, recovered.read);
                self.memo().learn(hash, known.clone());
                known
            }
        };
        read.extend(also_read.into_iter().filter(|unit| !read.contains(unit)).collect::<Vec<_>>());
        Ok(Recovered { found, read, is_new })
    }

    fn memo(&self) -> MutexGuard<'_, Memo> {
        self.memo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without a look at what is known.
    fn bring_up_anew(&mut self, shown: &mut MountedImage, point: usize, choice: &Choice) -> Result<Recovered, Error> {
        twice_at_most(|| self.bring_up_once(shown, point, choice))
    }

    fn bring_up_once(&mut self, shown: &mut MountedImage, point: usize, choice: &Choice) -> Result<Recovered, Error> {
        let after = match shown.mount(point, choice)? {
            Ok(after) => after,
            Err(error) => return Ok(unmountable(causes(&error).join(": "), shown.units_read()?)),
        };
        let found = self.database.look(&after.data_folder, self.work);
        after.unmount()?;
        Ok(Recovered { found: Arc::new(found?), read: shown.units_read()?, is_new: true })
    }
}

/// Once more where the machine failed, which may have been short of memory for a moment only.
fn twice_at_most<T>(mut bring_up: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    match bring_up() {
        Err(Error::Machine(_) | Error::Look(_)) => bring_up(),
        ended => ended,
    }
}

fn unmountable(words: String, read: Vec<Unit>) -> Recovered {
    Recovered { found: Arc::new(nothing(RecoveryOutcome::Unmountable(of_any_disk(&words)))), read, is_new: false }
}

/// What was said, whichever loop device an image was shown on: the same fault on another is no other fault.
fn of_any_disk(words: &str) -> String {
    let mut parts = words.split("/dev/loop");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |said, part| said + "the disk" + part.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{Error, of_any_disk, twice_at_most};
    use services::service;

    #[test]
    fn what_the_machine_kept_from_recovering_is_tried_once_more_and_is_no_finding() {
        let killed = || {
            let error =
                service::Error::Program { program: "postgres".into(), status: "signal 9".into(), log: String::new() };
            Error::Machine(error)
        };
        let tried = |broken: &dyn Fn() -> Error, failures: u32| {
            let mut tries = 0;
            let ended = twice_at_most(|| {
                tries += 1;
                if tries > failures { Ok(()) } else { Err(broken()) }
            });
            (tries, ended.is_ok())
        };
        assert_eq!([0, 1, 2].map(|failures| tried(&killed, failures)), [(1, true), (2, true), (2, false)]);
        assert_eq!(tried(&|| Error::Ended("brings images up"), 1), (1, false), "what can't pass");
    }

    /// 12 of 16 bad images once counted as unsteady, because they were seen on another device the second time.
    #[test]
    fn a_fault_has_the_same_words_on_every_loop_device() {
        let said = |device: &str| of_any_disk(&format!("cannot mount {device} as ext4: Bad message; see {device}p1"));
        assert_eq!(said("/dev/loop0"), said("/dev/loop12"));
        assert_eq!(said("/dev/loop7"), "cannot mount the disk as ext4: Bad message; see the diskp1");
        assert_eq!(of_any_disk("nothing of the kind"), "nothing of the kind");
    }
}
