//! `surefoot clean`: removes work folders and what a killed run left. Never a results file.

use crate::failure::{Failure, Status};
use crate::source;
use anyhow::anyhow;
use sandbox::work::{Error, Holder, Work};
use settings::quantity::format_bytes;
use std::path::{Path, PathBuf};

/// Cleans up and says what it removed.
pub fn run(work: Option<&Path>) -> Result<Status, Failure> {
    let (mut removed, mut groups, mut refused) = (0, 0, None);
    for folder in folders(work)? {
        match remove(&folder) {
            Ok(killed) => {
                removed += 1;
                groups += killed;
            }
            // The others can go all the same.
            Err(failure) => {
                if let Some(earlier) = refused.replace(failure) {
                    earlier.report();
                }
            }
        }
    }
    // The folder that held them all goes when it is empty.
    let _ = std::fs::remove_dir("surefoot-work");
    if groups > 0 {
        println!("removed {groups} cgroups of runs that were killed");
    }
    match refused {
        Some(failure) => return Err(failure),
        None if removed + groups == 0 => println!("nothing to remove"),
        None => {}
    }
    Ok(Status::Answered)
}

/// Removes a folder that nobody works in and that holds no results which are nowhere else. How many cgroups went with it.
fn remove(folder: &Path) -> Result<usize, Failure> {
    let bytes = source::images_there(folder);
    let work = Work::own(folder, &Holder::this_process(None)).map_err(|error| match &error {
        Error::InUse { .. } | Error::NotPrivate { .. } => {
            let hint = error.hint();
            Failure::new(Status::Refused, error).hint(hint)
        }
        _ => error.into(),
    })?;
    if let Some(results) = super::run::unpublished(folder).into_iter().next() {
        let error = anyhow!("{} holds results that are nowhere else", results.display());
        let hint = "move them away; a fleet's member puts its own where they belong when it is run again";
        return Err(Failure::new(Status::Refused, error).hint(hint));
    }
    let groups = sandbox::memory_limit::remove_leftovers(&work);
    work.remove()?;
    println!("removed {} ({} of image files)", folder.display(), format_bytes(bytes));
    Ok(groups)
}

fn folders(work: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    if let Some(folder) = work {
        if folder.is_symlink() {
            let error = anyhow!("{} is a symbolic link", folder.display());
            return Err(Failure::new(Status::Refused, error).hint("name the folder itself"));
        }
        if !folder.exists() {
            let error = anyhow!("there is no folder {}", folder.display());
            let hint = "`surefoot clean` alone removes those below surefoot-work";
            return Err(Failure::new(Status::BadStudy, error).hint(hint));
        }
        if !Work::is_ours(folder) {
            let error = anyhow!("{} was not made by surefoot", folder.display());
            return Err(Failure::new(Status::Refused, error).hint("remove it by hand if you are sure"));
        }
        return Ok(vec![folder.to_owned()]);
    }
    let Ok(entries) = Path::new("surefoot-work").read_dir() else { return Ok(Vec::new()) };
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| !path.is_symlink() && Work::is_ours(path)).collect();
    folders.sort();
    Ok(folders)
}
