//! Going on where a study stopped: what is done, and whether it is still the same study on the same machine.

use crash::plan::Plan;
use ledger::model::{
    AnalysisSettings, Asked, ChosenTurns, Contents, Decision, LimitRecord, Member, Mode, Order, Phase, Place, Scenario,
    StudyRecord, TableRecord, Trial, TrialState,
};
use observe::safety::Grade;
use settings::quantity::format_seconds;
use stats::MachineNoise;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use study::Drawn;

/// A clock that is put right by its time server goes back by less; a trial takes longer.
const CLOCK_BEHIND_SECONDS_MAX: f64 = 1.0;

/// A ledger ready to be written, and what it holds already.
pub struct Opened {
    /// The ledger.
    pub writer: ledger::Writer,
    /// What is done.
    pub done: Done,
}

/// A trial: its scenario, phase, round and group.
type Key = (String, Phase, u32, Option<u32>);

fn key(scenario: &str, place: Place) -> Key {
    (scenario.to_string(), place.phase, place.round, place.group)
}

/// Trials that need not be done again.
#[derive(Debug, Default)]
pub struct Done {
    trials: HashMap<Key, (TrialState, Option<f64>)>,
    /// What was decided at round ends of earlier sessions, in order.
    pub decisions: Vec<Decision>,
    /// Whether what failed is done again.
    pub retry_failed: bool,
}

impl Done {
    /// How a trial ended, if it did.
    pub fn state(&self, scenario: &str, place: Place) -> Option<TrialState> {
        self.trials.get(&key(scenario, place)).map(|trial| trial.0)
    }

    /// The primary figure of a finished trial, as it was measured.
    pub fn value(&self, scenario: &str, place: Place) -> Option<f64> {
        self.trials.get(&key(scenario, place)).and_then(|trial| trial.1)
    }

    /// How many trials ended, well or badly.
    pub fn count(&self) -> usize {
        self.trials.len()
    }

    /// How many failed.
    pub fn failed(&self) -> usize {
        self.trials.values().filter(|trial| trial.0 == TrialState::Failed).count()
    }

    /// Whether a main round after this one was begun, so that what was decided before it stands.
    pub fn went_on_after(&self, round: u32) -> bool {
        self.trials.keys().any(|(_, phase, other, _)| *phase == Phase::Main && *other > round)
    }

    /// Notes a trial that ended now.
    pub fn note(&mut self, scenario: &str, place: Place, state: TrialState, value: Option<f64>) {
        self.trials.insert(key(scenario, place), (state, value));
    }
}

/// What a session brings to a ledger.
pub struct Session<'a> {
    /// The study file's text.
    pub text: &'a str,
    /// What the command line asks for.
    pub asked: Asked,
    /// The fleet's member that it is of.
    pub member: Option<Member>,
    /// surefoot's version.
    pub version: &'a str,
    /// The machine's facts now.
    pub machine: BTreeMap<String, String>,
    /// Go on although the machine has changed.
    pub accept_changes: bool,
    /// Do failed trials again.
    pub retry_failed: bool,
    /// The machine's noise, where turns were chosen by it.
    pub noise: Option<MachineNoise>,
    /// Unix time, seconds.
    pub now: f64,
}

/// Why a study can't go on in this ledger.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The results file holds another study, or this one as it was asked for otherwise.
    #[error("{path} holds the study `{name}` {difference}")]
    OtherStudy {
        /// The results file.
        path: PathBuf,
        /// The study it holds.
        name: String,
        /// In what it differs from what is asked for.
        difference: String,
    },
    /// The machine is not what it was, or a file that the study reads.
    #[error("what is measured has changed since the first trial: {}", .0.join("; "))]
    OtherMachine(Vec<String>),
    /// Which session measured a trial, and how often a study was answered, follow from moments.
    #[error("this machine's clock is {} behind the last moment in {path}", format_seconds((last - now).ceil()))]
    ClockBehind {
        /// The results file.
        path: PathBuf,
        /// What the clock says, Unix time in seconds.
        now: f64,
        /// When something was measured last.
        last: f64,
    },
    /// The results file is a fleet's, or another member's.
    #[error("{path} holds {held}, and this is {ours}")]
    OtherMember {
        /// The results file.
        path: PathBuf,
        /// Whose results it holds, in words.
        held: String,
        /// Whose this session's are.
        ours: String,
    },
    /// The ledger itself.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

