//! A trial's server: data from a template or loaded anew, started on the filesystem under test, stopped at the end.
//!
//! A template is built by the same server on the work folder, with flushes off, the first time that a trial wants it.

use crate::stage::{self, Stage};
use crate::work::Work;
use observe::metric::Measured;
use serde_json::{Map, Value};
use services::service::{Error, Place, Running, Service};
use services::template::{Template, Unfinished};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use workloads::workload::Kind;

/// The data of a template come from this seed in every round: a template outlives rounds and studies.
const TEMPLATE_SEED: u64 = 1;

/// Which service, with what, for which workload.
pub struct Wanted<'a> {
    /// The service.
    pub kind: &'static services::service::Kind,
    /// Its checked settings.
    pub settings: &'a Map<String, Value>,
    /// The workload.
    pub workload: &'static Kind,
    /// Its checked settings.
    pub parameters: &'a Map<String, Value>,
    /// The server's CPUs; empty: any.
    pub cpus: &'a [usize],
}

/// What a trial hears of its server.
pub trait Listener {
    /// A step took so long.
    fn step(&mut self, name: &str, seconds: f64);

    /// A sentence that a reader should know.
    fn warn(&mut self, message: String);

    /// Loads data through the server that listens on `socket`; gives metrics of the load.
    fn load(&mut self, socket: &Path, data: &Path, seed: u64) -> Result<Vec<Measured>, workloads::workload::Error>;
}

