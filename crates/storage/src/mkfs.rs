//! mkfs: its command line, and the only call of it. Takes nothing but what the guard cleared.

use crate::error::Error;
use crate::guard::{self, Cleared, Refusal};
use crate::program;
use crate::settings::StorageSettings;

/// Block size of an ext journal on its own device, which must equal the filesystem's (mke2fs(8), `-J device=`).
const LOG_BLOCK_BYTES: &str = "4096";

/// Options of mke2fs that count only once, so that ours and the study's go into one list.
const LISTS_OF_EXT: &[&str] = &["-O", "-E", "-J"];

/// Inode tables and journal are written now, not by a kernel thread while the load runs.
const EXT_NOT_LAZY: &str = "lazy_itable_init=0,lazy_journal_init=0";

/// A command: program and arguments.
pub(crate) type Command = (&'static str, Vec<String>);

/// The commands that make the filesystem: one for an ext journal of its own, and mkfs itself.
pub(crate) fn commands(settings: &StorageSettings, device: &str, log: Option<&str>) -> Vec<Command> {
    let row = settings.row();
    let asked = settings.mkfs_asked();
    let mut words: Vec<String> = row.mkfs_flags.iter().map(|word| (*word).to_string()).collect();
    if !settings.discard {
        words.extend(row.mkfs_nodiscard.iter().map(|word| (*word).to_string()));
    }
    let mut all = Vec::new();
    if row.is_ext() {
        words.extend(["-E".into(), EXT_NOT_LAZY.into()]);
        words.extend(asked.iter().cloned());
        if let Some(log) = log {
            let block = values(&asked, &["-b"]).pop().unwrap_or_else(|| LOG_BLOCK_BYTES.into());
            if values(&asked, &["-b"]).is_empty() {
                words.extend(["-b".into(), block.clone()]);
            }
            words.extend(["-J".into(), format!("device={log}")]);
            let journal = ["-q", "-F", "-E", "nodiscard", "-O", "journal_dev", "-b", &block, log];
            all.push(("mke2fs", journal.map(str::to_string).to_vec()));
        }
        words = LISTS_OF_EXT.iter().fold(words, |words, option| merged(words, option));
    } else {
        words.extend(asked);
        if let Some(log) = log {
            words.extend(["-l".into(), format!("logdev={log}")]);
        }
    }
    words.push(device.into());
    all.push((row.mkfs, words));
    all
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
    Ok(())
}

/// Features asked of an ext filesystem by `-O`, or of btrfs by `-O` and `-R`: `extents`, `^has_journal`.
pub(crate) fn features(settings: &StorageSettings) -> Vec<String> {
    let lists = values(&settings.mkfs_asked(), &["-O", "-R", "--features", "--runtime-features"]);
    lists.iter().flat_map(|list| list.split(',')).filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// Whether an ext3 or ext4 filesystem with these features asked has a journal; the last word on it counts.
pub(crate) fn has_journal(features: &[String]) -> bool {
    features.iter().fold(true, |has, feature| match feature.as_str() {
        "none" | "^has_journal" => false,
        "has_journal" => true,
        _ => has,
    })
}

/// Values of an option in a command line: `-O x`, `-Ox`, `--features x`, `--features=x`.
pub(crate) fn values(words: &[String], names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        for name in names {
            if word == name {
                found.extend(rest.next().cloned());
                break;
            }
            let Some(value) = word.strip_prefix(name) else { continue };
            match value.strip_prefix('=') {
                Some(value) if name.starts_with("--") => found.push(value.into()),
                _ if !name.starts_with("--") => found.push(value.into()),
                _ => {}
            }
        }
    }
    found
}

/// All uses of an option joined into one, at the place of the first; in a list the later entry wins.
fn merged(words: Vec<String>, option: &str) -> Vec<String> {
    let joined = values(&words, &[option]).join(",");
    if joined.is_empty() {
        return words;
    }
    let mut kept = Vec::new();
    let mut first = true;
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        if !word.starts_with(option) {
            kept.push(word);
            continue;
        }
        if word == option {
            rest.next();
        }
        if std::mem::take(&mut first) {
            kept.extend([option.to_string(), joined.clone()]);
        }
    }
    kept
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

    #[test]
    fn the_last_word_on_the_journal_counts() {
        let has = |text: &str| has_journal(&text.split(',').map(str::to_string).collect::<Vec<_>>());
        assert!(has("extents") && has("none,has_journal"));
        assert!(!has("^has_journal") && !has("none,extents"));
    }

    #[test]
    fn values_in_all_their_spellings() {
        let words =
            ["-O", "a,b", "-Oc", "--features=d", "--features", "e", "-f", "--csum", "xxhash"].map(str::to_string);
        assert_eq!(values(&words, &["-O", "--features"]), ["a,b", "c", "d", "e"]);
        assert_eq!(values(&words, &["--csum"]), ["xxhash"]);
    }
}
