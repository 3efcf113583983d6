//! What a fault led to: what clients were told, held against what was found at each look. Pure.

use crate::verdict::{Found, RecoveryOutcome};
use observe::faults::Consequence;

/// How a commit ended for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was acknowledged.
    Acknowledged,
    /// It was refused with an error.
    Refused,
    /// Its connection was lost before its end was known.
    Unknown,
}

/// A commit that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Its number.
    pub number: u64,
    /// And its end.
    pub end: End,
}

/// A look at what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Commits that had been tried before it.
    pub tried: usize,
    /// What was found; or what was said when nothing could be asked.
    pub found: Found,
}

/// All that was seen of one case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// In this order.
    pub tried: Vec<Tried>,
    /// In this order; the last is of the mended disk, mounted anew.
    pub looks: Vec<Look>,
    /// What clients, and whoever asked for a checkpoint or a start, were told, in this order.
    pub errors: Vec<String>,
    /// Whether the server ended itself, or threw all its clients out.
    pub has_stopped: bool,
    /// What had no answer within the time that is waited for one.
    pub hung: Option<String>,
}

/// The stream that commits.
const STREAM: u32 = 0;

/// What it comes to, and why.
pub fn judge(transcript: &Transcript) -> (Consequence, String) {
    let last = transcript.looks.len().saturating_sub(1);
    let of_looks =
        transcript.looks.iter().enumerate().filter_map(|(place, look)| of_look(transcript, look, place == last));
    let said = || transcript.errors.first().cloned().unwrap_or_default();
    let vanished = vanished(transcript).map(|words| (Consequence::Lost, words));
    let hung = transcript.hung.clone().map(|words| (Consequence::Hang, words));
    let stopped = transcript.has_stopped.then(|| (Consequence::Stopped, said()));
    let told = (!transcript.errors.is_empty()).then(|| (Consequence::Told, said()));
    let all = of_looks.chain(vanished).chain(hung).chain(stopped).chain(told);
    // Of two alike the first counts.
    let worse = |worst: (Consequence, String), one: (Consequence, String)| if one.0 > worst.0 { one } else { worst };
    all.fold((Consequence::Nothing, String::new()), worse)
}

/// A commit whose end its client was not told, that was read and that a later look does not find: who asked again was told that it is there.
/// (One that was refused is a false failure as soon as it is read.)
fn vanished(transcript: &Transcript) -> Option<String> {
    let up = transcript.looks.iter().filter(|look| look.found.outcome == RecoveryOutcome::Up);
    let numbers = |look: &Look| look.found.streams.get(&STREAM).cloned().unwrap_or_default();
    let all: Vec<Vec<u64>> = up.map(numbers).collect();
    let is_refused = |number: &u64| transcript.tried.iter().any(|one| one.number == *number && one.end == End::Refused);
    let gone = |(one, later): (&Vec<u64>, &Vec<u64>)| {
        one.iter().find(|number| !later.contains(number) && !is_refused(number)).copied()
    };
    let gone = all.iter().zip(all.iter().skip(1)).find_map(gone)?;
    Some(format!("commit {gone} was read, and later it is gone"))
}

/// What one look shows. Before the last one, what can't be read has been said.
fn of_look(transcript: &Transcript, look: &Look, is_last: bool) -> Option<(Consequence, String)> {
    let complaint = match &look.found.outcome {
        RecoveryOutcome::Up => return of_content(&transcript.tried[..look.tried], &look.found),
        RecoveryOutcome::Unmountable(why) => format!("the filesystem does not mount: {why}"),
        RecoveryOutcome::Down(why) => format!("the database does not come up: {why}"),
        RecoveryOutcome::Damaged(why) => format!("what is on it is found damaged: {why}"),
    };
    Some((if is_last { Consequence::NotBack } else { Consequence::Told }, complaint))
}

