//! Asking a database that comes up on what a power cut left: within a time, as it may hang.

use crate::process::Server;
use crate::service::Error;
pub use crate::service::RECOVERY_SECONDS_MAX as SECONDS_MAX;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Rows of each question's answer, each column as text; none: NULL.
pub type Answers = Vec<Vec<Vec<Option<String>>>>;

/// The moment at which a recovery that begins now has taken too long.
pub fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(SECONDS_MAX)
}

/// Removes what a server would leave in peace if it were another's: locks, sockets and messages of the one that went down.
pub fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Asks one question: the rows of its answer.
pub type Ask<'a> = dyn FnMut(&str) -> Result<Vec<Vec<Option<String>>>, wire::Error> + 'a;

/// Asks a server that answers. One that is still silent at the deadline is ended.
pub fn ask(
    server: &mut Server,
    name: &'static str,
    ask: &mut Ask,
    questions: &[String],
    deadline: Instant,
) -> Result<Answers, Error> {
    let pid = Pid::from_raw(server.id() as i32);
    let (answers, was_late) = std::thread::scope(|scope| {
        let (asking, is_over) = channel::<()>();
        let watch = scope.spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            let is_late = is_over.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
            if is_late {
                // Nobody waits for this process meanwhile, so its number is no other's.
                let _ = kill(pid, Signal::SIGKILL);
            }
            is_late
        });
        let answers = questions.iter().map(|question| ask(question).map_err(|source| (question, source)));
        let answers = answers.collect::<Result<Answers, (&String, wire::Error)>>();
        drop(asking);
        (answers, watch.join().expect("it only waits"))
    });
    answers.map_err(|(question, source)| {
        if was_late {
            return server.slow("answer", SECONDS_MAX);
        }
        if source.is_lost() {
            return server.died();
        }
        Error::Asked { server: name, action: format!("answer `{question}`"), source }
    })
}
