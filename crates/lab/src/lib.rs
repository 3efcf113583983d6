//! Decides and conducts: which trial is next, where it runs, what is recorded, when it is enough.
//!
//! Start at `conductor.rs`; a trial's own flow is in `trial.rs`, and runs in a process of its own behind `bench.rs`.

pub mod alike;
pub mod bench;
pub mod conductor;
#[cfg(target_os = "linux")]
pub mod copy_out;
pub mod durability;
pub mod estimate;
pub mod forecast;
pub mod groups;
pub mod host;
pub mod idle;
pub mod inputs;
pub mod member;
pub mod noise;
pub mod probe;
pub mod requirements;
pub mod resume;
pub mod screening;
pub mod served;
pub mod trial;
pub mod tune;
pub mod turn_lengths;
pub mod turns;
pub mod values;
pub mod volumes;
