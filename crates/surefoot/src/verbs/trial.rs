//! `surefoot trial` (hidden): isolation first, then one trial. One whose load comes from elsewhere has the host's network.

use crate::cli::TrialArgs;
use crate::failure::{Failure, Status};
use agent::{Pairing, Side};
use lab::trial::Paired;
use nix::sys::stat::{Mode, umask};
use sandbox::isolation::Network;
use std::io::BufReader;
use std::os::fd::{AsFd as _, AsRawFd as _};

/// Moves into fresh namespaces and runs the trial whose specification comes on standard input.
pub fn run(args: &TrialArgs) -> Result<Status, Failure> {
    // Servers run as users of their own and read what is written for them here, however much surefoot's own user hides
    // (umask(2)).
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    // Records get a descriptor of their own; what programs print goes to the trial's log, so the two can't mix.
    let records = std::io::stdout().as_fd().try_clone_to_owned()?;
    nix::unistd::dup2_stdout(std::io::stderr())?;
    assert!(records.as_raw_fd() > 2, "the record pipe is apart from the standard streams");
    let paired = args.pairing.as_ref().map(|file| Pairing::read(file, Side::Study)).transpose()?.map(|pairing| {
        let lease = args.lease.clone().unwrap_or_default();
        Paired { pairing, lease, version: env!("SUREFOOT_VERSION") }
    });
    let network = if paired.is_some() { Network::Hosts } else { Network::Own };
    let isolation = sandbox::isolation::enter(network)?;
    let work = sandbox::work::Work::open(&args.work)?;
    let work = args.slot.map_or_else(|| Ok(work.clone()), |slot| work.slot(slot))?;
    lab::trial::main(&work, BufReader::new(std::io::stdin()), std::fs::File::from(records), isolation, paired.as_ref());
    Ok(Status::Answered)
}
