//! What a recovery left, held against what had been acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use observe::safety::{Grade, RECENT_SECONDS};

use crate::ack_log::Attempt;

/// How far an image came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RecoveryOutcome {
    /// The filesystem did not mount, or only after a repair that lost files; with what was said.
    Unmountable(String),
    /// The database did not come up; with what was said.
    Down(String),
    /// The database's own check found damage, or a file can't be read; with what was said.
    Damaged(String),
    /// All came up, and nothing complained.
    Up,
}

/// What a recovery left.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Found {
    /// How far it came; the rest is looked at only of what is [`RecoveryOutcome::Up`].
    pub outcome: RecoveryOutcome,
    /// The numbers of the commits that are there, ascending, by stream.
    pub streams: BTreeMap<u32, Vec<u64>>,
    /// What can't be and was not complained about: torn rows, counters that disagree.
    pub wrong: Vec<String>,
    /// As `streams`, of the log that replicas follow. None: there is no such log.
    pub logged: Option<BTreeMap<u32, Vec<u64>>>,
}

/// What that means.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The class.
    pub grade: Grade,
    /// Acknowledged commits that are missing, in the tables or in the log that replicas follow; 0 where nothing came up to look
    /// into.
    pub lost_commits: u64,
    /// From the earliest acknowledgement of a missing commit to the cut.
    pub lost_seconds: f64,
    /// In words, without those of class A.
    pub faults: Vec<String>,
}

/// Judges what was found after a cut at this moment.
pub fn judge(found: &Found, attempts: &[Attempt], cut_nanoseconds: u64) -> Verdict {
    let (what, why) = match &found.outcome {
        RecoveryOutcome::Unmountable(why) => ("the filesystem does not mount", why),
        RecoveryOutcome::Down(why) => ("the database does not come up", why),
        RecoveryOutcome::Damaged(why) => ("what is on it is found damaged", why),
        RecoveryOutcome::Up => return judge_content(found, attempts, cut_nanoseconds),
    };
    Verdict { grade: Grade::E, lost_commits: 0, lost_seconds: 0.0, faults: vec![format!("{what}: {why}")] }
}

fn judge_content(found: &Found, attempts: &[Attempt], cut_nanoseconds: u64) -> Verdict {
    let told = |attempt: &&Attempt| attempt.acknowledged_nanoseconds.is_some_and(|at| at < cut_nanoseconds);
    // Once: this runs on each of many thousand images.
    let (there, absent): (Vec<&Attempt>, Vec<&Attempt>) =
        attempts.iter().partition(|attempt| holds(&found.streams, attempt));
    let missing: Vec<&Attempt> = absent.iter().copied().filter(told).collect();
    let mut faults = found.wrong.clone();
    faults.extend(holes(found, &absent));
    if there.len() != found.streams.values().map(Vec::len).sum::<usize>() {
        faults.extend(phantoms(found, attempts));
    }
    let is_wrong = !faults.is_empty();
    if !is_wrong && !missing.is_empty() {
        let (lost, lost_seconds) = (missing.len(), oldest_seconds(&missing, cut_nanoseconds));
        faults.push(format!(
            "acknowledged commits are missing: {lost}, the first from {lost_seconds:.3} s before the cut"
        ));
    }
    // Tables and log may differ in a commit that nobody was told of, too.
    let of_replica = diverged(found, &there, &absent);
    faults.extend(of_replica.iter().map(Diverged::words));
    let only_there = of_replica.iter().filter(|diverged| diverged.in_tables).flat_map(|diverged| &diverged.commits);
    let gone: Vec<&Attempt> = missing.iter().copied().chain(only_there.copied().filter(told)).collect();
    let lost_seconds = oldest_seconds(&gone, cut_nanoseconds);
    let are_last = || {
        let last = attempts.iter().filter(told).fold(BTreeMap::new(), |mut last: BTreeMap<u32, u64>, attempt| {
            let number = last.entry(attempt.stream).or_default();
            *number = attempt.number.max(*number);
            last
        });
        gone.iter().all(|attempt| last[&attempt.stream] == attempt.number)
    };
    let grade = if is_wrong {
        Grade::F
    } else if gone.is_empty() && of_replica.is_empty() {
        Grade::A
    } else if are_last() {
        Grade::B
    } else if lost_seconds <= RECENT_SECONDS {
        Grade::C
    } else {
        Grade::D
    };
    Verdict { grade, lost_commits: gone.len() as u64, lost_seconds, faults }
}

/// From the earliest acknowledgement of these commits to the cut.
fn oldest_seconds(commits: &[&Attempt], cut_nanoseconds: u64) -> f64 {
    let earliest = commits.iter().filter_map(|attempt| attempt.acknowledged_nanoseconds).min();
    earliest.map_or(0.0, |at| (cut_nanoseconds - at) as f64 / 1e9)
}

