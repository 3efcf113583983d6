//! `report --pdf`: what stands on paper, and in which order. Setting it is `typeset`'s.
//!
//! Who reads only the paper can do the study again: study file, machine, commands and every judged figure of every run are on it.
//! What the page shows comes from the page (`print/page.rs`); only the raw values are laid out anew.

pub mod block;
mod page;

use self::block::{Block, Head};
use self::page::ShortNames;
use crate::answer;
use crate::html;
use crate::input::{Counting, Input};
use crate::number::{Scale, date, words};
use crate::view::{Part, View};
use ledger::model::{RunRow, Trial, TrialState};
use observe::metric::{Direction, Metric};
use serde::Serialize;
use std::collections::BTreeMap;

/// Columns of figures that fit beside each other in the tables of raw values.
const FIGURES_MAX: usize = 6;
/// Name of the attachment with every figure of every run.
pub const RUNS_FILE: &str = "runs.csv";
/// Name of the attachment with the study.
const STUDY_FILE: &str = "study.toml";

/// A document's description, and the files that it names.
#[derive(Debug)]
pub struct Print {
    /// JSON in the shape that `typeset` sets.
    pub description: String,
    /// Charts and attachments by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

#[derive(Serialize)]
struct Description {
    title: String,
    author: String,
    above: String,
    below: String,
    footer: String,
    blocks: Vec<Block>,
}

/// The whole report for paper; `runs` is every figure of every run as CSV, which is attached.
#[must_use]
pub fn print(input: &Input, runs: Vec<u8>) -> Print {
    let (view, study) = (input.view(), &input.contents.study);
    let mut files = BTreeMap::new();
    let short: ShortNames =
        (1..).zip(&input.contents.scenarios).map(|(n, scenario)| (scenario.label.clone(), format!("S{n}"))).collect();
    let mut blocks = page::blocks(&html::answer_and_warnings(input), &short, &mut files);
    blocks.push(heading(1, "The scenarios"));
    blocks.push(Block::Note { text: "Wide tables call them by these numbers.".into() });
    let in_order =
        input.contents.scenarios.iter().map(|scenario| (short[&scenario.label].clone(), scenario.label.clone()));
    blocks.push(Block::Facts { rows: in_order.collect() });
    blocks.extend(page::blocks(&html::rest_for_paper(input), &short, &mut files));
    blocks.push(Block::NewPage);
    blocks.push(heading(1, "Raw values"));
    blocks.extend(raw_values(input, view, &short));
    blocks.push(heading(1, "Files in this document"));
    files.insert(RUNS_FILE.into(), runs);
    files.insert(STUDY_FILE.into(), study.text.clone().into_bytes());
    blocks.push(attachment(RUNS_FILE, "text/csv", "Every figure of every run, warm-ups included"));
    blocks.push(attachment(
        STUDY_FILE,
        "application/toml",
        "The study as it was run, without changes from the command line",
    ));
    let hash: String = study.hash.chars().take(12).collect();
    let description = Description {
        title: if study.question.is_empty() { study.name.clone() } else { study.question.clone() },
        author: format!("surefoot {}", study.surefoot_version),
        above: format!("surefoot study {} · {}", study.name, date(study.created)),
        below: html::machine_line(input),
        footer: format!("{} · study {hash} · seed {} · surefoot {}", study.name, study.seed, study.surefoot_version),
        blocks,
    };
    let description = serde_json::to_string(&description).expect("words and numbers are JSON");
    Print { description, files }
}

fn heading(level: u8, text: &str) -> Block {
    Block::Heading { level, text: text.into() }
}

fn attachment(file: &str, mime: &str, what: &str) -> Block {
    Block::Attachment {
        file: file.into(),
        description: what.into(),
        mime: mime.into(),
        text: format!("`{file}` is attached: {}.", what.to_lowercase()),
    }
}

/// Each trial, and what is judged of each run.
fn raw_values(input: &Input, view: &View, short: &ShortNames) -> Vec<Block> {
    let counting = Counting::of(&input.contents);
    let mut blocks = vec![heading(2, "Trials"), trials(input, short)];
    for part in &view.parts {
        let labels: Vec<&str> = part.rows.iter().map(|row| row.label.as_str()).collect();
        let runs: Vec<(&Trial, &RunRow)> = counting
            .runs
            .iter()
            .map(|(id, runs)| (counting.trials[id], runs))
            .filter(|(trial, _)| labels.contains(&trial.scenario.as_str()))
            .flat_map(|(trial, runs)| runs.iter().map(move |run| (trial, *run)))
            .collect();
        blocks.push(heading(2, &format!("Runs: {}", answer::heading(part))));
        let metrics = judged(part, &runs, input);
        let others = input.contents.metrics.len().saturating_sub(metrics.len());
        blocks.push(Block::Note {
            text: format!(
                "What has a better and a worse of every measured run; `{RUNS_FILE}`, attached, has {others} more metrics that explain."
            ),
        });
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
    let row = |trial: &Trial| {
        vec![
            short.get(&trial.scenario).cloned().unwrap_or_default(),
            (trial.round + 1).to_string(),
            (trial.position + 1).to_string(),
            trial.seed.to_string(),
            date(trial.started),
            trial.ended.map_or_else(String::new, |ended| format!("{:.1}", ended - trial.started)),
            state(trial),
        ]
    };
    Block::Table {
        caption: "In order of start".into(),
        columns: ["scenario", "round", "position", "seed", "started", "seconds", "state"]
            .map(|name| head(name, name != "state"))
            .into(),
        rows: input.contents.trials.iter().map(row).collect(),
    }
}

fn head(name: &str, right: bool) -> Head {
    Head { head: name.into(), right }
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
    let scale = |metric: &Metric| {
        let largest = runs.iter().filter_map(|(_, run)| value(run, metric)).fold(0.0, |a: f64, b| a.max(b.abs()));
        Scale::of(metric, largest)
    };
    let scales: Vec<Scale> = metrics.iter().map(scale).collect();
    let unit = |scale: &Scale| if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) };
    let heads = metrics
        .iter()
        .zip(&scales)
        .map(|(metric, scale)| head(&format!("{}{}", words(&metric.name), unit(scale)), true));
    let rows = runs.iter().map(|(trial, run)| {
        let cells = metrics
            .iter()
            .zip(&scales)
            .map(|(metric, scale)| value(run, metric).map_or_else(String::new, |value| scale.number(value)));
        let number = short.get(&trial.scenario).cloned().unwrap_or_default();
        [number, (trial.round + 1).to_string(), (run.run + 1).to_string()].into_iter().chain(cells).collect()
    });
    Block::Table {
        caption: String::new(),
        columns: ["scenario", "round", "run"].map(|name| head(name, true)).into_iter().chain(heads).collect(),
        rows: rows.collect(),
    }
}
