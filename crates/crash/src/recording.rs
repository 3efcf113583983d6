//! What a trial's recording disk is to be, as it passes from process to process, and where its log lies.

use crate::plan::TrialSpec;
use sandbox::work::Work;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use study::trial_spec::Cut;

/// A recording disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingDisk {
    /// What is asked of power cuts.
    pub cut: Cut,
    /// Its size.
    pub disk_bytes: u64,
}

impl RecordingDisk {
    /// Of a trial whose power is cut so.
    pub fn of(spec: &TrialSpec, wanted: &Cut) -> RecordingDisk {
        RecordingDisk { cut: wanted.clone(), disk_bytes: spec.storage.size }
    }
}

/// The log of the disk under the load.
pub fn log(work: &Work) -> PathBuf {
    work.power_cuts().join("writes.log")
}
