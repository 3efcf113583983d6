//! Where a study comes from (a file, or the binary itself), and what the command line changes in it.

use crate::catalogue::BuiltIn;
use crate::cli::StudyArgs;
use crate::failure::{Failure, Status};
use crate::live;
use anyhow::anyhow;
use crash::plan::Plan;
use lab::groups::Room;
use lab::noise::Measured;
use ledger::model::Asked;
use stats::MachineNoise;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use study::{Override, Parity, Problem};

/// Studies with these names: each with the text of its file.
macro_rules! named {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../../../studies/", $name, ".toml")))),*] };
}

/// Built-in studies: name and text.
pub const STUDIES: &[(&str, &str)] = named! {
    "quick" "ext-journal-modes" "gtm-filesystems" "postgres-settings" "postgres-filesystems" "faults-postgres"
    "mariadb-settings" "mariadb-filesystems" "mysql-oltp" "phoronix-filesystems" "orders" "key-value" "etcd-disk"
    "http-ops" "serverwide" "plain-files" "sqlite-page" "system" "tree" "mail-server" "every-filesystem" "plain-fio"
    "self-test"
};

/// A study ready to be acted on.
pub struct Loaded {
    /// Its text.
    pub text: String,
    /// `path=value` changes.
    pub overrides: Vec<String>,
    /// Words of `--only`.
    pub only: Vec<String>,
    /// What it comes to.
    pub plan: Plan,
    /// The results file.
    pub results: PathBuf,
    /// The work folder.
    pub work: PathBuf,
    /// The machine's noise as it was measured last, for a study by turns.
    pub noise: Option<MachineNoise>,
}

/// Reads, changes, checks and plans a study.
///
/// # Errors
/// Every problem of the file at once.
pub fn load(args: &StudyArgs) -> Result<Loaded, Failure> {
    load_with(args, &room, RunsAs::ThisUser)
}

/// Whose trials they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RunsAs {
    /// This process' user's.
    ThisUser,
    /// Root's, whoever asks.
    Root,
}

/// The same for a fleet's nodes, whose memory is not limited as that of who plans it.
///
/// # Errors
/// Every problem of the file at once.
pub fn load_for_nodes(args: &StudyArgs, runs_as: RunsAs) -> Result<Loaded, Failure> {
    // Root has namespaces on the nodes, whatever this machine grants to who asks.
    let of_root = |room: Room| Room { has_namespaces: room.has_namespaces || runs_as == RunsAs::Root, ..room };
    load_with(args, &|work| of_root(Room::of_a_node(image_room(work))), runs_as)
}

fn load_with(args: &StudyArgs, room: &dyn Fn(&Path) -> Room, runs_as: RunsAs) -> Result<Loaded, Failure> {
    let mut args = args.clone();
    // Once: of a pipe what is read is gone.
    let read = text(&args.study)?;
    let loaded = load_as_said(&args, &read, room)?;
    let is_root = runs_as == RunsAs::Root || nix::unistd::geteuid().is_root();
    if loaded.plan.bench_is_said {
        return Ok(loaded);
    }
    if is_root || !needs_root(&loaded.plan) {
        // Levels of a guest kernel are all the same on the host, which is refused where that is said.
        if loaded.plan.named.iter().any(|path| path.starts_with("guest.")) {
            args.set.push("bench=host".into());
            load_as_said(&args, &read, room)?;
        }
        return Ok(loaded);
    }
    live::tell("not root: trials run in a guest kernel, as with --set bench=guest");
    args.set.push("bench=guest".into());
    load_as_said(&args, &read, room)
}

impl Loaded {
    /// Says what turns a new study has, by what was measured of the machine.
    pub fn choose_turns(&mut self, measured: Option<&Measured>) {
        self.noise = measured.and_then(Measured::noise);
        self.plan.drawn.turns = self.noise.and_then(|noise| lab::forecast::chosen_turns(&self.plan, &noise));
    }

