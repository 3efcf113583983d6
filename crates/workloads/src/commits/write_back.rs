//! The write-back that runs beside the commits: what the kernel may do with data that nobody flushed, brought about within seconds.
//!
//! A kernel may write any page of its cache to the disk at any time, in any order: when it is old (30 s on Linux), when memory is
//! short, when another program asks. A recording of a few seconds on a machine with free memory has none of that, so that settings
//! that never flush would seem to lose the last seconds and no more. Here parts of the database's files are written back at random
//! moments (`sync_file_range`): it is only begun to write pages that are dirty. Nothing waits for that, no flush is sent to the
//! disk, no metadata is committed and no setting of the machine is changed. What the database wrote past the cache has no
//! dirty pages, and a filesystem that never writes over data shows what was written back only after a commit of its own.

use load::workload::Error;
use random::Random;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Each page is met so often in a run.
const TURNS: f64 = 6.0;

/// A turn's length: shorter and the first part of a commit would hardly ever be alone on the disk, longer and little would be.
const TURN_SECONDS: [f64; 2] = [0.1, 5.0];

/// Pages that a part has at most.
const PART_PAGES_MAX: u64 = 16;

/// Parts of a file that a turn has at most, about: those of a large file are longer.
const PARTS_MAX: u64 = 128;

/// What a page cache is made of.
const PAGE_BYTES: u64 = 4096;

/// How long may pass until the end of the load is noticed.
const LOOK: Duration = Duration::from_millis(10);

/// What was done beside a run.
#[derive(Debug, Default)]
pub struct Done {
    turns: u64,
    parts: u64,
    files: BTreeSet<PathBuf>,
}

impl Done {
    /// For who reads of the recording.
    pub fn words(&self) -> String {
        let Done { turns, parts, files } = self;
        format!(
            "beside the commits the data were written back without a flush: {turns} whole turns, {parts} parts of {} files, at random moments",
            files.len()
        )
    }
}

/// Writes back what a folder has, turn by turn, until the load has ended.
pub fn beside(folder: &Path, seed: u64, run_seconds: f64, has_ended: &AtomicBool) -> Result<Done, Error> {
    let mut random = Random::new(seed);
    let mut done = Done::default();
    let turn_seconds = (run_seconds / TURNS).clamp(TURN_SECONDS[0], TURN_SECONDS[1]);
    let mut begun = Instant::now();
    while !has_ended.load(Ordering::Relaxed) {
        let files = files_of(folder).map_err(Error::doing("list", folder))?;
        let pages: Vec<u64> = files.iter().map(|(_, bytes)| bytes.div_ceil(PAGE_BYTES)).collect();
        for part in turn(&mut random, &pages) {
            if !sleep_until(begun + Duration::from_secs_f64(part.moment * turn_seconds), has_ended) {
                return Ok(done);
            }
            let path = &files[part.file].0;
            match start(path, &part) {
                Ok(()) => {
                    done.parts += 1;
                    done.files.insert(path.clone());
                }
                // Databases delete files all the time.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(Error::file("write back", path, source)),
            }
        }
        begun += Duration::from_secs_f64(turn_seconds);
        done.turns += u64::from(sleep_until(begun, has_ended));
    }
    Ok(done)
}

/// Whether the moment came before the load's end.
fn sleep_until(moment: Instant, has_ended: &AtomicBool) -> bool {
    while !has_ended.load(Ordering::Relaxed) {
        match moment.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => std::thread::sleep(left.min(LOOK)),
            _ => return true,
        }
    }
    false
}

/// Some pages of a file, and when in a turn, from 0 to 1, they are written back.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    file: usize,
    first_page: u64,
    /// None: to its end, wherever that is by then.
    pages: Option<u64>,
    moment: f64,
}

