//! One `pread` or `pwrite` at a time.

use super::BlockIoResult;
use super::drive::Setup;
use crate::workload::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Runs the job to its end.
pub fn run(setup: Setup, file: &File) -> Result<BlockIoResult, Error> {
    // Which buffer is a matter of the block's number, so that blocks that lie together differ and nothing is copied.
    let mut buffers = setup.buffers_of_neighbours();
    let mut load = setup.begin();
    let block_size = load.setup.job.block_size;
    let count = (buffers.bytes().len() / block_size) as u64;
    let writes = load.setup.job.pattern.writes();
    let mut began = Instant::now();
    loop {
        let block = load.next_block();
        let offset = block * block_size as u64;
        let at = (block % count) as usize * block_size;
        let buffer = &mut buffers.bytes()[at..at + block_size];
        let result = if writes {
            load.stamp(buffer, block);
            began = if load.setup.job.verify { Instant::now() } else { began };
            file.write_all_at(buffer, offset)
        } else {
            file.read_exact_at(buffer, offset)
        };
        let ended = Instant::now();
        result.map_err(|source| load.setup.job.failed(source))?;
        load.count(began, ended);
        began = ended;
        if !writes {
            load.check(buffer, block)?;
            began = if load.setup.job.verify { Instant::now() } else { ended };
        } else if load.flush_is_due() {
            load.flush(file)?;
            began = Instant::now();
        }
        if !load.goes_on(began) {
            return Ok(load.result());
        }
    }
}
