//! Real recoveries of images that a power cut may have left: the filesystem's, then the database's, then what is there.
//!
//! Linux's only, as recording disks are.

use crate::served::{self, Failed};
use crate::shown::{self, Images, Shown};
use crate::watchdog::Watchdog;
use crate::work::Work;
use observe::record::causes;
use powercut::explore::{Recovered, Subject};
use powercut::states::{Choice, Unit};
use powercut::verdict::{Came, Found};
use serde_json::{Map, Value};
use services::service::Error;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storage::StorageSettings;
use study::trial_spec::TrialSpec;
use workloads::{commits, replacements};

/// How the database is asked.
enum Database {
    /// There is none: files are.
    Files(Map<String, Value>),
    Embedded(Map<String, Value>),
    Served {
        service: services::Wanted,
        questions: Vec<String>,
        parameters: Map<String, Value>,
    },
}

impl Database {
    fn of(spec: &TrialSpec) -> Database {
        let parameters = spec.parameters.clone();
        if spec.workload == replacements::KIND.name {
            return Database::Files(parameters);
        }
        let kind = workloads::kind_of_trial(&spec.workload).expect("it ran");
        let wanted = services::wanted(&(kind.services)(&parameters), &spec.services);
        match wanted.into_iter().next_back() {
            Some(service) => Database::Served {
                service,
                questions: commits::questions(parameters["engine"].as_str().unwrap_or_default()),
                parameters,
            },
            None => Database::Embedded(parameters),
        }
    }

    fn look(&self, data: &Path, work: &Work) -> Result<Found, Broken> {
        let look = match self {
            Database::Files(parameters) => Ok(replacements::look(parameters, data)),
            Database::Embedded(parameters) => commits::look_at_sqlite(parameters, data).map_err(Came::Down),
            Database::Served { service, questions, parameters } => {
                match served::ask_recovered(service, data, work, questions) {
                    Ok(recovered) => Ok(commits::look(parameters, &recovered.answers, recovered.logged.as_deref())),
                    // It runs, and can't answer.
                    Err(Failed::Service(error @ Error::Asked { .. })) => Err(Came::Damaged(error.complaint())),
                    Err(Failed::Service(error)) => Err(Came::Down(error.complaint())),
                    Err(other) => return Err(Broken::Service(other)),
                }
            }
        };
        Ok(match look {
            Err(came) => nothing(came),
            Ok(look) => {
                let came = look.damage.map_or(Came::Up, Came::Damaged);
                Found { came, streams: look.streams, wrong: look.wrong, logged: look.logged }
            }
        })
    }
}

/// Of what did not come up, nothing can be read.
fn nothing(came: Came) -> Found {
    Found { came, streams: BTreeMap::new(), wrong: Vec::new(), logged: None }
}

/// Folders that are looked up before it is known whether that pays.
const MEMO_TRIED: u32 = 16;

/// Brings images up again.
pub struct Recoveries<'a> {
    images: Images<'a>,
    /// None after a recovery that hung.
    shown: Option<Shown<'a>>,
    settings: StorageSettings,
    recovery: Recovery<'a>,
    /// Takes the disk from under a recovery that hangs.
    watchdog: Watchdog,
    seconds_max: f64,
}

/// Why no image can be brought up any more.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The folders that the database's user can reach.
    #[error(transparent)]
    Service(Failed),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] shown::Error),
    /// What is mounted from it.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl<'a> Recoveries<'a> {
    /// Of the scenario that was recorded. A disk is started once, and again after each recovery that hung: that took more than
    /// `seconds_max`.
    #[must_use]
    pub fn new(spec: &TrialSpec, seconds_max: f64, images: Images<'a>) -> Recoveries<'a> {
        let work = images.work;
        Recoveries {
            images,
            shown: None,
            settings: StorageSettings::from_map(&spec.storage),
            recovery: Recovery { database: Database::of(spec), work, memo: Memo::default(), done: HashSet::new() },
            watchdog: Watchdog::new(Duration::from_secs_f64(seconds_max)),
            seconds_max,
        }
    }

    fn hung(&self) -> Recovered {
        let said = format!("the recovery did not end within {} s", self.seconds_max);
        let found = Arc::new(nothing(Came::Unmountable(said)));
        Recovered { found, read: Vec::new(), is_new: true }
    }
}

