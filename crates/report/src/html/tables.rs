//! The page's tables: claims, scenarios, metrics, durability.

use super::pictures;
use crate::answer::{interval_words, verdict_words};
use crate::chart::escape;
use crate::errors;
use crate::flushing::{Flushing, MARK, Words as _};
use crate::health;
use crate::input::{Counting, Input};
use crate::judge::{Claim, Subject, short_factor};
use crate::notes;
use crate::number::{Scale, figure, percent, ratio_precise, rounded, words};
use crate::pivot;
use crate::safety;
use crate::view::{Part, Row, View};
use ledger::figure::{self, Zero};
use observe::metric::Metric;
use stats::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A table that scrolls sideways in its own box; `heads` may hold markup, `id` is unique on the page.
pub struct Table {
    html: String,
}

impl Table {
    /// With its heads; sortable by them.
    #[must_use]
    pub fn new(id: &str, heads: &[String]) -> Table {
        let mut html = format!("<div class=\"scroll\"><table class=\"sortable\" id=\"{id}\"><thead><tr>");
        for head in heads {
            html.push_str(head);
        }
        html.push_str("</tr></thead><tbody>");
        Table { html }
    }

    /// One row of ready cells.
    pub fn row(&mut self, class: &str, cells: &[String]) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.html, "<tr{class}>{}</tr>", cells.concat());
    }

    /// The element.
    #[must_use]
    pub fn finish(self) -> String {
        self.html + "</tbody></table></div>"
    }
}

/// A head of a column of figures.
#[must_use]
pub fn head(text: &str) -> String {
    format!("<th scope=\"col\" class=\"metric\">{}</th>", escape(text))
}

/// A head of a column of words.
#[must_use]
pub fn word_head(text: &str) -> String {
    format!("<th scope=\"col\" class=\"words\">{}</th>", escape(text))
}

/// A cell with a figure: what is shown, and the number to sort by.
#[must_use]
pub fn number_cell(shown: &str, value: f64) -> String {
    if !value.is_finite() {
        return "<td>–</td>".into();
    }
    // A figure that is shown whole sorts by itself.
    if shown == value.to_string() {
        return format!("<td>{shown}</td>");
    }
    format!("<td data-v=\"{}\">{}</td>", rounded(value, 9), escape(shown))
}

/// A cell with words.
#[must_use]
pub fn word_cell(text: &str) -> String {
    format!("<td class=\"words\">{}</td>", escape(text))
}

/// A cell with words that may take several lines.
#[must_use]
pub fn wrapped_cell(text: &str) -> String {
    format!("<td class=\"words wrap\">{}</td>", escape(text))
}

/// The verdict with its colour; the words say it too.
fn verdict_cell(claim: &Claim, part: &Part) -> String {
    let class = match claim.verdict {
        Some(Verdict::Faster) => "words faster",
        Some(Verdict::Slower) => "words slower",
        _ => "words",
    };
    format!("<td class=\"{class}\">{}</td>", escape(&verdict_words(claim, part)))
}

