//! Which side of a pair of sessions ran first.

use crate::input::Input;

/// A word where one side went first in every pair: what drifts from session to session is then a difference between the sides, of one sign in all
/// pairs.
pub(super) fn always_first(pairs: &[[Input; 2]]) -> Option<String> {
    let begun = |input: &Input| input.contents.study.created;
    let first = pairs.iter().filter(|[a, b]| begun(a) < begun(b)).count();
    let is_always = pairs.len() > 1 && (first == 0 || first == pairs.len());
    is_always.then(|| {
        "One side went first in every pair: a machine that gets slower or faster from session to session makes the sides differ. Let them \
         change places: run A1 B1 B2 A2 A3 B3 …, and name them A1 B1 A2 B2 A3 B3 …."
            .into()
    })
}
