//! GT.M as loads see it: the program that enters the trial's database, with their routines beside it.

use crate::sql::{Engine, PLAIN, Place};
use crate::workload::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "gtm",
    small_row_bytes: 200.0,
    power_cuts_of: &["three-n-plus-one"],
    unmeasured: |service| {
        let is_rolled_forward = service.get("journal").is_some_and(|journal| journal == "nobefore");
        is_rolled_forward
            .then_some("GT.M's journal without before-images is rolled forward from a backup, which is not imitated")
    },
    file_kind: |file| match file {
        journal if journal.contains(".mjl") => "GT.M's journal",
        database if database.ends_with(".dat") => "database",
        _ => "other file",
    },
    ..PLAIN
};

/// The database that the trial's service made.
pub struct Gtm {
    enter: PathBuf,
}

impl Gtm {
    /// Opens it, and gives it a routine: `name` in M, `text` its source, whose own first lines do nothing. Not by two threads at once.
    pub fn open(place: &Place, name: &str, text: &str) -> Result<Gtm, Error> {
        let none = || Error::Parameter { setting: "engine", problem: "the trial opened no GT.M database".into() };
        let enter = place.server.as_ref().and_then(|server| server.file()).ok_or_else(none)?;
        let path = enter.with_file_name("r").join(format!("{name}.m"));
        let gtm = Gtm { enter: enter.into() };
        // Writing it anew would make every process compile it; the first run does, before there are several.
        if !path.exists() {
            std::fs::write(&path, text).map_err(Error::doing("write", &path))?;
            gtm.run(&["mumps", "-run", name], "")?;
        }
        Ok(gtm)
    }

    /// One of GT.M's programs with its arguments. The program that enters is read by a shell and not executed: another thread that forks in
    /// the moment in which it is written holds it open until its own program starts, and no file that is open for writing is executed.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.arg(&self.enter).args(words);
        command
    }

    /// Runs one; gives all that it said.
    pub fn run(&self, words: &[&str], input: &str) -> Result<String, Error> {
        self.output(self.command(words), words, input)
    }

    /// As [`Gtm::run`], of one that is ended when it takes longer: GT.M may wait for a disk that fails without end.
    pub fn run_within(&self, seconds: u32, words: &[&str]) -> Result<String, Error> {
        let mut command = Command::new("timeout");
        command.arg("--kill-after=1").arg(seconds.to_string()).arg("sh").arg(&self.enter).args(words);
        self.output(command, words, "")
    }

    fn output(&self, mut command: Command, words: &[&str], input: &str) -> Result<String, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let file = |source| Error::file("start", &self.enter, source);
        let mut child = command.spawn().map_err(file)?;
        // It may end before it has read all; what it says then is the reason.
        let _ = child.stdin.take().expect("standard input was piped").write_all(input.as_bytes());
        let output = child.wait_with_output().map_err(file)?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            return Ok(said);
        }
        Err(Error::Program { program: words.join(" "), status: output.status.to_string(), log: said })
    }
}
