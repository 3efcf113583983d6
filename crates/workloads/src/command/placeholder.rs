//! `{data}` and the like in a program's arguments.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const NAMES: [&str; 5] = ["data", "mount", "seconds", "threads", "seed"];

/// What stands for what.
pub struct Values<'a> {
    pub data: &'a Path,
    pub seconds: u64,
    pub threads: u64,
    pub seed: u64,
}

impl Values<'_> {
    /// The argument with all placeholders replaced.
    pub fn put_into(&self, argument: &str) -> String {
        NAMES.iter().fold(argument.to_string(), |text, name| {
            let mark = format!("{{{name}}}");
            if text.contains(&mark) { text.replace(&mark, &self.value(name)) } else { text }
        })
    }

    fn value(&self, name: &str) -> String {
        match name {
            "data" => self.data.display().to_string(),
            "mount" => mount_point(self.data).display().to_string(),
            "seconds" => self.seconds.to_string(),
            "threads" => self.threads.to_string(),
            _ => self.seed.to_string(),
        }
    }
}

/// What to say about a word in braces that is nearly a placeholder. Others may belong to the program.
pub fn misspelt(setting: &str, argument: &str) -> Option<String> {
    let words = argument.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(word, _)| word);
    let wrong = words.filter(|word| !NAMES.contains(word));
    wrong
        .filter_map(|word| settings::nearest_name(word, NAMES.into_iter()).map(|near| (word, near)))
        .map(|(word, near)| format!("`{setting}`: {{{word}}} is no placeholder: did you mean {{{near}}}?"))
        .next()
}

/// The topmost folder above that is on the same device.
fn mount_point(folder: &Path) -> PathBuf {
    let device = |path: &Path| path.metadata().map(|data| data.dev()).ok();
    let here = device(folder);
    folder.ancestors().take_while(|path| device(path) == here).last().unwrap_or(folder).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_and_other_braces_stay() {
        let values = Values { data: Path::new("/d"), seconds: 30, threads: 4, seed: 9 };
        let text = "{data}/x {seconds}s {threads} {seed} {print $1} {} {other}";
        assert_eq!(values.put_into(text), "/d/x 30s 4 9 {print $1} {} {other}");
    }

    #[test]
    fn the_mount_point_is_found_from_within() {
        assert_eq!(mount_point(Path::new("/proc/sys/kernel")), Path::new("/proc"));
    }

    #[test]
    fn a_slip_is_told_from_a_brace() {
        assert!(misspelt("command", "sleep {secnds}").is_some_and(|text| text.ends_with("did you mean {seconds}?")));
        assert_eq!(misspelt("command", "awk '{print $1}' {data} {"), None);
    }
}
