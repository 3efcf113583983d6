//! `surefoot run` and `surefoot resume`: conduct a study and say the answer. A fleet's member: `run/member.rs`.

mod client;
mod clock;
mod member;

use crate::cli::RunArgs;
use crate::failure::{Failure, Status};
use crate::source::{self, Loaded};
use crate::{interrupt, knowledge, live};
use anyhow::anyhow;
use crash::plan::Plan;
use lab::bench::guest::Guest;
use lab::bench::host::{Clock, Host};
use lab::bench::{self, Bench as _, OfThisMachine};
use lab::conductor::{self, Stop, Summary, What};
use lab::estimate::{certainly_overlong, expected_seconds, space_needed, space_there};
use lab::inputs::Inputs;
use lab::requirements::{by_cause, missing, refused};
use lab::resume::{self, Opened, Session};
use ledger::reasons::{INTERRUPTED, NO_IMAGES};
pub(super) use member::{joined, no_member, unpublished};
use sandbox::work::{Holder, Work};
use settings::quantity::{format_bytes, format_seconds};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use study::Order;

/// How long a study measures how the machine strays, and which share of its time that may be.
const NOISE_SECONDS: f64 = 30.0;
const NOISE_SHARE: f64 = 0.05;

/// Starts a study, or goes on with it.
pub fn run(args: &RunArgs) -> Result<Status, Failure> {
    conduct(args, source::load(&args.study)?, Measured::Everything)
}

/// Goes on with a study; there must be something to go on with.
pub fn resume(args: &RunArgs) -> Result<Status, Failure> {
    if args.member.is_some() {
        return Err(Failure::new(Status::BadStudy, anyhow!("`resume` takes no --member"))
            .hint("`surefoot run` goes on with a member that this machine began, and starts it where none was"));
    }
    let loaded = source::load(&args.study)?;
    if !loaded.results.is_file() {
        let error = anyhow!("there is nothing to go on with: no results file {}", loaded.results.display());
        let hint = format!("`surefoot run {}` starts the study", args.study.study);
        return Err(Failure::new(Status::BadStudy, error).hint(hint));
    }
    conduct(args, loaded, Measured::Everything)
}

/// What of a study is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measured {
    /// Its rounds, and what a power cut takes where it asks for that.
    Everything,
    /// Only what a disk may do: on disks of its own, so that no image is made and no ceiling asked for.
    Only(What),
}

impl Measured {
    /// What asks for it.
    fn verb(self) -> &'static str {
        match self {
            Measured::Everything => "run",
            Measured::Only(What::PowerCuts) => "powercut",
            Measured::Only(What::Faults) => "faults",
        }
    }
}

