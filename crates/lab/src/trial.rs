//! One trial, from bare device to bare device: provision, load, run, verify, tear down.
//!
//! Or, in place of the runs, what a power cut takes (`cut.rs`). Runs in a process of its own (`surefoot trial`), the same on every bench. Knows no other trial.

mod client;
mod cpus;
#[cfg_attr(not(target_os = "linux"), path = "trial/cut_elsewhere.rs")]
mod cut;
mod run;
mod turns;

pub use client::Paired;

use crate::served::{self, Listener, Reached, Served, Wanted};
use crate::volumes::Volumes;
use client::Client;
use cpus::Cpus;
use crash::plan::TrialSpec;
use crash::virtual_disks::VirtualDisks;
use load::workload::{Context, Kind, Workload, WorkloadSettings};
use observe::affinity;
use observe::durability::Durability;
use observe::metric::Measured;
use observe::record::{Failure, Provisioned, Record};
use sandbox::work::Work;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;
use study::trial_spec::Ineffective;

/// The cause that a trial gives when the user interrupted it.
pub const INTERRUPTED: &str = "interrupted";

/// What a trial that waits is told by the conductor.
pub const GO: &str = "go";

/// Set by the conductor's `stop`.
static STOP: AtomicBool = AtomicBool::new(false);

/// The whole life of a `surefoot trial` process: reads the specification from standard input, writes records to
/// `records`, and returns when the storage is taken away again.
pub fn main(
    work: &Work,
    mut input: impl std::io::BufRead + Send + 'static,
    mut records: impl Write,
    isolation: sandbox::isolation::Isolation,
    paired: Option<&Paired>,
) {
    let mut line = String::new();
    let mut out = Out { records: &mut records, seconds: 0.0 };
    if input.read_line(&mut line).is_err() {
        return;
    }
    let spec: TrialSpec = match serde_json::from_str(&line) {
        Ok(spec) => spec,
        Err(error) => return out.failed("start", &error, String::new()),
    };
    if isolation == sandbox::isolation::Isolation::None {
        if spec.turns.is_some() {
            let why =
                "this machine grants no namespaces, so that what the trial starts would work in others' turns, too";
            return out.failed("stand still", &std::io::Error::other(why), String::new());
        }
        out.warn("this machine grants no namespaces: the trial's processes and mounts are visible outside".into());
    }
    let (tell, told) = channel();
    listen(input, tell);
    let result = conduct(&spec, work, paired, &told, &mut out);
    out.step("records", out.seconds);
    match result {
        Ok(()) => out.say(&Record::Finished),
        Err(Stopped { step, error, log }) => out.failed(&step, &*error, log),
    }
}

/// What a step of a trial came to.
type Done<T = ()> = Result<T, Stopped>;

/// What a load came to.
type Loaded<T> = Result<T, load::workload::Error>;

/// Where it stopped, why, and what a program said.
struct Stopped {
    step: String,
    error: Box<dyn std::error::Error>,
    log: String,
}

impl Stopped {
    fn at<E: Into<Box<dyn std::error::Error>>>(step: &str) -> impl Fn(E) -> Stopped {
        move |error| {
            let error = error.into();
            Stopped { step: step.into(), log: program_log(&*error), error }
        }
    }
}

