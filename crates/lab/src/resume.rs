//! Going on where a study stopped: what is done, and whether it is still the same study on the same machine.

use ledger::model::{AnalysisSettings, Asked, Decision, Mode, Phase, Scenario, StudyRecord, TableRecord, TrialState};
use observe::safety::Grade;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use study::Plan;

/// A ledger ready to be written, and what it holds already.
pub struct Opened {
    /// The ledger.
    pub writer: ledger::Writer,
    /// What is done.
    pub done: Done,
}

/// Trials that need not be done again.
#[derive(Debug, Default)]
pub struct Done {
    trials: HashMap<(String, Phase, u32), (TrialState, Option<f64>)>,
    decisions: Vec<Decision>,
    retry_failed: bool,
}

impl Done {
    /// Whether what failed is done again.
    #[must_use]
    pub fn retry_failed(&self) -> bool {
        self.retry_failed
    }

    /// How a trial ended, if it did.
    #[must_use]
    pub fn state(&self, scenario: &str, phase: Phase, round: u32) -> Option<TrialState> {
        self.trials.get(&(scenario.to_string(), phase, round)).map(|trial| trial.0)
    }

    /// The primary figure of a finished trial.
    #[must_use]
    pub fn value(&self, scenario: &str, phase: Phase, round: u32) -> Option<f64> {
        self.trials.get(&(scenario.to_string(), phase, round)).and_then(|trial| trial.1)
    }

    /// How many trials ended, well or badly.
    #[must_use]
    pub fn count(&self) -> usize {
        self.trials.len()
    }

    /// How many failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.trials.values().filter(|trial| trial.0 == TrialState::Failed).count()
    }

    /// Whether a main round after this one was begun, so that what was decided before it stands.
    #[must_use]
    pub fn went_on_after(&self, round: u32) -> bool {
        self.trials.keys().any(|(_, phase, other)| *phase == Phase::Main && *other > round)
    }

    /// What was decided at round ends of earlier sessions, in order.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Notes a trial that ended now.
    pub fn note(&mut self, scenario: &str, (phase, round): (Phase, u32), state: TrialState, value: Option<f64>) {
        self.trials.insert((scenario.to_string(), phase, round), (state, value));
    }
}

/// What a session brings to a ledger.
pub struct Session<'a> {
    /// The study file's text.
    pub text: &'a str,
    /// What the command line asks for.
    pub asked: Asked,
    /// surefoot's version.
    pub version: &'a str,
    /// The machine's facts now.
    pub machine: BTreeMap<String, String>,
    /// Go on although the machine has changed.
    pub accept_changes: bool,
    /// Do failed trials again.
    pub retry_failed: bool,
    /// Unix time, seconds.
    pub now: f64,
}

/// Why a study can't go on in this ledger.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The results file holds another study, or this one before it was edited.
    #[error("{path} holds the study `{name}` as it was before it was changed")]
    OtherStudy {
        /// The results file.
        path: PathBuf,
        /// The study it holds.
        name: String,
    },
    /// The machine is not what it was.
    #[error("the machine has changed since the first trial: {}", changes.join("; "))]
    OtherMachine {
        /// What changed, a phrase each.
        changes: Vec<String>,
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
    let mut writer = ledger::Writer::create_or_open(path)?;
    let done = match writer.study()? {
        None => {
            writer.set_study(&study_record(plan, session), &scenarios(plan))?;
            Done::default()
        }
        Some(study) if study.hash != plan.hash => {
            return Err(Error::OtherStudy { path: path.into(), name: study.name });
        }
        Some(_) => go_on(path, &mut writer, plan, session)?,
    };
    writer.begin_session(&session.machine, session.now)?;
    Ok(Opened { writer, done })
}

fn go_on(path: &Path, writer: &mut ledger::Writer, plan: &Plan, session: &Session) -> Result<Done, Error> {
    writer.void_unfinished()?;
    let contents = ledger::Reader::open(path)?.contents()?;
    if let Some(first) = contents.sessions.first() {
        let changes = observe::machine::changes(&first.machine, &session.machine);
        if !changes.is_empty() && !session.accept_changes {
            return Err(Error::OtherMachine { changes });
        }
    }
    writer.go_on(&analysis(plan), &session.asked)?;
    let mut done =
        Done { trials: HashMap::new(), decisions: contents.decisions.clone(), retry_failed: session.retry_failed };
    // One column a primary metric; a scenario's own is looked up by its name.
    let mut values: HashMap<(&str, Phase), Vec<Vec<Option<f64>>>> = HashMap::new();
    for scenario in &contents.scenarios {
        for phase in [Phase::Screen, Phase::Main, Phase::Confirmation] {
            let of_metric = || contents.values_in(phase, &scenario.primary_metric);
            values.entry((&scenario.primary_metric, phase)).or_insert_with(of_metric);
        }
    }
    let columns: HashMap<&str, usize> =
        contents.scenarios.iter().enumerate().map(|(column, s)| (&*s.label, column)).collect();
    for trial in &contents.trials {
        let Some(column) = columns.get(&*trial.scenario) else { continue };
        let value = || {
            let rounds = values.get(&(&*contents.scenarios[*column].primary_metric, trial.phase))?;
            rounds.get(trial.round as usize)?[*column]
        };
        let place = (trial.phase, trial.round);
        match trial.state {
            TrialState::Finished => done.note(&trial.scenario, place, TrialState::Finished, value()),
            TrialState::Failed if !session.retry_failed => {
                done.note(&trial.scenario, place, TrialState::Failed, None);
            }
            TrialState::Failed | TrialState::Interrupted | TrialState::Running => {}
        }
    }
    Ok(done)
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
        seed: plan.design.seed,
        surefoot_version: session.version.to_string(),
        created: session.now,
        baseline: plan.scenarios[plan.baseline].label.clone(),
        analysis: analysis(plan),
        tables: plan.tables.iter().map(table_record).collect(),
    }
}

fn table_record(table: &study::Table) -> TableRecord {
    TableRecord {
        title: table.title.clone(),
        workload: table.workload.clone(),
        metric: table.metric.clone(),
        rows: table.rows.clone(),
        columns: table.columns.clone(),
        only: table.only.clone(),
        source: table.published.as_ref().map_or_else(String::new, |published| published.source.clone()),
        published: table.published.as_ref().map_or_else(Vec::new, |published| published.values.clone()),
    }
}

fn analysis(plan: &Plan) -> AnalysisSettings {
    let design = &plan.design;
    AnalysisSettings {
        confidence: design.confidence,
        margin: design.margin,
        precision: design.precision,
        rounds_min: design.rounds_min,
        rounds_max: design.rounds_max,
        mode: match design.mode {
            study::Mode::Full => Mode::Full,
            study::Mode::Tune => Mode::Tune,
        },
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
#[must_use]
pub fn scenarios(plan: &Plan) -> Vec<Scenario> {
    let scenario = |planned: &study::PlannedScenario| Scenario {
        label: planned.label.clone(),
        levels: planned.levels.clone(),
        workload: planned.workload.clone(),
        primary_metric: crate::conductor::primary_metric(&planned.workload, &planned.parameters),
        control: planned.control,
        baseline: planned.baseline,
        durability: crate::durability::of(planned),
        settings: serde_json::json!({
            "storage": planned.storage,
            "volumes": planned.volumes,
            "services": planned.services,
            "workload": planned.parameters,
            "memory_bytes": planned.memory_bytes,
            "bench": planned.bench,
            "guest": planned.guest,
        }),
    };
    plan.scenarios.iter().map(scenario).collect()
}
