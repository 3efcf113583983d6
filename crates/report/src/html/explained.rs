//! The tables that explain: what changed with each difference.

use super::tables::{Table, head, number_cell, p_words, word_cell, word_head};
use crate::number::{percent, ratio_precise};
use crate::view::{Part, View};

/// The machine's figures on the two sides of each real difference.
#[must_use]
pub fn what_changed(i: usize, part: &Part, view: &View) -> String {
    let claims = || part.judgement.claims.iter().chain(&part.judgement.versus).filter(|claim| !claim.with.is_empty());
    if claims().next().is_none() {
        return String::new();
    }
    let heads = [
        word_head("difference"),
        word_head("of the machine"),
        head("first"),
        head("second"),
        head("ratio"),
        head(&format!("{} interval", percent(view.confidence))),
        head("p, corrected (Holm)"),
        word_head(""),
    ];
    let mut table = Table::new(&format!("why-{i}"), &heads);
    let mut seen = Vec::new();
    for claim in claims() {
        let (a, b) = claim.names();
        // The comparisons with the baseline are in the family, too, where that is one of pairs.
        if seen.contains(&(a, b)) {
            continue;
        }
        seen.push((a, b));
        for change in &claim.with {
            let [first, second] = change.values();
            let none = || "<td>–</td>".to_string();
            table.row(
                "",
                &[
                    word_cell(&format!("{a} vs {b}")),
                    word_cell(&change.words),
                    number_cell(&first, change.first),
                    number_cell(&second, change.second),
                    change.ratio.map_or_else(none, |ratio| number_cell(&ratio_precise(ratio.mean), ratio.mean)),
                    change.ratio.map_or_else(none, |ratio| {
                        format!("<td>{}–{}</td>", ratio_precise(ratio.low), ratio_precise(ratio.high))
                    }),
                    change.ratio.map_or_else(none, |ratio| number_cell(&p_words(ratio.p), ratio.p)),
                    word_cell(change.ratio.map_or("not tested: a value is 0", |ratio| ratio.went.words())),
                ],
            );
        }
    }
    format!(
        "<details><summary>What changed with it</summary><p class=\"note\">What goes with a difference need not be its \
         cause. Means over the rounds; each figure is one contrast a round, p is corrected over the figures of one \
         difference.</p>{}</details>",
        table.finish()
    )
}
