//! What only paper has: scenarios with the short names of wide tables, every judged value of every run, and files inside the document.

use crate::answer;
use crate::document::{Block, Cell, Columns, head, number_cell};
use crate::input::{Counting, Input};
use crate::number::{Scale, date};
use crate::words::{beside, round_words};
use analysis::view::{Part, View};
use ledger::model::{RunRow, Trial, TrialState};
use observe::metric::{Direction, Metric};
use std::collections::BTreeMap;

/// Columns of figures that fit beside scenario, round and run in the tables of raw values.
const FIGURES_MAX: usize = 5;
/// Name of the attachment with every figure of every run.
const RUNS_FILE: &str = "runs.csv";
/// Name of the attachment with the study.
const STUDY_FILE: &str = "study.toml";

/// Label to short name.
type ShortNames = BTreeMap<String, String>;

/// Names for scenarios where there is no room for their labels.
pub fn short_names(input: &Input) -> ShortNames {
    (1..).zip(&input.contents.scenarios).map(|(n, scenario)| (scenario.label.clone(), format!("S{n}"))).collect()
}

/// All scenarios by their short names.
pub fn scenarios(input: &Input) -> Vec<Block> {
    let names = (1..).zip(&input.contents.scenarios).map(|(n, scenario)| (format!("S{n}"), scenario.label.clone()));
    vec![
        Block::Heading(2, "The scenarios".into()),
        Block::Note("Wide tables call them by these numbers.".into()),
        Block::Facts(names.collect()),
    ]
}

/// The document's end: raw values, and what is attached. `runs` is every figure of every run as CSV.
pub fn values_and_files(input: &Input, view: &View, runs: String) -> Vec<Block> {
    let short = short_names(input);
    let mut blocks = vec![Block::NewSheet, Block::Heading(2, "Raw values".into())];
    blocks.extend(raw_values(input, view, &short));
    blocks.extend([
        Block::Heading(2, "Files in this document".into()),
        Block::Attachment {
            file: RUNS_FILE,
            mime: "text/csv",
            description: "Every figure of every run, warm-ups included",
            content: runs,
        },
        Block::Attachment {
            file: STUDY_FILE,
            mime: "application/toml",
            description: "The study as it was run, without changes from the command line",
            content: input.contents.study.text.clone(),
        },
    ]);
    blocks
}

/// Each trial, and what is judged of each run.
fn raw_values(input: &Input, view: &View, short: &ShortNames) -> Vec<Block> {
    let counting = Counting::of(&input.contents);
    let mut blocks =
        vec![Block::Heading(3, "Trials".into()), Block::Note("In order of start.".into()), trials(input, short)];
    for part in &view.parts {
        let labels: Vec<&str> = part.rows.iter().map(|row| row.label.as_str()).collect();
        let trials = counting.runs.iter().map(|(id, runs)| (counting.trials[id], runs));
        let trials = trials.filter(|(trial, _)| labels.contains(&trial.scenario.as_str()));
        let runs = trials.flat_map(|(trial, runs)| runs.iter().map(move |run| (trial, *run)));
        let runs: Vec<(&Trial, &RunRow)> = runs.collect();
        blocks.push(Block::Heading(3, format!("Runs: {}", answer::heading(part))));
        let metrics = judged(part, &runs, input);
        let others = input.contents.metrics.len().saturating_sub(metrics.len());
        blocks.push(Block::Note(format!(
            "Every measured run, by the metrics of which more or less is better; `{RUNS_FILE}`, attached, has {others} more."
        )));
        blocks.extend(metrics.chunks(FIGURES_MAX).map(|some| figures(some, &runs, short)));
    }
    blocks
}

/// Every attempt at every scenario, those that do not count included.
fn trials(input: &Input, short: &ShortNames) -> Block {
    let state = |trial: &Trial| match (trial.state, &trial.failure) {
        (TrialState::Finished, _) => "finished".to_string(),
        (TrialState::Failed, Some(failure)) => format!("failed in {}", failure.step),
        (TrialState::Failed, None) => "failed".into(),
        (TrialState::Interrupted, _) => "interrupted".into(),
        (TrialState::Running, _) => "not ended".into(),
    };
    let seconds = |trial: &Trial| trial.ended.map(|ended| format!("{:.1}", ended - trial.started));
    let table = Columns::of("trials", &input.contents.trials)
        .shown("scenario", |trial| short.get(&trial.scenario).cloned().unwrap_or_default())
        .shown("round", round_words)
        .shown("position", |trial| (trial.position + 1).to_string())
        .shown("seed", |trial| trial.seed.to_string())
        .shown("started", |trial| date(trial.started))
        .shown("seconds", |trial| seconds(trial).unwrap_or_default())
        .words("state", state);
    Block::Table(table.table())
}

/// The metrics of these runs that have a direction, the primary one first.
fn judged(part: &Part, runs: &[(&Trial, &RunRow)], input: &Input) -> Vec<Metric> {
    let has = |name: &str| runs.iter().any(|(_, run)| run.metrics.contains_key(name));
    let others = input.contents.metrics.values().filter(|metric| metric.name != part.metric.name);
    let others = others.filter(|metric| metric.direction != Direction::Neither && has(&metric.name));
    std::iter::once(&part.metric).chain(others).cloned().collect()
}

/// Some metrics of all runs.
fn figures(metrics: &[Metric], runs: &[(&Trial, &RunRow)], short: &ShortNames) -> Block {
    let value = |run: &RunRow, metric: &Metric| run.metrics.get(&*metric.name).copied();
    let table = Columns::of("runs", runs)
        .shown("scenario", |(trial, _)| short.get(&trial.scenario).cloned().unwrap_or_default())
        .shown("round", |(trial, _)| round_words(trial))
        .shown("run", |(_, run)| (run.run + 1).to_string());
    let table = metrics.iter().fold(table, |table, metric| {
        let largest = runs.iter().filter_map(|(_, run)| value(run, metric)).fold(0.0, |a: f64, b| a.max(b.abs()));
        let scale = Scale::of(metric, largest);
        table.column(head(&format!("{}{}", beside(metric, &scale), scale.after_name())), |(_, run)| {
            value(run, metric).map_or_else(Cell::default, |value| number_cell(&scale.number(value), value))
        })
    });
    Block::Table(table.table())
}
