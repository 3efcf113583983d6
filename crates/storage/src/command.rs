//! The plain shell commands that make the same storage by hand, for `report --reproduce`.

use crate::device::Device;
use crate::image;
use crate::layer::{Layer, SECTOR_BYTES};
use crate::mkfs;
use crate::mount;
use crate::program::{command_line, quoted};
use crate::settings::StorageSettings;
use crate::virtual_disk;
use settings::quantity::format_bytes;

/// The commands, with `$DEVICE`, `$LOG` and `$MOUNT` standing for the devices and the mount point.
pub fn commands(settings: &StorageSettings) -> Vec<String> {
    let mut lines = vec!["MOUNT=/mnt".to_string()];
    let delay = Layer::delay(settings);
    if settings.device == Device::Loop {
        let disks = settings.disks();
        let of_one = disks.len() == 1;
        let mut variables = Vec::new();
        for (number, (what, bytes)) in (1..).zip(&disks) {
            let variable = if of_one { "DEVICE".into() } else { format!("DEVICE{number}") };
            lines.extend(disk(what, *bytes, &variable, delay));
            variables.push(format!("${variable}"));
        }
        if let Some(stripe) = Layer::stripe(settings) {
            lines.extend(mapped("DEVICE", stripe, settings.size, &variables));
        }
    }
    let log = settings.external_log_bytes();
    if settings.makes_filesystem() && log > 0 {
        lines.extend(disk("log", log, "LOG", delay));
    }
    match (settings.device, &settings.path) {
        (Device::Dir, Some(path)) => return vec![format!("cd {}", quoted(&path.to_string_lossy()))],
        (Device::Block, Some(path)) => {
            lines.push(format!("DEVICE={}", quoted(&path.to_string_lossy())));
            // Elsewhere that name may be another disk's, and mkfs is told to ask nothing. A complaint is no "empty": not all systems have wipefs.
            lines.push(
                "test -z \"$(wipefs --no-act $DEVICE 2>&1)\" || exit 1  # it holds something, or can't be asked".into(),
            );
        }
        // No standard program is such a disk, so it is said, not commanded.
        (Device::Virtual, _) => lines.push(format!("# DEVICE is a {}", virtual_disk::describe(settings))),
        _ => {}
    }
    let log = (log > 0).then_some("$LOG");
    lines.extend(made(settings, "$DEVICE", log, "$MOUNT"));
    lines
}

/// An image file as a device, slowed down where that is asked.
fn disk(what: &str, bytes: u64, variable: &str, delay: Option<Layer>) -> Vec<String> {
    let name = image::name(what, bytes);
    let mut lines = vec![
        // Written and not only sized, as surefoot's own images are.
        format!("head -c {bytes} /dev/urandom > {name} && sync {name}"),
        format!("{variable}=$(losetup --find --show --direct-io=on {name})"),
    ];
    lines.extend(delay.map(|delay| mapped(variable, delay, bytes, &[format!("${variable}")])).into_iter().flatten());
    lines
}

/// A layer over devices, which the variable names from there on.
fn mapped(variable: &str, layer: Layer, bytes: u64, devices: &[String]) -> [String; 2] {
    let name = format!("surefoot-{}-{}", layer.target(), variable.to_lowercase());
    let (sectors, target, arguments) = (bytes / SECTOR_BYTES, layer.target(), layer.arguments(devices));
    [
        format!("dmsetup create {name} --table \"0 {sectors} {target} {arguments}\""),
        format!("{variable}=/dev/mapper/{name}"),
    ]
}

