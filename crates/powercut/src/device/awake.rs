//! CPUs that do not sleep: where waking one is dear, as on a virtual machine, half the time of a recovery is waiting for that.

use std::fs::File;
use std::io::{self, Write as _};

/// Lets no CPU sleep while the file is open (Documentation/power/pm_qos_interface.rst).
///
/// # Errors
/// When the kernel does not grant it: it needs root, and a guest kernel may not have it.
pub fn keep_awake() -> io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}
