//! Images of a power cut that were found bad, kept so that a person can look at one: the log of the disk, and how it was made.
//! The log can be had in the format of another tool, too.
//!
//! This machine's kernel shows an image mounted ([`Kept::serve`]). What was measured in a guest kernel is brought up by that one, which
//! copies what it sees ([`Kept::copy`]).

use crate::error::Error;
use crate::plan::TrialSpec;
use crate::recording_disk::Disks;
use powercut::device::Disk;
use powercut::states::Image;
use sandbox::work::Work;
use std::io;
use std::path::{Path, PathBuf};
use storage::{AfterCut, CutDisk};
use study::trial_spec::Cut;

/// The step of a trial at which an image did not come up.
pub const RECOVERY: &str = "recovery";

/// An image that is served, with what came up from it.
pub struct Replayed {
    /// The filesystem as its own recovery left it, or why it did not come up.
    pub after: Result<AfterCut, storage::Error>,
    /// What the filesystem's checker says of it, when it was not mounted.
    pub checked: Option<String>,
    // In this order, so that the mount goes before the device and that before the disk.
    _attached: CutDisk,
    _disk: Disk,
}

/// The files that are kept of a scenario, by their endings.
const KEPT: [&str; 2] = [".log", ".json"];

/// Behind the ending, while a new recording is searched.
const BEFORE: &str = ".before";

/// Keeps the log of a scenario, with what is needed to serve it again, and gives its new place. What was kept before is set aside: until the
/// search has ended, its images are those that a report names.
///
/// # Errors
/// When the files can't be written.
pub fn keep(work: &Work, spec: &TrialSpec, log: &Path) -> io::Result<PathBuf> {
    put_back(work, &spec.scenario);
    let _ = move_all(work, &spec.scenario, "", BEFORE);
    put(work, spec, log).inspect_err(|_| restore(work, &spec.scenario))
}

fn put(work: &Work, spec: &TrialSpec, log: &Path) -> io::Result<PathBuf> {
    let [kept, file] = KEPT.map(|ending| path(work, &spec.scenario, ending));
    std::fs::rename(log, &kept)?;
    std::fs::write(file, serde_json::to_vec(spec).expect("a TrialSpec is plain data"))?;
    Ok(kept)
}

/// The search has ended: what was kept before goes, and so does what was searched where that found nothing.
pub fn settle(work: &Work, scenario: &str, has_found: bool) {
    remove_all(work, scenario, BEFORE);
    if !has_found {
        remove_all(work, scenario, "");
    }
}

/// The search was broken off, or failed, and nobody hears of what it found: what was kept before is kept again.
pub fn restore(work: &Work, scenario: &str) {
    remove_all(work, scenario, "");
    let _ = move_all(work, scenario, BEFORE, "");
}

/// A search that was killed has put nothing back. Who holds the work folder's lock knows that none is under way.
fn put_back(work: &Work, scenario: &str) {
    let [_, last_moved] = KEPT.map(|ending| path(work, scenario, &format!("{ending}{BEFORE}")));
    if last_moved.is_file() {
        restore(work, scenario);
    }
}

fn move_all(work: &Work, scenario: &str, from: &str, to: &str) -> io::Result<()> {
    let place = |ending: &str, more: &str| path(work, scenario, &format!("{ending}{more}"));
    KEPT.into_iter().try_for_each(|ending| std::fs::rename(place(ending, from), place(ending, to)))
}

/// What is not there need not go, and what stays harms nobody.
fn remove_all(work: &Work, scenario: &str, more: &str) {
    for ending in KEPT {
        let _ = std::fs::remove_file(path(work, scenario, &format!("{ending}{more}")));
    }
}

/// What is kept of a scenario.
pub struct Kept {
    spec: TrialSpec,
    cut: Cut,
    log: PathBuf,
}

impl Kept {
    /// By the scenario's label.
    ///
    /// # Errors
    /// When nothing was kept.
    pub fn find(work: &Work, scenario: &str) -> Result<Kept, Error> {
        put_back(work, scenario);
        let [log, file] = KEPT.map(|ending| path(work, scenario, ending));
        if !file.is_file() {
            return Err(Error::NotKept { scenario: scenario.into(), folder: work.power_cuts() });
        }
        let text = std::fs::read(&file).map_err(|source| Error::File { path: file.clone(), source })?;
        let spec: TrialSpec = serde_json::from_slice(&text).map_err(|_| Error::Foreign(file.clone()))?;
        let cut = spec.cut.clone().ok_or(Error::Foreign(file))?;
        Ok(Kept { spec, cut, log })
    }

    /// Whether it was measured in a guest kernel.
    pub fn is_of_guest(&self) -> bool {
        self.spec.bench == study::Bench::Guest
    }

