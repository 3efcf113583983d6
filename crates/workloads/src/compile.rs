//! `compile`: builds a program from source, as comparisons of systems have done since there are compilers.
//!
//! The source is an archive of the user's or, as none comes with surefoot, a C program made from a seed
//! (`compile/generate.rs`). It is laid out once a trial; each run starts from a clean copy, which is made, configured and
//! flushed before the clock starts. Caches are the study's `design.cache`. What was built must work: the generated program
//! prints a checksum that is known beforehand, and of an archive the user's `check` decides.
//!
//! The compiler's own temporary files lie on the filesystem under test as well, beside the tree. ccache is switched off.
//!
//! Driven by `lab::trial`. Does not choose a compiler: the `Makefile` or `command` does.

mod generate;
mod source;

use crate::flush;
use crate::source_archive;
use generate::Program;
use load::process::{self, Finished};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::{Class, Durability};
use observe::metric::{Measured, Metric};
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "compile",
    summary: "builds a program with a compiler: a generated one in C, or the user's archive by the user's command",
    example: r#"[workload.compile]
archive = "openssh-9.9p1.tar.gz"
configure = ["./configure", "--without-openssl"]
command = ["make", "-j{jobs}"]
jobs = 2
check = ["./ssh", "-V"]
"#,
    settings: SETTINGS,
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::absent("archive", Is::Text).help(
        "Path of a source archive: .tar, .tar.gz, .tar.xz or .tar.zst. Commands run in its only folder, or at its \
               top. Without it a C program is generated, which is nobody's: of files with 3 to 44 functions, 20 KB on \
               average, that call each other, in folders of 25, with a Makefile.",
    ),
    Setting::new("files", Is::Integer { min: 1, max: 20_000 }, "100")
        .help("Number of C files of the generated program; without effect on an `archive`."),
    Setting::new("source_seed", Is::Integer { min: 0, max: i64::MAX }, "1")
        .help("Seed of the generated program, which is the same in all rounds; without effect on an `archive`."),
    Setting::new("command", Is::TextList, r#"["make", "-j{jobs}"]"#).help(
        "What is measured: the program and its arguments; {jobs} stands for `jobs`. No shell is involved, unless the \
               command is one.",
    ),
    Setting::new("jobs", Is::Integer { min: 1, max: 4096 }, "1")
        .help("What {jobs} stands for: how many compilers run at once."),
    Setting::absent("configure", Is::TextList)
        .help("A program that readies each clean copy for the build, before the clock starts."),
    Setting::absent("clean", Is::TextList).help(
        "A program that undoes a build, like [\"make\", \"clean\"]: runs after the first then build in the same tree, \
               instead of in a new copy.",
    ),
    Setting::absent("check", Is::TextList).help(
        "A program that succeeds when the build is right, like [\"./ssh\", \"-V\"]; an `archive` needs one. The \
               generated program is always held to the checksum that it must print.",
    ),
    Setting::new("timeout", Is::Seconds { min: 1.0, max: 1e6 }, "2h")
        .help("A command that takes longer is ended, and the run fails."),
];

const METRICS: &[Metric] = observe::metrics! {
    Less "s": "compile_seconds", "compile_synced_seconds", "compile_user_cpu_seconds", "compile_system_cpu_seconds";
    Neither "B": "tree_bytes";
};

/// The generated program is done in milliseconds.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(600);

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    archive: Option<PathBuf>,
    files: u64,
    source_seed: u64,
    command: Vec<String>,
    jobs: u64,
    configure: Option<Vec<String>>,
    clean: Option<Vec<String>>,
    check: Option<Vec<String>>,
    timeout: f64,
}

impl Parameters {
    fn commands(&self) -> impl Iterator<Item = (&'static str, &Vec<String>)> {
        let all = [
            ("command", Some(&self.command)),
            ("configure", self.configure.as_ref()),
            ("clean", self.clean.as_ref()),
            ("check", self.check.as_ref()),
        ];
        all.into_iter().filter_map(|(setting, command)| Some((setting, command?)))
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        METRICS.to_vec()
    }

    fn durability(&self) -> Durability {
        let reason = "`compile`: compilers do not flush what they write";
        Durability::because(Class::LosesRecent, reason)
    }

    /// A generated file took a compiler 0.3 s of processor time on the small, busy virtual machine of 2026 that this was written on,
    /// and the built tree was 2.3 times its source. Of an archive only the size is known,
    /// and what is built of it is taken to be alike.
    fn estimate(&self) -> Estimate {
        let source = match &self.archive {
            Some(path) => source_archive::content_bytes(path),
            None => self.files * generate::FILE_BYTES_MEAN,
        };
        let files = source as f64 / generate::FILE_BYTES_MEAN as f64;
        Estimate {
            // The source, its copy, and what is built, rounded up.
            data_bytes: source * 4,
            load_seconds: source as f64 / 5e7,
            run_seconds: files * 0.3 / self.jobs as f64,
        }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = self.archive.as_deref().map_or_else(Vec::new, source_archive::problems);
        if self.archive.is_some() && self.check.is_none() {
            problems.push(
                "an `archive` needs a `check`, like [\"./ssh\", \"-V\"]: a build that is wrong is no figure".into(),
            );
        }
        let empty = self.commands().filter(|(_, command)| command.is_empty());
        problems.extend(empty.map(|(setting, _)| format!("`{setting}` must name a program")));
        problems
    }

    fn missing(&self) -> Vec<String> {
        let named = self.commands().filter_map(|(setting, command)| missing(setting, command.first()?));
        let of_source = match &self.archive {
            Some(archive) => source_archive::missing(archive, &[("tar", "tar")]),
            None => ["cc", "ar"].into_iter().filter_map(|program| missing("Makefile", program)).collect(),
        };
        named.chain(of_source).collect()
    }

