//! `surefoot compare A B`: two results files side by side.

use crate::cli::CompareArgs;
use crate::failure::{Failure, Status};
use crate::verbs::report::unreadable;

/// Prints the comparison.
pub fn run(args: &CompareArgs) -> Result<Status, Failure> {
    let a = report::load(&args.a).map_err(|error| unreadable(error.into()))?;
    let b = report::load(&args.b).map_err(|error| unreadable(error.into()))?;
    print!("{}", report::compare(&a, &b));
    Ok(Status::Answered)
}
