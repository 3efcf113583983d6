//! `surefoot schema`: the JSON Schema of study files.

use crate::catalogue::BuiltIn;
use crate::failure::{Failure, Status};

/// Prints it.
pub fn run() -> Result<Status, Failure> {
    println!("{:#}", study::schema(&BuiltIn));
    Ok(Status::Answered)
}
