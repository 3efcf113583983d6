//! The words of the command line. Completions and man pages are made from this file.

pub mod fleet;
pub mod replay;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use fleet::FleetArgs;
use replay::ReplayArgs;
use report::{Asked, FORMATS, Format};
use std::path::PathBuf;

/// Finds out what your server should stand on: filesystem, mount options and settings, measured under real load
#[derive(Parser)]
#[command(name = "surefoot", version = env!("SUREFOOT_VERSION"), max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit status: 0 answered, 1 surefoot's own fault, 2 bad study or usage, 3 answered with holes, \
                        4 refused (a device, a work folder), 5 something missing, 6 worse by what --fail-on names, 130 interrupted"
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
    /// Run a study on many machines under their scheduler, watch it, and collect its answer
    Fleet(FleetArgs),
    /// Bring the results of a fleet's members together in one file, and show its answer
    Merge(MergeArgs),
    /// Show the answer of a results file, or export it
    Report(ReportArgs),
    /// Drive loads for studies on another machine, or make the pairing by which the two know each other
    LoadAgent(LoadAgentArgs),
    /// Replay an access log, or a database's log of statements, against a running server: in its order, each once, each answer checked
    Replay(ReplayArgs),
    /// Measure what a power cut takes from each scenario of a study, or serve a state that was found, to look at
    Powercut(PowercutArgs),
    /// Measure what a failing disk does to each scenario of a study, or run one case again and tell it step by step
    Faults(FaultsArgs),
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
    /// Print the JSON Schema of study files, for editors, or of `report --json`
    Schema {
        /// Of what
        #[arg(value_enum, default_value_t = SchemaOf::Study)]
        of: SchemaOf,
    },
    /// Measure the machine's own noise: one configuration under two names must not differ
    #[command(mut_args(of_self_test))]
    SelfTest(RunArgs),
    /// Remove work files, and anything an older run left
    Clean {
        /// A work folder [default: every one under surefoot-work]
        #[arg(long, value_name = "DIR")]
        work: Option<PathBuf>,
    },
    /// Print a shell's completions
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write man pages into a folder
    Man {
        /// The folder
        folder: PathBuf,
    },
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
    GuestInit {
        /// What the kernel adds of its own; nothing of it is used
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<std::ffi::OsString>,
    },
    /// Serve a recording disk: its options on the command line, its orders on standard input
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Disk {
        /// As JSON
        options: String,
    },
    /// Run one worker process of a workload
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// How a study is found and changed.
#[derive(Args, Clone)]
pub struct StudyArgs {
    /// A study file, or the name of a built-in study (see `surefoot list`)
    pub study: String,
    /// Change a setting, or fix a factor to one or several levels: storage.filesystem=xfs, 'storage.filesystem=["xfs", "ext4"]'
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Only scenarios whose label or FACTOR=LEVEL is this word, or contains it where none is
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
    /// Begin no round after this session's first that would end later than this, like 30min; power cuts and failing disks come on top
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Seed of orders and data [default: drawn, and kept in the results file]
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
    /// Be one member of a fleet: the third of twenty is 3/20; `auto` reads it from Slurm, Kubernetes, parallel-ssh or GNU parallel.
    /// `--results` is then the folder of all members' results
    #[arg(long, value_name = "auto|K/N")]
    pub member: Option<String>,
    /// The study's half of a pairing with the load agent that it names as its `client`
    #[arg(long, value_name = "FILE")]
    pub pairing: Option<PathBuf>,
    /// Leave out scenarios that this machine can't run, instead of refusing
    #[arg(long)]
    pub skip_missing: bool,
    /// Measure rounds with failed trials again, and power cuts and failing disks that could not be measured
    #[arg(long)]
    pub retry_failed: bool,
    /// Go on although the machine, surefoot or a file that the study reads has changed since the first trial, or such a file changes
    /// meanwhile
    #[arg(long)]
    pub accept_changes: bool,
    /// Write the HTML report here [default: beside the results file]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Say everything at the end: all comparisons, what mattered, every warning and every scenario
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing while it runs
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options about rounds, which are refused with a reason where there are none, are not offered there.
fn without_rounds(option: Arg) -> Arg {
    let is_about_rounds = ["rounds", "time", "tune", "exhaustive"].contains(&option.get_id().as_str());
    option.hide(is_about_rounds)
}

/// `powercut`.
#[derive(Args, Clone)]
#[command(mut_args(without_rounds))]
pub struct PowercutArgs {
    /// Which study, and how
    #[command(flatten)]
    pub run: RunArgs,
    /// Serve one state that was found, mounted to look at until Enter is pressed; of a guest kernel's, make a copy to
    /// look at; the HTML report names states
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

/// `faults`.
#[derive(Args, Clone)]
#[command(mut_args(without_rounds))]
pub struct FaultsArgs {
    /// Which study, and how
    #[command(flatten)]
    pub run: RunArgs,
    /// Run one case again and tell what was done, what came of it and what server and kernel said; the HTML report
    /// names cases
    #[arg(long, value_name = "CASE", requires = "scenario")]
    pub replay: Option<String>,
    /// Of which scenario
    #[arg(long, value_name = "SCENARIO", requires = "replay")]
    pub scenario: Option<String>,
}

/// `plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// Which study, and how it would be run
    #[command(flatten)]
    pub run: RunArgs,
    /// Forecast a fleet of up to so many hosts: time on each, and how narrow the interval over hosts would be
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=i64::from(ledger::model::MEMBERS_MAX)), conflicts_with = "json")]
    pub members: Option<u32>,
    /// How far hosts differ in a comparison, and how far it strays from round to round [default: 5%,3%]
    #[arg(long, value_name = "HOSTS,ROUNDS", requires = "members")]
    pub spread: Option<String>,
}

