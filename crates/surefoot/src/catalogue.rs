//! What surefoot knows, handed to `study` so that it can check a file without knowing any kind itself.

#[cfg(test)]
mod hostile;

use serde_json::{Map, Value};
use settings::Setting;
use std::collections::BTreeMap;
use study::Catalogue;

/// Tables of a study by name.
type Tables = BTreeMap<String, Map<String, Value>>;

/// All that is built in.
pub struct BuiltIn;

impl Catalogue for BuiltIn {
    fn storage(&self) -> &'static [Setting] {
        storage::settings()
    }

    fn storage_problems(&self, storage: &Map<String, Value>) -> Vec<(String, String)> {
        storage::problems(storage)
    }

    fn volume_problems_beside(
        &self,
        storage: &Map<String, Value>,
        volumes: &Tables,
    ) -> Vec<(String, &'static str, String)> {
        storage::problems_beside(storage, volumes)
    }

    fn storage_displaced(&self, setting: &str, value: &Value) -> &'static [&'static str] {
        storage::displaced(setting, value)
    }

    fn workloads(&self) -> Vec<&'static str> {
        workloads::kinds().iter().map(|kind| kind.name).collect()
    }

    fn workload(&self, name: &str) -> Option<&'static [Setting]> {
        workloads::kind(name).map(|kind| kind.settings)
    }

    fn workload_problems(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String> {
        workloads::settings(name, parameters).map_or_else(Vec::new, |load| load.problems())
    }

    fn workload_problems_beside(&self, name: &str, parameters: &Map<String, Value>, services: &Tables) -> Vec<String> {
        let Some(load) = workloads::settings(name, parameters) else { return Vec::new() };
        let mut services = services.clone();
        // A service without a table has its defaults.
        for kind in load.services().into_iter().filter_map(services::kind) {
            services.entry(kind.name.into()).or_insert_with(|| settings::defaults(kind.settings));
        }
        load.problems_beside(&services)
    }

    fn workload_idle(&self, name: &str, parameters: &Map<String, Value>) -> Vec<(String, &'static str)> {
        workloads::idle(name, parameters)
    }

    fn workload_metrics(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String> {
        let metrics = workloads::settings(name, parameters).map_or_else(Vec::new, |load| load.metrics());
        metrics.into_iter().map(|metric| metric.name.into_owned()).collect()
    }

    fn workload_services(&self, name: &str, parameters: &Map<String, Value>, services: &Tables) -> Vec<&'static str> {
        let names = workloads::settings(name, parameters).map(|load| load.services()).unwrap_or_default();
        services::wanted(&names, services).iter().map(|wanted| wanted.kind.name).collect()
    }

    fn has_log_volume(&self, service: &str) -> bool {
        services::kinds().iter().any(|kind| kind.name == service && kind.has_log_volume)
    }

    fn services(&self) -> Vec<&'static str> {
        services::kinds().iter().map(|kind| kind.name).collect()
    }

    fn service(&self, name: &str) -> Option<&'static [Setting]> {
        services::kind(name).map(|kind| kind.settings)
    }

    fn service_problems(&self, name: &str, settings: &Map<String, Value>) -> Vec<String> {
        services::kind(name).map_or_else(Vec::new, |kind| (kind.read)(settings).problems())
    }

    fn service_idle(&self, name: &str, settings: &Map<String, Value>) -> Vec<(String, &'static str)> {
        services::kind(name).map_or_else(Vec::new, |kind| (kind.read)(settings).idle())
    }

    fn service_problems_beside(&self, name: &str, settings: &Map<String, Value>, services: &Tables) -> Vec<String> {
        services::kind(name).map_or_else(Vec::new, |kind| (kind.read)(settings).problems_beside(services))
    }
}
