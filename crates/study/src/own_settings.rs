//! The settings that belong to the study itself: its design, and how a trial is boxed in.

use crate::trial_spec::{Cache, Ineffective};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind, Setting};

/// Top-level keys that are settings (tables have their own lists).
pub const TOP: &[Setting] = &[
    Setting::absent("name", Kind::Text).help("Name of the study; its results file is NAME.surefoot."),
    Setting::absent("question", Kind::Text).help("The question it answers; stands above the answer."),
    Setting::absent("memory", Kind::Bytes { min: 64 << 20, max: u64::MAX })
        .help("Memory limit of a trial, page cache included. Without it, data that fits into memory only measures flushes."),
    Setting::new("bench", Kind::Choice(&["host", "guest"]), "host")
        .help(
            "Where trials run: `host`, on this machine's kernel; `guest`, in a User-Mode Linux kernel, which needs no root \
               and has filesystems of its own. Who is not root gets the guest where the study says nothing and root is needed.",
        ),
    Setting::absent("client", Kind::Text)
        .help(
            "HOST:PORT of a load agent (`surefoot load-agent`): the load comes from that machine over the network, and the server listens \
               for it while a trial runs. Without it, the load is on the server's machine.",
        ),
    Setting::new("parity", Kind::Choice(&["mark", "require"]), "mark")
        .help("What to do when scenarios promise different durability: mark it wherever speed is shown, or refuse the study."),
];

/// `[cpus]`.
pub const CPUS: &[Setting] = &[
    Setting::absent("server", Kind::IntegerList).help("CPUs of the servers. Embedded engines have none."),
    Setting::absent("client", Kind::IntegerList)
        .help(
            "CPUs of the load generator (and of an embedded engine). Where neither is said, from four CPUs on, a server's load has one for \
               each of its `driver_threads`, a quarter of all at most, and the server has the others.",
        ),
];

/// `[guest]`: the kernel of `bench = "guest"`.
pub const GUEST: &[Setting] = &[
    Setting::new("memory", Kind::Bytes { min: 128 << 20, max: u64::MAX }, "1GiB")
        .help("Memory of the guest kernel, page cache included: data that do not fit are read from the disk."),
    Setting::new("kernel", Kind::Text, "linux.uml")
        .help("The kernel's file, or a program in PATH; Debian's package user-mode-linux has linux.uml."),
];

/// Volumes beside the one of `[storage]` itself: `[storage.wal]` is for a server's log of changes.
pub const VOLUMES: &[&str] = &["wal"];

/// Tables of a service whose entries are settings by names of its own, and factors as well.
pub const FREE_TABLES: &[&str] = &["settings", "php_settings"];

/// Any setting of a server: `service.postgres.settings.shared_buffers`.
pub static SERVER_SETTING: Setting =
    Setting::absent("settings", Kind::Scalar).help("A setting of the server, by its own name.");

/// More rounds than this are a mistake in the file.
pub const ROUNDS_MAX: u32 = 10_000;

/// Mode "tune" needs so many rounds at least: it looks after the fourth, and one must be left to save.
pub const TUNE_ROUNDS_MIN: u32 = 5;

/// `[design]`.
pub const DESIGN: &[Setting] = &[
    Setting::new("rounds_min", Kind::Integer { min: 1, max: 10_000 }, "6")
        .help("At least so many rounds. Below four, no difference is claimed."),
    Setting::new("rounds_max", Kind::Integer { min: 1, max: ROUNDS_MAX as i64 }, "20").help("At most so many rounds."),
    Setting::new("runs", Kind::Integer { min: 1, max: 1000 }, "1")
        .help("Measured runs in a trial; their geometric mean is the trial's one figure."),
    Setting::absent("order", Kind::Choice(&["turns", "blocks"]))
        .help(
            "How a round goes: `blocks`, one trial after another; `turns`, all scenarios are up at once and take turns of `turn`, \
               while the others stand still, so that what disturbs the machine for seconds disturbs all alike. A load that is no \
               matter of time takes turns of whole runs. Without it, turns where a load is a matter of time and at least the \
               baseline, its control and one more fit into the memory together.",
        ),
    Setting::absent("up_max", Kind::Integer { min: 2, max: 10_000 })
        .help(
            "At most so many scenarios are up at once. A workload that has more takes turns in groups, each with the baseline and \
               its control, and what they did in each group makes the groups comparable. Without it, as many as the memory and the \
               disk have room for.",
        ),
    Setting::new("turn", Kind::Seconds { min: 0.1, max: 600.0 }, "1s")
        .help(
            "Length of a turn. The runs of a trial are cut into as many as they have time for, as one long run. Where the machine's noise was measured, a study \
               that does not say it has the length that is best by it.",
        ),
    Setting::new("charge_flush", Kind::Boolean, "true")
        .help("The flush that ends a turn counts as time of that turn, as what a scenario leaves behind is its own work."),
    Setting::new("warm_up_runs", Kind::Integer { min: 0, max: 100 }, "1")
        .help("Runs before the measured ones, which no claim uses."),
    Setting::new("precision", Kind::Percent { min: 0.001, max: 1.0 }, "3%")
        .help("The study ends when every declared difference is known within this."),
    Setting::new("margin", Kind::Percent { min: 0.0, max: 1.0 }, "3%").help("Differences below this are negligible."),
    Setting::new("confidence", Kind::Percent { min: 0.5, max: 0.999 }, "95%").help("Of every interval and claim."),
    Setting::new("mode", Kind::Choice(&["full", "tune"]), "full")
        .help(
            "What is asked: `full`, what every setting does; `tune`, which scenario is best: one that is shown to be worse is not \
               measured on, which factor matters is not said, and pick, runner-up and baseline are confirmed in new rounds.",
        ),
    Setting::absent("confirm", Kind::Integer { min: 0, max: 1000 })
        .help(
            "New rounds of pick, runner-up and baseline after all others; their figures alone are the answer's. Without it, 6 in \
               mode \"tune\" and with a screen, else none.",
        ),
    Setting::new("screen", Kind::Choice(&["off", "auto", "fraction", "plackett-burman"]), "off")
        .help(
            "Measure a part of the scenarios first, and then only what the factors that matter make: by a `fraction` of \
               resolution IV or a `plackett-burman` design with its mirror image, `auto` by the smaller one from 64 scenarios on. \
               The other factors stay at the baseline's levels, and it is said what was not studied.",
        ),
    Setting::new("screen_rounds", Kind::Integer { min: 1, max: 1000 }, "3").help("Rounds of a screen."),
    Setting::absent("time_budget", Kind::Seconds { min: 1.0, max: 1e9 })
        .help(
            "No round after a session's first is begun that would not end within this time of the session. Power cuts and failing disks come on top.",
        ),
    Setting::absent("seed", Kind::Integer { min: 0, max: i64::MAX })
        .help("Seed of the orders, the data and the load. Without it, one is drawn for the study and kept in its results file."),
    Setting::new("cache", Kind::Choice(&["warm", "cold"]), "warm")
        .help("State of the page cache before each run: as the load left it, or dropped. A server's own buffers stay as they are."),
    Setting::new("trial_timeout", Kind::Seconds { min: 1.0, max: 1e9 }, "30min")
        .help("A trial that takes longer is ended and counts as failed."),
    Setting::new("control", Kind::Boolean, "true")
        .help("The A/A control: the baseline runs twice in each round, and the difference is the study's own noise floor."),
    Setting::absent("probe", Kind::Seconds { min: 0.0, max: 60.0 })
        .help(
            "How long the first session measures, before the first round, what the device and the CPUs can give at most; `0s`: \
               not at all. Without it a twentieth of the study's expected time, at most 4 s, and nothing below 1 s.",
        ),
    Setting::new("ineffective", Kind::Choice(&["fail", "warn"]), "fail")
        .help("What an option does that was asked for and did not take effect: fail the trial, or be listed."),
];

