//! A fleet's report for machines: ratios, not their logarithms.

use super::FleetReport;
use analysis::fleet::{Against, Fleet, FleetPart, Harm, Hole, OfFleet};
use serde_json::{Value, json};
use stats::hosts::OverHosts;

impl FleetReport {
    /// Everything that the page shows.
    pub fn json(&self) -> Value {
        let Fleet { members, hosts, kinds, unlike: _, holes, parts, confidence, limits: _, share: _ } = &self.fleet;
        let host = |host: &analysis::fleet::FleetHost| json!({ "name": host.host.name, "members": host.members, "kind": host.kind });
        json!({
            "study": self.study.name,
            "hash": self.study.hash,
            "members": members,
            "hosts": hosts.iter().map(host).collect::<Vec<_>>(),
            "kinds": kinds.iter().map(|kind| &kind.facts).collect::<Vec<_>>(),
            "holes": holes.iter().map(hole).collect::<Vec<_>>(),
            "these_hosts_only": !self.fleet.is_sample(),
            "confidence": confidence,
            "parts": parts.iter().map(|part| self.json_of(part)).collect::<Vec<_>>(),
            "limits": self.json_of_limits(),
            "answer": parts.iter().map(|part| self.lead_of(part)).chain(parts.iter().flat_map(|part| self.of_answer(part)))
                .chain(self.of_limits()).chain(self.of_machines()).collect::<Vec<_>>(),
        })
    }

    fn json_of(&self, part: &FleetPart) -> Value {
        let label = |place: &usize| part.scenarios[*place].label.clone();
        json!({
            "workload": part.workload,
            "conditions": part.conditions.iter().zip(&part.levels).collect::<std::collections::BTreeMap<_, _>>(),
            "nothing_to_choose": part.is_given,
            "hosts": part.hosts,
            "metric": part.metric.name,
            "unit": part.metric.unit,
            "more_is_better": part.more_is_better,
            "baseline": part.baseline.as_ref().map(label),
            "may_be_best": part.picks.iter().map(label).collect::<Vec<_>>(),
            "regret": part.regret,
            "ahead": part.ahead.iter().map(|ahead| ahead.as_ref().map(label)).collect::<Vec<_>>(),
            "alpha": part.alpha,
            "scenarios": part.scenarios.iter().map(|scenario| self.json_of_scenario(scenario)).collect::<Vec<_>>(),
        })
    }

    fn json_of_scenario(&self, scenario: &OfFleet) -> Value {
        json!({
            "scenario": scenario.label,
            "control": scenario.control,
            "may_be_picked": scenario.out.is_none(),
            "ratios": scenario.ratios.iter().map(|ratio| ratio.map(f64::exp)).collect::<Vec<_>>(),
            "against_baseline": scenario.against.as_ref().map(|against| self.json_of_ratio(against)),
        })
    }

    fn json_of_ratio(&self, against: &Against) -> Value {
        let contrast = &against.contrast;
        let name = |host: &usize| self.fleet.hosts[*host].host.name.clone();
        let sample = |found: &OverHosts| {
            json!({
                "hosts": found.contrast.rounds, "ratio": found.contrast.ratio(), "low": found.contrast.ratio_low(),
                "high": found.contrast.ratio_high(), "tau": found.tau, "i_squared": found.i_squared,
                "equal_rounds": found.is_equal, "further_low": found.prediction.0.exp(),
                "further_high": found.prediction.1.exp(), "apart": found.apart.iter().map(name).collect::<Vec<_>>(),
            })
        };
        let kinds = against.by_kind.iter().map(|(kind, found)| json!({ "kind": kind, "over_hosts": sample(found) }));
        json!({
            "hosts": against.hosts, "ratio": contrast.ratio(), "low": contrast.ratio_low(), "high": contrast.ratio_high(), "p": against.p,
            "verdict": against.verdict, "over_hosts": against.sample.as_ref().map(sample), "by_kind": kinds.collect::<Vec<_>>(),
        })
    }
}

fn hole(hole: &Hole) -> Value {
    match hole {
        Hole::Missing(member) => json!({ "member": member, "rounds": 0 }),
        Hole::Unfinished { member, host, rounds, of } => {
            json!({ "member": member, "host": host, "rounds": rounds, "of": of })
        }
        Hole::Failed { member, host, trials, scenarios } => {
            json!({ "member": member, "host": host, "failed_trials": trials, "scenarios": scenarios })
        }
        Hole::Unmeasured { member, host, harm, scenarios } => {
            let what = match harm {
                Harm::PowerCut => "power_cuts_not_measured",
                Harm::FailingDisk => "failing_disks_not_measured",
            };
            json!({ "member": member, "host": host, what: true, "scenarios": scenarios })
        }
    }
}
