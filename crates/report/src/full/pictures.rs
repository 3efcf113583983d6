//! Charts: which of them, of what, with their captions.

use crate::chart::{self, forest, heat_map, latency, ranking, shares, throughput, trust};
use crate::document::{Block, Chart, Layout, Table, head, no_cell, number_cell, word_cell, word_head};
use crate::flushing::{self, DAGGER, DAGGER_NOTE, Marked as _};
use crate::input::{Counting, Input, Line};
use crate::number::{Scale, percent, words};
use crate::pivot::Pivot;
use crate::{factors, marks};
use analysis::judge::Share;
use analysis::levels::{self, Grid};
use analysis::marks::Kind;
use analysis::means::mean_over_runs;
use analysis::row::Row;
use analysis::view::{Part, View};
use ledger::model::Phase;
use observe::metric::{Direction, Metric};
use stats::Importance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the line of each round's mean says.
const DRIFT_NOTE: &str = "A slope is drift; rounds cancel it out of comparisons.";
const PARTS_NOTE: &str =
    "Each round does another part of the work, which moves the line; rounds cancel it out of comparisons.";

/// Said under the chart of importance.
const IMPORTANCE_NOTE: &str =
    "Share of the variation between trials that each factor explains. It depends on the levels that were chosen.";

/// Kinds of CPU time in the order of the bars; the names are those of `observe`'s metrics: `cpu_user_share` …
const CPU_KINDS: [&str; 6] = ["user", "system", "iowait", "irq", "steal", "idle"];
const CPU_BARS: &str = "Stacked bars; each adds up to all CPU time of the machine.";
/// A line of fewer seconds shows nothing: runs by short turns have no whole one.
pub const SECONDS_MIN: usize = 2;
/// Bars drawn, the best scenarios first.
const BARS_MAX: usize = 40;

/// Every trial, ranked, and every claim with its interval.
pub fn ranking_and_forest(i: usize, part: &Part, view: &View) -> Option<Block> {
    beside_each_other([ranking(i, part, view), forest(i, part, view)].into_iter().flatten().collect())
}

/// Charts beside each other, if there are any.
fn beside_each_other(charts: Vec<Chart>) -> Option<Block> {
    (!charts.is_empty()).then_some(Block::Charts(Layout::Grid, charts))
}

/// Every trial, ranked.
fn ranking(i: usize, part: &Part, view: &View) -> Option<Chart> {
    let picture = ranking::draw(&format!("ranking-{i}"), part, view.margin)?;
    let measured = part.measured().count();
    let mut caption = format!(
        "Small marks are trials; the large one is their geometric mean with its {} interval. The band is within {} of the best.",
        percent(view.confidence),
        percent(view.margin)
    );
    if measured > ranking::ROWS_MAX {
        let _ =
            write!(caption, " The best {} of {measured} scenarios are drawn; the table has all.", ranking::ROWS_MAX);
    }
    if part.rows.iter().any(|row| row.values.len() > ranking::DOTS_MAX) {
        let _ = write!(caption, " About {} trials a scenario are drawn; `report --csv` has all.", ranking::DOTS_MAX);
    }
    caption.push_str(&dagger_note(picture.svg.contains(DAGGER)));
    Some(Chart::new(picture, caption))
}

/// Every claim with its interval.
fn forest(i: usize, part: &Part, view: &View) -> Option<Chart> {
    let picture = forest::draw(&format!("forest-{i}"), part, view.margin)?;
    let mut caption = format!(
        "Ratios with their {} intervals. Inside the band (±{}) a difference does not matter; an interval across the dashed line shows none.",
        percent(view.confidence),
        percent(view.margin)
    );
    let claims = part.judgement.claims.len();
    if claims > forest::ROWS_MAX {
        let _ =
            write!(caption, " The first {} of {claims} comparisons are drawn; the table has all.", forest::ROWS_MAX);
    }
    let is_marked =
        part.judgement.claims.iter().any(|claim| flushing::marks(part, claim).iter().any(|mark| !mark.is_empty()));
    Some(Chart::new(picture, format!("{caption}{}", dagger_note(is_marked))))
}

