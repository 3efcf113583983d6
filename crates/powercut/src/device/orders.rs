//! What the disk's process is told on its standard input, and how it answers: a JSON line each.

#[cfg(test)]
mod hostile;

use super::fuse::{self, Connection};
use super::images::Images;
use super::line;
use super::recorder::{Full, Recorder};
use super::server::{Content, Server, Shared};
use super::{Error, Log, Options, map, now_nanoseconds};
use crate::fault::injector::{Asked, Injection, Injector, Traced};
use crate::states::{Choice, History, Rules, Unit};
use crate::timing::{Model, Profile};
use crate::timing_fidelity::{Tally, TimingFidelity};
use observe::record::causes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Bytes that a disk may write whole or not at all.
const UNITS: [u32; 2] = [512, 4096];

/// Of include/uapi/linux/prctl.h.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order<'a> {
    Begin,
    Stop,
    Explore {
        log: Cow<'a, Path>,
        rules: Rules,
    },
    Show {
        point: usize,
        choice: Cow<'a, Choice>,
    },
    Read,
    /// From now on it fails so, counting requests from here; without an injection it is well. Its requests are kept if they are to be
    /// traced.
    Fail {
        injection: Option<Injection>,
        is_traced: bool,
    },
    /// Which requests were struck.
    Struck,
    /// Which requests came, if they were to be traced.
    Traced,
    /// It fails no more.
    Mend,
    /// What the disk's clock says.
    Now,
    /// All I/O fails from now on, until images are explored anew. Not answered: who says it has no time to wait.
    Break,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Done,
    Stopped { timing_fidelity: Option<TimingFidelity> },
    Read { units: Vec<Unit> },
    Struck { requests: Vec<Asked> },
    Traced { requests: Vec<Traced> },
    Now { at_nanoseconds: u64 },
    Full { reason: String },
    Refused { message: String },
}

impl From<Full> for Answer {
    fn from(Full(reason): Full) -> Answer {
        Answer::Full { reason }
    }
}

impl From<Error> for Answer {
    /// With all its causes.
    fn from(error: Error) -> Answer {
        Answer::Refused { message: causes(&error).join(": ") }
    }
}

/// Serves a disk until there are no more orders.
pub(super) fn serve(options: &Options, mut orders: impl BufRead, mut answers: impl Write) -> Result<(), Error> {
    let content = match start(options) {
        Ok(content) => content,
        Err(error) => return say(&error.into(), &mut orders, &mut answers),
    };
    say(&Answer::Done, &mut orders, &mut answers)?;
    while let Some(line) = line::receive(&mut orders, &mut answers).map_err(Error::Pipe)? {
        let order = serde_json::from_slice(&line).map_err(Error::Order);
        if matches!(order, Ok(Order::Break)) {
            *content.lock() = Content::Failing;
            continue;
        }
        let answer = order.and_then(|order| follow(order, &content)).unwrap_or_else(Answer::from);
        say(&answer, &mut orders, &mut answers)?;
    }
    fuse::detach(&options.mount_point);
    Ok(())
}

fn say(answer: &Answer, orders: &mut impl BufRead, answers: &mut impl Write) -> Result<(), Error> {
    let text = serde_json::to_vec(answer).expect("numbers and text");
    line::send(&text, answers, orders).map_err(Error::Pipe)
}

/// Mounts the disk, and serves it in a thread that nobody waits for: the process ends it.
fn start(options: &Options) -> Result<Shared, Error> {
    let log = options.log.as_ref().map(|log| {
        let mut options = File::options();
        // It holds all that the load writes, and may be kept.
        let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&log.path);
        let file = opened.map_err(Error::file("create", &log.path))?;
        Ok((file, log.bytes_max))
    });
    let log = log.transpose()?;
    stay_out_of_the_way();
    let connection =
        Connection::mount(&options.mount_point).map_err(Error::file("mount a disk on", &options.mount_point))?;
    // Before there are threads: whoever leaves a mount namespace last unmounts what is in it, and a filesystem on this disk would
    // wait for the disk that is just ending. Its own namespace has none. Without the right to one it is as before.
    let _ = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS);
    let recorder = Recorder::new(options.disk_bytes, log).map_err(Error::Start)?;
    let content = Shared::new(Content::Recording(recorder));
    let model = Model::new(options.profile, options.cache, options.seed);
    let server = Server::new(connection, content.clone(), options.disk_bytes, model);
    let has_times = options.profile != Profile::None;
    let serve = move || {
        if has_times {
            answer_in_time();
        }
        if let Err(error) = server.run() {
            eprintln!("powercut: the disk can't be served any more: {error}");
        }
    };
    let served = std::thread::Builder::new().name("disk".into()).spawn(serve);
    served.map(|_| content).map_err(Error::Start).inspect_err(|_| fuse::detach(&options.mount_point))
}

