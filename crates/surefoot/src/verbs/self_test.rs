//! `surefoot self-test`: an A/A study on this machine. Its phantom difference is the machine's noise floor.

use crate::cli::SelfTestArgs;
use crate::failure::{Failure, Status};

/// Runs the built-in study `self-test`: one filesystem under two names.
pub fn run(args: &SelfTestArgs) -> Result<Status, Failure> {
    super::run::run(&args.run)
}
