//! What a ledger holds, as its readers see it. Written by the conductor alone. Of a fleet's members: `model/member.rs`.

mod member;

pub use member::{Attempt, Host, MEMBERS_MAX, Member};

use crate::reasons::{INTERRUPTED, INTERRUPTED_BEHIND_ROUNDS, WITHOUT_ROUNDS};
use observe::durability::Durability;
use observe::faults::FaultsFound;
use observe::latency::Latency;
use observe::metric::Metric;
use observe::record::Failure;
use observe::safety::{Grade, Safety};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The study: what decides its figures as it was when its first trial started, and what is asked of them as its last session had it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StudyRecord {
    /// Name.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// The study file's text, with `--set` changes listed in `overrides`.
    pub text: String,
    /// `path=value` changes from the command line, of the session that had this text.
    pub overrides: Vec<String>,
    /// What the sessions asked for, each that differs from all before it. Empty in older files.
    #[serde(default)]
    pub asked: Vec<Asked>,
    /// Paths of the settings that the file or the command line names; the others are defaults. Absent in older files.
    #[serde(default)]
    pub named: Option<Vec<String>>,
    /// SHA-256 of what decides the results (text and overrides), hexadecimal.
    pub hash: String,
    /// Seed of order and data.
    pub seed: u64,
    /// Whether the orders of rounds are balanced; in older files they are shuffled.
    #[serde(default)]
    pub balanced_orders: bool,
    /// surefoot's version, and the commit where its build knew it.
    pub surefoot_version: String,
    /// Unix time, seconds.
    pub created: f64,
    /// The baseline scenario's label.
    pub baseline: String,
    /// Declared analysis settings.
    pub analysis: AnalysisSettings,
    /// Tables that the report is asked for. Absent in older files.
    #[serde(default)]
    pub tables: Vec<TableRecord>,
    /// Limits that figures are held against. Absent in older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitRecord>,
    /// What turns a round has, where that was chosen by the machine's noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<ChosenTurns>,
    /// In a merged file, Unix time of the session that asked so: its start may be one of those that do not count. Absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<f64>,
}

/// Turns that were chosen before the first trial, and from what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenTurns {
    /// Length of a turn.
    pub turn_milliseconds: u32,
    /// Turns of a scenario in a round; none: as many as its runs have time for.
    pub turns: Option<u32>,
    /// Rounds after which the wanted precision was expected.
    pub rounds: u32,
    /// The noise that was measured: by how much averages over a second stray by its white part.
    pub white_noise: f64,
    /// By how much its other part strays, which lasts.
    pub lasting_noise: f64,
    /// How long that lasts.
    pub correlation_seconds: f64,
}

impl StudyRecord {
    /// What the sessions asked for, in order; of an older file, what is known of the first.
    pub fn all_asked(&self) -> Vec<Asked> {
        if !self.asked.is_empty() {
            return self.asked.clone();
        }
        vec![Asked { verb: "run".into(), overrides: self.overrides.clone(), ..Asked::default() }]
    }

    /// The same study, asked as it is now: limits and tables decide no figure, nor do its question and what else its text says by the same hash.
    pub fn asked_as(self, now: &StudyRecord) -> StudyRecord {
        let StudyRecord { question, text, overrides, named, analysis, tables, limits, asked_at, .. } = now.clone();
        StudyRecord { question, text, overrides, named, analysis, tables, limits, asked_at, ..self }
    }
}

/// What of a session's command line decides what is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// `run` or `powercut`.
    pub verb: String,
    /// The built-in study's name; none: the study is a file.
    pub built_in: Option<String>,
    /// `path=value` changes: `--set`, and the options that stand for one.
    pub overrides: Vec<String>,
    /// Words of `--only`.
    pub only: Vec<String>,
    /// Scenarios that `--skip-missing` left out, and what was missing.
    pub left_out: Vec<(String, String)>,
}

/// A table of the report: a metric by the levels of two factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRecord {
    /// Its title.
    pub title: String,
    /// Whose scenarios.
    pub workload: String,
    /// Which metric.
    pub metric: String,
    /// The factor whose levels are rows.
    pub rows: String,
    /// The factor whose levels are columns.
    pub columns: String,
    /// Only scenarios with these levels of other factors: factor, level.
    #[serde(default)]
    pub only: Vec<(String, String)>,
    /// Who published figures for it, when and on what machine; empty: nobody.
    pub source: String,
    /// Those figures: row, then column and value in the metric's own unit.
    pub published: Vec<(String, Vec<(String, f64)>)>,
}