/// From a loaded study to its answer.
pub(super) fn conduct(args: &RunArgs, mut loaded: Loaded, measured: Measured) -> Result<Status, Failure> {
    interrupt::catch();
    // As after a lost connection: a trial that is killed leaves its block device to be refused.
    interrupt::catch_hangup();
    let part = args.member.as_ref().map(|word| member::part(word, args, measured, &mut loaded)).transpose()?;
    require_places(args, &loaded)?;
    let left_out = leave_out_missing(&mut loaded, args)?;
    require_time(&loaded.plan, measured)?;
    ask_guard(&loaded)?;
    let holder = Holder::this_process(Some(&loaded.results));
    let work = Work::own(&loaded.work, &holder).map_err(unusable)?;
    let _ = sandbox::memory_limit::remove_leftovers(&work);
    storage::restore_caches();
    let client = client::reach(args, &loaded, measured)?;
    if let Some(client) = client.as_ref().filter(|_| !(args.quiet || args.json)) {
        live::tell(&client.words().to_string());
    }
    let place = part.map(|part| member::Place::of(part, &mut loaded, &work)).transpose()?;
    if measured == Measured::Everything && place.is_none() {
        measure_noise(&mut loaded, &work, args.quiet || args.json)?;
    }
    let program = std::env::current_exe()?;
    let guests = loaded.plan.scenarios.iter().map(|scenario| &scenario.guest);
    let guest = Guest::new(program.clone(), work.clone(), guests)?;
    let of_trials = client.as_ref().map(client::Client::for_trials);
    let host = Host { program, work: work.clone(), client: of_trials, clock: Clock::start() };
    let inputs = Inputs::of(&loaded.plan, args.accept_changes);
    let mut bench = OfThisMachine { host, guest, inputs };
    draw(&mut loaded, place.as_ref())?;
    if measured == Measured::Everything {
        require_standstill(loaded.plan.drawn.order, sandbox::isolation::available())?;
        require_room(&loaded, &work)?;
    }
    let mut session = Session {
        text: &loaded.text,
        asked: loaded.asked(measured.verb(), left_out),
        member: place.as_ref().map(|place| place.member.clone()),
        version: env!("SUREFOOT_VERSION"),
        machine: facts(&bench, client.as_ref(), place.is_some()),
        accept_changes: args.accept_changes,
        retry_failed: args.retry_failed,
        noise: loaded.noise,
        now: bench.now(),
    };
    let mut opened = clock::open(&loaded, &mut session, &bench)?;
    let mut live = live::Live::new(&loaded.plan, args.quiet || args.json);
    let interrupted = &interrupt::INTERRUPTED;
    let summary = if let Measured::Only(what) = measured {
        conductor::conduct_safety(&loaded.plan, what, opened, &mut bench, interrupted, &mut |event| live.show(&event))
            .map_err(|error| broken_off(error, place.is_some()))?
    } else {
        if let Err(failure) = prepare_images(&loaded, &work, &mut live) {
            let reason = if failure.status() == Status::Interrupted { INTERRUPTED } else { NO_IMAGES };
            opened.writer.end_session(reason, bench.now()).map_err(anyhow::Error::from)?;
            return Err(failure);
        }
        probe(&loaded.plan, &mut opened, &mut bench, &mut live)?;
        place.iter().for_each(member::Place::show);
        conductor::conduct(&loaded.plan, opened, &mut bench, interrupted, &mut |event| {
            place.iter().for_each(|place| place.follow(&event));
            live.show(&event);
        })
        .map_err(|error| broken_off(error, place.is_some()))?
    };
    live.finish();
    match &place {
        Some(place) => place.tell(summary),
        None => tell(args, &loaded, summary, &live),
    }
}

/// Orders and data: those that the results file has, which must be this session's own, or new ones.
fn draw(loaded: &mut Loaded, place: Option<&member::Place>) -> Result<(), Failure> {
    resume::require_own(&loaded.results, place.map(|place| &place.member)).map_err(explained)?;
    let seed = if place.is_some() { loaded.plan.drawn.seed } else { new_seed() };
    loaded.plan.drawn = resume::drawn(&loaded.results, &loaded.plan, seed).map_err(explained)?;
    Ok(())
}

/// A new study by turns that takes ten minutes or more first measures how the machine strays, where that is not known. One that asks for no probe
/// is not delayed; where the measurement fails, turns are as the study says.
fn measure_noise(loaded: &mut Loaded, work: &Work, is_quiet: bool) -> Result<(), Failure> {
    let plan = &loaded.plan;
    let is_worth_it = expected_seconds(plan) * NOISE_SHARE >= NOISE_SECONDS && plan.design.probe_seconds != Some(0.0);
    if loaded.results.is_file() || loaded.noise.is_some() || !is_worth_it || !lab::forecast::has_choice(plan) {
        return Ok(());
    }
    if !is_quiet {
        live::tell(&format!("measuring for {} how much this machine strays", format_seconds(NOISE_SECONDS)));
    }
    let measured = lab::noise::measure(work.folder(), NOISE_SECONDS, &interrupt::INTERRUPTED);
    // A study that began without would keep other turns for good.
    if interrupt::INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Failure::new(Status::Interrupted, anyhow!("interrupted before the study began")));
    }
    if let Ok(found) = measured {
        let _ = found.keep(work.folder());
        loaded.choose_turns(Some(&found));
    }
    Ok(())
}

/// Refuses, before anything is measured, places that results or page can't have.
fn require_places(args: &RunArgs, loaded: &Loaded) -> Result<(), Failure> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    let (results, work) = (absolute(&loaded.results), absolute(&loaded.work));
    if results.starts_with(&work) {
        let error = anyhow!("the results {} lie in the work folder, which `surefoot clean` removes", results.display());
        return Err(Failure::new(Status::BadStudy, error).hint("name another place with --results, or with --work"));
    }
    let Some(page) = &args.html else {
        let page = super::report::page_beside(&loaded.results);
        // A member has none.
        return if args.member.is_some() { Ok(()) } else { super::report::keep_no_page(&page) };
    };
    if absolute(page) == results {
        let error = anyhow!("the page would be written over the results {}", page.display());
        return Err(Failure::new(Status::BadStudy, error).hint("name another file with --html FILE"));
    }
    super::report::require_writable(page)
}

