//! How much this machine strays: a steady small load for half a minute, in slices of a tenth of a second; kept until the next boot.
//!
//! Driven by `surefoot doctor --noise`. One thread makes steps of arithmetic, another one writes 4 KiB and flushes it, over and over,
//! in the work folder's filesystem. What their rates say is `stats::allan`; this file judges nothing.

use serde::{Deserialize, Serialize};
use stats::{MachineNoise, Series, Spread};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};
use workloads::probe::Steps;

/// Averages over these are told.
pub const LENGTHS_SECONDS: [f64; 5] = [1.0, 3.0, 10.0, 30.0, 100.0];

/// So short that a second has some of them, so long that a slow disk writes in most of them.
const SLICE_SECONDS: f64 = 0.1;
const FILE: &str = "noise.json";
/// A kept measurement of an hour has 0.7 MB.
const FILE_BYTES_MAX: u64 = 4 << 20;
const BLOCK_BYTES: u64 = 4096;
/// Written over and over: a file that does not grow, so that a flush is of its blocks only.
const BLOCKS: u64 = 256;
/// Steps of arithmetic between two looks at the clock: below a millisecond.
const STEPS_A_LOOK: u64 = 1 << 16;
/// Nothing is believed of averages over less than this, which decides what strays more.
const COMPARED_SECONDS: f64 = 1.0;

/// What was measured, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The machine's boot; none: this system names none, and nothing is kept.
    pub boot: Option<String>,
    /// Unix time, seconds.
    pub taken: f64,
    /// Length of a slice.
    pub slice_seconds: f64,
    /// Steps of arithmetic in a second, slice by slice.
    pub processor: Vec<f64>,
    /// Writes of 4 KiB, each flushed, in a second, slice by slice.
    pub writes: Vec<f64>,
}

/// Measures for so long, in this folder's filesystem.
///
/// # Errors
/// When the file can't be written, or the user interrupted.
pub fn measure(folder: &Path, seconds: f64, interrupted: &AtomicBool) -> io::Result<Measured> {
    let mut file = scratch(folder)?;
    let taken = UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64());
    let slices = (seconds / SLICE_SECONDS).round() as usize;
    let begun = Instant::now();
    let (processor, writes) = std::thread::scope(|scope| {
        let processor = scope.spawn(move || {
            let mut steps = Steps::new(1);
            sampled(slices, begun, interrupted, || {
                steps.take(STEPS_A_LOOK);
                Ok(STEPS_A_LOOK as f64)
            })
        });
        let mut written = 0;
        let writes = sampled(slices, begun, interrupted, || {
            written += 1;
            write(&mut file, written).map(|()| 1.0)
        });
        (processor.join().expect("arithmetic does not panic"), writes)
    });
    Ok(Measured { boot: boot(), taken, slice_seconds: SLICE_SECONDS, processor: processor?, writes: writes? })
}

/// Of a name that nobody else has, and that is gone at once: a kill leaves nothing.
fn scratch(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("noise-{}.data", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    file.write_all(&vec![0; (BLOCK_BYTES * BLOCKS) as usize])?;
    file.sync_all()?;
    Ok(file)
}

fn write(file: &mut File, number: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(number % BLOCKS * BLOCK_BYTES))?;
    file.write_all(&[number as u8; BLOCK_BYTES as usize])?;
    file.sync_data()
}

/// Does it over and over, and says how much work a second was done in each slice.
fn sampled(
    slices: usize,
    begun: Instant,
    interrupted: &AtomicBool,
    mut once: impl FnMut() -> io::Result<f64>,
) -> io::Result<Vec<f64>> {
    let mut work = vec![0.0; slices];
    let end = Duration::from_secs_f64(slices as f64 * SLICE_SECONDS);
    let mut now = begun.elapsed();
    while now < end {
        if interrupted.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let done = once()?;
        let after = begun.elapsed();
        share_out(&mut work, (now.as_secs_f64(), after.as_secs_f64()), done);
        now = after;
    }
    work.iter_mut().for_each(|work| *work /= SLICE_SECONDS);
    Ok(work)
}

/// Work belongs to the slices in which it was done, by its time in each.
fn share_out(work: &mut [f64], (from, to): (f64, f64), done: f64) {
    let first = (from / SLICE_SECONDS) as usize;
    let last = ((to / SLICE_SECONDS) as usize).min(work.len() - 1);
    for (slice, work) in work.iter_mut().enumerate().take(last + 1).skip(first) {
        let begin = slice as f64 * SLICE_SECONDS;
        let inside = (to.min(begin + SLICE_SECONDS) - from.max(begin)).max(0.0);
        *work += if to > from { done * inside / (to - from) } else { done };
    }
}