fn dagger_note(is_marked: bool) -> String {
    if is_marked { format!(" {DAGGER_NOTE}") } else { String::new() }
}

/// A table of the study as a picture.
pub fn levels(i: usize, pivot: &Pivot, confidence: f64) -> Option<Block> {
    let picture = chart::levels::draw(&format!("levels-{i}"), pivot)?;
    let arithmetic =
        if pivot.has_arithmetic() { ", or of a count that is 0 in a round its arithmetic mean" } else { "" };
    let caption = format!("Geometric means over rounds with their {} intervals{arithmetic}.", percent(confidence));
    let left_out = chart::levels::left_out(pivot);
    let chart = Chart::new(picture, format!("{caption}{left_out}{}", dagger_note(pivot.is_marked())));
    Some(Block::Charts(Layout::Below, vec![chart]))
}

/// Factors whose pairs are drawn, the weightiest.
const PAIRED_MAX: usize = 3;

/// What the weightiest factors do to each other's effect: a chart a pair, and a heat map of the first two.
pub fn interplay(i: usize, part: &Part, view: &View) -> Vec<Block> {
    let factors = levels::factors(part);
    let Some([first, second]) = factors.first_chunk::<2>() else { return Vec::new() };
    let confidence = percent(view.confidence);
    let mut charts = Vec::new();
    let paired = &factors[..factors.len().min(PAIRED_MAX)];
    for (n, row) in paired.iter().enumerate() {
        for column in &paired[..n] {
            // Levels that are numbers go along the axis.
            let (series, along) = if row.is_ordered && !column.is_ordered { (column, row) } else { (row, column) };
            let grid = levels::grid(part, series, along);
            let id = format!("interplay-{i}-{n}-{}", column.path);
            if let Some(picture) = chart::interplay::draw(&id, &grid, &Scale::of_part(part)) {
                let caption = format!(
                    "{} at each level of {}: geometric means over all else with their {confidence} intervals. Where both act alone, all series have the same shape.{}",
                    along.name,
                    series.name,
                    cells_note(&grid)
                );
                charts.push(Chart::new(picture, caption));
            }
        }
    }
    let (down, along) = if first.levels.len() < second.levels.len() { (second, first) } else { (first, second) };
    let grid = levels::grid(part, down, along);
    if let Some(picture) = heat_map::draw(&format!("heat-{i}"), &grid, &Scale::of_part(part), part.more_is_better) {
        let caption = format!(
            "The two factors that matter most, {} down and {} across: blue is better than the mean of all cells, orange worse; hatched cells can't be told from the best.{}",
            down.name,
            along.name,
            cells_note(&grid)
        );
        charts.push(Chart::new(picture, caption));
    }
    beside_each_other(charts)
        .map_or_else(Vec::new, |charts| vec![Block::Heading(3, "How factors work together".into()), charts])
}

/// What of a grid's cells has to be said below it.
fn cells_note(grid: &Grid) -> String {
    let sum = |of: fn(&levels::Cell) -> usize| grid.placed().map(|(_, _, cell)| of(cell)).sum::<usize>();
    let failed = match sum(|cell| cell.failed) {
        0 => String::new(),
        1 => " One scenario failed in every round and is missing from its mean.".into(),
        count => format!(" {count} scenarios failed in every round and are missing from their means."),
    };
    let holes = match sum(|cell| cell.open) {
        0 => failed,
        count => format!("{failed} Not measured yet: {count} of the scenarios."),
    };
    format!("{}{holes}", dagger_note(grid.placed().any(|(_, _, cell)| cell.does_not_flush)))
}

/// One bar: what explains the variation; and a table of it.
pub fn importance(i: usize, part: &Part) -> Vec<Block> {
    let (terms, Ok(shares)) = (part.judgement.importance(), part.judgement.shares.as_ref()) else { return Vec::new() };
    let mut names: Vec<&str> = terms.iter().map(|share| share.name.as_str()).collect();
    names.push("noise");
    let mut values: Vec<f64> = terms.iter().map(|share| share.share).collect();
    values.push(shares.noise_share);
    let approximate = if shares.approximate { " (approximate)" } else { "" };
    let bar = shares::Bar { label: format!("{}: what mattered{approximate}", part.workload), shares: values };
    let title = "Share of the variation that each factor explains";
    let Some(picture) = shares::draw(&format!("importance-{i}"), (title, "One stacked bar."), &names, &[bar]) else {
        return Vec::new();
    };
    let note = if shares.approximate { factors::APPROXIMATE } else { "" };
    let chart = Chart::new(picture, format!("{IMPORTANCE_NOTE} {note}"));
    vec![Block::Charts(Layout::Inside, vec![chart]), Block::Table(shares_table(i, part, &terms, shares))]
}

