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
mod numbers;
mod own_sql;
mod powercut;
mod replay;
mod results_files;
mod serve;
mod servers;
mod slurm;
mod sql_bench;
mod sql_replay;
mod studies;
mod turns;
mod verbs;
mod virtual_disk;
mod web;
mod wrong_answers;
