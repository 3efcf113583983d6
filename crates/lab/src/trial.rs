//! One trial, from bare device to bare device: provision, load, run, verify, tear down.
//!
//! Runs in a process of its own (`surefoot trial`), the same on every bench. Knows no other trial.

use crate::work::Work;
use observe::record::{Failure, Provisioned, Record, Run};
use observe::sampler::Sampler;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use storage::{Mounted, StorageSettings};
use study::trial_spec::{Cache, Ineffective, TrialSpec};
use workloads::workload::{Context, Kind, Workload};

/// The cause that a trial gives when the user interrupted it.
pub const INTERRUPTED: &str = "interrupted";

/// Set by the conductor's `stop`.
static STOP: AtomicBool = AtomicBool::new(false);

/// The whole life of a `surefoot trial` process: reads the specification from standard input, writes records to
/// `records`, and returns when the storage is taken away again.
pub fn main(work: &Work, input: impl std::io::BufRead + Send + 'static, records: impl Write, walls: crate::isolation::Walls) {
    let mut input = input;
    let mut line = String::new();
    let mut out = Out(records);
    if input.read_line(&mut line).is_err() {
        return;
    }
    let spec: TrialSpec = match serde_json::from_str(&line) {
        Ok(spec) => spec,
        Err(error) => return out.failed("start", &error, String::new()),
    };
    listen(input);
    if walls == crate::isolation::Walls::None {
        out.warn("this machine grants no namespaces: the trial's processes and mounts are visible outside".into());
    }
    match conduct(&spec, work, &mut out) {
        Ok(()) => out.say(&Record::Finished),
        Err(Stopped { step, error, log }) => out.failed(&step, &*error, log),
    }
}

/// Where it stopped, why, and what a program said.
struct Stopped {
    step: String,
    error: Box<dyn std::error::Error>,
    log: String,
}

impl Stopped {
    fn at(step: &str) -> impl Fn(Box<dyn std::error::Error>) -> Stopped + '_ {
        move |error| Stopped { step: step.into(), log: program_log(&*error), error }
    }
}

fn conduct(spec: &TrialSpec, work: &Work, out: &mut Out<impl Write>) -> Result<(), Stopped> {
    pin(&spec.client_cpus);
    let settings = StorageSettings::from_map(&spec.storage);
    let kind = workloads::kind(&spec.workload).ok_or_else(|| Stopped {
        step: "start".into(),
        error: format!("there is no workload `{}`", spec.workload).into(),
        log: String::new(),
    })?;
    let started = Instant::now();
    let mounted = storage::provision(&settings, &work.images(), &work.mount_point(), spec.seed, &mut |name, seconds| {
        out.say(&Record::Step { name: name.into(), seconds });
    })
    .map_err(|error| Stopped::at("provision")(error.into()))?;
    let result = on_storage(spec, work, kind, &mounted, started, out);
    let torn = Instant::now();
    let teardown = mounted.tear_down().map_err(|error| Stopped::at("tear down")(error.into()));
    out.say(&Record::Step { name: "tear down".into(), seconds: torn.elapsed().as_secs_f64() });
    // The workload's own failure says more than the teardown that failed because of it.
    result.and(teardown.map(drop))
}

fn on_storage(
    spec: &TrialSpec,
    work: &Work,
    kind: &'static Kind,
    mounted: &Mounted,
    started: Instant,
    out: &mut Out<impl Write>,
) -> Result<(), Stopped> {
    let durability = mounted.durability.clone().and((kind.durability)(&spec.parameters));
    out.say(&Record::Provisioned(Provisioned {
        facts: mounted.facts.clone(),
        // From nothing, with devices and mount point as variables: what a person can paste.
        commands: storage::commands(&StorageSettings::from_map(&spec.storage)),
        durability: Some(durability),
    }));
    check_effects(spec.ineffective_options, &mounted.ineffective, out)?;
    let mut workload = (kind.open)(&spec.parameters).map_err(|error| Stopped::at("open")(error.into()))?;
    let mut desk = Desk { spec, work, mounted, kind };
    let load = Instant::now();
    let loaded = desk.with_context(out, |context| workload.prepare(context)).map_err(|e| Stopped::at("load")(e.into()))?;
    out.say(&Record::Step { name: "load".into(), seconds: load.elapsed().as_secs_f64() });
    let settling = Instant::now();
    mounted.settle().map_err(|error| Stopped::at("settle")(error.into()))?;
    out.say(&Record::Step { name: "settle".into(), seconds: settling.elapsed().as_secs_f64() });
    out.say(&Record::Step { name: "trial start to first load".into(), seconds: started.elapsed().as_secs_f64() });
    for run in 0..spec.warm_up_runs + spec.runs {
        desk.run(run, &mut *workload, &loaded, out)?;
    }
    let verifying = Instant::now();
    desk.with_context(out, |context| workload.verify(context)).map_err(|e| Stopped::at("verify")(e.into()))?;
    out.say(&Record::Step { name: "verify".into(), seconds: verifying.elapsed().as_secs_f64() });
    Ok(())
}

/// What every run of a trial shares.
struct Desk<'a> {
    spec: &'a TrialSpec,
    work: &'a Work,
    mounted: &'a Mounted,
    kind: &'static Kind,
}