/// Every claim of the declared family, with its corrected p.
#[must_use]
pub fn claims(i: usize, part: &Part, view: &View) -> String {
    if part.judgement.claims.is_empty() {
        return String::new();
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
    let mut table = Table::new(&format!("claims-{i}"), &heads);
    for claim in part.judgement.claims.iter().chain(&part.judgement.control) {
        let ((a, b), [of_a, of_b]) = (claim.names(), part.marks(claim));
        let about = match &claim.subject {
            Subject::Level { factor, .. } => format!(" ({})", short_factor(factor)),
            Subject::Control { .. } => " (A/A control)".into(),
            Subject::Scenario { .. } => String::new(),
        };
        table.row(
            "",
            &[
                word_cell(&format!("{a}{of_a} vs {b}{of_b}{about}{}", health::claim_words(claim, part))),
                number_cell(&ratio_precise(claim.ratio), claim.ratio),
                format!(
                    "<td title=\"{}\">{}–{}</td>",
                    escape(&interval_words(claim, view.confidence)),
                    ratio_precise(claim.low),
                    ratio_precise(claim.high)
                ),
                verdict_cell(claim, part),
                number_cell(&p_words(claim.p), claim.p),
                number_cell(&claim.rounds.to_string(), claim.rounds as f64),
                number_cell(&percent(claim.visible), claim.visible),
            ],
        );
    }
    format!("<details open><summary>Claims</summary>{}</details>", table.finish())
}

pub(super) fn p_words(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}

/// All scenarios of a part, ranked.
#[must_use]
pub fn scenarios(i: usize, part: &Part, view: &View) -> String {
    let unit = if part.scale.unit.is_empty() { String::new() } else { format!(", {}", part.scale.unit) };
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
    let mut table = Table::new(&format!("scenarios-{i}"), &heads);
    for row in &part.rows {
        table.row(if row.baseline { "base" } else { "" }, &scenario_cells(row, part, (with_errors, with_flushes)));
    }
    format!("<details open><summary>Scenarios</summary>{}</details>", table.finish())
}

fn scenario_cells(row: &Row, part: &Part, (with_errors, with_flushes): (bool, bool)) -> Vec<String> {
    let none = || "<td>–</td>".to_string();
    let number = |value: Option<f64>| value.map_or_else(none, |value| number_cell(&part.scale.number(value), value));
    let claim = part.claim_of(&row.label);
    let tag = if row.baseline { " (baseline)" } else { "" };
    let interval = row.centre.map_or_else(none, |c| {
        number_cell(&format!("{}–{}", part.scale.number(c.low), part.scale.number(c.high)), c.high / c.low)
    });
    let regret = part.judgement.regrets.get(&row.label);
    let mut cells =
        vec![word_cell(&format!("{}{tag}", row.marked())), number(row.centre.map(|centre| centre.mean)), interval];
    cells.extend(with_errors.then(|| wrapped_cell(&errors::cell(row))));
    cells.extend([
        number(row.centre.map(|centre| centre.median)),
        number(row.centre.map(|centre| centre.min)),
        number(row.centre.map(|centre| centre.max)),
        claim.map_or_else(none, |claim| number_cell(&ratio_precise(claim.ratio), claim.ratio)),
        claim.map_or_else(|| word_cell(""), |claim| verdict_cell(claim, part)),
        regret.map_or_else(none, |regret| number_cell(&percent(*regret), *regret)),
        wrapped_cell(&power_cut(row)),
    ]);
    let per_commit = || row.flushing.as_ref().map(Flushing::per_commit);
    cells.extend(with_flushes.then(|| per_commit().map_or_else(none, |ratio| number_cell(&figure(ratio), ratio))));
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
#[must_use]
pub fn metrics(i: usize, part: &Part, input: &Input) -> String {
    let means = metric_means(part, input);
    let mut names: Vec<&String> = means.values().flat_map(BTreeMap::keys).collect();
    names.sort();
    names.dedup();
    // Of each of a hundred operations, for another tool's form.
    names.retain(|name| !name.starts_with("operation_"));
    let (own, machine): (Vec<&String>, Vec<&String>) = names.into_iter().partition(|name| is_own(name));
    let mut html = String::new();
    for (title, id, names) in
        [("Metrics of the workload", "own", own), ("What the machine did meanwhile", "machine", machine)]
    {
        if names.is_empty() {
            continue;
        }
        let table = metric_table(&format!("metrics-{id}-{i}"), part, &names, &means, input);
        let _ = write!(
            html,
            "<details><summary>{title} ({})</summary><p class=\"note\">Geometric means over trials. Where a value is 0: of the primary metric 0, of others the arithmetic mean.</p>{table}</details>",
            names.len()
        );
    }
    html
}

/// Names that `observe` gives to what it samples begin with what was sampled.
#[must_use]
pub fn is_own(name: &str) -> bool {
    const MACHINE: [&str; 10] = [
        "cpu",
        "device_",
        "backing_device_",
        "memory_",
        "dirty_",
        "pressure_",
        "context_",
        "driver_",
        "others_",
        "filesystem_",
    ];
    !MACHINE.iter().any(|prefix| name.starts_with(prefix))
}

type Means<'a> = BTreeMap<&'a str, BTreeMap<String, f64>>;

/// By scenario and metric, over the figures of trials.
fn metric_means<'a>(part: &'a Part, input: &Input) -> Means<'a> {
    let counting = Counting::of(&input.contents);
    let mut figures: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for (id, runs) in &counting.runs {
        let mut of_trial: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (name, value) in runs.iter().flat_map(|run| &run.metrics) {
            of_trial.entry(name).or_default().push(*value);
        }
        let of_scenario = figures.entry(&counting.trials[id].scenario).or_default();
        for (name, values) in of_trial {
            of_scenario.entry(name).or_default().extend(figure::of_runs(&values, zero(part, name)));
        }
    }
    let of_row = |label: &str| -> BTreeMap<String, f64> {
        let found = figures.get(label).into_iter().flatten().filter(|(_, values)| !values.is_empty());
        found.map(|(name, values)| ((*name).to_string(), figure::mean(values, zero(part, name)))).collect()
    };
    part.measured().map(|row| (row.label.as_str(), of_row(&row.label))).collect()
}

fn zero(part: &Part, metric: &str) -> Zero {
    if *part.metric.name == *metric { Zero::Stall } else { Zero::Count }
}