/// The shares with what they are without any one round; drift is apart from the 100 %.
fn shares_table(i: usize, part: &Part, terms: &[Share], shares: &Importance) -> Table {
    let heads = [word_head("of the variation"), head("share"), head("without any one round")];
    let mut table = Table::new(format!("shares-{i}"), heads);
    let mut row = |name: &str, share: f64, range: Option<(f64, f64)>| {
        let ends = range.map(|(low, high)| (low, format!("{} – {}", percent(low), percent(high))));
        let range = ends.map_or_else(no_cell, |(low, ends)| number_cell(&ends, low));
        table.row([word_cell(name), number_cell(&percent(share), share), range]);
    };
    terms.iter().for_each(|term| row(&term.name, term.share, term.range));
    row("noise", shares.noise_share, None);
    row(&format!("{}, apart from these 100 %", factors::between_rounds(part)), shares.drift_share, None);
    table
}

/// Latency, throughput and CPU: why the speeds are what they are.
pub fn explanations(input: &Input, view: &View) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (i, part) in view.parts.iter().enumerate() {
        let charts = latencies(i, part, input).into_iter().chain(cpu(i, part, input)).collect();
        let charts = beside_each_other(charts).into_iter();
        blocks.extend(charts.flat_map(|charts| [heading("Latency and CPU", part), charts]));
        blocks.extend(series(i, part, input));
    }
    blocks
}

fn heading(text: &str, part: &Part) -> Block {
    Block::Heading(2, format!("{text}: {}", part.workload))
}

/// The rows whose curves are drawn: the best and the baseline.
fn chosen(part: &Part) -> Vec<&Row> {
    let mut rows: Vec<&Row> = part.measured().filter(|row| !row.control).take(latency::LINES_MAX).collect();
    if let Some(baseline) = part.measured().find(|row| row.baseline).filter(|_| !rows.iter().any(|row| row.baseline)) {
        rows.pop();
        rows.push(baseline);
    }
    rows
}

fn latencies(i: usize, part: &Part, input: &Input) -> Vec<Chart> {
    let of = |row: &Row| input.details.latencies.get(&row.label);
    let mut operations: Vec<&String> =
        part.measured().filter_map(of).flat_map(|by_operation| by_operation.keys()).collect();
    operations.sort();
    operations.dedup();
    let rows = chosen(part);
    let (drawn, all) = (rows.len(), part.measured().filter(|row| !row.control).count());
    let some = format!(" Drawn are {drawn} of {all} scenarios, the best and the baseline.");
    let some = if all > drawn { some.as_str() } else { "" };
    let mut charts = Vec::new();
    for (n, operation) in operations.iter().enumerate() {
        let found = rows.iter().filter_map(|row| Some((row.index, row.marked(), of(row)?.get(*operation)?)));
        let found: Vec<_> = found.collect();
        let curves: Vec<latency::Curve> =
            found.iter().map(|(index, label, latency)| latency::Curve { index: *index, label, latency }).collect();
        if let Some(picture) = latency::draw(&format!("latency-{i}-{n}"), operation, &curves) {
            let caption = format!(
                "Latency of {}, all runs merged; towards the right the slowest.{some}{}{}",
                words(operation),
                sample_note(input),
                dagger_note(picture.svg.contains(DAGGER))
            );
            charts.push(Chart::new(picture, caption));
        }
    }
    charts
}

/// Said when not every run's detail was read.
fn sample_note(input: &Input) -> String {
    let details = &input.details;
    if details.runs_read >= details.runs_all {
        return String::new();
    }
    format!(" From {} of {} runs, spread evenly; `report --csv` has all.", details.runs_read, details.runs_all)
}

