//! `command`: any program as a workload: fio, pgbench, sysbench, filebench, a script.
//!
//! The program runs in the folder under test, in a process group of its own, which is ended with it. What it prints is
//! kept (the last 16 MiB of each stream), and the metrics are taken from there; a metric that is not there fails the
//! run. Arguments may contain placeholders: `{data}` the folder under test, `{mount}` the mount point it lies on,
//! `{seconds}` of the run, `{threads}`, `{seed}` of the round. Other braces stay as they are. No shell is involved, unless
//! the command is one: `["sh", "-c", "…"]`.
//!
//! Driven by `lab::trial`. Does not check the program's data: only the program knows it.

mod metric;
mod placeholder;

use load::process::{self, Finished};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use metric::Extractor;
use observe::durability::{Class, Durability, UNKNOWN};
use observe::metric::{Direction, Measured, Metric};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "command",
    summary: "any program, such as fio, pgbench or sysbench, with metrics taken from its output",
    example: r#"[workload.command]
time = "10s"
command = ["fio", "--name=randwrite", "--filename={data}/file", "--size=256MiB", "--rw=randwrite", "--bs=4k",
           "--ioengine=io_uring", "--iodepth=16", "--direct=0", "--fdatasync=32", "--time_based",
           "--runtime={seconds}", "--randseed={seed}", "--output-format=json"]

[workload.command.metrics]
ios_per_second = "json:/jobs/0/write/iops; unit 1/s; more"
latency_nanoseconds_p99 = "json:/jobs/0/write/clat_ns/percentile/99.000000; unit ns; less"
"#,
    settings: SETTINGS,
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::absent("command", Is::TextList).help(
        "The program and its arguments. Placeholders: {data} the folder under test (also the program's working \
               folder), {mount} its mount point, {seconds} of the run, {threads}, {seed} of the round. A program like \
               ./bench.sh is one from where surefoot was started, unless that folder has one.",
    ),
    Setting::absent("prepare", Is::TextList)
        .help("A program that makes the data before the first run, with the same placeholders."),
    Setting::new("time", Is::Seconds { min: 1.0, max: 1e6 }, "30s")
        .help("What {seconds} stands for, in whole seconds. The program must keep to it by itself."),
    Setting::absent("timeout", Is::Seconds { min: 1.0, max: 1e6 })
        .help(
            "The program is ended, and the run fails, after this long; unless given, twice `time` and a minute. `prepare` has it, too, \
               but unless it is given as long as the trial has (`design.trial_timeout`).",
        ),
    Setting::new("threads", Is::Integer { min: 1, max: 100_000 }, "1").help("What {threads} stands for."),
    Setting::new("data_size", Is::Bytes { min: 0, max: u64::MAX }, "0B")
        .help("How much the program will write, so that `plan` can tell whether there is room; 0B: not known."),
    Setting::absent("metrics", Is::Table).help(metric::HELP),
];

/// Programs that people name, and the Debian package each is in.
const PACKAGES: &[(&str, &str)] = &[
    ("fio", "fio"),
    ("sysbench", "sysbench"),
    ("pgbench", "postgresql-contrib"),
    ("filebench", "filebench"),
    ("bonnie++", "bonnie++"),
    ("dbench", "dbench"),
    ("iozone", "iozone3"),
    ("stress-ng", "stress-ng"),
];

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    command: Option<Vec<String>>,
    prepare: Option<Vec<String>>,
    time: f64,
    timeout: Option<f64>,
    threads: u64,
    data_size: u64,
    metrics: Option<Map<String, Value>>,
}

impl Parameters {
    fn command(&self) -> &[String] {
        self.command.as_deref().unwrap_or_default()
    }

    fn prepare(&self) -> &[String] {
        self.prepare.as_deref().unwrap_or_default()
    }

    fn commands(&self) -> [(&'static str, &[String]); 2] {
        [("command", self.command()), ("prepare", self.prepare())]
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout.unwrap_or(self.time * 2.0 + 60.0))
    }

    /// How long data are made has nothing to do with how long a run is.
    fn prepare_timeout(&self) -> Duration {
        self.timeout.map_or(process::LOAD_MAX, Duration::from_secs_f64)
    }

    /// Whether the program of `command` may not be there before `prepare` has run.
    fn may_be_made(&self, setting: &str, program: &str) -> bool {
        setting == "command" && !self.prepare().is_empty() && program.contains('/') && Path::new(program).is_relative()
    }

    fn extractors(&self) -> Vec<Result<Extractor, String>> {
        self.metrics.iter().flatten().map(|(name, rule)| metric::parse(name, rule)).collect()
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        // A wrong rule is a problem; it has no metric.
        self.extractors().into_iter().flatten().map(|extractor| extractor.metric).collect()
    }

    fn durability(&self) -> Durability {
        Durability::because(Class::KeepsAcknowledged, format!("`command`: {UNKNOWN}"))
    }

    fn estimate(&self) -> Estimate {
        Estimate { data_bytes: self.data_size, load_seconds: 0.0, run_seconds: self.time }
    }