/// The kernel's own name of the time since it was started.
pub(crate) fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_string())
}

impl Measured {
    /// Steps of arithmetic.
    pub fn processor(&self) -> Series {
        Series { rates: self.processor.clone(), slice_seconds: self.slice_seconds }
    }

    /// Flushed writes.
    pub fn writes(&self) -> Series {
        Series { rates: self.writes.clone(), slice_seconds: self.slice_seconds }
    }

    /// How long it was measured.
    pub fn seconds(&self) -> f64 {
        self.writes().seconds()
    }

    /// The noise of what strays more, as a study's load may be bound by it.
    pub fn noise(&self) -> Option<MachineNoise> {
        let found = [self.processor(), self.writes()].into_iter().filter_map(|series| Some(series.fit()?.best));
        found.max_by(|a, b| a.allan_variance(COMPARED_SECONDS).total_cmp(&b.allan_variance(COMPARED_SECONDS)))
    }

    /// Keeps it in a folder, and says in which file.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn keep(&self, folder: &Path) -> io::Result<PathBuf> {
        let (path, unfinished) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
        std::fs::write(&unfinished, serde_json::to_vec(self)?)?;
        std::fs::rename(unfinished, &path)?;
        Ok(path)
    }

    /// Figures that this program could have measured, since the machine was started.
    fn is_sound(&self) -> bool {
        let is_rate = |rate: &f64| rate.is_finite() && *rate > 0.0;
        self.boot.is_some()
            && self.boot == boot()
            && self.slice_seconds == SLICE_SECONDS
            && self.processor.iter().chain(&self.writes).all(is_rate)
    }
}

/// What was measured last for a study whose work folder this is: in it, or beside it in `noise`. None where there is none of this boot,
/// or only a file of another user's.
pub fn kept(work: &Path) -> Option<Measured> {
    let beside = work.parent().map(|folder| folder.join("noise"));
    let found = [Some(work.to_path_buf()), beside].into_iter().flatten().filter_map(|folder| read(&folder.join(FILE)));
    found.max_by(|a, b| a.taken.total_cmp(&b.taken))
}

fn read(path: &Path) -> Option<Measured> {
    let data = path.symlink_metadata().ok()?;
    if !data.is_file() || data.uid() != nix::unistd::geteuid().as_raw() || data.len() > FILE_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok().filter(Measured::is_sound)
}

/// The spread at each of the told lengths: as measured where the series is long enough, else by the noise that fits it.
pub fn spreads(series: &Series) -> Vec<Spread> {
    let fit = series.fit();
    let at = |seconds: &f64| series.spread(*seconds).or_else(|| Some(fit.as_ref()?.spread(*seconds)));
    LENGTHS_SECONDS.iter().filter_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_shared_out_by_its_time() {
        let mut work = vec![0.0; 3];
        share_out(&mut work, (0.05, 0.25), 8.0);
        share_out(&mut work, (0.25, 0.45), 8.0);
        let expected = [2.0, 4.0, 4.0];
        assert!(work.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{work:?}");
    }

    #[test]
    fn it_is_kept_until_the_next_boot() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = folder.path().join("mine");
        std::fs::create_dir_all(folder.path().join("noise")).expect("a folder");
        assert_eq!(kept(&work), None);
        let measured = measure(folder.path(), 2.0, &AtomicBool::new(false)).expect("measured");
        assert_eq!((measured.processor.len(), measured.writes.len()), (20, 20));
        assert_eq!(folder.path().read_dir().expect("the folder").count(), 1, "the file that was written is gone");
        measured.keep(&folder.path().join("noise")).expect("kept");
        let kept_slices = kept(&work).map(|found| (found.boot, found.processor.len(), found.writes.len()));
        assert_eq!(kept_slices, Some((measured.boot.clone(), 20, 20)));
        assert!(measured.noise().is_some_and(|noise| noise.white > 0.0), "{measured:?}");
        for other in [
            Measured { boot: Some("another".into()), ..measured.clone() },
            Measured { boot: None, ..measured.clone() },
            Measured { writes: vec![0.0; 20], ..measured.clone() },
            Measured { slice_seconds: 0.0, ..measured },
        ] {
            other.keep(&folder.path().join("noise")).expect("kept");
            assert_eq!(kept(&work), None, "{other:?}");
        }
    }
}
