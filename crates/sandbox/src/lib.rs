//! Where a trial lives: its work folder, its namespaces, its memory limit, and the folders that its servers can reach.
//!
//! Driven by `lab` and `crash`. Knows no study and no trial.

pub mod isolation;
pub mod memory_limit;
pub mod stage;
pub mod work;