    fn user_files(&self) -> Vec<PathBuf> {
        self.archive.iter().cloned().collect()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let program = self.archive.is_none().then(|| Program::new(self.files, self.source_seed));
        Ok(Box::new(Compile { parameters: *self, program, tree: None }))
    }
}

/// What to say when a program isn't there; one with a path may lie in the tree.
fn missing(setting: &str, program: &str) -> Option<String> {
    let said = process::missing(program, &[("cc", "gcc"), ("ar", "binutils"), ("make", "make")]);
    said.filter(|_| !program.contains('/')).map(|said| format!("`{setting}`: {said}"))
}

/// The workload.
struct Compile {
    parameters: Parameters,
    /// The generated program; none: there is an archive.
    program: Option<Program>,
    /// Where the last copy's commands run; none: there is no copy yet.
    tree: Option<PathBuf>,
}

impl Workload for Compile {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let source = context.data_folder.join("source");
        source::emptied(&source)?;
        match (&self.program, &self.parameters.archive) {
            (None, Some(archive)) => source::unpack(archive, &source, context)?,
            (Some(program), _) => source::write(program, &source)?,
            (None, None) => unreachable!("without an archive there is a program"),
        }
        Ok(Vec::new())
    }

    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        match (&self.tree, &self.parameters.clean) {
            (Some(tree), Some(clean)) => {
                self.succeed(clean, tree, context)?;
            }
            _ => self.tree = Some(self.copy(context)?),
        }
        source::emptied(&temporary(context))?;
        flush::filesystem_of(&context.data_folder)
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let tree = self.tree.as_ref().expect("a run comes after `ready`");
        let began = Instant::now();
        let finished = self.succeed(&self.parameters.command, tree, context)?;
        flush::filesystem_of(&context.data_folder)?;
        let synced = began.elapsed().as_secs_f64();
        let bytes = source::bytes(tree).map_err(Error::doing("read", tree))?;
        self.check_build(tree, context)?;
        let Finished { seconds, user_cpu_seconds, system_cpu_seconds, .. } = finished;
        let values = [seconds, synced, user_cpu_seconds, system_cpu_seconds, bytes as f64];
        Ok(Outcome { seconds: synced, metrics: workload::figures(METRICS, values), ..Outcome::all_right() })
    }

    /// What was built last still works.
    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.tree.as_ref().map_or(Ok(()), |tree| self.check_build(tree, context))
    }
}

impl Compile {
    /// A clean copy, configured; where its commands run.
    fn copy(&self, context: &Context) -> Result<PathBuf, Error> {
        let build = context.data_folder.join("build");
        source::removed(&build)?;
        source::emptied(&temporary(context))?;
        source::copy(&context.data_folder.join("source"), &build, context)?;
        let tree = if self.program.is_some() { build } else { source::top(&build)? };
        if let Some(configure) = &self.parameters.configure {
            self.succeed(configure, &tree, context)?;
        }
        Ok(tree)
    }

    fn check_build(&self, tree: &Path, context: &Context) -> Result<(), Error> {
        if let Some(check) = &self.parameters.check {
            self.succeed(check, tree, context)?;
        }
        let Some(program) = &self.program else { return Ok(()) };
        let path = tree.join("program");
        let said = process::run(&[path.display().to_string()], tree, PROGRAM_TIMEOUT, context.interrupted)?;
        let (expected, found) = (program.checksum(), said.stdout.trim());
        if said.status.success() && found == expected {
            return Ok(());
        }
        let place = format!("what the built {} prints", path.display());
        Err(Error::wrong_data(place, expected, format!("{found:?} ({})", said.status)))
    }

    /// Runs a command of the study in the tree.
    fn succeed(&self, command: &[String], tree: &Path, context: &Context) -> Result<Finished, Error> {
        let jobs = self.parameters.jobs.to_string();
        // A make above this one, or a cache of objects, would make another load of it.
        let mut words: Vec<String> =
            ["env", "-u", "MAKEFLAGS", "-u", "MFLAGS", "-u", "MAKELEVEL", "CCACHE_DISABLE=1"].map(String::from).into();
        words.push(format!("TMPDIR={}", temporary(context).display()));
        words.extend(command.iter().map(|word| word.replace("{jobs}", &jobs)));
        let timeout = Duration::from_secs_f64(self.parameters.timeout);
        process::run(&words, tree, timeout, context.interrupted)?.succeeded(&command[0])
    }
}

fn temporary(context: &Context) -> PathBuf {
    context.data_folder.join("temporary")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_tests::read;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    fn problems(written: Value, expected: Expect) {
        expected.assert_eq(&read(&KIND, &written).problems().join("\n"));
    }

    #[test]
    fn all_problems_come_at_once() {
        problems(json!({}), expect![""]);
        problems(json!({"command": ["ninja-of-nobody"], "clean": []}), expect!["`clean` must name a program"]);
        problems(
            json!({"archive": "/no/such.tar"}),
            expect![[r#"
            `archive` = /no/such.tar: No such file or directory (os error 2)
            an `archive` needs a `check`, like ["./ssh", "-V"]: a build that is wrong is no figure"#]],
        );
    }

    #[test]
    fn a_missing_program_is_named_and_one_of_the_tree_is_not_looked_for() {
        let written = json!({"command": ["ninja-of-nobody"], "configure": ["./configure"]});
        expect!["`command`: the program ninja-of-nobody is not on this machine"]
            .assert_eq(&read(&KIND, &written).missing().join("\n"));
    }
}