    /// The trial that brings an image up in a guest kernel and copies all that is on it, and the folder that the copy goes to.
    pub fn copy(&self, work: &Work, image: &Image) -> (TrialSpec, PathBuf) {
        let cut = Cut { copy_out: Some(image.to_string()), ..self.cut.clone() };
        let folder = copy_folder(work, &self.spec.scenario, &image.to_string());
        (TrialSpec { cut: Some(cut), ..self.spec.clone() }, folder)
    }

    /// Serves an image and brings its filesystem up, in the kernel that this runs in; it goes when the result goes.
    ///
    /// # Errors
    /// When the disk can't be served.
    pub fn serve(&self, work: &Work, image: &Image) -> Result<Replayed, Error> {
        let mut disk = Disks::of(&self.spec, &self.cut)?.explore(work, &self.log)?;
        disk.show(image.point, &image.choice)?;
        let attached =
            CutDisk::attach(&self.spec.storage, &storage::recording_disk(&work.disk()), &work.mount_point())?;
        let after = attached.mount();
        let checked = after.is_err().then(|| attached.check().unwrap_or_else(|error| said(&error)));
        Ok(Replayed { after, checked, _attached: attached, _disk: disk })
    }
}

/// Where the copy of an image goes that a guest kernel brought up.
pub fn copy_folder(work: &Work, scenario: &str, image: &str) -> PathBuf {
    path(work, &format!("{scenario} {image}"), "")
}

/// Writes a scenario's log to a file as dm-log-writes would have; gives the number of entries.
///
/// # Errors
/// When nothing was kept, or the file can't be written.
pub fn export(work: &Work, scenario: &str, file: &Path) -> Result<u64, Error> {
    put_back(work, scenario);
    let path = path(work, scenario, ".log");
    if !path.is_file() {
        return Err(Error::NotKept { scenario: scenario.into(), folder: work.power_cuts() });
    }
    let log = std::fs::read(&path).map_err(|source| Error::File { path: path.clone(), source })?;
    let out = std::fs::File::create(file).map_err(|source| Error::File { path: file.into(), source })?;
    powercut::log_writes::export(&log, std::io::BufWriter::new(out)).map_err(|source| Error::Export { path, source })
}

/// Of a checker that found damage, what it found.
fn said(error: &storage::Error) -> String {
    format!("{error}\n{}", error.log().unwrap_or_default())
}

/// A scenario's file: its label as far as a file name can have it, and a number that tells labels apart.
fn path(work: &Work, scenario: &str, ending: &str) -> PathBuf {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "=.".contains(letter) { letter } else { '-' };
    let name: String = scenario.chars().map(plain).take(80).collect();
    let number = scenario.bytes().fold(0u32, |all, byte| all.wrapping_mul(31).wrapping_add(byte.into()));
    work.power_cuts().join(format!("{name}-{number:08x}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::StorageSettings;

    /// Who broke off a longer look had lost the images that the report names, or was shown others by their names.
    #[test]
    fn what_was_kept_stays_until_a_new_search_has_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = Work::open(folder.path()).expect("ours");
        std::fs::create_dir_all(work.power_cuts()).expect("a folder");
        let spec = TrialSpec::single("study", "ext4", "commits", study::Bench::Host, 1, StorageSettings::default());
        let recorded = |text: &str| {
            let log = folder.path().join("new");
            std::fs::write(&log, text).expect("written");
            keep(&work, &spec, &log).expect("kept")
        };
        let kept = || std::fs::read_to_string(path(&work, "ext4", ".log")).ok();
        recorded("first");
        settle(&work, "ext4", true);
        recorded("second");
        assert_eq!(kept().as_deref(), Some("second"), "it is searched");
        restore(&work, "ext4");
        assert_eq!(kept().as_deref(), Some("first"));
        assert!(path(&work, "ext4", ".json").is_file());
        recorded("third");
        settle(&work, "ext4", true);
        assert_eq!(kept().as_deref(), Some("third"));
        // Killed with its trial, as by its time limit, once and again: nobody has put anything back.
        recorded("fourth");
        recorded("fifth");
        assert!(Kept::find(&work, "ext4").is_err(), "its trial had no cut");
        assert_eq!(kept().as_deref(), Some("third"));
        // There is no such log.
        keep(&work, &spec, &folder.path().join("none")).expect_err("nothing to keep");
        assert_eq!(kept().as_deref(), Some("third"));
        recorded("sixth");
        settle(&work, "ext4", false);
        assert_eq!((kept(), std::fs::read_dir(work.power_cuts()).expect("a folder").count()), (None, 0));
    }

    #[test]
    fn labels_that_differ_behind_a_dot_have_files_of_their_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = Work::open(folder.path()).expect("ours");
        let [one, other] = ["delay=1.5s", "delay=1.7s"].map(|label| path(&work, label, ".log"));
        assert_ne!(one, other);
        assert!(one.to_string_lossy().ends_with(".log"), "{}", one.display());
    }
}
