//! The disks of a trial with device = "virtual": a process each, as slow as the drive that it is told to be, without a log.
//!
//! What is measured on one counts only where it kept to the drive's times.

use crate::drive::Drive;
use crate::error::{Error, Late};
use crate::plan::TrialSpec;
use crate::recording_disk::Start;
use observe::metric::{Direction, Measured, Metric};
use powercut::device::Disk;
use powercut::timing_fidelity::TimingFidelity;
use sandbox::work::Work;
use storage::Device;

/// All of a trial's. They end when this is dropped, or with the trial's process.
#[derive(Debug, Default)]
pub struct VirtualDisks(Vec<VirtualDisk>);

#[derive(Debug)]
struct VirtualDisk {
    /// None: it has the filesystem under test.
    volume: Option<String>,
    /// Name of the drive's times.
    profile: String,
    disk: Disk,
}

impl VirtualDisks {
    /// Starts those that a trial asks for.
    ///
    /// # Errors
    /// When one does not start.
    pub fn start(spec: &TrialSpec, work: &Work) -> Result<VirtualDisks, Error> {
        let further = spec.volumes.iter().map(|(name, settings)| (Some(name), settings, work.volume_disk(name)));
        let all = std::iter::once((None, &spec.storage, work.disk())).chain(further);
        let mut disks = VirtualDisks::default();
        for (volume, settings, mount_point) in all {
            if settings.device == Device::Virtual {
                let drive = Drive::of_storage(settings)?;
                let is_limited = spec.memory_bytes.is_some();
                let start = Start { mount_point, disk_bytes: settings.size, drive, seed: spec.seed, is_limited };
                let (volume, profile) = (volume.cloned(), settings.disk.clone());
                disks.0.push(VirtualDisk { volume, profile, disk: start.start(None)? });
            }
        }
        Ok(disks)
    }

    /// The number of each one's process.
    pub fn processes(&self) -> Vec<u32> {
        self.0.iter().map(|one| one.disk.process()).collect()
    }

    /// A run begins.
    ///
    /// # Errors
    /// When a disk is gone.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|one| Ok(one.disk.begin()?))
    }

    /// A run has ended.
    ///
    /// # Errors
    /// When a disk is gone.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|one| Ok(one.disk.stop()?))
    }

    /// What a request took by the drive's times in the last run, and how late the answers were.
    pub fn metrics(&self) -> Vec<Measured> {
        let metric = |one: &VirtualDisk, name: &str, seconds: f64| {
            let volume = one.volume.as_ref().map(|volume| format!("{volume}_")).unwrap_or_default();
            Metric::named(format!("virtual_disk_{volume}{name}"), "s".into(), Direction::Neither).at(seconds)
        };
        let of_one = |one: &VirtualDisk| {
            let found = one.disk.timing_fidelity()?;
            let (mean, late) = (found.request_nanoseconds_mean, found.late_nanoseconds_p99 as f64);
            Some([metric(one, "request_seconds_mean", mean / 1e9), metric(one, "late_seconds_p99", late / 1e9)])
        };
        self.0.iter().filter_map(of_one).flatten().collect()
    }

    /// Whether each kept to its drive's times in the last run.
    ///
    /// # Errors
    /// Of the first that did not.
    pub fn check(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(|one| {
            let table = one.volume.as_ref().map_or_else(|| "storage".into(), |volume| format!("storage.{volume}"));
            Ok(one.disk.timing_fidelity().map_or(Ok(()), |found| judge(found, &table, &one.profile))?)
        })
    }
}

fn judge(found: TimingFidelity, table: &str, profile: &str) -> Result<(), Late> {
    if found.is_kept() { Ok(()) } else { Err(Late { table: table.into(), profile: profile.into(), found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_was_late_says_how_late_and_what_to_do() {
        let on_time = TimingFidelity { requests: 1200, request_nanoseconds_mean: 4e6, late_nanoseconds_p99: 80_000 };
        assert_eq!(judge(on_time, "storage", "sata-7200"), Ok(()));
        let late = judge(TimingFidelity { late_nanoseconds_p99: 310_000, ..on_time }, "storage.wal", "sata-7200");
        assert_eq!(
            late.expect_err("it was late").to_string(),
            "the virtual disk of storage.wal was no sata-7200 in this run: one in a hundred of its 1200 answers came 310.0 µs or \
             more after the drive's, and at most 80.0 µs is allowed, 2 % of what it takes for a request on the mean, 4000.0 µs; run \
             it on an idle machine or one with more CPUs, or choose a slower drive as storage.wal.disk"
        );
    }
}
