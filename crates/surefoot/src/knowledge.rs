//! What reports are told of servers, filesystems and workloads: how settings are put in place, and which are choices. Only this crate
//! knows both sides.

use report::{Input, Knowledge};

/// A results file's report, knowing all that there are.
pub fn told(input: Input) -> Input {
    let (files, reads_back, is_choice) = (services::files, storage::reads_back, workloads::is_choice);
    input.knowing(Knowledge { files, reads_back, is_choice })
}
