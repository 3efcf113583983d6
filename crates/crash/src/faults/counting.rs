//! Counts a search's cases as they end, and tells what is known by then where the kernel may die of the next one.

use super::Result;
use super::agenda::{Strike, Structures};
use super::bench::Outcome;
use crate::error::Error;
use observe::faults::{Consequence, FaultsFound, UNKNOWN};
use observe::record::{Record, causes};
use powercut::fault::{Case, Continuation, Fault};
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How often what was found so far is told, where the kernel may die: it may be a megabyte.
const TALLY_INTERVAL: Duration = Duration::from_secs(1);

/// What a worker tells of a case.
pub enum Told {
    /// It begins once that was heard: the kernel may die of it, and all that is known with it.
    Begins(Case, Sender<()>),
    /// It ended, or could not be run.
    Ended(Case, Result<Outcome, Error>),
}

/// In how many ways on each strike struck.
pub type Struck = BTreeMap<Strike, usize>;

/// What could not be run, and what was struck.
pub type Counted = (Vec<Error>, Struck);

/// How many of these struck in all ways on.
pub fn struck_in_all_ways(strikes: &[Strike], struck: &Struck) -> u64 {
    strikes.iter().filter(|strike| struck.get(*strike) == Some(&Continuation::ALL.len())).count() as u64
}

/// Counts cases as they end; gives why some could not be run, and what struck.
pub fn count_all(
    structures: &Structures,
    found: &mut FaultsFound,
    told: impl IntoIterator<Item = Told>,
    say: &mut dyn FnMut(&Record),
) -> Counted {
    let (mut broken, mut struck) = (Vec::new(), Struck::new());
    let (began, mut last) = (Instant::now(), None::<Instant>);
    for told in told {
        match told {
            Told::Begins(case, heard) => {
                if last.is_none_or(|last| last.elapsed() >= TALLY_INTERVAL) {
                    last = Some(Instant::now());
                    found.seconds = began.elapsed().as_secs_f64();
                    say(&Record::Faults(Box::new(found.clone())));
                }
                say(&Record::Recovering { image: case.to_string() });
                // It may not wait any more.
                let _ = heard.send(());
            }
            Told::Ended(case, Ok(outcome)) => {
                if !outcome.struck.is_empty() {
                    *struck.entry((case.failure, case.nth)).or_default() += 1;
                }
                count(structures, found, &case, outcome);
            }
            Told::Ended(_, Err(why)) => broken.push(why),
        }
    }
    (broken, struck)
}

/// A case that can't be run ends the search, and what was counted stands.
pub fn end_early(found: &mut FaultsFound, broken: Vec<Error>) -> Result<()> {
    let Some(why) = broken.into_iter().next() else { return Ok(()) };
    if found.cases == 0 {
        return Err(why.into());
    }
    (found.is_complete, found.ended_early) = (false, true);
    found.notes.push(format!("the search ended early, as a case could not be run: {}", causes(&why).join(": ")));
    Ok(())
}

/// Counts one.
pub fn count(structures: &Structures, found: &mut FaultsFound, case: &Case, outcome: Outcome) {
    if case.failure.fault == Fault::Nothing {
        found.honest += 1;
        if outcome.consequence != Consequence::Nothing {
            found.honest_bad += 1;
            let (ended, words) = (outcome.consequence.words(), &outcome.example.words);
            found.notes.push(format!("on a disk that is well a case ended as \"{ended}\": {words}"));
        }
        return;
    }
    let Some(struck) = outcome.struck.first() else {
        found.not_struck += 1;
        return;
    };
    let structure = if outcome.was_ended { UNKNOWN } else { structures.name(struck) };
    let key = [&*case.failure.to_string(), structure, case.continuation.name()];
    found.add(key, outcome.consequence, || outcome.example);
}

#[cfg(test)]
mod tests {
    use super::super::hung_in_the_kernel;
    use super::*;
    use powercut::fault::Failure;
    use std::sync::mpsc::channel;

    fn ended(end: Result<Consequence, Error>) -> Told {
        let failure = "write-error".parse().expect("a fault");
        let case = Case { failure, nth: 1, continuation: Continuation::GoOn };
        let outcome = end.map(|consequence| Outcome { consequence, ..hung_in_the_kernel(&case) });
        Told::Ended(case, outcome)
    }

    fn none() -> FaultsFound {
        FaultsFound { writes: 1, possible: 4, is_complete: true, seconds: 1.0, ..FaultsFound::default() }
    }

    #[test]
    fn a_case_that_can_not_be_run_takes_no_other_with_it() {
        let slow = || Err(Error::Well("it does not start".into()));
        let mut found = none();
        let told = [ended(Ok(Consequence::Told)), ended(slow()), ended(Ok(Consequence::Lost))];
        let (broken, _) = count_all(&Structures::default(), &mut found, told, &mut |_| ());
        assert_eq!((found.cases, broken.len()), (2, 1));
        end_early(&mut found, broken).expect("two were counted");
        assert!(!found.is_complete && found.ended_early);
        let note = "the search ended early, as a case could not be run: on a disk that is well the database fails: it does not start";
        assert_eq!(found.notes, [note]);
        let mut found = none();
        let (broken, _) = count_all(&Structures::default(), &mut found, [ended(slow())], &mut |_| ());
        assert!(end_early(&mut found, broken).is_err(), "nothing was counted");
    }

    /// A guest's kernel that panicked had taken with it all that was found.
    #[test]
    fn what_was_found_and_what_begins_are_told_before_a_case_that_may_kill_the_kernel() {
        let (heard, is_heard) = channel();
        let case: Case = "write-error@2/restart".parse().expect("a case");
        let told = [ended(Ok(Consequence::Lost)), Told::Begins(case, heard)];
        let mut said = Vec::new();
        let say = &mut |record: &Record| {
            assert!(is_heard.try_recv().is_err(), "it had begun before this was said");
            said.push(record.clone());
        };
        count_all(&Structures::default(), &mut none(), told, say);
        let [Record::Faults(so_far), Record::Recovering { image }] = &said[..] else { panic!("{said:?}") };
        assert_eq!((so_far.cases, image.as_str()), (1, "write-error@2/restart"));
        assert!(is_heard.recv().is_ok(), "then it begins");
    }

    /// A server does not ask for the same requests each time: late ones are missed.
    #[test]
    fn a_drawn_fault_that_struck_nobody_counts_for_no_share() {
        let failure: Failure = "write-error".parse().expect("a fault");
        let told = |nth: u64, ways_struck: usize| {
            Continuation::ALL.into_iter().enumerate().map(move |(way, continuation)| {
                let case = Case { failure, nth, continuation };
                let whole = Outcome { consequence: Consequence::Told, ..hung_in_the_kernel(&case) };
                let missed =
                    Outcome { consequence: Consequence::Nothing, struck: Vec::new(), ..hung_in_the_kernel(&case) };
                Told::Ended(case, Ok(if way < ways_struck { whole } else { missed }))
            })
        };
        let ways = Continuation::ALL.len();
        let mut found = none();
        let all = told(1, ways).chain(told(2, ways)).chain(told(3, 0)).chain(told(4, 1));
        let (broken, struck) = count_all(&Structures::default(), &mut found, all, &mut |_| ());
        assert!(broken.is_empty());
        assert_eq!((found.cases, found.not_struck), (9, 7));
        // The first of them was not drawn.
        let drawn: Vec<Strike> = (2..=4).map(|nth| (failure, nth)).collect();
        assert_eq!(struck_in_all_ways(&drawn, &struck), 1);
    }
}
