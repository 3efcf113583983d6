//! `surefoot clean`: removes work folders and what a killed run left. Never a results file.

use crate::cli::CleanArgs;
use crate::failure::{Failure, Status};
use anyhow::anyhow;
use lab::work::Work;
use settings::quantity::format_bytes;
use std::path::{Path, PathBuf};

/// Cleans up and says what it removed.
pub fn run(args: &CleanArgs) -> Result<Status, Failure> {
    let mut removed = 0;
    for folder in folders(args)? {
        let bytes = storage::images_bytes(&folder.join("images"));
        Work::open(&folder)?.remove()?;
        println!("removed {} ({} of image files)", folder.display(), format_bytes(bytes));
        removed += 1;
    }
    // The folder that held them all goes when it is empty.
    let _ = std::fs::remove_dir("surefoot-work");
    let groups = lab::memory_limit::remove_leftovers();
    if groups > 0 {
        println!("removed {groups} cgroups of runs that were killed");
    }
    if removed + groups == 0 {
        println!("nothing to remove");
    }
    Ok(Status::Answered)
}

fn folders(args: &CleanArgs) -> Result<Vec<PathBuf>, Failure> {
    if let Some(folder) = &args.work {
        if !Work::is_ours(folder) {
            let error = anyhow!("{} was not made by surefoot", folder.display());
            return Err(Failure::new(Status::Refused, error).hint("remove it by hand if you are sure"));
        }
        return Ok(vec![folder.clone()]);
    }
    let Ok(entries) = Path::new("surefoot-work").read_dir() else { return Ok(Vec::new()) };
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| Work::is_ours(path)).collect();
    folders.sort();
    Ok(folders)
}