    fn problems(&self) -> Vec<String> {
        let extractors = self.extractors();
        let first = extractors.first().and_then(|extractor| extractor.as_ref().ok()).map(|extractor| &extractor.metric);
        let aimless = first.filter(|metric| metric.direction == Direction::Neither).map(|metric| {
            let name = &metric.name;
            format!(
                "`metrics.{name}`: scenarios are compared by the first metric, which must end with `; more` or `; less`"
            )
        });
        let mut problems: Vec<String> = extractors.into_iter().filter_map(Result::err).collect();
        problems.extend(aimless);
        problems.extend(load::sentences! {
            self.metrics.as_ref().is_none_or(Map::is_empty) => "`metrics` must name at least one metric, like \
                ios_per_second = \"json:/jobs/0/write/iops; unit 1/s; more\"";
            self.command().is_empty() =>
                "`command` must name a program, like [\"fio\", \"--name=x\", \"--filename={{data}}/file\"]";
            self.timeout.is_some_and(|timeout| timeout < self.time) => "`timeout` must not be below `time`";
        });
        for (setting, command) in self.commands() {
            problems.extend(command.iter().filter_map(|argument| placeholder::misspelt(setting, argument)));
        }
        problems
    }

    fn missing(&self) -> Vec<String> {
        let programs = self.commands().into_iter();
        let missing = |(setting, command): (&str, &[String])| {
            let program = command.first().filter(|program| !program.contains('{'))?;
            if self.may_be_made(setting, program) {
                return None;
            }
            process::missing(program, PACKAGES).map(|said| format!("`{setting}`: {said}"))
        };
        programs.filter_map(missing).collect()
    }

    /// Its programs where they are named by their paths: a script of the user's is a part of the load. What they open nobody knows.
    fn user_files(&self) -> Vec<PathBuf> {
        let programs = self.commands().into_iter().filter_map(|(_, command)| command.first());
        let paths = programs.filter(|program| program.contains('/') && !program.contains('{')).map(PathBuf::from);
        let named = |path: &Path| path.file_name().and_then(OsStr::to_str).and_then(process::find);
        paths.filter(|path| !is_the_machines(path, named(path))).collect()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let extractors: Result<Vec<_>, String> = self.extractors().into_iter().collect();
        let extractors = extractors.map_err(|problem| Error::Parameter { setting: "metrics", problem })?;
        if self.command().is_empty() {
            return Err(Error::Parameter { setting: "command", problem: "names no program".into() });
        }
        Ok(Box::new(Command { parameters: *self, extractors }))
    }
}

/// The workload.
struct Command {
    parameters: Parameters,
    extractors: Vec<Extractor>,
}

impl Workload for Command {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        if !self.parameters.prepare().is_empty() {
            self.execute(self.parameters.prepare(), self.parameters.prepare_timeout(), context)?;
        }
        Ok(Vec::new())
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let finished = self.execute(self.parameters.command(), self.parameters.timeout(), context)?;
        let measured = self.extractors.iter().enumerate().map(|(place, extractor)| {
            let value = extractor.value(&finished.stdout, &finished.stderr);
            // Programs print -1 where they have no result, and a figure below 0 has no ratio to another.
            let value = value.and_then(|value| match place == 0 && value < 0.0 {
                true => {
                    Err(format!("{value} is below 0, and scenarios are compared by the ratios of their first metric"))
                }
                false => Ok(value),
            });
            value.map(|value| extractor.metric.at(value)).map_err(|problem| {
                let (status, name) = (finished.status, &extractor.metric.name);
                let status = format!("{status}, but without the metric `{name}`: {problem}");
                finished.failed(&self.parameters.command()[0], status)
            })
        });
        Ok(Outcome { seconds: finished.seconds, metrics: measured.collect::<Result<_, _>>()?, ..Outcome::all_right() })
    }

    fn verify(&mut self, _context: &mut Context) -> Result<(), Error> {
        Ok(())
    }
}

impl Command {
    fn execute(&self, command: &[String], timeout: Duration, context: &Context) -> Result<Finished, Error> {
        let values = placeholder::Values {
            data: &context.data_folder,
            seconds: self.parameters.time.ceil() as u64,
            threads: self.parameters.threads,
            seed: context.seed,
        };
        let mut arguments: Vec<String> = command.iter().map(|argument| values.put_into(argument)).collect();
        let folder: &Path = &context.data_folder;
        arguments[0] = found(&arguments[0], folder);
        process::run(&arguments, folder, timeout, context.interrupted)?.succeeded(&arguments[0])
    }
}

/// Where packages have their programs.
const INSTALLED: [&str; 7] = ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/share", "/bin", "/sbin"];

/// Whether it is an installed program: a package's, or one that its name alone finds. Members of a fleet may have versions of their own. Scripts
/// elsewhere, as in ~/bin or /usr/local/bin, are the user's, also where their names find them.
fn is_the_machines(program: &Path, named: Option<PathBuf>) -> bool {
    let Ok(path) = program.canonicalize() else { return false };
    let is_named = || named.is_some_and(|named| named.canonicalize().is_ok_and(|named| named == path));
    INSTALLED.iter().any(|folder| path.starts_with(folder)) || !is_script(&path) && is_named()
}

