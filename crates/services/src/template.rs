//! Loaded data, kept: made once by a server on the work folder, copied for each trial onto the fresh filesystem.
//!
//! A template is a folder with a manifest that is written last, so a killed build is no template; each file's CRC-32 is
//! compared while it is copied, so a damaged one is found before a server starts on it.

use crate::service::{Error, User};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "manifest.json";
const FILES: &str = "files";

/// A copy goes in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;

/// What a template holds.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// Everything that decides the files: databases with version and format, workload and its data.
    identity: String,
    /// Folders before what is in them.
    folders: Vec<Entry>,
    files: Vec<Entry>,
    links: Vec<Link>,
}

/// A symbolic link, kept as it is.
#[derive(Debug, Serialize, Deserialize)]
struct Link {
    path: PathBuf,
    to: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    mode: u32,
    bytes: u64,
    crc32: u32,
}

/// A whole template.
#[derive(Debug)]
pub struct Template {
    folder: PathBuf,
    manifest: Manifest,
}

/// A template that is being made.
#[derive(Debug)]
pub struct Unfinished {
    folder: PathBuf,
    becomes: PathBuf,
    identity: String,
}

fn place(cache: &Path, identity: &str) -> PathBuf {
    let hash: String = Sha256::digest(identity).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    cache.join("templates").join(hash)
}

impl Template {
    /// The template of this identity, when there is a whole one. A stale one, of another identity, is none.
    pub fn open(cache: &Path, identity: &str) -> Option<Template> {
        let folder = place(cache, identity);
        let manifest: Manifest = serde_json::from_slice(&std::fs::read(folder.join(MANIFEST)).ok()?).ok()?;
        (manifest.identity == identity).then_some(Template { folder, manifest })
    }

    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.manifest.files.iter().map(|file| file.bytes).sum()
    }

    /// Copies it into an existing empty folder; `becomes` says what a path in it is called there, and to whom it is given.
    ///
    /// # Errors
    /// [`Error::Damaged`] when a file is not what was written; others when the system refuses (the disk is full).
    pub fn copy_to<'a>(&self, to: &Path, becomes: impl Fn(&Path) -> (PathBuf, Option<&'a User>)) -> Result<(), Error> {
        for folder in &self.manifest.folders {
            let (path, owner) = becomes(&folder.path);
            let path = to.join(path);
            std::fs::create_dir_all(&path).map_err(Error::file("create", &path))?;
            give(&path, folder.mode, owner)?;
        }
        for link in &self.manifest.links {
            let path = to.join(becomes(&link.path).0);
            symlink(&link.to, &path).map_err(Error::file("create", path))?;
        }
        let mut piece = vec![0; PIECE_BYTES];
        for file in &self.manifest.files {
            let (path, owner) = becomes(&file.path);
            let (from, path) = (self.folder.join(FILES).join(&file.path), to.join(path));
            let (bytes, crc32) = copy(&from, &path, &mut piece)?;
            if (bytes, crc32) != (file.bytes, file.crc32) {
                let (name, wanted) = (file.path.display(), file.crc32);
                let found = format!("{name} has {bytes} bytes and CRC-32 {crc32:08x}");
                let what = format!("{found}, not {} and {wanted:08x}", file.bytes);
                return Err(Error::Damaged { path: self.folder.clone(), what });
            }
            give(&path, file.mode, owner)?;
        }
        Ok(())
    }
}

impl Unfinished {
    /// Begins a template; whatever stood in its place goes.
    ///
    /// # Errors
    /// When the work folder can't be written.
    pub fn begin(cache: &Path, identity: &str) -> Result<Unfinished, Error> {
        let becomes = place(cache, identity);
        let folder = becomes.with_extension("unfinished");
        for old in [&becomes, &folder] {
            if old.exists() {
                std::fs::remove_dir_all(old).map_err(Error::file("remove", old))?;
            }
        }
        let files = folder.join(FILES);
        std::fs::create_dir_all(&files).map_err(Error::file("create", &files))?;
        Ok(Unfinished { folder, becomes, identity: identity.into() })
    }

    /// Where its server puts its files.
    pub fn files(&self) -> PathBuf {
        self.folder.join(FILES)
    }

    /// Makes it a template, once its server has stopped. Files that `is_passing` are left out.
    ///
    /// # Errors
    /// When a file can't be read or the manifest not be written.
    pub fn seal(self, is_passing: &dyn Fn(&str) -> bool) -> Result<Template, Error> {
        let mut manifest =
            Manifest { identity: self.identity, folders: Vec::new(), files: Vec::new(), links: Vec::new() };
        let root = self.folder.join(FILES);
        list(&root, Path::new(""), is_passing, &mut manifest)?;
        let text = serde_json::to_vec(&manifest).expect("a manifest is plain data");
        let path = self.folder.join(MANIFEST);
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(&text)?;
            // The files were flushed by their server's clean stop; the manifest vouches for them.
            observe::disk::flush_filesystem_of(&file)?;
            std::fs::rename(&self.folder, &self.becomes)
        };
        write().map_err(Error::file("write", &path))?;
        Ok(Template { folder: self.becomes, manifest })
    }
}

