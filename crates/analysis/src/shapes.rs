//! Scenarios whose figures have another shape, or another tail: none is "the same" where one is far slower now and then and the other is not, or
//! where a tail differs, and none is faster by its mean that is far slower now and then.

use crate::claim::{Claim, Tailed};
use crate::confirmation::Confirmation;
use crate::judge::Judgement;
use crate::row::Row;
use crate::tails::Tail;
use crate::view::sides;
use stats::Verdict;
use stats::slow::SlowMode;

/// Takes back the verdicts that the sides' shapes or tails speak against. What it was stays with these claims; so does a tail that goes the
/// other way.
pub fn hold_back(judgement: &mut Judgement, rows: &[Row], (tails, margin): (&[Tail], f64)) {
    for claim in &mut judgement.claims {
        hold(claim, rows, (tails, margin));
    }
    for claim in &mut judgement.versus {
        // With a single factor it is one of the family under another name.
        let is_it = |other: &&Claim| (other.ratio, other.p, other.rounds) == (claim.ratio, claim.p, claim.rounds);
        match judgement.claims.iter().find(is_it).filter(|_| !claim.exploratory) {
            Some(of_family) => {
                (claim.verdict, claim.shapes, claim.tail) = (of_family.verdict, of_family.shapes, of_family.tail);
            }
            None => hold(claim, rows, (tails, margin)),
        }
    }
}

/// As [`hold_back`], of what new rounds showed: the shapes of these rows are of all rounds.
pub fn hold_back_new(confirmations: &mut [Confirmation], rows: &[Row], (tails, margin): (&[Tail], f64)) {
    for claim in confirmations.iter_mut().flat_map(|confirmation| &mut confirmation.claims) {
        hold(claim, rows, (tails, margin));
    }
}

fn hold(claim: &mut Claim, rows: &[Row], (tails, margin): (&[Tail], f64)) {
    claim.shapes = differing(claim, rows);
    claim.tail = tails.iter().find_map(|tail| contradicts(claim, tail, margin));
    if claim.verdict.is_some_and(|verdict| is_held_back(verdict, claim.shapes.as_ref(), claim.tail.is_some(), margin)) {
        claim.verdict = Some(Verdict::Inconclusive);
    }
}

/// Who is slow more often and worse on average is worse in both; who is better on average is not better when it is slow more often by the
/// margin that matters.
fn is_held_back(verdict: Verdict, shapes: Option<&[SlowMode; 2]>, has_tail: bool, margin: f64) -> bool {
    let more = |one: &SlowMode, other: &SlowMode| one.share() - other.share() >= margin;
    match (verdict, shapes) {
        (Verdict::Faster, Some([a, b])) => more(a, b),
        (Verdict::Slower, Some([a, b])) => more(b, a),
        (Verdict::Faster | Verdict::Slower, None) => false,
        (Verdict::Equivalent | Verdict::Negligible | Verdict::Inconclusive, shapes) => shapes.is_some() || has_tail,
    }
}

fn differing(claim: &Claim, rows: &[Row]) -> Option<[SlowMode; 2]> {
    let slow = |rows: &Vec<&Row>| SlowMode::together(&rows.iter().filter_map(|row| row.slow).collect::<Vec<_>>());
    let [a, b] = &sides(claim, rows);
    let (a, b) = (slow(a)?, slow(b)?);
    a.differs_from(&b).then_some([a, b])
}

/// A difference of tails that was shown and does not go with the verdict by means: it has the other side as the better one, or is surely beyond
/// the margin where the means show none that matters.
fn contradicts(claim: &Claim, tail: &Tail, margin: f64) -> Option<Tailed> {
    let (found, is_swapped) = tail.claim_of(&claim.subject)?;
    if !found.is_shown() {
        return None;
    }
    let (ratio, low, high) = found.ends(is_swapped);
    let is_worse = (found.verdict == Some(Verdict::Slower)) != is_swapped;
    let agrees = match claim.verdict {
        Some(Verdict::Faster) => !is_worse,
        Some(Verdict::Slower) => is_worse,
        _ => low < 1.0 + margin && high > 1.0 / (1.0 + margin),
    };
    (!agrees).then_some(Tailed { what: tail.what, ratio, low, high, is_worse })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `postgres-settings`: twice as fast by the mean, and the slower one had all the slow turns; it was once called open.
    #[test]
    fn who_is_slow_more_often_and_slower_on_average_is_slower() {
        let mode = |slow: usize| {
            let speeds: Vec<f64> = (0..100).map(|turn| if turn < slow { 0.3 } else { 1.0 }).collect();
            SlowMode::of(&speeds, true).expect("turns")
        };
        let (steady, stalls) = (mode(0), mode(10));
        let held = |verdict, shapes: [SlowMode; 2]| is_held_back(verdict, Some(&shapes), false, 0.03);
        assert!(!held(Verdict::Faster, [steady, stalls]) && !held(Verdict::Slower, [stalls, steady]));
        assert!(held(Verdict::Faster, [stalls, steady]) && held(Verdict::Slower, [steady, stalls]));
        assert!(held(Verdict::Equivalent, [steady, stalls]) && held(Verdict::Negligible, [stalls, steady]));
        assert!(!held(Verdict::Faster, [mode(2), steady]), "less often than the margin");
        let by_tail = |verdict| is_held_back(verdict, None, true, 0.03);
        assert!(!by_tail(Verdict::Faster) && by_tail(Verdict::Equivalent));
    }
}