/// What the machine is now, with the files that the study reads, surefoot itself, its load agent's machine, and of a fleet's member the run
/// of its kernel.
fn facts(bench: &OfThisMachine, client: Option<&client::Client>, is_member: bool) -> BTreeMap<String, String> {
    let of_surefoot = [("surefoot".to_string(), env!("SUREFOOT_VERSION").to_string())];
    let of_client = client.into_iter().flat_map(|client| client.facts.clone());
    let of_member = is_member.then(lab::host::kernel_run).flatten();
    bench.machine().into_iter().chain(of_surefoot).chain(of_client).chain(of_member).collect()
}

/// Any number that is short enough to be typed.
fn new_seed() -> u64 {
    u64::from(RandomState::new().hash_one(std::process::id()) as u32)
}

/// A work folder that can't be used.
pub(super) fn unusable(error: sandbox::work::Error) -> Failure {
    use sandbox::work::Error;
    let (hint, status) = match &error {
        Error::InUse { .. } => (error.hint(), Status::BadStudy),
        Error::NotPrivate { .. } | Error::NotOurs(_) => (error.hint(), Status::Refused),
        _ => (error.hint(), Status::Fault),
    };
    Failure::new(status, error).hint(hint)
}

/// What the devices and CPUs can give, once for a study: a session that goes on stands on the same machine.
fn probe(plan: &Plan, opened: &mut Opened, bench: &mut OfThisMachine, live: &mut live::Live) -> Result<(), Failure> {
    let Some(seconds) = lab::probe::seconds(plan, expected_seconds(plan)).filter(|_| opened.done.count() == 0) else {
        return Ok(());
    };
    live.say("measuring what the device and the CPUs can give");
    let writer = &mut opened.writer;
    lab::probe::probe(plan, seconds, bench, &interrupt::INTERRUPTED, &mut |probe| writer.probe(probe))?;
    Ok(())
}

/// The answer, the report and the way on.
fn tell(args: &RunArgs, loaded: &Loaded, summary: Summary, live: &live::Live) -> Result<Status, Failure> {
    let input = knowledge::told(report::load(&loaded.results)?);
    let html = args.html.clone().unwrap_or_else(|| super::report::page_beside(&loaded.results));
    let answer = if args.json {
        format!("{:#}\n", report::answer_json(&input))
    } else {
        let (results, page) = (loaded.results.to_string_lossy(), html.to_string_lossy());
        let work = args.study.work.as_ref().map(|work| work.to_string_lossy());
        let (study, work) = (Some(&*args.study.study), work.as_deref());
        let place = report::Place { study, work, results: Some(&results), page: Some(&page) };
        super::report::terminal(&input, &place, args.full)
    };
    // All is measured and kept: that nobody reads on is no failure.
    let _ = std::io::stdout().write_all(answer.as_bytes());
    let written = super::report::write_page(&html, &report::html(&input));
    if summary.stop == Stop::Interrupted {
        if let Err(failure) = written {
            failure.report();
        }
        live::tell("\ninterrupted: what was measured is kept; the same command goes on where it stopped");
        return Ok(Status::Interrupted);
    }
    written?;
    let has_holes = report::has_holes(&input);
    if !args.quiet {
        live::tell(&format!("stopped: {}", summary.stop.words()));
        if !live.has_measured() && summary.stop != Stop::TimeBudget {
            let results = loaded.results.display();
            live::tell(&match has_holes {
                true => {
                    format!("nothing was measured: what {results} lacks had failed; --retry-failed measures that again")
                }
                false => format!("nothing was measured: {results} had all of it; --results FILE begins anew"),
            });
        }
    }
    Ok(if has_holes || summary.stop == Stop::ScreenFailed { Status::Holes } else { Status::Answered })
}