    /// What decides what is measured, for the results file. A file with a built-in study's text is that study.
    pub fn asked(&self, verb: &str, left_out: Vec<(String, String)>) -> Asked {
        let built_in = STUDIES.iter().find(|(_, text)| *text == self.text).map(|(name, _)| (*name).to_string());
        let (overrides, only) = (self.overrides.clone(), self.only.clone());
        Asked { verb: verb.into(), built_in, overrides, only, left_out }
    }
}

/// Formatting and mounting need root, a directory does not.
fn needs_root(plan: &Plan) -> bool {
    let is_directory = |scenario: &crash::plan::PlannedScenario| scenario.storage.device == storage::Device::Dir;
    !plan.scenarios.iter().all(is_directory)
}

/// Of where a study came from and its text, as it was read.
fn load_as_said(
    args: &StudyArgs,
    (origin, text): &(String, String),
    room: &dyn Fn(&Path) -> Room,
) -> Result<Loaded, Failure> {
    let overrides = overrides(args)?;
    let parse = |change: &String| {
        let (path, value) = change.split_once('=').expect("checked when it was made");
        Override { path: path.trim().into(), value: value.trim().into() }
    };
    let parsed: Vec<Override> = overrides.iter().map(parse).collect();
    let failed = |problems| Failure::Study { origin: origin.clone(), text: text.clone(), problems };
    let (study, problems) = study::read(text, &parsed, &BuiltIn);
    let Some(study) = study.filter(|_| problems.is_empty()) else { return Err(failed(problems)) };
    let mut plan = crash::plan::plan(&study).map_err(|problem| failed(vec![problem]))?;
    if !args.only.is_empty() {
        plan.only(&args.only);
        if plan.scenarios.is_empty() {
            let hint = format!("`surefoot plan {}` lists the scenarios", args.study);
            let error = anyhow!("no scenario matches {}", args.only.join(", "));
            return Err(Failure::new(Status::BadStudy, error).hint(hint));
        }
    }
    require_screen(&plan)?;
    require_parity(&plan).map_err(|problem| failed(vec![problem]))?;
    let results = args.results.clone().unwrap_or_else(|| results_of(&plan.name));
    let work = args.work.clone().unwrap_or_else(|| Path::new("surefoot-work").join(&plan.name));
    choose_order(&mut plan, room(&work))?;
    let noise = lab::noise::kept(&work).filter(|_| plan.drawn.order == study::Order::Turns);
    let mut loaded =
        Loaded { text: text.clone(), overrides, only: args.only.clone(), plan, results, work, noise: None };
    loaded.choose_turns(noise.as_ref());
    Ok(loaded)
}

/// Where the results of a study of this name are, unless another place is said.
pub fn results_of(name: &str) -> PathBuf {
    format!("{name}.surefoot").into()
}

/// What to do where this machine can run nothing of a study.
pub fn way_out(plan: &Plan) -> &'static str {
    if nix::unistd::geteuid().is_root() || !needs_root(plan) {
        "install what is missing, then run the same command"
    } else {
        "run it as root, or install what is missing"
    }
}

/// Leaves out scenarios that this machine can't run, each with what it lacks.
pub fn leave_out(loaded: &mut Loaded, missing: &[(String, String)]) -> Result<(), Failure> {
    if missing.is_empty() {
        return Ok(());
    }
    let way_out = way_out(&loaded.plan);
    loaded.plan.leave_out(&missing.iter().map(|(label, _)| label.clone()).collect::<Vec<_>>());
    if loaded.plan.scenarios.is_empty() {
        let error = anyhow!("no scenario is left\n  {}", lab::requirements::by_cause(missing).join("\n  "));
        return Err(Failure::new(Status::Missing, error).hint(way_out));
    }
    require_screen(&loaded.plan)
}

