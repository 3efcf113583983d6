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

/// Waits until a server answers, and gives the way in. One that is silent at the deadline is ended: its socket may be there, and nobody behind
/// it.
pub fn ready<T>(
    server: &mut Server,
    connect: impl FnMut() -> Result<T, wire::Error>,
    deadline: Instant,
) -> Result<T, Error> {
    let (ready, was_late) = until(deadline, server.id(), || server.wait_ready_for(SECONDS_MAX, connect));
    if was_late { Err(server.slow("answer", SECONDS_MAX)) } else { ready }
}

/// Does something that waits for a server, which is ended at the deadline. Whether it was.
fn until<T>(deadline: Instant, process: u32, act: impl FnOnce() -> T) -> (T, bool) {
    let pid = Pid::from_raw(process as i32);
    std::thread::scope(|scope| {
        let (acting, is_over) = channel::<()>();
        let watch = scope.spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            let is_late = is_over.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
            if is_late {
                // Who finds that this process has ended is done at once, so its number is no other's.
                let _ = kill(pid, Signal::SIGKILL);
            }
            is_late
        });
        let done = act();
        drop(acting);
        (done, watch.join().expect("it only waits"))
    })
}

/// Asks a server that answers. One that is still silent at the deadline is ended.
pub fn ask(
    server: &mut Server,
    name: &'static str,
    ask: &mut Ask,
    questions: &[String],
    deadline: Instant,
) -> Result<Answers, Error> {
    let (answers, was_late) = until(deadline, server.id(), || {
        let answers = questions.iter().map(|question| ask(question).map_err(|source| (question, source)));
        answers.collect::<Result<Answers, (&String, wire::Error)>>()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Start;
    use std::io::Read as _;

    /// Who waited for a greeting waited for ever, until the trial was ended with all that it had found.
    #[test]
    fn a_server_that_takes_no_connection_is_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = Start::of_shell("exec sleep 60", folder.path());
        let (mut server, _orders, mut greeting) = start.conversation().expect("it starts");
        let connect = || {
            // Ends with the server.
            let _ = greeting.read(&mut [0]);
            Err::<(), _>(wire::Error::Protocol("it does not greet".into()))
        };
        let ended = ready(&mut server, connect, Instant::now() + Duration::from_millis(50));
        assert!(matches!(ended, Err(Error::Slow { action: "answer", .. })), "{:?}", ended.err());
    }
}
