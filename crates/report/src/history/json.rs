//! A history for machines.

use super::{Changes, History, Series, Workload, meanwhile};
use crate::unpaired;
use serde_json::{Value, json};

impl History {
    /// Every series with its results, figures and changes.
    pub fn json(&self) -> Value {
        self.series.iter().map(of_series).collect()
    }
}

fn of_series(series: &Series) -> Value {
    let study = &series.results[0].1.contents.study;
    let changes = series.changes();
    let results = series.results.iter().enumerate().map(|(at, (name, input))| {
        let before = at.checked_sub(1).map(|at| &series.results[at].1);
        json!({
            "results": name,
            "created": input.contents.study.created,
            "study_hash": input.contents.study.hash,
            "meanwhile": before.map(|before| meanwhile(before, input)),
        })
    });
    json!({
        "study": study.name, "question": study.question, "sentences": series.sentences(), "elsewhere": series.elsewhere,
        "results": results.collect::<Vec<_>>(),
        "workloads": series.workloads().iter().map(|workload| of_workload(series, workload, &changes)).collect::<Vec<_>>(),
    })
}

fn of_workload(series: &Series, workload: &Workload, changes: &[[Changes; 2]]) -> Value {
    let scenario = |label: &&str| {
        let figures = series.rows(workload, label).into_iter().enumerate().filter_map(|(at, row)| {
            let centre = row?.centre?;
            let to = |from: usize| changes[at][from].get(&workload.key(label)).map(unpaired::json);
            Some(json!({
                "result": at, "mean": centre.mean, "low": centre.low, "high": centre.high, "rounds": centre.count,
                "to_previous": to(0), "to_first": to(1),
            }))
        });
        json!({ "scenario": label, "figures": figures.collect::<Vec<_>>() })
    };
    json!({
        "workload": workload.part.workload, "metric": workload.part.metric.name, "unit": workload.part.metric.unit,
        "more_is_better": workload.part.more_is_better,
        "scenarios": workload.labels.iter().map(scenario).collect::<Vec<_>>(),
    })
}
