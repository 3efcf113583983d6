//! Recording disks are Linux's only.

use super::{Done, Out, Stopped, Trial};
use study::trial_spec::Cut;

pub(super) fn conduct(_trial: &Trial, _wanted: &Cut, _out: &mut Out) -> Done {
    Err(Stopped::at("power cut")("recording disks need Linux: /dev/fuse and loop devices"))
}