/// A server at work on the filesystem under test.
pub struct Served {
    running: Option<Box<dyn Running>>,
    /// Metrics of a load, when the trial loaded.
    pub loaded: Vec<Measured>,
    /// The commands that make and start it by hand.
    pub commands: Vec<String>,
    _stage: Stage,
}

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The server or its data.
    #[error(transparent)]
    Service(#[from] Error),
    /// Loading through it.
    #[error("{error}")]
    Load {
        /// What the workload says.
        #[source]
        error: workloads::workload::Error,
        /// What the server says.
        messages: String,
    },
    /// The folders that its user can reach.
    #[error("cannot prepare the server's folders")]
    Stage(#[from] std::io::Error),
}

impl Failed {
    /// What the server or its program said last.
    #[must_use]
    pub fn log(&self) -> String {
        match self {
            Failed::Service(error) => error.log().into(),
            Failed::Load { messages, .. } => messages.clone(),
            Failed::Stage(_) => String::new(),
        }
    }
}

/// Makes, fills and starts the server of a trial.
///
/// # Errors
/// When a step fails; the server is gone then.
pub fn serve(
    wanted: &Wanted,
    data: &Path,
    log: Option<&Path>,
    work: &Work,
    listener: &mut dyn Listener,
) -> Result<Served, Failed> {
    let service = (wanted.kind.open)(wanted.settings)?;
    let user = service.user();
    let mut stage = Stage::set(work)?;
    let place = Place {
        data: stage.bind(data, "data")?,
        log: log.map(|log| stage.bind(log, "log")).transpose()?,
        run: stage.folder("server", user.as_ref())?,
        cpus: wanted.cpus.to_vec(),
        careless: false,
    };
    stage::give(&place.data, user.as_ref())?;
    place.log.iter().try_for_each(|log| stage::give(log, user.as_ref()))?;
    let loads = wanted.settings["data"] == "load";
    if loads {
        timed(listener, "create database", || service.create(&place))?;
    } else {
        fill(wanted, &*service, &place, &mut stage, work, listener)?;
    }
    service.move_log(&place)?;
    let running = timed(listener, "start server", || service.start(&place))?;
    let mut served =
        Served { running: Some(running), loaded: Vec::new(), commands: service.commands(log.is_some()), _stage: stage };
    if loads {
        let started = Instant::now();
        let loaded = listener.load(&served.socket(), data, TEMPLATE_SEED);
        served.loaded = loaded.map_err(|error| Failed::Load { error, messages: served.messages() })?;
        listener.step("load", started.elapsed().as_secs_f64());
    }
    Ok(served)
}

/// Copies the template; one that is missing is built, one that is damaged is built anew.
fn fill(
    wanted: &Wanted,
    service: &dyn Service,
    place: &Place,
    stage: &mut Stage,
    work: &Work,
    listener: &mut dyn Listener,
) -> Result<(), Failed> {
    let identity = format!(
        "layout 1\n{} {}\n{}\n{}\nseed {TEMPLATE_SEED}",
        wanted.kind.name,
        service.version(),
        service.format(),
        (wanted.workload.data_key)(wanted.parameters)
    );
    let mut template = match Template::open(&work.cache(), &identity) {
        Some(template) => template,
        None => build(&identity, service, place, stage, work, listener)?,
    };
    let started = Instant::now();
    match template.copy_to(&place.data, service.user().as_ref()) {
        Err(error @ Error::Damaged { .. }) => {
            listener.warn(format!("{error}; it was made anew"));
            empty(&place.data)?;
            template = build(&identity, service, place, stage, work, listener)?;
            template.copy_to(&place.data, service.user().as_ref())?;
        }
        other => other?,
    }
    listener.step("copy template", started.elapsed().as_secs_f64());
    Ok(())
}

fn build(
    identity: &str,
    service: &dyn Service,
    place: &Place,
    stage: &mut Stage,
    work: &Work,
    listener: &mut dyn Listener,
) -> Result<Template, Failed> {
    let started = Instant::now();
    let user = service.user();
    let unfinished = Unfinished::begin(&work.cache(), identity)?;
    let run = format!("template-{}", started.elapsed().as_nanos());
    let place = Place {
        data: stage.bind(&unfinished.files(), &format!("{run}-data"))?,
        log: None,
        run: stage.folder(&run, user.as_ref())?,
        careless: true,
        ..place.clone()
    };
    stage::give(&place.data, user.as_ref())?;
    service.create(&place)?;
    let running = service.start(&place)?;
    let loaded = listener.load(&running.socket(), &place.data, TEMPLATE_SEED);
    loaded.map_err(|error| Failed::Load { error, messages: running.messages() })?;
    running.stop()?;
    let template = unfinished.seal(&|name| service.is_passing(name))?;
    listener.step("build template", started.elapsed().as_secs_f64());
    Ok(template)
}

fn empty(folder: &Path) -> Result<(), Failed> {
    for entry in folder.read_dir()?.flatten() {
        if entry.path().is_dir() { std::fs::remove_dir_all(entry.path())? } else { std::fs::remove_file(entry.path())? }
    }
    Ok(())
}

fn timed<T>(listener: &mut dyn Listener, name: &str, act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let started = Instant::now();
    let done = act()?;
    listener.step(name, started.elapsed().as_secs_f64());
    Ok(done)
}

impl Served {
    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.running.as_ref().expect("it runs until it is stopped").socket()
    }

    /// What is in effect.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, String> {
        self.running.as_ref().expect("it runs until it is stopped").facts().clone()
    }

    /// What was asked and is not in effect.
    #[must_use]
    pub fn ineffective(&self) -> Vec<String> {
        self.running.as_ref().expect("it runs until it is stopped").ineffective().to_vec()
    }

    /// Its last messages.
    #[must_use]
    pub fn messages(&self) -> String {
        self.running.as_ref().map(|running| running.messages()).unwrap_or_default()
    }

    /// Stops it cleanly.
    ///
    /// # Errors
    /// When it had died, or does not end.
    pub fn stop(mut self) -> Result<(), Error> {
        self.running.take().expect("it runs until it is stopped").stop()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.running.take().is_none() {
            return;
        }
        // Its helpers are in groups of their own and hold files open. As the first process of a PID namespace we may end
        // all the others; elsewhere they end when they miss their parent.
        if std::process::id() == 1 {
            let all = nix::unistd::Pid::from_raw(-1);
            let _ = nix::sys::signal::kill(all, nix::sys::signal::Signal::SIGKILL);
            while nix::sys::wait::waitpid(all, None).is_ok() {}
        }
    }
}
