//! Tables: claims, scenarios, metrics, durability.

use super::{details, open_details, pictures};
use crate::claims::{interval_words, verdict_words};
use crate::document::{
    Block, Cell, Columns, Table, Tone, interval_head, no_cell, number_cell, word_cell, word_head, wrapped_cell,
};
use crate::flushing::{self, MARK, Marked as _};
use crate::input::Input;
use crate::number::{Scale, figure, p_words, percent, percent_rounded_up, ratio_ends, ratio_precise};
use crate::words::{Words as _, beside};
use crate::{errors, health, notes, pivot, safety};
use analysis::claim::{Claim, Subject};
use analysis::flushing::Flushing;
use analysis::judge::short_factor;
use analysis::means::{Means, is_own, metric_means};
use analysis::row::{Centre, Row};
use analysis::view::{Part, View};
use ledger::model::Scenario;
use observe::durability::UNKNOWN;
use observe::metric::Metric;
use stats::Verdict;
use std::collections::BTreeMap;

/// The verdict with its colour; the words say it too.
fn verdict_cell(claim: &Claim, part: &Part) -> Cell {
    let tone = match claim.verdict {
        Some(Verdict::Faster) => Tone::Faster,
        Some(Verdict::Slower) => Tone::Slower,
        _ => Tone::Plain,
    };
    Cell { tone, ..word_cell(&verdict_words(claim, part)) }
}

/// Every claim of the declared family, with its corrected p.
pub fn claims(i: usize, part: &Part, view: &View) -> Option<Block> {
    if part.judgement.claims.is_empty() {
        return None;
    }
    let name = |claim: &Claim| {
        let ((a, b), [of_a, of_b]) = (claim.names(), flushing::marks(part, claim));
        let about = match &claim.subject {
            Subject::Level { factor, .. } => format!(" ({})", short_factor(factor)),
            Subject::Control { .. } => " (A/A control)".into(),
            Subject::Scenario { .. } => String::new(),
        };
        format!("{a}{of_a} vs {b}{of_b}{about}{}", health::claim_words(claim, part))
    };
    let interval = |claim: &Claim| Cell {
        hint: interval_words(claim, view.confidence),
        ..number_cell(&ratio_ends((claim.low, claim.high), ratio_precise).join("–"), claim.low)
    };
    let claims: Vec<&Claim> = part.judgement.claims.iter().chain(&part.judgement.control).collect();
    let table = Columns::of(format!("claims-{i}"), &claims)
        .words("claim", |claim| name(claim))
        .figures("ratio", |claim| claim.ratio, ratio_precise)
        .column(interval_head(view.confidence), |claim| interval(claim))
        .column(word_head("verdict"), |claim| verdict_cell(claim, part))
        .figures("p, corrected (Holm)", |claim| claim.p, p_words)
        .numbers("rounds", |claim| claim.rounds)
        .figures("differences below this could not be seen", |claim| claim.visible, percent);
    Some(open_details("Claims", [Block::Table(table.table())]))
}