/// A limit that a metric of a workload's scenarios is held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitRecord {
    /// What it is about.
    pub title: String,
    /// Whose scenarios.
    pub workload: String,
    /// Which metric.
    pub metric: String,
    /// In the metric's own unit.
    pub value: f64,
    /// Whether the metric must not be below it, or not above it.
    pub is_least: bool,
    /// Who says so, and where; empty: the study.
    pub source: String,
}

impl LimitRecord {
    /// Whether a figure is beyond it.
    pub fn is_beyond(&self, value: f64) -> bool {
        if self.is_least { value < self.value } else { value > self.value }
    }
}

/// Fixed before the first trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnalysisSettings {
    /// Two-sided confidence, 0.95.
    pub confidence: f64,
    /// Margin below which a difference is negligible, as a fraction (0.03).
    pub margin: f64,
    /// Wanted half-width of the primary contrasts, as a fraction (0.03).
    pub precision: f64,
    /// At least this many rounds.
    pub rounds_min: u32,
    /// At most this many rounds.
    pub rounds_max: u32,
    /// How a round went. Absent in older files, where a trial came after the other.
    #[serde(default)]
    pub order: Order,
    /// Scenarios that were up at once at most; none: all of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_max: Option<u32>,
    /// What is asked of the scenarios. Absent in older files, which are full studies.
    #[serde(default)]
    pub mode: Mode,
    /// Rounds in which pick, runner-up and baseline are measured once more.
    #[serde(default)]
    pub confirmation_rounds: u32,
    /// Rounds in which a part of the scenarios is screened first; 0: none is.
    #[serde(default)]
    pub screen_rounds: u32,
    /// What a power cut was measured to take: only scenarios of these classes may be picked. None: the study names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_classes: Option<Vec<Grade>>,
}

/// How a round goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A trial after the other: a trial's figure is that of its typical run.
    #[default]
    Blocks,
    /// All scenarios at once, by turns: a trial's figure is the work of all its turns over their time.
    Turns,
}

/// What a study asks of its scenarios.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Everything: every scenario in every round.
    #[default]
    Full,
    /// Which is best: a scenario that is shown to be worse is not measured on.
    Tune,
}

/// What the conductor decided at a round's end, besides to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Which factors are studied on after a screen.
    Screen(Screened),
    /// A scenario is shown to be worse than another.
    Worse(Worse),
    /// These are measured once more.
    Confirm(Finalists),
}

/// What a screen showed of one workload, and what is studied on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Screened {
    /// Whose scenarios.
    pub workload: String,
    /// The design, in words.
    pub design: String,
    /// Scenarios that were screened.
    pub scenarios: u32,
    /// Of so many.
    pub of: u32,
    /// In so many rounds.
    pub rounds: u32,
    /// Factors that are studied on, what matters most first.
    pub kept: Vec<ScreenedFactor>,
    /// Factors that stay at the baseline's level.
    pub fixed: Vec<ScreenedFactor>,
    /// Pairs of factors that stood out of the noise.
    pub together: Vec<Together>,
    /// Share of the explained variation that lies in what is studied on.
    pub explained: f64,
    /// An effect of a factor of two levels below this, a fraction, could not be seen (80 % power).
    pub visible: f64,
    /// Pairs of factors that are seen as a sum only.
    pub alike: Vec<Vec<[String; 2]>>,
    /// What else it can't see, a phrase each.
    pub unseen: Vec<String>,
}

impl Screened {
    /// Whether a scenario with these levels is not studied: one of a fixed factor is not the baseline's.
    pub fn leaves_out(&self, levels: &BTreeMap<String, String>) -> bool {
        self.fixed.iter().any(|fixed| levels.get(&fixed.factor) != Some(&fixed.baseline))
    }
}

/// A factor as a screen saw it, averaged over the others. Effects are fractions of the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScreenedFactor {
    /// Which.
    pub factor: String,
    /// The baseline's level.
    pub baseline: String,
    /// Its level that was farthest from that.
    pub level: String,
    /// How far.
    pub effect: f64,
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
    /// No level is farther than this, up or down.
    pub bound: f64,
    /// Share of the explained variation.
    pub share: f64,
}

/// Two factors that did more, or less, together than each by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Which.
    pub factors: [String; 2],
    /// Pairs that it can't be told from.
    pub alike: Vec<[String; 2]>,
    /// Share of the explained variation.
    pub share: f64,
}