/// Opens the results file for a study: a new one, or one to go on with.
///
/// # Errors
/// When the file holds something else, or the machine has changed and `accept_changes` is not set.
pub fn open(path: &Path, plan: &Plan, session: &Session) -> Result<Opened, Error> {
    require_own(path, session.member.as_ref())?;
    let mut writer = ledger::Writer::create_or_open(path)?;
    let done = match writer.study()? {
        None => {
            writer.set_study(&study_record(plan, session), &scenarios(plan), session.member.as_ref())?;
            Done::default()
        }
        Some(study) if !plan.has_hash(&study.hash) || drawn_for(&study, writer.member()?.as_ref()) != plan.drawn => {
            let difference = difference(&study, plan, session);
            return Err(Error::OtherStudy { path: path.into(), name: study.name, difference });
        }
        Some(_) => go_on(path, &mut writer, plan, session)?,
    };
    writer.begin_session(&session.machine, session.now)?;
    Ok(Opened { writer, done })
}

/// Refuses a file that holds several members of a fleet, or not the one that this session is, before anything is written to it.
///
/// # Errors
/// When it does.
pub fn require_own(path: &Path, member: Option<&Member>) -> Result<(), Error> {
    let held = ledger::Reader::open_untouched(path).and_then(|reader| reader.study().and_then(|_| reader.members()));
    // What can't be read, or holds no study yet, is the writer's affair.
    let Ok(held) = held else { return Ok(()) };
    let (held, ours): (Vec<&Member>, &[&Member]) = (held.iter().collect(), member.as_slice());
    let is_same = |(one, other): (&&Member, &&Member)| (one.number, &one.host.name) == (other.number, &other.host.name);
    if held.len() == ours.len() && held.iter().zip(ours).all(is_same) {
        return Ok(());
    }
    Err(Error::OtherMember { path: path.into(), held: of_whom(&held), ours: of_whom(ours) })
}

fn of_whom(members: &[&Member]) -> String {
    match members {
        [] => "a study of one machine".into(),
        [one] => format!("member {} on {}", one.number, one.host.name),
        several => format!("{} members of a fleet", several.len()),
    }
}

/// In what a results file's study differs from what is asked for now.
fn difference(held: &StudyRecord, plan: &Plan, session: &Session) -> String {
    if held.name != plan.name {
        return format!("and not `{}`", plan.name);
    }
    if held.text != session.text {
        return "as its file was before it was changed".into();
    }
    let words = |asked: &Asked| {
        let set = asked.overrides.iter().map(|change| format!("--set {change}"));
        let words: Vec<String> = set.chain(asked.only.iter().map(|word| format!("--only {word}"))).collect();
        if words.is_empty() { "no changes".to_string() } else { format!("`{}`", words.join(" ")) }
    };
    match held.asked.first().map(words).filter(|then| *then != words(&session.asked)) {
        Some(then) => format!("with {then}, and what is asked for has {}", words(&session.asked)),
        None => "with other scenarios or orders".into(),
    }
}

/// What a study's orders and data are made from: what its results file has, or what the study says, or this new seed.
///
/// # Errors
/// When the results file can't be read.
pub fn drawn(path: &Path, plan: &Plan, new_seed: u64) -> Result<Drawn, Error> {
    let writer = if path.is_file() { Some(ledger::Writer::create_or_open(path)?) } else { None };
    let begun = writer.as_ref().map(ledger::Writer::study).transpose()?.flatten();
    let said = plan.design.seed;
    Ok(match begun {
        // Another seed than was said makes it another study.
        Some(study) => {
            let member = writer.as_ref().map(ledger::Writer::member).transpose()?.flatten();
            let drawn = drawn_for(&study, member.as_ref());
            let order = plan.design.order.unwrap_or(drawn.order);
            Drawn { seed: said.unwrap_or(drawn.seed), order, ..drawn }
        }
        None => Drawn { seed: said.unwrap_or(new_seed), is_balanced: true, ..plan.drawn },
    })
}

fn drawn_for(study: &StudyRecord, member: Option<&Member>) -> Drawn {
    let AnalysisSettings { order, up_max, .. } = study.analysis;
    let order = if order == Order::Turns { study::Order::Turns } else { study::Order::Blocks };
    let turns = study.turns.as_ref().map(|&ChosenTurns { turn_milliseconds, turns, rounds, .. }| study::ChosenTurns {
        turn_milliseconds,
        turns,
        rounds,
    });
    let rounds_before = member.map_or(0, crate::member::rounds_before);
    Drawn { seed: study.seed, is_balanced: study.balanced_orders, order, up_max, turns, rounds_before }
}

