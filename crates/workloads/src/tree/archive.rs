//! The archive: found or unpacked, checked for what may not be in it, and what a tree made from it must look like.

use crate::source_archive;
use load::workload::Error;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::UNIX_EPOCH;
use tar::EntryType;

/// One file of this many is compared byte for byte (by CRC-32): 1 % finds what damages many files, at 1 % of the time.
const SAMPLE_EVERY: u64 = 97;

/// What is in an archive.
pub struct Manifest {
    /// Files, hard links among them.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    folders: u64,
    links: u64,
    samples: Vec<(PathBuf, u32)>,
}

/// The archive as a plain one: itself, or unpacked once into the cache.
pub fn plain(path: &Path, cache: &Path, interrupted: &AtomicBool) -> Result<PathBuf, Error> {
    let Some((unpacker, _)) = source_archive::unpacker(path) else { return Ok(path.into()) };
    let unreadable = |source| Error::file("read", path, source);
    let (path, data) = (path.canonicalize().map_err(unreadable)?, path.metadata().map_err(unreadable)?);
    let changed = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let identity = format!("{} {} {}", path.display(), data.len(), changed.as_nanos());
    let target = cache.join(format!("tree-{:08x}.tar", crc32fast::hash(identity.as_bytes())));
    if target.exists() {
        return Ok(target);
    }
    make_once(&target, |unfinished| {
        let words = ["sh", "-c", "exec \"$0\" -dc < \"$1\" > \"$2\"", unpacker].map(String::from).into_iter();
        let words: Vec<_> = words.chain([&*path, unfinished].map(|path| path.display().to_string())).collect();
        source_archive::succeed(&words, cache, interrupted)
    })?;
    Ok(target)
}

/// Makes a file under another name, and gives it its own when it is whole.
fn make_once(path: &Path, make: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let unfinished = path.with_extension("unfinished");
    let finish = || {
        File::open(&unfinished)?.sync_all()?;
        std::fs::rename(&unfinished, path)
    };
    let made = make(&unfinished).and_then(|()| finish().map_err(Error::doing("write", path)));
    if made.is_err() {
        // The failure says more than a removal that may fail after it.
        let _ = std::fs::remove_file(&unfinished);
    }
    made
}

/// The same of a file that is written here. An `Interrupted` of `write` is the user's.
pub fn write_once(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Error> {
    make_once(path, |unfinished| {
        File::create(unfinished).and_then(|mut file| write(&mut file)).map_err(|source| match source.kind() {
            io::ErrorKind::Interrupted => Error::Interrupted,
            _ => Error::file("write", path, source),
        })
    })
}

/// Reads the archive once, so that it is in the page cache.
pub fn read_into_memory(path: &Path) -> Result<(), Error> {
    let mut file = File::open(path).map_err(Error::doing("open", path))?;
    io::copy(&mut file, &mut io::sink()).map_err(Error::doing("read", path))?;
    Ok(())
}

/// Opens an archive for one pass over its entries.
pub fn open(path: &Path) -> Result<tar::Archive<BufReader<File>>, Error> {
    let file = File::open(path).map_err(Error::doing("open", path))?;
    Ok(tar::Archive::new(BufReader::with_capacity(1 << 20, file)))
}

/// Where an entry goes, below the target.
///
/// # Errors
/// When it would go anywhere else.
pub fn safe(name: &Path) -> Result<PathBuf, Error> {
    let mut path = PathBuf::new();
    for part in name.components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(refuse(format!("{} leads out of the tree", name.display())));
            }
        }
    }
    Ok(path)
}

/// What a name in an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thing {
    /// Or another name of one, with its bytes.
    File(u64),
    Folder,
    /// A symbolic one.
    Link,
}