/// All scenarios of a part, ranked.
pub fn scenarios(i: usize, part: &Part, view: &View) -> Block {
    let scale = Scale::of_part(part);
    let number = |value: f64| scale.number(value);
    let interval = |centre: Centre| {
        scale.interval(&centre).map_or_else(no_cell, |ends| number_cell(&ends, centre.high / centre.low))
    };
    let claim = |row: &Row| part.claim_of(&row.label);
    let verdict = |row: &Row| claim(row).map_or_else(|| word_cell(""), |claim| verdict_cell(claim, part));
    let with_flushes = part.rows.iter().any(|row| row.flushing.is_some());
    let with_errors = part.rows.iter().any(|row| row.error_share() > 0.0);
    let table = Columns::of(format!("scenarios-{i}"), &part.rows)
        .baseline(|row| row.baseline)
        .words("scenario", |row| format!("{}{}", row.marked(), if row.baseline { " (baseline)" } else { "" }))
        .figures(&format!("geometric mean{}", scale.after_name()), |row| row.centre.map(|centre| centre.mean), number)
        .column(interval_head(view.confidence), |row| row.centre.map_or_else(no_cell, interval))
        .when(with_errors, |table| table.wrapped(errors::HEAD, errors::cell))
        .figures("median", |row| row.centre.map(|centre| centre.median), number)
        .figures("min", |row| row.centre.map(|centre| centre.min), number)
        .figures("max", |row| row.centre.map(|centre| centre.max), number)
        .figures("vs baseline", |row| claim(row).map(|claim| claim.ratio), ratio_precise)
        .column(word_head("verdict"), verdict)
        .figures("at most behind the best", |row| part.regret_of(row), percent_rounded_up)
        .wrapped("after a power cut", power_cut)
        .when(with_flushes, |table| {
            table.figures("flushes per commit", |row| row.flushing.as_ref().map(Flushing::per_commit), figure)
        })
        .numbers("trials", |row| row.centre.map_or(0, |centre| centre.count))
        .numbers("failed", |row| row.failed);
    open_details("Scenarios", [Block::Table(table.table())])
}

/// What was measured, and what the settings promise.
fn power_cut(row: &Row) -> String {
    match &row.power_cut {
        Some(found) => format!("{}; by settings: {}", safety::cell(found), promise(row)),
        None => promise(row),
    }
}

/// What the settings promise, and what the device got where that takes more.
pub(super) fn promise(row: &Row) -> String {
    let by_settings = if row.is_durability_unknown { UNKNOWN } else { row.durability.words() };
    match row.flushing.as_ref().filter(|flushing| flushing.is_missing) {
        Some(flushing) if row.breaks_promise() => {
            format!("{by_settings} by its settings, but {MARK}: {}", flushing.words())
        }
        Some(flushing) => format!("{by_settings}; {MARK}: {}", flushing.words()),
        None => by_settings.into(),
    }
}

/// Every metric of every scenario: the workload's own first, the machine's after.
pub fn metrics(i: usize, part: &Part, input: &Input) -> Vec<Block> {
    let means = metric_means(part, &input.contents);
    let mut names: Vec<&String> = means.values().flat_map(BTreeMap::keys).collect();
    names.sort();
    names.dedup();
    // Of each of a hundred operations, for another tool's form.
    names.retain(|name| !name.starts_with("operation_"));
    let (own, machine): (Vec<&String>, Vec<&String>) = names.into_iter().partition(|name| is_own(name));
    let both = [("Metrics of the workload", "own", own), ("What the machine did meanwhile", "machine", machine)];
    let some = both.into_iter().filter(|(_, _, names)| !names.is_empty());
    some.map(|(title, id, names)| {
        let table = metric_table(&format!("metrics-{id}-{i}"), part, &names, &means, input);
        details(format!("{title} ({})", names.len()), [Block::Note(MEANS_NOTE.into()), Block::Table(table)])
    })
    .collect()
}

/// Said above tables of metrics.
const MEANS_NOTE: &str =
    "Geometric means over trials. Where a value is 0: of the primary metric 0, of others the arithmetic mean.";

fn metric_table(id: &str, part: &Part, names: &[&String], means: &Means, input: &Input) -> Table {
    let unknown = |name: &str| Metric::named(name.into(), String::new(), observe::metric::Direction::Neither);
    let rows: Vec<&Row> = part.measured().collect();
    let table = Columns::of(id, &rows).words("scenario", |row| row.marked());
    let table = names.iter().fold(table, |table, name| {
        let largest = means.values().filter_map(|values| values.get(*name)).fold(0.0f64, |a, b| a.max(b.abs()));
        let metric = input.contents.metrics.get(*name).cloned().unwrap_or_else(|| unknown(name));
        let scale = Scale::of(&metric, largest);
        let value = |row: &Row| means[row.label.as_str()].get(*name).copied();
        let head = format!("{}{}", beside(&metric, &scale), scale.after_name());
        table.figures(&head, |row| value(row), |value| scale.number(value))
    });
    table.table()
}

