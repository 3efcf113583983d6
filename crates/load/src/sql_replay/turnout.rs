//! Which thread has which session. Each thread keeps to one CPU: sessions go to threads by their numbers, whoever is free, so that no thread has
//! most of a log that comes one session after the other.

use super::Pace;
use super::schedule::Schedule;
use std::sync::{Mutex, MutexGuard};

/// The sessions of a run that have yet to begin, and the threads that wait for them.
pub struct Turnout<'a> {
    pace: Pace,
    /// The number of the statement that the next run begins with.
    before: u64,
    waiting: Mutex<Waiting<'a>>,
}

struct Waiting<'a> {
    schedule: &'a mut Schedule,
    /// By thread: sessions that may begin, and that it has not taken yet.
    given: Vec<Vec<usize>>,
    /// By thread: whether it has nothing to do.
    is_idle: Vec<bool>,
}

/// What a thread does that has nothing to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim {
    /// These sessions are its.
    Begin(Vec<usize>),
    /// Others may be, later.
    Wait,
    /// There will be none in this run. Threads that wait are to learn of it.
    Leave(Vec<usize>),
}

impl<'a> Turnout<'a> {
    /// Of a run for which all sessions that may begin at once are taken.
    pub fn new(schedule: &'a mut Schedule, pace: Pace, before: u64, threads: usize) -> Turnout<'a> {
        let waiting = Waiting { schedule, given: vec![Vec::new(); threads], is_idle: vec![false; threads] };
        Turnout { pace, before, waiting: Mutex::new(waiting) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<'a>> {
        self.waiting.lock().expect("no thread panics with it")
    }

    /// A session of this thread is over. Gives the sessions that this thread begins for it, and the threads that have some to begin.
    pub fn over(&self, number: usize, thread: usize) -> (Vec<usize>, Vec<usize>) {
        let waiting = &mut *self.waiting();
        waiting.schedule.over(number);
        let (mut own, mut others) = (Vec::new(), Vec::new());
        while let Some(next) = (self.pace == Pace::Closed).then(|| waiting.schedule.take(self.before)).flatten() {
            let of = next % waiting.given.len();
            if of == thread {
                own.push(next);
                continue;
            }
            // Once for all that it has not taken yet.
            if waiting.given[of].is_empty() {
                others.push(of);
            }
            waiting.given[of].push(next);
        }
        (own, others)
    }

    /// Sessions that others had for this thread.
    pub fn given(&self, thread: usize) -> Vec<usize> {
        let waiting = &mut *self.waiting();
        waiting.is_idle[thread] = false;
        std::mem::take(&mut waiting.given[thread])
    }

    /// What a thread does that has nothing to do. While others are at work it stays for those of its sessions that hold locks, as they may wait for
    /// these.
    pub fn claim(&self, thread: usize, holders: &[usize]) -> Claim {
        let waiting = &mut *self.waiting();
        let given = std::mem::take(&mut waiting.given[thread]);
        waiting.is_idle[thread] = given.is_empty();
        if !given.is_empty() {
            return Claim::Begin(given);
        }
        // Sessions that may begin in the next run only are left when nobody has anything to do.
        let are_idle =
            (0..waiting.given.len()).all(|thread| waiting.is_idle[thread] && waiting.given[thread].is_empty());
        let may_begin = self.pace == Pace::Closed && waiting.schedule.has_left(self.before);
        if are_idle || !may_begin && holders.is_empty() {
            return Claim::Leave((0..waiting.given.len()).filter(|other| *other != thread).collect());
        }
        Claim::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqllog::Session;

    fn session(from: i64, to: i64) -> Session {
        Session { began: Some(from), ended: Some(to), ..Session::default() }
    }

    #[test]
    fn sessions_go_to_threads_by_their_numbers_and_nobody_leaves_before_the_last_has_begun() {
        // One after the other.
        let sessions: Vec<Session> = (0..4).map(|number| session(10 * number, 10 * number + 5)).collect();
        let mut schedule = Schedule::new(&sessions);
        assert_eq!(schedule.take(u64::MAX), Some(0));
        let turnout = Turnout::new(&mut schedule, Pace::Closed, u64::MAX, 2);
        assert_eq!(turnout.claim(1, &[]), Claim::Wait);
        assert_eq!(turnout.over(0, 0), (vec![], vec![1]));
        assert_eq!(turnout.claim(0, &[]), Claim::Wait, "the other has one, and is idle no more");
        assert_eq!(turnout.given(1), [1]);
        assert_eq!(turnout.over(1, 1), (vec![], vec![0]));
        assert_eq!(turnout.claim(0, &[]), Claim::Begin(vec![2]));
        assert_eq!(turnout.over(2, 0), (vec![], vec![1]));
        assert_eq!(turnout.claim(0, &[]), Claim::Leave(vec![1]), "there is none left");
        assert_eq!(turnout.claim(1, &[]), Claim::Begin(vec![3]));
        assert_eq!(turnout.over(3, 1), (vec![], vec![]));
        assert_eq!(turnout.claim(1, &[]), Claim::Leave(vec![0]));
    }

    #[test]
    fn what_waits_for_the_next_run_keeps_nobody() {
        let sessions = [session(0, 5), session(10, 15)];
        let mut schedule = Schedule::new(&sessions);
        assert_eq!(schedule.take(u64::MAX), Some(0));
        let turnout = Turnout::new(&mut schedule, Pace::Closed, u64::MAX, 2);
        // The first one goes on in the next run.
        assert_eq!(turnout.claim(0, &[]), Claim::Wait);
        assert_eq!(turnout.claim(1, &[]), Claim::Leave(vec![0]));
        assert_eq!(turnout.claim(0, &[]), Claim::Leave(vec![1]));
        let turnout = Turnout::new(&mut schedule, Pace::AsLogged(1.0), u64::MAX, 2);
        assert_eq!(turnout.claim(0, &[]), Claim::Leave(vec![1]), "as logged each has its own from the begin");
        assert_eq!(turnout.over(0, 1), (vec![], vec![]));
        for pace in [Pace::Closed, Pace::AsLogged(1.0)] {
            let turnout = Turnout::new(&mut schedule, pace, 0, 2);
            assert_eq!(turnout.claim(0, &[7]), Claim::Wait, "the other may wait for its locks");
            assert_eq!(turnout.claim(1, &[7]), Claim::Leave(vec![0]), "nobody is at work who could");
            assert_eq!(turnout.claim(0, &[7]), Claim::Leave(vec![1]));
        }
    }
}
