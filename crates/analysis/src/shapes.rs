//! Scenarios whose figures have another shape, or another tail: no verdict rests on means alone where one is far slower now and then and the
//! other is not, and none is "the same" where a tail differs.

use crate::claim::{Claim, Tailed};
use crate::judge::Judgement;
use crate::row::Row;
use crate::tails::Tail;
use crate::view::sides;
use stats::Verdict;
use stats::slow::SlowMode;

/// Takes back the verdicts of claims whose sides differ in how often they are slow, or are called the same though their tails differ. What
/// it was stays with these claims; so does a tail that goes the other way.
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

fn hold(claim: &mut Claim, rows: &[Row], (tails, margin): (&[Tail], f64)) {
    claim.shapes = differing(claim, rows);
    claim.tail = tails.iter().find_map(|tail| contradicts(claim, tail, margin));
    let is_same = matches!(claim.verdict, Some(Verdict::Equivalent | Verdict::Negligible));
    if claim.verdict.is_some() && (claim.shapes.is_some() || is_same && claim.tail.is_some()) {
        claim.verdict = Some(Verdict::Inconclusive);
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
