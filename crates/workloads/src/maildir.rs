//! `maildir`: what a mail server does to a filesystem. Messages are delivered, read and removed, a file each, in many mailboxes.
//!
//! A delivery has the order of D. J. Bernstein's "Using maildir format": the message is written to `tmp`, flushed, and renamed into
//! `new`; one that was read moves to `cur`. What is flushed is a setting, as mail servers differ. For each message that comes, the
//! mailbox's oldest goes, so that there are as many at the end as at the start. A message says by a checksum which it is, so that one
//! that is torn, empty or another's can't pass for right.
//!
//! Driven by `lab::trial`; a thread has mailboxes of its own (`mailbox.rs`).

mod mailbox;

use load::duration::timed;
use load::noise::Noise;
use load::threads::{Control, Ended};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Files, Kind, Outcome, Workload, WorkloadSettings};
use mailbox::{MESSAGE_BYTES_MIN, Mailbox};
use observe::durability::{Class, Durability};
use observe::latency::Latency;
use observe::metric::{Measured, Metric};
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "maildir",
    summary: "delivers, reads and removes messages in many mailboxes, a file each, as a mail server does",
    example: "[workload.maildir]\nmailboxes = 1000\nmessages = 100\nfsync = \"message\"\n",
    settings: SETTINGS,
    choices: &["fsync"],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("mailboxes", Is::Integer { min: 1, max: 1_000_000 }, "100").help("Mailboxes."),
    Setting::new("messages", Is::Integer { min: 1, max: 10_000_000 }, "50").help("Messages in each mailbox."),
    Setting::new("message_size", Is::Bytes { min: 1 << 10, max: 1 << 24 }, "16KiB")
        .help("Mean size of a message. Sizes are drawn from an exponential distribution: most are smaller, a few several times as large."),
    Setting::new("threads", Is::Integer { min: 1, max: 1024 }, "8")
        .help("Threads that deliver, read and remove at the same time, each in mailboxes of its own."),
    Setting::new("reads", Is::Integer { min: 0, max: 1000 }, "1")
        .help("Messages that are read for each that is delivered."),
    Setting::new("fsync", Is::Choice(&["none", "message", "message-and-folder"]), "message-and-folder")
        .help(
            "What is flushed before a message counts as delivered: nothing, the message, or also the folder into which it was renamed. \
               What a power cut takes where messages are flushed is measured by `[safety]` with `load = \"files\"`.",
        ),
    Setting::new("time", Is::Seconds { min: 0.01, max: 1e6 }, "30s").help("Length of a run."),
];

const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "messages_per_second", "reads_per_second";
    Less "µs": "delivery_microseconds_p99";
};

/// Bytes that mailboxes are filled with a second, a slow disk's sequential speed.
const FILLED_BYTES_PER_SECOND: f64 = 1e8;

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    mailboxes: u64,
    messages: u64,
    #[serde(rename = "message_size")]
    message_bytes: u64,
    threads: u64,
    reads: u64,
    fsync: Fsync,
    #[serde(rename = "time")]
    time_seconds: f64,
}

/// What is flushed before a message counts as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fsync {
    None,
    Message,
    MessageAndFolder,
}

impl Parameters {
    /// A message's size: exponential around the mean.
    fn draw_bytes(&self, random: &mut Random) -> usize {
        let bytes = -(1.0 - random.fraction()).ln() * self.message_bytes as f64;
        (bytes as usize).max(MESSAGE_BYTES_MIN)
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        METRICS.to_vec()
    }

    /// What POSIX promises, whatever filesystems do beyond it.
    fn durability(&self) -> Durability {
        let (class, reason) = match self.fsync {
            Fsync::None => (Class::MayCorrupt, "`fsync = none`: a message is renamed before its content is flushed"),
            Fsync::Message => (Class::LosesRecent, "`fsync = message`: the folder of a renamed message is not flushed"),
            Fsync::MessageAndFolder => return Durability::full(),
        };
        Durability::because(class, reason)
    }

    /// A message takes half a block more than its content, and an inode.
    fn estimate(&self) -> Estimate {
        let data_bytes = self.mailboxes.saturating_mul(self.messages).saturating_mul(self.message_bytes + 2048 + 256);
        let load_seconds = data_bytes as f64 / FILLED_BYTES_PER_SECOND;
        Estimate { data_bytes, load_seconds, run_seconds: self.time_seconds }
    }

    fn problems(&self) -> Vec<String> {
        let (threads, mailboxes) = (self.threads, self.mailboxes);
        load::sentences! {
            threads > mailboxes => "`threads` ({threads}) is above `mailboxes` ({mailboxes}): each thread has its own";
        }
    }

    fn files(&self) -> Files {
        match self.fsync {
            Fsync::None => Files::Otherwise(
                "without a flush a message gets a name that nothing had: ext4 and Btrfs write out a file that is renamed over \
                 another one, and not such a one",
            ),
            Fsync::Message => Files::By("rename-fsync"),
            Fsync::MessageAndFolder => Files::By("rename-fsync-directory"),
        }
    }

    fn run_seconds(&self) -> Option<f64> {
        Some(self.time_seconds)
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(Maildir { parameters: *self, mailboxes: Vec::new(), runs: 0 }))
    }
}

/// The workload.
struct Maildir {
    parameters: Parameters,
    mailboxes: Vec<Mailbox>,
    /// Runs so far: each draws other mailboxes.
    runs: u64,
}

