//! Servers under test: one file each. Found, made, configured, started, asked what is in effect, stopped.
//!
//! Driven by `lab::served`. A service does not know its workload, nor the filesystem below its data, and never runs as root.

mod effect;
mod gtm;
mod mariadb;
mod nginx;
mod postgres;
mod process;
pub mod service;
pub mod template;

use service::Kind;

/// Every service there is.
static KINDS: [&Kind; 4] = [&postgres::KIND, &mariadb::KIND, &gtm::KIND, &nginx::KIND];

/// Every service there is, in the order of lists.
#[must_use]
pub fn kinds() -> &'static [&'static Kind] {
    &KINDS
}

/// The service of this name.
#[must_use]
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}
