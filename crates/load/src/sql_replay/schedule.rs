//! Which session may begin.

use sqllog::Session;

/// Sessions in the order of their beginnings: each may begin when all are over that had ended before it began. Two that are open at the same time
/// were so in the log, too; and where all pairs of some intervals have a moment in common, all of them have: no more are open than in the log.
pub struct Schedule {
    /// When each began in the log, in ascending order, and the number of the first statement of it or of those behind it: one that is idle at first
    /// keeps no other waiting.
    begins: Vec<(i64, u64)>,
    /// When each ended in the log, with its number, in ascending order.
    ends: Vec<(i64, usize)>,
    is_over: Vec<bool>,
    next: usize,
    /// All before this place of `ends` are over.
    over: usize,
}

impl Schedule {
    /// For sessions in the order of their beginnings.
    pub fn new(sessions: &[Session]) -> Schedule {
        let mut ends: Vec<(i64, usize)> = sessions.iter().map(Session::to).zip(0..).collect();
        ends.sort_unstable();
        let first = |session: &Session| session.steps.first().map_or(0, |step| step.number);
        let mut begins: Vec<(i64, u64)> = sessions.iter().map(|session| (session.from(), first(session))).collect();
        let mut least = u64::MAX;
        for (_, first) in begins.iter_mut().rev() {
            least = least.min(*first);
            *first = least;
        }
        Schedule { begins, ends, is_over: vec![false; sessions.len()], next: 0, over: 0 }
    }

    /// Session `number` is over.
    pub fn over(&mut self, number: usize) {
        self.is_over[number] = true;
        while self.ends.get(self.over).is_some_and(|(_, number)| self.is_over[*number]) {
            self.over += 1;
        }
    }

    /// The next session with a statement before this one, whatever others do; none: there is none left.
    pub fn take_by_time(&mut self, before: u64) -> Option<usize> {
        self.begins.get(self.next).filter(|(_, first)| *first < before)?;
        self.next += 1;
        Some(self.next - 1)
    }

    /// Whether there is a session left with a statement before this one, whether it may begin or not.
    pub fn has_left(&self, before: u64) -> bool {
        self.begins.get(self.next).is_some_and(|(_, first)| *first < before)
    }

    /// The next session that may begin, with a statement before this one; none: not now.
    pub fn take(&mut self, before: u64) -> Option<usize> {
        let (begins, _) = *self.begins.get(self.next).filter(|(_, first)| *first < before)?;
        let may = self.ends.get(self.over).is_none_or(|(ends, _)| *ends >= begins);
        may.then(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session(from: i64, to: i64) -> Session {
        Session { began: Some(from), ended: Some(to), ..Session::default() }
    }

    proptest! {
        /// Whichever of the open ones ends first: each session begins once, those that met in the log only are open together, and none waits for ever.
        #[test]
        fn only_those_meet_that_met_in_the_log(
            spans in proptest::collection::vec((0i64..50, 0i64..20), 1..40),
            picks in proptest::collection::vec(any::<prop::sample::Index>(), 40),
        ) {
            let mut sessions: Vec<Session> = spans.iter().map(|(from, length)| session(*from, from + length)).collect();
            sessions.sort_by_key(Session::from);
            let mut schedule = Schedule::new(&sessions);
            let (mut open, mut begun): (Vec<usize>, usize) = (Vec::new(), 0);
            for pick in &picks {
                while let Some(number) = schedule.take(u64::MAX) {
                    for other in &open {
                        prop_assert!(sessions[*other].to() >= sessions[number].from());
                    }
                    open.push(number);
                    begun += 1;
                }
                if open.is_empty() {
                    break;
                }
                schedule.over(open.swap_remove(pick.index(open.len())));
            }
            prop_assert_eq!((begun, open.len()), (sessions.len(), 0));
        }
    }
}
