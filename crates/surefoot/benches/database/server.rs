//! A server in a folder of its own, and our load on it: for benches that hold ours beside another load generator's.

use load::workload::{Context, Workload};
use nix::sys::resource::UsageWho;
use observe::cpu::used_seconds;
use serde_json::Value;
use services::service::{Place, Running};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A server that both sides use in turn; it ends with this.
pub struct Server {
    running: Option<Box<dyn Running>>,
    pub name: &'static str,
    pub folder: tempfile::TempDir,
}

impl Server {
    /// An empty one, with these settings of its table.
    pub fn start(name: &'static str, changes: &Value) -> Server {
        let folder =
            tempfile::Builder::new().prefix("surefoot-bench-").tempdir_in("/var/tmp").expect("a folder on the disk");
        let open_to = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("our own folder");
        };
        // Its user must be able to walk in.
        open_to(folder.path(), 0o755);
        let kind = services::kind(name).expect("a service");
        let parameters = settings::check_all(kind.settings, changes.as_object().expect("a table")).expect("right");
        let service = (kind.read)(&parameters).open().unwrap_or_else(|error| panic!("{error}"));
        let make = |name: &str| -> PathBuf {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).expect("a folder");
            if let Some(user) = service.user() {
                std::os::unix::fs::chown(&path, Some(user.uid), Some(user.gid)).expect("we are root");
            }
            open_to(&path, 0o700);
            path
        };
        let place = Place::new(make("data"), make("run"));
        service.create(&place).unwrap_or_else(|error| panic!("{error}: {}", error.log()));
        let running = service.start(&place).unwrap_or_else(|error| panic!("{error}: {}", error.log()));
        Server { running: Some(running), name, folder }
    }

    pub fn socket(&self) -> PathBuf {
        self.running.as_ref().expect("it runs").socket()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.stop();
        }
    }
}

/// Our workload on the server.
pub struct Load {
    workload: Box<dyn Workload>,
    pub socket: PathBuf,
    folder: PathBuf,
    /// Whether a run goes on where the one before it ended.
    pub goes_on: bool,
}

impl Load {
    /// With these settings of its table.
    pub fn open(workload: &str, changes: &Value, server: &Server) -> Load {
        let kind = workloads::kind(workload).expect("a workload");
        let parameters = settings::check_all(kind.settings, changes.as_object().expect("a table")).expect("right");
        let workload = (kind.read)(&parameters).open().expect("it opens");
        Load { workload, socket: server.socket(), folder: server.folder.path().into(), goes_on: false }
    }

    pub fn prepare(&mut self) {
        self.with_context(|workload, context| workload.prepare(context).map(drop)).expect("it loads");
    }

    pub fn verify(&mut self) {
        self.with_context(|workload, context| workload.verify(context)).expect("it is whole");
    }

    /// A run: its figures by name, and the CPU seconds that it took.
    pub fn run(&mut self) -> (impl Fn(&str) -> f64 + use<>, f64) {
        let before = used_seconds(UsageWho::RUSAGE_SELF);
        let outcome = self.with_context(|workload, context| workload.run(context)).expect("it runs");
        let used = used_seconds(UsageWho::RUSAGE_SELF) - before;
        let figure =
            move |name: &str| outcome.metrics.iter().find(|one| one.metric.name == name).expect("a figure").value;
        (figure, used)
    }

    fn with_context<T>(&mut self, act: impl FnOnce(&mut dyn Workload, &mut Context) -> T) -> T {
        let interrupted = AtomicBool::new(false);
        let mut context = Context {
            data_folder: self.folder.clone(),
            server: Some(load::workload::Server::by_file(self.socket.clone())),
            sockets: BTreeMap::new(),
            cache_folder: PathBuf::new(),
            seed: 1,
            goes_on: self.goes_on,
            runs: 1,
            client_cpus: Vec::new(),
            interrupted: &interrupted,
            progress: &mut |_, _| {},
        };
        act(&mut *self.workload, &mut context)
    }
}
