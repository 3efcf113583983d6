//! `[safety]`: how it is measured what a power cut takes from each scenario. Without the table, nothing of the kind is measured.
//!
//! No speed hangs on it: it is no part of a plan's hash, so that a study can go on with it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use settings::{Kind, Setting, defaults};

/// The classes of what a power cut takes, the best first.
pub const CLASSES: &[&str] = &["A", "B", "C", "D", "E", "F"];

/// What a disk may do, in the order of lists.
pub const FAULTS: &[&str] = [
    ["write-error", "flush-error", "read-error", "full", "lost-write", "misdirected-write"],
    ["torn-write", "read-bit", "read-sector", "read-block", "rotten-bit", "rotten-sector"],
    ["rotten-block", "read-only", "stall", "slow", "hang", "none"],
]
.as_flattened();

/// The table's settings.
pub const SAFETY: &[Setting] = &[
    Setting::new("load", Kind::Choice(&["commits", "files"]), "commits")
        .help(
            "What is at work when power is cut: `commits`, small transactions on the workload's own database; `files`, small files \
               that are replaced, as programs do it that keep their state in files. The latter is for any workload without a \
               database.",
        ),
    Setting::absent("files", Kind::Choice(&["rename", "rename-fsync", "rename-fsync-directory", "truncate", "overwrite-fsync"]))
        .help(
            "How load = \"files\" replaces one: `rename`, a new file is renamed over it; `rename-fsync`, flushed before; \
               `rename-fsync-directory`, and its folder flushed after; `truncate`, emptied and written anew; `overwrite-fsync`, \
               written over in place and flushed. Left out: as the workload does, where that is known; or else `rename`.",
        ),
    Setting::new("budget", Kind::Seconds { min: 0.1, max: 86_400.0 }, "10s")
        .help(
            "How long each scenario's disk is looked at as a power cut may leave it. What is not reached in this time is said: then \
               it was a sample.",
        ),
    Setting::new("time", Kind::Seconds { min: 0.1, max: 600.0 }, "3s")
        .help("How long the load is recorded, write by write."),
    Setting::new("size", Kind::Bytes { min: 16 << 20, max: 1 << 40 }, "512MiB")
        .help("Size of the disk that is recorded."),
    Setting::new("unit", Kind::Choice(&["512", "4096"]), "4096")
        .help("Bytes that the disk writes whole or not at all: larger writes may be torn at the borders between them."),
    Setting::absent("cache", Kind::Choice(&["volatile", "write-through", "lying"]))
        .help(
            "What the disk's cache keeps in a power cut: `volatile`, only what was flushed; `write-through`, all that was completed, \
               as with power-loss protection; `lying`, not even what was flushed. Left out: as `storage.cache` says of a virtual \
               disk, else `volatile`.",
        ),
    Setting::new("disk", Kind::Choice(&["none", "scsi-10k", "sata-7200", "consumer-ssd", "nvme-plp"]), "none")
        .help("Which disk's delays the recorded one has; `none`: as fast as memory."),
    Setting::new("log", Kind::Bytes { min: 1 << 20, max: u64::MAX }, "1GiB")
        .help("At most so much is recorded; a load that writes more fails its measurement, and it is said."),
    Setting::new("connections", Kind::Integer { min: 1, max: 64 }, "2")
        .help("Connections that commit, or writers of files."),
    Setting::absent("write_back", Kind::Boolean)
        .help(
            "Whether the files of a database that commits are written back in parts at random moments, without a flush, as a kernel may \
               do it at any time; true where nothing is said. Without it a short recording hides what settings that never flush can damage.",
        ),
    Setting::absent("faults", Kind::TextList)
        .help(
            "What else a disk may do to each scenario than lose power: `write-error`, `flush-error`, `read-error`, `full`, `lost-write`, \
               `misdirected-write`, `torn-write`, `read-bit`, `read-sector`, `read-block`, `rotten-bit`, `rotten-sector`, \
               `rotten-block`, `read-only`, `stall`, `slow`, `hang`; `write-error:3` strikes three writes, `write-error:always` \
               all from then on. With `none` nothing fails, and nothing may be found. `surefoot faults` measures those that are named here, or the errors where none is.",
        ),
    Setting::new("fault_budget", Kind::Seconds { min: 0.1, max: 86_400.0 }, "60s")
        .help("How long faults are tried on each scenario. What is not reached in this time is said: then it was a sample."),
    Setting::absent("fault_blocks", Kind::TextList)
        .help("Of writes and reads, only those of these kinds of block are struck: `journal`, `WAL`, as the report names them. Without it, all."),
    Setting::new("fault_delay", Kind::Seconds { min: 0.001, max: 5.0 }, "20ms")
        .help("How much later each answer of a disk comes that is `slow`."),
    Setting::new("fault_stall", Kind::Seconds { min: 0.001, max: 60.0 }, "1s")
        .help("How late the answer of a `stall` comes."),
    Setting::absent("classes", Kind::TextList)
        .help(
            "Classes that a recommendation may have, of A (lost nothing) to F (wrong without a word). Without it, E and F are never \
               recommended, and of the others those that promise most compete. Settings with which damage is to be expected, and whose \
               recording had none, need E.",
        ),
];

