//! A trial's servers: data from a template or loaded anew, started on the filesystem under test, stopped at the end.
//!
//! A template is built by the same servers on the work folder, with flushes off, the first time that a trial wants it.

use load::workload::Server;
use observe::durability::Durability;
use observe::metric::Measured;
use sandbox::stage::{Stage, data_name};
use sandbox::work::Work;
use services::service::{Error, Network, Place, Running, Service, User};
use services::template::{Template, Unfinished};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The data of a template come from this seed in every round: a template outlives rounds and studies.
const TEMPLATE_SEED: u64 = 1;

/// What a site is called in a template, whoever serves it.
const SITE: &str = "web";

/// Where servers that are started by hand have their sockets and configuration: they run as several users.
const RUN_FOLDER: &str = "RUN=$(mktemp -d) && chmod 1777 $RUN";

/// Which services, for which workload.
pub struct Wanted<'a> {
    /// The services in the order of their start; the last is the one that is driven.
    pub services: &'a [services::Wanted],
    /// What decides the data that the workload loads.
    pub data_key: String,
    /// The servers' CPUs; empty: any.
    pub cpus: &'a [usize],
    /// Where the one that is driven listens beside its socket.
    pub network: Option<&'a Network>,
}

/// What a trial hears of its server.
pub trait Listener {
    /// A step took so long.
    fn step(&mut self, name: &str, seconds: f64);

    /// A sentence that a reader should know.
    fn warn(&mut self, message: String);

    /// Loads data, through the servers that run; gives metrics of the load.
    fn load(&mut self, reached: &Reached, seed: u64) -> Result<Vec<Measured>, load::workload::Error>;
}

/// Where a workload finds what was started for it.
#[derive(Debug, Clone, Default)]
pub struct Reached {
    /// The data folder of the service that it drives.
    pub data: PathBuf,
    /// That service, when it runs.
    pub server: Option<Server>,
    /// The sockets of all that run, by service.
    pub sockets: BTreeMap<String, PathBuf>,
}

/// Servers at work on the filesystem under test.
pub struct Served {
    up: RunningServices,
    /// The data folder of the service that is driven.
    data: PathBuf,
    /// What that service asks to be told, where it listens on a network.
    password: Option<String>,
    /// Metrics of a load, when the trial loaded.
    pub loaded: Vec<Measured>,
    /// The commands that make and start them by hand.
    pub commands: Vec<String>,
    _stage: Stage,
}

/// Servers that run, in the order of their start.
#[derive(Default)]
struct RunningServices {
    running: Vec<Box<dyn Running>>,
    sockets: BTreeMap<String, PathBuf>,
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
        error: load::workload::Error,
        /// What the server says.
        messages: String,
    },
    /// The folders that its user can reach.
    #[error("cannot prepare the server's folders")]
    Stage(#[from] std::io::Error),
}

impl Failed {
    /// What the server or its program said last.
    pub fn log(&self) -> String {
        match self {
            Failed::Service(error) => error.log().into(),
            Failed::Load { messages, .. } => messages.clone(),
            Failed::Stage(_) => String::new(),
        }
    }
}

/// A service with where it lives.
struct Part {
    kind: &'static services::service::Kind,
    service: Box<dyn Service>,
    place: Place,
    /// Its folder in the data folder; empty when it is alone.
    under: PathBuf,
}

/// Makes, fills and starts the servers of a trial.
///
/// # Errors
/// When a step fails; the servers are gone then.
pub fn serve(
    wanted: &Wanted,
    data: &Path,
    log: Option<&Path>,
    work: &Work,
    listener: &mut dyn Listener,
) -> Result<Served, Failed> {
    let mut stage = Stage::set(work)?;
    let is_alone = wanted.services.len() == 1;
    let open = |service| Part::open(service, is_alone, (data, log), wanted.cpus, &mut stage);
    let mut parts = wanted.services.iter().map(open).collect::<Result<Vec<Part>, Failed>>()?;
    if let Some(driven) = parts.last_mut() {
        driven.place.network = wanted.network.cloned();
    }
    let loads = wanted.services.iter().any(|service| service.loads_anew);
    if loads {
        timed(listener, "create database", || parts.iter().try_for_each(|part| part.service.create(&part.place)))?;
    } else {
        fill(&wanted.data_key, &parts, data, &mut stage, work, listener)?;
    }
    parts.iter().try_for_each(|part| part.service.move_log(&part.place))?;
    let driven = parts.last().expect("a workload that is served names a service");
    let of_parts = parts.iter().flat_map(|part| part.commands(log.is_some()));
    let commands = std::iter::once(RUN_FOLDER.to_string()).chain(of_parts).collect();
    let data = driven.place.data.clone();
    let password = wanted.network.map(|network| network.password.clone());
    let mut served =
        Served { up: RunningServices::default(), data, password, loaded: Vec::new(), commands, _stage: stage };
    let started = Instant::now();
    served.up.start(parts.iter().filter(|part| part.kind.is_database))?;
    let mut start_seconds = started.elapsed().as_secs_f64();
    if loads {
        let started = Instant::now();
        let loaded = listener.load(&served.reached(), TEMPLATE_SEED);
        served.loaded = loaded.map_err(|error| Failed::Load { error, messages: served.messages() })?;
        let of_site = parts.iter().filter(|part| !part.kind.is_database);
        of_site.into_iter().try_for_each(|part| give_all(&part.place.data, part.service.user().as_ref()))?;
        listener.step("load", started.elapsed().as_secs_f64());
    }
    let started = Instant::now();
    served.up.start(parts.iter().filter(|part| !part.kind.is_database))?;
    start_seconds += started.elapsed().as_secs_f64();
    listener.step("start server", start_seconds);
    Ok(served)
}