fn series(i: usize, part: &Part, input: &Input) -> Vec<Block> {
    let Some(name) = rate_of(part, input) else { return Vec::new() };
    let lines_of = |row: &Row| lines_of(&input.details.series, row, &name);
    let rows: Vec<&Row> = part.measured().collect();
    let shown: Vec<&Row> =
        rows.iter().copied().filter(|row| !lines_of(row).is_empty()).take(throughput::PANELS_MAX).collect();
    let labels: Vec<String> = shown.iter().map(|row| row.marked()).collect();
    let names = chart::fitted_names(&labels, throughput::NAME_ROOM);
    let panel = |(n, row): (usize, &&Row)| {
        let lines = lines_of(row);
        let drawn: Vec<&Line> = lines.iter().step_by(lines.len().div_ceil(throughput::LINES_MAX).max(1)).collect();
        let before = self::lines_of(&input.details.warm_ups, row, &name).iter();
        let warm_ups = before.filter(|line| drawn.iter().any(|measured| measured.round == line.round));
        let warm_ups = warm_ups.take(throughput::WARM_UPS_MAX).collect();
        throughput::Panel { index: row.index, label: &labels[n], name: &names[n], lines: drawn, warm_ups }
    };
    let panels: Vec<throughput::Panel> = shown.iter().enumerate().map(panel).collect();
    let lines = panels.iter().flat_map(|panel| panel.lines.iter().chain(&panel.warm_ups));
    let high = lines.flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let longest = panels.iter().map(|panel| longest_of(&panel.lines)).max().unwrap_or(0);
    if high <= 0.0 || longest < SECONDS_MIN {
        return Vec::new();
    }
    let seconds = |of: fn(&throughput::Panel) -> usize| panels.iter().map(of).max().unwrap_or(0) as f64;
    let unknown = Metric::named(name.clone(), "1/s".into(), Direction::More);
    let scale = Scale::of(input.contents.metrics.get(&name).unwrap_or(&unknown), high);
    let frame = throughput::Frame {
        series: &words(&name),
        high,
        seconds: longest as f64,
        warm_up_seconds: seconds(|panel| longest_of(&panel.warm_ups)),
        scale: &scale,
    };
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" ({})", scale.unit) };
    let most = shown.iter().map(|row| lines_of(row).len()).max().unwrap_or(0);
    let note = format!(
        "{}{unit} in each second, one line a run. Dips may be flushes, journal commits or stalls.{}{}",
        words(&name),
        left_out((shown.len(), rows.len()), most),
        sample_note(input),
    );
    let charts = panels.iter().enumerate().map(|(n, panel)| {
        let picture = throughput::draw(&format!("series-{i}-{n}"), panel, frame);
        Chart::new(picture, "")
    });
    let charts = Block::Charts(Layout::Panels, charts.collect());
    [heading("Second by second", part), Block::Note(note)].into_iter().chain(legend(&panels)).chain([charts]).collect()
}

fn lines_of<'a>(series: &'a BTreeMap<String, BTreeMap<String, Vec<Line>>>, row: &Row, name: &str) -> &'a [Line] {
    series.get(&row.label).and_then(|series| series.get(name)).map_or(&[], Vec::as_slice)
}

fn longest_of(lines: &[&Line]) -> usize {
    lines.iter().map(|line| line.seconds()).max().unwrap_or(0)
}

/// How many of the scenarios, and of the most runs of one, are drawn.
fn left_out((drawn, all): (usize, usize), runs: usize) -> String {
    let mut said = String::new();
    if all > drawn {
        let _ = write!(said, " Drawn are {drawn} of {all} scenarios.");
    }
    if runs > throughput::LINES_MAX {
        let _ = write!(said, " Lines are those of at most {} of {runs} runs, spread evenly.", throughput::LINES_MAX);
    }
    said
}

