//! In which order the sessions of two sides ran, and how the rounds of each went.

use crate::input::Input;
use crate::number::span;
use ledger::model::Order;
use std::collections::BTreeSet;

/// A word where one side went first in every pair: what drifts from session to session is then a difference between the sides, of one sign in all
/// pairs. By their moments, files that were named side after side in the order in which they ran can't be told from these.
pub(super) fn always_first(pairs: &[[Input; 2]]) -> Option<String> {
    let first = pairs.iter().filter(|[a, b]| begun(a) < begun(b)).count();
    let is_always = pairs.len() > 1 && (first == 0 || first == pairs.len());
    is_always.then(|| {
        "One side went first in every pair: a machine that gets slower or faster from session to session makes the sides differ. Let them \
         change places: run A1 B1 B2 A2 A3 B3 …, and name them A1 B1 A2 B2 A3 B3 …. Files named side after side (`before-* after-*`), of \
         which one side ran before the other, look the same: then each pair is of one side, and sides are not told apart."
            .into()
    })
}

/// What changed from day to day is then a difference between the sides.
const OUT_OF_TURN: &str = "The sides did not take turns: between the two sessions of a pair lies another one. Name neighbours in pairs, side A first: \
                           A1 B1 A2 B2 …; a pattern such as `before-*` sorts them by side.";

/// A word where the two sessions of a pair are no neighbours in time.
pub(super) fn out_of_turn(pairs: &[[Input; 2]]) -> Option<String> {
    let ended =
        |input: &Input| input.contents.sessions.last().and_then(|session| session.ended).unwrap_or(begun(input));
    // Measured at the same time, on another machine.
    let meet = |one: &Input, other: &Input| begun(one) < ended(other) && begun(other) < ended(one);
    let is_between = |[a, b]: &[Input; 2], other: &Input| {
        let (first, last) = (begun(a).min(begun(b)), begun(a).max(begun(b)));
        first < begun(other) && begun(other) < last && !meet(a, other) && !meet(b, other)
    };
    let mut others = pairs.iter().flat_map(|pair| pairs.iter().flatten().map(move |other| (pair, other)));
    others.any(|(pair, other)| is_between(pair, other)).then(|| OUT_OF_TURN.into())
}

/// A word where rounds went by turns of several lengths, which each session may have chosen by its machine's noise: the flush of each turn is in the
/// figures, and there are more of them the shorter turns are. Who had no turns has figures of another measure, and is told of that alone.
pub(super) fn unlike_turns(all: &[&Input]) -> Option<String> {
    let lengths: BTreeSet<String> = all.iter().filter_map(|input| turns(input)).collect();
    (lengths.len() > 1).then(|| {
        format!(
            "Rounds did not go alike ({}): the flush of each turn is in its figure, so that this alone may make sides differ. Measure all with \
             the same, such as `--set design.turn=1s`.",
            lengths.into_iter().collect::<Vec<_>>().join("; ")
        )
    })
}

/// How long the turns of a result were; none: it had no turns.
pub(crate) fn turns(input: &Input) -> Option<String> {
    let study = &input.contents.study;
    (study.analysis.order == Order::Turns).then(|| match &study.turns {
        Some(chosen) => format!("turns of {}", span(f64::from(chosen.turn_milliseconds) / 1000.0)),
        None => "turns as long as its study says".into(),
    })
}

/// When a session began.
fn begun(input: &Input) -> f64 {
    input.contents.study.created
}
