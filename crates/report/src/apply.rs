//! A scenario as an administrator puts it in place: what speaks against it, mkfs, a line of fstab, the servers' settings with the way to
//! them, what to check, and what was not measured. Words only: nothing is executed, and devices are placeholders.
//!
//! From what a results file recorded. What a server's file looks like, and what reads a filesystem back, is told by whoever knows them
//! (`knowledge.rs`).

mod warnings;

use crate::document::{Block, printable};
use crate::input::{Error, Input};
use crate::number::{span, words};
use crate::warnings::filled_bytes;
use ledger::model::{Contents, RunRow, Scenario, Trial, TrialState};
use serde_json::Value;
use settings::configuration::{Configuration, Setup};
use settings::quantity::format_bytes;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Stands for the device that the filesystem is made on.
const DEVICE: &str = "/dev/DEVICE";
/// Stands for where it is mounted.
const MOUNT_POINT: &str = "/MOUNTPOINT";

/// Stands for a server's version that no trial told.
const VERSION: &str = "VERSION";

/// The volume that a server's log has to itself.
const LOG_VOLUME: &str = "wal";

/// A scenario, ready to be put in place.
#[derive(Debug, Default, PartialEq)]
struct Installation {
    /// What speaks against it, a sentence each.
    warnings: Vec<String>,
    /// Commands that make the filesystems, in order.
    make: Vec<String>,
    /// Lines of /etc/fstab.
    fstab: Vec<String>,
    /// Each file with its server.
    files: Vec<(String, Configuration)>,
    /// Settings of the load itself that were a choice: an embedded database has no file with them.
    of_load: Vec<String>,
    /// Servers whose settings this version can't write, each with the reason.
    unknown: Vec<String>,
    /// Commands that check it all.
    checks: Vec<String>,
    /// What was not measured, a sentence each.
    unmeasured: Vec<String>,
}

/// As text, in which all but what is to be put in place is a comment.
///
/// # Errors
/// When there is no such scenario, or none of its trials came as far as its storage.
pub fn apply(input: &Input, scenario: &str) -> Result<String, Error> {
    let contents = &input.contents;
    let found = input.scenario(scenario)?;
    let made = installation(input, found).ok_or_else(|| Error::NoCommands(scenario.into()))?;
    let mut text = String::new();
    for warning in &made.warnings {
        let _ = writeln!(text, "# WARNING: {}.", printable(warning));
    }
    let study = printable(&contents.study.name);
    let _ = writeln!(text, "# {} of study {study}: how to put it in place", printable(scenario));
    let _ = writeln!(text, "# Nothing was executed. {}", made.placeholders());
    for (title, lines) in made.sections() {
        let _ = write!(text, "\n# {title}\n{lines}");
    }
    Ok(text)
}

/// The same on a page, of what is picked; empty where nothing is, or where no trial came so far.
pub(crate) fn on_page(input: &Input, scenario: &str) -> Vec<Block> {
    let found = input.scenario(scenario).ok();
    let Some(made) = found.and_then(|scenario| installation(input, scenario)) else { return Vec::new() };
    let heading = Block::Heading(2, format!("To put {scenario} in place"));
    let warnings = made.warnings.iter().map(|warning| Block::Warning(format!("Warning: {warning}."), Vec::new()));
    let sections = made.sections().into_iter().flat_map(|(title, lines)| [Block::Label(title), Block::Code(lines)]);
    let blocks = std::iter::once(heading).chain(warnings).chain([Block::Note(made.placeholders())]);
    blocks.chain(sections).collect()
}

impl Installation {
    /// What stands for what in the lines.
    fn placeholders(&self) -> String {
        let servers =
            format!(" Servers had their data in {MOUNT_POINT}/data; stop one before its data are moved there.");
        let servers = if self.files.is_empty() || self.fstab.is_empty() { "" } else { &servers };
        let has_version = self.files.iter().any(|(_, file)| file.path.contains(VERSION));
        let version = if has_version { format!(" {VERSION} is that of what is installed.") } else { String::new() };
        format!(
            "{DEVICE} and {MOUNT_POINT} are placeholders, the device's for a name that stays (/dev/disk/by-id); mkfs destroys what a device \
             holds.{servers}{version}"
        )
    }

    /// What is asked of each device before anything is made on it.
    fn are_empty(&self) -> Vec<String> {
        let words = self.make.iter().flat_map(|command| command.split([' ', '=']));
        let devices: BTreeSet<&str> = words.filter(|word| word.starts_with("/dev/")).collect();
        devices.into_iter().map(|device| format!("wipefs --no-act {device}  # must say nothing: it is empty")).collect()
    }

