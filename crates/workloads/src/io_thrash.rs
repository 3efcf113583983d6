//! `io-thrash`: random read-modify-write of the blocks of a sparse file, as a transactional database would.
//!
//! A labelled reconstruction, "io_thrash-r (reconstruction)", of the `io_thrash` program of K. S. Bhaskar's talk on
//! filesystems for databases (2013), whose source is not public; never to be mixed with figures of the original. What
//! is known of it, and its published figures, force: one parameter, the number of I/Os; about 4 KiB a place; an area
//! that grows with the number of I/Os; a file that is sparse at first. Its processes are threads here, each with its own
//! file descriptors, which makes the same system calls. With a journal, the order is GT.M's: the block as it was goes to
//! the journal before the changed block goes to the file, and the journal is flushed before the file.
//!
//! Driven by `lab::trial`. Each run begins with a new file. Reads back every block after each run, outside the window.

mod journal;
mod stream;
mod verify;

use journal::Journal;
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::{Class, Durability};
use observe::metric::Metric;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "io-thrash",
    summary: "io_thrash-r (reconstruction): random read-modify-write of a sparse file's blocks, with journal and flushes \
              in the order of a database",
    example: "[workload.io-thrash]\nios = 200000\njournal = \"before\"\nsync = \"commit\"\ncommit_ios = 100\n",
    settings: SETTINGS,
    choices: &["sync"],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("ios", Is::Integer { min: 1, max: 1 << 40 }, "20000")
        .help(
            "Number of I/Os, each a read and a write of one block. The file has as many blocks, so that it grows with \
               this number: the talk's series is 20000, 200000, 2000000, 20000000.",
        ),
    Setting::new("block_size", Is::Bytes { min: 64, max: 1 << 24 }, "4KiB")
        .help("Size of a block, and of each read and write."),
    Setting::new("streams", Is::Integer { min: 1, max: 1024 }, "1")
        .help(
            "How many streams share the I/Os. The original started processes; these are threads, each with file \
               descriptors of its own.",
        ),
    Setting::new("journal", Is::Choice(&["off", "before"]), "off")
        .help(
            "`before` appends each block as it was to a journal before the changed block is written, as GT.M's \
               before-image journal does.",
        ),
    Setting::new("sync", Is::Choice(&["none", "epoch", "commit"]), "none")
        .help(
            "`commit` flushes the journal (without one: the file) after every `commit_ios` I/Os of a stream, and after its last; `epoch` \
               flushes journal, then file, every `sync_interval`; `none` leaves it to the kernel.",
        ),
    Setting::new("sync_interval", Is::Seconds { min: 0.001, max: 1e9 }, "5s")
        .help("Time between flushes with `sync = \"epoch\"`."),
    Setting::new("commit_ios", Is::Integer { min: 1, max: i64::MAX }, "100")
        .help("I/Os in a commit with `sync = \"commit\"`; no more than each stream has (`ios` / `streams`)."),
];

const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "ios_per_second";
    Less "s": "elapsed_seconds", "elapsed_synced_seconds";
    Less "µs": "microseconds_per_io";
};

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    ios: u64,
    block_size: usize,
    streams: u64,
    journal: JournalMode,
    sync: SyncMode,
    sync_interval: f64,
    commit_ios: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalMode {
    Off,
    Before,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SyncMode {
    None,
    Epoch,
    Commit,
}

impl Parameters {
    fn file_bytes(&self) -> u64 {
        self.ios * self.block_size as u64
    }

    /// I/Os of the stream that has the fewest.
    fn share_min(&self) -> u64 {
        self.ios / self.streams
    }

    fn journal_bytes(&self) -> u64 {
        match self.journal {
            JournalMode::Off => 0,
            JournalMode::Before => self.ios * (journal::HEADER_BYTES + self.block_size) as u64,
        }
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        METRICS.to_vec()
    }

    /// A journal record holds the block's number and content before the change, and would mend a torn block. But blocks are written at once
    /// and the journal is flushed later, so that the kernel may write a block out before its record.
    fn durability(&self) -> Durability {
        let reason = match self.journal {
            JournalMode::Off => {
                "`journal = off`: blocks are overwritten in place, one that is half written can't be mended"
            }
            JournalMode::Before => "changed blocks may reach the disk before their journal records do",
        };
        Durability::because(Class::MayCorrupt, reason)
    }

    /// Time from the talk's machine, page-cache bound (6 µs an I/O); a flush is put at 2 ms, a disk's revolution being 8.
    fn estimate(&self) -> Estimate {
        let flushes = match self.sync {
            SyncMode::Commit => self.streams * self.share_min().div_ceil(self.commit_ios),
            SyncMode::Epoch | SyncMode::None => 1,
        };
        Estimate {
            data_bytes: self.file_bytes() + self.journal_bytes(),
            load_seconds: 0.0,
            run_seconds: self.ios as f64 * 6e-6 + flushes as f64 * 2e-3,
        }
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(IoThrash { parameters: *self, laid_out: None, has_run: false }))
    }
}