/// Refuses what this machine can't run, or leaves it out when told so and tells what.
fn leave_out_missing(loaded: &mut Loaded, args: &RunArgs) -> Result<Vec<(String, String)>, Failure> {
    let missing = missing(&loaded.plan);
    if missing.is_empty() {
        return Ok(missing);
    }
    if !args.skip_missing {
        let is_missing = |label: &String| missing.iter().any(|(lacking, _)| lacking == label);
        let is_nothing_left = loaded.plan.scenarios.iter().all(|scenario| is_missing(&scenario.label));
        let extent = if is_nothing_left { "any scenario" } else { "all scenarios" };
        let error = anyhow!("this machine can't run {extent}\n  {}", by_cause(&missing).join("\n  "));
        // What one member leaves out makes it another fleet's, which `merge` refuses.
        let skip = match args.member {
            Some(_) => {
                "install it, or leave these scenarios out on every member, as with --only: those of one fleet measure the same"
            }
            None => "--skip-missing leaves these scenarios out",
        };
        let hint = if is_nothing_left { source::way_out(&loaded.plan) } else { skip };
        return Err(Failure::new(Status::Missing, error).hint(hint));
    }
    for line in by_cause(&missing) {
        live::tell(&format!("left out: {line}"));
    }
    if args.member.is_some() {
        live::tell("`surefoot merge` takes this member only with others that left out the same");
    }
    source::leave_out(loaded, &missing)?;
    Ok(missing)
}

/// Refuses trials that are certain to be ended before they are over: they would take hours, and have no figure.
fn require_time(plan: &Plan, measured: Measured) -> Result<(), Failure> {
    let overlong = plan.scenarios.iter().filter_map(|one| Some((one.label.clone(), certainly_overlong(plan, one)?)));
    let overlong: Vec<(String, String)> = overlong.collect();
    if overlong.is_empty() || measured != Measured::Everything {
        return Ok(());
    }
    let error = anyhow!("the study has trials that can't end in time\n  {}", by_cause(&overlong).join("\n  "));
    let hint = "give trials more time with --set design.trial_timeout=TIME, or make their runs shorter or fewer";
    Err(Failure::new(Status::BadStudy, error).hint(hint))
}

/// A device that must not be formatted is refused before the first trial, not found out in it.
fn ask_guard(loaded: &Loaded) -> Result<(), Failure> {
    let Some((_, error)) = refused(&loaded.plan, &loaded.work).into_iter().next() else { return Ok(()) };
    let status = if error.is_refusal() { Status::Refused } else { Status::Fault };
    let refusal = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<storage::Refusal>());
    let hint = refusal.and_then(|refusal| refusal.hint.clone());
    Err(Failure::new(status, error).hinted(hint))
}

/// Refuses to go on by turns where trials can't stand still any more: in others' turns their servers would work on.
fn require_standstill(order: Order, has_namespaces: bool) -> Result<(), Failure> {
    if order == Order::Blocks || has_namespaces {
        return Ok(());
    }
    let error = anyhow!("the study takes turns, and this machine grants no namespaces, by which trials stand still");
    Err(Failure::new(Status::Missing, error).hint(sandbox::isolation::REMEDY))
}

/// Refuses a disk without room for the image files before the study is begun: then it would keep its settings and its disk.
fn require_room(loaded: &Loaded, work: &Work) -> Result<(), Failure> {
    let free = storage::free_bytes(work.folder())?;
    let needed = space_needed(&loaded.plan).saturating_sub(space_there(&loaded.plan, work.folder()));
    if needed <= free {
        return Ok(());
    }
    let (folder, needed, free) = (work.folder().display(), format_bytes(needed), format_bytes(free));
    let error = anyhow!("{folder} needs {needed} for image files, and {free} are free");
    let hint = if loaded.results.is_file() {
        "the study goes on where it was begun: make room there"
    } else {
        "name a folder on a larger disk with --work DIR, or make storage.size smaller"
    };
    Err(Failure::new(Status::Missing, error).hint(hint))
}

/// Writes the image files once for the study, so that every trial starts from the same allocated blocks.
fn prepare_images(loaded: &Loaded, work: &Work, live: &mut live::Live) -> Result<(), Failure> {
    let places = lab::turns::places(&loaded.plan, work).map_err(unusable)?;
    live.say("preparing the image files");
    for (place, scenario) in places.iter().flat_map(|place| loaded.plan.scenarios.iter().map(move |one| (place, one))) {
        let stop = &interrupt::INTERRUPTED;
        storage::prepare_images(&scenario.storage, &place.images(), stop).map_err(of_images)?;
        for (name, volume) in &scenario.volumes {
            storage::prepare_images(volume, &place.volume_images(name), stop).map_err(of_images)?;
        }
    }
    Ok(())
}

