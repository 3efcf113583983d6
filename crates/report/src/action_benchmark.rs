//! `report --format github-action-benchmark`: figures as that action of GitHub's keeps them in a repository and draws them over time.
//!
//! `[{"name": …, "unit": …, "value": …, "range": …, "extra": …}]`. The action takes one direction a file: `customBiggerIsBetter` has
//! the metrics of which more is better, `customSmallerIsBetter` those of which less is. What has no better side is in neither.

use crate::input::Input;
use crate::number::percent;
use analysis::exported::means;
use observe::metric::Direction;
use serde_json::{Value, json};

/// Every scenario's means of the metrics of one direction.
pub fn action_benchmark(input: &Input, better: Direction) -> String {
    let (view, mut figures) = (input.view(), Vec::new());
    for part in &view.parts {
        for (metric, rows) in means(&input.contents, part).into_iter().filter(|(metric, _)| metric.direction == better)
        {
            for (row, mean) in rows {
                let name = format!("{} · {} · {}", part.workload, row.label, metric.name);
                let mut figure = json!({ "name": name, "unit": metric.unit, "value": mean.mean });
                if let Some((low, high)) = mean.ends {
                    figure["range"] = json!(format!("{low:.4}–{high:.4}"));
                }
                let confidence = percent(view.confidence);
                figure["extra"] = json!(format!("geometric mean of {} trials, {confidence} interval", mean.count));
                figures.push(figure);
            }
        }
    }
    format!("{:#}\n", Value::Array(figures))
}
