//! The source tree: from an archive or a generated program, and clean copies of it.

use super::generate::Program;
use crate::source_archive::{TIMEOUT, succeed};
use load::process;
use load::workload::{Context, Error};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Unpacks an archive into an empty folder. tar itself keeps what is in it below the folder (it makes symbolic links last); of
/// root it would also make device nodes, and programs with their owner's rights.
pub fn unpack(archive: &Path, target: &Path, context: &Context) -> Result<(), Error> {
    let archive = archive.canonicalize().map_err(Error::doing("open", archive))?;
    let archive = archive.display().to_string();
    refuse_special(&archive, target, context)?;
    let words = ["tar", "--extract", "--no-same-owner", "--no-same-permissions", "--file", &archive].map(String::from);
    succeed(&words, target, context.interrupted)
}

/// Refuses an archive that holds other things than files, folders and links.
fn refuse_special(archive: &str, folder: &Path, context: &Context) -> Result<(), Error> {
    // The first letter of each line of a listing is the entry's kind.
    let kinds = "tar --list --verbose --file \"$1\" | cut -c 1 | sort -u";
    let words = ["sh", "-c", kinds, "sh", archive].map(String::from);
    let listed = process::run(&words, folder, TIMEOUT, context.interrupted)?;
    let is_special = |kind: &&str| ["b", "c", "p", "s"].contains(kind);
    match listed.stdout.lines().find(is_special) {
        Some(kind) => {
            let problem =
                format!("it holds a device, pipe or socket (`{kind}` in tar's listing), which no source tree has");
            Err(Error::Parameter { setting: "archive", problem })
        }
        None => Ok(()),
    }
}

/// Writes a program's files.
pub fn write(program: &Program, target: &Path) -> Result<(), Error> {
    for (name, text) in program.files() {
        let path = target.join(name);
        let folder = path.parent().expect("it is below the target");
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.map_err(Error::doing("write", &path))?;
    }
    Ok(())
}

/// Copies a tree with its times, which make looks at. No block is shared with the source: a copy would then cost the build
/// what its own blocks do not.
pub fn copy(source: &Path, target: &Path, context: &Context) -> Result<(), Error> {
    let words = ["cp".into(), "--archive".into(), "--reflink=never".into(), shown(source), shown(target)];
    succeed(&words, &context.data_folder, context.interrupted)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// An empty folder, whatever was there.
pub fn emptied(folder: &Path) -> Result<(), Error> {
    removed(folder)?;
    fs::create_dir_all(folder).map_err(Error::doing("create", folder))
}

/// Nothing, whatever was there.
pub fn removed(folder: &Path) -> Result<(), Error> {
    Error::unless_gone(fs::remove_dir_all(folder), folder)
}

/// Where an archive's commands run: in its only folder, or at the top.
pub fn top(tree: &Path) -> Result<PathBuf, Error> {
    let unreadable = |source| Error::file("read", tree, source);
    let entries: Vec<_> = tree.read_dir().map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)?;
    match &entries[..] {
        [] => Err(Error::Parameter { setting: "archive", problem: "it holds no file".into() }),
        [only] if only.file_type().map_err(unreadable)?.is_dir() => Ok(only.path()),
        _ => Ok(tree.into()),
    }
}

/// Bytes of all files below.
pub fn bytes(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in folder.read_dir()? {
        let entry = entry?;
        let data = entry.metadata()?;
        sum += if data.is_dir() { bytes(&entry.path())? } else { data.len() };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_run_in_the_only_folder() {
        let tree = tempfile::tempdir().unwrap();
        assert!(top(tree.path()).is_err());
        fs::create_dir(tree.path().join("gcc-3.3.1")).unwrap();
        assert_eq!(top(tree.path()).unwrap(), tree.path().join("gcc-3.3.1"));
        fs::write(tree.path().join("README"), "x").unwrap();
        assert_eq!(top(tree.path()).unwrap(), tree.path());
        assert_eq!(bytes(tree.path()).unwrap(), 1);
    }
}
