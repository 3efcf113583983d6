//! mkfs: its command line, and the only call of it. Takes nothing but what the guard cleared.

use crate::error::Error;
use crate::filesystem::{Command, Mkfs};
use crate::guard::{self, Cleared};
use crate::program;
use crate::refusal::Refusal;
use crate::settings::StorageSettings;

/// The commands that make the filesystem.
pub(crate) fn commands(settings: &StorageSettings, device: &str, log: Option<&str>) -> Vec<Command> {
    let row = settings.row();
    let nodiscard = if settings.discard { &[] } else { row.mkfs_nodiscard };
    let words = row.mkfs_flags.iter().chain(nodiscard).map(|word| (*word).to_string()).collect();
    (row.mkfs_commands)(&Mkfs { program: row.mkfs, words, asked: settings.mkfs_asked(), device, log })
}

/// Makes the filesystem on the cleared device, with its log on the other where there is one.
pub(crate) fn make(settings: &StorageSettings, device: &mut Cleared, log: Option<&Cleared>) -> Result<(), Error> {
    if let Some(word) = settings.mkfs.iter().find(|word| guard::names_a_device(word)) {
        let reason = format!("is not cleared for mkfs: the option `{word}` may name another device");
        return Err(Error::Refused(Refusal { path: device.path().into(), reason, hint: None }));
    }
    let log = log.map(|log| log.path().to_string_lossy());
    let _held = device.hand_over(settings.row())?;
    for (name, arguments) in commands(settings, &device.path().to_string_lossy(), log.as_deref()) {
        program::run(name, &arguments, settings.row().package)?.success()?;
    }
    device.formatted();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(filesystem: &str, preset: &str, mkfs: &[&str], expect: Expect) {
        let settings = StorageSettings {
            filesystem: filesystem.into(),
            preset: Some(preset.into()),
            mkfs: mkfs.iter().map(|word| (*word).to_string()).collect(),
            ..StorageSettings::default()
        };
        let log = (settings.external_log_bytes() > 0).then_some("$LOG");
        let lines: Vec<_> = commands(&settings, "$DEVICE", log)
            .iter()
            .map(|(name, words)| program::command_line(name, words))
            .collect();
        expect.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn lists_of_ext_are_merged() {
        check(
            "ext4",
            "no-extents",
            &["-Oquota", "-E", "stride=4", "-b", "4096"],
            expect![
                "mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=4 -O '^extents,^64bit,quota' -b 4096 $DEVICE"
            ],
        );
    }

    /// On a disk of 4 TB the probe wrote 60 GB of them, and was killed with its time over.
    #[test]
    fn what_a_device_is_probed_by_leaves_inode_tables_unwritten() {
        let plain = StorageSettings { filesystem: "xfs".into(), ..StorageSettings::default() }.plain();
        let made = commands(&plain, "$DEVICE", None);
        let lists: Vec<&str> = made[0].1.iter().flat_map(|word| word.split(',')).collect();
        // In a list the later entry counts.
        assert_eq!(lists.iter().rfind(|entry| entry.starts_with("lazy_itable_init")), Some(&"lazy_itable_init=1"));
    }

    #[test]
    fn external_logs() {
        check(
            "ext3",
            "external-log",
            &["-b", "2048"],
            expect![[r"
                mke2fs -q -F -E nodiscard -O journal_dev -b 2048 $LOG
                mkfs.ext3 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 -b 2048 -J device=$LOG $DEVICE"]],
        );
        check("xfs", "external-log", &[], expect!["mkfs.xfs -q -f -K -l logdev=$LOG $DEVICE"]);
    }
}