/// Tells the kernel that pages of other filesystems wait for this process, and that it must not wait for them: neither when it
/// needs memory nor when the log is written (prctl(2), PR_SET_IO_FLUSHER; threads made later have it, too).
fn stay_out_of_the_way() {
    // SAFETY: takes numbers only. It needs CAP_SYS_RESOURCE, and helps only where memory is short.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) };
}

/// A drive does not wait for a CPU that a database uses. For the calling thread alone: it goes before all that is not real-time
/// (sched(7); needs CAP_SYS_NICE, and else stands in line), and its timers are as exact as they can be.
fn answer_in_time() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads one structure, which is there. A nice value would not do: it lets what runs go on to the end of its turn, some
    // milliseconds.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) };
    let _ = nix::sys::prctl::set_timerslack(1);
}

fn follow(order: Order, content: &Shared) -> Result<Answer, Error> {
    // Before it waits for anybody.
    let at_nanoseconds = now_nanoseconds();
    let refused = |message: &str| Answer::Refused { message: message.into() };
    let mut held = content.lock();
    Ok(match (order, &mut *held) {
        (Order::Begin, Content::Recording(recorder)) => {
            recorder.timing_fidelity = Tally::default();
            recorder.begin(at_nanoseconds).map_or_else(Answer::from, |()| Answer::Done)
        }
        (Order::Stop, Content::Recording(recorder)) => match recorder.stop() {
            Ok(()) => Answer::Stopped { timing_fidelity: recorder.timing_fidelity.timing_fidelity() },
            Err(full) => full.into(),
        },
        (Order::Now, _) => Answer::Now { at_nanoseconds },
        (Order::Explore { rules, .. }, _) if !UNITS.contains(&rules.unit_bytes) => {
            refused(&format!("a disk has units of 512 or 4096 bytes, not of {}", rules.unit_bytes))
        }
        (Order::Explore { log, rules }, now) => {
            if let Content::Recording(recorder) = now {
                // Its reader knows how far it got: from `stop`, which says so.
                let _ = recorder.stop();
            }
            drop(held);
            let images = Box::new(Images::new(history(&log, rules)?));
            let old = std::mem::replace(&mut *content.lock(), Content::Exploring(images, Injector::default()));
            drop(old);
            Answer::Done
        }
        (Order::Show { point, choice }, Content::Exploring(images, _)) => {
            let shown = images.show(point, choice.into_owned());
            shown.map_or_else(|error| refused(&error.to_string()), |()| Answer::Done)
        }
        (Order::Read, Content::Exploring(images, _)) => Answer::Read { units: images.units_read().to_vec() },
        (Order::Fail { injection, is_traced }, Content::Exploring(_, injector)) => {
            *injector = Injector::new(injection, is_traced);
            Answer::Done
        }
        (Order::Struck, Content::Exploring(_, injector)) => Answer::Struck { requests: injector.struck.clone() },
        (Order::Traced, Content::Exploring(_, injector)) => Answer::Traced { requests: injector.traced().to_vec() },
        (Order::Mend, Content::Exploring(_, injector)) => {
            injector.is_mended = true;
            Answer::Done
        }
        (_, Content::Failing) => refused("the disk was made to fail, and `explore` alone brings it back"),
        (Order::Break, _) => unreachable!("it is done without an answer"),
        (_, Content::Recording(_)) => refused("the disk shows no images yet: `explore` comes before"),
        (_, Content::Exploring(..)) => refused("the disk records no more: it shows images"),
    })
}

fn history(log: &Path, rules: Rules) -> Result<History<Log>, Error> {
    History::new(map(log)?, rules).map_err(|source| Error::Log { path: log.into(), source })
}
