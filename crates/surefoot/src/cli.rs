//! The words of the command line. Completions and man pages are made from this file.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Finds out what your server should stand on: filesystem, mount options and settings, measured under real load
#[derive(Parser)]
#[command(name = "surefoot", version = env!("SUREFOOT_VERSION"), max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit status: 0 answered, 1 surefoot's own fault, 2 bad study or usage, 3 answered with holes, \
                        4 refused to touch a device, 5 something missing, 130 interrupted"
)]
pub struct Surefoot {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Command {
    /// Run a study, or go on with it where it stopped
    Run(RunArgs),
    /// Go on with a study where it stopped: the same as `run`, but never starts a new one
    Resume(RunArgs),
    /// Show what a study would do: scenarios, trials, time, space and what is missing; touches nothing
    Plan(PlanArgs),
    /// Show the answer of a results file, or export it
    Report(ReportArgs),
    /// Replay an access log against a running server: its requests in its order, each once, each answer checked
    Replay(ReplayArgs),
    /// Measure what a power cut takes from each scenario of a study, or serve a state that was found, to look at
    Powercut(PowercutArgs),
    /// Set two results files side by side: two machines, kernels or days
    Compare(CompareArgs),
    /// Show results of one study over time, and what changed, as after an upgrade
    History(HistoryArgs),
    /// Show results in a browser of this machine, live while studies run
    Serve(ServeArgs),
    /// Show how far a study has come
    Status(StatusArgs),
    /// Show what this machine can do, and what would disturb a measurement
    Doctor(DoctorArgs),
    /// List studies, workloads, services, filesystems and devices, or explain one of them with its settings
    List(ListArgs),
    /// Write a commented study file to edit
    Init(InitArgs),
    /// Print the JSON Schema of study files, for editors
    Schema,
    /// Measure the machine's own noise: one configuration under two names must not differ
    SelfTest(SelfTestArgs),
    /// Remove work files, and anything an older run left
    Clean(CleanArgs),
    /// Print a shell's completions
    Completions(CompletionsArgs),
    /// Write man pages into a folder
    Man(ManArgs),
    /// Run one trial: its specification on standard input, its records on standard output
    #[command(hide = true)]
    Trial(TrialArgs),
    /// Start a guest kernel in walls of its own
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Guest(GuestArgs),
    /// A guest kernel's first process
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    GuestInit(GuestInitArgs),
    /// Serve a recording disk: its options on the command line, its orders on standard input
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Disk(DiskArgs),
    /// Run one worker process of a workload
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// How a study is found and changed.
#[derive(Args, Clone)]
pub struct StudyArgs {
    /// A study file, or the name of a built-in study (see `surefoot list`)
    pub study: String,
    /// Change a setting, or fix a factor to one or several levels: storage.filesystem=xfs, workload.oltp.threads=4
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Only scenarios whose label or FACTOR=LEVEL contains this word
    #[arg(long, value_name = "WORD")]
    pub only: Vec<String>,
    /// Rounds: a number, or MIN..MAX
    #[arg(long, value_name = "N")]
    pub rounds: Option<String>,
    /// Ask for the best only: measure no further what is shown to be worse, and confirm the pick in new rounds
    #[arg(long, conflicts_with = "exhaustive")]
    pub tune: bool,
    /// Measure every scenario in every round, whatever the study says
    #[arg(long)]
    pub exhaustive: bool,
    /// Time budget of the study, like 30min
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Seed of order and data
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Folder for image files and caches: it must lie on the disk under test [default: surefoot-work/STUDY]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Results file [default: STUDY.surefoot]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
}

/// `run` and `resume`.
#[derive(Args, Clone)]
pub struct RunArgs {
    /// Which study
    #[command(flatten)]
    pub study: StudyArgs,
    /// Leave out scenarios that this machine can't run, instead of refusing
    #[arg(long)]
    pub skip_missing: bool,
    /// Do failed trials again
    #[arg(long)]
    pub retry_failed: bool,
    /// Go on although the machine has changed since the first trial
    #[arg(long)]
    pub accept_changes: bool,
    /// Write the HTML report here [default: beside the results file]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing while it runs
    #[arg(long, short)]
    pub quiet: bool,
}

/// `powercut`.
#[derive(Args, Clone)]
pub struct PowercutArgs {
    /// Which study, and how
    #[command(flatten)]
    pub run: RunArgs,
    /// Serve one state that was found, mounted to look at until Enter is pressed; of a guest kernel's, make a copy to look at; reports
    /// name states
    #[arg(long, value_name = "STATE", requires = "scenario", group = "look")]
    pub replay: Option<String>,
    /// Write the log of what the disk was told to a file, as the kernel's dm-log-writes has it; logs are kept of scenarios that
    /// lost something
    #[arg(long, value_name = "FILE", requires = "scenario", group = "look")]
    pub export: Option<PathBuf>,
    /// Of which scenario
    #[arg(long, value_name = "SCENARIO", requires = "look")]
    pub scenario: Option<String>,
}

/// `plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// Which study
    #[command(flatten)]
    pub study: StudyArgs,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// A results file
    pub results: PathBuf,
    /// Write the HTML report here; `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Set the report as a PDF, with every raw value: to hand over, or to do the study again from
    #[arg(long, value_name = "FILE")]
    pub pdf: Option<PathBuf>,
    /// Export every raw run as CSV; `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the same as a Parquet file, with a column for each factor
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Print everything as JSON: the analysis, and every raw run
    #[arg(long)]
    pub json: bool,
    /// Print the answer, its tables and its warnings as Markdown, for a wiki or a pull request
    #[arg(long)]
    pub markdown: bool,
    /// Print the plain shell commands that set up a scenario by hand
    #[arg(long, value_name = "SCENARIO")]
    pub reproduce: Option<String>,
    /// Print the means in a format that another tool reads, or the runs of `oltp`, of `sql-bench` and of the HTTP loads in the
    /// shape of another tool's report
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// Formats and reports of other tools.
#[derive(clap::ValueEnum, Clone, Copy)]
pub enum Format {
    /// Bencher Metric Format: each scenario's geometric mean with its interval, JSON
    Bencher,
    /// OpenMetrics, as Prometheus reads it: the same, with the levels of factors as labels
    #[value(name = "openmetrics")]
    OpenMetrics,
    /// sysbench 1.0
    Sysbench,
    /// sysbench 0.4
    #[value(name = "sysbench-0.4")]
    SysbenchZeroFour,
    /// A RUN file of MySQL's sql-bench
    SqlBench,
    /// httperf
    Httperf,
    /// http_load
    #[value(name = "http_load")]
    HttpLoad,
}

/// `replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// An access log: Common or Combined Log Format, with or without a virtual host before it, or JSON lines; plain, gzip or
    /// Zstandard
    pub log: PathBuf,
    /// The server: http://HOST:PORT or https://HOST:PORT
    pub url: String,
    /// Connections at a time
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub connections: u32,
    /// Use a connection again, instead of a new one for each request
    #[arg(long)]
    pub keep_alive: bool,
    /// Requests that a connection makes before it is closed; more than one keep it open between them, and `--rate` then counts
    /// connections, as httperf's does [default: with `--keep-alive` as many as the server lets it, else one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub calls: u64,
    /// From an answer to the next request on its connection
    #[arg(long, value_name = "SECONDS", value_parser = within(1e-6, 1e6))]
    pub think_time: Option<f64>,
    /// Send at the log's own times, so many times as fast, instead of as fast as the server answers
    #[arg(long, value_name = "FACTOR", value_parser = within(1e-6, 1e6))]
    pub speed: Option<f64>,
    /// Send so many requests a second, whatever the server does
    #[arg(long, value_name = "PER_SECOND", value_parser = within(1e-3, 1e7), conflicts_with = "speed")]
    pub rate: Option<f64>,
    /// Stop after this many requests
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Ask for this Host, whatever the log says [default: the log's virtual hosts, else the URL's host]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Ask for another Host where the log has this one
    #[arg(long, value_name = "LOGGED=HOST")]
    pub map: Vec<String>,
    /// Send requests other than GET and HEAD with the body in this file (`/dev/null`: an empty one), instead of leaving them
    /// out
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// What answers are held against
    #[arg(long, value_name = "WHAT", default_value = "status")]
    pub expect: Expect,
    /// A text that each page (2xx in the log) must have: an error page may come with status 200
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub expect_text: Option<String>,
    /// Trust the authorities in this PEM file, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Take any certificate
    #[arg(long, conflicts_with = "ca_file")]
    pub insecure: bool,
    /// An answer that takes longer is an error; in latencies it counts as the time that was waited
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = within(0.01, 1e6))]
    pub timeout: f64,
    /// Per cent of lines that may be no requests
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    pub bad_lines_max: f64,
    /// The most bytes of text that the log may have, decompressed, like 1TiB; a longer one is refused
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = bytes)]
    pub log_bytes_max: u64,
    /// Threads of the load generator
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// Drive connections by these calls
    #[arg(long, value_name = "CALLS", default_value = "auto")]
    pub engine: HttpEngine,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// A number between these two.
