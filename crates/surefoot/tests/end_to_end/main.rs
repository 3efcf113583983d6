//! surefoot as its users meet it: the real binary, real filesystems, real faults. Needs root, loop devices, and the
//! packages that `make test` installs.

mod acceptance;
mod again;
mod apply;
mod bad_studies;
mod blogs;
mod ceilings;
mod client;
mod compare;
mod cut_trials;
mod failing_disks;
mod faults;
mod fleet;
mod forecast;
mod guest;
mod harness;
mod history;
mod kubernetes;
mod limits;
mod nodes;
mod numbers;
mod own_sql;
mod powercut;
mod released;
mod replay;
mod results_files;
#[path = "../../../report/tests/it/schema.rs"]
mod schema;
mod serve;
mod servers;
mod slurm;
mod sql_bench;
mod sql_replay;
mod ssh;
mod studies;
mod turns;
mod verbs;
mod virtual_disk;
mod web;
mod workflow;
mod wrong_answers;
