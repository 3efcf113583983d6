//! etcd, as loads see it.

use crate::sql::{Engine, PLAIN, Place, failed as of_engine, server};
use crate::workload::Error;
use observe::prometheus::Histogram;
use wire::etcd::Etcd;

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "etcd",
    power_cuts_of: &["key-value"],
    file_kind: |file| match file {
        log if log.ends_with(".wal") => "write-ahead log",
        spare if spare.ends_with(".tmp") => "prepared log file",
        snapshot if snapshot.ends_with(".snap") => "snapshot",
        "member/snap/db" => "keys",
        _ => "other file",
    },
    ..PLAIN
};

/// A connection to the trial's server.
///
/// # Errors
/// When none was started, or it does not answer.
pub fn connect(place: &Place) -> Result<Etcd, Error> {
    Etcd::connect(&server(place, ENGINE.name)?.address()).map_err(failed("be reached"))
}

/// How long the flushes of its log took, and the batches that reached its file of keys, by its own histograms since it was started: in seconds.
///
/// # Errors
/// When it does not say.
pub fn disk_times(place: &Place) -> Result<[Option<Histogram>; 2], Error> {
    let text =
        wire::etcd::metrics(&server(place, ENGINE.name)?.address()).map_err(failed("say how long its flushes took"))?;
    let of = |name: &str| Histogram::read(&text, &format!("etcd_disk_{name}_duration_seconds"));
    Ok(["wal_fsync", "backend_commit"].map(of))
}

/// A refusal or loss as a workload's error.
pub fn failed(action: &'static str) -> impl FnOnce(wire::Error) -> Error {
    of_engine(ENGINE.name, action)
}