/// The workload.
struct IoThrash {
    parameters: Parameters,
    /// For the next run.
    laid_out: Option<(File, Option<Journal>)>,
    has_run: bool,
}

/// Where the file and its journal are.
#[derive(Debug, Clone)]
struct Paths {
    file: PathBuf,
    journal: PathBuf,
}

impl Paths {
    fn under(folder: &Path) -> Paths {
        Paths { file: folder.join("io-thrash.data"), journal: folder.join("io-thrash.journal") }
    }
}

impl Workload for IoThrash {
    /// What the run before wrote is read, and a new file laid out: neither belongs to a run.
    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        let paths = Paths::under(&context.data_folder);
        if self.has_run {
            verify::file(&self.parameters, &paths.file, context.interrupted)?;
        }
        let file = self.lay_out(&paths)?;
        let journal = match self.parameters.journal {
            JournalMode::Off => None,
            JournalMode::Before => Some(Journal::create(&paths.journal)?),
        };
        self.laid_out = Some((file, journal));
        Ok(())
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let paths = Paths::under(&context.data_folder);
        let (file, journal) = self.laid_out.take().expect("a run comes after `ready`");
        let done = stream::drive(&self.parameters, &paths.file, journal.as_ref(), context)?;
        let syncing = Instant::now();
        if let Some(journal) = &journal {
            journal.sync()?;
        }
        file.sync_all().map_err(Error::doing("flush", &paths.file))?;
        let synced = done.seconds + syncing.elapsed().as_secs_f64();
        self.has_run = true;
        let ios = self.parameters.ios as f64;
        Ok(Outcome {
            metrics: workload::figures(METRICS, [ios / done.seconds, done.seconds, synced, done.seconds / ios * 1e6]),
            bytes_written: self.parameters.file_bytes() + self.parameters.journal_bytes(),
            ..done
        })
    }

    /// The last run's file and journal once more, from the device where the kernel lets go of its cached copy.
    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        let paths = Paths::under(&context.data_folder);
        verify::forget_cached(&paths.file)?;
        let serials = verify::file(&self.parameters, &paths.file, context.interrupted)?;
        if self.parameters.journal == JournalMode::Before {
            verify::forget_cached(&paths.journal)?;
            journal::check(&paths.journal, self.parameters.block_size, &serials, context.interrupted)?;
        }
        Ok(())
    }
}

impl IoThrash {
    /// A new sparse file, on disk as such; flushing also settles the removal of the run before.
    fn lay_out(&self, paths: &Paths) -> Result<File, Error> {
        for path in [&paths.file, &paths.journal] {
            Error::unless_gone(std::fs::remove_file(path), path)?;
        }
        let file = File::create_new(&paths.file).map_err(Error::doing("create", &paths.file))?;
        file.set_len(self.parameters.file_bytes())
            .and_then(|()| file.sync_all())
            .map_err(Error::doing("lay out", &paths.file))?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_tests::read;
    use serde_json::json;

    #[test]
    fn defaults_are_the_first_of_the_talks_series() {
        let parameters: Parameters = settings::typed(&settings::defaults(SETTINGS));
        assert_eq!((parameters.ios, parameters.block_size, parameters.streams), (20_000, 4096, 1));
        assert_eq!(parameters.estimate().data_bytes, 20_000 * 4096);
    }

    #[test]
    fn blocks_that_may_go_before_their_records_may_be_torn() {
        for written in [
            json!({ "journal": "before", "sync": "commit" }),
            json!({ "journal": "before" }),
            json!({ "sync": "commit" }),
        ] {
            assert_eq!(read(&KIND, &written).durability().class, Class::MayCorrupt, "{written}");
        }
    }

    #[test]
    fn it_is_named_a_reconstruction() {
        assert!(KIND.summary.contains("io_thrash-r (reconstruction)"));
    }
}
