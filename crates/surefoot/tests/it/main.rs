//! surefoot as its users meet it: the real binary, real filesystems, real faults. Needs root, loop devices, and the
//! packages that `make test` installs.

mod acceptance;
mod again;
mod bad_studies;
mod ceilings;
mod cut_trials;
mod faults;
mod guest;
mod harness;
mod history;
mod numbers;
mod powercut;
mod replay;
mod results_files;
mod serve;
mod servers;
mod sql_bench;
mod studies;
mod verbs;
mod virtual_disk;
mod web;
mod wrong_answers;