fn within(min: f64, max: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let number: f64 = text.parse().map_err(|_| "not a number".to_string())?;
        if (min..=max).contains(&number) { Ok(number) } else { Err(format!("must be from {min} to {max}")) }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    settings::quantity::parse_bytes(text).ok_or_else(|| "not a size like 10GiB".into())
}

/// What a replayed request's answer is held against.
#[derive(clap::ValueEnum, Clone, Copy)]
pub enum Expect {
    /// Nothing
    Nothing,
    /// The class of the logged status
    Status,
    /// That, and the logged size of a GET that was answered 200
    Size,
}

/// By which calls connections are driven.
#[derive(clap::ValueEnum, Clone, Copy)]
pub enum HttpEngine {
    /// io_uring where the kernel has it, else epoll
    Auto,
    /// io_uring
    #[value(name = "io_uring")]
    Uring,
    /// epoll
    Epoll,
}

/// `compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// The first results file: what the other is compared with
    pub a: PathBuf,
    /// The second results file
    pub b: PathBuf,
    /// Write a page with a chart of all intervals to this file, `-` for standard output, instead of text
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long, conflicts_with = "html")]
    pub json: bool,
}

/// `history`.
#[derive(Args)]
pub struct HistoryArgs {
    /// Results files, or folders of them [default: this folder]
    pub results: Vec<PathBuf>,
    /// Write a page with charts to this file, `-` for standard output, instead of text
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long, conflicts_with = "html")]
    pub json: bool,
}

