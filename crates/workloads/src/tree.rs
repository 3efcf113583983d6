//! `tree`: extracts the archive of a source tree and removes the tree again, as `tar -x` and `rm -r` do.
//!
//! Without an `archive` of the user's, a seeded generator makes one shaped like a compiler's source (`tree/generate.rs`
//! has the shape and its origin). The archive lies in the study's cache, is the same for all rounds, and is read into
//! memory before the window, so that its own disk and a compressor are not measured. Both times are taken twice: when
//! the last call returned, and when the filesystem has everything on the device (`syncfs`).
//! Between the two, outside the window, the tree is counted and a sample of it compared with the archive.
//!
//! Driven by `lab::trial`.

mod archive;
mod beneath;
mod extract;
mod generate;
mod remove;

use crate::flush;
use crate::source_archive;
use archive::Manifest;
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::{Class, Durability};
use observe::metric::{Measured, Metric, WORK_DONE};
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "tree",
    summary: "extracts a source tree from an archive, then removes it; both with and without the flush to the device",
    example: "[workload.tree]\nfiles = 25000\n",
    settings: SETTINGS,
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::absent("archive", Is::Text)
        .help(
            "Path of a .tar, .tar.gz, .tar.xz or .tar.zst to extract. Without it a tree is generated that is shaped like the source of \
               GCC 12.2: half of the files below 656 bytes, 10 % above 5.2 KB, 1 % above 71 KB, 6.6 KB on average; a \
               folder for every 22 files, up to 9 deep, half of the files 4 deep; contents are text that compresses.",
        ),
    Setting::new("files", Is::Integer { min: 1, max: 10_000_000 }, "25000")
        .help("Number of files of the generated tree; without effect on an `archive`."),
    Setting::new("archive_seed", Is::Integer { min: 0, max: i64::MAX }, "1")
        .help("Seed of the generated tree, which is the same in all rounds; without effect on an `archive`."),
];

const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "files_per_second";
    Less "s": "extract_seconds", "extract_synced_seconds", "remove_seconds", "remove_synced_seconds";
    Neither "1": WORK_DONE;
};

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    archive: Option<PathBuf>,
    files: u64,
    archive_seed: u64,
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        METRICS.to_vec()
    }

    fn durability(&self) -> Durability {
        let reason = "`tree`: files are not flushed one by one, as tar does not either";
        Durability::because(Class::LosesRecent, reason)
    }

    /// 25,000 files took the talk-era machines of the original comparison 22 s to extract and 2 s to remove; half of that
    /// is still a careful guess. A file takes a filesystem block more than its content, half of one on average and an inode.
    fn estimate(&self) -> Estimate {
        let content = match &self.archive {
            Some(path) => source_archive::content_bytes(path),
            None => self.files * generate::FILE_BYTES_MEAN,
        };
        let files = self.archive.as_ref().map_or(self.files, |_| content / generate::FILE_BYTES_MEAN);
        Estimate {
            data_bytes: content + files * 4096,
            load_seconds: content as f64 / 1e8,
            run_seconds: files as f64 * 12.0 / 25_000.0,
        }
    }

    fn problems(&self) -> Vec<String> {
        self.archive.as_deref().map_or_else(Vec::new, source_archive::problems)
    }

    fn missing(&self) -> Vec<String> {
        self.archive.as_deref().map_or_else(Vec::new, |path| source_archive::missing(path, &[]))
    }

    fn user_files(&self) -> Vec<PathBuf> {
        self.archive.iter().cloned().collect()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(Tree { parameters: *self, archive: None }))
    }
}

/// The workload.
struct Tree {
    parameters: Parameters,
    archive: Option<(PathBuf, Manifest)>,
}

impl Workload for Tree {
    /// Makes the archive where it isn't cached yet, and learns what is in it. The filesystem under test stays empty.
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let cache = &context.cache_folder;
        let path = match &self.parameters.archive {
            Some(path) => archive::plain(path, cache, context.interrupted)?,
            None => generate::cached(cache, self.parameters.files, self.parameters.archive_seed, context.interrupted)?,
        };
        let manifest = archive::scan(&path)?;
        self.archive = Some((path, manifest));
        Ok(Vec::new())
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let (archive, manifest) = self.archive.as_ref().expect("a run comes after `prepare`");
        let target = target(context);
        Error::unless_gone(std::fs::remove_dir_all(&target), &target)?;
        archive::read_into_memory(archive)?;

        let began = Instant::now();
        let (create, rates) = extract::extract(archive, &target, context)?;
        let extract = began.elapsed().as_secs_f64();
        flush::filesystem_of(&context.data_folder)?;
        let extract_synced = began.elapsed().as_secs_f64();
        let files = manifest.files as f64;
        let rate = files / extract_synced;

        manifest.compare(&target)?;

        let began = Instant::now();
        let unlink = remove::remove(&target, context.interrupted)?;
        let remove = began.elapsed().as_secs_f64();
        flush::filesystem_of(&context.data_folder)?;
        let remove_synced = began.elapsed().as_secs_f64();
        nothing_left(&target)?;

        Ok(Outcome {
            seconds: extract_synced + remove_synced,
            metrics: workload::figures(METRICS, [rate, extract, extract_synced, remove, remove_synced, files]),
            latencies: [("create".into(), create), ("unlink".into(), unlink)].into(),
            series: [(METRICS[0].name.to_string(), rates)].into(),
            bytes_written: manifest.bytes,
            ..Outcome::all_right()
        })
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        nothing_left(&target(context))
    }
}

fn target(context: &Context) -> PathBuf {
    context.data_folder.join("tree")
}

fn nothing_left(target: &Path) -> Result<(), Error> {
    if std::fs::symlink_metadata(target).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(());
    }
    Err(Error::wrong_data(target.display().to_string(), "nothing, after it was removed", "it is still there"))
}
