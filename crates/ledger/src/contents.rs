//! What is asked of a ledger's contents: decisions by kind, the trials that count, figures by round and scenario.

use crate::figure::{self, Rule, Zero};
use crate::groups::{self, Figure};
use crate::model::{
    Contents, Decision, Finalists, MeasuredFaults, MeasuredSafety, Member, Phase, RunRow, Scenario, Screened, Session,
    Trial, TrialState, Worse,
};
use observe::durability::Durability;
use observe::faults::{Consequence, FaultsFound};
use observe::metric::{Direction, Metric};
use observe::safety::{Grade, Safety};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

impl Contents {
    /// The rounds that a member measured to their end, by the trials that count. Who failed in two has been given up, and the next is
    /// whole without; what an interruption left of the last one is no round.
    pub fn rounds_measured(&self, member: &Member, trials: &[&Trial]) -> u32 {
        let mut rounds: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.member == Some(member.number)) {
            rounds.entry(trial.round).or_default().push(trial);
        }
        let session = self.sessions.iter().rfind(|session| session.member == Some(member.number));
        let is_ended = session.is_some_and(Session::ended_its_rounds);
        let mut from_last = rounds.values().rev();
        let [last, before, earlier] = [from_last.next(), from_last.next(), from_last.next()];
        let state = |round: Option<&Vec<&Trial>>, label: &str| {
            round?.iter().rfind(|trial| trial.scenario == label).map(|trial| trial.state)
        };
        let is_given_up = |label: &str| match state(before, label) {
            Some(TrialState::Failed) => state(earlier, label) == Some(TrialState::Failed),
            found => before.is_some() && found.is_none(),
        };
        let mut labels = self.scenarios.iter().map(|scenario| scenario.label.as_str());
        let is_whole = labels.all(|label| is_given_up(label) || state(last, label).is_some());
        let unfinished = usize::from(!rounds.is_empty() && !is_ended && !is_whole);
        u32::try_from(rounds.len() - unfinished).unwrap_or(u32::MAX)
    }

    /// What one member of a fleet measured, as if it were alone; none where it is not in it.
    pub fn of_member(mut self, number: u32) -> Option<Contents> {
        self.members.retain(|member| member.number == number);
        let own = Some(self.members.first()?.number);
        self.sessions.retain(|session| session.member == own);
        self.probes.retain(|probe| probe.member == own);
        self.safety.retain(|measured| measured.member == own);
        self.faults.retain(|measured| measured.member == own);
        self.trials.retain(|trial| trial.member == own);
        let before = self.trials.iter().map(|trial| trial.round).min().unwrap_or(0);
        self.trials.iter_mut().for_each(|trial| trial.round -= before);
        let trials: HashSet<i64> = self.trials.iter().map(|trial| trial.id).collect();
        self.runs.retain(|run| trials.contains(&run.trial));
        Some(self)
    }

    /// Holds scenarios to what the storage of trials that count was found to keep, where they promise more.
    pub(crate) fn hold_to(&mut self, found: &[(i64, Durability)]) {
        let counted: HashMap<i64, String> =
            self.counted_trials().into_iter().map(|trial| (trial.id, trial.scenario.clone())).collect();
        for (label, found) in found.iter().filter_map(|(id, found)| Some((counted.get(id)?, found))) {
            let weaker = |scenario: &&mut Scenario| scenario.label == *label && found.class > scenario.durability.class;
            self.scenarios.iter_mut().filter(weaker).for_each(|scenario| scenario.durability = found.clone());
        }
    }

    /// Scenarios that were shown to be worse than another, in the order in which they were.
    pub fn worse(&self) -> impl Iterator<Item = &Worse> {
        self.decisions.iter().filter_map(|one| if let Decision::Worse(worse) = one { Some(worse) } else { None })
    }

    /// Whether a power cut or a failing disk is asked for in the same way twice. A `cache` that is left out is that of the scenario's own disk;
    /// before that could be left out it was `volatile` where nothing was said. Which `classes` may be recommended is asked of what was found.
    pub fn asks_the_same(&self, label: &str, one: &Value, other: &Value) -> bool {
        let scenario = self.scenarios.iter().find(|scenario| scenario.label == label);
        let own = scenario.and_then(|scenario| scenario.settings["storage"]["cache"].as_str()).unwrap_or("volatile");
        let meant = |asked: &Value| {
            let mut asked = asked.clone();
            if let Some(map) = asked.as_object_mut() {
                map.remove("classes");
                if map.get("cache").is_none_or(Value::is_null) {
                    map.insert("cache".into(), own.into());
                }
            }
            asked
        };
        meant(one) == meant(other)
    }

    /// Whether what was measured of power cuts counts. Classes on unlike disks are not compared: what was measured as the study asked before it was
    /// changed counts only where it was bad.
    fn is_counted_cut(&self, measured: &MeasuredSafety, last: Option<&MeasuredSafety>) -> bool {
        let is_same = |last: &MeasuredSafety| self.asks_the_same(&measured.scenario, &measured.asked, &last.asked);
        is_bad_cut(measured) || last.is_some_and(is_same)
    }

    /// The power cuts that came last of all. A fleet's lie member after member, whose last one may not have measured last.
    fn last_of_cuts(&self) -> Option<&MeasuredSafety> {
        if self.members.len() < 2 {
            return self.safety.last();
        }
        self.safety.iter().max_by(|one, other| one.ended.total_cmp(&other.ended))
    }

    /// What came last of a scenario's power cuts on a machine. Where that failed, damage that was found before counts in its place
    /// ([`Contents::safety_of`]), and it is a hole all the same.
    pub fn last_cut(&self, label: &str, member: Option<u32>) -> Option<&MeasuredSafety> {
        let is_its = |one: &MeasuredSafety| one.scenario == label && one.member == member;
        let last = self.last_of_cuts();
        self.safety.iter().rfind(|one| is_its(one) && self.is_counted_cut(one, last))
    }

    /// As [`Contents::last_cut`], of failing disks.
    pub fn last_faults(&self, label: &str, member: Option<u32>) -> Option<&MeasuredFaults> {
        self.faults.iter().rfind(|one| one.scenario == label && one.member == member)
    }

    /// The last time that it was measured what a power cut takes from a scenario, on the fleet's worst machine: none where a machine's
    /// measurement is missing and no other's data were damaged. The A/A control is its baseline once more.
    pub fn safety_of(&self, scenario: &Scenario) -> Option<&MeasuredSafety> {
        let last = self.last_of_cuts();
        self.last_of(scenario, |label| {
            let of_it =
                self.safety.iter().filter(|measured| measured.scenario == label && self.is_counted_cut(measured, last));
            let worst = |measured: &MeasuredSafety| measured.safety.as_ref().map(Safety::badness);
            let is_whole = |measured: &MeasuredSafety| measured.safety.is_some();
            self.of_worst_machine(of_it.map(|measured| (measured.member, measured)), worst, is_bad_cut, is_whole)
        })
    }

    /// The last time that it was measured what a failing disk does to a scenario, on the fleet's worst machine: none where a machine's
    /// measurement is missing and on no other anything was lost or wrong without a word.
    pub fn faults_of(&self, scenario: &Scenario) -> Option<&MeasuredFaults> {
        self.last_of(scenario, |label| {
            let of_it = self.faults.iter().filter(|measured| measured.scenario == label);
            let worst = |measured: &MeasuredFaults| measured.faults.as_ref().map(FaultsFound::worst);
            let is_bad = |measured: &MeasuredFaults| worst(measured).flatten().is_some_and(Consequence::is_silent);
            let its = of_it.map(|measured| (measured.member, measured));
            self.of_worst_machine(its, worst, is_bad, MeasuredFaults::is_whole)
        })
    }

    /// Of what each machine measured last, the worst; where that failed or ended early and what came before was bad, this counts. What is bad on
    /// one machine is worse than not to know of another, and that worse than anything else.
    fn of_worst_machine<'a, T, Badness: Ord>(
        &self,
        measured: impl Iterator<Item = (Option<u32>, &'a T)>,
        badness: impl Fn(&T) -> Option<Badness>,
        is_bad: impl Fn(&T) -> bool,
        is_whole: impl Fn(&T) -> bool,
    ) -> Option<&'a T> {
        let mut last: BTreeMap<Option<u32>, &T> = BTreeMap::new();
        for (member, one) in measured {
            // That it could not be measured once more, or not to the end, makes nothing undone.
            let is_moot = !is_whole(one) && !is_bad(one) && last.get(&member).is_some_and(|known| is_bad(known));
            if !is_moot {
                last.insert(member, one);
            }
        }
        let is_everywhere = self.members.len() < 2 || last.len() == self.members.len();
        let rank = |measured: &&T| {
            let badness = badness(measured);
            (is_bad(measured), badness.is_none(), badness)
        };
        last.into_values().max_by_key(rank).filter(|worst| is_everywhere || is_bad(worst))
    }

    fn last_of<'a, T>(&'a self, scenario: &Scenario, last: impl Fn(&str) -> Option<&'a T>) -> Option<&'a T> {
        let is_twin = |other: &&Scenario| {
            !other.control && other.workload == scenario.workload && other.levels == scenario.levels
        };
        let of_twin = || self.scenarios.iter().filter(is_twin).find_map(|twin| last(&twin.label));
        last(&scenario.label).or_else(|| if scenario.control { of_twin() } else { None })
    }

    /// What was measured once more.
    pub fn finalists(&self) -> impl Iterator<Item = &Finalists> {
        self.decisions.iter().filter_map(|one| if let Decision::Confirm(of) = one { Some(of) } else { None })
    }

    /// The last session that was to measure rounds.
    pub fn last_of_rounds(&self) -> Option<&Session> {
        self.sessions.iter().rfind(|session| self.is_of_rounds(session))
    }

    /// Whether a session was to measure rounds. Power cuts and failing disks may be measured by themselves; one that was interrupted or killed
    /// does not say what it was to measure, but it began no trial.
    pub fn is_of_rounds(&self, session: &Session) -> bool {
        let is_its = |trial: &Trial| trial.member == session.member && session.is_within(trial.started);
        session.ended_its_rounds() || self.trials.iter().any(is_its)
    }

    /// Whether new rounds have closed the choice: no main round of any workload is measured any more.
    pub fn is_closed(&self) -> bool {
        self.finalists().next().is_some()
    }

    /// What a workload's screen showed; none where nothing was screened, or not yet to the end.
    pub fn screened(&self, workload: &str) -> Option<&Screened> {
        self.decisions.iter().find_map(|decision| match decision {
            Decision::Screen(screened) if screened.workload == workload => Some(screened),
            _ => None,
        })
    }

    /// Whether a scenario is studied: no screen left it out.
    pub fn is_studied(&self, scenario: &Scenario) -> bool {
        !self.screened(&scenario.workload).is_some_and(|screened| screened.leaves_out(&scenario.levels))
    }

    /// Scenarios that are studied, in plan order.
    pub fn studied(&self) -> impl Iterator<Item = &Scenario> {
        self.scenarios.iter().filter(|scenario| self.is_studied(scenario))
    }

    /// Workloads, in plan order.
    pub fn workloads(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let all = self.scenarios.iter().map(|scenario| scenario.workload.as_str());
        all.filter(|workload| seen.insert(*workload)).collect()
    }

    /// A metric by its name; of one that no run has, all that is known is the direction that is asked of it.
    pub fn metric(&self, name: &str, otherwise: Direction) -> Metric {
        let unknown = || Metric::named(name.into(), String::new(), otherwise);
        self.metrics.get(name).cloned().unwrap_or_else(unknown)
    }

    /// The trials that count: of each scenario, phase, round and group the last attempt, voided ones left out.
    pub fn counted_trials(&self) -> Vec<&Trial> {
        let ended = self.trials.iter().filter(|trial| matches!(trial.state, TrialState::Finished | TrialState::Failed));
        let last: BTreeMap<(&str, Phase, u32, Option<u32>), &Trial> =
            ended.map(|trial| ((&*trial.scenario, trial.phase, trial.round, trial.group), trial)).collect();
        let mut trials: Vec<&Trial> = last.into_values().collect();
        trials.sort_by_key(|trial| trial.id);
        trials
    }

    /// `[round][scenario]` of the main rounds: a metric's figure, made comparable within the round where claims rest on it (`groups.rs`).
    /// None: a hole.
    pub fn values(&self, metric: &str) -> Vec<Vec<Option<f64>>> {
        self.values_in(Phase::Main, metric)
    }

    /// As [`Contents::values`], of one phase.
    pub fn values_in(&self, phase: Phase, metric: &str) -> Vec<Vec<Option<f64>>> {
        self.figures(phase, metric, &|run| run.metrics.get(metric).copied())
    }

    /// As [`Contents::values`], of each trial's run of this number alone.
    pub fn values_of_run(&self, metric: &str, number: u32) -> Vec<Vec<Option<f64>>> {
        let figure = |run: &RunRow| if run.run == number { run.metrics.get(metric).copied() } else { None };
        self.figures(Phase::Main, metric, &figure)
    }

    /// As [`Contents::values_in`], of a figure that is worked out from a run's metrics, and that no claim rests on.
    pub fn worked_out(&self, phase: Phase, figure: &dyn Fn(&RunRow) -> Option<f64>) -> Vec<Vec<Option<f64>>> {
        self.figures(phase, "", figure)
    }

    /// How a trial's figure of a metric is made.
    pub fn rule(&self, metric: &str, zero: Zero) -> Rule {
        let unit = self.metrics.get(metric).map_or("", |metric| &metric.unit);
        Rule::of(self.study.analysis.order, unit, zero)
    }

    /// The figure of a metric of each finished trial that counts, as it was measured.
    pub fn trial_values(&self, phase: Phase, metric: &str) -> Vec<(&Trial, f64)> {
        self.trial_figures(phase, metric, &|run| run.metrics.get(metric).copied())
    }

    /// Whether claims on a scenario rest on this metric.
    fn is_claimed(&self, column: usize, metric: &str) -> bool {
        self.scenarios[column].primary_metric == metric
    }

    /// Whether a metric is a time that operations took.
    fn is_latency(&self, metric: &str) -> bool {
        self.metrics.get(metric).is_some_and(|metric| metric.unit == "µs" && metric.direction == Direction::Less)
    }

    /// Trials with a measured run in which the load did nothing: its primary figure, where less is not better, is 0.
    fn standstills(&self) -> HashSet<i64> {
        let scenarios: HashMap<&str, &Scenario> =
            self.scenarios.iter().map(|scenario| (&*scenario.label, scenario)).collect();
        let primary = |trial: &Trial| {
            let name = &*scenarios.get(&*trial.scenario)?.primary_metric;
            self.metrics.get(name).filter(|metric| metric.direction == Direction::More).map(|_| (trial.id, name))
        };
        let primaries: HashMap<i64, &str> = self.trials.iter().filter_map(primary).collect();
        let stands = |run: &&RunRow| {
            let value = primaries.get(&run.trial).and_then(|primary| run.metrics.get(*primary));
            !run.warm_up && value.is_some_and(|value| *value <= 0.0)
        };
        self.runs.iter().filter(stands).map(|run| run.trial).collect()
    }

    fn columns(&self) -> HashMap<&str, usize> {
        self.scenarios.iter().enumerate().map(|(column, scenario)| (&*scenario.label, column)).collect()
    }

    fn trial_figures(&self, phase: Phase, metric: &str, figure: &dyn Fn(&RunRow) -> Option<f64>) -> Vec<(&Trial, f64)> {
        let columns = self.columns();
        let standstills = if self.is_latency(metric) { self.standstills() } else { HashSet::new() };
        let mut of_trial: HashMap<i64, Vec<(f64, f64)>> = HashMap::new();
        let measured = self.runs.iter().filter(|run| !run.warm_up);
        for (run, value) in measured.filter_map(|run| Some((run, figure(run)?))) {
            of_trial.entry(run.trial).or_default().push((value, run.seconds));
        }
        let of_phase = |trial: &&Trial| trial.state == TrialState::Finished && trial.phase == phase;
        let value = |trial: &Trial| {
            let is_claimed = self.is_claimed(*columns.get(&*trial.scenario)?, metric);
            // Of a run that did nothing there is no latency, and without it the others' would make the trial a fast one.
            if standstills.contains(&trial.id) && !is_claimed {
                return None;
            }
            let zero = if is_claimed { Zero::Stall } else { Zero::Count };
            figure::of_runs(of_trial.get(&trial.id)?, self.rule(metric, zero))
        };
        self.counted_trials().into_iter().filter(of_phase).filter_map(|trial| Some((trial, value(trial)?))).collect()
    }

    fn figures(&self, phase: Phase, metric: &str, figure: &dyn Fn(&RunRow) -> Option<f64>) -> Vec<Vec<Option<f64>>> {
        let columns = self.columns();
        // Only trials of one workload have groups in common.
        let mut rounds: BTreeMap<(u32, &str, bool), Vec<Figure>> = BTreeMap::new();
        for (trial, value) in self.trial_figures(phase, metric, figure) {
            let column = columns[&*trial.scenario];
            let scenario = &self.scenarios[column];
            let of = rounds.entry((trial.round, &scenario.workload, self.is_claimed(column, metric))).or_default();
            let is_shared = scenario.baseline || scenario.control;
            of.push(Figure { scenario: column, group: trial.group, is_shared, value });
        }
        let count = rounds.keys().map(|(round, ..)| *round as usize + 1).max().unwrap_or(0);
        let mut rows = vec![vec![None; self.scenarios.len()]; count];
        for ((round, _, is_claimed), of) in rounds {
            let found = if is_claimed { groups::adjusted(&of) } else { groups::plain(&of) };
            found.into_iter().for_each(|(column, value)| rows[round as usize][column] = Some(value));
        }
        rows
    }
}

/// Whether a power cut was found to damage data.
fn is_bad_cut(found: &MeasuredSafety) -> bool {
    found.safety.as_ref().is_some_and(|safety| safety.grade >= Grade::E)
}
