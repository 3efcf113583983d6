//! What only shows when a study's settings are seen together: a screen that it can't have, scenarios that don't work.

use super::{Base, Checker, Study};
use crate::Catalogue;
use crate::document::Node;
use crate::factor::Factor;
use crate::matrix::{Combination, matrix};
use crate::own_settings::{Screening, VOLUMES};
use crate::plan::plan;
use serde_json::{Map, Value};
use settings::{Kind, Setting};
use std::collections::{BTreeMap, BTreeSet, HashSet};

impl Checker<'_> {
    /// A screen that this study can't have.
    pub(super) fn screen(&mut self, study: &Study) {
        if !self.problems.is_empty() || matches!(study.design.screen, Screening::Off | Screening::Auto) {
            return;
        }
        let problem = plan(study, &|_| ()).ok().and_then(|plan| plan.screen_problem());
        if let Some(message) = problem {
            let span = self.root.get("design").and_then(|node| node.get("screen")).and_then(|node| node.span.clone());
            let label = "\"auto\" screens where it can and it saves something, \"off\" measures everything";
            self.wrong(message, span, label);
        }
    }

    /// Problems that only show when a scenario's settings are seen together: each once, naming the first scenario.
    pub(super) fn scenarios(&mut self, study: &Study) {
        if !self.problems.is_empty() {
            return;
        }
        let combinations = match matrix(study) {
            Ok(matrix) => matrix.combinations,
            Err(problems) => return self.problems.extend(problems),
        };
        let (mut said, mut driven, mut volumes) = (HashSet::new(), HashSet::new(), BTreeSet::new());
        let mut metrics: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut primaries: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let (mut on_host, mut idle, mut used) = (Vec::new(), Vec::new(), Vec::new());
        for combination in &combinations {
            let base = combination.settings(study);
            on_host.extend((base.top["bench"] != "guest").then_some(combination));
            volumes.extend(base.volumes.keys().cloned());
            let parameters = base.workloads.iter().find(|known| known.0 == combination.workload).map(|known| &known.1);
            idle.push(idle_of(self.catalogue, &base, &combination.workload, parameters));
            let drives = |known| self.catalogue.workload_services(&combination.workload, known, &base.services);
            let services: Vec<&'static str> = parameters.into_iter().flat_map(drives).collect();
            driven.extend(services.iter().copied());
            used.push(services);
            if let Some(known) = parameters {
                let of_scenario = self.catalogue.workload_metrics(&combination.workload, known);
                if let Some(primary) = of_scenario.first() {
                    let of_workload = primaries.entry(combination.workload.clone()).or_default();
                    of_workload.entry(primary.clone()).or_insert_with(|| combination.label(study));
                }
                if !study.limits.is_empty() {
                    metrics.entry(combination.workload.clone()).or_default().extend(of_scenario);
                }
            }
            for (table, message) in scenario_problems(self.catalogue, &base, &combination.workload) {
                if said.insert(message.clone()) {
                    let span =
                        table.iter().try_fold(self.root, |node, key| node.get(key)).and_then(|node| node.span.clone());
                    let label = format!("in the scenario `{}`", combination.label(study));
                    self.wrong(message, span, label);
                }
            }
        }
        // Where no bench is said, an ordinary user's trials run in a guest kernel all the same.
        if study.bench_is_said {
            self.factors_of_a_guest(study, &on_host, combinations.len());
        }
        self.factors_in_vain(study, &combinations, &idle);
        self.metrics_of_limits(&study.limits, &metrics);
        self.primaries(&primaries);
        let is_written = driven.iter().any(|service| self.catalogue.has_log_volume(service));
        for volume in volumes.iter().filter(|_| !is_written) {
            let node = self.root.get("storage").and_then(|storage| storage.get(volume));
            if self.is_left_over(study, &format!("storage.{volume}")) {
                continue;
            }
            let message = format!("no workload of this study writes to `storage.{volume}`");
            let label = "it is for the log of a database that has a server, such as postgres";
            self.wrong(message, node.and_then(|node| node.span.clone()), label);
        }
        for service in study.base.services.keys().filter(|service| !driven.contains(service.as_str())) {
            let node = self.root.get("service").and_then(|services| services.get(service));
            if self.is_left_over(study, &format!("service.{service}")) {
                continue;
            }
            let message = format!("no workload of this study uses the service `{service}`");
            let example = self.use_of(service, study);
            let label = example.unwrap_or_else(|| format!("`surefoot list {service}` has an example with it"));
            self.wrong(message, node.and_then(|node| node.span.clone()), label);
        }
        let heard: Vec<Heard> = used.into_iter().zip(idle).collect();
        self.factors_unheard(study, &combinations, &heard);
    }

    /// Whether a change took away who uses this table of the file's: it is of no use then, and no mistake. What a change itself says of it is.
    fn is_left_over(&self, study: &Study, table: &str) -> bool {
        let node = table.split('.').try_fold(self.root, |node, key| node.get(key));
        let is_of_table = |path: &str| path.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
        let mut factors = study.factors.iter().filter(|factor| factor.paths().any(is_of_table));
        self.is_changed && node.is_none_or(Node::is_of_file) && factors.all(|factor| factor.span.is_some())
    }

    /// Factors of a server, of its CPUs or its log's volume, by which scenarios without that server differ, or of a workload's settings that
    /// another engine has: the same would be measured under two names, and an effect that others have would be averaged over it.
    fn factors_unheard(&mut self, study: &Study, combinations: &[Combination], heard: &[Heard]) {
        if !self.problems.is_empty() {
            return;
        }
        let catalogue = self.catalogue;
        let is_heard = |path: &str, one: &Combination, (services, idle): &Heard| {
            let mut words = path.split('.');
            match (words.next(), words.next()) {
                (Some("service"), Some(service)) => services.contains(&service),
                (Some("cpus"), Some("server")) => !services.is_empty(),
                (Some("workload"), Some(workload)) => workload == one.workload && !idle.contains_key(path),
                (Some("storage"), Some(volume)) if VOLUMES.contains(&volume) => {
                    services.iter().any(|service| catalogue.has_log_volume(service))
                }
                _ => true,
            }
        };
        for (index, factor) in compared(study) {
            let Some(path) = factor.paths().next() else { continue };
            let mut others = HashSet::new();
            let found = combinations.iter().zip(heard).find(|&(one, heard)| {
                let mut other = one.clone();
                let is_varied = other.levels[index].take().is_some();
                is_varied && !factor.paths().any(|path| is_heard(path, one, heard)) && !others.insert(other)
            });
            if let Some((one, _)) = found {
                let message = format!(
                    "`{path}` has no effect in `{}`, which differs from another scenario by it alone",
                    one.label(study)
                );
                let label =
                    "an [[exclude]] leaves such scenarios one of its levels; or one factor of named levels sets both";
                self.wrong(message, factor.span.clone(), label);
            }
        }
    }

    /// Workloads of which scenarios answer by different metrics (each with the first of them): all would be compared by the first one's, which may
    /// be given for others.
    fn primaries(&mut self, primaries: &BTreeMap<String, BTreeMap<String, String>>) {
        for (workload, of_workload) in primaries {
            let mut all = of_workload.iter().map(|(metric, scenario)| format!("{metric} in `{scenario}`"));
            let (Some(one), Some(other)) = (all.next(), all.next()) else { continue };
            let span = self.root.get("workload").and_then(|node| node.get(workload)).and_then(|node| node.span.clone());
            let message = format!("scenarios of `{workload}` answer by different metrics: {one}, {other}");
            self.wrong(
                message,
                span,
                "a study for each, as for a load at a rate, whose answer is its latency, and one without",
            );
        }
    }

    /// Factors of a guest kernel whose levels are the same, as none of so many scenarios runs in one, or some on the host differ by the factor
    /// alone: they would be compared as if they were real.
    fn factors_of_a_guest(&mut self, study: &Study, on_host: &[&Combination], scenarios: usize) {
        let is_of_guest = |path: &str| path.starts_with("guest.");
        for (index, factor) in compared(study) {
            let Some(path) = factor.paths().find(|path| is_of_guest(path)) else { continue };
            let mut others = HashSet::new();
            let is_there = |one: &&Combination| {
                let mut other = (*one).clone();
                other.levels[index] = None;
                !others.insert(other)
            };
            let (message, label) = if on_host.len() == scenarios {
                let message = format!("`{path}` has no effect: no scenario runs in a guest kernel");
                (message, "say bench = \"guest\" at the top of the file")
            } else if factor.paths().all(is_of_guest) && on_host.iter().any(is_there) {
                let message = format!("`{path}` has no effect on the host, where scenarios differ by it alone");
                (message, "one factor for both, with levels like { bench = \"guest\", guest.memory = \"1GiB\" }")
            } else {
                continue;
            };
            self.wrong(message, factor.span.clone(), label);
        }
    }

    /// Factors whose levels are the same, as all that they set does nothing in any scenario: they would be compared as if they were real.
    fn factors_in_vain(&mut self, study: &Study, combinations: &[Combination], idle: &[Idle]) {
        for (index, factor) in compared(study) {
            let of_factor = combinations.iter().zip(idle);
            let of_factor = of_factor.filter_map(|(one, idle)| Some((&factor.levels[one.levels[index]?], idle)));
            let set = of_factor.flat_map(|(level, idle)| level.settings.iter().map(move |(path, _)| (path, idle)));
            let in_vain: Option<Vec<_>> = set.map(|(path, idle)| Some((path, *idle.get(path)?))).collect();
            let Some((path, needs)) = in_vain.and_then(|all| all.into_iter().next()) else { continue };
            let message = format!("`{path}` has no effect: it needs {needs}, which no scenario has");
            self.wrong(message, factor.span.clone(), "all its levels are the same");
        }
    }

    /// How a workload is told to use a service: one of the study's own, if it can.
    fn use_of(&self, service: &str, study: &Study) -> Option<String> {
        let own = study.base.workloads.iter().map(|(name, _)| name.as_str());
        own.chain(self.catalogue.workloads()).find_map(|workload| {
            let names_it = |setting: &&Setting| matches!(setting.kind, Kind::Choice(words) if words.contains(&service));
            let setting = self.catalogue.workload(workload)?.iter().find(names_it)?;
            Some(format!("for example [workload.{workload}] {} = \"{service}\"", setting.name))
        })
    }
}

