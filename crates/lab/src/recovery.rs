//! Real recoveries of images that a power cut may have left: the filesystem's, then the database's, then what is there.
//!
//! Linux's only, as recording disks are.

use crate::isolation;
use crate::served::{Asked, Failed};
use crate::shown::{self, Images, Shown};
use crate::watchdog::Watchdog;
use crate::work::Work;
use observe::record::causes;
use powercut::explore::{Recovered, Subject};
use powercut::states::{Choice, Unit};
use powercut::verdict::{Came, Found};
use serde_json::{Map, Value};
use services::service::Error;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
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
        let wanted = services::wanted(&(kind.services)(&parameters), &spec.services);
        match wanted.into_iter().next_back() {
            Some(service) => Database::Served {
                service,
                questions: commits::questions(parameters["engine"].as_str().unwrap_or_default()),
                parameters,
                asked: None,
            },
            None => Database::Embedded(parameters),
        }
    }

    fn look(&mut self, data: &Path, work: &Work) -> Result<Found, Broken> {
        let look = match self {
            Database::Files(parameters) => Ok(replacements::look(parameters, data)),
            Database::Embedded(parameters) => commits::look_at_sqlite(parameters, data).map_err(Came::Down),
            Database::Served { service, questions, parameters, asked } => {
                let asked = match asked {
                    Some(asked) => asked,
                    None => asked.insert(Asked::new(service, work).map_err(Broken::Service)?),
                };
                match asked.ask(data, questions) {
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

/// One of so many folders is looked up while that does not pay …
const MEMO_SHARE: u32 = 32;
/// … and so many before it is known whether it does.
const MEMO_TRIED_MIN: u32 = 4;

/// At most so many side by side: each has the disk's content in memory.
const BAYS_MAX: usize = 4;

/// Brings images up again, as many side by side as there are CPUs: each in a bay of its own, which is a thread with a disk and mounts
/// that no other sees.
pub struct Recoveries {
    jobs: Sender<Job>,
    bays: usize,
    /// Where the results of those that were begun come, in that order.
    begun: VecDeque<Receiver<Result<Recovered, Broken>>>,
    /// Images that were recovered: one that comes again is to be done again.
    done: HashSet<(usize, Choice)>,
}

/// An image to bring up.
struct Job {
    point: usize,
    choice: Choice,
    is_again: bool,
    result: Sender<Result<Recovered, Broken>>,
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
    /// Mounts of its own, so that several see theirs at the same place.
    #[error("the kernel grants no further mount namespace")]
    Namespace(#[source] nix::Error),
    /// The thread panicked, and has said why.
    #[error("a thread that brings images up has ended")]
    Ended,
}

impl Recoveries {
    /// Of the scenario that was recorded, in threads of this scope. A recovery that takes more than `seconds_max` hangs, and costs its
    /// bay the disk: it gets another.
    #[must_use]
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        spec: &'scope TrialSpec,
        seconds_max: f64,
        images: Images<'scope>,
    ) -> Recoveries {
        let (jobs, to_do) = channel();
        let to_do = Arc::new(Mutex::new(to_do));
        let memo = Arc::new(Mutex::new(Memo::default()));
        let settings = StorageSettings::from_map(&spec.storage);
        let bays = bays(&images, &settings);
        for _ in 0..bays {
            let (to_do, memo, settings) = (to_do.clone(), memo.clone(), settings.clone());
            scope.spawn(move || {
                let walls = if bays > 1 { isolation::own_mounts() } else { Ok(()) };
                let mut bay = Bay::new(spec, settings, seconds_max, images, memo);
                let next = || to_do.lock().ok()?.recv().ok();
                while let Some(job) = next() {
                    let recovered = walls.map_err(Broken::Namespace).and_then(|()| bay.recover(&job));
                    // Nobody waits for it any more where another has failed.
                    let _ = job.result.send(recovered);
                }
            });
        }
        Recoveries { jobs, bays, begun: VecDeque::new(), done: HashSet::new() }
    }
}

/// One where there can't be more: in a guest kernel, of a filesystem that would be taken for one with its copy.
fn bays(images: &Images, settings: &StorageSettings) -> usize {
    if !isolation::is_walled() || !images.can_be_several() || !settings.has_mountable_copies() {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, NonZero::get).min(BAYS_MAX)
}

impl Subject for Recoveries {
    type Error = Broken;

    fn side_by_side(&self) -> usize {
        self.bays
    }

    fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), Broken> {
        let (result, comes) = channel();
        let is_again = !self.done.insert((point, choice.clone()));
        self.jobs.send(Job { point, choice: choice.clone(), is_again, result }).map_err(|_| Broken::Ended)?;
        self.begun.push_back(comes);
        Ok(())
    }

    fn end(&mut self) -> Result<Recovered, Broken> {
        self.begun.pop_front().ok_or(Broken::Ended)?.recv().map_err(|_| Broken::Ended)?
    }
}

/// Where one image at a time is brought up.
struct Bay<'a> {
    images: Images<'a>,
    /// None after a recovery that hung.
    shown: Option<Shown<'a>>,
    settings: StorageSettings,
    recovery: Recovery<'a>,
    /// Takes the disk from under a recovery that hangs.
    watchdog: Watchdog,
    seconds_max: f64,
}

impl<'a> Bay<'a> {
    fn new(
        spec: &TrialSpec,
        settings: StorageSettings,
        seconds_max: f64,
        images: Images<'a>,
        memo: Arc<Mutex<Memo>>,
    ) -> Bay<'a> {
        let work = images.work;
        Bay {
            images,
            shown: None,
            settings,
            recovery: Recovery { database: Database::of(spec), work, memo },
            watchdog: Watchdog::new(Duration::from_secs_f64(seconds_max)),
            seconds_max,
        }
    }

    fn recover(&mut self, job: &Job) -> Result<Recovered, Broken> {
        let mut shown = match self.shown.take() {
            Some(shown) => shown,
            None => match self.images.show(&self.settings, &self.watchdog)? {
                Some(shown) => shown,
                None => return Ok(self.hung()),
            },
        };
        let breaker = shown.breaker()?;
        let (recovered, hung) = self.watchdog.over(breaker, || self.recovery.bring_up(&mut shown, job));
        if hung {
            return Ok(self.hung());
        }
        self.shown = Some(shown);
        recovered
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
    /// Of all bays.
    memo: Arc<Mutex<Memo>>,
}

impl Recovery<'_> {
    fn bring_up(&mut self, shown: &mut Shown, job: &Job) -> Result<Recovered, Broken> {
        let Job { point, ref choice, is_again, .. } = *job;
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
                self.memo().seen.insert(hash, known.clone());
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
    fn bring_up_anew(&mut self, shown: &mut Shown, point: usize, choice: &Choice) -> Result<Recovered, Broken> {
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
    images: u32,
    asked: u32,
    known: u32,
}

impl Memo {
    /// Reading a whole folder costs about as much as a recovery does: it pays where every second folder is known.
    fn is_to_be_asked(&mut self) -> bool {
        self.images += 1;
        let pays = self.asked >= MEMO_TRIED_MIN && self.known * 2 >= self.asked;
        pays || self.images % MEMO_SHARE == 1
    }

    fn ask(&mut self, hash: u128) -> Option<(Arc<Found>, Vec<Unit>)> {
        let known = self.seen.get(&hash).cloned();
        self.asked += 1;
        self.known += u32::from(known.is_some());
        known
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
