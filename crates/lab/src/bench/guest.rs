//! The guest bench: each trial is the first process of a User-Mode Linux kernel, which is an ordinary process of an
//! ordinary user in namespaces of its own.
//!
//! `surefoot guest` (`enclose`) isolates it on the host and starts the kernel; its first process is `surefoot
//! guest-init`, which runs the same trial as the host bench does. The kernel's first serial line is the talk's pipes.

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod enclosure;

#[cfg(target_os = "linux")]
pub use enclosure::{Enclosed, enclose};

use super::conversation::{self, Event, LEFTOVER_PATIENCE, Talk, TrialProcess};
use super::{End, Error};
use crate::inputs;
use crash::plan::TrialSpec;
use crash::recording::RecordingDisk;
use crash::safety::tells_of_what_stands;
use guest::boot::{self, Boot, Machine};
use guest::kernel::Kernel;
use observe::durability::Durability;
use observe::record::{Failure, Provisioned, Record};
use sandbox::work::Work;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The guest's first process is this binary with this word.
const INIT_WORD: &str = "guest-init";

/// The guest's driver of its disks.
const DISK_MODULE: &str = "virtio_blk";

/// Runs trials in a guest kernel.
pub struct Guest {
    program: PathBuf,
    work: Work,
    /// By their names in `[guest]`, each with the SHA-256 of its file.
    kernels: BTreeMap<String, (Kernel, String)>,
}