/// How safety is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Safety {
    /// What is at work when power is cut.
    pub load: Load,
    /// How files are replaced; none: as the workload does, or by renaming new ones over them.
    pub files: Option<String>,
    /// For exploring, a scenario.
    #[serde(rename = "budget")]
    pub budget_seconds: f64,
    /// Of the load that is recorded.
    #[serde(rename = "time")]
    pub time_seconds: f64,
    /// Size of the disk.
    #[serde(rename = "size")]
    pub disk_bytes: u64,
    /// What it writes whole or not at all.
    pub unit: AtomicUnit,
    /// What its cache keeps: a name of the table's; none: what the scenario's own disk keeps.
    pub cache: Option<String>,
    /// Whose delays it has: a name of the table's.
    #[serde(rename = "disk")]
    pub profile: String,
    /// At most so much is recorded.
    #[serde(rename = "log")]
    pub log_bytes_max: u64,
    /// Connections that commit, or writers of files.
    pub connections: u32,
    /// Whether a kernel's write-back is brought about beside commits; none: it is.
    pub write_back: Option<bool>,
    /// What a disk may do: names of faults, with how often; none: it is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Vec<String>>,
    /// For faults, a scenario.
    #[serde(rename = "fault_budget", default = "seconds::<BUDGET>", skip_serializing_if = "is_default::<BUDGET>")]
    pub fault_budget_seconds: f64,
    /// Kinds of block that are struck alone; none: all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_blocks: Option<Vec<String>>,
    /// How late each answer of a slow disk is.
    #[serde(rename = "fault_delay", default = "seconds::<DELAY>", skip_serializing_if = "is_default::<DELAY>")]
    pub fault_delay_seconds: f64,
    /// How late the answer of a stall is.
    #[serde(rename = "fault_stall", default = "seconds::<STALL>", skip_serializing_if = "is_default::<STALL>")]
    pub fault_stall_seconds: f64,
    /// Letters of the classes that a recommendation may have; none: what the promises say, without E and F.
    pub classes: Option<Vec<String>>,
}

/// What is at work when power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Transactions on a database.
    Commits,
    /// Files that are replaced.
    Files,
}

/// What a disk writes whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AtomicUnit {
    /// A sector.
    #[serde(rename = "512")]
    Sector,
    /// A page.
    #[serde(rename = "4096")]
    Page,
}

impl AtomicUnit {
    /// Its size.
    pub fn bytes(self) -> u32 {
        match self {
            AtomicUnit::Sector => 512,
            AtomicUnit::Page => 4096,
        }
    }
}

/// The table's defaults in milliseconds, which results of before do not say.
const BUDGET: u64 = 60_000;
const DELAY: u64 = 20;
const STALL: u64 = 1_000;

fn seconds<const MILLISECONDS: u64>() -> f64 {
    MILLISECONDS as f64 / 1e3
}