/// Commits that only the tables have, or only the log that replicas follow.
struct Diverged<'a> {
    commits: Vec<&'a Attempt>,
    in_tables: bool,
}

impl Diverged<'_> {
    fn words(&self) -> String {
        let (commits, (lacks, has)) =
            (self.commits.len(), if self.in_tables { ("lack", "have") } else { ("have", "lack") });
        format!("a replica would {lacks} commits that the tables {has}: {commits}")
    }
}

/// Replicas are told what the log holds, and nothing else, so any difference stays.
fn diverged<'a>(found: &Found, there: &[&'a Attempt], absent: &[&'a Attempt]) -> Vec<Diverged<'a>> {
    let Some(logged) = &found.logged else { return Vec::new() };
    let only_there = there.iter().copied().filter(|attempt| !holds(logged, attempt)).collect();
    let only_logged = absent.iter().copied().filter(|attempt| holds(logged, attempt)).collect();
    let both = [Diverged { commits: only_there, in_tables: true }, Diverged { commits: only_logged, in_tables: false }];
    both.into_iter().filter(|diverged| !diverged.commits.is_empty()).collect()
}

fn holds(streams: &BTreeMap<u32, Vec<u64>>, attempt: &Attempt) -> bool {
    streams.get(&attempt.stream).is_some_and(|numbers| numbers.binary_search(&attempt.number).is_ok())
}

/// The first hole of each stream: a commit that was acknowledged and is missing though a later one is there. The later one was
/// tried after the acknowledgement came, so this holds whenever power was cut; what was tried and failed may well be missing.
fn holes(found: &Found, absent: &[&Attempt]) -> Vec<String> {
    let mut first = BTreeMap::new();
    for attempt in absent.iter().filter(|attempt| attempt.acknowledged_nanoseconds.is_some()) {
        let numbers = found.streams.get(&attempt.stream).map_or(&[][..], Vec::as_slice);
        if let Some(later) = numbers.get(numbers.partition_point(|number| *number < attempt.number)) {
            let hole = first.entry(attempt.stream).or_insert((attempt.number, *later));
            *hole = (attempt.number, *later).min(*hole);
        }
    }
    let words =
        |(stream, (missing, later))| format!("stream {stream} has a hole: {missing} is missing, {later} is there");
    first.into_iter().map(words).collect()
}

/// Commits that are there and were never tried.
fn phantoms(found: &Found, attempts: &[Attempt]) -> Vec<String> {
    let tried: BTreeSet<(u32, u64)> = attempts.iter().map(|attempt| (attempt.stream, attempt.number)).collect();
    let all = found.streams.iter().flat_map(|(stream, numbers)| numbers.iter().map(move |number| (*stream, *number)));
    let phantoms = all.filter(|commit| !tried.contains(commit));
    phantoms.map(|(stream, number)| format!("stream {stream} holds {number}, which was never tried")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Tried one second after the other, each acknowledged half a second later; 0: never.
    fn attempts(list: &[(u32, u64, u64)]) -> Vec<Attempt> {
        let attempt = |&(stream, number, second): &(u32, u64, u64)| Attempt {
            stream,
            number,
            tried_nanoseconds: second * SECOND,
            acknowledged_nanoseconds: (second > 0).then_some(second * SECOND + SECOND / 2),
        };
        list.iter().map(attempt).collect()
    }

    fn up(streams: &[(u32, &[u64])]) -> Found {
        let streams = streams.iter().map(|(stream, numbers)| (*stream, numbers.to_vec())).collect();
        Found { outcome: RecoveryOutcome::Up, streams, wrong: Vec::new(), logged: None }
    }

    /// Three commits of stream 0, one of them not acknowledged, and two of stream 1; cut ten seconds after the clock's beginning.
    fn judged(found: &Found) -> Verdict {
        judge(found, &attempts(&[(0, 1, 1), (0, 2, 7), (0, 3, 0), (1, 1, 2), (1, 2, 9)]), 10 * SECOND)
    }

    #[test]
    fn what_was_not_acknowledged_may_be_there_or_not() {
        for numbers in [&[1, 2][..], &[1, 2, 3]] {
            let verdict = judged(&up(&[(0, numbers), (1, &[1, 2])]));
            assert_eq!(verdict, Verdict { grade: Grade::A, lost_commits: 0, lost_seconds: 0.0, faults: Vec::new() });
        }
    }

    #[test]
    fn what_is_acknowledged_after_the_cut_is_not_lost() {
        let verdict = judge(&up(&[]), &attempts(&[(0, 1, 10), (0, 2, 11)]), 10 * SECOND + SECOND / 2);
        assert_eq!((verdict.grade, verdict.lost_commits), (Grade::A, 0));
    }

    #[test]
    fn losses_by_how_much_and_how_old() {
        let verdict = judged(&up(&[(0, &[1]), (1, &[1])]));
        assert_eq!((verdict.grade, verdict.lost_commits, verdict.lost_seconds), (Grade::B, 2, 2.5));
        let words = "acknowledged commits are missing: 2, the first from 2.500 s before the cut";
        assert_eq!(verdict.faults, [words]);
        let all = attempts(&[(0, 1, 5), (0, 2, 6), (0, 3, 7)]);
        let grade = |seconds: u64| judge(&up(&[(0, &[1])]), &all, seconds * SECOND).grade;
        assert_eq!([8, 11, 12].map(grade), [Grade::C, Grade::C, Grade::D]);
        assert_eq!(judged(&up(&[])).lost_commits, 4);
    }

    /// With the commits of [`judged`], all in the tables, and these in the log.
    fn logged(tables: &[(u32, &[u64])], log: &[(u32, &[u64])]) -> Verdict {
        judged(&Found { logged: Some(up(log).streams), ..up(tables) })
    }

    #[test]
    fn what_the_log_lacks_is_lost_for_a_replica() {
        let all: &[(u32, &[u64])] = &[(0, &[1, 2]), (1, &[1, 2])];
        assert_eq!(logged(all, all), judged(&up(all)));
        let last = logged(all, &[(0, &[1, 2]), (1, &[1])]);
        assert_eq!((last.grade, last.lost_commits, last.lost_seconds), (Grade::B, 1, 0.5));
        assert_eq!(last.faults, ["a replica would lack commits that the tables have: 1"]);
        assert_eq!(logged(all, &[]).grade, Grade::D, "one is 8.5 s old");
        assert_eq!(logged(all, &[]).faults, ["a replica would lack commits that the tables have: 4"]);
    }

    #[test]
    fn what_only_the_log_has_stays_with_a_replica() {
        let all: &[(u32, &[u64])] = &[(0, &[1, 2]), (1, &[1, 2])];
        let lost = logged(&[(0, &[1, 2]), (1, &[1])], all);
        assert_eq!((lost.grade, lost.lost_commits), (Grade::B, 1));
        assert_eq!(lost.faults[1], "a replica would have commits that the tables lack: 1");
        // Nobody was told of the third, and yet the two will never agree.
        let ahead = logged(all, &[(0, &[1, 2, 3]), (1, &[1, 2])]);
        assert_eq!((ahead.grade, ahead.lost_commits), (Grade::B, 0));
    }

    #[test]
    fn a_hole_is_silently_wrong() {
        let verdict = judged(&up(&[(0, &[2]), (1, &[2])]));
        assert_eq!((verdict.grade, verdict.lost_commits, verdict.lost_seconds), (Grade::F, 2, 8.5));
        let words = ["stream 0 has a hole: 1 is missing, 2 is there", "stream 1 has a hole: 1 is missing, 2 is there"];
        assert_eq!(verdict.faults, words);
        let failed = attempts(&[(0, 1, 1), (0, 2, 0), (0, 3, 4)]);
        assert_eq!(
            judge(&up(&[(0, &[1, 3])]), &failed, 9 * SECOND).grade,
            Grade::A,
            "it failed, and was never promised"
        );
    }

    #[test]
    fn a_commit_from_nowhere_is_silently_wrong() {
        let verdict = judged(&up(&[(0, &[1, 2, 4]), (1, &[1, 2]), (7, &[1])]));
        assert_eq!(verdict.grade, Grade::F);
        assert_eq!(verdict.faults[0], "stream 0 holds 4, which was never tried");
        assert_eq!(verdict.faults[1], "stream 7 holds 1, which was never tried");
    }

    #[test]
    fn what_is_wrong_without_a_word_is_worse_than_what_did_not_come_up() {
        let torn = Found { wrong: vec!["row 3 is torn".into()], ..up(&[(0, &[1, 2]), (1, &[1, 2])]) };
        assert_eq!(judged(&torn).grade, Grade::F);
        assert_eq!(judged(&torn).faults, ["row 3 is torn"]);
        let outcome = [
            RecoveryOutcome::Unmountable("no".into()),
            RecoveryOutcome::Down("no".into()),
            RecoveryOutcome::Damaged("no".into()),
        ];
        for outcome in outcome {
            let verdict = judged(&Found { outcome, ..torn.clone() });
            assert_eq!((verdict.grade, verdict.lost_commits), (Grade::E, 0));
            assert!(verdict.faults[0].ends_with(": no"), "{:?}", verdict.faults);
        }
    }
}
