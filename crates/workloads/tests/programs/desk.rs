//! What `lab::trial` does for a workload, as far as a test needs it.

use load::workload::{Context, Error, Kind, Outcome, Workload};
use serde_json::{Map, Value};
use settings::check_all;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A folder under test, a cache and an interrupt flag.
pub struct Desk {
    pub data: TempDir,
    pub cache: TempDir,
    pub interrupted: AtomicBool,
}

impl Desk {
    pub fn new() -> Desk {
        let folder = || tempfile::tempdir().unwrap();
        Desk { data: folder(), cache: folder(), interrupted: AtomicBool::new(false) }
    }

    /// Calls a hook with a context.
    pub fn act<T>(&self, hook: impl FnOnce(&mut Context) -> T) -> T {
        hook(&mut Context {
            data_folder: self.data.path().into(),
            server: None,
            sockets: std::collections::BTreeMap::new(),
            cache_folder: self.cache.path().into(),
            seed: 7,
            goes_on: false,
            runs: 1,
            client_cpus: Vec::new(),
            interrupted: &self.interrupted,
            progress: &mut |_, _| {},
        })
    }

    /// A workload that is prepared.
    pub fn prepared(&self, kind: &Kind, written: &Value) -> Box<dyn Workload> {
        let mut workload = open(kind, written).unwrap();
        self.act(|context| workload.prepare(context)).unwrap();
        workload
    }

    /// One run, made ready.
    pub fn run(&self, workload: &mut dyn Workload) -> Result<Outcome, Error> {
        self.act(|context| workload.ready(context))?;
        self.act(|context| workload.run(context))
    }

    /// Prepare, run twice, verify; the last run's outcome.
    pub fn trial(&self, kind: &Kind, written: &Value) -> Result<Outcome, Error> {
        let mut workload = open(kind, written)?;
        self.act(|context| workload.prepare(context))?;
        self.run(&mut *workload)?;
        let outcome = self.run(&mut *workload)?;
        self.act(|context| workload.verify(context))?;
        Ok(outcome)
    }
}

/// A table of settings with more of them, or others.
pub fn with(mut table: Value, more: &Value) -> Value {
    table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    table
}

/// Parameters as the trial gets them.
pub fn parameters(kind: &Kind, written: &Value) -> Map<String, Value> {
    check_all(kind.settings, written.as_object().unwrap()).unwrap()
}

pub fn open(kind: &Kind, written: &Value) -> Result<Box<dyn Workload>, Error> {
    let parameters = parameters(kind, written);
    let settings = (kind.read)(&parameters);
    assert_eq!([settings.problems(), settings.missing()].concat(), Vec::<String>::new());
    settings.open()
}

/// The value of a metric.
pub fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.iter().find(|measured| measured.metric.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// All promised metrics are there, and no other.
pub fn has_its_metrics(kind: &Kind, written: &Value, outcome: &Outcome) {
    let promised: Vec<_> =
        (kind.read)(&parameters(kind, written)).metrics().into_iter().map(|metric| metric.name).collect();
    let found: Vec<_> = outcome.metrics.iter().map(|measured| measured.metric.name.clone()).collect();
    assert_eq!(promised, found);
    assert!(outcome.metrics.iter().all(|measured| measured.value.is_finite() && measured.value >= 0.0));
}

/// Runs a test with a small tmpfs on the desk's data folder, in a mount namespace of this thread's own, which ends with
/// the thread. Needs root.
pub fn on_small_tmpfs(bytes: u64, test: impl FnOnce(&Desk) + Send + 'static) {
    use nix::mount::{MsFlags, mount};
    let inside = move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).expect("this test needs root");
        let none: Option<&Path> = None;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
        let desk = Desk::new();
        let options = format!("size={bytes}");
        mount(Some("tmpfs"), desk.data.path(), Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).unwrap();
        test(&desk);
        nix::mount::umount2(desk.data.path(), nix::mount::MntFlags::MNT_DETACH).unwrap();
    };
    std::thread::spawn(inside).join().unwrap();
}

/// Whether the error is the system's "no space left".
pub fn is_disk_full(error: &Error) -> bool {
    matches!(error, Error::File { source, .. } if source.raw_os_error() == Some(nix::libc::ENOSPC))
}
