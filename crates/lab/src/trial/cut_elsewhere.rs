//! Recording disks are Linux's only.

use super::{Cpus, Out, Stopped};
use crate::work::Work;
use std::io::Write;
use study::trial_spec::{Cut, TrialSpec};
use workloads::workload::Kind;

pub(super) fn conduct(
    _spec: &TrialSpec,
    _wanted: &Cut,
    _work: &Work,
    _kind: &'static Kind,
    _cpus: &Cpus,
    _out: &mut Out<impl Write>,
) -> Result<(), Stopped> {
    Err(Stopped::at("power cut")("recording disks need Linux: /dev/fuse and loop devices".into()))
}