/// A scenario that is shown to be worse than another, and how far behind it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worse {
    /// Which scenario.
    pub scenario: String,
    /// After which round, from 0.
    pub round: u32,
    /// Worse than which.
    pub than: String,
    /// So far that one is ahead, as a fraction.
    pub behind: f64,
    /// At least so far.
    pub behind_at_least: f64,
    /// At most so far.
    pub behind_at_most: f64,
    /// Rounds in which both have a value.
    pub rounds: u32,
    /// It is the baseline, which is measured on.
    pub stays: bool,
}

/// What new rounds measure of one workload; where there are conditions of the load, under each of their combinations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finalists {
    /// After which round, from 0.
    pub round: u32,
    /// Whose scenarios.
    pub workload: String,
    /// The best.
    pub pick: String,
    /// The best of the others.
    pub runner_up: Option<String>,
    /// What users have now.
    pub baseline: Option<String>,
}

/// What a trial is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A part of the scenarios, by which it is found which factors matter; no other claim rests on it.
    Screen,
    /// The study's own rounds.
    #[default]
    Main,
    /// New rounds of those that the main rounds chose: their figures alone are free of the luck of having been chosen.
    Confirmation,
}

/// Where a trial stands in its study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What it is for.
    pub phase: Phase,
    /// Round of that phase, from 0.
    pub round: u32,
    /// Position in the round.
    pub position: u32,
    /// Number of its group in the round; none: the round was not split.
    pub group: Option<u32>,
}

impl Place {
    /// In a main round.
    pub fn main(round: u32, position: u32) -> Place {
        Place { phase: Phase::Main, round, position, group: None }
    }
}

/// One bar in the chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Label, unique in the study.
    pub label: String,
    /// Factor → level label. The A/A control has the baseline's levels.
    pub levels: BTreeMap<String, String>,
    /// Workload name.
    pub workload: String,
    /// Name of its primary metric.
    pub primary_metric: String,
    /// Whether it is the A/A control: the baseline once more under another name.
    pub control: bool,
    /// Whether it is its workload's baseline. Absent in files of schema version 1: the study's baseline is it.
    #[serde(default)]
    pub baseline: bool,
    /// Durability by settings; less where a trial's storage was found to keep less.
    pub durability: Durability,
    /// All its settings in plain form, JSON.
    pub settings: serde_json::Value,
}

/// How a trial stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialState {
    /// Started and not ended: the conductor was killed, or it runs now. Void once a later attempt exists.
    #[default]
    Running,
    /// Ended well.
    Finished,
    /// Ended badly; see its failure.
    Failed,
    /// Cut off by the user; will be done again.
    Interrupted,
}

/// One scenario in one round (one attempt).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Id in the ledger.
    pub id: i64,
    /// Label of its scenario.
    pub scenario: String,
    /// What it is for.
    #[serde(default)]
    pub phase: Phase,
    /// Round of that phase, from 0; where the file holds several members, counted on from one member to the next.
    pub round: u32,
    /// Position in the round.
    pub position: u32,
    /// Number of its group in the round: only those of one group were up together. None: the round was not split. Absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// The fleet's member that measured it. None: a study of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
    /// Seed of its data.
    pub seed: u64,
    /// How it stands.
    pub state: TrialState,
    /// Unix time, seconds.
    pub started: f64,
    /// Unix time, seconds; none while it runs.
    pub ended: Option<f64>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Steps with their seconds, in order.
    pub steps: Vec<(String, f64)>,
    /// Facts read back from the storage.
    pub facts: BTreeMap<String, String>,
    /// Shell commands that would provision it by hand.
    pub commands: Vec<String>,
    /// Warnings said by the trial.
    pub warnings: Vec<String>,
    /// What its workload had to say of its runs, in order.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Its runs in the shape of an older tool's output, in order.
    #[serde(default)]
    pub transcripts: Vec<String>,
}

/// One run of a trial, without its histograms and series (read those apart: they are large).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Id in the ledger.
    pub id: i64,
    /// Its trial.
    pub trial: i64,
    /// Counted from 0, warm-ups included.
    pub run: u32,
    /// Whether it is a warm-up.
    pub warm_up: bool,
    /// Unix time of the start.
    pub started: f64,
    /// Length of the window.
    pub seconds: f64,
    /// Metric name → value. Names are shared by all runs: a large ledger is mostly these maps.
    pub metrics: BTreeMap<Arc<str>, f64>,
}

