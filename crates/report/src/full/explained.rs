//! The tables that explain: what changed with each difference, and what each scenario used of what there was.

use super::details;
use super::tables::p_words;
use crate::document::{Block, Cell, Table, Tone, head, no_cell, number_cell, word_cell, word_head};
use crate::flushing::Marked as _;
use crate::input::Input;
use crate::number::{Scale, percent, ratio, ratio_precise};
use crate::why;
use crate::words::Words as _;
use analysis::ceilings::{Ceiling, Of, Share};
use analysis::row::Row;
use analysis::view::{Part, View};
use ledger::model::Probe;
use observe::metric::{Direction, Metric};

/// The machine's figures on the two sides of each real difference.
pub fn what_changed(i: usize, part: &Part, view: &View) -> Option<Block> {
    let confirmed = part.confirmations.iter().flat_map(|confirmation| &confirmation.claims).map(|claim| (true, claim));
    let main = part.judgement.claims.iter().chain(&part.judgement.versus).map(|claim| (false, claim));
    let mut claims = confirmed.chain(main).filter(|(_, claim)| !claim.with.is_empty()).peekable();
    claims.peek()?;
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
    let mut table = Table::new(format!("why-{i}"), heads);
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
            let [first, second] = why::values(change);
            table.row([
                word_cell(&format!("{a} vs {b}{rounds}")),
                word_cell(&change.words()),
                number_cell(&first, change.first),
                number_cell(&second, change.second),
                change.ratio.map_or_else(no_cell, |ratio| number_cell(&ratio_precise(ratio.mean), ratio.mean)),
                change.ratio.map_or_else(no_cell, |ratio| Cell {
                    text: format!("{}–{}", ratio_precise(ratio.low), ratio_precise(ratio.high)),
                    ..Cell::default()
                }),
                change.ratio.map_or_else(no_cell, |ratio| number_cell(&p_words(ratio.p), ratio.p)),
                word_cell(&change.ratio.map_or_else(|| "not tested: a value is 0".into(), |ratio| ratio.went.words())),
            ]);
        }
    }
    Some(details("What changed with it", [Block::Note(WHY_NOTE.into()), Block::Table(table)]))
}

/// Said above the table of what changed.
const WHY_NOTE: &str = "What goes with a difference need not be its cause. Means over the rounds; each figure is one contrast a round, \
    p is corrected over the figures of one difference.";

/// What each scenario used of what its device and CPUs can give, and what bound it.
pub fn ceilings(i: usize, part: &Part, input: &Input) -> Option<Block> {
    let rows: Vec<(&Row, &Ceiling)> = part.rows.iter().filter_map(|row| Some((row, row.ceiling.as_ref()?))).collect();
    let mut of: Vec<Of> = Vec::new();
    for share in rows.iter().flat_map(|(_, ceiling)| &ceiling.shares) {
        if !of.contains(&share.of) {
            of.push(share.of);
        }
    }
    if of.is_empty() {
        return None;
    }
    let mut heads = vec![word_head("scenario"), word_head("bound by")];
    heads.extend(of.iter().map(|of| head(&of.words())));
    let mut table = Table::new(format!("ceilings-{i}"), heads);
    for (row, ceiling) in rows {
        let mut cells = vec![word_cell(&row.marked()), word_cell(&bound_words(ceiling))];
        cells.extend(of.iter().map(|of| {
            let share = ceiling.shares.iter().find(|share| share.of == *of);
            share.map_or_else(no_cell, share_cell)
        }));
        table.toned_row(if row.baseline { Tone::Baseline } else { Tone::Plain }, cells);
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
    let note = format!("{source}{together} By the means of all measured runs.");
    Some(details("Share of what there was", [Block::Note(note), Block::Table(table)]))
}

fn bound_words(ceiling: &Ceiling) -> String {
    let by = ceiling.by.map_or_else(|| "not clear".into(), |by| by.words());
    if ceiling.is_lower_bound() { format!("{by} (at least)") } else { by }
}

/// "61 % (610 of 1,000)".
fn share_cell(share: &Share) -> Cell {
    let unit = match share.of {
        Of::BytesWritten | Of::BytesRead => "B",
        _ => "1",
    };
    let metric = Metric::new("", unit, Direction::Neither);
    let [used, limit] = [share.used, share.limit].map(|value| Scale::of(&metric, value).with_unit(value));
    let shown = format!("{} ({used} of {limit})", share.words());
    number_cell(&shown, share.share())
}