/// Every page of files of so many pages, in parts of random lengths, each at a random moment: in that order.
fn turn(random: &mut Random, pages_by_file: &[u64]) -> Vec<Part> {
    let mut parts = Vec::new();
    for (file, &all) in pages_by_file.iter().enumerate() {
        let longest = PART_PAGES_MAX.max(2 * all / PARTS_MAX);
        let mut first_page = 0;
        loop {
            let length = 1 + random.below(longest);
            let pages = (first_page + length < all).then_some(length);
            parts.push(Part { file, first_page, pages, moment: random.fraction() });
            match pages {
                Some(length) => first_page += length,
                None => break,
            }
        }
    }
    parts.sort_by(|one, other| one.moment.total_cmp(&other.moment));
    parts
}

/// The files below a folder with their sizes, in the order of their names.
fn files_of(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let entry = entry?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) if metadata.is_file() => files.push((entry.path(), metadata.len())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Has the dirty pages of a part written, without waiting for it.
#[cfg(target_os = "linux")]
fn start(path: &Path, part: &Part) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let file: File = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    // 0 bytes: to the end of the file.
    let [offset, bytes] = [part.first_page, part.pages.unwrap_or(0)].map(|pages| (pages * PAGE_BYTES) as i64);
    // SAFETY: the descriptor is open, and no memory is involved.
    let begun = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE) };
    if begun == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Power cuts are measured on Linux only.
#[cfg(not(target_os = "linux"))]
fn start(path: &Path, _part: &Part) -> io::Result<()> {
    OpenOptions::new().read(true).open(path).map(|_: File| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_turn_meets_every_page_once_and_the_end_of_every_file(
            seed in any::<u64>(),
            pages in prop::collection::vec(0u64..5000, 1..6),
        ) {
            let parts = turn(&mut Random::new(seed), &pages);
            prop_assert!(parts.is_sorted_by_key(|part| part.moment));
            prop_assert!(parts.iter().all(|part| (0.0..1.0).contains(&part.moment)));
            for (file, &all) in pages.iter().enumerate() {
                let mut of_file: Vec<&Part> = parts.iter().filter(|part| part.file == file).collect();
                of_file.sort_by_key(|part| part.first_page);
                let mut next = 0;
                for part in &of_file {
                    prop_assert_eq!(part.first_page, next);
                    next += part.pages.unwrap_or_else(|| all.saturating_sub(part.first_page));
                }
                prop_assert_eq!(next, all);
                prop_assert_eq!(of_file.iter().filter(|part| part.pages.is_none()).count(), 1);
            }
        }
    }

    #[test]
    fn the_seed_decides_and_turns_differ() {
        let two_turns = |seed: u64| {
            let mut random = Random::new(seed);
            [turn(&mut random, &[300, 20, 0]), turn(&mut random, &[300, 20, 0])]
        };
        assert_eq!(two_turns(7), two_turns(7));
        assert_ne!(two_turns(7), two_turns(8));
        let [first, second] = two_turns(7);
        assert_ne!(first, second);
    }

    #[test]
    fn files_are_met_in_turns_of_each_other_and_not_one_after_the_other() {
        let parts = turn(&mut Random::new(1), &[400, 400]);
        let changes = parts.windows(2).filter(|pair| pair[0].file != pair[1].file).count();
        assert!(changes > parts.len() / 4, "{changes} of {}", parts.len());
    }

    #[test]
    fn all_is_met_several_times_in_a_run_and_what_is_deleted_harms_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("below")).expect("made");
        std::fs::write(folder.path().join("below/data"), vec![1; 300_000]).expect("written");
        let passing = folder.path().join("passing");
        let has_ended = AtomicBool::new(false);
        let done = std::thread::scope(|scope| {
            let beside = scope.spawn(|| beside(folder.path(), 1, 0.6, &has_ended));
            for _ in 0..60 {
                std::fs::write(&passing, "x").expect("written");
                std::thread::sleep(Duration::from_millis(5));
                std::fs::remove_file(&passing).expect("removed");
                std::thread::sleep(Duration::from_millis(5));
            }
            has_ended.store(true, Ordering::Relaxed);
            beside.join().expect("it does not panic").expect("it goes on")
        });
        assert!(done.turns >= 2, "{done:?}");
        assert!(done.files.contains(&folder.path().join("below/data")), "{done:?}");
        assert!(done.parts >= 5 * done.turns, "{done:?}");
    }
}
