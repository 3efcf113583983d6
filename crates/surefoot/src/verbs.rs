//! A file for each verb.

pub mod clean;
pub mod compare;
#[cfg(target_os = "linux")]
pub mod disk;
pub mod doctor;
#[cfg(target_os = "linux")]
pub mod faults;
pub mod fleet;
pub mod guest;
pub mod history;
pub mod init;
pub mod list;
pub mod load_agent;
pub mod merge;
pub mod plan;
pub mod powercut;
pub mod replay;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
pub mod shell;
pub mod status;
pub mod trial;
pub mod worker;
