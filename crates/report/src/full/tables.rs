//! Tables: claims, scenarios, metrics, durability.

use super::{details, open_details, pictures};
use crate::claims::{interval_words, verdict_words};
use crate::document::{Block, Cell, Table, Tone, head, no_cell, number_cell, word_cell, word_head, wrapped_cell};
use crate::flushing::{self, MARK, Marked as _};
use crate::input::Input;
use crate::number::{Scale, figure, percent, percent_rounded_up, ratio_precise, words};
use crate::words::Words as _;
use crate::{errors, health, notes, pivot, safety};
use analysis::claim::{Claim, Subject};
use analysis::flushing::Flushing;
use analysis::judge::short_factor;
use analysis::means::{Means, is_own, metric_means};
use analysis::row::Row;
use analysis::view::{Part, View};
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
    let heads = [
        word_head("claim"),
        head("ratio"),
        head(&format!("{} interval", percent(view.confidence))),
        word_head("verdict"),
        head("p, corrected (Holm)"),
        head("rounds"),
        head("differences below this could not be seen"),
    ];
    let mut table = Table::new(format!("claims-{i}"), heads);
    for claim in part.judgement.claims.iter().chain(&part.judgement.control) {
        let ((a, b), [of_a, of_b]) = (claim.names(), flushing::marks(part, claim));
        let about = match &claim.subject {
            Subject::Level { factor, .. } => format!(" ({})", short_factor(factor)),
            Subject::Control { .. } => " (A/A control)".into(),
            Subject::Scenario { .. } => String::new(),
        };
        table.row([
            word_cell(&format!("{a}{of_a} vs {b}{of_b}{about}{}", health::claim_words(claim, part))),
            number_cell(&ratio_precise(claim.ratio), claim.ratio),
            Cell {
                text: format!("{}–{}", ratio_precise(claim.low), ratio_precise(claim.high)),
                hint: interval_words(claim, view.confidence),
                ..Cell::default()
            },
            verdict_cell(claim, part),
            number_cell(&p_words(claim.p), claim.p),
            number_cell(&claim.rounds.to_string(), claim.rounds as f64),
            number_cell(&percent(claim.visible), claim.visible),
        ]);
    }
    Some(open_details("Claims", [Block::Table(table)]))
}

pub(super) fn p_words(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}

/// All scenarios of a part, ranked.
pub fn scenarios(i: usize, part: &Part, view: &View) -> Block {
    let unit = Scale::of_part(part).after_name();
    let with_flushes = part.rows.iter().any(|row| row.flushing.is_some());
    let with_errors = part.rows.iter().any(|row| row.error_share() > 0.0);
    let mut heads = vec![
        word_head("scenario"),
        head(&format!("geometric mean{unit}")),
        head(&format!("{} interval", percent(view.confidence))),
    ];
    heads.extend(with_errors.then(|| word_head(errors::HEAD)));
    heads.extend([
        head("median"),
        head("min"),
        head("max"),
        head("vs baseline"),
        word_head("verdict"),
        head("at most behind the best"),
        word_head("after a power cut"),
    ]);
    heads.extend(with_flushes.then(|| head("flushes per commit")));
    heads.extend([head("trials"), head("failed")]);
    let mut table = Table::new(format!("scenarios-{i}"), heads);
    for row in &part.rows {
        let tone = if row.baseline { Tone::Baseline } else { Tone::Plain };
        table.toned_row(tone, scenario_cells(row, part, (with_errors, with_flushes)));
    }
    open_details("Scenarios", [Block::Table(table)])
}