    /// Commands that mount what fstab has. Before that, what is moved there would lie on the disk below.
    fn mounts(&self) -> Vec<String> {
        let points = self.fstab.iter().filter_map(|line| line.split_whitespace().nth(1));
        points.map(|point| format!("mkdir -p {point} && mount {point}")).collect()
    }

    /// Titles and lines, in the order in which they are done.
    fn sections(&self) -> Vec<(String, String)> {
        let lines = |lines: &[String]| lines.iter().fold(String::new(), |text, line| text + &printable(line) + "\n");
        let commented = |text: &[String]| text.iter().map(|line| format!("# - {line}")).collect::<Vec<_>>();
        let mut sections = vec![
            ("Make the filesystem".to_string(), lines(&[self.are_empty(), self.make.clone()].concat())),
            ("/etc/fstab".to_string(), lines(&self.fstab)),
            ("Mount it".to_string(), lines(&self.mounts())),
        ];
        for (server, file) in &self.files {
            let text: Vec<String> = file.text.lines().map(String::from).collect();
            sections.push((format!("First, for {server}"), lines(&file.before)));
            sections.push((file.path.clone(), lines(&text)));
            sections.push((format!("Then, for {server}"), lines(&file.after)));
        }
        sections.push(("Of the load itself this was chosen".into(), lines(&commented(&self.of_load))));
        sections.push((
            "Of these servers the settings stand in the results file only".into(),
            lines(&commented(&self.unknown)),
        ));
        sections.push(("Check afterwards".into(), lines(&self.checks)));
        sections.push(("Not measured".into(), lines(&commented(&self.unmeasured))));
        sections.retain(|(_, lines)| !lines.is_empty());
        sections
    }
}

fn installation(input: &Input, scenario: &Scenario) -> Option<Installation> {
    let contents = &input.contents;
    let trial = trial_of(contents, scenario)?;
    let mut made = Installation { warnings: warnings::warnings(input, scenario), ..storage(&trial.commands) };
    if let Some(filesystem) = trial.facts.get("filesystem").filter(|_| !made.fstab.is_empty()) {
        made.checks.extend((input.knowledge.reads_back)(filesystem, DEVICE, MOUNT_POINT));
    }
    for service in services(scenario, trial) {
        let recorded = scenario.settings["services"].get(&service).and_then(Value::as_object);
        match (input.knowledge.files)(&service, recorded, &setup(scenario, trial, &service)) {
            Ok(files) => {
                for file in files {
                    let new: Vec<String> =
                        file.checks.iter().filter(|check| !made.checks.contains(check)).cloned().collect();
                    made.checks.extend(new);
                    made.files.push((service.clone(), file));
                }
            }
            Err(why) => made.unknown.push(format!("{service}: {why}")),
        }
    }
    made.of_load = of_load(input, scenario);
    made.unmeasured = unmeasured(contents, scenario, trial);
    Some(made)
}

/// Settings of its load that are a choice, and in which another scenario differs, as the study has them: SQLite's `journal_mode`.
fn of_load(input: &Input, scenario: &Scenario) -> Vec<String> {
    let workload = &*scenario.workload;
    let is_alike = |name: &str, value: &Value| {
        let all = input.contents.scenarios.iter().filter(|other| other.workload == workload);
        all.map(|other| &other.settings["workload"][name]).all(|other| other == value)
    };
    let shown = |name: &str, value: &Value| {
        // A level's label has it in the unit in which it was asked for.
        let label = scenario.levels.get(&format!("workload.{workload}.{name}"));
        match (label, value) {
            (Some(label), _) => label.strip_prefix(&format!("{name}=")).unwrap_or(label).to_string(),
            (None, Value::String(text)) => text.clone(),
            (None, value) => value.to_string(),
        }
    };
    let own = scenario.settings["workload"].as_object().into_iter().flatten();
    let chosen = own.filter(|(name, value)| (input.knowledge.is_choice)(workload, name) && !is_alike(name, value));
    chosen.map(|(name, value)| format!("{name} = {}", shown(name, value))).collect()
}

/// The last trial of it that recorded commands, of those that finished if any did: others may lack what a server said.
fn trial_of<'a>(contents: &'a Contents, scenario: &Scenario) -> Option<&'a Trial> {
    let is_of_it = |trial: &&Trial| trial.scenario == scenario.label && !trial.commands.is_empty();
    let mut trials = contents.trials.iter().rev().filter(is_of_it);
    let last = trials.next()?;
    let mut all = std::iter::once(last).chain(trials);
    Some(all.find(|trial| trial.state == TrialState::Finished).unwrap_or(last))
}