/// `serve`.
#[derive(Args)]
pub struct ServeArgs {
    /// Results files
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// Listen on this port of 127.0.0.1 [default: one that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
}

/// `status`.
#[derive(Args)]
pub struct StatusArgs {
    /// A results file, a study file or a built-in study; nothing: every results file in this folder
    pub what: Option<String>,
    /// Read each file whole, every figure against its checksum and SQLite's own integrity check
    #[arg(long)]
    pub verify: bool,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// The folder that would hold the image files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub work: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `list`.
#[derive(Args)]
pub struct ListArgs {
    /// `studies`, `workloads`, `filesystems`, `devices`, or the name of one of them to explain it
    pub what: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `init`.
#[derive(Args)]
pub struct InitArgs {
    /// Name of the study; the file is NAME.toml
    pub name: String,
    /// Begin with this study instead: a built-in one's name, or a file
    #[arg(long, value_name = "STUDY")]
    pub from: Option<String>,
}

/// `self-test`.
#[derive(Args)]
pub struct SelfTestArgs {
    /// Rounds: a number, or MIN..MAX
    #[arg(long, value_name = "N")]
    pub rounds: Option<String>,
    /// Folder for image files and caches
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Results file
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Say nothing while it runs
    #[arg(long, short)]
    pub quiet: bool,
}

/// `clean`.
#[derive(Args)]
pub struct CleanArgs {
    /// A work folder [default: every one under surefoot-work]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
}

/// `completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Args)]
pub struct ManArgs {
    /// The folder
    pub folder: PathBuf,
}

/// `trial`.
#[derive(Args)]
pub struct TrialArgs {
    /// The study's work folder
    pub work: PathBuf,
}

/// `disk`.
#[cfg(target_os = "linux")]
#[derive(Args)]
pub struct DiskArgs {
    /// As JSON
    pub options: String,
}

/// `guest`.
#[cfg(target_os = "linux")]
#[derive(Args)]
pub struct GuestArgs {
    /// The study's work folder
    pub work: PathBuf,
    /// The guest's memory
    pub memory_bytes: u64,
    /// An image file, from the work folder
    #[arg(long)]
    pub disk: Vec<PathBuf>,
    /// A recording disk, as the last: what it is to be
    #[arg(long)]
    pub recording: Option<String>,
    /// The kernel's file
    pub kernel: PathBuf,
    /// The kernel's command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<std::ffi::OsString>,
}

/// `guest-init`.
#[cfg(target_os = "linux")]
#[derive(Args)]
pub struct GuestInitArgs {
    /// What the kernel adds of its own; nothing of it is used
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<std::ffi::OsString>,
}

/// `worker`.
#[derive(Args)]
pub struct WorkerArgs {
    /// The workload
    pub workload: String,
}