impl Workload for Maildir {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = Instant::now();
        let (mut random, noise) = (Random::new(context.seed), Noise::new(context.seed));
        for number in 0..self.parameters.mailboxes {
            let mut mailbox = Mailbox::create(&context.data_folder, number)?;
            for _ in 0..self.parameters.messages {
                Error::if_interrupted(context.interrupted)?;
                mailbox.deliver(self.parameters.draw_bytes(&mut random), Fsync::None, &noise)?;
            }
            self.mailboxes.push(mailbox);
        }
        crate::flush::filesystem_of(&context.data_folder)?;
        Ok(workload::load_seconds(started))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let (control, noise) = (Control::new(context.interrupted), Noise::new(context.seed));
        let shared = Shared { parameters: &self.parameters, noise, control };
        let seed = Random::of_stream(context.seed, self.runs).next_u64();
        self.runs += 1;
        let shares = shares(&mut self.mailboxes, self.parameters.threads as usize);
        let random = |thread: usize| Random::of_stream(seed, thread as u64);
        let ready = |thread, own| Ok((own, random(thread)));
        let ended = shared.control.run(shares, ready, |(own, random)| shared.work(own, random), context.progress)?;
        let Ended { parts, seconds, rates } = ended;
        let mut all = Done::default();
        parts.iter().for_each(|done| all.add(done));
        let delivered = all.delivery.count();
        let [rate, reads] = [delivered, all.read.count()].map(|count| count as f64 / seconds);
        let values = [rate, reads, all.delivery.microseconds_at(0.99)];
        Ok(Outcome {
            seconds,
            metrics: workload::figures(METRICS, values),
            series: [(METRICS[0].name.to_string(), rates)].into(),
            bytes_written: all.bytes_written,
            commits: if self.parameters.fsync == Fsync::None { 0 } else { delivered },
            latencies: all.latencies(),
            ..Outcome::all_right()
        })
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.mailboxes.iter().try_for_each(|mailbox| mailbox.verify(context.interrupted))
    }
}

/// As many shares of nearly the same length.
fn shares<T>(mut all: &mut [T], count: usize) -> Vec<&mut [T]> {
    let share = |left: usize| {
        let length = all.len().div_ceil(left);
        let (own, rest) = std::mem::take(&mut all).split_at_mut(length);
        all = rest;
        own
    };
    (1..=count).rev().map(share).collect()
}

/// What one thread did, or all.
#[derive(Default)]
struct Done {
    delivery: Latency,
    read: Latency,
    removal: Latency,
    bytes_written: u64,
}

impl Done {
    fn add(&mut self, other: &Done) {
        self.delivery.merge(&other.delivery);
        self.read.merge(&other.read);
        self.removal.merge(&other.removal);
        self.bytes_written += other.bytes_written;
    }

    fn latencies(self) -> BTreeMap<String, Latency> {
        let all = [("deliver", self.delivery), ("read", self.read), ("remove", self.removal)];
        all.into_iter().filter(|(_, latency)| latency.count() > 0).map(|(name, all)| (name.into(), all)).collect()
    }
}

/// What the threads of a run share.
struct Shared<'a> {
    parameters: &'a Parameters,
    noise: Noise,
    control: Control<'a>,
}

impl Shared<'_> {
    /// Delivers, reads and removes until the run is over.
    fn work(&self, own: &mut [Mailbox], mut random: Random) -> Result<Done, Error> {
        let deadline = Instant::now() + Duration::from_secs_f64(self.parameters.time_seconds);
        let mut done = Done::default();
        while !self.control.is_over() && Instant::now() < deadline {
            let mailbox = &mut own[random.below(own.len() as u64) as usize];
            let bytes = self.parameters.draw_bytes(&mut random);
            timed(&mut done.delivery, || mailbox.deliver(bytes, self.parameters.fsync, &self.noise))?;
            done.bytes_written += bytes as u64;
            self.control.count(1);
            timed(&mut done.removal, || mailbox.remove_oldest())?;
            for _ in 0..self.parameters.reads {
                let mailbox = &mut own[random.below(own.len() as u64) as usize];
                timed(&mut done.read, || mailbox.read_any(&mut random))?;
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_tests::read;
    use serde_json::json;

    #[test]
    fn only_a_flushed_message_in_a_flushed_folder_is_kept() {
        let class = |fsync: &str| read(&KIND, &json!({ "fsync": fsync })).durability().class;
        let classes = ["none", "message", "message-and-folder"].map(class);
        assert_eq!(classes, [Class::MayCorrupt, Class::LosesRecent, Class::KeepsAcknowledged]);
    }

    #[test]
    fn each_thread_needs_a_mailbox() {
        assert_eq!(read(&KIND, &json!({ "mailboxes": 4, "threads": 4 })).problems().len(), 0);
        assert_eq!(read(&KIND, &json!({ "mailboxes": 4, "threads": 5 })).problems().len(), 1);
    }

    #[test]
    fn each_thread_has_its_share() {
        let mut mailboxes: Vec<u32> = (0..10).collect();
        let lengths: Vec<usize> = shares(&mut mailboxes, 8).iter().map(|share| share.len()).collect();
        assert_eq!(lengths, [2, 2, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn sizes_have_their_mean_and_most_are_smaller() {
        let parameters: Parameters = settings::typed(&settings::defaults(SETTINGS));
        let mut random = Random::new(1);
        let sizes: Vec<usize> = (0..20_000).map(|_| parameters.draw_bytes(&mut random)).collect();
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!((mean / 16384.0 - 1.0).abs() < 0.03, "{mean}");
        // Of an exponential distribution 1 − 1/e lies below the mean.
        let below = sizes.iter().filter(|size| **size < 16384).count() as f64 / sizes.len() as f64;
        assert!((below - 0.632).abs() < 0.02, "{below}");
    }
}