/// A run's latencies and series.
#[derive(Debug, Clone, Default)]
pub struct RunDetail {
    /// Latency by operation.
    pub latencies: BTreeMap<String, Latency>,
    /// Values once a second, by name.
    pub series: BTreeMap<String, Vec<f64>>,
}

/// One sitting of the conductor: a `run` or `resume`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Unix time.
    pub started: f64,
    /// Unix time; none while it runs or when it was killed.
    pub ended: Option<f64>,
    /// Machine facts at its start: name → value.
    pub machine: BTreeMap<String, String>,
    /// Why it ended: "precision reached", "rounds_max", "time budget", "interrupted" …
    pub reason: Option<String>,
    /// The fleet's member that it is of. None: a study of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
}

impl Session {
    /// Whether the user interrupted it.
    pub fn is_interrupted(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| [INTERRUPTED, INTERRUPTED_BEHIND_ROUNDS].contains(&reason))
    }

    /// Whether it stopped by itself: it was neither interrupted nor killed, and is not under way.
    pub fn came_to_an_end(&self) -> bool {
        self.reason.is_some() && !self.is_interrupted()
    }

    /// Whether this moment is in its time.
    pub fn is_within(&self, moment: f64) -> bool {
        self.started <= moment && self.ended.is_none_or(|ended| moment <= ended)
    }

    /// Whether a rule ended its rounds, whatever became of what follows them.
    pub fn ended_its_rounds(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| reason != INTERRUPTED && !WITHOUT_ROUNDS.contains(&reason))
    }
}

/// What a device and the CPUs could give, measured before the first round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Labels of the scenarios that have this device on this bench.
    pub scenarios: Vec<String>,
    /// By name, the unit in it: `flushes_per_second`, `random_read_ios_per_second_4096`.
    pub figures: BTreeMap<String, f64>,
    /// Why there are none.
    pub failure: Option<String>,
    /// The fleet's member whose machine it is. None: a study of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
}

/// What a power cut was measured to take from a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredSafety {
    /// Label of the scenario.
    pub scenario: String,
    /// Unix time of its end, seconds.
    pub ended: f64,
    /// How it was asked, the study's `[safety]` in plain form: who asks otherwise measures again.
    pub asked: serde_json::Value,
    /// What was seen; none where it failed.
    pub safety: Option<Safety>,
    /// Why there is none.
    pub failure: Option<Failure>,
    /// The fleet's member whose machine it is. None: a study of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
}

/// What a failing disk was measured to do to a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFaults {
    /// Label of the scenario.
    pub scenario: String,
    /// Unix time of its end, seconds.
    pub ended: f64,
    /// How it was asked: who asks otherwise measures again.
    pub asked: serde_json::Value,
    /// What was seen; none where it failed.
    pub faults: Option<FaultsFound>,
    /// Why there is none.
    pub failure: Option<Failure>,
    /// The fleet's member whose machine it is. None: a study of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
}

impl MeasuredFaults {
    /// Whether nothing is left to be done again: it was measured, and no case that could not be run ended the search.
    pub fn is_whole(&self) -> bool {
        self.faults.as_ref().is_some_and(|found| !found.ended_early)
    }
}

/// Everything but histograms and series.
#[derive(Debug, Clone)]
pub struct Contents {
    /// The study.
    pub study: StudyRecord,
    /// Members of a fleet whose trials these are, by number; none in a study of one machine.
    pub members: Vec<Member>,
    /// Sessions in order.
    pub sessions: Vec<Session>,
    /// Ceilings, in order of their measurement; none in older files, and where the study is too short or wants none.
    pub probes: Vec<Probe>,
    /// Scenarios in plan order.
    pub scenarios: Vec<Scenario>,
    /// What power cuts were measured to take, in order of their measurement; of a scenario the last counts.
    pub safety: Vec<MeasuredSafety>,
    /// What failing disks were measured to do, likewise.
    pub faults: Vec<MeasuredFaults>,
    /// What was decided at round ends, in order.
    pub decisions: Vec<Decision>,
    /// Trials, in order of start; only the last attempt of each (scenario, round, group) counts.
    pub trials: Vec<Trial>,
    /// Runs of all trials.
    pub runs: Vec<RunRow>,
    /// Metrics by name.
    pub metrics: BTreeMap<String, Metric>,
    /// Runs that an older surefoot wrote without a checksum: a damaged bit in these is read as it is.
    pub without_checksum: usize,
}
