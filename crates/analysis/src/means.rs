//! Means of every metric, for tables and charts that explain.

use crate::counting::Counting;
use crate::health::mean;
use crate::row::Row;
use crate::view::Part;
use ledger::figure::{self, Zero};
use ledger::model::{Contents, Phase};
use std::collections::BTreeMap;

/// Names that `observe` gives to what it samples begin with what was sampled; and what each side has of the CPUs is the machine's.
pub fn is_own(name: &str) -> bool {
    const MACHINE: &str = "cpu device_ backing_device_ memory_ dirty_ pressure_ context_ driver_ server_cpus own_cpus others_ \
        virtual_disk_cpu_cores filesystem_ telemetry_";
    !MACHINE.split(' ').any(|prefix| name.starts_with(prefix))
}

/// By scenario and metric.
pub type Means<'a> = BTreeMap<&'a str, BTreeMap<String, f64>>;

/// Of every metric, over the figures of the main rounds' trials, as the primary metric's own means are.
pub fn metric_means<'a>(part: &'a Part, contents: &Contents) -> Means<'a> {
    let counting = Counting::of(contents);
    let mut figures: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for (id, runs) in counting.runs.iter().filter(|(id, _)| counting.trials[id].phase == Phase::Main) {
        let mut of_trial: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for run in runs {
            for (name, value) in &run.metrics {
                of_trial.entry(name).or_default().push((*value, run.seconds));
            }
        }
        let of_scenario = figures.entry(&counting.trials[id].scenario).or_default();
        for (name, values) in of_trial {
            let found = figure::of_runs(&values, contents.rule(name, zero(part, name)));
            of_scenario.entry(name).or_default().extend(found);
        }
    }
    let of_row = |label: &str| -> BTreeMap<String, f64> {
        let found = figures.get(label).into_iter().flatten().filter(|(_, values)| !values.is_empty());
        found.map(|(name, values)| ((*name).to_string(), figure::mean(values, zero(part, name)))).collect()
    };
    part.measured().map(|row| (row.label.as_str(), of_row(&row.label))).collect()
}

fn zero(part: &Part, metric: &str) -> Zero {
    if *part.metric.name == *metric { Zero::Stall } else { Zero::Count }
}

/// The arithmetic mean of a metric over all measured runs of a scenario; none where none has it.
pub fn mean_over_runs(counting: &Counting, row: &Row, name: &str) -> Option<f64> {
    let of_row = counting.runs.iter().filter(|(id, _)| counting.trials[id].scenario == row.label);
    let runs = of_row.flat_map(|(_, runs)| runs);
    mean(runs.filter_map(|run| run.metrics.get(name).copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_that_each_side_has_are_not_the_workloads() {
        use observe::metric::TELEMETRY_SECONDS;
        let of_machine =
            ["driver_cpus", "server_cpus", "own_cpus", "cpu_idle_share", "virtual_disk_cpu_cores", TELEMETRY_SECONDS];
        assert!(!of_machine.into_iter().any(is_own));
        assert!(is_own("transactions_per_second"));
    }
}