impl Part {
    /// Opens it, in folders of its own where it is one of several.
    fn open(
        wanted: &services::Wanted,
        is_alone: bool,
        (data, log): (&Path, Option<&Path>),
        cpus: &[usize],
        stage: &mut Stage,
    ) -> Result<Part, Failed> {
        let kind = wanted.kind;
        let service = wanted.settings.open()?;
        let user = service.user();
        let under = if is_alone { PathBuf::new() } else { PathBuf::from(kind.name) };
        let mut lend = |volume: &Path, name: &str| stage.lend(&volume.join(&under), name, user.as_ref());
        let data = lend(data, &data_name(kind.name))?;
        let log = log.map(|log| lend(log, &format!("{}-log", kind.name))).transpose()?;
        let run = stage.folder(kind.name, user.as_ref())?;
        let place = Place { log, cpus: cpus.to_vec(), ..Place::new(data, run) };
        Ok(Part { kind, service, place, under })
    }

    /// What it is called in a template. A site is installed while databases alone run, so that it is the same for every server.
    fn name_in_template(&self) -> &'static str {
        if self.kind.is_database { self.kind.name } else { SITE }
    }

    /// Its folder in a template.
    fn under_in_template(&self) -> &Path {
        if self.kind.is_database { self.under.as_path() } else { Path::new(SITE) }
    }

    /// The commands that do the same by hand.
    fn commands(&self, has_log_volume: bool) -> Vec<String> {
        let commands = self.service.commands(has_log_volume);
        if self.under.as_os_str().is_empty() {
            return commands;
        }
        let under = self.under.display();
        let own = |text: String| {
            text.replace("$MOUNT/data", &format!("$MOUNT/data/{under}")).replace("$WAL", &format!("$WAL/{under}"))
        };
        let folders = [Some("mkdir -p $MOUNT/data"), has_log_volume.then_some("mkdir -p $WAL")];
        folders.into_iter().flatten().map(String::from).chain(commands).map(own).collect()
    }
}

impl RunningServices {
    /// Starts these beside those that already run.
    fn start<'a>(&mut self, parts: impl Iterator<Item = &'a Part>) -> Result<(), Error> {
        for part in parts {
            self.start_in(part, &part.place)?;
        }
        Ok(())
    }

    fn start_in(&mut self, part: &Part, place: &Place) -> Result<(), Error> {
        let running = part.service.start(&Place { sockets: self.sockets.clone(), ..place.clone() })?;
        self.sockets.insert(part.kind.name.into(), running.socket());
        self.running.push(running);
        Ok(())
    }

    fn messages(&self) -> String {
        let all: Vec<String> = self.running.iter().map(|running| running.messages()).collect();
        all.join("\n")
    }

    /// Stops them, the last first.
    fn stop(mut self) -> Result<(), Error> {
        while let Some(running) = self.running.pop() {
            running.stop_at_ease()?;
        }
        Ok(())
    }
}

/// Copies the template; one that is missing is built, one that is damaged is built anew.
fn fill(
    data_key: &str,
    parts: &[Part],
    data: &Path,
    stage: &mut Stage,
    work: &Work,
    listener: &mut dyn Listener,
) -> Result<(), Failed> {
    let identity = identity(data_key, parts);
    let mut template = match Template::open(&work.cache(), &identity) {
        Some(template) => template,
        None => build(&identity, parts, stage, work, listener)?,
    };
    let started = Instant::now();
    let places: Vec<(&Path, &Path, Option<User>)> =
        kept(parts).map(|part| (part.under_in_template(), part.under.as_path(), part.service.user())).collect();
    let becomes = |path: &Path| {
        let found = places.iter().find_map(|(from, under, owner)| {
            let below = path.strip_prefix(from).ok()?;
            Some((under.join(below), owner.as_ref()))
        });
        found.unwrap_or_else(|| (path.into(), None))
    };
    match template.copy_to(data, becomes) {
        Err(error @ Error::Damaged { .. }) => {
            listener.warn(format!("{error}; it was made anew"));
            parts.iter().try_for_each(|part| empty(&part.place.data))?;
            template = build(&identity, parts, stage, work, listener)?;
            template.copy_to(data, becomes)?;
        }
        other => other?,
    }
    listener.step("copy template", started.elapsed().as_secs_f64());
    Ok(())
}

