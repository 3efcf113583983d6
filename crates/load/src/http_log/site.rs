//! A site made from a log: each path that was answered with a page becomes a file of the logged size, so that a log can be
//! replayed without the site that wrote it.

use super::{Log, Sizes, expected_class};
use crate::workload::Error;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Bound::{Excluded, Unbounded};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Longest name that filesystems take.
const NAME_BYTES_MAX: usize = 255;

/// Longest path below the document root: Linux takes 4096 bytes, with the folders above it.
const PATH_BYTES_MAX: usize = 2048;

/// Answers to a folder, and to a path that is a file and a folder in one log.
const INDEX: &str = "index.html";

/// The path of a target below the document root, as a web server reads it: decoded, without query, `.` and `..`; none: no
/// filesystem has such a name, or it lies below an index. A folder's path ends with its index.
pub fn path(target: &[u8]) -> Option<PathBuf> {
    let end = memchr::memchr2(b'?', b'#', target).unwrap_or(target.len());
    let decoded = decoded(&target[..end])?;
    if !decoded.starts_with(b"/") {
        return None;
    }
    let mut names: Vec<&[u8]> = Vec::new();
    for name in decoded.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop()?;
            }
            name if name.len() > NAME_BYTES_MAX || name.contains(&0) => return None,
            name => names.push(name),
        }
    }
    let is_folder = decoded.ends_with(b"/") || decoded.ends_with(b"/.") || decoded.ends_with(b"/..");
    // What lies below an index would make that a folder, and its own folder would have no page.
    let folders = if is_folder { &names[..] } else { names.split_last().map_or(&[][..], |(_, folders)| folders) };
    if folders.contains(&INDEX.as_bytes()) {
        return None;
    }
    let mut path: PathBuf = names.into_iter().map(OsStr::from_bytes).collect();
    if is_folder {
        path.push(INDEX);
    }
    (path.as_os_str().len() <= PATH_BYTES_MAX).then_some(path)
}

fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        plain.push(match byte {
            b'%' => {
                let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
                (digit(rest.next())? * 16 + digit(rest.next())?) as u8
            }
            byte => *byte,
        });
    }
    Some(plain)
}

/// What a log's site is: files and their sizes, the largest that was logged, with room for the text that each must have.
pub fn files(log: &Log) -> Result<BTreeMap<PathBuf, u64>, Error> {
    let mut files: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let text_bytes = log.body_text.as_ref().map_or(0, |text| text.len() as u64);
    log.each(|entry| {
        if expected_class(entry.status) == 2
            && let Some(path) = path(&entry.target)
        {
            let bytes = files.entry(path).or_default();
            *bytes = entry.bytes.unwrap_or(0).max(*bytes).max(text_bytes);
        }
    })?;
    // A path that others lie below is a folder here; its file is the folder's index.
    let is_folder = |path: &&PathBuf| {
        let mut behind = files.range::<Path, _>((Excluded(path.as_path()), Unbounded));
        behind.next().is_some_and(|(next, _)| next.starts_with(path))
    };
    let folders: Vec<PathBuf> = files.keys().filter(is_folder).cloned().collect();
    for folder in folders {
        let bytes = files.remove(&folder).expect("it is one of the keys");
        let index = files.entry(folder.join(INDEX)).or_default();
        *index = bytes.max(*index);
    }
    Ok(files)
}

/// The sizes of these files, to be looked up with each request.
pub fn sizes(files: BTreeMap<PathBuf, u64>) -> Sizes {
    files.into_iter().map(|(path, bytes)| (path.into_os_string().into_vec(), bytes)).collect()
}

/// The size of the file that the site has for a target; none within: the path is a folder's. None: no filesystem has such a name.
pub(super) fn size_of(target: &[u8], sizes: &Sizes) -> Option<Option<u64>> {
    path(target).map(|path| sizes.get(path.as_os_str().as_bytes()).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn targets_are_paths() {
        let is = |target: &str, expected: Option<&str>| {
            assert_eq!(path(target.as_bytes()), expected.map(PathBuf::from), "{target}");
        };
        is("/a/b.html?c=/d/#e", Some("a/b.html"));
        is("/", Some("index.html"));
        is("/a//b/./c/../", Some("a/b/index.html"));
        is("/a%20b%2Fc", Some("a b/c"));
        is("/../etc/passwd", None);
        is("/a/%2e%2e/%2e%2e/etc/passwd", None);
        is("/%zz", None);
        is("/%00", None);
        is("http://other/", None);
        is("/a/index.html", Some("a/index.html"));
        is("/index.html/", None);
        is("/a/index.html/b", None);
        is(&format!("/{}", "x".repeat(256)), None);
        let deep = |folders: usize| format!("/{}b", "a/".repeat(folders));
        is(&deep(1023), Some(&deep(1023)[1..]));
        is(&deep(1024), None);
    }

    proptest! {
        #[test]
        fn no_target_leaves_the_site(target in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(path) = path(&target) {
                prop_assert!(path.is_relative());
                prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
            }
        }
    }
}