/// How an image is brought up, and what is known of those before.
struct Recovery<'a> {
    database: Database,
    work: &'a Work,
    memo: Memo,
    /// Images that were recovered: one that comes again is to be done again.
    done: HashSet<(usize, Choice)>,
}

impl Recovery<'_> {
    fn bring_up(&mut self, shown: &mut Shown, point: usize, choice: &Choice) -> Result<Recovered, Broken> {
        let is_again = !self.done.insert((point, choice.clone()));
        // To read files is all that their hash would take.
        let is_read_only = matches!(self.database, Database::Files(_));
        if is_again || is_read_only || !self.memo.pays() {
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
        let is_new = !self.memo.knows(hash);
        if is_new {
            // So that what the database reads is not in the cache that the hash has filled.
            let recovered = self.bring_up_anew(shown, point, choice)?;
            self.memo.seen.insert(hash, (recovered.found, recovered.read));
        }
        let (found, also_read) = &self.memo.seen[&hash];
        let more: Vec<Unit> = also_read.iter().filter(|unit| !read.contains(unit)).copied().collect();
        read.extend(more);
        Ok(Recovered { found: found.clone(), read, is_new })
    }

    /// Without a look at what is known.
    fn bring_up_anew(&self, shown: &mut Shown, point: usize, choice: &Choice) -> Result<Recovered, Broken> {
        let after = match shown.mount(point, choice)? {
            Ok(after) => after,
            Err(error) => return Ok(unmountable(causes(&error).join(": "), shown.units_read()?)),
        };
        let found = self.database.look(&after.data_folder, self.work);
        after.unmount()?;
        Ok(Recovered { found: Arc::new(found?), read: shown.units_read()?, is_new: true })
    }
}

fn unmountable(words: String, read: Vec<Unit>) -> Recovered {
    Recovered { found: Arc::new(nothing(Came::Unmountable(words))), read, is_new: false }
}

/// What the database made of folders, by their hash; and whether it is worth asking.
#[derive(Default)]
struct Memo {
    /// And what it read of the disk meanwhile.
    seen: HashMap<u128, (Arc<Found>, Vec<Unit>)>,
    asked: u32,
    known: u32,
}

impl Memo {
    /// Reading a whole folder costs about as much as a recovery does: it pays where every second folder is known.
    fn pays(&self) -> bool {
        self.asked < MEMO_TRIED || self.known * 2 >= self.asked
    }

    fn knows(&mut self, hash: u128) -> bool {
        let is_known = self.seen.contains_key(&hash);
        self.asked += 1;
        self.known += u32::from(is_known);
        is_known
    }
}

impl Subject for Recoveries<'_> {
    type Error = Broken;

    fn recover(&mut self, point: usize, choice: &Choice) -> Result<Recovered, Broken> {
        let mut shown = match self.shown.take() {
            Some(shown) => shown,
            None => match self.images.show(&self.settings, &self.watchdog)? {
                Some(shown) => shown,
                None => return Ok(self.hung()),
            },
        };
        let breaker = shown.breaker()?;
        let (recovered, hung) = self.watchdog.over(breaker, || self.recovery.bring_up(&mut shown, point, choice));
        if hung {
            return Ok(self.hung());
        }
        self.shown = Some(shown);
        recovered
    }
}

/// Of all that a folder holds: names, kinds, sizes and contents, in the order of names.
fn folder_hash(folder: &Path) -> std::io::Result<u128> {
    let mut hasher = twox_hash::XxHash3_128::with_seed(0);
    add_folder(folder, &mut hasher)?;
    Ok(hasher.finish_128())
}

fn add_folder(folder: &Path, hasher: &mut twox_hash::XxHash3_128) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut entries = folder.read_dir()?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        hasher.write(entry.file_name().as_bytes());
        hasher.write(if kind.is_dir() { b"/" } else { b"\0" });
        if kind.is_dir() {
            add_folder(&entry.path(), hasher)?;
            hasher.write(b"..");
        } else if kind.is_symlink() {
            hasher.write(entry.path().read_link()?.as_os_str().as_bytes());
        } else if kind.is_file() {
            let content = std::fs::read(entry.path())?;
            hasher.write(&(content.len() as u64).to_le_bytes());
            hasher.write(&content);
        }
    }
    Ok(())
}