fn conduct(spec: &TrialSpec, work: &Work, paired: Option<&Paired>, told: &Receiver<()>, out: &mut Out) -> Done {
    let kind = workloads::kind_of_trial(&spec.workload).ok_or_else(|| Stopped {
        step: "start".into(),
        error: format!("there is no workload `{}`", spec.workload).into(),
        log: String::new(),
    })?;
    let cpus = Cpus::of(spec, !(kind.read)(&spec.parameters).services().is_empty());
    let trial = Trial { spec, work, kind, cpus, paired };
    if let Some(wanted) = &spec.cut {
        return cut::conduct(&trial, wanted, out);
    }
    let started = Instant::now();
    // Before the load has its CPUs: a disk is at home on none of them.
    let disks = VirtualDisks::start(spec, work).map_err(Stopped::at("virtual disk"))?;
    if !trial.cpus.client.is_empty() {
        // Driver and engine of an embedded database are one process: these CPUs are the trial's.
        affinity::pin(&trial.cpus.client).map_err(std::io::Error::from).map_err(Stopped::at("cpus"))?;
    }
    trial.on_storage(disks, out, |run_context, workload, served, out| {
        run_context.load(workload, served.as_ref(), started, out)?;
        run_context.run_all(workload, told, out)?;
        let Some(served) = served.take() else { return Ok(()) };
        let stopping = Instant::now();
        served.stop().map_err(Stopped::at("stop server"))?;
        out.step("stop server", stopping.elapsed().as_secs_f64());
        Ok(())
    })
}

/// What is to be done, and where.
struct Trial<'a> {
    spec: &'a TrialSpec,
    work: &'a Work,
    kind: &'static Kind,
    cpus: Cpus,
    /// What lets it use a load agent.
    paired: Option<&'a Paired>,
}

impl Trial<'_> {
    /// The workload's settings.
    fn load(&self) -> Box<dyn WorkloadSettings> {
        (self.kind.read)(&self.spec.parameters)
    }

    /// What a load is told of so many runs to come.
    fn context<'a>(
        &self,
        reached: &Reached,
        seed: u64,
        runs: u32,
        progress: &'a mut dyn FnMut(f64, f64),
    ) -> Context<'a> {
        let (data_folder, server, sockets) = (reached.data.clone(), reached.server.clone(), reached.sockets.clone());
        let (cache_folder, client_cpus) = (self.work.cache(), self.cpus.client.clone());
        let (goes_on, interrupted) = (false, &STOP);
        Context { data_folder, server, sockets, cache_folder, seed, goes_on, runs, client_cpus, interrupted, progress }
    }

    /// Makes the filesystems, starts the servers, lets `act` do with them what it will, and takes all away again. Servers that `act`
    /// leaves are ended by force. The disks are those that filesystems are made on, and end last.
    fn on_storage(
        &self,
        disks: VirtualDisks,
        out: &mut Out,
        act: impl FnOnce(&mut RunContext, &mut dyn Workload, &mut Option<Served>, &mut Out) -> Done,
    ) -> Done {
        let volumes = Volumes::provision(self.spec, self.work, &mut |name, seconds| out.step(name, seconds));
        let volumes = volumes.map_err(Stopped::at("provision"))?;
        let reached = Reached { data: volumes.data.data_folder.clone(), ..Reached::default() };
        let mut run_context =
            RunContext { trial: self, volumes: &volumes, reached, disks, loaded: Vec::new(), network: Vec::new() };
        let result = run_context.set_up(out).and_then(|(mut workload, mut served)| {
            act(&mut run_context, &mut *workload, &mut served, out).map_err(|mut stopped| {
                // What the server said is often the cause of what its client met.
                stopped.log.push_str(&served.as_ref().map(Served::messages).unwrap_or_default());
                stopped
            })
        });
        let torn = Instant::now();
        let teardown = volumes.tear_down().map_err(Stopped::at("tear down"));
        out.step("tear down", torn.elapsed().as_secs_f64());
        // The workload's own failure says more than the teardown that failed because of it.
        result.and(teardown)
    }
}

/// What every run of a trial shares.
struct RunContext<'a> {
    trial: &'a Trial<'a>,
    volumes: &'a Volumes,
    /// Where the workload finds its data and the trial's servers.
    reached: Reached,
    disks: VirtualDisks,
    /// Figures of the load.
    loaded: Vec<Measured>,
    /// Figures of the network between load and server.
    network: Vec<Measured>,
}

