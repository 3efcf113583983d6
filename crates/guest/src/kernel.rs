//! The guest kernel's file, and what it has: looked up on the host, without starting it.

use crate::modules;
use memchr::memmem;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Where packages put a User-Mode Linux kernel's modules, by its release (Debian's user-mode-linux: the first).
const MODULE_FOLDERS: &[&str] = &["/usr/lib/uml/modules", "/lib/modules"];

/// A User-Mode Linux kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its file.
    pub program: PathBuf,
    /// Its release, as uname says it: `6.1.176`.
    pub release: String,
}

/// Why there is no guest kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such file.
    #[error("there is no guest kernel `{0}`")]
    Missing(String),
    /// The file does not hold the words of such a kernel.
    #[error("{0} is no User-Mode Linux kernel: it does not say `User Mode Linux` and its version")]
    NoKernel(PathBuf),
    /// It can be run and not read.
    #[error("cannot read the guest kernel {path}")]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Kernel {
    /// The kernel of a name: a file, or a program in one of the folders.
    ///
    /// # Errors
    /// When there is none, or it is something else.
    pub fn find(name: &str, folders: &[PathBuf]) -> Result<Kernel, Error> {
        let named = Path::new(name);
        let found = if name.contains('/') {
            std::path::absolute(named).ok().filter(|path| path.is_file())
        } else {
            folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
        };
        let program = found.ok_or_else(|| Error::Missing(name.into()))?;
        let unreadable = |source| Error::Unreadable { path: program.clone(), source };
        let release = File::open(&program).and_then(release).map_err(unreadable)?;
        let Some(release) = release else { return Err(Error::NoKernel(program)) };
        Ok(Kernel { program, release })
    }

    /// SHA-256 of its file: what a release alone does not say.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn digest(&self) -> Result<String, Error> {
        let bytes =
            std::fs::read(&self.program).map_err(|source| Error::Unreadable { path: self.program.clone(), source })?;
        Ok(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether it has a module of this name (`f2fs`, `dm_mod`), built in or to be loaded. A list of what is built in is not
    /// there for every kernel; without one, nothing but modules can be known.
    pub fn has(&self, module: &str) -> bool {
        let Some(folder) = modules_folder(&self.release) else { return false };
        ["modules.builtin", "modules.dep"].iter().any(|list| {
            let text = std::fs::read_to_string(folder.join(list)).unwrap_or_default();
            text.lines().any(|line| modules::name_of(line.split(':').next().unwrap_or_default()) == module)
        })
    }
}

/// The release in the banner that each Linux has in its file (`init/version.c`). Who only plans a study starts no program of it.
fn release(file: File) -> io::Result<Option<String>> {
    let (mut file, mut window) = (file.take(FILE_BYTES_MAX), Vec::new());
    let (mut is_guest, mut release) = (false, None);
    loop {
        // What stands across the border of two parts is found in the second.
        window.drain(..window.len().saturating_sub(BORDER_BYTES));
        let read = file.by_ref().take(PART_BYTES).read_to_end(&mut window)?;
        is_guest |= memmem::find(&window, b"User Mode Linux").is_some();
        release = release.or_else(|| version(&window));
        if read == 0 || is_guest && release.is_some() {
            return Ok(release.filter(|_| is_guest));
        }
    }
}

fn version(part: &[u8]) -> Option<String> {
    let after = |place: usize| &part[place + BANNER.len()..];
    let words =
        memmem::find_iter(part, BANNER).map(after).find(|words| words.first().is_some_and(u8::is_ascii_digit))?;
    let end = words.iter().position(|byte| !byte.is_ascii_graphic())?;
    Some(String::from_utf8_lossy(&words[..end]).into_owned())
}

const BANNER: &[u8] = b"Linux version ";
const PART_BYTES: u64 = 1 << 20;
const BORDER_BYTES: usize = 1 << 10;

/// Larger than any kernel: a file named by mistake does not keep `plan` busy.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// The folder with a release's modules.
pub fn modules_folder(release: &str) -> Option<PathBuf> {
    MODULE_FOLDERS.iter().map(|folder| Path::new(folder).join(release)).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_its_file_and_not_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("linux");
        let of = |bytes: &[u8]| {
            std::fs::write(&program, bytes).expect("written");
            Kernel::find(program.to_str().expect("a name"), &[]).map(|kernel| kernel.release)
        };
        let words = b"\0Linux version %s\0User Mode Linux v%s\0Linux version 6.12.3-rc1+ (me@here) #1 SMP\0";
        assert_eq!(of(words).expect("a kernel"), "6.12.3-rc1+");
        assert!(matches!(of(b"Linux version 6.12.3 (me@here)"), Err(Error::NoKernel(_))), "of a real machine");
        assert!(matches!(of(b"User Mode Linux\0Linux version "), Err(Error::NoKernel(_))));
        let zeros = PART_BYTES as usize - 5;
        let across = [b"User Mode Linux", &*vec![0; zeros - 15], b"Linux version 6.13.0 ", &vec![0; zeros]].concat();
        assert_eq!(of(&across).expect("a kernel"), "6.13.0");
    }

    #[test]
    fn what_is_no_kernel_is_told() {
        let folders = [PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
        assert!(matches!(Kernel::find("no-such-kernel", &folders), Err(Error::Missing(_))));
        assert!(matches!(Kernel::find("/bin/true", &folders), Err(Error::NoKernel(_))));
        assert!(matches!(Kernel::find("/no/such", &folders), Err(Error::Missing(_))));
    }
}
