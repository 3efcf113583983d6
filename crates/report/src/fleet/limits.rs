//! A fleet's limits in words: kept by every round on every host and by a further machine, or where not.

use super::FleetReport;
use crate::limits::title;
use crate::number::{Scale, percent};
use crate::words::some_of;
use analysis::fleet::{FleetLimit, Shown};
use serde_json::{Value, json};

impl FleetReport {
    /// A sentence a limit and scenario.
    pub(super) fn of_limits(&self) -> Vec<String> {
        self.fleet.limits.iter().map(|held| self.of_limit(held)).collect()
    }

    fn of_limit(&self, held: &FleetLimit) -> String {
        let FleetLimit { limit, label, metric, rounds, .. } = held;
        let shown = |value: f64| Scale::of(metric, value).with_unit(value);
        let bound = if limit.is_least { "at least" } else { "at most" };
        let title = title(limit, metric);
        let (what, allowed) = (format!("{title} of {label}"), format!("{bound} {}", shown(limit.value)));
        let name = |host: usize| self.fleet.hosts[host].host.name.clone();
        let worst = held.worst().map_or_else(String::new, shown);
        let further = held.further_worst().map_or_else(String::new, shown);
        let (over, confidence) = (self.over(self.fleet.hosts.len()), percent(self.fleet.confidence));
        match held.shown() {
            Shown::Unmeasured if held.is_astride => format!(
                "Not known: {what} lies on both sides of its limit from turn to turn (limit: {allowed}); `--set design.order=blocks` measures trials in one piece."
            ),
            Shown::Unmeasured => {
                let missing = |host: &usize| rounds[*host].is_empty() || held.without[*host] > 0;
                let without: Vec<String> = (0..rounds.len()).filter(missing).map(name).collect();
                let on = if without.is_empty() { String::new() } else { format!(" on {}", some_of(&without)) };
                let in_all = if rounds.iter().any(Vec::is_empty) { "" } else { " in every round" };
                format!("Not known: {what} was not measured{in_all}{on} (limit: {allowed}).")
            }
            Shown::Beyond => {
                let each = held.broken().into_iter();
                let each =
                    each.map(|(host, beyond)| format!("{beyond} of {} rounds on {}", rounds[host].len(), name(host)));
                let each: Vec<String> = each.collect();
                format!(
                    "Not kept: {what} was beyond its limit ({allowed}) in {}; the worst was {worst}.",
                    some_of(&each)
                )
            }
            Shown::MayBeBeyond => format!(
                "Not shown to be kept: {what} was {bound} {worst} in every round {over}, but may be {further} in a round on a further machine of this kind ({confidence}; limit: {allowed})."
            ),
            Shown::KeptHere => format!(
                "Kept {over}: {what} was {bound} {worst} in every round, and nothing is said of another machine (limit: {allowed})."
            ),
            Shown::Kept => format!(
                "Kept: {what} was {bound} {worst} in every round {over}, and in every round on a further machine of this kind it is {bound} {further} ({confidence}; limit: {allowed})."
            ),
        }
    }

    /// The same for machines.
    pub(super) fn json_of_limits(&self) -> Vec<Value> {
        let of_limit = |held: &FleetLimit| {
            let by_host = held.rounds.iter().map(|rounds| {
                let beyond = rounds.iter().filter(|value| held.limit.is_beyond(**value)).count();
                json!({ "rounds": rounds.len(), "beyond": beyond })
            });
            json!({
                "limit": held.limit, "scenario": held.label, "unit": held.metric.unit, "worst": held.worst(),
                "further": held.further, "kept": held.shown() == Shown::Kept, "hosts": by_host.collect::<Vec<_>>(),
            })
        };
        self.fleet.limits.iter().map(of_limit).collect()
    }
}