fn is_script(program: &Path) -> bool {
    let mut begin = [0; 2];
    let read = |mut file: File| file.read_exact(&mut begin);
    program.is_file() && File::open(program).and_then(read).is_ok() && begin == *b"#!"
}

/// A program by its path, from the folder under test, where `prepare` may have made it, or else from where surefoot was started, as the check
/// has it.
fn found(program: &str, folder: &Path) -> String {
    if !program.contains('/') {
        return program.into();
    }
    let made = folder.join(program);
    let path = if made.exists() { Ok(made) } else { std::path::absolute(program) };
    path.map_or_else(|_| program.into(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_tests::{checked, read};
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn problems(written: Value, expected: Expect) {
        expected.assert_eq(&read(&KIND, &written).problems().join("\n"));
    }

    fn missing(written: Value, expected: Expect) {
        expected.assert_eq(&read(&KIND, &written).missing().join("\n"));
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let metrics = json!({"speed": "regex:speed ([0-9]+); unit 1/s; more"});
        let here = json!({"command": ["sh", "-c", "true"], "metrics": metrics});
        let absent = json!({"command": ["filebench", "-f", "x"], "prepare": ["no-such-program"], "metrics": metrics});
        missing(here, expect![""]);
        missing(
            absent.clone(),
            expect![[r#"
                `command`: the program filebench (package filebench) is not on this machine
                `prepare`: the program no-such-program is not on this machine"#]],
        );
        // The study is right all the same.
        problems(absent, expect![""]);
    }

    /// Rounds before a change of it and after it had been one study, and a guest did not see one in /tmp.
    #[test]
    fn a_script_of_the_users_is_a_file_of_the_study() {
        let files = |written: Value| read(&KIND, &written).user_files();
        let written = json!({"command": ["./bench.sh", "/etc/passwd"], "prepare": ["{data}/x"]});
        assert_eq!(files(written), [PathBuf::from("./bench.sh")]);
        assert_eq!(files(json!({"command": ["fio"]})), Vec::<PathBuf>::new());
        // Members of a fleet with another version each had been no fleet, once all was measured.
        let installed = process::find("sh").unwrap();
        assert_eq!(files(json!({"command": [installed]})), Vec::<PathBuf>::new());
    }

    /// A shell finds those in ~/bin by their names, too: rounds before and after a change of one had been one study.
    #[test]
    fn a_script_that_its_name_finds_is_the_users() {
        let folder = tempfile::tempdir().unwrap();
        let is_the_machines = |begin: &str, is_named: bool| {
            let path = folder.path().join("bench");
            std::fs::write(&path, begin).unwrap();
            super::is_the_machines(&path, is_named.then(|| path.clone()))
        };
        assert!(!is_the_machines("#!/bin/sh\n", true));
        assert!(is_the_machines("\x7fELF", true) && !is_the_machines("\x7fELF", false));
    }

    /// A run of 30 s ended the load of its data after two minutes.
    #[test]
    fn data_are_made_for_longer_than_a_run_lasts() {
        let limits = |written: Value| {
            let parameters: Parameters = settings::typed(&checked(&KIND, &written));
            [parameters.prepare_timeout(), parameters.timeout()]
        };
        assert_eq!(limits(json!({})), [process::LOAD_MAX, Duration::from_secs(120)]);
        assert_eq!(limits(json!({"timeout": "40s"})), [Duration::from_secs(40); 2]);
    }

    #[test]
    fn all_problems_come_at_once() {
        problems(
            json!({"command": ["sh", "-c", "sleep {secnds}"], "time": "10s", "timeout": "5s", "metrics": {"a": "b"}}),
            expect![[r#"
                `metrics.a`: must end with `; more`, `; less` or `; neither`
                `timeout` must not be below `time`
                `command`: {secnds} is no placeholder: did you mean {seconds}?"#]],
        );
        problems(
            json!({}),
            expect![[r#"
            `metrics` must name at least one metric, like ios_per_second = "json:/jobs/0/write/iops; unit 1/s; more"
            `command` must name a program, like ["fio", "--name=x", "--filename={data}/file"]"#]],
        );
    }

    /// More of it had been called faster, although the study says that more is no better.
    #[test]
    fn scenarios_are_compared_by_a_metric_with_a_better_side() {
        let command = ["sh", "-c", "true"];
        problems(
            json!({"command": command, "metrics": {"size": "regex:(1); neither", "a": "json:/x; less"}}),
            expect![
                "`metrics.size`: scenarios are compared by the first metric, which must end with `; more` or `; less`"
            ],
        );
        problems(json!({"command": command, "metrics": {"a": "json:/x; less", "b": "json:/y; neither"}}), expect![""]);
    }

    #[test]
    fn metrics_keep_the_order_of_the_study() {
        let metrics = json!({"z": "regex:(1); more", "a": "json:/x; unit ns; less"});
        let load = read(&KIND, &json!({"metrics": metrics}));
        let names: Vec<_> = load.metrics().into_iter().map(|metric| metric.name).collect();
        assert_eq!(names, ["z", "a"]);
    }
}
