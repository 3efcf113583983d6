//! `replacements`: small files that are replaced again and again, and every acknowledgement written down outside the disk: what a
//! power cut takes from programs that keep their state in plain files.
//!
//! surefoot's own and no workload of a study, so it stands in no list. A file is a stream of commits that replace each other: which
//! version it holds says which are there. All that a block holds follows from its place (`rule.rs`), so that a file that is torn,
//! mixed, empty or another's can't pass for whole. `writer.rs` is the load.

mod rule;
mod steps;
mod writer;

use crate::ack_log::{self, AckLog};
use crate::commits::Look;
use crate::steps::Steps;
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::{Class, Durability};
use observe::metric::{Measured, Metric};
use rule::{Damage, FILE_BYTES, FILES, Rule};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The row that is in no list.
pub static KIND: Kind = Kind {
    name: "replacements",
    summary: "files that are replaced, each acknowledgement written down; surefoot's own, for what a power cut takes",
    example: "",
    settings: SETTINGS,
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("method", Is::Choice(&["rename", "rename-fsync", "rename-fsync-directory", "truncate", "overwrite-fsync"]), "rename")
        .help("How a file is replaced."),
    Setting::new("connections", Is::Integer { min: 1, max: 64 }, "2")
        .help("Writers, each on files of its own; those beyond the number of files have nothing to do."),
    Setting::new("time", Is::Seconds { min: 0.0, max: 3600.0 }, "3s").help("Length of a run."),
    Setting::new("pause", Is::Seconds { min: 0.0, max: 1.0 }, "25ms")
        .help("Between an acknowledgement and the writer's next replacement."),
    Setting::new("seed", Is::Integer { min: 0, max: i64::MAX }, "1")
        .help("What the files hold. Not the round's seed: they are judged when the run is long over."),
    Setting::absent("witness", Is::Text)
        .help(
            "The file, outside the disk, that each replacement's line `file version tried acknowledged` goes to, in nanoseconds of \
               CLOCK_MONOTONIC.",
        ),
];

const METRICS: &[Metric] = observe::metrics! { More "1/s": "replacements_per_second"; Neither "1": "replacements"; };

/// Every file, its next version, and what is not freed yet.
const DATA_BYTES: u64 = 4 * FILES as u64 * FILE_BYTES as u64;

/// How a file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Method {
    /// A new file, renamed over the old one.
    Rename,
    /// The new file flushed before.
    RenameFsync,
    /// And the folder flushed afterwards.
    RenameFsyncDirectory,
    /// Emptied and written anew.
    Truncate,
    /// Written over in place, and flushed.
    OverwriteFsync,
}

impl Method {
    /// Whether what is there stays whole until the new content is.
    fn keeps_the_old(self) -> bool {
        !matches!(self, Method::Truncate | Method::OverwriteFsync)
    }

    /// What POSIX promises, whatever filesystems do beyond it.
    fn durability(self) -> Durability {
        let (class, reason) = match self {
            Method::Rename => (Class::MayCorrupt, "a file is renamed before its content is flushed"),
            Method::RenameFsync => (Class::LosesRecent, "the folder of a renamed file is not flushed"),
            Method::RenameFsyncDirectory => return Durability::full(),
            Method::Truncate => (Class::MayCorrupt, "a file is emptied before its new content is there"),
            Method::OverwriteFsync => (Class::MayCorrupt, "a file is written over in place"),
        };
        Durability::because(class, reason)
    }
}

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    method: Method,
    connections: u32,
    #[serde(rename = "time")]
    time_seconds: f64,
    #[serde(rename = "pause")]
    pause_seconds: f64,
    seed: u64,
    witness: Option<PathBuf>,
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        METRICS.to_vec()
    }

    fn durability(&self) -> Durability {
        self.method.durability()
    }

    fn estimate(&self) -> Estimate {
        Estimate { data_bytes: DATA_BYTES, load_seconds: 0.1, run_seconds: self.time_seconds }
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(Replacements { parameters: *self, last: [0; FILES as usize], ack_log: None }))
    }
}

/// A file by its number.
fn path(folder: &Path, file: u32) -> PathBuf {
    folder.join(format!("file-{file}"))
}

/// What ran, for who reads of commits.
pub fn describe(parameters: &Map<String, Value>) -> String {
    let how = match settings::typed::<Parameters>(parameters).method {
        Method::Rename => "by renaming new ones over them, without fsync",
        Method::RenameFsync => "by fsync of new ones and renaming these over them",
        Method::RenameFsyncDirectory => "by fsync of new ones, renaming these over them and fsync of the folder",
        Method::Truncate => "by emptying them and writing them anew, without fsync",
        Method::OverwriteFsync => "by writing them over in place and fsync",
    };
    format!("no database was at work: {FILES} files were replaced {how}; commits are replacements")
}

/// What a folder's files are, for a load with these parameters. Of a file that is no whole version, none is there.
pub fn look(parameters: &Map<String, Value>, data_folder: &Path) -> Look {
    let rule = Rule { seed: settings::typed::<Parameters>(parameters).seed };
    let mut look = Look::default();
    let mut damaged: BTreeMap<Damage, Vec<u32>> = BTreeMap::new();
    for file in 0..FILES {
        let found = match std::fs::read(path(data_folder, file)) {
            Ok(bytes) => rule.version(file, &bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Damage::Missing),
            Err(error) => {
                // Said aloud by the filesystem: the rest need not be silent about it.
                return Look { damage: Some(format!("file-{file} can't be read: {error}")), ..Look::default() };
            }
        };
        look.streams.insert(file, found.map_or_else(|_| Vec::new(), |version| (1..=version).collect()));
        if let Err(damage) = found {
            damaged.entry(damage).or_default().push(file);
        }
    }
    let words = |(damage, files): (Damage, Vec<u32>)| {
        format!("{}: {}, the first file-{}", damage.words(), files.len(), files[0])
    };
    look.wrong = damaged.into_iter().map(words).collect();
    look
}

/// The same replacements, one by one.
pub fn steps(parameters: &Map<String, Value>) -> Box<dyn Steps> {
    let Parameters { method, seed, .. } = settings::typed(parameters);
    Box::new(steps::Files { method, rule: Rule { seed } })
}

/// The workload at work.
struct Replacements {
    parameters: Parameters,
    /// By file, its last version.
    last: [u64; FILES as usize],
    /// Of all runs together.
    ack_log: Option<AckLog>,
}

impl Workload for Replacements {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let rule = Rule { seed: self.parameters.seed };
        for file in 0..FILES {
            let path = path(&context.data_folder, file);
            std::fs::write(&path, rule.content(file, 0)).map_err(Error::doing("write", &path))?;
        }
        Ok(Vec::new())
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let ack_log = ack_log::of_all_runs(&mut self.ack_log, self.parameters.witness.as_deref())?;
        writer::drive(&self.parameters, context, ack_log, &mut self.last)
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        let rule = Rule { seed: self.parameters.seed };
        for (file, version) in (0..FILES).zip(self.last) {
            let path = path(&context.data_folder, file);
            let bytes = std::fs::read(&path).map_err(Error::doing("read", &path))?;
            let found = match rule.version(file, &bytes) {
                Ok(found) if found == version => continue,
                Ok(found) => format!("version {found}"),
                Err(damage) => damage.words().into(),
            };
            let place = path.display().to_string();
            return Err(Error::wrong_data(place, format!("version {version}"), found));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
