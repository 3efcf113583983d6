//! Virtual disks are Linux's only: the plan says so before any trial.

use crate::plan::TrialSpec;
use observe::metric::Measured;
use sandbox::work::Work;

/// None.
#[derive(Debug, Default)]
pub struct VirtualDisks;

impl VirtualDisks {
    /// There are none to start.
    ///
    /// # Errors
    /// Never.
    pub fn start(_spec: &TrialSpec, _work: &Work) -> Result<VirtualDisks, std::io::Error> {
        Ok(VirtualDisks)
    }

    /// A run begins.
    ///
    /// # Errors
    /// Never.
    pub fn begin(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }

    /// A run has ended.
    ///
    /// # Errors
    /// Never.
    pub fn stop(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }

    /// Nothing is measured.
    pub fn metrics(&self) -> Vec<Measured> {
        Vec::new()
    }

    /// Nothing can be late.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), std::io::Error> {
        Ok(())
    }
}