/// What is marked in the panels, and how.
fn legend(panels: &[throughput::Panel]) -> Option<Block> {
    let mut entries = Vec::new();
    if panels.iter().any(|panel| !panel.warm_ups.is_empty()) {
        let shaded = "Shaded: the warm-up before the measured window, which begins at 0 s, of at most";
        entries.push(format!("{shaded} {} runs.", throughput::WARM_UPS_MAX));
    }
    let has = |kind: Kind| panels.iter().flat_map(|panel| &panel.lines).any(|line| !line.marks.at(kind).is_empty());
    let kinds = Kind::ALL.into_iter().filter(|kind| has(*kind));
    entries.extend(kinds.map(|kind| format!("{} {}.", marks::sign(kind), marks::legend(kind))));
    (!entries.is_empty()).then(|| Block::Note(entries.join(" ")))
}

/// The series that shows how a workload went: its primary metric's; where that has none (a time has none), a rate of its own.
pub fn rate_of(part: &Part, input: &Input) -> Option<String> {
    let series =
        || part.measured().filter_map(|row| input.details.series.get(&row.label)).flat_map(|series| series.keys());
    let primary = || series().find(|name| **name == part.metric.name);
    let own = || series().filter(|name| name.ends_with("_per_second")).min();
    primary().or_else(own).or_else(|| series().next()).cloned()
}

fn cpu(i: usize, part: &Part, input: &Input) -> Option<Chart> {
    let counting = Counting::of(&input.contents);
    let mut bars = Vec::new();
    for row in part.measured().take(BARS_MAX) {
        let found: Vec<Option<f64>> =
            CPU_KINDS.iter().map(|kind| mean_over_runs(&counting, row, &format!("cpu_{kind}_share"))).collect();
        if found.iter().any(Option::is_some) {
            bars.push(shares::Bar {
                label: row.label.clone(),
                shares: found.into_iter().map(Option::unwrap_or_default).collect(),
            });
        }
    }
    let title = format!("{}: where the CPU went", part.workload);
    let picture = shares::draw(&format!("cpu-{i}"), (&title, CPU_BARS), &CPU_KINDS, &bars)?;
    let measured = part.measured().count();
    let some = if measured > BARS_MAX {
        format!(" The best {BARS_MAX} of {measured} scenarios are drawn.")
    } else {
        String::new()
    };
    let caption =
        "Where the CPU went, mean over all runs. Much idle and iowait: the device is the limit; little: the CPU is.";
    Some(Chart::new(picture, format!("{caption}{some}")))
}

/// Each trial against the wall clock.
pub fn trust(input: &Input, view: &View) -> Option<Block> {
    let counting = Counting::of(&input.contents);
    let begin = input.contents.trials.iter().map(|trial| trial.started).fold(f64::INFINITY, f64::min);
    let mut charts = Vec::new();
    for (i, part) in view.parts.iter().enumerate() {
        let rows: std::collections::HashMap<&str, &Row> =
            part.measured().map(|row| (row.label.as_str(), row)).collect();
        let dot = |trial: &&'_ ledger::model::Trial| {
            let row = rows.get(trial.scenario.as_str())?;
            let value = (*row.values.get(trial.round as usize)?)?;
            // Who stalled has a mean of 0: its trials are seen against their median.
            let middle = row.centre.map(|centre| if centre.mean > 0.0 { centre.mean } else { centre.median })?;
            let deviation = if middle > 0.0 { value / middle - 1.0 } else { 0.0 };
            let seconds = trial.started - begin;
            Some(trust::Dot { index: row.index, label: &row.label, round: trial.round, seconds, deviation })
        };
        // New rounds are counted from the first again, and are compared by themselves.
        let mains = counting.trials.values().filter(|trial| trial.phase == Phase::Main);
        let dots: Vec<trust::Dot> = mains.filter_map(dot).collect();
        if let Some(picture) = trust::draw(&format!("trust-{i}"), &dots) {
            let slope = if part.goes_in_parts() { PARTS_NOTE } else { DRIFT_NOTE };
            let workload = &part.workload;
            let caption = format!(
                "{workload}: each trial's distance from its scenario's mean; the line is each round's mean. {slope}"
            );
            charts.push(Chart::new(picture, caption));
        }
    }
    Some(Block::Section(vec![Block::Heading(2, "Can it be trusted?".into()), beside_each_other(charts)?]))
}