/// A screen by name needs all the scenarios that its design is made of.
fn require_screen(plan: &Plan) -> Result<(), Failure> {
    let Some(problem) = plan.screen_problem() else { return Ok(()) };
    Err(Failure::new(Status::BadStudy, anyhow!(problem)).hint("--set design.screen=off measures what is left in full"))
}

/// Bytes that image files may have in a work folder: what is free, and those that are there.
fn image_room(work: &Path) -> u64 {
    free_room(work).saturating_add(images_there(work))
}

/// Bytes that are free for a work folder, which need not be there yet.
pub fn free_room(work: &Path) -> u64 {
    let absolute = std::path::absolute(work).unwrap_or_else(|_| work.into());
    absolute.ancestors().find_map(|folder| storage::free_bytes(folder).ok()).unwrap_or(u64::MAX)
}

/// Bytes of the image files in a work folder, those of trials that take turns included.
pub fn images_there(work: &Path) -> u64 {
    ["images", "slots"].iter().map(|part| storage::images_bytes(&work.join(part))).sum()
}

/// What this machine has for scenarios that are up at the same time.
pub fn room(work: &Path) -> Room {
    Room::of_this_machine(image_room(work))
}

/// Says how rounds go; turns that are asked for need scenarios that can be up at the same time.
fn choose_order(plan: &mut Plan, room: Room) -> Result<(), Failure> {
    (plan.drawn.order, plan.drawn.up_max) = lab::turns::chosen(plan, room);
    let is_asked = plan.design.order == Some(study::Order::Turns);
    let Some(reason) = is_asked.then(|| lab::turns::why_not(plan, room)).flatten() else { return Ok(()) };
    Err(Failure::new(Status::BadStudy, anyhow!("the scenarios can't be up at the same time: {reason}"))
        .hint("--set design.order=blocks measures one trial after another"))
}

/// `parity = "require"` refuses scenarios that promise different durability.
fn require_parity(plan: &Plan) -> Result<(), Problem> {
    let classes: Vec<_> =
        plan.scenarios.iter().map(|scenario| (lab::durability::of(scenario), &scenario.label)).collect();
    let Some((first, label)) = classes.first() else { return Ok(()) };
    let Some((other, different)) = classes.iter().find(|(durability, _)| durability.class != first.class) else {
        return Ok(());
    };
    if plan.parity == Parity::Mark {
        return Ok(());
    }
    let worse = if other.class > first.class { other } else { first };
    let (one, another) = (first.class.words(), other.class.words());
    Err(Problem {
        message: format!("the scenarios promise different durability: `{label}` {one}, `{different}` {another}"),
        span: None,
        label: worse.reasons.join("; "),
        hint: Some("make them alike, or say parity = \"mark\" to have it marked wherever their speed is shown".into()),
    })
}

