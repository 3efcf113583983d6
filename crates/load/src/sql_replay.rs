//! A database's log as load: its sessions, each on a connection of its own, their statements in their order.
//!
//! As logged (`speed` above 0) each statement is due at its own time; else each begins when the one before it is answered, and a session when all are
//! over that had ended in the log before it began, so that no more are open at a time than in the log. `schedule.rs` says which session may begin,
//! `turnout.rs` on which thread, `line.rs` is one session, `drive.rs` has the threads and the figures. A run is a part of the log, and the next one goes on where it ended.

mod connect;
mod drive;
mod line;
mod schedule;
mod tally;
#[cfg(test)]
mod tests;
mod turnout;

pub use drive::{Means, Replay};
pub use line::shortened;
pub use tally::{Fault, Tally};

/// When a replay's statements are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As soon as the session's last one is answered.
    Closed,
    /// At the log's own times, so many times as fast.
    AsLogged(f64),
}
