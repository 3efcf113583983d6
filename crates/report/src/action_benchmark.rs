//! `report --format github-action-benchmark`: figures as that action of GitHub's keeps them in a repository and draws them over time.
//!
//! `[{"name": …, "unit": …, "value": …, "range": …, "extra": …}]`. The action takes one direction a file: `customBiggerIsBetter` has
//! the metrics of which more is better, `customSmallerIsBetter` those of which less is. What has no better side is in neither.

use crate::input::Input;
use crate::number::{percent, rounded};
use analysis::exported::{Mean, means};
use observe::metric::Direction;
use serde_json::{Value, json};

/// Digits of an interval's ends. Places behind the point would leave nothing of a small figure, such as seconds.
const RANGE_DIGITS: usize = 8;

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
                    let [low, high] = [low, high].map(|end| rounded(end, RANGE_DIGITS));
                    figure["range"] = json!(format!("{low}–{high}"));
                }
                figure["extra"] = json!(extra(&mean, &percent(view.confidence)));
                figures.push(figure);
            }
        }
    }
    format!("{:#}\n", Value::Array(figures))
}

/// What the value is, and what the range beside it is, where there is one.
fn extra(mean: &Mean, confidence: &str) -> String {
    let kind = if mean.is_arithmetic { "arithmetic" } else { "geometric" };
    match (mean.count, mean.ends) {
        (1, _) => "one trial".into(),
        (count, Some(_)) => format!("{kind} mean of {count} trials, {confidence} interval"),
        (count, None) => format!("{kind} mean of {count} trials"),
    }
}