/// `merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// Folders of members' results, or results files; merged ones, too
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Write the HTML report here [default: beside the file]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// A results file, or the study whose results lie in this folder
    pub results: PathBuf,
    /// Of a fleet's results only this member, as of a study of one machine
    #[arg(long, value_name = "K")]
    pub member: Option<u32>,
    /// Say everything: all comparisons, what mattered, every warning and every scenario
    #[arg(long)]
    pub full: bool,
    /// What it is written as.
    #[command(flatten)]
    pub formats: Formats,
    /// Print the plain shell commands that set up a scenario by hand
    #[arg(long, value_name = "SCENARIO")]
    pub reproduce: Option<String>,
    /// Print how a scenario is put in place: mkfs, fstab, the servers' settings, what to check, and what was not measured
    #[arg(long, value_name = "SCENARIO")]
    pub apply: Option<String>,
}

/// The formats that are asked for, with a place each: an option for each of the list in `report`.
#[derive(Clone)]
pub struct Formats(pub Vec<(&'static Format, PathBuf)>);

/// Standard output, as a place.
pub const STANDARD: &str = "-";
/// The option of formats that have none of their own.
pub const FORMAT: &str = "format";

fn asked(how: Asked) -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(move |format| format.asked == how)
}

impl Args for Formats {
    fn augment_args(command: clap::Command) -> clap::Command {
        let of = |format: &'static Format| Arg::new(format.name).long(format.name).help(format.help);
        let files =
            asked(Asked::File).map(|format| of(format).value_name("FILE").value_parser(clap::value_parser!(PathBuf)));
        let printed = asked(Asked::Printed).map(|format| of(format).action(ArgAction::SetTrue));
        let names = asked(Asked::Named).map(|format| PossibleValue::new(format.name).help(format.help));
        let help = "Print the means in a format that another tool reads, or the runs of `oltp`, of `sql-bench` and of the HTTP \
            loads in the shape of another tool's report";
        let names = PossibleValuesParser::new(names);
        let named = Arg::new(FORMAT).long(FORMAT).value_name("FORMAT").value_parser(names).help(help);
        command.args(files).args(printed).arg(named)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Formats::augment_args(command)
    }
}

impl FromArgMatches for Formats {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Formats, clap::Error> {
        let place = |format: &'static Format| match format.asked {
            Asked::File => matches.get_one::<PathBuf>(format.name).cloned(),
            Asked::Printed => matches.get_flag(format.name).then(|| STANDARD.into()),
            Asked::Named => {
                let name = matches.get_one::<String>(FORMAT);
                name.filter(|name| *name == format.name).map(|_| STANDARD.into())
            }
        };
        Ok(Formats(FORMATS.iter().filter_map(|format| Some((format, place(format)?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Formats::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// Two results files, the first of which is what the other is compared with; with --sessions 2, 4, 6 …: A1 B1 A2 B2
    #[arg(required = true, num_args = 2..)]
    pub results: Vec<PathBuf>,
    /// The files are sessions of two sides that took turns, run A1 B1 B2 A2 …: only so can a difference be told from that of two days
    #[arg(long)]
    pub sessions: bool,
    /// End with status 6 where a scenario is shown to be worse, and by so much, or fails or errs more often, 3 where one was not measured: "slower by 5 %"
    #[arg(long, value_name = "CHANGE")]
    pub fail_on: Option<String>,
    /// Write a page with a chart of all intervals to this file, `-` for standard output, instead of text
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
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
    #[arg(long)]
    pub json: bool,
}

/// `serve`.
#[derive(Args)]
pub struct ServeArgs {
    /// Results files, or the folder of a fleet's
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
    /// The folder that would hold the image files [default: this folder; with --noise surefoot-work/noise]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Measure instead how much the machine strays by itself, under a small load; kept until the next boot, for `plan` and `run`
    #[arg(long)]
    pub noise: bool,
    /// Measure that for so long, 2s to 1h
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "noise")]
    pub time: String,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `list`.
#[derive(Args)]
pub struct ListArgs {
    /// `studies`, `workloads`, `services`, `filesystems`, `devices`, the name of one of them to explain it, or a table of a study
    /// file (`study`, `design`, `cpus`, `storage`, `guest`, `safety`, `limit`, `table`) for its settings
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

/// The one study of `self-test`, whose scenarios leave nothing to choose.
fn of_self_test(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "study" => option.required(false).default_value("self-test").value_parser(["self-test"]).hide(true),
        "only" | "tune" | "exhaustive" | "member" | "pairing" => option.hide(true),
        _ => option,
    }
}

/// What has a schema.
#[derive(Clone, Copy, ValueEnum)]
pub enum SchemaOf {
    /// Study files
    Study,
    /// What `report --json` prints
    Report,
}

/// `trial`.
#[derive(Args)]
pub struct TrialArgs {
    /// The study's work folder
    pub work: PathBuf,
    /// Which place in it, of several trials that are up at the same time
    #[arg(long)]
    pub slot: Option<usize>,
    /// The study's half of a pairing with its load agent: the trial has the host's network
    #[arg(long)]
    pub pairing: Option<PathBuf>,
    /// What the study's trials share the agent by
    #[arg(long)]
    pub lease: Option<String>,
}

/// `load-agent`.
#[derive(Args)]
pub struct LoadAgentArgs {
    /// The one address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", requires = "pairing", required_unless_present = "pair")]
    pub listen: Option<std::net::SocketAddr>,
    /// The agent's half of a pairing
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub pairing: Option<PathBuf>,
    /// Make a pairing, in two files: NAME.agent for this machine, NAME.study for the one that runs studies
    #[arg(long, value_name = "NAME", conflicts_with_all = ["listen", "pairing"])]
    pub pair: Option<PathBuf>,
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

/// `worker`.
#[derive(Args)]
pub struct WorkerArgs {
    /// The workload
    pub workload: String,
}
