//! HTTP as bytes: lines of access logs, requests, answers. No socket and no clock is here, and no randomness but the caller's.
//!
//! `workloads` drives servers with it; whoever wants to look at a log alone takes [`access_log`] and [`reader`].

pub mod access_log;
pub mod answer;
#[cfg(test)]
mod hostile;
pub mod log_generator;
pub mod reader;
pub mod request;
pub mod search;
pub mod url;
