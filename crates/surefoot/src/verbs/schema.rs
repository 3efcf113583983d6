//! `surefoot schema`: the JSON Schema of study files, and of what `report --json` prints.

use crate::catalogue::BuiltIn;
use crate::cli::SchemaOf;
use crate::failure::{Failure, Status};

/// Prints it.
pub fn run(of: SchemaOf) -> Result<Status, Failure> {
    match of {
        SchemaOf::Study => println!("{:#}", study::schema(&BuiltIn)),
        SchemaOf::Report => print!("{}", report::JSON_SCHEMA),
    }
    Ok(Status::Answered)
}