/// The factors with their numbers, but for those of one level alone, as `--set` leaves it: nothing is compared there.
fn compared(study: &Study) -> impl Iterator<Item = (usize, &Factor)> {
    study.factors.iter().enumerate().filter(|(_, factor)| factor.levels.len() > 1)
}

/// The services that a scenario uses, and what does nothing in it.
type Heard = (Vec<&'static str>, Idle);

/// Settings of services and of the workload that do nothing in a scenario, by their paths, each with what it needs.
type Idle = BTreeMap<String, &'static str>;

fn idle_of(catalogue: &dyn Catalogue, base: &Base, workload: &str, parameters: Option<&Map<String, Value>>) -> Idle {
    let of_service = |(service, settings): (&String, &Map<String, Value>)| {
        let idle = catalogue.service_idle(service, settings).into_iter();
        idle.map(|(name, needs)| (format!("service.{service}.{name}"), needs)).collect::<Vec<_>>()
    };
    let of_workload = parameters.into_iter().flat_map(|parameters| catalogue.workload_idle(workload, parameters));
    let of_workload = of_workload.map(|(name, needs)| (format!("workload.{workload}.{name}"), needs));
    base.services.iter().flat_map(of_service).chain(of_workload).collect()
}

/// Problems of one scenario, each with the table it stands in.
fn scenario_problems<'a>(catalogue: &dyn Catalogue, base: &Base, workload: &'a str) -> Vec<(Vec<&'a str>, String)> {
    let storage = catalogue.storage_problems(&base.storage).into_iter();
    let storage = storage.map(|(name, problem)| (vec!["storage"], format!("storage.{name}: {problem}")));
    let of_volume = |(volume, settings): (&String, &Map<String, Value>)| {
        let problems = catalogue.storage_problems(settings).into_iter();
        let told = problems.map(|(name, problem)| (vec!["storage"], format!("storage.{volume}.{name}: {problem}")));
        told.collect::<Vec<_>>()
    };
    let of_service = |(service, settings): (&String, &Map<String, Value>)| {
        let beside = catalogue.service_problems_beside(service, settings, &base.services);
        let problems = catalogue.service_problems(service, settings).into_iter().chain(beside);
        problems.map(|problem| (vec!["service"], format!("service.{service}.{problem}"))).collect::<Vec<_>>()
    };
    let beside = catalogue.volume_problems_beside(&base.storage, &base.volumes).into_iter();
    let beside = beside.map(|(volume, name, problem)| (vec!["storage"], format!("storage.{volume}.{name}: {problem}")));
    let volumes = base.volumes.iter().flat_map(of_volume).chain(beside);
    let storage = storage.chain(volumes).chain(base.services.iter().flat_map(of_service));
    let parameters = base.workloads.iter().find(|known| known.0 == workload).map(|known| &known.1);
    let of_workload = parameters.into_iter().flat_map(|parameters| {
        let beside = catalogue.workload_problems_beside(workload, parameters, &base.services);
        catalogue.workload_problems(workload, parameters).into_iter().chain(beside)
    });
    let of_workload =
        of_workload.map(|problem| (vec!["workload", workload], format!("workload.{workload}: {problem}")));
    storage.chain(of_workload).collect()
}
