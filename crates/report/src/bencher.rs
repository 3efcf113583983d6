//! `report --format bencher`: the Bencher Metric Format, by which continuous benchmarking keeps figures over time.
//!
//! `{"scenario": {"metric": {"value": …, "lower_value": …, "upper_value": …}}}`: the geometric mean over trials and the ends of
//! its interval, of every metric. A scenario without a finished trial is not in it.

use crate::input::Input;
use analysis::exported::means;
use serde_json::{Map, Value, json};

/// Every scenario's means.
pub fn bencher(input: &Input) -> String {
    let mut scenarios = Map::new();
    for part in &input.view().parts {
        for (metric, rows) in means(&input.contents, part) {
            for (row, mean) in rows {
                let mut figure = json!({ "value": mean.mean });
                // One value has no interval; its ends may be absent.
                if let Some((low, high)) = mean.ends {
                    figure["lower_value"] = json!(low);
                    figure["upper_value"] = json!(high);
                }
                let of_scenario = scenarios.entry(row.label.clone()).or_insert_with(|| json!({}));
                of_scenario[metric.name.as_ref()] = figure;
            }
        }
    }
    format!("{:#}\n", Value::Object(scenarios))
}