fn metric_table(id: &str, part: &Part, names: &[&String], means: &Means, input: &Input) -> String {
    let unknown = |name: &str| Metric::named(name.into(), String::new(), observe::metric::Direction::Neither);
    let scales: Vec<Scale> = names
        .iter()
        .map(|name| {
            let largest = means.values().filter_map(|values| values.get(*name)).fold(0.0f64, |a, b| a.max(b.abs()));
            Scale::of(input.contents.metrics.get(*name).unwrap_or(&unknown(name)), largest)
        })
        .collect();
    let mut heads = vec![word_head("scenario")];
    heads.extend(names.iter().zip(&scales).map(|(name, scale)| {
        head(&if scale.unit.is_empty() { words(name) } else { format!("{}, {}", words(name), scale.unit) })
    }));
    let mut table = Table::new(id, &heads);
    for row in part.measured() {
        let mut cells = vec![word_cell(&row.marked())];
        for (name, scale) in names.iter().zip(&scales) {
            let value = means[row.label.as_str()].get(*name).copied().unwrap_or(f64::NAN);
            cells.push(number_cell(&scale.number(value), value));
        }
        table.row("", &cells);
    }
    table.finish()
}

/// What the workload had to say of its runs, of each scenario as much as there is room for.
#[must_use]
pub fn notes(i: usize, part: &Part, input: &Input) -> String {
    let all = notes::of_part(part, input);
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&format!("notes-{i}"), &["scenario", "what the workload said"].map(word_head));
    for row in &part.rows {
        let of_row: Vec<&notes::Said> = all.iter().filter(|said| said.scenario == row.label).collect();
        let more = of_row.len().saturating_sub(notes::OF_SCENARIO_MAX);
        for said in of_row.iter().take(notes::OF_SCENARIO_MAX) {
            table.row("", &[word_cell(&row.marked()), wrapped_cell(&said.words())]);
        }
        if more > 0 {
            table.row("", &[word_cell(&row.marked()), wrapped_cell(&format!("and {more} more; `--json` has all"))]);
        }
    }
    format!("<h3>What the workload said</h3>{}", table.finish())
}

/// The tables that the study asks for, published figures below ours.
#[must_use]
pub fn pivots(input: &Input) -> String {
    let mut html = String::new();
    for (i, pivot) in pivot::pivots(&input.contents, input.view()).iter().enumerate() {
        let mut heads = vec![word_head("")];
        heads.extend(pivot.columns.iter().map(|name| head(name)));
        let mut table = Table::new(&format!("pivot-{i}"), &heads);
        let number = |value: f64| pivot.scale.number(value);
        for (row, cells) in &pivot.rows {
            let ours = cells.iter().map(|cell| match cell.ours {
                Some(ours) => {
                    let shown = format!("{} ({}–{})", number(ours.median), number(ours.min), number(ours.max));
                    let mark = if cell.does_not_flush { format!(" {MARK}") } else { String::new() };
                    number_cell(&format!("{shown}{mark}"), ours.median)
                }
                None => "<td>–</td>".into(),
            });
            table.row("", &[word_cell(row)].into_iter().chain(ours).collect::<Vec<_>>());
            if cells.iter().any(|cell| cell.published.is_some()) {
                let published = cells.iter().map(|cell| match cell.published {
                    Some(value) => number_cell(&number(value), value),
                    None => "<td>–</td>".into(),
                });
                let name = word_cell(&format!("{row}, published"));
                table.row("other", &[name].into_iter().chain(published).collect::<Vec<_>>());
            }
        }
        let source = if pivot.source.is_empty() {
            String::new()
        } else {
            format!(" Published figures are another machine's: {}", escape(pivot.source))
        };
        let (title, note, table) = (escape(&pivot.title), pivot::NOTE, table.finish());
        let picture = pictures::levels(i, pivot, input.contents.study.analysis.confidence).unwrap_or_default();
        let _ = write!(html, "<h3>{title}</h3>{picture}<p class=\"note\">{note}{source}</p>{table}");
    }
    if html.is_empty() { html } else { format!("<section><h2>Tables of the study</h2>{html}</section>") }
}

/// What a power cut takes, scenario by scenario, and why.
#[must_use]
pub fn durability(input: &Input) -> String {
    let flushing: BTreeMap<&str, &Flushing> = input
        .view()
        .parts
        .iter()
        .flat_map(|part| &part.rows)
        .filter_map(|row| Some((row.label.as_str(), row.flushing.as_ref()?)))
        .collect();
    let mut heads = vec![word_head("scenario"), word_head("after a power cut"), word_head("because")];
    heads.extend((!flushing.is_empty()).then(|| word_head("measured")));
    let mut table = Table::new("durability", &heads);
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
        table.row("", &cells);
    }
    let counted =
        if flushing.is_empty() { "" } else { " Measured are the flushes that the devices got in all runs together." };
    format!(
        "<section><h2>Safety</h2><p class=\"note\">Derived from the settings, not from power cuts.{counted}</p>{}</section>",
        table.finish()
    )
}

/// As [`figure`], for whoever builds a table of raw values.
#[must_use]
pub fn raw(value: f64) -> String {
    if value.abs() >= 1e6 || value.fract() == 0.0 { figure(value) } else { format!("{value:.4}") }
}