/// Reads the whole archive, refuses what must not be extracted, and notes what must be there afterwards.
pub fn scan(path: &Path) -> Result<Manifest, Error> {
    let unreadable = |source| Error::file("read", path, source);
    let mut manifest = Manifest { files: 0, bytes: 0, folders: 0, links: 0, samples: Vec::new() };
    let mut names: BTreeMap<PathBuf, Thing> = BTreeMap::new();
    for entry in open(path)?.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let name = safe(&entry.path().map_err(unreadable)?)?;
        let kind = entry.header().entry_type();
        let thing = match kind {
            EntryType::Regular | EntryType::Continuous => {
                manifest.files += 1;
                if manifest.files % SAMPLE_EVERY == 1 {
                    manifest.samples.push((name.clone(), checksum(&mut entry).map_err(unreadable)?));
                }
                Thing::File(entry.size())
            }
            EntryType::Link => {
                manifest.files += 1;
                let target = link_target(&entry)?;
                match names.get(&target) {
                    Some(file @ Thing::File(_)) => *file,
                    _ => return Err(refuse(format!("{} links to nothing before it", name.display()))),
                }
            }
            EntryType::Symlink => {
                manifest.links += 1;
                Thing::Link
            }
            EntryType::Directory => Thing::Folder,
            EntryType::XGlobalHeader => continue,
            other => return Err(refuse(format!("{} is {other:?}, neither file, folder nor link", name.display()))),
        };
        if let Thing::File(bytes) = thing {
            manifest.bytes += bytes;
        }
        for folder in name.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            // Through a link, what lies below it would be made wherever that leads.
            if *names.entry(folder.into()).or_insert(Thing::Folder) != Thing::Folder {
                let (name, folder) = (name.display(), folder.display());
                return Err(refuse(format!("{name} leads out of the tree: {folder} in it is no folder")));
            }
        }
        if name.as_os_str().is_empty() && thing == Thing::Folder {
            continue;
        }
        let earlier = names.insert(name.clone(), thing);
        if earlier.is_some_and(|earlier| (earlier, thing) != (Thing::Folder, Thing::Folder)) {
            return Err(refuse(format!("{} is in it twice", name.display())));
        }
    }
    manifest.folders = names.len() as u64 - manifest.files - manifest.links;
    if manifest.files == 0 {
        return Err(refuse("it holds no file".into()));
    }
    Ok(manifest)
}

/// What a hard link leads to, below the target.
pub fn link_target(entry: &tar::Entry<impl Read>) -> Result<PathBuf, Error> {
    match entry.link_name() {
        Ok(Some(target)) => safe(&target),
        _ => Err(refuse("it holds a hard link without a target".into())),
    }
}

impl Manifest {
    /// Counts a tree's files, folders, links and bytes, and compares the sample's contents.
    ///
    /// # Errors
    /// The first thing that differs.
    pub fn compare(&self, target: &Path) -> Result<(), Error> {
        let differ = |what: &str, expected: String, found: String| Err(Error::wrong_data(what, expected, found));
        let mut found = Manifest { files: 0, bytes: 0, folders: 0, links: 0, samples: Vec::new() };
        found.count(target).map_err(Error::doing("read back", target))?;
        for (what, expected, found) in [
            ("the tree's number of files", self.files, found.files),
            ("the tree's number of folders", self.folders, found.folders),
            ("the tree's number of symbolic links", self.links, found.links),
            ("the tree's bytes", self.bytes, found.bytes),
        ] {
            if expected != found {
                return differ(what, expected.to_string(), found.to_string());
            }
        }
        for (name, expected) in &self.samples {
            let path = target.join(name);
            let found = File::open(&path).and_then(|mut file| checksum(&mut file));
            let found = found.map_err(Error::doing("read back", &path))?;
            if found != *expected {
                let what = path.display().to_string();
                return differ(&what, format!("checksum {expected:08x}"), format!("{found:08x}"));
            }
        }
        Ok(())
    }

    fn count(&mut self, folder: &Path) -> io::Result<()> {
        for entry in folder.read_dir()? {
            let entry = entry?;
            let data = entry.metadata()?;
            if data.is_dir() {
                self.folders += 1;
                self.count(&entry.path())?;
            } else if data.is_symlink() {
                self.links += 1;
            } else {
                self.files += 1;
                self.bytes += data.len();
            }
        }
        Ok(())
    }
}

fn checksum(content: &mut impl Read) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let bytes = content.read(&mut buffer)?;
        if bytes == 0 {
            return Ok(hasher.finalize());
        }
        hasher.update(&buffer[..bytes]);
    }
}

fn refuse(problem: String) -> Error {
    Error::Parameter { setting: "archive", problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_tree() {
        assert_eq!(safe(Path::new("./a/./b")).unwrap(), Path::new("a/b"));
        for name in ["../a", "a/../../b", "/etc/passwd"] {
            assert!(safe(Path::new(name)).is_err(), "{name}");
        }
    }
}
