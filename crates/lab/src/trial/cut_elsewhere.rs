//! Recording disks are Linux's only.

use super::{Out, Stopped, Trial};
use std::io::Write;
use study::trial_spec::Cut;

pub(super) fn conduct(_trial: &Trial, _wanted: &Cut, _out: &mut Out<impl Write>) -> Result<(), Stopped> {
    Err(Stopped::at("power cut")("recording disks need Linux: /dev/fuse and loop devices"))
}
