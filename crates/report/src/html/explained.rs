//! The tables that explain: what changed with each difference, and what each scenario used of what there was.

use super::tables::{Table, head, number_cell, p_words, word_cell, word_head};
use crate::ceilings::{Ceiling, Of, Share};
use crate::input::Input;
use crate::number::{Scale, percent, ratio, ratio_precise};
use crate::view::{Part, Row, View};
use ledger::model::Probe;
use observe::metric::{Direction, Metric};

/// The machine's figures on the two sides of each real difference.
#[must_use]
pub fn what_changed(i: usize, part: &Part, view: &View) -> String {
    let confirmed = part.confirmations.iter().flat_map(|confirmation| &confirmation.claims).map(|claim| (true, claim));
    let main = part.judgement.claims.iter().chain(&part.judgement.versus).map(|claim| (false, claim));
    let mut claims = confirmed.chain(main).filter(|(_, claim)| !claim.with.is_empty()).peekable();
    if claims.peek().is_none() {
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
    for (is_new, claim) in claims {
        let (a, b) = claim.names();
        // The comparisons with the baseline are in the family, too, where that is one of pairs.
        if seen.contains(&(is_new, a, b)) {
            continue;
        }
        seen.push((is_new, a, b));
        let rounds = if is_new { " in the new rounds" } else { "" };
        for change in &claim.with {
            let [first, second] = change.values();
            let none = || "<td>–</td>".to_string();
            table.row(
                "",
                &[
                    word_cell(&format!("{a} vs {b}{rounds}")),
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

/// What each scenario used of what its device and CPUs can give, and what bound it.
#[must_use]
pub fn ceilings(i: usize, part: &Part, input: &Input) -> String {
    let rows: Vec<(&Row, &Ceiling)> = part.rows.iter().filter_map(|row| Some((row, row.ceiling.as_ref()?))).collect();
    let mut of: Vec<Of> = Vec::new();
    for share in rows.iter().flat_map(|(_, ceiling)| &ceiling.shares) {
        if !of.contains(&share.of) {
            of.push(share.of);
        }
    }
    if of.is_empty() {
        return String::new();
    }
    let mut heads = vec![word_head("scenario"), word_head("bound by")];
    heads.extend(of.iter().map(|of| head(of.words())));
    let mut table = Table::new(&format!("ceilings-{i}"), &heads);
    for (row, ceiling) in rows {
        let mut cells = vec![word_cell(&row.marked()), word_cell(&bound_words(ceiling))];
        cells.extend(of.iter().map(|of| {
            let share = ceiling.shares.iter().find(|share| share.of == *of);
            share.map_or_else(|| "<td>–</td>".into(), share_cell)
        }));
        table.row(if row.baseline { "base" } else { "" }, &cells);
    }
    let steps = |probe: &Probe, name: &str| probe.figures.get(name).copied();
    let together = |probe: &Probe| {
        Some(
            steps(probe, "cpu_steps_per_second_all")?
                / steps(probe, "cpu_steps_per_second").filter(|one| *one > 0.0)?,
        )
    };
    let together = input.contents.probes.iter().find_map(together).map_or_else(String::new, |times| {
        format!(" In the probe all CPUs together did {} the work of one thread.", ratio(times))
    });
    let source = if input.contents.probes.iter().any(|probe| probe.failure.is_none()) {
        "Limits of the device are those of the probe before the first round; a share above 100 % means that the probe met a \
         slower moment, or that more was under way than in it."
    } else {
        "The device was not probed, so that only the CPUs have a limit."
    };
    format!(
        "<details><summary>Share of what there was</summary><p class=\"note\">{source}{together} By the means of all \
         measured runs.</p>{}</details>",
        table.finish()
    )
}

fn bound_words(ceiling: &Ceiling) -> String {
    let by = ceiling.by.map_or("not clear", |by| by.words());
    if ceiling.is_lower_bound() { format!("{by} (at least)") } else { by.into() }
}

/// "61 % (610 of 1,000)".
fn share_cell(share: &Share) -> String {
    let unit = match share.of {
        Of::BytesWritten | Of::BytesRead => "B",
        _ => "1",
    };
    let metric = Metric::new("", unit, Direction::Neither);
    let [used, limit] = [share.used, share.limit].map(|value| Scale::of(&metric, value).with_unit(value));
    let shown = format!("{} ({used} of {limit})", share.words());
    number_cell(&shown, share.share())
}
