//! The tables that explain: what changed with each difference, and what each scenario used of what there was.

use super::details;
use crate::document::{Block, Cell, Columns, head, interval_head, no_cell, number_cell};
use crate::flushing::Marked as _;
use crate::input::Input;
use crate::number::{Scale, p_words, ratio, ratio_ends, ratio_precise};
use crate::why;
use crate::words::{Words as _, each_once};
use analysis::ceilings::{Ceiling, Of, Share};
use analysis::claim::Ratio;
use analysis::judge::short_factor;
use analysis::row::Row;
use analysis::view::{Part, View};
use ledger::model::Probe;
use observe::metric::{Direction, Metric};

/// The machine's figures on the two sides of each real difference.
pub fn what_changed(i: usize, part: &Part, view: &View) -> Option<Block> {
    let confirmed = part.confirmations.iter().flat_map(|confirmation| &confirmation.claims).map(|claim| (true, claim));
    // Of the comparisons with the baseline those of the family are there already.
    let versus = part.judgement.versus.iter().filter(|claim| claim.exploratory);
    let main = part.judgement.claims.iter().chain(versus).map(|claim| (false, claim));
    let mut claims = confirmed.chain(main).filter(|(_, claim)| !claim.with.is_empty()).peekable();
    claims.peek()?;
    let mut rows = Vec::new();
    for (is_new, claim) in claims {
        let (a, b) = claim.names();
        // Levels of two factors may have the same names.
        let factor = claim.subject.factor().map_or_else(String::new, |factor| format!(" ({})", short_factor(factor)));
        let rounds = if is_new { " in the new rounds" } else { "" };
        rows.extend(claim.with.iter().map(|change| (format!("{a} vs {b}{factor}{rounds}"), change)));
    }
    let ends = |ratio: Ratio| ratio_ends((ratio.low, ratio.high), ratio_precise).join("–");
    let interval = |ratio: Ratio| number_cell(&ends(ratio), ratio.low);
    let went = |ratio: Ratio| ratio.went.words();
    let table = Columns::of(format!("why-{i}"), &rows)
        .words("difference", |(pair, _)| pair)
        .words("of the machine", |(_, change)| change.words())
        .column(head("first"), |(_, change)| number_cell(&why::values(change)[0], change.first))
        .column(head("second"), |(_, change)| number_cell(&why::values(change)[1], change.second))
        .figures("ratio", |(_, change)| change.ratio.map(|ratio| ratio.mean), ratio_precise)
        .column(interval_head(view.confidence), |(_, change)| change.ratio.map_or_else(no_cell, interval))
        .figures("p, corrected (Holm)", |(_, change)| change.ratio.map(|ratio| ratio.p), p_words)
        .words("", |(_, change)| change.ratio.map_or_else(|| "not tested: a value is 0".into(), went));
    Some(details("What changed with it", [Block::Note(WHY_NOTE.into()), Block::Table(table.table())]))
}

/// Said above the table of what changed.
const WHY_NOTE: &str = "What goes with a difference need not be its cause. Means over the rounds; each figure is one contrast a round, \
    p is corrected over the figures of one difference.";

/// What each scenario used of what its device and CPUs can give, and what bound it.
pub fn ceilings(i: usize, part: &Part, input: &Input) -> Option<Block> {
    let rows: Vec<(&Row, &Ceiling)> = part.rows.iter().filter_map(|row| Some((row, row.ceiling.as_ref()?))).collect();
    let of = each_once(rows.iter().flat_map(|(_, ceiling)| &ceiling.shares).map(|share| share.of));
    if of.is_empty() {
        return None;
    }
    let table = Columns::of(format!("ceilings-{i}"), &rows)
        .baseline(|(row, _)| row.baseline)
        .words("scenario", |(row, _)| row.marked())
        .words("bound by", |(_, ceiling)| bound_words(ceiling, part.more_is_better));
    let table = of.into_iter().fold(table, |table, of| {
        let share = |ceiling: &Ceiling| ceiling.shares.iter().find(|share| share.of == of).map(share_cell);
        table.column(head(&of.words()), |(_, ceiling)| share(ceiling).unwrap_or_else(no_cell))
    });
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
    Some(details("Share of what there was", [Block::Note(note), Block::Table(table.table())]))
}

fn bound_words(ceiling: &Ceiling, more_is_better: bool) -> String {
    let by = ceiling.by.map_or_else(|| "not clear".into(), |by| by.words());
    let side = if more_is_better { "at least" } else { "at most" };
    if ceiling.is_lower_bound() { format!("{by} ({side})") } else { by }
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
