//! Files, folders and links below a root, and nowhere else: no name is resolved through a symbolic link or out of the root.
//!
//! The scan of an archive refuses what would leave it; this holds whatever stands in the archive when it is extracted.

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, UtimensatFlags, mkdirat, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::{linkat, symlinkat};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// A folder that nothing leads out of.
pub struct Root {
    folder: OwnedFd,
    /// Linux 5.6 and newer resolve a whole name so; else it is walked part by part.
    whole_names: Cell<bool>,
}

impl Root {
    /// An existing folder.
    pub fn open(folder: &Path) -> io::Result<Root> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let folder = openat(nix::fcntl::AT_FDCWD, folder, flags, Mode::empty())?;
        Ok(Root { folder, whole_names: Cell::new(cfg!(target_os = "linux")) })
    }

    /// A new file for writing.
    pub fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        Ok(File::from(self.resolve(path, flags, Mode::from_bits_truncate(mode as _))?))
    }

    /// A folder and those above it, where they are not there yet.
    pub fn create_folders(&self, path: &Path) -> io::Result<()> {
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        let made = self.parent(path).and_then(|(parent, name)| mkdirat(parent, name, Mode::from_bits_truncate(0o777)));
        match made {
            Ok(()) => Ok(()),
            // It must be a folder, and not a link to one.
            Err(Errno::EEXIST) => Ok(self.resolve(path, OFlag::O_DIRECTORY, Mode::empty()).map(drop)?),
            Err(Errno::ENOENT) => {
                self.create_folders(path.parent().unwrap_or(Path::new("")))?;
                let (parent, name) = self.parent(path)?;
                Ok(mkdirat(parent, name, Mode::from_bits_truncate(0o777))?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A symbolic link, which may lead anywhere: it is not followed.
    pub fn symlink(&self, leads_to: &Path, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(symlinkat(leads_to, parent, name)?)
    }

    /// Another name of a file below the root.
    pub fn hard_link(&self, file: &Path, path: &Path) -> io::Result<()> {
        let (from, old) = self.parent(file)?;
        let (to, new) = self.parent(path)?;
        Ok(linkat(from, old, to, new, AtFlags::empty())?)
    }

    /// Sets the time of what is there, not of what it leads to.
    pub fn set_time(&self, path: &Path, seconds: u64) -> io::Result<()> {
        let time = TimeSpec::new(seconds.cast_signed(), 0);
        let (parent, name) = self.parent(path)?;
        Ok(utimensat(parent, name, &time, &time, UtimensatFlags::NoFollowSymlink)?)
    }

    /// The folder that a name is in, and its last part.
    fn parent<'a>(&self, path: &'a Path) -> nix::Result<(OwnedFd, &'a Path)> {
        let name = path.file_name().ok_or(Errno::EINVAL)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((self.resolve(folder, OFlag::O_DIRECTORY, Mode::empty())?, Path::new(name)))
    }

    fn resolve(&self, path: &Path, flags: OFlag, mode: Mode) -> nix::Result<OwnedFd> {
        let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        if self.whole_names.get() {
            match self.whole(path, flags, mode) {
                // Not there, or forbidden where surefoot runs.
                Err(Errno::ENOSYS | Errno::EPERM | Errno::EINVAL) => self.whole_names.set(false),
                // A folder was renamed meanwhile; the walk can't be misled by that.
                Err(Errno::EAGAIN) => {}
                found => return found,
            }
        }
        self.walk(path, flags, mode)
    }

    #[cfg(target_os = "linux")]
    fn whole(&self, path: &Path, flags: OFlag, mode: Mode) -> nix::Result<OwnedFd> {
        use nix::fcntl::{OpenHow, ResolveFlag, openat2};
        let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS;
        openat2(&self.folder, path, OpenHow::new().flags(flags).mode(mode).resolve(resolve))
    }

    #[cfg(not(target_os = "linux"))]
    fn whole(&self, _: &Path, _: OFlag, _: Mode) -> nix::Result<OwnedFd> {
        Err(Errno::ENOSYS)
    }

    /// Part by part, none of them a link or a way up.
    fn walk(&self, path: &Path, flags: OFlag, mode: Mode) -> nix::Result<OwnedFd> {
        let step = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut folder = openat(&self.folder, ".", step, Mode::empty())?;
        let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { return Err(Errno::EXDEV) };
            let is_last = parts.peek().is_none();
            let (flags, mode) = if is_last { (flags, mode) } else { (step, Mode::empty()) };
            folder = openat(&folder, Path::new(name), flags, mode)?;
        }
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By both ways of resolving a name.
    fn both(test: impl Fn(&Path, &Path, &Root)) {
        for whole_names in [true, false] {
            let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let root = Root::open(inside.path()).unwrap();
            root.whole_names.set(whole_names);
            test(inside.path(), outside.path(), &root);
            assert_eq!(root.whole_names.get(), whole_names, "this kernel has openat2");
        }
    }

    #[test]
    fn files_folders_and_links_are_made_below_the_root() {
        both(|inside, _, root| {
            root.create_folders(Path::new("a/b/c")).unwrap();
            root.create_folders(Path::new("a/b")).unwrap();
            root.create(Path::new("a/b/file"), 0o644).unwrap();
            root.hard_link(Path::new("a/b/file"), Path::new("name")).unwrap();
            root.symlink(Path::new("/nowhere"), Path::new("a/link")).unwrap();
            root.set_time(Path::new("a/b"), 1_000_000_000).unwrap();
            assert!(inside.join("name").is_file() && inside.join("a/link").is_symlink());
            let time = inside.join("a/b").metadata().unwrap().modified().unwrap();
            assert_eq!(time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(), 1_000_000_000);
        });
    }

    #[test]
    fn nothing_is_made_through_a_link_or_above() {
        both(|inside, outside, root| {
            std::os::unix::fs::symlink(outside, inside.join("out")).unwrap();
            std::fs::write(inside.join("file"), "x").unwrap();
            for path in ["out/evil", "out/deep/evil", "../evil", "/tmp/surefoot-evil", "out"].map(Path::new) {
                root.create(path, 0o644).unwrap_err();
                root.create_folders(path).unwrap_err();
                if path != Path::new("out") {
                    root.symlink(Path::new("/etc/passwd"), path).unwrap_err();
                    root.hard_link(Path::new("file"), path).unwrap_err();
                    root.hard_link(path, Path::new("other")).unwrap_err();
                    root.set_time(path, 7).unwrap_err();
                }
            }
            assert_eq!(outside.read_dir().unwrap().count(), 0);
        });
    }
}