impl Guest {
    /// For the `[guest]` of each scenario, in a work folder; `program` is what to start, this same binary.
    ///
    /// # Errors
    /// When a kernel that they name is not there or can't be read.
    pub fn new<'a>(
        program: PathBuf,
        work: Work,
        guests: impl IntoIterator<Item = &'a Map<String, Value>>,
    ) -> Result<Guest, Error> {
        let mut kernels = BTreeMap::new();
        for settings in guests.into_iter().filter(|settings| !settings.is_empty()) {
            if let Entry::Vacant(place) = kernels.entry(kernel_name(settings)) {
                let kernel = kernel(settings)?;
                let digest = kernel.digest()?;
                place.insert((kernel, digest));
            }
        }
        Ok(Guest { program, work, kernels })
    }

    /// The kernels, as facts of the machine: what must be the same when the study goes on.
    pub fn machine(&self) -> impl Iterator<Item = (String, String)> {
        self.kernels.iter().map(|(name, (kernel, digest))| {
            (format!("guest_kernel {name}"), format!("{}, SHA-256 {digest}", kernel.release))
        })
    }

    /// As [`super::Bench::run`].
    ///
    /// # Errors
    /// When the guest could not be started.
    pub fn run(&self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        let (kernel, digest) = &self.kernels[&kernel_name(&spec.guest)];
        let preparing = Instant::now();
        let images = match self.prepare(spec, interrupted) {
            Ok(images) => images,
            Err(storage::Error::Interrupted) => return Ok(End::Interrupted),
            Err(error) => return Ok(End::Failed(Failure::of("image", &error, String::new()))),
        };
        sink(Record::Step { name: "image".into(), seconds: preparing.elapsed().as_secs_f64() });
        let starting = Instant::now();
        let child = self.start(kernel, spec, &images)?;
        let (log, opening) = (self.work.trial_log(), self.opening(spec, images));
        let process = TrialProcess { spec, interrupted, log: log.clone(), opening, after: Some(boot::READY) };
        let (mut last_heard, mut is_recovering, mut stands) = (starting, false, false);
        let end = Talk::begin(process, child).follow_to_end(&mut |heard| {
            last_heard = Instant::now();
            match heard {
                Event::Ready => {
                    sink(Record::Step { name: "start guest".into(), seconds: starting.elapsed().as_secs_f64() });
                }
                Event::Record(Record::Provisioned(provisioned)) => {
                    let mut explained = self.explained(provisioned, kernel, spec);
                    explained.facts.insert("guest_kernel_file_sha256".into(), digest.clone());
                    sink(Record::Provisioned(explained));
                }
                Event::Record(record) => {
                    is_recovering |= matches!(record, Record::Recovering { .. });
                    stands |= tells_of_what_stands(&record);
                    sink(record);
                }
            }
        })?;
        if end == End::Finished {
            sink(Record::Step { name: "stop guest".into(), seconds: last_heard.elapsed().as_secs_f64() });
        }
        let End::Failed(failure) = end else { return Ok(end) };
        let said = std::fs::read(&log).unwrap_or_default();
        let failure = with_panic(failure, &String::from_utf8_lossy(&said));
        // A report names the image that a kernel died of, and those that were found: they are kept in the place of those before, which the
        // search can't say any more.
        #[cfg(target_os = "linux")]
        if stands || died_of_image(spec, &failure, is_recovering) {
            crash::replay::settle(&self.work, &spec.scenario, true);
        }
        Ok(End::Failed(failure))
    }

    /// Makes the image files alike, and gives their paths in the work folder.
    fn prepare(&self, spec: &TrialSpec, interrupted: &AtomicBool) -> Result<Vec<PathBuf>, storage::Error> {
        let (folder, work) = (self.work.images(), self.work.folder());
        // A trial of the host's that was killed has them until it is written out, and a guest would find them locked.
        storage::wait_until_free(&spec.storage, &folder, LEFTOVER_PATIENCE, interrupted);
        let mut all = Vec::new();
        let volumes = spec.volumes.iter().map(|(name, settings)| (Some(name), settings));
        for (volume, settings) in std::iter::once((None, &spec.storage)).chain(volumes) {
            let of_volume = volume.map_or_else(|| folder.clone(), |name| self.work.volume_images(name));
            storage::prepare_images(settings, &of_volume, interrupted)?;
            for name in storage::images(settings).into_keys() {
                let image = of_volume.join(name);
                storage::settle_image(&image)?;
                all.push(image.strip_prefix(work).expect("it lies in there").to_path_buf());
            }
        }
        storage::prepare_cache(&self.work.guest().join(CACHE_DISK))?;
        Ok(all)
    }

    fn start(&self, kernel: &Kernel, spec: &TrialSpec, images: &[PathBuf]) -> Result<Child, Error> {
        let inside = |path: &Path| path.strip_prefix(self.work.folder()).expect("a folder of it").to_path_buf();
        let cache = inside(&self.work.guest()).join(CACHE_DISK);
        let disks: Vec<&Path> = std::iter::once(&*cache).chain(images.iter().map(PathBuf::as_path)).collect();
        let recording = spec.cut.as_ref().map(|cut| RecordingDisk::of(spec, cut));
        let (memory_bytes, scratch) = (memory_bytes(&spec.guest), inside(&scratch(&self.work)));
        let count = disks.len() + usize::from(recording.is_some());
        let machine = Machine { memory_bytes, disks: count, init: &self.program, word: INIT_WORD, scratch: &scratch };
        let mut command = Command::new(&self.program);
        command.arg("guest").args(disks.iter().flat_map(|disk| [OsStr::new("--disk"), disk.as_os_str()]));
        if let Some(disk) = recording {
            command.arg("--recording").arg(serde_json::to_string(&disk).expect("plain data"));
        }
        command.arg(self.work.folder()).arg(machine.memory_bytes.to_string());
        command.arg(&kernel.program).args(boot::arguments(&machine)?);
        conversation::start(command, &self.work)
    }

    /// What the guest is told, and then the trial.
    fn opening(&self, spec: &TrialSpec, mut images: Vec<PathBuf>) -> String {
        if spec.cut.is_some() {
            let disk = storage::recording_disk(&self.work.disk());
            images.push(disk.strip_prefix(self.work.folder()).expect("it lies in there").to_path_buf());
        }
        let all = std::iter::once(&spec.storage).chain(spec.volumes.values());
        let modules = all.flat_map(storage::kernel_modules);
        let modules = std::iter::once(DISK_MODULE).chain(modules).map(str::to_string).collect();
        let path = std::env::join_paths(storage::search_path()).expect("the parts came from a search path");
        // A folder that was removed meanwhile: paths from there lead nowhere on the host, either.
        let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let files = inputs::files(&spec.workload, &spec.parameters);
        let files = files.iter().map(|file| folder.join(file).into()).collect();
        let boot = Boot { work: self.work.folder().into(), images, modules, path, folder, files };
        let boot = serde_json::to_string(&boot).expect("plain data");
        let spec = serde_json::to_string(spec).expect("a TrialSpec is plain data");
        format!("{boot}\n{spec}\n")
    }

    /// Adds what only the host knows of a trial's storage.
    fn explained(&self, mut provisioned: Provisioned, kernel: &Kernel, spec: &TrialSpec) -> Provisioned {
        let facts = &mut provisioned.facts;
        facts.insert("guest_kernel".into(), format!("Linux {} (User-Mode Linux)", kernel.release));
        if spec.cut.is_none() {
            facts.insert("guest_disks".into(), in_words(storage::below_images(&self.work.images()), has_queue()));
        }
        facts.insert("guest_memory".into(), settings::quantity::format_bytes(memory_bytes(&spec.guest)));
        // A recording disk is as good as it is told to be, whatever lies below.
        if spec.cut.is_none()
            && let Some(durability) = provisioned.durability.take()
        {
            let host: Durability = storage::durability_under_images(&self.work.images());
            provisioned.durability = Some(durability.and(host));
        }
        provisioned
    }
}

/// Whether the host lets disks have several requests under way.
#[cfg(target_os = "linux")]
fn has_queue() -> bool {
    guest::disk::has_several_under_way()
}

/// There are no guests elsewhere.
#[cfg(not(target_os = "linux"))]
fn has_queue() -> bool {
    false
}

/// Disks on these images: without a queue, filesystems that write much at a time lose more than others.
fn in_words(images: String, has_queue: bool) -> String {
    if has_queue { images } else { format!("{images}, one request after the other, as io_uring is refused") }
}

