//! `[[limit]]`: each names a workload of the study, a metric of that workload, and one bound.

use super::{Base, Checker};
use crate::document::Node;
use crate::limit::{Bound, LIMIT, Limit};
use crate::problem::Problem;
use std::collections::{BTreeMap, BTreeSet};

impl Checker<'_> {
    /// All limits, in the order of the text.
    pub(super) fn limits(&mut self, base: &Base) -> Vec<Limit> {
        self.list("limit").iter().filter_map(|node| self.one_limit(node, base)).collect()
    }

    fn one_limit(&mut self, node: &Node, base: &Base) -> Option<Limit> {
        let before = self.problems.len();
        let map = self.table("limit", Some(node), LIMIT);
        let text = |name: &str| map[name].as_str().unwrap_or_default().to_string();
        let number = |name: &str| map.get(name).and_then(serde_json::Value::as_f64);
        let span = |name: &str| node.get(name).map_or(node.span.clone(), |node| node.span.clone());
        let (workload, metric) = (text("workload"), text("metric"));
        self.workload_of("limit", &workload, span("workload"), base);
        let bound = match (number("at_most"), number("at_least")) {
            (Some(value), None) => Bound::AtMost(value),
            (None, Some(value)) => Bound::AtLeast(value),
            _ => {
                let label = "one of `at_most` and `at_least`, a number in the metric's own unit";
                self.wrong("a limit needs one bound", node.span.clone(), label);
                return None;
            }
        };
        let limit = Limit { title: text("title"), workload, metric, bound, source: text("source") };
        (self.problems.len() == before).then_some(limit)
    }

    /// Limits of metrics that no scenario of their workload has: `known` are those by workload.
    pub(super) fn metrics_of_limits(&mut self, limits: &[Limit], known: &BTreeMap<String, BTreeSet<String>>) {
        for (index, limit) in limits.iter().enumerate() {
            let Some(known) = known.get(&limit.workload).filter(|known| !known.contains(&limit.metric)) else {
                continue;
            };
            let node = self.list("limit").get(index).and_then(|node| node.get("metric").or(Some(node)));
            let span = node.and_then(|node| node.span.clone());
            let message = format!("a limit's `metric` can't be \"{}\"", limit.metric);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let near = settings::nearest_name(&limit.metric, known.iter().copied());
            let label = format!("metrics of {} as it is set: {}", limit.workload, known.join(", "));
            let problem = Problem::new(message, span, label);
            self.problems.push(problem.hint(near.map(|name| format!("did you mean `{name}`?"))));
        }
    }
}