/// How a server was set up. One of several has folders of its own, made by a command that is recorded.
fn setup(scenario: &Scenario, trial: &Trial, service: &str) -> Setup {
    let is_one_of_several = trial.commands.contains(&format!("mkdir -p $MOUNT/data/{service}"));
    let under = if is_one_of_several { format!("/{service}") } else { String::new() };
    let has_log_volume = scenario.settings["volumes"].get(LOG_VOLUME).is_some();
    Setup {
        version: trial.facts.get(&format!("{service}.version")).cloned().unwrap_or_default(),
        data: format!("{MOUNT_POINT}/data{under}"),
        log: has_log_volume.then(|| format!("{MOUNT_POINT}-{LOG_VOLUME}{under}")),
    }
}

/// Servers that have settings of their own, or said their version. A study's settings are recorded with each scenario: of a trial that finished
/// only servers that told something were in it.
fn services(scenario: &Scenario, trial: &Trial) -> BTreeSet<String> {
    let is_of = |name: &str, fact: &str| fact.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let was_up = |name: &str| trial.state != TrialState::Finished || trial.facts.keys().any(|fact| is_of(name, fact));
    let asked = scenario.settings["services"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
    let asked = asked.filter(|name| was_up(name));
    let said = trial.facts.keys().filter_map(|fact| fact.strip_suffix(".version")).map(String::from);
    asked.chain(said).collect()
}

/// From the recorded commands: what makes a device and mounts it. What sets up an image file is the study's own and is left out.
fn storage(commands: &[String]) -> Installation {
    let mut made = Installation::default();
    let last = commands.iter().rposition(|command| command.starts_with("mount ")).map_or(0, |last| last + 1);
    for command in &commands[..last] {
        let placed = placed(command);
        let first = command.split(' ').next().unwrap_or_default();
        let is_plumbing = ["head", "dmsetup", "losetup", "test", "#", "cd"].contains(&first) || first.contains('=');
        match fstab_line(&placed) {
            Some(line) => {
                let point = line.split_whitespace().nth(1).unwrap_or_default().to_string();
                let options = line.split_whitespace().nth(3).unwrap_or_default();
                // It shows no defaults, as `strictatime` and `data=ordered` are.
                made.checks.push(format!(
                    "findmnt -no SOURCE,FSTYPE,OPTIONS {point}  # must show {options}, but for the kernel's defaults"
                ));
                made.fstab.push(line);
            }
            None if !is_plumbing => made.make.push(placed),
            None => {}
        }
    }
    made
}

/// With placeholders for the variables: `$DEVICE` and `$LOG`, and those of further volumes, as `$WAL_DEVICE`, mounted at `$WAL`.
fn placed(command: &str) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('$') {
        let end =
            after.find(|c: char| !(c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())).unwrap_or(after.len());
        let name = &after[..end];
        text.push_str(before);
        text.push_str(&match name {
            // A value of the study's, such as a label in quotes.
            name if !name.starts_with(|c: char| c.is_ascii_uppercase()) => format!("${name}"),
            "MOUNT" => MOUNT_POINT.into(),
            name if name.contains("DEVICE") || name.ends_with("LOG") => format!("/dev/{name}"),
            name => format!("{MOUNT_POINT}-{}", name.to_lowercase()),
        });
        rest = &after[end..];
    }
    text + rest
}

/// "mount -t TYPE -o OPTIONS SOURCE POINT" as fstab has it; none of any other command. What lies on a device is checked at boot (its last field, 2):
/// without a journal, or with one that mount does not replay, it is else mounted as a power cut left it, or not at all.
fn fstab_line(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split(' ').collect();
    let ["mount", "-t", kind, "-o", options, source, point] = words.as_slice() else { return None };
    // fstab has no quotes; a space in an option is written as its number (fstab(5)).
    let options = options.trim_matches('\'');
    let pass = if source.starts_with("/dev/") { 2 } else { 0 };
    Some(format!("{source}  {point}  {kind}  {options}  0  {pass}"))
}

