//! Archives of source trees: known by the ends of their names, and unpacked by the programs that are there for it.

use load::process;
use load::workload::Error;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// For unpacking and copying: a kernel's source takes minutes on a slow disk.
pub const TIMEOUT: Duration = Duration::from_secs(3600);

/// A program and its package.
pub type Program = (&'static str, &'static str);

/// Ends of archives' names, and what unpacks each.
const ENDINGS: [(&str, Option<Program>); 7] = [
    (".tar", None),
    (".tar.gz", Some(("gzip", "gzip"))),
    (".tgz", Some(("gzip", "gzip"))),
    (".tar.xz", Some(("xz", "xz-utils"))),
    (".txz", Some(("xz", "xz-utils"))),
    (".tar.zst", Some(("zstd", "zstd"))),
    (".tzst", Some(("zstd", "zstd"))),
];

/// What unpacks an archive; none: it is not compressed, or not known.
pub fn unpacker(archive: &Path) -> Option<Program> {
    let name = archive.to_string_lossy();
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending))?.1
}

/// Bytes of what is in an archive, roughly, for `plan`: source compresses four to five times. 0: it can't be looked at.
pub fn content_bytes(archive: &Path) -> u64 {
    let bytes = fs::metadata(archive).map_or(0, |data| data.len());
    if unpacker(archive).is_some() { bytes * 5 } else { bytes }
}

/// What is wrong with an archive.
pub fn problems(archive: &Path) -> Vec<String> {
    let shown = archive.display().to_string();
    if !ENDINGS.iter().any(|(ending, _)| shown.ends_with(ending)) {
        let endings: Vec<_> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
        return vec![format!("`archive` = {shown} must end with one of {}", endings.join(", "))];
    }
    match fs::metadata(archive) {
        Ok(data) if data.is_file() => Vec::new(),
        Ok(_) => vec![format!("`archive` = {shown} is not a file")],
        Err(error) => vec![format!("`archive` = {shown}: {error}")],
    }
}

/// Programs that this machine lacks for an archive; `programs` are needed for any.
pub fn missing(archive: &Path, programs: &[Program]) -> Vec<String> {
    let needed = programs.iter().copied().chain(unpacker(archive));
    let absent = needed.filter_map(|program| process::missing(program.0, &[program]));
    absent.map(|said| format!("`archive`: {said}")).collect()
}

/// Runs a program that must succeed.
pub fn succeed(words: &[String], folder: &Path, interrupted: &AtomicBool) -> Result<(), Error> {
    process::run(words, folder, TIMEOUT, interrupted)?.succeeded(&words[0]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn archives_that_cannot_be() {
        expect!["`archive` = a.zip must end with one of .tar, .tar.gz, .tgz, .tar.xz, .txz, .tar.zst, .tzst"]
            .assert_eq(&problems(Path::new("a.zip")).join("\n"));
        expect!["`archive` = /no/such.tar.xz: No such file or directory (os error 2)"]
            .assert_eq(&problems(Path::new("/no/such.tar.xz")).join("\n"));
    }

    #[test]
    fn a_program_that_is_not_here_is_missing_and_the_archive_is_not_looked_for() {
        expect!["`archive`: the program untar-of-nobody (package untar) is not on this machine"]
            .assert_eq(&missing(Path::new("/no/such.tar"), &[("untar-of-nobody", "untar")]).join("\n"));
    }
}
