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

use sqllog::{Form, Log};
use wire::Connection;

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

/// Programs of the chosen database whose statements MariaDB 10.11 writes into its general log beside those that set
/// them off. Those of procedures it leaves out, by its default of `log_disabled_statements`; MySQL has them, too, and
/// `sqllog` says so.
const PROGRAMS: &str = "SELECT (SELECT count(*) FROM information_schema.triggers WHERE trigger_schema = database()) \
    + (SELECT count(*) FROM information_schema.routines \
    WHERE routine_schema = database() AND routine_type = 'FUNCTION')";

/// What a reader must know of a log that has statements of programs as if clients had sent them; none: it can't, or the
/// database has no such programs.
///
/// # Errors
/// When the database does not answer.
pub fn note_of_programs(log: &Log, connection: &mut dyn Connection) -> Result<Option<String>, wire::Error> {
    if log.form != Form::General {
        return Ok(None);
    }
    let answer = connection.query(PROGRAMS)?;
    let programs = answer.first().unwrap_or("0");
    let words = || {
        format!(
            "The database has triggers and functions ({programs}), and a general log has their statements beside \
             those that set them off: they are done twice, or refused. Replay the slow log of MariaDB \
             (long_query_time = 0), which does not have them."
        )
    };
    Ok((programs != "0").then(words))
}
