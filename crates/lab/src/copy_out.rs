//! An image of a scenario that was measured in a guest kernel. Nobody can walk about in there, so that kernel brings the image up
//! and copies what it sees to a folder of the host's.
//!
//! This is the host's side; in the guest it is a trial's way (`trial/cut/copy_out.rs`).

use crate::bench::guest::{self, Guest};
use crate::bench::{self, End};
use crash::replay::{Kept, RECOVERY};
use observe::record::{CopiedOut, Failure, Record};
use powercut::states::Image;
use sandbox::work::Work;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Lines of a kernel that died. What it met stands in the last few, before its panic.
const LAST_WORDS: usize = 6;

/// What the guest kernel made of an image.
#[derive(Debug)]
pub enum Ended {
    /// It came up.
    Copied {
        /// Where the copy is.
        folder: PathBuf,
        /// What was said meanwhile.
        said: CopiedOut,
    },
    /// It did not, or the kernel died of it.
    Down(Failure),
    /// The user interrupted.
    Interrupted,
}

/// Why it can't be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder of the copy.
    #[error("cannot make the folder {path} for the copy")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The guest can't be started.
    #[error(transparent)]
    Start(#[from] bench::Error),
    /// It failed at something else than the image.
    #[error("the guest kernel failed at \"{}\": {}\n{}", .0.step, .0.causes.join(": "), .0.log.trim_end())]
    Failed(Failure),
}

/// Lets a guest kernel bring an image up and copy all that is on it, in the place of an earlier copy of that image. `program` is this
/// same binary.
///
/// # Errors
/// When the guest can't be started, or fails at something else than the image.
pub fn copy_out(
    kept: &Kept,
    work: &Work,
    image: &Image,
    program: PathBuf,
    interrupted: &AtomicBool,
) -> Result<Ended, Error> {
    let (spec, folder) = kept.copy(work, image);
    make_empty(&folder).map_err(|source| Error::Folder { path: folder.clone(), source })?;
    let guest = Guest::new(program, work.clone(), [&spec.guest])?;
    let mut copied = None;
    let end = guest.run(&spec, interrupted, &mut |record| {
        if let Record::CopiedOut(said) = record {
            copied = Some(said);
        }
    });
    let ended = match (end?, copied) {
        (End::Finished, Some(said)) => return Ok(Ended::Copied { folder, said }),
        (End::Failed(failure), _) if failure.step == RECOVERY => Ok(Ended::Down(failure)),
        (End::Failed(failure), _) if guest::panic_of(&failure).is_some() => Ok(Ended::Down(dead(failure))),
        (End::Failed(failure), _) => Err(Error::Failed(failure)),
        (End::Interrupted | End::Finished, _) => Ok(Ended::Interrupted),
    };
    // Nobody should take a part of a copy for what is there. What is left of it harms nobody.
    let _ = std::fs::remove_dir_all(&folder);
    ended
}

/// Of a kernel that died: why, and the last that it said before, without how it had come up and where in itself it stood.
fn dead(mut failure: Failure) -> Failure {
    failure.causes.truncate(1);
    let said: Vec<&str> = failure.log.lines().take_while(|line| !line.starts_with("CPU: ")).collect();
    failure.log = said[said.len().saturating_sub(LAST_WORDS)..].join("\n");
    failure
}

fn make_empty(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)
}