impl Desk<'_> {
    fn with_context<T>(
        &mut self,
        out: &mut Out<impl Write>,
        act: impl FnOnce(&mut Context) -> Result<T, workloads::workload::Error>,
    ) -> Result<T, workloads::workload::Error> {
        act(&mut Context {
            data_folder: self.mounted.data_folder.clone(),
            server: None,
            cache_folder: self.work.cache(),
            seed: self.spec.seed,
            client_cpus: self.spec.client_cpus.clone(),
            interrupted: &STOP,
            progress: &mut |second, value| out.say(&Record::Progress { second, value }),
        })
    }

    fn run(
        &mut self,
        run: u32,
        workload: &mut dyn Workload,
        loaded: &[observe::metric::Measured],
        out: &mut Out<impl Write>,
    ) -> Result<(), Stopped> {
        let warm_up = run < self.spec.warm_up_runs;
        if self.spec.cache == Cache::Cold {
            workload.cool().map_err(|error| Stopped::at("cool")(error.into()))?;
            storage::drop_caches().map_err(|error| Stopped::at("cool")(error.into()))?;
        }
        out.say(&Record::RunStarted { run, warm_up });
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs_f64();
        let sampler = Sampler::start(self.mounted.device_name.as_deref(), None, Some(&self.mounted.data_folder));
        let outcome = self.with_context(out, |context| workload.run(context));
        let telemetry = sampler.stop();
        let mut outcome = outcome.map_err(|error| Stopped::at("run")(error.into()))?;
        let mut metrics = std::mem::take(&mut outcome.metrics);
        metrics.extend(observe::sampler::derived(&telemetry, outcome.bytes_written, outcome.commits));
        metrics.extend(telemetry.metrics);
        metrics.extend(loaded.iter().cloned());
        outcome.series.extend(telemetry.series);
        if !warm_up {
            self.check_primary(&metrics)?;
        }
        let record = Run {
            run,
            warm_up,
            started: wall,
            seconds: outcome.seconds,
            metrics,
            latencies: outcome.latencies,
            series: outcome.series,
        };
        out.say(&Record::Run(record));
        for message in outcome.notes {
            out.say(&Record::Note { message });
        }
        Ok(())
    }

    /// A run without its primary figure, or with one that is no number, is a failure and not a hole in a table.
    fn check_primary(&self, metrics: &[observe::metric::Measured]) -> Result<(), Stopped> {
        let wanted = (self.kind.metrics)(&self.spec.parameters);
        let Some(primary) = wanted.first() else { return Ok(()) };
        let found = metrics.iter().find(|measured| measured.metric.name == primary.name);
        match found {
            Some(measured) if measured.value.is_finite() => Ok(()),
            _ => Err(Stopped::at("run")(format!("the run yielded no `{}`", primary.name).into())),
        }
    }
}

fn check_effects(how: Ineffective, ineffective: &[String], out: &mut Out<impl Write>) -> Result<(), Stopped> {
    if ineffective.is_empty() {
        return Ok(());
    }
    match how {
        Ineffective::Fail => Err(Stopped::at("read back")(ineffective.join("; ").into())),
        Ineffective::Warn => {
            for message in ineffective {
                out.warn(message.clone());
            }
            Ok(())
        }
    }
}

/// The embedded engines' driver and engine are one process, so the client's CPUs are the trial's.
fn pin(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = nix::sched::CpuSet::new();
    for cpu in cpus {
        let _ = set.set(*cpu);
    }
    // A CPU that is not there was refused when the study was checked against the machine.
    let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set);
}

/// Waits for `stop` in a thread of its own; the end of the input means that the conductor is gone.
fn listen(mut input: impl std::io::BufRead + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            let mut line = String::new();
            match input.read_line(&mut line) {
                Ok(1..) => STOP.store(true, Ordering::Relaxed),
                // All that this process holds, mounts and loop devices included, goes with its namespaces.
                Ok(0) | Err(_) => std::process::exit(1),
            }
        }
    });
}

fn program_log(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(workloads::workload::Error::Program { log, .. }) = error.downcast_ref() {
        return log.clone();
    }
    error.downcast_ref::<storage::Error>().and_then(storage::Error::log).unwrap_or_default().to_string()
}

/// The record pipe.
struct Out<W: Write>(W);

impl<W: Write> Out<W> {
    fn say(&mut self, record: &Record) {
        let mut line = serde_json::to_vec(record).expect("a record is plain data");
        line.push(b'\n');
        // One write a record, so that a kill leaves whole lines; when nobody listens there is nobody to tell.
        let _ = self.0.write_all(&line).and_then(|()| self.0.flush());
    }

    fn warn(&mut self, message: String) {
        self.say(&Record::Warning { message });
    }

    fn failed(&mut self, step: &str, error: &(dyn std::error::Error + 'static), log: String) {
        let mut causes = vec![error.to_string()];
        let mut source = error.source();
        while let Some(inner) = source {
            causes.push(inner.to_string());
            source = inner.source();
        }
        self.say(&Record::Failed(Failure { step: step.into(), causes, log }));
    }
}