fn go_on(path: &Path, writer: &mut ledger::Writer, plan: &Plan, session: &Session) -> Result<Done, Error> {
    writer.void_unfinished()?;
    let contents = ledger::Reader::open(path)?.contents()?;
    if let Some(first) = contents.sessions.first() {
        let mut changes = observe::machine::changes(&first.machine, &session.machine, &storage::version_commands());
        // Older files have it once, and not among a session's facts.
        if !first.machine.contains_key("surefoot") && contents.study.surefoot_version != session.version {
            changes.push(format!("surefoot was {}, now {}", contents.study.surefoot_version, session.version));
        }
        if !changes.is_empty() && !session.accept_changes {
            return Err(Error::OtherMachine(changes));
        }
    }
    let (now, last) = (session.now, last_moment(&contents));
    if last - now > CLOCK_BEHIND_SECONDS_MAX {
        return Err(Error::ClockBehind { path: path.into(), now, last });
    }
    writer.go_on(&study_record(plan, session))?;
    let mut done =
        Done { trials: HashMap::new(), decisions: contents.decisions.clone(), retry_failed: session.retry_failed };
    let primary: HashMap<&str, &str> =
        contents.scenarios.iter().map(|scenario| (&*scenario.label, &*scenario.primary_metric)).collect();
    // The trials' figures by metric and number; a scenario's own metric is looked up by its name.
    let mut values: HashMap<&str, HashMap<i64, f64>> = HashMap::new();
    for metric in primary.values() {
        let of_phase = |phase| contents.trial_values(phase, metric);
        let all = || [Phase::Screen, Phase::Main, Phase::Confirmation].into_iter().flat_map(of_phase);
        values.entry(metric).or_insert_with(|| all().map(|(trial, value)| (trial.id, value)).collect());
    }
    let counted = contents.counted_trials();
    let again = if session.retry_failed { rounds_again(&contents, &counted) } else { HashSet::new() };
    for trial in counted.iter().filter(|trial| !again.contains(&(trial.phase, trial.round))) {
        let value = || values[primary[&*trial.scenario]].get(&trial.id).copied();
        let place = Place { phase: trial.phase, round: trial.round, position: trial.position, group: trial.group };
        let value = if trial.state == TrialState::Finished { value() } else { None };
        done.note(&trial.scenario, place, trial.state, value);
    }
    Ok(done)
}

/// The last moment of which a results file tells.
fn last_moment(contents: &Contents) -> f64 {
    let sessions = contents.sessions.iter().flat_map(|session| [Some(session.started), session.ended]);
    let trials = contents.trials.iter().flat_map(|trial| [Some(trial.started), trial.ended]);
    sessions.chain(trials).flatten().fold(f64::NEG_INFINITY, f64::max)
}

/// Rounds that are measured again, whole: those with a failed trial, those that lack a scenario which is in others and was not dropped (it had been
/// given up), and those with trials of several sessions. A trial of today among those of another day would be compared with these.
fn rounds_again(contents: &Contents, counted: &[&Trial]) -> HashSet<(Phase, u32)> {
    // A baseline that is shown to be worse stays, and is missed like any other.
    let dropped: HashSet<&str> = contents.worse().filter(|worse| !worse.stays).map(|worse| &*worse.scenario).collect();
    let session = |trial: &Trial| contents.sessions.iter().rposition(|session| session.started <= trial.started);
    let mut studied: HashMap<Phase, HashSet<&str>> = HashMap::new();
    let mut rounds: HashMap<(Phase, u32), Vec<&Trial>> = HashMap::new();
    for trial in counted {
        rounds.entry((trial.phase, trial.round)).or_default().push(trial);
        if !dropped.contains(&*trial.scenario) {
            studied.entry(trial.phase).or_default().insert(&trial.scenario);
        }
    }
    let is_whole = |(phase, _): &(Phase, u32), trials: &[&Trial]| {
        let there: HashSet<&str> = trials.iter().map(|trial| &*trial.scenario).collect();
        let sessions: HashSet<Option<usize>> = trials.iter().map(|trial| session(trial)).collect();
        let has_failed = trials.iter().any(|trial| trial.state == TrialState::Failed);
        !has_failed && sessions.len() == 1 && studied.get(phase).is_none_or(|studied| studied.is_subset(&there))
    };
    rounds.into_iter().filter(|(round, trials)| !is_whole(round, trials)).map(|(round, _)| round).collect()
}

