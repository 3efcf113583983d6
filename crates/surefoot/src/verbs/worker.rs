//! `surefoot worker WORKLOAD` (hidden): one of a workload's own processes.

use crate::cli::WorkerArgs;
use crate::failure::{Failure, Status};

/// Runs it; its orders come on standard input.
pub fn run(args: &WorkerArgs) -> Result<Status, Failure> {
    if args.workload == agent::WORKER {
        agent::work()?
    } else {
        workloads::worker(&args.workload)?
    }
    Ok(Status::Answered)
}
