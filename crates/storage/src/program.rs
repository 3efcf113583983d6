//! Running the real programs (mkfs, fsck, dumpe2fs …) and finding them.

use crate::error::{Error, Missing};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Lines of a program's output that are kept for messages; mkfs and fsck say what failed at their end.
const LOG_LINES_MAX: usize = 60;

/// Where programs are looked for: `PATH`, and beside each `bin` its `sbin`, which `su` on Debian leaves out.
pub fn search_path() -> Vec<PathBuf> {
    let (path, mut seen) = (std::env::var_os("PATH").unwrap_or_default(), HashSet::new());
    let with_sbin = |folder: PathBuf| {
        let sbin = (folder.file_name() == Some(OsStr::new("bin"))).then(|| folder.with_file_name("sbin"));
        std::iter::once(folder).chain(sbin)
    };
    std::env::split_paths(&path).flat_map(with_sbin).filter(|folder| seen.insert(folder.clone())).collect()
}

/// The program's file, when it is installed.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    search_path().into_iter().map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// What a program said and how it ended.
pub(crate) struct Output {
    /// Standard output.
    pub(crate) text: String,
    /// Exit status; `None` when it was killed.
    pub(crate) status: Option<i32>,
    /// How it ended, in words.
    ended: String,
    /// Both outputs, the end of them.
    pub(crate) log: String,
    command: String,
}

impl Output {
    /// Its standard output, when it succeeded.
    pub(crate) fn success(self) -> Result<String, Error> {
        if self.status == Some(0) { Ok(self.text) } else { Err(self.failure()) }
    }

    pub(crate) fn failure(self) -> Error {
        Error::Program { command: self.command, status: self.ended, log: self.log }
    }
}

/// Runs a program to its end, without input, in plain English. In UTF-8, as `findmnt`, which `xfs_info` asks, writes other letters of
/// a path as `\xc3\xa4` without.
pub(crate) fn run(program: &str, arguments: &[impl AsRef<OsStr>], package: &str) -> Result<Output, Error> {
    let file = find(program).ok_or_else(|| Missing::package(program, package))?;
    let path: OsString = std::env::join_paths(search_path()).expect("the parts came from a search path");
    let mut command = Command::new(&file);
    command.args(arguments).env("LC_ALL", "C.UTF-8").env("PATH", path).stdin(Stdio::null());
    let output = command.output().map_err(Error::file("run", &file))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(Output {
        status: output.status.code(),
        ended: output.status.to_string(),
        log: last_lines(&log),
        command: command_line(program, arguments),
        text,
    })
}

/// A command line that a shell takes back.
pub(crate) fn command_line(program: &str, arguments: &[impl AsRef<OsStr>]) -> String {
    let words = arguments.iter().map(|word| quoted(&word.as_ref().to_string_lossy()));
    std::iter::once(program.to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell must see it; variables (`$DEVICE`), which are in capitals, stay variables.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+$".contains(c);
    let are_ours = word.split('$').skip(1).all(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    if !word.is_empty() && word.chars().all(plain) && are_ours {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES_MAX)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["-O", "^extents,^64bit", "a b", "it's", "$DEVICE", "", "logdev=$LOG,a", "pa$s", "$1", "a$"];
        let expected = r"mkfs -O '^extents,^64bit' 'a b' 'it'\''s' $DEVICE '' logdev=$LOG,a 'pa$s' '$1' 'a$'";
        assert_eq!(command_line("mkfs", &words), expected);
    }

    #[test]
    fn a_failing_program_is_quoted_with_its_last_words() {
        let error = run("sh", &["-c", "echo first; echo last >&2; exit 3"], "dash").expect("it starts").success();
        let error = error.expect_err("it fails");
        assert_eq!(error.log(), Some("first\nlast"));
        assert_eq!(error.to_string(), "`sh -c 'echo first; echo last >&2; exit 3'` failed with exit status: 3");
    }

    /// In a work folder whose name had an `ä`, XFS' mount point was not found.
    #[test]
    fn a_path_in_any_letters_stays_what_it_is() {
        let said = run("locale", &["charmap"], "libc-bin").and_then(Output::success).expect("it is part of libc");
        assert_eq!(said.trim(), "UTF-8");
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let error = run("no-such-program", &[""; 0], "its-package").err().expect("it is not there");
        assert!(error.is_missing());
        assert_eq!(error.to_string(), "no-such-program is not installed; install the package its-package");
    }
}
