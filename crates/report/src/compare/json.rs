//! A comparison for machines.

use super::{Comparison, Line, Workload};
use crate::unpaired;
use serde_json::{Value, json};

impl Comparison {
    /// Every figure of both, with all digits.
    pub fn json(&self) -> Value {
        json!({
            "preamble": self.preamble,
            "cautions": self.cautions(),
            "confidence": self.level.confidence,
            "margin": self.level.margin,
            "sessions_a_side": self.sessions,
            "workloads": self.workloads.iter().map(of_workload).collect::<Vec<_>>(),
        })
    }
}

fn of_workload(workload: &Workload) -> Value {
    json!({
        "workload": workload.name, "left_out": workload.left_out.iter().map(|(_, said)| said).collect::<Vec<_>>(),
        "figures": workload.lines.iter().map(of_line).collect::<Vec<_>>(),
    })
}

fn of_line(line: &Line) -> Value {
    let side = |values: &[f64]| json!({ "mean": line.mean(values), "values": values });
    json!({
        "metric": line.metric.name, "unit": line.metric.unit, "more_is_better": line.sides.more_is_better,
        "scenario": line.label, "exploratory": !line.is_primary,
        "a": side(&line.sides.earlier), "b": side(&line.sides.later),
        "change": line.change.map(|change| unpaired::json(&change)),
    })
}