/// The commands from mkfs on, with devices and mount point as given.
pub(crate) fn made(settings: &StorageSettings, device: &str, log: Option<&str>, mount_point: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if settings.makes_filesystem() {
        lines.extend(mkfs::commands(settings, device, log).iter().map(|(name, words)| command_line(name, words)));
    }
    let kind = settings.mount_type().name;
    let source = if settings.device == Device::Tmpfs { kind } else { device };
    let mut options = vec!["nosuid".to_string(), "nodev".to_string()];
    options.extend(mount::options(settings, log));
    lines.push(command_line("mount", &["-t", kind, "-o", &options.join(","), source, mount_point]));
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
    fn a_stripe_over_slow_disks() {
        let settings = StorageSettings {
            preset: Some("external-log".into()),
            size: 1 << 30,
            stripe: 2,
            delay_flush: 0.02,
            ..StorageSettings::default()
        };
        expect![[r#"
            MOUNT=/mnt
            head -c 536870912 /dev/urandom > device-1-536870912.img && sync device-1-536870912.img
            DEVICE1=$(losetup --find --show --direct-io=on device-1-536870912.img)
            dmsetup create surefoot-delay-device1 --table "0 1048576 delay $DEVICE1 0 0 $DEVICE1 0 0 $DEVICE1 0 20"
            DEVICE1=/dev/mapper/surefoot-delay-device1
            head -c 536870912 /dev/urandom > device-2-536870912.img && sync device-2-536870912.img
            DEVICE2=$(losetup --find --show --direct-io=on device-2-536870912.img)
            dmsetup create surefoot-delay-device2 --table "0 1048576 delay $DEVICE2 0 0 $DEVICE2 0 0 $DEVICE2 0 20"
            DEVICE2=/dev/mapper/surefoot-delay-device2
            dmsetup create surefoot-striped-device --table "0 2097152 striped 2 128 $DEVICE1 0 $DEVICE2 0"
            DEVICE=/dev/mapper/surefoot-striped-device
            head -c 134217728 /dev/urandom > log-134217728.img && sync log-134217728.img
            LOG=$(losetup --find --show --direct-io=on log-134217728.img)
            dmsetup create surefoot-delay-log --table "0 262144 delay $LOG 0 0 $LOG 0 0 $LOG 0 20"
            LOG=/dev/mapper/surefoot-delay-log
            mke2fs -q -F -E nodiscard -O journal_dev -b 4096 $LOG
            mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 -b 4096 -J device=$LOG $DEVICE
            mount -t ext4 -o nosuid,nodev $DEVICE $MOUNT"#]]
        .assert_eq(&commands(&settings).join("\n"));
    }

    /// On another machine its name may be another disk's, which mkfs overwrote without a question.
    #[test]
    fn a_block_device_is_asked_whether_it_is_empty_before_mkfs() {
        let settings =
            StorageSettings { device: Device::Block, path: Some("/dev/sdx".into()), ..StorageSettings::default() };
        let lines = commands(&settings);
        let at = |begin: &str| lines.iter().position(|line| line.starts_with(begin)).expect(begin);
        let [device, asked, made] =
            ["DEVICE=/dev/sdx", "test -z \"$(wipefs --no-act $DEVICE 2>&1)\" || exit 1", "mkfs.ext4 "].map(at);
        assert!(device < asked && asked < made, "{lines:#?}");
        // With no such program, as on Alpine Linux by default, it had passed for empty.
        let script = format!("DEVICE=/dev/sdx; PATH=/nonexistent; {}", lines[asked]);
        let ended = std::process::Command::new("/bin/sh").args(["-c", &script]).status().expect("a shell");
        assert_eq!(ended.code(), Some(1));
    }

    #[test]
    fn a_virtual_disk_is_said() {
        let settings =
            StorageSettings { device: Device::Virtual, disk: "sata-7200".into(), ..StorageSettings::default() };
        let said = "# DEVICE is a virtual disk of 4294967296 bytes, a volatile cache, timed as sata-7200";
        assert_eq!(commands(&settings)[1], said);
    }

    #[test]
    fn memory_and_a_directory() {
        let tmpfs = StorageSettings { device: Device::Tmpfs, size: 1 << 30, ..StorageSettings::default() };
        assert_eq!(commands(&tmpfs)[1], "mount -t tmpfs -o nosuid,nodev,size=1073741824 tmpfs $MOUNT");
        let dir = StorageSettings { device: Device::Dir, path: Some("/srv/a b".into()), ..StorageSettings::default() };
        assert_eq!(commands(&dir), ["cd '/srv/a b'"]);
    }
}