/// What the measurement says nothing about.
fn unmeasured(contents: &Contents, scenario: &Scenario, trial: &Trial) -> Vec<String> {
    let mut all = Vec::new();
    let storage = &scenario.settings["storage"];
    if let Some(device) = trial.facts.get("device") {
        let on = trial.facts.get("device_image_on").map_or("", |on| on.split(" (").next().unwrap_or_default());
        let on = if on.is_empty() { String::new() } else { format!(", on {on}") };
        all.push(format!("your device: it was measured on a {device}{on}"));
    }
    let (fill, age) = (storage["fill"].as_f64().unwrap_or(0.0), storage["age"].as_u64().unwrap_or(0));
    all.push(match (fill > 0.0, age > 0) {
        (false, false) => "a filesystem that is old or full: each trial had a fresh one".into(),
        _ => format!("any other filling than {:.0} %, aged by {} of files", fill * 100.0, format_bytes(age)),
    });
    let runs = contents.runs.iter().filter(|run| !run.warm_up && run.trial == trial.id);
    let longest = runs.clone().map(|run: &RunRow| run.seconds).fold(0.0, f64::max);
    let used = runs.filter_map(|run| run.metrics.get("space_used_bytes").copied()).fold(0.0, f64::max);
    let used = (used - filled_bytes(scenario)).max(0.0);
    if longest > 0.0 {
        let data = format!(", and other data than {} of it", format_bytes(used as u64));
        let data = if used > 0.0 { data.as_str() } else { "" };
        all.push(format!("a load of longer than {} at a time{data}", span(longest)));
    }
    let mut machines = contents.sessions.iter().rev().map(|session| &session.machine);
    let memory = machines.find_map(observe::machine::memory_bytes_of);
    let memory = memory.map_or_else(String::new, |bytes| format!(": this one had {} of memory", format_bytes(bytes)));
    all.push(format!("any other load than {}, and any other machine{memory}", words(&scenario.workload)));
    if contents.safety_of(scenario).is_none_or(|measured| measured.safety.is_none()) {
        all.push("what a power cut takes: only the settings were read".into());
    }
    if trial.commands.iter().any(|command| command.contains("dmsetup")) {
        all.push("a device without the layers (stripe, delays) that the study put below the filesystem".into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_lines_of_fstab() {
        let made = storage(&[
            "MOUNT=/mnt".into(),
            "head -c 9 /dev/urandom > device-9.img && sync device-9.img".into(),
            "DEVICE=$(losetup --find --show --direct-io=on device-9.img)".into(),
            "mkfs.xfs -q -f -K -l logdev=$LOG $DEVICE".into(),
            "mount -t xfs -o nosuid,nodev,noatime,logdev=$LOG $DEVICE $MOUNT".into(),
            "mkfs.ext4 -q $WAL_DEVICE".into(),
            "mount -t ext4 -o nosuid,nodev $WAL_DEVICE $WAL".into(),
            "mkdir -p $MOUNT/data".into(),
        ]);
        assert_eq!(made.make, ["mkfs.xfs -q -f -K -l logdev=/dev/LOG /dev/DEVICE", "mkfs.ext4 -q /dev/WAL_DEVICE"]);
        assert_eq!(
            made.fstab,
            [
                "/dev/DEVICE  /MOUNTPOINT  xfs  nosuid,nodev,noatime,logdev=/dev/LOG  0  2",
                "/dev/WAL_DEVICE  /MOUNTPOINT-wal  ext4  nosuid,nodev  0  2"
            ]
        );
        let mounts = ["mkdir -p /MOUNTPOINT && mount /MOUNTPOINT", "mkdir -p /MOUNTPOINT-wal && mount /MOUNTPOINT-wal"];
        assert_eq!(made.mounts(), mounts);
        assert_eq!(
            made.checks[1],
            "findmnt -no SOURCE,FSTYPE,OPTIONS /MOUNTPOINT-wal  # must show nosuid,nodev, but for the kernel's defaults"
        );
    }

    /// By a 0 there, ext2 was mounted after a power cut as that had left it, where it was measured with its check first, and JFS was not.
    #[test]
    fn what_lies_on_a_device_is_checked_at_boot() {
        let pass = |command: &str| fstab_line(command).and_then(|line| line.chars().next_back());
        for kind in ["ext2", "jfs", "xfs"] {
            assert_eq!(pass(&format!("mount -t {kind} -o nosuid,nodev /dev/DEVICE /MOUNTPOINT")), Some('2'), "{kind}");
        }
        assert_eq!(pass("mount -t tmpfs -o nosuid,nodev,size=9 tmpfs /MOUNTPOINT"), Some('0'));
        assert_eq!(pass("mkfs.ext4 -q -F /dev/DEVICE"), None);
    }

    /// Of a block device it is asked whether it is empty before mkfs, as it is here anyway.
    #[test]
    fn what_makes_a_device_has_no_line_of_the_study_alone() {
        let made = storage(&[
            "DEVICE=/dev/sdx".into(),
            "test -z \"$(wipefs --no-act $DEVICE)\" || exit 1  # it holds something".into(),
            "mkfs.xfs -q -f $DEVICE".into(),
            "mount -t xfs -o nosuid,nodev $DEVICE $MOUNT".into(),
        ]);
        assert_eq!(made.make, ["mkfs.xfs -q -f /dev/DEVICE"]);
    }

    /// A label had a mount point in it.
    #[test]
    fn a_value_of_the_study_is_no_variable() {
        for label in ["'$(date)'", "'pa$s'", "'$1'", "'a$ b'"] {
            assert_eq!(placed(&format!("mkfs.xfs -L {label} $DEVICE")), format!("mkfs.xfs -L {label} /dev/DEVICE"));
        }
    }
}