/// A study's text and where it came from.
///
/// # Errors
/// When there is no such file and no such built-in study.
pub fn text(study: &str) -> Result<(String, String), Failure> {
    let path = Path::new(study);
    if let Some((name, text)) = STUDIES.iter().find(|(name, _)| *name == study)
        && !path.is_file()
    {
        return Ok((format!("built-in study {name}"), (*text).to_string()));
    }
    let bad = |error: anyhow::Error| Failure::new(Status::BadStudy, error);
    let file = std::fs::File::open(path).map_err(|error| {
        let names = STUDIES.iter().map(|(name, _)| *name);
        // `init`, `report` and `status` take its name alone.
        let file = format!("{study}.toml");
        let hint = match settings::nearest_name(study, names.clone()) {
            _ if Path::new(&file).is_file() => format!("did you mean the file `{file}`?"),
            Some(name) => format!("did you mean the built-in study `{name}`?"),
            None => format!("built-in studies: {}", names.collect::<Vec<_>>().join(", ")),
        };
        bad(anyhow!(error).context(format!("cannot read the study `{study}`"))).hint(hint)
    })?;
    if ledger::has_our_mark(path) {
        let hint = format!("`surefoot report {study}` shows them; `surefoot init FILE --from STUDY` begins a study");
        return Err(bad(anyhow!("`{study}` holds results, and is no study")).hint(hint));
    }
    // A device has no length, and no end.
    let mut bytes = Vec::new();
    let read = file.take(study::FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| bad(anyhow!(error).context(format!("cannot read `{study}`"))))?;
    if bytes.len() as u64 > study::FILE_BYTES_MAX {
        let limit = settings::quantity::format_bytes(study::FILE_BYTES_MAX);
        return Err(bad(anyhow!("`{study}` is too long: a study file has at most {limit}"))
            .hint("name a study file, or a built-in study (`surefoot list studies`)"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        bad(anyhow!("`{study}` is not UTF-8 text: byte {offset} begins no character"))
            .hint("a study file is TOML, saved as UTF-8")
    })?;
    Ok((study.to_string(), text))
}

/// `--set`, `--rounds`, `--tune`, `--exhaustive`, `--time` and `--seed` are all changes of settings.
fn overrides(args: &StudyArgs) -> Result<Vec<String>, Failure> {
    let mut all = args.set.clone();
    if let Some(text) = &args.rounds {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        all.push(format!("design.rounds_min={low}"));
        all.push(format!("design.rounds_max={high}"));
    }
    all.extend(args.tune.then(|| "design.mode=tune".into()));
    all.extend(args.exhaustive.then(|| "design.mode=full".into()));
    all.extend(args.exhaustive.then(|| "design.screen=off".into()));
    all.extend(args.time.iter().map(|time| format!("design.time_budget={time}")));
    all.extend(args.seed.iter().map(|seed| format!("design.seed={seed}")));
    match all.iter().find(|change| !change.contains('=')) {
        Some(change) => Err(Failure::new(Status::BadStudy, anyhow!("`--set {change}` has no `=`"))
            .hint("write it as PATH=VALUE, like `--set storage.filesystem=xfs`")),
        None => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    /// What is asked of a study with these changes, which works nowhere.
    fn args(study: &str, changes: &[&str]) -> StudyArgs {
        StudyArgs {
            study: study.into(),
            set: changes.iter().map(ToString::to_string).collect(),
            only: Vec::new(),
            rounds: None,
            tune: false,
            exhaustive: false,
            time: None,
            seed: None,
            work: Some("/nowhere".into()),
            results: None,
        }
    }

    /// `gen | surefoot run /dev/stdin`: looked at twice, it had no workload.
    #[test]
    fn a_study_from_a_pipe_is_read_once() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let text =
            "name = \"s\"\n[guest]\nmemory = \"512MiB\"\n[storage]\ndevice = \"dir\"\npath = \"/\"\n[workload.null]\n";
        writer.write_all(text.as_bytes()).expect("a few bytes");
        drop(writer);
        let loaded = load(&args(&format!("/dev/fd/{}", reader.as_raw_fd()), &[]));
        assert_eq!(loaded.map(|loaded| loaded.text).map_err(|failure| failure.render(false)), Ok(text.into()));
    }

    /// A login node's users have a few GiB each, and the nodes that measure have all of theirs.
    #[test]
    fn scenarios_share_the_room_of_the_machine_that_is_asked() {
        let args = args("quick", &["bench=host", "storage.device=loop", "design.order=turns"]);
        let read = text(&args.study).expect("it is built in");
        let order = |memory_bytes: u64| {
            let room = |_: &Path| Room { image_bytes: 1 << 50, memory_bytes, has_namespaces: true };
            load_as_said(&args, &read, &room)
                .map(|loaded| loaded.plan.drawn.order)
                .map_err(|failure| failure.render(false))
        };
        assert!(order(1).is_err_and(|said| said.contains("of memory")));
        assert_eq!(order(1 << 50), Ok(study::Order::Turns));
        let (whole, here) = (Room::of_a_node(7), Room::of_this_machine(7));
        assert!(whole.memory_bytes >= here.memory_bytes && whole.image_bytes == here.image_bytes);
    }
}
