//! Copies a CMS's code from its package's folder, links followed, without what no request reads.

use load::workload::Error;
use std::path::Path;

/// Copies a folder; `leaves_out` says so of paths below it.
pub fn copy(from: &Path, to: &Path, leaves_out: &dyn Fn(&Path) -> bool) -> Result<(), Error> {
    copy_below(from, to, Path::new(""), leaves_out)
}

fn copy_below(from: &Path, to: &Path, below: &Path, leaves_out: &dyn Fn(&Path) -> bool) -> Result<(), Error> {
    let (source, target) = (from.join(below), to.join(below));
    std::fs::create_dir_all(&target).map_err(Error::doing("create", &target))?;
    for entry in source.read_dir().map_err(Error::doing("read", &source))?.flatten() {
        let path = below.join(entry.file_name());
        let file = from.join(&path);
        // A link that leads nowhere is a setting that the administrator has not made yet.
        if leaves_out(&path) || !file.exists() {
            continue;
        }
        if file.is_dir() {
            copy_below(from, to, &path, leaves_out)?;
        } else {
            let target = to.join(&path);
            std::fs::copy(&file, &target).map_err(Error::doing("copy", &file))?;
        }
    }
    Ok(())
}

/// Whether the path is below one of these folders, or one of these files, with a space between each.
pub fn is_in(path: &Path, places: &str) -> bool {
    places.split(' ').any(|place| path.starts_with(place))
}

/// Whether it is what developers and readers of the package get besides the program.
pub fn is_for_people(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".md", ".txt", ".map", ".map.json", ".xcf", ".dist", ".example", "-sample.php"];
    let names = ["tests", "docs", ".htaccess", "composer.json", "COPYING", "LICENSE", "README", "screenshot.png"];
    ends.iter().any(|end| name.ends_with(end)) || names.contains(&&*name)
}
