//! What reports are told of servers, filesystems and workloads: how settings are put in place, and which are choices. Only this crate
//! knows both sides.

use report::{Input, Knowledge};

/// A results file's report, knowing all that there are.
pub fn told(input: Input) -> Input {
    input.knowing(Knowledge {
        files: services::files,
        reads_back: storage::reads_back,
        is_choice: workloads::is_choice,
    })
}
