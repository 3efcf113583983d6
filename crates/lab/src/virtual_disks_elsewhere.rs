//! Virtual disks are Linux's only: the plan says so before any trial.

use crate::work::Work;
use observe::metric::Measured;
use study::trial_spec::TrialSpec;

#[derive(Debug, Default)]
pub(crate) struct VirtualDisks;

impl VirtualDisks {
    pub(crate) fn start(_spec: &TrialSpec, _work: &Work) -> Result<VirtualDisks, std::io::Error> {
        Ok(VirtualDisks)
    }

    pub(crate) fn begin(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }

    pub(crate) fn stop(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }

    pub(crate) fn metrics(&self) -> Vec<Measured> {
        Vec::new()
    }

    pub(crate) fn check(&self) -> Result<(), std::io::Error> {
        Ok(())
    }
}