fn study_record(plan: &Plan, session: &Session) -> StudyRecord {
    StudyRecord {
        name: plan.name.clone(),
        question: plan.question.clone(),
        text: session.text.to_string(),
        overrides: session.asked.overrides.clone(),
        asked: vec![session.asked.clone()],
        named: Some(plan.named.clone()),
        hash: plan.hash.clone(),
        seed: plan.drawn.seed,
        balanced_orders: plan.drawn.is_balanced,
        surefoot_version: session.version.to_string(),
        created: session.now,
        baseline: plan.scenarios[plan.baseline].label.clone(),
        analysis: analysis(plan),
        tables: plan.tables.iter().map(table_record).collect(),
        limits: plan.limits.iter().map(limit_record).collect(),
        turns: plan.drawn.turns.zip(session.noise).map(|(turns, noise)| chosen_turns(&turns, &noise)),
        asked_at: None,
    }
}

fn chosen_turns(turns: &study::ChosenTurns, noise: &MachineNoise) -> ChosenTurns {
    let study::ChosenTurns { turn_milliseconds, turns, rounds } = *turns;
    let MachineNoise { white: white_noise, lasting: lasting_noise, correlation_seconds } = *noise;
    ChosenTurns { turn_milliseconds, turns, rounds, white_noise, lasting_noise, correlation_seconds }
}

fn table_record(table: &study::Table) -> TableRecord {
    let study::Table { title, workload, metric, rows, columns, only, published } = table.clone();
    let (source, published) = published.map(|published| (published.source, published.values)).unwrap_or_default();
    TableRecord { title, workload, metric, rows, columns, only, source, published }
}

fn limit_record(limit: &study::Limit) -> LimitRecord {
    let (value, is_least) = match limit.bound {
        study::Bound::AtMost(value) => (value, false),
        study::Bound::AtLeast(value) => (value, true),
    };
    let study::Limit { title, workload, metric, source, .. } = limit.clone();
    LimitRecord { title, workload, metric, value, is_least, source }
}

fn analysis(plan: &Plan) -> AnalysisSettings {
    let design = &plan.design;
    AnalysisSettings {
        confidence: design.confidence,
        margin: design.margin,
        precision: design.precision,
        rounds_min: design.rounds_min,
        rounds_max: design.rounds_max,
        order: if plan.drawn.order == study::Order::Turns { Order::Turns } else { Order::Blocks },
        up_max: plan.drawn.up_max,
        mode: if design.mode == study::Mode::Tune { Mode::Tune } else { Mode::Full },
        confirmation_rounds: design.confirmation_rounds(),
        screen_rounds: if plan.screens.is_empty() { 0 } else { design.screen_rounds },
        safety_classes: plan.safety.as_ref().and_then(|safety| safety.classes.as_deref()).map(grades),
    }
}

/// The classes with these letters, which the study's check let through.
fn grades(letters: &[String]) -> Vec<Grade> {
    letters.iter().filter_map(|letter| Grade::of(letter)).collect()
}

/// A plan's scenarios as the ledger has them.
pub fn scenarios(plan: &Plan) -> Vec<Scenario> {
    let settings = |planned: &crash::plan::PlannedScenario| {
        let mut all = serde_json::json!({
            "storage": planned.storage,
            "volumes": planned.volumes,
            "services": planned.services,
            "workload": planned.parameters,
            "memory_bytes": planned.memory_bytes,
            "bench": planned.bench,
            "guest": planned.guest,
        });
        // Older files, which have no load from elsewhere, do not name it.
        if let Some(client) = &planned.client {
            all["client"] = client.as_str().into();
        }
        all
    };
    let scenario = |planned: &crash::plan::PlannedScenario| Scenario {
        label: planned.label.clone(),
        levels: planned.levels.clone(),
        workload: planned.workload.clone(),
        primary_metric: crate::values::primary_metric(&planned.workload, &planned.parameters),
        control: planned.control,
        baseline: planned.baseline,
        durability: crate::durability::of(planned),
        settings: settings(planned),
    };
    plan.scenarios.iter().map(scenario).collect()
}