impl RunContext<'_> {
    /// Tells what the storage is, opens the workload and starts its servers.
    fn set_up(&mut self, out: &mut Out) -> Result<(Box<dyn Workload>, Option<Served>), Stopped> {
        let spec = self.trial.spec;
        out.say(&Record::Provisioned(Provisioned {
            facts: self.volumes.facts(),
            // From nothing, with devices and mount point as variables: what a person can paste. Nobody can make a recording disk so.
            commands: if spec.cut.is_some() { Vec::new() } else { Volumes::commands(spec) },
            durability: Some(self.durability()),
        }));
        check_effects(spec.ineffective_options, &self.volumes.ineffective(), out)?;
        let workload = self.trial.load().open().map_err(Stopped::at("open"))?;
        // Before its server, which listens where the agent reaches this machine.
        let client = Client::reach(self.trial).map_err(Stopped::at("reach the client"))?;
        self.network = client.as_ref().map_or(Vec::new(), Client::metrics);
        let served = self.serve(client.as_ref(), out)?;
        if let Some(served) = &served {
            self.reached = served.reached();
        }
        let workload = match client {
            Some(client) => client.open(self.trial, workload).map_err(Stopped::at("open on the client"))?,
            None => workload,
        };
        Ok((workload, served))
    }

    /// What a power cut may take: of the storage as it was found, which may keep less than its settings say.
    fn durability(&self) -> Durability {
        let spec = self.trial.spec;
        let of_load = crate::durability::of_load(&spec.workload, &spec.parameters, &spec.services);
        self.volumes.durability().and(of_load)
    }

    /// Starts the servers that the workload uses, if it uses any.
    fn serve(&self, client: Option<&Client>, out: &mut Out) -> Result<Option<Served>, Stopped> {
        let load = self.trial.load();
        let services = services::wanted(&load.services(), &self.trial.spec.services);
        if services.is_empty() {
            return Ok(None);
        }
        let (data_key, network) = (load.data_key(), client.map(|client| &client.network));
        let wanted = Wanted { services: &services, data_key, cpus: &self.trial.cpus.server, network };
        let (data, log) = (&self.volumes.data.data_folder, self.volumes.log_folder());
        let listener = &mut ServerListener { run_context: self, out };
        let served = served::serve(&wanted, data, log, self.trial.work, listener);
        let served =
            served.map_err(|error| Stopped { step: "start server".into(), log: error.log(), error: error.into() })?;
        let (facts, commands) = (served.facts(), served.commands.clone());
        // The settings' own class is told already.
        let durability = Some(served.durability()).filter(|found| found.class > self.durability().class);
        out.say(&Record::Provisioned(Provisioned { facts, commands, durability }));
        check_effects(self.trial.spec.ineffective_options, &served.ineffective(), out)?;
        Ok(Some(served))
    }

    fn load(&mut self, workload: &mut dyn Workload, served: Option<&Served>, started: Instant, out: &mut Out) -> Done {
        let load = Instant::now();
        // A server's data are there already: copied, or loaded while it was started.
        self.loaded = match served {
            Some(served) => served.loaded.clone(),
            None => {
                let loaded =
                    self.with_context(out, |context| workload.prepare(context)).map_err(Stopped::at("load"))?;
                out.step("load", load.elapsed().as_secs_f64());
                loaded
            }
        };
        self.loaded.extend(self.network.iter().cloned());
        let settling = Instant::now();
        self.volumes.settle().map_err(Stopped::at("settle"))?;
        out.step("settle", settling.elapsed().as_secs_f64());
        out.step("trial start to first load", started.elapsed().as_secs_f64());
        Ok(())
    }

    fn with_context<T>(&mut self, out: &mut Out, act: impl FnOnce(&mut Context) -> Loaded<T>) -> Loaded<T> {
        let Trial { spec, .. } = self.trial;
        let progress = &mut |second, value| out.say(&Record::Progress { second, value });
        act(&mut self.trial.context(&self.reached, spec.seed, spec.warm_up_runs + spec.runs, progress))
    }
}

