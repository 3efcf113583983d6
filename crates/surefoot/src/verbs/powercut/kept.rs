//! What is kept of a scenario that lost something: one state of those that were found, to look at, or what its disk was told, for
//! other tools.

use crate::failure::{Failure, Status, plain};
use crate::interrupt::{self, INTERRUPTED};
use crate::verbs::report::require_writable;
use anyhow::anyhow;
use crash::error::Error;
use crash::replay::{self, Kept};
use lab::copy_out::{self, Ended};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use observe::record::causes;
use powercut::states::Image;
use sandbox::work::Work;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::atomic::Ordering;

/// It is looked this often whether a signal came.
const LOOK_MILLISECONDS: u16 = 200;

/// Brings a state up in the kernel that it was measured in.
pub fn replay(work: &Work, scenario: &str, state: &str) -> Result<Status, Failure> {
    let image = state.parse::<Image>().map_err(|error| {
        Failure::new(Status::BadStudy, error)
            .hint("the HTML report names states, at what was found: `surefoot report RESULTS --html FILE`")
    })?;
    let kept = Kept::find(work, scenario).map_err(explained)?;
    if kept.is_of_guest() {
        copy_from_guest(&kept, work, scenario, &image)
    } else {
        show(&kept, work, scenario, &image)
    }
}

/// Writes the log of a scenario's disk for other tools.
pub fn export(work: &Work, scenario: &str, file: &Path) -> Result<Status, Failure> {
    require_writable(file)?;
    let entries = replay::export(work, scenario, file).map_err(explained)?;
    say(&format!("{}: {entries} entries, as dm-log-writes has them", file.display()));
    Ok(Status::Answered)
}

/// A scenario of which nothing is kept lost nothing, or is called otherwise.
fn explained(error: Error) -> Failure {
    if !matches!(error, Error::NotKept { .. }) {
        return error.into();
    }
    Failure::new(Status::BadStudy, error).hint("`surefoot plan STUDY` lists what scenarios are called")
}

/// Mounted by this machine's kernel.
fn show(kept: &Kept, work: &Work, scenario: &str, image: &Image) -> Result<Status, Failure> {
    // What is mounted must go again.
    interrupt::catch();
    interrupt::catch_hangup();
    let replayed = kept.serve(work, image)?;
    match &replayed.after {
        Ok(after) => {
            say(&format!("{scenario}, as power came back: {}", after.data_folder.display()));
            quote("the checker, before the mount", after.checker_said.as_deref().unwrap_or_default());
        }
        Err(error) => {
            say(&format!("{scenario} did not come up: {}", plain(&causes(error).join(": "))));
            quote("what was said", error.log().unwrap_or_default());
            quote("the checker, without a mount", replayed.checked.as_deref().unwrap_or_default());
        }
    }
    say("What you change there is thrown away. Press Enter to let it go.");
    wait_for_enter();
    match replayed.after {
        Ok(after) => after.unmount().map(|()| Status::Answered).map_err(|error| {
            Failure::new(Status::Fault, anyhow!(error)).hint("leave the folder in all shells, and unmount it by hand")
        }),
        Err(_) => Ok(Status::Holes),
    }
}

/// Waits for a line, or for a signal to end.
fn wait_for_enter() {
    let input = std::io::stdin();
    while !INTERRUPTED.load(Ordering::Relaxed) {
        let mut ready = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        if matches!(poll(&mut ready, PollTimeout::from(LOOK_MILLISECONDS)), Ok(1..)) {
            return;
        }
    }
}

/// Nobody can walk about in a guest.
fn copy_from_guest(kept: &Kept, work: &Work, scenario: &str, image: &Image) -> Result<Status, Failure> {
    interrupt::catch();
    match copy_out::copy_out(kept, work, image, std::env::current_exe()?, &interrupt::INTERRUPTED)? {
        Ended::Copied { folder, said } => {
            say(&format!("{scenario}, as power came back: {}", folder.display()));
            say(
                "It is a copy of all that the guest's kernel saw after its recovery (times to the second, no extended attributes). It stays until \
                 the state is replayed again, or `surefoot clean`.",
            );
            quote("the checker, before the mount", said.checker.as_deref().unwrap_or_default());
            quote("the guest's kernel, at the mount", &said.kernel);
            quote("what could not be copied", &said.lacking);
            Ok(if said.lacking.is_empty() { Status::Answered } else { Status::Holes })
        }
        Ended::Down(failure) => {
            say(&format!("{scenario} did not come up: {}", plain(&failure.causes.join(": "))));
            quote("what was said in the guest", &failure.log);
            Ok(Status::Holes)
        }
        Ended::Interrupted => Ok(Status::Interrupted),
    }
}

/// What somebody else said, if anything.
fn quote(who: &str, words: &str) {
    if !words.trim().is_empty() {
        say(&format!("{who}:"));
        plain(words.trim()).lines().for_each(|line| say(&format!("    {line}")));
    }
}

/// A line for whoever still reads: where nobody does, what is mounted goes all the same.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
