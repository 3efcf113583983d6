//! `report --format bencher`: the Bencher Metric Format, by which continuous benchmarking keeps figures over time.
//!
//! `{"scenario": {"metric": {"value": …, "lower_value": …, "upper_value": …}}}`: the geometric mean over trials and the ends of
//! its interval. Of each scenario only the metric that the answer is about; a scenario without a finished trial is not in it.

use crate::input::Input;
use serde_json::{Map, Value, json};

/// Every scenario's mean.
#[must_use]
pub fn bencher(input: &Input) -> String {
    let mut scenarios = Map::new();
    for part in &input.view().parts {
        for row in part.measured() {
            let centre = row.centre.expect("it is measured");
            let mut figure = json!({ "value": centre.mean });
            // One value has no interval; its ends may be absent.
            if centre.count > 1 {
                figure["lower_value"] = json!(centre.low);
                figure["upper_value"] = json!(centre.high);
            }
            scenarios.insert(row.label.clone(), json!({ part.metric.name.as_ref(): figure }));
        }
    }
    format!("{:#}\n", Value::Object(scenarios))
}