fn check_effects(how: Ineffective, ineffective: &[String], out: &mut Out) -> Done {
    if ineffective.is_empty() {
        return Ok(());
    }
    match how {
        Ineffective::Fail => Err(Stopped::at("read back")(ineffective.join("; "))),
        Ineffective::Warn => {
            for message in ineffective {
                out.warn(message.clone());
            }
            Ok(())
        }
    }
}

/// What a trial's server tells while it is made.
struct ServerListener<'a, 'b, 'c> {
    run_context: &'a RunContext<'b>,
    out: &'a mut Out<'c>,
}

impl Listener for ServerListener<'_, '_, '_> {
    fn step(&mut self, name: &str, seconds: f64) {
        self.out.step(name, seconds);
    }

    fn warn(&mut self, message: String) {
        self.out.warn(message);
    }

    fn load(&mut self, reached: &Reached, seed: u64) -> Loaded<Vec<Measured>> {
        let mut workload = self.run_context.trial.load().open()?;
        workload.prepare(&mut self.run_context.trial.context(reached, seed, 0, &mut |_, _| {}))
    }
}

/// Waits for `go` and `stop` in a thread of its own; the end of the input means that the conductor is gone.
fn listen(mut input: impl std::io::BufRead + Send + 'static, tell: Sender<()>) {
    std::thread::spawn(move || {
        loop {
            let mut line = String::new();
            match input.read_line(&mut line) {
                Ok(1..) => {
                    if line.trim_end() != GO {
                        STOP.store(true, Ordering::Relaxed);
                    }
                    // After its last turn nobody listens any more.
                    let _ = tell.send(());
                }
                // All that this process holds, mounts and loop devices included, goes with its namespaces.
                Ok(0) | Err(_) => std::process::exit(1),
            }
        }
    });
}

fn program_log(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(load::workload::Error::Program { log, .. }) = error.downcast_ref() {
        return log.clone();
    }
    if let Some(error) = error.downcast_ref::<services::service::Error>() {
        return error.log().into();
    }
    error.downcast_ref::<storage::Error>().and_then(storage::Error::log).unwrap_or_default().to_string()
}

/// Says one record.
pub fn say(records: &mut impl Write, record: &Record) {
    let mut line = serde_json::to_vec(record).expect("a record is plain data");
    line.push(b'\n');
    // One write a record, so that a kill leaves whole lines; when nobody listens there is nobody to tell.
    let _ = records.write_all(&line).and_then(|()| records.flush());
}

/// The record pipe.
struct Out<'a> {
    records: &'a mut dyn Write,
    /// Spent in saying records: what a trial pays for being heard.
    seconds: f64,
}

impl Out<'_> {
    fn say(&mut self, record: &Record) {
        let saying = Instant::now();
        say(&mut self.records, record);
        self.seconds += saying.elapsed().as_secs_f64();
    }

    fn step(&mut self, name: &str, seconds: f64) {
        self.say(&Record::Step { name: name.into(), seconds });
    }

    fn warn(&mut self, message: String) {
        self.say(&Record::Warning { message });
    }

    fn failed(&mut self, step: &str, error: &(dyn std::error::Error + 'static), log: String) {
        self.say(&Record::Failed(Failure::of(step, error, log)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox::isolation::Isolation;
    use storage::StorageSettings;
    use study::trial_spec::Turns;

    /// A study by turns that went on where no namespaces are granted was measured with all servers at work at the same time.
    #[test]
    fn what_can_not_stand_still_takes_no_turns() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = Work::open(folder.path()).expect("ours");
        let turns = Some(Turns { charge_flush: true, is_job: false });
        let of_turns = TrialSpec::single("s", "a", "oltp", study::Bench::Host, 1, StorageSettings::default());
        let spec = serde_json::to_string(&TrialSpec { turns, ..of_turns }).expect("plain data");
        let mut said = Vec::new();
        main(&work, std::io::Cursor::new(format!("{spec}\n")), &mut said, Isolation::None, None);
        let records: Vec<Record> =
            said.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        assert!(matches!(&*records, [Record::Failed(failure)] if failure.step == "stand still"), "{records:?}");
    }
}