/// Whether nothing need be said of it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it out so")]
fn is_default<const MILLISECONDS: u64>(found: &f64) -> bool {
    *found == seconds::<MILLISECONDS>()
}

/// Of which a disk that is recorded has a whole number.
const PAGE_BYTES: u64 = 4096;

/// What a disk that is asked to fail does where a study does not say.
const ERRORS: [&str; 4] = ["write-error", "flush-error", "read-error", "full"];

impl Default for Safety {
    fn default() -> Safety {
        Safety::from_map(&defaults(SAFETY))
    }
}

impl Safety {
    /// From the checked table.
    pub(crate) fn from_map(map: &Map<String, Value>) -> Safety {
        settings::typed(map)
    }

    /// What is asked of power cuts alone.
    pub fn of_power_cuts(&self) -> Safety {
        Safety {
            faults: None,
            fault_budget_seconds: seconds::<BUDGET>(),
            fault_blocks: None,
            fault_delay_seconds: seconds::<DELAY>(),
            fault_stall_seconds: seconds::<STALL>(),
            ..self.clone()
        }
    }

    /// What a disk may do: what the study names, else errors.
    pub fn failures(&self) -> Vec<String> {
        self.faults.clone().unwrap_or_else(|| ERRORS.map(String::from).to_vec())
    }
}

/// What is wrong with settings of a table that are each of the right kind: whose, message and what is allowed.
pub(crate) fn problems(map: &Map<String, Value>) -> impl Iterator<Item = (&'static str, String, String)> {
    let of_classes = classes_problem(map).map(|(message, label)| ("classes", message, label));
    let has_no_effect = !map["files"].is_null() && map["load"] != "files";
    let of_files = has_no_effect.then(|| {
        let message = format!("`safety.files` has no effect with load = {}", map["load"]);
        ("files", message, "only files are replaced: load = \"files\"".to_string())
    });
    let is_vain = !map["write_back"].is_null() && map["load"] == "files";
    let of_write_back = is_vain.then(|| {
        let message = "`safety.write_back` has no effect with load = \"files\"".to_string();
        ("write_back", message, "their neighbour starts write-back always".to_string())
    });
    let of_size = map["size"].as_u64().filter(|size| !size.is_multiple_of(PAGE_BYTES)).map(|size| {
        let message = format!("`safety.size` is {size} bytes, and a disk has whole pages of {PAGE_BYTES}");
        ("size", message, format!("the next size that has is \"{}B\"", size.next_multiple_of(PAGE_BYTES)))
    });
    let of_faults = faults_problem(map).map(|(message, label)| ("faults", message, label));
    of_size.into_iter().chain(of_files).chain(of_write_back).chain(of_faults).chain(of_classes)
}

fn faults_problem(map: &Map<String, Value>) -> Option<(String, String)> {
    let faults = map["faults"].as_array()?;
    let allowed = || format!("expected some of {}, each with `:3` or `:always` if need be", FAULTS.join(", "));
    if faults.is_empty() {
        return Some(("`safety.faults` names no fault".into(), allowed()));
    }
    let is_known = |fault: &&Value| {
        let Some(fault) = fault.as_str() else { return false };
        let (name, times) = fault.split_once(':').unwrap_or((fault, "1"));
        FAULTS.contains(&name) && (times == "always" || times.parse::<u32>().is_ok_and(|times| times > 0))
    };
    let unknown = faults.iter().find(|fault| !is_known(fault))?;
    Some((format!("`safety.faults` can't have {unknown}"), allowed()))
}

fn classes_problem(map: &Map<String, Value>) -> Option<(String, String)> {
    let classes = map["classes"].as_array()?;
    let allowed = CLASSES.join(", ");
    if classes.is_empty() {
        return Some(("`safety.classes` names no class".into(), format!("at least one of {allowed}")));
    }
    let is_unknown = |class: &&Value| !class.as_str().is_some_and(|class| CLASSES.contains(&class));
    let unknown = classes.iter().find(is_unknown)?;
    Some((format!("`safety.classes` can't have {unknown}"), format!("expected some of {allowed}")))
}
