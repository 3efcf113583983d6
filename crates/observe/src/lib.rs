//! What is measured, and of what: metrics, latency, the machine's counters and its facts.
//!
//! Knows no study, no filesystem and no database; everything here can be asked of a bare machine.

pub mod affinity;
pub mod command_line;
pub mod cpu;
pub mod disk;
pub mod durability;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
pub mod faults;
pub mod latency;
pub mod machine;
pub mod memory;
pub mod metric;
pub mod mountinfo;
pub mod pressure;
pub mod processes;
pub mod program;
pub mod prometheus;
pub mod quiet;
pub mod record;
pub mod safety;
pub mod sampler;