fn list(root: &Path, under: &Path, is_passing: &dyn Fn(&str) -> bool, manifest: &mut Manifest) -> Result<(), Error> {
    let folder = root.join(under);
    let mut entries: Vec<_> = folder.read_dir().map_err(Error::file("read", &folder))?.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let (path, full) = (under.join(&name), entry.path());
        let metadata = full.symlink_metadata().map_err(Error::file("look at", &full))?;
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() {
            manifest.folders.push(Entry { path: path.clone(), mode, bytes: 0, crc32: 0 });
            list(root, &path, is_passing, manifest)?;
        } else if metadata.is_symlink() {
            let to = full.read_link().map_err(Error::file("look at", &full))?;
            manifest.links.push(Link { path, to });
        } else if metadata.is_file() && !is_passing(&name.to_string_lossy()) {
            let (bytes, crc32) = read(&full, &mut vec![0; PIECE_BYTES], &mut |_| Ok(()))?;
            manifest.files.push(Entry { path, mode, bytes, crc32 });
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, piece: &mut [u8]) -> Result<(u64, u32), Error> {
    let mut out = File::create(to).map_err(Error::file("create", to))?;
    read(from, piece, &mut |bytes| out.write_all(bytes).map_err(Error::file("write", to)))
}

type See<'a> = dyn FnMut(&[u8]) -> Result<(), Error> + 'a;

/// Reads a file to its end; gives its length and CRC-32. Leaves nothing of it in the page cache, which is the trial's.
fn read(from: &Path, piece: &mut [u8], see: &mut See) -> Result<(u64, u32), Error> {
    let mut file = File::open(from).map_err(Error::file("open", from))?;
    let mut crc = crc32fast::Hasher::new();
    let mut total = 0;
    loop {
        let count = file.read(piece).map_err(Error::file("read", from))?;
        if count == 0 {
            break;
        }
        crc.update(&piece[..count]);
        see(&piece[..count])?;
        total += count as u64;
    }
    // Advice: a refusal changes nothing.
    let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    Ok((total, crc.finalize()))
}

fn give(path: &Path, mode: u32, owner: Option<&User>) -> Result<(), Error> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(Error::file("set the mode of", path))?;
    let Some(user) = owner else { return Ok(()) };
    chown(path, Some(user.uid), Some(user.gid)).map_err(Error::file("change the owner of", path))
}

/// Moves a file to another filesystem, with its owner and mode.
pub(crate) fn move_file(from: &Path, to: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = from.metadata().map_err(Error::file("look at", from))?;
    std::fs::copy(from, to).map_err(Error::file("copy", from))?;
    chown(to, Some(metadata.uid()), Some(metadata.gid())).map_err(Error::file("change the owner of", to))?;
    std::fs::remove_file(from).map_err(Error::file("remove", from))
}

/// Moves a folder of files to another filesystem, with owners and modes.
pub(crate) fn move_folder(from: &Path, to: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = from.metadata().map_err(Error::file("look at", from))?;
    std::fs::create_dir(to).map_err(Error::file("create", to))?;
    std::fs::set_permissions(to, metadata.permissions()).map_err(Error::file("set the mode of", to))?;
    chown(to, Some(metadata.uid()), Some(metadata.gid())).map_err(Error::file("change the owner of", to))?;
    for entry in from.read_dir().map_err(Error::file("read", from))?.flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { move_folder(&path, &target)? } else { move_file(&path, &target)? }
    }
    std::fs::remove_dir(from).map_err(Error::file("remove", from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(cache: &Path) -> Template {
        let unfinished = Unfinished::begin(cache, "postgres 15, 1000 rows").expect("begun");
        let files = unfinished.files();
        std::fs::create_dir(files.join("base")).expect("a folder");
        std::fs::write(files.join("base/1"), vec![7; 3 << 20]).expect("a file");
        std::fs::write(files.join("server.pid"), "1").expect("a file");
        symlink("base/1", files.join("newest")).expect("a link");
        assert!(Template::open(cache, "postgres 15, 1000 rows").is_none(), "an unfinished template is none");
        unfinished.seal(&|name| name == "server.pid").expect("sealed")
    }

    #[test]
    fn a_template_is_copied_whole_without_what_passes() {
        let cache = tempfile::tempdir().expect("a folder");
        let made = make(cache.path());
        assert_eq!(made.bytes(), 3 << 20);
        let to = tempfile::tempdir().expect("a folder");
        let found = Template::open(cache.path(), "postgres 15, 1000 rows").expect("it is there");
        found.copy_to(to.path(), |path| (path.into(), None)).expect("copied");
        assert_eq!(std::fs::read(to.path().join("base/1")).expect("copied"), vec![7; 3 << 20]);
        assert!(!to.path().join("server.pid").exists());
        assert_eq!(to.path().join("newest").read_link().expect("copied"), Path::new("base/1"));
        assert!(Template::open(cache.path(), "postgres 16, 1000 rows").is_none());
    }

    #[test]
    fn damage_and_age_are_seen() {
        let cache = tempfile::tempdir().expect("a folder");
        let made = make(cache.path());
        let file = made.folder.join("files/base/1");
        let mut bytes = std::fs::read(&file).expect("there");
        bytes[1 << 20] ^= 1;
        std::fs::write(&file, bytes).expect("written");
        let to = tempfile::tempdir().expect("a folder");
        let error = made.copy_to(to.path(), |path| (path.into(), None)).expect_err("one bit is wrong");
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        let manifest = made.folder.join(MANIFEST);
        let text = std::fs::read_to_string(&manifest).expect("there").replace("postgres 15", "postgres 14");
        std::fs::write(&manifest, text).expect("written");
        assert!(Template::open(cache.path(), "postgres 15, 1000 rows").is_none(), "of another version");
    }
}
