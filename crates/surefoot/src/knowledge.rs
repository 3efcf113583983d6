//! What reports are told of servers and filesystems: how a scenario's settings are put in place. Only this crate knows both sides.

use report::{Input, Knowledge};

/// A results file's report, knowing all servers and filesystems.
pub fn told(input: Input) -> Input {
    input.knowing(Knowledge { files: services::files, reads_back: storage::reads_back })
}