/// Whether a kernel died of an image that a power cut may have left. Before it recovers the first one nothing of its own is kept, and what is set
/// aside are the images that a report names, since a search that was killed.
#[cfg(target_os = "linux")]
fn died_of_image(spec: &TrialSpec, failure: &Failure, is_recovering: bool) -> bool {
    is_recovering && spec.faults.is_none() && panic_of(failure).is_some()
}

/// How the failure of a trial whose kernel panicked begins; why follows.
const PANICKED: &str = "the guest kernel panicked: ";

/// Why a trial's kernel panicked, if it did, and not for want of memory, which is no fault of what it ran.
pub fn panic_of(failure: &Failure) -> Option<&str> {
    let why = failure.causes.first()?.strip_prefix(PANICKED)?;
    (!why.to_lowercase().contains("memory")).then_some(why)
}

/// A trial whose kernel panicked says so first. `said` is all that the kernel said: what comes after those words may be long.
fn with_panic(mut failure: Failure, said: &str) -> Failure {
    let panic = said.lines().find_map(|line| line.split_once("Kernel panic - not syncing: "));
    // The end of its first process is the trial's, and that is told.
    if let Some((_, why)) = panic.filter(|(_, why)| !why.starts_with("Attempted to kill init")) {
        failure.causes.insert(0, format!("{PANICKED}{why}"));
    }
    failure
}

/// File name of the disk for what trials share.
const CACHE_DISK: &str = "cache.img";

/// The kernel that `[guest]` names.
///
/// # Errors
/// When there is no such kernel.
pub fn kernel(settings: &Map<String, Value>) -> Result<Kernel, guest::kernel::Error> {
    Kernel::find(&kernel_name(settings), &storage::search_path())
}

fn kernel_name(settings: &Map<String, Value>) -> String {
    settings["kernel"].as_str().unwrap_or_default().to_string()
}

/// The guest's memory.
pub fn memory_bytes(settings: &Map<String, Value>) -> u64 {
    settings["memory"].as_u64().unwrap_or_default()
}

/// The folder for the kernel's own files while it lives: its memory is one of them.
fn scratch(work: &Work) -> PathBuf {
    work.guest().join("memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where Docker or `kernel.io_uring_disabled` refuse it, figures were others and nothing said so.
    #[test]
    fn disks_without_a_queue_are_told() {
        assert_eq!(in_words("direct I/O on".into(), true), "direct I/O on");
        let said = in_words("direct I/O on".into(), false);
        assert_eq!(said, "direct I/O on, one request after the other, as io_uring is refused");
    }

    /// After a trial on the host that was killed, a guest's had failed: its image was locked.
    #[test]
    fn a_guest_waits_for_who_still_has_its_image() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = Work::open(folder.path()).expect("ours");
        let storage = storage::StorageSettings { size: 1 << 20, ..storage::StorageSettings::default() };
        let spec = TrialSpec::single("s", "ext4", "oltp", study::Bench::Guest, 1, storage);
        std::fs::create_dir_all(work.guest()).expect("a folder");
        std::fs::write(work.guest().join(CACHE_DISK), "").expect("written");
        let guest = Guest { program: PathBuf::new(), work, kernels: BTreeMap::new() };
        let prepare = || guest.prepare(&spec, &AtomicBool::new(false)).expect("an image");
        let image = folder.path().join(&prepare()[0]);
        let open = || std::fs::File::open(&image).expect("it is there");
        let killed = open();
        killed.try_lock().expect("nobody else has it");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(300));
                drop(killed);
            });
            prepare();
            open().try_lock().expect("it was waited for");
        });
    }

    #[test]
    fn a_panic_is_told_however_much_the_kernel_said_after_it() {
        let said =
            format!("Kernel panic - not syncing: EXT4-fs: panic forced\n{}", " [<60182822>] ? a()\n".repeat(400));
        let tail = said[said.len() - 4096..].to_string();
        let failure = |log| Failure { step: "trial".into(), causes: vec!["it ended by signal 6".into()], log };
        assert_eq!(panic_of(&with_panic(failure(tail.clone()), &said)), Some("EXT4-fs: panic forced"));
        assert_eq!(panic_of(&with_panic(failure(tail.clone()), &tail)), None);
        let init = "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\n";
        assert_eq!(panic_of(&with_panic(failure(tail), init)), None);
        let without_memory = "Kernel panic - not syncing: Out of memory\n";
        assert_eq!(panic_of(&with_panic(failure(String::new()), without_memory)), None);
    }

    /// One that died while it was loaded, after a search that was killed, had thrown away the images that the report names.
    #[test]
    #[cfg(target_os = "linux")]
    fn images_are_replaced_only_where_a_kernel_died_of_one() {
        let spec =
            TrialSpec::single("s", "ext4", "commits", study::Bench::Guest, 1, storage::StorageSettings::default());
        let failure = |cause: &str| Failure { step: "trial".into(), causes: vec![cause.into()], log: String::new() };
        let panicked = failure("the guest kernel panicked: EXT4-fs: panic forced");
        assert!(died_of_image(&spec, &panicked, true));
        assert!(!died_of_image(&spec, &panicked, false));
        assert!(!died_of_image(&spec, &failure("it ended by signal 9"), true));
    }
}
