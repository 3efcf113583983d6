//! One `pread` or `pwrite` at a time.

use super::BlockIoResult;
use super::drive::Setup;
use crate::workload::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Runs the job to its end.
pub fn run(setup: Setup, file: &File) -> Result<BlockIoResult, Error> {
    let mut buffer = setup.buffer(0);
    let buffer = buffer.bytes();
    let mut load = setup.begin();
    let block_size = load.job.block_size;
    let writes = load.job.pattern.writes();
    let mut began = Instant::now();
    loop {
        let block = load.next_block();
        let offset = block * block_size as u64;
        let result = if writes {
            load.fill(buffer, block);
            began = Instant::now();
            file.write_all_at(buffer, offset)
        } else {
            file.read_exact_at(buffer, offset)
        };
        let ended = Instant::now();
        let action = if writes { "write" } else { "read" };
        result.map_err(|source| Error::file(action, &load.job.path, source))?;
        load.count(began, ended);
        began = ended;
        if !writes {
            load.check(buffer, block)?;
            began = if load.job.verify { Instant::now() } else { ended };
        } else if load.flush_is_due() {
            load.flush(file)?;
            began = Instant::now();
        }
        if !load.goes_on(began) {
            return Ok(load.result());
        }
    }
}
