//! A plan and its trials, with storage settings that were parsed once, when the study was planned.

use storage::StorageSettings;
use study::Study;

/// What a study comes to.
pub type Plan = study::Plan<StorageSettings>;

/// One bar in the chart.
pub type PlannedScenario = study::PlannedScenario<StorageSettings>;

/// All that a trial needs to know.
pub type TrialSpec = study::trial_spec::TrialSpec<StorageSettings>;

/// Plans a study.
///
/// # Errors
/// As [`study::plan`].
pub fn plan(study: &Study) -> Result<Plan, study::Problem> {
    study::plan(study, &StorageSettings::from_map)
}

/// The storage of a scenario, its further volumes included.
pub fn volumes(scenario: &PlannedScenario) -> impl Iterator<Item = &StorageSettings> {
    std::iter::once(&scenario.storage).chain(scenario.volumes.values()).map(|volume| &**volume)
}
