//! `surefoot self-test`: an A/A study on this machine. Its phantom difference is the machine's noise floor.

use crate::cli::{RunArgs, SelfTestArgs, StudyArgs};
use crate::failure::{Failure, Status};

/// Runs the built-in study `self-test`: one filesystem under two names.
pub fn run(args: &SelfTestArgs) -> Result<Status, Failure> {
    super::run::run(&RunArgs {
        study: StudyArgs {
            study: "self-test".into(),
            set: Vec::new(),
            only: Vec::new(),
            rounds: args.rounds.clone(),
            tune: false,
            exhaustive: false,
            time: None,
            seed: None,
            work: args.work.clone(),
            results: args.results.clone(),
        },
        member: None,
        pairing: None,
        skip_missing: false,
        retry_failed: false,
        accept_changes: false,
        html: None,
        full: false,
        json: false,
        quiet: args.quiet,
    })
}
