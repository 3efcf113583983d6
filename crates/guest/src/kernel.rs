//! The guest kernel's file, and what it has: looked up on the host, without starting it.

use crate::modules;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    /// The file does not answer as such a kernel does.
    #[error("{0} is no User-Mode Linux kernel: it does not answer `--version`")]
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
        let output = Command::new(&program).arg("--version").output().ok();
        let release = output.filter(|output| output.status.success());
        let release = release.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
        match release.filter(|release| release.starts_with(|c: char| c.is_ascii_digit())) {
            Some(release) => Ok(Kernel { program, release }),
            None => Err(Error::NoKernel(program)),
        }
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
    #[must_use]
    pub fn has(&self, module: &str) -> bool {
        let Some(folder) = modules_folder(&self.release) else { return false };
        ["modules.builtin", "modules.dep"].iter().any(|list| {
            let text = std::fs::read_to_string(folder.join(list)).unwrap_or_default();
            text.lines().any(|line| modules::name_of(line.split(':').next().unwrap_or_default()) == module)
        })
    }
}

/// The folder with a release's modules.
#[must_use]
pub fn modules_folder(release: &str) -> Option<PathBuf> {
    MODULE_FOLDERS.iter().map(|folder| Path::new(folder).join(release)).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_kernel_is_told() {
        let folders = [PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
        assert!(matches!(Kernel::find("no-such-kernel", &folders), Err(Error::Missing(_))));
        assert!(matches!(Kernel::find("/bin/true", &folders), Err(Error::NoKernel(_))));
        assert!(matches!(Kernel::find("/no/such", &folders), Err(Error::Missing(_))));
    }
}