/// Those of which a template has files: databases, and what is driven. PHP's processes beside a web server have none.
fn kept(parts: &[Part]) -> impl Iterator<Item = &Part> {
    let (driven, before) = parts.split_last().expect("a workload that is served names a service");
    before.iter().filter(|part| part.kind.is_database).chain([driven])
}

/// All that the files of a template depend on, in words.
fn identity(data_key: &str, parts: &[Part]) -> String {
    let of_part = |part: &Part| {
        let version = if part.kind.is_database { part.service.version() } else { "" };
        format!("{} {version}\n{}\n", part.name_in_template(), part.service.format())
    };
    let services: String = kept(parts).map(of_part).collect();
    format!("layout 2\n{services}{data_key}\nseed {TEMPLATE_SEED}")
}

fn build(
    identity: &str,
    parts: &[Part],
    stage: &mut Stage,
    work: &Work,
    listener: &mut dyn Listener,
) -> Result<Template, Failed> {
    let started = Instant::now();
    let unfinished = Unfinished::begin(&work.cache(), identity)?;
    let mut up = RunningServices::default();
    let mut data = PathBuf::new();
    for part in kept(parts) {
        let user = part.service.user();
        let run = format!("{}-template-{}", part.name_in_template(), started.elapsed().as_nanos());
        let files = unfinished.files().join(part.under_in_template());
        data = stage.lend(&files, &format!("{run}-data"), user.as_ref())?;
        let run = stage.folder(&run, user.as_ref())?;
        let place = Place { data: data.clone(), log: None, run, skip_fsync: true, network: None, ..part.place.clone() };
        part.service.create(&place)?;
        if part.kind.is_database {
            up.start_in(part, &place)?;
        }
    }
    let server = parts.last().and_then(|driven| up.sockets.get(driven.kind.name).cloned()).map(Server::by_file);
    let reached = Reached { data, server, sockets: up.sockets.clone() };
    let loaded = listener.load(&reached, TEMPLATE_SEED);
    loaded.map_err(|error| Failed::Load { error, messages: up.messages() })?;
    up.stop()?;
    let template = unfinished.seal(&|name| parts.iter().any(|part| part.service.is_passing(name)))?;
    listener.step("build template", started.elapsed().as_secs_f64());
    Ok(template)
}

/// Gives a folder with all that is in it to a user.
fn give_all(folder: &Path, owner: Option<&User>) -> std::io::Result<()> {
    let Some(user) = owner else { return Ok(()) };
    std::os::unix::fs::lchown(folder, Some(user.uid), Some(user.gid))?;
    if folder.symlink_metadata()?.is_dir() {
        for entry in folder.read_dir()? {
            give_all(&entry?.path(), owner)?;
        }
    }
    Ok(())
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
    /// Where the workload finds them.
    pub fn reached(&self) -> Reached {
        let server = self.up.running.last().map(|driven| driven.socket());
        let server = server.map(|file| Server { password: self.password.clone(), ..Server::by_file(file) });
        Reached { data: self.data.clone(), server, sockets: self.up.sockets.clone() }
    }

    /// What is in effect.
    pub fn facts(&self) -> BTreeMap<String, String> {
        self.up.running.iter().flat_map(|running| running.effects().facts.clone()).collect()
    }

    /// What was asked and is not in effect.
    pub fn ineffective(&self) -> Vec<String> {
        self.up.running.iter().flat_map(|running| running.effects().ineffective.clone()).collect()
    }

    /// What a power cut takes by the values that are in force, of those that were asked for them.
    pub fn durability(&self) -> Durability {
        let found = self.up.running.iter().filter_map(|running| running.effects().durability.clone());
        found.fold(Durability::full(), Durability::and)
    }

    /// Their last messages.
    pub fn messages(&self) -> String {
        self.up.messages()
    }

    /// Stops them cleanly.
    ///
    /// # Errors
    /// When one had died, or does not end.
    pub fn stop(mut self) -> Result<(), Error> {
        std::mem::take(&mut self.up).stop()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.up.running.is_empty() {
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

#[cfg(test)]
mod tests;