fn of_content(tried: &[Tried], found: &Found) -> Option<(Consequence, String)> {
    let there = found.streams.get(&STREAM).map_or(&[][..], Vec::as_slice);
    let is_there = |one: &&Tried| there.binary_search(&one.number).is_ok();
    let phantom = there.iter().find(|number| tried.iter().all(|one| one.number != **number));
    let phantom = phantom.map(|number| format!("commit {number} is there and was never tried"));
    if let Some(wrong) = found.wrong.first().cloned().or(phantom) {
        return Some((Consequence::Wrong, wrong));
    }
    let first = |end: End, should: bool| tried.iter().find(|one| one.end == end && is_there(one) != should);
    if let Some(lost) = first(End::Acknowledged, true) {
        return Some((Consequence::Lost, format!("commit {} was acknowledged and is gone", lost.number)));
    }
    let there = first(End::Refused, false)?;
    Some((Consequence::FalseFailure, format!("commit {} was refused and is there", there.number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up(numbers: &[u64]) -> Found {
        let streams = [(STREAM, numbers.to_vec())].into();
        Found { outcome: RecoveryOutcome::Up, streams, wrong: Vec::new(), logged: None }
    }

    /// One to three, of which the second ended so, looked at after all.
    fn judged(second: End, found: Found) -> Consequence {
        let ends = [End::Acknowledged, second, End::Acknowledged];
        let tried = (1..).zip(ends).map(|(number, end)| Tried { number, end }).collect();
        let errors = if second == End::Acknowledged { Vec::new() } else { vec!["no".into()] };
        judge(&Transcript { tried, looks: vec![Look { tried: 3, found }], errors, ..Transcript::default() }).0
    }

    #[test]
    fn each_end_by_what_is_there() {
        use Consequence::{FalseFailure, Lost, Nothing, Told, Wrong};
        assert_eq!(judged(End::Acknowledged, up(&[1, 2, 3])), Nothing);
        assert_eq!(judged(End::Acknowledged, up(&[1, 3])), Lost);
        assert_eq!(judged(End::Refused, up(&[1, 3])), Told);
        assert_eq!(judged(End::Refused, up(&[1, 2, 3])), FalseFailure);
        assert_eq!(judged(End::Unknown, up(&[1, 2, 3])), Told);
        assert_eq!(judged(End::Unknown, up(&[1, 3])), Told);
        assert_eq!(judged(End::Refused, up(&[1])), Lost);
        assert_eq!(judged(End::Refused, up(&[1, 3, 4])), Wrong);
        assert_eq!(judged(End::Refused, Found { wrong: vec!["torn".into()], ..up(&[1, 3]) }), Wrong);
    }

    #[test]
    fn what_can_not_be_read_is_said_until_the_last_look() {
        let down = Found { outcome: RecoveryOutcome::Down("no".into()), ..up(&[]) };
        let tried = vec![Tried { number: 1, end: End::Acknowledged }];
        let whole = up(&[1]);
        let looks = |all: [&Found; 2]| all.map(|found| Look { tried: 1, found: found.clone() }).to_vec();
        let transcript = |all| Transcript { tried: tried.clone(), looks: looks(all), ..Transcript::default() };
        assert_eq!(judge(&transcript([&down, &whole])).0, Consequence::Told);
        assert_eq!(judge(&transcript([&whole, &down])).0, Consequence::NotBack);
        let hung = Transcript { hung: Some("commit 1".into()), ..transcript([&whole, &whole]) };
        assert_eq!(judge(&hung), (Consequence::Hang, "commit 1".into()));
        let stopped = Transcript { has_stopped: true, errors: vec!["gone".into()], ..transcript([&whole, &whole]) };
        assert_eq!(judge(&stopped), (Consequence::Stopped, "gone".into()));
    }

    #[test]
    fn what_was_read_and_is_gone_again_is_lost() {
        let judged = |end: End| {
            let tried = vec![Tried { number: 1, end }];
            let looks = [&[1][..], &[]].map(|numbers| Look { tried: 1, found: up(numbers) }).to_vec();
            judge(&Transcript { tried, looks, ..Transcript::default() })
        };
        assert_eq!(judged(End::Unknown), (Consequence::Lost, "commit 1 was read, and later it is gone".into()));
        assert_eq!(judged(End::Refused).0, Consequence::FalseFailure);
        assert_eq!(judged(End::Acknowledged).0, Consequence::Lost);
    }

    #[test]
    fn a_look_knows_nothing_of_what_comes_later() {
        let tried = vec![Tried { number: 1, end: End::Acknowledged }, Tried { number: 2, end: End::Acknowledged }];
        let looks = vec![Look { tried: 1, found: up(&[1]) }, Look { tried: 2, found: up(&[1, 2]) }];
        assert_eq!(judge(&Transcript { tried, looks, ..Transcript::default() }).0, Consequence::Nothing);
    }
}
