//! `surefoot disk` (hidden): a recording disk, in a process of its own, so that it can be killed without hanging who uses it.

use crate::failure::{Failure, Status};

/// Serves until its orders end.
pub fn run(options: &str) -> Result<Status, Failure> {
    let options = serde_json::from_str(options)?;
    powercut::device::main(&options, std::io::BufReader::new(std::io::stdin()), std::io::stdout())?;
    Ok(Status::Answered)
}
