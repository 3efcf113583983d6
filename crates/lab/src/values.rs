//! The primary figures of a study so far, and which metric they are of.

use observe::metric::Metric;
use serde_json::{Map, Value};

/// The primary figure of each trial so far.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Labels, in plan order.
    pub scenarios: Vec<String>,
    /// `[round][scenario]`: the trial's figure, 0 where a run stalled; none: not done, or failed.
    pub rounds: Vec<Vec<Option<f64>>>,
}

/// The name of the metric that a workload's claims are about.
pub fn primary_metric(workload: &str, parameters: &Map<String, Value>) -> String {
    primary(workload, parameters).map(|metric| metric.name.to_string()).unwrap_or_default()
}

/// The metric that a workload's claims are about.
pub fn primary(workload: &str, parameters: &Map<String, Value>) -> Option<Metric> {
    workloads::settings(workload, parameters).and_then(|load| load.metrics().first().cloned())
}
