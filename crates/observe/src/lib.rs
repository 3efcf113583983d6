//! What is measured, and of what: metrics, latency, the machine's counters and its facts.
//!
//! Knows no study, no filesystem and no database; everything here can be asked of a bare machine.

pub mod metric;
pub mod durability;
pub mod record;
pub mod latency;
pub mod sampler;
pub mod cpu;
pub mod disk;
pub mod memory;
pub mod pressure;
pub mod machine;
pub mod command_line;
pub mod quiet;
