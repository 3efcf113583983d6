//! Whole reports of studies made by hand.

mod answers;
mod benches;
mod ceilings;
mod compared;
mod errors;
mod explore;
mod exports;
mod fixture;
mod flushing;
mod found;
mod health;
mod history;
mod hostile;
mod http_forms;
mod large;
mod notes;
mod outputs;
mod page;
mod power_cuts;
mod screening;
mod sql_bench;
mod stalls;
mod sysbench;
mod tuning;
mod why;
