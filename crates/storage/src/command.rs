//! The plain shell commands that make the same storage by hand, for `report --reproduce`.

use crate::image;
use crate::mkfs;
use crate::mount;
use crate::program::{command_line, quoted};
use crate::settings::{Device, StorageSettings};
use settings::quantity::format_bytes;

/// The commands, with `$DEVICE`, `$LOG` and `$MOUNT` standing for the devices and the mount point.
#[must_use]
pub fn commands(settings: &StorageSettings) -> Vec<String> {
    let mut lines = vec!["MOUNT=/mnt".to_string()];
    for (what, variable) in [("device", "DEVICE"), ("log", "LOG")] {
        for (name, bytes) in image::images(settings).iter().filter(|(name, _)| name.starts_with(what)) {
            // Written and not only sized, as surefoot's own images are.
            lines.push(format!("head -c {bytes} /dev/urandom > {name} && sync {name}"));
            lines.push(format!("{variable}=$(losetup --find --show --direct-io=on {name})"));
        }
    }
    match (settings.device, &settings.path) {
        (Device::Dir, Some(path)) => return vec![format!("cd {}", quoted(&path.to_string_lossy()))],
        (Device::Block, Some(path)) => lines.push(format!("DEVICE={}", quoted(&path.to_string_lossy()))),
        _ => {}
    }
    let log = (settings.external_log_bytes() > 0).then_some("$LOG");
    lines.extend(made(settings, "$DEVICE", log, "$MOUNT"));
    lines
}

/// The commands from mkfs on, with devices and mount point as given.
pub(crate) fn made(settings: &StorageSettings, device: &str, log: Option<&str>, mount_point: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if settings.makes_filesystem() {
        lines.extend(mkfs::commands(settings, device, log).iter().map(|(name, words)| command_line(name, words)));
    }
    let source = if settings.device == Device::Tmpfs { "tmpfs" } else { device };
    let mut options = vec!["nosuid".to_string(), "nodev".to_string()];
    options.extend(mount::options(settings, log));
    lines.push(command_line("mount", &["-t", settings.mount_type(), "-o", &options.join(","), source, mount_point]));
    // No standard program writes the same files, so these two are said, not commanded.
    if settings.fill > 0.0 {
        lines.push(format!("# then filled to {:.0} % with files of random bytes", settings.fill * 100.0));
    }
    if settings.age > 0 {
        lines.push(format!("# then aged by {} of files created, appended to and deleted", format_bytes(settings.age)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_scenario_by_hand() {
        let settings = StorageSettings {
            filesystem: "xfs".into(),
            preset: Some("external-log".into()),
            size: 1 << 30,
            mount: vec!["noatime".into()],
            ..StorageSettings::default()
        };
        expect![[r"
            MOUNT=/mnt
            head -c 1073741824 /dev/urandom > device-1073741824.img && sync device-1073741824.img
            DEVICE=$(losetup --find --show --direct-io=on device-1073741824.img)
            head -c 134217728 /dev/urandom > log-134217728.img && sync log-134217728.img
            LOG=$(losetup --find --show --direct-io=on log-134217728.img)
            mkfs.xfs -q -f -K -l logdev=$LOG $DEVICE
            mount -t xfs -o nosuid,nodev,noatime,logdev=$LOG $DEVICE $MOUNT"]]
        .assert_eq(&commands(&settings).join("\n"));
    }

    #[test]
    fn memory_and_a_directory() {
        let tmpfs = StorageSettings { device: Device::Tmpfs, size: 1 << 30, ..StorageSettings::default() };
        assert_eq!(commands(&tmpfs)[1], "mount -t tmpfs -o nosuid,nodev,size=1073741824 tmpfs $MOUNT");
        let dir = StorageSettings { device: Device::Dir, path: Some("/srv/a b".into()), ..StorageSettings::default() };
        assert_eq!(commands(&dir), ["cd '/srv/a b'"]);
    }
}