/// What the workload had to say of its runs, of each scenario as much as there is room for.
pub fn notes(i: usize, part: &Part, input: &Input) -> Vec<Block> {
    let all = notes::of_part(part, input);
    if all.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(format!("notes-{i}"), ["scenario", "what the workload said"].map(word_head));
    for row in &part.rows {
        let of_row: Vec<&notes::Said> = all.iter().filter(|said| said.scenario == row.label).collect();
        let more = of_row.len().saturating_sub(notes::OF_SCENARIO_MAX);
        for said in of_row.iter().take(notes::OF_SCENARIO_MAX) {
            table.row([word_cell(&row.marked()), wrapped_cell(&said.words())]);
        }
        if more > 0 {
            table.row([word_cell(&row.marked()), wrapped_cell(&format!("and {more} more; `--json` has all"))]);
        }
    }
    vec![Block::Heading(3, "What the workload said".into()), Block::Table(table)]
}

/// The tables that the study asks for, published figures below ours.
pub fn pivots(input: &Input) -> Option<Block> {
    let mut blocks = vec![Block::Heading(2, "Tables of the study".into())];
    for (i, pivot) in pivot::pivots(&input.contents, input.view()).iter().enumerate() {
        let source = format!(" Published figures are another machine's: {}", pivot.source);
        let source = if pivot.source.is_empty() { "" } else { &source };
        blocks.push(Block::Heading(3, pivot.title.clone()));
        blocks.extend(pictures::levels(i, pivot, input.contents.study.analysis.confidence));
        blocks.push(Block::Note(format!("{}{source}", pivot.note())));
        let mark = format!(" {MARK}");
        blocks.push(Block::Table(pivot.table(format!("pivot-{i}"), &mark, |row| format!("{row}, published"), no_cell)));
    }
    (blocks.len() > 1).then_some(Block::Section(blocks))
}

/// What a power cut takes, scenario by scenario, and why.
pub fn durability(input: &Input) -> Block {
    let rows = input.view().parts.iter().flat_map(|part| &part.rows);
    let flushing = rows.filter_map(|row| Some((row.label.as_str(), row.flushing.as_ref()?)));
    let flushing: BTreeMap<&str, &Flushing> = flushing.collect();
    let measured = |flushing: &&Flushing| {
        let mark = if flushing.is_missing { format!("{MARK}: ") } else { String::new() };
        format!("{mark}{}", flushing.words())
    };
    let measured = |scenario: &Scenario| flushing.get(&*scenario.label).map(measured).unwrap_or_default();
    let table = Columns::of("durability", &input.contents.scenarios)
        .words("scenario", |scenario| &scenario.label)
        .wrapped("after a power cut", |scenario| scenario.durability.words())
        .wrapped("because", |scenario| scenario.durability.reasons.join("; "))
        .when(!flushing.is_empty(), |table| table.wrapped("measured", measured));
    let counted =
        if flushing.is_empty() { "" } else { " Measured are the flushes that the devices got in all runs together." };
    Block::Section(vec![
        Block::Heading(2, "Safety".into()),
        Block::Note(format!("Derived from the settings, not from power cuts.{counted}")),
        Block::Table(table.table()),
    ])
}

/// As [`figure`] with four digits behind the point, for whoever builds a table of raw values; of what is small these would say nothing.
pub fn raw(value: f64) -> String {
    let is_small = value.abs() < 0.1;
    if is_small || value.abs() >= 1e6 || value.fract() == 0.0 { figure(value) } else { format!("{value:.4}") }
}

#[cfg(test)]
mod tests {
    use super::raw;

    #[test]
    fn a_small_raw_value_is_not_shown_as_nothing() {
        let shown = [0.000_012_3, 0.001_234, 0.512_34, 12.0, 3886.25].map(raw);
        assert_eq!(shown, ["1.23e-5", "0.00123", "0.5123", "12.0", "3886.2500"]);
    }
}
