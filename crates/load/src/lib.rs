//! What drives loads: SQL clients, an HTTP client, loops of block I/O, what waits for many connections, and programs; and the contract
//! of a workload (`workload.rs`), what it asked for and got (`asked.rs`).
//!
//! Used by `workloads`, whose kinds are thin over it, by `sites` and `sqlbench`, and by `surefoot replay`. Knows no kind.

pub mod asked;
pub mod workload;

pub mod block_io;
pub mod engines;
pub mod http_client;
pub mod http_log;
pub mod process;
pub mod sql;
pub mod sql_load;
pub mod sql_replay;

pub mod deadline;
mod descriptors;
pub mod duration;
pub mod event_loop;
pub mod noise;
pub mod one_cpu;
pub mod readiness;
pub mod stamp;
pub mod threads;
pub mod ticker;