fn of_images(error: storage::Error) -> Failure {
    let status = match &error {
        storage::Error::Interrupted => Status::Interrupted,
        error if error.is_refusal() => Status::Refused,
        error if error.is_missing() => Status::Missing,
        _ => Status::Fault,
    };
    Failure::new(status, error)
}

/// Why a study could not be conducted to its end, and the way on.
fn broken_off(error: conductor::Error, is_member: bool) -> Failure {
    // Another start goes on with what lies there then: where that has another version, it says so.
    if matches!(error, conductor::Error::Bench(bench::Error::Replaced(_))) {
        return Failure::new(Status::Fault, error).hint("what was measured is kept, and the same command goes on");
    }
    if !matches!(error, conductor::Error::Bench(bench::Error::Input(_))) {
        return error.into();
    }
    Failure::new(Status::BadStudy, error).hint(if is_member {
        "what was measured is kept; put back what the file held, and the same command goes on, or begin the whole fleet anew with a copy of \
         the file: a merge refuses members that read other files"
    } else {
        "what was measured is kept; copy a file that something still writes to, such as a server's log, name the copy in the study, and \
         begin anew with --results FILE, or go on all the same by the same command with --accept-changes"
    })
}

/// Whether a change says that the work folder lies on another disk.
fn is_of_disk(change: &str) -> bool {
    ["device was ", "device_model was ", "work_filesystem was "].iter().any(|fact| change.starts_with(fact))
}

fn explained(error: resume::Error) -> Failure {
    match &error {
        resume::Error::OtherStudy { .. } => Failure::new(Status::BadStudy, error)
            .hint("name another results file with --results FILE, or ask for the same as then"),
        resume::Error::OtherMachine(changes) => {
            let is_other_disk = changes.iter().any(|change| is_of_disk(change));
            let place =
                if is_other_disk { "name the work folder that it was begun in with --work DIR; or " } else { "" };
            Failure::new(Status::BadStudy, error).hint(format!(
                "{place}start anew with --results FILE and compare the two, or go on all the same by the same command with --accept-changes"
            ))
        }
        resume::Error::ClockBehind { now, last, .. } => {
            let [now, last] = [now, last].map(|moment| report::number::date(*moment));
            Failure::new(Status::Fault, error)
                .hint(format!("it says {now}, and the file {last}: set the clock, or begin anew with --results FILE"))
        }
        resume::Error::OtherMember { .. } => Failure::new(Status::BadStudy, error).hint(
            "name another file with --results FILE; a fleet's member has its own in its work folder (--work DIR)",
        ),
        // A disk that is full or fails is the machine's.
        resume::Error::Ledger(ledger::Error::Sqlite { .. }) => Failure::new(Status::Fault, error),
        resume::Error::Ledger(_) => super::report::unreadable(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, explained, require_standstill, resume};

    /// Begun where there are some, as before user namespaces were switched off.
    #[test]
    fn a_study_by_turns_goes_on_only_where_trials_stand_still() {
        for (order, has_namespaces) in [(Order::Turns, true), (Order::Blocks, true), (Order::Blocks, false)] {
            assert!(require_standstill(order, has_namespaces).is_ok());
        }
        let refused = require_standstill(Order::Turns, false).expect_err("they would work on");
        assert!(refused.render(false).contains("hint: run as root"));
    }

    /// To go on in another folder would bring two disks into the same figures.
    #[test]
    fn who_left_out_the_work_folder_is_told_of_it() {
        let said = |change: &str| explained(resume::Error::OtherMachine(vec![change.into()])).render(false);
        for change in ["device was nvme0n1, now sda", "work_filesystem was xfs, now tmpfs"] {
            assert!(
                said(change).contains("hint: name the work folder that it was begun in with --work DIR"),
                "{change}"
            );
        }
        for change in ["cpus was 4, now 2", "device_scheduler was none, now bfq"] {
            assert!(said(change).contains("hint: start anew with --results FILE"), "{change}");
        }
    }
}
