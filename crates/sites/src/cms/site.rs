//! A site in the making: its folders, and PHP on the command line for one of its hosts.

use super::Places;
use load::process;
use load::workload::Error;
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A hundred times what the default sizes take.
const TIMEOUT: Duration = Duration::from_secs(1000);

/// The last word of our scripts: PHP ends well even where a CMS gave up with a page for its reader.
const DONE: &str = "filled";

/// The modules that PHP has, a line each; none: there is no PHP.
pub fn modules() -> Option<String> {
    let output = std::process::Command::new("php").arg("-m").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into())
}

/// A site in the making.
pub struct Site<'a> {
    pub places: Places<'a>,
    pub interrupted: &'a AtomicBool,
}

impl<'a> Site<'a> {
    /// Begins a site.
    pub fn begin(places: Places<'a>, interrupted: &'a AtomicBool) -> Result<Site<'a>, Error> {
        let site = Site { places, interrupted };
        site.folder(&site.work())?;
        Ok(site)
    }

    /// Ends it: what only the installation needed goes. Who starts the web server gives it the files.
    pub fn end(self) -> Result<(), Error> {
        let work = self.work();
        std::fs::remove_dir_all(&work).map_err(Error::doing("remove", &work))
    }

    /// Scripts and what they read.
    pub fn work(&self) -> PathBuf {
        self.places.site.join(".install")
    }

    /// The code of a CMS.
    pub fn code(&self, cms: &str) -> PathBuf {
        self.places.site.join(".code").join(cms)
    }

    /// Files that a host's CMS writes.
    pub fn data(&self, host: &str) -> PathBuf {
        data(self.places, host)
    }

    /// Makes a folder and those above it.
    pub fn folder(&self, path: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(path).map_err(Error::doing("create", path))
    }

    /// Writes a file.
    pub fn write(&self, path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        std::fs::write(path, bytes).map_err(Error::doing("write", path))
    }

    /// Lets a host answer with the code of a CMS.
    pub fn link(&self, host: &str, cms: &str) -> Result<(), Error> {
        let path = self.places.site.join(host);
        symlink(Path::new(".code").join(cms), &path).map_err(Error::doing("link", &path))
    }

    /// Runs one of our scripts for a host: its arguments are `argument` and a file of these lines.
    pub fn fill(&self, host: &str, script: &str, argument: Option<&Path>, lines: &[Value]) -> Result<(), Error> {
        let (file, input) = (self.work().join(format!("{host}.php")), self.work().join(format!("{host}.jsonl")));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.write(&file, script)?;
        self.write(&input, text)?;
        let said =
            self.run(host, &[Some(file.as_path()), argument, Some(&input)].into_iter().flatten().collect::<Vec<_>>())?;
        let log = said.last_lines();
        let failed = Error::Program { program: format!("php for {host}"), status: "a failure".into(), log };
        if said.stdout.trim_end().ends_with(DONE) { Ok(()) } else { Err(failed) }
    }

    /// Runs a PHP program for a host.
    pub fn run<A: AsRef<Path>>(&self, host: &str, arguments: &[A]) -> Result<process::Finished, Error> {
        let name = |path: &Path| path.to_string_lossy().into_owned();
        let mut words = vec![
            "env".into(),
            format!("HTTP_HOST={host}"),
            format!("MARIADB_SOCKET={}", name(self.places.mariadb)),
            format!("POSTGRES_SOCKET={}", name(self.places.postgres)),
            format!("MW_CONFIG_FILE={}", name(&self.code("mediawiki").join("LocalSettings.php"))),
            format!("MW_INSTALL_PATH={}", super::mediawiki::PACKAGE),
            "php".into(),
        ];
        words.extend(arguments.iter().map(|argument| name(argument.as_ref())));
        process::run(&words, &self.work(), TIMEOUT, self.interrupted)?.succeeded(&format!("php for {host}"))
    }
}

/// Files that a host's CMS writes.
pub fn data(places: Places, host: &str) -> PathBuf {
    places.site.join(".data").join(super::label(host))
}