fn scenario_cells(row: &Row, part: &Part, (with_errors, with_flushes): (bool, bool)) -> Vec<Cell> {
    let scale = Scale::of_part(part);
    let number = |value: Option<f64>| value.map_or_else(no_cell, |value| number_cell(&scale.number(value), value));
    let claim = part.claim_of(&row.label);
    let tag = if row.baseline { " (baseline)" } else { "" };
    let interval = row.centre.map_or_else(no_cell, |c| number_cell(&scale.between(c.low, c.high), c.high / c.low));
    let regret = part.judgement.regrets.get(&row.label);
    let mut cells =
        vec![word_cell(&format!("{}{tag}", row.marked())), number(row.centre.map(|centre| centre.mean)), interval];
    cells.extend(with_errors.then(|| wrapped_cell(&errors::cell(row))));
    cells.extend([
        number(row.centre.map(|centre| centre.median)),
        number(row.centre.map(|centre| centre.min)),
        number(row.centre.map(|centre| centre.max)),
        claim.map_or_else(no_cell, |claim| number_cell(&ratio_precise(claim.ratio), claim.ratio)),
        claim.map_or_else(|| word_cell(""), |claim| verdict_cell(claim, part)),
        regret.map_or_else(no_cell, |regret| number_cell(&percent_rounded_up(*regret), *regret)),
        wrapped_cell(&power_cut(row)),
    ]);
    let per_commit = || row.flushing.as_ref().map(Flushing::per_commit);
    cells.extend(with_flushes.then(|| per_commit().map_or_else(no_cell, |ratio| number_cell(&figure(ratio), ratio))));
    let trials = row.centre.map_or(0, |centre| centre.count);
    cells.push(number_cell(&trials.to_string(), trials as f64));
    cells.push(number_cell(&row.failed.to_string(), row.failed as f64));
    cells
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
    let by_settings = row.durability.words();
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
    let scales: Vec<Scale> = names
        .iter()
        .map(|name| {
            let largest = means.values().filter_map(|values| values.get(*name)).fold(0.0f64, |a, b| a.max(b.abs()));
            Scale::of(input.contents.metrics.get(*name).unwrap_or(&unknown(name)), largest)
        })
        .collect();
    let mut heads = vec![word_head("scenario")];
    let heads_of = names.iter().zip(&scales);
    heads.extend(heads_of.map(|(name, scale)| head(&format!("{}{}", words(name), scale.after_name()))));
    let mut table = Table::new(id, heads);
    for row in part.measured() {
        let mut cells = vec![word_cell(&row.marked())];
        for (name, scale) in names.iter().zip(&scales) {
            let value = means[row.label.as_str()].get(*name).copied().unwrap_or(f64::NAN);
            cells.push(number_cell(&scale.number(value), value));
        }
        table.row(cells);
    }
    table
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
        let source = if pivot.source.is_empty() {
            String::new()
        } else {
            format!(" Published figures are another machine's: {}", pivot.source)
        };
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
    let flushing: BTreeMap<&str, &Flushing> = input
        .view()
        .parts
        .iter()
        .flat_map(|part| &part.rows)
        .filter_map(|row| Some((row.label.as_str(), row.flushing.as_ref()?)))
        .collect();
    let mut heads = vec![word_head("scenario"), word_head("after a power cut"), word_head("because")];
    heads.extend((!flushing.is_empty()).then(|| word_head("measured")));
    let mut table = Table::new("durability", heads);
    for scenario in &input.contents.scenarios {
        let reasons = scenario.durability.reasons.join("; ");
        let mut cells =
            vec![word_cell(&scenario.label), wrapped_cell(scenario.durability.class.words()), wrapped_cell(&reasons)];
        let measured = |flushing: &Flushing| {
            let mark = if flushing.is_missing { format!("{MARK}: ") } else { String::new() };
            format!("{mark}{}", flushing.words())
        };
        let measured = || flushing.get(scenario.label.as_str()).map_or_else(String::new, |found| measured(found));
        cells.extend((!flushing.is_empty()).then(|| wrapped_cell(&measured())));
        table.row(cells);
    }
    let counted =
        if flushing.is_empty() { "" } else { " Measured are the flushes that the devices got in all runs together." };
    Block::Section(vec![
        Block::Heading(2, "Safety".into()),
        Block::Note(format!("Derived from the settings, not from power cuts.{counted}")),
        Block::Table(table),
    ])
}

/// As [`figure`], for whoever builds a table of raw values.
pub fn raw(value: f64) -> String {
    if value.abs() >= 1e6 || value.fract() == 0.0 { figure(value) } else { format!("{value:.4}") }
}
