//! One thread of a load that waits for many connections: each goes on when its answer comes, or when its time has come.

use crate::readiness::{Readiness, Ready};
use crate::threads::Control;
use crate::workload::Error;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// While it waits, a thread looks this often whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What a connection does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It waits for an answer.
    Waits,
    /// It goes on at this moment.
    At(Instant),
    /// It is done.
    Ended,
}

impl Next {
    fn at(self) -> Option<Instant> {
        if let Next::At(at) = self { Some(at) } else { None }
    }
}

/// The connections of a thread, by their numbers from 0.
pub trait Connections {
    /// Where they are watched, each under its number.
    fn readiness(&mut self) -> &mut Readiness;

    /// A connection's time has come.
    ///
    /// # Errors
    /// What ends the run.
    fn due(&mut self, number: usize) -> Result<Next, Error>;

    /// Something came that a connection waits for.
    ///
    /// # Errors
    /// What ends the run.
    fn answered(&mut self, number: usize) -> Result<Next, Error>;

    /// Something came that a connection does not wait for: a notice, or its end. What is not taken now is told again and again.
    ///
    /// # Errors
    /// What ends the run.
    fn unasked(&mut self, number: usize) -> Result<(), Error>;
}

/// Runs connections, each from its first moment, until all are done or the run is over.
///
/// # Errors
/// Those of the connections, and when the system does not say who can be read.
pub fn run(connections: &mut impl Connections, first: Vec<Option<Instant>>, control: &Control) -> Result<(), Error> {
    let mut waits = vec![false; first.len()];
    let mut ready = Vec::with_capacity(first.len());
    let mut due: BinaryHeap<Reverse<(Instant, usize)>> =
        first.into_iter().enumerate().filter_map(|(number, at)| Some(Reverse((at?, number)))).collect();
    loop {
        while let Some(Reverse((_, number))) = due.peek().copied().filter(|due| due.0.0 <= Instant::now()) {
            due.pop();
            let next = connections.due(number)?;
            waits[number] = next == Next::Waits;
            due.extend(next.at().map(|at| Reverse((at, number))));
        }
        if due.is_empty() && !waits.contains(&true) || control.is_over() {
            return Ok(());
        }
        // Not beyond the moment when the next is due.
        let left = due.peek().map_or(LOOK, |due| due.0.0.saturating_duration_since(Instant::now()).min(LOOK));
        connections.readiness().wait(left, &mut ready).map_err(cannot_wait)?;
        for Ready { number, .. } in ready.drain(..) {
            if !waits[number] {
                connections.unasked(number)?;
                continue;
            }
            let next = connections.answered(number)?;
            waits[number] = next == Next::Waits;
            due.extend(next.at().map(|at| Reverse((at, number))));
        }
    }
}

/// The system does not say who can be read.
pub fn cannot_wait(source: std::io::Error) -> Error {
    Error::engine("the load", "wait for answers", source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readiness::Interest;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicBool;

    /// Asks so many times, pausing after each answer; the other side answers at once, and says something more at a time of its own.
    struct Asking {
        readiness: Readiness,
        ours: UnixStream,
        theirs: UnixStream,
        left: usize,
        pause: Duration,
        answers: usize,
        unasked: usize,
    }

    impl Asking {
        fn new(left: usize, pause: Duration) -> Asking {
            let (ours, theirs) = UnixStream::pair().expect("a pair");
            ours.set_nonblocking(true).expect("set");
            let readiness = Readiness::new(1).expect("a queue");
            readiness.add(&ours, 0, Interest::Read).expect("watched");
            Asking { readiness, ours, theirs, left, pause, answers: 0, unasked: 0 }
        }

        fn read(&mut self) -> usize {
            let mut bytes = [0; 16];
            self.ours.read(&mut bytes).expect("readable")
        }
    }

    impl Connections for Asking {
        fn readiness(&mut self) -> &mut Readiness {
            &mut self.readiness
        }

        fn due(&mut self, _: usize) -> Result<Next, Error> {
            if self.left == 0 {
                return Ok(Next::Ended);
            }
            self.left -= 1;
            self.theirs.write_all(b"a").expect("written");
            Ok(Next::Waits)
        }

        fn answered(&mut self, _: usize) -> Result<Next, Error> {
            self.answers += self.read();
            self.theirs.write_all(b"u").expect("written");
            Ok(Next::At(Instant::now() + self.pause))
        }

        fn unasked(&mut self, _: usize) -> Result<(), Error> {
            self.unasked += self.read();
            Ok(())
        }
    }

    #[test]
    fn what_comes_while_a_connection_pauses_is_no_answer() {
        let mut asking = Asking::new(4, Duration::from_millis(20));
        let interrupted = AtomicBool::new(false);
        let began = Instant::now();
        run(&mut asking, vec![Some(began)], &Control::new(&interrupted)).expect("it runs");
        assert_eq!((asking.answers, asking.unasked), (4, 4));
        assert!(began.elapsed() >= Duration::from_millis(80));
    }

    #[test]
    fn a_run_that_is_over_waits_for_nobody() {
        let mut asking = Asking::new(1, Duration::from_secs(100));
        let interrupted = AtomicBool::new(true);
        run(&mut asking, vec![Some(Instant::now())], &Control::new(&interrupted)).expect("it ends");
        run(&mut asking, vec![None], &Control::new(&AtomicBool::new(false))).expect("nothing to do");
    }
}