/// How a study is run and analysed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Design {
    /// At least so many rounds.
    pub rounds_min: u32,
    /// At most so many rounds.
    pub rounds_max: u32,
    /// Measured runs a trial.
    pub runs: u32,
    /// How a round goes, where the study says so.
    pub order: Option<Order>,
    /// At most so many scenarios are up at once, where the study says so.
    pub up_max: Option<u32>,
    /// Length of a turn.
    #[serde(rename = "turn")]
    pub turn_seconds: f64,
    /// Whether a turn's flush is a part of it.
    pub charge_flush: bool,
    /// Unmeasured runs a trial.
    pub warm_up_runs: u32,
    /// Wanted half-width, a fraction.
    pub precision: f64,
    /// Negligible difference, a fraction.
    pub margin: f64,
    /// Two-sided confidence.
    pub confidence: f64,
    /// What is asked of the scenarios.
    pub mode: Mode,
    /// New rounds of pick, runner-up and baseline, where the study says how many.
    pub confirm: Option<u32>,
    /// Whether a part of the scenarios goes before the others.
    pub screen: Screening,
    /// Rounds of that part.
    pub screen_rounds: u32,
    /// No round is begun that would end later.
    #[serde(rename = "time_budget")]
    pub time_budget_seconds: Option<f64>,
    /// Seed of orders and data, where the study says it.
    pub seed: Option<u64>,
    /// Caches before each run.
    pub cache: Cache,
    /// A trial is ended after this long.
    #[serde(rename = "trial_timeout")]
    pub trial_timeout_seconds: f64,
    /// Whether the baseline runs twice.
    pub control: bool,
    /// How long ceilings are measured; none: by the study's length.
    #[serde(rename = "probe")]
    pub probe_seconds: Option<f64>,
    /// What an option without effect does.
    #[serde(rename = "ineffective")]
    pub ineffective_options: Ineffective,
}

/// How a round goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A trial after the other.
    Blocks,
    /// All scenarios are up, and take turns.
    Turns,
}

/// What a study asks of its scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Everything: every scenario in every round.
    Full,
    /// Which is best: a scenario that is shown to be worse is not measured on.
    Tune,
}

/// Which part of the scenarios goes before the others, so that those need not be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Screening {
    /// None.
    Off,
    /// The smaller of both, of large studies.
    Auto,
    /// A fraction of resolution IV.
    Fraction,
    /// A Plackett-Burman design with its mirror image.
    PlackettBurman,
}

/// New rounds of pick, runner-up and baseline after the others chose: as many as a study needs at least to claim anything.
const CONFIRMATION_ROUNDS: u32 = 6;

impl Design {
    /// New rounds of pick, runner-up and baseline.
    pub fn confirmation_rounds(&self) -> u32 {
        let has_chosen = self.mode == Mode::Tune || self.screen != Screening::Off;
        self.confirm.unwrap_or(if has_chosen { CONFIRMATION_ROUNDS } else { 0 })
    }

    /// From the checked table.
    pub(crate) fn from_map(map: &Map<String, Value>) -> Design {
        settings::typed(map)
    }
}

/// What differing durability does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parity {
    /// Is marked.
    Mark,
    /// Refuses the study.
    Require,
}
