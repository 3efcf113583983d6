//! `surefoot compare A B`: two results files side by side.

use crate::cli::CompareArgs;
use crate::failure::{Failure, Status};
use crate::verbs::report::{unreadable, write_to};

/// Prints the comparison.
pub fn run(args: &CompareArgs) -> Result<Status, Failure> {
    let a = report::load(&args.a).map_err(|error| unreadable(error.into()))?;
    let b = report::load(&args.b).map_err(|error| unreadable(error.into()))?;
    let comparison = report::Comparison::of(&a, &b).map_err(|error| {
        Failure::new(Status::BadStudy, error).hint(
            "run both on the same bench, with the same guest kernel and memory; or make what differs, such as `bench` or \
             `guest.memory`, a factor of one study",
        )
    })?;
    if args.json {
        println!("{:#}", comparison.json());
    } else if let Some(target) = &args.html {
        return write_to(target, |out| Ok(out.write_all(comparison.html().as_bytes())?));
    } else {
        print!("{}", comparison.text());
    }
    Ok(Status::Answered)
}
