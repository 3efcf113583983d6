//! The process that works for one session: orders on standard input, answers on standard output.
//!
//! It ends with its orders, whatever it does then. It writes no file, starts no program that a study names and connects to one machine.

use crate::message::{Answer, Begin, ORDER_BYTES_MAX, OnNetwork, Order, Setting};
use crate::round_trip;
use load::workload::{At, Context, Elsewhere, Error, Kind, Server, Workload, WorkloadSettings};
use nix::sys::resource::{Resource, UsageWho, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use observe::cpu;
use observe::record::causes;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::{BufRead, Read as _, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The name of the worker (`surefoot worker`).
pub const WORKER: &str = "load-agent";

/// A study waits for each answer, and interrupts at most.
const ORDERS_AHEAD_MAX: usize = 4;

/// Set by an order while another is under way.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The whole of a working process.
///
/// # Errors
/// When its limits can't be set, or its first line is none.
pub fn work() -> Result<(), Error> {
    limit().map_err(|error| Error::file("limit", "this process".as_ref(), error.into()))?;
    let mut input = std::io::BufReader::new(std::io::stdin());
    let no_orders = || Error::Said("the worker of a load agent is started by `surefoot load-agent`".into());
    let begin: Begin = next(&mut input).ok_or_else(no_orders)?;
    let (tell, told) = sync_channel(ORDERS_AHEAD_MAX);
    std::thread::spawn(move || listen(input, &tell));
    converse(begin.server, &told, &mut std::io::stdout());
    Ok(())
}

/// No file can be written, no memory dumped, and no program that is started gains rights.
fn limit() -> nix::Result<()> {
    setrlimit(Resource::RLIMIT_FSIZE, 0, 0)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // SAFETY: ignoring a signal runs no code; a write to a file fails instead.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}

/// Hears orders, and interrupts while one is carried out. Their end is this process' end.
fn listen(mut input: impl BufRead, tell: &SyncSender<Order>) {
    while let Some(order) = next(&mut input) {
        if matches!(order, Order::Interrupt) {
            INTERRUPTED.store(true, Ordering::Relaxed);
        } else if tell.try_send(order).is_err() {
            break;
        }
    }
    std::process::exit(1);
}

/// The next line; none: the input has ended, or what it says is none of ours.
fn next<T: serde::de::DeserializeOwned>(input: &mut impl BufRead) -> Option<T> {
    let mut line = Vec::new();
    input.take(ORDER_BYTES_MAX as u64).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// Carries out one order after the other.
fn converse(server: IpAddr, told: &Receiver<Order>, output: &mut impl Write) {
    let mut workload: Option<Box<dyn Workload>> = None;
    while let Ok(order) = told.recv() {
        let answer = match carry_out(server, order, &mut workload, output) {
            Ok(answer) => answer,
            Err(Error::Interrupted) => Answer::Interrupted,
            Err(error) => Answer::Failed(causes(&error)),
        };
        say(output, &answer);
    }
}

fn carry_out(
    server: IpAddr,
    order: Order,
    workload: &mut Option<Box<dyn Workload>>,
    output: &mut impl Write,
) -> Result<Answer, Error> {
    match order {
        Order::MeasureRoundTrip(port) => {
            let address = SocketAddr::new(server, port);
            let lost = |source| Error::file("measure the round trip to", address.to_string().as_ref(), source);
            round_trip::measure(address).map(Answer::RoundTrip).map_err(lost)
        }
        Order::Open { workload: name, parameters, texts } => {
            *workload = Some(allowed(&name, &parameters)?.open_with_texts(&texts)?);
            Ok(Answer::Done)
        }
        Order::Interrupt => Ok(Answer::Done),
        Order::Cool => opened(workload, |of_study| of_study.cool().map(|()| Answer::Done)),
        Order::Ready(setting) => opened(workload, |of_study| {
            with_context(server, &setting, output, |context| of_study.ready(context)).map(|()| Answer::Done)
        }),
        Order::Run(setting) => {
            // Of all threads so far.
            let before = cpu::used_seconds(UsageWho::RUSAGE_SELF);
            let mut outcome =
                opened(workload, |of_study| with_context(server, &setting, output, |context| of_study.run(context)))?;
            // The load is held against the CPUs of this machine, not of the server's.
            outcome.metrics.extend(cpu::usable().map(|cpus| cpu::DRIVER_CPUS.at(cpus as f64)));
            Ok(Answer::Ran(Box::new(outcome), cpu::used_seconds(UsageWho::RUSAGE_SELF) - before))
        }
        Order::Verify(setting) => opened(workload, |of_study| {
            with_context(server, &setting, output, |context| of_study.verify(context)).map(|()| Answer::Done)
        }),
    }
}

/// Acts with the workload that was opened. One that failed is gone.
fn opened<T>(
    workload: &mut Option<Box<dyn Workload>>,
    act: impl FnOnce(&mut dyn Workload) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut of_study = workload.take().ok_or_else(|| Error::Said("no workload was opened".into()))?;
    let done = act(&mut *of_study)?;
    *workload = Some(of_study);
    Ok(done)
}

/// The settings, if an agent drives the workload with them. They come from elsewhere: nobody has checked them here.
fn allowed(name: &str, parameters: &Map<String, Value>) -> Result<Box<dyn WorkloadSettings>, Error> {
    let is_driven = |kind: &&&Kind| kind.elsewhere != Elsewhere::Nothing;
    let Some(kind) = workloads::kinds().iter().filter(is_driven).find(|kind| kind.name == name) else {
        let all: Vec<&str> = workloads::kinds().iter().filter(is_driven).map(|kind| kind.name).collect();
        return Err(Error::Said(format!("a load agent drives {}, and not `{name}`", all.join(", "))));
    };
    if let Err(setting) = settings::check_plain(kind.settings, parameters) {
        return Err(Error::Said(format!("`{setting}` is no setting of `{name}`, or is not what that may be")));
    }
    let of_workload = (kind.read)(parameters);
    // Its own check would look at files by their names; what comes in their place is checked when it is opened.
    let problems = if of_workload.brings_files() { Vec::new() } else { of_workload.problems() };
    // Of the machine, only the load's own part is this one's.
    if let Some(problem) = problems.into_iter().chain(of_workload.missing_for_load()).next() {
        return Err(Error::Said(problem));
    }
    if of_workload.services().is_empty() {
        return Err(Error::Said(format!("`{name}` on an embedded engine has no server that could be reached")));
    }
    Ok(of_workload)
}

fn with_context<T>(
    server: IpAddr,
    setting: &Setting,
    output: &mut impl Write,
    act: impl FnOnce(&mut Context) -> Result<T, Error>,
) -> Result<T, Error> {
    let OnNetwork { port, ref password, is_secure } = setting.server;
    let at = At::Network { address: SocketAddr::new(server, port), is_secure };
    act(&mut Context {
        data_folder: PathBuf::new(),
        server: Some(Server { at, password: password.clone() }),
        sockets: BTreeMap::new(),
        cache_folder: PathBuf::new(),
        seed: setting.seed,
        goes_on: setting.goes_on,
        runs: setting.runs,
        client_cpus: Vec::new(),
        interrupted: &INTERRUPTED,
        progress: &mut |second, value| say(output, &Answer::Progress(second, value)),
    })
}

fn say(output: &mut impl Write, what: &impl Serialize) {
    let mut line = serde_json::to_vec(what).expect("an answer is plain data");
    line.push(b'\n');
    // Who does not hear it is gone, and so is the input.
    let _ = output.write_all(&line).and_then(|()| output.flush());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A study may name any file: the agent has the texts that came, and looks at no other.
    #[test]
    fn scripts_are_the_texts_that_came_and_no_files() {
        let kind = workloads::kind("sql").expect("a kind");
        let mut parameters = settings::defaults(kind.settings);
        parameters.insert("engine".into(), json!("postgres"));
        parameters.insert("scripts".into(), json!(["/etc/passwd@3"]));
        let open = |texts: &BTreeMap<String, String>| {
            allowed("sql", &parameters).expect("its settings are right").open_with_texts(texts)
        };
        let none = open(&BTreeMap::new()).err().expect("there is no text").to_string();
        assert!(none.contains("/etc/passwd did not come"), "{none}");
        let texts = BTreeMap::from([("/etc/passwd".to_string(), "SELECT 1;\n".to_string())]);
        open(&texts).map(drop).expect("the text is a script");
    }

    fn refusal(name: &str, changes: &[(&str, Value)]) -> Option<String> {
        let kind = workloads::kind(name);
        let mut parameters = kind.map_or_else(Map::new, |kind| settings::defaults(kind.settings));
        parameters.extend(changes.iter().map(|(name, value)| ((*name).to_string(), value.clone())));
        allowed(name, &parameters).err().map(|error| error.to_string())
    }

    #[test]
    fn an_agent_drives_loads_of_servers_and_nothing_else() {
        let postgres = ("engine", json!("postgres"));
        assert_eq!(refusal("oltp", std::slice::from_ref(&postgres)), None);
        assert_eq!(refusal("key-value", &[("engine", json!("redis"))]), None);
        let records = ("records", json!(1_000_000_000));
        let beyond_any_memory = [records.clone(), ("mix", json!("c")), ("field_length", json!(32 << 10))];
        assert_eq!(refusal("key-value", &beyond_any_memory), None, "redis' memory is the study's machine's");
        let remembered = refusal("key-value", &[records, ("fields", json!(64))]).unwrap_or_default();
        let is_small = (1..2 * 512_000_000_000).contains(&observe::machine::memory_bytes());
        assert_eq!(remembered.contains("the load itself needs 512.0 GB"), is_small, "{remembered}");
        assert_eq!(refusal("http-load", &[]), None);
        for kind in workloads::kinds().iter().filter(|kind| kind.elsewhere == Elsewhere::Nothing) {
            assert!(refusal(kind.name, &[]).expect(kind.name).contains("a load agent drives"), "{}", kind.name);
        }
        let said = |changes: &[(&str, Value)]| refusal("oltp", changes).expect("refused");
        assert!(said(&[]).contains("embedded"), "SQLite is a file");
        assert!(said(&[postgres.clone(), ("threads", json!(-1))]).contains("`threads`"));
        assert!(said(&[postgres.clone(), ("time", json!("1s"))]).contains("`time`"), "plain form has numbers");
        assert!(said(&[postgres.clone(), ("extra", json!(1))]).contains("`extra`"));
        assert!(said(&[postgres, ("id_range", json!(1_000_000))]).contains("id_range"));
        assert!(refusal("/bin/sh", &[]).is_some());
    }
}
