//! Which one of several installed versions a study gets.

use crate::service::Missing;
use std::path::PathBuf;

/// The newest version that is installed, or the one that is wanted, and its folder.
pub fn find<V: Ord + ToString>(
    what: &str,
    wanted: Option<&str>,
    mut found: Vec<(V, PathBuf)>,
    package: &str,
) -> Result<(PathBuf, String), Missing> {
    found.sort();
    let mut installed = Vec::new();
    for (version, folder) in found.into_iter().rev() {
        let version = version.to_string();
        if wanted.is_none_or(|wanted| version == wanted) {
            return Ok((folder, version));
        }
        installed.insert(0, version);
    }
    let missing = Missing::package(what, package);
    match wanted {
        Some(wanted) if !installed.is_empty() => {
            let what = format!("{what} {wanted} is not installed, but {}", installed.join(", "));
            Err(Missing { what, ..missing })
        }
        _ => Err(missing),
    }
}
